package icqf

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"
)

func shared(t testing.TB, name string, header bool, from int) *mat.Dense {
	t.Helper()
	root := os.Getenv("WARDCAST_SHARED")
	if root == "" {
		t.Skip("WARDCAST_SHARED is not set")
	}
	f, err := os.Open(filepath.Join(root, "cases/icqf", name))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if header {
		rows = rows[1:]
	}
	out := mat.NewDense(len(rows), len(rows[0])-from, nil)
	for i, row := range rows {
		for j, s := range row[from:] {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil {
				v = math.NaN()
				switch s {
				case "F":
					v = 1
				case "M":
					v = 0
				}
			}
			out.Set(i, j, v)
		}
	}
	return out
}

func large(t testing.TB, part string) Data {
	m := shared(t, "large/"+part+"_M.csv.gz", true, 1)
	raw := shared(t, "large/"+part+"_confounds.csv.gz", true, 1)
	train := shared(t, "large/train_confounds.csv.gz", true, 1)
	lo, hi := mat.Min(train.ColView(0).T()), mat.Max(train.ColView(0).T())
	n, _ := m.Dims()
	c := mat.NewDense(n, 5, nil)
	for i := range n {
		a := (raw.At(i, 0) - lo) / (hi - lo)
		c.SetRow(i, []float64{1 - a, a, raw.At(i, 1), 1 - raw.At(i, 1), 1})
	}
	return Data{Answers: m, Confounds: c, Max: 2}
}

func TestTry(t *testing.T) {
	data := large(t, "train")
	for _, tol := range []float64{1e-4, 1e-5, 1e-6, 1e-8} {
		start := time.Now()
		r, err := Fit(t.Context(), data, Settings{Rank: 8, L1: .1, RelTol: tol, MaxIter: 2000})
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(tol, r.Objective, r.Outside, r.Iterations, r.Status, r.Seconds, time.Since(start))
	}
}
