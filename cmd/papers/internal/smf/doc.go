// Package smf repeats the experiments of J. Lee, H. Lyu and W. Yao, "Exponentially convergent algorithms for supervised
// matrix factorization": Convergence its section 5, and Leukaemia its section 6 on the samples of another study.
//
// Rows of X are documents: images, job postings or samples. The paper's X is the transpose.
//
// Equal settings and seeds give equal numbers for every GOMAXPROCS; only the seconds differ. A run that ends early returns
// what it has.
package smf
