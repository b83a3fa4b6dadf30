package ingest_test

import (
	"fmt"
	"math"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
)

// lag is what the metrics say waits. It is not a number, which equals none, unless all partitions have a value: a sum
// would not show that one is gone.
func (m *member) lag() (records, oldest float64) {
	m.c.Helper()
	families, err := m.registry.Gather()
	if err != nil {
		m.c.Fatal(err)
	}
	series := 0
	for _, f := range families {
		for _, metric := range f.GetMetric() {
			switch f.GetName() {
			case "wardcast_ingest_lag_records":
				records += metric.GetGauge().GetValue()
				series++
			case "wardcast_ingest_oldest_unanswered_seconds":
				oldest = metric.GetGauge().GetValue()
				series++
			}
		}
	}
	if series != testPartitions+1 {
		return math.NaN(), math.NaN()
	}
	return records, oldest
}

// soonUnready makes trouble show early.
func soonUnready(cfg *ingest.Config) {
	cfg.ReadyAfterStall = 500 * time.Millisecond
	cfg.Stall(4 * time.Second)
}

// TestLagInAnOutage: nothing can be published. The lag counts all that waits, also what comes later, and over a new
// generation of the group; the oldest grows older; the consumer is not ready, and names why. All of it ends with the
// outage, and nothing is published twice.
func TestLagInAnOutage(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo), soonUnready)
	c.await("the group", m.isReady)
	c.send(numbered(0, 100)...)
	c.awaitAnswers(100)
	c.await("no lag", func() bool { records, oldest := m.lag(); return records == 0 && oldest == 0 })

	fault := c.fake.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: c.out, Err: kerr.NotEnoughReplicas, Count: -1})
	c.send(numbered(100, 600)...)
	c.await("lag", func() bool { records, _ := m.lag(); return records == 500 })
	c.await("not ready", func() bool { return !m.isReady() })
	if err := m.Check(); !strings.Contains(err.Error(), "partition") || !strings.Contains(err.Error(), "Replicas") {
		t.Errorf("the check says %q", err)
	}
	c.send(numbered(600, 700)...)
	c.await("lag of what came later", func() bool { records, _ := m.lag(); return records == 600 })
	_, before := m.lag()
	other := c.start(handle(echo), soonUnready) // and both have a new generation
	c.await("the other's partitions", func() bool { return other.metric("assigned_partitions") > 0 })
	other.stop()
	c.await("all partitions again", func() bool { return m.metric("assigned_partitions") == testPartitions })
	c.await("the lag of all of them",
		func() bool { records, oldest := m.lag(); return records == 600 && oldest > before })
	fault.Remove()
	c.awaitAnswers(700)
	c.await("no lag", func() bool { records, oldest := m.lag(); return records == 0 && oldest == 0 && m.isReady() })
	m.stop()
	c.wantAll(700, true)
}

// TestLagWithoutALeader: the leader of a partition does not answer. Its lag is unknown, and that of another partition,
// which cannot be read either, grows all the same.
func TestLagWithoutALeader(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo), soonUnready)
	c.await("the group", m.isReady)
	c.send(numbered(0, 100)...)
	c.awaitAnswers(100)
	away := make(chan struct{})
	var asked atomic.Int32
	c.fake.ControlKey(int16(kmsg.ListOffsets), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		if r.(*kmsg.ListOffsetsRequest).Topics[0].Partitions[0].Partition == 0 {
			asked.Add(1)
			c.fake.SleepControl(func() { <-away })
		}
		return nil, nil, false
	})
	fault := c.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: c.in, Partitions: []int32{0, 1}, Err: kerr.NotLeaderForPartition,
		Count: -1,
	})
	c.send(numbered(100, 300)...)
	c.await("the lag of the other", func() bool { return m.metric("lag_records", "1") > 0 })
	c.await("the unknown lag", func() bool { return m.metric("lag_unknown_partitions") == 1 })
	before := m.metric("lag_records", "1")
	c.send(numbered(300, 600)...)
	c.await("a larger lag", func() bool { return m.metric("lag_records", "1") > before })
	if got := asked.Load(); got > 2 { // for its first and its last offset
		t.Errorf("the lag grew only when the leader that is away was given up: it was asked %d times", got)
	}
	close(away)
	fault.Remove()
	c.awaitAnswers(600)
	c.await("known lags", func() bool {
		records, _ := m.lag()
		return records == 0 && m.metric("lag_unknown_partitions") == 0
	})
	m.stop()
	c.wantAll(600, true)
}

