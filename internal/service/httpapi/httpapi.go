// Package httpapi serves predictions, models and their topics, the live stream of predictions, and health over HTTP,
// and lets operators change what is served. docs/openapi.yaml describes all routes. Errors are RFC 9457 problem
// details.
//
// Web pages use it too: a Route of another package passes the same checks of host, origin, token, role and rate, and
// its handler gets the caller from CallerOf.
package httpapi

import (
	"context"
	"crypto/sha256"
	"io"
	"log/slog"
	"net/http"
	"path"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/wait"
)

// Options say what an API serves.
type Options struct {
	Logger   *slog.Logger
	Gatherer prometheus.Gatherer   // what /metrics shows
	Metrics  prometheus.Registerer // takes those of the API
	Access   Access
	// Connections are those of the server; nil if they are not counted.
	Connections *Connections
	Ready       func() (remarks string, err error) // why records are not being read, or nil
	Triage      *Triage                            // nil if no notes are scored
	Topics      Topics                             // nil without an index
	Demand      BedDemand                          // nil without forecasts
	Waiting     Waiting                            // nil if it is not known who waits
	// LabelRoles may see the labels of those who wait.
	LabelRoles []Role
	Routes     []Route // of other packages, such as web pages
	Trail      *Trail  // takes what the audit log takes
	// Page draws a problem for a browser; nil without pages.
	Page func(Problem) http.Handler
}

// Route answers the requests of a pattern.
type Route struct {
	Pattern     string // of http.ServeMux, with its method
	Role        Role   // that it requires
	Predictions bool   // shows predictions: the audit log records who read them
	Stream      bool   // has no end: its duration is not measured, nor is it counted as a request
	Always      bool   // is answered however many connections there are
	Handler     http.Handler
}

// API is the handler of all routes.
type API struct {
	options Options
	gate    *gate
	mux     *http.ServeMux
	routes  []Route
	origin  *http.CrossOriginProtection
	metrics *metrics
	watched watched
	wrong   wrongTokens
	seen    seen
}

// New returns the handler.
func New(o Options) *API {
	a := &API{
		options: o, gate: newGate(o.Access), mux: http.NewServeMux(), origin: http.NewCrossOriginProtection(),
		watched: watched{by: map[string]int{}}, metrics: newMetrics(o.Metrics),
		wrong: wrongTokens{log: o.Logger, lines: loglimit.New(wrongTokensEvery), from: map[string]bool{}},
	}
	health := func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "ok\n") }
	a.routes = []Route{
		{Pattern: "GET /healthz", Always: true, Handler: http.HandlerFunc(health)},
		{Pattern: "GET /readyz", Always: true, Handler: http.HandlerFunc(a.ready)},
		{
			Pattern: "GET /metrics", Role: Viewer, Always: true,
			Handler: promhttp.HandlerFor(o.Gatherer, promhttp.HandlerOpts{}),
		},
		route("GET /v1/topics/search", Viewer, a.search, "q", "like", "complaint", "model", "version", "direction",
			"method", "served", "limit", "offset"),
		route("GET /v1/topics/first-seen", Viewer, a.firstSeen, "word"),
		route("GET /v1/topics/history", Viewer, a.topicHistory, "topic"),
		route("GET /v1/bed-demand", Viewer, a.demand, "ward", "window", "at", "include", "beds"),
		route("GET /v1/bed-demand/history", Viewer, a.demandHistory, "ward", "window", "days"),
	}
	waiting := route("GET /v1/waiting", Viewer, a.waitingList, waitingParameters...)
	waiting.Predictions = true
	a.routes = slices.Concat(append(a.routes, waiting), o.Triage.routes(a), o.Routes)
	for _, route := range a.routes {
		a.mux.Handle(route.Pattern, a.guarded(route))
		a.metrics.requests.WithLabelValues(route.Pattern, strconv.Itoa(http.StatusOK)) // there before its first request
		a.metrics.streams[route.Pattern] = route.Stream
	}
	return a
}

// Patterns lists the patterns of all routes.
func (a *API) Patterns() []string {
	return lists.Map(a.routes, func(r Route) string { return r.Pattern })
}

func (a *API) ready(w http.ResponseWriter, r *http.Request) {
	remarks, err := a.options.Ready()
	if err != nil {
		problem(http.StatusServiceUnavailable, codeUnavailable, err.Error()).ServeHTTP(w, r)
		return
	}
	_, _ = io.WriteString(w, "ready\n"+remarks)
}

