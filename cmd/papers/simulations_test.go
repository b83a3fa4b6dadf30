package main

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

func TestReproduceSimulations(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{
		"sonmf-simulations", "--trials", "1", "--study-trials", "1", "--size", "32", "--ranks", "2,4",
		"--updates", "20",
	}
	if got := succeed(t, "", append(args, "--parts", "table-3,initialization", "--out", dir)...); !strings.HasPrefix(
		got, "Table 3: scenario (3)\nMETHOD ") || !strings.Contains(got, "\n\nSection 8.2: ") {
		t.Errorf("tables %q", got)
	}
	for _, name := range []string{"results.json", "tables.csv", "curves.csv", "figure-3.svg", "figure-5.svg"} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	if got := succeed(t, "", append(args, "--parts", "table-3", "--output", "markdown")...); !strings.HasPrefix(got,
		"**Table 3: scenario (3)**\n\n| method |") {
		t.Errorf("Markdown %q", got)
	}
	got := clitest.Object(t,
		succeed(t, "", append(args, "--parts", "rank-deficient", "--threads", "1", "--output=json")...))
	clitest.WantFields(t, "simulations", got, "settings", "tables", "figures")

	for flag, want := range map[string]string{
		"--trials=0": "0 and 1 trials", "--updates=0": "0 updates",
		"--size=0": "0×0", "--study-trials=0": "1 and 0 trials", "--parts=": "0 parts", "--parts=table-9": "table-9",
		"--ranks=33": "33] of matrices", "--updates=-1": "-1 updates", "--threads=-1": "-1 threads",
	} {
		fail(t, cli.ExitUsage, append(args, flag), want)
	}
	fail(t, cli.ExitFailed, append(args, "--parts", "table-3", "--out", clitest.File(t, "taken", "")), "taken")
}

func TestReproduceTriage(t *testing.T) {
	t.Parallel()
	notes := synthetic(t)
	cells := filepath.Join(t.TempDir(), "cells.jsonl")
	args := []string{
		"triage-tables", "--input", notes, "--methods", "sonmf", "--ranks", "3", "--runs", "2", "--folds",
		"2", "--out", cells,
	}
	first := clitest.Object(t, succeed(t, "", append(args, "--output=json")...))
	clitest.WantFields(t, "triage tables", first, "settings", "cells")
	again := clitest.Object(t, succeed(t, "", append(args, "--output=json")...))
	if d := cmp.Diff(first, again); d != "" { // seconds too
		t.Errorf("a second run computed anew: %s", d)
	}
	if got := succeed(t, "", append(args, "--output", "markdown")...); strings.Count(got, "\n| all notes |") != 1 ||
		!strings.Contains(got, "\n| sonmf | 3 |") {
		t.Errorf("Markdown %q", got)
	}
	var line struct{ Complaint string }
	own := succeed(t, "", "triage-tables", "--input", notes, "--methods", "sonmf", "--ranks", "3", "--runs", "1",
		"--folds", "2", "--per-complaint", "always", "--min-documents", "30", "--output=json")
	if list, _ := clitest.Object(t, own)["cells"].([]any); len(list) < 3 {
		t.Errorf("%d cells of several complaints", len(list))
	} else if data, err := json.Marshal(list[0]); err != nil || json.Unmarshal(data, &line) != nil ||
		line.Complaint == "" {
		t.Errorf("a cell without its complaint: %s, %v", data, err)
	}

	for flag, want := range map[string]string{
		"--seed=2": "cells.jsonl", "--runs=0": "0 runs", "--folds=1": "of 1 folds", "--ranks=0": "rank 0",
		"--methods=bow": "bow", "--methods=lda": "lda", "--aux-columns=age:numeric": "--aux-columns",
	} {
		fail(t, cli.ExitUsage, append(args, flag), want)
	}
	fail(t, cli.ExitUsage, append(args, "--per-complaint=always", "--min-documents=500"), "--min-documents")
	fail(t, cli.ExitUsage, append(args, "--label-column=complaint", "--positive-label=Chest Pain",
		"--complaint-column=visit_id"), "cells.jsonl", "Chest Pain", "more than two outcomes")
	fail(t, cli.ExitFailed, append(args, "--text-column=prose"), "prose")
}

func TestReproduceConvergence(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "out")
	args := []string{"smf-convergence", "--documents", "60", "--terms", "40", "--iterations", "5", "--out", dir}
	twice := slices.Concat(args, []string{"--xi", "1,10"})
	first := clitest.Object(t, succeed(t, "", append(twice, "--output=json")...))
	clitest.WantFields(t, "convergence", first, "settings", "xi", "rows")
	if rows, _ := first["rows"].([]any); len(rows) != 2*2*5 {
		t.Errorf("%d rows without digits", len(rows))
	}
	// seconds too
	if d := cmp.Diff(first, clitest.Object(t, succeed(t, "", append(twice, "--output=json")...))); d != "" {
		t.Errorf("a second run made its runs anew: %s", d)
	}
	for _, name := range []string{
		"results.json", "summary.csv", "iterations.csv", "runs.jsonl", "jobs-iterations.svg", "jobs-seconds.svg",
	} {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			t.Error(err)
		}
	}
	all := clitest.Object(t, succeed(t, "", "smf-convergence", "--documents", "30", "--terms", "30", "--iterations",
		"1", "--xi", "1", "--threads", "0", "--output=json"))
	if settings, _ := all["settings"].(map[string]any); settings["threads"] == 0. {
		t.Errorf("one thread for each processor is reported as %v", settings["threads"])
	}
	if got := succeed(t, "", append(twice, "--output", "markdown")...); !strings.HasPrefix(got,
		"**jobs, smf-w**\n\n| xi | algorithm |") || !strings.Contains(got, "**jobs, smf-h**") {
		t.Errorf("Markdown %q", got)
	}

	for flag, want := range map[string]string{
		"--iterations=0": "0 updates", "--xi=1,-1": "ξ = -1", "--xi=": "no ξ", "--documents=0": "0 job postings",
		"--terms=3": "3 terms", "--start=kmeans": "--start", "--seed=2": "runs.jsonl", "--start=svd": "runs.jsonl",
		"--mnist-labels=" + clitest.File(t, "labels", ""): "--mnist-images",
	} {
		fail(t, cli.ExitUsage, append(args, flag), want)
	}
	images := clitest.File(t, "images-idx3-ubyte", "\x00\x00\x08\x03\x00\x00")
	fail(t, cli.ExitFailed, append(args, "--mnist-images", images, "--mnist-labels", images), images, "and 3 sizes")
}

// synthetic returns a file of generated notes.
func synthetic(t *testing.T) string {
	t.Helper()
	g, err := synth.New(synth.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	var notes bytes.Buffer
	if err := synth.WriteCSV(t.Context(), &notes, g, 400); err != nil {
		t.Fatal(err)
	}
	return clitest.File(t, "notes.csv", notes.String())
}
