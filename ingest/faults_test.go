package ingest_test

import (
	"crypto/rand"
	"errors"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
)

// TestFaultsLoseNothing answers a stream while requests of one kind fail.
func TestFaultsLoseNothing(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		key  kmsg.Key
		err  *kerr.Error // nil closes the connection
		once bool        // nothing is written twice
	}{
		"produce not leader":             {kmsg.Produce, kerr.NotLeaderForPartition, true},
		"produce few replicas":           {kmsg.Produce, kerr.NotEnoughReplicas, true},
		"produce few replicas after":     {kmsg.Produce, kerr.NotEnoughReplicasAfterAppend, false},
		"produce timed out":              {kmsg.Produce, kerr.RequestTimedOut, false},
		"produce unknown error":          {kmsg.Produce, kerr.UnknownServerError, true},
		"produce not authorized for now": {kmsg.Produce, kerr.TopicAuthorizationFailed, true},
		"produce connection":             {kmsg.Produce, nil, true},
		"fetch not leader":               {kmsg.Fetch, kerr.NotLeaderForPartition, true},
		"fetch unknown error":            {kmsg.Fetch, kerr.UnknownServerError, true},
		"fetch connection":               {kmsg.Fetch, nil, true},
		"commit refused":                 {kmsg.OffsetCommit, kerr.UnknownServerError, true},
		"commit not coordinator":         {kmsg.OffsetCommit, kerr.NotCoordinator, true},
		"join not available":             {kmsg.JoinGroup, kerr.CoordinatorNotAvailable, true},
		"sync connection":                {kmsg.SyncGroup, nil, true},
		"heartbeat connection":           {kmsg.Heartbeat, nil, false},
		"coordinator not available":      {kmsg.FindCoordinator, kerr.CoordinatorNotAvailable, true},
		"list offsets not leader":        {kmsg.ListOffsets, kerr.NotLeaderForPartition, true},
		"offset fetch connection":        {kmsg.OffsetFetch, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newFake(t)
			const n, faults = 2000, 3
			c.send(numbered(0, n/2)...)
			var fault *kfake.FaultHandle
			var left atomic.Int32
			left.Store(faults)
			if test.err != nil {
				fault = c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{test.key}, Err: test.err, Count: faults})
			} else {
				c.fake.ControlKey(int16(test.key), func(kmsg.Request) (kmsg.Response, error, bool) {
					if left.Load() == 0 {
						c.fake.DropControl() // keeping it is for good
						return nil, nil, false
					}
					left.Add(-1)
					c.fake.KeepControl()
					return nil, errors.New("closed by the test"), true
				})
			}
			m := c.start(handle(echo))
			c.awaitAnswers(n / 2)
			c.send(numbered(n/2, n)...)
			c.await("all answers", func() bool { return len(count(c.read(c.out))) == n })
			c.await("commits", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
			c.await("all faults",
				func() bool { return fault != nil && fault.Hits() == faults || fault == nil && left.Load() == 0 })
			m.stop()
			c.wantAll(n, test.once)
			if m.metric("stalls_total") != 0 {
				t.Error("the watchdog bit")
			}
		})
	}
}

// TestLeadersAndCoordinatorsMove shuffles both among three brokers while a
// stream is answered.
func TestLeadersAndCoordinatorsMove(t *testing.T) {
	t.Parallel()
	c := newFake(t, kfake.NumBrokers(3))
	m := c.start(handle(echo))
	const n, parts = 6_000, 3
	for i := range parts {
		c.send(numbered(i*n/parts, (i+1)*n/parts)...)
		c.fake.ShufflePartitionLeaders()
		c.fake.RehashCoordinators()
	}
	c.await("all answers", func() bool { return len(count(c.read(c.out))) == n })
	c.await("commits", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	m.stop()
	c.wantAll(n, false)
}

// TestKillBetweenProduceAndCommit lets a member answer without any commit
// getting through, as if it were killed: the next one repeats its answers.
func TestKillBetweenProduceAndCommit(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	const n = 1000
	c.send(numbered(0, n)...)
	fault := c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.OffsetCommit}, Err: kerr.UnknownServerError, Count: -1})
	m := c.start(handle(echo))
	c.awaitAnswers(n)
	m.stop()
	if m.metric("commits_total", "failed") == 0 || m.metric("commits_total", "ok") != 0 {
		t.Error("the commits are not counted as failed")
	}
	fault.Remove()
	m = c.start(handle(echo))
	c.awaitAnswers(2 * n)
	m.stop()
	for key, times := range count(c.read(c.out)) {
		if times != 2 {
			t.Errorf("%s is answered %d times, want 2", key, times)
		}
	}
}

