package matrixio

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/matrix"
)

// checkRead fails unless x is a sound matrix or err a *table.Error with a reason.
func checkRead(t *testing.T, x mat.Matrix, err error) {
	t.Helper()
	if err != nil {
		if _, ok := errors.AsType[*table.Error](err); !ok {
			t.Errorf("error %v of type %T, want a *table.Error", err, err)
		}
		return
	}
	n, p := x.Dims()
	if n < 1 || p < 1 {
		t.Fatalf("a matrix of %d×%d", n, p)
	}
	values := []float64{}
	switch x := x.(type) {
	case *matrix.CSR:
		indptr, indices, stored := x.Arrays()
		if _, err := matrix.NewCSR(n, p, indptr, indices, stored); err != nil {
			t.Error(err)
		}
		values = stored
	case *mat.Dense:
		values = x.RawMatrix().Data
	}
	for _, v := range values {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			t.Errorf("an entry is %g", v)
		}
	}
}

func FuzzReadMTX(f *testing.F) {
	f.Fuzz(func(t *testing.T, in []byte) {
		x, err := ReadMTX(bytes.NewReader(in))
		checkRead(t, x, err)
	})
}

func FuzzReadCSV(f *testing.F) {
	f.Fuzz(func(t *testing.T, in []byte) { checkDense(t, in, readCSV) })
}

func FuzzReadNPY(f *testing.F) {
	f.Fuzz(func(t *testing.T, in []byte) { checkDense(t, in, readNPY) })
}

// checkDense also makes sure that what was read survives being written as an array.
func checkDense(t *testing.T, in []byte, read func(io.Reader) (mat.Matrix, error)) {
	t.Helper()
	x, err := read(bytes.NewReader(in))
	checkRead(t, x, err)
	if err != nil {
		return
	}
	again, err := readNPY(bytes.NewReader(array(x.(*mat.Dense))))
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(x, again) {
		t.Error("the matrix changes when it is written and read")
	}
}
