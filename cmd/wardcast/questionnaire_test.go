package main

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
)

// answersFile writes answers of two factors, in a folder of the test's own: q1 … q6, age, sex and a label.
func answersFile(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString("id,q1,q2,q3,q4,q5,q6,age,sex,ill\n")
	for i := range 60 {
		one, two := (i*7)%5, (i*11)%4
		cells := make([]string, 6)
		for j := range cells {
			v := one
			if j%2 == 1 {
				v = two
			}
			if cells[j] = fmt.Sprint(min(4, max(0, v+(i*j)%3-1))); (i+j)%17 == 0 {
				cells[j] = "-9999"
			}
		}
		ill := 0
		if one > 2 {
			ill = 1
		}
		fmt.Fprintf(&b, "secret%d,%s,%d,%s,%d\n", i, strings.Join(cells, ","), 6+i%11, []string{"F", "M"}[i%2], ill)
	}
	path := filepath.Join(t.TempDir(), "answers.csv")
	if err := os.WriteFile(path, []byte(b.String()), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestQuestionnaire(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	flags := []string{
		path, "--items", "q*", "--missing-code", "-9999", "--confounds", "age:numeric,sex:categorical",
		"--range", "0:4", "--beta", "0.1",
	}
	dir := filepath.Join(t.TempDir(), "model")
	fitted := slices.Concat([]string{"questionnaire", "fit"}, flags,
		[]string{"--factors", "2", "--out", dir, "--trace"})
	printed := succeed(t, "", append(fitted, "--output=json")...)
	result, err := os.ReadFile(filepath.Join(dir, model.ResultFile))
	if err != nil {
		t.Fatal(err)
	}
	var s, p model.Summary
	if err := json.Unmarshal(result, &s); err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal([]byte(printed), &p); err != nil {
		t.Fatal(err)
	}
	if s.Objective != p.Objective || s.Factors != 2 || len(s.Trace) != s.Iterations+1 || s.Missing == 0 {
		t.Errorf("%s holds %+v, printed is %+v", model.ResultFile, s, p)
	}
	for _, name := range []string{
		model.ScoresFile, model.TableFile, report.File, report.HeatMapFile, report.HeatMapImage,
		model.ModelFile, model.LoadingsFile, model.SumsFile,
	} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() == 0 {
			t.Errorf("%s: %v", name, err)
		}
	}
	if table := succeed(t, "", fitted...); !strings.HasPrefix(table, "PARTICIPANTS") {
		t.Errorf("fit prints %q", table)
	}

	out := filepath.Join(t.TempDir(), "scores.csv")
	stdout := succeed(t, "", "questionnaire", "score", "--model", dir, path)
	if data := succeed(t, "", "questionnaire", "score", "--model", dir, "--out", out, path); data != "" {
		t.Errorf("score with --out prints %q", data)
	}
	if file, err := os.ReadFile(out); err != nil || string(file) != stdout {
		t.Errorf("scores in a file are not those on stdout: %v", err)
	}
	if rows, err := csv.NewReader(strings.NewReader(stdout)).ReadAll(); err != nil || len(rows) != 61 ||
		!slices.Equal(rows[0], []string{"id", "factor1", "factor2", "answered", "se_factor1", "se_factor2"}) {
		t.Errorf("%d rows of scores: %v", len(rows), err)
	}

	for _, name := range []string{"scores.parquet", "scores.jsonl", "scores.tsv", "scores.csv.gz"} {
		out := filepath.Join(t.TempDir(), name)
		succeed(t, "", "questionnaire", "score", "--model", dir, "--out", out, path)
		if got, want := cells(t, out), cells(t, clitest.File(t, "scores.csv", stdout)); !cmp.Equal(got, want) {
			t.Errorf("%s does not hold the scores of stdout:\n%s", name, cmp.Diff(want, got))
		}
	}

	fail(t, cli.ExitUsage, []string{"questionnaire", "score", "--model", dir, "--out", "scores.txt", path},
		"--out scores.txt", ".parquet")

	ranked := clitest.Object(t, succeed(t, "",
		slices.Concat([]string{"questionnaire", "rank"}, flags, []string{"--factors", "1:3", "--output=json"})...))
	if curve, ok := ranked["curve"].([]any); !ok || len(curve) != 3 || ranked["one_standard_error_factors"] == nil ||
		ranked["seconds"] == nil || ranked["beta"] != 0.1 {
		t.Errorf("rank prints %v", ranked)
	}
	for _, criterion := range []string{"parallel", "map"} {
		if of, ok := ranked[criterion].(map[string]any); !ok || of["suggested"] == nil {
			t.Errorf("rank prints %v of %s", ranked[criterion], criterion)
		}
	}
	printed = succeed(t, "", slices.Concat([]string{"questionnaire", "rank"}, flags,
		[]string{"--factors", "1:3", "--out", filepath.Join(dir, "rank")})...)
	for _, name := range []string{report.RankingFile, report.ScreeFile} {
		if info, err := os.Stat(filepath.Join(dir, "rank", name)); err != nil || info.Size() == 0 {
			t.Errorf("rank --out: %v", err)
		}
	}
	if strings.Count(printed, "\n") != 8 || !strings.Contains(printed, "Cross-validation: error 0.") ||
		!strings.Contains(printed, ": 3 factors at beta 0.1; ") || !strings.Contains(printed, "lowest\n") {
		t.Errorf("rank prints\n%s", printed)
	}

	evaluated := succeed(t, "", slices.Concat([]string{"questionnaire", "evaluate"}, flags,
		[]string{"--factors", "2", "--labels", "ill", "--repeats", "2", "--output=json"})...)
	file := filepath.Join(t.TempDir(), "evaluation.json")
	if err := os.WriteFile(file, []byte(evaluated), 0o600); err != nil {
		t.Fatal(err)
	}
	succeed(t, "", "questionnaire", "report", "--model", dir, "--evaluation", file, "--out",
		filepath.Join(dir, "again"))
	page, err := os.ReadFile(filepath.Join(dir, "again", report.File))
	if err != nil || !strings.Contains(string(page), "Held-out participants") {
		t.Errorf("the report lacks the evaluation: %v", err)
	}
}

func TestQuestionnaireRefuses(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	out := filepath.Join(t.TempDir(), "out")
	fit := func(more ...string) []string {
		return slices.Concat([]string{"questionnaire", "fit", path, "--out", out}, more)
	}
	fail(t, cli.ExitUsage, fit("--factors", "2"), "--items")
	fail(t, cli.ExitUsage, fit("--items", "!q1", "--factors", "2"), "only excludes")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--factors", "two"), "--factors", "two")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--factors", "5:3"), "--factors")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--factors", "2:10001"), "--factors", "from 1 to 10000")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--beta", "x"), "--beta")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--missing-code", "-9999", "--factors", "9", "--beta", "1"),
		"9 factors for 6 items")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--range", "4:0"), "range")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--confounds", "age"), "confound")
	fail(t, cli.ExitUsage, fit("--items", "q*", "--missing-code"), "--missing-code")
	fail(t, cli.ExitUsage, []string{"questionnaire", "fit", path, "--items", "q*", "--out", path}, "not a folder")
	fail(t, cli.ExitUsage, []string{
		"questionnaire", "longitudinal", path, "--items", "q*", "--out", out, "--time", "age", "--bins", "9,6",
	}, "edges")
	fail(t, cli.ExitUsage, []string{"questionnaire", "meta", filepath.Dir(path), "--out", out},
		"two fits or more, not 1")
	fail(t, cli.ExitFailed, fit("--items", "q*", "--range", "0:4", "--factors", "2", "--beta", "1"),
		"line", "out of range")
	fail(t, cli.ExitFailed, fit("--items", "nothing*"), "nothing*")
	fail(t, cli.ExitUsage, []string{"questionnaire", "score", "--model", out, path}, "no such file")
	fail(t, cli.ExitFailed, []string{"questionnaire", "score", "--model", filepath.Dir(path), path}, model.SumsFile)
	if _, err := os.Stat(out); !os.IsNotExist(err) {
		t.Errorf("a refused fit leaves its folder: %v", err)
	}
}

