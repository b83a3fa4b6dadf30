package smf_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
	"github.com/wardcast/wardcast/solver/svd"
)

func normal(seed uint64, rows, cols int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 1))
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, a)
	return a
}

// planted returns n documents of p terms: strong topics unrelated to the label, and a weak direction that it follows,
// with noise. A third of the entries are zero.
func planted(n, p, kappa int) (*mat.Dense, smf.Data) {
	topics, scores := normal(1, p, 3), normal(2, n, 3)
	x := mat.NewDense(n, p, nil)
	x.Mul(scores, topics.T())
	weak := normal(3, p, kappa)
	random := rand.New(rand.NewPCG(4, 0))
	data := smf.Data{Labels: make([]int, n), Classes: kappa + 1, Aux: normal(5, n, 2)}
	for i := range n {
		y := random.IntN(kappa + 1)
		data.Labels[i] = y
		row := x.RawRowView(i)
		for j := range row {
			row[j] += 0.3 * random.NormFloat64()
			if y > 0 {
				row[j] += 0.6 * weak.At(j, y-1)
			}
			if random.IntN(3) == 0 {
				row[j] = 0
			}
		}
	}
	return x, data
}

// parts holds factors and coefficients in the order of the variables of objective.
func parts(r *solver.Result) []*mat.Dense {
	all := []*mat.Dense{r.Topics, r.Scores, r.Head.Coefficients, mat.NewDense(len(r.Head.Intercept), 1,
		r.Head.Intercept)}
	if r.Head.AuxCoefficients != nil {
		all = append(all, r.Head.AuxCoefficients)
	}
	return all
}

// objective is the objective by its definition, entry by entry.
func objective(x *mat.Dense, data smf.Data, s smf.Settings, r *solver.Result) float64 {
	var fit, a, activations mat.Dense
	fit.Mul(r.Scores, r.Topics.T())
	fit.Sub(x, &fit)
	if s.Variant == smf.VariantW {
		a.Mul(r.Topics, r.Head.Coefficients.T())
		activations.Mul(x, &a)
	} else {
		a.Mul(r.Scores, r.Head.Coefficients.T())
		activations.CloneFrom(&a)
	}
	square := func(m mat.Matrix) float64 { v := mat.Norm(m, 2); return v * v }
	total := s.Xi*square(&fit) + s.Ridge*square(&a)
	for _, v := range r.Head.Intercept {
		total += s.Ridge * v * v
	}
	if data.Aux != nil {
		total += s.Ridge * square(r.Head.AuxCoefficients)
		var part mat.Dense
		part.Mul(data.Aux, r.Head.AuxCoefficients.T())
		activations.Add(&activations, &part)
	}
	for i, y := range data.Labels {
		weight, chosen := 1.0, 0.0
		odds := []float64{0}
		if data.Weights != nil {
			weight = data.Weights[i]
		}
		for c, v := range r.Head.Intercept {
			v += activations.At(i, c)
			odds = append(odds, v)
			if c == y-1 {
				chosen = v
			}
		}
		total += weight * (floats.LogSumExp(odds) - chosen)
	}
	return total
}

// every runs a check for both variants, two and four classes, with and without auxiliary features and weights.
func every(t *testing.T, check func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings)) {
	for _, variant := range variants {
		for _, kappa := range []int{1, 3} {
			t.Run(fmt.Sprintf("%s/kappa=%d", variant, kappa), func(t *testing.T) {
				t.Parallel()
				x, data := planted(50, 24, kappa)
				if kappa == 1 {
					data.Aux = nil
				} else {
					data.Weights = make([]float64, 50)
					for i := range data.Weights {
						data.Weights[i] = float64(i % 3)
					}
				}
				check(t, x, data, smf.Settings{Variant: variant, Xi: 0.2, Ridge: 0.1})
			})
		}
	}
}

