// Package sonmf repeats the experiments of J. Y. Li, R. Zhu, A. Qu, H. Ye and Z. Sun, "Semi-orthogonal non-negative matrix
// factorization with an application in text mining": Simulations its sections 5 and 8.2 to 8.4, and Triage its section 6
// on any labelled notes.
//
// X is n×p with X = G·Fᵀ + E, so that rows are documents; the paper's X is the transpose. F is p×k (topics), G is n×k
// (scores).
//
// Equal settings and seeds give equal numbers for every GOMAXPROCS; only the seconds differ. A run that ends early returns
// what it has.
package sonmf
