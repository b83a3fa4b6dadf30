package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// maxCondition is the condition number of a Gram matrix of columns near length one above which directions are ignored.
const maxCondition = 1e12

// maxExponent is the largest power of two by which the lengths of scores may differ from ‖X‖.
const maxExponent = 32

// SemiNMF is the factorization with non-negative scores and topics of either sign.
type SemiNMF struct{}

// Name returns "semi-nmf".
func (SemiNMF) Name() string { return "semi-nmf" }

// Start returns the state at the start factors. If Init names the start, twenty rounds follow first, each of coordinate
// descent on the scores and an exact step of the topics. Zeros of the scores are raised as in NMF.
func (SemiNMF) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	s, err := newState(ctx, p, solver.Real)
	if err != nil {
		return nil, err
	}
	s.complete(ctx, p)
	topics, scores := given(p)
	if !topics && !scores {
		s.polish(ctx)
	}
	if !topics || !scores {
		lift(s.scores)
		s.projectOnScores()
		if !topics {
			s.improveTopics()
		}
		s.measureTopics()
	}
	k, _ := s.topicsGram.Dims()
	square := func() *mat.Dense { return mat.NewDense(k, k, nil) }
	return &semi{
		state: s, gramPlus: square(), gramMinus: square(), fitPlus: linalg.NewLike(s.scores),
		fitMinus: linalg.NewLike(s.scores),
	}, nil
}

// semi updates by the rules of Ding et al. 2010, section 3.2: with A⁺ = (|A|+A)/2 and A⁻ = (|A|−A)/2,
//
//	G′ = G ∘ √[ ((X·F)⁺ + G·(FᵀF)⁻) / ((X·F)⁻ + G·(FᵀF)⁺) ], then F′ = XᵀG′·(G′ᵀG′)⁺.
//
// Neither raises the residual. If the divisor is 0, the score is 0 or has no effect, and is kept.
type semi struct {
	*state
	gramPlus, gramMinus *mat.Dense // (FᵀF)⁺ and (FᵀF)⁻, k×k
	fitPlus, fitMinus   *mat.Dense // G times these, n×k
}

func (s *semi) Update() solver.Status {
	s.x.MulTo(s.scoresCross, s.topics)
	k, _ := s.topicsGram.Dims()
	for t := range k {
		for u, v := range s.topicsGram.RawRowView(t) {
			s.gramPlus.Set(t, u, max(v, 0))
			s.gramMinus.Set(t, u, max(-v, 0))
		}
	}
	s.threads.MulTo(s.fitPlus, s.scores, s.gramPlus)
	s.threads.MulTo(s.fitMinus, s.scores, s.gramMinus)
	least := negligible * mat.Max(s.scores)
	n, _ := s.scores.Dims()
	for i := range n {
		row, cross := s.scores.RawRowView(i), s.scoresCross.RawRowView(i)
		plus, minus := s.fitPlus.RawRowView(i), s.fitMinus.RawRowView(i)
		for t, c := range cross {
			// for a score of 0 the quotient may overflow
			if divisor := max(-c, 0) + plus[t]; row[t] > 0 && divisor > 0 {
				row[t] *= math.Sqrt((max(c, 0) + minus[t]) / divisor)
			}
			if row[t] < least {
				row[t] = 0
			}
		}
	}
	s.rescale()
	s.projectOnScores()
	s.improveTopics()
	s.measureTopics()
	return solver.NotTerminated
}

// rescale multiplies the scores of a topic by a power of two if their length is far from that of X, because those of a
// topic that explains nothing would grow until their squares overflow. The next topics undo it without rounding.
func (s *semi) rescale() {
	_, k := s.scores.Dims()
	for t := range k {
		column := s.scores.ColView(t).(*mat.VecDense)
		if _, exponent := math.Frexp(math.Sqrt(s.squared) / mat.Norm(column, 2)); exponent > maxExponent ||
			exponent < -maxExponent {
			column.ScaleVec(math.Ldexp(1, exponent), column)
		}
	}
}

// solve stores C·Q⁺ in dst, which minimizes ½·tr(A·Q·Aᵀ) − tr(Aᵀ·C) over all A; dst and C are r×k, Q is k×k, positive
// semi-definite, and C is 0 in every column in which Q is 0. Q is first scaled to a diagonal near 1, since columns of
// unequal lengths are not dependent. Directions in which it then is below 1e-12 of its largest are left out. The cost
// is r·k² multiply-adds plus O(k³).
func solve(threads linalg.Threads, dst, c, q *mat.Dense) {
	k, _ := q.Dims()
	scale := make([]float64, k) // powers of two, which round nothing
	for t := range scale {
		if length := math.Sqrt(q.At(t, t)); length > 0 {
			_, exponent := math.Frexp(length)
			scale[t] = math.Ldexp(1, -exponent)
		}
	}
	scaled := mat.NewSymDense(k, nil)
	for t := range k {
		for u := t; u < k; u++ {
			scaled.SetSym(t, u, scale[t]*q.At(t, u)*scale[u])
		}
		if scale[t] == 0 {
			scaled.SetSym(t, t, 1)
		}
	}
	var cholesky mat.Cholesky
	if cholesky.Factorize(scaled) && cholesky.Cond() < maxCondition {
		r := cholesky.RawU().(*mat.TriDense).RawTriangular()
		linalg.ScaleColumns(dst, c, scale)
		blas64.Trsm(blas.Right, blas.NoTrans, 1, r, dst.RawMatrix())
		blas64.Trsm(blas.Right, blas.Trans, 1, r, dst.RawMatrix())
		linalg.ScaleColumns(dst, dst, scale)
		return
	}
	values, vectors, ok := linalg.Eigen(scaled)
	if !ok {
		return
	}
	inverse := linalg.Mapped(values, vectors, func(v float64) float64 {
		if v > values[k-1]/maxCondition {
			return 1 / v
		}
		return 0
	})
	right := linalg.NewLike(c)
	linalg.ScaleColumns(right, c, scale)
	threads.MulTo(dst, right, inverse)
	linalg.ScaleColumns(dst, dst, scale)
}
