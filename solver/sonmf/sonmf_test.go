package sonmf_test

import (
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/solvertest"
	"github.com/wardcast/wardcast/solver/sonmf"
)

func TestContract(t *testing.T) {
	t.Parallel()
	// The paper's line search nears its end slowly.
	for step, limit := range map[sonmf.Step]float64{
		sonmf.StepExtrapolated: 1e-6, sonmf.StepExact: 1e-5, sonmf.StepCayley: 1e-4,
	} {
		t.Run(string(step), func(t *testing.T) {
			solvertest.Run(t, func(t *testing.T) solver.Method { return newMethod(t, sonmf.Settings{Step: step}) },
				solvertest.Promises{
					OrthonormalTopics: true,
					NonNegativeScores: true,
					Monotone:          true,
					Unique:            true,
					Objective:         squaredResidual,
					Stationarity:      stationarity,
					MaxStationarity:   limit,
				})
		})
	}
}

func newMethod(t *testing.T, s sonmf.Settings) *sonmf.Method {
	t.Helper()
	m, err := sonmf.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func squaredResidual(x, topics, scores *mat.Dense) float64 {
	var fit mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(x, &fit)
	norm := mat.Norm(&fit, 2)
	return norm * norm
}

// stationarity returns how far C = XᵀG is from F·S with a symmetric S, in units of ‖C‖: the condition that no
// orthonormal F is better for G, to first order. G is the best for F by its update.
func stationarity(x, topics, scores *mat.Dense) float64 {
	var c, s, rest, skew mat.Dense
	c.Mul(x.T(), scores)
	s.Mul(topics.T(), &c)
	rest.Mul(topics, &s)
	rest.Sub(&c, &rest)
	skew.Sub(&s, s.T())
	return (mat.Norm(&rest, 2) + mat.Norm(&skew, 2)) / mat.Norm(&c, 2)
}
