package elasticnet

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats/scalar"

	"github.com/wardcast/wardcast/solver/matrix"
)

// product draws n notes of words, each of which has pieces, and their labels. laid is the same design with its entries laid out.
func product(t testing.TB, n, words, pieces int) (x *Product, laid *Design, y []bool, foldOf []int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	indptr, columns, values := []int{0}, []int32{}, []float64{}
	weight := make([]float64, pieces)
	for g := range weight {
		weight[g] = random.NormFloat64()
	}
	effect := make([]float64, words)
	for j := range words {
		from := random.IntN(pieces - 6)
		for g := range 6 {
			columns, values = append(columns, int32(from+g)), append(values, 0.4)
			effect[j] += 0.4 * weight[from+g]
		}
		columns, values = append(columns, int32(pieces+j)), append(values, 1)
		indptr = append(indptr, len(values))
	}
	features, err := matrix.NewCSR(words, pieces+words, indptr, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	starts, at, entries := []int{0}, []int32{}, []float32{}
	full := []int{0}
	var fullColumns []int32
	var fullValues []float64
	for i := range n {
		row := make([]float64, pieces+words)
		eta := -1.0
		seen := map[int]bool{}
		for range 8 {
			j := int(float64(words) * math.Pow(random.Float64(), 2))
			if seen[j] {
				continue
			}
			seen[j] = true
			v := float32(0.2 + random.Float64()/3)
			at, entries = append(at, int32(j)), append(entries, v)
			eta += float64(v) * effect[j]
			c, w := features.Row(j)
			for e, g := range c {
				row[g] += w[e] * float64(v)
			}
		}
		starts = append(starts, len(at))
		for j, v := range row {
			if v != 0 {
				fullColumns, fullValues = append(fullColumns, int32(j)), append(fullValues, v)
			}
		}
		full = append(full, len(fullValues))
		y, foldOf = append(y, random.Float64() < 1/(1+math.Exp(-eta))), append(foldOf, i%5)
	}
	if x, err = NewProduct(starts, at, entries, features); err != nil {
		t.Fatal(err)
	}
	dense, err := matrix.NewCSR(n, pieces+words, full, fullColumns, fullValues)
	if err != nil {
		t.Fatal(err)
	}
	if laid, err = NewDesign(dense); err != nil {
		t.Fatal(err)
	}
	return x, laid, y, foldOf
}

func TestProductFitsAsTheDesign(t *testing.T) {
	t.Parallel()
	x, laid, y, foldOf := product(t, 3000, 200, 150)
	for _, alpha := range []float64{0, 0.1, 0.5, 1} {
		for _, free := range []bool{false, true} {
			t.Run(fmt.Sprintf("alpha=%v/free=%v", alpha, free), func(t *testing.T) {
				t.Parallel()
				s := Settings{Alpha: alpha, Tolerance: 1e-9, NLambda: 50, Turn: true}
				if free {
					s.PenaltyFactors = make([]float64, 350)
					for j := range 340 {
						s.PenaltyFactors[j] = 1
					}
				}
				got, err := x.Choose(context.Background(), y, foldOf, s, false)
				if err != nil {
					t.Fatal(err)
				}
				s.Lambda = got.Lambda
				s.Turn = false
				s.Tolerance = 1e-12
				want, err := CrossValidate(context.Background(), Problem{Design: laid, Y: y}, foldOf, s)
				if err != nil {
					t.Fatal(err)
				}
				beta := want.Dense(got.At)
				for j, b := range got.Coefficients {
					if !scalar.EqualWithinAbsOrRel(b, beta[j], 2e-3, 2e-3) {
						t.Errorf("coefficient %d is %v, want %v", j, b, beta[j])
					}
				}
				for l, d := range got.Deviance {
					if math.Abs(d-want.Deviance[l]) > 1e-6 {
						t.Errorf("deviance %d at lambda %v is %v, want %v", l, got.Lambda[l], d, want.Deviance[l])
					}
				}
				fmt.Println(len(got.Lambda), got.At, want.IndexMin, got.Intercept-want.Intercept[got.At])
			})
		}
	}
}
