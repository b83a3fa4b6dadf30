package cli

import (
	"errors"
	"io"
	"log/slog"
	"math"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alecthomas/kong"

	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// TestProgress draws bars of a known and of an unknown total.
func TestProgress(t *testing.T) {
	t.Parallel()
	var known, unknown ingesttest.Log // a bar of unknown length is drawn by a goroutine of its own
	NewBar(&known, "versions").Set(3, 4)
	if got := known.String(); !strings.Contains(got, "versions") || !strings.Contains(got, "3/4") {
		t.Errorf("3 of 4 versions are drawn as %q", got)
	}
	bar := NewBar(&unknown, "predictions")
	for i := range 100 { // more than a bar is wide
		bar.Set(i+1, 0)
	}
	if got := unknown.String(); !strings.Contains(got, "predictions (100/-)") {
		t.Errorf("100 predictions are drawn as %q", got)
	}
	(&Progress{}).Set(1, 2) // nothing to draw on
}

// TestProgressOfStages: a bar goes on with the next stage, whether the last one came to its end or not.
func TestProgressOfStages(t *testing.T) {
	t.Parallel()
	var drawn ingesttest.Log
	bar := NewBar(&drawn, "fits")
	for _, s := range []struct {
		done, total int
		want        string
	}{{9, 10, "9/10"}, {10, 10, ""}, {0, 5000, "0/5000"}, {298, 5000, "298/5000"}, {1, 10, "1/10"}, {10, 10, ""}, {
		2, 5000, "2/5000",
	}, {3, 6000, "3/6000"}} {
		before := len(drawn.String())
		bar.Set(s.done, s.total)
		if got := drawn.String()[before:]; !strings.Contains(got, s.want) {
			t.Errorf("%d of %d are drawn as %q", s.done, s.total, got)
		}
	}
	bar.Finish()
}

// TestProgressInTheLog: where no bar can be drawn, the log tells every minute how much is done.
func TestProgressInTheLog(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var log strings.Builder
		p := NewProgress(&Deps{Process: Process{Err: io.Discard}, Log: slog.New(slog.NewTextHandler(&log, nil))},
			"fits")
		for done := range 150 { // one a second
			p.Set(done, 200)
			time.Sleep(time.Second) //nolint:forbidigo // the clock of synctest
		}
		p.Finish()
		const first, second = `msg="still at work" what=fits done=60 of=200`,
			`msg="still at work" what=fits done=120 of=200`
		if got := log.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, first) ||
			!strings.Contains(got, second) {
			t.Errorf("150 of 200 fits, one a second, are logged as\n%s", got)
		}
	})
}

// TestAwait says at a terminal, and only there, what is read from it.
func TestAwait(t *testing.T) {
	t.Parallel()
	terminal, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		t.Skipf("no terminal: %v", err)
	}
	defer func() { _ = terminal.Close() }()
	for want, in := range map[string]io.Reader{"": strings.NewReader(""), "Type notes. End with Ctrl-D.\n": terminal} {
		var said strings.Builder
		d := &Deps{Process: Process{In: in, Err: &said}}
		if d.Await("notes"); said.String() != want {
			t.Errorf("%T: %q, want %q", in, &said, want)
		}
	}
}

// A path given to --output is told where it belongs.
func TestFormat(t *testing.T) {
	t.Parallel()
	var g struct {
		File struct {
			Output
			Out string
		} `cmd:""`
		Print Output `cmd:""`
	}
	parser, err := kong.New(&g)
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"file":                "",
		"file --output json":  "",
		"file -o table":       "",
		"file --output=x.csv": "--output is a format (table or json); to write a file use --out",
		"file -o x.csv":       "--output is a format (table or json); to write a file use --out",
		"print --output x.json": "--output is a format (table or json); to write a file redirect standard output, as " +
			"in > FILE",
	} {
		_, err := parser.Parse(strings.Fields(line))
		got := ""
		if err != nil {
			got = plain(err, "").Error()
		}
		if got != want {
			t.Errorf("%s: %q, want %q", line, got, want)
		}
	}
	if _, err := parser.Parse([]string{"file", "--output", "json"}); err != nil || !g.File.JSON() {
		t.Errorf("--output json: %v", err)
	}
}

// TestPlainOutput: text that would command a terminal is shown escaped, in tables and in JSON.
func TestPlainOutput(t *testing.T) {
	t.Parallel()
	const text = "a\x1b[2J\u009b\u202e"
	var b strings.Builder
	g := NewGrid("WHY" + text)
	g.Add(text)
	g.Title, g.Footer = "title "+text+"\n", "footer "+text+"\n"
	if err := errors.Join(PrintGrids(&b, g), PrintJSON(&b, text)); err != nil {
		t.Fatal(err)
	}
	const shown = `a\u001b[2J\u009b\u202e`
	want := strings.ReplaceAll("title X\nWHYX\nX\nfooter X\n\"X\"\n", "X", shown)
	if b.String() != want {
		t.Errorf("%q, want %q", b.String(), want)
	}
}

// slow is a terminal that takes its time, so that goroutines meet.
type slow struct{}

func (slow) Write(b []byte) (int, error) {
	<-time.After(2 * time.Millisecond)
	return len(b), nil
}

// TestProgressOfSeveralGoroutines: the bar stands where one of the goroutines put it.
func TestProgressOfSeveralGoroutines(t *testing.T) {
	t.Parallel()
	at := []int{3, 50, 97}
	for range 20 {
		p := NewBar(slow{}, "training")
		var work sync.WaitGroup
		for i := range 9 {
			work.Go(func() { p.Set(at[i%len(at)], 1000) })
		}
		work.Wait()
		if n := int(p.bar.State().CurrentNum); !slices.Contains(at, n) {
			t.Fatalf("the bar stands at %d, must be one of %v", n, at)
		}
	}
}

// A number that rounds to zero has no sign.
func TestDigits(t *testing.T) {
	t.Parallel()
	for v, want := range map[float64]string{-0.0004: "0.000", -0.0006: "-0.001", 0.0004: "0.000", -10: "-10.000"} {
		if got := Digits(v, 3); got != want {
			t.Errorf("Digits(%v, 3) = %q, want %q", v, got, want)
		}
	}
	if got := Digits(math.Copysign(0, -1), -1); got != "0" {
		t.Errorf("of -0, %q", got)
	}
}
