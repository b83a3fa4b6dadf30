package ingest

import (
	"errors"
	"fmt"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/segmentio/kafka-go"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/ingest/recordset"
	"github.com/wardcast/wardcast/internal/loglimit"
)

// testConsumer is a Consumer with what a generation needs.
func testConsumer() *Consumer {
	m := newMetrics(nil)
	return &Consumer{
		cfg: Config{Input: "in", stallTimeout: time.Minute}, log: slog.New(slog.DiscardHandler),
		metrics: m, attempts: loglimit.New(time.Hour),
	}
}

// TestCommitsFollowMarks holds a generation against a model of it: in whatever
// order partitions are marked, commits fail and the generation ends, what is
// committed is what was marked, never falls and never moves after the end.
func TestCommitsFollowMarks(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		const partitions = 3
		stored := map[int]int64{} // by the broker
		refuse := false
		var assigned []kafka.PartitionAssignment
		for id := range partitions {
			assigned = append(assigned, kafka.PartitionAssignment{ID: id})
		}
		g := newGeneration(testConsumer(), func(offsets map[string]map[int]int64) error {
			if refuse {
				return kafka.IllegalGeneration
			}
			for id, next := range offsets["in"] {
				if next <= stored[id] {
					t.Fatalf("partition %d: %d is committed after %d", id, next, stored[id])
				}
				stored[id] = next
			}
			return nil
		}, assigned)
		want := map[int]int64{}
		for id := range partitions {
			if rapid.Bool().Draw(t, "begins") {
				want[id] = rapid.Int64Range(0, 9).Draw(t, "begin")
				g.begin(id, want[id])
				stored[id] = want[id]
			}
		}
		t.Repeat(map[string]func(*rapid.T){
			"mark": func(t *rapid.T) {
				id := rapid.SampledFrom(assigned).Draw(t, "partition").ID
				next := rapid.Int64Range(0, 50).Draw(t, "next")
				if _, begun := want[id]; begun {
					g.mark(id, next)
					want[id] = max(want[id], next)
				}
			},
			"commit": func(*rapid.T) { refuse = false; g.commitMarked() },
			"refuse": func(*rapid.T) { refuse = true; g.commitMarked() },
		})
		refuse = false
		g.revoke()
		for id := range want {
			g.mark(id, 1000)
		}
		g.commitMarked()
		if diff := cmp.Diff(want, stored); diff != "" {
			t.Fatalf("committed at the end: -want +got\n%s", diff)
		}
	})
}

func TestSentinelIsNotCommitted(t *testing.T) {
	t.Parallel()
	g := newGeneration(testConsumer(), func(o map[string]map[int]int64) error {
		t.Errorf("committed %v", o)
		return nil
	}, []kafka.PartitionAssignment{{ID: 0, Offset: kafka.FirstOffset}, {ID: 1, Offset: 5}})
	g.begin(1, 5)
	g.commitMarked()
	g.revoke()
}

// TestBlockedPartitionDoesNotStall: a partition that waits for its dead letter does not end the generation of the
// others; another one still does, and so does the same one when it goes on and then comes to no end.
func TestBlockedPartitionDoesNotStall(t *testing.T) {
	t.Parallel()
	g := newGeneration(testConsumer(), nil, []kafka.PartitionAssignment{{ID: 0}, {ID: 1}})
	long := time.Now().Add(-2 * g.c.cfg.stallTimeout)
	want := func(what string, stalled bool) {
		t.Helper()
		if _, got := g.stalled(commitInterval); got != stalled {
			t.Errorf("%s: stalled is %t, want %t", what, got, stalled)
		}
	}
	g.block(0, true)
	g.partitions[0].moved = long
	want("blocked", false)
	g.partitions[1].moved = long
	want("another", true)
	g.partitions[1].moved = time.Now()
	g.block(0, false)
	want("just set free", false)
	g.partitions[0].moved = long
	want("long set free", true)
}

// TestPauseIsNoStall: after the process was stopped, every partition has its whole time again.
func TestPauseIsNoStall(t *testing.T) {
	t.Parallel()
	g := newGeneration(testConsumer(), nil, []kafka.PartitionAssignment{{ID: 0}, {ID: 1}})
	pause := 2 * g.c.cfg.stallTimeout
	for _, p := range g.partitions {
		p.moved = time.Now().Add(-pause)
	}
	for _, pause := range []time.Duration{pause, commitInterval} {
		if id, ok := g.stalled(pause); ok {
			t.Errorf("partition %d counts as stalled after a pause of the process", id)
		}
	}
}

