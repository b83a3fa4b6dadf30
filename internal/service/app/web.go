package app

import (
	"context"
	"crypto/sha256"
	"crypto/tls"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"net"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/health"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	pages "github.com/wardcast/wardcast/internal/service/web"
	bedspage "github.com/wardcast/wardcast/internal/service/web/beds"
	healthpage "github.com/wardcast/wardcast/internal/service/web/health"
	livepage "github.com/wardcast/wardcast/internal/service/web/live"
	"github.com/wardcast/wardcast/internal/wording"
)

const (
	// httpHeaderTimeout, httpTimeout and httpIdle bound reading a header, a request with its answer, and keep-alive.
	httpHeaderTimeout = 5 * time.Second
	httpTimeout       = 30 * time.Second
	httpIdle          = time.Minute
	httpMaxHeader     = 16 << 10         // bounds the header of a request, including its path, in bytes
	handshakesEvery   = 10 * time.Second // minimum interval of log lines about broken TLS handshakes
	httpDrain         = 2 * time.Second  // how long requests may take to end once the process drains
)

// checkHTTP returns an error for a non-loopback address without TLS or tokens, unless insecure.
func checkHTTP(h *config.HTTP, insecure bool) error {
	if h.Listen == "" || insecure || config.Loopback(h.Listen) {
		return nil
	}
	var missing []error
	if h.TLS.CertFile == "" {
		missing = append(missing, errors.New("http.tls is not set"))
	}
	if len(h.Tokens) == 0 {
		missing = append(missing, errors.New("http.tokens are not set"))
	}
	if missing == nil {
		return nil
	}
	return fmt.Errorf("listening on %s: a non-loopback address requires TLS and tokens, or --insecure: %w", h.Listen,
		errors.Join(missing...))
}

// listening holds access and encryption of the HTTP address. Renewed tokens and certificates need no restart.
type listening struct {
	access      httpapi.Access
	connections *httpapi.Connections
	certificate *reload.Value[*tls.Certificate] // nil without TLS
}

func newListening(h *config.HTTP, log *slog.Logger) (*listening, error) {
	stale := func(err error) {
		log.Warn("cannot read the file; still using its previous contents", "key", "http", "err", err)
	}
	l := &listening{
		access:      httpapi.Access{Local: config.Loopback(h.Listen), TLS: h.TLS.CertFile != ""},
		connections: &httpapi.Connections{Most: int64(h.Connections)},
	}
	l.access.Rate, l.access.Burst = h.Limit()
	l.access.Proxies, _ = h.Proxies() // the configuration was checked
	var err error
	if len(h.Tokens) > 0 {
		if l.access.Tokens, err = currentTokens(h, log, stale); err != nil {
			return nil, err
		}
	}
	if l.access.TLS {
		if l.certificate, err = reload.Pair(h.TLS.CertFile, h.TLS.KeyFile, stale); err != nil {
			return nil, fmt.Errorf("reading http.tls: %w", err)
		}
	}
	return l, nil
}

// expiry returns when the certificate expires, in seconds of Unix time, 0 without TLS.
func (l *listening) expiry() float64 {
	if l.certificate == nil {
		return 0
	}
	now, _ := l.certificate.Get() // newListening has read it
	return float64(now.Leaf.NotAfter.Unix())
}

// currentTokens returns a function that returns the tokens as their files are now. A file that is gone or empty revokes
// its token. One that is half-written, or cannot be read for another reason, keeps its previous contents. Neither
// has an effect on other tokens.
func currentTokens(h *config.HTTP, log *slog.Logger, stale func(error)) (func() []httpapi.Token, error) {
	if _, err := h.Secrets(); err != nil {
		return nil, err
	}
	all := make([]*reload.Value[httpapi.Token], len(h.Tokens))
	for i, t := range h.Tokens {
		var files []string
		if t.TokenFile != "" {
			files = []string{t.TokenFile}
		}
		load := func() (httpapi.Token, error) {
			secret, err := h.Secret(i)
			if err == nil {
				return httpapi.Token{Name: t.Name, Role: httpapi.Role(t.Role), Sum: sha256.Sum256([]byte(secret))}, nil
			}
			if all[i] == nil || !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, reload.ErrEmpty) {
				return httpapi.Token{}, err
			}
			log.Warn("a token is revoked: its file is gone or empty", "token", t.Name, "err", err)
			return httpapi.Token{}, nil
		}
		var err error
		if all[i], err = reload.New(load, stale, files...); err != nil {
			return nil, err
		}
	}
	return func() (now []httpapi.Token) {
		for _, v := range all {
			t, _ := v.Get() // New has read it
			if t.Name != "" && !slices.ContainsFunc(now, func(o httpapi.Token) bool { return o.Sum == t.Sum }) {
				now = append(now, t)
			}
		}
		return now
	}, nil
}

