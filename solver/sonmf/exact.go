package sonmf

import (
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// The extrapolation of Ang and Gillis 2019, "Accelerating nonnegative matrix factorization algorithms using
// extrapolation", section 3.4, with their values: the weight grows up to a bound, which grows up to 1; after a rejected
// step the bound is the rejected weight, and the weight is divided by weightDecay.
const (
	startWeight  = 0.5
	weightGrowth = 1.1
	boundGrowth  = 1.05
	weightDecay  = 1.5
)

// exactState updates by the polar factor:
//
//	F′ = polar(XᵀG̃), G′ = ⟨XF′⟩₊, with G̃ = ⟨W + β·(W − W₋)⟩₊, W = XF and W₋ the W before it.
//
// For β = 0, F′ maximizes tr(F′ᵀXᵀG), so that ‖X − G′F′ᵀ‖ ≤ ‖X − GF′ᵀ‖ ≤ ‖X − GFᵀ‖. A step with β > 0 is taken only if
// it lowers the objective. An update costs X·F, Xᵀ·G̃ and linalg.PolarTo; after a rejected step it costs twice as much.
// On one thread it allocates nothing unless the columns of XᵀG̃ are close to dependent.
type exactState struct {
	iterate
	projected, before *mat.Dense // W and W₋, n×k
	next, nextTopics  *mat.Dense // of a tried step
	cross             *mat.Dense // XᵀG̃, p×k

	polar linalg.Polar

	extrapolate bool
	extrapolation
}

// extrapolation is the weight of the last step, and what bounds it.
type extrapolation struct{ weight, bound float64 }

var startExtrapolation = extrapolation{startWeight, 1}

// grown returns the weight after a step that is taken.
func (e *extrapolation) grown() float64 { return min(e.bound, weightGrowth*e.weight) }

// take follows from a step that is taken.
func (e *extrapolation) take() { e.weight, e.bound = e.grown(), min(1, boundGrowth*e.bound) }

// reject follows from one that is not.
func (e *extrapolation) reject() { e.weight, e.bound = e.weight/weightDecay, e.weight }

func newExactState(x matrix.Operator, topics *mat.Dense, extrapolate bool) *exactState {
	it, projected := newIterate(x, topics)
	return &exactState{
		iterate:       it,
		projected:     projected,
		before:        mat.DenseCopyOf(projected),
		next:          linalg.NewLike(it.scores),
		nextTopics:    linalg.NewLike(topics),
		cross:         linalg.NewLike(topics),
		polar:         linalg.Polar{Threads: linalg.ThreadsOf(x)},
		extrapolate:   extrapolate,
		extrapolation: startExtrapolation,
	}
}

func (s *exactState) Update() solver.Status {
	if s.extrapolate {
		extrapolatedPart(s.scores, s.projected, s.before, s.weight)
		if s.step() == solver.NotTerminated {
			s.take()
			return solver.NotTerminated
		}
		s.reject()
	}
	return s.step()
}

// step takes the exact step from the matrix in scores. If that lowers the objective by no more than rounding, it keeps
// the iterate, restores its scores and returns Stationary. It returns NonFinite if products overflow.
func (s *exactState) step() solver.Status {
	s.x.MulTransTo(s.cross, s.scores)
	if err := s.polar.To(s.nextTopics, s.cross); err != nil {
		positivePart(s.scores, s.projected)
		return solver.NonFinite
	}
	s.x.MulTo(s.next, s.nextTopics)
	objective := s.squared - positivePart(s.scores, s.next)
	if !(s.objective-objective > s.threshold) {
		positivePart(s.scores, s.projected)
		return solver.Stationary
	}
	s.topics, s.nextTopics = s.nextTopics, s.topics
	s.before, s.projected, s.next = s.projected, s.next, s.before
	s.objective = objective
	return solver.NotTerminated
}

// extrapolatedPart stores ⟨W + β·(W − W₋)⟩₊ in dst.
func extrapolatedPart(dst, w, before *mat.Dense, beta float64) {
	rows, _ := w.Dims()
	for i := range rows {
		out, last := dst.RawRowView(i), before.RawRowView(i)
		for t, v := range w.RawRowView(i) {
			out[t] = max(v+beta*(v-last[t]), 0)
		}
	}
}
