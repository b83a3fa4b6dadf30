package sonmf

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg/logistic"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
)

// BinaryStep names the update of Binary.
type BinaryStep string

const (
	// BinaryStepQuasiNewton is the default. It updates both factors at once by L-BFGS within their constraints.
	BinaryStepQuasiNewton BinaryStep = "quasi-newton"
	// BinaryStepFixed is the paper's algorithm 2: scores by Newton steps of the fixed length Eta, topics by a line search
	// along the Cayley transform of the gradient. It is for comparison: it needs many times as many updates, and any fixed
	// length is too long for some data.
	BinaryStepFixed BinaryStep = "newton-fixed"
)

// DefaultEta is the paper's step length of the scores.
const DefaultEta = 0.05

// BinarySettings chooses the updates of Binary. The zero value is the default.
type BinarySettings struct {
	// Step is the update; "" means BinaryStepQuasiNewton.
	Step BinaryStep
	// Eta is the step length η of BinaryStepFixed, in Newton steps; 0 means DefaultEta.
	Eta float64
}

// Binary is the factorization of a matrix of 0 and 1, dense or sparse, as a solver.Method. It minimizes the f of the package
// comment, which is −log of the likelihood of X: equation (6) of the paper with the sign for a minimum. An update costs at
// least one pass over the n·p cells: 3·n·p·k multiply-adds and n·p logistic functions. It holds about 20·(n + p)·k numbers.
//
// The default step departs from the paper's algorithm 2, and the start from its singular vectors of X (see quasiNewtonState
// and start).
type Binary struct{ settings BinarySettings }

// NewBinary returns the method. It returns an error for an unknown step and for an Eta that is negative or not finite.
func NewBinary(s BinarySettings) (*Binary, error) {
	switch s.Step {
	case "":
		s.Step = BinaryStepQuasiNewton
	case BinaryStepQuasiNewton, BinaryStepFixed:
	default:
		return nil, fmt.Errorf("choosing the step of sonmf-binary: %w: %q is none of quasi-newton, newton-fixed", solver.ErrSettings, s.Step)
	}
	if !(s.Eta >= 0) || math.IsInf(s.Eta, 1) {
		return nil, fmt.Errorf("choosing the step of sonmf-binary: %w: eta %v", solver.ErrSettings, s.Eta)
	}
	if s.Eta == 0 {
		s.Eta = DefaultEta
	}
	return &Binary{settings: s}, nil
}

// Name returns "sonmf-binary".
func (b *Binary) Name() string { return "sonmf-binary" }

// Settings returns the settings with their defaults filled in.
func (b *Binary) Settings() BinarySettings { return b.settings }

// binaryIterate is the part that both states of Binary share.
type binaryIterate struct {
	loss      *logistic.Loss
	at        *logistic.Point
	threshold float64 // smaller changes of the objective count as rounding
}

// Objective returns f.
func (it *binaryIterate) Objective() float64 { return it.at.Objective }

// Factors returns the iterate.
func (it *binaryIterate) Factors() (topics, scores *mat.Dense) { return it.at.Topics, it.at.Scores }

// Finish returns the factors and evaluates the objective once more.
func (it *binaryIterate) Finish() (topics, scores *mat.Dense, objective float64) {
	it.loss.Evaluate(it.at)
	return it.at.Topics, it.at.Scores, it.at.Objective
}

// Transform scores new rows by the best scores ≥ 0.
func (*binaryIterate) Transform() solver.Transform {
	return func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error {
		if err := solver.Binary.Check(y); err != nil {
			return err
		}
		logistic.ScoresTo(scores, y, topics, true)
		return nil
	}
}

// Start returns the state at the start factors of the problem. If only one factor is given, it is kept until updates of the
// other factor have settled. Start returns a *solver.DomainError for an entry other than 0 and 1.
func (b *Binary) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	if err := solver.Binary.Check(p.X); err != nil {
		return nil, err
	}
	topics, scores, err := b.start(ctx, p)
	if err != nil {
		return nil, err
	}
	s := newQuasiNewtonState(p.X, topics, scores)
	if onlyTopics, onlyScores := p.Settings.StartScores == nil, p.Settings.StartTopics == nil; onlyTopics != onlyScores {
		s.settle(ctx, onlyTopics, onlyScores)
	}
	if b.settings.Step == BinaryStepFixed {
		return newFixedState(s.binaryIterate, b.settings.Eta, s.threads), nil
	}
	return s, nil
}
