// Package chooserank is what `wardcast rank` does: a matrix file in, a criterion for each rank and the choice out.
//
//	criterion    methods                  choice
//	bcv          least squares            least error of bi-cross-validation
//	bic          least squares            least BIC₁
//	ccc          scores ≥ 0               largest cophenetic correlation of repeated runs from random starts
//	dispersion   scores ≥ 0               largest dispersion of the same
//	parallel     fa                       eigenvalues above those of random data
//	map          fa                       least mean squared partial correlation
//
// Of equal values the fewest topics are chosen, for ccc and dispersion the most; squared residuals of rounding are equal.
package chooserank
