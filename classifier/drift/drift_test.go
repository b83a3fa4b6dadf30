package drift_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/drift"
)

// TestPSI holds the index against values computed by hand from the formula.
func TestPSI(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		reference, current []float64
		psi, expected      float64
	}{
		"equal": {[]float64{30, 70}, []float64{30, 70}, 0, 0.02},
		// 50.5/101 = .5; 90.5/101 = .896040, 10.5/101 = .103960: .396040·(ln 1.792079 − ln .207921) = .396040·2.153976
		"two bins": {[]float64{50, 50}, []float64{90, 10}, 0.853060, 0.02},
		// shares 1.5/3.5, 1.5/3.5, .5/3.5 and .5/5.5, .5/5.5, 4.5/5.5:
		// 2·(−.337662)·ln .212121 + .675325·ln 5.727273 = 1.047163 + 1.178597
		"an empty bin": {[]float64{1, 1, 0}, []float64{0, 0, 4}, 2.225760, 1.5},
		"one bin":      {[]float64{3}, []float64{8}, 0, 0},
	} {
		got, err := drift.PSI(c.reference, c.current)
		if err != nil || math.Abs(got.PSI-c.psi) > 1e-6 || math.Abs(got.Expected-c.expected) > 1e-12 {
			t.Errorf("%s: got %+v, %v, want %v, %v", name, got, err, c.psi, c.expected)
		}
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	for _, c := range [][2][]float64{
		{nil, nil}, {{1}, {1, 2}}, {{1, 2}, {0, 0}}, {{0}, {1}}, {{-1, 2}, {1, 1}}, {{1, 1}, {math.NaN(), 1}}, {
			{1, 1}, {math.Inf(1), 1},
		},
	} {
		if _, err := drift.PSI(c[0], c[1]); !errors.Is(err, drift.ErrArgument) {
			t.Errorf("%v: got %v", c, err)
		}
	}
	for _, values := range [][]float64{nil, {1, math.NaN()}} {
		if _, err := drift.NewHistogram(values, 4); !errors.Is(err, drift.ErrArgument) {
			t.Errorf("%v: got %v", values, err)
		}
	}
	if _, err := drift.NewHistogram([]float64{1}, 1); !errors.Is(err, drift.ErrArgument) {
		t.Errorf("one bin: got %v", err)
	}
}

// TestPSIProperties: at least 0, symmetric, and blind to the order of bins.
func TestPSIProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "bins")
		counts := func(name string) []float64 {
			c := rapid.SliceOfN(rapid.Map(rapid.IntRange(0, 500), func(i int) float64 { return float64(i) }), n,
				n).Draw(t, name)
			c[0]++
			return c
		}
		x, y := counts("x"), counts("y")
		a, errA := drift.PSI(x, y)
		b, errB := drift.PSI(y, x)
		slices.Reverse(x)
		slices.Reverse(y)
		c, errC := drift.PSI(x, y)
		if errA != nil || errB != nil || errC != nil || a.PSI < -1e-15 || math.Abs(a.PSI-b.PSI) > 1e-12 ||
			math.Abs(a.PSI-c.PSI) > 1e-12 {
			t.Fatalf("%v, %v, %v", a, b, c)
		}
	})
}

// TestExpected draws periods without drift: the mean of the index is what Expected says.
func TestExpected(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 2))
	draw := func(n int) []float64 {
		values := make([]float64, n)
		for i := range values {
			values[i] = r.NormFloat64()
		}
		return values
	}
	const runs, n, m = 400, 4000, 1000
	var mean, expected float64
	for range runs {
		reference, err := drift.NewHistogram(draw(n), drift.DefaultBins)
		if err != nil {
			t.Fatal(err)
		}
		current := reference.Empty()
		for _, v := range draw(m) {
			current.Add(v)
		}
		s, err := drift.PSI(reference.Counts, current.Counts)
		if err != nil {
			t.Fatal(err)
		}
		mean, expected = mean+s.PSI/runs, s.Expected
	}
	// The standard error of the mean is expected·√(2/9)/√400, 2.4 %.
	if math.Abs(mean-expected) > 0.1*expected {
		t.Errorf("mean %v, want %v", mean, expected)
	}
}

func TestHistogram(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		values []float64
		bins   int
		want   drift.Histogram
	}{
		"quarters": {[]float64{8, 1, 2, 7, 3, 6, 4, 5}, 4, drift.Histogram{
			Edges: []float64{2, 4, 6}, Counts: []float64{2, 2, 2, 2},
		}},
		"ties": {
			[]float64{0, 0, 0, 0, 0, 0, 1, 2}, 4, drift.Histogram{Edges: []float64{0}, Counts: []float64{6, 2}},
		},
		"few values": {[]float64{1, 2}, 10, drift.Histogram{Edges: []float64{1}, Counts: []float64{1, 1}}},
		"all equal": {
			[]float64{3, 3}, 10, drift.Histogram{Edges: []float64{math.Nextafter(3, 0), 3}, Counts: []float64{0, 2, 0}},
		},
		"to infinity": {[]float64{math.Inf(-1), 0, math.Inf(1)}, 3, drift.Histogram{
			Edges: []float64{math.Inf(-1), 0}, Counts: []float64{1, 1, 1},
		}},
	} {
		got, err := drift.NewHistogram(c.values, c.bins)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(c.want, *got); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	h := (&drift.Histogram{Edges: []float64{1, 2}, Counts: []float64{9, 9, 9}}).Empty()
	for _, v := range []float64{0, 1, 1.5, 2, 2.1, 99, math.NaN()} {
		h.Add(v)
	}
	if d := cmp.Diff(drift.Histogram{Edges: []float64{1, 2}, Counts: []float64{2, 2, 2}, Invalid: 1}, *h); d != "" {
		t.Error(d)
	}
}

func TestMainTopic(t *testing.T) {
	t.Parallel()
	for want, scores := range map[int][]float64{0: {}, 1: {1, -3, 2}, 2: {0, 0, 1e-9}, 3: {0, 0, 0}} {
		if got := drift.MainTopic(scores); got != want {
			t.Errorf("%v: got %d, want %d", scores, got, want)
		}
	}
	if got := drift.MainTopic([]float64{0, 2, -2}); got != 1 {
		t.Errorf("of two that are equal: got %d", got)
	}
}

func TestRates(t *testing.T) {
	t.Parallel()
	var r drift.Rate
	if r.Share() != 0 {
		t.Error("nothing was counted, and still it has a share")
	}
	r.Add(8, 10)
	r.Add(10, 10)
	if r.Share() != 0.9 {
		t.Error(r.Share())
	}
}

func ExamplePSI() {
	reference, err := drift.NewHistogram([]float64{.1, .1, .2, .2, .3, .4, .5, .6, .8, .9}, 5)
	if err != nil {
		fmt.Println(err)
		return
	}
	night := reference.Empty()
	for _, p := range []float64{.7, .8, .8, .9, .9, .95} {
		night.Add(p)
	}
	shift, err := drift.PSI(reference.Counts, night.Counts)
	fmt.Printf("PSI %.2f, %.2f by chance alone, %v\n", shift.PSI, shift.Expected, err)
	// Output: PSI 1.45, 1.07 by chance alone, <nil>
}
