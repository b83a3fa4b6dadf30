// Package elasticnet fits the logistic regression that turns a note's topic scores, single terms and auxiliary
// values into the log-odds of admission, along a path of penalties, and chooses the penalty by cross-validation.
//
// For n documents with labels y ∈ {0,1}, weights w (scaled to Σw = 1) and a design X (n×p), the coefficients β
// and the intercept β₀ at one λ minimize
//
//	−Σ_i w_i [ y_i η_i − ln(1 + exp(η_i)) ] + λ Σ_j v_j [ α|β_j| + (1−α)β_j²/2 ],   η = β₀ + Xβ
//
// where v are the penalty factors (scaled to Σv = p; 0 leaves a column unpenalized) and α mixes lasso (1) and
// ridge (0). The intercept is never penalized. With Standardize the penalty acts on columns of unit variance
// (divided by n, not n−1); coefficients are always returned for the columns as they were given.
//
// # Method
//
// Coordinate descent on quadratic approximations of the likelihood, warm-started along a falling sequence of λ
// (Friedman, Hastie & Tibshirani 2010, J. Stat. Softw. 33(1), section 3), on the columns that the sequential
// strong rule keeps (Tibshirani et al. 2012, JRSS B 74(2), section 7), each λ confirmed by the
// Karush-Kuhn-Tucker conditions of the columns left out. The objective, the λ sequence and the rules that end a
// path early are those of R's glmnet, and so are the coefficients within the tolerance of both.
//
// Departures from the paper: the weights of the quadratic approximation are kept while they are close to those of
// the current estimate (the gradient is always exact, so the fixed point is the same); the design is multiplied by
// their root once per change, which leaves one plain dot product and one plain update per coordinate; and a step
// too large for the quadratic model to be trusted is halved until the objective falls.
//
// # Invariants
//
// Sparse columns are centred and scaled implicitly and are never made dense. Nothing passed in is modified.
// A Design, a Path and a CV are immutable and safe for concurrent use. Results are the same bits for every
// GOMAXPROCS: a path is computed by one goroutine, and folds are put together in their order.
//
// Degenerate input: a column without variance gets the coefficient 0; labels of one class are an error; of two
// equal columns the lasso gives the coefficient to the first, within the tolerance, as coordinate descent meets
// it first; data that the columns separate end the path early with the status Saturated.
package elasticnet
