package main

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
)

// TestProgress draws bars of a known and of an unknown total.
func TestProgress(t *testing.T) {
	t.Parallel()
	var known, unknown written // a bar is drawn again and again
	var lines bytes.Buffer
	newBar(&known, "versions").set(3, 4)
	if got := known.text(); !strings.Contains(got, "versions") || !strings.Contains(got, "3/4") {
		t.Errorf("3 of 4 versions are drawn as %q", got)
	}
	bar := newBar(&unknown, "predictions")
	c := &lineCounter{Writer: &lines, bar: bar}
	const text = "one\ntwo\n" // more lines than a bar is wide
	for range 50 {
		if _, err := io.WriteString(c, text); err != nil {
			t.Fatal(err)
		}
	}
	if got := unknown.text(); !strings.Contains(got, "predictions (100/-)") || lines.String() != strings.Repeat(text, 50) {
		t.Errorf("100 lines are drawn as %q", got)
	}
	(&progress{}).set(1, 2) // nothing to draw on
}

// TestLogLevel gives the level in each way.
func TestLogLevel(t *testing.T) {
	config := file(t, "wardcast.yaml", "")
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
		parser, err := kong.New(&cli{}, defaults())
		if err != nil {
			t.Fatal(err)
		}
		command, err := parser.Parse(c.args)
		if err != nil {
			t.Fatal(err)
		}
		if got := logLevelGiven(command); got != c.want {
			t.Errorf("%q with %q in the environment: given is %t, want %t", c.args, c.environment, got, c.want)
		}
	}
}

// TestLostChampion takes away what says which version of the model of all complaints is in use.
func TestLostChampion(t *testing.T) {
	t.Parallel()
	dir := trained(t)
	if err := os.Remove(filepath.Join(dir, "_other", "champion")); err != nil {
		t.Fatal(err)
	}
	for _, command := range []string{"verify", "list"} {
		if r := wardcast(t, "", "models", command, "--model-dir", dir); r.code != exitFailed || !strings.Contains(r.stdout, "_other") || !strings.Contains(r.stdout, "the history tells of a champion") {
			t.Errorf("models %s exits %d and prints %q, want 1 and the file", command, r.code, r.stdout)
		}
	}
	fail(t, exitFailed, []string{"predict", "--model-dir", dir, "--text", "fall"}, "_other", "champion")
}
