// Package sonmf computes the semi-orthogonal non-negative matrix factorization of a continuous matrix (Method):
//
//	minimize ‖X − G·Fᵀ‖² over F, G subject to FᵀF = I and G ≥ 0,
//
// and of a matrix of 0 and 1 (Binary), where σ(G·Fᵀ) holds the probabilities of 1, σ(m) = 1/(1 + exp(−m)):
//
//	minimize f(F, G) = Σᵢⱼ log(1 + exp(mᵢⱼ)) − xᵢⱼ·mᵢⱼ, M = G·Fᵀ, under the same constraints.
//
//	paper            here               shape
//	X (p×n)          X, transposed      n×p, rows are documents
//	F (p×k)          Topics             p×k, orthonormal columns of either sign
//	G (n×k)          Scores             n×k, non-negative
//	K                Settings.Rank      k
//	τ                Settings.Tau       positive
//	η                BinarySettings.Eta positive
//
// In the continuous case the best G for fixed F is ⟨XF⟩₊, the positive part, which leaves the objective ‖X‖² −
// ‖⟨XF⟩₊‖². There are three steps for F. All of them touch X only through X·F and Xᵀ·G, so that a sparse X is never
// made dense.
//
// Invariants: FᵀF = I to 1e-10 and G ≥ 0 at every iterate. No update raises the objective by more than rounding of
// 1e-14·‖X‖². The returned scores are those of the returned topics. The sign of a topic matters, since the negative
// half of its scores is lost; the start chooses it (solver.Problem.OrthonormalTopics).
//
// Binary computes the cells of M by tiles and never stores them as a whole. Its objective never rises by more than
// rounding of 1e-14·n·p, and no log-odds overflow. It has no minimum if the topics separate documents: the scores of
// these grow until a tolerance or MaxIter ends the run.
//
// Source: J. Y. Li, R. Zhu, A. Qu, H. Ye and Z. Sun, "Semi-orthogonal non-negative matrix factorization with an
// application in text mining", sections 4.1 and 4.2, algorithms 1 and 2.
package sonmf
