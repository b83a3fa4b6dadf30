package smf_test

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// Cross-validation prefers settings that use the labels, is reproducible, and holds documents out.
func TestChoose(t *testing.T) {
	t.Parallel()
	x, data := planted(120, 20, 1)
	for i := range data.Labels { // nothing to learn for one half: the log loss cannot be small
		if i%2 == 0 {
			data.Labels[i] = i / 2 % 2
		}
	}
	search := smf.Search{
		Method: smf.Settings{Variant: smf.VariantW}, Solver: solver.Settings{MaxIter: 60, RelTol: 1e-6},
		Xi: []float64{0.01, 1000}, Ridge: []float64{0.1, 1e6}, Ranks: []int{1, 4}, Seed: 3,
	}
	choice, err := smf.Choose(t.Context(), csr(t, x), data, search)
	if err != nil {
		t.Fatal(err)
	}
	best, all := choice.Best, choice.Candidates
	if len(all) != 8 || all[0].Rank != 1 || all[1].Ridge != 1e6 || all[2].Xi != 1000 {
		t.Fatalf("candidates %+v", all)
	}
	for _, c := range all {
		if c.LogLoss < best.LogLoss || !(c.StandardError > 0) || c.LogLoss < 0.3 {
			t.Errorf("candidate %+v, chosen %+v", c, best)
		}
	}
	if best.Ridge != 0.1 {
		t.Errorf("chosen %+v: a ridge that forbids all learning", best)
	}
	again, err := smf.Choose(t.Context(), x, data, search)
	if err != nil || again.Best.Xi != best.Xi || again.Best.Ridge != best.Ridge || again.Best.Rank != best.Rank ||
		math.Abs(again.Best.LogLoss/best.LogLoss-1) > 1e-4 {
		t.Errorf("dense matrix: %+v, sparse %+v, error %v", again, best, err)
	}

	// A scale of X that Prepare removes changes nothing, and only training documents affect Prepare.
	search.Prepare = func(train mat.Matrix) func(mat.Matrix) mat.Matrix {
		if n, _ := train.Dims(); n != 96 {
			t.Errorf("scaled by %d documents of 120 in five folds", n)
		}
		factor := math.Sqrt(96 / linalg.OperatorOf(train, 0).NormSquared())
		return func(x mat.Matrix) mat.Matrix {
			_, p := x.Dims()
			return linalg.NewStandardized(x, make([]float64, p), slices.Repeat([]float64{factor}, p))
		}
	}
	scaled, err := smf.Choose(t.Context(), x, data, search)
	if err != nil {
		t.Fatal(err)
	}
	x.Scale(5, x)
	if again, err = smf.Choose(t.Context(), x, data, search); err != nil ||
		math.Abs(again.Best.LogLoss/scaled.Best.LogLoss-1) > 1e-6 {
		t.Errorf("five times the matrix: %+v, before %+v, error %v", again, scaled, err)
	}
	search.Prepare = nil
	search.Xi, search.Ridge, search.Ranks, search.Solver.Rank = nil, nil, nil, 2
	small, few := half(x, data, 0)
	if choice, err = smf.Choose(t.Context(), small, few, search); err != nil || len(choice.Candidates) < 10 ||
		len(choice.Candidates) > 30 {
		t.Errorf("default candidates: %+v, error %v", choice, err)
	}
	few.Labels = append([]int{2}, few.Labels[1:]...)
	few.Classes = 3
	if _, err = smf.Choose(t.Context(), small, few, search); !errors.Is(err, smf.ErrLabels) {
		t.Errorf("a class of one document: error %v", err)
	}
}

