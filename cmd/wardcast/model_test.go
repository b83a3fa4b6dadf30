package main

import (
	"bytes"
	"encoding/json"
	"maps"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/methods"
)

func TestSynth(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"csv", "jsonl"} {
		first := synthetic(t, "50", format)
		if again := synthetic(t, "50", format); again != first {
			t.Errorf("%s: equal seeds give other notes", format)
		}
		if other := succeed(t, "", "synth", "notes", "-n", "50", "--format", format, "--seed", "2"); other == first {
			t.Errorf("%s: another seed gives the same notes", format)
		}
		if more := synthetic(t, "60", format); !strings.HasPrefix(more, first) {
			t.Errorf("%s: more notes do not begin with the same", format)
		}
		lines := 50
		if format == "csv" {
			lines++
		}
		if got := strings.Count(first, "\n"); got != lines {
			t.Errorf("%s: %d lines, want %d", format, got, lines)
		}
	}
	var n msg.Note
	line, _, _ := strings.Cut(synthetic(t, "1", "jsonl"), "\n")
	if err := msg.DecodeNote([]byte(line), &n); err != nil {
		t.Errorf("a generated line is no note: %v", err)
	}
	clitest.WantFields(t, "a generated note", clitest.Object(t, line), "label", "true_probability")
}

