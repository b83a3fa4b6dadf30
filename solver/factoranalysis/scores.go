package factoranalysis

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// Transform is Scores, under the name that every factorization has.
func (m *Model) Transform(x mat.Matrix) (*mat.Dense, error) { return m.Scores(x) }

// Scores returns the factor scores, n×k, of the participants of x, n×p, by regression (L. L. Thurstone, 1935): for answers
// z, standardized by the means and standard deviations of the fitted sample,
//
//	f = (ΛΦ)ₒᵀ·Rₒₒ⁻¹·zₒ,
//
// the best linear prediction of the factors from the items o that the participant answered. If R was smoothed, its inverse
// would weigh noise, and the correlations of the model, ΛΦΛᵀ + Ψ, take its place. Missing answers are not imputed; a score
// rests on fewer items and is closer to 0. The scores of a participant without any answer are NaN.
//
// A score does not depend on who else is in x. It returns an error that wraps solver.ErrShape for another number of items
// and a *solver.NonFiniteError for an infinite answer. The cost is n·p·k, and p³/3 for each pattern of missing answers.
func (m *Model) Scores(x mat.Matrix) (*mat.Dense, error) {
	n, p := x.Dims()
	items, k := m.Loadings.Dims()
	if p != items {
		return nil, fmt.Errorf("%w: %d items, must be %d", solver.ErrShape, p, items)
	}
	if err := solver.CheckAnswers(x); err != nil {
		return nil, err
	}
	scores, structure := mat.NewDense(n, k, nil), m.structure()
	patterns := map[string][]int{} // rows by which items they have
	var order []string
	known := make([]byte, p)
	for i := range n {
		for j := range p {
			known[j] = 1
			if math.IsNaN(x.At(i, j)) {
				known[j] = 0
			}
		}
		if patterns[string(known)] == nil {
			order = append(order, string(known))
		}
		patterns[string(known)] = append(patterns[string(known)], i)
	}
	failed := make([]error, len(order))
	linalg.Threads(m.threads).Parallel(len(order), len(order)*p*p*p, func(from, to int) {
		for e := from; e < to; e++ {
			failed[e] = m.score(scores, x, structure, order[e], patterns[order[e]])
		}
	})
	if err := cmp.Or(failed...); err != nil {
		return nil, fmt.Errorf("weighing the items: %w", err)
	}
	return scores, nil
}

// score fills the rows of the participants who answered exactly the known items.
func (m *Model) score(scores *mat.Dense, x mat.Matrix, structure *mat.Dense, known string, rows []int) error {
	p, k := structure.Dims()
	var items []int
	for j := range p {
		if known[j] == 1 {
			items = append(items, j)
		}
	}
	weights := m.weights
	if len(items) == 0 {
		for _, i := range rows {
			for t := range k {
				scores.Set(i, t, math.NaN())
			}
		}
		return nil
	}
	if len(items) < p {
		r, s := mat.NewSymDense(len(items), nil), mat.NewDense(len(items), k, nil)
		for a, i := range items {
			s.SetRow(a, structure.RawRowView(i))
			for b, j := range items[:a+1] {
				r.SetSym(a, b, m.scored.At(i, j))
			}
		}
		var err error
		if weights, err = regression(r, s); err != nil {
			return err
		}
	}
	for _, i := range rows {
		row := scores.RawRowView(i)
		for a, j := range items {
			z := (x.At(i, j) - m.means[j]) / m.deviations[j]
			for t, w := range weights.RawRowView(a) {
				row[t] += w * z
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
		return nil, errSingular
	}
	err := factor.SolveTo(weights, s)
	if _, inexact := errors.AsType[mat.Condition](err); inexact {
		err = nil // weights of items that nearly repeat one another; only their sum matters
	}
	return weights, err
}

// errSingular is returned if rounding leaves correlations without an inverse.
var errSingular = errors.New("correlations are singular")
