package nmf

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// defaultShare is the share of ‖X‖² that a penalty may reach if the method chooses its weight.
const defaultShare = 0.01

// L1 is the non-negative matrix factorization with ℓ1 penalties λ_F‖F‖₁ + λ_G‖G‖₁ on both factors.
//
// At a minimum λ_F‖fₜ‖₁ = λ_G‖gₜ‖₁ for every topic t, and only the product λ_F·λ_G matters. If one weight is 0 there is
// no minimum: the penalized factor shrinks without end and the other grows. If both are 0, this is the plain
// factorization by coordinate descent.
type L1 struct{ topics, scores *float64 }

// NewL1 returns the method with weights λ_F = topics and λ_G = scores; nil lets the method choose. It returns an error
// that wraps solver.ErrSettings for a weight that is negative or not finite.
func NewL1(topics, scores *float64) (*L1, error) {
	for _, weight := range []*float64{topics, scores} {
		if weight != nil && (!(*weight >= 0) || math.IsInf(*weight, 1)) {
			return nil, fmt.Errorf("choosing the weights of l1-nmf: %w: %v", solver.ErrSettings, *weight)
		}
	}
	return &L1{topics: topics, scores: scores}, nil
}

// Name returns "l1-nmf".
func (*L1) Name() string { return "l1-nmf" }

// Weights returns λ_F and λ_G of a run on the n×p matrix X with k topics. Weights that the method chooses are
//
//	λ_F = ‖X‖²/(100·k·√p), λ_G = ‖X‖/(100·√(n·k)),
//
// so that factors with ‖F‖² = k and ‖G‖ = ‖X‖ have a penalty of at most ‖X‖²/100 each, and the topics do not depend on
// the scale of X.
func (m *L1) Weights(x mat.Matrix, rank int) (topics, scores float64) {
	n, p := x.Dims()
	squared, k := linalg.OperatorOf(x, 0).NormSquared(), float64(rank)
	topics, scores = defaultShare*squared/(k*math.Sqrt(float64(p))), defaultShare*math.Sqrt(squared/(float64(n)*k))
	if m.topics != nil {
		topics = *m.topics
	}
	if m.scores != nil {
		scores = *m.scores
	}
	return topics, scores
}

// Start returns the state at the start factors; without any it starts like NMF, with the penalties. It returns a
// *solver.DomainError for a negative entry of X.
func (m *L1) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	topics, scores := m.Weights(p.X, p.Settings.Rank)
	s, err := startNonNegative(ctx, p, topics, scores)
	if err != nil {
		return nil, err
	}
	return &penalized{state: s}, nil
}

// penalized updates by hierarchical alternating least squares, Cichocki and Phan 2009, with the penalties of their
// section 5: one round of coordinate descent on the scores, one on the topics, then the best lengths. None of these
// raises the objective.
type penalized struct{ *state }

func (s *penalized) Update() solver.Status {
	s.projectOnTopics()
	s.improveScores()
	s.projectOnScores()
	s.improveTopics()
	s.measureTopics()
	s.balance()
	return solver.NotTerminated
}

// Objective returns ½‖X − G·Fᵀ‖² + λ_F‖F‖₁ + λ_G‖G‖₁.
func (s *penalized) Objective() float64 { return s.residual/2 + s.penalty() }

func (s *penalized) Finish() (topics, scores *mat.Dense, objective float64) {
	topics, scores, objective = s.state.Finish()
	return topics, scores, objective/2 + s.penalty()
}
