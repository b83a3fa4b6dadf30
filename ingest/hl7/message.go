package hl7

import (
	"bytes"
	"iter"
	"strings"
)

// Bounds of a message. Real ones stay far below: a large laboratory report has some hundred segments of 30 fields.
const (
	MaxMessage  = 1 << 20 // bytes
	MaxSegments = 10_000
	MaxFields   = 1_000 // of a segment
)

// Reason is a fixed code for why a message cannot be read.
type Reason string

// The reasons.
const (
	NotHL7              Reason = "not_hl7"               // it does not begin with a segment MSH
	BadSeparators       Reason = "bad_separators"        // those of MSH are alike, letters, digits, space or missing
	TooLarge            Reason = "too_large"             // more than MaxMessage bytes
	TooManySegments     Reason = "too_many_segments"     // more than MaxSegments
	TooManyFields       Reason = "too_many_fields"       // a segment has more than MaxFields
	UnknownCharacterSet Reason = "unknown_character_set" // MSH-18 names one that is not supported
	InvalidCharacters   Reason = "invalid_characters"    // bytes that do not exist in the character set
	SeveralMessages     Reason = "several_messages"      // a second MSH: its segments would count as the first one's
)

// Reasons returns all reasons.
func Reasons() []Reason {
	return []Reason{
		NotHL7, BadSeparators, TooLarge, TooManySegments, TooManyFields, UnknownCharacterSet, InvalidCharacters,
		SeveralMessages,
	}
}

// Error says why and where a message cannot be read. It quotes nothing of it.
type Error struct {
	Reason   Reason
	Position int    // of the segment in the message, from 1; 0 if it is about the whole message
	Segment  string // its name, or ""
	Field    int    // from 1; 0 if it is about the whole segment
	Sequence int    // of the segment among those of its name, from 1; 0 if that is unknown
}

func (e *Error) Error() string { return string(e.Reason) }

// Separators are the delimiters of a message, 0 for one that it does not have.
type Separators struct {
	Field, Component, Repetition, Escape, Subcomponent byte
}

// Header holds the fields of MSH, as their bytes were written, in the character set of the message.
type Header struct {
	Separators Separators

	SendingApplication, SendingFacility     string // MSH-3, MSH-4
	ReceivingApplication, ReceivingFacility string // MSH-5, MSH-6
	Type, Event                             string // MSH-9, first two components: ADT, A04
	Control                                 string // MSH-10
	Processing                              string // MSH-11, first component: P, T or D
	Version                                 string // MSH-12, first component
	CharacterSet                            string // MSH-18, first repetition
}

const (
	header       = "MSH"
	maxSeparator = 5 // characters of MSH-2, with the one of truncation that 2.7 added
)

// ReadHeader reads MSH alone. The header holds what could be read, also with an error, so that the sender can be
// answered.
func ReadHeader(data []byte) (h Header, err error) {
	line := begin(data)
	if end := bytes.IndexAny(line, "\r\n"); end >= 0 {
		line = line[:end]
	}
	if len(line) < len(header)+2 || string(line[:len(header)]) != header {
		return h, &Error{Reason: NotHL7}
	}
	wrong := &Error{Reason: BadSeparators, Position: 1, Segment: header, Field: 2}
	h.Separators.Field = line[len(header)]
	if !delimits(h.Separators.Field) {
		h.Separators = Separators{}
		return h, wrong
	}
	fields := strings.SplitN(string(line), string(h.Separators.Field), 21)
	if !h.Separators.define(fields[1]) {
		return h, wrong
	}
	field := func(n int) string { // of MSH, whose first field is the separator
		if n-1 < len(fields) {
			return fields[n-1]
		}
		return ""
	}
	component := func(n, c int) string {
		first, _ := cut(field(n), h.Separators.Repetition)
		for ; c > 1; c-- {
			_, first = cut(first, h.Separators.Component)
		}
		first, _ = cut(first, h.Separators.Component)
		return strings.TrimSpace(first)
	}
	h.SendingApplication, h.SendingFacility = field(3), field(4)
	h.ReceivingApplication, h.ReceivingFacility = field(5), field(6)
	h.Type, h.Event = component(9, 1), component(9, 2)
	h.Control, h.Processing, h.Version = field(10), component(11, 1), component(12, 1)
	h.CharacterSet, _ = cut(field(18), h.Separators.Repetition)
	return h, nil
}

