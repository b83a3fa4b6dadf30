package sonmf

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Summed is a matrix X of which only sums over its rows are known, since the rows lie in other processes. Nothing else
// of matrix.Operator than Dims and NormSquared is asked for.
type Summed interface {
	matrix.Operator
	// SumsTo stores Xᵀ⟨X·E⟩₊ in cross and returns ‖⟨X·F⟩₊‖², unless F is nil. NaN means that the sums cannot be had.
	SumsTo(cross, f, e *mat.Dense) float64
}

// summedState is exactState with extrapolation, without matrices of n rows. Since W = XF is linear in the topics,
//
//	G̃ = ⟨W + β·(W − W₋)⟩₊ = ⟨X·E⟩₊ with E = F + β·(F − F₋).
//
// The sums for a tried F′ are asked for together with those of the E that follows if F′ is accepted, so that an update
// is one round, and three after a rejected step.
type summedState struct {
	x                   Summed
	topics, next, ahead *mat.Dense // F, F′, E
	cross, nextCross    *mat.Dense // Xᵀ⟨XE⟩₊
	objective, squared  float64
	threshold           float64

	polar linalg.Polar
	extrapolation
}

func newSummedState(x Summed, topics *mat.Dense) *summedState {
	s := &summedState{
		x: x, topics: topics, squared: x.NormSquared(), extrapolation: startExtrapolation,
		next: linalg.NewLike(topics), ahead: linalg.NewLike(topics), cross: linalg.NewLike(topics),
		nextCross: linalg.NewLike(topics),
	}
	s.threshold = noise * s.squared
	s.objective = s.squared - x.SumsTo(s.cross, topics, topics)
	return s
}

func (s *summedState) Objective() float64 { return s.objective }

func (s *summedState) Factors() (topics, scores *mat.Dense) { return s.topics, nil }

// Finish returns the objective as it is: topics are orthonormal, so that it is ‖X‖² − ‖⟨XF⟩₊‖².
func (s *summedState) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, nil, s.objective
}

func (s *summedState) Update() solver.Status {
	switch status := s.step(s.grown()); status {
	case solver.NotTerminated:
		s.take()
		return status
	case solver.Stationary:
		s.reject()
		s.x.SumsTo(s.cross, nil, s.topics)
		return s.step(s.weight)
	default:
		return status
	}
}

// step takes the exact step from cross, and with it the cross of the next E, which goes on by weight. It returns
// Stationary and keeps the iterate if the objective falls by no more than rounding.
func (s *summedState) step(weight float64) solver.Status {
	if s.polar.To(s.next, s.cross) != nil {
		return solver.NonFinite
	}
	s.ahead.Sub(s.next, s.topics)
	s.ahead.Scale(weight, s.ahead)
	s.ahead.Add(s.next, s.ahead)
	objective := s.squared - s.x.SumsTo(s.nextCross, s.next, s.ahead)
	switch {
	case math.IsNaN(objective):
		return solver.NonFinite
	case !(s.objective-objective > s.threshold):
		return solver.Stationary
	}
	s.topics, s.next = s.next, s.topics
	s.cross, s.nextCross = s.nextCross, s.cross
	s.objective = objective
	return solver.NotTerminated
}
