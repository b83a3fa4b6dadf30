package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

func TestReproduceICQF(t *testing.T) {
	t.Parallel()
	out := filepath.Join(t.TempDir(), "out")
	args := []string{
		"icqf-table1", "--runs", "1", "--noise", "0.1", "--factors", "9:11", "--methods", "icqf", "--out", out,
	}
	first := clitest.Object(t, succeed(t, "", append(args, "--output=json")...))
	clitest.WantFields(t, "questionnaires", first, "settings", "drawn", "true_factors", "summaries", "cells")
	// seconds too
	if again := clitest.Object(t, succeed(t, "", append(args, "--output=json")...)); cmp.Diff(first, again) != "" {
		t.Errorf("a second run computed anew: %s", cmp.Diff(first, again))
	}
	for _, name := range []string{"results.json", "table1.csv", "factors.csv", "cells.jsonl"} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	if got := succeed(t, "", append(args, "--output=markdown")...); !strings.HasPrefix(got, "**Table 1: ") ||
		!strings.Contains(got, "\n| icqf | bcv | 0.1 | 1 | 0.00 (0.00) | 0.10 (0.06) | 0.50 (0.10) |") {
		t.Errorf("Markdown %q", got)
	}
	for flag, want := range map[string]string{
		"--seed=2": "cells.jsonl", "--runs=0": "0 questionnaires", "--noise=0": "noise 0", "--factors=0:3": "--factors",
		"--factors=101": "101 factors", "--methods=pca": "pca",
	} {
		fail(t, cli.ExitUsage, append(args, flag), want)
	}
	fail(t, cli.ExitUsage, []string{"icqf-table1", "--methods="}, "0 methods")
	fail(t, cli.ExitUsage, append(args, "--sets", filepath.Join(out, "none")), "none")
	fail(t, cli.ExitUsage, append(args, "--sets", out), "dN_S_M.csv")
	fail(t, cli.ExitFailed, append(args, "--out", clitest.File(t, "taken", "")), "taken")
}
