// Package sonmf computes the semi-orthogonal non-negative matrix factorization of a continuous matrix:
//
//	minimize ‖X − G·Fᵀ‖² over F, G subject to FᵀF = I and G ≥ 0.
//
//	paper            here               shape
//	X (p×n)          X, transposed      n×p, rows are documents
//	F (p×k)          Topics             p×k, orthonormal columns of either sign
//	G (n×k)          Scores             n×k, non-negative
//	K                Settings.Rank      k
//	τ                Settings.Tau       positive
//
// For fixed F the best G is ⟨XF⟩₊, the positive part, which leaves the objective ‖X‖² − ‖⟨XF⟩₊‖². Three steps for F
// are offered; all of them touch X only through X·F and Xᵀ·G, so that a sparse X is never made dense.
//
// Invariants: FᵀF = I to 1e-10 and G ≥ 0 at every iterate; no update raises the objective, but for rounding of
// 1e-14·‖X‖². The returned scores are those of the returned topics. The sign of a topic matters, since the negative
// half of its scores is lost; the start chooses it (solver.Problem.OrthonormalTopics).
//
// Source: J. Y. Li, R. Zhu, A. Qu, H. Ye and Z. Sun, "Semi-orthogonal non-negative matrix factorization with an
// application in text mining", section 4.1 and algorithm 1.
package sonmf
