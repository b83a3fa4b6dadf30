package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// itemsFile writes 150 participants' answers to 9 items of 3 factors, some of them missing.
func itemsFile(t *testing.T) string {
	t.Helper()
	random := rand.New(rand.NewPCG(1, 0))
	var out strings.Builder
	out.WriteString("q1,q2,q3,q4,q5,q6,q7,q8,q9\n")
	for i := range 150 {
		factors := [3]float64{random.NormFloat64(), random.NormFloat64(), random.NormFloat64()}
		for j := range 9 {
			if (i+j)%17 != 0 {
				fmt.Fprintf(&out, "%.3f", 0.8*factors[j%3]+0.6*random.NormFloat64())
			}
			out.WriteByte(",\n"[j/8])
		}
	}
	return clitest.File(t, "items.csv", out.String())
}

func TestRank(t *testing.T) {
	t.Parallel()
	answers, documents := itemsFile(t), matrices(t, false)["x.csv"]
	for _, criterion := range []string{"parallel", "map"} {
		r := clitest.Object(t, succeed(t, "", "rank", "--method", "fa", "--criterion", criterion, "--input", answers,
			"--output=json"))
		clitest.WantFields(t, criterion, r, "method", "criterion", "rank", "curve", "unconverged", "warnings",
			"seconds", "settings", "version")
		if r["rank"] != 3. {
			t.Errorf("%s chooses %v", criterion, r["rank"])
		}
	}
	for _, criterion := range []string{"auto", "bic", "ccc", "dispersion"} {
		r := clitest.Object(t, succeed(t, "", "rank", "--method", "nmf", "--criterion", criterion, "--input", documents,
			"--ranks", "3,2,3:4", "--runs", "3", "--output=json"))
		if curve, ok := r["curve"].([]any); !ok || len(curve) != 3 {
			t.Errorf("%s: curve %v", criterion, r["curve"])
		}
		if criterion == "auto" && r["criterion"] != "bcv" {
			t.Errorf("the criterion of nmf is %v by default", r["criterion"])
		}
	}
	table := succeed(t, "", "rank", "--method", "fa", "--criterion", "map", "--input", answers)
	for _, want := range []string{"RANK  map", "FOURTH POWER", "CHOICE\n"} {
		if !strings.Contains(table, want) {
			t.Errorf("table without %q:\n%s", want, table)
		}
	}
	if lines := strings.Split(table, "\n"); !strings.HasPrefix(lines[4], "3 ") ||
		!strings.HasSuffix(lines[4], "chosen") || strings.Count(table, "chosen") != 1 {
		t.Errorf("another choice than 3:\n%s", table)
	}
}

// Whatever makes many fits says once, and in its JSON, how many of them ran out of updates.
func TestUnconvergedIsSaid(t *testing.T) {
	t.Parallel()
	path, documents := answersFile(t), matrices(t, false)["x.csv"]
	of := func(command string, more ...string) []string {
		return slices.Concat([]string{
			"questionnaire", command, path, "--items", "q*", "--missing-code", "-9999",
			"--range", "0:4", "--beta", "0.1", "--factors", "1,2", "--output=json",
		}, more)
	}
	for _, c := range []struct {
		args  []string
		field string
		want  float64
	}{
		{of("rank"), "unconverged", 20},
		{of("fit", "--out", t.TempDir()), "bcv_unconverged", 20},
		// cross-validations, the whole, shares, halves
		{of("evaluate", "--repeats", "2"), "unconverged", 20*(1+2) + 1 + 4*2 + 2*2},
		{[]string{
			"rank", "--method", "nmf", "--criterion", "bic", "--ranks", "2,3", "--input", documents, "--output=json",
		}, "unconverged", 2},
	} {
		for _, early := range []bool{true, false} {
			args, want, lines := c.args, 0., 0
			if early {
				args, want, lines = append(args, "--max-iter", "1"), c.want, 1
			}
			r := wardcast(t, "", args...)
			if got := clitest.Object(t, r.Stdout)[c.field]; got != want ||
				strings.Count(r.Stderr, "have not converged") != lines {
				t.Errorf("%s %s: %v unconverged, want %v: %s", args[0], args[1], got, want, r.Stderr)
			}
		}
	}
}

// What an evaluation cannot tell is a dash in its table and null in JSON; items that a share leaves out are named in
// the log.
func TestEvaluationOfFew(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("q1,q2,q3,q4,rare,ill\n")
	for i := range 20 {
		fmt.Fprintf(&b, "%d,%d,%d,%d,%d,%d\n", i%5, (i*3)%5, (i*7+i/4)%5, (i*i)%5, i/19, i/18)
	}
	args := []string{
		"questionnaire", "evaluate", clitest.File(t, "few.csv", b.String()), "--items", "q*,rare",
		"--range", "0:4", "--factors", "2", "--beta", "0.1", "--labels", "ill", "--repeats", "1",
	}
	r := wardcast(t, "", args...)
	if r.Code != 0 || !strings.Contains(r.Stdout, " -\n") || !strings.Contains(r.Stderr, `"items":["rare"`) {
		t.Errorf("exit code %d, table\n%s\nlog %s", r.Code, r.Stdout, r.Stderr)
	}
	if text := succeed(t, "", append(args, "--output=json")...); !strings.Contains(text,
		`"auroc":[{"count":0,"mean":null,"standard_deviation":null}],"empty_factors":0,"empty_factors_in_whole":0,`+
			`"items_left_out":["rare"`) {
		t.Errorf("JSON %s", text)
	}
}

func TestRankRefuses(t *testing.T) {
	t.Parallel()
	answers, documents := itemsFile(t), matrices(t, false)["x.csv"]
	fail(t, cli.ExitUsage, []string{"rank", "--method", "svd", "--criterion", "ccc", "--input", documents},
		`method "svd" has no criterion "ccc", only bcv, bic`)
	fail(t, cli.ExitUsage, []string{"rank", "--method", "nmf", "--ranks", "4:2", "--input", documents}, "--ranks")
	fail(t, cli.ExitUsage, []string{"rank", "--method", "nmf", "--ranks", "90", "--input", documents}, "rank 90",
		"leave room for")
	fail(t, cli.ExitUsage, []string{"rank", "--method", "fa", "--ranks", "20", "--input", answers}, "9 items")
	fail(t, cli.ExitUsage,
		[]string{"rank", "--method", "nmf", "--criterion", "ccc", "--runs", "1", "--input", documents},
		"--runs is 1, must be 2 or more")
	fail(t, cli.ExitFailed, []string{"rank", "--method", "nmf", "--input", answers}, "line 2")
}
