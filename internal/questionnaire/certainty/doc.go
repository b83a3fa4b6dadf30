// Package certainty estimates the precision of the loadings of a fit, and the variance that each factor explains.
//
// A fit is n participants × p items, with k factors and c columns of confounds. Bootstrap fits samples of the
// participants, drawn with replacement, for standard errors and intervals of the loadings. Explain divides the
// explained variance among factors and confounds, and CrossValidate does so for participants outside the fit.
//
// Equal input, options and seed give equal bits for any number of threads.
//
// Sources: B. Efron and R. J. Tibshirani, "An Introduction to the Bootstrap", 1993; G. Zhang, K. J. Preacher and S.
// Luo, "Bootstrap confidence intervals for ordinary least squares factor loadings and correlations in exploratory
// factor analysis", 2010.
package certainty
