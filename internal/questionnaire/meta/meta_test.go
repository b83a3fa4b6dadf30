package meta_test

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/folder"
	"github.com/wardcast/wardcast/internal/questionnaire/meta"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// twoFits fits the first six and the last three of the planted items apart, the latter without some participants.
func twoFits(t *testing.T) []string {
	t.Helper()
	return fitsOf(t, questionnairetest.Rows(1), func(o *fit.Options) { o.Columns.Confounds = nil })
}

// fitsOf is twoFits of these rows, with other options.
func fitsOf(t *testing.T, rows [][]string, change func(*fit.Options)) []string {
	t.Helper()
	parent := t.TempDir()
	dirs := []string{filepath.Join(parent, "a"), filepath.Join(parent, "b")}
	for i, items := range [][]string{{"q1", "q2", "q3", "q4", "q5", "q6"}, {"q7", "q8", "q9"}} {
		f := questionnairetest.Fit(t, append(rows[:1:1], rows[1+10*i:]...), func(o *fit.Options) {
			o.Columns.Items = items
			change(o)
		})
		if err := folder.Write(t.Context(), dirs[i], f); err != nil {
			t.Fatal(err)
		}
	}
	return dirs
}

func metaOptions(dirs []string) meta.Options {
	o := meta.Options{Options: questionnairetest.Options(""), Models: dirs, Compact: 3}
	o.Betas = []float64{0.01}
	return o
}

// The two questionnaires share their constructs: each factor of the second stage is one factor of either, and one item
// of each construct explains most of it.
func TestMeta(t *testing.T) {
	t.Parallel()
	f, err := meta.Run(t.Context(), metaOptions(twoFits(t)))
	if err != nil {
		t.Fatal(err)
	}
	if f.Summary.Participants < questionnairetest.Participants-10 || len(f.Items) != 6 || f.Summary.Missing == 0 ||
		f.Items[3].Name != "b.factor1" || f.Items[0].Text == "" {
		t.Errorf("%d participants, items %+v, %v missing", f.Summary.Participants, f.Items, f.Summary.Missing)
	}
	for c := range questionnairetest.Factors {
		for _, of := range [][2]int{{0, 3}, {3, 6}} {
			part := f.ICQF.Loadings.Slice(of[0], of[1], c, c+1)
			if largest := mat.Max(part); largest < 0.3 || mat.Sum(part) > 1.5*largest {
				t.Errorf("loadings of factor %d on one questionnaire are %v, want one of them large", c+1,
					mat.Formatted(part.T()))
			}
		}
	}
	constructs := map[byte]bool{}
	last := 0.0
	for _, item := range f.Summary.Compact {
		constructs[(item.Name[1]-'1')%questionnairetest.Factors] = true
		if item.Explained <= last {
			t.Errorf("%s: %v is explained, before it %v", item.Name, item.Explained, last)
		}
		last = item.Explained
	}
	if len(f.Summary.Compact) != 3 || len(constructs) != questionnairetest.Factors || last < 0.6 {
		t.Errorf("compact set %+v", f.Summary.Compact)
	}
	dir := t.TempDir()
	if err := folder.Write(t.Context(), dir, f); err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(filepath.Join(dir, model.CompactFile))
	if err != nil || strings.Count(string(data), "\n") != 4 {
		t.Errorf("%s holds %q: %v", model.CompactFile, data, err)
	}
}

func TestMetaRefuses(t *testing.T) {
	t.Parallel()
	dirs := twoFits(t)
	for name, models := range map[string][]string{"one model": dirs[:1], "a model twice": {dirs[0], dirs[0]}} {
		if _, err := meta.Run(t.Context(), metaOptions(models)); !errors.Is(err, questionnaire.ErrOptions) {
			t.Errorf("%s: error %v, want ErrOptions", name, err)
		}
	}
	if _, err := meta.Run(t.Context(), metaOptions(dirs[:1])); err == nil ||
		!strings.Contains(err.Error(), "two fits or more") {
		t.Errorf("one model: error %v", err)
	}
	negative := metaOptions(dirs)
	negative.Compact = -1
	if _, err := meta.Run(t.Context(), negative); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), "-1 items") {
		t.Errorf("items below 0: error %v", err)
	}
	path := filepath.Join(dirs[1], model.ScoresFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(strings.Replace(string(data), "\nsecret10,", "\nsecret10,1", 1)),
		0o600); err != nil {
		t.Fatal(err)
	}
	_, err = meta.Run(t.Context(), metaOptions(dirs))
	if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != 2 || at.Column != "factor1" || at.File != path {
		t.Errorf("a score above 1: %v", err)
	}
}

// The compact set belongs to the fitted answers: if the file has changed, there is no compact set.
func TestCompactWantsTheAnswersOfTheFits(t *testing.T) {
	t.Parallel()
	dirs := twoFits(t)
	m, err := model.Load(dirs[1])
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dirs[1], m.Summary.Settings.Input)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(data, '\n'), 0o600); err != nil {
		t.Fatal(err)
	}
	o := metaOptions(dirs)
	o.Recorder = failing{t}
	_, err = meta.Run(t.Context(), o)
	if at, ok := errors.AsType[*table.Error](err); !ok || !errors.Is(err, questionnaire.ErrOtherAnswers) ||
		filepath.Base(at.File) != filepath.Base(path) {
		t.Errorf("other answers: error %v, want ErrOtherAnswers of %s", err, path)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	if _, err = meta.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), filepath.Base(path)) {
		t.Errorf("no answers: error %v, want one of %s", err, path)
	}
	o.Recorder, o.Compact = nil, 0
	if _, err := meta.Run(t.Context(), o); err != nil {
		t.Errorf("without a compact set: %v", err)
	}
}

