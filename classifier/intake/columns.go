package intake

import (
	"cmp"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
)

// Columns reads the auxiliary values of notes for one model, in one goroutine.
type Columns struct {
	columns []column
	folded  []byte // buffer
}

type column struct {
	*bound                   // nil for all numbers
	levels []string          // of the model, ascending
	others map[string]string // the level of each other spelling, folded; nil if levels are taken as they are
}

// Columns returns the reader of the values of a model with these columns.
func (in *Intake) Columns(aux []bundle.AuxColumn) *Columns {
	c := &Columns{columns: make([]column, len(aux))}
	for i := range aux {
		c.columns[i] = column{bound: in.bound(aux[i].Name), levels: aux[i].Levels}
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

// Value returns the value of column i as the model reads it: null for an implausible number, the level for another
// spelling of it, else v. It allocates only to grow its buffer, and for a number in a categorical column.
func (c *Columns) Value(i int, v msg.Value) msg.Value {
	col := &c.columns[i]
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

// Clean changes the training values of one column as they are to be learned: numbers that cannot be become null, and
// all spellings of a level become the commonest one among the values. It returns how many values became null.
func (in *Intake) Clean(field string, values []*msg.Value) (implausible int) {
	b, counts := in.bound(field), map[string]map[string]int{} // by level, then spelling
	for _, v := range values {
		if x, ok := v.Number(); ok && b != nil && !b.holds(x) {
			*v = msg.Value{}
			implausible++
		}
		if s, ok := v.Text(); ok {
			level := in.level(field, s)
			if counts[level] == nil {
				counts[level] = map[string]int{}
			}
			counts[level][s]++
		}
	}
	commonest := map[string]string{}
	for level, spellings := range counts {
		for s, n := range spellings {
			if best := commonest[level]; n > spellings[best] || n == spellings[best] && s < best {
				commonest[level] = s
			}
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
