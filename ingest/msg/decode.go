package msg

import (
	"cmp"
	"strings"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/jsonscan"
)

// decoder reads the fields of one message. It continues after a field of the wrong type: the message may turn out not
// to be JSON, or to have another schema version.
type decoder struct {
	jsonscan.Scanner
	wrong string // the first field of a wrong type; schema_version comes before all others
	large string // the first string longer than MaxField
}

// message reads one JSON object, whose fields field consumes. An absent version is not changed. The errors are those
// that all messages share.
func (d *decoder) message(data []byte, version *string, field func(name string) bool) *Error {
	if !utf8.Valid(data) {
		return &Error{Reason: InvalidUTF8}
	}
	d.Scanner = jsonscan.New(string(data))
	if d.Peek() != '{' {
		if d.Skip(0) && d.End() {
			return &Error{Reason: WrongType}
		}
		return &Error{Reason: NotJSON}
	}
	byDefault := *version
	whole := d.Object(field)
	*version = cmp.Or(*version, byDefault)
	switch {
	case !whole || !d.End():
		return &Error{Reason: NotJSON}
	case d.wrong == "schema_version":
		return &Error{WrongType, d.wrong}
	case *version == "":
		return &Error{MissingField, "schema_version"}
	case !known(*version):
		return &Error{UnknownSchemaVersion, "schema_version"}
	case d.wrong != "":
		return &Error{WrongType, d.wrong}
	case d.large != "":
		return &Error{TooLarge, d.large}
	}
	return nil
}

// Framing names what another program put around a message that could not be decoded, "" if it recognizes nothing.
func Framing(value []byte) string {
	if len(value) > 5 && value[0] == 0 {
		return "the value has a schema registry's prefix of 5 bytes (a zero byte and the number of a schema)"
	}
	var schema, payload bool
	s := jsonscan.New(string(value))
	if s.Peek() == '{' && s.Object(func(name string) bool {
		schema, payload = schema || name == "schema", payload || name == "payload"
		return s.Skip(1)
	}) && schema && payload {
		return "the value is a Kafka Connect envelope (schema and payload): set value.converter.schemas.enable to false"
	}
	return ""
}

func blank(s string) bool { return strings.TrimSpace(s) == "" }

// known reports whether version is SchemaVersion, alone or followed by a dot and a minor version of digits.
func known(version string) bool {
	major, minor, dotted := strings.Cut(version, ".")
	return major == SchemaVersion && (!dotted || minor != "" && strings.Trim(minor, "0123456789") == "")
}

// text reads a string of at most limit bytes; null reads as "".
func (d *decoder) text(name string, dst *string, limit int) bool {
	switch d.Peek() {
	case '"':
		s, ok := d.Quoted()
		d.bound(name, s, limit)
		*dst = s
		return ok
	case 'n':
		*dst = ""
		return d.Literal("null")
	}
	return d.mistyped(name)
}

// identifier reads a string of at most MaxField bytes, or a number as written. Anything else reads as "".
func (d *decoder) identifier(dst *string) bool {
	*dst = ""
	read := d.Quoted
	switch c := d.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		read = d.Written
	case c != '"':
		return d.Skip(1)
	}
	s, ok := read()
	if len(s) <= MaxField {
		*dst = s
	}
	return ok
}

// float reads the number group+name; null reads as unset.
func (d *decoder) float(group, name string, dst *Optional) bool {
	fits, ok := d.optional(dst, 1)
	if !fits {
		d.refuse(group + name)
	}
	return ok
}

// optional reads a number, or null as unset. It skips anything else, depth levels deep: fits is then false.
func (d *decoder) optional(dst *Optional, depth int) (fits, ok bool) {
	*dst = Optional{}
	switch c := d.Peek(); {
	case c == '-' || '0' <= c && c <= '9':
		v, finite, ok := d.Number()
		if finite {
			*dst = Optional{v, true}
		}
		return finite, ok
	case c == 'n':
		return true, d.Literal("null")
	}
	return false, d.Skip(depth)
}

