package ingest

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/ingest/recordset"
	"github.com/wardcast/wardcast/internal/loglimit"
)

// maxKeptInput bounds the input buffer that a batch keeps: a full batch and the record that filled it.
const maxKeptInput = 2 * maxBatchInputBytes

// longestKey bounds the key of a dead letter without its message.
const longestKey = 4 << 10

// batch collects answers and dead letters until they are written. The next batch reuses its storage.
type batch struct {
	input    []byte   // keys, values and headers of the records
	values   []byte   // of the answers, one after another
	outputs  []Output // storage of answers and letters, used up to n
	n        int
	answers  []*Output
	letters  []*Output
	verdicts []Verdict // of the letters
	headers  int       // of the records
	outBytes int
}

func newBatch() *batch {
	// room for the answer that exceeds the limit
	return &batch{outputs: make([]Output, maxBatchRecords), values: make([]byte, 0,
		maxBatchOutputBytes+maxBatchOutputBytes/8)}
}

func (b *batch) full() bool {
	return b.n == len(b.outputs) || len(b.input)+recordset.HeaderBytes*b.headers >= maxBatchInputBytes ||
		b.outBytes >= maxBatchOutputBytes
}

// lent reports whether an attempt at writing the batch failed: it may still read its memory, even after a later
// success.
func (b *batch) lent() bool {
	for i := range b.outputs[:b.n] {
		if b.outputs[i].lent {
			return true
		}
	}
	return slices.ContainsFunc(b.letters, func(o *Output) bool { return o.lent })
}

// reset empties the batch, and replaces storage that is lent.
func (b *batch) reset() {
	if b.lent() {
		*b = *newBatch()
		return
	}
	if cap(b.input) > maxKeptInput {
		b.input = nil
	}
	for i := range b.outputs[:b.n] {
		b.outputs[i].reset()
	}
	*b = batch{
		input: b.input[:0], values: b.values[:0], outputs: b.outputs, answers: b.answers[:0], letters: b.letters[:0],
		verdicts: b.verdicts[:0],
	}
}

// load takes the next record of those that were fetched.
func (b *batch) load(records *recordset.Reader, partition int) (Record, error) {
	r, input, err := records.Next(b.input)
	b.input = input
	b.headers += len(r.Headers)
	return newRecord(&r, partition), err
}

// output returns an empty output for the answer to r. If it becomes neither an answer nor a dead letter, r was erased.
func (b *batch) output(r Record) *Output {
	o := &b.outputs[b.n]
	b.n++
	o.record, o.Value = r, b.values[len(b.values):]
	return o
}

func (b *batch) answer(o *Output) {
	if sameArray(o.Value, b.values) {
		b.values = b.values[:len(b.values)+len(o.Value)]
	}
	b.answers = append(b.answers, o)
	b.outBytes += o.size()
}

func (b *batch) deadLetter(r Record, topic string, v Verdict) {
	r.fail(v.Reason)
	o := newLetter(r, topic, v)
	b.letters = append(b.letters, o)
	b.verdicts = append(b.verdicts, v)
	b.outBytes += o.size()
}

// strip replaces a dead letter that its topic refuses as too large by one without the message. It reports false if that
// one was refused.
func (b *batch) strip(large *Output, topic string) bool {
	i := slices.Index(b.letters, large)
	r := large.record
	if r.lost != "" {
		return false
	}
	r.lost, r.offsets, r.Headers, r.size = msg.TooLarge, 1, nil, int64(len(r.Key)+len(r.Value))
	if len(r.Key) > longestKey {
		r.Key = nil
	}
	b.letters[i] = newLetter(r, topic, b.verdicts[i])
	b.letters[i].lent = large.lent
	return true
}

func newLetter(r Record, topic string, v Verdict) *Output {
	headers, attempts := original(slices.Clone(r.Headers))
	o := &Output{Key: r.Key, Value: r.Value, Headers: headers, record: r}
	var size, offsets, detail string
	switch {
	case r.lost != "":
		detail = "the value is left out"
		o.Value = []byte{} // null would delete the key from a compacted KafkaTopic
		offsets = strconv.FormatInt(r.offsets, 10)
		if r.size > 0 {
			size = strconv.FormatInt(r.size, 10)
		}
	case v.Stage == stageDecode:
		detail = msg.Framing(r.Value)
	}
	if o.Key == nil { // compacted KafkaTopics refuse null keys
		o.Key = fmt.Appendf(nil, "%s/%d/%d", topic, r.Partition, r.Offset)
	}
	for _, h := range [...]struct{ name, value string }{
		{msg.HeaderReason, v.Reason},
		{msg.HeaderField, v.Field},
		{msg.HeaderDetail, detail},
		{msg.HeaderStage, v.Stage},
		{msg.HeaderTopic, topic},
		{msg.HeaderPartition, strconv.Itoa(r.Partition)},
		{msg.HeaderOffset, strconv.FormatInt(r.Offset, 10)},
		{msg.HeaderLost, offsets},
		{msg.HeaderSize, size},
		{msg.HeaderModelVersion, v.ModelVersion},
		{msg.HeaderAttempts, attempts},
		{msg.HeaderDeadTime, time.Now().UTC().Format(msg.TimeFormat)},
	} {
		if h.value != "" {
			o.AddHeader(h.name, h.value)
		}
	}
	return o
}

// original removes the headers of an earlier dead letter, which another tool may have sent back with them, and returns
// how often the message became a dead letter, including now.
func original(headers []Header) (rest []Header, attempts string) {
	const most = 1_000_000 // a header of another tool may hold anything
	before := 0
	rest = slices.DeleteFunc(headers, func(h Header) bool {
		if h.Key != msg.HeaderReplays {
			return strings.HasPrefix(h.Key, msg.DeadHeaderPrefix)
		}
		if n, err := strconv.Atoi(string(h.Value)); err == nil && n > 0 && n < most {
			before = n
		}
		return true
	})
	return rest, strconv.Itoa(before + 1)
}

// protect calls the worker and turns a panic into an error. A new worker replaces one that panicked, whose memory may
// be half-written. Repeated panics share a log line with their number.
func (p *partition) protect(r *Record, out *Output) (err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		p.c.metrics.panics.Inc()
		var model, version string
		if m, ok := p.worker.(Modeled); ok {
			model, version = m.Model()
		}
		what, where := loglimit.Panic(v, 0)
		partition, offset := r.Partition, r.Offset
		p.c.attempts.Add("panic "+where, func(n int) {
			p.c.log.Error("the handler panicked", "records", n, "partition", partition, "offset", offset,
				"model", model, "model_version", version, "panic", what, "stack", where)
		})
		p.worker = p.c.cfg.Handler.NewWorker()
		err = &Verdict{Reason: ReasonScoringFailed, Stage: "handle", ModelVersion: version, Err: errors.New(
			"the handler panicked")}
	}()
	return p.worker.Handle(r, out)
}
