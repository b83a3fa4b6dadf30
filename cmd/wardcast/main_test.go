package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/internal/sample"
	"github.com/wardcast/wardcast/internal/synth"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/fit"
)

func TestMain(m *testing.M) {
	code := m.Run()
	if built.dir != "" {
		_ = os.RemoveAll(built.dir)
	}
	os.Exit(code)
}

// built is the command, built once and without the race detector's costs, which every process would pay; what
// runs in it is tested with the detector by the packages below.
var built struct {
	once sync.Once
	dir  string
	err  error
}

func build() {
	if built.dir, built.err = os.MkdirTemp("", "wardcast-test-"); built.err != nil {
		return
	}
	c := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", built.dir, ".")
	c.Stderr = os.Stderr
	built.err = c.Run()
}

// patience is how long anything may take before a test gives up.
const patience = 2 * time.Minute

// command returns the command with these arguments, to be started.
func command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	built.once.Do(build)
	if built.err != nil {
		t.Fatalf("building the command: %v", built.err)
	}
	return exec.CommandContext(ctx, filepath.Join(built.dir, "wardcast"), args...)
}

// ran is what a command left.
type ran struct {
	stdout, stderr string
	code           int
}

// wardcast runs the command to its end, with stdin.
func wardcast(t *testing.T, stdin string, args ...string) ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	c := command(ctx, t, args...)
	temporary := t.TempDir()
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	var out, log bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &log
	err := c.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		t.Fatalf("wardcast %s: %v", strings.Join(args, " "), err)
	}
	if strings.Contains(log.String(), "goroutine ") {
		t.Errorf("wardcast %s panics:\n%s", strings.Join(args, " "), &log)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("wardcast %s leaves %v in the temporary folder: %v", strings.Join(args, " "), left, err)
	}
	return ran{out.String(), log.String(), c.ProcessState.ExitCode()}
}

// succeed runs the command, which must exit 0, and returns its stdout.
func succeed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := wardcast(t, stdin, args...)
	if r.code != 0 {
		t.Fatalf("wardcast %s exits %d, want 0: %s", strings.Join(args, " "), r.code, r.stderr)
	}
	return r.stdout
}

// fail runs the command, which must exit so, print no data and name what is wrong.
func fail(t *testing.T, code int, args []string, want ...string) {
	t.Helper()
	r := wardcast(t, "", args...)
	if r.code != code || r.stdout != "" {
		t.Errorf("wardcast %s exits %d with %d bytes of data, want %d and none: %s", strings.Join(args, " "), r.code, len(r.stdout), code, r.stderr)
	}
	for _, w := range want {
		if !strings.Contains(r.stderr, w) {
			t.Errorf("wardcast %s says %q, want %q in it", strings.Join(args, " "), r.stderr, w)
		}
	}
}

// object reads one JSON object.
func object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is no JSON object: %v", text, err)
	}
	return v
}

// wantFields fails unless all the fields are there.
func wantFields(t *testing.T, what string, v map[string]any, fields ...string) {
	t.Helper()
	for _, f := range fields {
		if _, ok := v[f]; !ok {
			t.Errorf("%s has no field %q", what, f)
		}
	}
}

// file writes a file into a folder of the test and returns its path.
func file(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

const trainingNotes = 800

var newGenerator = sync.OnceValues(func() (*synth.Generator, error) { return synth.New(synth.Settings{Seed: 1}) })

var trainOnce = sync.OnceValues(func() (*fit.Trained, error) {
	g, err := newGenerator()
	if err != nil {
		return nil, err
	}
	rows, err := sample.Rows(g, trainingNotes)
	if err != nil {
		return nil, err
	}
	s := fit.Default()
	s.Rank, s.Text.MinDF, s.Alpha = 6, 3, .1 // much ridge keeps many features
	return fit.Train(context.Background(), fit.Data{Rows: rows, Aux: sample.Aux()}, s, fit.Job{Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Version: "test"})
})

// trained returns a model store with a small model.
func trained(t *testing.T) string {
	t.Helper()
	models1, err := trainOnce()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "models")
	own := fit.Trained{}
	for _, b := range models1.Bundles {
		c := *b // saving changes it
		own.Bundles = append(own.Bundles, &c)
	}
	if err := own.Save(t.Context(), models.OpenDir(dir), "test"); err != nil {
		t.Fatal(err)
	}
	return dir
}

