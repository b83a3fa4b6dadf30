package nmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

const (
	// orthogonalLeast replaces negative entries, as in the published program, so that a topic that has lost its last
	// document can grow again.
	orthogonalLeast = 1e-10
	// trialUpdates is the number of updates that compare two starts, and the number of updates of the better one after
	// that.
	trialUpdates = 25
	// minNormal is the least number of full precision. Inverses of smaller ones may overflow.
	minNormal = 0x1p-1022
	// lastRounds is the number of rounds that compute the best scores for the final topics.
	lastRounds = 10
)

// ONMF is the non-negative matrix factorization with nearly orthogonal topics of length one.
type ONMF struct{}

// Name returns "onmf".
func (ONMF) Name() string { return "onmf" }

// Start returns the state at the start factors. It returns a *solver.DomainError for a negative entry of X.
//
// The result of the updates depends on the start. For InitSVD, 25 updates are made from the singular vectors and 25
// from the centroids of InitKMeans, then 25 more from the iterate with the lower objective. That is the start.
func (ONMF) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	if err := solver.NonNegative.Check(p.X); err != nil {
		return nil, err
	}
	s, err := newOrthogonal(ctx, p)
	givenTopics, givenScores := given(p)
	if err != nil || givenTopics || givenScores || p.Settings.Init != solver.InitSVD {
		return s, err
	}
	other := *p
	other.Settings.Init = solver.InitKMeans
	fromCentroids, err := newOrthogonal(ctx, &other)
	if err != nil {
		return nil, err
	}
	repeat(ctx, trialUpdates, func() {
		s.Update()
		fromCentroids.Update()
	})
	if fromCentroids.residual < s.residual {
		s = fromCentroids
	}
	repeat(ctx, trialUpdates, func() { s.Update() })
	return s, nil
}

// orthogonal updates one topic after the other, then every score, by Kimura et al. 2015, algorithm 2 with the squared
// distance. With s = Σ over the other topics and h = (XᵀG)ₜ − Σ over the other topics fᵤ·(GᵀG)ᵤₜ,
//
//	fₜ = ⟨h − s·(sᵀh)/(sᵀs)⟩₊, scaled to length one,
//
// and the scores by one round of coordinate descent. If there is one topic, s = 0 and nothing is subtracted. The
// multiplier keeps the topics nearly orthogonal and may raise the residual.
type orthogonal struct {
	*state
	unit               float64   // a power of two near ‖X‖²; XᵀG and GᵀG are divided by it so that h² does not overflow
	leastTopic         float64   // replaces negative entries of fₜ before it is scaled
	total, rest, topic []float64 // Σ over all topics, s and fₜ, of p entries
}

func newOrthogonal(ctx context.Context, p *solver.Problem) (*orthogonal, error) {
	s, err := newState(ctx, p, solver.NonNegative)
	if err != nil {
		return nil, err
	}
	s.complete(ctx, p)
	terms, _ := s.topics.Dims()
	o := &orthogonal{
		state: s, leastTopic: orthogonalLeast,
		total: make([]float64, terms), rest: make([]float64, terms), topic: make([]float64, terms),
	}
	o.leastScore = orthogonalLeast
	// The published constant is absolute. It is used for given factors, which have a scale. Otherwise it is scaled like
	// X.
	if topics, scores := given(p); !topics || !scores {
		n, _ := s.scores.Dims()
		o.leastScore *= math.Sqrt(s.squared / float64(n) / float64(terms))
		o.leastTopic *= s.squared / float64(n) / float64(terms)
	}
	o.unit = 1
	if s.squared > minNormal {
		_, exponent := math.Frexp(s.squared)
		o.unit = math.Ldexp(1, exponent-1)
	}
	o.leastTopic /= o.unit
	return o, nil
}

func (s *orthogonal) Update() solver.Status {
	s.projectOnScores()
	s.topicsCross.Scale(1/s.unit, s.topicsCross)
	s.scoresGram.Scale(1/s.unit, s.scoresGram)
	for j := range s.total {
		s.total[j] = 0
		for _, v := range s.topics.RawRowView(j) {
			s.total[j] += v
		}
	}
	_, k := s.topics.Dims()
	for t := range k {
		s.updateTopic(t)
	}
	s.projectOnTopics()
	s.improveScores()
	s.measureScores()
	return solver.NotTerminated
}

// updateTopic replaces topic t and keeps the sum of all topics up to date.
func (s *orthogonal) updateTopic(t int) {
	q := s.scoresGram.RawRowView(t)
	var along, length float64
	for j := range s.topic {
		f := s.topics.RawRowView(j)
		s.rest[j] = s.total[j] - f[t]
		s.topic[j] = s.topicsCross.At(j, t) - floats.Dot(f, q) + q[t]*f[t]
		along += s.rest[j] * s.topic[j]
		length += s.rest[j] * s.rest[j]
	}
	var multiplier float64
	if length > 0 {
		multiplier = along / length
	}
	var norm float64
	for j, h := range s.topic {
		h -= multiplier * s.rest[j]
		if h < 0 {
			h = s.leastTopic
		}
		s.topic[j] = h
		norm += h * h
	}
	if norm == 0 {
		return
	}
	norm = math.Sqrt(norm)
	for j, h := range s.topic {
		s.topics.Set(j, t, h/norm)
		s.total[j] = s.rest[j] + h/norm
	}
}

// Finish improves the scores for the topics and recomputes the objective.
func (s *orthogonal) Finish() (topics, scores *mat.Dense, objective float64) {
	s.projectOnTopics()
	for range lastRounds {
		s.improveScores()
	}
	return s.state.Finish()
}
