package eap

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// Nodes is the number of nodes of the grid, and spacing their distance. Ten nodes within a logit-wide posterior make
// the error of a sum in place of the integral smaller than rounding; a posterior is rarely narrower than 0.1.
const (
	Nodes   = 121
	widest  = 6.0
	spacing = 2 * widest / (Nodes - 1)
)

// Node returns the value of a factor at node q.
func Node(q int) float64 { return float64(q)*spacing - widest }

// ErrModel is wrapped by the errors about an invalid model.
var ErrModel = errors.New("malformed graded response model")

// Model holds the parameters of p items on k factors.
type Model struct {
	Factors    []int       // of each item, from 0
	Slopes     []float64   // a
	Intercepts [][]float64 // d, descending
	// Values are the answers of the categories, ascending. An answer between two values belongs to the nearer one.
	Values [][]float64
	Phi    *mat.Dense
}

// Check returns an error that wraps ErrModel unless the sizes match, Φ is a matrix of correlations, and intercepts and
// values are in order.
func (m *Model) Check() error {
	p, k := len(m.Factors), 0
	if m.Phi != nil {
		k = m.Phi.RawMatrix().Rows
	}
	if len(m.Slopes) != p || len(m.Intercepts) != p || len(m.Values) != p || k == 0 || m.Phi.RawMatrix().Cols != k {
		return fmt.Errorf("%w: %d, %d, %d and %d numbers for the items of %d factors", ErrModel, p, len(m.Slopes),
			len(m.Intercepts), len(m.Values), k)
	}
	for j, f := range m.Factors {
		d, v := m.Intercepts[j], m.Values[j]
		above := func(a, b float64) bool { return a > b }
		switch {
		case f < 0 || f >= k || len(d) == 0 || len(v) != len(d)+1,
			!ordered(v, func(a, b float64) bool { return a < b }), !ordered(d, above),
			math.IsNaN(m.Slopes[j]) || math.IsInf(m.Slopes[j], 0):
			return fmt.Errorf("%w: item %d: factor %d, slope %v, intercepts %v, values %v", ErrModel, j, f, m.Slopes[j],
				d, v)
		}
	}
	phi := mat.NewSymDense(k, nil)
	for t := range k {
		for u := range k {
			phi.SetSym(t, u, m.Phi.At(t, u))
			if v := m.Phi.At(t, u); v != m.Phi.At(u, t) || (t == u) != (v == 1) {
				return fmt.Errorf("%w: correlation %v of the factors %d and %d", ErrModel, v, t, u)
			}
		}
	}
	if !new(mat.Cholesky).Factorize(phi) {
		return fmt.Errorf("%w: the correlations of the factors are not positive definite", ErrModel)
	}
	return nil
}

// ordered reports whether all values are finite and each is in this order with the next.
func ordered(values []float64, before func(a, b float64) bool) bool {
	for i, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) || i > 0 && !before(values[i-1], v) {
			return false
		}
	}
	return true
}

// Category returns the category of an answer to item j: the one with the nearest value, of two the lower. NaN is −1.
func (m *Model) Category(j int, answer float64) int {
	if answer != answer {
		return -1
	}
	v := m.Values[j]
	c, _ := slices.BinarySearch(v, answer)
	c = min(c, len(v)-1)
	if c > 0 && answer-v[c-1] <= v[c]-answer {
		c--
	}
	return c
}

// probability returns σ(upper) − σ(lower) without cancellation.
func probability(upper, lower float64) float64 {
	return linalg.Sigmoid(upper) * linalg.Sigmoid(-lower) * -math.Expm1(lower-upper)
}

// Bounds returns the logits of category c of item j at θ: those of this category or above, and of the next or above.
func (m *Model) Bounds(j, c int, theta float64) (upper, lower float64) {
	d := m.Intercepts[j]
	upper, lower = math.Inf(1), math.Inf(-1)
	if c > 0 {
		upper = m.Slopes[j]*theta + d[c-1]
	}
	if c < len(d) {
		lower = m.Slopes[j]*theta + d[c]
	}
	return upper, lower
}

// Expected returns the mean of the answers to item j at θ.
func (m *Model) Expected(j int, theta float64) float64 {
	mean := m.Values[j][0]
	for c, d := range m.Intercepts[j] {
		mean += (m.Values[j][c+1] - m.Values[j][c]) * linalg.Sigmoid(m.Slopes[j]*theta+d)
	}
	return mean
}

// Information returns Fisher's information about θ in an answer to item j: a²·Σ_c (w_c − w_{c+1})²/P_c, where
// w = σ(1 − σ) at the Bounds.
func (m *Model) Information(j int, theta float64) (sum float64) {
	for c := range m.Values[j] {
		upper, lower := m.Bounds(j, c, theta)
		if p := probability(upper, lower); p > 0 {
			difference := m.Slopes[j] * (density(upper) - density(lower))
			sum += difference * difference / p
		}
	}
	return sum
}

// density returns the derivative of σ, 0 at the infinities.
func density(x float64) float64 {
	s := linalg.Sigmoid(-math.Abs(x))
	return s * (1 - s)
}

// Posterior is what the answers of a participant say about the factors.
type Posterior struct {
	Means      []float64   // k
	Covariance *mat.Dense  // k×k
	Weights    [][]float64 // k×Nodes: the posterior of each factor with answers by itself, which sums to 1
	Likelihood float64     // the logarithm of the answers' marginal probability
	logs       [][]float64 // k×Nodes: the logarithm of the likelihood of the answers to the factor's items
	answered   []bool      // by factor
	precision  []float64   // by factor: those of the normal distribution in place of its answers
	shifts     []float64   // precision times mean
	constants  []float64   // by factor: the logarithms of what those distributions are multiplied by
	column     []float64   // k
}