// synthetic returns generated notes as the command prints them.
func synthetic(t *testing.T, n, format string) string {
	t.Helper()
	return succeed(t, "", "synth", "notes", "-n", n, "--format", format)
}

// TestHelp asks every command for help.
func TestHelp(t *testing.T) {
	t.Parallel()
	parser, err := kong.New(&cli{}, defaults())
	if err != nil {
		t.Fatal(err)
	}
	for _, leaf := range parser.Model.Leaves(false) {
		path := slices.DeleteFunc(strings.Fields(leaf.Path()), func(word string) bool { return strings.HasPrefix(word, "<") || strings.HasPrefix(word, "[") })
		if leaf.Help == "" {
			t.Errorf("%s has no help", leaf.Path())
		}
		for _, group := range leaf.AllFlags(false) {
			for _, f := range group {
				if f.Help == "" {
					t.Errorf("%s --%s has no help", leaf.Path(), f.Name)
				}
			}
		}
		help := succeed(t, "", append(path, "--help")...)
		for _, want := range []string{"Usage: wardcast " + strings.Join(path, " "), leaf.Help} {
			if !strings.Contains(strings.Join(strings.Fields(help), " "), want) {
				t.Errorf("wardcast %s --help prints %q, want %q in it", strings.Join(path, " "), help, want)
			}
		}
	}
}

func TestVersion(t *testing.T) {
	t.Parallel()
	if got := succeed(t, "", "version"); !strings.HasPrefix(got, "wardcast ") || strings.Count(got, "\n") != 1 {
		t.Errorf("version prints %q, want one line that begins with the name", got)
	}
}

func TestUsageErrors(t *testing.T) {
	t.Parallel()
	config := file(t, "wardcast.yaml", "")
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"no command":              {nil, "expected one of"},
		"unknown command":         {[]string{"frobnicate"}, "frobnicate"},
		"part of a command":       {[]string{"models"}, "expected one of"},
		"unknown flag":            {[]string{"version", "--loud"}, "--loud"},
		"missing flags":           {[]string{"train"}, "--input"},
		"missing argument":        {[]string{"check-config"}, "<config>"},
		"too many arguments":      {[]string{"check-config", config, config}, "unexpected argument"},
		"not one of":              {[]string{"demo", "--output=xml"}, "--output"},
		"not a number":            {[]string{"factorize", "--input", config, "--rank", "many", "--out", "x"}, "--rank"},
		"not a duration":          {[]string{"demo", "--duration", "long"}, "--duration"},
		"file that is not there":  {[]string{"serve", "--config", "nowhere.yaml"}, "nowhere.yaml"},
		"store that is no folder": {[]string{"models", "list", "--model-dir", config}, "wardcast.yaml"},
		"log level":               {[]string{"--log-level", "loud", "version"}, "--log-level"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, exitUsage, c.args, "wardcast: ", c.want)
		})
	}
}

func TestCheckConfig(t *testing.T) {
	t.Parallel()
	good := file(t, "good.yaml", "kafka: {brokers: [127.0.0.1:9092]}\nmodels: {store: models}\n")
	if got := succeed(t, "", "check-config", good); got != good+" is valid\n" {
		t.Errorf("check-config prints %q", got)
	}
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"unknown key":         {"kafka:\n  brokers: [127.0.0.1:9092]\n  grup: x\n", []string{"line 3", `"grup"`, `"group"`}},
		"unknown key of root": {"kafka:\n  brokers: [127.0.0.1:9092]\nmodel: {}\n", []string{"line 3", `"model"`, `"models"`}},
		"no brokers":          {"", []string{"kafka.brokers"}},
		"wrong type":          {"kafka: {brokers: [127.0.0.1:9092], session_timeout: soon}\n", []string{"line 1", "soon"}},
		"two faults":          {"kafka: {brokers: [nowhere]}\nlog: {level: loud}\n", []string{"kafka.brokers", "log.level"}},
		"no YAML":             {"kafka: [", []string{"bad.yaml"}},
		"unset password":      {"kafka: {brokers: [127.0.0.1:9092], sasl: {mechanism: plain, username: u, password_env: WARDCAST_TEST_UNSET}}\n", []string{"WARDCAST_TEST_UNSET"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, exitFailed, []string{"check-config", file(t, "bad.yaml", c.text)}, c.want...)
		})
	}
}
