// Package certainty says how sure the loadings of a fit are, and how much each factor explains.
//
// A fit is n participants × p items, with k factors and c columns of confounds. Bootstrap fits participants who are
// drawn anew with replacement, again and again, and reads standard errors and intervals from how the loadings vary.
// Explain divides the explained variance among the factors and the confounds, of the fit and of others.
//
// Equal input, options and seed give equal bits for any number of threads.
//
// Sources: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993; G. Zhang, K. J. Preacher and S.
// Luo, "Bootstrap confidence intervals for ordinary least squares factor loadings and correlations in exploratory
// factor analysis", 2010.
package certainty
