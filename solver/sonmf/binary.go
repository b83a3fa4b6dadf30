package sonmf

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/logistic"
	"github.com/wardcast/wardcast/solver/matrix"
)

// BinaryStep names the update of Binary.
type BinaryStep string

const (
	// BinaryStepQuasiNewton is the default. It updates both factors at once by L-BFGS within their constraints.
	BinaryStepQuasiNewton BinaryStep = "quasi-newton"
	// BinaryStepFixed is the paper's algorithm 2: scores by Newton steps of the fixed length Eta, topics by a line
	// search along the Cayley transform of the gradient. It is for comparison: it needs many times more updates, and
	// any fixed length is too long for some data.
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

// Binary is the factorization of a matrix of 0 and 1, dense or sparse, as a solver.Method. It minimizes the f of the
// package comment, which is −log of the likelihood of X: equation (6) of the paper with the sign for a minimum. An
// update costs at least one pass over the n·p cells: 3·n·p·k multiply-adds and n·p logistic functions. It holds about
// 20·(n + p)·k numbers.
//
// The default step departs from the paper's algorithm 2, and the start from its singular vectors of X (see
// quasiNewtonState and start).
type Binary struct{ settings BinarySettings }

// NewBinary returns the method. It returns an error for an unknown step and for an Eta that is negative or not finite.
func NewBinary(s BinarySettings) (*Binary, error) {
	s.Step = cmp.Or(s.Step, BinaryStepQuasiNewton)
	if s.Step != BinaryStepQuasiNewton && s.Step != BinaryStepFixed {
		return nil, fmt.Errorf("choosing the step of sonmf-binary: %w: %q is not one of quasi-newton, newton-fixed",
			solver.ErrSettings, s.Step)
	}
	if !(s.Eta >= 0) || math.IsInf(s.Eta, 1) {
		return nil, fmt.Errorf("choosing the step of sonmf-binary: %w: eta %v", solver.ErrSettings, s.Eta)
	}
	s.Eta = cmp.Or(s.Eta, DefaultEta)
	return &Binary{settings: s}, nil
}

// Name returns "sonmf-binary".
func (b *Binary) Name() string { return "sonmf-binary" }

// binaryIterate is the part that both states of Binary share.
type binaryIterate struct {
	loss      *logistic.Loss
	at        *logistic.Point
	threshold float64 // smaller changes of the objective count as rounding
}

func (it *binaryIterate) Objective() float64 { return it.at.Objective }

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

// Start returns the state at the start factors of the problem. If only one factor is given, it is kept until updates of
// the other factor have settled. Start returns a *solver.DomainError for an entry other than 0 and 1.
func (b *Binary) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	if err := solver.Binary.Check(p.X); err != nil {
		return nil, err
	}
	topics, scores, err := b.start(ctx, p)
	if err != nil {
		return nil, err
	}
	s := newQuasiNewtonState(p.X, topics, scores)
	if onlyTopics, onlyScores := p.Settings.StartScores == nil,
		p.Settings.StartTopics == nil; onlyTopics != onlyScores {
		s.settle(ctx, onlyTopics, onlyScores)
	}
	if b.settings.Step == BinaryStepFixed {
		return newFixedState(s.binaryIterate, b.settings.Eta, s.threads), nil
	}
	return s, nil
}

// start returns the topics and scores to start from. Given factors are used, with negative scores as 0. A factor that
// is not given starts from the working response of the model without topics in place of X,
//
//	Z = m + (X − d)/(d·(1 − d)), m = log(d/(1 − d)), d = (ΣX + ½)/(n·p + 1),
//
// the matrix that Newton's method for logistic regression would fit: d is the mean of X, and the ½ keeps m finite. The
// topics are the start Init of Z, whose singular vectors can express that most entries are 0, and the scores are ⟨ZF⟩₊.
// Z is never formed, only multiplied.
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

func (a affine) MulTo(dst, d *mat.Dense) {
	a.Operator.MulTo(dst, d)
	a.complete(dst, d)
}

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

const (
	// fixedTau is the paper's first step length of the topics.
	fixedTau = 2
	// leastCurvature is the least curvature that a Newton step divides by. The curvature of a saturated score vanishes.
	leastCurvature = 1e-8
)

// fixedState updates by algorithm 2 of the paper. First comes a Newton step of fixed length for each score by itself,
//
//	G′ = ⟨G − η·D₁/D₂⟩₊, D₁ = E·F, D₂ = (σ(M)·(1 − σ(M)))·(F∘F),
//
// then the topics along the Cayley transform of the gradient R = EᵀG′ (cayleyCurve), where τ is halved until the
// objective is below that of the last iterate, and doubled for the next search.
//
// Departures from the authors' program: D₂ is at least 1e-8. An update that finds no lower objective keeps both factors
// and ends the run, as Stationary if the last trials changed the objective by no more than rounding, else as
// SearchFailed: η is too long for the data. An update costs one pass over the cells, and each trial a pass and a
// product more.
type fixedState struct {
	binaryIterate
	moved, trial *logistic.Point // (F, G′) and (Y, G′)
	curve        *cayleyCurve
	eta, tau     float64
}

func newFixedState(it binaryIterate, eta float64, threads linalg.Threads) *fixedState {
	s := &fixedState{
		binaryIterate: it,
		moved:         newPoint(it.at.Topics, linalg.NewLike(it.at.Scores)),
		trial:         newPoint(linalg.NewLike(it.at.Topics), linalg.NewLike(it.at.Scores)),
		curve:         newCayleyCurve(it.at.Topics, threads),
		eta:           eta,
		tau:           fixedTau,
	}
	s.at.ScoresCurvature = linalg.NewLike(it.at.Scores)
	s.trial.ScoresCurvature = linalg.NewLike(it.at.Scores)
	s.loss.Evaluate(s.at)
	return s
}

func (s *fixedState) Update() solver.Status {
	n, _ := s.at.Scores.Dims()
	for i := range n {
		row, slope, curvature := s.moved.Scores.RawRowView(i), s.at.ScoresGradient.RawRowView(i),
			s.at.ScoresCurvature.RawRowView(i)
		for t, score := range s.at.Scores.RawRowView(i) {
			row[t] = max(0, score-s.eta*slope[t]/max(curvature[t], leastCurvature))
		}
	}
	s.moved.Topics, s.trial.Scores = s.at.Topics, s.moved.Scores
	s.loss.Evaluate(s.moved)
	s.curve.gradient.Copy(s.moved.TopicsGradient)
	s.curve.aim(s.at.Topics)

	tau, last := s.tau, math.NaN() // the objective of the last trial
	for range maxHalvings + 1 {
		if s.curve.solve(tau) && s.curve.form(s.at.Topics, tau) {
			s.trial.Topics.Copy(s.curve.next)
			s.loss.Evaluate(s.trial)
			last = s.trial.Objective
			if s.at.Objective-s.trial.Objective > s.threshold {
				s.at, s.trial = s.trial, s.at
				s.moved.Scores = s.trial.Scores // those of s.at are kept
				s.curve.topicsGram, s.curve.nextGram = s.curve.nextGram, s.curve.topicsGram
				s.tau = 2 * tau
				return solver.NotTerminated
			}
		}
		tau /= 2
	}
	if math.Abs(last-s.at.Objective) <= s.threshold {
		return solver.Stationary
	}
	return solver.SearchFailed
}
