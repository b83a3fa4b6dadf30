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

// groups are the rows with the same confounds, which shift the latent responses of a group.
type groups struct {
	of []int // the group of each row
	// basis, G×r, has a row for each group. Over all rows, its columns have mean 0, variance 1 and no correlations; one
	// column of zeros stands for confounds that do not vary.
	basis *mat.Dense
}

// newGroups groups rows by their confounds, n×c, whose columns may depend on each other.
func newGroups(confounds *mat.Dense) (*groups, error) {
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
	s := &groups{of: of, basis: mat.NewDense(count, max(1, len(kept)), nil)}
	for i, g := range of {
		for e, t := range kept {
			s.basis.Set(g, e, mat.Dot(centred.RowView(i), vectors.ColView(t))/math.Sqrt(values[t]))
		}
	}
	return s, nil
}

// probit is the regression of an item's latent response on the basis, an ordered probit model: with values q of that,
// the answer is at most category k with probability Φ(τ_k − q·β). Of the unknowns θ the first K−1 are the thresholds τ,
// the others β. It minimizes −log-likelihood + ½·ridge·N·‖β‖², N answers.
//
// Source: P. McCullagh, "Regression models for ordinal data", 1980, section 2.1, with the probit link.
type probit struct {
	basis  *mat.Dense
	counts *mat.Dense // of the answers, G×K
	n      float64    // their sum
}

const (
	// ridge keeps β finite where a confound determines answers, and is far below the information of other answers.
	ridge = 1e-8
	// A regression ends with a step below probitStep, far below the standard error of an unknown.
	probitStep = 1e-9
	// determined is the loss of an answer below which the confounds leave nothing to correlate: with a probability of
	// .999 they tell each one.
	determined = 1e-3
)

// regress replaces the margin of an item by one for each group. Its latent response then has variance 1 in each. It
// reports false if the confounds determine the answers.
func (s *groups) regress(t *Ordered) bool {
	whole := t.Margins[0]
	count, columns := s.basis.Dims()
	thresholds := len(whole.Thresholds)
	r := probit{basis: s.basis, counts: mat.NewDense(count, thresholds+1, nil)}
	for i, code := range t.Codes {
		if code != missing {
			g := s.of[i]
			r.counts.Set(g, int(code), r.counts.At(g, int(code))+1)
			r.n++
		}
	}
	theta := slices.Concat(whole.Thresholds, make([]float64, columns))
	const rounding, shortest = 1e-14, 1e-8
	newton := linalg.Newton{
		Loss: r.loss, Step: r.step, Rounding: rounding, Shortest: shortest,
		Done: func(step, _ []float64) bool { return floats.Norm(step, math.Inf(1)) < probitStep },
	}
	newton.Minimize(theta) // it is convex, and what a hundredth step would change is far below a standard error
	t.Margins = lists.Make(count, func(g int) Margin { return r.margin(theta, g) })
	return r.loss(theta) > determined*r.n
}

// margin returns the thresholds τ − q·β of a group.
func (r *probit) margin(theta []float64, g int) (m Margin) {
	_, categories := r.counts.Dims()
	shift := floats.Dot(r.basis.RawRowView(g), theta[categories-1:])
	for _, tau := range theta[:categories-1] {
		m.Thresholds = append(m.Thresholds, tau-shift)
		m.Cumulative = append(m.Cumulative, upperTail(shift-tau))
	}
	return m
}

// probability returns that of category k, at least leastProbability.
func (m *Margin) probability(k int) float64 {
	p := 1.0
	if k < len(m.Cumulative) {
		p = m.Cumulative[k]
	}
	if k > 0 {
		p -= m.Cumulative[k-1]
	}
	return max(p, leastProbability)
}

func (r *probit) loss(theta []float64) float64 {
	count, categories := r.counts.Dims()
	beta := theta[categories-1:]
	sum := ridge / 2 * r.n * floats.Dot(beta, beta)
	for g := range count {
		m := r.margin(theta, g)
		for k, n := range r.counts.RawRowView(g) {
			if n > 0 {
				sum -= n * math.Log(m.probability(k))
			}
		}
	}
	return sum
}

// step is one of Fisher scoring.
func (r *probit) step(step, theta []float64) bool {
	count, categories := r.counts.Dims()
	gradient, information := mat.NewVecDense(len(theta), nil), mat.NewSymDense(len(theta), nil)
	for t := categories - 1; t < len(theta); t++ {
		gradient.SetVec(t, -ridge*r.n*theta[t])
		information.SetSym(t, t, ridge*r.n)
	}
	slope := mat.NewVecDense(len(theta), nil) // of a probability
	for g := range count {
		m, counts := r.margin(theta, g), r.counts.RawRowView(g)
		n := floats.Sum(counts)
		for k := 0; k < categories && n > 0; k++ {
			slope.Zero()
			for end := max(0, k-1); end < min(k+1, categories-1); end++ {
				density := math.Exp(-m.Thresholds[end]*m.Thresholds[end]/2) / math.Sqrt(2*math.Pi)
				if end < k {
					density = -density
				}
				slope.SetVec(end, density)
				floats.AddScaled(slope.RawVector().Data[categories-1:], -density, r.basis.RawRowView(g))
			}
			p := m.probability(k)
			gradient.AddScaledVec(gradient, counts[k]/p, slope)
			information.SymRankOne(information, n/p, slope)
		}
	}
	var factor mat.Cholesky
	return factor.Factorize(information) &&
		factor.SolveVecTo(mat.NewVecDense(len(step), step), gradient) == nil
}
