package ingest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest/recordset"
	"github.com/wardcast/wardcast/internal/wait"
)

const (
	// A batch holds the records between two produce requests: those of a fetch, up to the first of these limits. They
	// bound the memory of a partition and the time to end its generation.
	maxBatchRecords     = 512
	maxBatchInputBytes  = 1 << 20
	maxBatchOutputBytes = 800 << 10 // with the last answer still one produce request

	// A fetch returns fetchMaxBytes or, if that exceeds fetchTotalBytes for all partitions, down to fetchMinBytes.
	fetchMinBytes, fetchMaxBytes = 128 << 10, 1 << 20
	fetchTotalBytes              = 8 << 20

	// maxBusy partitions, or four per processor if that is more, have a batch in progress at once; the others wait with
	// a fetched response. This keeps the processors busy while brokers acknowledge.
	maxBusy = 16
)

// partition reads one partition during one generation.
type partition struct {
	c      *Consumer
	g      *generation
	id     int
	worker Worker // borrowed, while records are handled
	next   int64  // offset to handle next; if negative, the partition's first
	bytes  int    // of a fetch

	batch    *batch      // borrowed, while there are records
	busy     atomic.Bool // counted in Consumer.busy
	consumed prometheus.Counter

	answers, letters Producer
	blocked          atomic.Bool // until somebody fixes what the brokers refuse
	failing          atomic.Bool // the last attempt at writing failed
	abandon          func()      // stops writing that fails too late
}

func newPartition(g *generation, a kafka.PartitionAssignment) *partition {
	label := strconv.Itoa(a.ID)
	p := &partition{
		c: g.c, g: g, id: a.ID, next: a.Offset,
		bytes:    max(fetchMinBytes, min(fetchMaxBytes, fetchTotalBytes/len(g.partitions))),
		consumed: g.c.metrics.consumed.WithLabelValues(label),
		answers:  *g.c.answers, letters: *g.c.letters,
	}
	p.answers.failed, p.letters.failed = p.onWriteError, p.onWriteError
	return p
}

// onWriteError handles each error of writing an answer or dead letter.
func (p *partition) onWriteError(err error) {
	p.failing.Store(true)
	p.c.metrics.retries.Inc()
	p.c.backlog.update(p.id, func(w *waiting) { w.writing.fail(err) })
	p.onError(err, "write its answers")
	p.abandon()
}

// onError handles each error of reading or writing. One that somebody must fix blocks this partition until an attempt
// succeeds.
func (p *partition) onError(err error, what string) {
	p.leave() // others may go on
	p.g.attempt(p.id)
	if !permanent(err) {
		return
	}
	if code, ok := errors.AsType[kafka.Error](err); ok {
		p.c.metrics.permanent.WithLabelValues(strconv.Itoa(int(code))).Inc()
	}
	if p.blocked.CompareAndSwap(false, true) {
		p.g.block(p.id, true)
		p.c.log.Error("a partition is blocked until the cause is fixed", "partition", p.id, "cannot", what, "err", err)
	}
}

func (p *partition) resume() {
	if p.blocked.CompareAndSwap(true, false) {
		p.g.block(p.id, false)
		p.c.log.Info("the partition continues", "partition", p.id)
	}
}

// run handles records until ctx ends. Records in progress are still written while produce lasts, but only until
// patience ends if that fails, and not at all in a blocked partition.
func (p *partition) run(ctx, patience, produce context.Context) {
	produce, cancel := context.WithCancel(produce)
	defer cancel()
	p.abandon = func() {
		if p.blocked.Load() && ctx.Err() != nil || p.failing.Load() && patience.Err() != nil {
			cancel()
		}
	}
	defer context.AfterFunc(ctx, p.abandon)()
	defer context.AfterFunc(patience, p.abandon)()
	defer func() {
		if p.blocked.CompareAndSwap(true, false) {
			p.g.block(p.id, false) // the next owner finds out by itself
		}
	}()
	if p.next >= 0 {
		p.begin()
	}
	for failures := 0; ctx.Err() == nil; {
		err := error(kafka.OffsetOutOfRange)
		if p.next >= 0 {
			err = p.fetch(ctx, produce)
		}
		if errors.Is(err, kafka.OffsetOutOfRange) {
			err = p.locate(ctx)
		}
		if err == nil {
			failures = 0
			continue
		}
		if ctx.Err() != nil {
			return
		}
		p.c.metrics.fetchErrors.Inc()
		p.c.backlog.update(p.id, func(w *waiting) { w.reading.fail(err) })
		p.onError(err, "read")
		if permanent(err) {
			failures = 0
			if !wait.For(ctx, p.c.client.pauses.permanent) {
				return
			}
			continue
		}
		if again(ctx, failures, err, p.c.log.With("partition", p.id, "offset", p.next), "cannot fetch records") != nil {
			return
		}
		failures++
	}
}

