package ingest_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// replay returns the keys that a replay hands on, and how often each.
func (c *cluster) replay(r ingest.Replay, each ...func(*ingest.Record)) (map[string]int, ingest.Replayed, error) {
	c.Helper()
	r.Topic = c.in
	keys, last := map[string]int{}, map[int]int64{}
	got, err := c.client.Replay(c.Context(), r, func(record *ingest.Record) error {
		if before, ok := last[record.Partition]; ok && record.Offset <= before {
			c.Errorf("partition %d: offset %d after %d", record.Partition, record.Offset, before)
		}
		last[record.Partition] = record.Offset
		keys[string(record.Key)]++
		for _, f := range each {
			f(record)
		}
		return nil
	})
	return keys, got, err
}

// wantKeys fails unless each of k<n> to k<m-1> is there once, and nothing else.
func (c *cluster) wantKeys(got map[string]int, n, m int) {
	c.Helper()
	want := map[string]int{}
	for i := n; i < m; i++ {
		want[fmt.Sprintf("k%d", i)] = 1
	}
	if d := cmp.Diff(want, got); d != "" {
		c.Error(d)
	}
}

// TestReplayEndsWhereItBegan: what is written during the replay is left out, and progress reaches its total.
func TestReplayEndsWhereItBegan(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const n = 3000
	c.send(numbered(0, n)...)
	var done, total int64
	more := n
	keys, got, err := c.replay(ingest.Replay{Progress: func(d, all int64) {
		if d < done || all != n {
			t.Errorf("progress %d of %d after %d", d, all, done)
		}
		done, total = d, all
	}}, func(*ingest.Record) {
		if more < n+5 {
			c.send(numbered(more, more+1)...)
			more++
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	c.wantKeys(keys, 0, n)
	if d := cmp.Diff(ingest.Replayed{Partitions: testPartitions, Records: n}, got); d != "" || done != n || total != n {
		t.Errorf("%s\nprogress %d of %d", d, done, total)
	}
}

func TestReplayOfNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if _, got, err := c.replay(ingest.Replay{}); err != nil || got != (ingest.Replayed{Partitions: testPartitions}) {
		t.Errorf("empty partitions: %+v, %v", got, err)
	}
	c.in += "-gone"
	_, _, err := c.replay(ingest.Replay{})
	if missing, ok := errors.AsType[*ingest.MissingTopicsError](err); !ok || missing.Topics[0] != c.in {
		t.Errorf("got %v", err)
	}
}

// TestReplayFromATime produces records with timestamps of their own, in all partitions but the last.
func TestReplayFromATime(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	producer := c.producer()
	begin := time.Now().Add(-24 * time.Hour).Truncate(time.Second)
	const n = 300
	for i := range n {
		producer.produce(&kgo.Record{
			Partition: int32(i % (testPartitions - 1)), Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v"),
			Timestamp: begin.Add(time.Duration(i) * time.Minute),
		})
	}
	for name, test := range map[string]struct {
		from  time.Time
		first int
	}{
		"all":         {time.Time{}, 0},
		"the epoch":   {time.UnixMilli(-1), 0},
		"before":      {begin.Add(-time.Hour), 0},
		"exactly":     {begin.Add(100 * time.Minute), 100},
		"in between":  {begin.Add(100*time.Minute + time.Second), 101},
		"the last":    {begin.Add((n - 1) * time.Minute), n - 1},
		"behind":      {begin.Add(n * time.Minute), n},
		"after today": {time.Now().Add(time.Hour), n},
	} {
		keys, _, err := c.replay(ingest.Replay{From: test.from})
		if err != nil {
			t.Fatal(err)
		}
		t.Log(name)
		c.wantKeys(keys, test.first, n)
	}
}

// TestReplayOfATruncatedStart deletes records before and during the replay.
func TestReplayOfATruncatedStart(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	producer := c.producer()
	// Batches of one record each: a broker can send only whole ones.
	const n = 200
	value := make([]byte, 64<<10) // all of them exceed one fetch
	for i := range n {
		_, _ = rand.Read(value)
		producer.produce(&kgo.Record{Key: fmt.Appendf(nil, "k%d", i), Value: value})
	}
	admin := kadm.NewClient(producer.Client)
	deleteTo := func(offset int64) {
		offsets := kadm.Offsets{}
		offsets.Add(kadm.Offset{Topic: c.in, Partition: 0, At: offset})
		ingesttest.Await(t, "the deletion", func() bool { // the leader may not know of a new topic
			res, err := admin.DeleteRecords(context.WithoutCancel(t.Context()), offsets)
			if err = errors.Join(err, res.Error()); err != nil && !errors.Is(err, kerr.UnknownTopicOrPartition) {
				t.Fatal(err)
			}
			return err == nil
		})
	}
	deleteTo(10)
	begun := false
	keys, got, err := c.replay(ingest.Replay{}, func(*ingest.Record) {
		if !begun {
			begun = true
			deleteTo(n - 5)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	if got.Deleted == 0 || got.Deleted+got.Records != n-10 || int64(len(keys)) != got.Records || keys["k10"] != 1 ||
		keys[fmt.Sprintf("k%d", n-1)] != 1 {
		t.Errorf("%+v with %d keys", got, len(keys))
	}
}

// TestReplayOfGaps reads compacted records and the markers of transactions.
func TestReplayOfGaps(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	set := kmsg.NewPtrIncrementalAlterConfigsRequest()
	resource := kmsg.NewIncrementalAlterConfigsRequestResource()
	resource.ResourceType, resource.ResourceName = kmsg.ConfigResourceTypeTopic, c.in
	policy := "compact"
	resource.Configs = []kmsg.IncrementalAlterConfigsRequestResourceConfig{{Name: "cleanup.policy", Value: &policy}}
	set.Resources = append(set.Resources, resource)
	producer := c.producer(kgo.TransactionalID(c.group))
	if _, err := set.RequestWith(t.Context(), producer.Client); err != nil {
		t.Fatal(err)
	}
	const rounds, keys = 20, 7
	for range rounds {
		if err := producer.BeginTransaction(); err != nil {
			t.Fatal(err)
		}
		for i := range keys {
			producer.produce(&kgo.Record{Key: fmt.Appendf(nil, "k%d", i), Value: []byte("v")})
		}
		if err := producer.EndTransaction(t.Context(), kgo.TryCommit); err != nil {
			t.Fatal(err)
		}
	}
	// The partition ends in a marker, and then something is written behind it.
	late := c.producer()
	sent := false
	seen, before, err := c.replay(ingest.Replay{}, func(*ingest.Record) {
		if !sent {
			sent = true
			late.produce(&kgo.Record{Key: []byte("late"), Value: []byte("v")})
		}
	})
	if err != nil || before.Records != rounds*keys || before.Absent != rounds || seen["late"] > 0 {
		t.Fatalf("markers: %+v, %v, %v", before, seen, err)
	}
	c.fake.Compact()
	var done, total int64
	got, after, err := c.replay(ingest.Replay{Progress: func(d, all int64) { done, total = d, all }})
	if err != nil || after.Records >= before.Records || len(got) != keys+1 || after.Absent <= before.Absent ||
		after.Records+after.Absent != total || done != total {
		t.Errorf("compacted: %+v after %+v, %d of %d offsets, %v", after, before, done, total, err)
	}
}

// TestReplaySurvivesFaults repeats requests, but not for ever.
func TestReplaySurvivesFaults(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	const n = 100
	c.send(numbered(0, n)...)
	for _, key := range []kmsg.Key{kmsg.Fetch, kmsg.ListOffsets} {
		fault := c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{key}, Err: kerr.NotLeaderForPartition, Count: 3})
		keys, _, err := c.replay(ingest.Replay{})
		if err != nil || fault.Hits() != 3 {
			t.Fatalf("%v after %d faults: %v", key, fault.Hits(), err)
		}
		c.wantKeys(keys, 0, n)
	}
	own := errors.New("enough")
	if _, err := c.client.Replay(t.Context(), ingest.Replay{Topic: c.in},
		func(*ingest.Record) error { return own }); !errors.Is(err, own) {
		t.Errorf("an error of each: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	_, err := c.client.Replay(ctx, ingest.Replay{Topic: c.in}, func(*ingest.Record) error { cancel(); return nil })
	if !errors.Is(err, context.Canceled) {
		t.Errorf("an ended context: %v", err)
	}
}

// producer writes to partitions of its own choice, each record in a batch of its own.
type producer struct {
	*kgo.Client
	c *cluster
}

func (c *cluster) producer(opts ...kgo.Opt) producer {
	c.Helper()
	client, err := kgo.NewClient(append([]kgo.Opt{
		kgo.SeedBrokers(c.conn.Brokers...), kgo.DefaultProduceTopic(c.in),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.UnknownTopicRetries(-1), // brokers learn of a new topic at different times
	}, opts...)...)
	if err != nil {
		c.Fatal(err)
	}
	c.Cleanup(client.Close)
	return producer{client, c}
}

func (p producer) produce(r *kgo.Record) {
	p.c.Helper()
	if err := p.ProduceSync(p.c.Context(), r).FirstErr(); err != nil {
		p.c.Fatal(err)
	}
}
