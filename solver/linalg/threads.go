package linalg

import (
	"runtime"
	"sync"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
)

// Threads is the largest number of goroutines for a computation; 0 means GOMAXPROCS. Its methods are the products of
// dense matrices. Their bits are the same for every number.
type Threads int

// minParallel is the number of multiply-adds below which a second goroutine costs more than it saves.
const minParallel = 1 << 16

// Limit returns the number of goroutines: at least 1.
func (t Threads) Limit() int {
	if t > 0 {
		return int(t)
	}
	return runtime.GOMAXPROCS(0)
}

// Parallel calls work on disjoint ranges that cover [0, n), on several goroutines if flops, the multiply-adds of all
// calls, is large enough to pay for them. The ranges depend on the number of goroutines: for bits that do not, work
// must compute element i the same way in every range, and the caller must sum over elements afterwards. Parallel
// returns after all calls.
func (t Threads) Parallel(n, flops int, work func(from, to int)) {
	parallelRows(t, n, flops, ranges(work))
}

type ranges func(from, to int)

func (work ranges) rows(from, to int) { work(from, to) }

// parallelRows calls work.rows for consecutive ranges that cover [0, n). The ranges only decide which goroutine
// computes a row, never how. It allocates only if there is a second goroutine.
func parallelRows[W interface{ rows(from, to int) }](t Threads, n, flops int, work W) {
	if flops >= minParallel {
		if workers := min(t.Limit(), n); workers > 1 {
			spread(n, workers, work.rows)
			return
		}
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

// MulTo stores A·B in dst; A is n×p, B is p×k, dst is n×k and shares no memory with either.
//
// It panics if dst is A or B. On one thread nothing is allocated.
func (t Threads) MulTo(dst, a, b *mat.Dense) {
	_, p := a.Dims()
	best.mulTo(t, dst, rowMajor(a.RawMatrix()), a, b, p, false)
}

// AddMulTo adds A·B to dst, under the conditions of MulTo.
func (t Threads) AddMulTo(dst, a, b *mat.Dense) {
	_, p := a.Dims()
	best.mulTo(t, dst, rowMajor(a.RawMatrix()), a, b, p, true)
}

// GramTo stores AᵀA in dst; A is p×k, dst is k×k. dst is exactly symmetric.
//
// Blocks of rows are summed separately and their sums added in ascending order, so the bits do not depend on the number
// of threads. The cost is p·k²/2 multiply-adds; nothing is allocated on one thread.
func (t Threads) GramTo(dst, a *mat.Dense) { best.innerTo(t, dst, a, a, true) }

// Gram returns AᵀA in a new matrix.
func (t Threads) Gram(a *mat.Dense) *mat.Dense {
	_, k := a.Dims()
	gram := mat.NewDense(k, k, nil)
	t.GramTo(gram, a)
	return gram
}

// InnerTo stores AᵀB in dst; A is p×k, B is p×l, dst is k×l. It sums like GramTo, at p·k·l multiply-adds.
func (t Threads) InnerTo(dst, a, b *mat.Dense) { best.innerTo(t, dst, a, b, false) }
