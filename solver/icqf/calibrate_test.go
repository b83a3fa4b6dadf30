package icqf

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
)

// plantedCase is a questionnaire of answers 0 to 4 to p items with true scores of this density.
type plantedCase struct {
	n, p, k              int
	beta, noise, missing float64
	score                func(u float64) float64 // of a uniform number
	name                 string
}

func (c *plantedCase) String() string {
	return fmt.Sprintf("%s scores, %d items, β %v, %v missing", c.name, c.p, c.beta, c.missing)
}

func square(u float64) float64 { return u * u }
func absent(u float64) float64 { return max(0, u-0.6) / 0.4 }
func high(u float64) float64   { return min(1, u/0.6) }

// draw returns the model, with β that of the fit, and a function that returns n participants' answers and true scores.
func (c *plantedCase) draw(random *rand.Rand) (*Model, func(n int) (answers, truth *mat.Dense)) {
	const top = 4
	m := &Model{Loadings: mat.NewDense(c.p, c.k, nil), L1: c.beta * float64(c.p) / ScaledItems * (top / ScaledMax) *
		(top / ScaledMax), Answers: float64(c.p) * (1 - c.missing)}
	for j := range c.p {
		m.Loadings.Set(j, j%c.k, 1.5+2*random.Float64())
		m.Loadings.Set(j, (j+1)%c.k, max(0, 1.6*random.Float64()-0.8))
	}
	loadings := m.Loadings
	return m, func(n int) (answers, truth *mat.Dense) {
		answers, truth = mat.NewDense(n, c.p, nil), mat.NewDense(n, c.k, nil)
		truth.Apply(func(_, _ int, _ float64) float64 { return c.score(random.Float64()) }, truth)
		answers.Mul(truth, loadings.T())
		answers.Apply(func(_, _ int, v float64) float64 {
			return min(max(math.Round(v+c.noise*random.NormFloat64()), 0), top)
		}, answers)
		return thinned(random, answers, 1-c.missing), truth
	}
}

// thinned returns the answers that are kept with this probability, at least one of each row.
func thinned(random *rand.Rand, answers *mat.Dense, keep float64) *mat.Dense {
	out := mat.DenseCopyOf(answers)
	n, _ := out.Dims()
	for i := range n {
		row := out.RawRowView(i)
		for seen := 0; seen == 0; seen = answered(row) {
			for j, v := range answers.RawRowView(i) {
				if row[j] = v; random.Float64() >= keep {
					row[j] = math.NaN()
				}
			}
		}
	}
	return out
}

// Deleting answers at random leaves the mean scores of new participants, as many as the fit had, within two standard
// errors and within 3 %, where a model without calibration is off by more.
func TestDeletedAnswersLeaveTheMeans(t *testing.T) {
	t.Parallel()
	cases := []plantedCase{
		{n: 300, p: 40, k: 4, beta: 0.3, noise: 0.5, missing: 0, score: absent, name: "mostly absent"},
		{n: 300, p: 40, k: 4, beta: 0, noise: 0.5, missing: 0, score: high, name: "high"},
	}
	if os.Getenv("WARDCAST_LONG") != "" {
		cases = nil
		for name, score := range map[string]func(
			float64) float64{"mostly absent": absent, "high": high, "low": square} {
			for _, beta := range []float64{0, 0.1, 0.3, 0.5} {
				cases = append(cases,
					plantedCase{n: 300, p: 40, k: 4, beta: beta, noise: 0.5, missing: 0, score: score, name: name},
					plantedCase{n: 300, p: 40, k: 4, beta: beta, noise: 0.5, missing: 0.3, score: score, name: name},
					plantedCase{n: 300, p: 15, k: 3, beta: beta, noise: 0.5, missing: 0, score: score, name: name},
					plantedCase{n: 300, p: 160, k: 8, beta: beta, noise: 0.7, missing: 0.1, score: score, name: name})
			}
		}
	}
	for _, c := range cases {
		random := rand.New(rand.NewPCG(40, 1))
		m, draw := c.draw(random)
		answers, _ := draw(c.n)
		plain := *m
		if err := m.Calibrate(answers, nil); err != nil {
			t.Fatal(err)
		}
		people, _ := draw(20 * c.n) // the bias itself, with little noise
		for _, keep := range []float64{0.7, 0.4} {
			few := thinned(random, people, keep)
			share, errorsOff := worst(t, m, people, few, c.n)
			before, _ := worst(t, &plain, people, few, c.n)
			t.Logf("%v, %.0f %% kept: off by %+.1f %%, %.1f standard errors; without calibration by %+.1f %%", &c,
				100*keep, 100*share, errorsOff, 100*before)
			if math.Abs(share) > 0.03 || errorsOff > 2 {
				t.Errorf("%v, %.0f %% kept: off by %+.1f %%, %.1f standard errors", &c, 100*keep, 100*share, errorsOff)
			}
		}
	}
}

