package eval

import (
	"fmt"
	"math"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/folds"
)

// Estimate is a measure with its uncertainty.
type Estimate struct {
	Value         float64 `json:"value"`
	StandardError float64 `json:"standard_error"`
	Low           float64 `json:"low"` // of the 95 % interval
	High          float64 `json:"high"`
}

// normal returns the estimate with the interval value ± 1.96·standard error.
func normal(value, variance float64) Estimate {
	se := math.Sqrt(variance)
	return Estimate{Value: value, StandardError: se, Low: value - normal975*se, High: value + normal975*se}
}

// clusters says which rows belong together.
type clusters struct {
	of    []int // nil: each row is a cluster of its own
	count int
	sums  []float64 // of each cluster, for reuse
}

// clustered numbers the groups in the order in which they occur first.
func clustered(n int, groups []string) *clusters {
	if groups == nil {
		return &clusters{count: n}
	}
	of, count := folds.Numbered(groups)
	return &clusters{of: of, count: count}
}

func (c *clusters) cluster(row int) int {
	if c.of == nil {
		return row
	}
	return c.of[row]
}

// clustersOf numbers the groups. It returns ErrShape for fewer than two: they have no spread.
func clustersOf(n int, groups []string) (*clusters, error) {
	c := clustered(n, groups)
	if c.count < 2 {
		return nil, fmt.Errorf("%w: an interval needs at least 2 patients, not %d", ErrShape, c.count)
	}
	c.sums = make([]float64, c.count)
	return c, nil
}

// checked returns the clusters of rows that pass check.
func checked(y []bool, p []float64, groups []string) (*clusters, error) {
	if err := check(y, p, groups); err != nil {
		return nil, err
	}
	return clustersOf(len(y), groups)
}

// total returns Σ_g (Σ_{i∈g} ψ_i)² and Σ_i ψ_i².
func (c *clusters) total(psi func(i int) float64) (between, rows float64) {
	if c.of == nil {
		for i := range c.count {
			v := psi(i)
			rows += v * v
		}
		return rows, rows
	}
	clear(c.sums)
	for i, g := range c.of {
		v := psi(i)
		c.sums[g] += v
		rows += v * v
	}
	for _, v := range c.sums {
		between += v * v
	}
	return between, rows
}

func (c *clusters) correction() float64 { return float64(c.count) / float64(c.count-1) }

// variance returns that of a sum whose influence function is ψ,
//
//	G/(G−1) · Σ_g (Σ_{i∈g} ψ_i)²
//
// for G clusters: the sandwich of Liang & Zeger (1986, Biometrika 73(1)).
func (c *clusters) variance(psi func(i int) float64) float64 {
	between, _ := c.total(psi)
	return c.correction() * between
}

// mean returns the mean of one value per row.
func (c *clusters) mean(values []float64) Estimate {
	n := float64(len(values))
	var sum float64
	for _, v := range values {
		sum += v
	}
	mean := sum / n
	return normal(mean, c.variance(func(i int) float64 { return (values[i] - mean) / n }))
}

// share returns the share of the rows with in that also have hit, with Wilson's interval (1927, JASA 22) of the
// effective number of rows: their number over the design effect Σ_g(Σψ)²/Σψ², at least 1 (Korn & Graubard 1998, Survey
// Methodol. 24). It is nil if no row is in.
func (c *clusters) share(in, hit func(i int) bool, n int) *Estimate {
	var all, hits float64
	for i := range n {
		if in(i) {
			all++
			if hit(i) {
				hits++
			}
		}
	}
	if all == 0 {
		return nil
	}
	p := hits / all
	between, rows := c.total(func(i int) float64 {
		switch {
		case !in(i):
			return 0
		case hit(i):
			return 1 - p
		}
		return -p
	})
	effective := all
	if between > rows {
		effective *= rows / between
	}
	low, high := Wilson(p, effective)
	return &Estimate{Value: p, StandardError: math.Sqrt(p * (1 - p) / effective), Low: low, High: high}
}

// Wilson returns the 95 % interval of a share of n rows (Wilson 1927, JASA 22). It is 0 to 1 if n is 0.
func Wilson(share, n float64) (low, high float64) {
	if n == 0 {
		return 0, 1
	}
	const z2 = normal975 * normal975
	centre := (share + z2/(2*n)) / (1 + z2/n)
	half := normal975 / (1 + z2/n) * math.Sqrt(share*(1-share)/n+z2/(4*n*n))
	return max(0, min(share, centre-half)), min(1, max(share, centre+half))
}

// StratifiedFolds deals the rows into k folds 0 … k−1 that hold nearly the same share of each class, and returns the
// fold of each row; see folds.Stratified. y are outcomes, or numbers of classes. Rows of one group (patient, visit)
// stay in one fold; nil groups are all of one row. Equal input and seed give equal folds.
//
// It returns ErrShape if groups and y differ in length, ErrArgument unless 2 ≤ k ≤ groups, and ErrOneClass unless two
// classes occur.
func StratifiedFolds[C comparable](y []C, groups []string, k int, seed uint64) ([]int, error) {
	if groups != nil && len(groups) != len(y) {
		return nil, fmt.Errorf("%w: %d groups for %d rows", ErrShape, len(groups), len(y))
	}
	if !slices.ContainsFunc(y, func(c C) bool { return c != y[0] }) {
		return nil, fmt.Errorf("%w: of %d rows", ErrOneClass, len(y))
	}
	of, count := folds.Stratified(y, groups, k, seed)
	if of == nil {
		return nil, fmt.Errorf("%w: %d folds of %d groups", ErrArgument, k, count)
	}
	return of, nil
}

// TemporalCut returns the earliest time of the rows to test on, so that about the given share of the rows lies before
// it, to train on. It returns ErrArgument unless share is in (0,1) and both parts have rows.
func TemporalCut(times []time.Time, share float64) (cut time.Time, err error) {
	if !(share > 0 && share < 1) {
		return cut, fmt.Errorf("%w: share %v is not in (0,1)", ErrArgument, share)
	}
	if len(times) == 0 {
		return cut, fmt.Errorf("%w: no rows", ErrShape)
	}
	cut = slices.SortedFunc(slices.Values(times), time.Time.Compare)[int(share*float64(len(times)))]
	if !slices.ContainsFunc(times, cut.After) {
		return cut, fmt.Errorf("%w: share %v leaves no row before %v", ErrArgument, share, cut)
	}
	return cut, nil
}