// noRoute is the label route of requests without a route.
const noRoute = "none"

// ServeHTTP answers a request.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := time.Now()
	caller, wrong := a.gate.caller(r)
	if wrong {
		a.metrics.wrongTokens.Inc()
		a.wrong.add(caller.Address)
	}
	v := &visit{id: requestID(r), caller: caller, wrong: wrong, page: a.options.Page}
	r = r.WithContext(context.WithValue(r.Context(), visitKey{}, v))
	answer := &recorder{ResponseWriter: w}
	a.secure(w.Header())
	w.Header().Set("X-Request-Id", v.id)
	defer func() {
		what, begun := recover(), answer.begun
		if what != nil {
			a.panicked(answer, r, what)
		}
		route := noRoute
		if r.Pattern != "" {
			route = r.Pattern
		}
		a.metrics.observe(route, answer.status(), time.Since(began))
		if v.audited && !a.again(r, answer.status()) {
			a.audit(r, answer.status())
		}
		if what != nil && begun {
			//nolint:forbidigo // net/http's way to abort an answer, so that no part passes for the whole
			panic(http.ErrAbortHandler)
		}
	}()
	a.serve(answer, r, v.caller)
}

// serve makes the checks that do not depend on the route, and calls it.
func (a *API) serve(w http.ResponseWriter, r *http.Request, c Caller) {
	_, pattern := a.mux.Handler(r)
	switch {
	case a.gate.misdirected(r):
		problem(http.StatusMisdirectedRequest, "wrong_host",
			"this address answers to loopback names only, unless http.tokens are set").ServeHTTP(w, r)
	case !clean(r.URL.Path):
		Problem{Status: http.StatusNotFound}.ServeHTTP(w, r)
	case pattern != "":
		a.mux.ServeHTTP(w, r)
	case !a.gate.allow(c):
		tooMany().ServeHTTP(w, r)
	default:
		// The multiplexer answers 404 and 405 with the header Allow; a problem replaces its text.
		status := &statusOnly{ResponseWriter: w}
		a.mux.ServeHTTP(status, r)
		Problem{Status: status.code}.ServeHTTP(w, r)
	}
}

// clean reports whether the multiplexer would accept a path rather than redirect.
func clean(p string) bool {
	whole := path.Clean("/" + p)
	return p == whole || p == whole+"/"
}

func (a *API) guarded(route Route) http.Handler {
	return Answering(func(r *http.Request) http.Handler {
		v := visitOf(r.Context())
		v.need = route.Role
		v.audited = route.Role == Operator || route.Predictions && v.caller.Name != ""
		switch {
		case !route.Always && a.options.Connections.beyond(r):
			return crowded()
		case (route.Role != Anyone || v.wrong && !route.Always) && !(route.Stream && v.caller.Is(route.Role)) &&
			!a.gate.allow(v.caller):
			return tooMany()
		case !v.caller.Is(route.Role):
			return a.gate.refusal(v.caller, route.Role)
		case a.origin.Check(r) != nil:
			return problem(http.StatusForbidden, "cross_origin", "pages of other sites may not send this")
		case route.Stream:
			v.opened = func() { a.opened(r) }
			return a.watched.guard(a.whileAllowed(&route), v.caller, a.metrics.viewers)
		}
		return route.Handler
	})
}

// allowedEvery is how often the caller of an open stream is looked up again.
const allowedEvery = 2 * time.Second

// whileAllowed ends a stream soon after its caller's token is revoked, or loses its role.
func (a *API) whileAllowed(route *Route) http.Handler {
	if a.gate.Tokens == nil {
		return route.Handler
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		v := visitOf(r.Context())
		ctx, end := context.WithCancel(r.Context())
		defer end()
		var watching sync.WaitGroup
		revoked := false
		watching.Go(func() {
			for wait.For(ctx, allowedEvery) {
				if now, _ := a.gate.caller(r); now.Name != v.caller.Name || !now.Is(route.Role) {
					revoked = true
					end()
					return
				}
			}
		})
		route.Handler.ServeHTTP(w, r.WithContext(ctx))
		end()
		if watching.Wait(); revoked {
			AddFacts(ctx, "token", "revoked")
		}
	})
}