type web struct {
	*listening
	api     *httpapi.API
	live    *httpapi.Live   // nil if no notes are scored
	feed    *livepage.Feed  // the same for the pages
	topics  *topicSearch    // the same
	monitor *health.Monitor // of what is late or lost
	log     *slog.Logger
}

// newWeb returns the HTTP server of an app whose streams are not open yet.
func newWeb(a *App, r prometheus.Registerer) (*web, error) {
	l, err := newListening(&a.Config.HTTP, a.Logger)
	if err != nil {
		return nil, err
	}
	meter.New(r, "wardcast_").Computed("http_certificate_expiry_timestamp_seconds",
		"When the certificate of the HTTP address expires, 0 without TLS.", l.expiry)
	w := &web{listening: l, log: a.Logger.With("component", "http")}
	listed := func() []*responses.Instrument { return nil }
	var t *triage
	var notes *stream
	var streams []health.Stream
	for _, s := range a.streams {
		watched := s.watched()
		watched.Away = a.pulse.away
		switch source := s.source.(type) {
		case *triage:
			t, notes = source, s
			watched.Remarks = append(watched.Remarks, a.demand.Remark)
		case *questionnaires:
			listed = source.list
		}
		streams = append(streams, watched)
	}
	w.monitor = health.New(a.Registry, time.Now, streams...)
	options := httpapi.Options{Logger: w.log, Gatherer: a.Registry, Metrics: r, Access: l.access, Ready: a.readiness}
	options.Connections = l.connections
	options.Trail = &httpapi.Trail{Since: time.Now()}
	if t != nil {
		zone, err := time.LoadLocation(a.Config.HTTP.TimeZone)
		if err != nil {
			return nil, fmt.Errorf("http.time_zone: %w", err)
		}
		w.live, w.feed = httpapi.NewLive(), livepage.NewFeed(a.ShowNotes)
		notes.published = func(note, prediction []byte) {
			w.live.Publish(prediction)
			w.feed.Publish(note, prediction)
		}
		w.topics = newTopicSearch(&a.Options, t.store, listed)
		for _, s := range a.streams {
			s.renewed = func() { signal(w.topics.changed) }
		}
		options.Demand, options.Waiting, options.Topics = a.demand, a.demand, w.topics
		for _, role := range a.Config.HTTP.LabelRoles {
			options.LabelRoles = append(options.LabelRoles, httpapi.Role(role))
		}
		options.Triage = &httpapi.Triage{
			Store: t.store, Set: t.set, Explain: t.options, Live: w.live, Changed: notes.hint,
		}
		options.Routes, options.Page = pages.Routes(pages.Options{
			Options: &options, Feed: w.feed, Clock: &bedspage.Clock{Zone: zone, Shifts: a.Config.HTTP.Shifts},
			Away: a.pulse.away, Health: w.monitor.Snapshot, Index: w.topics.Index, Questionnaires: listed,
			Replays: healthpage.Replays{Send: a.replay, Answered: a.answered},
		})
	}
	w.api = httpapi.New(options)
	return w, nil
}

// readiness is the content of /readyz: why notes are not scored, and remarks on waiting streams and on models or a fit
// of beds in the store that cannot be used, none of which stops scoring.
func (a *App) readiness() (remarks string, err error) {
	add := func(of, remark string) {
		if remark != "" {
			remarks += of + ": " + remark + "\n"
		}
	}
	for _, s := range a.streams {
		add(s.name, s.refusal())
		add(s.name, s.consumer.Remark())
	}
	if a.demand != nil {
		add("beds", a.demand.Remark())
	}
	return remarks, a.joined()
}

// refusal says why the newest models are not in use and what that means, "" if they are.
func (s *stream) refusal() string {
	refused := s.refused.Load()
	if refused == nil {
		return ""
	}
	return remarkOn(*refused) + ": " + (*refused).Error()
}

