package icqf

import (
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Where a factor is present alone, answers without noise are multiples of its loadings.
func TestDrawQuestionnaire(t *testing.T) {
	t.Parallel()
	const none = 1e-12
	q := drawQuestionnaire(none, 0, 1)
	if err := q.check(); err != nil {
		t.Fatal(err)
	}
	present, loaded := 0, 0
	for factor := range factors {
		first := factor*own + shared
		var pattern mat.Vector
		for i := first; i < first+shared; i++ {
			row := q.Answers.RowView(i)
			length := mat.Norm(row, 2)
			if length == 0 {
				continue
			}
			present++
			if pattern == nil {
				pattern = row
				for j := range items {
					if row.AtVec(j) > 0 {
						loaded++
					}
				}
			}
			if cosine := mat.Dot(pattern, row) / length / mat.Norm(pattern, 2); !(cosine > 1-1e-12) {
				t.Errorf("participant %d: cosine %v with one of the same factor", i, cosine)
			}
		}
	}
	if present < 80 || present > 98 {
		t.Errorf("%d of 100 scores are not 0, want about 90", present)
	}
	if loaded < 240 || loaded > 360 {
		t.Errorf("%d of 1000 loadings are not 0, want about 300", loaded)
	}
	if !mat.Equal(q.Answers, drawQuestionnaire(none, 0, 1).Answers) {
		t.Error("equal seeds, different answers")
	}
	for name, other := range map[string]Questionnaire{
		"seed": drawQuestionnaire(none, 0, 2),
		"set":  drawQuestionnaire(none, 1, 1), "noise": drawQuestionnaire(0.1, 0, 1),
	} {
		if mat.Equal(q.Answers, other.Answers) {
			t.Errorf("another %s, equal answers", name)
		}
	}
}

// Noise moves a share δ of the answers: half of the zeros among them become positive, and at most half of the others
// become zeros.
func TestQuestionnaireNoise(t *testing.T) {
	t.Parallel()
	share := func(noise float64) float64 {
		zeros := 0
		for set := range 5 {
			for _, v := range drawQuestionnaire(noise, set, 1).Answers.RawMatrix().Data {
				if v == 0 {
					zeros++
				}
			}
		}
		return float64(zeros) / (5 * participants * items)
	}
	clean := share(1e-12)
	for _, noise := range []float64{0.1, 0.2, 0.3} {
		if got, least, most := share(noise), clean*(1-noise/2)-0.02,
			clean*(1-noise/2)+noise*(1-clean)/2+0.02; got < least || got > most {
			t.Errorf("noise %v: %.3f of the answers are 0, want %.3f to %.3f", noise, got, least, most)
		}
	}
}

// detect runs with the given questionnaires, if any, in place of drawn ones.
func detect(ctx context.Context, table *Table1, cells string, given []Questionnaire) (*Result, error) {
	table.given = given
	r, err := table.Run(ctx, &report.Session{Cells: cells})
	if r == nil {
		return nil, err
	}
	return r.Data.(*Result), err
}

// Ten factors are found at low noise, and a run resumes on the same questionnaires only.
func TestTable1(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "cells.jsonl")
	table := &Table1{
		Runs: 1, Noise: []float64{0.1}, Factors: []int{9, 10, 11}, Seed: 1, Methods: []string{nameICQF, nameL1},
	}
	first, err := detect(t.Context(), table, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if len(first.Cells) != 2*len(table.Methods) || len(first.Summaries) != len(first.Cells) {
		t.Errorf("%d cells, %d summaries", len(first.Cells), len(first.Summaries))
	}
	for _, c := range first.Cells {
		if c.Factors != factors {
			t.Errorf("%s by %s finds %d factors", c.Method, c.Criterion, c.Factors)
		}
	}
	again, err := detect(t.Context(), table, file, nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(first, again, cmp.AllowUnexported(Table1{})); d != "" { // seconds too
		t.Errorf("a second run computed anew: %s", d)
	}
	dir := filepath.Join(t.TempDir(), "out")
	if err := (&Result{Settings: table, TrueFactors: factors, Cells: first.Cells}).report().Write(dir); err != nil {
		t.Fatal(err)
	}
	for name, lines := range map[string]int{"table1.csv": len(first.Cells) + 1, "factors.csv": len(first.Cells) + 1} {
		if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
			strings.Count(string(data), "\n") != lines {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}

	other := []Questionnaire{drawQuestionnaire(0.1, 0, 2)}
	if got, err := detect(t.Context(), table, file, other); got != nil || !errors.Is(err, report.ErrSettings) {
		t.Errorf("other questionnaires, error %v", err)
	}
	table.Methods = []string{nameICQF}
	given, err := detect(t.Context(), table, "", other)
	if err != nil || given.Drawn || len(given.Cells) != 2 {
		t.Errorf("given questionnaires: %+v, %v", given, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if got, err := detect(ctx, table, "", other); !errors.Is(err, context.Canceled) || got == nil {
		t.Errorf("ended context: %v, error %v", got, err)
	}
	table.Noise = []float64{0.2}
	if _, err := detect(t.Context(), table, "", other); !errors.Is(err, report.ErrSettings) {
		t.Errorf("no questionnaire of this noise, error %v", err)
	}
}

// The partial correlations find the ten as well. Parallel analysis takes too long for a test here.
func TestMAP(t *testing.T) {
	t.Parallel()
	for _, d := range detectors() {
		if d.criterion != "map" {
			continue
		}
		if k, err := d.find(t.Context(), drawQuestionnaire(0.1, 0, 1).Answers, nil); err != nil || k != factors {
			t.Errorf("%d factors, error %v", k, err)
		}
	}
}

func TestSettings(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*Table1){
		"no trials":     func(q *Table1) { q.Runs = 0 },
		"no noise":      func(q *Table1) { q.Noise = nil },
		"noise 0":       func(q *Table1) { q.Noise = []float64{0} },
		"noise NaN":     func(q *Table1) { q.Noise = []float64{math.NaN()} },
		"noise twice":   func(q *Table1) { q.Noise = []float64{0.1, 0.1} },
		"no factors":    func(q *Table1) { q.Factors = nil },
		"0 factors":     func(q *Table1) { q.Factors = []int{0} },
		"101 factors":   func(q *Table1) { q.Factors = []int{101} },
		"factors twice": func(q *Table1) { q.Factors = []int{3, 3} },
		"no methods":    func(q *Table1) { q.Methods = nil },
		"threads":       func(q *Table1) { q.Threads = -1 },
	} {
		q := &Table1{Runs: 1, Noise: []float64{0.1}, Factors: []int{10}, Methods: Methods()}
		spoil(q)
		if _, err := q.Run(t.Context(), &report.Session{}); !errors.Is(err, report.ErrSettings) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

// Means and standard errors of |k − 10|, next to the printed ones if the noise is the paper's.
func TestSummaries(t *testing.T) {
	t.Parallel()
	r := Result{Settings: &Table1{Noise: []float64{0.3, 0.5}}, TrueFactors: factors}
	for set, k := range []int{10, 9, 12} {
		r.Cells = append(r.Cells,
			Cell{CellKey: CellKey{Noise: 0.3, Set: set, Method: nameICQF, Criterion: "bcv"}, Factors: k, Seconds: 2})
	}
	r.Cells = append(r.Cells,
		Cell{CellKey: CellKey{Noise: 0.5, Set: 0, Method: nameICQF, Criterion: "bcv"}, Factors: 4, Seconds: 1})
	want := [][]string{
		{"icqf", "bcv", "0.3", "3", "1.00 (0.58)", "0.77 (0.15)", "0.23 (0.08)", "2.000"},
		{"icqf", "bcv", "0.5", "1", "6.00 (0.00)", "-", "-", "1.000"},
	}
	if d := cmp.Diff(want, r.report().Tables[0].Lines); d != "" {
		t.Error(d)
	}
}

// Held-out cells of a matrix of rank 3 are reconstructed from the others.
func TestCompletion(t *testing.T) {
	t.Parallel()
	const n, p, k = 40, 30, 3
	w, q := mat.NewDense(n, k, nil), mat.NewDense(k, p, nil)
	for i := range w.RawMatrix().Data {
		w.RawMatrix().Data[i] = float64((i*7)%11) / 10
	}
	for i := range q.RawMatrix().Data {
		q.RawMatrix().Data[i] = float64((i * 5) % 13 * 8)
	}
	x := mat.NewDense(n, p, nil)
	linalg.Threads(0).MulTo(x, w, q)
	training := mat.DenseCopyOf(x)
	for i := range 8 {
		for j := range 6 {
			training.Set(i, j, math.NaN())
		}
	}
	f, err := completion{seed: 1}.prepare(training, k)
	if err != nil {
		t.Fatal(err)
	}
	got, _, err := f(t.Context(), solver.Candidate{Factors: k})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		for j := range 6 {
			if d := math.Abs(got.At(i, j) - x.At(i, j)); d > 0.02*mat.Max(x) {
				t.Errorf("cell (%d, %d): %v, want %v", i, j, got.At(i, j), x.At(i, j))
			}
		}
	}
	if !math.IsNaN(training.At(0, 0)) {
		t.Error("the training matrix was changed")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := f(ctx, solver.Candidate{Factors: k}); !errors.Is(err, context.Canceled) {
		t.Errorf("ended context, error %v", err)
	}
}

// answersCSV returns a questionnaire in the format of its file.
func answersCSV(q Questionnaire) string {
	var b strings.Builder
	for i := range participants {
		for j := range items {
			fmt.Fprintf(&b, "%v%c", q.Answers.At(i, j), ",\n"[j/(items-1)])
		}
	}
	return b.String()
}

// writeTable writes a file into a new folder and returns its path.
func writeTable(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	data := []byte(content)
	if strings.HasSuffix(name, ".gz") {
		var b strings.Builder
		w := gzip.NewWriter(&b)
		if _, err := w.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		data = []byte(b.String())
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestReadQuestionnaires(t *testing.T) {
	t.Parallel()
	q := drawQuestionnaire(0.3, 7, 1)
	answers := answersCSV(q)
	for _, name := range []string{"d3_07_M.csv", "d3_07_M.csv.gz"} {
		path := writeTable(t, name, answers)
		for _, other := range []string{"d3_07_W.csv", "dx_07_M.csv", "d3_07_a_M.csv", "d3_x_M.csv"} {
			if err := os.WriteFile(filepath.Join(filepath.Dir(path), other), []byte("1\n"), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		got, err := readQuestionnaires(filepath.Dir(path))
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != 1 || got[0].Noise != 0.3 || got[0].Set != 7 || !mat.Equal(got[0].Answers, q.Answers) {
			t.Errorf("%s: %d questionnaires", name, len(got))
		}
	}
	_, others, _ := strings.Cut(answers, ",")
	for name, file := range map[string][2]string{
		"no questionnaire": {"answers.csv", answers},
		"a row short":      {"d1_00_M.csv", answers[strings.Index(answers, "\n")+1:]},
		"above the range":  {"d1_00_M.csv", "100.5," + others},
		"below the range":  {"d1_00_M.csv", "-1," + others},
	} {
		if _, err := readQuestionnaires(filepath.Dir(writeTable(t, file[0], file[1]))); !errors.Is(err,
			report.ErrSettings) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	path := writeTable(t, "d3_7_M.csv", answers)
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "d3_07_M.csv"), []byte(answers), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := readQuestionnaires(filepath.Dir(path)); !errors.Is(err, report.ErrSettings) {
		t.Errorf("one questionnaire twice, error %v", err)
	}
	if _, err := readQuestionnaires(filepath.Dir(writeTable(t, "d1_00_M.csv", "name\n"))); err == nil ||
		!strings.Contains(err.Error(), "d1_00_M.csv") {
		t.Errorf("no numbers, error %v", err)
	}
}

// Every row of the paper's table has its printed figures.
func TestPrinted(t *testing.T) {
	t.Parallel()
	if rows := strings.Count(printed, "\n"); rows != 3*len(detectors()) {
		t.Errorf("%d rows are printed, want %d", rows, 3*len(detectors()))
	}
	r := Result{Settings: &Table1{Noise: []float64{0.1, 0.2, 0.3}}, TrueFactors: factors}
	for _, d := range detectors() {
		for _, noise := range r.Settings.Noise {
			r.Cells = append(r.Cells,
				Cell{CellKey: CellKey{Noise: noise, Set: 0, Method: d.method, Criterion: d.criterion}})
		}
		if !slices.Contains(Methods(), d.method) {
			t.Errorf("%s is not a method", d.method)
		}
	}
	r.report()
	for _, s := range r.Summaries {
		if s.Paper == nil || s.Reference == nil {
			t.Errorf("%s by %s at %v is not printed", s.Method, s.Criterion, s.Noise)
		}
	}
}
