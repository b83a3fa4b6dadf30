package icqf

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
	"pgregory.net/rapid"
)

// column draws the loadings of a factor on p items: none, sparse, as those of an earlier factor, nearly so, or as
// several of them together, so that the problem of scores is singular or next to it.
func column(t *rapid.T, random *rand.Rand, loadings *mat.Dense, f int) {
	p, _ := loadings.Dims()
	values := make([]float64, p)
	earlier := func(weight float64) {
		for j, v := range mat.Col(nil, random.IntN(f), loadings) {
			values[j] += weight * v
		}
	}
	kind := rapid.IntRange(0, 9).Draw(t, "kind")
	switch {
	case kind == 0:
	case kind <= 4 || f == 0:
		share := rapid.Float64Range(0, 1).Draw(t, "share")
		scale := math.Pow(10, rapid.Float64Range(-6, 6).Draw(t, "scale"))
		for j := range values {
			if random.Float64() < share {
				values[j] = scale * random.Float64()
			}
		}
	case kind == 5:
		earlier(1)
	case kind == 6:
		earlier(math.Pow(2, rapid.Float64Range(-3, 3).Draw(t, "times")))
	case kind == 7:
		earlier(1)
		nearly := math.Pow(10, rapid.Float64Range(-16, -1).Draw(t, "nearly"))
		for j := range values {
			values[j] *= 1 + nearly*random.NormFloat64()
		}
	default:
		for range kind - 6 {
			earlier(1)
		}
	}
	loadings.SetCol(f, values)
}

// scoreProperty scores participants and checks the first-order conditions, which the minimum of a convex problem alone
// fulfils.
func scoreProperty(t *rapid.T) {
	k, p := rapid.IntRange(1, 30).Draw(t, "k"), rapid.IntRange(1, 40).Draw(t, "p")
	random := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0))
	m := &Model{Loadings: mat.NewDense(p, k, nil)}
	for f := range k {
		column(t, random, m.Loadings, f)
	}
	if rapid.Bool().Draw(t, "lasso") {
		m.L1 = math.Pow(10, rapid.Float64Range(-8, 3).Draw(t, "l1"))
	}
	if rapid.IntRange(0, 3).Draw(t, "ridge") == 0 {
		m.L2 = math.Pow(10, rapid.Float64Range(-8, 3).Draw(t, "l2"))
	}
	const n = 4
	scale, seen := math.Pow(10, rapid.Float64Range(-3, 3).Draw(t, "answers")), rapid.Float64Range(0, 1).Draw(t, "seen")
	truth, answers := mat.NewDense(n, k, nil), mat.NewDense(n, p, nil)
	truth.Apply(func(_, _ int, _ float64) float64 { return math.Round(2*random.Float64()) / 2 }, truth)
	answers.Mul(truth, m.Loadings.T()) // exactly what the factors answer, bounds included
	answers.Apply(func(i, _ int, v float64) float64 {
		switch {
		case random.Float64() >= seen:
			return math.NaN()
		case i > 0:
			return v + scale*random.NormFloat64()
		}
		return v
	}, answers)
	w, err := m.Score(answers, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i := range n {
		checkScore(t, m, answers.RawRowView(i), w.RawRowView(i))
	}
}

// checkScore checks the first-order conditions of a row, to 1e-12 of what the gradient is a sum of.
func checkScore(t *rapid.T, m *Model, answers, w []float64) {
	for f, s := range w {
		g, size := -m.L1-m.L2*s, m.L1+m.L2
		for j, v := range answers {
			if v != v {
				continue
			}
			q := m.Loadings.RawRowView(j)
			if q[f] == 0 {
				continue
			}
			most := math.Abs(v)
			for u, s := range w {
				v -= q[u] * s
				most += q[u]
			}
			g += v * q[f]
			size += most * q[f]
		}
		// Of a problem of one item the tolerance of the search, by norms, is as this size; of several it can be larger.
		switch tol := 1e-12 * (size + spread(m, answers, f)); {
		case !(s >= 0 && s <= 1):
			t.Fatalf("score %v", s)
		case s > 0 && g < -tol, s < 1 && g > tol:
			t.Fatalf("factor %d: score %v has gradient %g, tolerance %g", f, s, g, tol)
		}
	}
}

// spread returns ‖q_f‖·Σ‖q_u‖ over the observed answers.
func spread(m *Model, answers []float64, f int) float64 {
	squares := repeat(m.L2, m.Loadings.RawMatrix().Cols)
	for j, v := range answers {
		if v == v {
			for u, q := range m.Loadings.RawRowView(j) {
				squares[u] += q * q
			}
		}
	}
	var sum float64
	for _, s := range squares {
		sum += math.Sqrt(s)
	}
	return math.Sqrt(squares[f]) * sum
}

func TestScoreProperty(t *testing.T) {
	t.Parallel()
	rapid.Check(t, scoreProperty)
}

func FuzzScore(f *testing.F) { f.Fuzz(rapid.MakeFuzz(scoreProperty)) }

// TestLassoSteps does not run beside others: it counts allocations.
func TestLassoSteps(t *testing.T) {
	b := newBoxLasso(2)
	copy(b.gram, []float64{2, 1, 1, 2})
	copy(b.linear, []float64{1, 1})
	w := make([]float64, 2)
	if allocs := testing.AllocsPerRun(10, func() {
		if err := b.minimize(w); err != nil {
			t.Fatal(err)
		}
	}); allocs != 0 {
		t.Errorf("%v allocations", allocs)
	}
	if third := 1.0 / 3; math.Abs(w[0]-third) > 1e-15 || math.Abs(w[1]-third) > 1e-15 {
		t.Errorf("minimum at %v, want ⅓ and ⅓", w)
	}
	b.steps = 2
	if err := b.minimize(w); !errors.Is(err, ErrNotOptimal) {
		t.Errorf("two steps: got %v, want %v", err, ErrNotOptimal)
	}
}