// At the end no entry of factors or coefficients, of those tried, lowers the objective, by differences, and the
// objective is that of its definition. Block coordinate descent and short gradient steps end no lower.
func TestEndsAtAMinimum(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		r := solve(t, x, solver.Settings{Rank: 4, RelTol: 1e-15}, newMethod(t, data, s))
		if r.Status.Early() {
			t.Errorf("status %v", r.Status)
		}
		at := objective(x, data, s, r)
		if math.Abs(r.Objective/at-1) > 1e-12 || math.Abs(r.Trace[r.Iterations].Objective/at-1) > 1e-10 {
			t.Errorf("objective %.15g, at the last update %.15g, by its definition %.15g", r.Objective,
				r.Trace[r.Iterations].Objective, at)
		}
		const h = 1e-4
		for which, m := range parts(r) {
			rows, cols := m.Dims()
			for i := 0; i < rows; i += 1 + rows/10 {
				for j := range cols {
					v := m.At(i, j)
					m.Set(i, j, v+h)
					ahead := objective(x, data, s, r)
					m.Set(i, j, v-h)
					behind := objective(x, data, s, r)
					m.Set(i, j, v)
					if slope := (ahead - behind) / (2 * h); math.Abs(slope) > 1e-4 {
						t.Fatalf("matrix %d, entry (%d, %d): slope %g", which, i, j, slope)
					}
				}
			}
		}
		other := solve(t, x, solver.Settings{Rank: 4, MaxIter: 200, RelTol: 1e-9}, newMethod(t, data, safe(x, data, s)))
		if !(other.Objective >= r.Objective*(1-1e-10)) || other.Objective > 1.3*r.Objective {
			t.Errorf("the gradient ends at %g after %d updates, the default at %g", other.Objective,
				other.Iterations, r.Objective)
		}
	})
}

// No update raises the objective, whatever the start, and each has the objective of its definition at the end.
func TestNeverRises(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		for update, s := range updates(x, data, s) {
			for _, init := range []solver.Init{solver.InitSVD, solver.InitRandom, solver.InitKMeans} {
				r := solve(t, csr(t, x), solver.Settings{Rank: 3, Init: init, MaxIter: 40}, newMethod(t, data, s))
				for i := 1; i < len(r.Trace); i++ {
					if rise := r.Trace[i].Objective - r.Trace[i-1].Objective; rise > 1e-12*r.Trace[0].Objective {
						t.Errorf("%s from %s: objective rises by %g in update %d", update, init, rise, i)
					}
				}
				if at := objective(x, data, s, r); math.Abs(r.Objective/at-1) > 1e-11 ||
					math.Abs(r.Trace[r.Iterations].Objective/at-1) > 1e-9 {
					t.Errorf("%s from %s: objective %.15g, last update %.15g, by its definition %.15g", update, init,
						r.Objective, r.Trace[r.Iterations].Objective, at)
				}
			}
		}
	})
}

// Sparse and dense matrices give the same result.
func TestSparseIsDense(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		for update, s := range updates(x, data, s) {
			settings := solver.Settings{Rank: 3, MaxIter: 20}
			a := solve(t, x, settings, newMethod(t, data, s))
			b := solve(t, csr(t, x), settings, newMethod(t, data, s))
			for i, m := range parts(a) {
				if d := gap(parts(b)[i], m); d > 1e-7 {
					t.Errorf("%s: matrix %d differs by %g", update, i, d)
				}
			}
		}
	})
}

// Without the labels, the result is the truncated singular value decomposition.
func TestReconstructionAlone(t *testing.T) {
	t.Parallel()
	x, data := planted(40, 20, 1)
	data.Weights = make([]float64, 40)
	want := leastResidual(t, x, 3)
	for _, variant := range variants {
		for name, s := range map[string]smf.Settings{
			"profiled":      {Variant: variant, Xi: 1},
			"one long step": {Variant: variant, Xi: 1, Step: 0.5},
		} {
			r := solve(t, x, solver.Settings{Rank: 3, Init: solver.InitRandom, MaxIter: 200, RelTol: 1e-14},
				newMethod(t, data, s))
			if math.Abs(r.Objective/want-1) > 1e-10 {
				t.Errorf("%s, %s: objective %g, of the singular value decomposition %g", variant, name,
					r.Objective, want)
			}
		}
	}
}

// leastResidual returns the least squared residual of rank k.
func leastResidual(t *testing.T, x *mat.Dense, k int) float64 {
	t.Helper()
	r, err := solver.Solve(t.Context(), x, solver.Settings{Rank: k}, svd.Method{})
	if err != nil {
		t.Fatal(err)
	}
	return r.Objective
}

