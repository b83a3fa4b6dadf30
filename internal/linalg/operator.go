package linalg

import (
	"runtime"
	"sync"

	"gonum.org/v1/gonum/mat"
)

// Operator is an n×p matrix X that is known by its products. Implementations are immutable and safe for
// concurrent use.
type Operator interface {
	// Dims returns n and p.
	Dims() (n, p int)
	// MulTo stores X·D in dst; D is p×k, dst is n×k and must not share memory with D.
	MulTo(dst, d *mat.Dense)
	// MulTransTo stores Xᵀ·D in dst; D is n×k, dst is p×k and must not share memory with D.
	MulTransTo(dst, d *mat.Dense)
	// NormSquared returns ‖X‖², the sum of the squares of all entries.
	NormSquared() float64
}

const (
	errShape = "linalg: shape mismatch"

	// minParallel is the number of multiply-adds below which a second goroutine costs more than it saves.
	minParallel = 1 << 16
)

// parallelRows calls work for consecutive ranges that cover [0, rows). The ranges only decide which goroutine
// computes a row, never how it is computed.
func parallelRows(rows, flops int, work func(from, to int)) {
	workers := min(runtime.GOMAXPROCS(0), rows)
	if flops < minParallel || workers < 2 {
		work(0, rows)
		return
	}
	// More ranges than workers, because rows of text differ in length.
	chunk := max(1, rows/(8*workers))
	var wg sync.WaitGroup
	next := make(chan int, (rows+chunk-1)/chunk)
	for from := 0; from < rows; from += chunk {
		next <- from
	}
	close(next)
	for range workers {
		wg.Go(func() {
			for from := range next {
				work(from, min(from+chunk, rows))
			}
		})
	}
	wg.Wait()
}

// checkProduct panics unless dst is rows×k and d is inner×k.
func checkProduct(dst, d *mat.Dense, rows, inner int) {
	r, k := dst.Dims()
	di, dk := d.Dims()
	if r != rows || di != inner || k != dk {
		panic(errShape)
	}
}
