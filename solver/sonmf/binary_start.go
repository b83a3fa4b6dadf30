package sonmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// maxSettling bounds the updates of one factor while the other is fixed. They also end when an update changes the
	// objective by no more than the share settled.
	maxSettling = 100
	settled     = 1e-6
)

// start returns the topics and scores to start from. Given factors are used, with negative scores as 0. A factor that is not
// given starts from the working response of the model without topics in place of X,
//
//	Z = m + (X − d)/(d·(1 − d)), m = log(d/(1 − d)), d = (ΣX + ½)/(n·p + 1),
//
// the matrix that Newton's method for logistic regression would fit: d is the mean of X, and the ½ keeps m finite. The topics
// are those that Init names of Z, whose singular vectors can express that most entries are 0, and the scores ⟨ZF⟩₊. Z is never
// formed, only multiplied.
func (b *Binary) start(ctx context.Context, p *solver.Problem) (topics, scores *mat.Dense, err error) {
	n, terms := p.X.Dims()
	k := p.Settings.Rank
	size := float64(n) * float64(terms)
	mean := (p.X.NormSquared() + 0.5) / (size + 1) // entries of 0 and 1 equal their squares
	response := affine{Operator: p.X, factor: 1 / (mean * (1 - mean)), shift: math.Log(mean/(1-mean)) - 1/(1-mean)}

	linear := &solver.Problem{X: response, Settings: p.Settings}
	if p.Settings.Init == solver.InitKMeans && p.Settings.StartScores == nil {
		linear.X = p.X // the clusters are clusters of rows of X
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
