package main

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// TestServe runs the scorer with its own broker as a process, and kills it. Another one ends by SIGTERM.
func TestServe(t *testing.T) {
	t.Parallel()
	store, folder, address := trained(t), filepath.Join(t.TempDir(), "broker"), ingesttest.FreeAddress(t)
	config := clitest.File(t, "wardcast.yaml", fmt.Sprintf(
		"kafka: {brokers: [%q]}\nmodels: {store: %s}\nhttp: {listen: \"\"}\nlog: {level: error}\n", address, store))
	// The level that is given goes before the file's.
	first := start(t, "serve", "--config", config, "--embedded-broker", folder, "--create-topics",
		"--log-level", "info").ready()
	s := newStream(t, address, store)
	// A stream of its own in the same broker, for a scorer without one.
	second := s.scorer(start).ready()
	s.send(200)
	s.settle()
	s.verdict()
	second.stop()

	before := len(s.predictions)
	s.Close()
	first.kill()
	// the topics are there
	again := launch(t, "serve", "--config", config, "--embedded-broker", folder, "--log-level", "info").ready()
	kept := *s
	kept.Client, kept.predictions, kept.dead = reader(t, address, s), nil, nil
	kept.settle()
	if len(kept.predictions) != before {
		t.Errorf("%d of %d predictions are left after SIGKILL", len(kept.predictions), before)
	}
	kept.Close()
	again.stop()
}

func TestServeErrors(t *testing.T) {
	t.Parallel()
	store, broker := trained(t), startBroker(t)
	config := func(broker, models, listen string) string {
		return clitest.File(t, "wardcast.yaml",
			fmt.Sprintf("kafka: {brokers: [%q]}\nmodels: {store: %s}\nhttp: {listen: %q}\n", broker, models, listen))
	}
	other := startBroker(t) // for what makes topics, which the first must not have
	for name, c := range map[string]struct {
		config string
		args   []string
		want   []string
	}{
		"missing topics": {
			config(broker, store, ""), nil,
			[]string{"triage.notes", "triage.predictions", "triage.notes.dlq", "not exist"},
		},
		"open to others": {config(broker, store, "0.0.0.0:8080"), nil, []string{"0.0.0.0:8080", "--insecure"}},
		"port taken":     {config(other, store, other), []string{"--create-topics"}, []string{"http.listen: ", other}},
		"broker's port taken": {
			config(other, store, ""), []string{"--embedded-broker", t.TempDir()}, []string{"kafka.brokers: ", other},
		},
		"unknown key": {
			clitest.File(t, "bad.yaml", "kafka: {brokers: [127.0.0.1:9092]}\nhtp: {}\n"), nil,
			[]string{"bad.yaml", "line 2", `"http"`},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			fail(t, cli.ExitFailed, append([]string{"serve", "--config", c.config}, c.args...), c.want...)
		})
	}
	fail(t, cli.ExitFailed, []string{"broker", "--dir", t.TempDir(), "--listen", "0.0.0.0:9092"},
		"0.0.0.0:9092", "--insecure")
	fail(t, cli.ExitFailed, []string{"broker", "--dir", t.TempDir(), "--listen", broker}, broker)
}

