package matrix

import (
	"errors"
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

func TestNewCSRRefuses(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		n, p    int
		indptr  []int
		indices []int32
		values  []float64
	}{
		"negative size":       {-1, 2, []int{}, nil, nil},
		"negative width":      {0, -1, []int{0}, nil, nil},
		"row starts missing":  {2, 2, []int{0, 0}, nil, nil},
		"a value missing":     {1, 2, []int{0, 1}, []int32{0}, nil},
		"first start":         {1, 2, []int{1, 1}, []int32{0}, []float64{1}},
		"last start":          {1, 2, []int{0, 0}, []int32{0}, []float64{1}},
		"descending starts":   {3, 2, []int{0, 1, 0, 1}, []int32{0}, []float64{1}},
		"start past the end":  {2, 2, []int{0, 9, 1}, []int32{0}, []float64{1}},
		"column out of range": {1, 2, []int{0, 1}, []int32{2}, []float64{1}},
		"negative column":     {1, 2, []int{0, 1}, []int32{-1}, []float64{1}},
		"repeated column":     {1, 2, []int{0, 2}, []int32{1, 1}, []float64{1, 1}},
		"descending columns":  {1, 2, []int{0, 2}, []int32{1, 0}, []float64{1, 1}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := NewCSR(test.n, test.p, test.indptr, test.indices, test.values); !errors.Is(err, ErrFormat) {
				t.Errorf("error %v, want %v", err, ErrFormat)
			}
		})
	}
}

// draw draws a dense matrix of small integers, most of them 0, and the same one without its zeros.
func draw(t *rapid.T) (*mat.Dense, *CSR) {
	size := rapid.IntRange(1, 9)
	n, p := size.Draw(t, "n"), size.Draw(t, "p")
	entry := rapid.SampledFrom([]float64{0, 0, 0, 0, 1, -2, 3})
	dense := mat.NewDense(n, p, rapid.SliceOfN(entry, n*p, n*p).Draw(t, "X"))
	indptr, indices, values := make([]int, n+1), []int32(nil), []float64(nil)
	for i := range n {
		for j, v := range dense.RawRowView(i) {
			if v != 0 {
				indices, values = append(indices, int32(j)), append(values, v)
			}
		}
		indptr[i+1] = len(values)
	}
	sparse, err := NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	return dense, sparse
}

func TestCSRIsTheMatrix(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		dense, x := draw(t)
		if !mat.Equal(x, dense) || !mat.Equal(x.T(), dense.T()) || !mat.Equal(x.Transpose(), dense.T()) ||
			x.T().T() != mat.Matrix(x) {
			t.Errorf("%v, want %v", mat.Formatted(x), mat.Formatted(dense))
		}
		if once := x.Transpose(); once.Transpose() != x || x.Transpose() != once {
			t.Error("the transpose is not shared")
		}
		var squares mat.Dense
		squares.MulElem(dense, dense)
		if got, want := x.NormSquared(), mat.Sum(&squares); got != want {
			t.Errorf("‖X‖² = %g, want %g", got, want)
		}
		n, p := dense.Dims()
		rows := rapid.SliceOf(rapid.IntRange(0, n-1)).Draw(t, "rows")
		selected := x.SelectRows(rows)
		indptr, indices, values := selected.Arrays()
		if _, err := NewCSR(len(rows), p, indptr, indices, values); err != nil || selected.NNZ() != len(values) {
			t.Errorf("selection of %d entries: %v", selected.NNZ(), err)
		}
		for i, r := range rows {
			gotColumns, gotValues := selected.Row(i)
			wantColumns, wantValues := x.Row(r)
			if !slices.Equal(gotColumns, wantColumns) || !slices.Equal(gotValues, wantValues) {
				t.Errorf("row %d of the selection is not row %d", i, r)
			}
		}

		// Every other column, one place apart.
		place, want := make([]int32, p), mat.NewDense(n, p, nil)
		for j := range place {
			place[j] = -1
			if j%2 == 0 {
				place[j] = int32(j / 2)
				want.SetCol(j/2, mat.Col(nil, j, dense))
			}
		}
		if got := x.MapColumns(place, p); !mat.Equal(got, want) {
			t.Errorf("every other column is %v, want %v", mat.Formatted(got), mat.Formatted(want))
		}
	})
}

func TestAtPanicsOutside(t *testing.T) {
	t.Parallel()
	x, err := NewCSR(1, 2, []int{0, 1}, []int32{1}, []float64{math.Pi})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		i, j int
		want error
	}{{1, 0, mat.ErrRowAccess}, {-1, 0, mat.ErrRowAccess}, {0, 2, mat.ErrColAccess}, {0, -1, mat.ErrColAccess}} {
		func() {
			defer func() {
				if got, _ := recover().(error); !errors.Is(got, c.want) {
					t.Errorf("At(%d, %d): panic %v, want %v", c.i, c.j, got, c.want)
				}
			}()
			x.At(c.i, c.j)
		}()
	}
}
