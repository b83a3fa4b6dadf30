package factoranalysis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Scores that rest on the correlations of the solution, and their errors, are those by these correlations as a matrix:
// the inverse of a k×k matrix gives the same result as that of one with a row for each item.
func TestScoresOfTheSolution(t *testing.T) {
	t.Parallel()
	const n, p = 40, 9
	random := rand.New(rand.NewPCG(4, 4))
	s := &factoranalysis.Scorer{
		Loadings: mat.NewDense(p, 2, nil), Phi: mat.NewDense(2, 2, []float64{1, .4, .4, 1}),
		Uniquenesses: make([]float64, p), Means: make([]float64, p), Deviations: make([]float64, p),
	}
	x := mat.NewDense(n, p, nil)
	for j := range p {
		s.Loadings.Set(j, j%2, .4+.05*float64(j))
		s.Loadings.Set(j, 1-j%2, .1)
		s.Uniquenesses[j], s.Means[j], s.Deviations[j] = .2+.05*float64(j), float64(j), 1+.1*float64(j)
		for i := range n {
			x.Set(i, j, float64(j)+2*random.NormFloat64())
			if random.Float64() < .3 {
				x.Set(i, j, math.NaN())
			}
		}
	}
	scores, errs, err := s.ScoresErrors(x)
	if err != nil {
		t.Fatal(err)
	}
	var common, all mat.Dense
	common.Mul(s.Loadings, s.Phi)
	all.Mul(&common, s.Loadings.T())
	s.ScoreCorrelations = mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			s.ScoreCorrelations.SetSym(i, j, all.At(i, j))
		}
		s.ScoreCorrelations.SetSym(i, i, all.At(i, i)+s.Uniquenesses[i])
	}
	want, wantErrs, err := s.ScoresErrors(x)
	if err != nil {
		t.Fatal(err)
	}
	if !mat.EqualApprox(scores, want, 1e-12) || !mat.EqualApprox(errs, wantErrs, 1e-12) {
		t.Errorf("scores\n%v\nwant\n%v", mat.Formatted(scores), mat.Formatted(want))
	}
}

// With few participants for each item, regression weights are tuned to the sample: scores hold less of the factors than
// their standard errors say. docs/results.md has the table of this test.
func TestScoresOfFewParticipants(t *testing.T) {
	t.Parallel()
	const p, k, samples = 20, 2, 40
	for _, n := range []int{24, 30, 40, 60, 100, 200} {
		var says, is float64
		for seed := range uint64(samples) {
			random := rand.New(rand.NewPCG(seed, uint64(n)))
			x, factors := mat.NewDense(n, p, nil), mat.NewDense(n, k, nil)
			for i := range n {
				for c := range k {
					factors.Set(i, c, random.NormFloat64())
				}
				for j := range p {
					x.Set(i, j, 0.7*factors.At(i, j%k)+math.Sqrt(1-0.7*0.7)*random.NormFloat64())
				}
			}
			m, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{Factors: k, Threads: 1})
			if err != nil {
				t.Fatal(err)
			}
			scores, errs, err := m.ScoresErrors(x)
			if err != nil {
				t.Fatal(err)
			}
			order, _ := align.Factors(factors, scores)
			for c, column := range order {
				r := stat.Correlation(mat.Col(nil, c, factors), mat.Col(nil, column, scores), nil)
				is += 1 - r*r
				says += errs.At(0, column) * errs.At(0, column)
			}
		}
		ratio := is / says
		t.Logf("%d participants, %d items: reliability %.3f, squared correlation with the factor %.3f, variance of "+
			"errors %.2f times as large", n, p, 1-says/samples/k, 1-is/samples/k, ratio)
		if n <= 2*p && ratio < 1.25 || n >= 5*p && ratio > 1.2 {
			t.Errorf("%d participants: the variance of errors is %.2f times what standard errors say", n, ratio)
		}
	}
}
