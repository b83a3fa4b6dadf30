// Package nmf computes the non-negative matrix factorizations that the semi-orthogonal one is compared with. All
// approximate X by Scores·Topicsᵀ; they differ in the objective and in the factors that may be negative.
//
//	method     minimizes                            topics                scores   X          update
//	NMF        ‖X − G·Fᵀ‖²                          ≥ 0                   ≥ 0      ≥ 0        Lee and Seung 2001
//	ONMF       ‖X − G·Fᵀ‖²                          ≥ 0, near orthogonal  ≥ 0      ≥ 0        Kimura et al. 2015
//	SemiNMF    ‖X − G·Fᵀ‖²                          any sign              ≥ 0      finite     Ding et al. 2010
//	LogNMF     Σ log(1 + eᵐ) − x·m, M = G·Fᵀ        ≥ 0                   any sign  0 or 1    Tomé et al. 2015
//	L1         ½‖X − G·Fᵀ‖² + λ_F‖F‖₁ + λ_G‖G‖₁     ≥ 0                   ≥ 0      ≥ 0        Cichocki and Phan 2009
//
//	papers           here               shape
//	X (p×n)          X, transposed      n×p, rows are documents
//	F (p×k)          Topics             p×k
//	G (n×k)          Scores             n×k
//	K                Settings.Rank      k
//
// Except for LogNMF, X is touched only through X·F and Xᵀ·G, so that an update costs nnz·k and (n+p)·k² multiply-adds
// and a sparse X is never made dense. LogNMF forms every entry of M twice, by tiles: 4·n·p·k multiply-adds and 2·n·p
// logistic functions. Updates allocate nothing of the size of a factor, except for SemiNMF and LogNMF if columns are
// dependent.
//
// Given start factors are used unchanged, except that negative entries become 0 in a factor that must be non-negative.
// If only one factor is given, the other starts as the best one for it.
//
// Sources: D. D. Lee and H. S. Seung, "Algorithms for non-negative matrix factorization", 2001. K. Kimura, M. Kudo and
// Y. Tanaka, "A column-wise update algorithm for nonnegative matrix factorization in Bregman divergence with an
// orthogonal constraint", 2015 (Frobenius case). C. Ding, T. Li and M. I. Jordan, "Convex and semi-nonnegative matrix
// factorizations", 2010. A. M. Tomé, R. Schachtner, V. Vigneron, C. G. Puntonet and E. W. Lang, "A logistic
// non-negative matrix factorization approach to binary data sets", 2015. A. Cichocki and A.-H. Phan, "Fast local
// algorithms for large scale nonnegative matrix and tensor factorizations", 2009.
package nmf
