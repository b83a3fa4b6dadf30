package app_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/scoring"
	modelstore "github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/textproc"
)

// scratch is a folder for what all tests share: models, the store that trained makes, and the outputs of fits.
var scratch string

// TestMain fails unless consumer, broker and HTTP server are all gone.
func TestMain(m *testing.M) {
	ingesttest.VerifyMain(withScratch{m})
}

// withScratch are tests that share the folder scratch.
type withScratch struct{ *testing.M }

// Run implements goleak.TestingM. Tests wait side by side, since most of their time goes by in brokers.
func (m withScratch) Run() int {
	var err error
	if scratch, err = os.MkdirTemp("", "wardcast"); err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(scratch) }()
	ingesttest.Parallel(8)
	return m.M.Run()
}

// secret stands in every note that a test streams, and may stand in no log and no metric.
const secret = "zzsecretname"

const (
	trainingNotes = 800
	noteSeed      = 1
)

var newGenerator = sync.OnceValues(
	func() (*synth.Generator, error) { return synth.New(synth.Settings{Seed: noteSeed}) })

// trained are small models: one of all complaints and some of single ones. A store serves them. Their text is as plain
// as can be, since every start of a scorer reads it.
var trained = sync.OnceValues(func() (*train.Trained, error) {
	g, err := newGenerator()
	if err != nil {
		return nil, err
	}
	rows, err := sample.Rows(g, trainingNotes)
	if err != nil {
		return nil, err
	}
	s := train.Default()
	s.Rank, s.PerComplaint, s.MinDocuments, s.MinEvents, s.Text.NGrams, s.Pieces = 4, train.Always, 60, 10, 1, false
	s.Text.Concepts, s.Text.Spelling = &textproc.Concepts{}, false
	data := train.Data{Rows: rows, Aux: sample.Aux()}
	created := time.Date(2026, 1, 4, 0, 0, 0, 0, time.UTC)
	models, err := train.Train(context.Background(), data, s, train.Job{Created: created, Version: "test"})
	if err != nil {
		return nil, err
	}
	// The gatekeeper describes the notes that drift is measured against.
	gatekeeper := train.Gatekeeper{
		Store:   modelstore.OpenDir(filepath.Join(scratch, "models")),
		Gate:    gate.Default(),
		Force:   true,
		By:      "test",
		Why:     "test",
		Created: created,
	}
	_, err = gatekeeper.Promote(context.Background(), train.Candidate{
		Trained: models, Notes: data, Probabilities: slices.Clone(models.OutOfFold),
	})
	return models, err
})

// generation returns copies of the trained models, or, for 1, of models that were made two days later and predict
// otherwise.
func generation(t *testing.T, i int) []*bundle.Bundle {
	t.Helper()
	models, err := trained()
	if err != nil {
		t.Fatal(err)
	}
	if len(models.Bundles) < 2 {
		t.Fatalf("%d models trained, want some beside that of all complaints", len(models.Bundles))
	}
	var bundles []*bundle.Bundle
	for _, b := range models.Bundles {
		c := *b
		c.Manifest.CreatedAt = c.Manifest.CreatedAt.AddDate(0, 0, 2*i)
		c.Tensors = maps.Clone(c.Tensors)
		was := c.Tensors["intercept"]
		c.Tensors["intercept"] = bundle.Tensor{Shape: was.Shape, Data: []float64{was.Data[0] + float64(i)/4}}
		bundles = append(bundles, &c)
	}
	return bundles
}

// site is a store, a broker and a scorer's configuration, each of one test.
type site struct {
	*testing.T
	dir      string
	store    *modelstore.Store
	config   config.Config
	options  app.Options
	log      *ingesttest.Log
	registry *prometheus.Registry
	http     *http.Client
}

// newSite returns a site with the trained models as champions.
func newSite(t *testing.T) *site {
	t.Helper()
	s := &site{
		T: t, dir: t.TempDir(), config: config.Default(), log: &ingesttest.Log{}, registry: prometheus.NewRegistry(),
	}
	s.config.Models.Store, s.config.Models.Poll = filepath.Join(s.dir, "models"), 20*time.Millisecond
	s.config.HTTP.Listen = ""
	s.store = modelstore.OpenDir(s.config.Models.Store)
	generation(t, 0)
	if err := os.CopyFS(s.config.Models.Store, os.DirFS(filepath.Join(scratch, "models"))); err != nil {
		t.Fatal(err)
	}
	s.options = app.Options{
		Config: &s.config, Logger: slog.New(slog.NewJSONHandler(s.log, nil)), Registry: s.registry,
		CreateTopics: true, TopicIndex: filepath.Join(s.dir, "topics"),
	}
	s.options.Hasten()
	transport := &http.Transport{}
	s.http = &http.Client{Transport: transport, Timeout: ingesttest.Patience}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if t.Failed() {
			t.Logf("log:\n%s", s.log)
		}
		if text := s.log.String(); strings.Contains(text, secret) || strings.Contains(text, "goroutine ") {
			t.Error("the log names a patient, or of a panic")
		}
	})
	return s
}

