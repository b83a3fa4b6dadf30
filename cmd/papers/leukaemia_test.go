package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

func TestReproduceLeukaemia(t *testing.T) {
	t.Parallel()
	var expressions, phenotypes strings.Builder
	expressions.WriteString("gene")
	phenotypes.WriteString("sample,kind\n")
	for i := range 24 {
		fmt.Fprintf(&expressions, ",s%d", i)
		fmt.Fprintf(&phenotypes, "s%d,%c\n", 23-i, "AB"[i%2])
	}
	for gene := range 6 {
		fmt.Fprintf(&expressions, "\ng%d", gene)
		for i := range 24 {
			fmt.Fprintf(&expressions, ",%d", (7*i+5*gene*i)%11+i%2*20*(1-gene%2))
		}
	}
	expressions.WriteString("\n")
	x, y, out := clitest.File(t, "x.csv", expressions.String()), clitest.File(t, "y.csv", phenotypes.String()),
		filepath.Join(t.TempDir(), "out")
	args := []string{
		"smf-leukaemia", "--expressions", x, "--phenotypes", y, "--label-column", "kind",
		"--positive-label", "B", "--ranks", "1,2", "--folds", "2", "--splits", "2", "--genes", "3", "--out", out,
	}
	first := clitest.Object(t, succeed(t, "", append(args, "--output=json")...))
	clitest.WantFields(t, "leukaemia", first, "settings", "samples", "genes", "outcomes", "cells",
		"summaries", "supervised")
	// seconds too
	if again := clitest.Object(t, succeed(t, "", append(args, "--output=json")...)); cmp.Diff(first, again) != "" {
		t.Errorf("a second run computed anew: %s", cmp.Diff(first, again))
	}
	for _, name := range []string{
		"results.json", "splits.csv", "genes.csv", "genes-smf-w.svg", "genes-smf-h.svg", "cells.jsonl",
	} {
		if _, err := os.Stat(filepath.Join(out, name)); err != nil {
			t.Error(err)
		}
	}
	if got := succeed(t, "", append(args, "--output=markdown")...); !strings.HasPrefix(got, "**12 A, 12 B**\n") ||
		!strings.Contains(got, "\n| smf-h | 2 |") || !strings.Contains(got, "**Genes of smf-w") {
		t.Errorf("Markdown %q", got)
	}
	for flag, want := range map[string]string{
		"--seed=2": "cells.jsonl", "--splits=0": "0 splits",
		"--folds=1": "1 folds", "--ranks=7": "1 2 7", "--genes=0": "0 genes",
	} {
		fail(t, cli.ExitUsage, append(args, flag), want)
	}
	fail(t, cli.ExitFailed, append(args, "--label-column=class"), "y.csv", "line 1", `no column "class"`)
	fail(t, cli.ExitFailed, append(args, "--positive-label=C"), "y.csv", `"C"`)
	bad := clitest.File(t, "bad.csv", strings.Replace(expressions.String(), "\ng1,", "\ng1,secret", 1))
	fail(t, cli.ExitFailed, []string{"smf-leukaemia", "--expressions", bad, "--phenotypes", y}, "bad.csv",
		`line 3, column "2"`)
	fail(t, cli.ExitFailed, append(args, "--out", clitest.File(t, "taken", "")), "taken")
}
