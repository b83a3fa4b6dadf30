package grm_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/grm"
	"github.com/wardcast/wardcast/solver/linalg/eap"
)

// planted returns a model of k factors that correlate by phi, with items in turn, and answers by it: with skew most are
// in the lowest category. Items have two to five categories. The share missing is left out.
func planted(seed uint64, n, p, k int, phi float64, skew bool, missing float64) (*eap.Model, *mat.Dense, *mat.Dense) {
	random := rand.New(rand.NewPCG(seed, 1))
	m := &eap.Model{Phi: mat.NewDense(k, k, nil)}
	for t := range k {
		for u := range k {
			m.Phi.Set(t, u, phi)
		}
		m.Phi.Set(t, t, 1)
	}
	for j := range p {
		a, first := 0.8+1.6*random.Float64(), -1.5+random.Float64()
		if skew {
			first += 1.5
		}
		d, values := []float64{-a * first}, []float64{0, 1}
		for c := range j % 4 {
			first += 0.5 + 0.5*random.Float64()
			d, values = append(d, -a*first), append(values, float64(c+2))
		}
		m.Factors, m.Slopes = append(m.Factors, j%k), append(m.Slopes, a)
		m.Intercepts, m.Values = append(m.Intercepts, d), append(m.Values, values)
	}
	x, theta := mat.NewDense(n, p, nil), mat.NewDense(n, k, nil)
	for i := range n {
		common := math.Sqrt(phi) * random.NormFloat64()
		for t := range k {
			theta.Set(i, t, common+math.Sqrt(1-phi)*random.NormFloat64())
		}
		for j := range p {
			u, answer := random.Float64(), 0.0
			for _, d := range m.Intercepts[j] {
				if u < 1/(1+math.Exp(-m.Slopes[j]*theta.At(i, m.Factors[j])-d)) {
					answer++
				}
			}
			if random.Float64() < missing {
				answer = math.NaN()
			}
			x.Set(i, j, answer)
		}
	}
	return m, x, theta
}

// The planted parameters are found within their standard errors: the mean squared ratio is that of a normal variable.
func TestPlanted(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n, p, k int
		phi     float64
		skew    bool
		missing float64
	}{
		"one factor":            {n: 1500, p: 9, k: 1},
		"skewed, missing":       {n: 1500, p: 9, k: 1, skew: true, missing: 0.2},
		"two correlated":        {n: 1200, p: 12, k: 2, phi: 0.5},
		"three, skewed":         {n: 1200, p: 15, k: 3, phi: 0.3, skew: true, missing: 0.1},
		"two that nearly agree": {n: 1200, p: 16, k: 2, phi: 0.8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			truth, x, theta := planted(3, c.n, c.p, c.k, c.phi, c.skew, c.missing)
			m, err := grm.Fit(t.Context(), x, grm.Settings{Factors: c.k, Assigned: truth.Factors})
			if err != nil {
				t.Fatal(err)
			}
			if !m.Converged || m.Errors == nil || m.Check() != nil {
				t.Fatalf("converged %t, errors %v, %v", m.Converged, m.Errors, m.Check())
			}
			t.Logf("%d steps, log-likelihood %.3f", m.Iterations, m.LogLikelihood)
			var squares, count float64
			add := func(got, want, e float64) {
				squares, count = squares+(got-want)*(got-want)/e/e, count+1
			}
			for j, a := range truth.Slopes {
				add(m.Slopes[j], a, m.Errors.Slopes[j])
				for i, d := range truth.Intercepts[j] {
					add(-m.Intercepts[j][i]/m.Slopes[j], -d/a, m.Errors.Thresholds[j][i])
				}
			}
			for u := range c.k {
				for v := range u {
					add(m.Phi.At(u, v), c.phi, m.Errors.Phi.At(u, v))
				}
			}
			if r := squares / count; r < 0.4 || r > 1.7 {
				t.Errorf("mean squared error over squared standard error of %v parameters is %v, want about 1", count,
					r)
			}

			scorer := m.NewScorer()
			scores, errs := make([]float64, c.k), make([]float64, c.k)
			squares, count = 0, 0
			for i := range c.n {
				scorer.ScoreTo(scores, errs, x.RawRowView(i))
				for u, s := range scores {
					add(s, theta.At(i, u), errs[u])
				}
			}
			if r := squares / count; math.Abs(r-1) > 0.15 {
				t.Errorf("mean squared error of scores over squared standard error is %v, want about 1", r)
			}
		})
	}
}

