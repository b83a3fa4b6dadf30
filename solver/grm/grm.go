package grm

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/eap"
)

const (
	// MostCategories is the largest number of different answers to an item.
	MostCategories = 30
	// SteepestSlope bounds the absolute slopes. A slope at the bound has no maximum: two items repeat each other, or
	// one separates the participants.
	SteepestSlope = 15.0
	// The search ends once no slope or correlation changes by more than paramTol in a step, and no intercept by more
	// than that relative to its size, at the latest after mostSteps.
	paramTol  = 1e-6
	mostSteps = 2000
	// scaling turns a slope into a loading on the normal response behind a logistic one, as is usual.
	scaling = 1.702
)

// Settings says what to fit.
type Settings struct {
	// Factors is k.
	Factors int
	// Assigned holds the factor of each item, from 0. Nil means one factor or, for several, the one with the item's
	// largest absolute loading in a factor analysis by minimum residuals with oblimin rotation.
	Assigned []int
	// Threads is the largest number of goroutines; 0 means GOMAXPROCS.
	Threads int
}

// Model is a fit.
type Model struct {
	eap.Model
	// Loadings are a/√(a² + 1.702²) on the item's factor, p×k.
	Loadings *mat.Dense
	// LogLikelihood is that of the answers, and Parameters the number of free slopes, intercepts and correlations.
	LogLikelihood float64
	Parameters    int
	Iterations    int
	Converged     bool
	// Errors are standard errors, nil if there are fewer than two participants for each parameter, or no inverse of the
	// information.
	Errors *Errors
	// Steep lists the items whose slope is at its bound.
	Steep []int
}

// Errors are standard errors of slopes, of thresholds b = −d/a, and of the factors' correlations, k×k.
type Errors struct {
	Slopes     []float64
	Thresholds [][]float64
	Phi        *mat.Dense
}

// ItemsError says that a factor has too few items.
type ItemsError struct{ Factor, Items, Least int }

// Error counts the factor from 1.
func (e *ItemsError) Error() string {
	return fmt.Sprintf("factor %d has %d of at least %d items", e.Factor+1, e.Items, e.Least)
}

// Fit fits the model to x, n×p. Factors have Σ loadings ≥ 0 and, unless assigned, descending sums of squared loadings.
//
// It returns the errors of factoranalysis.Correlate for the answers, a *factoranalysis.ItemError for an item with more
// than MostCategories answers, an *ItemsError for a factor with fewer than two items, or a single factor with fewer
// than three, and an error that wraps solver.ErrSettings for other settings. When ctx ends, its cause is returned
// within one step. A step costs n·p·121 additions and about n·k·500 exponentials.
func Fit(ctx context.Context, x *mat.Dense, s Settings) (*Model, error) {
	_, p := x.Dims()
	if s.Factors < 1 || s.Factors > p || s.Assigned != nil && len(s.Assigned) != p {
		return nil, fmt.Errorf("%w: %d factors for %d items, %d of them assigned", solver.ErrSettings, s.Factors, p,
			len(s.Assigned))
	}
	f := &fit{x: x, threads: linalg.Threads(s.Threads)}
	var err error
	if f.of.Factors, err = s.assign(ctx, x); err != nil {
		return nil, err
	}
	correlations, err := factoranalysis.Correlate(ctx, x, factoranalysis.Pearson, s.Threads)
	if err != nil {
		return nil, fmt.Errorf("correlating: %w", err)
	}
	if err := f.categorize(); err != nil {
		return nil, err
	}
	f.begin(s.Factors, correlations.R)
	m := &Model{}
	if m.Converged, err = f.search(ctx); err != nil {
		return nil, err
	}
	m.Model, m.LogLikelihood, m.Iterations = f.of, f.likelihood, f.steps
	m.orient(s.Assigned == nil)
	for j, a := range m.Slopes {
		m.Parameters += 1 + len(m.Intercepts[j])
		if math.Abs(a) >= SteepestSlope {
			m.Steep = append(m.Steep, j)
		}
	}
	m.Parameters += s.Factors * (s.Factors - 1) / 2
	f.of = m.Model
	m.Errors = f.errors(m.Parameters)
	return m, ctx.Err()
}

