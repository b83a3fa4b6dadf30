package ingest_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
)

// TestTransactionMarkers reads what transactional producers wrote: the markers
// in the log are no records, are passed over and committed.
func TestTransactionMarkers(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.conn.Brokers...), kgo.TransactionalID(c.group), kgo.DefaultProduceTopic(c.in))
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
