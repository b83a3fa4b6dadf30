package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// Two groups are compared, as tables and as JSON. Only two values of one column are groups.
func TestQuestionnaireInvariance(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	compare := func(more ...string) []string {
		return append([]string{
			"questionnaire", "invariance", path, "--items", "q*", "--missing-code", "-9999",
			"--range", "0:4", "--factors", "2", "--beta", "0.1", "--bootstrap", "40",
		}, more...)
	}
	fail(t, cli.ExitUsage, compare(), "sex=F:M")
	fail(t, cli.ExitUsage, compare("--group", "sex"), "sex=F:M")
	fail(t, cli.ExitUsage, compare("--group", "sex=F:M,ill=1:0"), "sex=F:M")
	fail(t, cli.ExitUsage, compare("--group", "sex=F:M", "--confounds", "sex:categorical"), "cannot be a confound")
	fail(t, cli.ExitUsage, compare("--group", "sex=F:M", "--bootstrap", "19"), "--bootstrap is 19")
	fail(t, cli.ExitFailed, compare("--group", "sex=F:X"), "answers.csv", `"sex"`, "has this value")

	text := succeed(t, "", compare("--group", "sex=F:M")...)
	for _, part := range []string{
		"sex: 30 participants with F, 30 with M. Factors: 2, by icqf.", "Configural: ",
		"FACTOR   IN F  IN M  CONGRUENCE  INTERVAL", "of 6 items.",
	} {
		if !strings.Contains(text, part) {
			t.Errorf("it prints\n%s, which lacks %q", text, part)
		}
	}
	turned := clitest.Object(t, succeed(t, "", compare("--group", "sex=F:M", "--reverse", "q2", "--output=json")...))
	for _, item := range turned["dif"].(map[string]any)["items"].([]any) {
		item := item.(map[string]any)
		if _, reversed := item["reversed"]; reversed != (item["item"] == "q2") {
			t.Errorf("only q2 is reversed, but of %s it says %v", item["item"], item["reversed"])
		}
	}
	r := clitest.Object(t, succeed(t, "", compare("--group", "sex=F:M", "--output=json")...))
	var names []string
	for name := range r {
		names = append(names, name)
	}
	slices.Sort(names)
	want := []string{
		"beta", "bootstrap", "configural", "dif", "factors", "failed", "fits", "group", "groups",
		"items_left_out", "method", "outside", "seconds", "unconverged", "warnings",
	}
	if !slices.Equal(names, want) || r["fits"] != 83. {
		t.Errorf("%q, %v fits", names, r["fits"])
	}
}
