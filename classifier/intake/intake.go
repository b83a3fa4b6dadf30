package intake

import (
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Arrived returns the time of a note's arrived_at, or why it counts as missing; for a blank one the zero time.
func (in *Intake) Arrived(written string) (time.Time, msg.WarningCode) {
	written = strings.TrimSpace(written)
	if written == "" {
		return time.Time{}, ""
	}
	t, err := time.Parse(time.RFC3339, written)
	switch {
	case err != nil:
		return time.Time{}, msg.ValueBadTime
	case t.Before(in.earliest) || !t.Before(in.latest):
		return time.Time{}, msg.ValueOutOfRange
	}
	return t, ""
}

// Note sets the arrival of a note's prediction, and adds a warning for it and for each number of the note that count as
// missing.
func (in *Intake) Note(n *msg.Note, p *msg.Prediction) {
	p.ArrivedAt = strings.TrimSpace(n.ArrivedAt)
	if _, why := in.Arrived(n.ArrivedAt); why != "" {
		p.ArrivedAt = ""
		p.Warnings = append(p.Warnings, msg.Warning{Field: ArrivedField, Code: why})
	}
	for i := range in.bounds {
		b := &in.bounds[i]
		if v := n.Number(b.field); v.Set && !b.holds(v.Value) {
			p.Warnings = append(p.Warnings, msg.Warning{Field: b.field, Code: msg.ValueOutOfRange})
		}
	}
}

// ArrivedField is the name of the arrival in warnings.
const ArrivedField = "arrived_at"

func (b *bound) holds(x float64) bool { return x >= b.low && x <= b.high }

func (in *Intake) bound(field string) *bound {
	for i := range in.bounds {
		if in.bounds[i].field == field {
			return &in.bounds[i]
		}
	}
	return nil
}

// fold returns s as it is compared: in small letters, without space around it and with single spaces inside.
func fold(s string) string { return string(appendFolded(nil, s)) }

func appendFolded(dst []byte, s string) []byte {
	space := false
	for _, r := range s {
		if unicode.IsSpace(r) {
			space = len(dst) > 0
			continue
		}
		if space {
			dst = append(dst, ' ')
			space = false
		}
		dst = utf8.AppendRune(dst, unicode.ToLower(r))
	}
	return dst
}
