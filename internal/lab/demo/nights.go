package demo

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/app"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/replay"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/retrain"
	"github.com/wardcast/wardcast/models/train"
)

const (
	perDay  = 2000 // visits, as in a group of hospitals: three days must be enough for a retraining
	scorers = 2
	day     = 24 * time.Hour
)

// begin is the day before the first simulated one.
var begin = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)

// built describes the change that is built into each day. Everything else follows from the notes, outcomes and gate.
var built = []string{
	1: "a new interface: notes come in capitals, under a header",
	2: "a bad day: every visit of the day gets the outcome of the next visit",
	3: "a ward has closed: the log-odds of every admission fall by 1",
}

// changing returns the settings of the generator for the changes in built.
func changing(seed uint64, perDay int) synth.Settings {
	return synth.Settings{
		Seed: seed, Start: begin, Interval: day / time.Duration(perDay), Misspelling: synth.DefaultMisspelling,
		Changes: synth.Changes{Template: begin.Add(day), Shift: -1, ShiftFrom: begin.Add(3 * day)},
		Labels:  synth.Labels{Delay: time.Hour, Revised: 0.01, BadDay: begin.Add(2 * day)},
	}
}

// Night is the result of a night. Night 0 makes the first models; the last one is the rollback.
type Night struct {
	Night    int           `json:"night"`
	Date     string        `json:"date"` // of the day before
	BuiltIn  string        `json:"built_in,omitempty"`
	Decision gate.Decision `json:"decision,omitempty"` // none for the rollback
	Reason   string        `json:"reason"`
	// Later counts the notes that the gate judged by, Events the admissions among them.
	Later      int              `json:"later_notes,omitempty"`
	Events     int              `json:"later_admissions,omitempty"`
	Champion   *Worth           `json:"champion,omitempty"`
	Challenger *Worth           `json:"challenger,omitempty"`
	Alignment  *train.Alignment `json:"alignment,omitempty"` // topics of the challenger that keep their number
	Generation string           `json:"generation"`          // served from now on
	// SwapSeconds is the time from the change in the store until every partition has an answer by the new generation;
	// null if nothing changed or no scorer ran yet.
	SwapSeconds *float64 `json:"swap_seconds"`
	Notes       int      `json:"notes"`    // sent since the night before
	Lost        int      `json:"lost"`     // notes without a prediction
	Repeated    int      `json:"repeated"` // predictions beyond one for each note
}

// Worth is the quality of models on the later notes.
type Worth struct {
	LogLoss float64  `json:"log_loss"`
	AUROC   *float64 `json:"auroc"`
}

// Nights is the result of RunNights.
type Nights struct {
	Notes    int            `json:"notes"` // sent
	Answered int            `json:"answered"`
	Lost     int            `json:"lost"`
	Repeated int            `json:"repeated"`
	By       map[string]int `json:"answered_by"` // generation
	Seconds  float64        `json:"seconds"`
}