// The log-odds of a choice are those that a run without the fold gives, with the folds that are given, whatever the
// threads.
func TestChoiceHoldsOut(t *testing.T) {
	t.Parallel()
	x, data := planted(60, 15, 2)
	data.Weights = smf.Balanced.Weights(data.Labels)
	folds := make([]int, 60)
	for i := range folds {
		folds[i] = i % 7 % 3
	}
	for _, variant := range variants {
		var most atomic.Int64
		search := smf.Search{
			Method: smf.Settings{Variant: variant}, Solver: solver.Settings{Rank: 3, MaxIter: 500, RelTol: 1e-13},
			Xi: []float64{1, 10}, Ridge: []float64{0.1, 1}, FoldOf: folds,
			Progress: func(done, total int) {
				if total != 12 || done < 1 || done > total {
					t.Errorf("progress %d of %d", done, total)
				}
				most.Store(max(most.Load(), int64(done)))
			},
		}
		choice, err := smf.Choose(t.Context(), csr(t, x), data, search)
		if err != nil {
			t.Fatal(err)
		}
		if most.Load() != 12 || !slices.Equal(choice.FoldOf, folds) {
			t.Errorf("%d runs of 12, folds %v", most.Load(), choice.FoldOf)
		}
		best := smf.Settings{Variant: variant, Xi: choice.Best.Xi, Ridge: choice.Best.Ridge}
		var loss, weight float64
		for fold := range 3 {
			var train, test []int
			for i, f := range folds {
				if f == fold {
					test = append(test, i)
				} else {
					train = append(train, i)
				}
			}
			known, unknown := rows(x, data, train), rows(x, data, test)
			m := newMethod(t, known.data, best)
			p, err := m.Model(solve(t, csr(t, known.x), search.Solver, m)).Predict(csr(t, unknown.x), unknown.data.Aux)
			if err != nil {
				t.Fatal(err)
			}
			for from, i := range test {
				for c, v := range p.LogOdds.RawRowView(from) {
					// an objective to 1e-13 determines the factors to its root
					if got := choice.LogOdds.At(i, c); math.Abs(got-v) > 1e-3*max(1, math.Abs(v)) {
						t.Fatalf("%s, document %d, class %d: log-odds %g, want %g", variant, i, c+1, got, v)
					}
				}
				w := data.Weights[i]
				loss -= w * math.Log(p.Probabilities.At(from, data.Labels[i]))
				weight += w
			}
		}
		if math.Abs(loss/weight-choice.Best.LogLoss) > 1e-4 {
			t.Errorf("%s: log loss %g, want %g", variant, choice.Best.LogLoss, loss/weight)
		}
	}
}

// A path of ν ends where it has become hopeless, and the skipped candidates count as done.
func TestChooseEndsPaths(t *testing.T) {
	t.Parallel()
	x := normal(1, 60, 40)
	data := smf.Data{Labels: make([]int, 60)}
	for i := range data.Labels { // nothing to learn
		data.Labels[i] = i / 2 % 2
	}
	var done atomic.Int64
	search := smf.Search{
		Method: smf.Settings{Variant: smf.VariantW}, Solver: solver.Settings{Rank: 10, MaxIter: 200, RelTol: 1e-6},
		Xi: []float64{0.1}, Ridge: []float64{1e-5, 1e-4, 1e-3, 1e3, 1e4}, Seed: 1,
		Progress: func(runs, _ int) { done.Store(max(done.Load(), int64(runs))) },
	}
	choice, err := smf.Choose(t.Context(), x, data, search)
	if err != nil {
		t.Fatal(err)
	}
	if len(choice.Candidates) > 3 || choice.Candidates[len(choice.Candidates)-1].Ridge != 1e4 ||
		choice.Best.Ridge < 1e3 || done.Load() != 25 {
		t.Errorf("%d runs done of 25, candidates %+v", done.Load(), choice.Candidates)
	}
}

