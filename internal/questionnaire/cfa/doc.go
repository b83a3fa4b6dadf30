// Package cfa fits confirmatory factor models to answers: maximum likelihood of complete rows (ML), of all answers
// (FIML), and diagonally weighted least squares of polychoric correlations (WLSMV); one group or several, and steps of
// measurement invariance.
//
// Of a group of n participants who answered p items, the model of m factors implies
//
//	Σ = Λ·Ω·Λᵀ + Θ,  μ = ν + Λ·η,  Ω = T·Ψ·Tᵀ,  η = T·α,  T = (I − B)⁻¹,
//
// loadings Λ p×m, residual covariances Θ p×p, intercepts ν p; loadings of factors on factors B m×m, their covariances Ψ
// m×m and means α m: J. J. McArdle and R. P. McDonald, "Some algebraic properties of the reticular action model for
// moment structures", 1984. Ordered answers are those of normal variables y* cut at thresholds τ, and the model is that
// of y*, with scales δ = 1/sd(y*): B. O. Muthén, "A general structural equation model with dichotomous, ordered
// categorical, and continuous latent variable indicators", 1984.
//
//	syntax      the file of the model → lines of terms
//	model       terms, groups and equalities → cells of the matrices, free or fixed
//	moments     values of the cells → Σ, μ and their derivatives; moments_ordered: thresholds, polychoric correlations
//	            and their covariances
//	likelihood  ML and FIML; data: what their fits share
//	ordered     WLSMV
//	fit         the search, standard errors, modification indices
//	measures    χ², CFI, TLI, RMSEA, SRMR
//	invariance  the steps, and the tests of their differences
//	run         a file of answers and a file of the model → the result
//
// Nothing here reads or translates lavaan, whose syntax and defaults are taken from its documentation; the tests
// compare with values that it printed.
package cfa
