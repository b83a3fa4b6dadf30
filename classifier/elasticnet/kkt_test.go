package elasticnet_test

import (
	"errors"
	"math"
	"testing"

	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/elasticnet"
)

// kkt returns by how much intercept and coefficients of dense columns miss the conditions of a minimum at λ, in
// units of the mean log-likelihood's derivative by standardized coefficients.
func kkt(x [][]float64, p elasticnet.Problem, s elasticnet.Settings, at model) float64 {
	n, width := len(x), len(x[0])
	var total float64
	weights := make([]float64, n)
	for i := range weights {
		weights[i] = 1
		if p.Weights != nil {
			weights[i] = p.Weights[i]
		}
		total += weights[i]
	}
	residual := make([]float64, n)
	var worst float64
	for i, row := range x {
		eta := at.intercept
		for j, v := range row {
			eta += at.coefficients[j] * v
		}
		truth := 0.0
		if p.Y[i] {
			truth = 1
		}
		weights[i] /= total
		residual[i] = weights[i] * (truth - 1/(1+math.Exp(-eta)))
		worst += residual[i]
	}
	worst = math.Abs(worst)
	var factors float64
	for j := range width {
		factors += factorOf(s, j)
	}
	for j := range width {
		var mean, variance, gradient float64
		for i := range x {
			mean += weights[i] * x[i][j]
		}
		for i := range x {
			variance += weights[i] * (x[i][j] - mean) * (x[i][j] - mean)
			gradient += residual[i] * (x[i][j] - mean)
		}
		if variance < 1e-20 {
			continue
		}
		spread := 1.0
		if s.Standardize {
			spread = math.Sqrt(variance)
		}
		gradient /= spread
		beta := at.coefficients[j] * spread
		factor := 1.0
		if factors > 0 {
			factor = factorOf(s, j) * float64(width) / factors
		}
		l1, l2 := at.lambda*s.Alpha*factor, at.lambda*(1-s.Alpha)*factor
		miss := math.Abs(gradient) - l1
		if beta != 0 {
			miss = math.Abs(gradient - l2*beta - math.Copysign(l1, beta))
		}
		worst = max(worst, miss)
	}
	return worst
}

type model struct {
	lambda, intercept float64
	coefficients      []float64
}

func factorOf(s elasticnet.Settings, j int) float64 {
	if s.PenaltyFactors == nil {
		return 1
	}
	return s.PenaltyFactors[j]
}

// TestConditions: every λ of a path fulfils the Karush-Kuhn-Tucker conditions, computed densely and apart from the
// package, for any mix of columns, weights, factors and α.
func TestConditions(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(r *rapid.T) {
		n, width := rapid.IntRange(4, 40).Draw(r, "n"), rapid.IntRange(2, 20).Draw(r, "p")
		// Hundredths: a column of values near the smallest float64 is not one that passes can solve to 1e-14.
		value := rapid.OneOf(rapid.Just(0.0),
			rapid.Map(rapid.IntRange(-300, 300), func(v int) float64 { return float64(v) / 100 }))
		x := make([][]float64, n)
		p := elasticnet.Problem{Y: make([]bool, n), Weights: make([]float64, n)}
		for i := range x {
			x[i] = rapid.SliceOfN(value, width, width).Draw(r, "row")
			p.Y[i] = i%2 == 0 || rapid.Bool().Draw(r, "y")
			p.Weights[i] = float64(rapid.IntRange(1, 4).Draw(r, "weight"))
		}
		p.Y[1] = false
		s := elasticnet.Settings{
			Alpha:       rapid.SampledFrom([]float64{0, 0.05, 0.5, 1}).Draw(r, "alpha"),
			Standardize: rapid.Bool().Draw(r, "standardize"),
			NLambda:     10, LambdaMinRatio: 0.01, Tolerance: 1e-14, MaxPasses: 200_000,
			PenaltyFactors: rapid.SliceOfN(rapid.SampledFrom([]float64{0.5, 1, 2}), width, width).Draw(r, "factors"),
		}
		split := rapid.IntRange(1, width-1).Draw(r, "split")
		var err error
		if p.Design, err = elasticnet.NewDesign(dense(x, 0, split), sparse(t, x, split, width)); err != nil {
			r.Fatal(err)
		}
		path, err := elasticnet.Fit(t.Context(), p, s)
		if errors.Is(err, elasticnet.ErrNotConverged) {
			return // not even the first λ
		}
		if err != nil {
			r.Fatal(err)
		}
		// Columns that others nearly span can need more passes than allowed. The path then ends before, and what it
		// holds is held to the conditions all the same.
		if path.Status == elasticnet.Diverged {
			r.Fatal(path.Status)
		}
		for l, lambda := range path.Lambda {
			at := model{lambda, path.Intercept[l], path.Dense(l)}
			if miss := kkt(x, p, s, at); miss > 1e-6 {
				r.Fatalf("conditions missed by %v at λ %v (%d)", miss, lambda, l)
			}
		}
	})
}