// value reads a number, a string or null. It skips anything else, like optional.
func (d *decoder) value(dst *Value, depth int) (fits, ok bool) {
	*dst = Value{}
	if d.Peek() == '"' {
		s, ok := d.Quoted()
		*dst = Text(s)
		return true, ok
	}
	var o Optional
	if fits, ok = d.optional(&o, depth); o.Set {
		*dst = Number(o.Value)
	}
	return fits, ok
}

// fields reads an object, whose fields field consumes; null reads as empty.
func (d *decoder) fields(name string, field func(name string) bool) bool {
	switch d.Peek() {
	case '{':
		return d.Object(field)
	case 'n':
		return d.Literal("null")
	}
	return d.mistyped(name)
}

const usualFields = 8 // more take further allocations

// siteFields reads the fields of a note. Nothing in them refuses the note.
func (d *decoder) siteFields(n *Note) bool {
	switch d.Peek() {
	case '{':
		return d.Object(func(name string) bool {
			var v Value
			fits, ok := d.value(&v, 2)
			text, _ := v.Text()
			if v == Text("") {
				v = Value{}
			}
			have := n.Fields.Value(name) != Value{}
			room := have || len(n.Fields) < MaxFields
			if !fits || len(text) > MaxField || v != (Value{}) && !(n.siteField(name) && room) {
				n.FieldsLeftOut = true
				return ok
			}
			if n.Fields == nil && v != (Value{}) {
				n.Fields = make(Fields, 0, usualFields)
			}
			n.Fields.Set(name, v)
			return ok
		})
	case 'n':
		return d.Literal("null")
	}
	n.FieldsLeftOut = true
	return d.Skip(1)
}

// bound records a string of more than limit bytes.
func (d *decoder) bound(name, s string, limit int) {
	if len(s) > limit && d.large == "" {
		d.large = name
	}
}

// mistyped consumes a value of the wrong type.
func (d *decoder) mistyped(name string) bool {
	d.refuse(name)
	return d.Skip(1)
}

// refuse records a field of the wrong type whose value was read.
func (d *decoder) refuse(name string) {
	if d.wrong == "" || name == "schema_version" {
		d.wrong = name
	}
}

// Reason is a fixed code for why a message became a dead letter (header dlq-reason, error.code of predict).
type Reason string

// The reasons.
const (
	NotJSON Reason = "not_json" // empty, not JSON, cut short, with trailing bytes, or nested too deep
	// valid JSON but not an object, or a field, item or confound has another type or exceeds float64.
	WrongType Reason = "wrong_type"
	// a required field or a confound of the model is absent, null or (except the text) blank.
	MissingField Reason = "missing_field"
	EmptyText    Reason = "empty_text"    // the text is there, but holds only white space
	NoAnswers    Reason = "no_answers"    // the answers are empty, or none is a number for an item of the model
	OutOfRange   Reason = "out_of_range"  // an answer is outside the range of its item
	UnknownLevel Reason = "unknown_level" // a categorical confound has a level that was not in training
	InvalidUTF8  Reason = "invalid_utf8"  // the bytes of the message are not UTF-8
	// the text exceeds MaxText, another string MaxField, or the record the limit of the reader.
	TooLarge             Reason = "too_large"
	UnknownSchemaVersion Reason = "unknown_schema_version" // another major version, or not of the form N or N.M
	Unreadable           Reason = "unreadable"             // the producer sent a batch that cannot be decompressed
	// neither the complaint nor _other has a model, or the instrument has none.
	NoModel       Reason = "no_model"
	ScoringFailed Reason = "scoring_failed" // the scorer refused or failed
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{
		NotJSON, WrongType, MissingField, EmptyText, NoAnswers, OutOfRange, UnknownLevel, InvalidUTF8,
		TooLarge, UnknownSchemaVersion, Unreadable, NoModel, ScoringFailed,
	}
}

// Limits of strings in bytes of UTF-8, without JSON escapes. MaxField keeps a prediction, which repeats identifiers and
// the complaint, far below the brokers' default limit of 1 MiB.
const (
	MaxText  = 64 << 10
	MaxField = 4 << 10
)

// Error says why a message was refused. Neither part quotes the message.
type Error struct {
	Reason Reason
	Field  string // our field as the contract spells it, or the model's item as answers.A1; "" if none applies
}

func (e *Error) Error() string {
	if e.Field == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Field
}
