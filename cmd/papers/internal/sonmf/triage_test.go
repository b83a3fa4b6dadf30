package sonmf

import (
	"context"
	"errors"
	"math"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
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

func smallTriage(groups []train.Group) *Triage {
	return &Triage{
		Methods: []string{"sonmf"}, Ranks: []int{2, 4}, Runs: 2, Folds: 2, MinDF: 5, Seed: 1,
		Input: []string{"notes.csv"}, Groups: groups,
	}
}

func cellsOf(ctx context.Context, triage *Triage, session *report.Session) ([]TriageCell, error) {
	r, err := triage.Run(ctx, session)
	if r == nil {
		return nil, err
	}
	return r.Data.(map[string]any)["cells"].([]TriageCell), err
}

func TestTriage(t *testing.T) {
	t.Parallel()
	groups := generatedNotes(t, 160)
	var reports, all atomic.Int64
	got, err := cellsOf(t.Context(), smallTriage(groups), &report.Session{Progress: func(done, total int) {
		reports.Add(1)
		if done == total {
			all.Store(int64(total))
		}
	}})
	if err != nil {
		t.Fatal(err)
	}
	if parts := int64(4 * 2 * 2); len(got) != 4 || reports.Load() != parts || all.Load() != parts {
		t.Fatalf("%d cells, %d reports of %d parts", len(got), reports.Load(), all.Load())
	}
	for i, c := range got {
		if words := i < 2; words != (c.Residual == nil) || words != (c.Method == train.BagOfWords) {
			t.Errorf("cell %d: %+v", i, c)
		}
		if c.Documents != 160 || c.Terms < 50 || c.Positives == 0 || c.Accuracy < 0.6 || c.Accuracy > 1 ||
			c.AUROC <= 0.4 {
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
	s.Text.NGrams = 1
	scores, err := train.Evaluate(t.Context(), train.Data{Rows: groups[0].Rows}, train.Comparison{
		Configurations: []train.Configuration{{Method: train.SONMF, Rank: 4, Weighting: textproc.TFIDF}},
		Repeats:        repeats, Settings: s,
	})
	if err != nil {
		t.Fatal(err)
	}
	if want := scores[0].AccuracySD / math.Sqrt2; got[3].Accuracy != scores[0].Accuracy ||
		math.Abs(got[3].AccuracyError-want) > 1e-15 {
		t.Errorf("accuracy %v ± %v, evaluate has %v ± %v", got[3].Accuracy, got[3].AccuracyError,
			scores[0].Accuracy, want)
	}
}

// TestTriageResumes: the cells of an ended run are not computed again.
func TestTriageResumes(t *testing.T) {
	t.Parallel()
	triage := smallTriage(generatedNotes(t, 120))
	file := filepath.Join(t.TempDir(), "cells.jsonl")
	ctx, cancel := context.WithCancel(t.Context())
	some, err := cellsOf(ctx, triage, &report.Session{Cells: file, Progress: func(done, _ int) {
		if done == 2*4+1 { // in the middle of the third cell
			cancel()
		}
	}})
	if !errors.Is(err, context.Canceled) || len(some) != 2 {
		t.Fatalf("%d cells, %v", len(some), err)
	}
	var logged atomic.Bool // of all parts; several goroutines log
	all, err := cellsOf(t.Context(), triage, &report.Session{Cells: file, Progress: func(done, total int) {
		if total != 4*4 {
			t.Errorf("%d parts reported", total)
		}
		if done == total {
			logged.Store(true)
		}
	}})
	if err != nil || !logged.Load() {
		t.Fatalf("logged all parts: %t, %v", logged.Load(), err)
	}
	if d := cmp.Diff(some, all[:2]); d != "" { // seconds too
		t.Errorf("the cells of the first run changed: %s", d)
	}
}

// TestTriageOfOther: a file of cells serves its own settings and notes only.
func TestTriageOfOther(t *testing.T) {
	t.Parallel()
	session := &report.Session{Cells: filepath.Join(t.TempDir(), "cells.jsonl")}
	tiny := func() *Triage {
		triage := smallTriage(generatedNotes(t, 60))
		triage.Methods, triage.Ranks = []string{"svd"}, []int{2}
		return triage
	}
	if _, err := tiny().Run(t.Context(), session); err != nil {
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
		other := tiny()
		change(other, &other.Groups[0])
		if _, err := other.Run(t.Context(), session); !errors.Is(err, report.ErrSettings) ||
			!strings.Contains(err.Error(), session.Cells) {
			t.Errorf("%s: cells of other results were taken, or their file is not named: %v", name, err)
		}
	}
}

func TestTriageRefuses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*Triage)
		want   error
	}{
		"no runs":        {func(s *Triage) { s.Runs = 0 }, report.ErrSettings},
		"one fold":       {func(s *Triage) { s.Folds = 1 }, report.ErrSettings},
		"rank 0":         {func(s *Triage) { s.Ranks = []int{10, 0} }, train.ErrSettings},
		"words":          {func(s *Triage) { s.Methods = []string{"bow"} }, report.ErrSettings},
		"words beside":   {func(s *Triage) { s.Methods = []string{"sonmf+words"} }, report.ErrSettings},
		"unknown method": {func(s *Triage) { s.Methods = []string{"lda"} }, train.ErrSettings},
	} {
		triage := smallTriage(nil)
		c.change(triage)
		if got, err := triage.Run(t.Context(), &report.Session{}); got != nil || !errors.Is(err, c.want) {
			t.Errorf("%s: %v, %v", name, got, err)
		}
	}
}

func TestTriageTablesGolden(t *testing.T) {
	t.Parallel()
	value := func(v float64) *float64 { return &v }
	words := func(complaint string, w textproc.Weighting, accuracy float64) TriageCell {
		return TriageCell{
			TriageKey: TriageKey{Complaint: complaint, Method: train.BagOfWords, Weighting: w, Rank: 0},
			Documents: 5220, Positives: 2670, Terms: 5126, Accuracy: accuracy, AccuracyError: 0.001, AUROC: 0.8,
		}
	}
	topics := func(complaint string, m train.Method, w textproc.Weighting, rank int) TriageCell {
		return TriageCell{
			TriageKey: TriageKey{Complaint: complaint, Method: m, Weighting: w, Rank: rank}, Documents: 5220,
			Positives: 2670, Terms: 5126,
			Residual: value(0.1374), SparsityTopics: value(0), SparsityScores: value(23.29), Accuracy: 0.7398,
			AUROC: 0.81, FitSeconds: 1.25,
		}
	}
	var b strings.Builder
	shown := report.Report{Tables: triageTables([]TriageCell{
		words("", textproc.TFIDF, 0.7396), words("", textproc.Binary, 0.7366),
		topics("", train.SONMF, textproc.TFIDF, 10), topics("", train.SONMF, textproc.TFIDF, 30),
		topics("", "sonmf-binary", textproc.Binary, 10), words("Cough", textproc.TFIDF, 0.8725),
	})}
	if err := shown.Print(&b, "markdown"); err != nil {
		t.Fatal(err)
	}
	golden(t, "triage.golden.md", b.String())
	if got := triageTables(nil); got != nil {
		t.Errorf("tables %v of nothing", got)
	}
}
