package questionnaire

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/models"
)

// interceptColumn is the last column of the confounds' loadings.
const interceptColumn = "intercept"

// learn completes the confounds by the range or the levels of the table. A number outside a range that was known is an
// error, and so is a confound of one value only.
func (t *Table) learn(confounds []Confound) ([]Confound, error) {
	learnt := slices.Clone(confounds)
	for i := range learnt {
		c, v := &learnt[i], &t.confounds[i]
		switch {
		case c.Kind == models.Categorical:
			c.Levels = slices.Compact(slices.Sorted(slices.Values(v.levels)))
			if len(c.Levels) < 2 {
				return nil, &Error{File: t.File, Column: c.Name, Err: ErrOneLevel}
			}
		case c.Range == nil:
			c.Range = &Range{slices.Min(v.numbers), slices.Max(v.numbers)}
			if c.Range.Low == c.Range.High {
				return nil, &Error{File: t.File, Column: c.Name, Err: ErrOneLevel}
			}
		default:
			for row, x := range v.numbers {
				if x < c.Range.Low || x > c.Range.High {
					return nil, &Error{File: t.File, Line: t.Lines[row], Column: c.Name, Err: fmt.Errorf("%w: %v to %v", ErrConfoundRange, c.Range.Low, c.Range.High)}
				}
			}
		}
		if c.Range != nil && math.IsInf(c.Range.High-c.Range.Low, 1) {
			return nil, &Error{File: t.File, Column: c.Name, Err: ErrScale}
		}
	}
	return learnt, nil
}

// Beyond counts the participants whose value of a confound lies outside its range.
type Beyond struct {
	Confound     string
	Participants int
	Line         int // of the first
}

// encode returns the known columns C, n×c, by the confounds as they were learnt:
//
//	numeric      1−a and a with a = (x − low)/(high − low), cut at 0 and 1
//	categorical  an indicator for each level
//
// and 1 in the last column. Without confounds there are no columns, and C is nil. It returns what was cut, and an error for
// a level that is not known.
func (t *Table) encode(confounds []Confound) (c *mat.Dense, beyond []Beyond, err error) {
	if len(confounds) == 0 {
		return nil, nil, nil
	}
	c = mat.NewDense(len(t.IDs), len(confoundColumns(confounds)), nil)
	column := 0
	for k, confound := range confounds {
		if confound.Kind == models.Categorical {
			for i, level := range t.confounds[k].levels {
				at := slices.Index(confound.Levels, level)
				if at < 0 {
					return nil, nil, &Error{File: t.File, Line: t.Lines[i], Column: confound.Name, Err: ErrNewLevel}
				}
				c.Set(i, column+at, 1)
			}
			column += len(confound.Levels)
			continue
		}
		cut := Beyond{Confound: confound.Name}
		for i, x := range t.confounds[k].numbers {
			a, out := confound.share(x)
			if out {
				if cut.Participants == 0 {
					cut.Line = t.Lines[i]
				}
				cut.Participants++
			}
			c.Set(i, column, 1-a)
			c.Set(i, column+1, a)
		}
		if cut.Participants > 0 {
			beyond = append(beyond, cut)
		}
		column += 2
	}
	for i := range t.IDs {
		c.Set(i, column, 1)
	}
	return c, beyond, nil
}

// share returns where x lies in the range of a numeric confound, from 0 to 1, and whether it had to be cut.
func (c *Confound) share(x float64) (a float64, cut bool) {
	a = (x - c.Range.Low) / (c.Range.High - c.Range.Low)
	return min(max(a, 0), 1), a < 0 || a > 1
}

// confoundColumns names the columns of encode.
func confoundColumns(confounds []Confound) []string {
	var names []string
	for _, c := range confounds {
		if c.Kind == models.Numeric {
			names = append(names, c.Name+"_low", c.Name+"_high")
			continue
		}
		for _, level := range c.Levels {
			names = append(names, c.Name+"_"+level)
		}
	}
	if len(names) > 0 {
		names = append(names, interceptColumn)
	}
	return names
}
