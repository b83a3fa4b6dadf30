// Package factoranalysis fits exploratory factor analysis as is usual for questionnaires: correlations, factors by
// minimum residuals or maximum likelihood, a rotation, measures of fit and regression scores with their errors. Numbers
// agree with those of R's psych. Package rank chooses the number of factors.
//
// X is n×p, rows are participants, columns are items, NaN is a missing answer. For k factors
//
//	R ≈ ΛΦΛᵀ + Ψ,  Λ is p×k (pattern loadings), Φ is k×k (factor correlations), Ψ is diagonal (uniquenesses).
//
//	symbol   here                      shape
//	R        Correlations.R            p×p
//	Λ        Scorer.Loadings           p×k
//	Φ        Scorer.Phi                k×k
//	ψ        Scorer.Uniquenesses       p
//
// A correlation uses the participants who answered both items; one of full information uses all. Items may be keyed
// either way: the loading of a reverse-keyed item has the other sign.
//
// Arguments are never modified. Equal input gives equal bits for every GOMAXPROCS, on one GOARCH and GOAMD64
// level. All functions are safe for concurrent use.
//
// Sources: H. H. Harman and W. H. Jones, "Factor analysis by minimizing residuals (minres)", 1966. A. E. Hendrickson
// and P. O. White, "Promax: a quick method for rotation to oblique simple structure", 1964. U. Olsson, "Maximum
// likelihood estimation of the polychoric correlation coefficient", 1979.
package factoranalysis
