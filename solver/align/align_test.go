package align_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat/combin"

	"github.com/wardcast/wardcast/solver/align"
)

func normal(seed uint64, p, k int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 0))
	a := mat.NewDense(p, k, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, a)
	return a
}

// cosine returns the cosine of column t of a with column c of b.
func cosine(a, b *mat.Dense, t, c int) float64 {
	length := mat.Norm(a.ColView(t), 2) * mat.Norm(b.ColView(c), 2)
	if length == 0 {
		return 0
	}
	return mat.Dot(a.ColView(t), b.ColView(c)) / length
}

// The sum of cosines is the largest of all orders, for more topics than before, fewer, and as many.
func TestTopicsAreTheBestOrder(t *testing.T) {
	t.Parallel()
	const k = 5
	for l := 1; l <= 7; l++ {
		for seed := range uint64(20) {
			before, now := normal(seed, 6, l), normal(seed+100, 6, k)
			permutation, cosines := align.Topics(before, now)
			var sum float64
			for place, c := range permutation {
				want := 0.0
				if place < l {
					want = cosine(before, now, place, c)
				}
				if math.Abs(cosines[place]-want) > 1e-12 {
					t.Fatalf("l=%d, seed %d, place %d: cosine %v, want %v", l, seed, place, cosines[place], want)
				}
				sum += cosines[place]
			}
			best := math.Inf(-1)
			for _, order := range combin.Permutations(k, k) {
				var total float64
				for place, c := range order[:min(k, l)] {
					total += cosine(before, now, place, c)
				}
				best = max(best, total)
			}
			if math.Abs(sum-best) > 1e-12 {
				t.Errorf("l=%d, seed %d: sum of cosines %v, best %v", l, seed, sum, best)
			}
			if sorted := slices.Sorted(slices.Values(permutation)); !slices.Equal(sorted, []int{0, 1, 2, 3, 4}) {
				t.Errorf("l=%d, seed %d: no permutation: %v", l, seed, permutation)
			}
			if l < k && !slices.IsSorted(permutation[l:]) {
				t.Errorf("l=%d, seed %d: the new topics are out of order: %v", l, seed, permutation)
			}
		}
	}
}

// Topics that come in another order and another length are found again; a new one fills the free place.
func TestTopicsAreFoundAgain(t *testing.T) {
	t.Parallel()
	const k = 120
	before := normal(1, 300, k)
	order := rand.New(rand.NewPCG(2, 2)).Perm(k)
	now := mat.NewDense(300, k, nil)
	for place, c := range order {
		now.SetCol(c, mat.Col(nil, place, before))
		column := now.ColView(c).(*mat.VecDense)
		column.ScaleVec(float64(c+1), column)
	}
	fresh := order[7]
	now.SetCol(fresh, mat.Col(nil, 0, normal(3, 300, 1)))
	permutation, cosines := align.Topics(before, now)
	if d := cmp.Diff(order, permutation); d != "" {
		t.Error(d)
	}
	for place, c := range cosines {
		if (place == 7) != (c < 0.9) {
			t.Errorf("place %d: cosine %v", place, c)
		}
	}
}

// Neither the squares of large entries nor those of small ones count.
func TestTopicsOfAnyScale(t *testing.T) {
	t.Parallel()
	for _, scale := range []float64{1e200, 1e-200, 5e-324 * (1 << 40)} {
		before, now := normal(4, 30, 3), mat.NewDense(30, 3, nil)
		for place, c := range []int{2, 0, 1} {
			now.SetCol(c, mat.Col(nil, place, before))
		}
		before.Scale(scale, before)
		now.Scale(scale, now)
		permutation, cosines := align.Topics(before, now)
		if !slices.Equal(permutation, []int{2, 0, 1}) || slices.Min(cosines) < 1-1e-9 {
			t.Errorf("scale %g: got %v with cosines %v", scale, permutation, cosines)
		}
	}
	lost := normal(5, 4, 2)
	lost.Set(1, 0, math.NaN())
	if permutation, cosines := align.Topics(normal(6, 4, 2), lost); len(permutation) != 2 ||
		math.IsNaN(cosines[0]+cosines[1]) {
		t.Errorf("a column that is not finite: got %v with cosines %v", permutation, cosines)
	}
}

// Topics that nothing distinguishes keep their places.
func TestTopicsOfZeros(t *testing.T) {
	t.Parallel()
	permutation, cosines := align.Topics(mat.NewDense(4, 3, nil), normal(1, 4, 3))
	if !slices.Equal(permutation, []int{0, 1, 2}) || !slices.Equal(cosines, []float64{0, 0, 0}) {
		t.Errorf("got %v with cosines %v", permutation, cosines)
	}
	mirrored := normal(2, 5, 1)
	mirrored.Scale(-1, mirrored)
	if _, cosines := align.Topics(normal(2, 5, 1), mirrored); math.Abs(cosines[0]+1) > 1e-12 {
		t.Errorf("the cosine with its mirror image is %v", cosines[0])
	}
}

// Turned columns in another order are found again by Factors, and their cosines show which were turned.
func TestFactorsAreFreeOfSigns(t *testing.T) {
	t.Parallel()
	before := normal(1, 6, 3)
	now := mat.NewDense(6, 3, nil)
	for place, c := range []int{2, 0, 1} {
		for j := range 6 {
			now.Set(j, c, []float64{-1, 1, -2}[place]*before.At(j, place))
		}
	}
	permutation, cosines := align.Factors(before, now)
	if diff := cmp.Diff([]int{2, 0, 1}, permutation); diff != "" {
		t.Errorf("another order than that planted:\n%s", diff)
	}
	for place, want := range []float64{-1, 1, -1} {
		if math.Abs(cosines[place]-want) > 1e-12 {
			t.Errorf("place %d: cosine %v, want %v", place, cosines[place], want)
		}
	}
}
