// Package process is what `wardcast bridge` runs: messages come in by MLLP, Bundles of FHIR by HTTP, package bridge
// turns them into notes and outcomes, and these go to Kafka; predictions go back as ORU^R01, RiskAssessment or cards.
//
// A message is acknowledged once all in-sync replicas have what follows from it and from all messages before it: events
// first, then the state of the visits. So a process that is killed in between joins the message, which its sender
// repeats, to the same events again. While Kafka is away nothing is acknowledged: after answerTimeout the connection is
// closed, and the sender repeats. A message that cannot be used is answered by AE once its dead letter and itself are
// in their topics, and by AR if no message of its type or version is taken.
package process

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/wait"
)

// Options configure a bridge.
type Options struct {
	Config   *config.Config
	Logger   *slog.Logger
	Version  string               // of the program
	Registry *prometheus.Registry // nil for a new one, with the metrics of the process and the Go runtime
	// folder of a broker in this process, on the first configured address; "" for none
	EmbeddedBroker string
	CreateTopics   bool // create missing KafkaTopics of others too
	Insecure       bool // allow non-loopback addresses without TLS
}

// Topics returns the names of the topics of a bridge's events.
func Topics(c *config.Config) func(bridge.To) string {
	names := map[bridge.To]string{
		bridge.Notes: c.Kafka.Topics.Notes, bridge.Outcomes: c.Kafka.Topics.Outcomes,
		bridge.State: c.Bridge.Topics.State, bridge.Identifiers: c.Bridge.Topics.Identifiers,
	}
	return func(to bridge.To) string { return names[to] }
}

// process is a running bridge.
type process struct {
	Options
	config   *config.Bridge
	client   *ingest.Client
	bridge   *bridge.Bridge
	commits  *committer
	restored atomic.Bool // what was joined before is read, until the end
	metrics  *metrics
	fhir     fhirParts
	// warnings are gathered: a sender that is set up wrongly causes one for each message.
	warnings *loglimit.Limiter
}

const warningsEvery = time.Minute

