package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// TestLogLevel gives the level in each way.
func TestLogLevel(t *testing.T) {
	config := clitest.File(t, "wardcast.yaml", "")
	for _, c := range []struct {
		args        []string
		environment string
		want        bool
	}{
		{[]string{"serve", "--config", config}, "", false},
		{[]string{"serve", "--config", config, "--log-level", "info"}, "", true},
		{[]string{"--log-level=debug", "serve", "--config", config}, "", true},
		{[]string{"serve", "--config", config}, "warn", true},
	} {
		t.Setenv("WARDCAST_LOG_LEVEL", c.environment)
		if c.environment == "" {
			if err := os.Unsetenv("WARDCAST_LOG_LEVEL"); err != nil {
				t.Fatal(err)
			}
		}
		parser, _ := newParser(t)
		command, err := parser.Parse(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if got := logLevelGiven(command); got != c.want {
			t.Errorf("%q with %q in the environment: given is %t, want %t", c.args, c.environment, got, c.want)
		}
	}
}

// TestLostChampion takes away what says which generation is in use.
func TestLostChampion(t *testing.T) {
	t.Parallel()
	dir, _, names := twoGenerations(t)
	succeed(t, "", "models", "promote", "--model-dir", dir)
	if err := os.Remove(filepath.Join(dir, "champion")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "list"} {
		if r := wardcast(t, "", "models", command, "--model-dir", dir); r.Code != cli.ExitFailed ||
			!strings.Contains(r.Stdout+r.Stderr, "though the history ends with") {
			t.Errorf("models %s exits %d and prints %q and %q, want 1 and the file", command, r.Code,
				r.Stdout, r.Stderr)
		}
	}
	fail(t, cli.ExitFailed, []string{"predict", "--model-dir", dir, "--text", "fall"}, `file "champion"`)
	fail(t, cli.ExitFailed, []string{"models", "promote", "--model-dir", dir}, "disagree", "--mend")
	back := []string{"models", "promote", names[len(names)-1], "--model-dir", dir, "--why", "from the backup"}
	fail(t, cli.ExitFailed, back, "disagree", "--mend")
	succeed(t, "", append(back, "--mend")...)
	succeed(t, "", "models", "verify", "--model-dir", dir)
}
