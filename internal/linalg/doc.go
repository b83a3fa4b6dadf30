// Package linalg computes with the matrices of package matrix: the products of sparse and dense matrices, and what the solvers
// need besides them, the truncated SVD, the polar factor and coordinate descent.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). k is the rank.
//
// Products run in parallel over blocks of rows of the result. Every element of a result is summed by one
// goroutine in one fixed order, so the bits do not depend on the number of threads (Threads). They may differ between processor
// architectures, between GOAMD64 levels, and between vector kernels and Go, which fuse multiply and add differently.
//
// On amd64 the products and LogisticTo run in AVX-512 or AVX2, whichever the processor has, with the same bits, and
// elsewhere, or with the build tag purego, in Go. The assembly trusts the shapes that were checked and the arrays of a matrix.CSR, which never change.
//
// Shape mismatches panic with a constant "linalg: ..." string: they are errors of the calling code, never of
// the data. Constructors that take data from outside return errors. Nothing here reads or writes files.
package linalg
