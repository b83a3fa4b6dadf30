package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"runtime"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/wait"
)

const (
	// rebalanceTimeout is how long brokers wait for a member when partitions move: one heartbeat until it learns of it,
	// and drainTimeout.
	rebalanceTimeout = 30 * time.Second
	// drainTimeout bounds the end of a generation, and produceTimeout its last writes.
	drainTimeout   = 20 * time.Second
	produceTimeout = 18 * time.Second
	leaveTimeout   = 25 * time.Second // of Run, when it ends
)

// Limits and default of Config.SessionTimeout. Brokers accept at least 6 s by default. The upper limit bounds the wait
// for the partitions of a killed member.
const (
	MinSessionTimeout     = time.Second
	MaxSessionTimeout     = 10 * time.Second
	DefaultSessionTimeout = 6 * time.Second
)

// Config says what a Consumer reads, who answers and where answers go.
type Config struct {
	Connection                 Connection
	Group                      string // name of the consumer group
	Input, Output, DeadLetters string // different KafkaTopics

	Handler Handler
	Logger  *slog.Logger
	// Published, unless nil, gets the value of each record and of its answer once all in-sync replicas have it, from
	// the goroutine of its partition. It must neither block nor keep the values.
	Published func(record, answer []byte)
	// Registerer takes the metrics; may be nil. It must not have them already.
	Registerer prometheus.Registerer

	Tracer trace.Tracer // makes a span for each record that it samples; nil makes none

	Compression string // of the answers: one of Compressions; "" means none

	// SessionTimeout is how long a killed member keeps its partitions, six heartbeats; 0 means DefaultSessionTimeout.
	SessionTimeout time.Duration
	// ReadyAfterStall is how long a partition may fail to be read or answered, or the group to be rejoined, before the
	// consumer is not ready; 0 means 30 s.
	ReadyAfterStall time.Duration

	// These are for tests; 0 means a minute and 5 s.
	stallTimeout time.Duration // see generation.stalled
	// watchInterval is how often the number of partitions is read; longer than metadataTTL, to see no old metadata.
	watchInterval time.Duration
}

// validate checks cfg and fills in the defaults.
func (cfg *Config) validate() error {
	switch {
	case cfg.Group == "":
		return errors.New("no consumer group")
	case cfg.Input == "" || cfg.Output == "" || cfg.DeadLetters == "":
		return errors.New("the topics of input, output and dead letters are required")
	case cfg.Input == cfg.Output || cfg.Input == cfg.DeadLetters || cfg.Output == cfg.DeadLetters:
		return errors.New("input, output and dead letters must be different topics")
	case cfg.Handler == nil || cfg.Logger == nil:
		return errors.New("a handler and a logger are required")
	case cfg.SessionTimeout != 0 && cfg.SessionTimeout < MinSessionTimeout || cfg.SessionTimeout > MaxSessionTimeout:
		return fmt.Errorf("session timeout %s is not between %s and %s", cfg.SessionTimeout, MinSessionTimeout,
			MaxSessionTimeout)
	case cfg.ReadyAfterStall < 0:
		return errors.New("a timeout is negative")
	}
	cfg.SessionTimeout = cmp.Or(cfg.SessionTimeout, DefaultSessionTimeout)
	cfg.stallTimeout = cmp.Or(cfg.stallTimeout, time.Minute)
	cfg.ReadyAfterStall = cmp.Or(cfg.ReadyAfterStall, DefaultReadyAfterStall)
	cfg.watchInterval = cmp.Or(cfg.watchInterval, 5*time.Second)
	return nil
}

// Consumer is a member of a consumer group. It has a handler answer each record, writes the answers and commits.
type Consumer struct {
	cfg     Config
	log     *slog.Logger
	metrics *metrics
	client  *Client
	answers *Producer
	// letters compresses: brokers measure a dead letter, a record with more headers, compressed.
	letters    *Producer
	tracing    tracing
	backlog    *backlog
	workers    *workers
	batches    sync.Pool // of *batch
	busy       chan struct{}
	membership membership
	missing    atomic.Pointer[[]string] // topics that do not exist; nil before the first check
	// partitions of the input that this member assigned as leader; nil if it is not the leader
	shared atomic.Pointer[int]
	// These limit log lines about single records and about repeated attempts.
	records, attempts *loglimit.Limiter
}

