package bedstream_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/models"
)

func TestMain(m *testing.M) {
	ingesttest.Parallel(8)
	ingesttest.VerifyMain(m)
}

// secret stands in every visit of the tests, and may stand in no log.
const secret = "zzsecret"

const (
	predictions = "triage.predictions"
	outcomes    = "triage.outcomes"
	output      = "triage.bed-demand"
	triageNotes = "triage.notes"
)

// site is a broker, a store and a clock.
type site struct {
	*testing.T
	dir, address string
	storeDir     string
	broker       *embedded.Broker
	store        *models.Store
	inUse        atomic.Value // version of the fit that belongs to the generation in use
	config       bedstream.Config
	producer     *kgo.Client
	log          *ingesttest.Log
	registry     *prometheus.Registry

	mu    sync.Mutex
	ahead time.Duration // of the clock
}

func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{T: t, dir: t.TempDir(), address: ingesttest.FreeAddress(t), log: &ingesttest.Log{}}
	s.storeDir = t.TempDir()
	s.store = models.OpenDir(s.storeDir)
	s.open()
	t.Cleanup(func() {
		s.broker.Close()
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
		if strings.Contains(s.log.String(), secret) {
			t.Error("the log names a patient")
		}
	})
	client := s.client()
	err := client.CreateTopics(t.Context(), ingest.Topic{Name: predictions, Partitions: 2},
		ingest.Topic{Name: outcomes, Partitions: 2}, ingest.Topic{Name: triageNotes, Partitions: 2},
		ingest.Topic{Name: output, Partitions: 1, Compacted: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.producer, err = kgo.NewClient(kgo.SeedBrokers(s.address),
		kgo.MetadataMinAge(50*time.Millisecond)); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.producer.Close)
	s.config = bedstream.Config{
		Client: client, Predictions: predictions, Outcomes: outcomes, Output: output, Notes: triageNotes,
		Store: s.store, Source: "/test", Now: s.now,
		Fit: func() string { version, _ := s.inUse.Load().(string); return version },
	}
	s.config.LookEvery(500 * time.Millisecond)
	return s
}

// open starts the broker, again on what it had.
func (s *site) open() {
	s.Helper()
	broker, err := embedded.Start(embedded.Config{Dir: s.dir, Listen: s.address})
	if err != nil {
		s.Fatal(err)
	}
	s.broker = broker
}

func (s *site) client() *ingest.Client {
	s.Helper()
	c, err := ingest.NewClient(ingest.Connection{Brokers: []string{s.address}})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

func (s *site) now() time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	return time.Now().Add(s.ahead)
}

// advance sets the clock forward.
func (s *site) advance(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ahead += d
}

// running is a Demand whose tasks run until stop.
type running struct {
	*bedstream.Demand
	s    *site
	stop func()
}

func (s *site) start() *running {
	s.Helper()
	s.registry = prometheus.NewRegistry()
	c := s.config
	c.Logger, c.Metrics = slog.New(slog.NewJSONHandler(s.log, nil)), s.registry
	d, err := bedstream.New(c)
	if err != nil {
		s.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(s.Context()))
	var tasks sync.WaitGroup
	for _, task := range []func(context.Context) error{
		d.FollowPredictions, d.FollowOutcomes, d.FollowNotes, d.Learn, d.Publish,
	} {
		tasks.Go(func() {
			for task(ctx) != nil { // begun again as serve does
				select {
				case <-ctx.Done():
				case <-time.After(50 * time.Millisecond):
				}
			}
		})
	}
	stop := sync.OnceFunc(func() { cancel(); tasks.Wait() })
	s.Cleanup(stop)
	return &running{d, s, stop}
}

// ask returns the forecasts by ward, as they are on the wire.
func (r *running) ask(q httpapi.DemandQuery) map[string]string {
	r.s.Helper()
	if q.Window == 0 {
		q.Window, q.Waiting, q.Coming = 8*time.Hour, true, true
	}
	all, err := r.Forecasts(r.s.Context(), &q)
	if err != nil {
		r.s.Fatal(err)
	}
	wards := map[string]string{}
	for _, f := range all {
		wards[f.Ward] = string(f.AppendJSON(nil))
	}
	return wards
}

