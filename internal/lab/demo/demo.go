// Package demo runs the whole product in one process with the embedded broker. It generates notes from a known topic
// model and admission rule, trains on some, streams others, and compares the predictions with the truth.
package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// Options configure a demo.
type Options struct {
	Duration time.Duration `help:"How long to stream, from the first note." default:"10m"`
	Rate     float64       `help:"Notes per second." default:"5"`
	Port     int           `help:"Port for the pages, the API and metrics; if it is in use, a free one." default:"8080"`
	Seed     uint64        `help:"Seed of the generated notes." default:"7"`
	Nights   int           `help:"Simulate this many days instead, with a retraining every night and a rollback at the end." default:"0"`
	Bridge   bool          `help:"Send notes and outcomes as HL7 v2 and FHIR through a bridge."`
	Training int           `kong:"-"` // number of notes to train on; 0 is sample.Notes
	PerDay   int           `kong:"-"` // number of visits on a simulated day; 0 is perDay
	Version  string        `kong:"-"`
	Logger   *slog.Logger  `kong:"-"`
	// Say prints a line, Show prints a prediction, whose JSON is value, and Progress reports the training. They are
	// never called concurrently.
	Say      func(format string, args ...any)      `kong:"-"`
	Show     func(p *msg.Prediction, value []byte) `kong:"-"`
	Progress train.Progress                        `kong:"-"`
}

// Summary is the result of a demo.
type Summary struct {
	Notes  int `json:"notes"` // streamed and answered
	Lost   int `json:"lost"`
	Models int `json:"models"`

	AUROC          *float64 `json:"auroc"`          // of the predictions; null if all outcomes are the same
	TruthAUROC     *float64 `json:"truth_auroc"`    // of the true probabilities: a model can do better only by chance
	MeanError      float64  `json:"mean_error"`     // mean |probability − true probability|
	PerSecond      float64  `json:"per_second"`     // notes answered
	LatencyP50     float64  `json:"latency_p50_ms"` // from sending a note to reading its prediction
	LatencyP99     float64  `json:"latency_p99_ms"`
	TrainingSecs   float64  `json:"training_seconds"`
	FirstAfterSecs float64  `json:"first_prediction_seconds"` // from the start of the program
}

// settle is how long to wait for answers after the last note.
const settle = 10 * time.Second

