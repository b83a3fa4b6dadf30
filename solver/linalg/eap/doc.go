// Package eap scores answers in ordered categories by the graded response model (F. Samejima, "Estimation of latent
// ability using a response pattern of graded scores", 1969). Package grm fits it; this one needs only its parameters.
//
// Each item j depends on one factor. A participant with value θ of that factor answers in category c or above with
//
//	P(c or above) = σ(a·θ + d_c) = σ(a·(θ − b_c)),  b_c = −d_c/a,  σ(x) = 1/(1 + e⁻ˣ),
//
// and the factors are normal with mean 0, variance 1 and correlations Φ. A score is the posterior mean of its factor
// (expected a posteriori), and its standard error the posterior standard deviation. A missing answer drops out of the
// likelihood.
//
//	symbol   here                 shape
//	a        Model.Slopes         p
//	d        Model.Intercepts     p lists, one shorter than the item's categories
//	Φ        Model.Phi            k×k
//	θ        Posterior.Means      k
//
// The posterior of one factor is computed on a grid of 121 equidistant nodes from −6 to 6. The answers to the other
// factors' items enter as a normal distribution that has the mean and variance of their own posterior (expectation
// propagation, T. P. Minka, 2001). With one factor, or uncorrelated ones, nothing is approximated beside the grid.
//
// A Model is immutable and safe for concurrent use; a Scorer is for one goroutine. Equal input gives equal bits.
package eap
