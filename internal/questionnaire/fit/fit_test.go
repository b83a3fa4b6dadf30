package fit_test

import (
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// number reads a number.
func number(t testing.TB, s string) float64 {
	t.Helper()
	v, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// numbers reads a table that was written.
func numbers(t *testing.T, table []byte) (header, names []string, values *mat.Dense) {
	t.Helper()
	all, err := csv.NewReader(bytes.NewReader(table)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	values = mat.NewDense(len(all)-1, len(all[0])-1, nil)
	for i, row := range all[1:] {
		names = append(names, row[0])
		for j, cell := range row[1:] {
			v, err := strconv.ParseFloat(cell, 64)
			if err != nil {
				t.Fatal(err)
			}
			values.Set(i, j, v)
		}
	}
	return all[0], names, values
}

// The written tables alone give the objective that is reported, by its definition; scores and loadings keep their
// bounds.
func TestWrittenTablesGiveTheObjective(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	files, err := questionnairetest.Fit(t, rows, nil).Files()
	if err != nil {
		t.Fatal(err)
	}
	head, ids, w := numbers(t, files[model.ScoresFile])
	if diff := cmp.Diff([]string{
		"id", "factor1", "factor2", "factor3", "answered", "se_factor1", "se_factor2", "se_factor3",
	}, head); diff != "" {
		t.Errorf("header of the scores differs from that wanted:\n%s", diff)
	}
	w = mat.DenseCopyOf(w.Slice(0, len(ids), 0, questionnairetest.Factors))
	head, items, q := numbers(t, files[model.TableFile])
	if diff := cmp.Diff(
		[]string{"item", "factor1", "factor2", "factor3", "age_low", "age_high", "sex_F", "sex_M", "intercept"},
		head); diff != "" {
		t.Errorf("header of the loadings differs from that wanted:\n%s", diff)
	}
	if !slices.Equal(items, rows[0][1:1+questionnairetest.Items]) {
		t.Errorf("items %q", items)
	}
	if mat.Min(w) < 0 || mat.Max(w) > 1 || mat.Min(q) < 0 {
		t.Errorf("scores from %v to %v, least loading %v", mat.Min(w), mat.Max(w), mat.Min(q))
	}
	low, high := math.Inf(1), math.Inf(-1)
	for _, row := range rows[1:] {
		age := number(t, row[1+questionnairetest.Items])
		low, high = min(low, age), max(high, age)
	}
	var squares, seen, scores float64
	for i, row := range rows[1:] {
		if ids[i] != row[0] {
			t.Fatalf("row %d of the scores and of the answers belong to different participants", i)
		}
		a := (number(t, row[1+questionnairetest.Items]) - low) / (high - low)
		known := []float64{1 - a, a, 0, 0, 1}
		known[2+strings.Index("FM", row[2+questionnairetest.Items])] = 1
		for j := range questionnairetest.Items {
			if row[1+j] == "" {
				continue
			}
			r := 0.0
			for c, v := range append(slices.Clone(w.RawRowView(i)), known...) {
				r += v * q.At(j, c)
			}
			squares += (number(t, row[1+j]) - r) * (number(t, row[1+j]) - r)
			seen++
		}
		for _, v := range w.RawRowView(i) {
			scores += v
		}
	}
	const unit = questionnairetest.Top / icqf.ScaledMax
	want := squares/2 + 0.1*questionnairetest.Items/icqf.ScaledItems*unit*unit*scores +
		0.1*questionnairetest.Participants/icqf.ScaledItems*questionnairetest.Top*mat.Sum(q)
	var s model.Summary
	if err := json.Unmarshal(files[model.ResultFile], &s); err != nil {
		t.Fatal(err)
	}
	if math.Abs(s.Objective-want) > 1e-9*want {
		t.Errorf("objective %v, the tables give %v", s.Objective, want)
	}
	if got := squares / seen; math.Abs(s.ReconstructionError-got) > 1e-9*got {
		t.Errorf("reconstruction error %v, the tables give %v", s.ReconstructionError, got)
	}
	if s.Factors != questionnairetest.Factors || s.Beta != 0.1 || s.Status != solver.Converged.String() ||
		s.Iterations < 1 || s.Participants != questionnairetest.Participants || len(s.BCV) != 0 {
		t.Errorf("summary %+v", s)
	}
	if s.Explained < 0.8 {
		t.Errorf("%v of the variance is explained, want most of what was planted", s.Explained)
	}
}

// What does not change the answers changes no bit of the scores: the order of the rows, ids, the spelling of what is
// missing, names of items, the number of threads.
func TestScoresKeepTheirBits(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(2)
	want := questionnairetest.Fit(t, rows, nil)
	scores := map[string][]float64{}
	for i, id := range want.Scores.IDs {
		scores[id] = want.Scores.Values.RawRowView(i)
	}
	for _, c := range []struct {
		name   string
		change func(rows [][]string)
		flags  func(*fit.Options)
	}{
		{"rows in another order", func(rows [][]string) {
			rand.New(rand.NewPCG(7, 0)).Shuffle(len(rows)-1,
				func(i, j int) { rows[1+i], rows[1+j] = rows[1+j], rows[1+i] })
		}, nil},
		{"missing spelled in five ways", func(rows [][]string) {
			for i, row := range rows[1:] {
				for j := range row {
					if row[j] == "" {
						row[j] = []string{"", "NA", "NaN", ".", "-9999"}[(i+j)%5]
					}
				}
			}
		}, func(o *fit.Options) { o.Columns.Missing = []string{"-9999"} }},
		{"items of other names", func(rows [][]string) {
			for j := range questionnairetest.Items {
				rows[0][1+j] = "item" + rows[0][1+j]
			}
		}, func(o *fit.Options) { o.Columns.Items = []string{"item*"} }},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			changed := make([][]string, len(rows))
			for i := range rows {
				changed[i] = slices.Clone(rows[i])
			}
			c.change(changed)
			got := questionnairetest.Fit(t, changed, c.flags)
			for i, id := range got.Scores.IDs {
				if !slices.Equal(got.Scores.Values.RawRowView(i), scores[id]) {
					t.Fatalf("scores of row %d are %v, want %v", i, got.Scores.Values.RawRowView(i), scores[id])
				}
			}
		})
	}
}

func TestThreadsKeepTheBits(t *testing.T) { //nolint:paralleltest // threads are the process's
	rows := questionnairetest.Rows(3)
	one := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Threads = 1 })
	for _, threads := range []int{2, 5} {
		if other := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Threads = threads }); !mat.Equal(
			one.Scores.Values, other.Scores.Values) || one.Summary.Objective != other.Summary.Objective {
			t.Errorf("%d threads give other scores than one", threads)
		}
	}
}

