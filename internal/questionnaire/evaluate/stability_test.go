package evaluate

import (
	"testing"

	"gonum.org/v1/gonum/mat"
)

// Of two factors with different items, each correlates with the opposite of the other, since the items of one lack loadings on the
// other. That does not make them the same factor: the congruence tells which are.
func TestMatchedTakesTheSameItems(t *testing.T) {
	t.Parallel()
	a := mat.NewDense(6, 2, []float64{.8, 0, .7, 0, .6, 0, 0, .8, 0, .7, 0, .6})
	b := mat.NewDense(6, 2, []float64{-.6, .05, -.7, 0, -.8, 0, 0, .6, 0, .7, .05, .8})
	m := matched(a, b, false)
	for i := range m.correlations {
		if m.correlations[i] < 0.8 || m.congruences[i] < 0.9 {
			t.Errorf("factor %d: correlation %.3f and congruence %.3f, want those of the factor with its items", i+1, m.correlations[i], m.congruences[i])
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