// The fits of an independent program that does without approximation: testdata/README.md.
func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("testdata/answers.txt")
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Fields(string(text))
	all := mat.NewDense(len(lines), len(lines[0]), nil)
	for i, line := range lines {
		for j, c := range []byte(line) {
			if all.Set(i, j, float64(c-'0')); c == '.' {
				all.Set(i, j, math.NaN())
			}
		}
	}
	var references map[string]struct {
		LogLikelihood float64 `json:"log_likelihood"`
		Slopes        []float64
		Thresholds    [][]float64
		Correlation   float64
		Scores        [][]float64
		Errors        [][]float64
		Own           []float64 `json:"parameter_errors"`
	}
	if text, err = os.ReadFile("testdata/reference.json"); err == nil {
		err = json.Unmarshal(text, &references)
	}
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		factors         int
		likelihood, tol float64
	}{"one": {1, 1e-4, 2e-4}, "two": {2, 0.05, 2e-3}} {
		want := references[name]
		p := len(want.Slopes)
		assigned := make([]int, p)
		for j := 5; j < p; j++ {
			assigned[j] = 1
		}
		x := mat.DenseCopyOf(all.Slice(0, len(lines), 0, p))
		m, err := grm.Fit(t.Context(), x, grm.Settings{Factors: c.factors, Assigned: assigned})
		if err != nil {
			t.Fatal(err)
		}
		var worst, ratios float64
		near := func(got, want float64) { worst = max(worst, math.Abs(got-want)) }
		var errs []float64
		for j, a := range want.Slopes {
			near(m.Slopes[j], a)
			for i, b := range want.Thresholds[j] {
				near(-m.Intercepts[j][i]/m.Slopes[j], b)
			}
			errs = append(errs, m.Errors.Slopes[j])
			ratios += m.Errors.Slopes[j] / want.Own[len(errs)-1] / float64(p)
			if r := m.Errors.Slopes[j] / want.Own[len(errs)-1]; r < 0.7 || r > 1.4 {
				t.Errorf("%s: the standard error of slope %d is %v times the other one", name, j, r)
			}
			errs = append(errs, make([]float64, len(want.Thresholds[j]))...)
		}
		if c.factors == 2 {
			near(m.Phi.At(0, 1), want.Correlation)
		}
		scorer, scores, e := m.NewScorer(), make([]float64, c.factors), make([]float64, c.factors)
		for i, of := range want.Scores {
			scorer.ScoreTo(scores, e, x.RawRowView(20*i))
			for u, s := range of {
				near(scores[u], s)
				near(e[u], want.Errors[i][u])
			}
		}
		off := m.LogLikelihood - want.LogLikelihood
		t.Logf("%s: log-likelihood off by %.2g, others by %.2g, standard errors of slopes %.2f times", name, off,
			worst, ratios)
		if math.Abs(off) > c.likelihood || worst > c.tol || math.Abs(ratios-1) > 0.15 {
			t.Errorf("%s: log-likelihood off by %v, parameters and scores by %v, standard errors %v", name, off, worst,
				ratios)
		}
	}
}

// Without a given assignment, items are told apart by factor analysis, reverse-keyed ones too.
func TestAssignment(t *testing.T) {
	t.Parallel()
	truth, x, _ := planted(5, 1000, 12, 2, 0.3, false, 0)
	for i := range 1000 {
		x.Set(i, 2, 2-x.At(i, 2))
	}
	m, err := grm.Fit(t.Context(), x, grm.Settings{Factors: 2})
	if err != nil {
		t.Fatal(err)
	}
	for j, f := range m.Factors {
		if (f == m.Factors[0]) != (truth.Factors[j] == 0) || (m.Slopes[j] < 0) != (j == 2) {
			t.Errorf("item %d is on factor %d with the slope %v", j, f, m.Slopes[j])
		}
	}
}

