// Package eval measures how well predicted probabilities fit what happened, chooses decision thresholds, and
// splits data into parts that may be compared.
//
// y are the outcomes (true: admitted), p the predicted probabilities in [0,1], one per row. A row is called
// positive at a threshold t when p ≥ t. n, n₁ and n₀ are the numbers of rows, of positive and of negative outcomes.
//
// Invariants: nothing passed in is modified; all functions are safe for concurrent use; results depend on the order of
// the rows by rounding at most, folds on the order, the seed and nothing else. A measure that is undefined for the
// data, as AUROC is for outcomes of one class, is nil in Go and absent in JSON, never NaN. Errors are returned for data
// without any defined measure: no rows, lengths that differ (ErrShape), a probability outside [0,1] (ErrProbability).
package eval
