package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
)

// A report takes an evaluation and a codebook of its own questionnaire, and no others.
func TestQuestionnaireReport(t *testing.T) {
	t.Parallel()
	path, parent := answersFile(t), t.TempDir()
	flags := []string{path, "--missing-code", "-9999", "--range", "0:4", "--beta", "0.1"}
	file := func(name, text string) string {
		t.Helper()
		at := filepath.Join(parent, name)
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return at
	}
	evaluation := func(name, items, factors string) string {
		t.Helper()
		return file(name, succeed(t, "", append([]string{
			"questionnaire", "evaluate", "--items", items, "--factors", factors, "--repeats", "2", "--output=json",
		}, flags...)...))
	}
	dir, out := filepath.Join(parent, "model"), filepath.Join(parent, "out")
	succeed(t, "",
		append([]string{"questionnaire", "fit", "--items", "q*", "--factors", "2", "--out", dir}, flags...)...)
	write := func(more ...string) []string {
		return append([]string{"questionnaire", "report", "--model", dir, "--out", out}, more...)
	}

	fail(t, cli.ExitFailed, write("--evaluation", evaluation("items.json", "q1,q2,q3", "2")), "items.json",
		"not an evaluation of this questionnaire")
	fail(t, cli.ExitFailed, write("--evaluation", evaluation("factors.json", "q*", "3")),
		"it has 3 factors, the model has 2")
	fail(t, cli.ExitFailed, write("--evaluation", filepath.Join(dir, model.ResultFile)),
		"not an evaluation of this questionnaire")
	fail(t, cli.ExitFailed, write("--codebook", file("other.csv", "item,text\nq99,Another\n")), "other.csv",
		"none of the items")
	if _, err := os.Stat(out); err == nil {
		t.Error("a refused report left its folder")
	}

	succeed(t, "", write("--evaluation", evaluation("evaluation.json", "q*", "2"), "--codebook",
		file("codebook.csv", "item,text\nq1,Worries & frets\n"))...)
	page, err := os.ReadFile(filepath.Join(out, report.File))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"Held-out participants", "20.0 %", "80.0 %", "Worries &amp; frets"} {
		if !strings.Contains(string(page), word) {
			t.Errorf("the report does not hold %q", word)
		}
	}
}
