package ingest

import (
	"errors"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/ingest/recordset"
)

// Header is a record header.
type Header = kafka.Header

// Record is one message of the input topic. Key, Value and header values are valid until Handle returns and must not be
// changed. Value is nil or empty for a tombstone.
type Record struct {
	Key     []byte
	Value   []byte
	Headers []Header
	// Time is the record's timestamp, set by its producer or by the broker.
	Time      time.Time
	Partition int
	Offset    int64

	lost    msg.Reason // why it cannot be read; "" if it was
	size    int64      // in bytes, 0 if unknown
	offsets int64      // how many are lost, from Offset on
}

func newRecord(r *recordset.Record, partition int) Record {
	return Record{
		Key: r.Key, Value: r.Value, Headers: r.Headers, Time: r.Time, Partition: partition, Offset: r.Offset,
		lost: r.Lost, size: r.Size, offsets: r.Offsets,
	}
}

// Output is the message that answers a record. Handle gets it empty, with storage for the value: append to
// Value rather than replace it. Key and Value may be the record's own; nothing else in it may alias memory that the
// worker uses again.
type Output struct {
	Key     []byte
	Value   []byte
	Headers []Header

	record       Record // the one answered
	storage      []byte // of header values
	lent         bool   // to a failed attempt at producing that may still read it
	acknowledged bool   // all in-sync replicas have it
}

// AddHeader appends a header with a copy of value.
func (o *Output) AddHeader(name, value string) {
	i := len(o.storage)
	o.storage = append(o.storage, value...)
	o.Headers = append(o.Headers, Header{Key: name, Value: o.storage[i:len(o.storage):len(o.storage)]})
}

// AddEvent appends the headers of a CloudEvent in binary mode, of which at is the time.
func (o *Output) AddEvent(id []byte, source, typ, at string) {
	o.AddHeader(msg.HeaderSpecVersion, msg.SpecVersion)
	o.AddHeader(msg.HeaderID, string(id))
	o.AddHeader(msg.HeaderSource, source)
	o.AddHeader(msg.HeaderType, typ)
	o.AddHeader(msg.HeaderTime, at)
	o.AddHeader(msg.HeaderContentType, msg.ContentType)
}

// reset empties o for its next use. It keeps storage for headers.
func (o *Output) reset() {
	*o = Output{Headers: o.Headers[:0], storage: o.storage[:0]}
}

// sameArray reports whether a and b end at the same place of the same array, as slices of one allocation do.
func sameArray(a, b []byte) bool {
	return cap(a) > 0 && cap(b) > 0 && &a[:cap(a)][cap(a)-1] == &b[:cap(b)][cap(b)-1]
}

// size is an upper bound of the bytes that o takes in a produce request.
func (o *Output) size() int {
	// 32 bytes cover a record's own lengths and deltas, 10 a header's two lengths.
	n := 32 + len(o.Key) + len(o.Value)
	for i := range o.Headers {
		n += 10 + len(o.Headers[i].Key) + len(o.Headers[i].Value)
	}
	return n
}

// Handler makes the workers that answer records.
type Handler interface {
	// NewWorker returns a worker. There are about as many as processors, whatever the number of partitions. After a
	// panic of one another takes its place.
	NewWorker() Worker
}

// Worker answers records of any partition, from one goroutine at a time, so it may own scratch memory.
type Worker interface {
	// Handle answers record r in out, or returns an error, which makes r a dead letter: see Disposition. It must be a
	// pure function of the record, since a record may come again. It must return soon: nothing interrupts it.
	Handle(r *Record, out *Output) error
}

// Modeled may be implemented by a Worker. Its Model is called after Handle panicked.
type Modeled interface {
	// Model names the model that the record in hand was answered by, "" if none was chosen yet. It must not panic.
	Model() (name, version string)
}

// ReasonScoringFailed is the reason that ingest itself gives; a handler has its own.
const ReasonScoringFailed = string(msg.ScoringFailed)

// Verdict is what the dead letter of a record says. It is an error, so that a Worker can return it.
type Verdict struct {
	Reason       string // msg.HeaderReason
	Field        string // msg.HeaderField, left out if empty
	Stage        string // msg.HeaderStage
	ModelVersion string // msg.HeaderModelVersion, left out if empty
	Err          error  // the cause; may be nil
}

func (v *Verdict) Error() string {
	if v.Err == nil {
		return "dead_letter: " + v.Reason
	}
	return v.Err.Error()
}

func (v *Verdict) Unwrap() error { return v.Err }

// Disposition returns what goes into the dead letter of a record that failed with err. A *msg.Error in its chain gives
// its reason and field, and the stage decode. A *Verdict gives the version and, if they are codes, reason, field and
// stage. Without either the reason is scoring_failed and the stage handle. Neither the error's text nor the record's
// content is written anywhere.
func Disposition(err error) Verdict {
	v := Verdict{Reason: ReasonScoringFailed, Stage: "handle"}
	if refused, ok := errors.AsType[*msg.Error](err); ok {
		v.Reason, v.Field, v.Stage = string(refused.Reason), refused.Field, "decode"
	}
	own, ok := errors.AsType[*Verdict](err)
	if !ok {
		return v
	}
	v.ModelVersion = own.ModelVersion
	for _, code := range [...]struct {
		own string
		to  *string
	}{{own.Reason, &v.Reason}, {own.Field, &v.Field}, {own.Stage, &v.Stage}} {
		if isCode(code.own) {
			*code.to = code.own
		}
	}
	return v
}

// isCode reports whether s is a short lower-case word with underscores. Other text could hold a patient's words.
func isCode(s string) bool {
	return len(s) >= 3 && len(s) <= 31 && !slices.ContainsFunc([]byte(s), func(b byte) bool {
		return (b < 'a' || b > 'z') && b != '_' && (b < '0' || b > '9')
	})
}