// promote stores models, and serves them beside those of other names.
func (s *site) promote(bundles ...*bundle.Bundle) {
	s.Helper()
	storetest.Serve(s, s.store, bundles...)
}

// broker starts a broker that keeps everything in memory.
func (s *site) broker() {
	s.Helper()
	b, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0"})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(b.Close)
	s.config.Kafka.Brokers = []string{b.Addr()}
}

// create creates topics.
func (s *site) create(names ...string) {
	s.Helper()
	client, err := ingest.NewClient(ingest.Connection{Brokers: s.config.Kafka.Brokers})
	if err != nil {
		s.Fatal(err)
	}
	defer client.Close()
	var topics []ingest.Topic
	for _, name := range names {
		topics = append(topics, ingest.Topic{Name: name})
	}
	if err := client.CreateTopics(s.Context(), topics...); err != nil {
		s.Fatal(err)
	}
}

// sum returns the SHA-256 of data in hexadecimal digits.
func sum(data []byte) string {
	s := sha256.Sum256(data)
	return hex.EncodeToString(s[:])
}

// running is a scorer that runs.
type running struct {
	*app.App
	s      *site
	cancel context.CancelFunc
	done   chan struct{}
	err    error
}

// start runs a scorer until stop or the end of the test.
func (s *site) start() *running {
	s.Helper()
	r := &running{s: s, done: make(chan struct{})}
	var err error
	if r.App, err = app.New(s.Context(), s.options); err != nil {
		s.Fatal(err)
	}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.WithoutCancel(s.Context()))
	go func() {
		defer close(r.done)
		r.err = r.Run(ctx)
	}()
	s.Cleanup(func() { r.cancel(); <-r.done })
	return r
}

// ready waits until the scorer consumes.
func (r *running) ready() *running {
	r.s.Helper()
	ctx, cancel := context.WithTimeout(r.s.Context(), ingesttest.Patience)
	defer cancel()
	go func() {
		select {
		case <-r.done:
			cancel()
		case <-ctx.Done():
		}
	}()
	if err := r.Ready(ctx); err != nil {
		r.s.Fatalf("the scorer is not ready: %v; Run: %v", err, r.err)
	}
	return r
}

// stop is what SIGTERM does; Run must end with nil.
func (r *running) stop() {
	r.s.Helper()
	r.cancel()
	select {
	case <-r.done:
	case <-time.After(ingesttest.Patience):
		r.s.Fatal("Run does not end")
	}
	if r.err != nil {
		r.s.Errorf("Run: %v, want nil", r.err)
	}
}

// stream is a foreign client of the broker that has read so much of the answers.
type stream struct {
	*kgo.Client
	s                 *site
	group, input, dlq string
	predictions, dead []*kgo.Record
}

// stream returns a client that reads the answers to notes from their beginning.
func (s *site) stream() *stream {
	s.Helper()
	t := s.config.Kafka.Topics
	return s.client(t.Predictions, &stream{group: s.config.Kafka.Group, input: t.Notes, dlq: t.DeadLetters})
}

func (s *site) client(output string, c *stream) *stream {
	s.Helper()
	c.s, c.Client = s, ingesttest.Reader(s, s.config.Kafka.Brokers, output, c.dlq)
	return c
}

// send produces messages to the input.
func (c *stream) send(records ...*kgo.Record) {
	c.s.Helper()
	for _, r := range records {
		r.Topic, r.Context = c.input, nil // a record sent before keeps its context
	}
	ctx, cancel := context.WithTimeout(c.s.Context(), ingesttest.Patience)
	defer cancel()
	if err := c.ProduceSync(ctx, records...).FirstErr(); err != nil {
		c.s.Fatal(err)
	}
}

