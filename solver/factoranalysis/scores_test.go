package factoranalysis_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Scores that rest on the correlations of the solution, and their errors, are those by these correlations as a matrix: the inverse
// of a k×k matrix tells the same as that of one with a row for each item.
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
