package msg

import (
	"encoding/json"
	"strings"
)

// SchemaVersion is the major version of the messages that this package reads and writes.
const SchemaVersion = "1"

// Optional is a number that may be absent. The zero value is absent.
type Optional struct {
	Value float64
	Set   bool
}

// Some returns the number v, present.
func Some(v float64) Optional { return Optional{v, true} }

// IsZero reports whether the number is absent.
func (o Optional) IsZero() bool { return !o.Set }

// MarshalJSON returns the number, or null if it is absent.
func (o Optional) MarshalJSON() ([]byte, error) {
	if !o.Set {
		return []byte("null"), nil
	}
	return json.Marshal(o.Value)
}

// UnmarshalJSON reads a number or null.
func (o *Optional) UnmarshalJSON(data []byte) error {
	*o = Optional{Set: string(data) != "null"}
	return json.Unmarshal(data, &o.Value)
}

// Note is a triage note from KafkaTopic triage.notes. Absent strings are "".
type Note struct {
	SchemaVersion string   `json:"schema_version"`
	VisitID       string   `json:"visit_id"`
	Site          string   `json:"site,omitzero"`
	ArrivedAt     string   `json:"arrived_at,omitzero"` // RFC 3339; as it came, which package intake checks
	Complaint     string   `json:"complaint,omitzero"`
	Text          string   `json:"text"`
	Age           Optional `json:"age,omitzero"` // years
	Sex           string   `json:"sex,omitzero"`
	Acuity        Optional `json:"acuity,omitzero"` // triage level, 1 is the most urgent
	Vitals        Vitals   `json:"vitals,omitzero"`
	Fields        Fields   `json:"fields,omitzero"`
	FieldsLeftOut bool     `json:"-"` // the message had fields that Fields could not hold
	// PatientID links visits of the same patient for training, or is "" if unknown; scoring does not use it.
	PatientID string `json:"patient_id,omitzero"`
}

// Number returns the number of a note for an auxiliary column (age, acuity, vitals.hr and so on), or nil.
func (n *Note) Number(name string) *Optional {
	switch name {
	case "age":
		return &n.Age
	case "acuity":
		return &n.Acuity
	}
	if vital, ok := strings.CutPrefix(name, "vitals."); ok {
		return n.Vitals.Number(vital)
	}
	return nil
}

// Word returns the text of a note for an auxiliary column (sex or site), or nil.
func (n *Note) Word(name string) *string {
	switch name {
	case "sex":
		return &n.Sex
	case "site":
		return &n.Site
	}
	return nil
}

// Value returns the value of a note for an auxiliary column: a number, a text, or null if there is none.
func (n *Note) Value(name string) Value {
	if v := n.Number(name); v != nil && v.Set {
		return Number(v.Value)
	}
	if s := n.Word(name); s != nil && *s != "" {
		return Text(*s)
	}
	return n.Fields.Value(name)
}

// NumberNames returns the names that Number knows.
func NumberNames() []string {
	names := []string{"age", "acuity"}
	for _, vital := range VitalNames() {
		names = append(names, "vitals."+vital)
	}
	return names
}

// WordNames returns the names that Word knows.
func WordNames() []string { return []string{"sex", "site"} }

// DecodeNote reads a note from the JSON object in data into n, which it overwrites. It does not keep data.
//
// The error is an *Error for the first fault in this order: InvalidUTF8; NotJSON (also if empty); WrongType if not an
// object; a mistyped, absent or unknown schema_version; WrongType of another field (also beyond float64); TooLarge;
// MissingField for visit_id and text; EmptyText. After an error n must not be used. A patient_id that is a number is
// read as its digits; one that is longer than MaxField or of another type is read as unknown, since scoring does not
// need it. Of fields it keeps the first MaxFields that are a SiteField with a number or a text of at most MaxField
// bytes; FieldsLeftOut reports anything else but null.
//
// It takes time linear in len(data), one allocation, one for each string with a JSON escape, and one for fields, or
// more if they are over 8.
func DecodeNote(data []byte, n *Note) error { return decodeNote(data, n, "") }

// DecodeOwnNote is DecodeNote for a note not from Kafka: an absent schema_version is SchemaVersion.
func DecodeOwnNote(data []byte, n *Note) error { return decodeNote(data, n, SchemaVersion) }

// decodeNote decodes a note; version is the default schema version.
func decodeNote(data []byte, n *Note, version string) error {
	*n = Note{SchemaVersion: version}
	var d decoder
	hasText := false
	vital := func(name string) bool {
		if v := n.Vitals.Number(name); v != nil {
			return d.float("vitals.", name, v)
		}
		return d.Skip(2)
	}
	err := d.message(data, &n.SchemaVersion, func(name string) bool {
		switch name {
		case "schema_version":
			return d.text(name, &n.SchemaVersion, MaxField)
		case "visit_id":
			return d.text(name, &n.VisitID, MaxField)
		case "arrived_at":
			return d.text(name, &n.ArrivedAt, MaxField)
		case "complaint":
			return d.text(name, &n.Complaint, MaxField)
		case "text":
			hasText = d.Peek() != 'n'
			return d.text(name, &n.Text, MaxText)
		case "site", "sex":
			return d.text(name, n.Word(name), MaxField)
		case "patient_id":
			return d.identifier(&n.PatientID)
		case "age", "acuity":
			return d.float("", name, n.Number(name))
		case "vitals":
			n.Vitals = Vitals{}
			return d.fields(name, vital)
		case "fields":
			n.Fields, n.FieldsLeftOut = nil, false
			return d.siteFields(n)
		}
		return d.Skip(1)
	})
	switch {
	case err != nil:
		return err
	case blank(n.VisitID):
		return &Error{MissingField, "visit_id"}
	case !hasText:
		return &Error{MissingField, "text"}
	case blank(n.Text):
		return &Error{EmptyText, "text"}
	}
	return nil
}

// AppendJSON appends the note as one JSON object to dst, without absent fields. An empty SchemaVersion is written as
// SchemaVersion, and a number that is not finite as null. It allocates only to grow dst.
func (n *Note) AppendJSON(dst []byte) []byte { return noteCodec.append(dst, n) }
