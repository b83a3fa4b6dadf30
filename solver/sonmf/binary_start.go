package sonmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// maxSettling and settled end the updates of one factor for the other: that many, or when one changes the objective by
	// no more than that share.
	maxSettling = 100
	settled     = 1e-6
)

// start returns the topics and scores to start from. If both factors are given, both are taken, with negative scores as 0. With one
// given factor the other starts as without, for the caller to settle.
//
// Otherwise the working response of the model without topics takes the place of X. With m = log(d/(1 − d)) the log-odds of the
// mean d of X in every cell, the quadratic model of f is that of ‖Z − M‖²,
//
//	Z = m + (X − d)/(d·(1 − d)),
//
// the matrix that Newton's method for logistic regression would fit. The scores are ⟨ZF⟩₊, and for InitSVD the topics are
// the singular vectors of Z, those of X being all but unable to say that most entries are 0. d is (ΣX + ½)/(n·p + 1), so
// that matrices of one value have finite log-odds. Z is known by its products and never formed.
func (b *Binary) start(ctx context.Context, p *solver.Problem) (topics, scores *mat.Dense, err error) {
	n, terms := p.X.Dims()
	k := p.Settings.Rank
	size := float64(n) * float64(terms)
	mean := (p.X.NormSquared() + 0.5) / (size + 1) // of 0 and 1 the squares
	response := affine{Operator: p.X, factor: 1 / (mean * (1 - mean)), shift: math.Log(mean/(1-mean)) - 1/(1-mean)}

	linear := &solver.Problem{X: response, Settings: p.Settings}
	if p.Settings.Init == solver.InitKMeans && p.Settings.StartScores == nil {
		linear.X = p.X // clusters are of the rows of X
	}
	if topics, err = linear.OrthonormalTopics(ctx); err != nil {
		return nil, nil, err
	}
	scores = mat.NewDense(n, k, nil)
	if p.Settings.StartScores != nil {
		scores.Copy(p.Settings.StartScores)
	} else {
		response.MulTo(scores, topics)
	}
	positivePart(scores, scores)
	return topics, scores, nil
}

// affine is the matrix factor·X + shift·1·1ᵀ.
type affine struct {
	matrix.Operator
	factor, shift float64
}

// MulTo stores the product with D in dst.
func (a affine) MulTo(dst, d *mat.Dense) {
	a.Operator.MulTo(dst, d)
	a.complete(dst, d)
}

// MulTransTo stores the product of the transposed matrix with D in dst.
func (a affine) MulTransTo(dst, d *mat.Dense) {
	a.Operator.MulTransTo(dst, d)
	a.complete(dst, d)
}

// NormSquared returns the sum of the squares of the entries, for an X of 0 and 1.
func (a affine) NormSquared() float64 {
	n, p := a.Dims()
	return a.factor*(a.factor+2*a.shift)*a.Operator.NormSquared() + a.shift*a.shift*float64(n)*float64(p)
}

// complete makes the product of X the product of the matrix.
func (a affine) complete(dst, d *mat.Dense) {
	rows, k := dst.Dims()
	inner, _ := d.Dims()
	sums := make([]float64, k)
	for i := range inner {
		for t, v := range d.RawRowView(i) {
			sums[t] += a.shift * v
		}
	}
	for i := range rows {
		row := dst.RawRowView(i)
		for t, v := range row {
			row[t] = a.factor*v + sums[t]
		}
	}
}
