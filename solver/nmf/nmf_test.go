package nmf_test

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/nmf"
	"github.com/wardcast/wardcast/solver/solvertest"
)

func TestContract(t *testing.T) {
	t.Parallel()
	l1, err := nmf.NewL1(nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := nmf.NewL1(new(float64), new(float64))
	if err != nil {
		t.Fatal(err)
	}
	// Stationarity is bounded a little above what is reached: 1e-3 by NMF and 6e-4 by LogNMF, which near a minimum so
	// slowly that their runs end at a larger RelTol; 2e-6 by SemiNMF, 1e-8 by L1 and rounding by ONMF.
	for _, c := range []struct {
		name     string
		method   solver.Method
		promises solvertest.Promises
	}{
		{"NMF", nmf.NMF{}, solvertest.Promises{
			Domain: solver.NonNegative, NonNegativeTopics: true, NonNegativeScores: true, Monotone: true, Unique: true,
			SettledStart: true, Objective: squaredResidual, Stationarity: squaredStationarity(0, 0),
			MaxStationarity: 2e-3, RelTol: 1e-7, MaxTransform: 2e-2,
		}},
		{"ONMF", nmf.ONMF{}, solvertest.Promises{
			Domain: solver.NonNegative, NonNegativeTopics: true, NonNegativeScores: true, Unique: true,
			SettledStart: true, Objective: squaredResidual, Stationarity: scoresOnly, MaxStationarity: 1e-12,
		}},
		{"SemiNMF", nmf.SemiNMF{}, solvertest.Promises{
			NonNegativeScores: true, Monotone: true,
			SettledStart: true, Objective: squaredResidual, Stationarity: squaredStationarity(math.NaN(), 0),
			MaxStationarity: 2e-5,
		}},
		{"L1 without penalty", plain, solvertest.Promises{
			Domain: solver.NonNegative, NonNegativeTopics: true, NonNegativeScores: true, Monotone: true, Unique: true,
			SettledStart: true, Objective: penalized(plain), Stationarity: squaredStationarity(0, 0),
			MaxStationarity: 1e-7,
		}},
		{"L1", l1, solvertest.Promises{
			Domain: solver.NonNegative, NonNegativeTopics: true, NonNegativeScores: true, Monotone: true, Unique: true,
			SettledStart: true, Objective: penalized(l1), MaxStationarity: 1e-7,
			Stationarity: func(x, topics, scores *mat.Dense) float64 {
				_, k := topics.Dims()
				onTopics, onScores := l1.Weights(x, k)
				return squaredStationarity(onTopics, onScores)(x, topics, scores)
			},
		}},
		{"LogNMF", nmf.LogNMF{}, solvertest.Promises{
			Domain: solver.Binary, NonNegativeTopics: true, Monotone: true,
			SettledStart: true, Objective: logLoss, Stationarity: logStationarity, MaxStationarity: 2e-3, RelTol: 1e-5,
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			solvertest.Run(t, func(*testing.T) solver.Method { return c.method }, c.promises)
		})
	}
}

// penalized returns the objective of the method.
func penalized(method *nmf.L1) func(x, topics, scores *mat.Dense) float64 {
	return func(x, topics, scores *mat.Dense) float64 {
		_, k := topics.Dims()
		onTopics, onScores := method.Weights(x, k)
		return squaredResidual(x, topics, scores)/2 + onTopics*mat.Sum(topics) + onScores*mat.Sum(scores)
	}
}

func squaredResidual(x, topics, scores *mat.Dense) float64 {
	var fit mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(x, &fit)
	norm := mat.Norm(&fit, 2)
	return norm * norm
}

// squaredStationarity returns how far the factors are from the first-order conditions of ½‖X − G·Fᵀ‖² + λ_F‖F‖₁ +
// λ_G‖G‖₁ under F, G ≥ 0, relative to the gradient's terms. With λ_F NaN the topics may have any sign.
func squaredStationarity(onTopics, onScores float64) func(x, topics, scores *mat.Dense) float64 {
	return func(x, topics, scores *mat.Dense) float64 {
		var fit, gradient mat.Dense
		fit.Mul(scores, topics.T())
		fit.Sub(&fit, x)
		gradient.Mul(fit.T(), scores)
		var cross mat.Dense
		cross.Mul(x.T(), scores)
		missed := violation(topics, &gradient, onTopics) / mat.Norm(&cross, 2)
		gradient.Reset()
		gradient.Mul(&fit, topics)
		cross.Reset()
		cross.Mul(x, topics)
		return max(missed, violation(scores, &gradient, onScores)/mat.Norm(&cross, 2))
	}
}

// violation returns the norm of what min(A, ∇ + λ) leaves of its two terms, or of ∇ where λ is NaN.
func violation(a, gradient *mat.Dense, weight float64) float64 {
	var sum float64
	largest := mat.Max(a)
	rows, cols := a.Dims()
	for i := range rows {
		for j := range cols {
			v := gradient.At(i, j)
			if !math.IsNaN(weight) {
				v += weight
				if a.At(i, j) <= 1e-9*largest {
					v = min(v, 0)
				}
			}
			sum += v * v
		}
	}
	return math.Sqrt(sum)
}

// scoresOnly is the condition on the scores alone: the orthogonal topics are no minimum of the residual.
func scoresOnly(x, topics, scores *mat.Dense) float64 {
	var fit, gradient, cross mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(&fit, x)
	gradient.Mul(&fit, topics)
	cross.Mul(x, topics)
	return violation(scores, &gradient, 0) / mat.Norm(&cross, 2)
}

func logLoss(x, topics, scores *mat.Dense) float64 {
	var m mat.Dense
	m.Mul(scores, topics.T())
	n, p := x.Dims()
	var sum float64
	for i := range n {
		for j := range p {
			v := m.At(i, j)
			sum += max(v, 0) + math.Log1p(math.Exp(-math.Abs(v))) - x.At(i, j)*v
		}
	}
	return sum
}

// logStationarity returns how far the factors are from the first-order conditions of logLoss under F ≥ 0.
func logStationarity(x, topics, scores *mat.Dense) float64 {
	var rest, gradient, cross mat.Dense
	rest.Mul(scores, topics.T())
	rest.Apply(func(i, j int, m float64) float64 { return 1/(1+math.Exp(-m)) - x.At(i, j) }, &rest)
	gradient.Mul(rest.T(), scores)
	cross.Mul(x.T(), scores)
	missed := violation(topics, &gradient, 0) / mat.Norm(&cross, 2)
	gradient.Reset()
	gradient.Mul(&rest, topics)
	cross.Reset()
	cross.Mul(x, topics)
	return max(missed, violation(scores, &gradient, math.NaN())/mat.Norm(&cross, 2))
}
