package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

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
