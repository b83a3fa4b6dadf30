package invariance

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// The test of the last columns equals Wald's test with HC3 by its definition, with the inverse of XᵀX.
func TestWaldIsHC3(t *testing.T) {
	t.Parallel()
	const n, q = 40, 5
	random := rand.New(rand.NewPCG(1, 1))
	x, y := mat.NewDense(n, q, nil), mat.NewVecDense(n, nil)
	for i := range n {
		x.Set(i, 0, 1)
		for c := 1; c < q; c++ {
			x.Set(i, c, random.NormFloat64())
		}
		y.SetVec(i, x.At(i, 1)+(1+math.Abs(x.At(i, 3)))*random.NormFloat64())
	}
	b := &basis{}
	for c := range q {
		if !b.add(mat.Col(nil, c, x)) {
			t.Fatalf("column %d does not depend on the others", c)
		}
	}
	sum := make([]float64, n)
	for i := range sum {
		sum[i] = x.At(i, 1) - 3*x.At(i, 2)
	}
	if b.add(sum) {
		t.Error("a column that the others explain is taken")
	}
	got := b.test(y.RawVector().Data, 3)

	var gram, inverse, projected, meat, covariance mat.Dense
	gram.Mul(x.T(), x)
	if err := inverse.Inverse(&gram); err != nil {
		t.Fatal(err)
	}
	projected.Mul(x, &inverse)
	var beta, fitted mat.VecDense
	beta.MulVec(projected.T(), y)
	fitted.MulVec(x, &beta)
	weighted := mat.NewDense(n, q, nil)
	for i := range n {
		leverage := mat.Dot(projected.RowView(i), x.RowView(i))
		e := (y.AtVec(i) - fitted.AtVec(i)) / (1 - leverage)
		for c := range q {
			weighted.Set(i, c, projected.At(i, c)*e)
		}
	}
	meat.Mul(weighted.T(), weighted)
	covariance.CloneFrom(meat.Slice(3, q, 3, q))
	last := beta.SliceVec(3, q)
	var along mat.VecDense
	if err := along.SolveVec(&covariance, last); err != nil {
		t.Fatal(err)
	}
	want := mat.Dot(last, &along) / 2
	var mine mat.VecDense
	if err := mine.SolveVec(got.covariance, mat.NewVecDense(2, got.effects)); err != nil {
		t.Fatal(err)
	}
	if f := mat.Dot(mat.NewVecDense(2, got.effects), &mine) / 2; math.Abs(f-want) > 1e-10*want {
		t.Errorf("F is %v, want %v", f, want)
	}
}

// The adjusted p values are those of Benjamini and Hochberg; these were computed by R's p.adjust(…, "BH").
func TestAdjust(t *testing.T) {
	t.Parallel()
	items := []ItemDIF{{P: .01}, {P: .5}, {P: .02}, {P: .04}, {P: .9}}
	adjust(items)
	for j, want := range []float64{.05, .625, .05, .2 / 3, .9} {
		if math.Abs(float64(items[j].AdjustedP)-want) > 1e-15 {
			t.Errorf("item %d: %v, want %v", j, items[j].AdjustedP, want)
		}
	}
}
