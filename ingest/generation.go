package ingest

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wait"
)

// heartbeats is the number of heartbeats in a session.
const heartbeats = 6

// commitInterval is how often progress is committed. After a crash the next owner repeats the answers of an interval.
const commitInterval = 100 * time.Millisecond

// generation is one assignment of partitions. Until it is revoked, its workers mark progress and its committer commits
// it.
type generation struct {
	c      *Consumer
	commit func(map[string]map[int]int64) error // of the kafka.Generation
	beat   func(context.Context)                // keeps the member in the group while it ends its work
	shared *int                                 // partitions of all members; nil if this is not the leader

	mu         sync.Mutex
	revoked    bool
	partitions map[int]*progress
}

type progress struct {
	next      int64 // offset of the first record without an answer; -1 before the first answer
	committed int64
	moved     time.Time // when next last moved, or when all records were answered
	blocked   bool      // by an error that somebody must fix
}

// start starts the workers and the committer of gen as one function. When it returns, kafka-go ends the generation;
// before it closes the connection or joins the next generation, it waits for it.
func (c *Consumer) start(gen *kafka.Generation) {
	c.metrics.rebalances.Inc()
	assigned := gen.Assignments[c.cfg.Input]
	c.metrics.assigned.Set(float64(len(assigned)))
	ids := lists.Map(assigned, func(a kafka.PartitionAssignment) int { return a.ID })
	c.backlog.assign(ids)
	c.log.Info("joined the consumer group", "generation", gen.ID, "partitions", len(assigned))
	c.membership.join(len(assigned))
	g := newGeneration(c, gen.CommitOffsets, assigned)
	g.beat = func(ctx context.Context) {
		// The answer is known: a rebalance is in progress.
		_, _ = c.client.kafka.Heartbeat(ctx,
			&kafka.HeartbeatRequest{GroupID: gen.GroupID, GenerationID: gen.ID, MemberID: gen.MemberID})
	}
	gen.Start(func(ctx context.Context) {
		g.run(ctx, assigned)
		c.metrics.assigned.Set(0)
		c.membership.leave()
	})
}

// balancer assigns partitions by range and records their number. Only the leader of the group assigns, so only it knows
// which partitions have an owner. kafka-go's own watch counts them later, and would take partitions that were added in
// between for owned.
type balancer struct {
	kafka.RangeGroupBalancer

	c *Consumer
}

func (b balancer) AssignGroups(members []kafka.GroupMember, partitions []kafka.Partition) kafka.GroupMemberAssignments {
	// 0 if the topic is gone
	n := lists.Count(partitions, func(p kafka.Partition) bool { return p.Topic == b.c.cfg.Input })
	b.c.shared.Store(&n)
	return b.RangeGroupBalancer.AssignGroups(members, partitions)
}

// changed waits until the number of partitions differs from the number assigned (0 if the topic is gone), and reports
// whether that happened before ctx ended. When the leader rejoins, all members do, at the committed offsets.
func (g *generation) changed(ctx context.Context) bool {
	for wait.For(ctx, g.c.cfg.watchInterval) {
		counts, err := g.c.client.partitions(ctx, g.c.cfg.Input)
		if err != nil {
			continue // the broker is unreachable; the topic may exist
		}
		if n := counts[g.c.cfg.Input]; n != *g.shared {
			g.c.log.Warn("the number of partitions of the input topic has changed: rejoining the group",
				"before", *g.shared, "partitions", n)
			return true
		}
	}
	return false
}

func newGeneration(c *Consumer, commit func(map[string]map[int]int64) error,
	assigned []kafka.PartitionAssignment,
) *generation {
	g := &generation{c: c, commit: commit, shared: c.shared.Swap(nil), partitions: make(map[int]*progress,
		len(assigned))}
	for _, a := range assigned {
		g.partitions[a.ID] = &progress{next: -1, committed: -1, moved: time.Now()}
	}
	return g
}