// watchCommits returns a function to call again and again: it names a
// partition whose committed offset it ever saw fall.
func (c *cluster) watchCommits() (fell func() string) {
	var bad string
	last := make([]int64, testPartitions)
	return func() string {
		g := c.fake.GroupInfo(c.group)
		if g == nil {
			return bad
		}
		for p, commit := range g.Commits[c.in] {
			if commit.Offset < last[p] {
				bad = strconv.Itoa(int(p))
			}
			last[p] = commit.Offset
		}
		return bad
	}
}

// TestRebalance has members come and go while a stream is answered.
func TestRebalance(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	fell := func() string { return "" }
	if c.fake != nil {
		fell = c.watchCommits()
	}
	const n = 10_000
	c.send(numbered(0, n/2)...)
	a := c.start(handle(echo))
	c.awaitAnswers(n / 20)
	b := c.start(handle(echo))
	c.send(numbered(n/2, n)...)
	c.await("two members with partitions", func() bool {
		return a.metric("assigned_partitions") == testPartitions/2 &&
			b.metric("assigned_partitions") == testPartitions/2
	})
	c.await("half of the answers", func() bool { fell(); return sum(c.ends(c.out)) >= n/2 })
	a.stop()
	d := c.start(handle(echo))
	c.await("all answers", func() bool { fell(); return len(count(c.read(c.out))) == n })
	b.stop()
	d.stop()
	c.wantAll(n, false)
	if p := fell(); p != "" {
		t.Errorf("the committed offset of %s was moved back", p)
	}
	if diff := cmp.Diff(c.ends(c.in), c.committed()); diff != "" {
		t.Errorf("committed offsets: -want +got\n%s", diff)
	}
}

// TestIdleRebalanceCommitsNothing: a generation that reads nothing leaves the
// offsets as they were, also where there are none yet.
func TestIdleRebalanceCommitsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	idle := func() {
		a := c.start(handle(echo))
		c.await("one member", a.isReady)
		b := c.start(handle(echo))
		c.await("another member",
			func() bool { return b.metric("assigned_partitions") > 0 && a.metric("assigned_partitions") == 2 })
		b.stop()
		a.stop()
	}
	idle()
	if got := c.committed(); slices.Max(got) != -1 {
		t.Errorf("committed offsets of a group that read nothing are %v", got)
	}
	m := c.start(handle(echo))
	c.send(numbered(0, 50)...)
	c.awaitAnswers(50)
	m.stop()
	before := c.committed()
	idle()
	if diff := cmp.Diff(before, c.committed()); diff != "" {
		t.Errorf("idle members moved the offsets: -want +got\n%s", diff)
	}
	c.send(numbered(50, 100)...)
	m = c.start(handle(echo))
	c.awaitAnswers(100)
	m.stop()
	c.wantAll(100, true)
}

// TestLateCommitMovesNothingBack holds a record in the handler of one member
// until another has taken its partition and gone on.
func TestLateCommitMovesNothingBack(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	fell := c.watchCommits()
	const n = 400
	c.send(numbered(0, n)...)
	held, release := make(chan struct{}), make(chan struct{})
	var once sync.Once
	a := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		if string(r.Key) == "k200" {
			once.Do(func() { close(held); <-release })
		}
		return echo(r, out)
	}))
	<-held
	b := c.start(handle(echo))
	c.await("all answers of the others", func() bool { fell(); return len(count(c.read(c.out))) == n })
	c.await("commits of the others", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	fell()
	close(release)
	c.await("the first member's next generation",
		func() bool { return a.metric("assigned_partitions") == 2 && a.metric("rebalances_total") > 1 })
	a.stop()
	b.stop()
	if p := fell(); p != "" {
		t.Errorf("the committed offset of %s was moved back", p)
	}
	if diff := cmp.Diff(c.ends(c.in), c.committed()); diff != "" {
		t.Errorf("committed offsets: -want +got\n%s", diff)
	}
	c.wantAll(n, false)
}

