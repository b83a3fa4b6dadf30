package main

import (
	"bytes"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// Norms are made of the scores of a reference sample, and give later scores percentiles and T scores. Who has none is
// reported by line, never by id.
func TestQuestionnaireNorms(t *testing.T) {
	t.Parallel()
	path, parent := answersFile(t), t.TempDir()
	dir, out := filepath.Join(parent, "model"), filepath.Join(parent, "norms.json")
	succeed(t, "", "questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4", "--beta",
		"0.1", "--factors", "2", "--out", dir)
	reference := filepath.Join(parent, "reference.csv")
	succeed(t, "", "questionnaire", "score", path, "--model", dir, "--out", reference)
	norms := func(more ...string) []string {
		return append([]string{"questionnaire", "norms", "--model", dir, "--scores", reference, "--out", out}, more...)
	}
	by := []string{"--people", path, "--age", "age", "--bins", "6,12,17", "--sex", "sex"}

	// The scores of a factorization are not those that score gives.
	own := []string{
		"questionnaire", "norms", "--model", dir, "--scores", filepath.Join(dir, "scores.csv"), "--out",
		out, "--least", "10",
	}
	fail(t, cli.ExitUsage, own, "holds the scores of the factorization")
	linked := filepath.Join(parent, "linked.csv")
	if err := os.Symlink(own[5], linked); err != nil {
		t.Fatal(err)
	}
	fail(t, cli.ExitUsage,
		[]string{"questionnaire", "norms", "--model", dir, "--scores", linked, "--out", out, "--least", "10"},
		"holds the scores of the factorization")
	alone := filepath.Join(parent, "alone")
	succeed(t, "", "questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4", "--beta",
		"0.1", "--factors", "2", "--out", alone)

	// Neither are those of another model.
	fail(t, cli.ExitUsage, []string{
		"questionnaire", "norms", "--model", dir, "--scores",
		filepath.Join(alone, "scores.csv"), "--out", out, "--least", "10",
	}, "belongs to the fit in")
	fa, other := filepath.Join(parent, "fa"), filepath.Join(parent, "fa.csv")
	succeed(t, "", "questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4",
		"--method", "fa", "--factors", "2", "--out", fa)
	succeed(t, "", "questionnaire", "score", path, "--model", fa, "--out", other)
	fail(t, cli.ExitFailed,
		[]string{"questionnaire", "norms", "--model", dir, "--scores", other, "--out", out, "--least", "10"}, "fa.csv",
		"line", "scores of another model: the score is not in 0 to 1")

	fail(t, cli.ExitUsage, norms("--people", path), "--people requires")
	fail(t, cli.ExitUsage, norms("--sex", "sex"), "--people requires")
	fail(t, cli.ExitUsage, norms("--age", "age", "--people", path), "--bins")
	fail(t, cli.ExitUsage, norms("--least", "0"), "--least is 0")
	fail(t, cli.ExitUsage,
		[]string{"questionnaire", "norms", "--model", dir, "--scores", reference, "--out", reference},
		"would be replaced")
	fail(t, cli.ExitUsage, norms(by...), "no cell has 50 people")
	fail(t, cli.ExitFailed, norms("--people", path, "--sex", "gender"), "answers.csv", `"gender"`, "no such column")

	table := succeed(t, "", norms(append(by, "--least", "12")...)...)
	for _, row := range []string{
		"AGE    SEX  PARTICIPANTS  NORMS", "6-12   F    17            yes", "12-17  M    12            yes",
	} {
		if !strings.Contains(table, row) {
			t.Errorf("norms prints\n%s, which lacks %q", table, row)
		}
	}
	if again := clitest.Object(t, succeed(t, "", norms(append(by, "--least", "12",
		"--output=json")...)...)); again["participants"] != 60. || again["least"] != 12. {
		t.Errorf("norms prints %v", again)
	}

	// The second participant has no sex, the third is too old.
	lines := strings.SplitN(string(clitest.Read(t, path)), "\n", 5)
	lines[2] = strings.ReplaceAll(lines[2], ",M,", ",,")
	fields := strings.Split(lines[3], ",")
	fields[7] = "40"
	lines[3] = strings.Join(fields, ",")
	changed := clitest.File(t, "new.csv", strings.Join(lines, "\n"))
	r := wardcast(t, "", "questionnaire", "score", changed, "--model", dir, "--norms", out)
	for _, say := range []string{`"reason":"no sex","participants":1,"lines":[3]`, `"reason":"an age outside the ` +
		`bands","participants":1,"lines":[4]`} {
		if !strings.Contains(r.Stderr, say) {
			t.Errorf("the log lacks %s:\n%s", say, r.Stderr)
		}
	}
	if strings.Contains(r.Stderr, "secret") {
		t.Errorf("the log names an id:\n%s", r.Stderr)
	}
	rows, err := csv.NewReader(strings.NewReader(r.Stdout)).ReadAll()
	want := []string{
		"id", "factor1", "factor2", "answered", "se_factor1", "se_factor2", "percentile_factor1", "t_factor1",
		"t_low_factor1", "t_high_factor1", "percentile_factor2", "t_factor2", "t_low_factor2", "t_high_factor2",
	}
	if err != nil || len(rows) != 61 || !slices.Equal(rows[0], want) {
		t.Fatalf("%d rows, columns %q: %v", len(rows), rows[0], err)
	}
	for i, row := range rows[1:] {
		if empty := row[6] == "" && row[13] == ""; empty != (i == 1 || i == 2) || row[1] == "" {
			t.Errorf("row %q", row)
		}
	}
	for _, name := range []string{"scores.jsonl", "scores.parquet"} {
		file := filepath.Join(parent, name)
		succeed(t, "", "questionnaire", "score", changed, "--model", dir, "--norms", out, "--out", file)
		if got, want := cells(t, file), cells(t, clitest.File(t, "scores.csv", r.Stdout)); !cmp.Equal(got, want) {
			t.Errorf("%s does not hold what stdout does:\n%s", name, cmp.Diff(want, got))
		}
	}

	// A score that is not a measurement has no norm: a single answer informs about one factor at most.
	hardly := strings.Split(strings.SplitN(string(clitest.Read(t, path)), "\n", 6)[4], ",")
	for j := 2; j <= 6; j++ {
		hardly[j] = ""
	}
	one := clitest.File(t, "one.csv", lines[0]+"\n"+strings.Join(hardly, ",")+"\n")
	scored := wardcast(t, "", "questionnaire", "score", one, "--model", dir, "--norms", out)
	single, err := csv.NewReader(strings.NewReader(scored.Stdout)).ReadAll()
	if err != nil || len(single) != 2 || single[1][1] == "" || single[1][6] != "" && single[1][10] != "" ||
		!strings.Contains(scored.Stderr, "scores are not measurements") {
		t.Errorf("a single answer gives %q, %v, with the log\n%s", single, err, scored.Stderr)
	}

	// Participants with too few answers have no norm, and are logged by line. The others keep theirs.
	few := wardcast(t, "", "questionnaire", "score", changed, "--model", dir, "--norms", out, "--min-answers", "6")
	kept, err := csv.NewReader(strings.NewReader(few.Stdout)).ReadAll()
	if err != nil || len(kept) < 2 || len(kept) > 60 || !strings.Contains(few.Stderr, fmt.Sprintf(
		`"min_answers":6,"participants":%d,"lines":[2,`, 61-len(kept))) || strings.Contains(few.Stderr, "secret") {
		t.Errorf("%d rows, %v, the log says %q", len(kept), err, few.Stderr)
	}
	for _, row := range kept {
		if !slices.ContainsFunc(rows, func(other []string) bool { return slices.Equal(row, other) }) {
			t.Errorf("row %q has other norms than without --min-answers", row)
		}
	}

	// Norms of another fit are refused.
	other = filepath.Join(parent, "other")
	succeed(t, "", "questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4", "--beta",
		"0.2", "--factors", "2", "--out", other)
	fail(t, cli.ExitFailed, []string{"questionnaire", "score", path, "--model", other, "--norms", out}, "norms.json",
		"not norms of this model")
	if data := clitest.Read(t, out); bytes.Contains(data, []byte("secret")) {
		t.Error("the norms hold ids")
	}
}

// What a user should know before a study is lost is logged: a scale that a group lacks, and the column that holds the
// ids.
func TestQuestionnaireWarnsOfGroups(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("participant_id,q1,q2,q3,r1,dx\n")
	for i := range 60 {
		row := []string{"0", "1", "2", "3", "1"}
		for j := range row {
			row[j] = string(rune('0' + (i/(j+1)+i/(j+3))%4))
		}
		dx := []string{"CONTROL", "SCHZ", "ADHD"}[i%3]
		if dx == "SCHZ" {
			row[3] = ""
		}
		b.WriteString("secret" + string(rune('a'+i/10)) + string(rune('0'+i%10)) + "," + strings.Join(row[:4], ",") +
			"," + dx + "\n")
	}
	path, keys := clitest.File(t, "answers.csv", b.String()),
		clitest.File(t, "keys.json", `{"mood":["q1","-q2","q3"],"sleep":["r1"]}`)
	r := wardcast(t, "", "questionnaire", "evaluate", path, "--codebook", keys, "--factors", "2", "--beta", "0.1",
		"--repeats", "2", "--labels", "dx=SCHZ,dx=SCHZ:CONTROL", "--methods", "icqf,missing")
	for _, say := range []string{
		`"column":"participant_id"`,
		`"column":"dx","groups":["SCHZ"],"participants":20,"scales":["sleep"]`, `"scale":"mood","items":["q2"]`,
	} {
		if !strings.Contains(r.Stderr, say) {
			t.Errorf("the log lacks %s:\n%s", say, r.Stderr)
		}
	}
	if strings.Contains(r.Stderr, "secret") {
		t.Errorf("the log names an id:\n%s", r.Stderr)
	}
	if strings.Count(r.Stderr, "more than two values") != 1 {
		t.Errorf("the log does not name exactly the other values of the label of one against all:\n%s", r.Stderr)
	}
	if r.Code != 0 {
		t.Errorf("%s", r.Stderr)
	}
	if !regexp.MustCompile(`AUROC dx=SCHZ +AUROC dx=SCHZ:CONTROL\n`).MatchString(r.Stdout) {
		t.Errorf("the labels do not say their values:\n%s", r.Stdout)
	}
	if !regexp.MustCompile(`missing  80 % +48 +-  +-  +1.000 \(0.000\) `).MatchString(r.Stdout) {
		t.Errorf("the missing scale alone does not reveal the group:\n%s", r.Stdout)
	}
}