// all returns the forecast of all wards.
func (r *running) all(q httpapi.DemandQuery) (b msg.BedDemand) {
	r.s.Helper()
	if err := json.Unmarshal([]byte(r.ask(q)[beds.All]), &b); err != nil {
		r.s.Fatal(err)
	}
	return b
}

// waits waits until so many patients wait.
func (r *running) waits(n int) {
	r.s.Helper()
	got := 0
	ingesttest.Await(r.s, fmt.Sprintf("%d patients", n), func() bool {
		got = r.all(httpapi.DemandQuery{}).Waiting.Patients
		return got == n
	})
}

// send writes records.
func (s *site) send(records ...*kgo.Record) {
	s.Helper()
	if err := s.producer.ProduceSync(s.Context(), records...).FirstErr(); err != nil {
		s.Fatal(err)
	}
}

// note is a prediction for visit i, whose patient arrived so long before the record's time.
func (s *site) note(i int, p float64, ago time.Duration, change ...func(*msg.Prediction)) *kgo.Record {
	at := s.now()
	m := msg.Prediction{
		SchemaVersion: "1", VisitID: fmt.Sprint(secret, i), ArrivedAt: at.Add(-ago).UTC().Format(time.RFC3339),
		ScoredAt:  at.UTC().Format(msg.TimeFormat),
		Complaint: "Fall", Model: msg.Model{Name: "_other", Version: "v1", SHA256: "0"}, Probability: p, Threshold: .5,
		Aux: []msg.Aux{{Name: "age", Value: msg.Number(float64(20 + i%60))}},
	}
	for _, f := range change {
		f(&m)
	}
	return &kgo.Record{Topic: predictions, Key: []byte(m.VisitID), Value: m.AppendJSON(nil), Timestamp: at}
}

// outcome is one of visit i, decided at the record's time.
func (s *site) outcome(i int, d msg.Disposition, change ...func(*msg.Outcome)) *kgo.Record {
	at := s.now()
	o := msg.Outcome{VisitID: fmt.Sprint(secret, i), Disposition: d, DecidedAt: at.UTC().Format(time.RFC3339)}
	if d == msg.Admitted {
		o.Ward = []string{"MED", "SURG", "CARD"}[i%3]
	}
	for _, f := range change {
		f(&o)
	}
	return &kgo.Record{Topic: outcomes, Key: []byte(o.VisitID), Value: o.AppendJSON(nil), Timestamp: at}
}

// early moves a record back in time.
func early(r *kgo.Record, d time.Duration) *kgo.Record {
	r.Timestamp = r.Timestamp.Add(-d)
	return r
}

// fit adds a fit of so many days to the store, as a retraining does, and returns its version.
func (s *site) fit(days int, created time.Time) string {
	s.Helper()
	h := &beds.History{From: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC)}
	h.AsOf = h.From.AddDate(0, 0, days)
	for i := range days * 48 {
		v := beds.Visit{
			Arrived: h.From.Add(time.Duration(i) * 30 * time.Minute), P: .3, Complaint: "fall", Age: 40,
			Admitted: i%3 == 0,
		}
		v.Decided = v.Arrived.Add(time.Duration(60+i%240) * time.Minute)
		if v.Admitted {
			v.Ward = []string{"MED", "SURG"}[i%2]
		}
		h.Visits = append(h.Visits, v)
	}
	fit, err := beds.FitHistory(h)
	if err != nil {
		s.Fatal(err)
	}
	data, err := json.Marshal(fit)
	if err != nil {
		s.Fatal(err)
	}
	if err := os.MkdirAll(s.storeDir, 0o700); err != nil {
		s.Fatal(err)
	}
	version, err := s.store.SaveBeds(s.Context(), created, data)
	if err != nil {
		s.Fatal(err)
	}
	s.inUse.Store(version)
	return version
}
