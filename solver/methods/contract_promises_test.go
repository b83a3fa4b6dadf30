package methods_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/nmf"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// TestContract checks every method, with each of its steps.
func TestContract(t *testing.T) {
	t.Parallel()
	// The paper's line search converges slowly.
	semiOrthogonal := func(step sonmf.Step, maxStationarity float64) *suite {
		return &suite{
			name: methods.SONMF, settings: methods.Settings{Step: string(step)},
			orthonormalTopics: true, nonNegativeScores: true, monotone: true, unique: true,
			objective: squaredResidual, stationarity: semiOrthogonalStationarity, maxStationarity: maxStationarity,
		}
	}
	// If documents are separable, the likelihood has no maximum: scores grow for ever, and the run ends by its
	// tolerance. The paper's steps near that end slowly.
	binary := func(step sonmf.BinaryStep, relTol, maxStationarity float64) *suite {
		return &suite{
			name: methods.SONMFBinary, settings: methods.Settings{Step: string(step)},
			domain: solver.Binary, orthonormalTopics: true, nonNegativeScores: true, monotone: true, settledStart: true,
			objective: logisticLoss, stationarity: binaryStationarity, maxStationarity: maxStationarity, relTol: relTol,
		}
	}
	// Stationarity is bounded a little above what is reached: 1e-3 by NMF and 6e-4 by LogNMF, which approach a minimum
	// so slowly that their runs end at a larger RelTol; 2e-6 by SemiNMF, 1e-8 by L1 and rounding by ONMF.
	all := map[string]*suite{
		"sonmf extrapolated":       semiOrthogonal(sonmf.StepExtrapolated, 1e-6),
		"sonmf exact":              semiOrthogonal(sonmf.StepExact, 1e-5),
		"sonmf cayley":             semiOrthogonal(sonmf.StepCayley, 1e-4),
		"sonmf-binary":             binary(sonmf.BinaryStepQuasiNewton, 1e-5, 1e-2),
		"sonmf-binary fixed steps": binary(sonmf.BinaryStepFixed, 1e-4, 1e-1),
		"nmf": {
			name: methods.NMF, domain: solver.NonNegative,
			nonNegativeTopics: true, nonNegativeScores: true, monotone: true, unique: true, settledStart: true,
			objective: squaredResidual, stationarity: squaredStationarity(0, 0), maxStationarity: 2e-3, relTol: 1e-7,
			maxTransform: 2e-2,
		},
		"onmf": {
			name: methods.ONMF, domain: solver.NonNegative,
			nonNegativeTopics: true, nonNegativeScores: true, unique: true, settledStart: true,
			objective: squaredResidual, stationarity: scoresOnly, maxStationarity: 1e-12,
		},
		"semi-nmf": {
			name:              methods.SemiNMF,
			nonNegativeScores: true, monotone: true, settledStart: true,
			objective: squaredResidual, stationarity: squaredStationarity(math.NaN(), 0), maxStationarity: 2e-5,
		},
		"l1-nmf without penalty": penalized(t, new(float64)),
		"l1-nmf":                 penalized(t, nil),
		"log-nmf": {
			name: methods.LogNMF, domain: solver.Binary,
			nonNegativeTopics: true, monotone: true, settledStart: true,
			objective: logisticLoss, stationarity: logStationarity, maxStationarity: 2e-3, relTol: 1e-5,
		},
		"svd": {
			name:              methods.SVD,
			orthonormalTopics: true, monotone: true, noUpdates: true,
			objective: squaredResidual, stationarity: excess, maxStationarity: 1e-12,
		},
	}
	var checked []string
	for name, s := range all {
		checked = append(checked, s.name)
		if domain := methods.Domain(s.name); domain != s.domain {
			t.Errorf("%s: domain %v, want %v", name, domain, s.domain)
		}
		t.Run(name, s.run)
	}
	for _, name := range methods.Names() {
		if !slices.Contains(checked, name) {
			t.Errorf("%s: not checked", name)
		}
	}
}

// penalized is l1-nmf with this weight of both penalties.
func penalized(t *testing.T, weight *float64) *suite {
	t.Helper()
	s := &suite{
		name: methods.L1NMF, settings: methods.Settings{L1Topics: weight, L1Scores: weight}, domain: solver.NonNegative,
		nonNegativeTopics: true, nonNegativeScores: true, monotone: true, unique: true, settledStart: true,
		maxStationarity: 1e-7,
	}
	weights := func(x, topics *mat.Dense) (onTopics, onScores float64) {
		_, k := topics.Dims()
		return s.method(t).(*nmf.L1).Weights(x, k)
	}
	s.objective = func(x, topics, scores *mat.Dense) float64 {
		onTopics, onScores := weights(x, topics)
		return squaredResidual(x, topics, scores)/2 + onTopics*mat.Sum(topics) + onScores*mat.Sum(scores)
	}
	s.stationarity = func(x, topics, scores *mat.Dense) float64 {
		return squaredStationarity(weights(x, topics))(x, topics, scores)
	}
	return s
}

func squaredResidual(x, topics, scores *mat.Dense) float64 {
	var fit mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(x, &fit)
	norm := mat.Norm(&fit, 2)
	return norm * norm
}

// logisticLoss returns Σ log(1 + exp(m)) − x·m, as softplus(m) or softplus(−m) by x.
func logisticLoss(x, topics, scores *mat.Dense) float64 {
	var m mat.Dense
	m.Mul(scores, topics.T())
	var sum float64
	n, _ := x.Dims()
	for i := range n {
		for j, v := range x.RawRowView(i) {
			sum += linalg.Softplus((1 - 2*v) * m.At(i, j))
		}
	}
	return sum
}

// semiOrthogonalStationarity returns how far C = XᵀG is from F·S with a symmetric S, in units of ‖C‖: the condition
// that no orthonormal F is better for G, to first order. G is the best for F by its update.
func semiOrthogonalStationarity(x, topics, scores *mat.Dense) float64 {
	var c, s, rest, skew mat.Dense
	c.Mul(x.T(), scores)
	s.Mul(topics.T(), &c)
	rest.Mul(topics, &s)
	rest.Sub(&c, &rest)
	skew.Sub(&s, s.T())
	return (mat.Norm(&rest, 2) + mat.Norm(&skew, 2)) / mat.Norm(&c, 2)
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

// violation returns the norm of min(A, ∇ + λ), or of ∇ if λ is NaN.
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

// scoresOnly is the condition on the scores alone: the orthogonal topics do not minimize the residual.
func scoresOnly(x, topics, scores *mat.Dense) float64 {
	var fit, gradient, cross mat.Dense
	fit.Mul(scores, topics.T())
	fit.Sub(&fit, x)
	gradient.Mul(&fit, topics)
	cross.Mul(x, topics)
	return violation(scores, &gradient, 0) / mat.Norm(&cross, 2)
}

// logStationarity returns how far the factors are from the first-order conditions of logisticLoss under F ≥ 0.
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

// excess returns how far the residual is above that of the exact singular vectors, in units of it.
func excess(x, topics, scores *mat.Dense) float64 {
	_, k := topics.Dims()
	var want mat.SVD
	want.Factorize(x, mat.SVDNone)
	var best float64
	for _, v := range want.Values(nil)[k:] {
		best += v * v
	}
	return math.Abs(squaredResidual(x, topics, scores)/best - 1)
}
