package nmf

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// negligible is a share of a factor's largest entry. Smaller ones count as 0: subnormal numbers slow the products.
const negligible = 1e-150

// NMF is the non-negative matrix factorization by multiplicative updates.
type NMF struct{}

// Name returns "nmf".
func (NMF) Name() string { return "nmf" }

// Start returns the state at the start factors. It returns a *solver.DomainError for a negative entry of X.
//
// Multiplicative updates stay near their start. If no factors are given, it is therefore the better of two starts that
// coordinate descent has improved, at the cost of about sixty updates. Zeros, which no update changes, are raised to
// 1e-10 of the factor's largest entry unless both factors are given.
func (NMF) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	s, err := startNonNegative(ctx, p, 0, 0)
	if err != nil {
		return nil, err
	}
	if topics, scores := given(p); !topics || !scores {
		lift(s.topics)
		lift(s.scores)
		s.projectOnScores()
		s.measureTopics()
	}
	return &multiplicative{state: s, topicsFit: linalg.NewLike(s.topics), scoresFit: linalg.NewLike(s.scores)}, nil
}

// multiplicative updates by the rules of Lee and Seung 2001, theorem 1,
//
//	G′ = G ∘ (X·F) / (G·FᵀF), then F′ = F ∘ (XᵀG′) / (F·G′ᵀG′),
//
// entry by entry. Neither raises the residual.
type multiplicative struct {
	*state
	topicsFit, scoresFit *mat.Dense // F·GᵀG, p×k and G·FᵀF, n×k
}

func (s *multiplicative) Update() solver.Status {
	s.x.MulTo(s.scoresCross, s.topics)
	s.multiply(s.scores, s.scoresCross, s.topicsGram, s.scoresFit)
	s.projectOnScores()
	s.multiply(s.topics, s.topicsCross, s.scoresGram, s.topicsFit)
	s.measureTopics()
	return solver.NotTerminated
}

// multiply stores A ∘ C/(A·Q) in A. If A·Q is 0, the entry is 0 or has no effect, and becomes 0.
func (s *state) multiply(a, c, q, fit *mat.Dense) {
	s.threads.MulTo(fit, a, q)
	least := negligible * mat.Max(a)
	rows, _ := a.Dims()
	for i := range rows {
		row, numerator, denominator := a.RawRowView(i), c.RawRowView(i), fit.RawRowView(i)
		for t, v := range row {
			if d := denominator[t]; v > 0 && d > 0 { // for v = 0 the quotient may overflow
				v *= numerator[t] / d
			} else {
				v = 0
			}
			if v < least {
				v = 0
			}
			row[t] = v
		}
	}
}
