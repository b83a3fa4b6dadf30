package ingest_test

import (
	"net"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
)

// session is a session timeout that brokers take by default.
const session = 6 * time.Second

// join asks to join the group as a Consumer does, and leaves it at that.
func (c *cluster) join(session time.Duration) net.Conn {
	c.Helper()
	metadata := kmsg.NewConsumerMemberMetadata()
	metadata.Topics = []string{c.in}
	protocol := kmsg.NewJoinGroupRequestProtocol()
	protocol.Name, protocol.Metadata = "range", metadata.AppendTo(nil)
	join := kmsg.NewPtrJoinGroupRequest()
	join.Version, join.Group, join.ProtocolType = 2, c.group, "consumer"
	//nolint:gosec // seconds
	join.SessionTimeoutMillis, join.RebalanceTimeoutMillis = int32(session.Milliseconds()), 500
	join.Protocols = append(join.Protocols, protocol)
	found, err := c.kafka.FindCoordinator(c.Context(),
		&kafka.FindCoordinatorRequest{Key: c.group, KeyType: kafka.CoordinatorKeyTypeConsumer})
	if err != nil || found.Error != nil {
		c.Fatal(err, found)
	}
	conn, err := new(net.Dialer).DialContext(c.Context(), "tcp",
		net.JoinHostPort(found.Coordinator.Host, strconv.Itoa(found.Coordinator.Port)))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(func() { _ = conn.Close() })
	if _, err := conn.Write(kmsg.NewRequestFormatter().AppendRequest(nil, join, 1)); err != nil {
		c.Fatal(err)
	}
	return conn
}

// TestWaitInJoin lets a member wait for one that is silent, within a session of its own that lasts. Waiting in the join
// costs the member nothing.
func TestWaitInJoin(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo))
	c.await("the group", m.isReady)
	silent := c.join(time.Minute)
	if _, err := silent.Read(make([]byte, 1)); err != nil { // it is in the group
		t.Fatal(err)
	}
	c.join(session)
	const n = 100
	c.send(numbered(0, n)...)
	c.awaitAnswers(n)
	m.stop()
	if text := m.log.String(); strings.Contains(text, "WARN") {
		t.Errorf("joining did not go well:\n%s", text)
	}
}

// TestKilledWhileJoining kills a member before it is in the group: the one that is has all partitions again soon after
// its session timeout. There is one to a group, in several groups: kfake by itself keeps every other one for good, but
// not where another of its group goes.
func TestKilledWhileJoining(t *testing.T) {
	t.Parallel()
	const groups = 6
	for i := range groups {
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			t.Parallel()
			c := newEmbedded(t)
			m := c.start(handle(echo))
			c.await("the group", m.isReady)
			_ = c.join(session).Close()
			// It is in the group when its first member joins anew.
			c.await("a rebalance", func() bool { return m.metric("rebalances_total") > 1 })
			began := time.Now()
			const n = 100
			c.send(numbered(0, n)...)
			c.awaitAnswers(n)
			// Seven seconds, and what a loaded machine adds.
			const limit = 30 * time.Second
			if took := time.Since(began); took > limit {
				t.Errorf("its partitions are read after %v, want less than %v", took, limit)
			}
			m.stop()
			c.wantAll(n, true)
		})
	}
}

// newEmbedded returns a cluster of the embedded broker, or the real one of WARDCAST_KAFKA.
func newEmbedded(t *testing.T) *cluster {
	t.Helper()
	if os.Getenv("WARDCAST_KAFKA") != "" {
		return newCluster(t)
	}
	b, err := embedded.Start(embedded.Config{Listen: "127.0.0.1:0", Logger: discard})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(b.Close)
	return attach(t, ingest.Connection{Brokers: []string{b.Addr()}}, nil)
}

// TestShortSession: brokers that refuse a session timeout are named with the key that must change.
func TestShortSession(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.start(handle(echo), func(cfg *ingest.Config) { cfg.SessionTimeout = 3 * time.Second })
	named := func(text string) bool {
		return strings.Contains(text, "kafka.session_timeout") &&
			strings.Contains(text, "group.min.session.timeout.ms") && strings.Contains(text, "3s")
	}
	c.await("the log names it", func() bool { return named(m.log.String()) })
	c.await("readiness names it", func() bool { err := m.Check(); return err != nil && named(err.Error()) })
	if strings.Count(m.log.String(), "ERROR") != 1 {
		t.Errorf("one line says it, not\n%s", m.log.String())
	}
	m.stop()
}
