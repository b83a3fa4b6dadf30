package factoranalysis_test

import (
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

func randomNormal(n, p int) *mat.Dense {
	random := rand.New(rand.NewPCG(3, 0))
	x := mat.NewDense(n, p, nil)
	x.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, x)
	return x
}

func containsText(err error, text string) bool {
	return err != nil && strings.Contains(err.Error(), text)
}

// Pairwise correlations are those of the rows where both are known, also far from 0.
func TestPearsonPairwise(t *testing.T) {
	t.Parallel()
	x := punched(randomNormal(200, 6), 0.3)
	x.Apply(func(_, j int, v float64) float64 { return 1e6*float64(j) + v }, x)
	c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 6 {
		for j := range i {
			var a, b []float64
			for r := range 200 {
				if u, v := x.At(r, i), x.At(r, j); !math.IsNaN(u) && !math.IsNaN(v) {
					a, b = append(a, u), append(b, v)
				}
			}
			if got, want := c.R.At(i, j), stat.Correlation(a, b, nil); math.Abs(got-want) > 1e-9 {
				t.Errorf("items %d and %d: %v, want %v", i, j, got, want)
			}
		}
	}
}

// Answers whose squares a float64 does not hold are refused, in place of wrong correlations.
func TestCorrelateExtremes(t *testing.T) {
	t.Parallel()
	want := randomNormal(50, 3)
	base, err := factoranalysis.Correlate(t.Context(), want, factoranalysis.Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		exponent int
		refused  bool
	}{{-1000, true}, {-520, true}, {-480, false}, {480, false}, {520, true}, {1020, true}} {
		x := mat.DenseCopyOf(want)
		for i := range 50 {
			x.Set(i, 1, math.Ldexp(x.At(i, 1), c.exponent))
		}
		got, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 0)
		switch {
		case !c.refused && (err != nil || !mat.Equal(got.R, base.R)):
			t.Errorf("times 2^%d: error %v, or other correlations", c.exponent, err)
		case c.refused && !containsText(err, "item in column 1 has answers whose squares overflow or vanish"):
			t.Errorf("times 2^%d: error %v, want one of column 1", c.exponent, err)
		}
	}
}

// The polychoric correlation is that of the variables behind the categories, where Pearson's is attenuated.
func TestPolychoricRecoversTheLatentCorrelation(t *testing.T) {
	t.Parallel()
	const n = 40000
	random := rand.New(rand.NewPCG(4, 0))
	for _, rho := range []float64{-0.95, -0.3, 0, 0.6, 0.99} {
		x := mat.NewDense(n, 2, nil)
		for i := range n {
			a := random.NormFloat64()
			x.SetRow(i, []float64{a, rho*a + math.Sqrt(1-rho*rho)*random.NormFloat64()})
		}
		c, err := factoranalysis.Correlate(t.Context(), likert(x, -0.8, 0.4, 1.2), factoranalysis.Polychoric, 0)
		if err != nil {
			t.Fatal(err)
		}
		if got := c.R.At(0, 1); math.Abs(got-rho) > 4*(1-rho*rho)/math.Sqrt(n)*2 {
			t.Errorf("ρ = %v: %v", rho, got)
		}
	}
}

// Of two questions with two answers that split in halves, the tetrachoric correlation is sin(π/2·(4p−1)), p the share
// of both.
func TestTetrachoric(t *testing.T) {
	t.Parallel()
	for _, both := range []int{10, 25, 30, 45} {
		x := mat.NewDense(100, 2, nil)
		for i := range 100 {
			a, b := 0.0, 0.0
			if i < 50 {
				a = 1
			}
			if i < both || i >= 50 && i < 100-both {
				b = 1
			}
			x.SetRow(i, []float64{a, b})
		}
		c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Polychoric, 0)
		if err != nil {
			t.Fatal(err)
		}
		want := math.Sin(2 * math.Pi * (float64(both)/100 - 0.25))
		if got := c.R.At(0, 1); math.Abs(got-want) > 1e-9 {
			t.Errorf("%d of 100 in both: %v, want %v", both, got, want)
		}
	}
}

// Answers that never disagree have no finite optimum below 1: the bound is taken.
func TestPolychoricOfEqualItems(t *testing.T) {
	t.Parallel()
	x := mat.NewDense(60, 3, nil)
	x.Apply(func(i, j int, _ float64) float64 {
		if j == 1 {
			return -float64(i % 3)
		}
		return float64(i % 3)
	}, x)
	c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Polychoric, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, pair := range []struct {
		i, j int
		want float64
	}{{0, 1, -1}, {0, 2, 1}} {
		if got := c.R.At(pair.i, pair.j); math.Abs(got-pair.want) > 2e-4 {
			t.Errorf("items %d and %d: %v", pair.i, pair.j, got)
		}
	}
}

// Three items known two at a time can contradict one another: the matrix is smoothed, and says so.
func TestCorrelateSmooths(t *testing.T) {
	t.Parallel()
	const n = 90
	random := rand.New(rand.NewPCG(5, 0))
	x := mat.NewDense(n, 3, nil)
	for i := range n {
		a := random.NormFloat64()
		b, c := a+0.1*random.NormFloat64(), a+0.1*random.NormFloat64()
		switch i % 3 {
		case 0:
			x.SetRow(i, []float64{a, b, math.NaN()})
		case 1:
			x.SetRow(i, []float64{a, math.NaN(), c})
		case 2:
			x.SetRow(i, []float64{math.NaN(), b, -c}) // items 2 and 3 oppose, although both go with item 1
		}
	}
	c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	if !c.Smoothed() || c.LeastEigenvalue > -0.5 {
		t.Fatalf("least eigenvalue %v", c.LeastEigenvalue)
	}
	var e mat.EigenSym
	if !e.Factorize(c.R, false) || e.Values(nil)[0] < 0 {
		t.Errorf("eigenvalues %v", e.Values(nil))
	}
	for i := range 3 {
		if c.R.At(i, i) != 1 {
			t.Errorf("item %d correlates %v with itself", i, c.R.At(i, i))
		}
	}
	if _, err := factoranalysis.Fit(t.Context(), x, factoranalysis.Settings{Factors: 1}); err != nil {
		t.Errorf("factoring it: %v", err)
	}
	complete, err := factoranalysis.Correlate(t.Context(), randomNormal(50, 3), factoranalysis.Pearson, 0)
	if err != nil || complete.Smoothed() {
		t.Errorf("complete answers: smoothed %v, error %v", complete.Smoothed(), err)
	}
}

// A pair that nobody answered, and one that does not vary where both did, are unknown.
func TestCorrelateUnknown(t *testing.T) {
	t.Parallel()
	for _, kind := range []factoranalysis.Kind{factoranalysis.Pearson, factoranalysis.Polychoric} {
		x := likert(randomNormal(60, 4), -0.5, 0.5)
		for i := range 60 {
			if i < 30 {
				x.Set(i, 0, math.NaN())
			} else {
				x.Set(i, 1, math.NaN()) // never with item 0
				x.Set(i, 2, 3)          // the same wherever item 0 is known
			}
		}
		c, err := factoranalysis.Correlate(t.Context(), x, kind, 0)
		if err != nil {
			t.Fatal(err)
		}
		if len(c.Unknown) != 2 || c.Unknown[0] != [2]int{0, 1} || c.Unknown[1] != [2]int{0, 2} {
			t.Errorf("%s: unknown pairs %v", kind, c.Unknown)
		}
	}
}
