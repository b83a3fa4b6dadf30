package factoranalysis

import (
	"cmp"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// Rotation is a choice of axes.
type Rotation string

// The rotations.
const (
	// RotatePromax makes factors oblique, see Promax.
	RotatePromax Rotation = "promax"
	// RotateVarimax keeps factors uncorrelated, see Varimax.
	RotateVarimax Rotation = "varimax"
	// RotateNone leaves the principal axes.
	RotateNone Rotation = "none"
)

// Settings controls Fit. Zero values mean what the fields say.
type Settings struct {
	// Factors is the number of factors k, 1 ≤ k < p.
	Factors int
	// Correlation is the kind of correlation; "" means Pearson.
	Correlation Kind
	// Rotation is the choice of axes; "" means RotatePromax.
	Rotation Rotation
	// Threads is the largest number of goroutines; 0 means GOMAXPROCS. The bits do not depend on it.
	Threads int
}

// Model is a factor solution.
type Model struct {
	// Loadings is the pattern Λ, p×k. Factors are in descending order of the variance that they account for. The loadings of
	// each sum to 0 or more.
	Loadings *mat.Dense
	// Phi holds the factor correlations, k×k; I unless the rotation is oblique.
	Phi *mat.Dense
	// Uniquenesses is ψ, p, in [0.005, 1]. At the lower bound there may be too many factors or too few participants.
	Uniquenesses []float64
	// RMSR is the root of the mean squared residual correlation off the diagonal, over the pairs of items that have one; NaN
	// if no pair has one.
	RMSR float64
	// Converged is whether the extraction ended at a minimum.
	Converged bool
	// Correlations are the factored ones.
	Correlations *Correlations

	threads           int
	means, deviations []float64
	scored            *mat.SymDense // the correlations that scores rest on, p×p
	weights           *mat.Dense    // p×k, the inverse of scored times ΛΦ
}

const (
	// maxFills and fillTol end the completion of unknown correlations.
	maxFills = 200
	fillTol  = 1e-7
)

// Fit factors the correlations of x, n×p, where NaN is a missing answer: least sum of squared residuals off the diagonal
// (minres) with uniquenesses of at least 0.005, then the rotation.
//
// Pairs of items that nobody answered together, as in designs with planned missing answers, do not count. Their
// correlations are filled in from the solution, which is computed again until none of them changes by more than 1e-7.
//
// Errors are those of Correlate, and one that wraps solver.ErrSettings for a number of factors outside 1 … p−1 or an unknown
// rotation. Converged reports a search that does not converge, and Correlations.Smoothed a matrix that is not a correlation
// matrix.
func Fit(x mat.Matrix, s Settings) (*Model, error) {
	s.Correlation, s.Rotation = cmp.Or(s.Correlation, Pearson), cmp.Or(s.Rotation, RotatePromax)
	if s.Rotation != RotatePromax && s.Rotation != RotateVarimax && s.Rotation != RotateNone {
		return nil, fmt.Errorf("%w: rotation %q is none of %s, %s, %s", solver.ErrSettings, s.Rotation, RotatePromax, RotateVarimax, RotateNone)
	}
	_, p := x.Dims()
	if s.Factors < 1 || s.Factors >= p {
		return nil, fmt.Errorf("%w: %d factors for %d items", solver.ErrSettings, s.Factors, p)
	}
	correlations, err := Correlate(x, s.Correlation, s.Threads)
	if err != nil {
		return nil, fmt.Errorf("correlating: %w", err)
	}
	extracted, err := complete(correlations, s.Factors)
	if err != nil {
		return nil, fmt.Errorf("factoring: %w", err)
	}
	m := &Model{Uniquenesses: extracted.uniquenesses, Converged: extracted.converged, Correlations: correlations, threads: s.Threads}
	m.means, m.deviations = moments(x)
	m.rotate(extracted.loadings, s.Rotation)
	implied := m.implied()
	m.RMSR = correlations.residual(implied)
	if m.scored = correlations.R; correlations.Smoothed() {
		m.scored = implied
	}
	if m.weights, err = regression(m.scored, m.structure()); err != nil {
		return nil, fmt.Errorf("weighing the items: %w", err)
	}
	return m, nil
}

// complete factors the correlations, filling in the unknown ones.
func complete(c *Correlations, k int) (*extraction, error) {
	if len(c.Unknown) == 0 {
		return minres(c.R, k)
	}
	filled := mat.NewSymDense(c.raw.SymmetricDim(), nil)
	filled.CopySym(c.raw)
	e, err := minres(filled, k)
	if err != nil {
		return nil, err
	}
	for range maxFills {
		var change float64
		for _, pair := range c.Unknown {
			fit := mat.Dot(e.loadings.RowView(pair[0]), e.loadings.RowView(pair[1]))
			change = max(change, math.Abs(fit-filled.At(pair[0], pair[1])))
			filled.SetSym(pair[0], pair[1], fit)
		}
		if change <= fillTol {
			break
		}
		if e, err = minres(filled, k); err != nil {
			return nil, err
		}
	}
	c.R, c.LeastEigenvalue, err = smoothed(filled)
	return e, err
}

// rotate sets loadings and factor correlations.
func (m *Model) rotate(loadings *mat.Dense, rotation Rotation) {
	_, k := loadings.Dims()
	phi := linalg.Identity(k)
	switch rotation {
	case RotatePromax:
		loadings, phi = Promax(loadings)
	case RotateVarimax:
		loadings, _ = Varimax(loadings)
	}
	// The variance that factor t accounts for is entry t of the diagonal of ΦΛᵀΛ: over all factors they sum to the
	// communalities.
	var gram, accounted mat.Dense
	gram.Mul(loadings.T(), loadings)
	accounted.Mul(phi, &gram)
	order := linalg.Order(k, func(a, b int) int { return cmp.Compare(accounted.At(b, b), accounted.At(a, a)) })
	m.Loadings, m.Phi = linalg.SelectColumns(loadings, order), linalg.SelectRows(linalg.SelectColumns(phi, order), order)
	signs := make([]float64, k)
	for t := range signs {
		signs[t] = math.Copysign(1, mat.Sum(m.Loadings.ColView(t)))
	}
	linalg.ScaleColumns(m.Loadings, m.Loadings, signs)
	m.Phi.Apply(func(s, t int, v float64) float64 { return signs[s] * signs[t] * v }, m.Phi)
}

// structure returns the correlations of items with factors, ΛΦ.
func (m *Model) structure() *mat.Dense {
	s := new(mat.Dense)
	s.Mul(m.Loadings, m.Phi)
	return s
}

// implied returns the correlations of the model, ΛΦΛᵀ + Ψ.
func (m *Model) implied() *mat.SymDense {
	var common mat.Dense
	common.Mul(m.structure(), m.Loadings.T())
	return symmetric(&common, m.Uniquenesses)
}

// residual returns the RMSR of a model that implies these correlations.
func (c *Correlations) residual(implied *mat.SymDense) float64 {
	p := implied.SymmetricDim()
	var off mat.Dense
	off.Sub(c.R, implied)
	for i := range p {
		off.Set(i, i, 0)
	}
	for _, pair := range c.Unknown {
		off.Set(pair[0], pair[1], 0)
		off.Set(pair[1], pair[0], 0)
	}
	return mat.Norm(&off, 2) / math.Sqrt(float64(p*(p-1)-2*len(c.Unknown)))
}
