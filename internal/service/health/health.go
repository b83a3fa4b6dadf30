// Package health shows operators what is late or lost: it reads the metrics of the process once a minute, keeps an hour
// of them in memory, and lists problems, the worst first. It never sees a note.
package health

import (
	"cmp"
	"context"
	"math"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/internal/wait"
)

const (
	// interval is the time between kept readings, and kept their number: the last 60 minutes and one before.
	interval  = time.Minute
	kept      = 61
	leastSpan = 30 * time.Second // least time over which a rate is measured
	fresh     = time.Second      // how long a Snapshot is reused
)

// Stream is a KafkaTopic whose records are answered.
type Stream struct {
	Name, Noun  string       // the value of the label stream, and the noun for a record
	Input       string       // the KafkaTopic of its records
	DeadLetters string       // the KafkaTopic of its dead letters
	Ready       func() error // why records are not being read, or nil
	// Away returns when Kafka last answered, and why it does not now, or nil.
	Away func() (time.Time, error)
	// Letters returns the dead letters in their KafkaTopic; nil until all of them are read.
	Letters    func() *deadletter.Tally
	Refused    func() string   // why the newest models are not in use, or ""
	Remarks    []func() string // sentences on other problems, or ""
	Generation func() string   // in use, or ""
}

// Monitor watches the streams of a process. It is safe for concurrent use.
type Monitor struct {
	gatherer prometheus.Gatherer
	streams  []Stream
	now      func() time.Time

	mu       sync.Mutex
	readings []*reading // the kept ones, oldest first
	since    map[problemKey]time.Time
	gaps     map[string]float64 // mean seconds between answers, by stream
	last     *Snapshot
}

// New returns a Monitor of streams by the metrics of the gatherer.
func New(gatherer prometheus.Gatherer, now func() time.Time, streams ...Stream) *Monitor {
	return &Monitor{
		gatherer: gatherer, streams: streams, now: now, since: map[problemKey]time.Time{},
		gaps: map[string]float64{},
	}
}

// Run keeps a reading now and every minute until ctx ends.
func (m *Monitor) Run(ctx context.Context) error {
	for {
		m.keep()
		if !wait.For(ctx, interval) {
			return nil
		}
	}
}

func (m *Monitor) keep() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.look()
	if len(m.readings) == kept {
		m.readings = slices.Delete(m.readings, 0, 1)
	}
	m.readings = append(m.readings, m.last.reading)
	m.last = nil // it lacks the new reading
}

// Snapshot is the state of the process at one moment.
type Snapshot struct {
	At       time.Time
	Problems []Problem // the worst first
	Streams  []Status

	reading *reading
}

// Status is the state of a stream.
type Status struct {
	Stream

	Point
	LastAnswer time.Time     // zero before the first
	Silent     time.Duration // since the last answer, if that is unusually long; otherwise 0
	Partitions []Partition
	Tally      *deadletter.Tally // of its dead letters; nil if they are not known
	History    []Point           // one a minute, oldest first
}

// Point is a stream at one time. Unknown values are NaN.
type Point struct {
	At        time.Time
	Lag, Age  float64 // number of waiting records; age in seconds of the oldest one read, 0 if none
	Rate, P99 float64 // answers per second since the reading before, and seconds within which 99 % of these came
}

// Partition is a partition that this process reads.
type Partition struct {
	ID  string
	Lag float64
}

// Snapshot returns the current state, which must not be changed.
func (m *Monitor) Snapshot() *Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.last == nil || m.now().Sub(m.last.At) >= fresh {
		m.look()
	}
	return m.last
}

func (m *Monitor) look() {
	now := read(m.gatherer, m.now())
	s := &Snapshot{At: now.at, reading: now}
	before := m.before(now.at.Add(-leastSpan))
	for _, stream := range m.streams {
		v := now.of(stream.Name)
		v.silent = m.silent(stream.Name, v, m.before(time.Time{}).of(stream.Name))
		status := Status{
			Stream: stream, Point: v.since(before.of(stream.Name)), LastAnswer: v.lastAnswer, Tally: stream.Letters(),
			Silent: v.silent,
		}
		for id, lag := range v.lag {
			status.Partitions = append(status.Partitions, Partition{id, lag})
		}
		slices.SortFunc(status.Partitions, func(a, b Partition) int {
			return cmp.Or(cmp.Compare(b.Lag, a.Lag), cmp.Compare(len(a.ID), len(b.ID)), cmp.Compare(a.ID, b.ID))
		})
		for i, r := range m.readings {
			if i > 0 {
				status.History = append(status.History, r.of(stream.Name).since(m.readings[i-1].of(stream.Name)))
			}
		}
		s.Streams = append(s.Streams, status)
	}
	s.Problems = m.problems(now, before)
	m.last = s
}

// Silence longer than silentGaps times the mean gap between answers, and than leastSilent, is unusual. The mean is that
// of the last hour, or of the latest one with leastAnswers.
const (
	silentGaps   = 3
	leastSilent  = 2 * time.Minute
	leastAnswers = 5
)

// silent returns for how long a stream without waiting records had no answer, if that is unusual, otherwise 0.
func (m *Monitor) silent(stream string, v, oldest *streamValues) time.Duration {
	if v.lastAnswer.IsZero() {
		return 0
	}
	if oldest != nil && v.answered-oldest.answered >= leastAnswers {
		m.gaps[stream] = v.lastAnswer.Sub(oldest.at).Seconds() / (v.answered - oldest.answered)
	}
	gap, known := m.gaps[stream]
	silence := v.at.Sub(v.lastAnswer)
	if !known || v.since(nil).Lag != 0 || silence < leastSilent || silence.Seconds() < silentGaps*gap {
		return 0
	}
	return silence
}

// before returns the newest kept reading not after a time, else the oldest one, or nil.
func (m *Monitor) before(at time.Time) *reading {
	for _, r := range slices.Backward(m.readings) {
		if !r.at.After(at) {
			return r
		}
	}
	if len(m.readings) > 0 {
		return m.readings[0]
	}
	return nil
}

// since returns the state of a stream, and its changes since an earlier one, which may be nil.
func (v *streamValues) since(before *streamValues) Point {
	p := Point{At: v.at, Lag: math.NaN(), Age: math.NaN(), Rate: math.NaN(), P99: math.NaN()}
	if len(v.lag) > 0 {
		p.Lag, p.Age = 0, v.oldest
		for _, lag := range v.lag {
			p.Lag += lag
		}
	}
	if before == nil {
		return p
	}
	if seconds := v.at.Sub(before.at).Seconds(); seconds > 0 {
		p.Rate = (v.answered - before.answered) / seconds
	}
	p.P99 = v.seconds.since(before.seconds).quantile(0.99)
	return p
}
