package linalg

import (
	"runtime"
	"sync"
	"sync/atomic"

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

// RowsOf returns what gives the stored entries of a row of X, ascending by column: nil columns stand for all of them. The
// slices alias X. It is nil for an X of another type than this package's matrices, which is known by its products alone.
func RowsOf(x Operator) func(i int) (columns []int32, values []float64) {
	switch x := x.(type) {
	case *CSR:
		return x.Row
	case Dense:
		return func(i int) ([]int32, []float64) { return nil, x.RawRowView(i) }
	default:
		return nil
	}
}

const (
	errShape  = "linalg: shape mismatch"
	errArrays = "linalg: sparse matrix changed after it was made"

	// minParallel is the number of multiply-adds below which a second goroutine costs more than it saves.
	minParallel = 1 << 16
)

// Parallel calls work for ranges that cover [0, n) and do not meet, on as many goroutines as may run where flops, the
// multiply-adds of all, pay for a second. The ranges depend on GOMAXPROCS: for bits that do not, work must compute element i
// alike in each that holds it, and sums over elements be made afterwards. It returns when all calls have.
func Parallel(n, flops int, work func(from, to int)) { parallelRows(n, flops, ranges(work)) }

type ranges func(from, to int)

func (work ranges) rows(from, to int) { work(from, to) }

// parallelRows calls work.rows for consecutive ranges that cover [0, n). The ranges only decide which goroutine
// computes a row, never how it is computed. It allocates only where there is a second goroutine.
func parallelRows[W interface{ rows(from, to int) }](n, flops int, work W) {
	if workers := min(runtime.GOMAXPROCS(0), n); flops >= minParallel && workers > 1 {
		spread(n, workers, work.rows)
		return
	}
	work.rows(0, n)
}

func spread(n, workers int, work func(from, to int)) {
	// More ranges than workers, because rows of text differ in length.
	chunk := max(1, n/(8*workers))
	var next atomic.Int64
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for {
				to := int(next.Add(int64(chunk)))
				if to-chunk >= n {
					return
				}
				work(to-chunk, min(to, n))
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