// RunNights simulates o.Nights days of a hospital in one process: notes and outcomes go through the embedded broker,
// two scorers answer, and every night a retraining reads both topics. At the end the last change is rolled back. An
// error of onNight, called after each night, ends the run. The result is nil if ctx ended before.
func RunNights(ctx context.Context, o Options, onNight func(*Night) error) (_ *Nights, err error) {
	began := time.Now()
	dir, err := os.MkdirTemp("", "wardcast-demo-")
	if err != nil {
		return nil, fmt.Errorf("making a folder: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	o.PerDay = cmp.Or(o.PerDay, perDay)
	g, err := synth.New(changing(o.Seed, o.PerDay))
	if err != nil {
		return nil, err
	}
	broker, err := embedded.Start(
		embedded.Config{Dir: filepath.Join(dir, "broker"), Listen: "127.0.0.1:0", Logger: o.Logger})
	if err != nil {
		return nil, err
	}
	defer broker.Close()
	cfg := config.Default()
	cfg.Kafka.Brokers, cfg.HTTP.Listen = []string{broker.Addr()}, ""
	cfg.Models.Store = filepath.Join(dir, "models")
	client, err := ingest.NewClient(ingest.Connection{Brokers: cfg.Kafka.Brokers}, cfg.KafkaTopics()...)
	if err != nil {
		return nil, err
	}
	defer client.Close()
	s := &simulation{
		Options: o, generator: g, config: &cfg, client: client,
		producer: ingest.NewProducer(client, o.Logger),
		store:    models.OpenDir(cfg.Models.Store), onNight: onNight,
		ledger: &ledger{
			waiting: map[string]bool{}, answered: map[string]bool{}, by: map[version]int{},
			brought: map[version]string{},
		},
	}
	if err := s.run(ctx); err != nil || ctx.Err() != nil {
		if ctx.Err() != nil {
			err = nil // stopped
		}
		return nil, err
	}
	n := s.ledger.total()
	n.Seconds = time.Since(began).Seconds()
	return n, nil
}

type simulation struct {
	Options
	generator *synth.Generator
	config    *config.Config
	client    *ingest.Client
	producer  *ingest.Producer
	store     *models.Store
	onNight   func(*Night) error
	ledger    *ledger
	sent      int    // notes
	served    string // generation
	outcomes  []synth.Outcome
}

// run makes the first models from the day before, starts the scorers and simulates the days.
func (s *simulation) run(ctx context.Context) (err error) {
	topics := s.config.Kafka.Topics
	if err := s.client.CreateTopics(ctx, ingest.Topic{Name: topics.Notes}, ingest.Topic{Name: topics.Outcomes},
		ingest.Topic{Name: topics.Predictions}); err != nil {
		return err
	}
	if s.outcomes, err = s.generator.Log(ctx, (s.Nights+2)*s.PerDay); err != nil {
		return err
	}
	s.Say("%d visits a day, %d scorers, a retraining every night.", s.PerDay, scorers)
	first := &Night{}
	if err := s.day(ctx, first); err != nil {
		return err
	}
	if _, err := s.retrain(ctx, first); err != nil {
		return err
	}
	// The scorers and the reader end after the last night, before the broker.
	partsCtx, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	parts, nightsCtx := errgroup.WithContext(ctx)
	ready, err := s.start(partsCtx, parts)
	if err != nil {
		return err
	}
	parts.Go(func() error {
		defer stop()
		for _, a := range ready {
			if err := a.Ready(nightsCtx); err != nil {
				return err
			}
		}
		return s.nights(nightsCtx, first)
	})
	return parts.Wait()
}

func (s *simulation) start(ctx context.Context, parts *errgroup.Group) (all []*app.App, err error) {
	for range scorers {
		a, err := app.New(ctx,
			app.Options{Config: s.config, Logger: s.Logger, Registry: app.NewRegistry(s.Version), CreateTopics: true})
		if err != nil {
			return nil, err
		}
		all = append(all, a)
	}
	for _, a := range all {
		parts.Go(func() error { return a.Run(ctx) })
	}
	parts.Go(func() error {
		return sample.Read(ctx, s.config.Kafka.Brokers, s.ledger.take, s.config.Kafka.Topics.Predictions)
	})
	return all, nil
}

func (s *simulation) nights(ctx context.Context, first *Night) error {
	if err := s.settle(ctx, first); err != nil {
		return err
	}
	for i := 1; i <= s.Nights; i++ {
		n := &Night{Night: i}
		if i < len(built) {
			n.BuiltIn = built[i]
		}
		if err := s.day(ctx, n); err != nil {
			return err
		}
		if err := s.awake(ctx, func() (bool, error) { return s.retrain(ctx, n) }, n); err != nil {
			return err
		}
	}
	last := &Night{Night: s.Nights + 1, Reason: "the demo takes the last change back"}
	return s.awake(ctx, func() (bool, error) { return s.rollback(ctx, last) }, last)
}

// day sends the remaining notes of the day, and the outcomes recorded until midnight.
func (s *simulation) day(ctx context.Context, n *Night) error {
	midnight := begin.Add(time.Duration(n.Night+1) * day)
	n.Date = midnight.Add(-day).Format(time.DateOnly)
	if err := s.send(ctx, (n.Night+1)*s.PerDay-s.sent, 0); err != nil {
		return err
	}
	due := 0
	for due < len(s.outcomes) && !s.outcomes[due].Recorded.After(midnight) {
		due++
	}
	stream := sample.Stream{Topic: s.config.Kafka.Topics.Outcomes, Count: due, Message: func(i int) *ingest.Output {
		o := &s.outcomes[i]
		return &ingest.Output{Key: []byte(o.VisitID), Value: o.AppendJSON(nil)}
	}}
	if err := stream.Send(ctx, s.producer); err != nil {
		return err
	}
	s.outcomes = s.outcomes[due:]
	return nil
}

// send sends the next notes at a rate (0: as fast as possible). It ends early with ctx.
func (s *simulation) send(ctx context.Context, count int, rate float64) error {
	stream := sample.Stream{
		Topic: s.config.Kafka.Topics.Notes, Count: count, Rate: rate, Message: func(int) *ingest.Output {
			n := s.generator.At(s.sent)
			s.sent++
			s.ledger.sent(n.VisitID)
			return &ingest.Output{Key: []byte(n.VisitID), Value: n.AppendJSON(nil)}
		},
	}
	return stream.Send(ctx, s.producer)
}

// awake sends notes of the next day, or days on a slow machine, while change runs and until the scorers have loaded the
// result. change reports whether another generation is served.
func (s *simulation) awake(ctx context.Context, change func() (bool, error), n *Night) error {
	sending, stop := context.WithCancel(ctx)
	defer stop()
	var notes errgroup.Group
	notes.Go(func() error {
		if err := s.send(sending, math.MaxInt, s.Rate); sending.Err() == nil {
			return err
		}
		return nil // enough
	})
	changed, err := change()
	if err == nil && changed {
		err = s.swapped(ctx, n)
	}
	stop()
	if err = errors.Join(err, notes.Wait()); err != nil {
		return err
	}
	return s.settle(ctx, n)
}

// retrain retrains like `wardcast retrain`, and reports whether another generation is served.
func (s *simulation) retrain(ctx context.Context, n *Night) (changed bool, err error) {
	topics := s.config.Kafka.Topics
	if err := s.store.Create(ctx); err != nil {
		return false, err
	}
	job := retrain.Job{
		Source: &replay.Source{
			Client: s.client, NoteTopic: topics.Notes, OutcomeTopic: topics.Outcomes, Logger: s.Logger,
		},
		Settings: retrain.Settings{AsOf: begin.Add(time.Duration(n.Night+1) * day), Aux: sample.Aux()},
		Fit:      retrain.DefaultFit(), Version: s.Version, Progress: s.Progress,
		Gatekeeper: train.Gatekeeper{Store: s.store, Gate: gate.Default(), By: "demo", Command: "wardcast demo"},
		Previous:   train.Previous(s.store, s.Logger),
	}
	r, err := job.Run(ctx)
	if err != nil {
		return false, fmt.Errorf("night %d: %w", n.Night, err)
	}
	v := r.Promotion.Verdict
	n.Decision, n.Reason, n.Alignment = v.Decision, v.Reason, r.Trained.Outcomes[0].Alignment
	if c := v.Figures.Challenger; c != nil {
		n.Later, n.Events, n.Challenger = c.N, c.Positives, worth(c)
	}
	if c := v.Figures.Champion; c != nil {
		n.Champion = worth(c)
	}
	return r.Promotion.Served != nil, s.serving(ctx, n)
}

// rollback takes the last change back and reports whether there was one.
func (s *simulation) rollback(ctx context.Context, n *Night) (changed bool, err error) {
	err = s.store.Rollback(ctx, models.Change{From: s.served, By: "demo", Why: n.Reason, Command: "wardcast demo"})
	if errors.Is(err, models.ErrNotFound) {
		n.Reason = "nothing to take back: only one generation was served"
	} else if err != nil {
		return false, err
	}
	return err == nil, s.serving(ctx, n)
}

// serving records the served generation in the night and, if it changed, in the ledger.
func (s *simulation) serving(ctx context.Context, n *Night) error {
	g, err := s.store.Champion(ctx)
	if err != nil {
		return err
	}
	history, err := s.store.History(ctx)
	if err != nil {
		return err
	}
	if n.Generation = g.Name; s.served != g.Name {
		s.ledger.serve(g, history[len(history)-1].Time)
	}
	s.served = g.Name
	return nil
}
