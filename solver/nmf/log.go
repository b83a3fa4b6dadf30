package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

const (
	// aloneLogistic is the number of steps that a factor is found by for a given other one.
	aloneLogistic = 40
	// leastTopic is what entries of our own start topics are raised to: a topic of zeros would have no scores, and stay.
	leastTopic = 1e-3
)

// Start returns the state at the start factors; scores that are not given are 0, or found by steps for given topics. It
// returns a *solver.DomainError for an entry of X that is neither 0 nor 1.
func (LogNMF) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	if err := solver.Binary.Check(p.X); err != nil {
		return nil, err
	}
	topics, scores, err := factors(p, nonNegative)
	if err != nil {
		return nil, err
	}
	givenTopics, givenScores := given(p)
	if !givenTopics && !givenScores {
		raise(topics, leastTopic)
	}
	n, terms := p.X.Dims()
	_, k := topics.Dims()
	s := &logistic{
		x: p.X, topics: topics, scores: scores,
		topicsGram: mat.NewDense(k, k, nil), scoresGram: mat.NewDense(k, k, nil),
		topicsCross: newLike(topics), scoresCross: newLike(scores),
		topicsMean: newLike(topics), scoresMean: newLike(scores),
		topicsPass: newPass(terms, n, k), scoresPass: newPass(n, terms, k),
	}
	s.predictScores()
	switch {
	case givenTopics && givenScores:
	case givenScores:
		repeat(ctx, aloneLogistic, s.updateTopics)
		s.predictScores()
	case givenTopics:
		repeat(ctx, aloneLogistic, func() {
			s.updateScores()
			s.predictScores()
		})
	}
	return s, nil
}

// logistic updates along the directions of Tomé et al. 2015, RF and RᵀG with R = X − σ(M) and M = G·Fᵀ, but by the
// quadratic bound of D. Böhning, "Multinomial logistic regression algorithm", 1992, in place of a fixed step: no second
// derivative of the objective in M exceeds ¼, so that
//
//	G′ = G + 4·RF·(FᵀF)⁺, and F′ ≥ 0 that lowers ⅛·tr((F′ − F)·GᵀG·(F′ − F)ᵀ) − tr((F′ − F)ᵀRᵀG)
//
// by one round of coordinate descent, never raise it. Hence there is no step length to tune, and none that diverges.
// Under the published step .001 the objective falls slower, and on sparse text it rises.
type logistic struct {
	x              linalg.Operator
	topics, scores *mat.Dense
	objective      float64

	topicsGram, scoresGram   *mat.Dense // FᵀF and GᵀG, k×k
	topicsCross, scoresCross *mat.Dense // XᵀG and X·F
	topicsMean, scoresMean   *mat.Dense // σ(M)ᵀG and σ(M)·F
	topicsPass, scoresPass   *pass
}

// predictScores computes X·F, σ(M)·F and the objective.
func (s *logistic) predictScores() {
	s.x.MulTo(s.scoresCross, s.topics)
	softplus := s.scoresPass.run(s.scoresMean, s.scores, s.topics)
	s.objective = softplus - linalg.Dot(s.scores, s.scoresCross)
}

// updateScores takes the best scores under the bound.
func (s *logistic) updateScores() {
	linalg.GramTo(s.topicsGram, s.topics)
	target(s.scoresCross, s.scoresMean, s.scores, s.topicsGram)
	solve(s.scores, s.scoresCross, s.topicsGram)
}

// updateTopics lowers the bound over the topics, from scores of any kind.
func (s *logistic) updateTopics() {
	s.x.MulTransTo(s.topicsCross, s.scores)
	s.topicsPass.run(s.topicsMean, s.topics, s.scores)
	linalg.GramTo(s.scoresGram, s.scores)
	target(s.topicsCross, s.topicsMean, s.topics, s.scoresGram)
	sweep(s.topics, s.topicsCross, s.scoresGram, 0, 0)
}

// target stores A·Q + 4·(C − E) in C, the linear term of the bound as sweep and solve take it. E is lost.
func target(c, e, a, q *mat.Dense) {
	c.Sub(c, e)
	c.Scale(4, c)
	linalg.MulTo(e, a, q)
	c.Add(c, e)
}

// Update makes one update.
func (s *logistic) Update() solver.Status {
	s.updateScores()
	s.updateTopics()
	s.balance()
	s.predictScores()
	return solver.NotTerminated
}

// balance gives each topic and its scores one length, which leaves M. Else weak topics would grow without end while their
// scores vanish.
func (s *logistic) balance() {
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

// Objective returns Σ log(1 + eᵐ) − x·m.
func (s *logistic) Objective() float64 { return s.objective }

// Factors returns the iterate.
func (s *logistic) Factors() (topics, scores *mat.Dense) { return s.topics, s.scores }

// Finish returns the iterate; its objective is by its definition already.
func (s *logistic) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, s.objective
}
