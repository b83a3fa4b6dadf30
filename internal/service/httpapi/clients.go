package httpapi

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/time/rate"
)

// maxClients bounds the addresses whose requests are counted one by one.
const maxClients = 10_000

// limits bounds the requests of each token, and without one of each address.
type limits struct {
	rate  rate.Limit
	burst int
	mu    sync.Mutex
	of    map[string]*rate.Limiter // by "token NAME" or address; "" for those of addresses that are too many
}

// allow counts a request and reports whether it is allowed.
func (l *limits) allow(c Caller) bool {
	key := c.Address
	if c.Name != "" {
		key = "token " + c.Name
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.of) >= maxClients && l.of[key] == nil {
		for other, limiter := range l.of { // one that has been quiet is as good as new
			if limiter.Tokens() >= float64(l.burst) {
				delete(l.of, other)
			}
		}
		if len(l.of) >= maxClients {
			key = ""
		}
	}
	if l.of[key] == nil {
		l.of[key] = rate.NewLimiter(l.rate, l.burst)
	}
	return l.of[key].Allow()
}

// address returns where a request comes from: the address of the connection, or, if that is a trusted proxy's, the last
// one of X-Forwarded-For that is not. Of an address of IPv6 it returns the network of 64 bits, which one host may have.
func (g *gate) address(r *http.Request) string {
	at, err := netip.ParseAddrPort(r.RemoteAddr)
	if err != nil {
		return ""
	}
	client := at.Addr().Unmap().WithZone("")
	forwarded := strings.Split(strings.Join(r.Header.Values("X-Forwarded-For"), ","), ",")
	for _, hop := range slices.Backward(forwarded) {
		hop = strings.TrimSpace(hop)
		next, err := netip.ParseAddr(hop)
		if err != nil { // some gateways add the port
			at, err = netip.ParseAddrPort(hop)
			next = at.Addr()
		}
		if err != nil || !slices.ContainsFunc(g.Proxies, func(p netip.Prefix) bool { return p.Contains(client) }) {
			break
		}
		client = next.Unmap().WithZone("")
	}
	if client.Is6() {
		network, _ := client.Prefix(64)
		return network.String()
	}
	return client.String()
}

// Connections counts those that are open. Beyond Most, only routes that say how the process is are answered.
type Connections struct {
	Most int64
	open atomic.Int64
}

type connectionKey struct{}

// Watch counts the connections of a server. Those beyond twice as many are closed at once.
func (c *Connections) Watch(s *http.Server) {
	s.ConnState = func(conn net.Conn, state http.ConnState) {
		switch state {
		case http.StateNew:
			if c.open.Add(1) > 2*c.Most {
				_ = conn.Close()
			}
		case http.StateClosed, http.StateHijacked:
			c.open.Add(-1)
		}
	}
	s.ConnContext = func(ctx context.Context, _ net.Conn) context.Context {
		return context.WithValue(ctx, connectionKey{}, c.open.Load() >= c.Most) // before it is counted
	}
}

// beyond reports whether the connection of a request is one too many; nil takes any number.
func (c *Connections) beyond(r *http.Request) bool {
	late, _ := r.Context().Value(connectionKey{}).(bool)
	return c != nil && late && c.open.Load() > c.Most
}
