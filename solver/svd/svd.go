// Package svd computes the truncated singular value decomposition as a factorization:
//
//	minimize ‖X − G·Fᵀ‖² over F, G subject to FᵀF = I.
//
//	usual symbol     here               shape
//	X                X                  n×p, rows are documents
//	V                Topics             p×k, the leading right singular vectors, descending
//	U·S = X·V        Scores             n×k
//
// It is the unconstrained optimum that the other methods are compared with. Each topic has the sign for which its
// positive scores hold more of the squared length than its negative ones. Equal input and settings give equal bits for
// any number of threads.
//
// Source: N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", 2011.
package svd

import (
	"context"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// exactDim is the smaller side of X, and exactCells the number of its cells (1 GiB), up to which the decomposition
	// is exact to rounding.
	exactDim   = 1000
	exactCells = 1 << 27
	// powerIterations sharpens the singular vectors of larger matrices.
	powerIterations = 30
)

// Method is the decomposition as a solver.Method. Start computes it all: it makes no updates and ends Stationary.
// Settings.Init is not used, and start factors are rejected.
//
// If the smaller side of X is at most 1000 and X has at most 2²⁷ cells, X is made dense, even if it is sparse (n·p
// numbers), and the result is exact to rounding. Otherwise it is the randomized decomposition with 30 power iterations,
// which multiplies X only, in 62 products with about 4·k/3 columns.
type Method struct{}

// Name returns "svd".
func (Method) Name() string { return "svd" }

// Start computes the whole decomposition. It is not interrupted by ctx.
func (Method) Start(_ context.Context, p *solver.Problem) (solver.State, error) {
	if p.Settings.StartTopics != nil || p.Settings.StartScores != nil {
		return nil, fmt.Errorf("%w: the singular value decomposition does not accept start factors", solver.ErrSettings)
	}
	n, terms := p.X.Dims()
	s := linalg.SVDSettings{
		PowerIterations: powerIterations, Seed: p.Settings.Seed, Threads: linalg.Threads(p.Settings.Threads),
	}
	if smaller := min(n, terms); smaller <= exactDim && max(n, terms) <= exactCells/smaller {
		s.Oversampling = smaller
	}
	topics, scores := mat.NewDense(terms, p.Settings.Rank, nil), mat.NewDense(n, p.Settings.Rank, nil)
	if err := linalg.RightVectorsTo(topics, p.X, s); err != nil {
		return nil, err
	}
	p.X.MulTo(scores, topics)
	return &state{x: p.X, topics: topics, scores: scores}, nil
}

type state struct {
	x              matrix.Operator
	topics, scores *mat.Dense
}

func (s *state) Update() solver.Status { return solver.Stationary }

func (s *state) Objective() float64 { return solver.SquaredResidual(s.x, s.topics, s.scores) }

func (s *state) Factors() (topics, scores *mat.Dense) { return s.topics, s.scores }

func (s *state) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, s.Objective()
}

func (*state) Transform() solver.Transform {
	return func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error {
		y.MulTo(scores, topics)
		return nil
	}
}