// failing is a recorder of a fit that must not come that far.
type failing struct{ *testing.T }

func (f failing) Record(solver.Iterate) error {
	f.Error("the second stage is fitted first")
	return nil
}

// Who was left out of a fit for want of a confound is left out of the compact set.
func TestCompactWithoutTheIncomplete(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for i := 20; i < 40; i++ {
		rows[i][1+questionnairetest.Items] = "NA"
	}
	f, err := meta.Run(t.Context(),
		metaOptions(fitsOf(t, rows, func(o *fit.Options) { o.Columns.OmitIncomplete = true })))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Summary.Compact) != 3 || f.Summary.Participants > questionnairetest.Participants-20 {
		t.Errorf("compact set %+v of %d participants", f.Summary.Compact, f.Summary.Participants)
	}
}

// A table of scores that was cut short is refused: those who are not in it would count as never asked.
func TestMetaWantsAllScores(t *testing.T) {
	t.Parallel()
	dirs := twoFits(t)
	path := filepath.Join(dirs[0], model.ScoresFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.SplitAfter(string(data), "\n")
	if err := os.WriteFile(path, []byte(strings.Join(lines[:51], "")), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err = meta.Run(t.Context(), metaOptions(dirs))
	if at, ok := errors.AsType[*table.Error](err); !ok || at.File != path || !errors.Is(err,
		questionnaire.ErrOtherScores) || !strings.Contains(err.Error(), "50") || !strings.Contains(err.Error(), "150") {
		t.Errorf("50 scores of 150 participants: error %v, want ErrOtherScores", err)
	}
}

// A score with too large a standard error is a missing answer of the second stage.
func TestMetaLeavesOutVagueScores(t *testing.T) {
	t.Parallel()
	dirs := fitsOf(t, questionnairetest.Rows(1),
		func(o *fit.Options) { o.Columns.Confounds = nil })
	missing := func() float64 {
		t.Helper()
		o := metaOptions(dirs)
		o.Compact = 0
		f, err := meta.Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		return f.Summary.Missing
	}
	before := missing()
	path := filepath.Join(dirs[0], model.ScoresFile)
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(string(data), "\n")
	for i := 1; i <= 20; i++ {
		cells := strings.Split(lines[i], ",")
		cells[len(cells)-1] = "9"
		lines[i] = strings.Join(cells, ",")
	}
	if err := os.WriteFile(path, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
		t.Fatal(err)
	}
	if after := missing(); !(after > before+0.01) {
		t.Errorf("a share of %v of the scores is missing, %v before", after, before)
	}
}

// The items of a second stage are no answers that a third could choose from.
func TestCompactRefusesASecondStage(t *testing.T) {
	t.Parallel()
	dirs := twoFits(t)
	o := metaOptions(dirs)
	o.Compact = 0
	f, err := meta.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	second := filepath.Join(t.TempDir(), "second")
	if err := folder.Write(t.Context(), second, f); err != nil {
		t.Fatal(err)
	}
	o.Models = []string{dirs[0], second}
	if _, err := meta.Run(t.Context(), o); err != nil {
		t.Errorf("a third stage: %v", err)
	}
	o.Compact = 3
	_, err = meta.Run(t.Context(), o)
	if at, ok := errors.AsType[*table.Error](err); !ok || at.File != second ||
		!errors.Is(err, questionnaire.ErrNoOwnAnswers) {
		t.Errorf("a compact set of a second stage: error %v, want ErrNoOwnAnswers of %s", err, second)
	}
}

// The path of the answers is relative to the folder of the model, so that both may move; no parent folder is stored.
func TestWritePrintsThePathFromTheFolder(t *testing.T) {
	t.Parallel()
	study := filepath.Join(t.TempDir(), "study")
	var dirs []string
	for i, items := range [][]string{{"q1", "q2", "q3", "q4", "q5", "q6"}, {"q7", "q8", "q9"}} {
		dir := filepath.Join(study, "models", strconv.Itoa(i))
		if err := os.MkdirAll(dir, 0o700); err != nil {
			t.Fatal(err)
		}
		o := questionnairetest.Options(filepath.Join(study, "answers.csv"))
		o.Columns.Items = items
		if err := os.WriteFile(o.Input, []byte(questionnairetest.CSV(questionnairetest.Rows(1))),
			0o600); err != nil {
			t.Fatal(err)
		}
		f, err := fit.Fit(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if err := folder.Write(t.Context(), dir, f); err != nil {
			t.Fatal(err)
		}
		if want := filepath.Join("..", "..", "answers.csv"); f.Summary.Settings.Input != want {
			t.Errorf("the summary names %q, want %q", f.Summary.Settings.Input, want)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := e.Name()
			if data, err := os.ReadFile(filepath.Join(dir, name)); err != nil ||
				strings.Contains(string(data), filepath.Dir(study)) {
				t.Errorf("%s reveals where the study is: %v", name, err)
			}
		}
		dirs = append(dirs, filepath.Join(study+"2", "models", strconv.Itoa(i)))
	}
	if err := os.Rename(study, study+"2"); err != nil {
		t.Fatal(err)
	}
	f, err := meta.Run(t.Context(), metaOptions(dirs))
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Summary.Compact) == 0 || f.Summary.Settings.Input != "0, 1" {
		t.Errorf("compact set %v of %q", f.Summary.Compact, f.Summary.Settings.Input)
	}
}
