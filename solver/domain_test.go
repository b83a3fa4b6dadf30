package solver_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
)

// The first entry outside a domain is reported, for a dense matrix and for a sparse one, whose zeros are in every
// domain.
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
		sparse, err := matrix.NewCSR(2, 3, []int{0, 1, 2}, []int32{1, 2}, []float64{1, c.value})
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range []mat.Matrix{dense, sparse} {
			err := c.domain.Check(x)
			var at *solver.DomainError
			if c.ok != (err == nil) ||
				!c.ok && (!errors.As(err, &at) || at.Row != 1 || at.Col != 2 || !errors.Is(err, solver.ErrDomain)) {
				t.Errorf("%v in %T, %v: error %v", c.value, x, c.domain, err)
			}
		}
	}
}

func TestUnknownDomain(t *testing.T) {
	t.Parallel()
	for _, d := range []solver.Domain{-1, 7} {
		if d.String() != "unknown" {
			t.Errorf("domain %d is %q", int(d), d)
		}
	}
}

// A matrix with only At is read through it.
func TestDomainOfForeignMatrix(t *testing.T) {
	t.Parallel()
	x := struct{ mat.Matrix }{mat.NewDense(1, 1, []float64{0.5})}
	for domain, want := range map[solver.Domain]error{
		solver.Real: nil, solver.NonNegative: nil, solver.Binary: solver.ErrDomain,
	} {
		if err := domain.Check(x); !errors.Is(err, want) {
			t.Errorf("%v: error %v, want %v", domain, err, want)
		}
	}
}
