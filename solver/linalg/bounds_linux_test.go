package linalg

import (
	"os"
	"syscall"
	"testing"
	"unsafe"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"
)

// guarded returns n elements that end where memory ends: to read or write
// past them faults.
func guarded[T any](t *testing.T, n int) []T {
	t.Helper()
	var zero T
	page := os.Getpagesize()
	size := n * int(unsafe.Sizeof(zero))
	whole := (size + page - 1) / page * page
	memory, err := syscall.Mmap(-1, 0, whole+page, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := syscall.Munmap(memory); err != nil {
			t.Error(err)
		}
	})
	if err := syscall.Mprotect(memory[whole:], syscall.PROT_NONE); err != nil {
		t.Fatal(err)
	}
	return unsafe.Slice((*T)(unsafe.Pointer(&memory[whole-size])), n)
}

// general returns an r×c matrix whose last element ends where memory ends.
func general(t *testing.T, r, c, margin int) blas64.General {
	t.Helper()
	stride := c + margin
	return blas64.General{Rows: r, Cols: c, Stride: stride, Data: guarded[float64](t, (r-1)*stride+c)}
}

// TestNothingBeyondTheOperands runs the kernels on matrices that end where memory ends; a fault ends the test.
func TestNothingBeyondTheOperands(t *testing.T) {
	t.Parallel()
	for _, l := range levels() {
		for _, m := range []int{1, 2, 3, 5, 7, 9} {
			for _, n := range []int{1, 3, 4, 5, 8, 13, 24, 25} {
				for _, k := range []int{1, 2, 5} {
					for _, margin := range []int{0, 3} {
						a, transpose := general(t, m, k, margin), general(t, k, m, margin)
						b, c := general(t, k, n, margin), general(t, m, n, margin)
						l.multiply(c, rowMajor(a), b, false)
						l.multiply(c, transposed(transpose), b, true)
					}
				}
			}
		}
		for k := range 100 {
			x := &rowsOf{guarded[int](t, 4), guarded[int32](t, 3), guarded[float64](t, 3)}
			copy(x.indptr, []int{0, 1, 1, 3})
			copy(x.indices, []int32{4, 0, 4})
			l.multiplySparse(general(t, 3, k+1, 1), x, general(t, 5, k+1, 1), 0, 3)
			m := guarded[float64](t, k+1)
			l.logisticTo(m, m)
			l.step(&Surrogate{Rho: 1, High: 1}, m, guarded[float64](t, k+1), guarded[float64](t, k+1))
			columns := BoxColumns * (k/10 + 1)
			left, right := general(t, 3, columns, 0), general(t, 3, columns, 0)
			l.improve(&Box{Gram: mat.NewDense(3, 3, nil), Upper: 1, Rounds: 2}, mat.NewDense(3, columns, left.Data),
				mat.NewDense(3, columns, right.Data))
		}
	}
}
