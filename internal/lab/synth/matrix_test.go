package synth

import (
	"bytes"
	"context"
	"errors"
	"math"
	"testing"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver/matrix"
)

func drawn(t *testing.T, s MatrixSettings) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := WriteMatrix(t.Context(), &b, s); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestWriteMatrix(t *testing.T) {
	t.Parallel()
	s := MatrixSettings{Documents: 300, Terms: 200, Topics: 10, Seed: 1}
	data := drawn(t, s)
	read, err := matrixio.ReadMTX(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	x, ok := read.(*matrix.CSR)
	n, p := read.Dims()
	if !ok || n != s.Documents || p != s.Terms {
		t.Fatalf("read %T, want a sparse matrix of %d×%d", read, s.Documents, s.Terms)
	}
	df := make([]int, p)
	_, indices, _ := x.Arrays()
	for _, j := range indices {
		df[j]++
	}
	for i := range n {
		columns, values := x.Row(i)
		if len(values) < 2 || len(values) >= 3*minTokens {
			t.Fatalf("row %d holds %d terms", i, len(values))
		}
		// Without idf the values are counts, divided by the length of the row.
		var squares float64
		counts, least := make([]float64, len(values)), math.Inf(1)
		for c, v := range values {
			squares += v * v
			counts[c] = v / (math.Log(float64(1+n)/float64(1+df[columns[c]])) + 1)
			least = min(least, counts[c])
		}
		if math.Abs(squares-1) > 1e-12 {
			t.Fatalf("row %d has length %v", i, math.Sqrt(squares))
		}
		for _, v := range counts {
			// a term that stands once is in every row here
			if ratio := v / least; math.Abs(ratio-math.Round(ratio)) > 1e-9 {
				t.Fatalf("row %d: counts stand as %v to 1", i, ratio)
			}
		}
	}
	longer := s
	longer.MinTokens = 2 * minTokens
	if read, err := matrixio.ReadMTX(bytes.NewReader(drawn(t, longer))); err != nil ||
		read.(*matrix.CSR).NNZ() < x.NNZ()*3/2 {
		t.Errorf("twice as many tokens: %v, or hardly more entries than %d", err, x.NNZ())
	}
	if again := drawn(t, s); !bytes.Equal(again, data) {
		t.Error("equal seeds give other matrices")
	}
	s.Seed = 2
	if other := drawn(t, s); bytes.Equal(other, data) {
		t.Error("another seed gives the same matrix")
	}
}

func TestWriteMatrixRefuses(t *testing.T) {
	t.Parallel()
	for _, s := range []MatrixSettings{{Terms: 1, Topics: 1}, {Documents: 1, Topics: 1}, {Documents: 1, Terms: 1}, {
		Documents: 1, Terms: 1, Topics: 1, MinTokens: -1,
	}} {
		if err := WriteMatrix(t.Context(), new(bytes.Buffer), s); err == nil {
			t.Errorf("%+v was taken", s)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := WriteMatrix(ctx, new(bytes.Buffer), MatrixSettings{Documents: 1, Terms: 1, Topics: 1}); !errors.Is(err,
		context.Canceled) {
		t.Errorf("got %v", err)
	}
	if err := WriteMatrix(t.Context(), full{}, MatrixSettings{Documents: 1, Terms: 1, Topics: 1}); !errors.Is(err,
		errFull) {
		t.Errorf("got %v", err)
	}
}
