package sonmf

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

func truthOf(t *testing.T, s Scenario, size, rank int, asWritten bool) *truth {
	t.Helper()
	got, err := newTruth(s, size, rank, asWritten, stream(1, s, rank, 0))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// near fails if a value is further from the wanted one than five standard errors.
func near(t *testing.T, what string, got, want, standardError float64) {
	t.Helper()
	if math.Abs(got-want) > 5*standardError {
		t.Errorf("%s is %v, want %v ± %v", what, got, want, standardError)
	}
}

// uniform compares a sample with the uniform distribution on (0, high).
func uniform(t *testing.T, what string, values []float64, high float64) {
	t.Helper()
	mean, variance := stat.MeanVariance(values, nil)
	n := float64(len(values))
	near(t, what+": mean", mean, high/2, high/math.Sqrt(12*n))
	near(t, what+": variance", variance, high*high/12, high*high/math.Sqrt(180*n))
	if least, most := slices.Min(values), slices.Max(values); least < 0 || most > high {
		t.Errorf("%s: from %v to %v, want within 0 and %v", what, least, most, high)
	}
}

func TestTopicsAndScores(t *testing.T) {
	t.Parallel()
	const size, rank = 200, 8
	t.Run("uniform", func(t *testing.T) {
		t.Parallel()
		got := truthOf(t, Uniform, size, rank, false)
		uniform(t, "F", got.topics.RawMatrix().Data, 1)
		uniform(t, "G", got.scores.RawMatrix().Data, 2)
	})
	t.Run("non-negative and orthogonal", func(t *testing.T) {
		t.Parallel()
		got := truthOf(t, NonNegativeOrthogonal, size, rank, false)
		var entries []float64
		for j := range size {
			row := slices.DeleteFunc(slices.Clone(got.topics.RawRowView(j)), func(v float64) bool { return v == 0 })
			if len(row) != 1 {
				t.Fatalf("row %d of F has %d entries", j, len(row))
			}
			entries = append(entries, row...)
		}
		uniform(t, "entries of F", entries, 2)
		uniform(t, "G", got.scores.RawMatrix().Data, 2)
	})
	t.Run("orthonormal", func(t *testing.T) {
		t.Parallel()
		got := truthOf(t, Orthonormal, size, rank, false)
		if residual := orthogonality(got.topics); residual > 1e-24 {
			t.Errorf("‖FᵀF − I‖² = %v", residual)
		}
		uniform(t, "G", got.scores.RawMatrix().Data, 2)
	})
	t.Run("binary", func(t *testing.T) {
		t.Parallel()
		got := truthOf(t, Bernoulli, size, rank, false)
		mean, variance := stat.MeanVariance(got.topics.RawMatrix().Data, nil)
		const n = size * rank
		near(t, "mean of F", mean, 0, 1/math.Sqrt(n))
		near(t, "variance of F", variance, 1, math.Sqrt(2./n))
		uniform(t, "G", got.scores.RawMatrix().Data, 1)
	})
}

// TestContinuousNoise computes E from X and the factors.
func TestContinuousNoise(t *testing.T) {
	t.Parallel()
	const size, rank = 200, 8
	for name, c := range map[string]struct {
		scenario  Scenario
		asWritten bool
		scale     float64
		cut       bool
	}{
		"1":            {Uniform, false, 1, false},
		"2":            {NonNegativeOrthogonal, false, 1, true},
		"2 as written": {NonNegativeOrthogonal, true, 1, false},
		"3":            {Orthonormal, false, math.Sqrt(0.3), false},
		"3 as written": {Orthonormal, true, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := truthOf(t, c.scenario, size, rank, c.asWritten)
			var e mat.Dense
			e.Mul(got.scores, got.topics.T())
			e.Scale(-c.scale, &e)
			e.Add(got.x, &e)
			norm := mat.Norm(&e, 2)
			if mean := norm * norm / (size * size); math.Abs(got.mean-mean) > 1e-12 {
				t.Errorf("the true mean residual is %v, not %v", got.mean, mean)
			}
			least := mat.Min(got.x)
			if c.cut {
				if least != 0 || got.mean >= 0.09 {
					t.Errorf("least entry %v, mean residual %v: want entries cut at 0, which takes noise away",
						least, got.mean)
				}
				return
			}
			if c.scenario != Uniform && least >= 0 {
				t.Error("no entry is negative")
			}
			mean, variance := stat.MeanVariance(e.RawMatrix().Data, nil)
			near(t, "mean of E", mean, 0, 0.3/size)
			near(t, "variance of E", variance, 0.09, 0.09*math.Sqrt2/size)
		})
	}
}

func TestBernoulliDrawsFromItsProbabilities(t *testing.T) {
	t.Parallel()
	const size, rank = 300, 5
	for _, asWritten := range []bool{false, true} {
		got := truthOf(t, Bernoulli, size, rank, asWritten)
		// Σ(x − p)·(p − ½) and Σ(x − p)² show whether x follows p, and not only its mean.
		var difference, slope, squares, spread, loss float64
		x, p := got.x.RawMatrix().Data, got.probability.RawMatrix().Data
		for i, q := range p {
			if x[i] != 0 && x[i] != 1 {
				t.Fatalf("entry %v", x[i])
			}
			d := x[i] - q
			difference, slope, squares, spread = difference+d, slope+d*(q-0.5), squares+d*d-q*(1-q), spread+q*(1-q)
			loss -= x[i]*math.Log(q) + (1-x[i])*math.Log(1-q)
		}
		near(t, "Σ(x − p)", difference, 0, math.Sqrt(spread))
		if !asWritten { // there the noise at the ends, cut to [0, 1], pulls to the middle
			near(t, "Σ(x − p)(p − ½)", slope, 0, math.Sqrt(spread)/2)
			near(t, "Σ(x − p)² − p(1 − p)", squares, 0, math.Sqrt(spread)/2)
		}
		if want := loss / (size * size); math.Abs(got.mean-want) > 1e-12 {
			t.Errorf("the true mean cost is %v, not %v", got.mean, want)
		}
	}
}

func TestTrialsDiffer(t *testing.T) {
	t.Parallel()
	first := func(seed uint64, s Scenario, rank, trial int) uint64 { return stream(seed, s, rank, trial).Uint64() }
	all := []uint64{
		first(1, Uniform, 10, 0), first(2, Uniform, 10, 0), first(1, Orthonormal, 10, 0),
		first(1, Uniform, 30, 0), first(1, Uniform, 10, 1),
	}
	if again := first(1, Uniform, 10, 0); again != all[0] {
		t.Error("equal seeds give other numbers")
	}
	slices.Sort(all)
	if len(slices.Compact(all)) != 5 {
		t.Error("seed, scenario, rank and trial do not all count")
	}
}
