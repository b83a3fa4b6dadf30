package app_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
)

const (
	// viewedRate is how many notes come a second, and viewedNotes how many are measured after as many as warm up.
	viewedRate              = 100
	viewedNotes, viewedWarm = 1500, 300
)

// BenchmarkViewers measures how long a note takes from its production to its prediction, through the broker, at 100
// notes a second, without viewers and with a hundred and a thousand who watch the API's stream or the page Live. They
// read in the same process, which also costs the scorer. Run it with -benchtime 1x; each line takes 20 s.
func BenchmarkViewers(b *testing.B) {
	for _, c := range []struct {
		name, path string
		viewers    int
	}{
		{"none", "", 0},
		{"stream-100", "/v1/predictions/stream", 100},
		{"stream-1000", "/v1/predictions/stream", 1000},
		{"feed-100", "/live/feed", 100},
		{"feed-1000", "/live/feed", 1000},
	} {
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				newViewed(b).measure(c.path, c.viewers)
			}
		})
	}
}

// viewed is a scorer with an embedded broker.
type viewed struct {
	*testing.B
	config  config.Config
	records []*kgo.Record
	reader  *kgo.Client
	http    *http.Client
}

func newViewed(b *testing.B) *viewed {
	b.Helper()
	trained, err := trained()
	if err != nil {
		b.Fatal(err)
	}
	g, err := newGenerator()
	if err != nil {
		b.Fatal(err)
	}
	v := &viewed{B: b, config: config.Default(), http: &http.Client{Transport: &http.Transport{}}}
	for i := range viewedWarm + viewedNotes {
		n := g.At(trainingNotes + i%1000).Note
		n.VisitID = fmt.Sprint("v", i)
		v.records = append(v.records,
			&kgo.Record{Topic: v.config.Kafka.Topics.Notes, Key: []byte(n.VisitID), Value: n.AppendJSON(nil)})
	}
	v.config.Models.Store = b.TempDir()
	store := models.OpenDir(v.config.Models.Store)
	storetest.Serve(b, store, trained.Bundles...)
	broker, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(broker.Close)
	v.config.Kafka.Brokers = []string{broker.Addr()}
	listener, err := new(net.ListenConfig).Listen(b.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	v.config.HTTP.Listen = listener.Addr().String()
	a, err := app.New(b.Context(), app.Options{
		Config: &v.config, Logger: slog.New(slog.DiscardHandler),
		Registry: prometheus.NewRegistry(), CreateTopics: true, Listener: listener, TopicIndex: b.TempDir(),
	})
	if err != nil {
		b.Fatal(err)
	}
	done := make(chan error, 1)
	ctx, cancel := context.WithCancel(context.WithoutCancel(b.Context()))
	go func() { done <- a.Run(ctx) }()
	b.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			b.Error(err)
		}
	})
	if err := a.Ready(b.Context()); err != nil {
		b.Fatal(err)
	}
	v.reader = ingesttest.Reader(b, v.config.Kafka.Brokers, v.config.Kafka.Topics.Predictions)
	return v
}

// watch opens streams, and returns functions that end them and count their bytes, and the events of the first.
func (v *viewed) watch(path string, n int) (stop func() (bytes, events int64)) {
	v.Helper()
	var read, events atomic.Int64
	var all sync.WaitGroup
	ctx, cancel := context.WithCancel(context.WithoutCancel(v.Context()))
	for i := range n {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+v.config.HTTP.Listen+path, http.NoBody)
		if err != nil {
			v.Fatal(err)
		}
		res, err := v.http.Do(r)
		if err != nil {
			v.Fatal(err)
		}
		if res.StatusCode != http.StatusOK {
			v.Fatalf("a stream answers %s", res.Status)
		}
		all.Go(func() {
			defer func() { _ = res.Body.Close() }()
			buffer := make([]byte, 4<<10)
			for {
				k, err := res.Body.Read(buffer)
				read.Add(int64(k))
				if i == 0 { // counting costs time that the scorer needs
					events.Add(int64(bytes.Count(buffer[:k], []byte("id: "))))
				}
				if err != nil {
					if err == io.EOF {
						v.Error("a stream ended")
					}
					return
				}
			}
		})
	}
	return func() (int64, int64) {
		cancel()
		all.Wait()
		v.http.CloseIdleConnections()
		return read.Load(), events.Load()
	}
}

// measure produces notes evenly and reports quantiles of the time to their predictions.
func (v *viewed) measure(path string, viewers int) {
	v.Helper()
	stop := v.watch(path, viewers)
	sent := make([]time.Time, len(v.records))
	var produced sync.WaitGroup
	produced.Go(func() {
		tick := time.NewTicker(time.Second / viewedRate)
		defer tick.Stop()
		for i, r := range v.records {
			<-tick.C
			sent[i] = time.Now()
			v.reader.Produce(v.Context(), r, func(_ *kgo.Record, err error) {
				if err != nil {
					v.Error(err)
				}
			})
		}
	})
	took := make(map[string]time.Time, len(v.records))
	for len(took) < len(v.records) && v.Context().Err() == nil {
		v.reader.PollFetches(v.Context()).EachRecord(func(r *kgo.Record) { took[string(r.Key)] = time.Now() })
	}
	produced.Wait()
	read, events := stop()
	var times []time.Duration
	for i := viewedWarm; i < len(sent); i++ {
		times = append(times, took[string(v.records[i].Key)].Sub(sent[i]))
	}
	slices.Sort(times)
	for _, q := range []struct {
		name string
		at   float64
	}{{"p50-ms", .5}, {"p99-ms", .99}, {"max-ms", 1}} {
		v.ReportMetric(float64(times[int(q.at*float64(len(times)-1))].Microseconds())/1000, q.name)
	}
	v.ReportMetric(float64(read)/float64(max(viewers, 1))/1024, "KiB/viewer")
	v.ReportMetric(float64(events), "events")
	v.ReportMetric(0, "ns/op") // says nothing here
}