// Run takes messages until ctx ends; then it answers those it has and returns nil.
func Run(ctx context.Context, o Options) error {
	p := &process{Options: o, config: &o.Config.Bridge, warnings: loglimit.New(warningsEvery)}
	defer p.warnings.Flush()
	if err := p.check(); err != nil {
		return err
	}
	key, err := bridge.ReadKey(p.config.KeyFile)
	if err != nil {
		return err
	}
	if p.bridge, err = bridge.New(*p.config, key); err != nil {
		return err
	}
	if o.EmbeddedBroker != "" {
		broker, err := embedded.Start(embedded.Config{
			Dir: o.EmbeddedBroker, Listen: o.Config.Kafka.Brokers[0], Logger: o.Logger.With("component", "broker"),
		})
		if err != nil {
			return fmt.Errorf("starting the embedded broker: %w", err)
		}
		defer broker.Close() // after the last event
	}
	connection, err := o.Config.Kafka.Connection()
	if err != nil {
		return err
	}
	connection.Logger = o.Logger
	if p.client, err = ingest.NewClient(connection, p.topics()...); err != nil {
		return fmt.Errorf("configuring the client: %w", err)
	}
	defer p.client.Close()
	if p.Registry == nil {
		p.Registry = prometheus.NewRegistry()
		p.Registry.MustRegister(collectors.NewGoCollector(),
			collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	}
	p.commits = newCommitter(p)
	p.metrics = newMetrics(p)
	err = p.run(ctx)
	if ctx.Err() != nil && errors.Is(err, ctx.Err()) {
		return nil // stopped before it began
	}
	return err
}

// check returns the errors of the configuration that only this process finds.
func (p *process) check() error {
	errs := []error{p.config.Require()}
	const open = "%s: %s has no TLS; non-loopback addresses require it, or --insecure"
	if !p.Insecure {
		for _, l := range []struct {
			key, address string
			secured      bool
		}{
			{"bridge.mllp.listen", p.config.MLLP.Listen, p.config.MLLP.TLS.Key != ""},
			{"bridge.fhir.listen", p.config.FHIR.Listen, p.config.FHIR.TLS.Key != ""},
			{"bridge.answers.mllp", p.config.Answers.MLLP, p.config.Answers.TLS.Enabled},
			{"kafka.brokers", p.embeddedListen(), false},
		} {
			if l.address != "" && !l.secured && !config.Loopback(l.address) {
				errs = append(errs, fmt.Errorf(open, l.key, l.address))
			}
		}
		fhir := &p.config.FHIR
		if fhir.Listen != "" && !config.Loopback(fhir.Listen) && fhir.TokenFile == "" && fhir.TLS.ClientCA == "" {
			errs = append(errs,
				errors.New("bridge.fhir: non-loopback addresses require token_file or tls.client_ca, or --insecure"))
		}
		asked := map[string]string{"bridge.fhir.server": fhir.Server, "bridge.answers.fhir": p.config.Answers.FHIR}
		for issuer, at := range fhir.CDS.Clients {
			asked["bridge.fhir.cds.clients."+issuer] = at
		}
		for key, address := range asked {
			if u, err := url.Parse(address); err == nil && u.Scheme == "http" &&
				!config.Loopback(net.JoinHostPort(u.Hostname(), "80")) {
				errs = append(errs, fmt.Errorf(open, key, u.Host))
			}
		}
	}
	return errors.Join(errs...)
}

// embeddedListen returns the address of the embedded broker, or "".
func (p *process) embeddedListen() string {
	if p.EmbeddedBroker == "" {
		return ""
	}
	return p.Config.Kafka.Brokers[0]
}

// topics returns the names of the topics that are read or written.
func (p *process) topics() []string { return names(append(p.others(), p.own()...)) }

func names(topics []ingest.Topic) []string {
	return lists.Map(topics, func(t ingest.Topic) string { return t.Name })
}

// others returns the topics that a site makes, or --create-topics.
func (p *process) others() []ingest.Topic {
	of, own := &p.Config.Kafka.Topics, &p.config.Topics
	topics := []ingest.Topic{
		{Name: of.Notes},
		{Name: of.Outcomes},
		{Name: own.DeadLetters},
		{Name: own.Raw, MaxMessageBytes: ingest.DeadLetterMaxMessageBytes},
	}
	if p.predictions() {
		topics = append(topics, ingest.Topic{Name: of.Predictions})
	}
	if topic := p.config.Answers.Topic; topic != "" {
		topics = append(topics, ingest.Topic{Name: topic})
	}
	return topics
}

// predictions reports whether predictions are read: for answers, or for cards.
func (p *process) predictions() bool {
	a := &p.config.Answers
	return a.MLLP != "" || a.FHIR != "" || a.Topic != "" || p.config.FHIR.Listen != ""
}

// own returns the topics that the bridge always makes.
func (p *process) own() []ingest.Topic {
	topics := []ingest.Topic{{Name: p.config.Topics.State, Partitions: 1, Compacted: true}}
	if p.config.KeepIdentifiers {
		topics = append(topics, ingest.Topic{Name: p.config.Topics.Identifiers, Partitions: 1, Compacted: true})
	}
	return topics
}

// createTopics waits for a broker, makes the topics that are missing, and names those that others must make.
func (p *process) createTopics(ctx context.Context) error {
	topics := p.own()
	if p.CreateTopics {
		topics = append(topics, p.others()...)
	}
	if err := p.client.EnsureTopics(ctx, p.Logger, topics...); err != nil {
		return err
	}
	return p.client.CheckTopics(ctx, names(p.others())...)
}

// run listens and serves.
func (p *process) run(ctx context.Context) error {
	web, err := p.listen(ctx, "bridge.fhir.listen", p.config.FHIR.Listen)
	if err != nil {
		return err
	}
	secured, err := p.serverTLS("bridge.fhir.tls", p.config.FHIR.TLS)
	if err == nil {
		err = p.prepareFHIR()
	}
	if err != nil {
		return err
	}
	defer p.fhir.client.CloseIdleConnections()
	if web != nil && secured != nil {
		secured.NextProtos = []string{"http/1.1"}
		web = tls.NewListener(web, secured)
	}
	// The committer goes on until what was taken by MLLP and HTTP has its answer, or the answers time out.
	committing, stop := context.WithCancel(context.WithoutCancel(ctx))
	var committed sync.WaitGroup
	committed.Go(func() { p.commits.run(committing) })
	parts, ctx := errgroup.WithContext(ctx)
	if web != nil {
		// Probes and metrics are answered from before the first broker answers.
		parts.Go(func() error { return p.serveHTTP(ctx, web) })
	}
	parts.Go(func() error { return p.serve(ctx) })
	err = parts.Wait()
	p.restored.Store(false)
	// How far answers were sent is written down last.
	flushing, cancel := context.WithTimeout(committing, flushTimeout)
	if e := p.commits.join(noEvents); e != nil {
		acknowledged(flushing, e)
	}
	cancel()
	stop()
	committed.Wait()
	return err
}

// serve takes messages once it knows what was joined before.
func (p *process) serve(ctx context.Context) error {
	server, err := p.mllp()
	if err != nil {
		return err
	}
	if err := p.createTopics(ctx); err != nil {
		return err
	}
	sent := map[string]delivered{}
	if err := p.restore(ctx, sent); err != nil {
		return err
	}
	out, err := newAnswers(p, sent)
	if err != nil {
		return err
	}
	for _, a := range out {
		if err := a.begin(ctx); err != nil { // before the first message
			return err
		}
	}
	incoming, err := p.listen(ctx, "bridge.mllp.listen", p.config.MLLP.Listen)
	if err != nil {
		return err
	}
	parts, ctx := errgroup.WithContext(ctx)
	if incoming != nil {
		parts.Go(func() error { return server.Serve(ctx, incoming) })
	}
	for _, a := range out {
		parts.Go(func() error { return a.run(ctx) })
	}
	if p.config.FHIR.Listen != "" {
		parts.Go(func() error { return p.followPredictions(ctx) })
	}
	parts.Go(func() error { p.expire(ctx); return nil })
	p.restored.Store(true)
	p.Logger.InfoContext(ctx, "ready", "mllp", p.config.MLLP.Listen, "http", p.config.FHIR.Listen,
		"visits", p.count().Visits, "key_id", p.bridge.KeyID())
	return parts.Wait()
}

// flushTimeout is how long a process that ends waits for Kafka to take its state.
const flushTimeout = 2 * time.Second

// restore takes up what was joined before, and how far answers were sent.
func (p *process) restore(ctx context.Context, sent map[string]delivered) error {
	damaged, foreign := 0, 0
	read := func(to bridge.To, topic string) error {
		_, err := p.client.Replay(ctx, ingest.Replay{Topic: topic, Logger: p.Logger}, func(r *ingest.Record) error {
			if to == bridge.State && load(sent, r) {
				return nil
			}
			if slices.ContainsFunc(r.Headers, func(h ingest.Header) bool {
				return h.Key == headerKeyID && string(h.Value) != p.bridge.KeyID()
			}) {
				foreign++
			}
			p.commits.locked(func() { // metrics count the visits at any time
				if p.bridge.Load(to, string(r.Key), r.Value) != nil {
					damaged++
				}
			})
			return nil
		})
		return err
	}
	err := read(bridge.State, p.config.Topics.State)
	if err == nil && p.config.KeepIdentifiers {
		err = read(bridge.Identifiers, p.config.Topics.Identifiers)
	}
	if damaged > 0 {
		p.Logger.WarnContext(ctx, "records of the bridge's state cannot be read", "records", damaged)
	}
	if foreign > 0 {
		p.Logger.WarnContext(ctx, "visits were joined with another key: what comes now does not meet them",
			"records", foreign, "key_id", p.bridge.KeyID())
	}
	return err
}

// expireEvery is how often visits are forgotten.
const expireEvery = time.Hour

func (p *process) expire(ctx context.Context) {
	for ctx.Err() == nil {
		p.commits.join(func() []bridge.Event { return p.bridge.Expire(time.Now()) })
		_ = wait.For(ctx, expireEvery)
	}
}

// count returns the visits by what they lack.
func (p *process) count() (c bridge.Counts) {
	p.commits.locked(func() { c = p.bridge.Count() })
	return c
}

// listen listens on the address of a key of the configuration, if there is one.
func (p *process) listen(ctx context.Context, key, address string) (net.Listener, error) {
	if address == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("listening at %s: %w", key, err)
	}
	return l, nil
}