// opened adds to the audit log that a stream began. Its end has a line of its own, with what was sent.
func (a *API) opened(r *http.Request) {
	v := visitOf(r.Context())
	if v.facts = []any{"stream", "opened"}; v.audited {
		a.audit(r, http.StatusOK)
	}
	v.facts = []any{"stream", "closed"}
}

func crowded() http.Handler {
	busy := problem(http.StatusServiceUnavailable, codeUnavailable,
		"more connections are open than http.connections allows")
	return headed(headed(busy, "Retry-After", "5"), "Connection", "close")
}

// Bounds of the open streams: in total, per token, and of all callers without one.
const (
	maxViewers          = 4096
	maxViewersOfToken   = maxViewers / 4
	maxViewersNameless  = maxViewers / 2
	codeTooManyWatching = "too_many_viewers"
)

// watched counts open streams.
type watched struct {
	mu  sync.Mutex
	all int
	by  map[string]int // by name of the token, "" for callers without one
}

// guard counts a stream while it is open, and answers with a problem if too many are.
func (o *watched) guard(stream http.Handler, c Caller, viewers prometheus.Gauge) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if p := o.begin(c); p != nil {
			headed(p, "Retry-After", "30").ServeHTTP(w, r)
			return
		}
		defer o.end(c)
		viewers.Inc()
		defer viewers.Dec()
		stream.ServeHTTP(w, r)
	})
}

// begin counts a stream, or returns why no more can be opened.
func (o *watched) begin(c Caller) http.Handler {
	most := maxViewersOfToken
	if c.Name == "" {
		most = maxViewersNameless
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	switch {
	case o.all == maxViewers:
		return problem(http.StatusServiceUnavailable, codeTooManyWatching,
			"as many streams are open as this process serves")
	case o.by[c.Name] == most:
		return problem(http.StatusTooManyRequests, codeTooManyWatching,
			"this token, or all callers without one, have as many streams open as they may")
	}
	o.all++
	o.by[c.Name]++
	return nil
}

func (o *watched) end(c Caller) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.all--
	o.by[c.Name]--
}

func tooMany() http.Handler {
	return headed(problem(http.StatusTooManyRequests, "", "more requests than http.rate_limit allows"),
		"Retry-After", "1")
}

// againHeader is sent by pages that stay open with what they ask by themselves, every few seconds.
const againHeader = "Wardcast-Again"

// Bounds of seen: the audit log has an open page once in so long, and so many of them are remembered.
const (
	seenFor  = time.Hour
	mostSeen = 10_000
)

// seen is what the audit log has lately: when a caller read an address.
type seen struct {
	mu sync.Mutex
	at map[[sha256.Size]byte]time.Time
}

// again reports whether an open page asked once more for what the audit log has had of the same caller within an hour.
func (a *API) again(r *http.Request, status int) bool {
	v, s := visitOf(r.Context()), &a.seen
	if v.need == Operator || status != http.StatusOK {
		return false
	}
	key, now := sha256.Sum256([]byte(v.caller.Name+" "+string(v.caller.Role)+" "+r.Pattern+"?"+r.URL.RawQuery+" "+
		r.PostForm.Encode())), time.Now() // the words of a search are not kept
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get(againHeader) != "" && now.Sub(s.at[key]) < seenFor {
		return true
	}
	if s.at == nil || len(s.at) == mostSeen {
		s.at = map[[sha256.Size]byte]time.Time{}
	}
	s.at[key] = now
	return false
}

// audit logs who saw predictions or changed something.
func (a *API) audit(r *http.Request, status int) {
	v := visitOf(r.Context())
	method, route, _ := strings.Cut(r.Pattern, " ")
	a.options.Trail.add(&Event{
		Time: time.Now(), Caller: v.caller, Method: method, Route: route, Status: status,
		Change: v.need == Operator && method != http.MethodGet, facts: v.facts,
	})
	facts := []any{
		"who", v.caller.By(), "role", string(v.caller.Role), "method", method, "route", route, "status", status,
		"request_id", v.id, "address", v.caller.Address,
	}
	a.options.Logger.InfoContext(r.Context(), "audit", append(facts, v.facts...)...)
}

// secure sets the headers of every answer. A page may use only this address's scripts, styles and images, none inline.
func (a *API) secure(h http.Header) {
	h.Set("Content-Security-Policy", "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "+
		"font-src 'self'; connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'")
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Cache-Control", "no-store")
	if a.gate.TLS {
		h.Set("Strict-Transport-Security", "max-age=31536000")
	}
}
