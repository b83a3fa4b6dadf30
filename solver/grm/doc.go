// Package grm fits the graded response model to answers in ordered categories by marginal maximum likelihood. Package
// eap has the model, and scores with it.
//
// X is n×p, rows are participants, columns are items, NaN is a missing answer. The categories of an item are its
// different answers in X. Each item depends on one of k factors; factors are normal and may correlate.
//
// The algorithm is EM (R. D. Bock and M. Aitkin, 1981). The E step computes the posterior of each participant's factors
// on a grid, with several factors as eap says; a missing answer drops out of the likelihood. The M step is Newton's
// method for the slope and the intercepts of each item, whose problem is concave. The variances of the factors are free
// in the M step, and then become 1 by scaling the slopes (parameter expansion, C. Liu, D. B. Rubin and Y. N. Wu, 1998):
// the likelihood stays the same, and fewer steps are needed. Every second step is extrapolated (R. Varadhan and C.
// Roland, 2008), unless that lowers the likelihood.
//
// Standard errors come from the sum of the squares of the participants' gradients of the log-likelihood. With n
// participants and P parameters they are about √(n/(n − P)) times too large, so there are none below n = 2P.
//
// Arguments are never modified. Equal input gives equal bits for every number of threads, on one GOARCH and GOAMD64
// level. All functions are safe for concurrent use.
package grm
