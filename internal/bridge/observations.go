package bridge

import (
	"cmp"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/msg"
)

// fieldUnknown is an observation that is not read.
const fieldUnknown = ""

// readObservations reads the segments OBX. Those of a text are its lines, in their order.
func (r *reader) readObservations() error {
	var lines strings.Builder
	found, gone := map[string]value{}, map[string]bool{}
	documents := r.noteCodes[code(r.m.First("TXA").Field(2))] // of an MDM
	if txa := r.m.First("TXA"); txa.Position > 0 && (!documents || slices.Contains(
		[]string{"CA", "OB", "UN"}, strings.TrimSpace(txa.Field(19).String()))) {
		if documents { // cancelled, obsolete or unavailable
			r.values = append(r.values, value{name: textField, gone: true})
		}
		return nil // another document
	}
	ordered := documents // OBX without a code of their own belong to the document or order that has one
	for _, s := range r.m.Segments() {
		switch s.Name {
		case "OBR":
			ordered = r.noteCodes[code(s.Field(4))]
			continue
		case "OBX":
		default:
			continue
		}
		name := r.fields[code(s.Field(3))]
		content := s.Field(5)
		kind := s.Field(2).String()
		if name == fieldUnknown && ordered && slices.Contains([]string{"", "TX", "FT", "ST", "ED", "RP"}, kind) {
			name = textField
		}
		if name == fieldUnknown {
			continue
		}
		switch status := s.Field(11).String(); {
		case status == "X" || status == "N": // no result; not asked
			continue
		case status == "W" || status == "D" || content.Null(): // wrong; deleted
			gone[name] = true
			continue
		case content.Empty():
			continue
		}
		if name == complaintField && (kind == "ED" || kind == "RP") {
			r.unusable(UnusedText)
			continue
		}
		if name == textField {
			for v := range content.Repetitions() {
				line, ok := text(s, v), true
				if kind == "ED" || kind == "RP" { // encapsulated data, or a pointer to them
					line, ok = encapsulated(v)
				}
				if !ok {
					r.unusable(UnusedText)
					continue
				}
				lines.WriteString(line + "\n")
				if lines.Len() > msg.MaxText { // at once: a hostile message may have a million of them
					return r.refuse(TooLongText, s, s.Name, 5)
				}
			}
			continue
		}
		v, ok := r.observation(name, s)
		if !ok {
			continue
		}
		if !fits(v.text) {
			return r.refuse(TooLongText, s, s.Name, 5)
		}
		if before, is := found[name]; !is || v.rank > before.rank {
			found[name] = v
		}
	}
	joined := strings.TrimSpace(lines.String())
	switch {
	case strings.HasPrefix(joined, `{\rtf`):
		r.unusable(UnusedText)
	case joined != "":
		found[textField] = value{name: textField, text: joined}
	}
	for _, name := range r.order {
		if v, ok := found[name]; ok {
			r.values = append(r.values, v)
		} else if gone[name] {
			r.values = append(r.values, value{name: name, gone: true})
		}
	}
	return nil
}

// encapsulated returns a text of type ED: plain or with marks, in base64 or as it is. ok is false for all else.
func encapsulated(v hl7.Value) (text string, ok bool) {
	if !strings.EqualFold(v.Component(2).String(), "TEXT") {
		return "", false
	}
	data := v.Component(5).String()
	if !strings.EqualFold(v.Component(4).String(), "Base64") {
		return data, true
	}
	a := fhir.Attachment{ContentType: "text/" + cmp.Or(strings.ToLower(v.Component(3).String()), "plain"), Data: data}
	text, err := a.Text()
	return text, err == nil
}

// text returns a repetition of an OBX-5 as a line. Some senders put the text of type TX where CWE has it, in component
// 9; otherwise separators that the sender did not escape are text.
func text(s hl7.Segment, v hl7.Value) string {
	const original = 9
	if last := v.Component(original).String(); last != "" && v.Component(1).Empty() && v.Component(2).Empty() {
		return last
	}
	if kind := s.Field(2).String(); kind == "CWE" || kind == "CE" || kind == "CF" || kind == "CNE" {
		for _, n := range []int{2, 5, 1} { // the text, that of the second coding, the code
			if t := v.Component(n).String(); t != "" {
				return t
			}
		}
	}
	return v.String()
}

// observation reads a value of a note other than its text.
func (r *reader) observation(name string, s hl7.Segment) (v value, ok bool) {
	v.name = name
	content := s.Field(5)
	first := content.Component(1).String()
	switch name {
	case complaintField:
		v.text = strings.Join(strings.Fields(text(s, firstOf(content))), " ")
		v.rank = rankTyped
		if kind := s.Field(2).String(); strings.HasPrefix(kind, "C") && content.Component(9).Empty() {
			v.rank = rankCoded
		}
		return v, v.text != ""
	case "acuity":
		level, known := r.acuity(first, content.Component(2).String(), content.Component(9).String())
		if !known {
			r.unusable(UnusedAcuity)
		}
		v.number = msg.Some(level)
		return v, known
	}
	if kind := s.Field(2).String(); kind == "SN" && (first == "" || first == "=") {
		first = content.Component(2).String()
	}
	measured, isNumber := number(first)
	if !isNumber {
		r.unusable(UnusedNumber)
		return v, false
	}
	v, ok = measure(name, measured, s.Field(6).Component(1).String(), s.Field(6).Component(2).String())
	if !ok {
		r.unusable(UnusedUnit)
	}
	return v, ok
}

// measure returns a number with the names of its unit as a value of a note; ok is false if the unit is unknown.
func measure(name string, number float64, units ...string) (v value, ok bool) {
	convert := vital
	if name == "age" {
		convert = func(_ string, value float64, names ...string) (float64, bool) { return age(value, names...) }
	}
	number, ok = convert(strings.TrimPrefix(name, vitalsPrefix), number, units...)
	return value{name: name, number: msg.Some(number)}, ok
}

// firstOf returns the first repetition of a field.
func firstOf(field hl7.Value) hl7.Value {
	for v := range field.Repetitions() {
		return v
	}
	return field
}

const vitalsPrefix = "vitals."
