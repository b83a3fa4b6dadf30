package msg

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// MaxFields is the number of fields that a note may have beside those that every note has.
const MaxFields = 32

// Field is a value that a site records at triage, such as the arrival mode. Its name is a FieldName.
type Field struct {
	Name  string
	Value Value
}

// Fields are the values that a site records beside those that every note has, in the order of the message.
type Fields []Field

// FieldsField is the name of the fields in warnings.
const FieldsField = "fields"

// FieldName reports whether a field of a note may have this name: letters a to z, digits and underscores.
func FieldName(name string) bool {
	return name != "" && len(name) <= 64 && strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789_") == ""
}

// SiteField reports whether an auxiliary column of this name is one of a note's Fields, and not a field of every note.
func SiteField(name string) bool {
	return new(Note).siteField(name)
}

// otherFields are the fields of every note that no auxiliary column reads.
var otherFields = []string{
	"schema_version", "visit_id", "patient_id", "arrived_at", "complaint", "text", "vitals", FieldsField,
}

// siteField is SiteField without a note to allocate.
func (n *Note) siteField(name string) bool {
	return FieldName(name) && n.Number(name) == nil && n.Word(name) == nil && !slices.Contains(otherFields, name)
}

var decimal = regexp.MustCompile(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?$`)

// ParseValue returns the number that s writes as a plain decimal, else the text, or null if s is empty. So a level is
// the same whether a file writes 4 or 4.0 and a message 4, and a code such as 01 is a text in both.
func ParseValue(s string) Value {
	if s == "" {
		return Value{}
	}
	if v, err := strconv.ParseFloat(s, 64); err == nil && decimal.MatchString(s) {
		return Number(v)
	}
	return Text(s)
}

// Value returns the value of a name, null if there is none.
func (f Fields) Value(name string) Value {
	for i := range f {
		if f[i].Name == name {
			return f[i].Value
		}
	}
	return Value{}
}

// Set sets the value of a name; null removes it.
func (f *Fields) Set(name string, v Value) {
	at := slices.IndexFunc(*f, func(have Field) bool { return have.Name == name })
	switch {
	case v == Value{} && at >= 0:
		*f = slices.Delete(*f, at, at+1)
	case v == Value{}:
	case at >= 0:
		(*f)[at].Value = v
	default:
		*f = append(*f, Field{name, v})
	}
}

// AppendJSON appends the fields as one JSON object to dst.
func (f Fields) AppendJSON(dst []byte) []byte {
	separator := byte('{')
	for i := range f {
		dst = append(appendString(append(dst, separator), f[i].Name), ':')
		dst = f[i].Value.AppendJSON(dst)
		separator = ','
	}
	if separator == '{' {
		dst = append(dst, '{')
	}
	return append(dst, '}')
}

// MarshalJSON returns the fields as AppendJSON writes them.
func (f Fields) MarshalJSON() ([]byte, error) { return f.AppendJSON(nil), nil }

// UnmarshalJSON reads an object of fields. The error names what DecodeNote would leave out.
func (f *Fields) UnmarshalJSON(data []byte) error {
	var n Note
	err := DecodeOwnNote(fmt.Appendf(nil, `{"visit_id":"v","text":"x","fields":%s}`, data), &n)
	if err == nil && n.FieldsLeftOut {
		err = &json.UnsupportedValueError{Str: "fields that are no number or word, or too many"}
	}
	*f = n.Fields
	return err
}
