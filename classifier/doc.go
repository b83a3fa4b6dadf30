// Package classifier turns a note into a probability of admission and the reasons for it.
//
// A Model is a linear head over four kinds of features of a note x (a row of p terms):
//
//	logit = intercept + Σ_t β_t·z_t + Σ_j w_j·x_j + Σ_a γ_a·(v_a − v̄_a)
//	z     = Fᵀx                       topic scores (k)
//
// F (p×k) holds the topics, β (k) their coefficients, w (p) the coefficients of single words next to the topics, v the
// auxiliary values (age, sex, …), v̄ their training means. The scores are the linear projection of the paper (Li et
// al., SONMF, section 6: G_proj = XᵀF), signed and not truncated, so that every contribution is an exact sum:
//
//	contribution of topic t = β_t·z_t = Σ_j β_t·F_jt·x_j
//
// The probability is the calibration map (Platt or isotonic) of the logit.
//
// A model of several outcomes has such a head for each class except the reference, over the same scores. Its logit η_c
// is the log-odds of class c against the reference. The probabilities are the softmax of 0, for the reference, and of
// the calibrated η; see CalibrateTo. The decision is to admit if the probabilities of the classes that mean admission
// sum to the threshold or more. A class is explained against the reference, and the reference against the most probable
// other class.
//
// The prediction is a pure function of model, text and auxiliary values.
package classifier
