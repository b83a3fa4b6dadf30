package elasticnet_test

import (
	"context"
	"errors"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/solver"
)

func columns(t testing.TB, x [][]float64) *elasticnet.Design {
	t.Helper()
	d, err := elasticnet.NewDesign(dense(x, 0, len(x[0])))
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func TestInputErrors(t *testing.T) {
	t.Parallel()
	good := columns(t, [][]float64{{1}, {2}, {3}, {4}})
	y := []bool{true, false, true, false}
	lasso := elasticnet.DefaultSettings()
	with := func(change func(*elasticnet.Settings)) elasticnet.Settings {
		s := lasso
		change(&s)
		return s
	}
	for _, c := range []struct {
		name     string
		problem  elasticnet.Problem
		settings elasticnet.Settings
		want     error
	}{
		{"no design", elasticnet.Problem{Y: y}, lasso, solver.ErrShape},
		{"labels", elasticnet.Problem{Design: good, Y: y[:3]}, lasso, solver.ErrShape},
		{"weights", elasticnet.Problem{Design: good, Y: y, Weights: []float64{1}}, lasso, solver.ErrShape},
		{"offsets", elasticnet.Problem{Design: good, Y: y, Offset: []float64{1}}, lasso, solver.ErrShape},
		{
			"NaN offset",
			elasticnet.Problem{Design: good, Y: y, Offset: []float64{1, 1, math.NaN(), 1}},
			lasso, solver.ErrSettings,
		},
		{
			"negative weight",
			elasticnet.Problem{Design: good, Y: y, Weights: []float64{1, 1, -1, 1}},
			lasso, elasticnet.ErrWeights,
		},
		{
			"NaN weight",
			elasticnet.Problem{Design: good, Y: y, Weights: []float64{1, 1, math.NaN(), 1}},
			lasso, elasticnet.ErrWeights,
		},
		{
			"one class",
			elasticnet.Problem{Design: good, Y: []bool{true, true, true, true}},
			lasso, elasticnet.ErrOneClass,
		},
		{
			"one class with weight",
			elasticnet.Problem{Design: good, Y: y, Weights: []float64{1, 0, 1, 0}},
			lasso, elasticnet.ErrOneClass,
		},
		{
			"no weight",
			elasticnet.Problem{Design: good, Y: y, Weights: []float64{0, 0, 0, 0}},
			lasso, elasticnet.ErrOneClass,
		},
		{"alpha", elasticnet.Problem{Design: good, Y: y}, elasticnet.Settings{Alpha: 1.5}, solver.ErrSettings},
		{
			"alpha NaN",
			elasticnet.Problem{Design: good, Y: y},
			elasticnet.Settings{Alpha: math.NaN()},
			solver.ErrSettings,
		},
		{"lambda rises", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.Lambda = []float64{0.1, 0.2} }), solver.ErrSettings},
		{"lambda negative", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.Lambda = []float64{-1} }), solver.ErrSettings},
		{"lambda empty", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.Lambda = []float64{} }), solver.ErrSettings},
		{"count", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.NLambda = -1 }), solver.ErrSettings},
		{"ratio", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.LambdaMinRatio = 1 }), solver.ErrSettings},
		{"tolerance", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.Tolerance = -1 }), solver.ErrSettings},
		{"passes", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.MaxPasses = -1 }), solver.ErrSettings},
		{"factors", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.PenaltyFactors = []float64{1, 1} }), solver.ErrShape},
		{"negative factor", elasticnet.Problem{Design: good, Y: y}, with(
			func(s *elasticnet.Settings) { s.PenaltyFactors = []float64{-1} }), solver.ErrSettings},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := elasticnet.Fit(t.Context(), c.problem, c.settings); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func TestDesignErrors(t *testing.T) {
	t.Parallel()
	a := dense([][]float64{{1, 2}, {3, 4}}, 0, 2)
	b := sparse(t, [][]float64{{0, 5}, {math.Inf(1), 0}}, 0, 2)
	var bad *solver.NonFiniteError
	if _, err := elasticnet.NewDesign(a, b); !errors.As(err, &bad) || !errors.Is(err, solver.ErrNonFinite) ||
		*bad != (solver.NonFiniteError{Row: 1, Col: 2, Value: math.Inf(1)}) {
		t.Errorf("error %v, want row 1, column 2", err)
	}
	if _, err := elasticnet.NewDesign(a, dense([][]float64{{1}}, 0, 1)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("error %v of parts of different rows", err)
	}
	if _, err := elasticnet.NewDesign(); !errors.Is(err, solver.ErrShape) {
		t.Errorf("error %v of no rows", err)
	}
}

