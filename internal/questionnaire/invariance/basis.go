package invariance

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/distuv"
)

// basis holds the columns of a linear regression made orthonormal, in their order.
type basis struct{ columns [][]float64 }

// dependent is the share of a column's length below which the residual counts as 0: earlier columns explain the column.
const dependent = 1e-8

// add adds a column, unless the other columns explain it.
func (b *basis) add(x []float64) bool {
	rest := b.residual(x)
	length := floats.Norm(rest, 2)
	if !(length > dependent*floats.Norm(x, 2)) {
		return false
	}
	rest = b.residual(rest) // the second time removes rounding errors
	floats.Scale(1/floats.Norm(rest, 2), rest)
	b.columns = append(b.columns, rest)
	return true
}

// residual returns the part that the columns do not explain.
func (b *basis) residual(x []float64) []float64 {
	rest := slices.Clone(x)
	for _, q := range b.columns {
		floats.AddScaled(rest, -floats.Dot(q, rest), q)
	}
	return rest
}

// wald is the test of the last columns of a basis.
type wald struct {
	effects    []float64
	covariance *mat.SymDense // of the effects, HC3
	squares    float64       // sum of squares that the columns explain
	p          float64
}

// test tests the columns from one on, against all before them. The p value is that of effectsᵀ·covariance⁻¹·effects / q
// under F with q and n − (all columns) degrees of freedom; NaN if undefined.
func (b *basis) test(y []float64, from int) wald {
	last := b.columns[from:]
	e := b.residual(y)
	for i := range e {
		leverage := 0.0
		for _, q := range b.columns {
			leverage += q[i] * q[i]
		}
		if leverage < 1-dependent {
			e[i] /= 1 - leverage
		}
	}
	w := wald{effects: make([]float64, len(last)), covariance: mat.NewSymDense(len(last), nil), p: math.NaN()}
	for s, q := range last {
		w.effects[s] = floats.Dot(q, y)
		w.squares += w.effects[s] * w.effects[s]
		for t, other := range last[:s+1] {
			var sum float64
			for i, v := range e {
				sum += q[i] * other[i] * v * v
			}
			w.covariance.SetSym(s, t, sum)
		}
	}
	free := float64(len(y) - len(b.columns))
	var factor mat.Cholesky
	if free < 1 || !factor.Factorize(w.covariance) {
		return w
	}
	effects, along := mat.NewVecDense(len(last), w.effects), &mat.VecDense{}
	if err := factor.SolveVecTo(along, effects); err != nil {
		return w
	}
	f := mat.Dot(effects, along) / float64(len(last))
	if !math.IsNaN(f) {
		w.p = distuv.F{D1: float64(len(last)), D2: free}.Survival(f)
	}
	return w
}