// TestModels goes the way of a model: trained, looked at, used, damaged and refused.
func TestModels(t *testing.T) {
	t.Parallel()
	notes := clitest.File(t, "notes.csv", synthetic(t, "500", "csv"))
	dir := filepath.Join(t.TempDir(), "models")
	made := clitest.Object(t, succeed(t, "", "train", "--input", notes, "--model-dir", dir, "--rank", "3", "--min-df",
		"5", "--n-grams", "1", "--alpha", "0",
		"--min-documents", "50", "--min-events", "10", "--per-complaint", "always", "--aux-columns",
		"age:numeric,sex:categorical", "--output=json"))
	reports, _ := made["models"].([]any)
	if len(reports) < 3 {
		t.Fatalf("train reports %d models, want one for each complaint", len(reports))
	}
	kept := 0
	for _, r := range reports {
		report, _ := r.(map[string]any)
		clitest.WantFields(t, "a report of train", report, "model", "complaint", "documents", "positives", "kept",
			"why", "log_loss", "pooled_log_loss", "metrics")
		if report["kept"] == true {
			kept++
		}
	}

	var list []struct {
		Model     string  `json:"model"`
		Version   string  `json:"version"`
		Champion  bool    `json:"champion"`
		Status    string  `json:"status"`
		Reason    *string `json:"reason"`
		CreatedAt string  `json:"created_at"`
	}
	if err := json.Unmarshal([]byte(succeed(t, "", "models", "list", "--model-dir", dir, "--output=json")),
		&list); err != nil {
		t.Fatal(err)
	}
	champion, version := 0, ""
	for _, v := range list {
		if v.Champion != (v.Status == "champion") || v.Reason == nil || v.Version == "" || v.CreatedAt == "" {
			t.Errorf("models list has an entry %+v that is not whole", v)
		}
		if v.Champion {
			champion++
			if v.Model == "_other" {
				version = v.Version
			}
		}
	}
	if champion != kept || version == "" {
		t.Errorf("%d champions in the list, want the %d models that were kept", champion, kept)
	}
	table := succeed(t, "", "models", "list", "--model-dir", dir)
	if !strings.HasPrefix(table, "MODEL ") || strings.Count(table, "\n") != len(list)+1 {
		t.Errorf("models list prints %q, want a line for each version", table)
	}

	if got := succeed(t, "", "models", "show", "--model-dir", dir, "_other"); !strings.Contains(got, version) ||
		!strings.Contains(got, `"rank"`) || strings.Contains(got, `"surfaces"`) {
		t.Errorf("models show prints %q, want card and manifest of the champion without its concepts", got)
	}
	shown := clitest.Object(t, succeed(t, "", "models", "show", "--model-dir", dir, "_other", version, "--output=json"))
	clitest.WantFields(t, "models show", shown, "version", "sha256", "manifest")
	fail(t, cli.ExitFailed, []string{"models", "show", "--model-dir", dir, "nobody"}, "nobody")
	fail(t, cli.ExitUsage, []string{"models", "show", "--model-dir", dir, "--version", version}, "name of a model")
	fail(t, cli.ExitFailed, []string{"models", "show", "--model-dir", dir, "_other", "2020-01-01T00-00-00Z-000000"},
		"2020-01-01T00-00-00Z-000000")

	if got := succeed(t, "", "models", "verify", "--model-dir", dir); got != "all files match their manifests\n" {
		t.Errorf("models verify prints %q", got)
	}
	if diff := cmp.Diff(map[string]any{"bad": []any{}, "signed": []any{}},
		clitest.Object(t, succeed(t, "", "models", "verify", "--model-dir", dir, "--output=json"))); diff != "" {
		t.Errorf("models verify (-want +got):\n%s", diff)
	}

	prediction := clitest.Object(t, succeed(t, "", "predict", "--model-dir", dir, "--text", "fall, hip pain",
		"--complaint", "Fall"))
	clitest.WantFields(t, "a prediction", prediction, "probability", "logit", "topics", "aux", "model")

	for _, name := range []string{"tensors.safetensors", "vocabulary.json", "manifest.json"} {
		path := filepath.Join(dir, "_other", version, name)
		whole := clitest.Read(t, path)
		damaged := bytes.Clone(whole)
		damaged[len(damaged)/2] ^= 1
		if err := os.WriteFile(path, damaged, 0o600); err != nil {
			t.Fatal(err)
		}
		r := wardcast(t, "", "models", "verify", "--model-dir", dir)
		if r.Code != cli.ExitFailed || !strings.Contains(r.Stdout, name) || !strings.Contains(r.Stdout, version) {
			t.Errorf("models verify of a damaged %s exits %d and prints %q, want 1 and the file", name,
				r.Code, r.Stdout)
		}
		r = wardcast(t, "", "models", "verify", "--model-dir", dir, "--output=json")
		bad, _ := clitest.Object(t, r.Stdout)["bad"].([]any)
		if r.Code != cli.ExitFailed || len(bad) != 1 {
			t.Fatalf("models verify of a damaged %s exits %d with %d bad files, want 1 and one", name, r.Code, len(bad))
		}
		entry, _ := bad[0].(map[string]any)
		if entry["model"] != "_other" || entry["version"] != version || entry["file"] != name || entry["reason"] == "" {
			t.Errorf("models verify of a damaged %s tells %v", name, entry)
		}
		fail(t, cli.ExitFailed, []string{"predict", "--model-dir", dir, "--text", "fall"}, name, version)
		if err := os.WriteFile(path, whole, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	succeed(t, "", "models", "verify", "--model-dir", dir)

	if err := os.WriteFile(filepath.Join(dir, "champion"), []byte("damaged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := wardcast(t, "", "models", "list", "--model-dir", dir)
	if r.Code != cli.ExitFailed || strings.Count(r.Stdout, "\n") != len(list)+1 ||
		!strings.Contains(r.Stderr, "champion") || !strings.Contains(r.Stderr, "holds no name of a generation") {
		t.Errorf("models list of a damaged store exits %d, prints %q and logs %q, want 1, all versions and the damage",
			r.Code, r.Stdout, r.Stderr)
	}
}

// TestMethods goes from notes to a prediction by every method: what the prediction is explained by sums to its logit.
// A second training keeps the numbers of the topics of the first.
func TestMethods(t *testing.T) {
	long(t)
	t.Parallel()
	notes := clitest.File(t, "notes.csv", synthetic(t, "900", "csv"))
	for _, method := range train.Methods() {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			dir := filepath.Join(t.TempDir(), "models")
			args := []string{
				"train", "--input", notes, "--model-dir", dir, "--method", method, "--rank", "3",
				"--per-complaint", "never", "--aux-columns", "age:numeric,sex:categorical",
			}
			if !train.Method(method).Supervised() {
				args = append(args, "--alpha", "0")
			}
			succeed(t, "", args...)
			var p msg.Prediction
			line := succeed(t, "", "predict", "--model-dir", dir, "--text", "78F glf at home, hip pain, unable to wt "+
				"bear", "--complaint", "Fall", "--topics", "0", "--terms", "0", "--words", "0")
			if err := json.Unmarshal([]byte(line), &p); err != nil {
				t.Fatal(err)
			}
			sum := p.Intercept
			for _, topic := range p.Topics {
				for _, term := range topic.Terms {
					sum += term.Contribution
				}
			}
			for _, w := range p.Words {
				sum += w.Contribution
			}
			for _, a := range p.Aux {
				sum += a.Contribution
			}
			if math.Abs(sum-p.Logit) > 1e-9 || p.Model.Method != method || p.Abstained || p.Logit == p.Intercept {
				t.Errorf("the logit is %v, the contributions sum to %v: %s", p.Logit, sum, line)
			}

			reports, _ := clitest.Object(t, succeed(t, "", append(args, "--warm-start", "--force", "--why",
				"the same notes again", "--output=json")...))["models"].([]any)
			alignment, _ := reports[0].(map[string]any)["alignment"].(map[string]any)
			if method == string(train.BagOfWords) {
				if alignment != nil {
					t.Errorf("words alone are aligned: %v", alignment)
				}
				return
			}
			if alignment["kept"] != 3. || alignment["of"] != 3. || alignment["warm_start"] != (method != methods.SVD) {
				t.Errorf("alignment %v", alignment)
			}
			manifest, _ := clitest.Object(t, succeed(t, "", "models", "show", "--model-dir", dir, "_other",
				"--output=json"))["manifest"].(map[string]any)
			if manifest["parent"] != alignment["version"] {
				t.Errorf("parent %v, aligned to %v", manifest["parent"], alignment["version"])
			}
		})
	}
	fail(t, cli.ExitUsage,
		[]string{"train", "--input", notes, "--model-dir", t.TempDir(), "--method", "log-nmf", "--weighting", "tf-idf"},
		"log-nmf", "binary")
	for _, method := range []string{"sonmf", "bow"} {
		fail(t, cli.ExitUsage,
			[]string{"train", "--input", notes, "--model-dir", t.TempDir(), "--method", method, "--l1-scores", "1"},
			"ℓ1 penalties apply only to l1-nmf", method)
	}
	fail(t, cli.ExitUsage, []string{"evaluate", "--input", notes, "--methods", "bow,sonmf", "--l1-topics", "0.1"},
		"--l1-topics", "l1-nmf")
	fail(t, cli.ExitUsage, []string{"evaluate", "--input", notes, "--methods", "sonmf", "--ranks=-3"}, "rank -3")
	fail(t, cli.ExitUsage,
		[]string{"train", "--input", notes, "--model-dir", t.TempDir(), "--method", "l1-nmf", "--l1-topics=-1"}, "-1")
	succeed(t, "", "evaluate", "--input", notes, "--methods", "sonmf,l1-nmf+words", "--ranks", "2", "--folds", "2",
		"--l1-topics", "0.1")
}

// TestMoreThanTwoOutcomes: the log tells of labels that nobody named, but never of what may be a text.
func TestMoreThanTwoOutcomes(t *testing.T) {
	t.Parallel()
	var table, texts strings.Builder
	table.WriteString("text,label\n")
	texts.WriteString("text,label\n")
	for i := range 60 {
		word := []string{"fall", "cough", "hip"}[i%3]
		table.WriteString(word + "," + []string{"1", "0", "left", "0.0"}[i%4] + "\n")
		texts.WriteString(word + "," + []string{"1", "0", "a secret that the patient told"}[i%3] + "\n")
	}
	args := []string{"evaluate", "--methods", "bow", "--folds", "2", "--min-df", "2", "--input"}
	if r := wardcast(t, "", append(args, clitest.File(t, "notes.csv", table.String()))...); r.Code != 0 ||
		!strings.Contains(r.Stderr, "more than two outcomes") ||
		!strings.Contains(r.Stderr, `\"0\" 30, \"1\" 15, \"left\" 15`) {
		t.Errorf("exits %d and logs %s", r.Code, r.Stderr)
	}
	if r := wardcast(t, "", append(args, clitest.File(t, "notes.csv", texts.String()))...); !strings.Contains(r.Stderr,
		"3 different labels") || strings.Contains(r.Stderr, "secret") {
		t.Errorf("exits %d and logs %s", r.Code, r.Stderr)
	}
}

// A store that cannot be written is refused before training.
func TestTrainRefusesStore(t *testing.T) {
	t.Parallel()
	notes := clitest.File(t, "notes.jsonl", synthetic(t, "300", "jsonl"))
	r := wardcast(t, "", "train", "--input", notes, "--model-dir", notes)
	if r.Code != cli.ExitFailed || r.Stderr != "wardcast: opening the model store: "+notes+": not a directory\n" {
		t.Errorf("exits %d and says %s", r.Code, r.Stderr)
	}
}

// TestTrainFlags trains with every flag set to something else than its default.
func TestTrainFlags(t *testing.T) {
	t.Parallel()
	notes := clitest.File(t, "notes.jsonl", synthetic(t, "1200", "jsonl"))
	concepts := clitest.File(t, "concepts.tsv",
		"concept\tsurfaces\tkind\tnote\nphysical_therapy\tpt\ttreatment\there\n")
	dir := filepath.Join(t.TempDir(), "models")
	succeed(t, "", "train", "--input", notes, "--model-dir", dir, "--method", "svd", "--rank", "3", "--words", "none",
		"--weighting", "binary", "--per-complaint", "never",
		"--min-df", "2", "--max-df", ".9", "--max-terms", "200", "--n-grams", "2", "--no-status", "--no-numbers",
		"--no-spelling", "--no-pieces", "--stop-words", "keep", "--concepts", concepts, "--alpha", ".5",
		"--standardize", "--free-aux", "--lambda", "1se",
		"--calibration", "isotonic", "--threshold", "youden", "--seed", "9", "--aux-columns",
		"age:numeric,acuity:numeric=vitals.hr")
	manifest, _ := clitest.Object(t,
		succeed(t, "", "models", "show", "--model-dir", dir, "_other", "--output=json"))["manifest"].(map[string]any)
	part := func(name string, keys ...string) map[string]any {
		all, _ := manifest[name].(map[string]any)
		some := map[string]any{}
		for _, k := range keys {
			some[k] = all[k]
		}
		return some
	}
	for name, want := range map[string]map[string]any{
		"text": {
			"weighting": "binary", "min_df": 2., "max_df": .9, "max_terms": 200., "n_grams": 2.,
			"status": false, "numbers": false, "age": true, "spelling": false, "keep_stop_words": true,
		},
		"head": {
			"method": "svd", "rank": 3., "words": false, "alpha": .5, "standardize": true, "free_aux": true,
			"one_se": true, "threshold": "youden", "per_complaint": "never", "seed": 9.,
		},
		"calibration": {"kind": "isotonic"},
	} {
		if diff := cmp.Diff(want, part(name, slices.Collect(maps.Keys(want))...)); diff != "" {
			t.Errorf("%s of the manifest (-want +got):\n%s", name, diff)
		}
	}
	var aux []any
	for _, a := range manifest["aux"].([]any) {
		aux = append(aux, a.(map[string]any)["name"])
	}
	if diff := cmp.Diff([]any{"age", "vitals.hr", "complaint"}, aux); diff != "" {
		t.Errorf("auxiliary columns (-want +got):\n%s", diff)
	}
}

// TestPredict scores lines, of which some cannot be scored.
func TestPredict(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	const secret = "zzsecretname"
	good := `{"schema_version":"1","visit_id":"v1","text":"fall, hip pain, chest pain, cough ` + secret + `"}`
	r := wardcast(t, strings.Join(
		[]string{good, "", `{"text":"` + secret + `"`, good, `{"visit_id":"v2","schema_version":"1","text":""}`}, "\n"),
		"predict", "--model-dir", dir)
	lines := strings.Split(strings.TrimSpace(r.Stdout), "\n")
	if r.Code != cli.ExitFailed || len(lines) != 4 {
		t.Fatalf("predict exits %d with %d lines, want 1 and 4: %s", r.Code, len(lines), r.Stderr)
	}
	for i, want := range map[int]string{
		1: `{"line":3,"error":{"code":"not_json"`, 3: `{"line":5,"error":{"code":"empty_text"`,
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %s", i+1, lines[i], want)
		}
	}
	for _, i := range []int{0, 2} {
		if clitest.Object(t, lines[i])["visit_id"] != "v1" {
			t.Errorf("line %d is %q, want a prediction", i+1, lines[i])
		}
	}
	if strings.Contains(r.Stderr, secret) || strings.Contains(r.Stderr, "v1") {
		t.Errorf("the log tells of a patient: %s", r.Stderr)
	}
	all := clitest.Object(t, succeed(t, good, "predict", "--model-dir", dir, "--topics", "0", "--terms", "0",
		"--words", "0"))
	few := clitest.Object(t, succeed(t, good, "predict", "--model-dir", dir, "--topics", "1", "--terms", "1",
		"--words", "1"))
	if a, f := all["topics"].([]any), few["topics"].([]any); len(f) >= len(a) || len(f) > 2 {
		t.Errorf("%d topics of %d are told under --topics 1, want one and the rest", len(f), len(a))
	}
	if all["logit"] != few["logit"] {
		t.Errorf("the logit is %v or %v, by what is told of it", all["logit"], few["logit"])
	}
	if got := succeed(t, "", "predict", "--model-dir", dir); got != "" {
		t.Errorf("no lines give %q", got)
	}
	fail(t, cli.ExitFailed, []string{"predict", "--model-dir", t.TempDir()}, "no champion")
}

// TestTableErrors holds what train and evaluate say of bad tables against what they must name.
func TestTableErrors(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		file, text string
		args       []string
		want       []string
		code       int
	}{
		"no such column": {
			"a.csv", "text,label\nfall,1\n",
			[]string{"--text-column", "note"},
			[]string{"a.csv", `"note"`},
			cli.ExitFailed,
		},
		"no such aux": {
			"a.csv", "text,label\nfall,1\n",
			[]string{"--aux-columns", "age:numeric"},
			[]string{"a.csv", `"age"`},
			cli.ExitFailed,
		},
		"not a number": {"a.csv", "text,label,age\nfall,1,4\nhip,0," +
			"old\n", []string{"--aux-columns", "age:numeric"}, []string{"a.csv", "line 3", `"age"`}, cli.ExitFailed},
		"number in lines": {
			"a.jsonl", `{"text":"fall","label":1,"age":4}` + "\n" + `{"text":"hip","label":0,"age":"old"}` +
				"\n", []string{"--aux-columns", "age:numeric"}, []string{"a.jsonl", "line 2", `"age"`}, cli.ExitFailed,
		},
		"one class": {
			"a.csv", "text,label\nfall,1\nhip,1\n", nil, []string{"a.csv", `"label"`, "one class"}, cli.ExitFailed,
		},
		"positive label": {
			"a.csv", "text,label\nfall,yes\nhip,no\n", nil, []string{"a.csv", `"label"`}, cli.ExitFailed,
		},
		"no vocabulary": {"a.csv", "text,label\n" + strings.Repeat("the,1\nof,0\n",
			20), []string{"--min-df", "2"}, []string{"vocabulary"}, cli.ExitFailed},
		"broken line": {
			"a.jsonl", `{"text":"fall","label":1}` + "\n{\n", nil, []string{"a.jsonl", "line 2"}, cli.ExitFailed,
		},
		"empty": {"a.csv", "", nil, []string{"a.csv"}, cli.ExitFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := clitest.File(t, c.file, c.text)
			fail(t, c.code,
				append([]string{"train", "--input", path, "--model-dir", filepath.Join(t.TempDir(), "models")},
					c.args...), c.want...)
			fail(t, c.code, append([]string{"evaluate", "--input", path}, c.args...), c.want...)
		})
	}
	fail(t, cli.ExitUsage, []string{
		"train", "--input", "a.csv", "--model-dir", filepath.Join(t.TempDir(), "models"), "--aux-columns", "age:roman",
	}, "age", "roman")
	fail(t, cli.ExitUsage,
		[]string{"train", "--input", "nowhere.csv", "--model-dir", filepath.Join(t.TempDir(), "models")}, "nowhere.csv")
	notes := clitest.File(t, "notes.csv", "text,label\nfall,1\nhip,0\n")
	fail(t, cli.ExitFailed, []string{"train", "--input", notes, "--model-dir", filepath.Dir(notes)},
		"no model store: not empty")
}

