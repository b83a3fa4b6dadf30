package elasticnet

import (
	"fmt"
	"math"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Product is a design X = B·T of many rows that is never laid out. B is n×q with few entries in a row, such as a note's
// terms and words, and T is q×p: the features that each of them adds to, such as a term's topics and a word's pieces. A
// row of X may have ten times the entries of a row of B.
//
// A Product is immutable and safe for concurrent use.
type Product struct {
	n, q, p int
	starts  []int     // of the rows of B
	columns []int32   // of its entries
	values  []float32 // single precision: its rounding is far below the tolerance of a fit
	t       *matrix.CSR
}

// NewProduct returns B·T, where row i of B holds values[starts[i]:starts[i+1]] in the columns of the same range;
// entries of one column add up. It keeps the arrays: they must not be changed afterwards.
//
// The error wraps solver.ErrShape if the parts do not fit together, and is a *solver.NonFiniteError for an entry that
// is NaN or infinite. The cost is O(entries).
func NewProduct(starts []int, columns []int32, values []float32, t *matrix.CSR) (*Product, error) {
	x := &Product{n: len(starts) - 1, starts: starts, columns: columns, values: values, t: t}
	x.q, x.p = t.Dims()
	if x.n < 1 || starts[0] != 0 || starts[x.n] != len(values) || len(columns) != len(values) {
		return nil, fmt.Errorf("%w: %d row starts, %d columns of entries, %d values", solver.ErrShape, len(starts),
			len(columns), len(values))
	}
	for i := range x.n {
		if starts[i] > starts[i+1] || starts[i+1] > len(values) {
			return nil, fmt.Errorf("%w: row %d ends before it starts or past the end", solver.ErrShape, i)
		}
		for e := starts[i]; e < starts[i+1]; e++ {
			if columns[e] < 0 || int(columns[e]) >= x.q {
				return nil, fmt.Errorf("%w: column %d in row %d of width %d", solver.ErrShape, columns[e], i, x.q)
			}
			if v := float64(values[e]); math.IsNaN(v) || math.IsInf(v, 0) {
				return nil, &solver.NonFiniteError{Row: i, Col: int(columns[e]), Value: v}
			}
		}
	}
	return x, nil
}

// Dims returns the number of rows n and of columns p of X.
func (x *Product) Dims() (n, p int) { return x.n, x.p }

// base returns Tβ, the coefficients of the columns of B.
func (x *Product) base(beta []float64) []float64 {
	out := make([]float64, x.q)
	for j := range out {
		columns, values := x.t.Row(j)
		var sum float64
		for e, c := range columns {
			sum += values[e] * beta[c]
		}
		out[j] = sum
	}
	return out
}

func (x *Product) addFeatures(dst, s []float64) {
	for j, v := range s {
		if v == 0 {
			continue
		}
		columns, values := x.t.Row(j)
		for e, c := range columns {
			dst[c] += values[e] * v
		}
	}
}

// row returns the product of row i of B with coefficients of its columns.
func (x *Product) row(i int, base []float64) float64 {
	from, to := x.starts[i], x.starts[i+1]
	return gather(x.columns[from:to], x.values[from:to], base)
}

func (x *Product) addRow(dst []float64, i int, a float64) {
	from, to := x.starts[i], x.starts[i+1]
	scatter(a, x.columns[from:to], x.values[from:to], dst)
}

const (
	// ranges is the number of ranges of rows, whose sums are added in order: the bits do not depend on the goroutines.
	ranges = 16
	// rowBlock is how many rows are read for log-odds and again for the gradient while they are still in the cache.
	rowBlock    = 256
	sampledRows = 20_000 // bounds the rows that the curvature of a column is taken from
)

// sums is what one range of rows adds to the objective.
type sums struct {
	loss, intercept float64
	base            []float64 // of the columns of B
	eta             [rowBlock]float64
}

// loss is the mean negative log-likelihood of some rows.
type loss struct {
	x       *Product
	y       []bool
	rows    []int32
	rate    float64 // share of positive rows
	ones    int     // number of them
	threads linalg.Threads
	parts   []sums

	remote *meeting // asked for the sums of all rows outside the fold, if not nil
	fold   int
}

// newLoss returns the loss of the rows outside a fold, of all for everyFold.
func newLoss(x *Product, y []bool, threads int, foldOf []int, fold int) *loss {
	l := &loss{x: x, y: y, rows: make([]int32, 0, len(y)), threads: linalg.Threads(threads), fold: fold}
	for i, positive := range y {
		if foldOf[i] != fold {
			l.rows = append(l.rows, int32(i))
			if positive {
				l.ones++
			}
		}
	}
	l.rate = float64(l.ones) / float64(len(l.rows))
	return l
}

// check returns an error that wraps ErrOneClass.
func (l *loss) check() error {
	if l.ones > 0 && l.ones < len(l.rows) {
		return nil
	}
	return fmt.Errorf("%w: %d of %d rows are positive", ErrOneClass, l.ones, len(l.rows))
}

// classSums returns the sums of each column of B over the rows that are not positive and those that are, and the
// numbers of these rows.
func (l *loss) classSums() (base [2][]float64, rows [2]float64, err error) {
	if l.remote != nil {
		return l.remote.classSums(l.fold, l.x.q)
	}
	base = [2][]float64{make([]float64, l.x.q), make([]float64, l.x.q)}
	for _, i := range l.rows {
		class := 0
		if l.y[i] {
			class = 1
		}
		rows[class]++
		l.x.addRow(base[class], int(i), 1)
	}
	return base, rows, nil
}

// gradient returns the loss at the coefficients and the intercept, which comes last, and stores its gradient. The cost
// is two reads of B, of which the second finds it in the cache, and two of T.
func (l *loss) gradient(dst, beta []float64) float64 {
	p := l.x.p
	at := Point{Fold: l.fold, Base: l.x.base(beta[:p]), Intercept: beta[p]}
	sum := l.slope
	if l.remote != nil {
		sum = l.remote.slope
	}
	s, scale := sum(at), 1/float64(len(l.rows))
	for j := range s.Base {
		s.Base[j] *= scale
	}
	clear(dst)
	l.x.addFeatures(dst, s.Base)
	dst[p] = s.Intercept * scale
	return s.Loss * scale
}

// slope returns the sums of the rows.
func (l *loss) slope(at Point) Slope {
	if l.parts == nil {
		l.parts = make([]sums, ranges)
		for r := range l.parts {
			l.parts[r].base = make([]float64, l.x.q)
		}
	}
	n := len(l.rows)
	l.threads.Parallel(ranges, l.x.starts[l.x.n], func(from, to int) {
		for r := from; r < to; r++ {
			l.parts[r].add(l, l.rows[r*n/ranges:(r+1)*n/ranges], at.Base, at.Intercept)
		}
	})
	s := Slope{Rows: float64(n), Base: make([]float64, l.x.q)}
	for r := range l.parts {
		part := &l.parts[r]
		s.Loss += part.loss
		s.Intercept += part.intercept
		for j, v := range part.base {
			s.Base[j] += v
		}
	}
	return s
}

func (s *sums) add(l *loss, rows []int32, base []float64, intercept float64) {
	s.loss, s.intercept = 0, 0
	clear(s.base)
	for len(rows) > 0 {
		block := rows[:min(rowBlock, len(rows))]
		rows = rows[len(block):]
		eta := s.eta[:len(block)]
		for b, i := range block {
			eta[b] = intercept + l.x.row(int(i), base)
			if l.y[i] {
				s.loss -= eta[b]
			}
		}
		s.loss += linalg.LogisticTo(eta, eta)
		for b, i := range block {
			residual := eta[b]
			if l.y[i] {
				residual--
			}
			s.intercept += residual
			l.x.addRow(s.base, int(i), residual)
		}
	}
}

// squares returns the mean square of each column of X over some rows, evenly spaced.
func (x *Product) squares() []float64 {
	out, row := make([]float64, x.p), make([]float64, x.p)
	step := (x.n + sampledRows - 1) / sampledRows
	count := 0
	var touched []int32
	for i := 0; i < x.n; i += step {
		count++
		touched = touched[:0]
		for e := x.starts[i]; e < x.starts[i+1]; e++ {
			columns, values := x.t.Row(int(x.columns[e]))
			for f, c := range columns {
				if row[c] == 0 {
					touched = append(touched, c)
				}
				row[c] += float64(x.values[e]) * values[f]
			}
		}
		for _, c := range touched { // one may be there twice; it is 0 the second time
			out[c] += row[c] * row[c]
			row[c] = 0
		}
	}
	for c := range out {
		out[c] /= float64(count)
	}
	return out
}