// define sets the separators of MSH-2 and reports whether they are usable.
func (s *Separators) define(field string) bool {
	if field == "" || len(field) > maxSeparator {
		return false
	}
	for i, to := range []*byte{&s.Component, &s.Repetition, &s.Escape, &s.Subcomponent, new(byte)} {
		if i == len(field) {
			break
		}
		c := field[i]
		if !delimits(c) || c == s.Field || strings.IndexByte(field[:i], c) >= 0 {
			return false
		}
		*to = c
	}
	return true
}

// delimits reports whether a byte may be a separator.
func delimits(c byte) bool {
	letter := c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9'
	return c > ' ' && c < 0x7f && !letter && c != '"' // "" is HL7's null
}

// cut is strings.Cut for a separator that may not exist.
func cut(s string, separator byte) (before, after string) {
	if i := strings.IndexByte(s, separator); separator != 0 && i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// begin skips what some senders write before MSH: empty lines, and the mark of UTF-8.
func begin(data []byte) []byte {
	return bytes.TrimLeft(bytes.TrimPrefix(data, []byte("\xef\xbb\xbf")), "\r\n")
}

// Message is a message that was read. It is safe for concurrent use.
type Message struct {
	Header   Header
	segments []Segment
	charset  charset
}

// Parse reads a message. It does not keep data. With an error, which is an *Error, the message has the header as far as
// it could be read, and no segments.
func Parse(data []byte) (*Message, error) {
	m := &Message{}
	var err error
	if m.Header, err = ReadHeader(data); err != nil {
		return m, err
	}
	if len(data) > MaxMessage {
		return m, &Error{Reason: TooLarge}
	}
	at := func(r Reason) error { return &Error{Reason: r, Position: 1, Segment: header, Field: 18} }
	var known bool
	if m.charset, known = findCharset(m.Header.CharacterSet); !known {
		return m, at(UnknownCharacterSet)
	}
	text, valid := m.charset.decode(begin(data))
	if !valid {
		return m, at(InvalidCharacters)
	}
	segments, err := m.split(text)
	if err != nil {
		return m, err
	}
	m.segments = segments
	return m, nil
}

// split finds the segments of a text.
func (m *Message) split(text string) (segments []Segment, err error) {
	end := byte('\r')
	if i := strings.IndexAny(text, "\r\n"); i >= 0 {
		end = text[i]
	}
	field := m.Header.Separators.Field
	for start := 0; start < len(text); {
		next := len(text)
		if i := strings.IndexByte(text[start:], end); i >= 0 {
			next = start + i + 1
		}
		from := start
		for from < next && (text[from] == '\n' || text[from] == '\r') {
			from++
		}
		line := strings.TrimRight(text[from:next], "\r\n")
		start = next
		if line == "" {
			continue
		}
		if len(segments) > 0 && !begins(line, field) { // a line break that was not escaped
			last := &segments[len(segments)-1]
			last.text = text[last.from : from+len(line)]
			continue
		}
		if len(segments) == MaxSegments {
			return nil, &Error{Reason: TooManySegments, Position: MaxSegments + 1}
		}
		if name := line[:len(header)]; name == header && len(segments) > 0 {
			return nil, &Error{Reason: SeveralMessages, Position: len(segments) + 1, Segment: name, Sequence: 2}
		}
		segments = append(segments, Segment{
			Name: line[:len(header)], Position: len(segments) + 1, text: line, from: from, message: m,
		})
	}
	for i := range segments {
		s := &segments[i]
		if strings.Count(s.text, string(field)) > MaxFields {
			return nil, &Error{Reason: TooManyFields, Position: s.Position, Segment: s.Name}
		}
	}
	return segments, nil
}

// begins reports whether a line begins with the name of a segment: a capital and two capitals or digits.
func begins(line string, field byte) bool {
	const length = len(header)
	if len(line) < length || len(line) > length && line[length] != field || line[0] < 'A' || line[0] > 'Z' {
		return false
	}
	for _, c := range []byte(line[1:length]) {
		if (c < 'A' || c > 'Z') && (c < '0' || c > '9') {
			return false
		}
	}
	return true
}

// Segments returns the segments in the order of the message. They must not be changed.
func (m *Message) Segments() []Segment { return m.segments }

// First returns the first segment of a name, or an empty one, all of whose fields are empty.
func (m *Message) First(name string) Segment {
	for i := range m.segments {
		if m.segments[i].Name == name {
			return m.segments[i]
		}
	}
	return Segment{message: m}
}

// Segment is a line of a message.
type Segment struct {
	Name     string // such as PV1
	Position int    // in the message, from 1; 0 for a segment that the message does not have
	text     string // from the name on
	from     int    // where it begins in the text of the message
	message  *Message
}

// Sequence returns which of the message's segments of its name this is, from 1; 0 if the message does not have it.
func (s Segment) Sequence() (n int) {
	for _, other := range s.message.segments[:s.Position] {
		if other.Name == s.Name {
			n++
		}
	}
	return n
}

// Field returns the field of a number, from 1, as the standard counts: MSH-1 is the separator.
func (s Segment) Field(n int) Value {
	text, separator := s.text, s.message.Header.Separators.Field
	if s.Name == header {
		if n == 1 {
			return Value{string(separator), s.message}
		}
		n--
	}
	for ; n > 0; n-- {
		i := strings.IndexByte(text, separator)
		if i < 0 {
			return Value{message: s.message}
		}
		text = text[i+1:]
	}
	text, _ = cut(text, separator)
	return Value{text, s.message}
}

// Value is a field, or a repetition, component or subcomponent of one.
type Value struct {
	raw     string
	message *Message
}

// Repetitions yields the repetitions of a field, one for an empty field.
func (v Value) Repetitions() iter.Seq[Value] {
	return func(yield func(Value) bool) {
		separator := v.message.Header.Separators.Repetition
		for rest := v.raw; ; {
			i := strings.IndexByte(rest, separator)
			if separator == 0 || i < 0 {
				yield(Value{rest, v.message})
				return
			}
			if !yield(Value{rest[:i], v.message}) {
				return
			}
			rest = rest[i+1:]
		}
	}
}

// Component returns a component of the first repetition, from 1.
func (v Value) Component(n int) Value {
	separators := &v.message.Header.Separators
	first, _ := cut(v.raw, separators.Repetition)
	return Value{nth(first, separators.Component, n), v.message}
}

// Subcomponent returns a subcomponent of a component, from 1.
func (v Value) Subcomponent(n int) Value {
	return Value{nth(v.raw, v.message.Header.Separators.Subcomponent, n), v.message}
}

func nth(s string, separator byte, n int) string {
	for ; n > 1; n-- {
		if _, s = cut(s, separator); s == "" {
			return ""
		}
	}
	s, _ = cut(s, separator)
	return s
}

// Null reports whether the value is HL7's null, two quotation marks: the sender deletes what was there.
func (v Value) Null() bool { return v.raw == `""` }

// Empty reports whether the value is absent: the sender says nothing of it.
func (v Value) Empty() bool { return v.raw == "" }

// String returns the text of the value: escapes are replaced, separators that were not escaped stay. The text of a null
// is "".
func (v Value) String() string {
	if v.Null() {
		return ""
	}
	return v.message.unescape(v.raw)
}