func TestEvaluate(t *testing.T) {
	t.Parallel()
	notes := clitest.File(t, "notes.csv", synthetic(t, "300", "csv"))
	args := []string{
		"evaluate", "--input", notes, "--methods", "majority,bow,sonmf", "--ranks", "2,3", "--folds", "2",
		"--min-df", "3", "--n-grams", "1",
	}
	table := succeed(t, "", args...)
	if !strings.HasPrefix(table, "COMPLAINT ") || strings.Count(table, "\n") != 1+4 {
		t.Errorf("evaluate prints %q, want a line for majority, bow and each rank", table)
	}
	all := strings.Join(methods.Names(), ",")
	every, _ := clitest.Object(t, succeed(t, "", "evaluate", "--input", notes, "--methods", all+",majority,bow",
		"--ranks", "2", "--folds", "2", "--min-df", "10", "--n-grams", "1", "--output=json"))["scores"].([]any)
	if len(every) != len(methods.Names())+2 {
		t.Fatalf("evaluate gives %d scores, want one for each method", len(every))
	}
	for _, s := range every {
		score, _ := s.(map[string]any)
		clitest.WantFields(t, "a score", score, "complaint", "name", "rank", "notes", "positives", "accuracy", "auroc",
			"auroc_95", "auprc", "brier", "log_loss", "calibration_intercept", "calibration_slope")
	}
	for i, name := range methods.Names() {
		score, _ := every[i].(map[string]any)
		weighting := "tf-idf"
		if methods.Domain(name) == solver.Binary {
			weighting = "binary"
		}
		if score["name"] != name || score["weighting"] != weighting || score["auroc"].(float64) < .5 {
			t.Errorf("%s: %v", name, score)
		}
	}
	for name, split := range map[string][]string{
		"test file": {"--test", clitest.File(t, "test.csv",
			succeed(t, "", "synth", "notes", "-n", "100", "--seed", "2", "--format", "csv"))},
		"share": {"--split-time", "67%"},
		"time":  {"--split-time", "2026-01-02T09:00:00Z"},
	} {
		got, _ := clitest.Object(t, succeed(t, "", append([]string{
			"evaluate", "--input", notes, "--methods", "bow", "--min-df", "3", "--n-grams", "1", "--output=json",
		}, split...)...))["scores"].([]any)
		score, _ := got[0].(map[string]any)
		if n, _ := score["notes"].(float64); n < 50 || n > 150 {
			t.Errorf("%s: %v notes tested, want about 100", name, n)
		}
	}
	perComplaint, _ := clitest.Object(t, succeed(t, "", "evaluate", "--input", notes, "--methods", "bow", "--folds",
		"2", "--min-df", "3", "--n-grams", "1", "--per-complaint=always", "--min-documents", "30",
		"--output=json"))["scores"].([]any)
	if len(perComplaint) < 2 {
		t.Errorf("%d scores under --per-complaint, want some beside that of all complaints", len(perComplaint))
	}
	for name, c := range map[string]struct {
		args []string
		want string
		code int
	}{
		"both splits":   {[]string{"--test", notes, "--split-time", "80%"}, "--split-time", cli.ExitUsage},
		"no percentage": {[]string{"--split-time", "many%"}, "many%", cli.ExitUsage},
		"no time":       {[]string{"--split-time", "tomorrow"}, "tomorrow", cli.ExitUsage},
		"all before": {
			[]string{"--split-time", "2030-01-01T00:00:00Z"},
			"no notes to train on, or no notes to test on", cli.ExitUsage,
		},
		"unknown method": {[]string{"--methods", "oracle"}, "oracle", cli.ExitUsage},
		"tf-idf for 0/1": {
			[]string{"--methods", "bow,sonmf-binary", "--weightings", "tf-idf"}, "sonmf-binary", cli.ExitUsage,
		},
		"no folds":   {[]string{"--folds", "1"}, "--folds 1", cli.ExitUsage},
		"many folds": {[]string{"--folds", "1000"}, "--folds 1000", cli.ExitUsage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, c.code, append([]string{"evaluate", "--input", notes}, c.args...), c.want)
		})
	}
}
