package sonmf

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Step names the update of the topics.
type Step string

const (
	// StepExtrapolated is StepExact from extrapolated scores. If that does not lower the objective, it falls back to
	// StepExact. It costs as much as StepExact and needs far fewer updates.
	StepExtrapolated Step = "extrapolated"
	// StepExact takes the best topics for the scores: F is the orthonormal polar factor of XᵀG (orthogonal
	// Procrustes).
	StepExact Step = "exact"
	// StepCayley is the paper's line search along the Cayley transform of the gradient.
	StepCayley Step = "cayley"
)

// noise is a share of ‖X‖². Smaller changes of the objective count as rounding.
const noise = 1e-14

// Settings chooses the updates. The zero value is the default.
type Settings struct {
	// Step is the update of the topics; "" means StepExtrapolated.
	Step Step
	// Tau is the first step length τ of StepCayley. 0 means 8192/‖GᵀG‖ with the first scores G. This is too long on
	// purpose: the first search then ends at the longest step that descends. The paper's 0.5 fits only one scale of X.
	Tau float64
}

// Method is the factorization as a solver.Method.
type Method struct{ settings Settings }

// New returns the method. It returns an error for an unknown step and for a Tau that is negative or not finite.
func New(s Settings) (*Method, error) {
	s.Step = cmp.Or(s.Step, StepExtrapolated)
	if s.Step != StepExtrapolated && s.Step != StepExact && s.Step != StepCayley {
		return nil, fmt.Errorf("choosing the step of sonmf: %w: %q is not one of extrapolated, exact, cayley",
			solver.ErrSettings, s.Step)
	}
	if !(s.Tau >= 0) || math.IsInf(s.Tau, 1) {
		return nil, fmt.Errorf("choosing the step of sonmf: %w: tau %v", solver.ErrSettings, s.Tau)
	}
	return &Method{settings: s}, nil
}

// Name returns "sonmf".
func (m *Method) Name() string { return "sonmf" }

// Start returns the state at the start topics F of the problem and the scores ⟨XF⟩₊. Given start scores are used only
// if no start topics are given. A Summed matrix takes StepExtrapolated, and the result has no scores.
func (m *Method) Start(ctx context.Context, p *solver.Problem) (solver.State, error) {
	topics, err := p.OrthonormalTopics(ctx)
	if err != nil {
		return nil, err
	}
	if x, ok := p.X.(Summed); ok {
		return newSummedState(x, topics), nil
	}
	if m.settings.Step == StepCayley {
		return newCayleyState(p.X, topics, m.settings.Tau), nil
	}
	return newExactState(p.X, topics, m.settings.Step == StepExtrapolated), nil
}

// iterate is the part that all states of continuous factorizations share.
type iterate struct {
	x              matrix.Operator
	topics, scores *mat.Dense
	objective      float64
	squared        float64 // ‖X‖²
	threshold      float64 // smaller changes of the objective count as rounding
}

// newIterate returns the topics F with the scores ⟨XF⟩₊, and XF.
func newIterate(x matrix.Operator, topics *mat.Dense) (it iterate, projected *mat.Dense) {
	n, _ := x.Dims()
	_, k := topics.Dims()
	it = iterate{x: x, topics: topics, scores: mat.NewDense(n, k, nil), squared: x.NormSquared()}
	it.threshold = noise * it.squared
	projected = linalg.NewLike(it.scores)
	x.MulTo(projected, topics)
	it.objective = it.squared - positivePart(it.scores, projected)
	return it, projected
}

// Objective returns ‖X − G·Fᵀ‖².
func (it *iterate) Objective() float64 { return it.objective }

func (it *iterate) Factors() (topics, scores *mat.Dense) { return it.topics, it.scores }

// Finish refreshes the scores from the topics and recomputes the objective.
func (it *iterate) Finish() (topics, scores *mat.Dense, objective float64) {
	it.x.MulTo(it.scores, it.topics)
	positivePart(it.scores, it.scores)
	return it.topics, it.scores, solver.SquaredResidual(it.x, it.topics, it.scores)
}

func (it *iterate) Transform() solver.Transform {
	return func(scores *mat.Dense, y matrix.Operator, topics *mat.Dense) error {
		y.MulTo(scores, topics)
		positivePart(scores, scores)
		return nil
	}
}

// positivePart stores ⟨A⟩₊ in dst, which may be A, and returns its squared norm.
func positivePart(dst, a *mat.Dense) float64 {
	rows, _ := a.Dims()
	var total float64
	for i := range rows {
		in := a.RawRowView(i)
		out := dst.RawRowView(i)[:len(in)]
		var even, odd float64 // two sums that do not wait for each other
		t := 0
		for ; t+2 <= len(in); t += 2 {
			u, v := max(in[t], 0), max(in[t+1], 0)
			out[t], out[t+1] = u, v
			even += u * u
			odd += v * v
		}
		if t < len(in) {
			out[t] = max(in[t], 0)
			even += out[t] * out[t]
		}
		total += even + odd
	}
	return total
}
