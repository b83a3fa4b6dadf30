package factoranalysis

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// Unrotated is a solution of maximum likelihood before its rotation, in the units of Patterns.
type Unrotated struct {
	// Patterns are the answers, in units in which the numbers are near 1; Mean, p, is that of the solution.
	Patterns []Pattern
	Mean     []float64
	// Loadings are p×k, and Residuals the variances that the factors do not explain, p.
	Loadings  *mat.Dense
	Residuals []float64

	near  rotation // of loadings near these
	order []int    // of the rotated factors
}

// Complete reports whether all participants answered all items.
func (u *Unrotated) Complete() bool {
	return len(u.Patterns) == 1 && len(u.Patterns[0].Items) == len(u.Residuals)
}

// difference is the change of a parameter in the derivatives of the rotation, whose own error is about 1e-10.
const difference = 1e-4

// StandardErrors returns the standard errors of the rotated loadings of a Model, p×k, and of the correlations of its
// factors, k×k, nil if the rotation keeps these at 0. The information I of the parameters is that of the likelihood,
// with the loadings by rows first and the residual variances next. With g the map from them to the rotated solution of
// standardized items, the covariances are
//
//	J·(I + Σ κκᵀ)⁻¹·Jᵀ,  J = ∂g,
//
// over the k(k−1)/2 directions κ in which two factors turn in their plane. These change neither the likelihood nor g,
// so that I·κ = 0 and J·κ = 0, and their length does not matter. For a rotation that minimizes a criterion this is what
// R. I. Jennrich, "Standard errors for obliquely rotated factor loadings", 1973, derives from the criterion; J by
// differences is right for promax too, which has none. Both are nil if I has no inverse otherwise.
//
// The cost is (pk)³, and 2p(k+1) rotations near their end.
func (u *Unrotated) StandardErrors(information *mat.SymDense) (loadings, phi *mat.Dense) {
	p, k := u.Loadings.Dims()
	free := information.SymmetricDim()
	all := mat.NewSymDense(free, nil)
	all.CopySym(information)
	for s := range k {
		for t := range s {
			turn := mat.NewVecDense(free, nil)
			for i := range p {
				turn.SetVec(i*k+s, u.Loadings.At(i, t))
				turn.SetVec(i*k+t, -u.Loadings.At(i, s))
			}
			all.SymRankOne(all, mat.Trace(information)/float64(free)/mat.Dot(turn, turn), turn)
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(all) {
		return nil, nil
	}
	_, correlations := u.near(u.Loadings)
	k = len(u.order) // one more than were extracted for RotateBifactor
	derivatives := mat.NewDense(free, len(u.moved(0, 0)), nil)
	for e := range p + len(u.Loadings.RawMatrix().Data) {
		row := derivatives.RawRowView(e)
		floats.SubTo(row, u.moved(e, difference), u.moved(e, -difference))
		floats.Scale(1/(2*difference), row)
	}
	var solved mat.Dense
	if factor.SolveTo(&solved, derivatives) != nil {
		return nil, nil
	}
	_, count := derivatives.Dims()
	errs := make([]float64, count)
	for c := range errs {
		errs[c] = math.Sqrt(max(0, mat.Dot(derivatives.ColView(c), solved.ColView(c))))
	}
	loadings = linalg.SelectColumns(mat.NewDense(p, k, errs[:p*k]), u.order)
	if correlations != nil {
		phi = submatrix(mat.NewDense(k, k, errs[p*k:]), u.order)
	}
	return loadings, phi
}

// moved returns the rotated loadings of standardized items and the correlations of the factors, if they have any, where
// one parameter differs.
func (u *Unrotated) moved(parameter int, by float64) []float64 {
	p, k := u.Loadings.Dims()
	a, residuals := mat.DenseCopyOf(u.Loadings), slices.Clone(u.Residuals)
	if e := parameter - p*k; e >= 0 {
		residuals[e] += by
	} else {
		a.RawMatrix().Data[parameter] += by
	}
	for i, v := range residuals {
		row := a.RawRowView(i)
		floats.Scale(1/math.Sqrt(v+floats.Dot(row, row)), row)
	}
	rotated, phi := u.near(a)
	if phi == nil {
		return rotated.RawMatrix().Data
	}
	return slices.Concat(rotated.RawMatrix().Data, phi.RawMatrix().Data)
}

// turnedFirst returns the rotation of loadings near these, which are turned to their varimax rotation first: rotations
// that begin with it end soon then.
func turnedFirst(rotate rotation, loadings *mat.Dense) rotation {
	_, rotation := Varimax(loadings)
	return func(loadings *mat.Dense) (rotated, phi *mat.Dense) {
		var turned mat.Dense
		turned.Mul(loadings, rotation)
		return rotate(&turned)
	}
}

// near returns the rotation of loadings near these by one step of Newton's method from their axes. The error is of
// second order, and the same on both sides.
func (by *obliquely) near(loadings *mat.Dense) rotation {
	best := by.best(loadings)
	_, k := loadings.Dims()
	axes := best.axes.RawMatrix().Data // rows of k
	// The derivatives of the direction by the axes, which are 0 along the axes themselves.
	hessian := mat.NewDense(k*k, k*k, nil)
	for e := range axes {
		for _, change := range []float64{difference, -difference} {
			moved := mat.DenseCopyOf(best.axes)
			moved.RawMatrix().Data[e] += change
			direction, _ := by.at(loadings, unitColumns(moved)).direction()
			for i, v := range direction.RawMatrix().Data {
				hessian.Set(i, e, hessian.At(i, e)+v/(2*change))
			}
		}
		for s := range k {
			at := s*k + e%k
			hessian.Set(at, e, hessian.At(at, e)+axes[at]*axes[e])
		}
	}
	var factor mat.LU
	factor.Factorize(hessian)
	return func(loadings *mat.Dense) (pattern, phi *mat.Dense) {
		direction, _ := by.at(loadings, best.axes).direction()
		step, next := mat.NewVecDense(k*k, nil), mat.DenseCopyOf(best.axes)
		if factor.SolveVecTo(step, false, mat.NewVecDense(k*k, direction.RawMatrix().Data)) == nil {
			floats.Sub(next.RawMatrix().Data, step.RawVector().Data)
		}
		o := by.at(loadings, unitColumns(next))
		return o.pattern, o.phi()
	}
}
