package sonmf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// BinaryStep names the update of Binary.
type BinaryStep string

const (
	// BinaryStepDefault is the default.
	BinaryStepDefault BinaryStep = "adaptive"
	// BinaryStepFixed is the paper's: scores by Newton steps of the fixed length Eta, topics by the line search along the
	// Cayley transform.
	BinaryStepFixed BinaryStep = "newton-fixed"
)

// DefaultEta is the paper's step length of the scores.
const DefaultEta = 0.05

// BinarySettings chooses the updates of Binary. The zero value is the default.
type BinarySettings struct {
	// Step is the update; "" means BinaryStepDefault.
	Step BinaryStep
	// Eta is the step length η of BinaryStepFixed; 0 means DefaultEta.
	Eta float64
}

// Binary is the factorization of a 0/1 matrix as a solver.Method.
type Binary struct{ settings BinarySettings }

// NewBinary returns the method. It returns an error for an unknown step and for an Eta that is negative or not finite.
func NewBinary(s BinarySettings) (*Binary, error) {
	switch s.Step {
	case "":
		s.Step = BinaryStepDefault
	case BinaryStepDefault, BinaryStepFixed:
	default:
		return nil, fmt.Errorf("choosing the step of sonmf-binary: %w: %q is none of adaptive, newton-fixed", solver.ErrSettings, s.Step)
	}
	if !(s.Eta >= 0) || math.IsInf(s.Eta, 1) {
		return nil, fmt.Errorf("choosing the step of sonmf-binary: %w: eta %v", solver.ErrSettings, s.Eta)
	}
	if s.Eta == 0 {
		s.Eta = DefaultEta
	}
	return &Binary{settings: s}, nil
}

// Name returns "sonmf-binary".
func (b *Binary) Name() string { return "sonmf-binary" }

// Settings returns the settings with their defaults filled in.
func (b *Binary) Settings() BinarySettings { return b.settings }

// Start returns the state at the start topics F and, unless they are given, the scores ⟨XF⟩₊.
func (b *Binary) Start(p *solver.Problem) (solver.State, error) {
	topics, err := p.OrthonormalTopics()
	if err != nil {
		return nil, err
	}
	n, _ := p.X.Dims()
	_, k := topics.Dims()
	scores := mat.NewDense(n, k, nil)
	if p.Settings.StartScores != nil {
		scores.Copy(p.Settings.StartScores)
	} else {
		p.X.MulTo(scores, topics)
	}
	positivePart(scores, scores)
	s := &binaryState{
		iterate:        iterate{x: p.X, topics: topics, scores: scores},
		rest:           mat.NewDense(n, topics.RawMatrix().Rows, nil),
		scoresGradient: newLike(scores),
		topicsGradient: newLike(topics),
		gram:           mat.NewDense(k, k, nil),
	}
	s.observed = mat.NewDense(n, topics.RawMatrix().Rows, nil)
	switch x := p.X.(type) {
	case *linalg.CSR:
		for i := range n {
			columns, values := x.Row(i)
			for c, j := range columns {
				s.observed.Set(i, int(j), values[c])
			}
		}
	case linalg.Dense:
		s.observed.Copy(x.Dense)
	}
	s.pass()
	return s, nil
}

type binaryState struct {
	iterate
	observed, rest                 *mat.Dense
	scoresGradient, topicsGradient *mat.Dense
	gram                           *mat.Dense
}

// pass computes the objective and σ(M) − X.
func (s *binaryState) pass() {
	s.rest.Mul(s.scores, s.topics.T())
	raw, x := s.rest.RawMatrix().Data, s.observed.RawMatrix().Data
	s.objective = 0
	for i, v := range raw {
		s.objective -= x[i] * v
	}
	s.objective += linalg.LogisticTo(raw, raw)
	for i := range raw {
		raw[i] -= x[i]
	}
}

// Update makes one update.
func (s *binaryState) Update() solver.Status {
	s.scoresGradient.Mul(s.rest, s.topics)
	s.scoresGradient.Scale(4, s.scoresGradient)
	s.scores.Sub(s.scores, s.scoresGradient)
	positivePart(s.scores, s.scores)
	s.pass()
	linalg.GramTo(s.gram, s.scores)
	s.topicsGradient.Mul(s.rest.T(), s.scores)
	s.topicsGradient.Scale(-4, s.topicsGradient)
	var product mat.Dense
	product.Mul(s.topics, s.gram)
	s.topicsGradient.Add(&product, s.topicsGradient)
	if err := linalg.PolarTo(s.topics, s.topicsGradient); err != nil {
		return solver.NonFinite
	}
	s.pass()
	return solver.NotTerminated
}

// Finish returns the factors.
func (s *binaryState) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, s.objective
}
