package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// state is shared by the methods that minimize the squared residual: the iterate, and the products that its updates
// need.
type state struct {
	x              matrix.Operator
	threads        linalg.Threads
	topics, scores *mat.Dense // F, p×k and G, n×k
	squared        float64    // ‖X‖²
	residual       float64    // ‖X − G·Fᵀ‖²

	domain                     solver.Domain // of the topics
	topicsWeight, scoresWeight float64       // λ_F and λ_G of penalties, if any
	leastScore                 float64       // replaces negative scores

	topicsGram, scoresGram   *mat.Dense // FᵀF and GᵀG, k×k
	topicsCross, scoresCross *mat.Dense // XᵀG, p×k and X·F, n×k
}

// newState returns a state at the factors that the problem names; see factors.
func newState(ctx context.Context, p *solver.Problem, topics solver.Domain) (*state, error) {
	f, g, err := factors(ctx, p, topics)
	if err != nil {
		return nil, err
	}
	raise(g, 0)
	_, k := f.Dims()
	return &state{
		x: p.X, threads: linalg.ThreadsOf(p.X), topics: f, scores: g, squared: p.X.NormSquared(), domain: topics,
		topicsGram: mat.NewDense(k, k, nil), scoresGram: mat.NewDense(k, k, nil),
		topicsCross: linalg.NewLike(f), scoresCross: linalg.NewLike(g),
	}, nil
}

// projectOnTopics computes X·F and FᵀF, for the update of the scores.
func (s *state) projectOnTopics() {
	s.x.MulTo(s.scoresCross, s.topics)
	s.threads.GramTo(s.topicsGram, s.topics)
}

// projectOnScores computes XᵀG and GᵀG, for the update of the topics.
func (s *state) projectOnScores() {
	s.x.MulTransTo(s.topicsCross, s.scores)
	s.threads.GramTo(s.scoresGram, s.scores)
}

// measureTopics computes FᵀF and the residual after an update of the topics alone, from XᵀG and GᵀG.
func (s *state) measureTopics() {
	s.threads.GramTo(s.topicsGram, s.topics)
	s.residual = s.squared - 2*linalg.Dot(s.topics, s.topicsCross) + linalg.Dot(s.scoresGram, s.topicsGram)
}

// measureScores computes GᵀG and the residual after an update of the scores alone, from X·F and FᵀF.
func (s *state) measureScores() {
	s.threads.GramTo(s.scoresGram, s.scores)
	s.residual = s.squared - 2*linalg.Dot(s.scores, s.scoresCross) + linalg.Dot(s.scoresGram, s.topicsGram)
}

// improveScores makes one round of coordinate descent on the scores, from X·F and FᵀF.
func (s *state) improveScores() {
	s.threads.DescendRows(s.scores, s.scoresCross,
		linalg.Rows{Gram: s.topicsGram, Weight: s.scoresWeight, Least: s.leastScore})
}

// improveTopics makes one round of coordinate descent on topics ≥ 0, or computes the best topics of any sign, from XᵀG
// and GᵀG.
func (s *state) improveTopics() {
	if s.domain == solver.NonNegative {
		s.threads.DescendRows(s.topics, s.topicsCross, linalg.Rows{Gram: s.scoresGram, Weight: s.topicsWeight})
	} else {
		solve(s.threads, s.topics, s.topicsCross, s.scoresGram)
	}
}

// Objective returns ‖X − G·Fᵀ‖².
func (s *state) Objective() float64 { return s.residual }

func (s *state) Factors() (topics, scores *mat.Dense) { return s.topics, s.scores }

func (s *state) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, solver.SquaredResidual(s.x, s.topics, s.scores)
}

// Transform scores new rows by nonnegative least squares, with the penalty of the scores if there is one.
func (s *state) Transform() solver.Transform {
	weight := s.scoresWeight
	return func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error {
		threads := linalg.ThreadsOf(y)
		y.MulTo(scores, topics)
		if weight > 0 {
			scores.Apply(func(_, _ int, v float64) float64 { return v - weight }, scores)
		}
		threads.NonNegative(scores, threads.Gram(topics))
		return nil
	}
}

// balance scales each topic, and its scores inversely, so that its two penalties are equal. Their product stays the
// same, so their sum is then the least.
func (s *state) balance() {
	if s.topicsWeight == 0 || s.scoresWeight == 0 {
		return
	}
	_, k := s.topics.Dims()
	for t := range k {
		topic, scores := s.topics.ColView(t).(*mat.VecDense), s.scores.ColView(t).(*mat.VecDense)
		onTopic, onScores := s.topicsWeight*mat.Sum(topic), s.scoresWeight*mat.Sum(scores)
		if onTopic == 0 || onScores == 0 {
			topic.Zero()
			scores.Zero()
			continue
		}
		ratio := math.Sqrt(onScores / onTopic)
		topic.ScaleVec(ratio, topic)
		scores.ScaleVec(1/ratio, scores)
	}
}

// penalty returns λ_F‖F‖₁ + λ_G‖G‖₁ of factors ≥ 0.
func (s *state) penalty() float64 {
	return s.topicsWeight*mat.Sum(s.topics) + s.scoresWeight*mat.Sum(s.scores)
}
