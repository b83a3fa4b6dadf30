package smf

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// Range is a closed interval.
type Range struct{ Min, Max float64 }

// Bounds are the convex constraints of UpdateGradient. nil is none. Each update moves A½, B½ and Γ½ into them and then,
// as in algorithm 1, Θ to rank k: Γ keeps to them, A and B as far as that projection leaves them. The objective may rise.
type Bounds struct {
	// A limits the entries of A: Topics·Coefficientsᵀ of SMF-W, Scores·Coefficientsᵀ of SMF-H.
	A *Range
	// B limits the entries of Scores·Topicsᵀ. It needs a dense X and n·p memory.
	B *Range
	// Aux limits the auxiliary coefficients; the intercept is free.
	Aux *Range
}

func (b Bounds) none() bool { return b == Bounds{} }

func (b Bounds) check() error {
	for _, r := range []*Range{b.A, b.B, b.Aux} {
		if r != nil && !(r.Min <= r.Max) {
			return fmt.Errorf("%w: bounds from %v to %v", solver.ErrSettings, r.Min, r.Max)
		}
	}
	return nil
}

// clip moves the entries of a into the range.
func (r *Range) clip(a *mat.Dense) {
	if r == nil {
		return
	}
	rows, _ := a.Dims()
	for i := range rows {
		row := a.RawRowView(i)
		for j, v := range row {
			row[j] = min(max(v, r.Min), r.Max)
		}
	}
}