// What is read is never written over: not the answers by scores, the codebook by a fit, a model by a second stage, nor
// a file of a model by scores.
func TestQuestionnaireKeepsWhatItReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	answers, err := os.ReadFile(answersFile(t))
	if err != nil {
		t.Fatal(err)
	}
	table, book, link := filepath.Join(dir, model.ScoresFile), filepath.Join(dir, model.TableFile),
		filepath.Join(dir, "link")
	for path, data := range map[string][]byte{table: answers, book: []byte("item\nq1\nq2\nq3\n")} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	other := filepath.Join(t.TempDir(), "other.csv")
	if err := os.WriteFile(other, answers, 0o600); err != nil {
		t.Fatal(err)
	}
	fit := func(input, out string, more ...string) []string {
		return slices.Concat([]string{
			"questionnaire", "fit", input, "--missing-code", "-9999", "--range", "0:4",
			"--factors", "2", "--beta", "0.1", "--out", out,
		}, more)
	}
	fail(t, cli.ExitUsage, fit(table, dir, "--items", "q*"), model.ScoresFile, "replaced")
	fail(t, cli.ExitUsage, fit(table, link, "--items", "q*"), model.ScoresFile)
	fail(t, cli.ExitUsage, fit(other, dir, "--codebook", book), model.TableFile)
	fail(t, cli.ExitUsage, slices.Concat([]string{"questionnaire", "longitudinal"},
		fit(table, dir, "--items", "q*", "--time", "age", "--bins", "6,18")[2:]), model.ScoresFile)
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 3 {
		t.Errorf("refused fits leave %v: %v", entries, err)
	}

	first, second := filepath.Join(t.TempDir(), "first"), filepath.Join(t.TempDir(), "second")
	succeed(t, "", fit(other, first, "--items", "q1,q2,q3")...)
	succeed(t, "", fit(other, second, "--items", "q4,q5,q6")...)
	before := contents(t, first)
	fail(t, cli.ExitUsage,
		[]string{"questionnaire", "meta", first, second, "--factors", "2", "--beta", "0.01", "--out", first},
		model.ScoresFile)
	score := func(input, out string) []string {
		return []string{"questionnaire", "score", "--model", first, "--out", out, input}
	}
	fail(t, cli.ExitUsage, score(other, other), "other.csv", "replaced")
	fail(t, cli.ExitUsage, score(table, filepath.Join(link, model.ScoresFile)), "replaced")
	for _, name := range []string{model.ScoresFile, model.ModelFile, model.ResultFile} {
		fail(t, cli.ExitUsage, score(other, filepath.Join(first, name)), name, "model")
	}
	if diff := cmp.Diff(before, contents(t, first)); diff != "" {
		t.Errorf("refused commands change the model:\n%s", diff)
	}
	if data, err := os.ReadFile(table); err != nil || !bytes.Equal(data, answers) {
		t.Errorf("the answers are others: %v", err)
	}
	succeed(t, "", score(other, filepath.Join(first, "later.csv"))...)
}