// replay implements the Replay of the page Health.
func (a *App) replay(ctx context.Context, stream string, reason msg.Reason, dryRun bool) (deadletter.Sent, error) {
	s := a.stream(stream)
	if s == nil {
		return deadletter.Sent{}, fmt.Errorf("no stream is named %q", stream)
	}
	box := deadletter.Box{Client: a.client, Topic: s.deadLetters, Logger: a.web.log}
	sent, err := box.Send(ctx, deadletter.Sending{
		Filter: deadletter.Filter{Reasons: []msg.Reason{reason}},
		To:     s.input, MaxAttempts: deadletter.DefaultMaxAttempts, DryRun: dryRun,
	})
	if !dryRun {
		ends, _ := a.client.Ends(ctx, s.input, s.log) // without them, what came of it is not known
		s.sent.Store(&ends)
	}
	return sent, err
}

// stream returns the stream of a name, or nil.
func (a *App) stream(name string) *stream {
	for _, s := range a.streams {
		if s.name == name {
			return s
		}
	}
	return nil
}

// answered reports whether the scorers, this one and others, have committed all that a stream's last replay sent.
func (a *App) answered(ctx context.Context, stream string) bool {
	s := a.stream(stream)
	if s == nil {
		return false
	}
	ends := s.sent.Load()
	if ends == nil || len(*ends) == 0 {
		return false
	}
	passed, err := a.client.Passed(ctx, s.group, s.input, *ends)
	return err == nil && passed
}

// watched returns the stream for the page Health.
func (s *stream) watched() health.Stream {
	return health.Stream{
		Name: s.name, Noun: s.noun, Input: s.input, DeadLetters: s.deadLetters, Generation: s.generation,
		Letters: s.letters.Tally,
		Ready:   s.check,
		Remarks: []func() string{func() string { return sentence(s.consumer.Remark()) }},
		Refused: s.refusal,
	}
}

// sentence returns a remark with a capital and a full stop.
func sentence(remark string) string {
	if remark == "" {
		return ""
	}
	return wording.Capital(remark) + "."
}

// serve answers requests until ctx ends. Streams of predictions then end, and other requests have httpDrain.
func (w *web) serve(ctx context.Context, l net.Listener) error {
	handshakes := loglimit.New(handshakesEvery)
	defer handshakes.Flush()
	server := &http.Server{
		Handler: w.api, ReadHeaderTimeout: httpHeaderTimeout, ReadTimeout: httpTimeout, WriteTimeout: httpTimeout,
		IdleTimeout:    httpIdle,
		MaxHeaderBytes: httpMaxHeader, ErrorLog: slog.NewLogLogger(&serverLog{w.log.Handler(), handshakes},
			slog.LevelWarn),
	}
	w.connections.Watch(server)
	down := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(down)
		if w.live != nil {
			w.live.Close()
			w.feed.Close()
		}
		bounded, cancel := context.WithTimeout(context.WithoutCancel(ctx), httpDrain)
		defer cancel()
		if server.Shutdown(bounded) != nil {
			_ = server.Close() // ends requests that take too long
		}
	})
	var err error
	if w.certificate != nil {
		server.TLSConfig = &tls.Config{
			MinVersion:     tls.VersionTLS12,
			GetCertificate: func(*tls.ClientHelloInfo) (*tls.Certificate, error) { return w.certificate.Get() },
		}
		err = server.ServeTLS(l, "", "")
	} else {
		err = server.Serve(l)
	}
	if stop() { // the server ended by itself
		return fmt.Errorf("serving http: %w", err)
	}
	<-down
	return nil
}

// brokenHandshake begins net/http's log line of a failed TLS handshake. Any stranger can cause thousands a second.
const brokenHandshake = "http: TLS handshake error"

// serverLog handles net/http's log records: one line counts all handshakes that failed together.
type serverLog struct {
	slog.Handler

	handshakes *loglimit.Limiter
}

func (l *serverLog) Handle(ctx context.Context, r slog.Record) error {
	if !strings.HasPrefix(r.Message, brokenHandshake) {
		return l.Handler.Handle(ctx, r)
	}
	l.handshakes.Add(brokenHandshake, func(n int) {
		r.AddAttrs(slog.Int("handshakes", n))
		_ = l.Handler.Handle(ctx, r) // net/http ignores it too
	})
	return nil
}
