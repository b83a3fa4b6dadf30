// Package clitest runs a program of cmd as a process, for the tests of its command line.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// Patience is how long anything may take before a test gives up.
const Patience = 2 * time.Minute

// Program is the program in the folder of the test. It is built once and without the race detector's costs, which every
// process would pay; what runs in it is tested with the detector by the packages below.
type Program struct {
	Name string

	once sync.Once
	dir  string
	err  error
}

// Main runs the tests of a package, takes the built program away and returns the exit code.
func (p *Program) Main(m *testing.M) int {
	defer func() { _ = os.RemoveAll(p.dir) }()
	return m.Run()
}

func (p *Program) build() {
	if p.dir, p.err = os.MkdirTemp("", p.Name+"-test-"); p.err != nil {
		return
	}
	c := exec.CommandContext(context.Background(), "go", "build", "-buildvcs=false", "-o", p.dir, ".")
	c.Stderr = os.Stderr
	p.err = c.Run()
}

// Command returns the program with these arguments, to be started.
func (p *Program) Command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	p.once.Do(p.build)
	if p.err != nil {
		t.Fatalf("building %s: %v", p.Name, p.err)
	}
	return exec.CommandContext(ctx, filepath.Join(p.dir, p.Name), args...)
}

// Ran is what a command left.
type Ran struct {
	Stdout, Stderr string
	Code           int
}

// Run runs the program to its end, with stdin.
func (p *Program) Run(t *testing.T, stdin string, args ...string) Ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	c := p.Command(ctx, t, args...)
	temporary := t.TempDir()
	c.Env = append(os.Environ(), "TMPDIR="+temporary)
	var out, log bytes.Buffer
	c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &log
	err := c.Run()
	if _, ok := errors.AsType[*exec.ExitError](err); err != nil && !ok || ctx.Err() != nil {
		t.Fatalf("%s %s: %v", p.Name, strings.Join(args, " "), err)
	}
	if strings.Contains(log.String(), "goroutine ") {
		t.Errorf("%s %s panics:\n%s", p.Name, strings.Join(args, " "), &log)
	}
	if left, err := os.ReadDir(temporary); err != nil || len(left) > 0 {
		t.Errorf("%s %s leaves %v in the temporary folder: %v", p.Name, strings.Join(args, " "), left, err)
	}
	return Ran{out.String(), log.String(), c.ProcessState.ExitCode()}
}

// Succeed runs the command, which must exit 0, and returns its stdout.
func (p *Program) Succeed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := p.Run(t, stdin, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s exits %d, want 0: %s", p.Name, strings.Join(args, " "), r.Code, r.Stderr)
	}
	return r.Stdout
}

// Fail runs the command, which must exit so, print no data and name what is wrong.
func (p *Program) Fail(t *testing.T, code int, args []string, want ...string) {
	t.Helper()
	r := p.Run(t, "", args...)
	if r.Code != code || r.Stdout != "" {
		t.Errorf("%s %s exits %d with %d bytes of data, want %d and none: %s", p.Name, strings.Join(args, " "), r.Code, len(r.Stdout), code, r.Stderr)
	}
	for _, w := range want {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("%s %s says %q, want %q in it", p.Name, strings.Join(args, " "), r.Stderr, w)
		}
	}
}

// Object reads one JSON object.
func Object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is no JSON object: %v", text, err)
	}
	return v
}

// WantFields fails unless all the fields are there.
func WantFields(t *testing.T, what string, v map[string]any, fields ...string) {
	t.Helper()
	for _, f := range fields {
		if _, ok := v[f]; !ok {
			t.Errorf("%s has no field %q", what, f)
		}
	}
}

// File writes a file into a folder of the test and returns its path.
func File(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Read returns the content of a file.
func Read(t *testing.T, path string) []byte {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return data
}
