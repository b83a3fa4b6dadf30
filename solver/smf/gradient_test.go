package smf_test

import (
	"math"
	"sync"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/smf"
)

func csr(t testing.TB, x *mat.Dense) *matrix.CSR {
	t.Helper()
	n, p := x.Dims()
	indptr := make([]int, 1, n+1)
	var indices []int32
	var values []float64
	for i := range n {
		for j, v := range x.RawRowView(i) {
			if v != 0 {
				indices, values = append(indices, int32(j)), append(values, v)
			}
		}
		indptr = append(indptr, len(values))
	}
	s, err := matrix.NewCSR(n, p, indptr, indices, values)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// lpgd is algorithm 1 with complete matrices, in the paper's orientation: X p×n, Θ of SMF-W [A, B], of SMF-H Aᵀ and Bᵀ.
func lpgd(x *mat.Dense, data smf.Data, s smf.Settings, start *solver.Result, updates int) (a, b *mat.Dense) {
	n, _ := x.Dims()
	kappa := len(start.Head.Intercept)
	var gamma *mat.Dense
	a, b, gamma = theta(s.Variant, start)
	side := mat.DenseCopyOf(x.T())
	if s.Variant == smf.VariantH {
		a, b, side = mat.DenseCopyOf(a.T()), mat.DenseCopyOf(b.T()), x
	}
	for range updates {
		var activations, gradient, half mat.Dense
		if s.Variant == smf.VariantW {
			activations.Mul(x, a)
		} else {
			activations.CloneFrom(a)
		}
		residual, step := mat.NewDense(n, kappa, nil), mat.DenseCopyOf(gamma)
		step.Scale(2*s.Ridge, step)
		for i, y := range data.Labels {
			z := append([]float64{1}, data.Aux.RawRowView(i)...)
			odds := make([]float64, kappa)
			sum := 1.0
			for c := range odds {
				odds[c] = activations.At(i, c)
				for j, v := range z {
					odds[c] += v * gamma.At(j, c)
				}
				sum += math.Exp(odds[c])
			}
			for c, v := range odds {
				k := math.Exp(v) / sum
				if c == y-1 {
					k--
				}
				residual.Set(i, c, k)
				for j, v := range z {
					step.Set(j, c, step.At(j, c)+k*v)
				}
			}
		}
		if s.Variant == smf.VariantW {
			gradient.Mul(x.T(), residual)
		} else {
			gradient.CloneFrom(residual)
		}
		d, e := side.Dims()
		half.Augment(a, b)
		half.Apply(func(i, j int, v float64) float64 {
			if j < kappa {
				return v - s.Step*(gradient.At(i, j)+2*s.Ridge*v)
			}
			return v - s.Step*2*s.Xi*(v-side.At(i, j-kappa))
		}, &half)
		gamma.Apply(func(i, j int, v float64) float64 { return v - s.Step*step.At(i, j) }, gamma)
		var svd mat.SVD
		svd.Factorize(&half, mat.SVDThin)
		var u, v, cut mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		_, k := start.Topics.Dims()
		values := svd.Values(nil)[:k]
		left := mat.DenseCopyOf(u.Slice(0, d, 0, k))
		left.Apply(func(_, j int, w float64) float64 { return w * values[j] }, left)
		cut.Mul(left, v.Slice(0, kappa+e, 0, k).T())
		a, b = mat.DenseCopyOf(cut.Slice(0, d, 0, kappa)), mat.DenseCopyOf(cut.Slice(0, d, kappa, kappa+e))
	}
	if s.Variant == smf.VariantH {
		return mat.DenseCopyOf(a.T()), mat.DenseCopyOf(b.T())
	}
	return a, b
}

// The gradient update is algorithm 1, for matrices too large for complete decompositions as for small ones.
func TestGradientIsAlgorithm1(t *testing.T) {
	t.Parallel()
	for _, variant := range variants {
		for _, size := range [][2]int{{30, 20}, {140, 132}} {
			x, data := planted(size[0], size[1], 2)
			start := &solver.Result{Topics: normal(6, size[1], 3), Scores: normal(7, size[0], 3), Head: &solver.Head{
				Coefficients: normal(8, 2, 3), AuxCoefficients: normal(9, 2, 2), Intercept: []float64{0.1, -0.2},
			}}
			s := smf.Settings{Variant: variant, Xi: 2, Ridge: 0.5, Step: 0.002, StartHead: start.Head}
			r := solve(t, csr(t, x),
				solver.Settings{Rank: 3, MaxIter: 3, StartTopics: start.Topics, StartScores: start.Scores},
				newMethod(t, data, s))
			a, b, _ := theta(variant, r)
			wantA, wantB := lpgd(x, data, s, start, 3)
			if d := max(gap(a, wantA), gap(b, wantB)); d > 1e-8 {
				t.Errorf("%s, %d×%d: iterates differ by %g", variant, size[0], size[1], d)
			}
		}
	}
}

// If the rank is not a constraint, an update of step τ moves A, B and Γ by −τ times the gradient of the objective, by
// differences.
func TestGradientByDifferences(t *testing.T) {
	t.Parallel()
	const k, step, h = 6, 1e-3, 1e-4
	for variant, size := range map[smf.Variant][2]int{smf.VariantW: {9, k}, smf.VariantH: {k, 9}} {
		for _, kappa := range []int{1, 3} {
			n, p := size[0], size[1]
			x, data := planted(n, p, kappa)
			head := &solver.Head{
				Coefficients: normal(8, kappa, k), AuxCoefficients: normal(9, kappa, 2),
				Intercept: normal(10, 1, kappa).RawRowView(0),
			}
			start := &solver.Result{Topics: normal(6, p, k), Scores: normal(7, n, k), Head: head}
			s := smf.Settings{Variant: variant, Xi: 0.7, Ridge: 0.3, Step: step, StartHead: head}
			r := solve(t, x, solver.Settings{Rank: k, MaxIter: 1, StartTopics: start.Topics, StartScores: start.Scores},
				newMethod(t, data, s))

			// The objective by A, B and Γ: factors that give them, of any rank.
			at := func(a, b, gamma *mat.Dense) float64 {
				of := &solver.Result{Topics: mat.DenseCopyOf(b.T()), Scores: mat.NewDense(n, n,
					nil), Head: &solver.Head{
					AuxCoefficients: mat.DenseCopyOf(gamma.Slice(1, 3, 0, kappa).T()),
					Intercept:       mat.Row(nil, 0, gamma),
				}}
				for i := range n {
					of.Scores.Set(i, i, 1)
				}
				of.Head.Coefficients = mat.DenseCopyOf(a)
				if variant == smf.VariantW { // A = Topics·Coefficientsᵀ needs topics in addition to those of B
					wide, scores, coefficients := new(mat.Dense), new(mat.Dense), mat.NewDense(kappa, n+kappa, nil)
					wide.Augment(of.Topics, a)
					scores.Augment(of.Scores, mat.NewDense(n, kappa, nil))
					for c := range kappa {
						coefficients.Set(c, n+c, 1)
					}
					of.Topics, of.Scores, of.Head.Coefficients = wide, scores, coefficients
				}
				return objective(x, data, s, of)
			}
			var from, to [3]*mat.Dense
			from[0], from[1], from[2] = theta(variant, start)
			to[0], to[1], to[2] = theta(variant, r)
			from[1], to[1] = mat.DenseCopyOf(from[1].T()), mat.DenseCopyOf(to[1].T())
			for which, m := range from {
				rows, cols := m.Dims()
				for i := range rows {
					for j := range cols {
						v := m.At(i, j)
						m.Set(i, j, v+h)
						ahead := at(from[0], from[1], from[2])
						m.Set(i, j, v-h)
						behind := at(from[0], from[1], from[2])
						m.Set(i, j, v)
						slope := (ahead - behind) / (2 * h)
						if moved := (v - to[which].At(i, j)) / step; math.Abs(moved-slope) > 1e-5*(1+math.Abs(slope)) {
							t.Fatalf("%s, κ = %d, matrix %d, entry (%d, %d): moves by %g, slope %g", variant, kappa,
								which, i, j, moved, slope)
						}
					}
				}
			}
		}
	}
}

// A step that is too long for the problem ends as Cycling, never as Converged; safe steps are not too long.
func TestLongStepsCycle(t *testing.T) {
	t.Parallel()
	x, data := planted(120, 10, 1)
	for _, variant := range variants {
		settings := solver.Settings{Rank: 2, MaxIter: 300, RelTol: 1e-7}
		r := solve(t, x, settings, newMethod(t, data, smf.Settings{Variant: variant, Xi: 0.01, Ridge: 0.1, Step: 0.3}))
		if r.Status != solver.Cycling || r.Status.Err() == nil {
			t.Errorf("%s: a step of 0.3 ends %v after %d updates", variant, r.Status, r.Iterations)
		}
		r = solve(t, x, settings,
			newMethod(t, data, safe(x, data, smf.Settings{Variant: variant, Xi: 0.01, Ridge: 0.1})))
		if r.Status == solver.Cycling || r.Objective > r.Trace[len(r.Trace)/2].Objective {
			t.Errorf("%s: a safe step ends %v after %d updates", variant, r.Status, r.Iterations)
		}
	}
}

// A cycle between points of the same objective is not convergence either: with equal numbers of labels 0 and 1 the
// intercept oscillates.
func TestSymmetricCycles(t *testing.T) {
	t.Parallel()
	const n = 1000
	x := normal(1, n, 4)
	x.Scale(1e-3, x)
	data := smf.Data{Labels: make([]int, n)}
	for i := range data.Labels {
		data.Labels[i] = i % 2
	}
	for step, want := range map[float64]solver.Status{0.005: solver.Converged, 0.01: solver.Cycling} {
		s := smf.Settings{Variant: smf.VariantW, Xi: 1, Step: step}
		s.StartHead = &solver.Head{Coefficients: mat.NewDense(1, 2, nil), Intercept: []float64{0.3}}
		settings := solver.Settings{
			Rank: 2, MaxIter: 1000, RelTol: 1e-4, StartTopics: normal(2, 4, 2), StartScores: mat.NewDense(n, 2, nil),
		}
		if r := solve(t, x, settings, newMethod(t, data, s)); r.Status != want {
			t.Errorf("a step of %g ends %v after %d updates, at %g", step, r.Status, r.Iterations, r.Objective)
		}
	}
}

// There may be more topics than Θ has columns, even without a complete decomposition of Θ.
func TestMoreTopicsThanDocuments(t *testing.T) {
	t.Parallel()
	const n, p, rank = 129, 150, 140
	x := normal(1, n, p)
	data := smf.Data{Labels: make([]int, n)}
	for i := range data.Labels {
		data.Labels[i] = i % 2
	}
	for _, variant := range variants {
		s := safe(x, data, smf.Settings{Variant: variant, Xi: 1, Ridge: 0.1})
		r := solve(t, x, solver.Settings{Rank: rank, MaxIter: 2}, newMethod(t, data, s))
		if at := objective(x, data, s, r); math.Abs(r.Objective-at) > 1e-9*at || r.Objective > r.Trace[0].Objective {
			t.Errorf("%s: objective %g, by its definition %g, at the start %g", variant, r.Objective, at,
				r.Trace[0].Objective)
		}
	}
}

// A run goes on from the factors of another, at their objective, does not change them, the matrix or the data, and one
// method value serves several runs at a time.
func TestGivenStart(t *testing.T) {
	t.Parallel()
	x, data := planted(50, 20, 2)
	kept, aux := mat.DenseCopyOf(x), mat.DenseCopyOf(data.Aux)
	for _, variant := range variants {
		for update, s := range updates(x, data, smf.Settings{Variant: variant, Xi: 1, Ridge: 0.1}) {
			first := solve(t, x, solver.Settings{Rank: 3, MaxIter: 5}, newMethod(t, data, s))
			before := parts(first)
			for i, m := range before {
				before[i] = mat.DenseCopyOf(m)
			}
			s.StartHead = first.Head
			m := newMethod(t, data, s)
			results := make([]*solver.Result, 3)
			var wg sync.WaitGroup
			for i := range results {
				wg.Go(func() {
					r, err := solver.Solve(t.Context(), x, solver.Settings{
						Rank: 3, MaxIter: 5, RelTol: -1, StartTopics: first.Topics, StartScores: first.Scores,
					}, m)
					if err != nil {
						t.Error(err)
						return
					}
					results[i] = r
				})
			}
			wg.Wait()
			for _, r := range results {
				if r == nil || !mat.Equal(r.Topics, results[0].Topics) {
					t.Fatalf("%s, %s: runs of one method differ", variant, update)
				}
			}
			if start := results[0].Trace[0].Objective; math.Abs(start/first.Objective-1) > 1e-10 {
				t.Errorf("%s, %s: starts at %.15g, was at %.15g", variant, update, start, first.Objective)
			}
			for i, m := range parts(first) {
				if !mat.Equal(m, before[i]) {
					t.Errorf("%s, %s: start factor %d was modified", variant, update, i)
				}
			}
			for name, settings := range map[string]solver.Settings{
				"topics": {StartTopics: first.Topics}, "scores": {StartScores: first.Scores},
			} {
				settings.Rank, settings.MaxIter = 3, 50
				if r := solve(t, x, settings, m); r.Status.Early() && r.Status != solver.IterationLimit {
					t.Errorf("%s, %s, from %s alone: %v", variant, update, name, r.Status)
				}
			}
		}
	}
	if !mat.Equal(x, kept) || !mat.Equal(data.Aux, aux) {
		t.Error("matrix or auxiliary features were modified")
	}
}

// Iteration 0 has the objective of the given start, wherever that lies, and no update rises above it.
func TestGivenStartIsIteration0(t *testing.T) {
	t.Parallel()
	x, data := planted(50, 20, 2)
	for _, variant := range variants {
		for _, head := range []*solver.Head{
			nil, {Coefficients: normal(8, 2, 3), AuxCoefficients: normal(9, 2, 2), Intercept: []float64{0.1, -0.2}},
		} {
			for update, s := range updates(x, data,
				smf.Settings{Variant: variant, Xi: 1, Ridge: 0.1, StartHead: head}) {
				start := &solver.Result{Topics: normal(6, 20, 3), Scores: normal(7, 50, 3), Head: head}
				r := solve(t, csr(t, x),
					solver.Settings{Rank: 3, MaxIter: 10, StartTopics: start.Topics, StartScores: start.Scores},
					newMethod(t, data, s))
				if head == nil {
					start.Head = &solver.Head{
						Coefficients:    mat.NewDense(2, 3, nil),
						AuxCoefficients: mat.NewDense(2, 2, nil), Intercept: make([]float64, 2),
					}
				}
				if got, want := r.Trace[0].Objective, objective(x, data, s, start); math.Abs(got/want-1) > 1e-12 {
					t.Errorf("%s, %s: iteration 0 at %.15g, the start at %.15g", variant, update, got, want)
				}
				for i := 1; i < len(r.Trace); i++ {
					if r.Trace[i].Objective > r.Trace[i-1].Objective*(1+1e-12) {
						t.Errorf("%s, %s: update %d raises %g to %g", variant, update, i, r.Trace[i-1].Objective,
							r.Trace[i].Objective)
					}
				}
			}
		}
	}
}
