package ingest

import (
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/ingest/recordset"
)

// Header is a record header.
type Header = kafka.Header

// Record is one message of the input topic. Its slices are valid until Handle returns. A handler gets no
// tombstone: readers of a topic get it with a nil value.
type Record struct {
	Key       []byte
	Value     []byte
	Headers   []Header
	Time      time.Time // set by the record's producer or by the broker
	Partition int
	Offset    int64

	lost    msg.Reason // why it cannot be read, or ""
	size    int64      // in bytes, 0 if unknown
	offsets int64      // how many are lost, from Offset on
	span    trace.Span // in which it is processed; nil if it is not traced
}

func newRecord(r *recordset.Record, partition int) Record {
	return Record{
		Key: r.Key, Value: r.Value, Headers: r.Headers, Time: r.Time, Partition: partition, Offset: r.Offset,
		lost: r.Lost, size: r.Size, offsets: r.Offsets,
	}
}

// Output is the message that answers a record. Handle gets it empty, with storage for the value: append to Value rather
// than replace it. Key and Value may be the record's own; nothing else may alias memory that the worker reuses.
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

// AddEvent appends the headers of a CloudEvent in binary mode; at is its time.
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
	// NewWorker returns a worker. There are about as many as processors. A new one replaces one that panicked.
	NewWorker() Worker
}

// Worker answers records of any partition in one goroutine at a time, so it may have scratch memory.
type Worker interface {
	// Handle answers record r in out, or returns an error, which makes r a dead letter: see Disposition. It must be a
	// pure function of the record, which may come again, and return soon: nothing interrupts it.
	Handle(r *Record, out *Output) error
}

// Modeled may be implemented by a Worker. Its Model is called after Handle panicked.
type Modeled interface {
	// Model names the model that answered the last record, "" if none was chosen. It must not panic.
	Model() (name, version string)
}

// stageDecode is the stage of records whose value cannot be decoded.
const stageDecode = "decode"

// ReasonScoringFailed is the reason that ingest itself gives.
const ReasonScoringFailed = string(msg.ScoringFailed)

// Verdict is the content of a dead letter, as an error that a Worker returns.
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
// reason and field, with the stage decode. A *Verdict gives the version and, if they are codes, reason, field and
// stage. Otherwise the reason is scoring_failed and the stage handle. The texts of error and record are never written.
func Disposition(err error) Verdict {
	v := Verdict{Reason: ReasonScoringFailed, Stage: "handle"}
	if refused, ok := errors.AsType[*msg.Error](err); ok {
		v.Reason, v.Field, v.Stage = string(refused.Reason), refused.Field, stageDecode
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

// isCode reports whether s is a short lower-case word with underscores: other text could quote a patient.
func isCode(s string) bool {
	return len(s) >= 3 && len(s) <= 31 && !slices.ContainsFunc([]byte(s), func(b byte) bool {
		return (b < 'a' || b > 'z') && b != '_' && (b < '0' || b > '9')
	})
}

// workers lends the handler's workers to the partitions, as many as can run at once: most memory is theirs.
type workers struct {
	handler Handler
	idle    chan Worker // nil for one that has not been made yet
}

// workerPatience is how long a partition waits before it gets one more worker, in case a handler does not return.
const workerPatience = time.Second

func newWorkers(h Handler) *workers {
	w := &workers{handler: h, idle: make(chan Worker, runtime.GOMAXPROCS(0))}
	for range cap(w.idle) {
		w.idle <- nil
	}
	return w
}

func (w *workers) borrow() Worker {
	var worker Worker
	select {
	case worker = <-w.idle:
	default:
		select {
		case worker = <-w.idle:
		case <-time.After(workerPatience):
		}
	}
	if worker == nil {
		worker = w.handler.NewWorker()
	}
	return worker
}
