package factoranalysis_test

import (
	"context"
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// simpleCorrelations returns the correlations of p items, of which item i loads on factor i mod k, every fourth the
// other way round; factors correlate by phi.
func simpleCorrelations(p, k int, phi float64) *mat.SymDense {
	loading := func(i int) float64 {
		l := 0.4 + 0.4*float64(i*7%p)/float64(p)
		if i%4 == 3 {
			return -l
		}
		return l
	}
	r := mat.NewSymDense(p, nil)
	for i := range p {
		r.SetSym(i, i, 1)
		for j := range i {
			v := loading(i) * loading(j)
			if i%k != j%k {
				v *= phi
			}
			r.SetSym(i, j, v)
		}
	}
	return r
}

// Of the correlations of a simple structure the discrepancy is log|R| + p, and the parameters are those.
func TestSimpleStructure(t *testing.T) {
	t.Parallel()
	for _, k := range []int{1, 2, 5} {
		const p, phi = 20, 0.6
		r := simpleCorrelations(p, k, phi)
		s, err := factoranalysis.FitSimpleStructure(t.Context(), r, k)
		if err != nil {
			t.Fatal(err)
		}
		for i := range p {
			for j := range i {
				if (s.Factor[i] == s.Factor[j]) != (i%k == j%k) {
					t.Fatalf("%d factors: items %d and %d belong to %d and %d", k, i, j, s.Factor[i], s.Factor[j])
				}
				v := s.Loadings[i] * s.Loadings[j] * s.Phi.At(s.Factor[i], s.Factor[j])
				if math.Abs(v-r.At(i, j)) > 3e-3 {
					t.Errorf("%d factors: items %d and %d correlate by %v, want %v", k, i, j, v, r.At(i, j))
				}
			}
			if math.Abs(s.Loadings[i]*s.Loadings[i]+s.Uniquenesses[i]-1) > 1e-12 {
				t.Errorf("%d factors: item %d has no variance of 1", k, i)
			}
		}
		if det, _ := mat.LogDet(r); math.Abs(s.Discrepancy-det-p) > 1e-3 {
			t.Errorf("%d factors: discrepancy %v, want %v", k, s.Discrepancy, det+p)
		}
		if want := phi * float64(min(k-1, 1)); math.Abs(s.Closest()-want) > 0.01 || s.Parameters() != 2*p+k*(k-1)/2 {
			t.Errorf("%d factors: the closest correlate by %v, %d parameters", k, s.Closest(), s.Parameters())
		}
	}
}

func TestNoSimpleStructure(t *testing.T) {
	t.Parallel()
	r := simpleCorrelations(8, 2, 0.5)
	if s, err := factoranalysis.FitSimpleStructure(t.Context(), r, 3); s != nil || err != nil {
		t.Errorf("three factors of eight items: %v, %v", s, err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cause := errors.New("enough")
	cancel(cause)
	if _, err := factoranalysis.FitSimpleStructure(ctx, r, 2); !errors.Is(err, cause) {
		t.Errorf("ended: %v", err)
	}
}
