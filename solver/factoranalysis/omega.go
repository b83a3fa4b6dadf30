package factoranalysis

import (
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Reliability is the reliability of the sum of p items by their factors.
type Reliability struct {
	// Total is ω_t, the share of the variance of the sum that common factors explain.
	Total float64
	// Hierarchical is ω_h, the share that the general factor explains.
	Hierarchical float64
	// General holds the loadings of the items on the general factor, p, and Group those on the k group factors, p×k,
	// which are uncorrelated with it and with one another.
	General []float64
	Group   *mat.Dense
	// Reversed lists the items that were reversed, since they loaded negatively on the general factor; ascending.
	Reversed []int
}

// Omega returns McDonald's ω of the sum of p items with correlations R, p×p: k minres factors, 1 ≤ k < p, rotated by
// Oblimin, whose correlations Φ have a general factor of loadings g. As in J. Schmid and J. M. Leiman, "The development
// of hierarchical factor solutions", 1957, the general factor loads Λg on the items, and group factor t √(1−g_t²)·λ_t.
// Then
//
//	ω_h = (Σ Λg)²/ΣR,  ω_t = 1 − Σψ/ΣR
//
// (R. P. McDonald, "Test theory", 1999; R. E. Zinbarg et al., 2005). Items that load negatively on the general factor
// are reversed first. Three or more factors give g by minres. Two do not identify it: both loadings are √|φ|, the
// second with the sign of φ. One factor is the general factor itself, and Group is 0.
//
// The error wraps solver.ErrSettings for a wrong number of factors, and is the cause of ctx when ctx ends.
func Omega(ctx context.Context, r *mat.SymDense, k int) (*Reliability, error) {
	p := r.SymmetricDim()
	if k < 1 || k >= p {
		return nil, fmt.Errorf("%w: %d factors for %d items", solver.ErrSettings, k, p)
	}
	e, err := extract(ctx, r, k, Minres)
	if err != nil {
		return nil, fmt.Errorf("factoring: %w", err)
	}
	all, o := schmidLeiman(Oblimin(e.loadings)), &Reliability{}
	o.General, o.Group = mat.Col(nil, 0, all), mat.DenseCopyOf(all.Slice(0, p, 1, k+1))
	signs := make([]float64, p)
	for j, v := range o.General {
		if signs[j] = 1; v < 0 {
			signs[j] = -1
			o.Reversed = append(o.Reversed, j)
			o.General[j] = -v
			floats.Scale(-1, o.Group.RawRowView(j))
		}
	}
	var variance float64
	for i := range p {
		for j := range p {
			variance += signs[i] * signs[j] * r.At(i, j)
		}
	}
	general := floats.Sum(o.General)
	o.Hierarchical, o.Total = general*general/variance, 1-floats.Sum(e.uniquenesses)/variance
	return o, nil
}

// schmidLeiman returns the loadings, p×(k+1), of a general factor, with a sum of 0 or more, and of k group factors, all
// uncorrelated, from a pattern, p×k, of factors with correlations Φ.
func schmidLeiman(pattern, phi *mat.Dense) *mat.Dense {
	_, k := pattern.Dims()
	second := &extraction{loadings: mat.NewDense(k, 1, nil)}
	switch k {
	case 1:
		second.loadings.Set(0, 0, 1)
	case 2:
		v := phi.At(0, 1)
		second.loadings.SetCol(0, []float64{math.Sqrt(math.Abs(v)), math.Copysign(math.Sqrt(math.Abs(v)), v)})
	default: // it ends in an instant, and does so well unless Φ has NaN
		if e, err := extract(context.Background(), symmetric(phi, make([]float64, k)), 1, Minres); err == nil {
			second = e
		}
	}
	var general, all mat.Dense
	general.Mul(pattern, second.loadings)
	general.Scale(math.Copysign(1, mat.Sum(&general)), &general)
	group := linalg.NewLike(pattern)
	linalg.ScaleColumns(group, pattern, lists.Map(second.loadings.RawMatrix().Data,
		func(v float64) float64 { return math.Sqrt(max(0, 1-v*v)) }))
	all.Augment(&general, group)
	return &all
}

// bifactor is the rotation of k factors to the k+1 of schmidLeiman by oblimin, and near that of loadings near these.
func bifactor(loadings *mat.Dense) (rotated, phi *mat.Dense) {
	return schmidLeiman(Oblimin(loadings)), nil
}

func nearBifactor(loadings *mat.Dense) rotation {
	near := oblimin.near(loadings)
	return func(loadings *mat.Dense) (rotated, phi *mat.Dense) { return schmidLeiman(near(loadings)), nil }
}