// TestBroker uses the embedded broker by a client of another family.
func TestBroker(t *testing.T) {
	t.Parallel()
	if os.Getenv("WARDCAST_KCAT") == "" {
		t.Skip("WARDCAST_KCAT is not set: kcat may not be installed")
	}
	dir := t.TempDir()
	broker := start(t, "broker", "--dir", dir, "--listen", "127.0.0.1:0")
	address := broker.says(`"msg":"ready","listen":"([^"]+)"`)
	kcat := func(stdin string, args ...string) string {
		t.Helper()
		c := exec.CommandContext(t.Context(), "kcat", append([]string{"-b", address}, args...)...)
		var out, log bytes.Buffer
		c.Stdin, c.Stdout, c.Stderr = strings.NewReader(stdin), &out, &log
		if err := c.Run(); err != nil {
			t.Fatalf("kcat %s: %v: %s", strings.Join(args, " "), err, &log)
		}
		return out.String()
	}
	s := newStream(t, address, dir)
	kcat("a\tfall\nb\tcough\n", "-P", "-t", s.input, "-K", "\t", "-X", "acks=all")
	const want = "a fall\nb cough\n"
	sorted := func(text string) string {
		lines := strings.SplitAfter(text, "\n")
		if len(lines) > 1 && lines[0] > lines[1] {
			lines[0], lines[1] = lines[1], lines[0]
		}
		return strings.Join(lines, "")
	}
	if got := sorted(kcat("", "-C", "-t", s.input, "-e", "-q", "-f", "%k %s\\n")); got != want {
		t.Errorf("kcat reads %q, want %q", got, want)
	}
	if got := sorted(kcat("", "-G", "others", "-c", "2", "-q", "-X", "auto.offset.reset=earliest", "-f", "%k %s\\n",
		s.input)); got != want {
		t.Errorf("kcat reads %q as a group, want %q", got, want)
	}
	// What it has acknowledged survives SIGKILL.
	broker.kill()
	address = start(t, "broker", "--dir", dir, "--listen", address).says(`"msg":"ready","listen":"([^"]+)"`)
	if got := sorted(kcat("", "-C", "-t", s.input, "-e", "-q", "-f", "%k %s\\n")); got != want {
		t.Errorf("kcat reads %q after SIGKILL, want %q", got, want)
	}
	fail(t, cli.ExitFailed, []string{"broker", "--dir", dir, "--listen", "127.0.0.1:0"}, "in use")
	err := filepath.WalkDir(dir, func(path string, file os.DirEntry, err error) error {
		if info, _ := file.Info(); path != dir && info.Mode().Perm()&0o077 != 0 {
			t.Errorf("others can read %s: %v", path, info.Mode())
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
}

func TestBench(t *testing.T) {
	t.Parallel()
	store := trained(t)
	score := clitest.Object(t, succeed(t, "", "bench", "score", "--notes", "200", "--model-dir", store,
		"--output=json"))
	clitest.WantFields(t, "bench score", score, "notes", "json_per_second", "text_per_second",
		"encoding_json_per_second", "ratio")
	if table := succeed(t, "", "bench", "score", "--notes", "200", "--model-dir",
		store); !strings.HasPrefix(table, "MEASURE ") {
		t.Errorf("bench score prints %q, want a table", table)
	}
	notes := clitest.File(t, "notes.jsonl", synthetic(t, "30", "jsonl"))
	for name, args := range map[string][]string{
		"as fast as it goes": nil, "at a rate": {"--rate", "2000", "--input", notes},
	} {
		began := time.Now()
		r := clitest.Object(t, succeed(t, "",
			append([]string{"bench", "stream", "--notes", "1000", "--model-dir", store, "--output=json"}, args...)...))
		took := time.Since(began).Seconds()
		clitest.WantFields(t, "bench stream", r, "notes", "lost", "per_second", "echo_per_second", "ratio",
			"latency_ms", "rate")
		number := func(field string) float64 { v, _ := r[field].(float64); return v }
		if number("notes") != 1000 || number("lost") != 0 || number("dead_letters") != 0 {
			t.Errorf("%s: %v notes, %v lost, %v dead letters", name, r["notes"], r["lost"], r["dead_letters"])
		}
		latency, _ := r["latency_ms"].(map[string]any)
		p50, _ := latency["p50"].(float64)
		p99, _ := latency["p99"].(float64)
		p999, _ := latency["p999"].(float64)
		if p50 <= 0 || p99 < p50 || p999 < p99 {
			t.Errorf("%s: latencies %v are no quantiles", name, latency)
		}
		// It cannot have been slower than what it claims, nor faster than what it was asked for.
		if rate := number("per_second"); rate <= 0 || took < 1000/rate || number("rate") > 0 && rate > number("rate") {
			t.Errorf("%s: %v notes/s claimed, %.1f s taken", name, rate, took)
		}
		if ratio := number("per_second") / number("echo_per_second"); number("ratio") != ratio {
			t.Errorf("%s: ratio %v is not %v", name, r["ratio"], ratio)
		}
	}
	fail(t, cli.ExitUsage, []string{"bench", "score", "--notes", "0", "--model-dir", store}, "--notes")
	fail(t, cli.ExitFailed,
		[]string{"bench", "score", "--model-dir", store, "--input", clitest.File(t, "notes.jsonl", "{\n")},
		"notes.jsonl", "line 1", "not_json")
	fail(t, cli.ExitFailed,
		[]string{"bench", "stream", "--model-dir", store, "--input", clitest.File(t, "notes.jsonl", "")}, "notes.jsonl")
}

func TestDemo(t *testing.T) {
	t.Parallel()
	const most = 60 // notes of 2 s at 30 notes/s; a loaded machine sends fewer
	parser, g := newParser(t)
	if _, err := parser.Parse(
		[]string{"demo", "--output=json", "--duration", "2s", "--rate", "30", "--port", "0"}); err != nil {
		t.Fatal(err)
	}
	g.Demo.Training = 600
	var out, said strings.Builder
	d := &cli.Deps{Process: cli.Process{Out: &out, Err: &said}, Log: slog.New(slog.DiscardHandler)}
	if err := g.Demo.Run(t.Context(), d); err != nil ||
		!strings.Contains(said.String(), "Training on 600 generated notes.") {
		t.Fatal(err, &said)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	predictions := 0
	for _, line := range lines[:len(lines)-1] {
		p := clitest.Object(t, line)
		clitest.WantFields(t, "a line of the demo", p, "visit_id", "probability", "topics")
		predictions++
	}
	s, ok := clitest.Object(t, lines[len(lines)-1])["summary"].(map[string]any)
	if !ok {
		t.Fatalf("the demo ends with %s, want a summary", lines[len(lines)-1])
	}
	if notes, _ := s["notes"].(float64); int(notes) != predictions || predictions == 0 || predictions > most ||
		s["lost"] != 0. {
		t.Errorf("%d predictions shown, the summary tells of %v, and of %v lost", predictions, s["notes"], s["lost"])
	}
	clitest.WantFields(t, "the summary", s, "models", "auroc", "truth_auroc", "mean_error", "per_second",
		"latency_p50_ms", "latency_p99_ms", "training_seconds", "first_prediction_seconds")
}

// TestDemoLeavesNothing: the folder of the demo is gone after its terminal was closed, or the pipe that it writes to.
func TestDemoLeavesNothing(t *testing.T) {
	t.Parallel()
	for _, closed := range []string{"terminal", "pipe"} {
		t.Run(closed, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			c := command(t.Context(), t, "demo", "--port", "0")
			c.Env = append(c.Env, "TMPDIR="+dir)
			out, err := c.StdoutPipe()
			if closed == "pipe" {
				long(t) // it trains before it writes
			}
			if err = errors.Join(err, c.Start()); err != nil {
				t.Fatal(err)
			}
			if closed == "terminal" {
				ingesttest.Await(t, "the folder", func() bool { left, _ := os.ReadDir(dir); return len(left) > 0 })
				err = c.Process.Signal(syscall.SIGHUP)
			} else if _, err = bufio.NewReader(out).ReadString('\n'); err == nil {
				err = out.Close()
			}
			_ = c.Wait() // the state says it
			left, errRead := os.ReadDir(dir)
			if err = errors.Join(err, errRead); err != nil || len(left) > 0 || !c.ProcessState.Exited() {
				t.Errorf("%v, it leaves %v: %v", c.ProcessState, left, err)
			}
		})
	}
}

// TestWords shows the nurse's words, whether they count as said, and neither names nor the rest.
func TestWords(t *testing.T) {
	t.Parallel()
	p := msg.Prediction{Evidence: []msg.Evidence{
		{End: 3, Text: "glf", Status: "affirmed", Contribution: -1.25},
		{Start: 4, End: 9, Status: "affirmed", Contribution: 1},
		{Start: 10, End: 13, Text: "sob", Status: "negated", Contribution: .75},
		{Start: 20, End: 23, Text: "glf", Status: "affirmed", Contribution: .25},
		{Start: 14, End: 17, Text: "hip", Status: "historical", Contribution: .125},
		{Contribution: .5},
	}}
	if got, want := words(&p), "glf -1.00, sob (denied) +0.75, hip (past) +0.12"; got != want {
		t.Errorf("words are %q, want %q", got, want)
	}
	if got := words(&msg.Prediction{}); got != "" {
		t.Errorf("words of nothing are %q", got)
	}
}
