// Package app is the process that `wardcast serve` runs: a consumer for each configured stream (triage notes, responses
// to questionnaires), the models that score, their reload, and the HTTP endpoints. Call New, then Run. docs/metrics.md
// lists the metrics; those of a stream and its models have a label stream (triage or questionnaires).
package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/traces"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models/report"
)

// Options configure an App.
type Options struct {
	Config   *config.Config
	Logger   *slog.Logger
	Registry *prometheus.Registry
	Version  string // of the program
	// Listener serves HTTP in place of Config.HTTP.Listen, unless it is nil. Run closes it.
	Listener net.Listener
	// EmbeddedBroker is the folder of a broker in this process, on the first configured address; "" for none.
	EmbeddedBroker string
	CreateTopics   bool   // create missing KafkaTopics
	TopicIndex     string // folder for the index of topics; "" for one in the user's cache
	ShowNotes      bool   // show the text of notes on the pages
	Insecure       bool   // allow non-loopback addresses without TLS and tokens

	labelInterval, shadowTimeout, verifyEvery time.Duration // set by tests; 0 is the constant of the name
}

// App scores the configured streams.
type App struct {
	Options
	streams []*stream
	tasks   []task // alongside the streams
	client  *ingest.Client
	pulse   pulse
	web     *web              // nil if HTTP is off
	demand  *bedstream.Demand // nil if no notes are scored
	traces  *traces.Traces
}

// New loads the models and returns an App. It opens no connection and no port.
func New(ctx context.Context, o Options) (*App, error) {
	c := o.Config
	if o.EmbeddedBroker != "" {
		if err := CheckListen(o.Insecure, c.Kafka.Brokers[0]); err != nil {
			return nil, err
		}
	}
	if err := checkHTTP(&c.HTTP, o.Insecure); err != nil {
		return nil, err
	}
	connection, err := c.Kafka.Connection()
	if err != nil {
		return nil, err
	}
	connection.Logger = o.Logger
	client, err := ingest.NewClient(connection, c.KafkaTopics()...)
	if err != nil {
		return nil, fmt.Errorf("configuring the client: %w", err)
	}
	a := &App{Options: o, client: client}
	o.Registry = prometheus.NewRegistry() // of new metrics; the caller's may have them already
	if c.Models.Store != "" {
		if err := a.scoreNotes(ctx, &o); err != nil {
			return nil, err
		}
	}
	if q := c.Questionnaires; len(q.Models) > 0 {
		s, err := newQuestionnaires(ctx, c, o.Registry)
		if err != nil {
			return nil, err
		}
		a.streams = append(a.streams, &stream{
			source: s, name: "questionnaires", noun: "response", group: q.Group, input: q.Topics.Responses,
			output: q.Topics.Scores, deadLetters: q.Topics.DeadLetters, begun: make(chan struct{}),
		})
	}
	if c.HTTP.Listen != "" || o.Listener != nil {
		if a.web, err = newWeb(a, o.Registry); err != nil {
			return nil, err
		}
	}
	if a.traces, err = traces.New(&c.Traces, o.Version, o.Logger, o.Registry); err != nil {
		return nil, err
	}
	for _, s := range a.streams {
		if err := s.open(&o, connection, a.traces.Tracer()); err != nil {
			return nil, err
		}
	}
	if err := a.Registry.Register(o.Registry); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return a, nil
}

