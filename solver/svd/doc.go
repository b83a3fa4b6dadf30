// Package svd computes the truncated singular value decomposition as a factorization:
//
//	minimize ‖X − G·Fᵀ‖² over F, G subject to FᵀF = I.
//
//	usual symbol     here               shape
//	X                X                  n×p, rows are documents
//	V                Topics             p×k, the leading right singular vectors, descending
//	U·S = X·V        Scores             n×k
//
// It is the unconstrained optimum that the other methods are compared with. Each topic has the sign for which its
// positive scores hold more of the squared length than its negative ones. Equal input and settings give equal bits for
// any number of threads.
//
// Source: N. Halko, P. G. Martinsson and J. A. Tropp, "Finding structure with randomness", 2011.
package svd
