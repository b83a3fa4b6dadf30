package eval_test

import (
	"errors"
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/eval"
)

func classNames(n int) []string {
	names := make([]string, n)
	for c := range names {
		names[c] = strconv.Itoa(c)
	}
	return names
}

// classSample draws rows of so many classes, all of which occur, with probabilities that often tie.
func classSample(t *rapid.T, classes int) (y []int, p *mat.Dense) {
	n := rapid.IntRange(classes, 60).Draw(t, "n")
	p = mat.NewDense(n, classes, nil)
	for i := range n {
		y = append(y, rapid.IntRange(0, classes-1).Draw(t, "y"))
		for range 10 {
			c := rapid.IntRange(0, classes-1).Draw(t, "p")
			p.Set(i, c, p.At(i, c)+0.1)
		}
	}
	for c := range classes {
		y[c] = c
	}
	return y, p
}

// TestTwoClasses holds the measures of two classes against those of yes and no.
func TestTwoClasses(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		y, p := classSample(t, 2)
		truth, probability, visits := make([]bool, len(y)), make([]float64, len(y)), make([]string, len(y))
		for i, class := range y {
			truth[i], probability[i], visits[i] = class == 1, min(p.At(i, 1), 1),
				strconv.Itoa(rapid.IntRange(0, 20).Draw(t, "visit"))
			p.SetRow(i, []float64{1 - probability[i], probability[i]})
		}
		got, err := eval.MeasureClasses(y, p, classNames(2), visits)
		if err != nil {
			t.Fatal(err)
		}
		want, err := eval.Measure(truth, probability, 0.5, visits)
		if err != nil {
			t.Fatal(err)
		}
		near := func(name string, got, want float64) {
			if !(math.Abs(got-want) <= tolerance) {
				t.Fatalf("%s = %v, want %v", name, got, want)
			}
		}
		near("log loss", got.LogLoss, want.LogLoss)
		near("brier", got.Brier, 2*want.Brier)
		near("auroc of both", *got.AUROC, *want.AUROC)
		near("auroc", *got.Classes[1].AUROC, *want.AUROC)
		if d := cmp.Diff(want.AUROCInterval, got.Classes[1].AUROCInterval); d != "" {
			t.Fatal(d)
		}
	})
}

// TestClassTies calls a row of equally probable classes of the first, and leaves out what a missing class leaves
// undefined.
func TestClassTies(t *testing.T) {
	t.Parallel()
	p := mat.NewDense(4, 3, []float64{
		0.4, 0.4, 0.2,
		0.1, 0.45, 0.45,
		0.2, 0.3, 0.5,
		1, 0, 0,
	})
	got, err := eval.MeasureClasses([]int{1, 1, 0, 0}, p, []string{"home", "ward", "moved"}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]int{{1, 0, 1}, {1, 1, 0}, {0, 0, 0}}, got.Confusion); d != "" {
		t.Error(d)
	}
	if got.Accuracy != 0.5 || got.BalancedAccuracy != 0.5 || got.AUROC != nil || got.Classes[2].AUROC != nil ||
		got.Classes[1].AUROC == nil || got.Classes[1].N != 2 || got.Classes[1].Class != "ward" {
		t.Errorf("got %+v", got)
	}
}

func TestClassErrors(t *testing.T) {
	t.Parallel()
	p := mat.NewDense(2, 2, []float64{0.5, 0.5, 0.2, 0.8})
	for name, c := range map[string]struct {
		y      []int
		p      *mat.Dense
		names  []string
		groups []string
		want   error
	}{
		"rows":      {[]int{0}, p, classNames(2), nil, eval.ErrShape},
		"names":     {[]int{0, 1}, p, classNames(3), nil, eval.ErrShape},
		"groups":    {[]int{0, 1}, p, classNames(2), []string{"a"}, eval.ErrShape},
		"one class": {[]int{0, 0}, mat.NewDense(2, 1, []float64{1, 1}), classNames(1), nil, eval.ErrShape},
		"class":     {[]int{0, 2}, p, classNames(2), nil, eval.ErrArgument},
		"below 0":   {[]int{0, -1}, p, classNames(2), nil, eval.ErrArgument},
		"no number": {
			[]int{0, 1},
			mat.NewDense(2, 2, []float64{0.5, 0.5, math.NaN(), 1}), classNames(2), nil, eval.ErrProbability,
		},
		"sum": {
			[]int{0, 1}, mat.NewDense(2, 2, []float64{0.5, 0.5, 0.5, 0.6}), classNames(2), nil, eval.ErrProbability,
		},
		"negative p": {
			[]int{0, 1}, mat.NewDense(2, 2, []float64{0.5, 0.5, -0.5, 1.5}), classNames(2), nil, eval.ErrProbability,
		},
	} {
		if _, err := eval.MeasureClasses(c.y, c.p, c.names, c.groups); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
