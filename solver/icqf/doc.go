// Package icqf factorizes questionnaires: answers on a bounded scale, some of them missing, and confounds that are known,
// into factors that are present to a degree in [0, 1] and loadings that read as answer patterns (interpretability
// constrained questionnaire factorization; Lam, Mahony, Raznahan and Pereira).
//
//	paper    here                            shape
//	M, 𝓜     Data.Answers, NaN where 𝓜 = 0   n×p (paper: n×m)
//	C        Data.Confounds                  n×c
//	W        Result.Scores                   n×k, in [0, 1]
//	ᴿQ       Model.Loadings                  p×k, ≥ 0
//	ᶜQ       Model.ConfoundLoadings          p×c, ≥ 0
//	β, ρ     Settings.L1, Settings.Rho
//
// The model is the minimum of
//
//	½ Σ (M − R)² + β‖W‖₁ + βγ‖[Q, Qc]‖₁ + ½β₂‖W‖² + ½β₂γ‖[Q, Qc]‖², R = W·Qᵀ + C·Qcᵀ, γ = (n/p)·max,
//
// the sum over observed answers, subject to 0 ≤ W ≤ 1, 0 ≤ Q, Qc (≤ MaxLoading) and min ≤ R ≤ max in every cell,
// observed or not.
//
// What stands at a missing cell is never read. Equal input and settings give equal bits for every GOMAXPROCS, as package
// solver promises. Nothing given is modified.
package icqf
