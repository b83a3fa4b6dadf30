package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models"
)

// past writes so many notes and their outcomes, and returns the flags for them.
func past(t *testing.T, notes int) []string {
	t.Helper()
	outcomes := filepath.Join(t.TempDir(), "outcomes.jsonl")
	text := succeed(t, "", "synth", "notes", "--count", strconv.Itoa(notes), "--outcomes", outcomes)
	return []string{"--notes", clitest.File(t, "notes.jsonl", text), "--outcomes", outcomes}
}

// pastNotes is how many notes are enough to be trained and judged on in a moment.
const pastNotes = 1200

// TestSchedule retrains every second: a night that fails does not end the schedule, and its end is no error.
func TestSchedule(t *testing.T) {
	t.Parallel()
	flags, dir := past(t, pastNotes), filepath.Join(t.TempDir(), "models")
	notes := flags[1]
	text, err := os.ReadFile(notes)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(notes, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	p := launch(t,
		append([]string{"retrain", "--schedule", "@every 1s", "--time-zone", "Europe/Berlin", "--model-dir", dir},
			flags...)...)
	p.says(`"msg":"this run failed; waiting for the next one"`)
	if err := os.WriteFile(notes, text, 0o600); err != nil {
		t.Fatal(err)
	}
	p.says(`(?s)"msg":"the new models are served".*"msg":"waiting"`)
	p.stop()
	s := models.OpenDir(dir)
	if found, err := s.Verify(t.Context(), nil); err != nil || len(found) > 0 {
		t.Errorf("verify found %v, %v", found, err)
	}
	if g := served(t, s); !strings.Contains(p.String(), g) {
		t.Errorf("served is %s, the log does not tell of it", g)
	}
}

func TestScheduleRefuses(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "models")
	t.Cleanup(func() {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("a refused command leaves a store: %v", err)
		}
	})
	flags := append([]string{"retrain", "--model-dir", dir}, past(t, 10)...)
	for name, c := range map[string]struct {
		more []string
		want string
	}{
		"no expression":   {[]string{"--schedule", "2am"}, `for example "30 2 * * *"`},
		"never":           {[]string{"--schedule", "0 0 31 2 *"}, "has no next time"},
		"no zone":         {[]string{"--schedule", "@daily", "--time-zone", "Berlin"}, "unknown time zone Berlin"},
		"one cut-off":     {[]string{"--schedule", "@daily", "--as-of", "2026-11-20T00:00:00Z"}, "--as-of"},
		"once and always": {[]string{"--schedule", "@daily", "--once"}, "--once"},
		"rounds by stdio": {[]string{"--schedule", "@daily", "--rounds", "stdio"}, "--rounds"},
		"no shards":       {[]string{"--rounds", "local:0"}, "must be stdio or local:N"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, cli.ExitUsage, append(slices.Clip(flags), c.more...), c.want)
		})
	}
}
