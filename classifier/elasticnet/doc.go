// Package elasticnet fits the logistic regression that turns features of a note into the log-odds of admission, along a
// path of penalties, and chooses the penalty by cross-validation.
//
// For n documents with labels y ∈ {0,1}, weights w (scaled to Σw = 1) and a design X (n×p), the coefficients β and the
// intercept β₀ at one λ minimize
//
//	−Σ_i w_i [ y_i η_i − ln(1 + exp(η_i)) ] + λ Σ_j v_j [ α|β_j| + (1−α)β_j²/2 ],   η = β₀ + Xβ
//
// where v are the penalty factors (scaled to Σv = p; 0 leaves a column unpenalized) and α mixes lasso (1) and ridge
// (0). The intercept is not penalized. Settings.ByRatio divides factors by what the labels of the fitted rows say of a
// column, and Settings.NotPositive bounds β_j ≤ 0. With Standardize the penalty acts on columns of unit variance
// (divided by n, not n−1); coefficients are always returned for the columns as they were given.
//
// # Method
//
// Coordinate descent on quadratic approximations of the likelihood, each λ starting from the one before (Friedman,
// Hastie & Tibshirani 2010, J. Stat. Softw. 33(1), section 3). Only the columns that the sequential strong rule keeps
// are moved (Tibshirani et al. 2012, JRSS B 74(2), section 7); the Karush-Kuhn-Tucker conditions of the others are
// checked at each λ. Objective, λ sequence and the rules that end a path early are those of R's glmnet, and so are the
// coefficients within the tolerance of both.
//
// Unlike the paper, an approximation keeps its weights while they are close to those of the current estimate; the
// gradient is always exact, so that the fixed point is the same. The design is multiplied by the roots of the weights
// once per change, which leaves a plain dot product and a plain update per coordinate. A step that is too long for the
// approximation is halved until the objective falls.
//
// # Many rows
//
// A Product is a design of many rows that is the product of a sparse matrix with a small one, as topics and pieces of
// words are products of the words of a note. Its Choose minimizes the same objective by limited-memory BFGS with
// orthants (Andrew & Gao 2007, ICML), which needs only products with the two factors: no entry of the design is laid
// out, and the folds share the rows. It fits fewer λ, in larger steps, and looks for the best between them.
//
// # Invariants
//
// Sparse columns are centred and scaled implicitly, never made dense. Nothing passed in is modified. A Design, a
// Product, a Path and a CV are immutable and safe for concurrent use. Results do not depend on GOMAXPROCS: one
// goroutine computes a path, folds are put together in their order, and so are the sums over ranges of the rows of a
// Product.
//
// A column without variance has the coefficient 0; labels of one class are an error; of two equal columns the lasso
// gives the coefficient to the first, within the tolerance; columns that separate the classes end the path as
// Saturated.
package elasticnet