// contents returns the files of a folder by their names.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{}
	for _, e := range entries {
		data, err := os.ReadFile(filepath.Join(dir, e.Name()))
		if err != nil {
			t.Fatal(err)
		}
		files[e.Name()] = string(data)
	}
	return files
}

// Factors of which nothing is left and a code of missing entries that nobody named are warned of.
func TestQuestionnaireWarns(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	run := func(command string, more ...string) clitest.Ran {
		r := wardcast(t, "",
			slices.Concat([]string{"questionnaire", command, path, "--items", "q*", "--factors", "2"}, more)...)
		if r.Code != 0 {
			t.Fatalf("%s exits %d: %s", command, r.Code, r.Stderr)
		}
		return r
	}
	r := run("fit", "--missing-code", "-9999", "--beta", "10000", "--out", t.TempDir())
	for _, w := range []string{"factors are empty", `"empty":2`, "items have no range", `"items":["q1","q2"`} {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("fit logs %q, want %q in it", r.Stderr, w)
		}
	}
	if !strings.Contains(r.Stdout, "2 (2 empty)") || strings.Contains(r.Stderr, "far from all others") {
		t.Errorf("fit prints %q and logs %q", r.Stdout, r.Stderr)
	}
	r = run("rank", "--from-low", "--beta", "0.1")
	for _, w := range []string{"far from all others", `"low":-9999`, `"first_line":2`, `"column":"q1"`} {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("rank logs %q, want %q in it", r.Stderr, w)
		}
	}
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	nameless := clitest.File(t, "answers.csv", strings.Replace(string(text), "id,", "who,", 1))
	if r = wardcast(t, "", "questionnaire", "items", nameless, "--items", "q*", "--missing-code",
		"-9999"); r.Code != 0 || !strings.Contains(r.Stderr, "numbered by row") {
		t.Errorf("items exits %d and logs %q of a file without a column of ids", r.Code, r.Stderr)
	}
	clean := []string{"--id", "id", "--missing-code", "-9999", "--range", "0:4", "--beta", "0.1"}
	if r = run("rank", clean...); r.Stderr != "" {
		t.Errorf("rank logs %q", r.Stderr)
	}
	if r = run("rank", append(clean, "--factors", "1,2")...); !strings.Contains(r.Stderr, "most factors tried, 2") {
		t.Errorf("rank logs %q, and nothing of the end of its candidates", r.Stderr)
	}
	if r = run("fit", append(clean, "--factors", "1,2", "--out", t.TempDir())...); !strings.Contains(r.Stderr,
		"most factors tried, 2") {
		t.Errorf("fit logs %q, and nothing of the end of its candidates", r.Stderr)
	}
}

