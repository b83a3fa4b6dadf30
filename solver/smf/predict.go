package smf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
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
	// Classes holds the most probable class of each document, of several the first.
	Classes []int
}

// Predict predicts the labels of the n×p matrix X with auxiliary features n×q, nil for none.
//
// For SMF-H the codes of new documents are least squares, while those of training followed their labels: probabilities
// are less certain than in training.
//
// The cost is one product of X with k columns. It returns an error that wraps solver.ErrShape where X or aux do not fit
// the model, and solver.ErrNonFinite for auxiliary features.
func (m *Model) Predict(x mat.Matrix, aux *mat.Dense) (*Prediction, error) {
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
	linalg.OperatorOf(x, 0).MulTo(r.Scores, m.Topics)
	if m.Variant == VariantH {
		codes := mat.NewDense(n, k, nil)
		linalg.Threads(0).MulTo(codes, r.Scores, m.inverse())
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
		r.Classes[i] = mostProbable(row)
	}
	return r, nil
}

// mostProbable returns the most probable class by the log-odds of classes 1 … κ, which do not round to ties, of several
// the first.
func mostProbable(odds []float64) int {
	best, highest := 0, 0.0
	for c, v := range odds {
		if v > highest {
			best, highest = c+1, v
		}
	}
	return best
}

// inverse returns (TopicsᵀTopics)⁻¹.
func (m *Model) inverse() *mat.Dense {
	_, k := m.Topics.Dims()
	gram := mat.NewDense(k, k, nil)
	linalg.Threads(0).GramTo(gram, m.Topics)
	return pseudoInverse(gram)
}

func columns(a *mat.Dense) int {
	if a == nil {
		return 0
	}
	_, cols := a.Dims()
	return cols
}

// Code returns the classes of predictions of SMF-H by supervised sparse coding, equation (3) of the paper: with W the
// topics and β the coefficients those of
//
//	minimize over y and h: ℓ(y, βᵀh + Γᵀz) + ξ·‖x − W·h‖².
//
// For κ = 1 they are the most probable ones by the least squares codes. For κ > 1 each class is tried: with t = βᵀh and
// M = βᵀ(WᵀW)⁻¹β the minimum over h given t leaves κ unknowns u, t = t₀ + M·u, and
//
//	minimize over u: ℓ(y, t₀ + M·u + Γᵀz) + ξ·uᵀMu,
//
// which Newton steps solve; t₀ is of the least squares code. Where ξ is small, a code moves to any label at little cost, and
// these classes are far worse than the most probable ones.
//
// The cost is O(κ⁴) for each document.
func (m *Model) Code(p *Prediction) []int {
	var half, metric mat.Dense
	half.Mul(m.Head.Coefficients, m.inverse())
	metric.Mul(&half, m.Head.Coefficients.T())
	c := newCoder(&metric, m.Xi)
	classes := make([]int, len(p.Classes))
	for i := range classes {
		odds := p.LogOdds.RawRowView(i)
		best := math.Inf(1)
		for y := range len(odds) + 1 {
			if objective := c.minimize(odds, y); objective < best {
				best, classes[i] = objective, y
			}
		}
	}
	return classes
}

// coder minimizes ℓ(y, t₀ + M·u) + ξ·uᵀMu over u.
type coder struct {
	metric   blas64.General // M, κ×κ
	xi       float64
	jacobian blas64.General
	pivots   []int

	u, trial, step, moved, odds, p []float64
	gradient                       []float64
}

func newCoder(metric *mat.Dense, xi float64) *coder {
	kappa, _ := metric.Dims()
	c := &coder{metric: metric.RawMatrix(), xi: xi, jacobian: mat.NewDense(kappa, kappa, nil).RawMatrix(), pivots: make([]int, kappa)}
	for _, v := range []*[]float64{&c.u, &c.trial, &c.step, &c.moved, &c.odds, &c.p, &c.gradient} {
		*v = make([]float64, kappa)
	}
	return c
}

// minimize returns the minimum for class y and t₀.
//
// The gradient by u is M·(p − e_y + 2ξ·u), so that Newton steps solve p − e_y + 2ξ·u = 0, whose Jacobian is
// (diag(p) − ppᵀ)·M + 2ξ·I. They descend; each is halved until the objective falls enough.
func (c *coder) minimize(start []float64, y int) float64 {
	kappa := len(c.u)
	clear(c.u)
	objective := c.objective(c.u, start, y)
	for range maxCoding {
		for i, p := range c.p {
			c.gradient[i] = p + 2*c.xi*c.u[i]
			if i == y-1 {
				c.gradient[i]--
			}
		}
		for j := range kappa {
			var mean float64
			for i, p := range c.p {
				mean += p * c.metric.Data[i*c.metric.Stride+j]
			}
			for i, p := range c.p {
				c.jacobian.Data[i*c.jacobian.Stride+j] = p * (c.metric.Data[i*c.metric.Stride+j] - mean)
			}
			c.jacobian.Data[j*c.jacobian.Stride+j] += 2 * c.xi
		}
		if !lapack64.Getrf(c.jacobian, c.pivots) {
			break
		}
		for i, v := range c.gradient {
			c.step[i] = -v
		}
		lapack64.Getrs(blas.NoTrans, c.jacobian, blas64.General{Rows: kappa, Cols: 1, Stride: 1, Data: c.step}, c.pivots)
		c.multiply(c.step)
		slope := floats.Dot(c.moved, c.gradient)
		if !(-slope > codingShare*math.Abs(objective)) || !c.search(start, y, &objective, slope) {
			break
		}
	}
	return objective
}

// search halves the step until the objective falls enough, and reports whether it does.
func (c *coder) search(start []float64, y int, objective *float64, slope float64) bool {
	for t := 1.0; t > codingShare; t /= 2 {
		floats.AddScaledTo(c.trial, c.u, t, c.step)
		if next := c.objective(c.trial, start, y); next <= *objective+armijo*t*slope {
			copy(c.u, c.trial)
			*objective = next
			return true
		}
	}
	return false
}

// objective stores the probabilities at u and returns the objective.
func (c *coder) objective(u, start []float64, y int) float64 {
	c.multiply(u)
	floats.AddTo(c.odds, start, c.moved)
	return softmax(c.p, c.odds, y) + c.xi*floats.Dot(u, c.moved)
}

// multiply stores M·v in moved.
func (c *coder) multiply(v []float64) {
	for i := range c.moved {
		c.moved[i] = floats.Dot(c.metric.Data[i*c.metric.Stride:i*c.metric.Stride+len(v)], v)
	}
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