func TestFoldErrors(t *testing.T) {
	t.Parallel()
	p := elasticnet.Problem{Design: columns(t, [][]float64{{1}, {2}, {3}, {4}}), Y: []bool{true, false, true, false}}
	for name, c := range map[string]struct {
		folds []int
		want  error
	}{
		"length":    {[]int{0, 1}, solver.ErrShape},
		"one fold":  {[]int{0, 0, 0, 0}, solver.ErrShape},
		"gap":       {[]int{0, 0, 2, 2}, solver.ErrShape},
		"negative":  {[]int{0, 1, -1, 0}, solver.ErrShape},
		"one class": {[]int{0, 1, 0, 1}, elasticnet.ErrOneClass},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := elasticnet.CrossValidate(t.Context(), p, c.folds,
				elasticnet.DefaultSettings()); !errors.Is(err, c.want) {
				t.Errorf("error %v, want %v", err, c.want)
			}
		})
	}
}

func tall(t testing.TB) (elasticnet.Problem, []int) {
	t.Helper()
	cases, data := reference(t)
	d := data["tall"]
	return elasticnet.Problem{Design: d.design(t), Y: d.labels()}, cases["lasso"].CV.Folds
}

// TestDeterminism must not run beside others, because it sets GOMAXPROCS.
func TestDeterminism(t *testing.T) {
	p, folds := tall(t)
	run := func(threads int) ([]float64, *elasticnet.Path) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		cv, err := elasticnet.CrossValidate(t.Context(), p, folds, elasticnet.DefaultSettings())
		if err != nil {
			t.Fatal(err)
		}
		return append(cv.OutOfFold(cv.Index1SE), cv.Deviance...), cv.Path
	}
	one, onePath := run(1)
	four, fourPath := run(4)
	if !cmp.Equal(one, four) || !cmp.Equal(onePath, fourPath) {
		t.Error("results depend on GOMAXPROCS")
	}
}

func TestSparseEqualsDense(t *testing.T) {
	t.Parallel()
	_, data := reference(t)
	d := data["tall"]
	settings := elasticnet.DefaultSettings()
	settings.Tolerance = tightTolerance
	settings.Lambda = []float64{0.1, 0.01}
	mixed, err := elasticnet.Fit(t.Context(), elasticnet.Problem{Design: d.design(t), Y: d.labels()}, settings)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := elasticnet.Fit(t.Context(), elasticnet.Problem{Design: columns(t, d.X), Y: d.labels()}, settings)
	if err != nil {
		t.Fatal(err)
	}
	for l := range settings.Lambda {
		a, b := mixed.Dense(l), plain.Dense(l)
		for j := range a {
			if !near(a[j], b[j], 1e-8) {
				t.Errorf("coefficient %d at %d: %v sparse, %v dense", j, l, a[j], b[j])
			}
		}
	}
}

