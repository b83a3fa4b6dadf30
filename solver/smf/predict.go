package smf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

const (
	// maxCoding bounds the Newton steps of one supervised code, and codingShare is the decrease, in units of the
	// objective, that ends them.
	maxCoding   = 50
	codingShare = 1e-15
)

// Model predicts the labels of documents.
type Model struct {
	Variant Variant
	// Xi is the weight of the squared residual, which decides between the codes of SMF-H.
	Xi float64
	// Topics is p×k.
	Topics *mat.Dense
	Head   *solver.Head
}

// Model returns the model of a result of the method.
func (m *Method) Model(r *solver.Result) *Model {
	return &Model{Variant: m.settings.Variant, Xi: m.settings.Xi, Topics: r.Topics, Head: r.Head}
}

// Prediction is what a model says of n documents.
type Prediction struct {
	// Scores is n×k: the filtered documents X·Topics of SMF-W, the least squares codes X·Topics·(TopicsᵀTopics)⁻¹ of
	// SMF-H.
	Scores *mat.Dense
	// LogOdds is n×κ: of classes 1 … κ against class 0, Scores·Coefficientsᵀ and the part of Aux and intercept. Each is a
	// sum of one contribution per topic, per auxiliary feature and the intercept.
	LogOdds *mat.Dense
	// Probabilities is n×(κ+1), of all classes, by LogOdds.
	Probabilities *mat.Dense
	// Classes holds the most probable class of each document (of several the first), and for SMF-H with κ > 1 that of
	// supervised coding, see Model.Predict.
	Classes []int
}

// Predict predicts the labels of the n×p matrix X with auxiliary features n×q, nil for none.
//
// For SMF-H the codes of new documents are least squares, while those of training followed their labels: probabilities
// are less certain than in training. The class is that of
//
//	minimize over y and h: ℓ(y, βᵀh + Γᵀz) + ξ·‖x − W·h‖².
//
// For κ = 1 it is the most probable class by the least squares code. For κ > 1 each class is tried: with t = βᵀh and
// M = βᵀ(WᵀW)⁻¹β the minimum over h given t leaves κ unknowns u, t = t₀ + M·u, and
//
//	minimize over u: ℓ(y, t₀ + M·u + Γᵀz) + ξ·uᵀMu,
//
// which Newton steps solve. t₀ belongs to the least squares code.
//
// The cost is one product of X with k columns, and O(κ⁴) for each document of SMF-H with κ > 1. It returns an error that
// wraps solver.ErrShape where X or aux do not fit the model, and solver.ErrNonFinite for auxiliary features.
func (m *Model) Predict(x linalg.Operator, aux *mat.Dense) (*Prediction, error) {
	n, p := x.Dims()
	terms, k := m.Topics.Dims()
	kappa := len(m.Head.Intercept)
	if p != terms {
		return nil, fmt.Errorf("predicting: %w: matrix of %d terms, topics of %d", solver.ErrShape, p, terms)
	}
	if err := checkAux(aux, n); err != nil {
		return nil, fmt.Errorf("predicting: %w", err)
	}
	if wanted, got := columns(m.Head.AuxCoefficients), columns(aux); wanted != got {
		return nil, fmt.Errorf("predicting: %w: %d auxiliary features, model of %d", solver.ErrShape, got, wanted)
	}

	r := &Prediction{
		Scores:        mat.NewDense(n, k, nil),
		LogOdds:       mat.NewDense(n, kappa, nil),
		Probabilities: mat.NewDense(n, kappa+1, nil),
		Classes:       make([]int, n),
	}
	var inverse *mat.Dense
	x.MulTo(r.Scores, m.Topics)
	if m.Variant == VariantH {
		gram := mat.NewDense(k, k, nil)
		linalg.GramTo(gram, m.Topics)
		inverse = pseudoInverse(gram)
		codes := mat.NewDense(n, k, nil)
		linalg.MulTo(codes, r.Scores, inverse)
		r.Scores = codes
	}
	r.LogOdds.Mul(r.Scores, m.Head.Coefficients.T())
	if aux != nil {
		var part mat.Dense
		part.Mul(aux, m.Head.AuxCoefficients.T())
		r.LogOdds.Add(r.LogOdds, &part)
	}
	for i := range n {
		row := r.LogOdds.RawRowView(i)
		for c, v := range m.Head.Intercept {
			row[c] += v
		}
		probabilities := r.Probabilities.RawRowView(i)
		softmax(probabilities[1:], row, 0)
		probabilities[0] = 1
		for _, v := range probabilities[1:] {
			probabilities[0] -= v
		}
		probabilities[0] = max(0, probabilities[0])
		for c, v := range row { // of the log-odds, which do not round to ties
			if best := r.Classes[i]; best == 0 && v > 0 || best > 0 && v > row[best-1] {
				r.Classes[i] = c + 1
			}
		}
	}
	if m.Variant == VariantH && kappa > 1 {
		m.code(r, inverse)
	}
	return r, nil
}

