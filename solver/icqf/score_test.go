package icqf

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// questionnaire returns n participants' answers to p items from k planted factors, confounds mirrored and an intercept,
// a share of the answers missing, and the truth.
func questionnaire(seed uint64, n, p, k int) (Data, *Model, *mat.Dense) {
	random := rand.New(rand.NewPCG(seed, 0))
	m := &Model{Loadings: mat.NewDense(p, k, nil), ConfoundLoadings: mat.NewDense(p, 3, nil), L1: 0.1}
	scores, confounds := mat.NewDense(n, k, nil), mat.NewDense(n, 3, nil)
	for j := range p {
		m.Loadings.Set(j, random.IntN(k), 1+2*random.Float64())
		for c := range 3 {
			m.ConfoundLoadings.Set(j, c, 0.3*random.Float64())
		}
	}
	for i := range n {
		a := random.Float64()
		confounds.SetRow(i, []float64{a, 1 - a, 1})
		for t := range k {
			if random.IntN(2) == 0 {
				scores.Set(i, t, random.Float64())
			}
		}
	}
	r, err := m.Reconstruct(scores, confounds)
	if err != nil {
		panic(err)
	}
	r.Apply(func(_, _ int, v float64) float64 {
		if random.IntN(10) == 0 {
			return math.NaN()
		}
		return math.Round(min(max(v+0.3*random.NormFloat64(), 0), 4))
	}, r)
	return Data{Answers: r, Confounds: confounds, Max: 4}, m, scores
}

// TestScoreIsOptimal checks the first-order conditions of each row, which the minimum of a convex problem alone
// fulfils.
func TestScoreIsOptimal(t *testing.T) {
	t.Parallel()
	for _, ridge := range []float64{0, 0.5} {
		data, m, _ := questionnaire(1, 200, 30, 6)
		m.L2 = ridge
		data.Answers.SetRow(0, repeat(math.NaN(), 30))
		for j := range 28 {
			data.Answers.Set(1, j, math.NaN()) // fewer answers than factors
		}
		for j := range 30 {
			m.Loadings.Set(j, 5, m.Loadings.At(j, 4)) // two equal factors
		}
		w, err := m.Score(data.Answers, data.Confounds)
		if err != nil {
			t.Fatal(err)
		}
		n, p := data.Answers.Dims()
		for i := range n {
			for f := range 6 {
				g, size := -m.L1-m.L2*w.At(i, f), m.L1
				for j := range p {
					v := data.Answers.At(i, j)
					if v != v {
						continue
					}
					r := mat.Dot(w.RowView(i), m.Loadings.RowView(j)) + mat.Dot(data.Confounds.RowView(i),
						m.ConfoundLoadings.RowView(j))
					g += (v - r) * m.Loadings.At(j, f)
					size += math.Abs(v) * m.Loadings.At(j, f)
				}
				switch s := w.At(i, f); {
				case s < 0 || s > 1:
					t.Fatalf("score %v in row %d", s, i)
				case s > 0 && g < -1e-10*size, s < 1 && g > 1e-10*size:
					t.Errorf("row %d, factor %d: score %v has gradient %g of %g", i, f, s, g, size)
				}
			}
		}
		if mat.Norm(w.RowView(0), 1) != 0 {
			t.Errorf("a row without answers scores %v", w.RawRowView(0))
		}
	}
}

// TestScoreIsOptimalInValleys: if the answers do not distinguish nearly parallel factors, coordinate descent alone
// would need a million rounds.
func TestScoreIsOptimalInValleys(t *testing.T) {
	t.Parallel()
	for _, nearly := range []float64{1.01, 1.001, 1.0001} {
		for _, l1 := range []float64{0.1, 0.001} {
			m := &Model{Loadings: mat.NewDense(1, 2, []float64{4, 4 * nearly}), L1: l1}
			w, err := m.Score(mat.NewDense(1, 1, []float64{3.6}), nil)
			if err != nil {
				t.Fatal(err)
			}
			// The larger loading explains the answer at less of the penalty.
			want := (3.6*4*nearly - l1) / (4 * nearly * 4 * nearly)
			if got := w.RawRowView(0); got[0] != 0 || math.Abs(got[1]-want) > 1e-12 {
				t.Errorf("loadings 4 and %v, β = %v: scores %v, want 0 and %v", 4*nearly, l1, got, want)
			}
		}
	}
}

func repeat(v float64, n int) []float64 {
	out := make([]float64, n)
	for i := range out {
		out[i] = v
	}
	return out
}

// A Scorer gives the bits of Score, whatever it scored before, and allocates nothing.
func TestScorer(t *testing.T) {
	t.Parallel()
	data, m, _ := questionnaire(3, 200, 30, 6)
	data.Answers.SetRow(1, repeat(math.NaN(), 30))
	for j := range 28 {
		data.Answers.Set(2, j, math.NaN()) // a valley
	}
	want, err := m.Score(data.Answers, data.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	s, got := m.NewScorer(), repeat(math.NaN(), 6)
	for i := range 200 {
		if err := s.ScoreTo(got, data.Answers.RawRowView(i), data.Confounds.RawRowView(i)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got, want.RawRowView(i)) {
			t.Fatalf("row %d scores %v alone and %v in the matrix", i, got, want.RawRowView(i))
		}
	}
	row, confounds := data.Answers.RawRowView(0), data.Confounds.RawRowView(0)
	bare := &Model{Loadings: m.Loadings, L1: m.L1}
	for _, none := range [][]float64{nil, {}} {
		if err := bare.NewScorer().ScoreTo(got, row, none); err != nil {
			t.Errorf("without confounds: %v", err)
		}
	}
	for name, refused := range map[string]struct {
		dst, answers, confounds []float64
		want                    error
	}{
		"few scores":   {got[1:], row, confounds, solver.ErrShape},
		"few answers":  {got, row[1:], confounds, solver.ErrShape},
		"no confounds": {got, row, nil, solver.ErrShape},
		"infinite":     {got, repeat(math.Inf(1), 30), confounds, solver.ErrNonFinite},
		"too large":    {got, repeat(math.MaxFloat64, 30), confounds, solver.ErrNonFinite},
		"NaN confound": {got, row, repeat(math.NaN(), 3), ErrConfounds},
	} {
		if err := s.ScoreTo(refused.dst, refused.answers, refused.confounds); !errors.Is(err, refused.want) {
			t.Errorf("%s: %v, want %v", name, err, refused.want)
		}
	}
}

func TestScorerAllocates(t *testing.T) { // alone, for AllocsPerRun counts those of all goroutines
	data, m, _ := questionnaire(3, 200, 30, 6)
	s, got, i := m.NewScorer(), make([]float64, 6), 0
	if n := testing.AllocsPerRun(200, func() {
		if err := s.ScoreTo(got, data.Answers.RawRowView(i%200), data.Confounds.RawRowView(i%200)); err != nil {
			t.Fatal(err)
		}
		i++
	}); n != 0 {
		t.Errorf("%v allocations for a participant", n)
	}
}
