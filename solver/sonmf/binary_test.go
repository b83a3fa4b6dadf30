package sonmf_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/solvertest"
	"github.com/wardcast/wardcast/solver/sonmf"
)

func TestBinaryContract(t *testing.T) {
	t.Parallel()
	// Where documents separate, the likelihood has no maximum: scores grow for ever, and the run ends by its tolerance.
	// The paper's steps near that end slowly.
	for step, end := range map[sonmf.BinaryStep]struct{ relTol, stationarity float64 }{
		sonmf.BinaryStepQuasiNewton: {1e-5, 1e-2},
		sonmf.BinaryStepFixed:       {1e-4, 1e-1},
	} {
		t.Run(string(step), func(t *testing.T) {
			solvertest.Run(t,
				func(t *testing.T) solver.Method { return newBinary(t, sonmf.BinarySettings{Step: step}) },
				solvertest.Promises{
					Domain:            solver.Binary,
					OrthonormalTopics: true,
					NonNegativeScores: true,
					Monotone:          true,
					SettledStart:      true,
					Objective:         logisticLoss,
					Stationarity:      binaryStationarity,
					MaxStationarity:   end.stationarity,
					RelTol:            end.relTol,
				})
		})
	}
}

func newBinary(t *testing.T, s sonmf.BinarySettings) *sonmf.Binary {
	t.Helper()
	m, err := sonmf.NewBinary(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// logisticLoss returns Σ log(1 + exp(m)) − x·m, as softplus(m) or softplus(−m) by x.
func logisticLoss(x, topics, scores *mat.Dense) float64 {
	var m mat.Dense
	m.Mul(scores, topics.T())
	var sum float64
	n, _ := x.Dims()
	for i := range n {
		for j, v := range x.RawRowView(i) {
			z := (1 - 2*v) * m.At(i, j)
			sum += max(z, 0) + math.Log1p(math.Exp(-math.Abs(z)))
		}
	}
	return sum
}

// binaryStationarity returns the length of the gradients within the constraints, in units of that of E = σ(M) − X.
func binaryStationarity(x, topics, scores *mat.Dense) float64 {
	var e, inTopics, inScores, inner, normal mat.Dense
	e.Mul(scores, topics.T())
	e.Apply(func(i, j int, m float64) float64 { return 1/(1+math.Exp(-m)) - x.At(i, j) }, &e)
	inScores.Mul(&e, topics)
	inScores.Apply(func(i, j int, g float64) float64 {
		if scores.At(i, j) == 0 {
			return min(g, 0)
		}
		return g
	}, &inScores)
	inTopics.Mul(e.T(), scores)
	inner.Mul(topics.T(), &inTopics)
	inner.Add(&inner, mat.DenseCopyOf(inner.T()))
	inner.Scale(0.5, &inner)
	normal.Mul(topics, &inner)
	inTopics.Sub(&inTopics, &normal)
	return (mat.Norm(&inTopics, 2)/max(1, mat.Norm(scores, 2)) + mat.Norm(&inScores, 2)) /
		(math.SmallestNonzeroFloat64 + mat.Norm(&e, 2))
}