// Run runs the demo for its duration or until ctx ends, and returns its result, or nil if there was no prediction.
func Run(ctx context.Context, o Options) (_ *Summary, err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "wardcast-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	g, err := synth.New(synth.Settings{Seed: o.Seed, Misspelling: synth.DefaultMisspelling})
	if err != nil {
		return nil, err
	}
	listener, err := listen(ctx, o.Port)
	if err != nil {
		return nil, err
	}
	defer func() { _ = listener.Close() }() // the app has closed it, unless it did not start
	if port := listener.Addr().(*net.TCPAddr).Port; o.Port != 0 && port != o.Port {
		o.Say("Port %d is in use; using %d instead.", o.Port, port)
	}
	cfg := config.Default()
	cfg.Models.Store = filepath.Join(dir, "models")
	cfg.HTTP.Listen = listener.Addr().String()
	o.Say("Open http://%s/ in a browser. The pages appear when the training is done, usually within a minute.",
		cfg.HTTP.Listen)
	done := training(listener.(*net.TCPListener))
	defer done()
	store, notes := models.OpenDir(cfg.Models.Store), cmp.Or(o.Training, sample.Notes)
	o.Say("Training on %d generated notes.", notes)
	trained, err := sample.Train(ctx, g, store, sample.Options{
		Notes: notes, Progress: o.Progress,
		Beds: func(trained *train.Trained) (string, error) { return fitBeds(ctx, g, trained, store) },
	})
	if ctx.Err() != nil {
		return nil, nil // stopped before the first prediction
	}
	if err != nil {
		return nil, err
	}
	cfg.Beds.Available = available()
	s := &Summary{Models: len(trained.Bundles), TrainingSecs: time.Since(began).Seconds()}
	o.Say("Training took %.1f s: a model of all complaints. Complaints with a separate model: %d.",
		s.TrainingSecs, s.Models-1)

	broker, err := embedded.Start(
		embedded.Config{Dir: filepath.Join(dir, "broker"), Listen: "127.0.0.1:0", Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	defer broker.Close()
	cfg.Kafka.Brokers = []string{broker.Addr()}
	done()
	a, err := app.New(ctx, app.Options{
		Config: &cfg, Logger: o.Logger, Registry: app.NewRegistry(o.Version),
		Listener: listener, CreateTopics: true, ShowNotes: true, TopicIndex: filepath.Join(dir, "topics"),
	})
	if err != nil {
		return nil, err
	}
	run := &run{
		Options: o, generator: g, department: newDepartment(o.Seed, o.Rate), config: &cfg, summary: s,
		began: began, sent: map[string]sent{},
	}
	if o.Bridge {
		if run.hospital, err = newHospital(ctx, &cfg, dir); err != nil {
			return nil, err
		}
	}
	// The app ends after the stream has been read, and the folder is deleted last.
	appCtx, stopApp := context.WithCancel(context.WithoutCancel(ctx))
	defer stopApp()
	parts, streamCtx := errgroup.WithContext(ctx)
	parts.Go(func() error { return a.Run(appCtx) })
	if run.hospital != nil {
		parts.Go(func() error { return run.hospital.run(appCtx, &cfg, &o) })
	}
	parts.Go(func() error {
		defer stopApp()
		return run.stream(streamCtx, a)
	})
	if err := parts.Wait(); err != nil {
		return nil, err
	}
	return run.result()
}

// training answers who opens the address before there is a model, until done is called. The listener stays open.
func training(l *net.TCPListener) (done func()) {
	const page = `<!DOCTYPE html><html lang="en"><title>wardcast</title><h1>Training, usually less than a minute</h1>` +
		`<p>The pages appear here when the models are trained.</p></html>`
	s := &http.Server{ReadHeaderTimeout: settle, Handler: http.HandlerFunc(
		func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "text/html; charset=utf-8")
			w.Header().Set("Refresh", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write([]byte(page)) // the browser is gone
		},
	)}
	var serving sync.WaitGroup
	serving.Go(func() { _ = s.Serve(lent{l}) })
	return sync.OnceFunc(func() {
		_ = l.SetDeadline(time.Now()) // ends Accept, for whose end Close waits
		_ = s.Close()
		serving.Wait()
		_ = l.SetDeadline(time.Time{})
	})
}

// lent is a listener that its server does not close.
type lent struct{ *net.TCPListener }

// Close implements net.Listener.
func (lent) Close() error { return nil }

// listen listens on this loopback port, or on a free port if it is in use.
func listen(ctx context.Context, port int) (net.Listener, error) {
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
	if err != nil && port != 0 {
		return listen(ctx, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("looking for a free port: %w", err)
	}
	return l, nil
}

// sent is a note without an answer yet.
type sent struct {
	visit       string
	at          time.Time
	admitted    bool
	probability float64
}

type run struct {
	Options
	generator  *synth.Generator
	department *department
	hospital   *hospital // nil without a bridge
	config     *config.Config
	summary    *Summary
	began      time.Time

	mu        sync.Mutex
	sent      map[string]sent
	y         []bool
	p, truth  []float64
	latencies []float64
	first     time.Time
}

// stream sends notes for the duration or until ctx ends, then waits for the remaining predictions.
func (r *run) stream(ctx context.Context, a *app.App) error {
	if a.Ready(ctx) != nil {
		return nil // stopped while it started
	}
	brokers, topics := r.config.Kafka.Brokers, r.config.Kafka.Topics
	client, err := ingest.NewClient(ingest.Connection{Brokers: brokers}, topics.Notes, topics.Outcomes)
	if err != nil {
		return err
	}
	defer client.Close()
	r.Say("Streaming %g notes/s for %v through the broker at %s. Watch at http://%s/. Stop with Ctrl-C.", r.Rate,
		r.Duration, brokers[0], r.config.HTTP.Listen)
	readCtx, stopReading := context.WithCancel(context.WithoutCancel(ctx))
	defer stopReading()
	var reader errgroup.Group
	reader.Go(func() error {
		return sample.Read(readCtx, brokers, func(m *kafka.Message) error {
			var p msg.Prediction
			if err := json.Unmarshal(m.Value, &p); err != nil {
				return fmt.Errorf("reading a prediction: %w", err)
			}
			r.take(&p, m.Value)
			return nil
		}, topics.Predictions)
	})
	var producer sample.Producer = ingest.NewProducer(client, r.Logger)
	if r.hospital != nil {
		if r.hospital.await(ctx) != nil {
			return nil // stopped while it started
		}
		producer = r.hospital
		r.Say("Notes and outcomes go through a bridge: HL7 v2 by MLLP at %s, FHIR at http://%s/fhir.",
			r.config.Bridge.MLLP.Listen, r.config.Bridge.FHIR.Listen)
	}
	reader.Go(func() error { return r.department.send(readCtx, topics.Outcomes, producer) })
	notes := sample.Stream{
		Topic: topics.Notes, Count: max(1, int(r.Rate*r.Duration.Seconds())), Rate: r.Rate, Message: r.note,
	}
	// A machine that is too slow for the rate sends fewer notes.
	sending, stop := context.WithTimeout(ctx, r.Duration+time.Second)
	defer stop()
	err = notes.Send(sending, producer)
	if sending.Err() != nil {
		err = nil
	}
	for deadline := time.Now().Add(settle); r.waiting() > 0 && time.Now().Before(deadline); {
		_ = wait.For(readCtx, 10*time.Millisecond)
	}
	stopReading()
	return errors.Join(err, reader.Wait())
}

func (r *run) waiting() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.sent)
}

