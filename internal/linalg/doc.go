// Package linalg holds the matrices that every model is computed on: one small operator interface with a
// sparse (CSR) and a dense matrix behind it, and what the solvers need beside products — the truncated SVD
// and the polar factor.
//
// Orientation: X is n×p, rows are documents (participants), columns are terms (items). k is the rank.
//
// Products run in parallel over blocks of rows of the result. Every element of a result is summed by one
// goroutine in one fixed order, so the bits do not depend on GOMAXPROCS. They may differ between processor
// architectures, between GOAMD64 levels, and between vector kernels and Go, which fuse multiply and add differently.
//
// On amd64 the products and LogisticTo run in AVX-512 or AVX2, whichever the processor has, with the same bits, and
// elsewhere, or with the build tag purego, in Go. The assembly trusts the shapes that were checked and the indices of a CSR.
//
// Shape mismatches panic with a constant "linalg: ..." string: they are errors of the calling code, never of
// the data. Constructors that take data from outside return errors. Nothing here reads or writes files.
package linalg
