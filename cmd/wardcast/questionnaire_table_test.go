package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// The formats hold the loadings of the model, and the scores of a file.
func TestQuestionnaireTable(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "model")
	succeed(t, "", "questionnaire", "fit", answersFile(t), "--items", "q*", "--missing-code", "-9999", "--range", "0:4",
		"--beta", "0.1", "--factors", "2", "--out", dir)
	for format, begin := range map[string]string{
		"markdown": "Loadings of 6 items on 2 factors\n\n| Item | Factor 1 | Factor 2 |\n",
		"latex":    "% needs \\usepackage[T1]{fontenc} and \\usepackage{array,booktabs,longtable}\n",
		"csv":      "item,text,subscale,reversed,factor1,factor2\nq1,,,,",
		"json":     `[{"item":"q1","text":"","subscale":"","reversed":"","factor1":`,
	} {
		if got := succeed(t, "", "questionnaire", "table", "--model", dir, "--format",
			format); !strings.HasPrefix(got, begin) {
			t.Errorf("%s prints\n%s", format, got)
		}
	}
	if got := succeed(t, "", "questionnaire", "table", "--model", dir, "--cut", "0.75"); !strings.Contains(got,
		"Loadings below 0.75 are not shown") {
		t.Errorf("--cut is not stated:\n%s", got)
	}
	scores := filepath.Join(dir, "scores.csv")
	if got, want := succeed(t, "", "questionnaire", "table", "--scores", scores, "--format", "csv"),
		string(clitest.Read(t, scores)); got != want {
		t.Errorf("scores as CSV are\n%s, not\n%s", got, want)
	}
	fail(t, cli.ExitUsage, []string{"questionnaire", "table"}, "--model")
	fail(t, cli.ExitUsage, []string{"questionnaire", "table", "--scores", scores, "--cut", "1"}, "--cut")
	fail(t, cli.ExitUsage, []string{"questionnaire", "table", "--model", dir, "--format", "csv", "--cut", "1"}, "--cut")
	fail(t, cli.ExitFailed, []string{"questionnaire", "table", "--scores", answersFile(t)},
		"answers.csv", `column "sex"`)
}
