// Package linalg computes with the matrices of package matrix. It has products of sparse and dense matrices, the
// truncated SVD, the polar factor and coordinate descent for the solvers.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). k is the rank.
//
// Products run in parallel over blocks of rows of the result. Every element of a result is summed by one goroutine in
// one fixed order, so the bits do not depend on the number of threads (Threads). They may differ between processor
// architectures, between GOAMD64 levels, and between vector kernels and Go, which fuse multiply and add differently.
//
// On amd64 the products and LogisticTo run in AVX-512 or AVX2, whichever the processor has, with the same bits. On
// other processors, or with the build tag purego, they run in Go. The assembly relies on shapes that were checked
// before, and on the arrays of a matrix.CSR, which never change.
//
// Shape mismatches panic with a constant "linalg: ..." string: they are errors of the calling code, never of
// the data. Constructors that take data from outside return errors. Nothing here reads or writes files.
//
// Functions of this package may change from one release to the next. Callers of the solvers need none of them.
package linalg
