package evaluate

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// The halves of a repeat have nobody in common.
func TestHalvesAreDisjoint(t *testing.T) {
	t.Parallel()
	o := few(t, 21)
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	h, err := o.halves(t.Context(), s, &Evaluation{Candidate: solver.Candidate{Factors: 2}}, MethodPCA,
		func(m *trained) {
			if len(m.rows) != 10 {
				t.Errorf("%d participants in a half", len(m.rows))
			}
		})
	if err != nil || h.Participants != 10 || h.Share != 0.5 {
		t.Fatalf("%+v, error %v", h, err)
	}
	for repeat := range 2 {
		if all := slices.Sorted(slices.Values(o.shuffled(s, repeat))); !slices.Equal(all,
			slices.Sorted(slices.Values(s.Order))) {
			t.Errorf("repeat %d has participants twice: %v", repeat, all)
		}
	}
}

// The stability is the correlation, not the cosine, of best matches in any order; the congruence is the cosine.
func TestMatched(t *testing.T) {
	t.Parallel()
	whole := mat.NewDense(3, 2, []float64{1, 5, 2, 3, 3, 4})
	part := mat.NewDense(3, 2, []float64{10, 11, 6, 12, 8, 13})
	m := matched(whole, part, true)
	want := []float64{ // of 1, 2, 3 with 11, 12, 13, and of 5, 3, 4 with 10, 6, 8
		(11 + 24 + 39) / math.Sqrt(14*(121+144+169)), 1,
	}
	for i := range m.correlations {
		if math.Abs(m.correlations[i]-1) > 1e-12 || math.Abs(m.congruences[i]-want[i]) > 1e-12 {
			t.Errorf("correlation %v and congruence %v, want 1 and %v", m.correlations[i], m.congruences[i], want[i])
		}
	}
}

// A factor with the opposite sign is the same one if signs are arbitrary, and another one if not.
func TestMatchedBySign(t *testing.T) {
	t.Parallel()
	a, b := mat.NewDense(3, 1, []float64{1, -2, 1}), mat.NewDense(3, 1, []float64{-2, 4, -2})
	for _, c := range []struct {
		signed bool
		want   float64
	}{{false, 1}, {true, -1}} {
		m := matched(a, b, c.signed)
		if math.Abs(m.correlations[0]-c.want) > 1e-12 || math.Abs(m.congruences[0]-c.want) > 1e-12 {
			t.Errorf("signed %t: %+v, want %v", c.signed, m, c.want)
		}
	}
}

// A factor without loadings has no correlation with any other, and takes no match from one that has some.
func TestMatchedLeavesOutEmptyFactors(t *testing.T) {
	t.Parallel()
	three, two := mat.NewDense(4, 3, []float64{3, 0, 0, 2, 1, 0, 0, 4, 1, 0, 0, 5}),
		mat.NewDense(4, 3, []float64{0, 0, 0, 0, 1, 0, 0, 4, 1, 0, 0, 5})
	for _, m := range []match{matched(three, two, true), matched(two, three, true), matched(three, two, false), matched(
		two, three, false)} {
		for _, c := range m.correlations {
			if len(m.correlations) != 2 || !(c > 1-1e-12) {
				t.Errorf("the first factor of one is empty, the others are the same: correlations %v", m.correlations)
			}
		}
	}
	whole := mat.NewDense(3, 3, []float64{1, 5, 0, 2, 3, 0, 3, 4, 0})
	part := mat.NewDense(3, 3, []float64{0, 11, 0, 0, 12, 0, 0, 13, 0})
	m := matched(whole, part, true)
	if m.empty != [2]int{1, 2} || len(m.correlations) != 1 || math.Abs(m.correlations[0]-1) > 1e-12 ||
		len(m.congruences) != 1 {
		t.Errorf("%+v, want one correlation of 1, with 1 and 2 empty factors", m)
	}
	if m := matched(whole, mat.NewDense(3, 2, nil), true); len(m.correlations)+len(m.congruences) > 0 ||
		m.empty != [2]int{1, 2} {
		t.Errorf("%+v, want no correlations, with 1 and 2 empty factors", m)
	}
}

// Items that one of two fits left out do not count.
func TestCompareTakesItemsOfBoth(t *testing.T) {
	t.Parallel()
	a := &trained{items: []int{0, 1, 2, 4}, loadings: mat.NewDense(4, 1, []float64{1, 2, 9, 4})}
	b := &trained{items: []int{0, 1, 3, 4}, loadings: mat.NewDense(4, 1, []float64{2, 4, 0, 8})}
	if m := compare(a, b, true); math.Abs(m.correlations[0]-1) > 1e-12 || math.Abs(m.congruences[0]-1) > 1e-12 {
		t.Errorf("%+v, want 1", m)
	}
}

// Of two factors with different items, each correlates with the opposite of the other, since the items of one lack
// loadings on the other. That does not make them the same factor: the congruence shows which are.
func TestMatchedTakesTheSameItems(t *testing.T) {
	t.Parallel()
	a := mat.NewDense(6, 2, []float64{.8, 0, .7, 0, .6, 0, 0, .8, 0, .7, 0, .6})
	b := mat.NewDense(6, 2, []float64{-.6, .05, -.7, 0, -.8, 0, 0, .6, 0, .7, .05, .8})
	m := matched(a, b, false)
	for i := range m.correlations {
		if m.correlations[i] < 0.8 || m.congruences[i] < 0.9 {
			t.Errorf("factor %d: correlation %.3f and congruence %.3f, want those of the factor with its items", i+1,
				m.correlations[i], m.congruences[i])
		}
	}
}

// Halves may have no item in common that varies in both: then nothing is compared.
func TestCompareWithoutCommonItems(t *testing.T) {
	t.Parallel()
	a := &trained{items: []int{0}, loadings: mat.NewDense(1, 1, []float64{1})}
	b := &trained{items: []int{1}, loadings: mat.NewDense(1, 1, []float64{1})}
	if m := compare(a, b, true); len(m.correlations)+len(m.congruences) > 0 || m.empty != [2]int{1, 1} {
		t.Errorf("%+v, want no correlations, and both factors empty", m)
	}
}