// Order of documents, orthogonal maps of the terms and names of the classes but the reference do not matter.
func TestSymmetries(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		settings := solver.Settings{Rank: 4, RelTol: 1e-15}
		want := solve(t, x, settings, newMethod(t, data, s))
		n, p := x.Dims()

		order := rand.New(rand.NewPCG(10, 0)).Perm(n)
		shuffled, moved := mat.NewDense(n, p, nil), smf.Data{Classes: data.Classes}
		scores := mat.NewDense(n, 4, nil)
		for to, from := range order {
			shuffled.SetRow(to, x.RawRowView(from))
			scores.SetRow(to, want.Scores.RawRowView(from))
			moved.Labels = append(moved.Labels, data.Labels[from])
			if data.Weights != nil {
				moved.Weights = append(moved.Weights, data.Weights[from])
			}
		}
		if data.Aux != nil {
			moved.Aux = mat.NewDense(n, 2, nil)
			for to, from := range order {
				moved.Aux.SetRow(to, data.Aux.RawRowView(from))
			}
		}
		got := solve(t, shuffled, settings, newMethod(t, moved, s))
		for what, d := range map[string]float64{
			"topics": gap(got.Topics, want.Topics),
			"scores": gap(got.Scores, scores), "coefficients": gap(got.Head.Coefficients, want.Head.Coefficients),
		} {
			if d > 1e-4 { // an objective to rounding determines the factors to its root
				t.Errorf("shuffled documents: %s differ by %g", what, d)
			}
		}

		a, b, _ := theta(s.Variant, want)
		var qr mat.QR
		var q, turned, wantB mat.Dense
		qr.Factorize(normal(11, p, p))
		qr.QTo(&q)
		turned.Mul(x, &q)
		wantB.Mul(q.T(), b)
		got = solve(t, &turned, settings, newMethod(t, data, s))
		gotA, gotB, _ := theta(s.Variant, got)
		wantA := a
		if s.Variant == smf.VariantW { // A has a row for each term
			wantA = new(mat.Dense)
			wantA.Mul(q.T(), a)
		}
		if d := max(gap(gotA, wantA), gap(gotB, &wantB)); d > 1e-4 || math.Abs(got.Objective/want.Objective-1) > 1e-10 {
			t.Errorf("turned terms: A and B differ by %g, the objective is %g and was %g", d,
				got.Objective, want.Objective)
		}

		if kappa := data.Classes - 1; kappa > 1 {
			renamed := data
			renamed.Labels = slices.Clone(data.Labels)
			for i, y := range renamed.Labels {
				if y > 0 {
					renamed.Labels[i] = kappa + 1 - y
				}
			}
			got := solve(t, x, settings, newMethod(t, renamed, s))
			for which, m := range parts(got)[2:] { // a row for each class
				before := parts(want)[2+which]
				for c := range kappa {
					if d := gap(m.Slice(kappa-1-c, kappa-c, 0, m.RawMatrix().Cols),
						before.Slice(c, c+1, 0, m.RawMatrix().Cols)); d > 1e-3 {
						t.Errorf("renamed classes: row %d of matrix %d of the head differs by %g", c, which, d)
					}
				}
			}
		}
	})
}

// Topics are orthogonal (SMF-W), strongest first, with the sign of the gauge.
func TestGauge(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		r := solve(t, x, solver.Settings{Rank: 4, MaxIter: 20}, newMethod(t, data, s))
		left, right := mat.DenseCopyOf(r.Topics), new(mat.Dense)
		right.Stack(r.Head.Coefficients, r.Scores)
		if s.Variant == smf.VariantH {
			left, right = new(mat.Dense), mat.DenseCopyOf(r.Scores)
			left.Stack(r.Head.Coefficients, r.Topics)
		}
		last := math.Inf(1)
		for _, m := range []*mat.Dense{left, right} {
			var gram mat.Dense
			gram.Mul(m.T(), m)
			for i := range 4 {
				for j := range i {
					if v := math.Abs(gram.At(i, j)) / gram.At(0, 0); v > 1e-12 {
						t.Errorf("columns %d and %d: product %g", i, j, v)
					}
				}
			}
		}
		for c := range 4 {
			a, b := mat.Norm(left.ColView(c), 2), mat.Norm(right.ColView(c), 2)
			if math.Abs(a/b-1) > 1e-10 || a > last {
				t.Errorf("topic %d: lengths %g and %g after %g", c, a, b, last)
			}
			last = a
			if column := mat.Col(nil, c, left); slices.Max(column) < -slices.Min(column) {
				t.Errorf("topic %d: largest entry is negative", c)
			}
		}
	})
}

