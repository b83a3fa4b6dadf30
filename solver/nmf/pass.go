package nmf

import (
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
)

// pass goes through the entries of M = A·Bᵀ, block by block.
type pass struct {
	transposed *mat.Dense // Bᵀ, k×c
	sums       []float64  // of each block
	buffers    sync.Pool  // of blocks of M
}

func newPass(rows, cols, k int) *pass {
	return &pass{
		transposed: mat.NewDense(k, cols, nil),
		sums:       make([]float64, (rows+parallelBlock-1)/parallelBlock),
		buffers:    sync.Pool{New: func() any { return mat.NewDense(parallelBlock, cols, nil) }},
	}
}

// run stores σ(M)·B in dst, r×k, and returns Σ log(1 + eᵐ), for A r×k and B c×k. The sums of the blocks are added in
// ascending order. The cost is 2·r·c·k multiply-adds and r·c logistic functions.
func (p *pass) run(dst, a, b *mat.Dense) float64 {
	p.transposed.Copy(b.T())
	rows, k := a.Dims()
	parallel(rows, func(from, to int) {
		buffer := p.buffers.Get().(*mat.Dense)
		defer p.buffers.Put(buffer)
		_, cols := buffer.Dims()
		m := buffer.Slice(0, to-from, 0, cols).(*mat.Dense)
		linalg.MulTo(m, a.Slice(from, to, 0, k).(*mat.Dense), p.transposed)
		data := m.RawMatrix().Data
		p.sums[from/parallelBlock] = linalg.LogisticTo(data, data)
		linalg.MulTo(dst.Slice(from, to, 0, k).(*mat.Dense), m, b)
	})
	var sum float64
	for _, v := range p.sums {
		sum += v
	}
	return sum
}