// TestGoneTopics: a consumer whose input or output was deleted is not ready, and is again when it is back.
func TestGoneTopics(t *testing.T) {
	t.Parallel()
	for _, output := range []bool{true, false} {
		t.Run(fmt.Sprint("output ", output), func(t *testing.T) {
			t.Parallel()
			c := newFake(t)
			m := c.start(handle(echo), soonUnready, watchOften)
			c.await("the group", m.isReady)
			gone := c.in
			if output {
				gone = c.out
			}
			if err := c.client.DeleteTopics(t.Context(), gone); err != nil {
				t.Fatal(err)
			}
			if output {
				c.send(numbered(0, 50)...)
			}
			c.await("word of it",
				func() bool { err := m.Check(); return err != nil && strings.Contains(err.Error(), gone) })
			c.await("the metrics", func() bool {
				return m.metric("topic_missing") == 1 && m.metric("topic_missing", gone) == 1 && m.metric("ready") == 0
			})
			if err := c.client.CreateTopics(t.Context(),
				ingest.Topic{Name: gone, Partitions: testPartitions}); err != nil {
				t.Fatal(err)
			}
			c.await("ready again",
				func() bool { return m.isReady() && m.metric("topic_missing") == 0 && m.metric("ready") == 1 })
			if output {
				c.awaitAnswers(50)
			}
			m.stop()
		})
	}
}

// TestPermanentErrors: what the brokers refuse until somebody mends it blocks one partition, and only that one: the
// others are answered at once, no generation ends, nothing is published twice, and the partition goes on soon after the
// mend.
func TestPermanentErrors(t *testing.T) {
	t.Parallel()
	for name, f := range map[string]kfake.Fault{
		"produce": {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.TopicAuthorizationFailed},
		"letters": {Keys: []kmsg.Key{kmsg.Produce}, Err: kerr.InvalidRecord},
		"fetch":   {Keys: []kmsg.Key{kmsg.Fetch}, Err: kerr.TopicAuthorizationFailed},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFake(t)
			m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
				if name == "letters" && r.Partition == 0 && r.Offset == 3 {
					return &ingest.Verdict{Reason: "no_model", Stage: "score"}
				}
				return echo(r, out)
			}), soonUnready)
			c.await("the group", m.isReady)
			switch name {
			case "produce":
				f.Topic, f.Partitions = c.out, []int32{0}
			case "letters":
				f.Topic = c.dlq
			case "fetch":
				f.Topic, f.Partitions = c.in, []int32{0}
			}
			f.Count = -1
			fault := c.fake.Fault(f)
			const n = 400
			c.send(numbered(0, n)...)
			mine := c.ends(c.in)[0]
			others := int64(n) - mine
			least := others // of the answers
			if name == "letters" {
				least = n - 1
			}
			c.awaitAnswers(least)
			c.await("the block",
				func() bool { return m.metric("blocked_partitions") == 1 && m.metric("permanent_errors_total") > 0 })
			c.await("word of it", func() bool {
				err := m.Check()
				return err != nil && strings.Contains(err.Error(), fmt.Sprintf("[%d]", f.Err.Code))
			})
			blocked := time.Now()
			c.await("the stall timeout and more", func() bool { return time.Since(blocked) > 5*time.Second })
			if got := m.metric("rebalances_total"); got != 1 {
				t.Errorf("%v generations, want 1", got)
			}
			if got := strings.Count(m.log.String(), "is blocked until the cause is fixed"); got != 1 {
				t.Errorf("%d lines in the log", got)
			}
			fault.Remove()
			c.awaitAnswers(n)
			c.await("the end of it", func() bool { return m.metric("blocked_partitions") == 0 && m.isReady() })
			m.stop()
			c.wantAll(n, true)
		})
	}
}

// TestBlockEndsWithItsGeneration: a block is counted once, whoever has the partition, and no more after the mend.
func TestBlockEndsWithItsGeneration(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo))
	c.await("the group", m.isReady)
	fault := c.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Produce}, Topic: c.out, Partitions: []int32{0},
		Err: kerr.TopicAuthorizationFailed, Count: -1,
	})
	const n = 100
	c.send(numbered(0, n)...)
	c.await("the block", func() bool { return m.metric("blocked_partitions") == 1 })
	other := c.start(handle(echo))
	c.await("partitions of both", func() bool {
		return m.metric("assigned_partitions") == testPartitions/2 &&
			other.metric("assigned_partitions") == testPartitions/2
	})
	c.await("the block again",
		func() bool { return m.metric("blocked_partitions")+other.metric("blocked_partitions") == 1 })
	fault.Remove()
	c.await("all answers", func() bool { return len(count(c.read(c.out))) == n })
	c.await("no block", func() bool { return m.metric("blocked_partitions")+other.metric("blocked_partitions") == 0 })
	other.stop()
	m.stop()
}

