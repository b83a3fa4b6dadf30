package main

import (
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
)

// A flag that the method does not use is refused with the methods that do, and nothing is written.
func TestQuestionnaireRefusesUnusedFlags(t *testing.T) {
	t.Parallel()
	path, out := answersFile(t), filepath.Join(t.TempDir(), "out")
	wrong := func(line []string, want ...string) {
		t.Helper()
		fail(t, cli.ExitUsage, append([]string{"questionnaire"}, line...), want...)
	}
	input := []string{path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4"}
	fit := func(more ...string) []string {
		return slices.Concat([]string{"fit"}, input, []string{"--out", out}, more)
	}
	for _, flag := range [][]string{{"--rotation", "promax"}, {"--extraction", "ml"}, {"--correlation", "pearson"}} {
		wrong(fit(append(flag, "--factors", "2", "--beta", "0.1")...), flag[0]+" applies only to fa, not to icqf")
		wrong(fit(append(flag, "--method", "l1-nmf")...), flag[0]+" applies only to fa, not to l1-nmf")
		wrong(slices.Concat([]string{"meta", filepath.Dir(path), "--out", out}, flag),
			flag[0]+" applies only to fa, not to icqf")
		wrong(slices.Concat([]string{"rank"}, input, flag), flag[0], "not to icqf")
		wrong(slices.Concat([]string{"evaluate"}, input, flag, []string{"--methods", "icqf,items"}),
			flag[0]+" applies only to fa, not to icqf and items")
	}
	for _, flag := range [][]string{{"--scores", "bartlett"}, {"--target", path}} {
		wrong(fit(append(flag, "--factors", "2", "--beta", "0.1")...), flag[0]+" applies only to fa, not to icqf")
	}
	for i, flag := range [][]string{{
		"--beta", "0.1",
	}, {"--beta", "auto"}, {"--ridge", "0"}, {"--bound-loadings"}, {"--penalize-intercept"}, {"--inner", "cd"}} {
		wrong(fit(append(flag, "--method", "fa")...), flag[0]+" applies only to icqf, not to fa")
		if i > 1 {
			continue // the other commands judge all of them by the same table
		}
		wrong(slices.Concat([]string{"rank"}, input, flag, []string{"--method", "l1-nmf"}), flag[0], "not to l1-nmf")
		wrong(slices.Concat([]string{"invariance"}, input, flag, []string{"--method", "fa", "--group", "sex=F:M"}),
			flag[0], "not to fa")
		wrong(slices.Concat([]string{"evaluate"}, input, flag, []string{"--methods", "fa,pca", "--factors", "2"}),
			flag[0], "not to fa and pca")
	}
	for _, flag := range [][]string{{"--max-iter", "9"}, {"--rel-tol", "0"}, {"--trace"}} {
		wrong(fit(append(flag, "--method", "fa")...), flag[0]+" applies only to icqf and l1-nmf, not to fa")
	}
	wrong(fit("--method", "fa", "--no-equal-ranges"),
		"--no-equal-ranges applies only to icqf, l1-nmf and cross-validation, not to fa")
	wrong(slices.Concat([]string{"longitudinal", "--time", "age", "--bins", "6,18", "--method", "fa", "--trace"},
		fit()[1:]), "--trace")
	wrong(slices.Concat([]string{"evaluate"}, input, []string{"--methods", "items,sums,missing", "--factors", "2"}),
		"--factors applies only to icqf, fa, l1-nmf, grm and pca, not to items, sums and missing")
	wrong(slices.Concat([]string{"evaluate"}, input, []string{"--methods", "fa", "--beta", "0.1"}), "--beta")
	wrong(slices.Concat([]string{"evaluate"}, input,
		[]string{"--methods", "pca", "--factors", "2,3", "--rotation", "promax"}),
		"--rotation applies only to fa, not to pca\n")

	const several = "applies only to cross-validation, which needs several candidates, as in --factors 2:8"
	for _, flag := range [][]string{{"--partitions", "2"}, {"--rule", "one-standard-error"}} {
		wrong(fit(append(flag, "--factors", "2", "--beta", "0.1")...), flag[0]+" "+several)
		wrong(fit(append(flag, "--method", "l1-nmf", "--factors", "2")...), several)
		wrong(fit(append(flag, "--method", "fa")...), several) // parallel analysis chooses
	}
	wrong(slices.Concat([]string{"evaluate"}, input, []string{"--methods", "items", "--partitions", "2"}), several)
	wrong(slices.Concat([]string{"invariance"}, input,
		[]string{"--group", "sex=F:M", "--method", "fa", "--factors", "2", "--partitions", "2"}), several)
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a refused command leaves a folder: %v", err)
	}
}

// Flags that something on the command line uses are taken, those that repeat a default too.
func TestQuestionnaireTakesUsedFlags(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	input := []string{path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4"}
	for _, line := range [][]string{
		{
			"fit", "--method", "fa", "--factors", "1,2", "--rule", "lowest", "--partitions", "1", "--no-equal-ranges",
			"--rotation", "promax",
		},
		{
			"fit", "--method", "l1-nmf", "--factors", "2", "--max-iter", "500", "--rel-tol", "1e-6", "--trace",
		},
		{"rank", "--method", "fa", "--factors", "2", "--partitions", "1", "--correlation", "pearson", "--equal-ranges"},
		{
			"evaluate", "--methods", "fa,icqf", "--factors", "2", "--beta", "0.1", "--repeats", "1", "--correlation",
			"pearson", "--ridge", "0",
		},
		{"fit", "--method", "l1-nmf", "--factors", "2", "--no-equal-ranges"},
		{"evaluate", "--methods", "pca", "--factors", "1,2", "--repeats", "1", "--inner", "cd"}, // icqf chooses
	} {
		line = slices.Concat([]string{"questionnaire"}, line, input)
		if line[1] == "fit" {
			line = append(line, "--out", t.TempDir())
		}
		if r := wardcast(t, "", line...); r.Code != 0 {
			t.Errorf("%q exits %d: %s", line, r.Code, r.Stderr)
		}
	}
}
