package main

import (
	"encoding/csv"
	"encoding/json"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// dispositions is a table of generated notes whose admitted patients go to one of two places by their sex.
func dispositions(t *testing.T, n int) string {
	t.Helper()
	records, err := csv.NewReader(strings.NewReader(synthetic(t, strconv.Itoa(n), "csv"))).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	label, sex := slices.Index(records[0], "label"), slices.Index(records[0], "sex")
	for _, r := range records[1:] {
		switch {
		case r[label] == "0":
			r[label] = "home"
		case r[sex] == "F":
			r[label] = "ward"
		default:
			r[label] = "moved, elsewhere"
		}
	}
	var b strings.Builder
	if err := csv.NewWriter(&b).WriteAll(records); err != nil {
		t.Fatal(err)
	}
	return clitest.File(t, "notes.csv", b.String())
}

// TestClasses goes from notes of several outcomes to predictions, topics and an evaluation.
func TestClasses(t *testing.T) {
	t.Parallel()
	notes := dispositions(t, 400)
	dir := filepath.Join(t.TempDir(), "models")
	flags := []string{
		"--input", notes, "--classes", `home, ward, moved\, elsewhere`, "--aux-columns", "age:numeric,sex:categorical",
	}
	table := succeed(t, "", append([]string{
		"train", "--model-dir", dir, "--method", "smf-w", "--rank", "2,3", "--xi",
		"1", "--ridge", "0.05", "--per-complaint", "never",
	}, flags...)...)
	if !strings.Contains(table, "BALANCED") || !strings.Contains(table, "AUROC ADMITTED") {
		t.Errorf("the table lacks what several outcomes have:\n%s", table)
	}
	var p msg.Prediction
	line := succeed(t, "", "predict", "--model-dir", dir, "--text", "78F glf at home, hip pain, unable to wt bear",
		"--complaint", "Fall", "--topics", "0", "--terms", "0")
	if err := json.Unmarshal([]byte(line), &p); err != nil {
		t.Fatal(err)
	}
	sum, logit := 0.0, p.Intercept
	for _, c := range p.Classes {
		sum += c.Probability
	}
	for _, topic := range p.Topics {
		logit += topic.Contribution
	}
	for _, a := range p.Aux {
		logit += a.Contribution
	}
	if len(p.Classes) != 3 || p.Classes[2].Class != "moved, elsewhere" || math.Abs(sum-1) > 1e-9 ||
		math.Abs(logit-p.Logit) > 1e-9 || p.Model.Method != "smf-w" || len(p.Words) > 0 {
		t.Errorf("probabilities sum to %v, contributions to %v: %s", sum, logit, line)
	}
	if list := succeed(t, "", "topics", "list", "--model-dir", dir); !strings.Contains(list, "BY OUTCOME") ||
		!strings.Contains(list, "ward ") {
		t.Errorf("topics:\n%s", list)
	}
	if shown := succeed(t, "", "topics", "show", "--model-dir", dir, "_other"); !strings.Contains(shown,
		"by outcome: ") {
		t.Errorf("topics:\n%s", shown)
	}
	manifest, _ := clitest.Object(t,
		succeed(t, "", "models", "show", "--model-dir", dir, "_other", "--output=json"))["manifest"].(map[string]any)
	head, _ := manifest["head"].(map[string]any)
	if head["method"] != "smf-w" || head["xi"] != 1. || head["ridge"] != .05 || len(head["candidates"].([]any)) != 2 ||
		head["alpha"] != nil {
		t.Errorf("the manifest says %v", head)
	}

	scores, _ := clitest.Object(t, succeed(t, "", append([]string{
		"evaluate", "--methods", "majority,smf-h", "--ranks",
		"2", "--folds", "2", "--xi", "1", "--ridge", "1", "--output=json",
	}, flags...)...))["scores"].([]any)
	if len(scores) != 2 {
		t.Fatalf("%d scores", len(scores))
	}
	classes, _ := scores[1].(map[string]any)["classes"].(map[string]any)
	if confusion, _ := classes["confusion"].([]any); len(confusion) != 3 || classes["balanced_accuracy"] == nil ||
		classes["log_loss"] == nil {
		t.Errorf("classes %v", classes)
	}
	if table := succeed(t, "", append([]string{"evaluate", "--methods", "majority", "--folds", "2"},
		flags...)...); !strings.Contains(table, "MEAN AUROC") || !strings.Contains(table, "moved, elsewhere") {
		t.Errorf("the table lacks what several outcomes have:\n%s", table)
	}
}

// TestClassUsage: what makes no sense is refused before anything is read or trained, with the flag or the column.
func TestClassUsage(t *testing.T) {
	t.Parallel()
	notes := dispositions(t, 200)
	train := func(more ...string) []string {
		return append([]string{"train", "--input", notes, "--model-dir", filepath.Join(t.TempDir(), "m")}, more...)
	}
	evaluate := func(more ...string) []string { return append([]string{"evaluate", "--input", notes}, more...) }
	for name, c := range map[string]struct {
		args []string
		want []string
		code int
	}{
		"method": {
			train("--classes", "auto"), []string{`method "sonmf"`, "smf-w or smf-h"}, cli.ExitUsage,
		},
		"one class": {
			train("--classes", "home", "--method", "smf-w"), []string{"--classes", "1 classes"}, cli.ExitUsage,
		},
		"unknown admission": {train("--classes", "home,ward", "--method", "smf-w", "--positive-label",
			"bed"), []string{"--classes", `"bed"`}, cli.ExitUsage},
		"label outside": {train("--classes", "home,ward", "--method",
			"smf-w"), []string{"notes.csv, line ", `column "label"`, "not one of the classes"}, cli.ExitFailed},
		"rare": {train("--classes", `home,ward,moved\, elsewhere,died`, "--method",
			"smf-w"), []string{"notes.csv", `column "label"`, `"died" has 0`}, cli.ExitFailed},
		"isotonic": {train("--classes", "home,ward,moved", "--method", "smf-w", "--calibration",
			"isotonic"), []string{"isotonic"}, cli.ExitUsage},
		"elastic net": {
			train("--method", "smf-w", "--alpha", "0.1"), []string{"--alpha", "smf-w"}, cli.ExitUsage,
		},
		"penalty": {
			train("--method", "smf-h", "--lambda", "min"), []string{"--lambda", "smf-h"}, cli.ExitUsage,
		},
		"free aux": {
			train("--method", "smf-h", "--free-aux"), []string{"--free-aux", "smf-h"}, cli.ExitUsage,
		},
		"words": {
			train("--method", "smf-h", "--words", "beside"), []string{"single words", "smf-h"}, cli.ExitUsage,
		},
		"xi of another": {train("--xi", "1"), []string{"--xi", "sonmf"}, cli.ExitUsage},
		"no rank":       {train("--rank", ""), []string{"--rank"}, cli.ExitUsage},
		"no ranks": {
			evaluate("--ranks", "", "--methods", "smf-w"), []string{"smf-w", "needs a rank"}, cli.ExitUsage,
		},
		"ranks of another": {train("--rank", "3,4"), []string{"ranks", "sonmf"}, cli.ExitUsage},
		"xi is no number":  {train("--method", "smf-w", "--xi", "much"), []string{"--xi", "much"}, cli.ExitUsage},
		"xi of nothing":    {train("--method", "smf-w", "--xi", "0"), []string{"xi 0"}, cli.ExitUsage},
		"compared method": {
			evaluate("--classes", "auto", "--methods", "majority,bow"), []string{`method "bow"`}, cli.ExitUsage,
		},
		"nothing elastic": {
			evaluate("--methods", "majority,smf-w", "--free-aux"), []string{"--free-aux"}, cli.ExitUsage,
		},
		"nothing supervised": {evaluate("--methods", "majority,bow", "--class-weights",
			"balanced"), []string{"--class-weights"}, cli.ExitUsage},
		"words beside topics": {evaluate("--methods", "smf-w+words"), []string{"smf-w+words"}, cli.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, c.code, c.args, c.want...)
		})
	}
}

// TestEvaluateWarns of coefficients that have no bound, and of fewer topics than asked for.
func TestEvaluateWarns(t *testing.T) {
	t.Parallel()
	notes := clitest.File(t, "notes.csv", synthetic(t, "200", "csv"))
	for want, args := range map[string][]string{
		"a ridge of 0": {"--methods", "smf-w", "--ranks", "1", "--xi", "1", "--ridge", "0"},
		`"rank":5000`:  {"--methods", "svd", "--ranks", "5000"},
	} {
		r := wardcast(t, "",
			append([]string{"evaluate", "--input", notes, "--folds", "2", "--min-df", "5"}, args...)...)
		if r.Code != 0 || !strings.Contains(r.Stderr, want) {
			t.Errorf("%v exits %d and logs %s", args, r.Code, r.Stderr)
		}
	}
}