// mllp returns the server of incoming messages.
func (p *process) mllp() (*mllp.Server, error) {
	c := &p.config.MLLP
	s := &mllp.Server{
		Answer: p.answer, Limit: hl7.MaxMessage, Idle: c.Idle, Connections: c.Connections,
		Opened: p.metrics.connections.Inc,
		Ended: func(e mllp.End) {
			if p.metrics.ended(e); e == mllp.Excess {
				p.warnings.Add(string(e), func(n int) {
					p.Logger.Warn("connections were closed: bridge.mllp.connections are open", "connections", n)
				})
			}
		},
		Failed: func(err error) {
			p.warnings.Add(string(mllp.Handshake), func(n int) {
				p.Logger.Warn("TLS handshakes of senders failed", "connections", n, "err", err)
			})
		},
	}
	var err error
	s.TLS, err = p.serverTLS("bridge.mllp.tls", c.TLS)
	return s, err
}

// stale warns that files under a key of the configuration cannot be read anew.
func (p *process) stale(key string) func(error) {
	return func(err error) {
		p.Logger.Warn("cannot read the file; still using its previous contents", "key", key, "err", err)
	}
}

// serverTLS returns the encryption of an address, nil for none.
func (p *process) serverTLS(key string, c config.BridgeTLS) (*tls.Config, error) {
	if c.Key == "" {
		return nil, nil //nolint:nilnil // there is none
	}
	pair, err := reload.Pair(c.Certificate, c.Key, p.stale(key))
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", key, err)
	}
	all := &tls.Config{
		MinVersion:     tls.VersionTLS12,
		GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return pair.Get() },
	}
	if file := c.ClientCA; file != "" {
		pool, err := reload.New(func() (*x509.CertPool, error) { return reload.Authorities(file) }, p.stale(key), file)
		if err != nil {
			return nil, fmt.Errorf("reading %s.client_ca: %w", key, err)
		}
		own := all.Clone()
		own.ClientAuth = tls.RequireAndVerifyClientCert
		all.GetConfigForClient = func(*tls.ClientHelloInfo) (current *tls.Config, err error) {
			current = own.Clone()
			current.ClientCAs, err = pool.Get()
			return current, err
		}
	}
	return all, nil
}

