package health

import (
	"math"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
)

// reading holds the metrics at one time.
type reading struct {
	at      time.Time
	streams map[string]*streamValues
}

// of returns the values of a stream, or nil without a reading.
func (r *reading) of(stream string) *streamValues {
	if r == nil {
		return nil
	}
	if r.streams[stream] == nil {
		r.streams[stream] = newStreamValues(r.at)
	}
	return r.streams[stream]
}

type streamValues struct {
	at         time.Time
	lag        map[string]float64 // by partition
	oldest     float64            // seconds since the oldest record that was read and is not answered, 0 for none
	lastAnswer time.Time
	answered   float64
	letters    map[string]float64 // by reason
	newest     map[string]time.Time
	seconds    buckets // from a record's timestamp to its answer
	// failed counts requests that Kafka did not answer or refused, lost records deleted before they were read.
	failed, lost, stalls, panics, blocked float64

	silent time.Duration // that Monitor.silent found
}

func newStreamValues(at time.Time) *streamValues {
	return &streamValues{
		at: at, lag: map[string]float64{}, letters: map[string]float64{}, newest: map[string]time.Time{},
	}
}

func read(g prometheus.Gatherer, at time.Time) *reading {
	families, _ := g.Gather() // it returns partial results too
	r := &reading{at: at, streams: map[string]*streamValues{}}
	for _, f := range families {
		take := takers[f.GetName()]
		if take == nil {
			continue
		}
		for _, m := range f.GetMetric() {
			take(r.of(label(m, "stream")), m)
		}
	}
	return r
}

// takers read the metrics of package ingest.
var takers = map[string]func(*streamValues, *dto.Metric){
	"wardcast_ingest_lag_records": func(v *streamValues, m *dto.Metric) {
		v.lag[label(m, "partition")] = value(m)
	},
	"wardcast_ingest_oldest_unanswered_seconds": func(v *streamValues, m *dto.Metric) { v.oldest = value(m) },
	"wardcast_ingest_last_answer_timestamp_seconds": func(v *streamValues, m *dto.Metric) {
		v.lastAnswer = moment(value(m))
	},
	"wardcast_ingest_records_total": func(v *streamValues, m *dto.Metric) {
		if label(m, "disposition") == "answered" {
			v.answered = value(m)
		}
	},
	"wardcast_ingest_dead_letters_total": func(v *streamValues, m *dto.Metric) {
		v.letters[label(m, "reason")] = value(m)
	},
	"wardcast_ingest_last_dead_letter_timestamp_seconds": func(v *streamValues, m *dto.Metric) {
		v.newest[label(m, "reason")] = moment(value(m))
	},
	"wardcast_ingest_end_to_end_seconds": func(v *streamValues, m *dto.Metric) {
		v.seconds = newBuckets(m.GetHistogram())
	},
	"wardcast_ingest_fetch_errors_total":    func(v *streamValues, m *dto.Metric) { v.failed += value(m) },
	"wardcast_ingest_produce_retries_total": func(v *streamValues, m *dto.Metric) { v.failed += value(m) },
	"wardcast_ingest_skipped_offsets_total": func(v *streamValues, m *dto.Metric) {
		if label(m, "cause") == "retention" {
			v.lost = value(m)
		}
	},
	"wardcast_ingest_stalls_total":         func(v *streamValues, m *dto.Metric) { v.stalls = value(m) },
	"wardcast_ingest_handler_panics_total": func(v *streamValues, m *dto.Metric) { v.panics = value(m) },
	"wardcast_ingest_blocked_partitions":   func(v *streamValues, m *dto.Metric) { v.blocked = value(m) },
}

func label(m *dto.Metric, name string) string {
	for _, l := range m.GetLabel() {
		if l.GetName() == name {
			return l.GetValue()
		}
	}
	return ""
}

func value(m *dto.Metric) float64 {
	if m.GetCounter() != nil {
		return m.GetCounter().GetValue()
	}
	return m.GetGauge().GetValue()
}

// moment returns the time of a timestamp in seconds, zero for 0.
func moment(seconds float64) time.Time {
	if seconds == 0 {
		return time.Time{}
	}
	return time.UnixMilli(int64(1e3 * seconds))
}

// buckets are those of a histogram: the number of values up to each bound. The last bound is infinite.
type buckets struct{ bounds, counts []float64 }

func newBuckets(h *dto.Histogram) (b buckets) {
	for _, x := range h.GetBucket() {
		b.bounds, b.counts = append(b.bounds, x.GetUpperBound()), append(b.counts, float64(x.GetCumulativeCount()))
	}
	if n := len(b.bounds); n > 0 && !math.IsInf(b.bounds[n-1], 1) {
		b.bounds, b.counts = append(b.bounds, math.Inf(1)), append(b.counts, float64(h.GetSampleCount()))
	}
	return b
}

// since returns the values that came after an earlier histogram.
func (b buckets) since(before buckets) buckets {
	out := buckets{b.bounds, slices.Clone(b.counts)}
	if len(before.counts) == len(out.counts) {
		for i, n := range before.counts {
			out.counts[i] -= n
		}
	}
	return out
}

// quantile returns the quantile q of the values, interpolated within a bucket; NaN without values, infinite at the end.
func (b buckets) quantile(q float64) float64 {
	n := len(b.counts)
	if n == 0 || b.counts[n-1] <= 0 {
		return math.NaN()
	}
	rank := q * b.counts[n-1]
	low, below := 0.0, 0.0
	for i, count := range b.counts {
		if count >= rank {
			if math.IsInf(b.bounds[i], 1) {
				return b.bounds[i]
			}
			return low + (b.bounds[i]-low)*(rank-below)/(count-below)
		}
		low, below = b.bounds[i], count
	}
	return math.NaN()
}