// withoutFactors returns a table of the scores of two factors without these: of icqf those of fit are of the
// factorization.
func withoutFactors(t *testing.T, text string) string {
	t.Helper()
	rows, err := csv.NewReader(strings.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range rows {
		rows[i] = slices.Delete(row, 1, 3)
	}
	return string(model.CSV(rows))
}

// Standard errors are the same in the folder of a fit and from score. Who gave too few answers is in neither, and the
// log has their lines.
func TestQuestionnaireStandardErrors(t *testing.T) {
	t.Parallel()
	path, dir := answersFile(t), filepath.Join(t.TempDir(), "model")
	table := []string{path, "--min-answers", "6"}
	fitted := wardcast(t, "", slices.Concat([]string{"questionnaire", "fit"}, table, []string{
		"--items", "q*", "--missing-code", "-9999", "--range", "0:4", "--factors", "2", "--beta", "0.1", "--out", dir,
	})...)
	scored := wardcast(t, "", slices.Concat([]string{"questionnaire", "score", "--model", dir}, table)...)
	file, err := os.ReadFile(filepath.Join(dir, model.ScoresFile))
	if err != nil || scored.Code != 0 || withoutFactors(t, scored.Stdout) != withoutFactors(t, string(file)) {
		t.Errorf("the errors of the fit differ from those of score, which says %q; %v", scored.Stderr, err)
	}
	rows, err := csv.NewReader(strings.NewReader(scored.Stdout)).ReadAll()
	if err != nil || len(rows) < 2 || len(rows) > 60 ||
		!slices.Equal(rows[0], []string{"id", "factor1", "factor2", "answered", "se_factor1", "se_factor2"}) {
		t.Errorf("%d rows, %v", len(rows), err)
	}
	for _, r := range []clitest.Ran{fitted, scored} {
		if !strings.Contains(r.Stderr, "fewer answers have no scores") || !strings.Contains(r.Stderr,
			fmt.Sprintf(`"participants":%d,"lines":[2,`, 61-len(rows))) || strings.Contains(r.Stderr, "secret") {
			t.Errorf("the log says %q", r.Stderr)
		}
	}
	fail(t, cli.ExitUsage, []string{"questionnaire", "rank", path, "--items", "q*", "--partitions", "0"},
		"--partitions is 0")
}

// A long list of lines says how many are not shown.
func TestFirstLines(t *testing.T) {
	t.Parallel()
	for n, want := range map[int]any{mostLines: mostLines, mostLines + 3: "and 3 more"} {
		lines := make([]int, n)
		lines[mostLines-1] = mostLines
		if got := firstLines(lines); got[len(got)-1] != want {
			t.Errorf("%d lines end with %v, want %v", n, got[len(got)-1], want)
		}
	}
}

// A participant without a confound has no scores if score may leave them out, and the log has the line.
func TestQuestionnaireScoreOmitsIncomplete(t *testing.T) {
	t.Parallel()
	path, dir := answersFile(t), t.TempDir()
	succeed(t, "", "questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--range", "0:4",
		"--confounds", "sex:categorical", "--factors", "2", "--beta", "0.1", "--out", dir)
	lines := strings.Split(string(clitest.Read(t, path)), "\n")
	lines[2] = strings.ReplaceAll(lines[2], ",M,", ",,")
	score := []string{"questionnaire", "score", clitest.File(t, "new.csv", strings.Join(lines, "\n")), "--model", dir}
	fail(t, cli.ExitFailed, score, "line 3", `column "sex"`, "--omit-incomplete")
	r := wardcast(t, "", append(score, "--omit-incomplete")...)
	if r.Code != 0 || strings.Count(r.Stdout, "\n") != 60 ||
		!strings.Contains(r.Stderr, `"participants":1,"lines":[3]`) {
		t.Errorf("score exits %d, prints %d lines and logs %q", r.Code, strings.Count(r.Stdout, "\n"), r.Stderr)
	}
}

// A column of a codebook that is not read, and a label of more than two values, are warned of.
func TestQuestionnaireWarnsOfColumns(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	book := filepath.Join(filepath.Dir(path), "codebook.csv")
	if err := os.WriteFile(book, []byte("item,Source\nq1,x\nq2,x\nq3,x\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	evaluate := []string{
		"questionnaire", "evaluate", path, "--codebook", book, "--missing-code", "-9999", "--range",
		"0:4", "--factors", "1", "--beta", "0.1", "--repeats", "1", "--labels",
	}
	r := wardcast(t, "", append(evaluate, "age=7,sex=F")...)
	for _, w := range []string{`"columns":["Source"]`, `"label":"age"`, `"positive":"7"`, `"other_values":10`} {
		if r.Code != 0 || !strings.Contains(r.Stderr, w) {
			t.Errorf("evaluate exits %d and logs %q, want %q in it", r.Code, r.Stderr, w)
		}
	}
	if strings.Contains(r.Stderr, `"label":"sex"`) {
		t.Errorf("evaluate logs %q of a label of two values", r.Stderr)
	}
	fail(t, cli.ExitUsage, append(evaluate, "sex=F,sex=F"), "twice")
	fail(t, cli.ExitUsage, append(evaluate, "ill", "--methods", "icqf,icqf"), "twice")
	if err := os.WriteFile(book, []byte("item,reverse_coded\nq1,1\nq2,0\nq3,0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	fail(t, cli.ExitFailed, append(evaluate, "ill"), "codebook.csv", "line 1", "reverse_coded", `is it "reverse"`)
}

// Fits print a line for each factor, and factor analysis how well it fits, with "-" for what is not defined.
func TestQuestionnairePrintsFactors(t *testing.T) {
	t.Parallel()
	path := answersFile(t)
	for flags, want := range map[string][]string{
		"--method fa --factors 1": {
			"FACTOR   SS LOADINGS  PROPORTION  RELIABILITY\nfactor1  ", "RMSR   RMSEA  90 %            TLI",
		},
		"--method fa --factors 4": {"0.000  -      -     -    -"}, // more parameters than correlations
		"--factors 2 --beta 0.1":  {"FACTOR   EXPLAINS  RELIABILITY\nfactor1  0."},
		"--factors 2 --beta 0.1 --bootstrap 40": {
			"FACTOR   EXPLAINS  RELIABILITY  CONGRUENCE  FOUND AGAIN\nfactor1  0.",
		},
	} {
		dir := filepath.Join(t.TempDir(), "model")
		args := append([]string{"questionnaire", "fit", path, "--items", "q*", "--missing-code", "-9999", "--out", dir},
			strings.Fields(flags)...)
		printed := succeed(t, "", args...)
		for _, w := range want {
			if !strings.Contains(printed, w) {
				t.Errorf("%s: printed\n%s\nwant %q in it", flags, printed, w)
			}
		}
	}
}