const httpTimeout = 10 * time.Second

// serveHTTP answers probes, shows metrics and takes FHIR until ctx ends. Then it answers the requests that it has.
func (p *process) serveHTTP(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	say := func(w http.ResponseWriter, status int, text string) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, text+"\n")
	}
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { say(w, http.StatusOK, "ok") })
	mux.HandleFunc("GET /readyz", func(w http.ResponseWriter, _ *http.Request) {
		if err := p.ready(); err != nil {
			say(w, http.StatusServiceUnavailable, err.Error())
			return
		}
		say(w, http.StatusOK, "ready")
	})
	mux.Handle("GET /metrics", p.guarded(promhttp.HandlerFor(p.Registry, promhttp.HandlerOpts{}).ServeHTTP))
	p.routes(mux)
	server := &http.Server{
		Handler: mux, ReadHeaderTimeout: httpTimeout, ReadTimeout: answerTimeout, WriteTimeout: 3 * answerTimeout,
		IdleTimeout: time.Minute,
		ErrorLog:    slog.NewLogLogger(p.Logger.Handler(), slog.LevelWarn),
	}
	stopped := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(stopped)
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTimeout)
		defer cancel()
		if server.Shutdown(bounded) != nil {
			_ = server.Close() // senders repeat what has no answer
		}
	})
	if err := server.Serve(l); stop() {
		return fmt.Errorf("serving http: %w", err)
	}
	<-stopped
	return nil
}

// ready returns why messages are not acknowledged, or nil.
func (p *process) ready() error {
	if stuck := p.commits.stuck(time.Now()); stuck > p.Config.Kafka.ReadyAfterStall {
		return fmt.Errorf("kafka has not acknowledged anything for %v", stuck.Round(time.Second))
	}
	if !p.restored.Load() {
		return errors.New("reading what was joined before")
	}
	return nil
}
