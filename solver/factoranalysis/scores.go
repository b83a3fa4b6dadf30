package factoranalysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// ScoreKind says how factors are estimated from the answers to the items.
type ScoreKind string

// The kinds of scores. Each error is the root mean squared difference from the factor, which has variance 1.
const (
	// ScoreRegression has the least error (L. L. Thurstone, 1935). Scores of variable factors vary less than these.
	ScoreRegression ScoreKind = "regression"
	// ScoreBartlett is unbiased at each value of the factors (M. S. Bartlett, "The statistical conception of mental
	// factors", 1937). Scores vary more than factors, the more the less the answers say.
	ScoreBartlett ScoreKind = "bartlett"
	// ScoreTenBerge keeps the variances and correlations of the factors (J. M. F. ten Berge, W. P. Krijnen, T. Wansbeek
	// and A. Shapiro, "Some new results on correlation-preserving factor scores prediction methods", 1999).
	ScoreTenBerge ScoreKind = "tenberge"
)

// ScoreKinds returns the kinds of scores, the default first.
func ScoreKinds() []ScoreKind { return []ScoreKind{ScoreRegression, ScoreBartlett, ScoreTenBerge} }

// LargestError is the error of scores that have nothing to do with the factor.
func (k ScoreKind) LargestError() float64 {
	switch k {
	case ScoreBartlett:
		return math.MaxFloat64
	case ScoreTenBerge:
		return math.Sqrt2
	}
	return 1
}

// Reliability returns the squared correlation of the factor with scores of this mean squared error, at most that of
// LargestError.
func (k ScoreKind) Reliability(squared float64) float64 {
	switch k {
	case ScoreBartlett:
		return 1 / (1 + squared)
	case ScoreTenBerge:
		return (1 - squared/2) * (1 - squared/2)
	}
	return 1 - squared
}

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
	// Scores is the kind of scores; "" means ScoreRegression.
	Scores ScoreKind
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

// ScoresErrors returns the factor scores of the participants of x, n×p, and their standard errors, each n×k. For
// answers z, standardized by Means and Deviations, to the items o that the participant answered, and S = (ΛΦ)ₒ,
//
//	regression  f = Sᵀ·Rₒₒ⁻¹·zₒ,  errors² = diag(Φ − G),  G = Sᵀ·Rₒₒ⁻¹·S,
//	bartlett    f = A⁻¹·ΛₒᵀΨₒ⁻¹·zₒ,  errors² = diag(A⁻¹),  A = ΛₒᵀΨₒ⁻¹Λₒ,
//	tenberge    f = Bᵀ·Sᵀ·Rₒₒ⁻¹·zₒ,  errors² = diag(2Φ − 2BᵀG),  B = Φ^(−½)·(Φ^(−½)·G·Φ^(−½))^(−½)·Φ^½.
//
// Regression is the best linear prediction of the factors, which have variance 1. Missing answers are not imputed; a
// score of fewer items has a larger error, and is closer to 0 by regression. Both are NaN for a participant without any
// answer, and for the other kinds if the items answered do not tell the factors apart, as if they are fewer. The errors
// do not include the estimation error of the solution.
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
	if m.Scores != "" && !slices.Contains(ScoreKinds(), m.Scores) {
		return nil, nil, fmt.Errorf("%w: scores %q, must be one of %v", solver.ErrSettings, m.Scores, ScoreKinds())
	}
	w := weigher{Scorer: m, structure: m.structure(), correlations: m.ScoreCorrelations}
	switch {
	case m.Scores == ScoreBartlett:
		w.correlations, w.precision = nil, mat.NewSymDense(k, nil)
	case w.correlations == nil:
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
	precision      *mat.SymDense // Φ⁻¹; 0 for ScoreBartlett
	scores, errors *mat.Dense
}

// leastShare is the least eigenvalue of a matrix that counts as invertible, as a share of the largest.
const leastShare = 1e-10

// weigh returns the weights of the items in the scores, and their errors; nil if there are none. With the correlations
// of the solution,
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
		return w.spread(weights, s, errs)
	}
	a, inverse := mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
	a.CopySym(w.precision)
	for _, j := range items {
		a.SymRankOne(a, 1/w.Uniquenesses[j], w.Loadings.RowView(j))
	}
	var factor mat.Cholesky
	switch positive := factor.Factorize(a); {
	case w.Scores == ScoreBartlett && (len(items) < k || !positive || factor.Cond() > 1/leastShare):
		return nil, nil, nil
	case !positive:
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
	return w.spread(weights, linalg.SelectRows(w.structure, items), errs)
}

// spread turns weights of regression into those of ScoreTenBerge, with their errors; S is that of ScoresErrors.
func (w *weigher) spread(weights, s *mat.Dense, errs []float64) (*mat.Dense, []float64, error) {
	if w.Scores != ScoreTenBerge {
		return weights, errs, nil
	}
	var explained, b, middle, final, shared mat.Dense
	explained.Mul(s.T(), weights)
	less, more := power(w.Phi, -.5), power(w.Phi, .5)
	if less == nil || len(errs) > weights.RawMatrix().Rows {
		return nil, nil, nil
	}
	middle.Product(less, &explained, less)
	root := power(&middle, -.5)
	if root == nil {
		return nil, nil, nil
	}
	b.Product(less, root, more)
	final.Mul(weights, &b)
	shared.Mul(b.T(), &explained)
	for t := range errs {
		errs[t] = math.Sqrt(max(0, 2-2*shared.At(t, t)))
	}
	return &final, errs, nil
}

// power returns the power of a symmetric matrix with the positive eigenvalues that it must have, nil without.
func power(a *mat.Dense, exponent float64) *mat.Dense {
	k, _ := a.Dims()
	values, vectors, ok := linalg.Eigen(symmetric(a, make([]float64, k)))
	if !ok || !(values[0] > leastShare*values[k-1]) {
		return nil
	}
	return linalg.Mapped(values, vectors, func(v float64) float64 { return math.Pow(v, exponent) })
}

// score fills the rows of participants who answered the same items.
func (w *weigher) score(x mat.Matrix, rows []int) (err error) {
	_, k := w.structure.Dims()
	items := known(x, rows[0])
	var weights *mat.Dense
	var errs []float64
	if len(items) > 0 {
		if weights, errs, err = w.weigh(items); err != nil {
			return err
		}
	}
	if weights == nil {
		for _, i := range rows {
			for t := range k {
				w.scores.Set(i, t, math.NaN())
				w.errors.Set(i, t, math.NaN())
			}
		}
		return nil
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
