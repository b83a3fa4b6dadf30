package logistic

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// A Newton step is taken only if it promises to lower the objective of a row by more than the share enough.
	// maxSteps bounds the steps, because a row that the topics separate has no minimum.
	enough   = 1e-12
	maxSteps = 100
	// maxHalvings bounds the halvings of one step.
	maxHalvings = 40
	// jitter, a share of the mean diagonal, keeps the Hessian definite.
	jitter = 1e-12
)

// ScoresTo stores in scores (n×k) the best scores for given topics F (p×k). Row i is the z, or the z ≥ 0, that
// minimizes
//
//	Σⱼ log(1 + exp(mⱼ)) − xᵢⱼ·mⱼ, m = F·z,
//
// by Newton's method with halved steps; the step within z ≥ 0 is the nonnegative least squares of the quadratic model.
// Each row is computed by itself. The cost of a step is p·k² multiply-adds.
func ScoresTo(scores *mat.Dense, x mat.Matrix, topics *mat.Dense, nonNegative bool) {
	n, k := scores.Dims()
	p, _ := topics.Dims()
	rows := linalg.RowsOf(x)
	linalg.ThreadsOf(x).Parallel(n, n*p*k*k, func(from, to int) {
		s := newRowScorer(topics, nonNegative)
		for i := from; i < to; i++ {
			columns, values := rows(i)
			clear(s.row)
			if columns == nil {
				copy(s.row, values)
			}
			for e, j := range columns {
				s.row[j] = values[e]
			}
			s.minimize(scores.RawRowView(i))
		}
	})
}

// rowScorer minimizes over the scores of one row after the other.
type rowScorer struct {
	topics      *mat.Dense
	nonNegative bool
	row         []float64 // x
	odds, cells []float64 // m, and σ(m)

	residual, weighted *mat.Dense // σ(m) − x, p×1, and diag(√(σ·(1−σ)))·F
	gradient, hessian  *mat.Dense // k×1 and k×k
	next, trial        []float64
}

func newRowScorer(topics *mat.Dense, nonNegative bool) *rowScorer {
	p, k := topics.Dims()
	return &rowScorer{
		topics: topics, nonNegative: nonNegative,
		row: make([]float64, p), odds: make([]float64, p), cells: make([]float64, p),
		residual: mat.NewDense(p, 1, nil), weighted: mat.NewDense(p, k, nil),
		gradient: mat.NewDense(k, 1, nil), hessian: mat.NewDense(k, k, nil),
		next: make([]float64, k), trial: make([]float64, k),
	}
}

// loss returns the objective at z, and leaves σ(m) in cells.
func (s *rowScorer) loss(z []float64) float64 {
	odds := mat.NewDense(len(s.odds), 1, s.odds)
	serial.MulTo(odds, s.topics, mat.NewDense(len(z), 1, z))
	var along float64
	for j, x := range s.row {
		along += x * s.odds[j]
	}
	return linalg.LogisticTo(s.cells, s.odds) - along
}

// minimize moves z, which is 0, to the minimum.
func (s *rowScorer) minimize(z []float64) {
	k := len(z)
	objective := s.loss(z)
	for range maxSteps {
		residual := s.residual.RawMatrix().Data
		for j, v := range s.cells {
			residual[j] = v - s.row[j]
			floats.ScaleTo(s.weighted.RawRowView(j), math.Sqrt(v*(1-v)), s.topics.RawRowView(j))
		}
		serial.InnerTo(s.gradient, s.topics, s.residual)
		serial.GramTo(s.hessian, s.weighted)
		lift := jitter*mat.Trace(s.hessian)/float64(k) + math.SmallestNonzeroFloat64
		for t := range k {
			s.hessian.Set(t, t, s.hessian.At(t, t)+lift)
		}
		// The minimum of the quadratic model at z + d: ½·next·H·next − (H·z − gradient)·next.
		if !s.newton(z) {
			return
		}
		var slope float64
		for t, v := range s.next {
			s.next[t] = v - z[t]
			slope += s.next[t] * s.gradient.At(t, 0)
		}
		if !(-slope > enough*max(objective, 1)) || !s.search(z, &objective) {
			return
		}
	}
}

// newton stores the end of the step in next.
func (s *rowScorer) newton(z []float64) bool {
	k := len(z)
	target := mat.NewDense(1, k, s.next)
	target.Mul(mat.NewDense(1, k, z), s.hessian)
	floats.Sub(s.next, s.gradient.RawMatrix().Data)
	if s.nonNegative {
		serial.NonNegative(target, s.hessian)
		return true
	}
	var cholesky mat.Cholesky
	if !cholesky.Factorize(mat.NewSymDense(k, s.hessian.RawMatrix().Data)) {
		return false
	}
	// If gonum warns of the condition number, the step is only less accurate.
	_ = cholesky.SolveVecTo(mat.NewVecDense(k, s.next), mat.NewVecDense(k, slices.Clone(s.next)))
	return true
}

// search moves z along the step in next until the objective falls, and reports whether it does.
func (s *rowScorer) search(z []float64, objective *float64) bool {
	for size := 1.0; size > 1.0/(1<<maxHalvings); size /= 2 {
		copy(s.trial, z)
		blas64.Axpy(size, blas64.Vector{N: len(z), Inc: 1, Data: s.next},
			blas64.Vector{N: len(z), Inc: 1, Data: s.trial})
		if loss := s.loss(s.trial); loss < *objective {
			copy(z, s.trial)
			*objective = loss
			return true
		}
	}
	return false
}
