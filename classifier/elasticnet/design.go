package elasticnet

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Design is the n×p matrix of the columns that a model may use, dense and sparse ones side by side. It is immutable.
type Design struct {
	n       int
	columns []column
}

// column holds all n values of a dense column (rows is nil), or those of the rows listed, ascending, the others being
// 0.
type column struct {
	rows   []int32
	values []float64
}

// NewDesign returns the columns of the parts side by side, for example topic scores, term columns and auxiliary values.
// Parts without columns are allowed. A *matrix.CSR is kept with its transposed copy; any other part is copied. The
// error wraps solver.ErrShape if the parts differ in their rows or have none, and is a *solver.NonFiniteError, with the
// column counted over all parts, for an entry that is NaN or infinite. The cost is O(entries).
func NewDesign(parts ...mat.Matrix) (*Design, error) {
	d := &Design{}
	for index, part := range parts {
		n, _ := part.Dims()
		if index > 0 && n != d.n {
			return nil, fmt.Errorf("%w: part %d has %d rows, the ones before it have %d",
				solver.ErrShape, index, n, d.n)
		}
		d.n = n
		if dense, sparse := linalg.Stored(part); sparse != nil {
			t := sparse.Transpose()
			p, _ := t.Dims()
			for j := range p {
				rows, values := t.Row(j)
				if rows == nil {
					rows = []int32{} // nil is dense
				}
				d.columns = append(d.columns, column{rows, values})
			}
		} else {
			_, p := dense.Dims()
			for j := range p {
				d.columns = append(d.columns, column{values: mat.Col(nil, j, dense)})
			}
		}
	}
	if d.n == 0 {
		return nil, fmt.Errorf("%w: a design without rows", solver.ErrShape)
	}
	for j, c := range d.columns {
		for e, v := range c.values {
			if math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, &solver.NonFiniteError{Row: c.row(e), Col: j, Value: v}
			}
		}
	}
	return d, nil
}

// Dims returns the number of rows n and of columns p.
func (d *Design) Dims() (n, p int) { return d.n, len(d.columns) }

func (c column) row(entry int) int {
	if c.rows == nil {
		return entry
	}
	return int(c.rows[entry])
}

func (c column) constant(n int) bool {
	var first float64
	if len(c.values) == n {
		first = c.values[0]
	}
	return !slices.ContainsFunc(c.values, func(v float64) bool { return v != first })
}

// take returns the column of the given rows. position maps a row of the design to its place among them, or to -1.
func (c column) take(rows, position []int32) column {
	if c.rows == nil {
		values := make([]float64, len(rows))
		for i, r := range rows {
			values[i] = c.values[r]
		}
		return column{values: values}
	}
	kept := column{rows: make([]int32, 0, len(c.rows)), values: make([]float64, 0, len(c.rows))}
	for e, r := range c.rows {
		if position[r] >= 0 {
			kept.rows = append(kept.rows, position[r])
			kept.values = append(kept.values, c.values[e])
		}
	}
	return kept
}
