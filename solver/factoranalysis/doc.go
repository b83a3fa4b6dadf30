// Package factoranalysis is exploratory factor analysis as it is common for questionnaires: correlations, minimum residual
// factors, promax and regression scores. Package rank has the rules for the number of factors.
//
// X is n×p, rows are participants, columns are items, NaN is a missing answer. For k factors
//
//	R ≈ ΛΦΛᵀ + Ψ,  Λ is p×k (pattern loadings), Φ is k×k (factor correlations), Ψ is diagonal (uniquenesses).
//
//	symbol   here                      shape
//	R        Correlations.R            p×p
//	Λ        Model.Loadings            p×k
//	Φ        Model.Phi                 k×k
//	ψ        Model.Uniquenesses        p
//
// A correlation uses the participants who answered both items. Items may be keyed either way: an item that was not reversed
// has a loading of the other sign.
//
// Arguments are never modified. Equal input and seed give equal bits for every GOMAXPROCS, on one GOARCH and GOAMD64
// level. All functions are safe for concurrent use.
package factoranalysis