// scoreNotes adds the stream of triage notes and what watches it.
func (a *App) scoreNotes(ctx context.Context, o *Options) error {
	t, err := newTriage(ctx, o)
	if err != nil {
		return err
	}
	topics := o.Config.Kafka.Topics
	s := &stream{
		source: t, name: "triage", noun: "note", group: o.Config.Kafka.Group, input: topics.Notes,
		output: topics.Predictions, deadLetters: topics.DeadLetters, begun: make(chan struct{}),
	}
	a.streams = append(a.streams, s)
	list := &champions{
		client: a.client, topic: topics.Models, source: o.Config.Scoring.Source, stream: s, triage: t,
		log: o.Logger.With("component", "champions"),
	}
	t.verification = &verification{triage: t, stream: s}
	a.tasks = append(a.tasks, task{
		name: "verification", without: "damage to the files of the models in use is found at the next start",
		run: func(ctx context.Context) error {
			return t.verification.run(ctx, cmp.Or(a.verifyEvery, verifyEvery))
		},
	}, task{
		name: "list of champions", without: fmt.Sprintf("new models are found by looking into the store every %v",
			o.Config.Models.Poll), run: list.run,
	})
	if o.Config.Shadow.Generation != "" {
		t.shadow = newShadow(o, t)
		t.shadow.producer = ingest.NewProducer(a.client, t.shadow.log)
		a.tasks = append(a.tasks,
			task{name: "shadow", without: "no challenger scores in the shadow", run: func(ctx context.Context) error {
				return t.shadow.run(ctx, o.Config.Models.Poll)
			}})
	}
	labels, err := newLabels(a.client, o)
	if err != nil {
		return err
	}
	demand, forecasts, err := newBeds(a.client, o, t, s.begun)
	if err != nil {
		return err
	}
	a.demand = demand
	a.tasks = append(append(a.tasks, labels...), forecasts...)
	return nil
}

// CheckListen returns an error for a non-loopback address unless insecure. An empty address is off.
func CheckListen(insecure bool, addresses ...string) error {
	for _, address := range addresses {
		if address != "" && !insecure && !config.Loopback(address) {
			return fmt.Errorf("listening on %s: the broker has neither TLS nor a login; non-loopback addresses "+
				"require --insecure", address)
		}
	}
	return nil
}

// Check returns the errors of a configuration beyond its values: unreadable files, a missing password, a store with a
// damaged champion, models of questionnaires that cannot score. It warns in log, like New, also of a store without a
// champion.
func Check(ctx context.Context, c *config.Config, log *slog.Logger) error {
	connection, err := c.Kafka.Connection()
	if err == nil {
		_, err = ingest.NewClient(connection) // reads the files
	}
	if err != nil {
		return err
	}
	if session := c.Kafka.SessionTimeout; session < ingest.DefaultSessionTimeout {
		log.WarnContext(ctx, "kafka.session_timeout is below what brokers accept by default: their "+
			"group.min.session.timeout.ms must be as low", "session_timeout", session.String(), "default_minimum",
			ingest.DefaultSessionTimeout.String())
	}
	var triageErr error
	if c.Models.Store != "" {
		var t *triage
		t, triageErr = newTriage(ctx, &Options{Config: c, Logger: log, Registry: prometheus.NewRegistry()})
		if which := c.Shadow.Generation; which != "" && triageErr == nil {
			if _, err := loadChallenger(ctx, t.store, which, nil, t.set()); err != nil {
				triageErr = fmt.Errorf("shadow.generation: %w", err)
			}
		}
	}
	_, siteErr := report.ReadSite(c.Retrain.Site)
	_, err = newQuestionnaires(ctx, c, nil)
	_, httpErr := newListening(&c.HTTP, log)
	if open := checkHTTP(&c.HTTP, false); open != nil && httpErr == nil {
		log.WarnContext(ctx, "serve requires --insecure", "err", open)
	}
	return errors.Join(triageErr, siteErr, err, httpErr, traces.Check(&c.Traces, log))
}