// New returns a Consumer; it does not connect.
func New(cfg Config) (*Consumer, error) {
	invalid := cfg.validate()
	compression, unknown := codec(cfg.Compression)
	client, err := NewClient(cfg.Connection, cfg.Input, cfg.Output, cfg.DeadLetters)
	if err := cmp.Or(invalid, unknown, err); err != nil {
		return nil, fmt.Errorf("configuring ingest: %w", err)
	}
	all := prometheus.NewRegistry()
	m, waiting := newMetrics(all), newBacklog(3*client.pauses.backlog)
	all.MustRegister(waiting.readings())
	if cfg.Registerer != nil {
		if err := cfg.Registerer.Register(all); err != nil {
			return nil, fmt.Errorf("registering metrics: %w", err)
		}
	}
	log := cfg.Logger.With("component", "ingest")
	c := &Consumer{
		cfg: cfg, log: log, metrics: m, client: client, backlog: waiting,
		tracing: tracing{tracer: cfg.Tracer, input: cfg.Input, group: cfg.Group},
		answers: NewProducer(client, log), letters: NewProducer(client, log), workers: newWorkers(cfg.Handler),
		busy:    make(chan struct{}, max(maxBusy, 4*runtime.GOMAXPROCS(0))),
		records: loglimit.New(time.Second), attempts: loglimit.New(10 * time.Second),
	}
	for _, topic := range c.topics() {
		m.missing.WithLabelValues(topic)
	}
	all.MustRegister(prometheus.NewGaugeFunc(
		prometheus.GaugeOpts{Name: "wardcast_ingest_ready", Help: "1 while the consumer is ready, as /readyz reports."},
		func() float64 { return meter.Bool(c.Check() == nil) }))
	c.answers.compression, c.letters.compression = compression, kafka.Zstd
	return c, nil
}

// Run consumes until ctx ends. Then it finishes the records in progress, commits, leaves the group and returns nil,
// within 25 s. It waits for unreachable brokers and missing permissions. It returns an error that waiting cannot cure:
// a topic does not exist, credentials are refused at the start, or draining took too long. Run may be called once.
func (c *Consumer) Run(ctx context.Context) error {
	defer c.client.Close()
	defer func() { c.records.Flush(); c.attempts.Flush() }()
	if err := c.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	group, err := kafka.NewConsumerGroup(kafka.ConsumerGroupConfig{
		ID: c.cfg.Group, Brokers: c.cfg.Connection.Brokers, Dialer: c.client.dialer.kafka(),
		Topics:         []string{c.cfg.Input},
		SessionTimeout: c.cfg.SessionTimeout, HeartbeatInterval: c.cfg.SessionTimeout / heartbeats,
		RebalanceTimeout: rebalanceTimeout,
		JoinGroupBackoff: 500 * time.Millisecond, StartOffset: kafka.FirstOffset,
		GroupBalancers: []kafka.GroupBalancer{balancer{c: c}},
	})
	if err != nil {
		return fmt.Errorf("joining group %q: %w", c.cfg.Group, err)
	}
	var watching sync.WaitGroup
	watching.Go(func() { c.watch(ctx) })
	defer watching.Wait()
	c.generations(ctx, group)
	c.membership.end()
	return c.leave(group)
}

// prepare waits for the cluster and checks the topics.
func (c *Consumer) prepare(ctx context.Context) error {
	if err := c.client.Await(ctx, c.log); err != nil {
		return err
	}
	for attempt := 0; ; attempt++ {
		err := c.client.CheckTopics(ctx, c.topics()...)
		if _, missing := errors.AsType[*MissingTopicsError](err); missing {
			return err
		}
		if err == nil {
			break
		}
		err = c.explain(err)
		if err := c.wait(ctx, err,
			func() error { return again(ctx, attempt, err, c.log, "cannot check the topics yet") }); err != nil {
			return err
		}
	}
	settings, err := c.client.settings(ctx, []string{c.cfg.Input, c.cfg.DeadLetters}, MaxMessageBytes)
	if err != nil {
		return nil //nolint:nilerr // A cluster may hide its settings.
	}
	in, _ := strconv.Atoi(settings[c.cfg.Input][MaxMessageBytes])
	if dlq, _ := strconv.Atoi(settings[c.cfg.DeadLetters][MaxMessageBytes]); dlq > 0 && dlq <= in {
		c.log.Warn("the dead letter topic should take larger messages than the input topic",
			"kafka_topic", c.cfg.DeadLetters, "max_message_bytes", dlq, "input_max_message_bytes", in)
	}
	return nil
}

