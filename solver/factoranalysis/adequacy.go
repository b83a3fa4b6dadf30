package factoranalysis

import (
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/wardcast/wardcast/solver/linalg"
)

// KMO returns the Kaiser-Meyer-Olkin measure of sampling adequacy of correlations R, p×p, over all pairs and of each
// item, in [0, 1]. With the partial correlations q of two items given the others, from R⁻¹,
//
//	Σ r_ij²/(Σ r_ij² + Σ q_ij²),  over i ≠ j, or over the pairs of item j.
//
// H. F. Kaiser and J. Rice, "Little Jiffy, Mark IV", 1974. All are NaN if R has no inverse. The cost is p³.
func KMO(r *mat.SymDense) (overall float64, items []float64) {
	p := r.SymmetricDim()
	items = make([]float64, p)
	inverse := linalg.Inverse(r)
	if inverse == nil {
		for j := range items {
			items[j] = math.NaN()
		}
		return math.NaN(), items
	}
	var all, allPartial float64
	for j := range p {
		var squares, partial float64
		for i := range p {
			if i != j {
				squares += r.At(i, j) * r.At(i, j)
				partial += inverse.At(i, j) * inverse.At(i, j) / (inverse.At(i, i) * inverse.At(j, j))
			}
		}
		items[j] = squares / (squares + partial)
		all, allPartial = all+squares, allPartial+partial
	}
	return all / (all + allPartial), items
}

// Bartlett returns the chi-square that tests whether items with correlations R, p×p, of n participants are
// uncorrelated, its p(p−1)/2 degrees of freedom, and the p value:
//
//	χ² = −(n − 1 − (2p+5)/6)·log det R.
//
// M. S. Bartlett, "Tests of significance in factor analysis", 1950. Both are NaN if R has no inverse.
func Bartlett(r *mat.SymDense, n int) (chiSquare float64, df int, probability float64) {
	p := r.SymmetricDim()
	df = p * (p - 1) / 2
	var factor mat.Cholesky
	if !factor.Factorize(r) {
		return math.NaN(), df, math.NaN()
	}
	chiSquare = -(float64(n-1) - float64(2*p+5)/6) * factor.LogDet()
	return chiSquare, df, mathext.GammaIncRegComp(float64(df)/2, max(0, chiSquare)/2)
}
