package nmf

import (
	"fmt"
	"math"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// The methods without settings.
type (
	// NMF is the non-negative matrix factorization by multiplicative updates.
	NMF struct{}
	// ONMF is the non-negative matrix factorization with nearly orthogonal topics.
	ONMF struct{}
	// SemiNMF is the factorization with non-negative scores and topics of either sign.
	SemiNMF struct{}
	// LogNMF is the factorization of the log-odds of a 0/1 matrix with non-negative topics.
	LogNMF struct{}
)

// Name returns "nmf".
func (NMF) Name() string { return "nmf" }

// Name returns "onmf".
func (ONMF) Name() string { return "onmf" }

// Name returns "semi-nmf".
func (SemiNMF) Name() string { return "semi-nmf" }

// Name returns "log-nmf".
func (LogNMF) Name() string { return "log-nmf" }

// Name returns "l1-nmf".
func (*L1) Name() string { return "l1-nmf" }

// Auto as a weight of NewL1 leaves it to the method.
const Auto = -1

// defaultShare is what each penalty may have of ‖X‖² where its weight is left to the method.
const defaultShare = 0.01

// L1 is the non-negative matrix factorization with ℓ1 penalties on both factors.
type L1 struct{ topics, scores float64 }

// NewL1 returns the method with weight λ_F = topics and λ_G = scores; either may be Auto. It returns an error that wraps
// solver.ErrSettings for any other weight that is negative or not finite.
func NewL1(topics, scores float64) (*L1, error) {
	for _, weight := range []float64{topics, scores} {
		if weight != Auto && !(weight >= 0) || math.IsInf(weight, 1) {
			return nil, fmt.Errorf("choosing the weights of l1-nmf: %w: %v", solver.ErrSettings, weight)
		}
	}
	return &L1{topics: topics, scores: scores}, nil
}

// Weights returns λ_F and λ_G that a run on the n×p matrix X with k topics uses. Those left to the method are
//
//	λ_F = ‖X‖²/(100·k·√p), λ_G = ‖X‖/(100·√(n·k)),
//
// so that factors with ‖F‖² = k and ‖G‖ = ‖X‖ are penalized by at most ‖X‖²/100 each, and the topics do not depend on
// the scale of X.
func (m *L1) Weights(x linalg.Operator, rank int) (topics, scores float64) {
	n, p := x.Dims()
	squared, k := x.NormSquared(), float64(rank)
	topics, scores = m.topics, m.scores
	if topics == Auto {
		topics = defaultShare * squared / (k * math.Sqrt(float64(p)))
	}
	if scores == Auto {
		scores = defaultShare * math.Sqrt(squared/(float64(n)*k))
	}
	return topics, scores
}