// assign returns the factor of each item.
func (s *Settings) assign(ctx context.Context, x *mat.Dense) ([]int, error) {
	_, p := x.Dims()
	factors := slices.Clone(s.Assigned)
	switch {
	case factors != nil:
	case s.Factors == 1:
		factors = make([]int, p)
	case s.Factors == p:
		return nil, &ItemsError{Items: 1, Least: 2}
	default:
		fa, err := factoranalysis.Fit(ctx, x, factoranalysis.Settings{
			Factors: s.Factors, Rotation: factoranalysis.RotateOblimin, Threads: s.Threads,
		})
		if err != nil {
			return nil, fmt.Errorf("assigning items to factors: %w", err)
		}
		factors = make([]int, p)
		for j := range factors {
			for t := range s.Factors {
				if math.Abs(fa.Loadings.At(j, t)) > math.Abs(fa.Loadings.At(j, factors[j])) {
					factors[j] = t
				}
			}
		}
	}
	least := 2
	if s.Factors == 1 {
		least = 3
	}
	for t := range s.Factors {
		items := 0
		for _, f := range factors {
			if f == t {
				items++
			}
		}
		if items < least {
			return nil, &ItemsError{Factor: t, Items: items, Least: least}
		}
	}
	return factors, nil
}

// orient turns factors whose loadings sum to less than 0, orders them if asked, and computes the loadings.
func (m *Model) orient(order bool) {
	p, k := len(m.Factors), m.Phi.RawMatrix().Rows
	loading := func(j int) float64 { return m.Slopes[j] / math.Hypot(m.Slopes[j], scaling) }
	sums, squares := make([]float64, k), make([]float64, k)
	for j, t := range m.Factors {
		sums[t] += loading(j)
		squares[t] += loading(j) * loading(j)
	}
	for j, t := range m.Factors {
		if sums[t] < 0 {
			m.Slopes[j] = -m.Slopes[j]
		}
	}
	places := linalg.Indices(k)
	if order {
		places = linalg.Order(k, func(a, b int) int { return cmp.Compare(squares[b], squares[a]) })
	}
	phi := mat.NewDense(k, k, nil)
	for t, from := range places {
		for u, other := range places {
			v := m.Phi.At(from, other)
			if (sums[from] < 0) != (sums[other] < 0) {
				v = -v
			}
			phi.Set(t, u, v)
		}
	}
	m.Phi, m.Loadings = phi, mat.NewDense(p, k, nil)
	for j, t := range m.Factors {
		m.Factors[j] = slices.Index(places, t)
		m.Loadings.Set(j, m.Factors[j], loading(j))
	}
}

// Q3 returns the correlations of the residuals, answer − expected answer at the score, p×p, over the participants who
// answered both items; NaN if there is none (W. M. Yen, "Effects of local item dependence", 1984). If no answers depend
// on each other beside the factors, they are near −1/(p − 1). Scores are n×k.
func Q3(m *eap.Model, x, scores *mat.Dense, threads int) *mat.Dense {
	n, p := x.Dims()
	rest := mat.NewDense(n, p, nil)
	rest.Apply(func(i, j int, v float64) float64 { return v - m.Expected(j, scores.At(i, m.Factors[j])) }, x)
	q3 := mat.NewDense(p, p, nil)
	linalg.Threads(threads).Parallel(p, n*p*p, func(from, to int) {
		for a := from; a < to; a++ {
			for b := range p {
				q3.Set(a, b, correlation(rest, a, b))
			}
		}
	})
	return q3
}

// correlation returns that of two columns over the rows that have both, the same for (a, b) as for (b, a).
func correlation(x *mat.Dense, a, b int) float64 {
	a, b = min(a, b), max(a, b)
	n, _ := x.Dims()
	var count, meanA, meanB, aa, bb, ab float64
	for i := range n {
		u, v := x.At(i, a), x.At(i, b)
		if u != u || v != v {
			continue
		}
		count++
		du, dv := u-meanA, v-meanB
		meanA, meanB = meanA+du/count, meanB+dv/count
		aa, bb, ab = aa+du*(u-meanA), bb+dv*(v-meanB), ab+du*(v-meanB)
	}
	return ab / math.Sqrt(aa*bb)
}