// run consumes until the generation's ctx ends or a partition stalls.
func (g *generation) run(ctx context.Context, assigned []kafka.PartitionAssignment) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	// Records in progress when the generation ends are still produced, and marked if that succeeds: those of a slow
	// partition within produceTimeout, those of a failing one within patience.
	patience, impatient := context.WithCancel(context.WithoutCancel(ctx))
	defer impatient()
	produce, abandon := context.WithCancel(context.WithoutCancel(ctx))
	defer abandon()

	var workers sync.WaitGroup
	for _, a := range assigned {
		workers.Go(func() { newPartition(g, a).run(ctx, patience, produce) })
	}
	if g.shared != nil {
		workers.Go(func() {
			if g.changed(ctx) {
				cancel()
			}
		})
	}
	ticker, looked := time.Tick(commitInterval), time.Now()
	for ctx.Err() == nil {
		select {
		case <-ctx.Done():
		case <-ticker:
			g.commitMarked()
			pause := time.Since(looked)
			looked = looked.Add(pause)
			if id, ok := g.stalled(pause); ok {
				g.c.metrics.stalls.Inc()
				g.c.log.Error("a partition with records makes no progress: rejoining the group",
					"partition", id, "timeout", g.c.cfg.stallTimeout)
				cancel()
			}
		}
	}
	defer time.AfterFunc(g.c.cfg.SessionTimeout/2, impatient).Stop()
	defer time.AfterFunc(produceTimeout, abandon).Stop()
	g.drain(&workers)
	g.revoke()
}

// drain waits until the workers have ended. It sends heartbeats: kafka-go no longer does, and a session is shorter.
func (g *generation) drain(workers *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), drainTimeout)
	var beats sync.WaitGroup
	beats.Go(func() {
		for wait.For(ctx, g.c.cfg.SessionTimeout/heartbeats) {
			g.beat(ctx)
		}
	})
	defer beats.Wait()
	defer cancel()
	done := make(chan struct{})
	go func() { workers.Wait(); close(done) }()
	select {
	case <-done:
	case <-ctx.Done():
		g.c.log.Error("a handler does not return: continuing without it")
	}
}

// revoke ends marking, then commits one last time.
func (g *generation) revoke() {
	g.mu.Lock()
	g.revoked = true
	g.mu.Unlock()
	g.commitMarked()
}

func (g *generation) update(partition int, f func(*progress)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(g.partitions[partition])
}

// mark records that everything before next is answered.
func (g *generation) mark(partition int, next int64) {
	g.update(partition, func(p *progress) {
		if !g.revoked && next > p.next {
			p.next, p.moved = next, time.Now()
		}
	})
}

// begin records where a worker begins to read, which is not to be committed.
func (g *generation) begin(partition int, next int64) {
	g.update(partition, func(p *progress) { p.next, p.committed = next, next })
}

// attempt records that a partition reached its end, or failed to make progress: rejoining the group would not help.
func (g *generation) attempt(partition int) {
	g.update(partition, func(p *progress) { p.moved = time.Now() })
}

// block records that a partition became blocked or is no longer.
func (g *generation) block(partition int, blocked bool) {
	if blocked {
		g.c.metrics.blocked.Inc()
	} else {
		g.c.metrics.blocked.Dec()
	}
	g.update(partition, func(p *progress) { p.blocked, p.moved = blocked, time.Now() })
}

// stalled returns a partition that has records and has neither progressed nor failed for too long, for example because
// a handler does not return. Blocked partitions do not count, nor does a pause since the last call so long that the
// whole process was stopped: then the timeout starts over.
func (g *generation) stalled(pause time.Duration) (partition int, ok bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	for id, p := range g.partitions {
		if pause > g.c.cfg.stallTimeout/2 {
			p.moved = time.Now()
		}
		if !p.blocked && time.Since(p.moved) > g.c.cfg.stallTimeout {
			return id, true
		}
	}
	return 0, false
}

// commitMarked commits the partitions that have advanced since the last time. An idle partition is not touched: the
// offset that it was assigned may be a sentinel, and committing what was not read would skip it.
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
		if errors.Is(err, kafka.IllegalGeneration) || errors.Is(err, kafka.UnknownMemberId) ||
			errors.Is(err, kafka.RebalanceInProgress) {
			result = commitStale
		}
		g.c.metrics.commits.WithLabelValues(result).Inc()
		err = g.c.explain(err)
		g.c.attempts.Add("commit "+result,
			func(n int) { g.c.log.Warn("cannot commit offsets", "err", err, "result", result, "errors", n) })
		return
	}
	g.c.metrics.commits.WithLabelValues(commitOK).Inc()
	g.mu.Lock()
	for id, next := range marked {
		g.partitions[id].committed = next
	}
	g.mu.Unlock()
}
