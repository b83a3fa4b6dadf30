package main

import (
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// The table has a line for each item and each scale; JSON has the stable names. What limits the figures is logged.
func TestQuestionnaireItems(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	call := func(more ...string) []string {
		return append([]string{"questionnaire", "items", path, "--items", "q*", "--missing-code", "-9999"}, more...)
	}
	fail(t, cli.ExitUsage, call("--factors", "0"), "--factors is 0")
	fail(t, cli.ExitUsage, call("--threads", "2000"), "2000 threads")
	fail(t, cli.ExitFailed, []string{"questionnaire", "items", path, "--items", "q1", "--missing-code", "-9999"},
		"answers.csv", "fewer than two items vary")

	codebook := clitest.File(t, "codebook.csv",
		"item,subscale,reverse\nq1,one,\nq3,one,\nq5,one,\nq2,two,\nq4,two,\nq6,two,yes\n")
	r := wardcast(t, "", call("--codebook", codebook, "--group", "sex")...)
	for _, line := range []string{
		"ITEM ", "q1 ", "q6 (R) ", "SCALE ", "all items  6 ", "one        3 ", "two        3 ",
	} {
		if !strings.Contains("\n"+r.Stdout, "\n"+line) {
			t.Errorf("no line begins with %q:\n%s", line, r.Stdout)
		}
	}
	if !strings.Contains(r.Stdout, "MISSING sex=F  MISSING sex=M") || strings.Contains(r.Stdout, "NaN") {
		t.Errorf("items prints\n%s", r.Stdout)
	}
	if want := `"scale":"two","items":["q6"]`; !strings.Contains(r.Stderr, want) {
		t.Errorf("the log lacks %s:\n%s", want, r.Stderr)
	}
	if strings.Contains(r.Stdout+r.Stderr, "secret") {
		t.Errorf("an id is printed or logged:\n%s%s", r.Stdout, r.Stderr)
	}

	keys := clitest.File(t, "keys.json", `{"one":["q1","q3","q5"],"two":["q2","q4","q5","-q6"]}`)
	if printed := succeed(t, "", call("--codebook", keys, "--range", "0:4")...); !strings.Contains(printed,
		"\ntwo        4 ") {
		t.Errorf("an item of two scales leaves the second:\n%s", printed)
	}

	got := clitest.Object(t, succeed(t, "", call("--codebook", codebook, "--output=json")...))
	for _, name := range []string{
		"n", "items", "constant", "alpha", "alpha_interval", "alpha_standardized", "mean_correlation", "lambda6",
		"split_half", "omega_total", "omega_total_interval", "omega_hierarchical",
		"omega_hierarchical_interval",
		"omega_factors", "omega_reversed", "omega_weak_factors", "kmo", "kmo_items", "bartlett", "subscales",
		"groups", "warnings",
	} {
		if _, ok := got[name]; !ok {
			t.Errorf("the JSON lacks %q", name)
		}
	}
	first := got["items"].([]any)[0].(map[string]any)
	for _, name := range []string{
		"item", "subscale", "n", "missing", "mean", "sd", "difficulty", "floor", "ceiling",
		"item_rest", "item_total", "alpha_dropped",
	} {
		if _, ok := first[name]; !ok {
			t.Errorf("an item in JSON lacks %q", name)
		}
	}
	if sub := got["subscales"].([]any)[1].(map[string]any); sub["subscale"] != "two" || sub["n"] != 60. ||
		sub["alpha"] == nil || len(sub["items"].([]any)) != 3 {
		t.Errorf("subscale %v", sub)
	}
}

// The cuts of each scale and label, by the column sex of the answers. The best one is in the title.
func TestQuestionnaireItemsByLabel(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	call := []string{"questionnaire", "items", path, "--items", "q*", "--missing-code", "-9999", "--labels", "sex=F"}
	printed := succeed(t, "", call...)
	for _, want := range []string{"\nSum of all: ", " with sex=F, ", "Best cut: ", "\nCUT ", "SENSITIVITY"} {
		if !strings.Contains(printed, want) {
			t.Errorf("%q is missing in\n%s", want, printed)
		}
	}
	fail(t, cli.ExitFailed, append(call[:len(call)-1:len(call)-1], "sex=X"), "no participant with answers")
}