// TestPartitionOfAKey compares with Java's DefaultPartitioner: the values are
// of Apache Kafka's UtilsTest.testMurmur2, reduced as the partitioner does.
func TestPartitionOfAKey(t *testing.T) {
	t.Parallel()
	const n = 1000
	for key, hash := range map[string]int32{
		"21": -973932308, "foobar": -790332482, "a-little-bit-long-string": -985981536,
		"a-little-bit-longer-string": -1486304829, "lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8": -58897971,
		"abc": 479470107,
	} {
		want := int(hash&0x7fffffff) % n
		for got := range byPartition([]*Output{{Key: []byte(key)}}, n) {
			if got != want {
				t.Errorf("%q goes to partition %d, want %d", key, got, want)
			}
		}
	}
	batches := byPartition([]*Output{{record: Record{Partition: 7}}}, 4)
	if len(batches[3]) != 1 {
		t.Errorf("a message without a key goes to %v, want partition 7 mod 4", batches)
	}
}

// TestAnswerStorage: the values of a batch's answers stand side by side in storage that the next batch uses again. That
// of a record is never written to, and an answer that finds no room has memory of its own.
func TestAnswerStorage(t *testing.T) {
	t.Parallel()
	input := []byte("key value")
	b := newBatch()
	storage := &b.values[:1][0]
	for range 2 {
		var want []string
		for _, value := range []func(r Record, o *Output){
			func(r Record, o *Output) { o.Value = append(o.Value, r.Value...) },
			func(r Record, o *Output) { o.Value = r.Value },
			func(r Record, o *Output) { o.Value = r.Value[2:3] },
			func(_ Record, o *Output) { o.Value = append(o.Value, "another"...) },
			func(_ Record, o *Output) { o.Value = append(o.Value, make([]byte, cap(o.Value)+1)...) },
			func(r Record, o *Output) { o.Value = append(o.Value, r.Key...) },
		} {
			o := b.output(Record{Key: input[:3:3], Value: input[4:9:9]})
			value(o.record, o)
			o.AddHeader("a", "b")
			o.AddHeader("c", "d")
			want = append(want, string(o.Value))
			b.answer(o)
		}
		var got []string
		for _, o := range b.answers {
			got = append(got, string(o.Value))
			if headers := fmt.Sprintf("%s", o.Headers); headers != "[{a b} {c d}]" {
				t.Errorf("headers are %s", headers)
			}
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("answers (-want +got):\n%s", d)
		}
		if string(b.values) != "valueanotherkey" || &b.values[0] != storage {
			t.Errorf("the storage holds %q, or is another", b.values)
		}
		b.reset()
	}
	if string(input) != "key value" {
		t.Errorf("the record is now %q", input)
	}
}

func TestHopeless(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		kafka.SASLAuthenticationFailed: true, kafka.UnsupportedSASLMechanism: true,
		kafka.LeaderNotAvailable: false, errors.ErrUnsupported: false,
	} {
		if got := hopeless(fmt.Errorf("dialing broker: %w", err)); got != want {
			t.Errorf("hopeless(%v) is %t, want %t", err, got, want)
		}
	}
}

// TestPermanent: who is to mend an error of a broker must be somebody.
func TestPermanent(t *testing.T) {
	t.Parallel()
	for err, want := range map[error]bool{
		kafka.TopicAuthorizationFailed: true, kafka.InvalidTimestamp: true, kafka.InvalidRecord: true,
		&TooLargeError{}: true, recordset.FormatError(1): true,
		kafka.Unknown: false, kafka.OffsetOutOfRange: false, kafka.BrokerNotAvailable: false,
		kafka.ReplicaNotAvailable: false,
		kafka.LeaderNotAvailable:  false, io.ErrUnexpectedEOF: false, &MissingTopicsError{}: false,
	} {
		if got := permanent(fmt.Errorf("writing: %w", err)); got != want {
			t.Errorf("permanent(%v) is %t, want %t", err, got, want)
		}
	}
}

// TestSharedOut counts the partitions of the input alone, and those of a topic
// that is not there as none.
func TestSharedOut(t *testing.T) {
	t.Parallel()
	c := testConsumer()
	for name, test := range map[string]struct {
		topics []string
		want   int
	}{
		"beside another": {[]string{"in", "other", "in"}, 2},
		"not there":      {[]string{"other"}, 0},
		"no partitions":  {nil, 0},
	} {
		var partitions []kafka.Partition
		for id, topic := range test.topics {
			partitions = append(partitions, kafka.Partition{Topic: topic, ID: id})
		}
		balancer{c: c}.AssignGroups([]kafka.GroupMember{{ID: "m", Topics: []string{"in", "other"}}}, partitions)
		if g := newGeneration(c, nil, nil); g.shared == nil {
			t.Errorf("%s: nothing is shared out", name)
		} else if *g.shared != test.want {
			t.Errorf("%s: shared out %d, want %d", name, *g.shared, test.want)
		}
		if g := newGeneration(c, nil, nil); g.shared != nil {
			t.Errorf("%s: a generation that nothing was shared out for takes the count of the one before", name)
		}
	}
}
