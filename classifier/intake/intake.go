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
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/wording"
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
		if x, ok := asNumber(n.Value(b.field)).Number(); ok && !b.holds(x) {
			p.Warnings = append(p.Warnings, msg.Warning{Field: b.field, Code: msg.ValueOutOfRange})
		}
	}
	if n.FieldsLeftOut {
		p.Warnings = append(p.Warnings, msg.Warning{Field: msg.FieldsField, Code: msg.ValueLeftOut})
	}
}

// ArrivedField is the name of the arrival in warnings.
const ArrivedField = "arrived_at"

func (b *bound) holds(x float64) bool { return x >= b.low && x <= b.high }

func (in *Intake) bound(field string) *bound {
	if i := slices.IndexFunc(in.bounds, func(b bound) bool { return b.field == field }); i >= 0 {
		return &in.bounds[i]
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

		"nurse_estimate": {0, 100}, // a share or percent
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
		case n.Number(field) == nil && !msg.SiteField(field):
			bad("ranges."+field, "a note has no such number; it has %s, and fields of letters a to z, digits and underscores",
				strings.Join(msg.NumberNames(), ", "))
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

// Columns reads the auxiliary values of notes for one model, in one goroutine.
type Columns struct {
	columns []column
	folded  []byte // buffer
}

type column struct {
	*bound                    // nil for all numbers
	numeric bool              // learned as numbers, in any spelling of them, so that 07 is 7
	levels  []string          // of the model, ascending
	others  map[string]string // the level of each other spelling, folded; nil if levels are taken as they are
}

// Columns returns the reader of the values of a model with these columns.
func (in *Intake) Columns(aux []bundle.AuxColumn) *Columns {
	c := &Columns{columns: make([]column, len(aux))}
	for i := range aux {
		numeric := aux[i].Kind == bundle.Numeric
		c.columns[i] = column{bound: in.bound(aux[i].Name), numeric: numeric, levels: aux[i].Levels}
		// A complaint comes folded, and the levels are.
		if aux[i].Kind == bundle.Categorical && aux[i].Name != bundle.ComplaintColumn {
			c.columns[i].others = in.spellings(&aux[i])
		}
	}
	return c
}

// spellings returns the level of each spelling, folded. Of several levels that a spelling could mean, it is the
// commonest in training: of those that differ from it in case and space alone, or else of those that the table says.
func (in *Intake) spellings(aux *bundle.AuxColumn) map[string]string {
	levels, share := slices.Clone(aux.Levels), map[string]float64{}
	for i, level := range levels {
		share[level] = aux.Mean[i]
	}
	slices.SortStableFunc(levels, func(a, b string) int { return cmp.Compare(share[b], share[a]) })
	table := in.levels[aux.Name]
	found, named := map[string]string{}, map[string]string{}
	for _, level := range levels {
		folded := fold(level)
		if _, taken := found[folded]; !taken {
			found[folded] = level
		}
		if name, ok := table[folded]; ok && named[name] == "" {
			named[name] = level
		}
	}
	for spelling, name := range table {
		if _, taken := found[spelling]; !taken && named[name] != "" {
			found[spelling] = named[name]
		}
	}
	return found
}

// Value returns the value of column i as the model reads it: null for an implausible number, the number that a text in
// a numeric column writes, the level for another spelling of it, else v. It allocates only to grow its buffer, for a
// number in a categorical column and for a word in a numeric one.
func (c *Columns) Value(i int, v msg.Value) msg.Value {
	col := &c.columns[i]
	if col.numeric {
		v = asNumber(v)
	}
	if x, ok := v.Number(); ok && col.bound != nil && !col.holds(x) {
		return msg.Value{}
	}
	s, ok := v.Text()
	if !ok || col.others == nil {
		return v
	}
	if _, known := slices.BinarySearch(col.levels, s); known {
		return v
	}
	c.folded = appendFolded(c.folded[:0], s)
	if level, known := col.others[string(c.folded)]; known {
		return msg.Text(level)
	}
	return v
}

// asNumber returns the number that a text writes, else v.
func asNumber(v msg.Value) msg.Value {
	if s, ok := v.Text(); ok {
		if x, err := wording.Number(s); err == nil {
			return msg.Number(x)
		}
	}
	return v
}

// Clean changes the training values of one column as they are to be learned: texts in a numeric column become the
// numbers that they write, numbers that cannot be become null, and all spellings of a level become the commonest one
// among the values. It returns how many values became null.
func (in *Intake) Clean(field string, kind bundle.AuxKind, values []*msg.Value) (implausible int) {
	type spelled struct{ level, as string }
	b, counts := in.bound(field), map[spelled]int{}
	for _, v := range values {
		if kind == bundle.Numeric {
			*v = asNumber(*v)
		}
		if x, ok := v.Number(); ok && b != nil && !b.holds(x) {
			*v = msg.Value{}
			implausible++
		}
		if s, ok := v.Text(); ok {
			counts[spelled{in.level(field, s), s}]++
		}
	}
	commonest := map[string]string{}
	for s, n := range counts {
		best := spelled{s.level, commonest[s.level]}
		if n > counts[best] || n == counts[best] && s.as < best.as {
			commonest[s.level] = s.as
		}
	}
	for _, v := range values {
		if s, ok := v.Text(); ok {
			*v = msg.Text(commonest[in.level(field, s)])
		}
	}
	return implausible
}

// level returns what all spellings of a level share.
func (in *Intake) level(field, s string) string {
	folded := fold(s)
	if name, ok := in.levels[field][folded]; ok {
		return name
	}
	return folded
}

// Level returns the level that v names in a categorical column, a number in shortest decimal text; "" for a missing
// one.
func Level(v msg.Value) string {
	if x, ok := v.Number(); ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	s, _ := v.Text()
	return s
}
