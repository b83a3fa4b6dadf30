package factoranalysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Scorer scores participants with a factor solution. It is plain data: a saved copy gives the same bits.
type Scorer struct {
	// Loadings is the pattern Λ, p×k, by descending variance that factors account for. Each column sums to 0 or more.
	Loadings *mat.Dense
	// Phi holds the factor correlations, k×k; I unless the rotation is oblique.
	Phi *mat.Dense
	// Uniquenesses is ψ, p, in [0.005, 1]. At the lower bound there may be too many factors or too few participants.
	Uniquenesses []float64
	// Means and Deviations (divisor n−1) are those of the items in the fitted sample, p.
	Means, Deviations []float64
	// ScoreCorrelations are the correlations R of the items, p×p. If nil, those of the solution, ΛΦΛᵀ + Ψ, are used
	// instead: if R had to be smoothed, its inverse would amplify noise.
	ScoreCorrelations *mat.SymDense
	// Threads is the largest number of goroutines; 0 means GOMAXPROCS. The bits do not depend on it.
	Threads int
}

// structure returns the correlations of items with factors, ΛΦ.
func (m *Scorer) structure() *mat.Dense {
	s := new(mat.Dense)
	s.Mul(m.Loadings, m.Phi)
	return s
}

// Accounted returns the variance that each factor accounts for, in items, of which there are p: the diagonal of ΦΛᵀΛ.
// These sum to the communalities.
func (m *Scorer) Accounted() []float64 { return accounted(m.Loadings, m.Phi) }

// Implied returns the correlations of the solution, ΛΦΛᵀ + Ψ.
func (m *Scorer) Implied() *mat.SymDense {
	var common mat.Dense
	common.Mul(m.structure(), m.Loadings.T())
	return symmetric(&common, m.Uniquenesses)
}

// Transform returns the scores of ScoresErrors, under the name that every factorization has.
func (m *Scorer) Transform(x mat.Matrix) (*mat.Dense, error) {
	scores, _, err := m.ScoresErrors(x)
	return scores, err
}

// ScoresErrors returns the factor scores of the participants of x, n×p, by regression (L. L. Thurstone, 1935), and
// their standard errors, each n×k. For answers z, standardized by Means and Deviations,
//
//	f = (ΛΦ)ₒᵀ·Rₒₒ⁻¹·zₒ,  errors² = diag(Φ − (ΛΦ)ₒᵀ·Rₒₒ⁻¹·(ΛΦ)ₒ),
//
// the best linear prediction of the factors, which have variance 1, from the items o that the participant answered.
// Missing answers are not imputed; a score of fewer items is closer to 0 and has a larger error. Both are NaN for a
// participant without any answer. The errors do not include the estimation error of the solution.
//
// A score does not depend on the other rows of x. The error returned wraps solver.ErrShape for another number of items
// and is a *solver.NonFiniteError for an infinite answer. The cost is n·p·k, and for each pattern of missing answers
// p³/3, or p·k² with the correlations of the solution.
func (m *Scorer) ScoresErrors(x mat.Matrix) (scores, errs *mat.Dense, err error) {
	n, p := x.Dims()
	items, k := m.Loadings.Dims()
	if p != items {
		return nil, nil, fmt.Errorf("%w: %d items, must be %d", solver.ErrShape, p, items)
	}
	if err := solver.CheckAnswers(x); err != nil {
		return nil, nil, err
	}
	w := weigher{Scorer: m, structure: m.structure(), correlations: m.ScoreCorrelations}
	if w.correlations == nil {
		if w.precision = linalg.Inverse(symmetric(m.Phi, make([]float64, k))); w.precision == nil {
			w.correlations = m.Implied()
		}
	}
	w.scores, w.errors = mat.NewDense(n, k, nil), mat.NewDense(n, k, nil)
	patterns := alike(x)
	failed := make([]error, len(patterns))
	linalg.Threads(m.Threads).Parallel(len(patterns), len(patterns)*p*p*p, func(from, to int) {
		for e := from; e < to; e++ {
			failed[e] = w.score(x, patterns[e])
		}
	})
	if err := cmp.Or(failed...); err != nil {
		return nil, nil, fmt.Errorf("weighing the items: %w", err)
	}
	return w.scores, w.errors, nil
}

