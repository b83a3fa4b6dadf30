package ingest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
)

// commitInterval is how often progress is committed: what a crash makes the
// next owner answer again.
const commitInterval = 100 * time.Millisecond

// generation is one assignment of partitions: its workers mark progress, its
// committer commits it, both never after it was revoked.
type generation struct {
	c      *Consumer
	commit func(map[string]map[int]int64) error // of the kafka.Generation
	shared *int                                 // partitions of all members; nil where this is not the leader

	mu         sync.Mutex
	revoked    bool
	partitions map[int]*progress
}

// progress is where one partition stands.
type progress struct {
	next      int64 // offset of the first record that is not answered; -1 before any was
	committed int64
	moved     time.Time // when next last moved, or everything was answered
	blocked   bool      // by a dead letter that its topic does not take
}

// start begins the workers and the committer of gen. They run as one function
// of the generation: when it returns, kafka-go ends the generation, and
// kafka-go waits for it before it closes the connection or joins the next.
func (c *Consumer) start(gen *kafka.Generation) {
	c.metrics.rebalances.Inc()
	assigned := gen.Assignments[c.cfg.Input]
	c.metrics.assigned.Set(float64(len(assigned)))
	c.log.Info("joined the consumer group", "generation", gen.ID, "partitions", len(assigned))
	g := newGeneration(c, gen.CommitOffsets, assigned)
	gen.Start(func(ctx context.Context) { g.run(ctx, assigned) })
}

// balancer shares partitions out by range and keeps how many there were. The
// leader of the group alone is asked to share out, so it alone knows which
// partitions have an owner; kafka-go's own watch counts them later, and takes
// those that were added in between for owned.
type balancer struct {
	kafka.RangeGroupBalancer

	c *Consumer
}

// AssignGroups implements kafka.GroupBalancer.
func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	n := 0 // also where the topic is not there
	for _, p := range partitions {
		if p.Topic == b.c.cfg.Input {
			n++
		}
	}
	b.c.shared.Store(&n)
	return b.RangeGroupBalancer.AssignGroups(members, partitions)
}

// changed waits until the input has not as many partitions as were shared out,
// none where it is gone, and reports whether that was before ctx ended. Where
// the leader joins anew, all members do, and begin where the group's offsets
// of the topic are then.
func (g *generation) changed(ctx context.Context) bool {
	ticker := time.NewTicker(g.c.cfg.PartitionWatchInterval)
	defer ticker.Stop()
	for {
		select {
		case <-ctx.Done():
			return false
		case <-ticker.C:
			counts, err := g.c.client.partitions(ctx, g.c.cfg.Input)
			if err != nil {
				continue // a broker that is away says nothing of the topic
			}
			if n := counts[g.c.cfg.Input]; n != *g.shared {
				g.c.log.Warn("the input topic has another number of partitions: joining the group anew", "before", *g.shared, "partitions", n)
				return true
			}
		}
	}
}

func newGeneration(c *Consumer, commit func(map[string]map[int]int64) error, assigned []kafka.PartitionAssignment) *generation {
	g := &generation{c: c, commit: commit, shared: c.shared.Swap(nil), partitions: make(map[int]*progress, len(assigned))}
	for _, a := range assigned {
		g.partitions[a.ID] = &progress{next: -1, committed: -1, moved: time.Now()}
	}
	return g
}

// run consumes until ctx, the generation's, ends or a partition stalls.
func (g *generation) run(ctx context.Context, assigned []kafka.PartitionAssignment) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// What was handled when the generation ends is still produced, and marked
	// if that succeeds soon: heartbeats have ended, so this must be over
	// before the session is.
	produce, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()

	var workers sync.WaitGroup
	for _, a := range assigned {
		workers.Go(func() { newPartition(g, a).run(ctx, produce) })
	}
	if g.shared != nil {
		workers.Go(func() {
			if g.changed(ctx) {
				cancel()
			}
		})
	}
	ticker := time.NewTicker(commitInterval)
	defer ticker.Stop()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker.C:
			g.commitMarked()
			if g.stalled() {
				g.c.metrics.stalls.Inc()
				g.c.log.Warn("a partition with records makes no progress: joining the group anew", "timeout", g.c.cfg.StallTimeout)
				cancel()
			}
		}
	}
	grace := time.AfterFunc(g.c.cfg.SessionTimeout/2, abandon)
	defer grace.Stop()
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	late := time.NewTimer(g.c.cfg.SessionTimeout)
	defer late.Stop()
	select {
	case <-done:
	case <-late.C:
		g.c.log.Error("a handler does not return: leaving it behind")
	}
	g.revoke()
}

// revoke ends marking, then commits for the last time.
func (g *generation) revoke() {
	g.mu.Lock()
	g.revoked = true
	g.mu.Unlock()
	g.commitMarked()
	for id := range g.partitions {
		g.c.metrics.lag.DeleteLabelValues(partitionLabel(id))
	}
}

// mark records that everything before next is answered.
func (g *generation) mark(partition int, next int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if p := g.partitions[partition]; !g.revoked && next > p.next {
		p.next, p.moved = next, time.Now()
	}
}

// begin records where a partition's worker begins to read. That alone is
// nothing to commit.
func (g *generation) begin(partition int, next int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.partitions[partition]
	p.next, p.committed = next, next
}

// seen records the end of a partition. Reaching it is progress.
func (g *generation) seen(partition int, next, end int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if next >= end {
		g.partitions[partition].moved = time.Now()
	}
}

// block records that a partition is blocked, or no longer is.
func (g *generation) block(partition int, blocked bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	p := g.partitions[partition]
	p.blocked, p.moved = blocked, time.Now()
}

// stalled reports whether some partition has made no progress for too long. A
// blocked one waits for somebody, which joining the group anew would not change.
func (g *generation) stalled() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for _, p := range g.partitions {
		if !p.blocked && time.Since(p.moved) > g.c.cfg.StallTimeout {
			return true
		}
	}
	return false
}

// commitMarked commits the partitions that have advanced since the last time.
// An idle partition is not touched: the offset that it was assigned may be a
// sentinel, and committing what was not read would skip it.
func (g *generation) commitMarked() {
	g.mu.Lock()
	marked := make(map[int]int64)
	for id, p := range g.partitions {
		if p.next > p.committed {
			marked[id] = p.next
		}
	}
	g.mu.Unlock()
	if len(marked) == 0 {
		return
	}
	if err := g.commit(map[string]map[int]int64{g.c.cfg.Input: marked}); err != nil {
		result := commitFailed
		if errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) || errors.Is(err, kafka.RebalanceInProgress) {
			result = commitStale
		}
		g.c.metrics.commits.WithLabelValues(result).Inc()
		if n, ok := g.c.uncommitted.allow(); ok {
			g.c.log.Warn("committing offsets does not succeed", "err", err, "result", result, "errors_since", n)
		}
		return
	}
	g.c.metrics.commits.WithLabelValues(commitOK).Inc()
	g.mu.Lock()
	for id, next := range marked {
		g.partitions[id].committed = next
	}
	g.mu.Unlock()
}
