// Package train trains models from labelled notes: text rows, topics, the logistic head over them, and its calibration.
// It trains one model for all complaints, and a separate model for a complaint wherever it beats the pooled one. It
// also compares methods by cross-validation.
//
// The stages of one model of n notes, p terms, k topics:
//
//	X (n×p)  = textproc.Fit(notes)
//	F (p×k)  = topics of X by a solver method, columns of length 1, in the order of the version before
//	Z (n×k)  = X·F                        the scores that prediction computes (paper section 6)
//	head     = elastic-net path over [Z | X, if words are features | auxiliary features],
//	           λ by cross-validation in stratified folds that never split a patient
//	map      = Platt or isotonic calibration of the out-of-fold logits
//	cut      = threshold chosen on the calibrated out-of-fold probabilities
//
// The model of one complaint corrects that of all, of which ℓ are the log-odds out of fold:
//
//	η = ℓ + γ₀ + xδ          x as above, with topics and vocabulary of the model of all complaints;
//	                         elastic net on δ, of all features or of the fields alone, λ as above. ℓ are calibrated.
//	                         The sum is one head again, with a map of its own only where it needs one (docs/adr/0013).
//
// Supervised factorizations (smf-w, smf-h) find topics and coefficients together, for yes and no or for κ+1 classes:
//
//	ξ, ν, k  = by the log loss held out in stratified folds that never split a patient, unless given
//	F (p×k)  = topics of X by package smf with scaled auxiliary features, all rows, in the gauge in which codes
//	           are X·F; scales of X folded into them, columns of length 1
//	heads    = the coefficients of each class except the reference, on the scores X·F
//	map, cut = as above, from the log-odds of the folds' own topics: F has seen the labels
//
// With them, and with several outcomes, the model of a complaint is trained from its own notes alone.
//
// Bundles hold card and report of each model (Fitted, models/report). Gatekeeper has the gate judge them next to what
// is served. Neither names what fewer than intake.LeastNamed patients share: complaints and levels are text that
// somebody typed.
//
// All of it is a pure function of rows, Settings and the version before: on one architecture equal input gives equal
// bits, whatever GOMAXPROCS is. Without the vector kernels of linalg the bits may be others.
package train