func columns(a *mat.Dense) int {
	if a == nil {
		return 0
	}
	_, cols := a.Dims()
	return cols
}

// code replaces the classes by those of supervised coding. inverse is (WᵀW)⁻¹.
func (m *Model) code(r *Prediction, inverse *mat.Dense) {
	var half, metric mat.Dense
	half.Mul(m.Head.Coefficients, inverse)
	metric.Mul(&half, m.Head.Coefficients.T())
	c := newCoder(&metric, m.Xi)
	for i := range r.Classes {
		odds := r.LogOdds.RawRowView(i)
		best := math.Inf(1)
		for y := range len(odds) + 1 {
			if objective := c.minimize(odds, y); objective < best {
				best, r.Classes[i] = objective, y
			}
		}
	}
}

// coder minimizes ℓ(y, t₀ + M·u) + ξ·uᵀMu over u.
type coder struct {
	metric           *mat.Dense // M, κ×κ
	xi               float64
	u, trial, moved  *mat.VecDense
	gradient, step   *mat.VecDense
	odds, p          []float64
	jacobian, spread *mat.Dense
}

func newCoder(metric *mat.Dense, xi float64) *coder {
	kappa, _ := metric.Dims()
	vec := func() *mat.VecDense { return mat.NewVecDense(kappa, nil) }
	return &coder{
		metric: metric, xi: xi, u: vec(), trial: vec(), moved: vec(), gradient: vec(), step: vec(),
		odds: make([]float64, kappa), p: make([]float64, kappa), jacobian: mat.NewDense(kappa, kappa, nil), spread: mat.NewDense(kappa, kappa, nil),
	}
}

// minimize returns the minimum for class y and t₀.
//
// The gradient by u is M·(p − e_y + 2ξ·u), so that Newton steps solve p − e_y + 2ξ·u = 0, whose Jacobian is
// (diag(p) − ppᵀ)·M + 2ξ·I. They descend; each is halved until the objective falls enough.
func (c *coder) minimize(start []float64, y int) float64 {
	c.u.Zero()
	objective := c.objective(c.u, start, y)
	for range maxCoding {
		for i, p := range c.p {
			for j, q := range c.p {
				c.spread.Set(i, j, -p*q)
			}
			c.spread.Set(i, i, p-p*p)
			v := p + 2*c.xi*c.u.AtVec(i)
			if i == y-1 {
				v--
			}
			c.gradient.SetVec(i, -v)
		}
		c.jacobian.Mul(c.spread, c.metric)
		for i := range c.p {
			c.jacobian.Set(i, i, c.jacobian.At(i, i)+2*c.xi)
		}
		if err := c.step.SolveVec(c.jacobian, c.gradient); err != nil {
			break
		}
		c.moved.MulVec(c.metric, c.step)
		slope := -mat.Dot(c.moved, c.gradient)
		if !(-slope > codingShare*math.Abs(objective)) {
			break
		}
		lowered := false
		for t := 1.0; t > codingShare; t /= 2 {
			c.trial.AddScaledVec(c.u, t, c.step)
			if next := c.objective(c.trial, start, y); next <= objective+armijo*t*slope {
				c.u.CopyVec(c.trial)
				objective, lowered = next, true
				break
			}
		}
		if !lowered {
			break
		}
	}
	return objective
}

// objective stores the probabilities at u and returns the objective.
func (c *coder) objective(u *mat.VecDense, start []float64, y int) float64 {
	c.moved.MulVec(c.metric, u)
	for i, t := range start {
		c.odds[i] = t + c.moved.AtVec(i)
	}
	return softmax(c.p, c.odds, y) + c.xi*mat.Dot(u, c.moved)
}

// pseudoInverse returns the inverse of a symmetric matrix a ≥ 0 on its range.
func pseudoInverse(a *mat.Dense) *mat.Dense {
	inverse := mat.DenseCopyOf(a)
	values, vectors, ok := eigen(a)
	if !ok { // not finite, and so is what is computed with it
		return inverse
	}
	scaled := mat.DenseCopyOf(vectors)
	for t, v := range values {
		factor := 0.0
		if v > negligible*values[0] {
			factor = 1 / v
		}
		scaleColumn(scaled, t, factor)
	}
	inverse.Mul(scaled, vectors.T())
	return inverse
}
