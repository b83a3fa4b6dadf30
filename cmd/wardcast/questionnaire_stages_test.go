package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
)

// Two questionnaires, each of half of the items, make a second stage; its compact set stands in the JSON and in a
// table.
func TestQuestionnaireMeta(t *testing.T) {
	t.Parallel()
	path, parent := answersFile(t), t.TempDir()
	var dirs []string
	for name, items := range map[string]string{"first": "q1,q2,q3", "second": "q4,q5,q6"} {
		dir := filepath.Join(parent, name)
		succeed(t, "", "questionnaire", "fit", path, "--items", items, "--missing-code", "-9999", "--range", "0:4",
			"--factors", "2", "--beta", "0.1", "--out", dir)
		dirs = append(dirs, dir)
	}
	out := filepath.Join(parent, "both")
	meta := slices.Concat([]string{"questionnaire", "meta"}, dirs,
		[]string{"--factors", "2", "--beta", "0.01", "--compact", "2", "--out", out, "--output=json"})
	printed := clitest.Object(t, succeed(t, "", meta...))
	compact, ok := printed["compact"].([]any)
	if !ok || len(compact) != 2 {
		t.Fatalf("meta prints the compact set %v, want two items", printed["compact"])
	}
	first, ok := compact[0].(map[string]any)
	if !ok || first["item"] == nil || first["questionnaire"] == nil || first["explained"] == nil ||
		first["correlations"] == nil {
		t.Errorf("meta prints %v", compact[0])
	}
	table, err := os.ReadFile(filepath.Join(out, model.CompactFile))
	if err != nil || !strings.HasPrefix(string(table),
		"rank,questionnaire,item,text,explained,explained_low,explained_high,factor1,factor2\n1,") {
		t.Errorf("%s holds %q: %v", model.CompactFile, table, err)
	}
	more := wardcast(t, "", slices.Concat(meta, []string{"--compact", "9"})...)
	if all, _ := clitest.Object(t, more.Stdout)["compact"].([]any); len(all) >= 9 ||
		!strings.Contains(more.Stderr, "fewer items") {
		t.Errorf("of nine items %d are chosen, and the log says %q", len(all), more.Stderr)
	}
	scores := filepath.Join(dirs[1], model.ScoresFile)
	data, err := os.ReadFile(scores)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(scores, []byte(strings.ReplaceAll(string(data), "secret", "stranger")), 0o600); err != nil {
		t.Fatal(err)
	}
	fail(t, cli.ExitFailed, meta, "in common", filepath.Base(dirs[1]))
}

func TestQuestionnaireLongitudinal(t *testing.T) {
	t.Parallel()
	visits := filepath.Join(t.TempDir(), "visits.csv")
	if err := os.WriteFile(visits, []byte(succeed(t, "", "synth", "questionnaire", "--count", "60", "--visits", "2")),
		0o600); err != nil {
		t.Fatal(err)
	}
	out := t.TempDir()
	flags := []string{
		"questionnaire", "longitudinal", visits, "--items", "anxiety_*", "--time", "age", "--factors",
		"1", "--beta", "0.1", "--out", out,
	}
	s := clitest.Object(t, succeed(t, "", append(flags, "--bins", "6,12,24", "--output=json")...))
	if s["participants"] != 60.0 {
		t.Errorf("longitudinal prints %v", s)
	}
	again := t.TempDir()
	succeed(t, "", "questionnaire", "report", "--model", out, "--out", again)
	for _, name := range []string{report.AgesFile, report.AgesPlot} {
		first, err := os.ReadFile(filepath.Join(out, name))
		if err != nil {
			t.Fatal(err)
		}
		if second, err := os.ReadFile(filepath.Join(again, name)); err != nil || string(first) != string(second) {
			t.Errorf("report writes another %s than the fit: %v", name, err)
		}
	}
	fail(t, cli.ExitFailed, append(flags, "--bins", "6,12"), "line", `column "age"`)
}

// A fit that is interrupted leaves the folder as it was: the model of an earlier one, or nothing.
func TestQuestionnaireInterrupted(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	answers, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, append(answers, "nobody,,,,,,,7,F,0\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	fit := []string{
		"questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4",
		"--factors", "2", "--beta", "0.1", "--out",
	}
	finished, fresh := t.TempDir(), filepath.Join(t.TempDir(), "fresh")
	succeed(t, "", append(fit, finished)...)
	before := contents(t, finished)
	for _, out := range []string{finished, fresh} {
		p := start(t, append(fit, out, "--rel-tol", "0", "--max-iter", "2000000000")...)
		p.says("participants without answers") // and goes on for hours
		p.signal(os.Interrupt)
		if code, said := p.code, p.String(); code != cli.ExitFailed ||
			!strings.HasSuffix(said, "\nwardcast: interrupt signal received\n") {
			t.Errorf("exits %d and says %q", code, said)
		}
	}
	if diff := cmp.Diff(before, contents(t, finished)); diff != "" {
		t.Errorf("an interrupted fit changes the model of an earlier one:\n%s", diff)
	}
	if _, err := os.Stat(fresh); !os.IsNotExist(err) {
		t.Errorf("an interrupted fit leaves its folder: %v", err)
	}
}
