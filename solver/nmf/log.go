package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/logistic"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// aloneLogistic is the number of steps that compute one factor if only the other is given.
	aloneLogistic = 40
	// leastTopic is the least entry of start topics that we choose: a topic of zeros would get no scores and remain
	// zero.
	leastTopic = 1e-3
)

// LogNMF is the factorization of the log-odds of a 0/1 matrix with non-negative topics and scores of either sign.
type LogNMF struct{}

// Name returns "log-nmf".
func (LogNMF) Name() string { return "log-nmf" }

// Start returns the state at the start factors. If no scores are given they are 0, or computed by a few steps if the
// topics are given. It returns a *solver.DomainError for an entry of X that is neither 0 nor 1.
//
// Given factors should not be far too large: an update moves the log-odds by about 4. A topic of zeros remains zero.
func (LogNMF) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	if err := solver.Binary.Check(p.X); err != nil {
		return nil, err
	}
	topics, scores, err := factors(ctx, p, solver.NonNegative)
	if err != nil {
		return nil, err
	}
	givenTopics, givenScores := given(p)
	if !givenTopics && !givenScores {
		raise(topics, leastTopic)
	}
	_, k := topics.Dims()
	s := &logNMF{
		threads: linalg.ThreadsOf(p.X), topics: topics, scores: scores, gram: mat.NewDense(k, k, nil),
		loss:      logistic.New(p.X, k),
		forTopics: &logistic.Point{Topics: topics, Scores: scores, TopicsGradient: linalg.NewLike(topics)},
		forScores: &logistic.Point{Topics: topics, Scores: scores, ScoresGradient: linalg.NewLike(scores)},
	}
	s.evaluate()
	switch {
	case givenTopics && givenScores:
	case givenScores:
		repeat(ctx, aloneLogistic, s.updateTopics)
		s.evaluate()
	case givenTopics:
		repeat(ctx, aloneLogistic, func() {
			s.updateScores()
			s.evaluate()
		})
	}
	return s, nil
}

// logNMF updates along the directions of Tomé et al. 2015, RF and RᵀG with R = X − σ(M) and M = G·Fᵀ. In place of their
// fixed step it uses the quadratic bound of D. Böhning, "Multinomial logistic regression algorithm", 1992: no second
// derivative of the objective in M exceeds ¼, so that
//
//	G′ = G + 4·RF·(FᵀF)⁺, and F′ ≥ 0 that lowers ⅛·tr((F′ − F)·GᵀG·(F′ − F)ᵀ) − tr((F′ − F)ᵀRᵀG)
//
// by one round of coordinate descent, never raise it. With the published step of .001 the objective falls more slowly,
// and on sparse text it rises.
type logNMF struct {
	threads              linalg.Threads
	topics, scores       *mat.Dense
	gram                 *mat.Dense // FᵀF or GᵀG, k×k
	loss                 *logistic.Loss
	forTopics, forScores *logistic.Point // with −RᵀG, and with −RF and the objective
}

// evaluate computes −RF and the objective.
func (s *logNMF) evaluate() { s.loss.Evaluate(s.forScores) }

// updateScores sets the best scores under the bound.
func (s *logNMF) updateScores() {
	s.threads.GramTo(s.gram, s.topics)
	s.target(s.forScores.ScoresGradient, s.scores, s.gram)
	solve(s.threads, s.scores, s.forScores.ScoresGradient, s.gram)
}

// updateTopics lowers the bound over the topics, for any scores.
func (s *logNMF) updateTopics() {
	s.loss.Evaluate(s.forTopics)
	s.threads.GramTo(s.gram, s.scores)
	s.target(s.forTopics.TopicsGradient, s.topics, s.gram)
	s.threads.DescendRows(s.topics, s.forTopics.TopicsGradient, linalg.Rows{Gram: s.gram})
}

// target stores A·Q − 4·E in E: the linear term of the bound, in the form that linalg.DescendRows and solve need.
func (s *logNMF) target(e, a, q *mat.Dense) {
	e.Scale(-4, e)
	s.threads.AddMulTo(e, a, q)
}

func (s *logNMF) Update() solver.Status {
	s.updateScores()
	s.updateTopics()
	s.balance()
	s.evaluate()
	return solver.NotTerminated
}

// balance gives each topic and its scores the same length; weak topics would grow without end while their scores
// vanish.
func (s *logNMF) balance() {
	_, k := s.topics.Dims()
	for t := range k {
		topic, scores := s.topics.ColView(t).(*mat.VecDense), s.scores.ColView(t).(*mat.VecDense)
		length, scoresLength := mat.Norm(topic, 2), mat.Norm(scores, 2)
		if length > 0 && scoresLength > 0 {
			topic.ScaleVec(math.Sqrt(scoresLength/length), topic)
			scores.ScaleVec(math.Sqrt(length/scoresLength), scores)
		}
	}
}

func (s *logNMF) Transform() solver.Transform {
	return func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error {
		if err := solver.Binary.Check(y); err != nil {
			return err
		}
		logistic.ScoresTo(scores, y, topics, false)
		return nil
	}
}

// Objective returns Σ log(1 + eᵐ) − x·m.
func (s *logNMF) Objective() float64 { return s.forScores.Objective }

func (s *logNMF) Factors() (topics, scores *mat.Dense) { return s.topics, s.scores }

func (s *logNMF) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, s.forScores.Objective
}
