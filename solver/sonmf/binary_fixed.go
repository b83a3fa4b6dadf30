package sonmf

import (
	"math"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/logistic"
)

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
