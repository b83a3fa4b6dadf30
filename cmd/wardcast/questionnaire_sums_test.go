package main

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
)

// score writes the sums that fit writes, with the fit's standard errors; a fit without sums has none, and one with sums
// may be part of a second stage.
func TestQuestionnaireSums(t *testing.T) {
	t.Parallel()
	path, dir := answersFile(t), t.TempDir()
	fit := func(name, items string, more ...string) string {
		out := filepath.Join(dir, name)
		succeed(t, "", append([]string{
			"questionnaire", "fit", path, "--items", items, "--missing-code", "-9999", "--range", "0:4",
			"--factors", "2", "--beta", "0.1", "--out", out,
		}, more...)...)
		return out
	}
	with := fit("with", "q*", "--sums")
	r := wardcast(t, "", "questionnaire", "score", path, "--model", with, "--sums")
	if got, want := withoutFactors(t, r.Stdout), withoutFactors(t, contents(t, with)["scores.csv"]); got != want {
		t.Errorf("score writes %.200q, fit %.200q", got, want)
	}
	if header, _, _ := strings.Cut(r.Stdout, "\n"); !strings.HasSuffix(header,
		",se_factor2,sum_all,prorated_all,sem_all,rci_all") {
		t.Errorf("header %q", header)
	}
	without := fit("without", "q1,q2,q3")
	fail(t, cli.ExitUsage, []string{"questionnaire", "score", path, "--model", without, "--sums"}, "with --sums")
	plain := fit("plain", "q4,q5,q6", "--sums")
	succeed(t, "", "questionnaire", "meta", plain, without, "--factors", "1", "--beta", "0.1", "--out",
		filepath.Join(dir, "meta"))
}