// Answers counted from the low end of a range are those of the range from 0.
func TestFromLow(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(4)
	want := questionnairetest.Fit(t, rows, nil)
	for _, row := range rows[1:] {
		for j := range questionnairetest.Items {
			if row[1+j] != "" {
				row[1+j] = fmt.Sprint(number(t, row[1+j]) - 2)
			}
		}
	}
	got := questionnairetest.Fit(t, rows, func(o *fit.Options) {
		o.Columns.Range, o.Columns.FromLow = &questionnaire.Range{Low: -2, High: 2}, true
	})
	if !mat.Equal(want.Scores.Values, got.Scores.Values) {
		t.Error("answers −2 to 2 from their low end give other scores than 0 to 4")
	}
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
	m := questionnairetest.Reload(t, &got.Model)
	s, err := fit.Score(m, path, fit.Scoring{})
	if err != nil {
		t.Fatal(err)
	}
	if d := distance(s.Values, want.Scores.Values); d > 0.5 {
		t.Errorf("scores of the training participants differ by %v from those of the fit", d)
	}
}

func TestFitRefuses(t *testing.T) {
	t.Parallel()
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(questionnairetest.Rows(1)))
	for _, c := range []struct {
		name   string
		change func(*fit.Options)
	}{
		{"more factors than items", func(o *fit.Options) { o.Factors = []int{questionnairetest.Items + 1} }},
		{"no factors", func(o *fit.Options) { o.Factors = []int{0} }},
		{"a negative beta", func(o *fit.Options) { o.Betas = []float64{-0.1} }},
		{"an infinite beta", func(o *fit.Options) { o.Betas = []float64{math.Inf(1)} }},
		{"threads", func(o *fit.Options) { o.Threads = solver.MaxThreads + 1 }},
		{"tolerance", func(o *fit.Options) { o.RelTol = math.NaN() }},
		{"updates", func(o *fit.Options) { o.MaxIter = -1 }},
		{"ridge", func(o *fit.Options) { o.Ridge = -1 }},
		{"inner", func(o *fit.Options) { o.Inner = "admm" }},
		{"an intercept without confounds", func(o *fit.Options) {
			o.PenalizeIntercept, o.Columns.Confounds = true, nil
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			o := questionnairetest.Options(path)
			c.change(&o)
			if _, err := fit.Fit(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) {
				t.Errorf("error %v, want ErrOptions", err)
			}
		})
	}
}

