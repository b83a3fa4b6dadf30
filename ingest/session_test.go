package ingest_test

import (
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
)

// counted counts the connections of a listener, and those that are open.
type counted struct {
	net.Listener
	all, open atomic.Int64
}

// listen returns an option for kfake and what counts its connections.
func listen(t *testing.T) (kfake.Opt, *counted) {
	l := &counted{}
	return kfake.ListenFn(func(network, address string) (_ net.Listener, err error) {
		l.Listener, err = new(net.ListenConfig).Listen(t.Context(), network, address)
		return l, err
	}), l
}

// Accept implements net.Listener.
func (l *counted) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.all.Add(1)
	l.open.Add(1)
	return &countedConn{c, sync.OnceFunc(func() { l.open.Add(-1) })}, nil
}

type countedConn struct {
	net.Conn
	closed func()
}

// Close implements net.Conn.
func (c *countedConn) Close() error {
	c.closed()
	return c.Conn.Close()
}

// TestCreateTopicsEnds: nothing is asked of the brokers once the topics are created.
func TestCreateTopicsEnds(t *testing.T) {
	t.Parallel()
	opt, connections := listen(t)
	c := newFake(t, opt) // which creates topics
	c.await("the end of all connections",
		func() bool { return connections.all.Load() > 0 && connections.open.Load() == 0 })
}

// TestSessions: logins that last for a second are renewed on the connections that there are, in one generation of the
// group.
func TestSessions(t *testing.T) {
	t.Parallel()
	for _, mechanism := range []string{"plain", "scram-sha-512"} {
		t.Run(mechanism, func(t *testing.T) {
			t.Parallel()
			var logins atomic.Int64
			opt, connections := listen(t)
			fake, err := kfake.NewCluster(kfake.NumBrokers(1), kfake.EnableSASL(),
				kfake.Superuser(strings.ToUpper(mechanism), "user", password),
				kfake.BrokerConfigs(
					map[string]string{"default.replication.factor": "1", "connections.max.reauth.ms": "1000"}),
				opt)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(fake.Close)
			embedded.LimitRebalances(fake)
			fake.ControlKey(int16(kmsg.SASLHandshake), func(kmsg.Request) (kmsg.Response, error, bool) {
				logins.Add(1)
				return nil, nil, false
			})
			c := attach(t, ingest.Connection{
				Brokers: fake.ListenAddrs(),
				SASL:    ingest.SASL{Mechanism: mechanism, Username: "user", Password: password},
			}, fake)
			m := c.start(handle(echo))
			sent := 0
			for logins.Load() < 5*connections.all.Load() {
				c.send(numbered(sent, sent+10)...)
				sent += 10
				c.await("answers", func() bool { return m.metric("records_total", "answered") == float64(sent) })
			}
			if n := m.metric("rebalances_total"); n != 1 {
				t.Errorf("the group was joined %v times, want once", n)
			}
			m.stop()
			if text := m.log.String(); strings.Contains(text, "WARN") ||
				m.metric("produce_retries_total")+m.metric("fetch_errors_total") > 0 {
				t.Errorf("a login that ends is seen:\n%s", text)
			}
		})
	}
}