// until reads answers until done.
func (c *stream) until(what string, done func() bool) {
	c.s.Helper()
	ctx, cancel := context.WithTimeout(c.s.Context(), ingesttest.Patience)
	defer cancel()
	for !done() {
		fetches := c.PollFetches(ctx)
		if err := fetches.Err0(); err != nil {
			c.s.Fatalf("waiting for %s after %d predictions and %d dead letters: %v", what, len(c.predictions),
				len(c.dead), err)
		}
		fetches.EachRecord(func(r *kgo.Record) {
			if r.Topic == c.dlq {
				c.dead = append(c.dead, r)
			} else {
				c.predictions = append(c.predictions, r)
			}
		})
	}
}

// answers reads until there are so many predictions and dead letters.
func (c *stream) answers(n int) {
	c.s.Helper()
	c.until(fmt.Sprintf("%d answers", n), func() bool { return len(c.predictions)+len(c.dead) >= n })
}

// committed returns the sum of the group's offsets.
func (c *stream) committed() int {
	c.s.Helper()
	return ingesttest.Committed(c.s, c.Client, c.group)
}

// topics returns the names of the broker's KafkaTopics, those of the broker itself aside.
func (c *stream) topics() ([]string, error) {
	topics, err := kadm.NewClient(c.Client).ListTopics(c.s.Context())
	return topics.Names(), err
}

// note returns generated note i, with the secret in its text and as its visit.
func note(t *testing.T, i int) msg.Note {
	t.Helper()
	g, err := newGenerator()
	if err != nil {
		t.Fatal(err)
	}
	n := g.At(trainingNotes + i).Note
	n.VisitID = fmt.Sprintf("%s-%d", secret, i)
	n.Text += " " + secret
	return n
}

// record returns the message of a note.
func record(n msg.Note) *kgo.Record {
	return &kgo.Record{Key: []byte(n.VisitID), Value: n.AppendJSON(nil)}
}

// notes returns the messages of notes from to to-1.
func notes(t *testing.T, from, to int) []*kgo.Record {
	t.Helper()
	var records []*kgo.Record
	for i := from; i < to; i++ {
		records = append(records, record(note(t, i)))
	}
	return records
}

var scoredAt = regexp.MustCompile(`"scored_at":"[^"]*"`)

// bare is the bytes of a prediction but for scored_at, all that a repeat may change.
func bare(value []byte) string { return string(scoredAt.ReplaceAll(value, nil)) }

// predicted returns what `predict` prints for notes, by the champions of the store, by visit and bare.
func (s *site) predicted(records []*kgo.Record) map[string]string {
	s.Helper()
	set, err := scoring.Load(s.Context(), s.store, nil)
	if err != nil {
		s.Fatal(err)
	}
	var in, out bytes.Buffer
	for _, r := range records {
		in.Write(r.Value)
		in.WriteByte('\n')
	}
	rules, err := intake.New(s.config.Input)
	if err != nil {
		s.Fatal(err)
	}
	options := classifier.Options{Intake: rules, Limits: classifier.Limits{
		Topics: s.config.Scoring.Topics,
		Terms:  s.config.Scoring.Terms, Words: s.config.Scoring.Words, Evidence: s.config.Scoring.Evidence,
	}, Class: s.config.Predictions.Class}
	if _, err := set.Predict(s.Context(), options, scoring.Batch{Lines: &in, Out: &out}); err != nil {
		s.Fatal(err)
	}
	want := map[string]string{}
	for line := range bytes.Lines(out.Bytes()) {
		line = bytes.TrimSuffix(line, []byte("\n"))
		want[decode(s.T, line).VisitID] = bare(line)
	}
	return want
}

func decode(t *testing.T, value []byte) *msg.Prediction {
	t.Helper()
	p := &msg.Prediction{}
	if err := json.Unmarshal(value, p); err != nil {
		t.Fatalf("the prediction is not JSON: %v", err)
	}
	return p
}

// headers returns a record's headers by name.
func headers(r *kgo.Record) map[string]string {
	h := map[string]string{}
	for _, x := range r.Headers {
		h[x.Key] = string(x.Value)
	}
	return h
}

// get returns status and body of a page of the scorer.
func (s *site) get(path string) (int, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet,
		"http://"+s.config.HTTP.Listen+path, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	res, err := s.http.Do(req)
	if err != nil {
		return 0, err.Error()
	}
	defer res.Body.Close()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, string(body)
}

// metric returns the sum of a metric's values, only of those that have all these label values.
func (s *site) metric(name string, labels ...string) float64 {
	s.Helper()
	return ingesttest.Metric(s, s.registry, name, labels...)
}

// await returns when f is true.
func (s *site) await(what string, f func() bool) {
	s.Helper()
	ingesttest.Await(s, what, f)
}
