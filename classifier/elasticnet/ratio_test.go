package elasticnet_test

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/solver/matrix"
)

// planted returns n rows of p words, of which the first raises the risk, the second lowers it, the third raises it a
// little, and the others say nothing; and folds.
func planted(t *testing.T, n, p int) (x *matrix.CSR, y []bool, foldOf []int) {
	t.Helper()
	random := rand.New(rand.NewPCG(3, 4))
	indptr, indices, values := []int{0}, []int32{}, []float64{}
	for i := range n {
		eta := -1.0
		for j := range p {
			if random.IntN(10) > 0 {
				continue
			}
			indices, values = append(indices, int32(j)), append(values, 0.5+random.Float64()/10)
			if j < 3 {
				eta += []float64{2, -2, 1}[j]
			}
		}
		indptr = append(indptr, len(indices))
		y = append(y, random.Float64() < 1/(1+math.Exp(-eta)))
		foldOf = append(foldOf, i%3)
	}
	x, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	return x, y, foldOf
}

func product(t *testing.T, x *matrix.CSR) *elasticnet.Product {
	t.Helper()
	n, p := x.Dims()
	starts, columns, values := []int{0}, []int32{}, []float32{}
	for i := range n {
		at, v := x.Row(i)
		columns = append(columns, at...)
		for _, value := range v {
			values = append(values, float32(value))
		}
		starts = append(starts, len(columns))
	}
	indptr, indices, ones := []int{0}, []int32{}, []float64{}
	for j := range p {
		indices, ones = append(indices, int32(j)), append(ones, 1)
		indptr = append(indptr, j+1)
	}
	identity, err := matrix.NewCSR(p, p, indptr, indices, ones)
	if err != nil {
		t.Fatal(err)
	}
	out, err := elasticnet.NewProduct(starts, columns, values, identity)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func marks(p int, marked ...int) []bool {
	out := make([]bool, p)
	for _, j := range marked {
		out[j] = true
	}
	return out
}

// TestByRatio: the planted columns are shrunk less next to those that say nothing, by the same factors laid out and as
// a product, and with the same bits for any number of threads.
//
//nolint:paralleltest // it sets GOMAXPROCS
func TestByRatio(t *testing.T) {
	const n, p = 1500, 40
	x, y, foldOf := planted(t, n, p)
	every := make([]bool, p)
	for j := range every {
		every[j] = true
	}
	design, err := elasticnet.NewDesign(x)
	if err != nil {
		t.Fatal(err)
	}
	problem := elasticnet.Problem{Design: design, Y: y}
	fit := func(byRatio []bool) []float64 {
		path, err := elasticnet.Fit(t.Context(), problem, elasticnet.Settings{
			Alpha: 0.02, Lambda: []float64{0.01}, ByRatio: byRatio, Tolerance: 1e-10,
		})
		if err != nil {
			t.Fatal(err)
		}
		return path.Dense(0)
	}
	noise := func(beta []float64) float64 {
		var sum float64
		for _, b := range beta[3:] {
			sum += math.Abs(b)
		}
		return sum / (beta[0] - beta[1] + beta[2])
	}
	plain, weighted := fit(nil), fit(every)
	if noise(weighted) > 0.7*noise(plain) {
		t.Errorf("columns that say nothing have %.3f of the planted coefficients, without the ratio %.3f",
			noise(weighted), noise(plain))
	}

	factored := product(t, x)
	s := elasticnet.Settings{Alpha: 0.02, ByRatio: every, Tolerance: 1e-9, NLambda: 50, NotPositive: marks(p, 2)}
	choose := func(threads int) *elasticnet.Choice {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		choice, err := factored.Choose(t.Context(), y, foldOf, s)
		if err != nil {
			t.Fatal(err)
		}
		return choice
	}
	one, several := choose(1), choose(3)
	s.Lambda = []float64{one.Lambda[one.At]}
	path, err := elasticnet.Fit(t.Context(), problem, s)
	if err != nil {
		t.Fatal(err)
	}
	laid := path.Dense(0)
	for j, b := range one.Coefficients {
		if b != several.Coefficients[j] {
			t.Errorf("column %d: %v by one thread, %v by three", j, b, several.Coefficients[j])
		}
		if math.Abs(b-laid[j]) > 1e-3 {
			t.Errorf("column %d: %v as a product, %v laid out", j, b, laid[j])
		}
	}
}

// TestNotPositive: a marked column that would raise the log-odds has the coefficient 0, one that lowers them keeps its
// own, and the others are those of a fit without the first.
func TestNotPositive(t *testing.T) {
	t.Parallel()
	const n, p = 1500, 10
	x, y, foldOf := planted(t, n, p)
	design, err := elasticnet.NewDesign(x)
	if err != nil {
		t.Fatal(err)
	}
	fit := func(s elasticnet.Settings) []float64 {
		s.Alpha, s.Lambda, s.Tolerance = 0.1, []float64{0.01}, 1e-12
		path, err := elasticnet.Fit(t.Context(), elasticnet.Problem{Design: design, Y: y}, s)
		if err != nil {
			t.Fatal(err)
		}
		return path.Dense(0)
	}
	got := fit(elasticnet.Settings{NotPositive: marks(p, 1, 2)})
	if got[2] != 0 || got[0] < 0.5 || got[1] > -0.2 {
		t.Errorf("planted columns have %.3f, want a positive one, a negative one and 0", got[:3])
	}
	choice, err := product(t, x).Choose(t.Context(), y, foldOf, elasticnet.Settings{
		Alpha: 0.1, NotPositive: marks(p, 1, 2), Tolerance: 1e-9,
	})
	if err != nil {
		t.Fatal(err)
	}
	if b := choice.Coefficients; b[2] != 0 || b[0] < 0.5 || b[1] > -0.2 {
		t.Errorf("as a product planted columns have %.3f, want a positive one, a negative one and 0", b[:3])
	}
}
