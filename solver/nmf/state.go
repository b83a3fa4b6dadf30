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

const (
	// alone is the number of rounds of coordinate descent that compute one factor if the other is given. first is the
	// number for topics that we choose.
	alone = 50
	first = 10
	// polishing is the number of rounds on both factors that improve a start. In the simulations of Li et al. the start
	// then has a lower objective than 499 multiplicative updates reach from theirs.
	polishing = 20
	// leastShare is the least entry of a start, as a share of the factor's largest, for updates that never leave zero.
	leastShare = 1e-10
)

// given reports whether the caller gave start topics, and start scores.
func given(p *solver.Problem) (topics, scores bool) {
	return p.Settings.StartTopics != nil, p.Settings.StartScores != nil
}

// startNonNegative returns the state at the start of a method with F, G ≥ 0 and these weights.
//
// If no factor is given, two starts are improved by rounds of coordinate descent on both factors, and the better one is
// used: the start that Init names, and the same after updates of ONMF. The second is better if topics share few terms.
// It returns a *solver.DomainError for a negative entry of X.
func startNonNegative(ctx context.Context, p *solver.Problem, topicsWeight, scoresWeight float64) (*state, error) {
	if err := solver.NonNegative.Check(p.X); err != nil {
		return nil, err
	}
	s, err := newState(ctx, p, solver.NonNegative)
	if err != nil {
		return nil, err
	}
	s.topicsWeight, s.scoresWeight = topicsWeight, scoresWeight
	s.complete(ctx, p)
	if topics, scores := given(p); topics || scores {
		return s, nil
	}
	apart, err := newOrthogonal(ctx, p)
	if err != nil {
		return nil, err
	}
	repeat(ctx, polishing, func() { apart.Update() })
	apart.leastScore = 0
	apart.topicsWeight, apart.scoresWeight = topicsWeight, scoresWeight
	s.polish(ctx)
	apart.polish(ctx)
	if apart.residual/2+apart.penalty() < s.residual/2+s.penalty() {
		return apart.state, nil
	}
	return s, nil
}

// repeat makes this many rounds of a start, fewer if ctx ends.
func repeat(ctx context.Context, rounds int, round func()) {
	for range rounds {
		if ctx.Err() != nil {
			return
		}
		round()
	}
}

// complete makes a start: by coordinate descent, a factor that is not given becomes nearly the best one for the other.
func (s *state) complete(ctx context.Context, p *solver.Problem) {
	switch topics, scores := given(p); {
	case topics && scores:
	case scores:
		s.projectOnScores()
		repeat(ctx, alone, s.improveTopics)
	case topics:
		s.projectOnTopics()
		repeat(ctx, alone, s.improveScores)
	default:
		s.projectOnTopics()
		repeat(ctx, first, s.improveScores)
	}
	s.projectOnScores()
	s.measureTopics()
}

func (s *state) polish(ctx context.Context) {
	repeat(ctx, polishing, func() {
		s.projectOnScores()
		s.improveTopics()
		s.projectOnTopics()
		s.improveScores()
		s.balance()
	})
	s.projectOnScores()
	s.measureTopics()
}

// factors returns the factors that are given. If neither is, the scores are 0 and Init chooses the topics: singular
// vectors, random numbers or centroids, made non-negative if the method requires it.
func factors(ctx context.Context, p *solver.Problem, topicsFrom solver.Domain) (topics, scores *mat.Dense, err error) {
	n, terms := p.X.Dims()
	set := &p.Settings
	topics, scores = mat.NewDense(terms, set.Rank, nil), mat.NewDense(n, set.Rank, nil)
	if set.StartScores != nil {
		scores.Copy(set.StartScores)
	}
	switch {
	case set.StartTopics != nil:
		topics.Copy(set.StartTopics)
	case set.StartScores != nil:
	case set.Init == solver.InitKMeans:
		topics = p.Centroids(ctx)
	default:
		if topics, err = p.OrthonormalTopics(ctx); err == nil && topicsFrom == solver.NonNegative {
			foldTopics(p, topics)
		}
	}
	if err == nil && topicsFrom == solver.NonNegative {
		raise(topics, 0)
	}
	return topics, scores, err
}

// foldTopics prepares orthonormal topics for taking their positive part. It changes the sign of singular vectors f,
// with scores g = X·f, for which ‖⟨−f⟩₊‖·‖⟨−g⟩₊‖ is larger than ‖⟨f⟩₊‖·‖⟨g⟩₊‖ (Boutsidis and Gallopoulos 2008). It
// takes the absolute value of random entries.
func foldTopics(p *solver.Problem, topics *mat.Dense) {
	if p.Settings.Init == solver.InitRandom {
		topics.Apply(func(_, _ int, v float64) float64 { return math.Abs(v) }, topics)
		return
	}
	n, _ := p.X.Dims()
	_, k := topics.Dims()
	scores := mat.NewDense(n, k, nil)
	p.X.MulTo(scores, topics)
	for t := range k {
		if linalg.MostlyNegative(topics, scores, t) {
			column := topics.ColView(t).(*mat.VecDense)
			column.ScaleVec(-1, column)
		}
	}
}

// lift raises the entries of a start to a share of the largest.
func lift(a *mat.Dense) {
	raise(a, leastShare*mat.Max(a))
}

func raise(a *mat.Dense, least float64) {
	a.Apply(func(_, _ int, v float64) float64 { return max(v, least) }, a)
}
