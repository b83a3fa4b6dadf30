package factoranalysis_test

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// correlatedRows returns n rows of p normal answers of one factor, with the answers missing that hide names.
func correlatedRows(n, p int, hide func(i, j int, row []float64) bool) *mat.Dense {
	r := rand.New(rand.NewPCG(4, 2))
	x := mat.NewDense(n, p, nil)
	for i := range n {
		f, row := r.NormFloat64(), make([]float64, p)
		for j := range row {
			row[j] = 3 + f + r.NormFloat64()*float64(1+j)/2
		}
		for j, v := range row {
			if hide != nil && hide(i, j, row) {
				v = math.NaN()
			}
			x.Set(i, j, v)
		}
	}
	return x
}

// Of complete answers the distribution of greatest likelihood has their means and covariances.
func TestSaturateComplete(t *testing.T) {
	t.Parallel()
	const n, p = 50, 4
	x := correlatedRows(n, p, nil)
	patterns := factoranalysis.Patterns(x)
	got, err := factoranalysis.Saturate(t.Context(), patterns, p)
	if err != nil || len(patterns) != 1 || !got.Converged {
		t.Fatalf("%d patterns, %+v: %v", len(patterns), got, err)
	}
	var want mat.SymDense
	stat.CovarianceMatrix(&want, x, nil)
	want.ScaleSym((n-1.)/n, &want)
	if !mat.EqualApprox(got.Covariance, &want, 1e-12) {
		t.Errorf("covariances\n%v, want\n%v", mat.Formatted(got.Covariance), mat.Formatted(&want))
	}
}

// At the end of EM the likelihood has no slope, the score is the derivative of the likelihood, and answers missing
// because of others do not shift the mean.
func TestSaturateMissing(t *testing.T) {
	t.Parallel()
	const n, p = 4000, 4
	x := correlatedRows(n, p, func(_, j int, row []float64) bool {
		return j == 3 && row[0] > 3.5 || j == 1 && row[2] < 2
	})
	patterns := factoranalysis.Patterns(x)
	got, err := factoranalysis.Saturate(t.Context(), patterns, p)
	if err != nil || len(patterns) != 4 || !got.Converged {
		t.Fatalf("%d patterns: %v", len(patterns), err)
	}
	if len(factoranalysis.NeverTogether(patterns, p)) != 0 {
		t.Error("all pairs were answered together")
	}
	if v := got.Mean[3]; math.Abs(v-3) > .15 {
		t.Errorf("mean %v, planted 3", v)
	}
	unpack := func(theta []float64) ([]float64, *mat.SymDense) {
		sigma, at := mat.NewSymDense(p, nil), p
		for i := range p {
			for j := range i + 1 {
				sigma.SetSym(i, j, theta[at])
				at++
			}
		}
		return theta[:p], sigma
	}
	log := func(theta []float64) float64 {
		mu, sigma := unpack(theta)
		l, _, _, _ := factoranalysis.NormalScore(patterns, mu, sigma)
		return l
	}
	theta := append([]float64(nil), got.Mean...)
	for i := range p {
		for j := range i + 1 {
			theta = append(theta, got.Covariance.At(i, j))
		}
	}
	for i, v := range fd.Gradient(nil, log, theta, &fd.Settings{Formula: fd.Central}) {
		if math.Abs(v) > .05 {
			t.Errorf("the likelihood has slope %v in direction %d", v, i)
		}
	}
	for i := range theta {
		theta[i] *= 1.1
	}
	mu, sigma := unpack(theta)
	_, ofMean, ofCov, _ := factoranalysis.NormalScore(patterns, mu, sigma)
	numeric, at := fd.Gradient(nil, log, theta, &fd.Settings{Formula: fd.Central}), p
	for i := range p {
		if math.Abs(ofMean[i]-numeric[i]) > 1e-3*(1+math.Abs(numeric[i])) {
			t.Errorf("the score of mean %d is %v, %v by differences", i, ofMean[i], numeric[i])
		}
		for j := range i + 1 {
			v := ofCov.At(i, j)
			if i != j {
				v *= 2
			}
			if math.Abs(v-numeric[at]) > 1e-3*(1+math.Abs(numeric[at])) {
				t.Errorf("the score of covariance %d, %d is %v, %v by differences", i, j, v, numeric[at])
			}
			at++
		}
	}
}

// Pairs that nobody answered together are named; a sum of items has no likelihood.
func TestSaturateBreaks(t *testing.T) {
	t.Parallel()
	x := correlatedRows(40, 3, func(i, j int, _ []float64) bool { return j == 1+i%2 || i == 7 })
	patterns := factoranalysis.Patterns(x)
	if got := factoranalysis.NeverTogether(patterns, 3); len(got) != 1 || got[0] != [2]int{1, 2} {
		t.Errorf("never together: %v", got)
	}
	rows := 0
	for _, p := range patterns {
		rows += p.N
	}
	if rows != 39 {
		t.Errorf("%d of 40 rows, of which one has no answer", rows)
	}
	y := correlatedRows(40, 3, nil)
	for i := range 40 {
		y.Set(i, 2, y.At(i, 0)+y.At(i, 1))
	}
	if _, err := factoranalysis.Saturate(t.Context(), factoranalysis.Patterns(y), 3); !errors.Is(err,
		factoranalysis.ErrSingular) {
		t.Errorf("a sum of items: %v", err)
	}
}

// counting counts how often a search asks whether it must end.
type counting struct {
	context.Context
	asked int
}

func (c *counting) Err() error {
	c.asked++
	return nil
}

// Few participants with many gaps have no distribution of greatest likelihood: the covariances approach singular ones
// for ever. The search gives up soon, but not where there is a maximum that plain EM needs hundreds of iterations for.
func TestSaturateEnds(t *testing.T) {
	t.Parallel()
	const p = 20
	for n, settles := range map[int]bool{90: false, 200: true} {
		r := rand.New(rand.NewPCG(1, 1))
		x := correlatedRows(n, p, func(int, int, []float64) bool { return r.Float64() < .4 })
		ctx := &counting{Context: t.Context()}
		got, err := factoranalysis.Saturate(ctx, factoranalysis.Patterns(x), p)
		if (err == nil && got.Converged) != settles || ctx.asked > 150 {
			t.Errorf("%d participants: %v after %d rounds, want a maximum: %t", n, err, ctx.asked, settles)
		}
	}
}