func (r *run) note(i int) *ingest.Output {
	n := r.generator.At(sample.Notes + i)
	r.department.arrive(r.generator, sample.Notes+i, &n.Note)
	r.mu.Lock()
	defer r.mu.Unlock()
	id := n.VisitID
	if r.hospital != nil {
		id = r.hospital.visit(id)
	}
	r.sent[id] = sent{n.VisitID, time.Now(), n.Admitted, n.Probability}
	return &ingest.Output{Key: []byte(n.VisitID), Value: n.AppendJSON(nil)}
}

func (r *run) take(p *msg.Prediction, value []byte) {
	now := time.Now()
	r.mu.Lock()
	defer r.mu.Unlock()
	n, ok := r.sent[p.VisitID]
	if !ok {
		return // a repeat
	}
	delete(r.sent, p.VisitID)
	p.VisitID = n.visit
	if r.first.IsZero() {
		r.first = now
		r.summary.FirstAfterSecs = now.Sub(r.began).Seconds()
	}
	r.y, r.p, r.truth = append(r.y, n.admitted), append(r.p, p.Admission()), append(r.truth, n.probability)
	r.latencies = append(r.latencies, float64(now.Sub(n.at))/float64(time.Millisecond))
	r.summary.PerSecond = float64(len(r.p)) / max(now.Sub(r.first).Seconds(), 1/r.Rate)
	r.Show(p, value)
}

func (r *run) result() (*Summary, error) {
	s := r.summary
	s.Notes, s.Lost = len(r.p), len(r.sent)
	if s.Notes == 0 {
		return nil, nil
	}
	for i := range r.p {
		s.MeanError += math.Abs(r.p[i]-r.truth[i]) / float64(s.Notes)
	}
	latency := sample.Quantiles(r.latencies)
	s.LatencyP50, s.LatencyP99 = latency.P50, latency.P99
	auroc, _, err := eval.AUROC(r.y, r.p, nil)
	if errors.Is(err, eval.ErrOneClass) {
		return s, nil // too few notes
	}
	if err != nil {
		return nil, fmt.Errorf("measuring predictions: %w", err)
	}
	truth, _, err := eval.AUROC(r.y, r.truth, nil)
	if err != nil {
		return nil, fmt.Errorf("measuring the truth: %w", err)
	}
	s.AUROC, s.TruthAUROC = &auroc, &truth
	return s, nil
}
