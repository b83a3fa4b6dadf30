package ingest

// Secret is a password. Printed, logged or marshalled it is "<secret>"; string(s) is the password itself.
type Secret string

// String returns "<secret>", or "" for an empty password.
func (s Secret) String() string {
	if s == "" {
		return ""
	}
	return "<secret>"
}

// GoString keeps %#v from printing the password.
func (s Secret) GoString() string { return s.String() }

// MarshalText keeps encoders and slog from writing the password.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }
