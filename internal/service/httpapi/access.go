package httpapi

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"

	"golang.org/x/time/rate"
)

// Role is what a caller may do. Each role includes those before it.
type Role string

// The roles.
const (
	Anyone   Role = ""         // sees whether the process works
	Viewer   Role = "viewer"   // reads, and asks for predictions
	Operator Role = "operator" // changes what is served
)

// Token is a bearer token.
type Token struct {
	Name string // of its holder, for the history and the audit log
	Role Role
	Sum  [sha256.Size]byte // SHA-256 of the token
}

// Access says who may do what. By default everybody may read, and nobody may change anything.
type Access struct {
	// Tokens returns the current tokens, required of every caller; nil for none. One of them may be gone later.
	Tokens func() []Token
	// Local says that only this machine reaches the address. Without tokens every caller is then an operator, and only
	// requests to a loopback name are answered, so that no other site's page reaches the API under its own name.
	Local bool
	TLS   bool // the address is encrypted
	// Rate bounds the requests per second of each token, and without one of each address, Burst those at once; 0: no
	// limit.
	Rate  float64
	Burst int
	// Proxies are those whose X-Forwarded-For is believed.
	Proxies []netip.Prefix
}

// Caller is who sent a request.
type Caller struct {
	Name    string // of the token, "" without one
	Role    Role
	Address string // of the client; "" if it is not known
}

// By returns the caller's name for the history of a store.
func (c Caller) By() string {
	if c.Name == "" {
		return "http"
	}
	return c.Name
}

// Is reports whether the caller has this role.
func (c Caller) Is(need Role) bool {
	order := []Role{Anyone, Viewer, Operator}
	return slices.Index(order, c.Role) >= slices.Index(order, need)
}

// visit is what is known of a request.
type visit struct {
	id     string // of the request
	caller Caller
	wrong  bool // it has a token that nobody has
	need   Role // that the route requires
	// audited says that the audit log records it, with these facts.
	audited bool
	facts   []any
	opened  func()                     // called when a stream begins
	page    func(Problem) http.Handler // draws a problem for a browser; nil if none can be drawn
}

type visitKey struct{}

// visitOf returns what is known of a request that the API handles, otherwise nothing.
func visitOf(ctx context.Context) *visit {
	if v, ok := ctx.Value(visitKey{}).(*visit); ok {
		return v
	}
	return &visit{}
}

// CallerOf returns who sent the request of this context.
func CallerOf(ctx context.Context) Caller { return visitOf(ctx).caller }

// AddFacts adds names and values in turn to the audit log's line about the request of this context.
func AddFacts(ctx context.Context, facts ...any) {
	v := visitOf(ctx)
	v.facts = append(v.facts, facts...)
}

// gate knows the callers.
type gate struct {
	Access
	limits *limits // nil for none
}

func newGate(a Access) *gate {
	g := &gate{Access: a}
	if a.Rate > 0 {
		g.limits = &limits{rate: rate.Limit(a.Rate), burst: max(1, a.Burst), of: map[string]*rate.Limiter{}}
	}
	return g
}

// allow counts a request against the caller's limit and reports whether it is allowed.
func (g *gate) allow(c Caller) bool { return g.limits == nil || g.limits.allow(c) }

// caller returns who sent a request, by a bearer token, or one as password of HTTP's login. A wrong token is none.
func (g *gate) caller(r *http.Request) (c Caller, wrong bool) {
	c = Caller{Address: g.address(r)}
	if g.Tokens == nil {
		if c.Role = Viewer; g.Local {
			c.Role = Operator
		}
		return c, false
	}
	_, secret, basic := r.BasicAuth()
	if !basic {
		scheme, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		if !strings.EqualFold(scheme, "Bearer") {
			return c, false
		}
		secret = strings.TrimSpace(token)
	}
	sum := sha256.Sum256([]byte(secret))
	for _, t := range g.Tokens() { // all of them, so that the time reveals nothing
		if subtle.ConstantTimeCompare(sum[:], t.Sum[:]) == 1 {
			c.Name, c.Role = t.Name, t.Role
		}
	}
	return c, c.Name == ""
}

// misdirected reports whether a request was sent to a host name that this address does not serve.
func (g *gate) misdirected(r *http.Request) bool {
	if !g.Local || g.Tokens != nil {
		return false
	}
	host, _, err := net.SplitHostPort(r.Host)
	if err != nil {
		host = r.Host
	}
	host = strings.Trim(host, "[]")
	ip := net.ParseIP(host)
	return !strings.EqualFold(host, "localhost") && (ip == nil || !ip.IsLoopback())
}

// refusal is the answer to a caller without the required role.
func (g *gate) refusal(c Caller, need Role) http.Handler {
	if c.Role != Anyone || g.Tokens == nil {
		return problem(http.StatusForbidden, "wrong_role",
			"this requires the role "+string(need)+", and yours is "+string(c.Role))
	}
	return LogIn("this requires a token of the role " + string(need))
}

// LogIn asks a caller for a token, and a browser for it as the password of a login.
func LogIn(detail string) http.Handler {
	none := problem(http.StatusUnauthorized, "no_token", detail)
	basic := headed(none, "WWW-Authenticate",
		`Basic realm="wardcast: any name, and the token as password", charset="UTF-8"`)
	return headed(basic, "WWW-Authenticate", `Bearer realm="wardcast"`)
}
