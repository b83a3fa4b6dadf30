package reproduce

import (
	"context"
	"errors"
	"math"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/textproc"
)

func generatedNotes(t *testing.T, n int) []train.Group {
	t.Helper()
	g, err := synth.New(synth.Settings{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	rows, err := sample.Rows(g, n)
	if err != nil {
		t.Fatal(err)
	}
	return []train.Group{{Data: train.Data{Rows: rows}}}
}

func smallTriage() Triage {
	return Triage{TriageSettings: TriageSettings{Methods: []string{"sonmf"}, Ranks: []int{2, 4}, Runs: 2, Folds: 2, MinDF: 5, Seed: 1, Input: []string{"notes.csv"}}}
}

func TestTriage(t *testing.T) {
	t.Parallel()
	groups := generatedNotes(t, 160)
	triage := smallTriage()
	var reports, all atomic.Int64
	triage.Progress = func(done, total int) {
		reports.Add(1)
		if done == total {
			all.Store(int64(total))
		}
	}
	got, err := triage.Run(t.Context(), groups)
	if err != nil {
		t.Fatal(err)
	}
	if parts := int64(4 * 2 * 2); len(got) != 4 || reports.Load() != parts || all.Load() != parts {
		t.Fatalf("%d cells, told %d times of %d parts", len(got), reports.Load(), all.Load())
	}
	for i, c := range got {
		if words := i < 2; words != (c.Residual == nil) || words != (c.Method == train.BagOfWords) {
			t.Errorf("cell %d: %+v", i, c)
		}
		if c.Documents != 160 || c.Terms < 50 || c.Positives == 0 || c.Accuracy < 0.6 || c.Accuracy > 1 || c.AUROC <= 0.4 {
			t.Errorf("cell %d: %+v", i, c)
		}
	}
	// Rows have length 1: without topics the residual is 1/p, and topics lower it, more of them by more.
	two, four := *got[2].Residual, *got[3].Residual
	if most := 1 / float64(got[2].Terms); two >= most || four >= two || four <= 0 {
		t.Errorf("residuals %v and %v, without topics %v", two, four, most)
	}
	if got[2].SparsityTopics == nil || *got[2].SparsityScores <= 0 {
		t.Errorf("%+v", got[2])
	}

	// The accuracy is that of evaluate under the same settings.
	repeats, err := train.CrossValidation(groups[0].Rows, 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	s := train.Default()
	s.Alpha, s.Standardize, s.Seed, s.Text.MinDF = 1, true, 1, 5
	scores, err := train.Evaluate(t.Context(), train.Data{Rows: groups[0].Rows}, train.Comparison{Configurations: []train.Configuration{{Method: train.SONMF, Rank: 4, Weighting: textproc.TFIDF}}, Repeats: repeats, Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	if want := scores[0].AccuracySD / math.Sqrt2; got[3].Accuracy != scores[0].Accuracy || math.Abs(got[3].AccuracyError-want) > 1e-15 {
		t.Errorf("accuracy %v ± %v, evaluate has %v ± %v", got[3].Accuracy, got[3].AccuracyError, scores[0].Accuracy, want)
	}
}

func TestTriageGoesOn(t *testing.T) {
	t.Parallel()
	groups := generatedNotes(t, 120)
	triage := smallTriage()
	triage.Cells = filepath.Join(t.TempDir(), "cells.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	triage.Progress = func(done, _ int) {
		if done == 2*4+1 { // amid the third cell
			cancel()
		}
	}
	some, err := triage.Run(ctx, groups)
	if !errors.Is(err, context.Canceled) || len(some) != 2 {
		t.Fatalf("%d cells, %v", len(some), err)
	}
	// A killed process leaves half a line.
	f, err := os.OpenFile(triage.Cells, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString(`{"complaint":"","meth`); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	triage.Progress = nil
	all, err := triage.Run(t.Context(), groups)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(some, all[:2]); d != "" { // seconds too: they are not computed again
		t.Errorf("the cells of the first run changed: %s", d)
	}
	again, err := triage.Run(t.Context(), groups)
	if d := cmp.Diff(all, again); err != nil || d != "" {
		t.Errorf("a third run: %v, %s", err, d)
	}
	data, err := os.ReadFile(triage.Cells)
	if err != nil || strings.Count(string(data), "\n") != 1+len(all) {
		t.Errorf("%d lines in the file, %v; want settings and %d cells", strings.Count(string(data), "\n"), err, len(all))
	}

	for _, line := range []string{"no cell", `{"method":"sonmf","weighting":"tf-idf","rank":8}`} {
		if err := os.WriteFile(triage.Cells, append(data, line+"\n"...), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := triage.Run(t.Context(), groups); err == nil || !strings.Contains(err.Error(), "line 6") {
			t.Errorf("the line %s: %v", line, err)
		}
	}
}

// TestTriageOfOther: a file of cells goes on under its own settings and notes only.
func TestTriageOfOther(t *testing.T) {
	t.Parallel()
	triage := smallTriage()
	triage.Methods, triage.Ranks, triage.Cells = []string{"svd"}, []int{2}, filepath.Join(t.TempDir(), "cells.jsonl")
	if _, err := triage.Run(t.Context(), generatedNotes(t, 60)); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string]func(*Triage, *train.Group){
		"another seed":      func(s *Triage, _ *train.Group) { s.Seed = 2 },
		"another version":   func(s *Triage, _ *train.Group) { s.Version = "2" },
		"another column":    func(s *Triage, _ *train.Group) { s.Columns.Label = "discharged" },
		"of each complaint": func(s *Triage, _ *train.Group) { s.PerComplaint = train.Always },
		"smaller groups":    func(s *Triage, _ *train.Group) { s.MinDocuments = 7 },
		"another label":     func(_ *Triage, g *train.Group) { g.Rows[3].Positive = !g.Rows[3].Positive },
		"another text":      func(_ *Triage, g *train.Group) { g.Rows[59].Text += " cough" },
		"another visit":     func(_ *Triage, g *train.Group) { g.Rows[0].Visit = g.Rows[1].Visit },
		"another complaint": func(_ *Triage, g *train.Group) { g.Complaint = "Cough" },
		"fewer notes":       func(_ *Triage, g *train.Group) { g.Rows = g.Rows[1:] },
	} {
		other, groups := triage, generatedNotes(t, 60)
		change(&other, &groups[0])
		if _, err := other.Run(t.Context(), groups); !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), triage.Cells) {
			t.Errorf("%s: cells of other results were taken, or their file is not named: %v", name, err)
		}
	}
}

// TestTriageOfForeignFile: a file of something else stays as it is, and what it holds is not told.
func TestTriageOfForeignFile(t *testing.T) {
	t.Parallel()
	groups := generatedNotes(t, 60)
	for name, content := range map[string]string{
		"lines":         "the secret first line\nthe last, without its end",
		"one line":      "a secret without its end",
		"notes":         `{"text":"secret","label":1}` + "\n",
		"half a header": `{"methods":["sonmf"],"ranks":[2,4],"secret`,
	} {
		triage := smallTriage()
		triage.Cells = filepath.Join(t.TempDir(), "cells.jsonl")
		if err := os.WriteFile(triage.Cells, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := triage.Run(t.Context(), groups)
		if !errors.Is(err, ErrSettings) || !strings.Contains(err.Error(), triage.Cells) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v", name, err)
		}
		if left, err := os.ReadFile(triage.Cells); err != nil || string(left) != content {
			t.Errorf("%s: the file now holds %q, %v", name, left, err)
		}
	}
}

// TestTriageFromTheStart: a run that was killed in its first line begins anew.
func TestTriageFromTheStart(t *testing.T) {
	t.Parallel()
	triage := smallTriage()
	triage.Methods, triage.Ranks, triage.Cells = []string{"svd"}, []int{2}, filepath.Join(t.TempDir(), "cells.jsonl")
	whole := func() []byte {
		if _, err := triage.Run(t.Context(), generatedNotes(t, 60)); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(triage.Cells)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	first := whole()
	if err := os.WriteFile(triage.Cells, first[:40], 0o600); err != nil {
		t.Fatal(err)
	}
	if again := whole(); strings.Count(string(again), "\n") != strings.Count(string(first), "\n") || string(again[:40]) != string(first[:40]) {
		t.Errorf("%d lines, want %d", strings.Count(string(again), "\n"), strings.Count(string(first), "\n"))
	}
}

// TestTriageTwice: of two runs with one file the second is refused.
func TestTriageTwice(t *testing.T) {
	t.Parallel()
	groups := generatedNotes(t, 60)
	triage := smallTriage()
	triage.Cells = filepath.Join(t.TempDir(), "cells.jsonl")
	var second error
	triage.Progress = func(done, _ int) {
		if done == 1 {
			other := triage
			other.Progress = nil
			_, second = other.Run(t.Context(), groups)
		}
	}
	if _, err := triage.Run(t.Context(), groups); err != nil {
		t.Fatal(err)
	}
	if !errors.Is(second, ErrSettings) || !strings.Contains(second.Error(), triage.Cells) {
		t.Errorf("a second run at once: %v", second)
	}
}

func TestTriageRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Triage)
		want   error
	}{
		"no runs":        {func(s *Triage) { s.Runs = 0 }, ErrSettings},
		"one fold":       {func(s *Triage) { s.Folds = 1 }, ErrSettings},
		"rank 0":         {func(s *Triage) { s.Ranks = []int{10, 0} }, train.ErrSettings},
		"words":          {func(s *Triage) { s.Methods = []string{"bow"} }, ErrSettings},
		"words beside":   {func(s *Triage) { s.Methods = []string{"sonmf+words"} }, ErrSettings},
		"unknown method": {func(s *Triage) { s.Methods = []string{"lda"} }, train.ErrSettings},
		"no folder":      {func(s *Triage) { s.Cells = filepath.Join(t.TempDir(), "missing", "cells") }, os.ErrNotExist},
	} {
		triage := smallTriage()
		c.change(&triage)
		if got, err := triage.Run(t.Context(), nil); got != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestTriageTablesGolden(t *testing.T) {
	t.Parallel()
	value := func(v float64) *float64 { return &v }
	words := func(complaint string, w textproc.Weighting, accuracy float64) TriageCell {
		return TriageCell{Complaint: complaint, Method: train.BagOfWords, Weighting: w, Documents: 5220, Positives: 2670, Terms: 5126, Accuracy: accuracy, AccuracyError: 0.001, AUROC: 0.8}
	}
	topics := func(complaint string, m train.Method, w textproc.Weighting, rank int) TriageCell {
		return TriageCell{
			Complaint: complaint, Method: m, Weighting: w, Rank: rank, Documents: 5220, Positives: 2670, Terms: 5126,
			Residual: value(0.1374), SparsityTopics: value(0), SparsityScores: value(23.29), Accuracy: 0.7398, AUROC: 0.81, FitSeconds: 1.25,
		}
	}
	var b strings.Builder
	for _, table := range TriageTables([]TriageCell{
		words("", textproc.TFIDF, 0.7396), words("", textproc.Binary, 0.7366),
		topics("", train.SONMF, textproc.TFIDF, 10), topics("", train.SONMF, textproc.TFIDF, 30), topics("", "sonmf-binary", textproc.Binary, 10),
		words("Cough", textproc.TFIDF, 0.8725),
	}) {
		if err := Markdown(&b, table.Title, table.Header, table.Lines); err != nil {
			t.Fatal(err)
		}
	}
	golden(t, "triage.golden.md", b.String())
	if got := TriageTables(nil); got != nil {
		t.Errorf("tables %v of nothing", got)
	}
}
