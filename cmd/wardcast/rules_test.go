package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models/retrain"
)

// ruled returns a configuration with a section retrain and a site's file next to it.
func ruled(t *testing.T, section string) string {
	t.Helper()
	path := clitest.File(t, "wardcast.yaml",
		"kafka: {brokers: [127.0.0.1:9092]}\nretrain: {site: site.yaml, "+section+"}\n")
	if err := os.WriteFile(filepath.Join(filepath.Dir(path), "site.yaml"),
		[]byte("owner: Head of emergency medicine\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestRetrainRules: the configuration says how to retrain, unless a flag does.
func TestRetrainRules(t *testing.T) {
	t.Parallel()
	path := ruled(t,
		"window_days: 90, judged: 0.5, admission: [admitted, died], rank: 7, min_documents: 300, min_events: 60")
	rules := func(c *retrainCmd) *retrain.Job {
		t.Helper()
		cfg, err := config.Load(path)
		if err != nil {
			t.Fatal(err)
		}
		job := &retrain.Job{}
		if err := c.rules(job, &cfg.Retrain); err != nil {
			t.Fatal(err)
		}
		return job
	}
	job := rules(&retrainCmd{AuxColumns: "age:numeric"})
	if s, f := job.Settings, job.Fit; s.Window != 90*24*time.Hour || s.Judged != 0.5 ||
		!slices.Equal(s.Admission, []msg.Disposition{msg.Admitted, msg.Died}) ||
		!f.WarmStart || f.Rank != 7 || f.MinDocuments != 300 || f.MinEvents != 60 || len(s.Aux) != 1 ||
		job.Site.Owner != "Head of emergency medicine" {
		t.Errorf("from the file: %+v, %+v, site %+v", s, f, job.Site)
	}
	days, rank, documents, events := 30, 5, 200, 20
	other := clitest.File(t, "other.yaml", "owner: Chief physician\n")
	job = rules(&retrainCmd{
		WindowDays: &days, Rank: &rank, MinDocuments: &documents, MinEvents: &events,
		AuxColumns: "age:numeric", gateFlags: gateFlags{Site: other},
	})
	if s, f := job.Settings, job.Fit; s.Window != 30*24*time.Hour || f.Rank != 5 || f.MinDocuments != 200 ||
		f.MinEvents != 20 || s.Judged != 0.5 || job.Site.Owner != "Chief physician" {
		t.Errorf("from flags: %+v, %+v, site %+v", s, f, job.Site)
	}
}

// trainFast is a command line that trains in a moment: two topics and the patient's data, without words.
func trainFast(notes, dir string) []string {
	return []string{
		"train", "--input", notes, "--model-dir", dir, "--rank", "2", "--alpha", "0", "--n-grams", "1", "--words",
		"none", "--no-pieces", "--concepts", "none", "--per-complaint", "never",
	}
}

// TestTrainByTheConfiguredRule: a rule that no training passes refuses a model that the default rule would serve.
func TestTrainByTheConfiguredRule(t *testing.T) {
	t.Parallel()
	notes, dir := clitest.File(t, "notes.csv", synthetic(t, "500", "csv")), filepath.Join(t.TempDir(), "models")
	flags := append(trainFast(notes, dir), "--config")
	if got := succeed(t, "", append(flags, ruled(t, ""))...); !strings.HasPrefix(got, "MODEL ") ||
		!strings.Contains(got, "\n_other ") {
		t.Errorf("train prints %q, want a table with the model of all complaints", got)
	}
	if card := succeed(t, "", "models", "card", "--model-dir", dir); !strings.Contains(card,
		"Head of emergency medicine") {
		t.Error("the card does not name the owner")
	}
	r := wardcast(t, "", append(flags, ruled(t, "gate: {margin: -1000, recalibration_gain: 1000}"))...)
	if r.Code != cli.ExitRefused || !strings.Contains(r.Stderr, "the margin of -1000 standard errors") {
		t.Errorf("exits %d: %s", r.Code, r.Stderr)
	}
	fail(t, cli.ExitFailed, append(flags, ruled(t, "gate: {error: 2}")), "retrain.gate", "error 2")
}

// TestRetrainMetrics: the file tells of a night that succeeds, and of one that fails.
func TestRetrainMetrics(t *testing.T) {
	t.Parallel()
	flags, file := past(t, pastNotes), filepath.Join(t.TempDir(), "wardcast.prom")
	run := append([]string{"retrain", "--metrics-file", file, "--model-dir", filepath.Join(t.TempDir(), "models")},
		flags...)
	contains := func(want ...string) {
		t.Helper()
		got, err := os.ReadFile(file) //nolint:gosec // the test's own
		if err != nil {
			t.Fatal(err)
		}
		for _, w := range want {
			if !strings.Contains(string(got), w) {
				t.Errorf("no %q in\n%s", w, got)
			}
		}
	}
	succeed(t, "", run...)
	contains("wardcast_retrain_failed 0\n", `wardcast_retrain_decision{decision="promote"} 1`,
		"wardcast_retrain_success_timestamp_seconds ", `wardcast_retrain_log_loss{of="challenger"} 0.`)
	if err := os.WriteFile(flags[1], nil, 0o600); err != nil {
		t.Fatal(err)
	}
	fail(t, cli.ExitFailed, run, "wardcast: ")
	contains("wardcast_retrain_failed 1\n", "wardcast_retrain_success_timestamp_seconds ")
}

// TestRetrainFilesByConfig: files take the place of the topics of the configuration, whose brokers are not asked.
func TestRetrainFilesByConfig(t *testing.T) {
	t.Parallel()
	run := append([]string{"retrain", "--config", ruled(t, "rank: 5")}, past(t, 10)...)
	fail(t, cli.ExitFailed, run, "too few notes", "from notes.jsonl, outcomes.jsonl")
}

func TestRetrainRefusesFlags(t *testing.T) {
	t.Parallel()
	run := append([]string{"retrain", "--model-dir", t.TempDir()}, past(t, 10)...)
	fail(t, cli.ExitUsage, append(slices.Clip(run), "--window-days", "0"), "--window-days: 0 is less than 1")
	fail(t, cli.ExitUsage, append(slices.Clip(run), "--min-events", "3"), "--min-events: ", "min events 3")
	fail(t, cli.ExitUsage, append(slices.Clip(run), "--metrics-file", filepath.Join(t.TempDir(), "wardcast.txt")),
		"--metrics-file", ".prom")
	fail(t, cli.ExitUsage, append(slices.Clip(run), "--metrics-file",
		filepath.Join(t.TempDir(), "none", "wardcast.prom")), "--metrics-file", "none")
}

// TestTrainOnFewAdmissions: no generation of fewer than --min-events admissions is served, not even the first, unless
// it is forced, and then the log and the history tell it.
func TestTrainOnFewAdmissions(t *testing.T) {
	t.Parallel()
	notes, dir := clitest.File(t, "notes.csv", synthetic(t, "500", "csv")), filepath.Join(t.TempDir(), "models")
	run := append(trainFast(notes, dir), "--min-events", "400")
	r := wardcast(t, "", run...)
	if r.Code != cli.ExitRefused || !strings.Contains(r.Stderr, "needs at least 400 of each") {
		t.Errorf("exits %d: %s", r.Code, r.Stderr)
	}
	r = wardcast(t, "", append(run, "--force", "--why", "a trial")...)
	if r.Code != 0 || !strings.Contains(r.Stderr,
		`level=WARN msg="the new models are served by --force although the gate did not let them through"`) &&
		!strings.Contains(r.Stderr, `"level":"WARN","msg":"the new models are served by --force`) {
		t.Errorf("exits %d: %s", r.Code, r.Stderr)
	}
	if out := succeed(t, "", "models", "history", "--model-dir", dir, "--output", "json"); !strings.Contains(out,
		"a trial (served by --force, the gate said refuse: too few notes: ") {
		t.Errorf("history: %s", out)
	}
}

// TestTrainOnLeakedOutcomes: text that was written after triage is served, but not without a word.
func TestTrainOnLeakedOutcomes(t *testing.T) {
	t.Parallel()
	lines := strings.Split(strings.TrimSpace(synthetic(t, "500", "jsonl")), "\n")
	for i, line := range lines {
		var note map[string]any
		if err := json.Unmarshal([]byte(line), &note); err != nil {
			t.Fatal(err)
		}
		if admitted, _ := note["label"].(float64); admitted == 1 {
			note["text"] = note["text"].(string) + ", admit to ward 7" //nolint:forcetypeassert // a test
		}
		b, err := json.Marshal(note)
		if err != nil {
			t.Fatal(err)
		}
		lines[i] = string(b)
	}
	notes, dir := clitest.File(t, "notes.jsonl", strings.Join(lines, "\n")), filepath.Join(t.TempDir(), "models")
	r := wardcast(t, "", append(trainFast(notes, dir), "--words", "beside")...)
	if r.Code != 0 || !strings.Contains(r.Stderr, "too good to be true") {
		t.Errorf("exits %d: %s", r.Code, r.Stderr)
	}
	card := succeed(t, "", "models", "card", "--model-dir", dir)
	if !strings.Contains(card, "- The AUROC is above 0.95, too good to be true") || !strings.Contains(card, `"ward"`) {
		t.Error(card[:min(2500, len(card))])
	}
}