// TestDeniedMetadata: a user who loses the permission to read a topic no longer sees its partitions. The permission is
// named.
func TestDeniedMetadata(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo), soonUnready)
	c.await("the group", m.isReady)
	fault := c.fake.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Topic: c.in, Err: kerr.TopicAuthorizationFailed, Count: -1})
	named := func(text string) bool { return strings.Contains(text, "deny Read on topic") }
	c.await("the log names it", func() bool { return named(m.log.String()) })
	c.await("readiness names it", func() bool { err := m.Check(); return err != nil && named(err.Error()) })
	if m.metric("stalls_total") != 0 || strings.Contains(m.log.String(), "not found") {
		t.Errorf("it is not named at once:\n%s", m.log)
	}
	fault.Remove()
	c.await("ready", m.isReady)
	c.send(numbered(0, 100)...)
	c.awaitAnswers(100)
	m.stop()
	c.wantAll(100, true)
}

// TestLagBeforeTheFirstFetch: what waits is known also where no fetch has succeeded yet.
func TestLagBeforeTheFirstFetch(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	c.send(numbered(0, 100)...)
	fault := c.fake.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Fetch}, Topic: c.in, Err: kerr.UnknownServerError, Count: -1})
	m := c.start(handle(echo))
	c.await("the lag", func() bool { records, _ := m.lag(); return records == 100 })
	fault.Remove()
	c.await("no lag", func() bool { records, _ := m.lag(); return records == 0 })
	m.stop()
	c.wantAll(100, true)
}

// TestFailuresOutliveGenerations: a partition whose answers cannot be written is not forgiven because it is read again
// and again.
func TestFailuresOutliveGenerations(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	// a generation lasts four
	m := c.start(handle(echo), func(cfg *ingest.Config) { cfg.ReadyAfterStall = 8 * time.Second })
	c.await("the group", m.isReady)
	fault := c.fake.Fault(
		kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: c.out, Err: kerr.NotEnoughReplicas, Count: -1})
	rebalance := c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress, Count: -1})
	c.send(numbered(0, 100)...)
	c.await("word of it",
		func() bool { err := m.Check(); return err != nil && strings.Contains(err.Error(), "Replicas") })
	if m.metric("rebalances_total") < 2 {
		t.Error("there was one generation only")
	}
	rebalance.Remove()
	fault.Remove()
	c.await("ready", m.isReady)
	c.awaitAnswers(100)
	m.stop()
}

// TestFailedJoinIsReady: a join that fails for a moment, as when the coordinator moves, does not take readiness away.
func TestFailedJoinIsReady(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo))
	c.await("the group", m.isReady)
	fault := c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.JoinGroup}, Err: kerr.CoordinatorNotAvailable, Count: 2})
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress, Count: 1})
	var unready error
	c.await("the next generation", func() bool {
		if err := m.Check(); err != nil {
			unready = err
		}
		return m.metric("rebalances_total") == 2
	})
	if fault.Hits() != 2 || unready != nil {
		t.Errorf("after %d failed joins: %v", fault.Hits(), unready)
	}
	m.stop()
}

// TestNoPartition: a member that the group has no partition for is ready and remarks it. One that cannot join again is
// not ready, and has none, and is again when it can.
func TestNoPartition(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	var members []*member
	for range testPartitions + 1 {
		members = append(members, c.start(handle(echo), soonUnready))
	}
	remarks := func() (n int) {
		for _, m := range members {
			if strings.Contains(m.Remark(), "no partition") && m.isReady() && m.metric("assigned_partitions") == 0 &&
				m.metric("ready") == 1 {
				n++
			}
		}
		return n
	}
	c.await("one remark", func() bool { return remarks() == 1 })
	for _, m := range members[1:] {
		m.stop()
	}
	m := members[0]
	c.await("the partitions",
		func() bool { return m.metric("assigned_partitions") == testPartitions && m.Remark() == "" })

	// A request to join that is never answered gives no error.
	stop := make(chan struct{})
	c.fake.ControlKey(int16(kmsg.JoinGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		c.fake.SleepControl(func() { <-stop })
		return nil, nil, false
	})
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Heartbeat}, Err: kerr.RebalanceInProgress, Count: 1})
	c.await("word of it", func() bool {
		return !m.isReady() && strings.Contains(m.Check().Error(), "joined its group again") &&
			m.metric("assigned_partitions") == 0
	})
	close(stop)
	c.await("the group", func() bool { return m.isReady() && m.metric("assigned_partitions") == testPartitions })
	m.stop()
}