// The bits do not depend on GOMAXPROCS or on earlier runs. It sets GOMAXPROCS, so it is not parallel.
func TestSameBits(t *testing.T) {
	x, data := planted(700, 300, 2)
	for _, variant := range variants {
		for update, s := range updates(x, data, smf.Settings{Variant: variant, Xi: 1, Ridge: 1}) {
			m := newMethod(t, data, s)
			var want *solver.Result
			for _, threads := range []int{1, 4, 4} {
				before := runtime.GOMAXPROCS(threads)
				r := solve(t, csr(t, x), solver.Settings{Rank: 12, MaxIter: 4, Seed: 5}, m)
				runtime.GOMAXPROCS(before)
				if want == nil {
					want = r
				}
				for i, a := range parts(r) {
					if !mat.Equal(a, parts(want)[i]) || r.Objective != want.Objective {
						t.Errorf("%s, %s: other bits on %d threads in matrix %d", variant, update, threads, i)
					}
				}
			}
		}
	}
}

// Degenerate input ends with no early status except the limit, with the objective of its definition.
func TestEdges(t *testing.T) {
	t.Parallel()
	zeros := mat.NewDense(6, 4, nil)
	ones := mat.NewDense(6, 5, nil)
	ones.Apply(func(_, _ int, _ float64) float64 { return 1 }, ones)
	small, large := normal(12, 6, 5), normal(12, 6, 5)
	small.Scale(1e-100, small)
	large.Scale(1e60, large)
	for name, x := range map[string]*mat.Dense{
		"one row": normal(1, 1, 6), "one column": normal(2, 6, 1), "one entry": normal(3, 1, 1),
		"wide": normal(4, 3, 12), "zero": zeros, "constant": ones, "small": small, "large": large,
	} {
		n, p := x.Dims()
		for _, labels := range [][]int{make([]int, n), []int{0, 1, 2, 0, 1, 2}[:n], slices.Repeat([]int{1}, n)} {
			for _, rank := range []int{1, p} {
				for _, variant := range variants {
					data := smf.Data{Labels: labels, Classes: 3}
					for update, s := range updates(x, data, smf.Settings{Variant: variant, Xi: 1, Ridge: 0.1}) {
						r := solve(t, x, solver.Settings{Rank: rank, MaxIter: 30, RelTol: 1e-9}, newMethod(t, data, s))
						what := fmt.Sprintf("%s, labels %v, rank %d, %s, %s", name, labels, rank, variant, update)
						if r.Status.Early() && r.Status != solver.IterationLimit {
							t.Errorf("%s: %v", what, r.Status)
						}
						if tp, k := r.Topics.Dims(); tp != p || k != rank {
							t.Errorf("%s: topics %d×%d", what, tp, k)
						}
						norm := mat.Norm(x, 2)
						if at := objective(x, data, s, r); !(math.Abs(r.Objective-at) <= 1e-12*(float64(n)+norm*norm)) {
							t.Errorf("%s: objective %g, by its definition %g", what, r.Objective, at)
						}
					}
				}
			}
		}
	}
}

// Documents of weight 0 have no effect.
func TestWeights(t *testing.T) {
	t.Parallel()
	x, data := planted(40, 15, 1)
	data.Weights = make([]float64, 40)
	other := smf.Data{Labels: slices.Clone(data.Labels), Aux: data.Aux, Weights: data.Weights}
	for i := range data.Weights {
		data.Weights[i] = float64(i % 2)
		if i%2 == 0 {
			other.Labels[i] = 1 - other.Labels[i]
		}
	}
	for _, variant := range variants {
		s := smf.Settings{Variant: variant, Xi: 1, Ridge: 0.1}
		a := solve(t, x, solver.Settings{Rank: 3}, newMethod(t, data, s))
		b := solve(t, x, solver.Settings{Rank: 3}, newMethod(t, other, s))
		if !mat.Equal(a.Topics, b.Topics) || !mat.Equal(a.Head.Coefficients, b.Head.Coefficients) {
			t.Errorf("%s: labels of weight 0 change the result", variant)
		}
	}
}

