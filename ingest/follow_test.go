package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// followed is a follower that runs until stop.
type followed struct {
	*cluster
	mu   sync.Mutex
	keys map[string]int
	stop func()
}

func (c *cluster) follow(f ingest.Follow) *followed {
	c.Helper()
	f.Topic = c.in
	w := &followed{cluster: c, keys: map[string]int{}}
	ctx, cancel := context.WithCancel(c.Context())
	done := make(chan error, 1)
	go func() {
		done <- c.client.Follow(ctx, f, func(r *ingest.Record) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.keys[string(r.Key)]++
		})
	}()
	w.stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			c.Errorf("Follow: %v", err)
		}
	})
	c.Cleanup(w.stop)
	return w
}

func (w *followed) seen() map[string]int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return maps.Clone(w.keys)
}

// until waits for k<n> to k<m-1>, each once, and nothing else.
func (w *followed) until(n, m int) {
	w.Helper()
	w.await(fmt.Sprintf("keys %d to %d", n, m), func() bool { return len(w.seen()) >= m-n })
	w.wantKeys(w.seen(), n, m)
}

// TestFollow reads what is there, what comes, and what comes to partitions that are added.
func TestFollow(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.send(numbered(0, 100)...)
	w := c.follow(ingest.Follow{})
	w.until(0, 100)
	c.send(numbered(100, 200)...)
	w.until(0, 200)
	p := c.producer()
	if _, err := kadm.NewClient(p.Client).CreatePartitions(t.Context(), 1, c.in); err != nil {
		t.Fatal(err)
	}
	c.await("the new partition takes a record", func() bool {
		p.ForceMetadataRefresh() // again and again: brokers learn of a new partition at different times
		return p.ProduceSync(t.Context(),
			&kgo.Record{Partition: testPartitions, Key: []byte("k200"), Value: []byte("v")}).FirstErr() == nil
	})
	c.await("the new partition read", func() bool { return len(w.seen()) == 201 })
}

func TestFollowFromATime(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	p := c.producer()
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	for i := range 20 {
		p.produce(&kgo.Record{
			Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v"), Timestamp: begin.Add(time.Duration(i) * time.Minute),
		})
	}
	c.follow(ingest.Follow{From: begin.Add(15 * time.Minute)}).until(15, 20)
}

// TestFollowOfNothing: a missing topic is reported, and an ended context is no error.
func TestFollowOfNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	err := c.client.Follow(t.Context(), ingest.Follow{Topic: c.in + "-gone"}, func(*ingest.Record) {})
	if missing, ok := errors.AsType[*ingest.MissingTopicsError](err); !ok || missing.Topics[0] != c.in+"-gone" {
		t.Errorf("got %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.client.Follow(ctx, ingest.Follow{Topic: c.in}, func(*ingest.Record) {}); err != nil {
		t.Errorf("an ended context: %v", err)
	}
}

// TestFollowOutlivesPanics: a panic ends the reading, not the process, and the log has nothing of the record.
func TestFollowOutlivesPanics(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.send(numbered(0, 20)...)
	log := &ingesttest.Log{}
	f := ingest.Follow{Topic: c.in, Logger: slog.New(slog.NewTextHandler(log, nil))}
	err := c.client.Follow(t.Context(), f, func(r *ingest.Record) {
		if string(r.Key) == "k7" {
			panic("secret " + string(r.Value))
		}
	})
	if err == nil || !strings.Contains(err.Error(), "panicked") ||
		strings.Contains(err.Error()+log.String(), "secret") || !strings.Contains(log.String(), "offset=") {
		t.Errorf("%v, log:\n%s", err, log)
	}
}

// TestFollowIsCurrent: every partition is said to be read to its end, not before what was there is handed on, and again
// while nothing is written.
func TestFollowIsCurrent(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.send(numbered(0, 100)...)
	var mu sync.Mutex
	calls := map[int]int{}
	before := -1 // records handed on when all partitions were current
	var w *followed
	began := make(chan struct{})
	w = c.follow(ingest.Follow{Current: func(partition, partitions int) {
		<-began
		seen := len(w.seen())
		mu.Lock()
		defer mu.Unlock()
		if calls[partition]++; len(calls) == partitions && before < 0 {
			before = seen
		}
	}})
	close(began)
	w.until(0, 100)
	c.await("several calls for each partition", func() bool {
		mu.Lock()
		defer mu.Unlock()
		for p := range testPartitions {
			if calls[p] < 2 {
				return false
			}
		}
		return true
	})
	w.stop()
	if before != 100 {
		t.Errorf("said to be current after %d records of 100", before)
	}
}

// TestFollowKeepsItsRate: 100 records at 100 a second take about a second, and never less than its nine tenths.
func TestFollowKeepsItsRate(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.send(numbered(0, 100)...)
	began := time.Now()
	c.follow(ingest.Follow{Rate: 100}).until(0, 100)
	if took := time.Since(began); took < 900*time.Millisecond {
		t.Errorf("100 records took %v", took)
	}
}

// TestFollowSurvivesFaults: requests fail, records are deleted before they are read, and the topic is created anew.
func TestFollowSurvivesFaults(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Metadata}, Err: kerr.LeaderNotAvailable, Count: 3}) // at the beginning
	w := c.follow(ingest.Follow{})
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets} {
		c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.NotLeaderForPartition, Count: 8})
	}
	c.send(numbered(0, 100)...)
	w.until(0, 100)
	if err := c.client.DeleteTopics(t.Context(), c.in); err != nil {
		t.Fatal(err)
	}
	c.await("the topic created anew", func() bool {
		return c.client.CreateTopics(t.Context(), ingest.Topic{Name: c.in, Partitions: testPartitions}) == nil
	})
	c.send(numbered(100, 110)...)
	c.await("the new topic read", func() bool { return len(w.seen()) == 110 })
}

// TestCompactedTopic asks the broker for the policy of a topic that was created as compacted.
func TestCompactedTopic(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	name := c.in + "-compacted"
	if err := c.client.CreateTopics(t.Context(),
		ingest.Topic{Name: name, Partitions: 1, Compacted: true, MaxMessageBytes: 2 << 20}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.client.DeleteTopics(context.WithoutCancel(t.Context()), name) })
	want := map[string]string{"cleanup.policy": "compact", "max.message.bytes": "2097152"}
	c.await("the settings, at the broker that is asked", func() bool {
		res, err := c.kafka.DescribeConfigs(t.Context(),
			&kafka.DescribeConfigsRequest{Resources: []kafka.DescribeConfigRequestResource{
				{ResourceType: kafka.ResourceTypeTopic, ResourceName: name, ConfigNames: slices.Collect(
					maps.Keys(want))},
			}})
		if err != nil {
			t.Fatal(err)
		}
		got := map[string]string{}
		for _, e := range res.Resources[0].ConfigEntries {
			got[e.ConfigName] = e.ConfigValue
		}
		return maps.Equal(got, want)
	})
}
