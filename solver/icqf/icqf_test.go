package icqf

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/solver"
)

// tight lets a fit run until nothing but rounding is left.
var tight = Settings{Rank: 5, L1: 0.1, RelTol: 1e-13, MaxIter: 4000}

func fit(t testing.TB, data Data, s Settings) *Result {
	t.Helper()
	r, err := Fit(t.Context(), data, s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// naive returns the objective by its definition, from the factors, and R.
func naive(t rapid.TB, data Data, s Settings, r *Result) (objective float64, fitted *mat.Dense) {
	t.Helper()
	fitted, err := r.Reconstruct(r.Scores, data.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	n, p := data.Answers.Dims()
	for i := range n {
		for j := range p {
			if m := data.Answers.At(i, j); m == m {
				objective += (m - fitted.At(i, j)) * (m - fitted.At(i, j)) / 2
			}
		}
	}
	_, high := data.Range()
	gamma := float64(n) / float64(p) * high
	penalty := func(a *mat.Dense, weight float64) {
		if a == nil {
			return
		}
		for _, v := range mat.DenseCopyOf(a).RawMatrix().Data {
			objective += weight * (s.L1*math.Abs(v) + s.L2/2*v*v)
		}
	}
	penalty(r.Scores, 1)
	penalty(r.Loadings, gamma)
	penalty(r.ConfoundLoadings, gamma)
	return objective, fitted
}

// checkResult checks what every result promises.
func checkResult(t rapid.TB, data Data, s Settings, r *Result) {
	t.Helper()
	want, fitted := naive(t, data, s, r)
	if math.Abs(r.Objective-want) > 1e-9*want {
		t.Errorf("objective %v, the factors give %v", r.Objective, want)
	}
	low, high := data.Range()
	if outside := max(0, low-mat.Min(fitted), mat.Max(fitted)-high); math.Abs(outside-r.Outside) > 1e-9 {
		t.Errorf("outside the range by %v, the factors give %v", r.Outside, outside)
	}
	if least, most := mat.Min(r.Scores), mat.Max(r.Scores); least < 0 || most > 1 {
		t.Errorf("scores from %v to %v", least, most)
	}
	bound := s.MaxLoading
	if bound == 0 {
		bound = math.Inf(1)
	}
	for _, q := range []*mat.Dense{r.Loadings, r.ConfoundLoadings} {
		if q != nil && (mat.Min(q) < 0 || mat.Max(q) > bound) {
			t.Errorf("loadings from %v to %v", mat.Min(q), mat.Max(q))
		}
	}
	if len(r.Trace) != r.Iterations+1 {
		t.Errorf("%d points in the trace of %d updates", len(r.Trace), r.Iterations)
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(1, 300, 30, 5)
	plain := Data{Answers: data.Answers}
	shifted := Data{Answers: mat.DenseCopyOf(data.Answers), Min: 1, Max: 5, Confounds: data.Confounds}
	shifted.Answers.Apply(func(_, _ int, v float64) float64 { return v + 1 }, shifted.Answers)
	low := Data{Answers: data.Answers, Confounds: data.Confounds, Max: 4}
	for name, test := range map[string]struct {
		Data
		Settings
	}{
		"lasso":             {data, tight},
		"no confounds":      {plain, tight},
		"FISTA":             {data, Settings{Rank: 5, L1: 0.1, Inner: FISTA, RelTol: 1e-9, MaxIter: 3000}},
		"ridge":             {data, Settings{Rank: 5, L2: 0.5, RelTol: 1e-9, MaxIter: 3000}},
		"both":              {low, Settings{Rank: 3, L1: 0.05, L2: 0.5, RelTol: 1e-9, MaxIter: 3000}},
		"no penalty":        {data, Settings{Rank: 3, RelTol: 1e-7}},
		"bounded loadings":  {data, Settings{Rank: 5, L1: 0.1, MaxLoading: 0.3, RelTol: 1e-7}}, // 0.3 is no float32
		"lower bound":       {shifted, Settings{Rank: 4, L1: 0.1, RelTol: 1e-7, MaxIter: 3000}},
		"one update":        {data, Settings{Rank: 5, L1: 0.1, MaxIter: 1}},
		"all factors":       {plain, Settings{Rank: 30, L1: 0.1, RelTol: 1e-6}},
		"everything shrunk": {data, Settings{Rank: 2, L1: 1e6, RelTol: 1e-9}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := fit(t, test.Data, test.Settings)
			checkResult(t, test.Data, test.Settings, r)
			if low, high := test.Range(); test.MaxIter != 1 && test.L1 < 1 && r.Outside > 0.01*(high-low) {
				t.Errorf("outside the range by %v after %d updates", r.Outside, r.Iterations)
			}
			if test.MaxIter == 1 && (r.Iterations != 1 || r.Status != solver.IterationLimit) {
				t.Errorf("%d updates and %v", r.Iterations, r.Status)
			}
		})
	}
}

// TestFirstOrderConditions holds that at a minimum both inner algorithms shrink by the whole weight of β, and the
// confounds' loadings by that of the others: the gradient of the squared error is β at scores off their bounds and βγ
// at loadings.
func TestFirstOrderConditions(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(2, 80, 15, 3)
	data.Max = 100 // far away, so that the range cuts nothing
	n, p := data.Answers.Dims()
	for _, inner := range []Inner{CoordinateDescent, FISTA} {
		for _, rho := range []float64{0, 3} {
			s := Settings{Rank: 3, L1: 0.01, L2: 0.01, Inner: inner, Rho: rho, RelTol: 1e-13, MaxIter: 6000}
			r := fit(t, data, s)
			_, fitted := naive(t, data, s, r)
			residual := mat.NewDense(n, p, nil)
			residual.Apply(func(i, j int, m float64) float64 {
				if m != m {
					return 0
				}
				return m - fitted.At(i, j)
			}, data.Answers)
			gamma := float64(n) / float64(p) * data.Max
			check := func(name string, x *mat.Dense, gradient mat.Matrix, weight, upper float64) {
				rows, cols := x.Dims()
				for i := range rows {
					for j := range cols {
						v := x.At(i, j)
						g := gradient.At(i, j) - weight*(s.L1+s.L2*v)
						if v > 0 && g < -1e-4*weight || v < upper && g > 1e-4*weight {
							t.Errorf("%s, ρ = %v: %s(%d, %d) = %v has gradient %g", inner, rho, name, i, j, v, g)
							return
						}
					}
				}
			}
			var scores, loadings, confounds mat.Dense
			scores.Mul(residual, r.Loadings)
			loadings.Mul(residual.T(), r.Scores)
			confounds.Mul(residual.T(), data.Confounds)
			check("score", r.Scores, &scores, 1, 1)
			check("loading", r.Loadings, &loadings, gamma, math.Inf(1))
			check("confound loading", r.ConfoundLoadings, &confounds, gamma, math.Inf(1))
		}
	}
}

func TestPlantedFactors(t *testing.T) {
	t.Parallel()
	data, truth, scores := questionnaire(8, 1000, 40, 5)
	r := fit(t, data, Settings{Rank: 5, L1: 0.1, RelTol: 1e-7})
	pairs := match(r.Loadings, truth.Loadings)
	for t2, found := range pairs {
		if c := correlation(r.Loadings, found, truth.Loadings, t2); c < 0.97 {
			t.Errorf("loadings of factor %d: correlation %v", t2, c)
		}
		if c := correlation(r.Scores, found, scores, t2); c < 0.9 {
			t.Errorf("scores of factor %d: correlation %v", t2, c)
		}
	}
}

// match returns for each true factor the found one.
func match(found, truth *mat.Dense) []int {
	_, k := truth.Dims()
	out := make([]int, k)
	for t := range k {
		best := math.Inf(-1)
		for f := range k {
			if c := correlation(found, f, truth, t); c > best {
				best, out[t] = c, f
			}
		}
	}
	return out
}

func correlation(a *mat.Dense, i int, b *mat.Dense, j int) float64 {
	return stat.Correlation(mat.Col(nil, i, a), mat.Col(nil, j, b), nil)
}

func sameBits(a, b *Result) bool {
	return mat.Equal(a.Scores, b.Scores) && mat.Equal(a.Loadings, b.Loadings) &&
		mat.Equal(a.ConfoundLoadings, b.ConfoundLoadings) && a.Objective == b.Objective && a.Iterations == b.Iterations
}

// TestSameBits does not run beside others: it sets GOMAXPROCS.
func TestSameBits(t *testing.T) {
	data, _, _ := questionnaire(10, 700, 30, 4)
	s := Settings{Rank: 4, L1: 0.1, RelTol: 1e-6}
	want := fit(t, data, s)
	serial := s
	serial.Threads = 1
	if !sameBits(want, fit(t, data, serial)) {
		t.Error("one thread gives other bits")
	}
	strided := data
	strided.Answers = mat.NewDense(700, 33, nil).Slice(0, 700, 2, 32).(*mat.Dense)
	strided.Answers.Copy(data.Answers)
	if !sameBits(want, fit(t, strided, s)) {
		t.Error("a view of a larger matrix gives other bits")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
	if !sameBits(want, fit(t, data, s)) {
		t.Error("one thread gives other bits")
	}
}

func TestPermutedRows(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(11, 500, 30, 4)
	s := Settings{Rank: 4, L1: 0.1, RelTol: 1e-6}
	order := rand.New(rand.NewPCG(1, 1)).Perm(500)
	permuted := data
	permuted.Answers, permuted.Confounds = mat.NewDense(500, 30, nil), mat.NewDense(500, 3, nil)
	for to, from := range order {
		permuted.Answers.SetRow(to, data.Answers.RawRowView(from))
		permuted.Confounds.SetRow(to, data.Confounds.RawRowView(from))
	}
	want, got := fit(t, data, s), fit(t, permuted, s)
	for to, from := range order {
		for f := range 4 {
			if d := math.Abs(got.Scores.At(to, f) - want.Scores.At(from, f)); d > 1e-9 {
				t.Fatalf("row %d: score %d off by %g", from, f, d)
			}
		}
	}
}

// TestStart holds that the start is in the box, and lies where the answers are, whatever their size.
func TestStart(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(12, 200, 30, 4)
	data.Confounds = nil
	hundred := data
	hundred.Answers = mat.DenseCopyOf(data.Answers)
	hundred.Answers.Scale(25, hundred.Answers)
	hundred.Max = 100
	for _, d := range []Data{data, hundred} {
		var start solver.Iterate
		s := Settings{Rank: 4, L1: 0, MaxIter: 1, Recorder: recorder(func(i solver.Iterate) {
			if i.Iteration == 0 {
				start = i
				if mat.Min(i.Scores) < 0 || mat.Max(i.Scores) != 1 || mat.Min(i.Topics) < 0 {
					t.Errorf("start with scores from %v to %v, loadings from %v", mat.Min(i.Scores), mat.Max(i.Scores),
						mat.Min(i.Topics))
				}
			}
		})}
		fit(t, d, s)
		var squares float64
		for _, v := range d.Answers.RawMatrix().Data {
			if v == v {
				squares += v * v
			}
		}
		if start.Objective > squares/4 {
			t.Errorf("the start leaves %v of %v", start.Objective, squares/2)
		}
	}
}

type recorder func(solver.Iterate)

func (f recorder) Record(i solver.Iterate) error {
	f(i)
	return nil
}
