// Package clitest runs the command lines of a program in its tests: in the test's process, or in one of their own.
package clitest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/internal/cli"
)

// Patience is how long a test waits before it gives up.
const Patience = 2 * time.Minute

// asProgram is the environment variable that makes the test binary run the program itself.
const asProgram = "CLITEST_PROGRAM"

// Program is the program under test.
type Program struct {
	Name string
	Run  func(context.Context, *cli.Process) int
}

// Main runs the tests of a package, or the program in a process of Command, and returns the exit code. The tests fail
// if a command leaves files in the temporary folder.
func (p *Program) Main(m *testing.M) int {
	if os.Getenv(asProgram) != "" {
		return cli.Main(p.Run)
	}
	dir, err := os.MkdirTemp("", p.Name+"-test-")
	if err == nil {
		err = errors.Join(os.Setenv("TMPDIR", dir), os.Setenv(asProgram, "1")) // also for what a command starts
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer func() { _ = os.RemoveAll(dir) }()
	code := m.Run()
	if left, err := os.ReadDir(dir); code == 0 && (err != nil || len(left) > 0) {
		fmt.Fprintf(os.Stderr, "commands leave %v in the temporary folder: %v\n", left, err)
		return 1
	}
	return code
}

// Command returns the program as a separate process, which runs the test binary.
func (p *Program) Command(ctx context.Context, t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	c := exec.CommandContext(ctx, binary, args...)
	c.Env = append(os.Environ(), "TMPDIR="+t.TempDir()) // a killed process may leave files there
	return c
}

// Ran is the result of a command.
type Ran struct {
	Stdout, Stderr string
	Code           int
}

// Call runs a command line in the test's process, with stdin.
func (p *Program) Call(t *testing.T, stdin string, args ...string) Ran {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), Patience)
	defer cancel()
	var out, log bytes.Buffer
	code := p.Run(ctx, &cli.Process{Args: args, In: strings.NewReader(stdin), Out: &out, Err: &log})
	if ctx.Err() != nil {
		t.Fatalf("%s %s: %v", p.Name, strings.Join(args, " "), ctx.Err())
	}
	return Ran{out.String(), log.String(), code}
}

// Succeed runs the command, which must exit 0, and returns its stdout.
func (p *Program) Succeed(t *testing.T, stdin string, args ...string) string {
	t.Helper()
	r := p.Call(t, stdin, args...)
	if r.Code != 0 {
		t.Fatalf("%s %s exits %d, want 0: %s", p.Name, strings.Join(args, " "), r.Code, r.Stderr)
	}
	return r.Stdout
}

// Fail runs the command, which must exit with code, print no data, and name every want in its error.
func (p *Program) Fail(t *testing.T, code int, args []string, want ...string) {
	t.Helper()
	r := p.Call(t, "", args...)
	said := fmt.Sprintf("%s %s", p.Name, strings.Join(args, " "))
	if r.Code != code || r.Stdout != "" {
		t.Errorf("%s exits %d with %d bytes of data, want %d and none: %s", said, r.Code, len(r.Stdout), code, r.Stderr)
	}
	for _, w := range want {
		if !strings.Contains(r.Stderr, w) {
			t.Errorf("%s says %q, want %q in it", said, r.Stderr, w)
		}
	}
}

// Object reads one JSON object.
func Object(t *testing.T, text string) map[string]any {
	t.Helper()
	var v map[string]any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%q is not a JSON object: %v", text, err)
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
