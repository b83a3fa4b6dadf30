// Package icqf factorizes questionnaires: answers on a bounded scale, some of them missing, and known confounds, into
// factors that are present to a degree in [0, 1] and loadings that read as answer patterns (interpretability
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
// With Settings.Scaled the penalties are
//
//	β·(p/120)(max/2)²‖W‖₁ + β·(n/120)·max·‖[Q, Qc]‖₁ + ½β₂·(p/120)(max/2)²‖W‖² + ½β₂·(n/120)·2·‖[Q, Qc]‖²,
//
// which are those above for 120 items answered 0 to 2. If answers and range are multiplied by c, every term is
// multiplied by c², with the same W and with c·Q; and all terms are proportional to n·p like the squared error. So β
// means the same on every questionnaire. The loadings of an intercept (Data.Intercept) have no penalty.
//
// Departures from the paper, and from the code that its authors published:
//
//   - γ is (n/p)·max as the text has it; the Lagrangian of the paper leaves it out. The penalty on the confounds'
//     loadings is part of the objective, since the updates apply it.
//   - Z is cut to the range after the division of equation 7.
//   - The start sees observed answers alone, a missing one being the mean of its item, and lies in the box: NNDSVD's
//     scores are scaled to at most 1.
//   - An update makes several rounds on the two lasso problems, which cost little compared with the products. For every
//     fixed ρ ≥ √2 the augmented Lagrangian never rises if Z is not cut to the range, the case that the proof covers
//     (its equation 50). If it is cut, multipliers grow until the fit keeps the range, and the Lagrangian rises by at
//     most ρ(z − r)² of each such cell.
//   - FISTA advances its t, and shrinks by the whole weight; algorithm 1 of the paper shrinks by half.
//   - ρ is adapted by the balance of the residuals, not by the spectral rule. It rises if the range is
//     violated, and falls to √2 otherwise. At √2 a fit takes about half of the updates that it takes at 3.
//   - A fit ends after three small changes of the objective in a row: one change of 1e-3 may be just a plateau.
//   - New participants are scored by the exact minimum of their own problem, not by updates of all at once from a
//     neighbour's scores.
//
// Problem.Fit runs the factorization through solver.Solve, with its stopping rules, statuses and trace. It has its own
// Fit because solver.Solve does not accept missing cells.
//
// A missing cell is NaN. Equal input and settings give equal bits for any number of threads. Arguments are never
// modified.
package icqf
