package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// process is a command that runs beside the test, and what it has said.
type process struct {
	ingesttest.Log
	t    *testing.T
	cmd  *exec.Cmd
	done chan struct{}
}

// start starts a command that is killed at the end of the test, if not before.
func start(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, cmd: command(context.WithoutCancel(t.Context()), t, args...), done: make(chan struct{})}
	p.cmd.Stdout, p.cmd.Stderr = p, p
	if err := p.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.done)
		_ = p.cmd.Wait() // its state tells
	}()
	t.Cleanup(func() {
		p.kill()
		text := p.String()
		if t.Failed() {
			t.Logf("log of wardcast %s:\n%s", args[0], text)
		}
		if strings.Contains(text, secret) || strings.Contains(text, "goroutine ") {
			t.Errorf("the log of wardcast %s tells of a patient, or of a panic", args[0])
		}
	})
	return p
}

// says waits until the command has said what matches, and returns the first group.
func (p *process) says(pattern string) string {
	p.t.Helper()
	deadline := time.NewTimer(clitest.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for re := regexp.MustCompile(pattern); ; {
		if m := re.FindStringSubmatch(p.String()); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-tick.C:
		case <-p.done:
			p.t.Fatalf("wardcast ended with %v before it said %s", p.cmd.ProcessState, pattern)
		case <-deadline.C:
			p.t.Fatalf("wardcast did not say %s within %v", pattern, clitest.Patience)
		}
	}
}

// ready waits until the command says that it is.
func (p *process) ready() *process {
	p.t.Helper()
	p.says(`"msg":"ready"`)
	return p
}

// kill ends the command at once, wherever it is.
func (p *process) kill() {
	_ = p.cmd.Process.Kill() // it may have ended
	<-p.done
}

// drainTime is how long a command may take to end after a signal.
const drainTime = 30 * time.Second

// signal sends one that must end the command in time.
func (p *process) signal(s os.Signal) {
	p.t.Helper()
	if err := p.cmd.Process.Signal(s); err != nil {
		p.t.Errorf("stopping: %v", err)
	}
	limit := time.NewTimer(drainTime)
	defer limit.Stop()
	select {
	case <-p.done:
	case <-limit.C:
		p.t.Errorf("wardcast does not end within %v of %v", drainTime, s)
		p.kill()
	}
}

// stop ends the command by SIGTERM; it must exit 0 in time.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGTERM)
	if code := p.cmd.ProcessState.ExitCode(); code != 0 {
		p.t.Errorf("wardcast exits %d on SIGTERM, want 0", code)
	}
}

// TestInterrupt: a command that is not done says that a signal ended it, not in which of its loops.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	input := clitest.File(t, "notes.csv", synthetic(t, "400", "csv")+strings.Repeat(",", 15)+"0,0\n")
	p := start(t, "evaluate", "--input", input, "--repeats", "1000")
	p.says("rows without text") // and goes on for minutes
	p.signal(os.Interrupt)
	if code, said := p.cmd.ProcessState.ExitCode(), p.String(); code != cli.ExitFailed || !strings.HasSuffix(said, "\nwardcast: interrupt signal received\n") {
		t.Errorf("exits %d and says %q", code, said)
	}
}

// TestInterruptedTraining: whoever stops a training is told that it changed nothing.
func TestInterruptedTraining(t *testing.T) {
	t.Parallel()
	input := clitest.File(t, "notes.csv", synthetic(t, "4000", "csv"))
	p := start(t, "train", "--input", input, "--model-dir", filepath.Join(t.TempDir(), "models"), "--ridge", "0", "--method", "smf-w", "--rank", "5,10,20")
	p.says("a ridge of 0") // and goes on for minutes
	p.signal(os.Interrupt)
	if code, said := p.cmd.ProcessState.ExitCode(), p.String(); code != cli.ExitFailed || !strings.HasSuffix(said, "\nwardcast: interrupt signal received: what is served did not change\n") {
		t.Errorf("exits %d and says %q", code, said)
	}
}
