package solver

import (
	"cmp"
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// ErrDomain is returned for entries of X outside the domain of a method.
var ErrDomain = errors.New("value out of range")

// DomainError is the place of the first entry outside the domain of a method, counted from 0. It wraps ErrDomain.
type DomainError struct {
	Row, Col int
	Value    float64
	Domain   Domain
	Range    string // of a method that takes answers in a range, in place of Domain
}

func (e *DomainError) Error() string {
	return fmt.Sprintf("entry in row %d, column %d is %v, not %v", e.Row, e.Col, e.Value,
		cmp.Or(e.Range, e.Domain.String()))
}

func (e *DomainError) Unwrap() error { return ErrDomain }

// Domain is the set that the entries of X must be from.
type Domain int

// The domains. Every finite number is Real.
const (
	Real        Domain = iota
	NonNegative        // x ≥ 0
	Binary             // x is 0 or 1
)

var domains = [...]struct {
	name  string
	holds func(v float64) bool
}{
	Real:        {"finite", func(v float64) bool { return v-v == 0 }},
	NonNegative: {"non-negative", func(v float64) bool { return v >= 0 }},
	Binary:      {"0 or 1", func(v float64) bool { return v == 0 || v == 1 }},
}

func (d Domain) String() string {
	if d < 0 || int(d) >= len(domains) {
		return unknown.name
	}
	return domains[d].name
}

// Check returns a *DomainError for the first stored entry of X outside the domain, nil if there is none.
func (d Domain) Check(x mat.Matrix) error {
	if at := outside(x, domains[d].holds); at != nil {
		at.Domain = d
		return at
	}
	return nil
}

// outside returns the place of the first stored entry of X that the condition does not hold for, nil if there is none.
func outside(x mat.Matrix, holds func(v float64) bool) *DomainError {
	row := linalg.RowsOf(x)
	n, _ := x.Dims()
	for i := range n {
		columns, values := row(i)
		for j, v := range values {
			if holds(v) {
				continue
			}
			if columns != nil {
				j = int(columns[j])
			}
			return &DomainError{Row: i, Col: j, Value: v}
		}
	}
	return nil
}

// checkFinite returns an error unless the sum of squares of X is finite.
func checkFinite(x matrix.Operator) error {
	if norm := x.NormSquared(); norm-norm == 0 {
		return nil
	}
	return cmp.Or(CheckFinite(x), fmt.Errorf("%w: the sum of squares overflows", ErrNonFinite))
}

// CheckFinite returns a *NonFiniteError for the first entry of X that is NaN or infinite, nil if there is none.
func CheckFinite(x mat.Matrix) error { return nonFinite(x, domains[Real].holds) }

// CheckAnswers is CheckFinite, but NaN is a missing answer.
func CheckAnswers(x mat.Matrix) error {
	return nonFinite(x, func(v float64) bool { return !math.IsInf(v, 0) })
}

func nonFinite(x mat.Matrix, holds func(v float64) bool) error {
	if at := outside(x, holds); at != nil {
		return &NonFiniteError{Row: at.Row, Col: at.Col, Value: at.Value}
	}
	return nil
}
