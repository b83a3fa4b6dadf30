package elasticnet

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
)

// product draws n notes of words, each with six pieces and itself as features, and labels. laid is the same design with
// its entries laid out.
func product(t testing.TB, n, words, pieces int) (x *Product, laid *Design, y []bool, foldOf []int) {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 2))
	weight := make([]float64, pieces)
	for g := range weight {
		weight[g] = random.NormFloat64()
	}
	indptr, columns, values := []int{0}, []int32{}, []float64{}
	effect := make([]float64, words)
	for j := range words {
		own := random.Perm(pieces)[:6]
		slices.Sort(own)
		for _, g := range own {
			columns, values = append(columns, int32(g)), append(values, 0.4)
			effect[j] += 0.4 * weight[g]
		}
		columns, values = append(columns, int32(pieces+j)), append(values, 1)
		indptr = append(indptr, len(values))
	}
	features, err := matrix.NewCSR(words, pieces+words, indptr, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	starts, at, entries := []int{0}, []int32{}, []float32{}
	full, fullColumns, fullValues := []int{0}, []int32{}, []float64{}
	row := make([]float64, pieces+words)
	for i := range n {
		clear(row)
		eta := -1.0
		for range 8 { // a word may stand in a note twice
			j := int(float64(words) * math.Pow(random.Float64(), 2))
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
	all, err := matrix.NewCSR(n, pieces+words, full, fullColumns, fullValues)
	if err != nil {
		t.Fatal(err)
	}
	if laid, err = NewDesign(all); err != nil {
		t.Fatal(err)
	}
	return x, laid, y, foldOf
}

// checkHeldOut checks the log-odds of the rows of a fold: they are those of the λ with the smallest deviance on the
// other rows, or of one that is as good but for rounding. It may be one that was only searched, to searchTolerance
// times the tolerance.
func checkHeldOut(t *testing.T, got []float64, want *CV, y []bool, foldOf []int, fold int, near float64) {
	t.Helper()
	deviance := make([]float64, len(want.Lambda)) // mean of a row
	for l := range deviance {
		for i, eta := range want.OutOfFold(l) {
			if !y[i] {
				eta = -eta
			}
			if foldOf[i] != fold {
				deviance[l] += 2 * math.Log1p(math.Exp(-eta)) / float64(len(y))
			}
		}
	}
	apart := math.Inf(1)
	for l, d := range deviance {
		if d > slices.Min(deviance)+near/100 {
			continue
		}
		var most float64
		for i, eta := range want.OutOfFold(l) {
			if foldOf[i] == fold {
				most = max(most, math.Abs(got[i]-eta))
			}
		}
		apart = min(apart, most)
	}
	if apart > 2*near*math.Sqrt(searchTolerance) {
		t.Errorf("log-odds of held-out rows of fold %d are %v away from those of the best λ", fold, apart)
	}
}

// TestProductFitsAsTheDesign: quasi-Newton on the factors and coordinate descent on the entries find the same models,
// with the same errors on held-out rows.
func TestProductFitsAsTheDesign(t *testing.T) {
	t.Parallel()
	const words, pieces = 60, 45
	x, laid, y, foldOf := product(t, 1000, words, pieces)
	for _, alpha := range []float64{0, 0.1, 1} {
		for _, free := range []bool{false, true} {
			t.Run(fmt.Sprintf("alpha=%v/free=%v", alpha, free), func(t *testing.T) {
				t.Parallel()
				s := Settings{Alpha: alpha, Tolerance: 1e-9, NLambda: 50, Turn: true}
				if free {
					s.PenaltyFactors = slices.Concat(slices.Repeat([]float64{1}, words+pieces-10), make([]float64, 10))
				}
				got, err := x.Choose(t.Context(), y, foldOf, s)
				if err != nil {
					t.Fatal(err)
				}
				if !got.Turned() {
					t.Error("the path ends before the deviance rises")
				}
				s.Lambda, s.Tolerance = got.Lambda, 1e-12
				want, err := CrossValidate(t.Context(), Problem{Design: laid, Y: y}, foldOf, s)
				if err != nil {
					t.Fatal(err)
				}
				// Off the minimum by d, the objective is higher by half of the curvature times d²: with tolerance 1e-9
				// and a curvature above 1e-4 that is within 5e-3. The lasso alone bounds no curvature.
				near := 5e-3
				if alpha == 1 {
					near = 1e-2
				}
				beta := want.Dense(got.At)
				for j, b := range got.Coefficients {
					if math.Abs(b-beta[j]) > near {
						t.Errorf("coefficient %d is %v, want %v", j, b, beta[j])
					}
				}
				if d := got.Intercept - want.Intercept[got.At]; math.Abs(d) > near {
					t.Errorf("intercept %v, want %v", got.Intercept, want.Intercept[got.At])
				}
				for fold := range slices.Max(foldOf) + 1 {
					checkHeldOut(t, got.OutOfFold, want, y, foldOf, fold, near)
				}
				for l, d := range got.Deviance {
					if math.Abs(d-want.Deviance[l]) > near/100 ||
						math.Abs(got.StandardError[l]-want.StandardError[l]) > near/100 {
						t.Errorf("deviance %v ± %v at lambda %v, want %v ± %v", d, got.StandardError[l], got.Lambda[l],
							want.Deviance[l], want.StandardError[l])
					}
				}
				if got.At != want.IndexMin {
					t.Errorf("lambda %d of %v chosen, want %d", got.At, got.Lambda, want.IndexMin)
				}
			})
		}
	}
}

// TestChooseFindsTheBestLambda: the λ between the coarse ones is as good as the best of a fine sequence.
func TestChooseFindsTheBestLambda(t *testing.T) {
	t.Parallel()
	x, laid, y, foldOf := product(t, 1500, 80, 60)
	s := Settings{Alpha: 0.1, Tolerance: 1e-8, NLambda: 50, Turn: true}
	got, err := x.Choose(t.Context(), y, foldOf, s)
	if err != nil {
		t.Fatal(err)
	}
	want, err := CrossValidate(t.Context(), Problem{Design: laid, Y: y}, foldOf, s)
	if err != nil {
		t.Fatal(err)
	}
	if best := want.Deviance[want.IndexMin]; got.Deviance[got.At] > best+0.02*want.StandardError[want.IndexMin] {
		t.Errorf("deviance %v at lambda %v, the best of a fine sequence has %v at %v", got.Deviance[got.At],
			got.Lambda[got.At], best, want.Lambda[want.IndexMin])
	}
	s.OneSE = true
	simpler, err := x.Choose(t.Context(), y, foldOf, s)
	if err != nil {
		t.Fatal(err)
	}
	bound := got.Deviance[got.At] + got.StandardError[got.At]
	if first := slices.IndexFunc(got.Deviance, func(d float64) bool { return d <= bound }); simpler.At != first ||
		first == got.At {
		t.Errorf("one standard error chose %d, want %d, which is not %d", simpler.At, first, got.At)
	}
}

func TestChooseDoesNotDependOnThreads(t *testing.T) {
	t.Parallel()
	x, _, y, foldOf := product(t, 2000, 80, 60)
	var first *Choice
	for _, threads := range []int{1, 3, 8} {
		got, err := x.Choose(t.Context(), y, foldOf,
			Settings{Alpha: 0.1, Tolerance: 1e-6, NLambda: 50, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		if first == nil {
			first = got
		}
		if !slices.Equal(got.Coefficients, first.Coefficients) || !slices.Equal(got.OutOfFold, first.OutOfFold) ||
			!slices.Equal(got.Deviance, first.Deviance) {
			t.Errorf("%d threads give other bits than one", threads)
		}
	}
}

// TestChooseLearnsNothingFromNoise: of labels drawn at random the largest λ, which knows nothing, is hard to beat.
func TestChooseLearnsNothingFromNoise(t *testing.T) {
	t.Parallel()
	x, _, y, foldOf := product(t, 2000, 80, 60)
	random := rand.New(rand.NewPCG(3, 4))
	for i := range y {
		y[i] = random.IntN(4) == 0
	}
	got, err := x.Choose(t.Context(), y, foldOf, Settings{Alpha: 0.1, NLambda: 50, OneSE: true})
	if err != nil {
		t.Fatal(err)
	}
	if used := len(got.Coefficients) - count(got.Coefficients, 0); used > 5 {
		t.Errorf("%d coefficients of noise", used)
	}
}

func count(list []float64, value float64) (n int) {
	for _, v := range list {
		if v == value {
			n++
		}
	}
	return n
}

func TestProductRefuses(t *testing.T) {
	t.Parallel()
	features, err := matrix.NewCSR(2, 2, []int{0, 1, 2}, []int32{0, 1}, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		starts  []int
		columns []int32
		values  []float32
	}{
		"no rows":            {[]int{0}, nil, nil},
		"no starts":          {nil, nil, nil},
		"a value missing":    {[]int{0, 2}, []int32{0, 1}, []float32{1}},
		"last start":         {[]int{0, 1}, []int32{0, 1}, []float32{1, 1}},
		"first start":        {[]int{1, 2}, []int32{0, 1}, []float32{1, 1}},
		"descending":         {[]int{0, 2, 1, 2}, []int32{0, 1}, []float32{1, 1}},
		"column outside":     {[]int{0, 1}, []int32{2}, []float32{1}},
		"column below":       {[]int{0, 1}, []int32{-1}, []float32{1}},
		"start past the end": {[]int{0, 9, 2}, []int32{0, 1}, []float32{1, 1}},
	} {
		if _, err := NewProduct(c.starts, c.columns, c.values, features); !errors.Is(err, solver.ErrShape) {
			t.Errorf("%s: error %v, want %v", name, err, solver.ErrShape)
		}
	}
	for _, v := range []float64{math.NaN(), math.Inf(1)} {
		at, ok := (*solver.NonFiniteError)(nil), false
		_, err := NewProduct([]int{0, 1, 2}, []int32{0, 1}, []float32{1, float32(v)}, features)
		if at, ok = errors.AsType[*solver.NonFiniteError](err); !ok || at.Row != 1 || at.Col != 1 {
			t.Errorf("error %v for %v in row 1, column 1", err, v)
		}
	}
}

func TestChooseRefuses(t *testing.T) {
	t.Parallel()
	x, _, y, foldOf := product(t, 200, 20, 15)
	good := Settings{Alpha: 0.1}
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	oneFold := slices.Clone(y) // all positive ones are in fold 0
	for i := range oneFold {
		oneFold[i] = i%5 == 0
	}
	for name, c := range map[string]struct {
		ctx    context.Context
		y      []bool
		foldOf []int
		s      Settings
		want   error
	}{
		"one class":           {t.Context(), make([]bool, 200), foldOf, good, ErrOneClass},
		"one class in a fold": {t.Context(), oneFold, foldOf, good, ErrOneClass},
		"labels":              {t.Context(), y[1:], foldOf, good, solver.ErrShape},
		"folds":               {t.Context(), y, foldOf[1:], good, solver.ErrShape},
		"one fold":            {t.Context(), y, make([]int, 200), good, solver.ErrShape},
		"alpha":               {t.Context(), y, foldOf, Settings{Alpha: 2}, solver.ErrSettings},
		"standardized":        {t.Context(), y, foldOf, Settings{Standardize: true}, solver.ErrSettings},
		"a sequence":          {t.Context(), y, foldOf, Settings{Lambda: []float64{1}}, solver.ErrSettings},
		"cancelled":           {cancelled, y, foldOf, good, context.Canceled},
	} {
		if _, err := x.Choose(c.ctx, c.y, c.foldOf, c.s); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}

// BenchmarkChoose compares the choice of a penalty on factors with that on the same design laid out.
func BenchmarkChoose(b *testing.B) {
	const n = 20_000
	x, laid, y, foldOf := product(b, n, 3000, 2000)
	s := Settings{Alpha: 0.1, Tolerance: 1e-5, NLambda: 50, Turn: true, Threads: 1}
	b.Run(fmt.Sprintf("product/n=%d", n), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := x.Choose(b.Context(), y, foldOf, s); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run(fmt.Sprintf("design/n=%d", n), func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := CrossValidate(b.Context(), Problem{Design: laid, Y: y}, foldOf, s); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkGradient is one evaluation of the loss and its gradient.
func BenchmarkGradient(b *testing.B) {
	x, _, y, foldOf := product(b, 50_000, 3000, 2000)
	l := newLoss(x, y, 1, foldOf, everyFold)
	beta, slope := make([]float64, x.p+1), make([]float64, x.p+1)
	b.ReportAllocs()
	for b.Loop() {
		l.gradient(slope, beta)
	}
	b.ReportMetric(float64(b.N)*float64(len(x.values))/b.Elapsed().Seconds(), "entries/s")
}