type weigher struct {
	*Scorer
	structure      *mat.Dense
	correlations   *mat.SymDense // nil for those of the solution by way of precision
	precision      *mat.SymDense // Φ⁻¹
	scores, errors *mat.Dense
}

// weigh returns the weights of the items in the scores, and their errors. With the correlations of the solution,
//
//	Rₒₒ⁻¹(ΛΦ)ₒ = Ψₒ⁻¹Λₒ·A⁻¹,  Φ − (ΛΦ)ₒᵀRₒₒ⁻¹(ΛΦ)ₒ = A⁻¹,  A = Φ⁻¹ + ΛₒᵀΨₒ⁻¹Λₒ.
func (w *weigher) weigh(items []int) (weights *mat.Dense, errs []float64, err error) {
	_, k := w.structure.Dims()
	errs = make([]float64, k)
	if w.correlations != nil {
		r, s := &mat.SymDense{}, linalg.SelectRows(w.structure, items)
		r.SubsetSym(w.correlations, items)
		if weights, err = regression(r, s); err != nil {
			return nil, nil, err
		}
		for t := range errs {
			// The correlations of a sample can predict a factor better than completely.
			errs[t] = math.Sqrt(max(0, 1-mat.Dot(s.ColView(t), weights.ColView(t))))
		}
		return weights, errs, nil
	}
	a, inverse := mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
	a.CopySym(w.precision)
	for _, j := range items {
		a.SymRankOne(a, 1/w.Uniquenesses[j], w.Loadings.RowView(j))
	}
	var factor mat.Cholesky
	if !factor.Factorize(a) {
		return nil, nil, ErrSingular
	}
	if err := factor.InverseTo(inverse); err != nil {
		return nil, nil, err
	}
	weights = linalg.SelectRows(w.Loadings, items)
	weights.Mul(mat.DenseCopyOf(weights), inverse)
	for row, j := range items {
		floats.Scale(1/w.Uniquenesses[j], weights.RawRowView(row))
	}
	for t := range errs {
		errs[t] = math.Sqrt(inverse.At(t, t))
	}
	return weights, errs, nil
}

// score fills the rows of participants who answered the same items.
func (w *weigher) score(x mat.Matrix, rows []int) error {
	_, k := w.structure.Dims()
	items := known(x, rows[0])
	if len(items) == 0 {
		for _, i := range rows {
			for t := range k {
				w.scores.Set(i, t, math.NaN())
				w.errors.Set(i, t, math.NaN())
			}
		}
		return nil
	}
	weights, errs, err := w.weigh(items)
	if err != nil {
		return err
	}
	for _, i := range rows {
		w.errors.SetRow(i, errs)
		row := w.scores.RawRowView(i)
		for a, j := range items {
			z := (x.At(i, j) - w.Means[j]) / w.Deviations[j]
			for t, v := range weights.RawRowView(a) {
				row[t] += v * z
			}
		}
	}
	return nil
}

// regression returns R⁻¹S.
func regression(r *mat.SymDense, s *mat.Dense) (*mat.Dense, error) {
	weights := new(mat.Dense)
	var factor mat.Cholesky
	if !factor.Factorize(r) {
		return nil, ErrSingular
	}
	err := factor.SolveTo(weights, s)
	if _, inexact := errors.AsType[mat.Condition](err); inexact {
		err = nil // weights of items that nearly repeat one another; only their sum matters
	}
	return weights, err
}

// ErrSingular is wrapped by the error for correlations without an inverse, where one is needed.
var ErrSingular = errors.New("the correlations have no inverse")
