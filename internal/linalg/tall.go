package linalg

import (
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

const (
	// gramRows is the number of rows whose inner products are summed by one goroutine; maxGramBlocks bounds the
	// partial sums that are held at a time. Both are fixed, so that the sums do not depend on GOMAXPROCS.
	gramRows      = 512
	maxGramBlocks = 32
)

// MulTo stores A·B in dst; A is n×p, B is p×k, dst is n×k and shares no memory with either.
func MulTo(dst, a, b *mat.Dense) {
	dst.Mul(a, b)
}

// GramTo stores AᵀA in dst; A is p×k, dst is k×k. dst is exactly symmetric.
//
// Blocks of rows are summed apart and their sums added in ascending order: the bits do not depend on GOMAXPROCS.
// The cost is p·k²/2 multiply-adds; it allocates at most 32 k×k matrices.
func GramTo(dst, a *mat.Dense) {
	_, k := a.Dims()
	in := a.RawMatrix()
	sumOfBlocks(dst, k, k, in.Rows, func(part blas64.General, from, to int) {
		upper := blas64.Symmetric{N: k, Stride: part.Stride, Data: part.Data, Uplo: blas.Upper}
		blas64.Syrk(blas.Trans, 1, rowRange(in, from, to), 0, upper)
	})
	out := dst.RawMatrix()
	for i := range k {
		for j := range i {
			out.Data[i*out.Stride+j] = out.Data[j*out.Stride+i]
		}
	}
}

// InnerTo stores AᵀB in dst; A is p×k, B is p×l, dst is k×l. It sums as GramTo does, at p·k·l multiply-adds.
func InnerTo(dst, a, b *mat.Dense) {
	_, k := a.Dims()
	_, l := b.Dims()
	left, right := a.RawMatrix(), b.RawMatrix()
	if left.Rows != right.Rows {
		panic(errShape)
	}
	sumOfBlocks(dst, k, l, left.Rows, func(part blas64.General, from, to int) {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, rowRange(left, from, to), rowRange(right, from, to), 0, part)
	})
}

// sumOfBlocks stores in the k×l matrix dst the sum over blocks of the given number of rows of what block stores
// for them.
func sumOfBlocks(dst *mat.Dense, k, l, rows int, block func(part blas64.General, from, to int)) {
	out := dst.RawMatrix()
	if out.Rows != k || out.Cols != l {
		panic(errShape)
	}
	size := max(gramRows, (rows+maxGramBlocks-1)/maxGramBlocks)
	blocks := max(1, (rows+size-1)/size)
	parts := make([]float64, blocks*k*l)
	parallelRows(blocks, rows*k*l, func(from, to int) {
		for b := from; b < to; b++ {
			part := blas64.General{Rows: k, Cols: l, Stride: max(1, l), Data: parts[b*k*l : (b+1)*k*l]}
			block(part, b*size, min((b+1)*size, rows))
		}
	})
	for b := 1; b < blocks; b++ {
		for i, v := range parts[b*k*l : (b+1)*k*l] {
			parts[i] += v
		}
	}
	for i := range k {
		copy(out.Data[i*out.Stride:i*out.Stride+l], parts[i*l:(i+1)*l])
	}
}

// rowRange returns rows [from, to) of a, which they alias.
func rowRange(a blas64.General, from, to int) blas64.General {
	last := from*a.Stride + max(0, to-from-1)*a.Stride + a.Cols
	return blas64.General{Rows: to - from, Cols: a.Cols, Stride: a.Stride, Data: a.Data[from*a.Stride : last]}
}

// Dot returns Σ aᵢⱼ·bᵢⱼ of two matrices of one shape, summed row by row.
func Dot(a, b *mat.Dense) float64 {
	rows, cols := a.Dims()
	if r, c := b.Dims(); r != rows || c != cols {
		panic(errShape)
	}
	var sum float64
	for i := range rows {
		x, y := a.RawRowView(i), b.RawRowView(i)
		sum += blas64.Dot(blas64.Vector{N: len(x), Inc: 1, Data: x}, blas64.Vector{N: len(y), Inc: 1, Data: y})
	}
	return sum
}
