package replay_test

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/replay"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/textproc"
)

// cutter is a listener whose connections break in the middle of a long answer, as often as cuts says.
type cutter struct {
	net.Listener
	cuts *atomic.Int32
}

func (c cutter) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	return cutConn{conn, c.cuts}, err
}

type cutConn struct {
	net.Conn
	cuts *atomic.Int32
}

func (c cutConn) Write(b []byte) (int, error) {
	const long = 4 << 10 // only answers to a fetch are
	if len(b) < long || c.cuts.Add(-1) < 0 {
		return c.Conn.Write(b)
	}
	n, err := c.Conn.Write(b[:len(b)/2])
	return n, errors.Join(err, c.Close())
}

// broker is a cluster in the process with a simulated month, whose connections can be cut.
type broker struct {
	fake   *kfake.Cluster
	client *ingest.Client
	cuts   atomic.Int32
	end    time.Time
}

const faultNotes, faultOutcomes = "notes", "outcomes"

func newBroker(t *testing.T) *broker {
	t.Helper()
	b := &broker{}
	var err error
	b.fake, err = kfake.NewCluster(kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}),
		kfake.ListenFn(func(network, address string) (net.Listener, error) {
			l, err := new(net.ListenConfig).Listen(t.Context(), network, address)
			return cutter{l, &b.cuts}, err
		}))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.fake.Close)
	if b.client, err = ingest.NewClient(ingest.Connection{Brokers: b.fake.ListenAddrs()}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.client.Close)
	if err := b.client.CreateTopics(t.Context(), ingest.Topic{Name: faultNotes},
		ingest.Topic{Name: faultOutcomes, Partitions: 2}); err != nil {
		t.Fatal(err)
	}
	const n, days = 600, 30
	start := time.Now().Add(-2 * days * 24 * time.Hour).Truncate(time.Second)
	b.end = start.Add(2 * days * 24 * time.Hour)
	g, err := synth.New(synth.Settings{
		Seed: 8, Start: start, Interval: days * 24 * time.Hour / n, Labels: synth.Labels{Delay: 20 * time.Hour},
	})
	if err != nil {
		t.Fatal(err)
	}
	var notes, outcomes messages
	for i := range n {
		note := g.At(i)
		notes.add(note.VisitID, note.AppendJSON(nil))
	}
	log, err := g.Log(t.Context(), n)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range log {
		outcomes.add(o.VisitID, o.AppendJSON(nil))
	}
	producer := ingest.NewProducer(b.client, slog.New(slog.DiscardHandler))
	if err := errors.Join(producer.Produce(t.Context(), faultNotes, notes),
		producer.Produce(t.Context(), faultOutcomes, outcomes)); err != nil {
		t.Fatal(err)
	}
	return b
}

// night is a whole retraining, of single words and one model.
func (b *broker) night(store *models.Store) *retrain.Job {
	fit := train.Default()
	fit.Method, fit.Folds, fit.Text.MinDF, fit.Pieces, fit.Text.NGrams, fit.PerComplaint = train.BagOfWords, 2, 10,
		false, 1, train.Never
	fit.Text.Concepts, fit.Text.Spelling = &textproc.Concepts{}, false
	return &retrain.Job{
		Source: &replay.Source{
			Client: b.client, NoteTopic: faultNotes, OutcomeTopic: faultOutcomes, Logger: slog.New(slog.DiscardHandler),
		},
		Settings: retrain.Settings{AsOf: b.end}, Fit: fit, Version: "test",
		Gatekeeper: train.Gatekeeper{Store: store, Gate: gate.Default(), Force: true, By: "test", Why: "a test"},
	}
}

// TestRetrainingSurvivesTheBroker runs retrainings while requests fail and connections break in the middle of a fetch.
// Those that the broker recovers from finish as if nothing had been; the others change nothing in the store, and the
// next one finishes.
func TestRetrainingSurvivesTheBroker(t *testing.T) {
	t.Parallel()
	clean := newBroker(t)
	first := t.TempDir()
	want, err := clean.night(models.OpenDir(first)).Run(t.Context())
	if err != nil || want.Promotion.Served == nil {
		t.Fatalf("%+v, %v", want, err)
	}
	const forever = 1 << 30
	fault := func(key kmsg.Key, err *kerr.Error, count int) func(*broker) (mend func()) {
		return func(b *broker) func() {
			return b.fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: err, Count: count}).Remove
		}
	}
	cut := func(count int32) func(*broker) func() {
		return func(b *broker) func() {
			b.cuts.Store(count)
			return func() { b.cuts.Store(0) }
		}
	}
	for name, c := range map[string]struct {
		breaks func(*broker) (mend func())
		lasts  bool
	}{
		"fetches fail":             {fault(kmsg.Fetch, kerr.NotLeaderForPartition, 3), false},
		"offsets fail":             {fault(kmsg.ListOffsets, kerr.UnknownServerError, 3), false},
		"cut in a fetch":           {cut(3), false},
		"fetches fail for good":    {fault(kmsg.Fetch, kerr.KafkaStorageError, -1), true},
		"offsets fail for good":    {fault(kmsg.ListOffsets, kerr.NotLeaderForPartition, -1), true},
		"forbidden":                {fault(kmsg.Fetch, kerr.TopicAuthorizationFailed, -1), true},
		"cut in every fetch":       {cut(forever), true},
		"no answer about metadata": {fault(kmsg.Metadata, kerr.UnknownServerError, -1), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBroker(t)
			b.end = clean.end
			dir := t.TempDir()
			if err := os.CopyFS(dir, os.DirFS(first)); err != nil {
				t.Fatal(err)
			}
			store := models.OpenDir(dir)
			mend := c.breaks(b)
			if c.lasts {
				b.fails(t, store, want.Promotion.Served.Name)
				mend()
			}
			got, err := b.night(store).Run(t.Context())
			if err != nil || got.Promotion == nil {
				t.Fatalf("%+v, %v", got, err)
			}
			if !c.lasts && b.cuts.Load() > 0 {
				t.Error("the connections were not cut")
			}
			if got.Counts.Notes.Messages != want.Counts.Notes.Messages ||
				got.Counts.Outcomes.Messages != want.Counts.Outcomes.Messages {
				t.Error(cmp.Diff(want.Counts, got.Counts))
			}
			storetest.Served(t, store, "retrained")
		})
	}
}

// fails runs a retraining that must end, by its time limit at the latest, without a change to what is served.
func (b *broker) fails(t *testing.T, store *models.Store, served string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if r, err := b.night(store).Run(ctx); err == nil {
		t.Fatalf("the retraining ends with %+v", r)
	}
	if g, _ := storetest.Served(t, store, "after the failure"); g.Name != served {
		t.Errorf("serves %s instead of %s", g.Name, served)
	}
}
