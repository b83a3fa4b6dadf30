// Package intake says which values of a note count, and which level a spelling means. Training and scoring share it, so
// that a model reads a note as it read those that it learned from.
//
// A number that cannot be, and an arrival that is no time or cannot be, count as missing. A level that a model has as
// it is written is that level. Any other spelling is looked up without regard to case and space, and then in a table
// that maps spellings to levels.
package intake

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
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

// Note sets the arrival of a note's prediction, and adds a warning for it and each number that count as missing.
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

// Rules say which values of a note count.
type Rules struct {
	// Arrived is two days such as 2026-11-20, in UTC: patients arrive on the first one or later, and before the second.
	Arrived []string `yaml:"arrived_at"`
	// Ranges are the least and greatest plausible value of a number, by field: age, vitals.hr. Without one all count.
	Ranges map[string][]float64 `yaml:"ranges"`
	// Levels are the spellings of each level, by field (sex, site) and level, whatever their case and space.
	Levels map[string]map[string][]string `yaml:"levels"`
}

// Default returns the rules of a site that has none of its own.
func Default() Rules {
	ranges := map[string][]float64{
		"age":    {0, 122}, // years; the longest life on record is 122 years (Robine and Allard 1998)
		"acuity": {1, 5},   // ESI, Manchester, ATS, CTAS and KTAS have five levels
	}
	for _, v := range msg.VitalSigns() {
		ranges["vitals."+v.Name] = v.Range[:]
	}
	return Rules{
		// Dates that programs put in place of a missing one are earlier: 1899, 1900, 1970, 1980.
		Arrived: []string{"1990-01-01", "2100-01-01"},
		Ranges:  ranges,
		// M and F of HL7 version 2 and of English notes; 1, 2 and 0 of ISO/IEC 5218; W of German ones.
		Levels: map[string]map[string][]string{
			"sex": {
				"female":  {"F", "fem", "W", "woman", "girl", "2"},
				"male":    {"M", "man", "boy", "1"},
				"other":   {"O", "X", "D", "diverse", "non-binary"},
				"unknown": {"U", "unk", "0"},
			},
		},
	}
}

// Intake applies rules. It is immutable and safe for concurrent use.
type Intake struct {
	bounds   []bound // by field
	earliest time.Time
	latest   time.Time                    // exclusive
	levels   map[string]map[string]string // the folded level of each folded spelling, by field
}

type bound struct {
	field     string
	low, high float64
}

// New returns an Intake, or the error that joins what Check finds.
func New(r Rules) (*Intake, error) {
	in, errs := compile(&r)
	if errs != nil {
		return nil, errors.Join(errs...)
	}
	return in, nil
}

// Check returns what is wrong with the rules. Each error begins with the key.
func (r *Rules) Check() []error {
	_, errs := compile(r)
	return errs
}

// Standard returns an Intake of the default rules.
func Standard() *Intake {
	r := Default()
	in, _ := compile(&r) // the default rules have no fault
	return in
}

func compile(r *Rules) (in *Intake, errs []error) {
	in = &Intake{levels: map[string]map[string]string{}}
	bad := func(key, format string, args ...any) {
		errs = append(errs, fmt.Errorf("%s: %s", key, fmt.Sprintf(format, args...)))
	}
	var days []time.Time
	for _, day := range r.Arrived {
		if at, err := time.Parse(time.DateOnly, day); err == nil {
			days = append(days, at)
		}
	}
	if len(days) != 2 || len(r.Arrived) != 2 || !days[0].Before(days[1]) {
		bad("arrived_at", "%q is not two days such as 2026-11-20, the first before the second", r.Arrived)
	} else {
		in.earliest, in.latest = days[0], days[1]
	}
	var n msg.Note
	for _, field := range slices.Sorted(maps.Keys(r.Ranges)) {
		switch limits := r.Ranges[field]; {
		case n.Number(field) == nil:
			bad("ranges."+field, "a note has no such number; it has %s", strings.Join(msg.NumberNames(), ", "))
		case len(limits) != 2 || !(limits[0] < limits[1]):
			bad("ranges."+field, "%v is not two numbers, the least before the greatest", limits)
		default:
			in.bounds = append(in.bounds, bound{field, limits[0], limits[1]})
		}
	}
	for _, field := range slices.Sorted(maps.Keys(r.Levels)) {
		if n.Word(field) == nil {
			bad("levels."+field, "a note has no such text; it has %s", strings.Join(msg.WordNames(), ", "))
		}
		table := map[string]string{}
		for _, level := range slices.Sorted(maps.Keys(r.Levels[field])) {
			name := fold(level)
			for _, spelling := range append([]string{level}, r.Levels[field][level]...) {
				folded := fold(spelling)
				if other, taken := table[folded]; folded == "" || taken && other != name {
					bad("levels."+field+"."+level, "the spelling %q is empty, or is that of the level %q too", spelling,
						cmp.Or(other, level))
				}
				table[folded] = name
			}
		}
		in.levels[field] = table
	}
	return in, errs
}
