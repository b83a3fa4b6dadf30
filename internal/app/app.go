package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"net"
	"net/http"
	"os"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/internal/config"
	"github.com/wardcast/wardcast/internal/httpapi"
	"github.com/wardcast/wardcast/internal/scoring"
	"github.com/wardcast/wardcast/models"
)

// Options is what an App is made of.
type Options struct {
	Config   *config.Config
	Logger   *slog.Logger
	Registry *prometheus.Registry
	// EmbeddedBroker is the folder of a broker in this process, on the first of the configured addresses; "" is
	// none.
	EmbeddedBroker string
	// CreateTopics makes the KafkaTopics that do not exist.
	CreateTopics bool
	// Insecure allows listening on addresses that other machines reach: nothing here has TLS or a login.
	Insecure bool
}

// App is a scorer with all that belongs to it.
type App struct {
	Options
	store    models.Store
	handler  *Handler
	metrics  *modelMetrics
	consumer *ingest.Consumer
	client   *ingest.Client
}

// New loads the champions and returns an App. It opens no connection and no port.
func New(ctx context.Context, o Options) (*App, error) {
	c := o.Config
	listens := []string{c.HTTP.Listen}
	if o.EmbeddedBroker != "" {
		listens = append(listens, c.Kafka.Brokers[0])
	}
	if err := CheckListen(o.Insecure, listens...); err != nil {
		return nil, err
	}
	connection, err := Connection(&c.Kafka)
	if err != nil {
		return nil, err
	}
	a := &App{Options: o, store: models.OpenDir(c.Models.Store)}
	set, err := a.load(ctx)
	if errors.Is(err, scoring.ErrNoChampion) {
		return nil, fmt.Errorf("%w %q: train one with `wardcast train --model-dir %s`", err, c.Models.Store, c.Models.Store)
	}
	if err != nil {
		return nil, err
	}
	if a.metrics, err = newModelMetrics(o.Registry); err != nil {
		return nil, err
	}
	a.use(set)
	limits := classifier.Limits{Topics: c.Scoring.Topics, Terms: c.Scoring.Terms, Words: c.Scoring.Words}
	a.handler = NewHandler(set, classifier.Options{Limits: limits, Class: c.Predictions.Class}, c.Scoring.Source)
	if a.handler.metrics, err = newPredictionMetrics(o.Registry); err != nil {
		return nil, err
	}
	topics := c.Kafka.Topics
	a.consumer, err = ingest.New(ingest.Config{
		Connection: connection, Group: c.Kafka.Group,
		Input: topics.Notes, Output: topics.Predictions, DeadLetters: topics.DeadLetters,
		Handler: a.handler, Logger: o.Logger, Registerer: o.Registry, SessionTimeout: c.Kafka.SessionTimeout, Compression: c.Kafka.Compression,
	})
	if err != nil {
		return nil, fmt.Errorf("configuring the consumer: %w", err)
	}
	if a.client, err = ingest.NewClient(connection); err != nil {
		return nil, fmt.Errorf("configuring the client: %w", err)
	}
	return a, nil
}

// Connection returns how to reach the brokers, with the password read from where it is kept.
func Connection(k *config.Kafka) (ingest.Connection, error) {
	c := ingest.Connection{Brokers: k.Brokers, TLS: ingest.TLS(k.TLS), SASL: ingest.SASL{Mechanism: k.SASL.Mechanism, User: k.SASL.Username}}
	switch {
	case k.SASL.PasswordFile != "":
		password, err := os.ReadFile(k.SASL.PasswordFile)
		if err != nil {
			return c, fmt.Errorf("reading kafka.sasl.password_file: %w", err)
		}
		c.SASL.Password = ingest.Secret(strings.TrimRight(string(password), "\r\n"))
	case k.SASL.PasswordEnv != "":
		password, ok := os.LookupEnv(k.SASL.PasswordEnv)
		if !ok {
			return c, fmt.Errorf("kafka.sasl.password_env: the environment variable %s is not set", k.SASL.PasswordEnv)
		}
		c.SASL.Password = ingest.Secret(password)
	}
	return c, nil
}

// CheckListen returns an error for an address that other machines reach, unless insecure allows it. An empty
// address is off.
func CheckListen(insecure bool, addresses ...string) error {
	for _, address := range addresses {
		if address != "" && !insecure && !loopback(address) {
			return fmt.Errorf("listening on %s would be open to other machines, without TLS or login: use a loopback address, or --insecure", address)
		}
	}
	return nil
}

// Check returns what is wrong with a configuration beyond its values: files that cannot be read, a password that
// is not there.
func Check(c *config.Config) error {
	connection, err := Connection(&c.Kafka)
	if err != nil {
		return err
	}
	client, err := ingest.NewClient(connection)
	if err != nil {
		return err
	}
	client.Close()
	return nil
}

