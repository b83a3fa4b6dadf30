package matrix

import "gonum.org/v1/gonum/mat"

// Operator is an n×p matrix X with its own products. Implementations are immutable and safe for concurrent use.
type Operator interface {
	mat.Matrix
	Products
}

// Products are the products of an n×p matrix X.
type Products interface {
	Dims() (n, p int)
	// MulTo stores X·D in dst; D is p×k, dst is n×k and must not share memory with D.
	MulTo(dst, d *mat.Dense)
	// MulTransTo stores Xᵀ·D in dst; D is n×k, dst is p×k and must not share memory with D.
	MulTransTo(dst, d *mat.Dense)
	// NormSquared returns ‖X‖², the sum of the squares of all entries.
	NormSquared() float64
}

// Rows is a matrix whose entries can be read by rows. An Operator may implement it for the methods that look at single
// entries; for those, an Operator that does not is copied through At.
type Rows interface {
	// Row returns the stored entries of row i, ascending by column; nil columns mean that all of them are stored. The
	// slices must not be modified.
	Row(i int) (columns []int32, values []float64)
}
