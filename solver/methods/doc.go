// Package methods makes a factorization from its name on the command line. A new method is registered here: its name,
// its settings, the input that it takes and the signs of its factors.
//
// The unsupervised methods are those of packages sonmf, nmf and svd; Supervised names those of package smf, which need
// labels. All functions are safe for concurrent use.
package methods