func TestRefusedInput(t *testing.T) {
	t.Parallel()
	good := smf.Data{Labels: []int{0, 1, 1, 0}}
	settings := smf.Settings{Variant: smf.VariantW, Xi: 1}
	with := func(change func(*smf.Data, *smf.Settings)) (smf.Data, smf.Settings) {
		d, s := good, settings
		change(&d, &s)
		return d, s
	}
	for name, c := range map[string]struct {
		change func(*smf.Data, *smf.Settings)
		want   error
	}{
		"no labels":      {func(d *smf.Data, _ *smf.Settings) { d.Labels = nil }, smf.ErrLabels},
		"no documents":   {func(d *smf.Data, _ *smf.Settings) { d.Labels, d.Classes = nil, 2 }, smf.ErrLabels},
		"one class":      {func(d *smf.Data, _ *smf.Settings) { d.Labels = []int{0, 0} }, smf.ErrLabels},
		"negative label": {func(d *smf.Data, _ *smf.Settings) { d.Labels = []int{0, -1} }, smf.ErrLabels},
		"label above": {
			func(d *smf.Data, _ *smf.Settings) { d.Labels, d.Classes = []int{0, 2}, 2 }, smf.ErrLabels,
		},
		"aux rows": {func(d *smf.Data, _ *smf.Settings) { d.Aux = mat.NewDense(3, 1, nil) }, solver.ErrShape},
		"aux NaN": {
			func(d *smf.Data, _ *smf.Settings) { d.Aux = mat.NewDense(4, 1, []float64{0, 0, math.NaN(), 0}) },
			solver.ErrNonFinite,
		},
		"weights": {func(d *smf.Data, _ *smf.Settings) { d.Weights = []float64{1} }, solver.ErrShape},
		"negative weight": {
			func(d *smf.Data, _ *smf.Settings) { d.Weights = []float64{1, 1, -1, 1} }, solver.ErrSettings,
		},
		"variant":          {func(_ *smf.Data, s *smf.Settings) { s.Variant = "smf" }, solver.ErrSettings},
		"xi":               {func(_ *smf.Data, s *smf.Settings) { s.Xi = 0 }, solver.ErrSettings},
		"ridge":            {func(_ *smf.Data, s *smf.Settings) { s.Ridge = math.NaN() }, solver.ErrSettings},
		"step":             {func(_ *smf.Data, s *smf.Settings) { s.Step = math.Inf(1) }, solver.ErrSettings},
		"negative step":    {func(_ *smf.Data, s *smf.Settings) { s.Step, s.StepAux = 1, -1 }, solver.ErrSettings},
		"step without use": {func(_ *smf.Data, s *smf.Settings) { s.StepAux = 1 }, solver.ErrSettings},
	} {
		if _, err := smf.New(with(c.change)); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
	x := normal(1, 5, 3)
	if _, err := solver.Solve(t.Context(), x, solver.Settings{Rank: 2}, newMethod(t, good, settings)); !errors.Is(err,
		solver.ErrShape) {
		t.Errorf("labels of 4 documents, matrix of 5: error %v", err)
	}
	settings.StartHead = &solver.Head{Coefficients: mat.NewDense(1, 3, nil), Intercept: []float64{0}}
	if _, err := solver.Solve(t.Context(), normal(1, 4, 3), solver.Settings{Rank: 2},
		newMethod(t, good, settings)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("start coefficients of 3 topics for 2: error %v", err)
	}
}

// Updates are counted as promised, and a cancelled run returns its best iterate.
func TestLimits(t *testing.T) {
	t.Parallel()
	x, data := planted(40, 15, 1)
	for _, variant := range variants {
		for update, s := range updates(x, data, smf.Settings{Variant: variant, Xi: 1, Ridge: 0.1}) {
			for _, limit := range []int{1, 3} {
				r := solve(t, x, solver.Settings{Rank: 3, Init: solver.InitRandom, MaxIter: limit},
					newMethod(t, data, s))
				if r.Iterations != limit || len(r.Trace) != limit+1 || r.Status != solver.IterationLimit {
					t.Errorf("%s, %s: limit %d, %d updates, %v", variant, update, limit, r.Iterations, r.Status)
				}
			}
			ctx, cancel := context.WithCancel(t.Context())
			r, err := solver.Solve(ctx, x,
				solver.Settings{Rank: 3, Init: solver.InitRandom, RelTol: -1, Recorder: record(func(it solver.Iterate) {
					if it.Iteration == 2 {
						cancel()
					}
				})}, newMethod(t, data, s))
			if err != nil || r.Status != solver.Cancelled || r.Iterations != 2 || r.Head == nil {
				t.Errorf("%s, %s: cancelled after 2 updates: %+v, %v", variant, update, r, err)
			}
		}
	}
}

type record func(solver.Iterate)

func (r record) Record(it solver.Iterate) error {
	r(it)
	return nil
}