// The result is the same for any number of threads, and the answers may have any values.
func TestThreads(t *testing.T) {
	t.Parallel()
	_, x, _ := planted(7, 300, 8, 2, 0.4, true, 0.1)
	var likelihoods []float64
	for _, threads := range []int{1, 3} {
		m, err := grm.Fit(t.Context(), x, grm.Settings{Factors: 2, Threads: threads})
		if err != nil {
			t.Fatal(err)
		}
		likelihoods = append(likelihoods, m.LogLikelihood)
	}
	if likelihoods[0] != likelihoods[1] {
		t.Errorf("log-likelihoods %v", likelihoods)
	}
}

// Q3 is near 0 for planted answers, and large for two items that share more than the factor.
func TestQ3(t *testing.T) {
	t.Parallel()
	_, x, _ := planted(9, 1000, 10, 1, 0, false, 0)
	random := rand.New(rand.NewPCG(1, 1))
	for i := range 1000 {
		if random.Float64() < 0.5 {
			x.Set(i, 3, min(3, x.At(i, 7)))
		}
	}
	m, err := grm.Fit(t.Context(), x, grm.Settings{Factors: 1})
	if err != nil {
		t.Fatal(err)
	}
	scores, scorer := mat.NewDense(1000, 1, nil), m.NewScorer()
	for i := range 1000 {
		scorer.ScoreTo(scores.RawRowView(i), make([]float64, 1), x.RawRowView(i))
	}
	q3 := grm.Q3(&m.Model, x, scores, 2)
	for a := range 10 {
		for b := range a {
			if v := q3.At(a, b); (v > 0.15) != (a == 7 && b == 3) || v != q3.At(b, a) {
				t.Errorf("Q3 of %d and %d is %v", a, b, v)
			}
		}
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	_, x, _ := planted(11, 60, 6, 1, 0, false, 0)
	fit := func(s grm.Settings) error { _, err := grm.Fit(t.Context(), x, s); return err }
	if err := fit(grm.Settings{Factors: 0}); !errors.Is(err, solver.ErrSettings) {
		t.Errorf("no factor: %v", err)
	}
	var few *grm.ItemsError
	if err := fit(grm.Settings{Factors: 2, Assigned: []int{0, 0, 0, 0, 0, 1}}); !errors.As(err, &few) {
		t.Errorf("a factor of one item: %v", err)
	}
	for i := range 60 {
		x.Set(i, 1, float64(i))
	}
	var item *factoranalysis.ItemError
	if err := fit(grm.Settings{Factors: 1}); !errors.As(err, &item) || item.Item != 1 {
		t.Errorf("an item with 60 answers: %v", err)
	}
	_, x, _ = planted(11, 60, 6, 1, 0, false, 0)
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("stop")
	cancel(stop)
	if _, err := grm.Fit(ctx, x, grm.Settings{Factors: 1}); !errors.Is(err, stop) {
		t.Errorf("cancelled: %v", err)
	}
}

// Degenerate answers end with finite parameters: a repeated item, a category of one participant, few participants.
func TestDegenerate(t *testing.T) {
	t.Parallel()
	_, x, _ := planted(13, 40, 5, 1, 0, true, 0.1)
	for i := range 40 {
		x.Set(i, 4, x.At(i, 3))
	}
	x.Set(7, 0, 4)
	m, err := grm.Fit(t.Context(), x, grm.Settings{Factors: 1})
	if err != nil {
		t.Fatal(err)
	}
	if err := m.Check(); err != nil || m.Errors != nil {
		t.Errorf("%v, errors %v", err, m.Errors)
	}
	if !slices.Contains(m.Steep, 3) && !slices.Contains(m.Steep, 4) {
		t.Errorf("the slopes of a repeated item are %v", m.Slopes)
	}
}
