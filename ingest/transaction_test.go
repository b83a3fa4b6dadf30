package ingest_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest"
)

// transactional returns a producer with transactions.
func (c *cluster) transactional(id string) *kgo.Client {
	c.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.conn.Brokers...), kgo.TransactionalID(c.group+id),
		kgo.DefaultProduceTopic(c.in), kgo.RecordPartitioner(kgo.ManualPartitioner()))
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(producer.Close)
	return producer
}

// write writes keys to each partition within the producer's open transaction.
func (c *cluster) write(p *kgo.Client, keys ...string) {
	c.Helper()
	for partition := range int32(testPartitions) {
		for _, key := range keys {
			p.Produce(c.Context(),
				&kgo.Record{Key: fmt.Appendf(nil, "%s-%d", key, partition), Value: []byte("v"), Partition: partition},
				nil)
		}
	}
	if err := p.Flush(c.Context()); err != nil {
		c.Fatal(err)
	}
}

// begin and end bound a transaction.
func (c *cluster) begin(p *kgo.Client) {
	c.Helper()
	if err := p.BeginTransaction(); err != nil {
		c.Fatal(err)
	}
}

func (c *cluster) end(p *kgo.Client, commit kgo.TransactionEndTry) {
	c.Helper()
	if err := p.EndTransaction(c.Context(), commit); err != nil {
		c.Fatal(err)
	}
}

// TestAbortedTransactions: what producers took back is no record, for a consumer and for a replay, also where several
// producers write into one another. What is still open waits, with all that came after it.
func TestAbortedTransactions(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.transactional("a"), c.transactional("b")
	want := map[string]int{}
	counts := func(keys ...string) {
		for _, key := range keys {
			for p := range testPartitions {
				want[fmt.Sprintf("%s-%d", key, p)] = 1
			}
		}
	}
	c.begin(a)
	c.write(a, "gone1", "gone2")
	c.begin(b)
	c.write(b, "kept1")
	c.write(a, "gone3")
	c.end(a, kgo.TryAbort)
	c.begin(a)
	c.write(a, "kept2")
	c.write(b, "kept3")
	c.end(a, kgo.TryCommit)
	c.end(b, kgo.TryCommit)
	c.begin(b)
	c.write(b, "gone4")
	c.end(b, kgo.TryAbort) // the last in the log
	counts("kept1", "kept2", "kept3")

	m := c.start(handle(echo))
	c.await("commits past all of it", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	if d := cmp.Diff(want, count(c.read(c.out))); d != "" {
		t.Errorf("answered (-want +got):\n%s", d)
	}
	if got, _, err := c.replay(ingest.Replay{}); err != nil || !cmp.Equal(want, got) {
		t.Errorf("replayed: %v\n%s", err, cmp.Diff(want, got))
	}

	c.begin(a)
	c.write(a, "late")
	c.begin(b)
	c.write(b, "later")
	c.end(b, kgo.TryCommit)
	if got, _, err := c.replay(ingest.Replay{}); err != nil || !cmp.Equal(want, got) { // which does not wait for a
		t.Errorf("replayed beside an open transaction: %v\n%s", err, cmp.Diff(want, got))
	}
	if d := cmp.Diff(want, count(c.read(c.out))); d != "" {
		t.Errorf("answered before the end of the transaction (-want +got):\n%s", d)
	}
	c.end(a, kgo.TryCommit)
	counts("late", "later")
	c.awaitAnswers(int64(len(want)))
	m.stop()
	if d := cmp.Diff(want, count(c.read(c.out))); d != "" {
		t.Errorf("answered (-want +got):\n%s", d)
	}
}

// TestAbortedOutOfOrder: the transaction that began first is aborted last, and brokers list aborted transactions by
// their ends.
func TestAbortedOutOfOrder(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a, b := c.transactional("a"), c.transactional("b")
	c.begin(a)
	c.write(a, "gone1")
	c.begin(b)
	c.write(b, "gone2")
	c.end(b, kgo.TryAbort)
	c.write(a, "gone3")
	c.end(a, kgo.TryAbort)
	if got, _, err := c.replay(ingest.Replay{}); err != nil || len(got) > 0 {
		t.Errorf("replayed: %v, %v", err, got)
	}
}

// TestOpenTransaction: what cannot be read yet waits, which is no stall. Metrics and a remark report it, and the
// consumer stays ready.
func TestOpenTransaction(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	a := c.transactional("a")
	c.begin(a)
	c.write(a, "open")
	c.send(numbered(0, 100)...) // by somebody else, behind it
	m := c.start(handle(echo),
		func(cfg *ingest.Config) { cfg.ReadyAfterStall = time.Second; cfg.Stall(3 * time.Second) })
	c.await("a member", m.isReady)
	begun := time.Now()
	c.await("the time of a stall to pass", func() bool { return time.Since(begun) > 4*time.Second })
	c.await("word of it", func() bool {
		return m.metric("open_transaction_seconds") > 2 && strings.Contains(m.Remark(), "open transaction")
	})
	if lag := m.metric("lag_records"); m.metric("stalls_total") > 0 || lag != 100+testPartitions ||
		m.metric("oldest_unanswered_seconds") != 0 || !m.isReady() {
		t.Errorf("%v stalls, lag %v, %v", m.metric("stalls_total"), lag, m.Check())
	}
	c.end(a, kgo.TryCommit)
	c.awaitAnswers(100 + testPartitions)
	c.await("the end of it", func() bool {
		return m.metric("open_transaction_seconds") == 0 && m.metric("lag_records") == 0 && m.Remark() == ""
	})
	m.stop()
}

// TestTransactionMarkers reads what transactional producers wrote: the markers
// in the log are no records, are passed over and committed.
func TestTransactionMarkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.conn.Brokers...), kgo.TransactionalID(c.group),
		kgo.DefaultProduceTopic(c.in))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	m := c.start(handle(echo))
	const n, each = 60, 5
	for i := 0; i < n; i += each {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for j := range each {
			producer.Produce(t.Context(), &kgo.Record{Key: fmt.Appendf(nil, "k%d", i+j), Value: []byte("v")}, nil)
		}
		if err := producer.Flush(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := producer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	c.awaitAnswers(n)
	c.await("commits past the markers", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	m.stop()
	if sum(c.ends(c.in)) <= n {
		t.Fatal("there are no markers")
	}
	if m.metric("skipped_offsets_total", "absent") == 0 {
		t.Error("skipped_offsets_total does not count the markers")
	}
	c.wantAll(n, true)
}
