// Package classifier turns a note into a probability of admission and the reasons for it.
//
// A Model is a linear head over four kinds of features of a note x (a row of p terms):
//
//	logit = intercept + Σ_t β_t·z_t + Σ_j w_j·x_j + Σ_a γ_a·(v_a − v̄_a)
//	z     = Fᵀx                       topic scores (k)
//
// F (p×k) holds the topics, β (k) their coefficients, w (p) the coefficients of single words standing beside
// the topics, v the auxiliary values (age, sex, …), v̄ their training means. The scores are the linear
// projection of the paper (Li et al., SONMF, section 6: G_proj = XᵀF), signed and not truncated, so that every
// contribution is an exact sum:
//
//	contribution of topic t = β_t·z_t = Σ_j β_t·F_jt·x_j
//
// The probability is the calibration map (Platt or isotonic) of the logit.
//
// A Model is immutable and safe for concurrent use. A Scorer holds the scratch memory of one goroutine. The
// prediction is a pure function of model, text and auxiliary values.
package classifier
