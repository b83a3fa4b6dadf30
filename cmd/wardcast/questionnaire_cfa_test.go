package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// A model is fitted, as tables and as JSON; what is wrong with it is an error with its line.
func TestQuestionnaireCFA(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	fit := func(model string, more ...string) []string {
		file := filepath.Join(t.TempDir(), "model.txt")
		if err := os.WriteFile(file, []byte(model), 0o600); err != nil {
			t.Fatal(err)
		}
		return append([]string{"questionnaire", "cfa", path, "--missing-code", "-9999", "--model", file}, more...)
	}
	const model = "f =~ q1 + q3 + q5\n"
	fail(t, cli.ExitUsage, []string{"questionnaire", "cfa", path}, "--model")
	fail(t, cli.ExitFailed, fit("f =~ q1 + q2\n\ng =~ q3 + q44\n"), "model.txt, line 3", `"q44"`, "no column")
	fail(t, cli.ExitFailed, fit("f =~ q1 + q2\n"), "not identified")
	text := succeed(t, "", fit(model)...)
	for _, part := range []string{"Estimator: ml. ", "CHI-SQUARE  DF", "f =~ q3", "STANDARDIZED"} {
		if !strings.Contains(text, part) {
			t.Errorf("it prints\n%s, which lacks %q", text, part)
		}
	}
	r := clitest.Object(t, succeed(t, "", fit(model, "--estimator", "fiml", "--output=json")...))
	if r["estimator"] != "fiml" || r["n"] != 60. || r["converged"] != true {
		t.Errorf("it prints %v", r)
	}
	fail(t, cli.ExitUsage, fit(model, "--estimator", "wlsmv"), "--ordered")
	fail(t, cli.ExitUsage, fit(model, "--ordered", "q1,q2"), `"q3"`)
	fail(t, cli.ExitUsage, fit(model, "--invariance", "loadings"), "--group")
	fail(t, cli.ExitUsage, fit(model, "--group", "sex", "--invariance", "thresholds"), "ordered items")
	grouped := fit("f =~ a*q1 + q3 + q5\nf ~~ b*f", "--group", "sex", "--invariance", "intercepts")
	text = succeed(t, "", grouped...)
	for _, part := range []string{"MODEL ", "configural  ", "loadings  ", "intercepts  ", "OF CFI", "f ~1 (M)"} {
		if !strings.Contains(text, part) {
			t.Errorf("it prints\n%s, which lacks %q", text, part)
		}
	}
}
