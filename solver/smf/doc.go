// Package smf computes supervised matrix factorizations: topics that reconstruct a matrix and predict a label of its
// documents at once. For labels 0 … κ, auxiliary features Z (n×(1+q), the first column is all ones) and a rank k it
// solves
//
//	minimize Σ wᵢ·ℓ(yᵢ, aᵢ) + ξ·‖X − Scores·Topicsᵀ‖² + ν·(‖A‖² + ‖Γ‖²)
//
//	SMF-W: A = Topics·Coefficientsᵀ (p×κ), aᵢ = Aᵀxᵢ + Γᵀzᵢ
//	SMF-H: A = Scores·Coefficientsᵀ (n×κ), aᵢ = the i-th row of A + Γᵀzᵢ
//
// where ℓ is the multinomial logistic loss log(1 + Σ exp(a_c)) − a_y with reference class 0, a₀ = 0.
//
//	paper              here                         shape
//	X (p×n)            X, transposed                n×p, rows are documents
//	W (p×r)            Topics                       p×k
//	H (r×n)            Scores, transposed           n×k
//	β (r×κ)            Head.Coefficients            κ×k
//	Γ (q×κ)            Head.AuxCoefficients         κ×q; the paper has no intercept,
//	                   and Head.Intercept           κ values: the coefficients of the ones in Z
//	Y                  Data.Labels                  n
//	ξ, ν, τ            Settings.Xi, Ridge, Step     the loss is a sum: all three scale with n
//	r                  solver.Settings.Rank         k
//
// Let Θ stack A and B = Scores·Topicsᵀ. Without the constraint rank(Θ) ≤ k the problem is convex in Θ and Γ. Both
// variants are one problem for a d×e matrix X̂, which is Xᵀ for SMF-W and X for SMF-H, and Θ = [A, B] = Q·[b, Yᵀ] with
// an orthonormal d×k basis Q: of the topics for SMF-W, of the scores for SMF-H. X is only multiplied, never made dense.
//
// Results have the gauge of the singular value decomposition Θ = U·S·Vᵀ, both factors scaled by √S: strongest topic
// first, and the entry of largest magnitude in each left singular vector positive. (The left vectors are the paper's:
// of the topics for SMF-W, of coefficients and topics for SMF-H.)
//
// Source: J. Lee, H. Lyu and W. Yao, "Exponentially convergent algorithms for supervised matrix factorization", 2023.
package smf