func TestCancel(t *testing.T) {
	t.Parallel()
	p, folds := tall(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := elasticnet.Fit(ctx, p, elasticnet.DefaultSettings()); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
	if _, err := elasticnet.CrossValidate(ctx, p, folds, elasticnet.DefaultSettings()); !errors.Is(err,
		context.Canceled) {
		t.Errorf("error %v", err)
	}
}

// TestUnconverged: a λ that the passes do not suffice for is left out and named by the status.
func TestUnconverged(t *testing.T) {
	t.Parallel()
	p, folds := tall(t)
	s := elasticnet.DefaultSettings()
	s.MaxPasses = 40
	path, err := elasticnet.Fit(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	if path.Status != elasticnet.Unconverged || !errors.Is(path.Status.Err(), elasticnet.ErrNotConverged) ||
		len(path.Lambda) == 0 || len(path.Lambda) >= 100 {
		t.Errorf("status %v after %d λ", path.Status, len(path.Lambda))
	}
	cv, err := elasticnet.CrossValidate(t.Context(), p, folds, s)
	if err != nil {
		t.Fatal(err)
	}
	if len(cv.Deviance) > len(cv.Lambda) || cv.IndexMin >= len(cv.Deviance) || cv.Index1SE > cv.IndexMin {
		t.Errorf("%d of %d λ cross-validated, chosen %d and %d", len(cv.Deviance), len(cv.Lambda),
			cv.IndexMin, cv.Index1SE)
	}
	s.MaxPasses = 1
	s.Lambda = []float64{0.001}
	if _, err := elasticnet.Fit(t.Context(), p, s); !errors.Is(err, elasticnet.ErrNotConverged) {
		t.Errorf("error %v of a first λ that was not solved", err)
	}
}

func TestDegenerateColumns(t *testing.T) {
	t.Parallel()
	y := []bool{false, false, true, true, false, true, true, false}
	x := make([][]float64, len(y))
	for i, v := range []float64{1, 2, 3, 4, 5, 6, 7, 3} {
		x[i] = []float64{7, v, v, 0} // constant, two equal ones, empty
	}
	if _, err := elasticnet.NewDesign(dense(x, 0, 3), &mat.Dense{}); !errors.Is(err, solver.ErrShape) {
		t.Errorf("error %v of a part without rows", err)
	}
	d, err := elasticnet.NewDesign(dense(x, 0, 3), sparse(t, x, 3, 4))
	if err != nil {
		t.Fatal(err)
	}
	path, err := elasticnet.Fit(t.Context(), elasticnet.Problem{Design: d, Y: y}, elasticnet.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	beta := path.Dense(len(path.Lambda) - 1)
	if beta[0] != 0 || beta[3] != 0 || math.Abs(beta[2]) > 1e-3*math.Abs(beta[1]) {
		t.Errorf("coefficients %v, want 0 for constant columns and the first of two equal ones to hold theirs", beta)
	}
}

// TestNothingToPenalize: a path of one λ, the plain logistic regression.
func TestNothingToPenalize(t *testing.T) {
	t.Parallel()
	x := [][]float64{{1}, {2}, {3}, {4}, {5}, {6}}
	p := elasticnet.Problem{Design: columns(t, x), Y: []bool{false, true, false, true, false, true}}
	s := elasticnet.DefaultSettings()
	s.PenaltyFactors = []float64{0}
	s.Tolerance = 1e-16
	path, err := elasticnet.Fit(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0}, path.Lambda); diff != "" {
		t.Error(diff)
	}
	if miss := kkt(x, p, s, model{0, path.Intercept[0], path.Dense(0)}); miss > 1e-9 {
		t.Errorf("score equations missed by %v", miss)
	}
	constant := elasticnet.Problem{Design: columns(t, [][]float64{{1}, {1}}), Y: []bool{true, false}}
	path, err = elasticnet.Fit(t.Context(), constant, elasticnet.DefaultSettings())
	if err != nil || path.DF(0) != 0 || path.Intercept[0] != 0 {
		t.Errorf("a design without variance: %+v (%v), want the intercept alone", path, err)
	}
}

// TestSeparated: whatever parts the classes, penalized or not, ends in finite coefficients and a status that says
// so.
func TestSeparated(t *testing.T) {
	t.Parallel()
	x := make([][]float64, 40)
	p := elasticnet.Problem{Y: make([]bool, len(x))}
	for i := range x {
		x[i] = []float64{float64(i) - 19.5, float64(i * i % 7)}
		p.Y[i] = i >= 20
	}
	p.Design = columns(t, x)
	for name, factors := range map[string][]float64{"penalized": nil, "unpenalized": {0, 1}} {
		s := elasticnet.DefaultSettings()
		s.PenaltyFactors = factors
		path, err := elasticnet.Fit(t.Context(), p, s)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		last := len(path.Lambda) - 1
		if path.Status != elasticnet.Saturated || path.DevianceRatio[last] < 0.999 ||
			math.IsInf(path.Dense(last)[0], 0) || math.IsNaN(path.Dense(last)[0]) {
			t.Errorf("%s: %v at deviance ratio %v, coefficients %v", name, path.Status, path.DevianceRatio[last],
				path.Dense(last))
		}
	}
}

// TestRidgeBegins: the first λ of ridge are so large that each explains next to nothing, and each more than the one
// before. That is no path's end.
func TestRidgeBegins(t *testing.T) {
	t.Parallel()
	x := make([][]float64, 40)
	p := elasticnet.Problem{Y: make([]bool, len(x))}
	for i := range x {
		x[i] = []float64{1e-3 * float64(i), 1e-3 * float64(i*i%7)}
		p.Y[i] = i >= 20 != (i%5 == 0)
	}
	p.Design = columns(t, x)
	s := elasticnet.DefaultSettings()
	s.Alpha, s.Standardize, s.LambdaMinRatio = 0, false, 1e-8
	path, err := elasticnet.Fit(t.Context(), p, s)
	if err != nil {
		t.Fatal(err)
	}
	last := len(path.Lambda) - 1
	if path.DevianceRatio[4]-path.DevianceRatio[3] > 1e-5 || path.DevianceRatio[last] < .1 {
		t.Errorf("%v at deviance ratio %v after %d λ", path.Status, path.DevianceRatio[last], last+1)
	}
}

// TestFarStart: the first of the given λ is so small that full Newton steps overshoot.
func TestFarStart(t *testing.T) {
	t.Parallel()
	x := make([][]float64, 60)
	p := elasticnet.Problem{Y: make([]bool, len(x))}
	for i := range x {
		x[i] = []float64{math.Exp(float64(i) / 6), float64(i % 5), math.Sin(float64(i))}
		p.Y[i] = i%9 == 0 || i > 50
	}
	p.Y[59] = false
	p.Design = columns(t, x)
	for _, alpha := range []float64{0, 0.5, 1} {
		s := elasticnet.Settings{
			Alpha: alpha, Standardize: true, Lambda: []float64{1e-5}, Tolerance: 1e-14, MaxPasses: 1_000_000,
		}
		path, err := elasticnet.Fit(t.Context(), p, s)
		if err != nil {
			t.Fatal(err)
		}
		if miss := kkt(x, p, s, model{1e-5, path.Intercept[0], path.Dense(0)}); miss > 1e-7 {
			t.Errorf("α = %v: conditions missed by %v", alpha, miss)
		}
	}
}

func TestLinearPredictor(t *testing.T) {
	t.Parallel()
	p, _ := tall(t)
	_, data := reference(t)
	path, err := elasticnet.Fit(t.Context(), p, elasticnet.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	l := len(path.Lambda) / 2
	beta := path.Dense(l)
	for i, got := range path.LinearPredictor(p.Design, l) {
		want := path.Intercept[l]
		for j, v := range data["tall"].X[i] {
			want += beta[j] * v
		}
		if !near(got, want, 1e-12) {
			t.Errorf("row %d: %v, want %v", i, got, want)
		}
	}
}

// TestOffset: what is given of an unpenalized column is what its coefficient has less, on every fold too.
func TestOffset(t *testing.T) {
	t.Parallel()
	p, folds := tall(t)
	_, columns := p.Design.Dims()
	s := elasticnet.DefaultSettings()
	s.Tolerance, s.PenaltyFactors = 1e-12, make([]float64, columns)
	for j := range columns - 1 {
		s.PenaltyFactors[j+1] = 1
	}
	run := func(p elasticnet.Problem) *elasticnet.CV {
		cv, err := elasticnet.CrossValidate(t.Context(), p, folds, s)
		if err != nil {
			t.Fatal(err)
		}
		return cv
	}
	without := run(p)
	const given = 0.7
	_, data := reference(t)
	for _, row := range data["tall"].X {
		p.Offset = append(p.Offset, given*row[0])
	}
	with := run(p)
	for l := range without.Lambda {
		want, got := without.Dense(l), with.Dense(l)
		want[0] -= given
		for j := range want {
			if !near(got[j], want[j], 1e-6) {
				t.Fatalf("λ %d: coefficient %d is %v, want %v", l, j, got[j], want[j])
			}
		}
		if !near(with.Deviance[l], without.Deviance[l], 1e-6) {
			t.Fatalf("λ %d: deviance %v, want %v", l, with.Deviance[l], without.Deviance[l])
		}
	}
}

// TestCrossFitted: the λ of a fold is the one with the smallest deviance on the rows of the others.
func TestCrossFitted(t *testing.T) {
	t.Parallel()
	p, folds := tall(t)
	cv, err := elasticnet.CrossValidate(t.Context(), p, folds, elasticnet.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	got := cv.CrossFitted()
	for fold := range slices.Max(folds) + 1 {
		best, least := 0, math.Inf(1)
		for l := range cv.Deviance {
			var sum float64
			for i, eta := range cv.OutOfFold(l) {
				if !p.Y[i] {
					eta = -eta
				}
				if folds[i] != fold {
					sum += math.Log1p(math.Exp(-eta))
				}
			}
			if sum < least {
				best, least = l, sum
			}
		}
		for i, want := range cv.OutOfFold(best) {
			if folds[i] == fold && got[i] != want {
				t.Fatalf("row %d of fold %d: %v, want %v of λ %d", i, fold, got[i], want, best)
			}
		}
	}
}
