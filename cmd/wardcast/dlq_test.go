package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
)

// deadLetters writes dead letters to a broker of the test and returns it with a configuration file.
func deadLetters(t *testing.T, letters ...*kgo.Record) (brokers []string, config string) {
	t.Helper()
	fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.SeedTopics(1, "triage.notes", "triage.notes.dlq"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	if err := ingesttest.Reader(t, fake.ListenAddrs()).ProduceSync(t.Context(), letters...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	config = filepath.Join(t.TempDir(), "wardcast.yaml")
	if err := os.WriteFile(config, fmt.Appendf(nil, "kafka: {brokers: [%q]}\n", fake.ListenAddrs()[0]),
		0o600); err != nil {
		t.Fatal(err)
	}
	return fake.ListenAddrs(), config
}

// letter is a dead letter whose message has a secret in it.
func letter(reason, key string) *kgo.Record {
	return &kgo.Record{
		Topic: "triage.notes.dlq", Key: []byte(key), Value: []byte(`{"text":"secret"}`), Headers: []kgo.RecordHeader{
			{Key: "trace", Value: []byte("abc")},
			{Key: "dlq-reason", Value: []byte(reason)},
			{Key: "dlq-stage", Value: []byte("decode")},
			{Key: "dlq-field", Value: []byte("\x1b[2J")}, // which clears a terminal
			{Key: "dlq-source-topic", Value: []byte("triage.notes")},
			{Key: "dlq-source-partition", Value: []byte("0")},
			{Key: "dlq-source-offset", Value: []byte("7")},
			{Key: "dlq-attempts", Value: []byte("1")},
			{Key: "dlq-time", Value: []byte("2026-11-20T10:00:00.000Z")},
		},
	}
}

func TestDlq(t *testing.T) {
	t.Parallel()
	brokers, config := deadLetters(t, letter("no_model", "secret-a"), letter("not_json", "secret-b"),
		letter("no_model", "secret-c"))
	run := func(args ...string) string {
		t.Helper()
		return succeed(t, "", append(append([]string{"dlq"}, args...), "--config", config)...)
	}
	silent := run("list") + run("list", "--output=json") + run("list", "--by-reason") + run("show", "0/1") +
		run("show", "0/1", "--output=json") + run("replay", "--all", "--dry-run")
	if strings.Contains(silent, "secret") || strings.Contains(silent, "\x1b") {
		t.Errorf("what nobody asked for is shown:\n%s", silent)
	}
	if got := run("list", "--reason", "no_model", "--limit", "1"); !strings.Contains(got, "0/2") ||
		strings.Contains(got, "0/0 ") || strings.Contains(got, "not_json") {
		t.Errorf("list prints\n%s", got)
	}
	if got := run("list", "--by-reason", "--until", "2026-11-20T10:00:00Z",
		"--output=json"); strings.TrimSpace(got) != "[]" {
		t.Errorf("before the first: %s", got)
	}
	if got := clitest.Object(t, run("show", "0/1", "--text", "--output=json")); got["key"] != "secret-b" ||
		got["value"] != `{"text":"secret"}` || got["reason"] != "not_json" {
		t.Errorf("show prints %v", got)
	}
	if got := clitest.Object(t, run("replay", "--reason", "no_model", "--output=json")); got["sent"] != 2.0 ||
		got["dry_run"] != false {
		t.Errorf("replay prints %v", got)
	}
	c := ingesttest.Reader(t, brokers, "triage.notes")
	var back []string
	for len(back) < 2 {
		c.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			line := string(r.Key) + string(r.Value)
			for _, h := range r.Headers {
				line += " " + h.Key + "=" + string(h.Value)
			}
			back = append(back, line)
		})
	}
	if want := `secret-a{"text":"secret"} trace=abc wardcast-replays=1`; back[0] != want {
		t.Errorf("sent back is %q, want %q", back[0], want)
	}
	for _, c := range []struct {
		code int
		args []string
		want string
	}{
		{cli.ExitUsage, []string{"replay"}, "--all"},
		{cli.ExitUsage, []string{"replay", "--all", "--reason", "no_model"}, "say which dead letters"},
		{cli.ExitUsage, []string{"replay", "--reason", "secret"}, "not_json"},
		{cli.ExitUsage, []string{"replay", "--all", "--rate", "-1"}, "--rate"},
		{cli.ExitUsage, []string{"replay", "--all", "--max-attempts", "0"}, "--max-attempts"},
		{
			cli.ExitUsage,
			[]string{"list", "--since", "2026-11-21T10:00:00Z", "--until", "2026-11-20T10:00:00Z"},
			"--until",
		},
		{cli.ExitUsage, []string{"show", "one"}, "PARTITION/OFFSET"},
		{cli.ExitFailed, []string{"show", "0/9"}, "no dead letter at 0/9"},
		{cli.ExitFailed, []string{"list", "--of", "responses"}, "questionnaire.responses.dlq"},
		{cli.ExitFailed, []string{"list", "--of", "bridge", "--reason", "missing_visit"}, "triage.bridge.dlq"},
		{cli.ExitUsage, []string{"replay", "--of", "bridge", "--all"}, "hold no message"},
	} {
		fail(t, c.code, append(append([]string{"dlq"}, c.args...), "--config", config), c.want)
	}
}