// A path ends for all folds together: a fold of outliers does not end it for the others.
func TestChooseEndsPathsTogether(t *testing.T) {
	t.Parallel()
	x := normal(1, 100, 10)
	data, folds := smf.Data{Labels: make([]int, 100)}, make([]int, 100)
	for i := range folds {
		if folds[i] = i % 4; i < 8 {
			folds[i] = 4
		}
		if positive := x.At(i, 0) > 0; positive != (folds[i] == 4) {
			data.Labels[i] = 1
		}
	}
	search := smf.Search{
		Method: smf.Settings{Variant: smf.VariantW}, Solver: solver.Settings{Rank: 2, MaxIter: 200, RelTol: 1e-6},
		Xi: []float64{1}, Ridge: []float64{1, 10, 100}, FoldOf: folds,
	}
	choice, err := smf.Choose(t.Context(), x, data, search)
	if err != nil {
		t.Fatal(err)
	}
	if len(choice.Candidates) != 3 || choice.Best.Ridge != 1 {
		t.Errorf("chosen %+v of %+v", choice.Best, choice.Candidates)
	}
}

type some struct {
	x    *mat.Dense
	data smf.Data
}

// rows returns some documents.
func rows(x *mat.Dense, data smf.Data, which []int) some {
	_, p := x.Dims()
	s := some{mat.NewDense(len(which), p, nil), smf.Data{Classes: data.Classes, Aux: mat.NewDense(len(which), 2, nil)}}
	for to, from := range which {
		s.x.SetRow(to, x.RawRowView(from))
		s.data.Aux.SetRow(to, data.Aux.RawRowView(from))
		s.data.Labels = append(s.data.Labels, data.Labels[from])
		s.data.Weights = append(s.data.Weights, data.Weights[from])
	}
	return s
}

// A choice has the same bits on any number of threads. It sets GOMAXPROCS, so it is not parallel.
func TestChoiceSameBits(t *testing.T) {
	x, data := planted(200, 120, 1)
	search := smf.Search{
		Method: smf.Settings{Variant: smf.VariantW}, Solver: solver.Settings{Rank: 3, MaxIter: 5, RelTol: -1},
		Xi: []float64{0.1, 1}, Ridge: []float64{0.1, 1}, Seed: 1,
	}
	var want *smf.Choice
	for _, threads := range []int{1, 4} {
		before := runtime.GOMAXPROCS(threads)
		got, err := smf.Choose(t.Context(), csr(t, x), data, search)
		runtime.GOMAXPROCS(before)
		if err != nil {
			t.Fatal(err)
		}
		if want == nil {
			want = got
		}
		if !mat.Equal(got.LogOdds, want.LogOdds) || !slices.Equal(got.Candidates, want.Candidates) {
			t.Errorf("other bits on %d threads", threads)
		}
	}
}

func TestChooseRefusesFolds(t *testing.T) {
	t.Parallel()
	x, data := normal(1, 6, 4), smf.Data{Labels: []int{0, 0, 0, 1, 1, 1}}
	for name, c := range map[string]struct {
		folds []int
		want  error
	}{
		"too few":           {[]int{0, 1, 0, 1}, solver.ErrShape},
		"negative":          {[]int{0, 1, 0, 1, 0, -1}, solver.ErrSettings},
		"one":               {make([]int, 6), solver.ErrSettings},
		"an empty one":      {[]int{0, 2, 0, 2, 0, 2}, solver.ErrSettings},
		"more than fit":     {[]int{0, 1, 0, 1, 0, 9}, solver.ErrSettings},
		"a class in one":    {[]int{0, 1, 0, 1, 1, 1}, smf.ErrLabels},
		"each class in one": {[]int{0, 0, 0, 1, 1, 1}, smf.ErrLabels},
	} {
		search := smf.Search{
			Method: smf.Settings{Variant: smf.VariantW}, Solver: solver.Settings{Rank: 1}, FoldOf: c.folds,
		}
		if _, err := smf.Choose(t.Context(), x, data, search); !errors.Is(err, c.want) {
			t.Errorf("%s: error %v, want %v", name, err, c.want)
		}
	}
}