// Run scores until ctx ends; then it drains, commits and returns nil. If a part cannot go on, Run returns its error.
func (a *App) Run(ctx context.Context) error {
	if a.EmbeddedBroker != "" {
		broker, err := embedded.Start(embedded.Config{
			Dir: a.EmbeddedBroker, Listen: a.Config.Kafka.Brokers[0], Logger: a.Logger.With("component", "broker"),
		})
		if err != nil {
			return fmt.Errorf("starting the embedded broker at kafka.brokers: %w", err)
		}
		// The broker stops last: the consumer drains into it.
		defer broker.Close()
	}
	defer a.client.Close()
	defer a.traces.Close()
	parts, ctx := errgroup.WithContext(ctx)
	if listen := a.Config.HTTP.Listen; listen != "" && a.Listener == nil {
		var err error
		if a.Listener, err = new(net.ListenConfig).Listen(ctx, "tcp", listen); err != nil {
			return fmt.Errorf("http.listen: %w", err)
		}
	}
	// HTTP serves from before the first broker answers until the last note is done, for probes and people.
	served, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	if a.Listener != nil {
		parts.Go(func() error { return a.web.serve(served, a.Listener) })
		parts.Go(func() error { return a.web.monitor.Run(ctx) })
		parts.Go(func() error { a.pulse.run(ctx, a.client); return nil })
		if topics := a.web.topics; topics != nil {
			defer topics.close() // after the last request
			parts.Go(func() error { topics.run(ctx); return nil })
		}
	}
	parts.Go(func() error {
		defer stop()
		return a.score(ctx)
	})
	for _, s := range a.streams {
		parts.Go(func() error { s.reload(ctx, a.Config.Models.Poll); return nil })
	}
	parts.Go(func() error { a.announce(ctx); return nil })
	return parts.Wait()
}

// score runs the streams and tasks until ctx ends and the streams have drained.
func (a *App) score(ctx context.Context) error {
	err := a.topics(ctx)
	if err == nil {
		err = a.checkTopics(ctx)
	}
	if ctx.Err() != nil {
		return nil //nolint:nilerr // It was stopped before it began.
	}
	if err != nil {
		return err
	}
	began := make(chan time.Time, 1)
	unregister := context.AfterFunc(ctx, func() {
		a.Logger.Info("draining: answering and committing the notes in progress")
		began <- time.Now()
	})
	parts, inner := errgroup.WithContext(ctx)
	for _, s := range a.streams {
		parts.Go(func() error { return s.consume(inner) })
		a.tasks = append(a.tasks, task{
			name: "dead letters of " + s.name, without: "their number is not known",
			run: func(ctx context.Context) error {
				return s.letters.Run(ctx, &deadletter.Box{Client: a.client, Topic: s.deadLetters, Logger: s.log})
			},
		})
	}
	for _, t := range a.tasks {
		parts.Go(func() error { runTask(inner, a.Logger, t); return nil })
	}
	if err := parts.Wait(); err != nil {
		unregister()
		return err
	}
	a.Logger.Info("drained", "took", time.Since(<-began).Round(time.Millisecond).String())
	return nil
}

func (a *App) topics(ctx context.Context) error {
	if !a.CreateTopics {
		return nil
	}
	topics := lists.Map(a.Config.TopicUses(), func(u config.TopicUse) ingest.Topic { return u.Topic })
	return a.client.EnsureTopics(ctx, a.Logger, topics...)
}

// checkTopics waits for a broker and returns an error that names the missing KafkaTopics of all streams before any
// stream joins its group: a member that joins and leaves moves the partitions of other scorers. Each stream handles
// other errors itself, so that the others need not wait.
func (a *App) checkTopics(ctx context.Context) error {
	var names []string
	for _, s := range a.streams {
		names = append(names, s.input, s.output, s.deadLetters)
	}
	if err := a.client.Await(ctx, a.Logger); err != nil {
		return err
	}
	if missing, ok := errors.AsType[*ingest.MissingTopicsError](a.client.CheckTopics(ctx, names...)); ok {
		return missing
	}
	return nil
}

// Ready waits until all streams are consumed, or returns the error of ctx.
func (a *App) Ready(ctx context.Context) error {
	for a.joined() != nil {
		if !wait.For(ctx, 20*time.Millisecond) {
			return ctx.Err()
		}
	}
	return nil
}

func (a *App) announce(ctx context.Context) {
	if a.Ready(ctx) != nil {
		return
	}
	var facts []any
	for _, s := range a.streams {
		facts = append(facts,
			slog.Group(s.name, append([]any{"kafka_topic", s.input, "group", s.group}, s.using()...)...))
	}
	a.Logger.InfoContext(ctx, "ready", append(facts, "http", a.Config.HTTP.Listen)...)
}

// joined returns an error that names the first stream that is not consumed yet, or nil.
func (a *App) joined() error {
	for _, s := range a.streams {
		if err := s.check(); err != nil {
			return fmt.Errorf("%s: %w", s.name, err)
		}
	}
	return nil
}
