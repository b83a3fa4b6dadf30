package sonmf

import (
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// Scenario is how the truth of a simulation is drawn; see newTruth.
type Scenario int

// The scenarios of section 5.1 and the one of 5.2.
const (
	Uniform               Scenario = 1 // F ~ U(0,1)
	NonNegativeOrthogonal Scenario = 2 // one positive entry in each row of F
	Orthonormal           Scenario = 3 // FᵀF = I
	Bernoulli             Scenario = 4 // X is 0 or 1
)

const (
	noise = 0.3 // standard deviation of E in the continuous scenarios
	// binaryNoise is the standard deviation of the noise that section 5.2 adds to the probabilities.
	binaryNoise = 0.1
	// orthonormalSignal is the square of what G·Fᵀ is multiplied by in scenario 3: only so come the residuals of table 3.
	orthonormalSignal = 0.3
)

// truth is what a simulation starts from.
type truth struct {
	x              *mat.Dense // n×p
	topics, scores *mat.Dense // the true F (p×k) and G (n×k)
	probability    *mat.Dense // n×p, nil in the continuous scenarios
	// mean is the mean objective of the true factors: ‖X − GFᵀ‖²/(np), or the mean negative log-likelihood.
	mean float64
}

// newTruth returns the truth of one trial with size × size entries:
//
//	1  F ~ U(0,1),                             G ~ U(0,2), X = G·Fᵀ + E
//	2  F with one entry ~ U(0,2) in each row,  G ~ U(0,2), X = max(G·Fᵀ + E, 0)
//	3  F orthonormal, drawn uniformly,         G ~ U(0,2), X = √0.3·G·Fᵀ + E
//	4  F ~ N(0,1),                             G ~ U(0,1), X ~ Bernoulli(P), P = 1/(1+exp(−G·Fᵀ))
//
// with E ~ N(0, 0.3²). The printed tables come from such matrices, as far as one can tell from them. The paper's text
// (asWritten) differs: it does not cut scenario 2 at 0 and does not scale the signal of scenario 3, and in 4 it draws X
// from P + N(0, 0.1²), cut to [0, 1].
func newTruth(s Scenario, size, rank int, asWritten bool, random *rand.Rand) (*truth, error) {
	uniform := func(high float64) func() float64 { return func() float64 { return high * random.Float64() } }
	t := &truth{}
	switch s {
	case Uniform:
		t.topics = drawn(size, rank, uniform(1))
	case NonNegativeOrthogonal:
		t.topics = mat.NewDense(size, rank, nil)
		for j := range size {
			t.topics.Set(j, random.IntN(rank), 2*random.Float64())
		}
	case Orthonormal:
		t.topics = drawn(size, rank, random.NormFloat64)
		if err := linalg.Threads(0).PolarTo(t.topics, t.topics); err != nil {
			return nil, fmt.Errorf("drawing orthonormal topics: %w", err)
		}
	case Bernoulli:
		t.topics, t.scores = drawn(size, rank, random.NormFloat64), drawn(size, rank, uniform(1))
		t.bernoulli(asWritten, random)
		return t, nil
	}
	t.scores = drawn(size, rank, uniform(2))
	signal, x := mat.NewDense(size, size, nil), mat.NewDense(size, size, nil)
	signal.Mul(t.scores, t.topics.T())
	if s == Orthonormal && !asWritten {
		signal.Scale(math.Sqrt(orthonormalSignal), signal)
	}
	clean, noisy := signal.RawMatrix().Data, x.RawMatrix().Data
	for i, v := range clean {
		noisy[i] = v + noise*random.NormFloat64()
		if s == NonNegativeOrthogonal && !asWritten {
			noisy[i] = max(noisy[i], 0)
		}
		t.mean += (noisy[i] - v) * (noisy[i] - v) / float64(size*size)
	}
	t.x = x
	return t, nil
}

// bernoulli draws X from the factors.
func (t *truth) bernoulli(asWritten bool, random *rand.Rand) {
	n, _ := t.scores.Dims()
	p, _ := t.topics.Dims()
	t.probability = probabilities(t.topics, t.scores)
	x := mat.NewDense(n, p, nil)
	entries := x.RawMatrix().Data
	for i, q := range t.probability.RawMatrix().Data {
		drawn := q
		if asWritten {
			drawn += binaryNoise * random.NormFloat64()
		}
		if random.Float64() < drawn {
			entries[i] = 1
			t.mean -= math.Log(q) / float64(n*p)
		} else {
			t.mean -= math.Log1p(-q) / float64(n*p)
		}
	}
	t.x = x
}

// stream returns the generator of one trial: all methods in it see the same matrix.
func stream(seed uint64, s Scenario, rank, trial int) *rand.Rand {
	h := fnv.New64a()
	_, _ = fmt.Fprintf(h, "%d/%d/%d", s, rank, trial) // a hash accepts every write
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}
