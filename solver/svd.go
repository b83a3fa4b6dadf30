package solver

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// exactDim is the smaller side of X up to which the decomposition is exact to rounding.
	exactDim = 1000
	// svdPowerIterations sharpens the singular vectors of larger matrices.
	svdPowerIterations = 30
)

// SVD is the truncated singular value decomposition as a Method:
//
//	minimize ‖X − G·Fᵀ‖² subject to FᵀF = I, F = V, G = X·V
//
// with the leading k right singular vectors V as topics, descending, each with the sign of which more of the scores
// is positive. It is the unconstrained optimum that the other methods are compared with. It is all start: it makes
// no updates and ends Stationary. Settings.Init is not used; start factors are refused.
type SVD struct{}

// Name returns "svd".
func (SVD) Name() string { return "svd" }

// Start computes the decomposition, to its end.
func (SVD) Start(_ context.Context, p *Problem) (State, error) {
	if p.Settings.StartTopics != nil || p.Settings.StartScores != nil {
		return nil, fmt.Errorf("%w: the singular value decomposition takes no start factors", ErrSettings)
	}
	n, terms := p.X.Dims()
	s := linalg.SVDSettings{PowerIterations: svdPowerIterations}
	if min(n, terms) <= exactDim {
		s.Oversampling = min(n, terms)
	}
	topics := mat.NewDense(terms, p.Settings.Rank, nil)
	if err := p.singularVectors(topics, s); err != nil {
		return nil, err
	}
	if err := orthonormalize(topics); err != nil {
		return nil, err
	}
	scores := mat.NewDense(n, p.Settings.Rank, nil)
	p.X.MulTo(scores, topics)
	return &svdState{x: p.X, topics: topics, scores: scores}, nil
}

type svdState struct {
	x              matrix.Operator
	topics, scores *mat.Dense
}

func (s *svdState) Update() Status { return Stationary }

func (s *svdState) Objective() float64 { return SquaredResidual(s.x, s.topics, s.scores) }

func (s *svdState) Factors() (topics, scores *mat.Dense) { return s.topics, s.scores }

func (s *svdState) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, s.Objective()
}
