package solver_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// The first entry outside a domain is named, of a dense matrix and of a sparse one, whose zeros belong to every domain.
func TestDomains(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		domain solver.Domain
		value  float64
		ok     bool
	}{
		{solver.Real, -3, true},
		{solver.Real, math.Inf(1), false},
		{solver.NonNegative, 0.5, true},
		{solver.NonNegative, -0.5, false},
		{solver.NonNegative, math.NaN(), false},
		{solver.Binary, 1, true},
		{solver.Binary, 0.5, false},
		{solver.Binary, -1, false},
	} {
		dense := mat.NewDense(2, 3, []float64{0, 1, 0, 0, 0, c.value})
		sparse, err := linalg.NewCSR(2, 3, []int{0, 1, 2}, []int32{1, 2}, []float64{1, c.value})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []linalg.Operator{linalg.Dense{Dense: dense}, sparse} {
			err := c.domain.Check(x)
			var at *solver.DomainError
			if c.ok != (err == nil) || !c.ok && (!errors.As(err, &at) || at.Row != 1 || at.Col != 2 || !errors.Is(err, solver.ErrDomain)) {
				t.Errorf("%v in %T, %v: error %v", c.value, x, c.domain, err)
			}
		}
	}
}

// Entries that cannot be read are not taken for good ones.
func TestDomainOfUnknownEntries(t *testing.T) {
	t.Parallel()
	x := struct{ linalg.Operator }{linalg.Dense{Dense: mat.NewDense(1, 1, []float64{0.5})}}
	for domain, want := range map[solver.Domain]error{solver.Real: nil, solver.NonNegative: solver.ErrSettings, solver.Binary: solver.ErrSettings} {
		if err := domain.Check(x); !errors.Is(err, want) {
			t.Errorf("%v: error %v, want %v", domain, err, want)
		}
	}
}
