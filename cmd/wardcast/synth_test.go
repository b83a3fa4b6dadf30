package main

import (
	"path/filepath"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

func TestSynthMatrix(t *testing.T) {
	t.Parallel()
	matrix := clitest.File(t, "x.mtx", succeed(t, "", "synth", "matrix", "--documents", "60", "--terms", "40",
		"--topics", "3"))
	got := clitest.Object(t, succeed(t, "", "factorize", "--input", matrix, "--rank", "3", "--out",
		filepath.Join(t.TempDir(), "f"), "--output=json"))
	settings, _ := got["settings"].(map[string]any)
	if settings["documents"] != 60.0 || settings["terms"] != 40.0 {
		t.Errorf("a matrix of %v×%v", settings["documents"], settings["terms"])
	}
	fail(t, cli.ExitUsage, []string{"synth", "matrix", "--documents", "0"}, "--documents")
}
