package rank_test

import (
	"math"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

// The point of a candidate is the same to the last bit alone, in any list, and merged from parts.
func TestPointsDoNotDependOnTheList(t *testing.T) {
	t.Parallel()
	data := answers(6, 80, 50, 4)
	run := func(factors []int, betas ...float64) *rank.Choice {
		method := rank.ICQF(data, icqf.Settings{Scaled: true, MaxIter: 10})
		c, err := rank.BlockwiseCV(t.Context(), data.Answers, method,
			rank.Settings{Factors: factors, Betas: betas, Strata: data.Confounds})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	alone := run([]int{4}, 0.1).Curve[0]
	for _, c := range []*rank.Choice{run([]int{2, 3, 4}, 0.1), run([]int{4, 12, 25}, 0.1, 1), run([]int{1, 4, 45}, 0,
		0.1)} {
		if !slices.Contains(c.Curve, alone) {
			t.Errorf("%+v is not in %+v", alone, c.Curve)
		}
	}
	whole, parts := run([]int{2, 4, 12}, 0.1, 1), run([]int{4}, 0.1, 1)
	parts.Merge(run([]int{12, 2}, 1))
	parts.Merge(run([]int{2, 12}, 0.1))
	if diff := gocmp.Diff(whole, parts); diff != "" {
		t.Errorf("merged from parts the choice is another:\n%s", diff)
	}
}

// Each partition holds out each cell once, in other blocks than the others. The error is the mean of those of the
// partitions, and the standard error comes from the deviation between them.
func TestPartitions(t *testing.T) {
	t.Parallel()
	const n, p, partitions = 30, 20, 4
	x := mat.NewDense(n, p, nil)
	x.Apply(func(i, j int, _ float64) float64 { return float64((i*7+j*3)%11) / 10 }, x)
	column := func(_ solver.Candidate, training *mat.Dense) (*mat.Dense, error) { // another error for other blocks
		r := mat.NewDense(n, p, nil)
		r.Apply(func(_, j int, _ float64) float64 {
			var sum, cells float64
			for i := range n {
				if v := training.At(i, j); v == v {
					sum, cells = sum+v, cells+1
				}
			}
			return sum / cells
		}, r)
		return r, nil
	}
	method := &spy{fit: column}
	s := rank.Settings{Factors: []int{1}, Betas: []float64{0}, Partitions: partitions, Jobs: rank.Jobs{Threads: 1}}
	c, err := rank.BlockwiseCV(t.Context(), x, method.prepare, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(method.training) != 10*partitions || c.Fits != 10*partitions {
		t.Fatalf("%d folds and %d fits, want %d", len(method.training), c.Fits, 10*partitions)
	}
	var errors []float64
	for of := range slices.Chunk(method.training, 10) {
		times := mat.NewDense(n, p, nil)
		var means []float64
		for _, training := range of {
			r, _ := column(solver.Candidate{}, training)
			var squares []float64
			for i := range n {
				for j := range p {
					if v := training.At(i, j); v != v {
						times.Set(i, j, times.At(i, j)+1)
						squares = append(squares, math.Pow(x.At(i, j)-r.At(i, j), 2))
					}
				}
			}
			means = append(means, stat.Mean(squares, nil))
		}
		if mat.Min(times) != 1 || mat.Max(times) != 1 {
			t.Error("a partition does not hold out each cell once")
		}
		errors = append(errors, stat.Mean(means, nil))
	}
	mean, deviation := stat.MeanStdDev(errors, nil)
	if want := stat.StdErr(deviation, partitions); want == 0 || math.Abs(c.Lowest.StandardError-want) > 1e-12 ||
		math.Abs(c.Lowest.Error-mean) > 1e-12 {
		t.Errorf("%+v, want an error of %v and a standard error of %v", c.Lowest, mean, want)
	}
	first, err := rank.BlockwiseCV(t.Context(), x, (&spy{fit: column}).prepare,
		rank.Settings{Factors: []int{1}, Betas: []float64{0}})
	if err != nil || math.Abs(first.Lowest.Error-errors[0]) > 1e-12 {
		t.Errorf("one partition has the error %v, want that of the first of %d, %v; %v", first.Lowest.Error,
			partitions, errors[0], err)
	}
}
