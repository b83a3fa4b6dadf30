package main

import (
	"context"
	"os"
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

// running is a command that runs beside the test, and what it has said.
type running struct {
	ingesttest.Log
	t    *testing.T
	done chan struct{}
	code int // once it is done
	pid  int // of a process of its own

	send func(os.Signal) // asks it to end
	end  func()          // ends it at once
}

// start starts a command as a process of its own, which ends with the test, if not before.
func start(t *testing.T, args ...string) *running {
	t.Helper()
	c := command(context.WithoutCancel(t.Context()), t, args...)
	r := &running{
		t: t, done: make(chan struct{}),
		send: func(s os.Signal) { _ = c.Process.Signal(s) }, // it may have ended
		end:  func() { _ = c.Process.Kill() },
	}
	c.Stdout, c.Stderr = r, r
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	r.pid = c.Process.Pid
	go func() {
		defer close(r.done)
		_ = c.Wait() // the code says it
		r.code = c.ProcessState.ExitCode()
	}()
	return r.watched(args[0])
}

// launch starts a command in the test's process, where nothing but its context can end it.
func launch(t *testing.T, args ...string) *running {
	t.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	r := &running{t: t, done: make(chan struct{}), send: func(os.Signal) { cancel() }, end: cancel}
	go func() {
		defer close(r.done)
		r.code = run(ctx, &cli.Process{Args: args, In: strings.NewReader(""), Out: r, Err: r})
	}()
	return r.watched(args[0])
}

// watched ends the command with the test, and reads its log.
func (r *running) watched(name string) *running {
	r.t.Cleanup(func() {
		r.kill()
		text := r.String()
		if r.t.Failed() {
			r.t.Logf("log of wardcast %s:\n%s", name, text)
		}
		if strings.Contains(text, secret) || strings.Contains(text, "goroutine ") {
			r.t.Errorf("the log of wardcast %s holds something of a patient, or a panic", name)
		}
	})
	return r
}

// says waits until the command has said what matches, and returns the first group.
func (r *running) says(pattern string) string {
	r.t.Helper()
	deadline := time.NewTimer(clitest.Patience)
	defer deadline.Stop()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for re := regexp.MustCompile(pattern); ; {
		if m := re.FindStringSubmatch(r.String()); m != nil {
			return m[len(m)-1]
		}
		select {
		case <-tick.C:
		case <-r.done:
			if !re.MatchString(r.String()) {
				r.t.Fatalf("wardcast exited %d before it said %s", r.code, pattern)
			}
		case <-deadline.C:
			r.t.Fatalf("wardcast did not say %s within %v", pattern, clitest.Patience)
		}
	}
}

// ready waits until the command says that it is.
func (r *running) ready() *running {
	r.t.Helper()
	r.says(`"msg":"ready"`)
	return r
}

// kill ends the command at once, wherever it is.
func (r *running) kill() {
	r.end()
	<-r.done
}

// drainTime is how long a command may take to end after a signal.
const drainTime = 30 * time.Second

// signal sends one that must end the command in time.
func (r *running) signal(s os.Signal) {
	r.t.Helper()
	r.send(s)
	limit := time.NewTimer(drainTime)
	defer limit.Stop()
	select {
	case <-r.done:
	case <-limit.C:
		r.t.Errorf("wardcast does not end within %v of %v", drainTime, s)
		r.kill()
	}
}

// stop ends the command by SIGTERM; it must exit 0 in time.
func (r *running) stop() {
	r.t.Helper()
	r.signal(syscall.SIGTERM)
	if r.code != 0 {
		r.t.Errorf("wardcast exits %d on SIGTERM, want 0", r.code)
	}
}

// TestInterrupt: a command that is not done says that a signal ended it, not in which of its loops.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	input := clitest.File(t, "notes.csv", synthetic(t, "400", "csv")+strings.Repeat(",", 15)+"0,0\n")
	p := start(t, "evaluate", "--input", input, "--repeats", "1000")
	p.says("rows without text") // and goes on for minutes
	p.signal(os.Interrupt)
	if code, said := p.code, p.String(); code != cli.ExitFailed ||
		!strings.HasSuffix(said, "\nwardcast: interrupt signal received\n") {
		t.Errorf("exits %d and says %q", code, said)
	}
}

// TestInterruptedTraining: whoever stops a training is told that it changed nothing.
func TestInterruptedTraining(t *testing.T) {
	t.Parallel()
	input := clitest.File(t, "notes.csv", synthetic(t, "4000", "csv"))
	p := start(t, "train", "--input", input, "--model-dir", filepath.Join(t.TempDir(), "models"), "--ridge", "0",
		"--method", "smf-w", "--rank", "5,10,20")
	p.says("a ridge of 0") // and goes on for minutes
	p.signal(os.Interrupt)
	if code, said := p.code, p.String(); code != cli.ExitFailed ||
		!strings.HasSuffix(said, "\nwardcast: interrupt signal received: what is served did not change\n") {
		t.Errorf("exits %d and says %q", code, said)
	}
}