// Scorer computes posteriors one at a time and allocates nothing. The Posterior is that of the last call.
type Scorer struct {
	Posterior
	model  *Model
	tables [][]float64 // by item: the logarithms of the categories' probabilities, Nodes after Nodes
}

// NewScorer returns a Scorer of a valid model.
func (m *Model) NewScorer() *Scorer {
	s := &Scorer{model: m, tables: make([][]float64, len(m.Factors))}
	for j, values := range m.Values {
		s.tables[j] = make([]float64, len(values)*Nodes)
		for c := range values {
			for q := range Nodes {
				// The least positive number stands for a probability that underflows.
				p := max(probability(m.Bounds(j, c, Node(q))), math.SmallestNonzeroFloat64)
				s.tables[j][c*Nodes+q] = math.Log(p)
			}
		}
	}
	s.Posterior = newPosterior(m.Phi.RawMatrix().Rows)
	return s
}

// Share returns a Scorer with the same tables for another goroutine.
func (s *Scorer) Share() *Scorer {
	return &Scorer{model: s.model, tables: s.tables, Posterior: newPosterior(len(s.Means))}
}

func newPosterior(k int) Posterior {
	p := Posterior{
		Means: make([]float64, k), Covariance: mat.NewDense(k, k, nil), answered: make([]bool, k),
		precision: make([]float64, k), shifts: make([]float64, k), constants: make([]float64, k),
		column: make([]float64, k),
	}
	for range k {
		p.Weights, p.logs = append(p.Weights, make([]float64, Nodes)), append(p.logs, make([]float64, Nodes))
	}
	return p
}

// ScoreTo writes the scores of a participant and their standard errors, each k, from the answers, p with NaN for a
// missing one. Without any answer all are NaN.
func (s *Scorer) ScoreTo(scores, errs, answers []float64) {
	s.start()
	for j, v := range answers {
		s.add(j, s.model.Category(j, v))
	}
	s.solve()
	for t, v := range s.Means {
		scores[t], errs[t] = v, math.Sqrt(s.Covariance.At(t, t))
		if !slices.Contains(s.answered, true) {
			scores[t], errs[t] = math.NaN(), math.NaN()
		}
	}
}

// Categories computes the posterior of a participant from the categories of the answers, −1 for a missing one.
func (s *Scorer) Categories(categories []int16) {
	s.start()
	for j, c := range categories {
		s.add(j, int(c))
	}
	s.solve()
}

func (s *Scorer) start() {
	clear(s.answered)
	for _, logs := range s.logs {
		clear(logs)
	}
}

// add counts an answer to item j, unless c is −1.
func (s *Scorer) add(j, c int) {
	if c < 0 {
		return
	}
	f := s.model.Factors[j]
	s.answered[f] = true
	floats.Add(s.logs[f], s.tables[j][c*Nodes:(c+1)*Nodes])
}

// The passes over the factors end once no site changes a score by more than enough, at the latest after mostPasses: two
// to five are usual.
const (
	enough     = 1e-7
	mostPasses = 50
)

// solve computes the posterior of the answers that were added.
func (s *Scorer) solve() {
	s.Covariance.Copy(s.model.Phi)
	clear(s.Means)
	clear(s.precision)
	clear(s.shifts)
	clear(s.constants)
	volume := 0.0 // log |Covariance| − log |Φ|
	for range mostPasses {
		change := 0.0
		for t, ok := range s.answered {
			if ok {
				moved, shrunk := s.update(t)
				change, volume = max(change, moved), volume+shrunk
			}
		}
		if change <= enough || len(s.Means) == 1 {
			break
		}
	}
	s.Likelihood = (volume+floats.Dot(s.shifts, s.Means))/2 + floats.Sum(s.constants)
}

// update replaces the normal distribution that stands for the answers to the items of factor t by the one that gives
// the same mean and variance of the factor as these answers do. It returns how far the mean moved, and by how much the
// logarithm of the volume of the covariance grew.
func (s *Scorer) update(t int) (moved, volume float64) {
	before, variance := s.Means[t], s.Covariance.At(t, t)
	rest := variance / (1 - s.precision[t]*variance) // of the other answers and the prior alone
	centre := rest * (before/variance - s.shifts[t])
	w, top := s.Weights[t], math.Inf(-1)
	for q, l := range s.logs[t] {
		away := Node(q) - centre
		w[q] = l - away*away/(2*rest)
		top = max(top, w[q])
	}
	var sum, mean, square float64
	for q, l := range w {
		w[q] = math.Exp(l - top)
		sum += w[q]
		mean += w[q] * Node(q)
	}
	mean /= sum
	for q := range w {
		w[q] /= sum
		square += w[q] * (Node(q) - mean) * (Node(q) - mean)
	}
	// Answers never widen the posterior, but the end of the grid may seem to.
	precision := max(0, 1/square-1/rest)
	change := precision - s.precision[t]
	s.precision[t], s.shifts[t] = precision, mean/square-centre/rest
	s.constants[t] = top + math.Log(sum*spacing/math.Sqrt(2*math.Pi*rest)) +
		(math.Log1p(precision*rest)+centre*centre/rest-mean*mean/square)/2

	mat.Col(s.column, t, s.Covariance)
	scale := change / (1 + change*variance)
	for u := range s.Means {
		row := s.Covariance.RawRowView(u)
		floats.AddScaled(row, -scale*s.column[u], s.column)
		s.Means[u] = floats.Dot(row, s.shifts)
	}
	return math.Abs(s.Means[t] - before), -math.Log1p(change * variance)
}
