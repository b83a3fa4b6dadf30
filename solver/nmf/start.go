package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

const (
	// alone is the number of rounds of coordinate descent that a factor is found by for a given other one, and first
	// that for topics of our own.
	alone = 50
	first = 10
	// polishing is the number of rounds on both factors that a start is improved by. The simulations of Li et al. then
	// begin below where 499 multiplicative updates from their start end.
	polishing = 20
	// leastShare is what entries of a start are raised to, of the factor's largest, where updates never leave zero.
	leastShare = 1e-10
)

// sign says which topics a method takes.
type sign int

const (
	anySign sign = iota
	nonNegative
)

// given reports whether the start topics, and the start scores, are the caller's.
func given(p *solver.Problem) (topics, scores bool) {
	return p.Settings.StartTopics != nil, p.Settings.StartScores != nil
}

// startNonNegative returns the state at the start of a method with F, G ≥ 0 and these weights.
//
// Where no factor is given, it is the better of two after rounds of coordinate descent on both factors: of what Init
// names, and of what that becomes by updates of ONMF. The second is the better one where topics share few terms.
func startNonNegative(ctx context.Context, p *solver.Problem, topicsWeight, scoresWeight float64) (*state, error) {
	s, err := newState(ctx, p, nonNegative)
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

// repeat makes so many rounds of a start, fewer if ctx ends.
func repeat(ctx context.Context, rounds int, round func()) {
	for range rounds {
		if ctx.Err() != nil {
			return
		}
		round()
	}
}

// complete makes the factors of a new state a start: one that is not given becomes the best one for the other, nearly,
// by coordinate descent.
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

// polish makes rounds of coordinate descent on both factors.
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

// factors returns the factors that are given. Where neither is, the topics are what Init says and the scores 0: the
// singular vectors, random numbers or centroids, made non-negative where they must be.
func factors(ctx context.Context, p *solver.Problem, want sign) (topics, scores *mat.Dense, err error) {
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
		if topics, err = p.OrthonormalTopics(ctx); err == nil && want == nonNegative {
			foldTopics(p, topics)
		}
	}
	if err == nil && want == nonNegative {
		positivePart(topics)
	}
	return topics, scores, err
}

// foldTopics makes orthonormal topics ready for their positive part: of singular vectors f with scores g = X·f it
// turns those for which ‖⟨−f⟩₊‖·‖⟨−g⟩₊‖ is larger than ‖⟨f⟩₊‖·‖⟨g⟩₊‖ (Boutsidis and Gallopoulos 2008), and of random
// entries it takes the absolute value.
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
		positive, negative := linalg.Halves(topics, t)
		positiveScores, negativeScores := linalg.Halves(scores, t)
		if negative*negativeScores > positive*positiveScores {
			column := topics.ColView(t).(*mat.VecDense)
			column.ScaleVec(-1, column)
		}
	}
}

// positivePart replaces negative entries by 0.
func positivePart(a *mat.Dense) {
	raise(a, 0)
}

// lift raises the entries of a start to a share of the largest.
func lift(a *mat.Dense) {
	raise(a, leastShare*mat.Max(a))
}

// raise replaces entries below the least by it.
func raise(a *mat.Dense, least float64) {
	rows, _ := a.Dims()
	for i := range rows {
		row := a.RawRowView(i)
		for t, v := range row {
			row[t] = max(v, least)
		}
	}
}
