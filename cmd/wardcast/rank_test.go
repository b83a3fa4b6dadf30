package main

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// items writes 150 participants' answers to 9 items of 3 factors, some of them missing.
func items(t *testing.T) string {
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
	return file(t, "items.csv", out.String())
}

func TestRank(t *testing.T) {
	t.Parallel()
	answers, documents := items(t), matrices(t, false)["x.csv"]
	for _, criterion := range []string{"parallel", "map"} {
		r := object(t, succeed(t, "", "rank", "--method", "fa", "--criterion", criterion, "--input", answers, "--output=json"))
		wantFields(t, criterion, r, "method", "criterion", "rank", "curve", "unconverged", "warnings", "seconds", "settings", "version")
		if r["rank"] != 3. {
			t.Errorf("%s chooses %v", criterion, r["rank"])
		}
	}
	for _, criterion := range []string{"auto", "bic", "ccc", "dispersion"} {
		r := object(t, succeed(t, "", "rank", "--method", "nmf", "--criterion", criterion, "--input", documents, "--ranks", "3,2,3:4", "--runs", "3", "--output=json"))
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
	if lines := strings.Split(table, "\n"); !strings.HasPrefix(lines[4], "3 ") || !strings.HasSuffix(lines[4], "chosen") || strings.Count(table, "chosen") != 1 {
		t.Errorf("another choice than 3:\n%s", table)
	}
}

func TestRankRefuses(t *testing.T) {
	t.Parallel()
	answers, documents := items(t), matrices(t, false)["x.csv"]
	fail(t, exitUsage, []string{"rank", "--method", "svd", "--criterion", "ccc", "--input", documents}, `method "svd" has no criterion "ccc", only bcv, bic`)
	fail(t, exitUsage, []string{"rank", "--method", "nmf", "--ranks", "4:2", "--input", documents}, "--ranks")
	fail(t, exitUsage, []string{"rank", "--method", "nmf", "--ranks", "9", "--input", documents}, "rank out of range")
	fail(t, exitUsage, []string{"rank", "--method", "fa", "--ranks", "20", "--input", answers}, "9 items")
	fail(t, exitUsage, []string{"rank", "--method", "nmf", "--criterion", "ccc", "--runs", "1", "--input", documents}, "--runs is 1, must be 2 or more")
	fail(t, exitFailed, []string{"rank", "--method", "nmf", "--input", answers}, "line 2")
}
