package factoranalysis

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// shifts are groups of rows with the same confounds. Confounds shift the latent responses of a group.
type shifts struct {
	of []int // the group of each row
	// basis, G×r, has a row for each group. Over all rows, its columns have mean 0, variance 1 and no correlations.
	basis *mat.Dense
}

// newShifts groups rows by their confounds, n×c, whose columns may depend on each other.
func newShifts(confounds *mat.Dense) (*shifts, error) {
	n, c := confounds.Dims()
	of, count := folds.Numbered(lists.Make(n, func(i int) string { return fmt.Sprint(confounds.RawRowView(i)) }))
	centred := linalg.Centred(confounds, linalg.ColumnMeans(confounds))
	gram := mat.NewSymDense(c, nil)
	gram.SymOuterK(1/float64(n), centred.T())
	values, vectors, ok := linalg.Eigen(gram)
	if !ok {
		return nil, linalg.ErrEigen
	}
	const rounding = 1e-10 // of the largest eigenvalue
	kept := lists.Where(c, func(t int) bool { return values[t] > rounding*values[c-1] })
	s := &shifts{of: of, basis: mat.NewDense(count, max(1, len(kept)), nil)}
	for i, g := range of {
		for e, t := range kept {
			s.basis.Set(g, e, mat.Dot(centred.RowView(i), vectors.ColView(t))/math.Sqrt(values[t]))
		}
	}
	return s, nil
}

// probit is the regression of an item's latent response on the basis, an ordered probit model: with values q of that,
// the answer is at most category k with probability Φ(τ_k − q·β). Of the unknowns θ the first K−1 are the thresholds τ,
// the others β.
//
// Source: P. McCullagh, "Regression models for ordinal data", 1980, section 2.1, with the probit link.
type probit struct {
	basis  *mat.Dense
	counts *mat.Dense // of the answers, G×K
}

// regress replaces the margin of an item by one for each group. Its latent response then has variance 1 in each. It
// reports false if the confounds determine the answers.
func (s *shifts) regress(t *item) bool {
	whole := t.margins[0]
	groups, columns := s.basis.Dims()
	thresholds := len(whole.thresholds)
	r := probit{s.basis, mat.NewDense(groups, thresholds+1, nil)}
	for i, code := range t.codes {
		if code != missing {
			g := s.of[i]
			r.counts.Set(g, int(code), r.counts.At(g, int(code))+1)
		}
	}
	theta := slices.Concat(whole.thresholds, make([]float64, columns))
	const enough, rounding, shortest = 1e-9, 1e-14, 1e-8
	newton := linalg.Newton{
		Loss: r.loss, Step: r.step, Rounding: rounding, Shortest: shortest,
		Done: func(step, _ []float64) bool { return floats.Norm(step, math.Inf(1)) < enough },
	}
	newton.Minimize(theta) // where confounds determine some answers, the ridge ends it far out
	t.margins = lists.Make(groups, func(g int) (m margin) {
		for k := range thresholds {
			m.thresholds = append(m.thresholds, r.end(theta, g, k))
			m.cumulative = append(m.cumulative, upperTail(-m.thresholds[k]))
		}
		return m
	})
	const determined = 1e-3 // loss of an answer
	return r.loss(theta) > determined*mat.Sum(r.counts)
}

// end returns the upper end of category k in group g, τ_k − q·β.
func (r *probit) end(theta []float64, g, k int) float64 {
	_, categories := r.counts.Dims()
	return theta[k] - floats.Dot(r.basis.RawRowView(g), theta[categories-1:])
}

// probability returns that of category k in group g, at least leastProbability, and its derivative with respect to θ.
func (r *probit) probability(theta []float64, g, k int) (p float64, slope *mat.VecDense) {
	_, categories := r.counts.Dims()
	slope = mat.NewVecDense(len(theta), nil)
	add := func(threshold int, sign float64) float64 {
		end := r.end(theta, g, threshold)
		density := sign * math.Exp(-end*end/2) / math.Sqrt(2*math.Pi)
		slope.SetVec(threshold, density)
		floats.AddScaled(slope.RawVector().Data[categories-1:], -density, r.basis.RawRowView(g))
		return sign * upperTail(-end)
	}
	if p = 1; k < categories-1 {
		p = add(k, 1)
	}
	if k > 0 {
		p += add(k-1, -1)
	}
	return max(p, leastProbability), slope
}

// each calls do for each category of each group.
func (r *probit) each(theta []float64, do func(count, inGroup, p float64, slope *mat.VecDense)) {
	groups, categories := r.counts.Dims()
	for g := range groups {
		for k := range categories {
			p, slope := r.probability(theta, g, k)
			do(r.counts.At(g, k), floats.Sum(r.counts.RawRowView(g)), p, slope)
		}
	}
}

// loss is −log-likelihood.
func (r *probit) loss(theta []float64) (sum float64) {
	r.each(theta, func(count, _, p float64, _ *mat.VecDense) { sum -= count * math.Log(p) })
	return sum
}

// step is one of Fisher scoring. A ridge far below any information keeps it finite where a confound says nothing, or
// all, of the answers.
func (r *probit) step(step, theta []float64) bool {
	const ridge = 1e-8 // of the number of answers
	gradient, information := mat.NewVecDense(len(theta), nil), mat.NewSymDense(len(theta), nil)
	r.each(theta, func(count, inGroup, p float64, slope *mat.VecDense) {
		gradient.AddScaledVec(gradient, count/p, slope)
		information.SymRankOne(information, inGroup/p, slope)
	})
	for t := range theta {
		information.SetSym(t, t, information.At(t, t)+ridge*mat.Sum(r.counts))
	}
	var factor mat.Cholesky
	return factor.Factorize(information) &&
		factor.SolveVecTo(mat.NewVecDense(len(step), step), gradient) == nil
}