// informs reports whether the answers hold information about a factor.
func informs(m *Model, answers []float64, factor int) bool {
	var some, all float64
	for j, v := range answers {
		q := m.Loadings.At(j, factor)
		all += q * q
		if v == v {
			some += q * q
		}
	}
	return some >= negligible*all
}

// worst returns the largest change of a factor's mean score, among people whose answers hold information about it:
// relative to the mean, and in standard errors for n participants.
func worst(t *testing.T, m *Model, all, some *mat.Dense, n int) (share, standardErrors float64) {
	t.Helper()
	before, err := m.Score(all, nil)
	if err != nil {
		t.Fatal(err)
	}
	after, err := m.Score(some, nil)
	if err != nil {
		t.Fatal(err)
	}
	people, k := before.Dims()
	for f := range k {
		var was, d []float64
		for i := range people {
			if informs(m, some.RawRowView(i), f) {
				was, d = append(was, before.At(i, f)), append(d, after.At(i, f)-before.At(i, f))
			}
		}
		mean, sd := stat.MeanStdDev(d, nil)
		if s := mean / stat.Mean(was, nil); math.Abs(s) > math.Abs(share) {
			share = s
		}
		standardErrors = max(standardErrors, math.Abs(mean)/sd*math.Sqrt(float64(n)))
	}
	return share, standardErrors
}

// Complete answers have the penalty of the fit, few have that of the formula, and nothing of a factor scores 0 even
// where the shift is below 0.
func TestCalibratedPenalty(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	m := &Model{
		Loadings: mat.NewDense(4, 2, []float64{2, 0, 2, 0, 0, 3, 0, 3}), L1: 0.5, Answers: 4,
		Calibration: &Calibration{Information: []float64{8, 18}, Shifts: []float64{0.4, -2}},
	}
	half := 4 / (0.8 * 8) // s of one of two answers
	for _, test := range []struct {
		answers, want []float64
	}{
		{[]float64{1, 1, 2, 2}, []float64{(2*2 - 0.5) / 8, (2*6 - 0.5) / 18}},
		{[]float64{1, nan, nan, nan}, []float64{(2 - 0.5/4 - 0.4*(math.Sqrt(half)-half)) / 4, 0}},
		{[]float64{1, 1, nan, nan}, []float64{(4 - 0.5/2) / 8, 0}},
		{[]float64{nan, nan, 1, nan}, []float64{0, (3 - 0.5/4 + 2*(math.Sqrt(half)-half)) / 9}},
	} {
		got := make([]float64, 2)
		if err := m.NewScorer().ScoreTo(got, test.answers, nil); err != nil {
			t.Fatal(err)
		}
		if !slices.EqualFunc(got, test.want, func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }) {
			t.Errorf("%v: scores %v, want %v", test.answers, got, test.want)
		}
	}
	// The first factor cannot explain the answer. The second must not make up for it if that is next to nothing of what
	// holds information about it.
	for _, beta := range []float64{0, 0.5} {
		nothing := &Model{
			Loadings: mat.NewDense(2, 2, []float64{2, 0.01, 0, 2}), L1: beta, Answers: 2,
			Calibration: &Calibration{Information: []float64{4, 4}, Shifts: []float64{0, -5}},
		}
		got := make([]float64, 2)
		if err := nothing.NewScorer().ScoreTo(got, []float64{4, nan}, nil); err != nil || got[0] != 1 || got[1] != 0 {
			t.Errorf("β = %v: scores %v, %v of next to nothing, want 1 and 0", beta, got, err)
		}
	}
	m.Calibration.Shifts = nil
	if _, err := m.Score(mat.NewDense(1, 4, nil), nil); !errors.Is(err, solver.ErrSettings) {
		t.Errorf("a calibration without shifts: %v", err)
	}
}

// A calibration has the same bits for any number of threads, and takes factors without loadings, empty rows and
// confounds.
func TestCalibrateAnything(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(3, 60, 20, 3)
	r, err := Fit(t.Context(), data, Settings{Rank: 3, L1: 0.1, Scaled: true})
	if err != nil {
		t.Fatal(err)
	}
	m := r.Model
	for j := range 20 {
		m.Loadings.Set(j, 2, 0)
		data.Answers.Set(7, j, math.NaN())
	}
	var want *Calibration
	for _, threads := range []int{1, 2, 5} {
		m.Threads = threads
		if err := m.Calibrate(data.Answers, data.Confounds); err != nil {
			t.Fatal(err)
		}
		got := m.Calibration
		if want == nil {
			want = got
		}
		if !slices.Equal(got.Shifts, want.Shifts) || !slices.Equal(got.Information, want.Information) {
			t.Errorf("%d threads: %v, want %v", threads, got, want)
		}
		if got.Shifts[0] == 0 || got.Shifts[2] != 0 || got.Information[2] != 0 {
			t.Errorf("calibration %v, want shifts but for the empty factor", got)
		}
	}
	if err := m.Calibrate(nil, nil); !errors.Is(err, solver.ErrShape) {
		t.Errorf("without answers: %v", err)
	}
}
