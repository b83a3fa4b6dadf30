package replay_test

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/replay"
	"github.com/wardcast/wardcast/models/retrain"
)

// kafka returns a client of the real cluster of WARDCAST_KAFKA, else of one in the process, with two topics of the
// test's own.
func kafka(t *testing.T) (c *ingest.Client, notes, outcomes string) {
	t.Helper()
	var conn ingest.Connection
	if brokers := os.Getenv("WARDCAST_KAFKA"); brokers != "" {
		conn.Brokers = strings.Split(brokers, ",")
	} else {
		fake, err := kfake.NewCluster(kfake.NumBrokers(1),
			kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}))
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(fake.Close)
		conn.Brokers = fake.ListenAddrs()
	}
	c, err := ingest.NewClient(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	name := fmt.Sprintf("replay-%d", time.Now().UnixNano())
	notes, outcomes = name+"-notes", name+"-outcomes"
	if err := c.CreateTopics(t.Context(), ingest.Topic{Name: notes},
		ingest.Topic{Name: outcomes, Partitions: 3}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.DeleteTopics(context.WithoutCancel(t.Context()), notes, outcomes) })
	return c, notes, outcomes
}

// messages are what a topic or a file holds.
type messages []*ingest.Output

func (m *messages) add(key string, value []byte) {
	*m = append(*m, &ingest.Output{Key: []byte(key), Value: value})
}

// file writes the messages as lines; files know no erasures.
func (m messages) file(t *testing.T, name string) string {
	t.Helper()
	path := t.TempDir() + "/" + name
	var b []byte
	for _, o := range m {
		b = append(append(b, o.Value...), '\n')
	}
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// TestKafkaGivesWhatFilesGive replays a simulated month from both, with messages that are no good.
func TestKafkaGivesWhatFilesGive(t *testing.T) {
	t.Parallel()
	const n = 2500
	start := time.Now().Add(-30 * 24 * time.Hour).Truncate(time.Second)
	g, err := synth.New(synth.Settings{
		Seed: 8, Start: start, Interval: 30 * 24 * time.Hour / n,
		Labels: synth.Labels{Delay: 20 * time.Hour, Revised: 0.15},
	})
	if err != nil {
		t.Fatal(err)
	}
	var notes, outcomes messages
	for i := range n {
		note := g.At(i)
		notes.add(note.VisitID, note.AppendJSON(nil))
		if i%50 == 0 { // delivered again, and corrected
			notes.add(note.VisitID, note.AppendJSON(nil))
			note.Text += ", admitted"
			notes.add(note.VisitID, note.AppendJSON(nil))
		}
	}
	log, err := g.Log(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range log {
		outcomes.add(o.VisitID, o.AppendJSON(nil))
	}
	for _, bad := range []string{
		"no json", `{"schema_version":"2","visit_id":"v","text":"x"}`, `{"schema_version":"1","visit_id":"v"}`,
	} {
		notes.add("v", []byte(bad))
		outcomes.add("v", []byte(bad))
	}
	client, noteTopic, outcomeTopic := kafka(t)
	produce := func(topic string, m messages) {
		if err := ingest.NewProducer(client, slog.New(slog.DiscardHandler)).Produce(t.Context(), topic, m); err != nil {
			t.Fatal(err)
		}
	}
	produce(noteTopic, notes)
	produce(outcomeTopic, outcomes)

	settings := retrain.Settings{AsOf: start.Add(28 * 24 * time.Hour), Window: 20 * 24 * time.Hour, Aux: sample.Aux()}
	want, err := retrain.Collect(t.Context(), &retrain.Files{
		NoteFiles: []string{notes.file(t, "notes.jsonl")}, OutcomeFiles: []string{outcomes.file(t, "outcomes.jsonl")},
	}, settings)
	if err != nil {
		t.Fatal(err)
	}
	var output ingesttest.Log
	passed := map[string]int64{}
	source := &replay.Source{
		Client: client, NoteTopic: noteTopic, OutcomeTopic: outcomeTopic,
		Logger: slog.New(slog.NewTextHandler(&output, nil)), Progress: func(topic string, done, total int64) {
			if passed[topic] = done; done > total {
				t.Errorf("%d of %d", done, total)
			}
		},
	}
	got, err := retrain.Collect(t.Context(), source, settings)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Rows, got.Rows, cmp.AllowUnexported(msg.Value{})); d != "" {
		t.Error(d)
	}
	if !strings.HasPrefix(got.Counts.Notes.First["not_json"], noteTopic+"/") {
		t.Errorf("the first bad note is at %q", got.Counts.Notes.First["not_json"])
	}
	for _, read := range []*retrain.Read{
		&want.Counts.Notes, &want.Counts.Outcomes, &got.Counts.Notes, &got.Counts.Outcomes,
	} {
		read.First = nil // the one thing in which they differ
	}
	if d := cmp.Diff(want.Counts, got.Counts); d != "" {
		t.Error(d)
	}
	if want.Counts.Documents < n/4 || want.Counts.Excluded[retrain.Superseded] == 0 ||
		want.Counts.Notes.Refused["not_json"] != 1 {
		t.Errorf("the month holds too little: %+v", want.Counts)
	}
	if passed[noteTopic] != int64(len(notes)) || passed[outcomeTopic] != int64(len(outcomes)) ||
		strings.Count(output.String(), "topic replayed") != 2 {
		t.Errorf("passed %v; log\n%s", passed, &output)
	}

	// An erasure takes its visit out of the training, before compaction runs.
	erased := got.Rows[0].Visit
	produce(noteTopic, messages{{Key: []byte(erased)}})
	if got, err = retrain.Collect(t.Context(), source, settings); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want.Rows[1:], got.Rows, cmp.AllowUnexported(msg.Value{})); d != "" ||
		got.Counts.Excluded[retrain.Erased] != 1 || got.Counts.Notes.Empty != 1 {
		t.Errorf("%s%+v", d, got.Counts)
	}
}

func TestMissingTopic(t *testing.T) {
	t.Parallel()
	client, noteTopic, _ := kafka(t)
	_, err := retrain.Collect(t.Context(),
		&replay.Source{
			Client: client, NoteTopic: noteTopic, OutcomeTopic: noteTopic + "-gone", Logger: slog.New(slog.DiscardHandler),
		},
		retrain.Settings{})
	if err == nil || !strings.Contains(err.Error(), "reading outcomes") ||
		!strings.Contains(err.Error(), "does not exist") {
		t.Errorf("got %v", err)
	}
}
