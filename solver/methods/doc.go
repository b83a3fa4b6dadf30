// Package methods makes a factorization from its name on the command line. A new method is registered here: its name,
// its settings, its domain and the signs of its factors.
//
// The unsupervised methods are in packages sonmf, nmf and svd; Supervised returns the names of those in package smf,
// which need labels. All functions are safe for concurrent use.
package methods