// generations runs one generation of the group after another until ctx ends.
func (c *Consumer) generations(ctx context.Context, group *kafka.ConsumerGroup) {
	for {
		gen, err := group.Next(ctx)
		switch {
		case ctx.Err() != nil:
			return
		case errors.Is(err, kafka.RebalanceInProgress):
			continue // the broker paces this
		case err != nil:
			err = c.explain(err)
			_ = c.wait(ctx, err, func() error { // it ends with ctx
				c.attempts.Add("join",
					func(n int) { c.log.Warn("joining the consumer group", "err", err, "errors", n) })
				return nil // kafka-go pauses before it tries again
			})
			continue
		}
		c.start(gen)
	}
}

// explain names the setting or permission that the brokers refuse.
func (c *Consumer) explain(err error) error {
	switch {
	case errors.Is(err, kafka.InvalidSessionTimeout):
		return fmt.Errorf("kafka.session_timeout: the brokers do not accept %s; it must be between their "+
			"group.min.session.timeout.ms (6 s by default) and group.max.session.timeout.ms: %w",
			c.cfg.SessionTimeout, err)
	case errors.Is(err, kafka.GroupAuthorizationFailed):
		return denied(err, "Read", "group", c.cfg.Group)
	}
	if d, ok := errors.AsType[*DeniedError](err); ok && d.Name != c.cfg.Input {
		return denied(err, "Write", "topic", d.Name)
	}
	return denied(err, "Read", "topic", c.cfg.Input)
}

// wait records, for Check, why the member cannot join. If somebody must fix that, it logs each new reason and pauses;
// otherwise it calls pass.
func (c *Consumer) wait(ctx context.Context, err error, pass func() error) error {
	_, forbidden := errors.AsType[*DeniedError](err)
	lasting := forbidden || errors.Is(err, kafka.InvalidSessionTimeout)
	before := c.membership.fail(err, lasting)
	if !lasting {
		return pass()
	}
	if before == nil || before.Error() != err.Error() {
		c.log.Error("cannot join the consumer group: waiting until the cause is fixed", "err", err)
	}
	_ = wait.For(ctx, c.client.pauses.permanent)
	return ctx.Err()
}

// leave closes the group: kafka-go ends the generation, waits for its workers and leaves, which can take minutes.
func (c *Consumer) leave(group *kafka.ConsumerGroup) error {
	done := make(chan error, 1)
	go func() { done <- group.Close() }()
	select {
	case err := <-done:
		return err
	case <-time.After(leaveTimeout):
		return fmt.Errorf("leaving group %q: not done after %s", c.cfg.Group, leaveTimeout)
	}
}

type membership struct {
	mu     sync.Mutex
	joined bool      // it has been in a generation, and no lasting error prevents another
	unable error     // why the last attempt at joining failed; nil if it did not
	left   time.Time // when its last generation ended; zero in one
	idle   time.Time // since when it has no partition; zero if it has one
}

// join records the beginning of a generation with this number of partitions for the consumer.
func (m *membership) join(partitions int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.unable, m.left = true, nil, time.Time{}
	switch {
	case partitions > 0:
		m.idle = time.Time{}
	case m.idle.IsZero():
		m.idle = time.Now()
	}
}

func (m *membership) leave() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.left = time.Now()
}

// fail records why joining failed, and whether somebody must fix that. It returns the previous error.
func (m *membership) fail(err error, lasting bool) (before error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	before = m.unable
	m.joined, m.unable = m.joined && !lasting, err
	return before
}

// end records that the group was left for good.
func (m *membership) end() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.joined, m.unable = false, nil
}

// unready returns an error unless the consumer is in a generation, or its last one ended more recently than after.
func (m *membership) unready(after time.Duration) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case !m.joined && m.unable != nil:
		return fmt.Errorf("the consumer has not joined its group: %w", m.unable)
	case !m.joined:
		return errors.New("the consumer has not joined its group")
	case !m.left.IsZero() && time.Since(m.left) >= after:
		away := time.Since(m.left).Round(time.Second)
		if m.unable != nil {
			return fmt.Errorf("the consumer has not joined its group again for %s: %w", away, m.unable)
		}
		return fmt.Errorf("the consumer has not joined its group again for %s", away)
	}
	return nil
}

// remark returns a sentence on a consumer without a partition for this long, "" for any other.
func (m *membership) remark(after time.Duration) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.idle.IsZero() || time.Since(m.idle) < after {
		return ""
	}
	return fmt.Sprintf("no partition has been assigned for %s: the group has more members than the topic has "+
		"partitions", time.Since(m.idle).Round(time.Second))
}
