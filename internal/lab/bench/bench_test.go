package bench_test

import (
	"cmp"
	"context"
	"log/slog"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/internal/lab/bench"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// prepare returns a small model and n notes whose visits are their positions.
func prepare(t *testing.T, n int) (*scoring.Set, [][]byte) {
	t.Helper()
	g, err := synth.New(synth.Settings{Seed: 1})
	if err != nil {
		t.Fatal(err)
	}
	const training = 300
	rows, err := sample.Rows(g, training)
	if err != nil {
		t.Fatal(err)
	}
	s := train.Default()
	s.Rank, s.Text.MinDF, s.PerComplaint, s.Text.NGrams = 3, 3, train.Never, 1
	trained, err := train.Train(t.Context(), train.Data{Rows: rows, Aux: sample.Aux()}, s,
		train.Job{Created: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC), Version: "test"})
	if err != nil {
		t.Fatal(err)
	}
	store := models.OpenDir(filepath.Join(t.TempDir(), "models"))
	generation, err := trained.Save(t.Context(), store, "test")
	if err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Change{To: generation.Name, By: "test"}); err != nil {
		t.Fatal(err)
	}
	set, err := scoring.Load(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	messages := make([][]byte, n)
	for i := range messages {
		note := g.At(training + i).Note
		note.VisitID = strconv.Itoa(i)
		messages[i] = note.AppendJSON(nil)
	}
	return set, messages
}

func TestScore(t *testing.T) {
	t.Parallel()
	set, messages := prepare(t, 50)
	r, err := bench.Score(t.Context(), set, classifier.Limits{}, messages)
	if err != nil {
		t.Fatal(err)
	}
	if r.Notes != 50 || r.JSONPerSecond <= 0 || r.TextPerSecond <= 0 || r.Ratio != r.JSONPerSecond/r.ReferenceCodec ||
		r.NoteBytes < 100 || r.PredictBytes < r.NoteBytes {
		t.Errorf("the report is %+v", r)
	}
	if _, err := bench.Score(t.Context(), set, classifier.Limits{}, [][]byte{messages[0], []byte("{")}); err == nil ||
		!strings.Contains(err.Error(), "note 2") {
		t.Errorf("a broken note: %v, want an error with its number", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := bench.Score(ctx, set, classifier.Limits{}, messages); err == nil {
		t.Error("no error of a context that has ended")
	}
}

// TestStream streams on a given broker and on an embedded one, and leaves no topic behind.
func TestStream(t *testing.T) {
	t.Parallel()
	set, messages := prepare(t, 400)
	messages[7] = []byte(`{"no":"note"}`)
	broker, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		t.Fatal(err)
	}
	defer broker.Close()
	for name, s := range map[string]bench.StreamSettings{
		"kafka":    {Brokers: []string{broker.Addr()}, Rate: 1000, Partitions: 7},
		"embedded": {Partitions: 3},
	} {
		s.Logger = slog.New(slog.DiscardHandler)
		most := 0
		s.Progress = func(done, total int) {
			if total != len(messages) {
				t.Errorf("progress of %d, want %d", total, len(messages))
			}
			most = max(most, done)
		}
		if s.Rate > 0 {
			s.Progress = nil // it comes from several goroutines
		}
		r, err := bench.Stream(t.Context(), set, messages, s)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if r.Notes != len(messages) || r.Lost != 0 || r.Repeated != 0 || r.DeadLetters != 1 || r.Rate != s.Rate ||
			r.Broker != name || r.Partitions != cmp.Or(s.Partitions, ingest.DefaultPartitions) || r.MemoryBytes == 0 ||
			r.EchoMemoryBytes == 0 {
			t.Errorf("%s: the report is %+v", name, r)
		}
		if r.PerSecond <= 0 || r.EchoPerSecond <= 0 || r.Ratio != r.PerSecond/r.EchoPerSecond || r.MessageBytes < 500 {
			t.Errorf("%s: the rates are %+v", name, r)
		}
		if s.Progress != nil && most != len(messages) {
			t.Errorf("%s: progress ends at %d", name, most)
		}
	}
	transport := &kafka.Transport{}
	defer transport.CloseIdleConnections()
	m, err := (&kafka.Client{Addr: kafka.TCP(broker.Addr()), Transport: transport}).Metadata(t.Context(),
		&kafka.MetadataRequest{})
	if err != nil {
		t.Fatal(err)
	}
	for _, topic := range m.Topics {
		if !topic.Internal {
			t.Errorf("topic %s is left", topic.Name)
		}
	}
}

// TestRateAskedFor claims no higher rate than it was asked for, however few the notes are: the first of them is due
// only after a while.
func TestRateAskedFor(t *testing.T) {
	t.Parallel()
	set, messages := prepare(t, 1)
	const rate = 5
	r, err := bench.Stream(t.Context(), set, messages,
		bench.StreamSettings{Rate: rate, Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		t.Fatal(err)
	}
	if r.Lost != 0 || r.PerSecond <= 0 || r.PerSecond > rate || r.EchoPerSecond <= 0 || r.EchoPerSecond > rate {
		t.Errorf("asked for %d notes/s, the report is %+v", rate, r)
	}
}