// locate finds where to read if the group has no offset, or one that the broker does not have. It begins with the
// oldest record, so that none that is left is lost, and logs which were lost.
func (p *partition) locate(ctx context.Context) error {
	first, end, err := p.c.client.bounds(ctx, p.c.cfg.Input, p.id)
	if err != nil {
		return err
	}
	switch {
	case p.next < 0: // nothing committed
	case p.next < first:
		p.c.metrics.skipped.WithLabelValues(causeRetention).Add(float64(first - p.next))
		p.c.log.Error("records were deleted before they were read", "partition", p.id, "offset", p.next,
			"records", first-p.next)
	case p.next > end:
		p.c.log.Error("the committed offset is past the end: the topic was truncated or recreated; reading all of it",
			"partition", p.id, "offset", p.next, "end", end)
	default:
		return kafka.OffsetOutOfRange // from a replica that lagged
	}
	p.next = first
	p.begin()
	return nil
}

func (p *partition) begin() {
	p.g.begin(p.id, p.next)
	p.c.backlog.update(p.id, func(w *waiting) { w.next = p.next })
}

func (p *partition) fetch(ctx, produce context.Context) error {
	alive := func() error {
		p.returnWorker()
		p.g.attempt(p.id)
		return ctx.Err()
	}
	res, err := p.c.client.fetch(ctx, want{
		topic: p.c.cfg.Input, partition: p.id, offset: p.next, maxBytes: p.bytes,
		maxRecord: maxRecordBytes, alive: alive,
	})
	if err != nil {
		return err
	}
	defer p.c.client.release(res)
	p.resume()
	p.c.backlog.read(p.id, p.next, res)
	if !res.empty {
		if err := p.consume(ctx, produce, res.records); err != nil {
			return err
		}
	}
	// All was read, unless ctx ended. The offsets after it are of markers, and of aborted or compacted records.
	if behind := res.records.Passed(); ctx.Err() == nil && behind > p.next {
		p.c.metrics.skipped.WithLabelValues(causeAbsent).Add(float64(behind - p.next))
		p.next = behind
		p.g.mark(p.id, p.next)
	}
	if p.next >= res.end {
		p.g.attempt(p.id)
	}
	p.c.backlog.answer(p.id, p.next)
	return nil
}

// consume handles records batch by batch, up to the last one or the end of ctx, or returns the error that stopped it.
func (p *partition) consume(ctx, produce context.Context, records *recordset.Reader) error {
	select {
	case p.c.busy <- struct{}{}:
		p.busy.Store(true)
		defer p.leave()
	case <-ctx.Done():
		return nil
	}
	var ok bool
	if p.batch, ok = p.c.batches.Get().(*batch); !ok {
		p.batch = newBatch()
	}
	defer p.returnWorker()
	for ctx.Err() == nil {
		record, err := p.batch.load(records, p.id)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			if flushed := p.flush(produce); flushed != nil {
				return flushed
			}
			return fmt.Errorf("reading topic %q, partition %d at offset %d: %w", p.c.cfg.Input, p.id, p.next, err)
		}
		if p.batch.n == 0 {
			p.c.backlog.hold(p.id, record.Time)
		}
		p.handle(record)
		if gap := record.Offset - p.next; gap > 0 {
			p.c.metrics.skipped.WithLabelValues(causeAbsent).Add(float64(gap))
		}
		p.next = record.Offset + record.offsets
		if p.batch.full() {
			if err := p.flush(produce); err != nil {
				return err
			}
		}
	}
	if err := p.flush(produce); err != nil {
		return err
	}
	p.c.batches.Put(p.batch)
	return nil
}