// TestStallLeavesTheGeneration: a partition whose handler does not return is given up, and read again once it does.
func TestStallLeavesTheGeneration(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	c.send(numbered(0, 100)...)
	release := make(chan struct{})
	m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		if string(r.Key) == "k7" {
			<-release
		}
		return echo(r, out)
	}), func(cfg *ingest.Config) { cfg.Stall(time.Second) })
	c.await("the watchdog", func() bool { return m.metric("stalls_total") > 0 })
	close(release)
	c.awaitAnswers(100)
	m.stop()
	c.wantAll(100, false)
	if lines, _ := m.logged(`level=ERROR msg="a partition with records makes no progress.*" ` +
		`component=ingest (?:generation=\d+ )?partition=(\d)`); lines == 0 {
		t.Errorf("no line names the partition:\n%s", m.log)
	}
}

// TestFailedFetchIsNoStall: joining the group again would not help a partition that cannot be read, and keep the others
// waiting.
func TestFailedFetchIsNoStall(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	const stallTimeout = 4 * time.Second
	fault := c.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.Fetch}, Topic: c.in, Partitions: []int32{0}, Err: kerr.UnknownServerError, Count: -1,
	})
	m := c.start(handle(echo), func(cfg *ingest.Config) { cfg.Stall(stallTimeout) })
	c.await("attempts", func() bool { return fault.Hits() > 0 })
	began := time.Now()
	c.send(numbered(0, 100)...)
	c.await("the stall timeout and more", func() bool { return time.Since(began) > stallTimeout*5/4 })
	if m.metric("stalls_total") != 0 || m.metric("rebalances_total") != 1 {
		t.Errorf("%v stalls, %v generations", m.metric("stalls_total"), m.metric("rebalances_total"))
	}
	fault.Remove()
	c.awaitAnswers(100)
	m.stop()
	c.wantAll(100, true)
}

// TestOutputIsMadeAnew: answers for partitions that the output had go to those that it has.
func TestOutputIsMadeAnew(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo))
	c.await("the group", m.isReady)
	if err := c.client.DeleteTopics(t.Context(), c.out); err != nil {
		t.Fatal(err)
	}
	const n = 100
	c.send(numbered(0, n)...)
	c.await("attempts", func() bool { return m.metric("produce_retries_total") >= testPartitions })
	if err := c.client.CreateTopics(t.Context(), ingest.Topic{Name: c.out, Partitions: 1}); err != nil {
		t.Fatal(err)
	}
	c.awaitAnswers(n)
	m.stop()
	c.wantAll(n, true)
}

func TestRetentionGapIsLogged(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	c.send(numbered(0, 100)...)
	m := c.start(handle(echo))
	c.awaitAnswers(100)
	m.stop()
	c.send(numbered(100, 200)...)
	lost := c.ends(c.in)[2] - c.committed()[2]
	if err := c.fake.DeleteRecords(c.in, 2, -1); err != nil {
		t.Fatal(err)
	}
	c.send(numbered(200, 300)...)
	m = c.start(handle(echo))
	c.awaitAnswers(300 - lost)
	m.stop()
	if got := m.metric("skipped_offsets_total", "retention"); got != float64(lost) || lost == 0 {
		t.Errorf("skipped_offsets_total is %v, want %d", got, lost)
	}
	if !strings.Contains(m.log.String(), "records were deleted before they were read") {
		t.Errorf("the log lacks it:\n%s", m.log)
	}
}

// noise returns n bytes that do not compress.
func noise(n int) string {
	b := make([]byte, n)
	_, _ = rand.Read(b)
	return string(b)
}

// TestFailedAttemptKeepsItsMemory: an attempt that failed may go on reading
// the batch in kafka-go, so that the batch is not used again even though a
// later attempt succeeds.
func TestFailedAttemptKeepsItsMemory(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	storage := make(chan *byte, 1)
	m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		storage <- &out.Value[:1][0]
		return echo(r, out)
	}))
	var lent *byte
	for i := range 5 {
		const failing = 2
		if i == failing {
			c.fake.Fault(kfake.Fault{Keys: []kmsg.Key{kmsg.Produce}, Topic: c.out, Err: kerr.RequestTimedOut})
		}
		c.send(&ingest.Output{Key: []byte("k0"), Value: []byte("value")})
		got := <-storage
		if i == failing {
			lent = got
		} else if got == lent {
			t.Errorf("record %d is answered in the memory of the attempt that failed", i)
		}
		c.await("the commit", func() bool { return slices.Max(c.committed()) == int64(i)+1 })
	}
	m.stop()
	if m.metric("produce_retries_total") != 1 {
		t.Errorf("%v attempts failed, want 1", m.metric("produce_retries_total"))
	}
}