// loopback reports whether only this machine reaches an address.
func loopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	if err != nil {
		return false
	}
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// Run scores until ctx ends; then it drains, commits and returns nil. It returns the error of the first part
// that cannot go on.
func (a *App) Run(ctx context.Context) error {
	if a.EmbeddedBroker != "" {
		broker, err := embedded.Start(embedded.Config{Dir: a.EmbeddedBroker, Listen: a.Config.Kafka.Brokers[0], Logger: a.Logger.With("component", "broker")})
		if err != nil {
			return fmt.Errorf("starting the embedded broker: %w", err)
		}
		// The broker goes last: the consumer drains into it.
		defer broker.Close()
	}
	defer a.client.Close()
	if err := a.topics(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	if listen := a.Config.HTTP.Listen; listen != "" {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
		if err != nil {
			return fmt.Errorf("listening for http: %w", err)
		}
		parts.Go(func() error { return a.serveHTTP(ctx, l) })
	}
	parts.Go(func() error { return a.consumer.Run(ctx) })
	parts.Go(func() error { a.reload(ctx); return nil })
	parts.Go(func() error { a.announce(ctx); return nil })
	return parts.Wait()
}

// createPause is how long to wait before topics are made again.
const createPause = time.Second

// topics makes the KafkaTopics, where that is asked for; the consumer checks that they are there.
func (a *App) topics(ctx context.Context) error {
	if !a.CreateTopics {
		return nil
	}
	if err := a.client.Await(ctx, a.Logger); err != nil {
		return fmt.Errorf("waiting for a broker: %w", err)
	}
	t := a.Config.Kafka.Topics
	for {
		err := a.client.CreateTopics(ctx, ingest.Topic{Name: t.Notes}, ingest.Topic{Name: t.Outcomes}, ingest.Topic{Name: t.Predictions}, ingest.Topic{Name: t.DeadLetters, MaxMessageBytes: ingest.DeadLetterMaxMessageBytes})
		var passing interface{ Temporary() bool }
		if !errors.As(err, &passing) || !passing.Temporary() {
			return err
		}
		// A cluster that has just begun has no controller yet.
		a.Logger.WarnContext(ctx, "topics cannot be made yet", "err", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(createPause):
		}
	}
}

// readyInterval is how often the consumer is asked whether it has joined.
const readyInterval = 20 * time.Millisecond

// Ready waits until notes are consumed, or returns the error of ctx.
func (a *App) Ready(ctx context.Context) error {
	tick := time.NewTicker(readyInterval)
	defer tick.Stop()
	for !a.consumer.Ready() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return nil
}

// announce logs "ready" once notes are consumed.
func (a *App) announce(ctx context.Context) {
	if a.Ready(ctx) == nil {
		a.Logger.InfoContext(ctx, "ready", "kafka_topic", a.Config.Kafka.Topics.Notes, "group", a.Config.Kafka.Group, "models", len(a.handler.set.Load().Models()), "http", a.Config.HTTP.Listen)
	}
}

// errJoining is the reason of a scorer that is not ready.
var errJoining = errors.New("the consumer has not joined its group")

// httpTimeout bounds a request; shutdownTimeout what is left of them at the end.
const (
	httpTimeout     = 10 * time.Second
	shutdownTimeout = 2 * time.Second
)

func (a *App) serveHTTP(ctx context.Context, l net.Listener) error {
	ready := func() error {
		if !a.consumer.Ready() {
			return errJoining
		}
		return nil
	}
	server := &http.Server{Handler: httpapi.New(a.Registry, ready), ReadTimeout: httpTimeout, WriteTimeout: httpTimeout, IdleTimeout: time.Minute, ErrorLog: slog.NewLogLogger(a.Logger.Handler(), slog.LevelWarn)}
	down := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), shutdownTimeout)
		defer cancel()
		if server.Shutdown(bounded) != nil {
			_ = server.Close() // cuts off what took too long
		}
	})
	err := server.Serve(l)
	if stop() { // it ended by itself
		return fmt.Errorf("serving http: %w", err)
	}
	<-down
	return nil
}

// load reads the champions, of which one must know the class that is asked for.
func (a *App) load(ctx context.Context) (*scoring.Set, error) {
	set, err := scoring.Load(ctx, a.store)
	if err != nil {
		return nil, err
	}
	if err := set.CheckClass(a.Config.Predictions.Class); err != nil {
		return nil, fmt.Errorf("predictions.class: %w", err)
	}
	return set, nil
}

// use tells log and metrics of the set in use.
func (a *App) use(set *scoring.Set) {
	a.metrics.use(set)
	for name, model := range set.Models() {
		for _, c := range model.Aux() {
			if !scoring.HasField(c.Name) {
				a.Logger.Warn("auxiliary column is no field of a note and counts as missing", "model", name, "column", c.Name)
			}
		}
	}
}

// reload takes up new champions as the store changes. A set that cannot be read is refused, and the running
// one stays; it is tried again, for a copy may not have come whole yet.
func (a *App) reload(ctx context.Context) {
	tick := time.NewTicker(a.Config.Models.Poll)
	defer tick.Stop()
	refused := "" // why, so that one failure is one log line
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		versions, err := a.store.Champions(ctx)
		if err == nil && maps.Equal(versions, a.handler.set.Load().Versions()) {
			refused = ""
			continue
		}
		var set *scoring.Set
		if err == nil {
			set, err = a.load(ctx)
		}
		if ctx.Err() != nil {
			return
		}
		if err != nil {
			a.metrics.reloads.WithLabelValues(resultFailed).Inc()
			if why := err.Error(); why != refused {
				a.Logger.ErrorContext(ctx, "new champions refused, the running ones stay", "err", err)
				refused = why
			}
			continue
		}
		refused = ""
		a.handler.set.Store(set)
		a.use(set)
		a.Logger.InfoContext(ctx, "new champions in use", "models", len(set.Models()))
	}
}