// handle has a worker answer a record, makes it a dead letter, or counts it as erased.
func (p *partition) handle(r Record) {
	begin := time.Now()
	defer func() { p.c.metrics.handleSeconds.Observe(time.Since(begin).Seconds()) }()
	if r.Value == nil && r.lost == "" {
		p.batch.output(r)
		return // a tombstone erases a record: there is nothing to answer, and a copy of it could erase a newer one
	}
	p.c.tracing.begin(&r, begin)
	out := p.batch.output(r)
	if r.lost != "" {
		p.batch.deadLetter(r, p.c.cfg.Input, Verdict{Reason: string(r.lost), Stage: "read"})
		return
	}
	if p.worker == nil {
		p.worker = p.c.workers.borrow()
	}
	if err := p.protect(&out.record, out); err != nil {
		p.batch.deadLetter(r, p.c.cfg.Input, Disposition(err))
		return
	}
	p.batch.answer(out)
}

// leave lets another partition be busy.
func (p *partition) leave() {
	if p.busy.CompareAndSwap(true, false) {
		<-p.c.busy
	}
}

// returnWorker returns the worker, if any, to the other partitions.
func (p *partition) returnWorker() {
	if p.worker != nil {
		select {
		case p.c.workers.idle <- p.worker:
		default: // an extra one
		}
		p.worker = nil
	}
}

// flush writes the answers and dead letters of the batch, waits until they are acknowledged, and marks the batch. It
// fails only when produce ends; the batch is then unmarked and must not be reused.
func (p *partition) flush(produce context.Context) error {
	n := p.batch.n
	if n == 0 {
		return nil
	}
	p.returnWorker()
	m := p.c.metrics
	m.inFlight.Add(float64(n))
	defer m.inFlight.Sub(float64(n))
	began := time.Now()
	for {
		err := p.answers.Produce(produce, p.c.cfg.Output, p.batch.answers)
		if err == nil {
			break
		}
		large, ok := errors.AsType[*TooLargeError](err)
		if !ok {
			return err
		}
		p.batch.answers = slices.DeleteFunc(p.batch.answers, func(o *Output) bool { return o == large.Message })
		p.batch.deadLetter(large.Message.record, p.c.cfg.Input, Verdict{Reason: ReasonScoringFailed, Stage: "produce"})
	}
	if err := p.writeDeadLetters(produce); err != nil {
		return err
	}
	p.failing.Store(false)
	acknowledged := time.Now()
	for _, o := range p.batch.answers {
		p.c.tracing.end(&o.record, p.c.cfg.Output, began, acknowledged)
		m.endToEnd.Observe(acknowledged.Sub(o.record.Time).Seconds())
		if p.c.cfg.Published != nil {
			p.c.cfg.Published(o.record.Value, o.Value)
		}
	}
	if len(p.batch.answers) > 0 {
		m.lastAnswer.SetToCurrentTime()
	}
	m.predicted.Add(float64(len(p.batch.answers)))
	m.erased.Add(float64(n - len(p.batch.answers) - len(p.batch.letters)))
	p.consumed.Add(float64(n))
	p.g.mark(p.id, p.next)
	p.resume()
	p.c.backlog.answer(p.id, p.next)
	p.batch.reset()
	return nil
}

// writeDeadLetters writes the dead letters. One that the topic refuses as too large is written without the message. If
// that is refused too, the partition waits until somebody raises the limit: skipping the letter would lose it, and
// ending the process would stop all partitions, after a rebalance those of other scorers too.
func (p *partition) writeDeadLetters(produce context.Context) error {
	if len(p.batch.letters) == 0 {
		return nil
	}
	began := time.Now()
	for {
		err := p.letters.Produce(produce, p.c.cfg.DeadLetters, p.batch.letters)
		if err == nil {
			break
		}
		large, ok := errors.AsType[*TooLargeError](err)
		if !ok {
			return err
		}
		if p.batch.strip(large.Message, p.c.cfg.Input) {
			continue
		}
		p.onWriteError(err)
		_ = wait.For(produce, p.c.client.pauses.permanent) // if it ended, Produce fails
	}
	acknowledged := time.Now()
	for i, o := range p.batch.letters {
		p.c.tracing.end(&o.record, p.c.cfg.DeadLetters, began, acknowledged)
		v, offset := p.batch.verdicts[i], o.record.Offset
		p.c.metrics.deadLetter(v.Reason)
		// A line counts the records refused for one reason and names the first.
		p.c.records.Add(v.Reason, func(n int) {
			log := p.c.log.With("records", n, "reason", v.Reason)
			if v.Field != "" {
				log = log.With("field", v.Field)
			}
			log.Warn("record refused", "stage", v.Stage, "partition", p.id, "offset", offset)
		})
	}
	return nil
}