// The planted number of factors is found, by Rank and by Fit, whose model says so.
func TestChoice(t *testing.T) {
	t.Parallel()
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(questionnairetest.Rows(1)))
	o := questionnairetest.Options(path)
	o.Factors, o.Betas = []int{2, 3, 4}, []float64{0.1, 0.5}
	fits := 0
	o.Progress = func(_, _ int) { fits++ }
	ranked, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if ranked.Factors != questionnairetest.Factors || len(ranked.Curve) != len(o.Factors)*len(o.Betas) ||
		fits < len(ranked.Curve) {
		t.Errorf("%d factors of a curve of %d candidates after %d fits, want %d of %d", ranked.Factors,
			len(ranked.Curve), fits, questionnairetest.Factors, len(o.Factors)*len(o.Betas))
	}
	for _, fewest := range []bool{false, true} {
		o.Fewest = fewest
		f, err := fit.Fit(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		want := ranked.Factors
		if fewest {
			want = ranked.OneStandardErrorFactors
		}
		if f.Summary.Factors != want || f.Summary.OneStandardErrorFactors != ranked.OneStandardErrorFactors {
			t.Errorf("fewest %v: %d factors, want %d", fewest, f.Summary.Factors, want)
		}
		if diff := cmp.Diff(ranked.Curve, f.Summary.BCV); diff != "" {
			t.Errorf("the curve differs from that of Rank:\n%s", diff)
		}
	}
}

// A search that went on to more factors does not change where the next one begins: an evaluation makes one for each
// repeat.
func TestChooseLeavesTheOptions(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1))))
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	o.Factors, o.MostFactors = []int{1, 2}, 4
	first, err := o.Choose(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	if n := len(first.Curve); n <= len(o.Factors) && n < o.MostFactors {
		t.Fatalf("the search ended after %d candidates, so the test proves nothing", n)
	}
	second, err := o.Choose(t.Context(), s)
	if diff := cmp.Diff(first.Choice, second.Choice); err != nil || diff != "" {
		t.Errorf("the second search differs from the first (%v):\n%s", err, diff)
	}
	if !slices.Equal(o.Factors, []int{1, 2}) {
		t.Errorf("the next search begins with %v factors", o.Factors)
	}
}

// A context that ends gives its error, before and during updates and during a cross-validation.
func TestCancelled(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(1))))
	ctx, cancel := context.WithCancel(t.Context())
	o.Recorder = stopping{cancel}
	if _, err := fit.Fit(ctx, o); !errors.Is(err, context.Canceled) ||
		!strings.Contains(err.Error(), "after 3 updates") {
		t.Errorf("during updates: %v, want the context's error", err)
	}
	o.Recorder = nil
	if _, err := fit.Fit(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("before them: %v, want the context's error", err)
	}
	o.Factors = []int{1, 2}
	if _, err := fit.Fit(ctx, o); !errors.Is(err, context.Canceled) {
		t.Errorf("choosing: %v, want the context's error", err)
	}
}

// stopping ends a context after three updates.
type stopping struct{ cancel context.CancelFunc }

func (s stopping) Record(it solver.Iterate) error {
	if it.Iteration == 3 {
		s.cancel()
	}
	return nil
}

// A ridge, bounded loadings and the other inner algorithm reach the solver, and the ridge the stored model.
func TestSolverOptions(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	plain := questionnairetest.Fit(t, rows, nil)
	other := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Inner = icqf.FISTA })
	if d := math.Abs(other.Summary.Objective/plain.Summary.Objective - 1); d > 1e-3 {
		t.Errorf("objective %v by fista, %v by coordinate descent", other.Summary.Objective, plain.Summary.Objective)
	}
	if bounded := questionnairetest.Fit(t, rows, func(o *fit.Options) {
		o.BoundLoadings, o.Betas = true, []float64{0}
	}); mat.Max(bounded.ICQF.Loadings) > questionnairetest.Top {
		t.Errorf("largest loading %v", mat.Max(bounded.ICQF.Loadings))
	}
	ridged := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Ridge = 5 })
	if mat.Sum(ridged.ICQF.Loadings) >= mat.Sum(plain.ICQF.Loadings) {
		t.Error("a ridge does not make loadings smaller")
	}
	m := questionnairetest.Reload(t, &ridged.Model)
	if m.ICQF.L2 != ridged.ICQF.L2 || !(m.ICQF.L2 > 0) {
		t.Errorf("the stored model has ridge %v, the fit %v", m.ICQF.L2, ridged.ICQF.L2)
	}
}

func TestDefaultFactors(t *testing.T) {
	t.Parallel()
	all := []int{1, 2, 3, 4, 6, 9, 13, 19}
	for items, want := range map[int]int{1: 1, 2: 1, 9: 4, 11: 4, 12: 5, 38: 8, 500: 8} {
		if got := fit.DefaultFactors(items); !slices.Equal(got, all[:want]) {
			t.Errorf("candidates for %d items are %v, want %v", items, got, all[:want])
		}
	}
}
