package solver

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// ErrDomain is returned for entries of X outside what a method takes.
var ErrDomain = errors.New("value out of range")

// DomainError tells the first entry that a method does not take, counted from 0. It wraps ErrDomain.
type DomainError struct {
	Row, Col int
	Value    float64
	Domain   Domain
}

// Error returns the position, the value and what is taken.
func (e *DomainError) Error() string {
	return fmt.Sprintf("entry in row %d, column %d is %v, not %v", e.Row, e.Col, e.Value, e.Domain)
}

// Unwrap returns ErrDomain.
func (e *DomainError) Unwrap() error { return ErrDomain }

// Domain is the set that the entries of X must be from.
type Domain int

// The domains. Every finite number is Real.
const (
	Real        Domain = iota
	NonNegative        // x ≥ 0
	Binary             // x is 0 or 1
)

// String returns what an entry of the domain is.
func (d Domain) String() string {
	switch d {
	case NonNegative:
		return "non-negative"
	case Binary:
		return "0 or 1"
	default:
		return "finite"
	}
}

func (d Domain) holds(v float64) bool {
	switch d {
	case NonNegative:
		return v >= 0
	case Binary:
		return v == 0 || v == 1
	default:
		return v-v == 0
	}
}

// Check returns a *DomainError for the first entry of X outside the domain, nil if there is none. It reads each stored
// entry once.
func (d Domain) Check(x mat.Matrix) error {
	row := linalg.RowsOf(x)
	n, _ := x.Dims()
	for i := range n {
		columns, values := row(i)
		for j, v := range values {
			if d.holds(v) {
				continue
			}
			if columns != nil {
				j = int(columns[j])
			}
			return &DomainError{Row: i, Col: j, Value: v, Domain: d}
		}
	}
	return nil
}

// firstNonFinite returns the error for a matrix whose squared norm is not finite.
func firstNonFinite(x mat.Matrix) error {
	if at, ok := errors.AsType[*DomainError](Real.Check(x)); ok {
		return &NonFiniteError{Row: at.Row, Col: at.Col, Value: at.Value}
	}
	return fmt.Errorf("%w: the sum of squares overflows", ErrNonFinite)
}
