package health

import (
	"context"
	"errors"
	"math"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"

	"github.com/wardcast/wardcast/ingest/deadletter"
)

// stream is a stream whose metrics and state a test sets.
type stream struct {
	Stream

	lag, lastLetter  *prometheus.GaugeVec
	records, letters *prometheus.CounterVec
	failed, stalls   prometheus.Counter
	blocked, oldest  prometheus.Gauge
	answered         prometheus.Gauge // when the last answer was written
	seconds          prometheus.Histogram
	skipped          *prometheus.CounterVec
	away, dead       error
	refused, remark  string
}

func newStream(r prometheus.Registerer) *stream {
	in := promauto.With(prometheus.WrapRegistererWith(prometheus.Labels{"stream": "triage"}, r))
	gauges := func(name, label string) *prometheus.GaugeVec {
		return in.NewGaugeVec(prometheus.GaugeOpts{Name: "wardcast_ingest_" + name}, []string{label})
	}
	counters := func(name, label string) *prometheus.CounterVec {
		return in.NewCounterVec(prometheus.CounterOpts{Name: "wardcast_ingest_" + name}, []string{label})
	}
	s := &stream{
		lag: gauges("lag_records", "partition"), lastLetter: gauges("last_dead_letter_timestamp_seconds", "reason"),
		records: counters("records_total", "disposition"), letters: counters("dead_letters_total", "reason"),
		skipped:  counters("skipped_offsets_total", "cause"),
		failed:   in.NewCounter(prometheus.CounterOpts{Name: "wardcast_ingest_fetch_errors_total"}),
		stalls:   in.NewCounter(prometheus.CounterOpts{Name: "wardcast_ingest_stalls_total"}),
		oldest:   in.NewGauge(prometheus.GaugeOpts{Name: "wardcast_ingest_oldest_unanswered_seconds"}),
		answered: in.NewGauge(prometheus.GaugeOpts{Name: "wardcast_ingest_last_answer_timestamp_seconds"}),
		blocked:  in.NewGauge(prometheus.GaugeOpts{Name: "wardcast_ingest_blocked_partitions"}),
		seconds: in.NewHistogram(prometheus.HistogramOpts{
			Name: "wardcast_ingest_end_to_end_seconds", Buckets: prometheus.ExponentialBuckets(1e-3, 2, 17),
		}),
	}
	s.Stream = Stream{
		Name: "triage", Noun: "note", Ready: func() error { return s.away },
		Refused: func() string { return s.refused }, Remarks: []func() string{func() string { return s.remark }},
		Generation: func() string { return "g1" }, Input: "triage.notes",
		Away:    func() (time.Time, error) { return time.Now().Add(-5 * time.Second), s.dead },
		Letters: func() *deadletter.Tally { return nil },
	}
	s.lag.WithLabelValues("0").Set(0)
	s.lag.WithLabelValues("10").Set(0)
	return s
}

// watch runs a test of a Monitor on a fake clock.
func watch(t *testing.T, test func(t *testing.T, m *Monitor, s *stream)) {
	t.Helper()
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		registry := prometheus.NewRegistry()
		s := newStream(registry)
		m := New(registry, time.Now, s.Stream)
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error)
		go func() { done <- m.Run(ctx) }()
		synctest.Wait()
		test(t, m, s)
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// pass lets some time of the fake clock pass.
func pass(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

func TestAnHourIsKept(t *testing.T) {
	watch(t, func(t *testing.T, m *Monitor, s *stream) {
		for i := range 70 {
			pass(interval)
			s.records.WithLabelValues("answered").Add(120)
			s.lag.WithLabelValues("10").Set(float64(i))
			for range 99 {
				s.seconds.Observe(0.003)
			}
			s.seconds.Observe(0.9)
			if i == 40 {
				s.lag.Reset()
			}
		}
		pass(interval)
		x := m.Snapshot().Streams[0]
		if n := len(x.History); n != kept-1 {
			t.Fatalf("%d points, want %d", n, kept-1)
		}
		last := x.History[kept-2]
		if last.Lag != 69 || last.Age != 0 || last.Rate != 2 || math.Abs(last.P99-0.004) > 1e-9 {
			t.Errorf("the last minute is %+v", last)
		}
		gaps := 0
		for _, p := range x.History {
			if math.IsNaN(p.Lag) {
				gaps++
			}
		}
		if gaps != 1 {
			t.Errorf("%d gaps, want 1", gaps)
		}
		if x.Partitions[0] != (Partition{"10", 69}) {
			t.Errorf("partitions: %v", x.Partitions)
		}
	})
}

func TestAllIsWell(t *testing.T) {
	watch(t, func(t *testing.T, m *Monitor, s *stream) {
		s.records.WithLabelValues("answered").Add(1)
		s.failed.Inc() // a partition has a new leader
		pass(2 * time.Second)
		x := m.Snapshot()
		if len(x.Problems) > 0 {
			t.Errorf("problems: %v", x.Problems)
		}
		if p := x.Streams[0]; !math.IsNaN(p.P99) || p.Lag != 0 || p.Generation() != "g1" {
			t.Errorf("%+v", p)
		}
	})
}

// TestLettersBegin: dead letters began when one was there, not when somebody looked.
func TestLettersBegin(t *testing.T) {
	watch(t, func(t *testing.T, m *Monitor, s *stream) {
		pass(interval)
		began := time.Now()
		for _, reason := range []string{"wrong_type", "too_large"} {
			s.letters.WithLabelValues(reason).Add(9)
			s.lastLetter.WithLabelValues(reason).SetToCurrentTime()
			pass(20 * time.Second)
		}
		if x := m.Snapshot(); len(x.Problems) != 1 || !x.Problems[0].Since.Equal(began) {
			t.Errorf("dead letters of %v are reported as %+v", began, x.Problems)
		}
	})
}

// TestWorstFirst: each problem is shown with its cause and since when, until it is over.
func TestWorstFirst(t *testing.T) {
	watch(t, func(t *testing.T, m *Monitor, s *stream) {
		began := time.Now()
		s.letters.WithLabelValues("wrong_type").Add(2)
		s.lastLetter.WithLabelValues("wrong_type").SetToCurrentTime()
		s.refused, s.remark = "new models refused", "The fit of beds is damaged."
		s.lag.WithLabelValues("0").Set(300)
		pass(2 * interval)
		s.oldest.Set(122)
		s.away = errors.New("triage: the consumer has not joined its group")
		s.failed.Add(7)
		s.skipped.WithLabelValues("retention").Add(1)
		s.skipped.WithLabelValues("absent").Add(9)
		s.blocked.Set(1)
		s.stalls.Inc()
		pass(2 * time.Second)
		x := m.Snapshot()
		want := []string{
			"No notes are being read from triage.notes: triage", "7 requests for notes from triage.notes",
			"1 partition of triage.notes is blocked",
			"1 record was deleted by Kafka",
			"2 dead letters in the last hour: wrong type", "300 notes wait", "new models refused", "The fit of beds",
			"has waited for 2 minutes", "Reading stalled 1 time",
		}
		if len(x.Problems) != len(want) {
			t.Fatalf("problems: %v", x.Problems)
		}
		for i, p := range x.Problems {
			if !strings.Contains(p.Text, want[i]) || (p.Level == Failure) != (i < 4) {
				t.Errorf("problem %d is %+v, want %q", i, p, want[i])
			}
			if p.Since.Before(began) || p.Since.After(time.Now()) {
				t.Errorf("problem %d began at %v", i, p.Since)
			}
		}

		s.lag.Reset() // as when the group is left
		s.oldest.Set(0)
		pass(interval)
		x = m.Snapshot()
		if p := x.Streams[0]; !math.IsNaN(p.Lag) || len(p.Partitions) != 0 {
			t.Errorf("a stream without partitions is %+v", p)
		}

		s.away, s.refused, s.remark = nil, "", ""
		s.lag.WithLabelValues("0").Set(0)
		s.blocked.Set(0)
		pass(62 * interval)
		if x := m.Snapshot(); len(x.Problems) > 0 {
			t.Errorf("what is over is still shown: %v", x.Problems)
		}
	})
}

// TestAway: while Kafka is away that is the one cause, of the stream that it is named with, since it last answered.
func TestAway(t *testing.T) {
	watch(t, func(t *testing.T, m *Monitor, s *stream) {
		pass(interval)
		s.dead, s.away = errors.New("connection refused"), errors.New("not joined")
		s.failed.Add(9)
		x := m.Snapshot()
		const want = "Kafka does not answer: no notes are read from triage.notes, and none are answered. " +
			"connection refused."
		if len(x.Problems) != 1 || x.Problems[0].Text != want || x.Problems[0].Level != Failure ||
			!x.Problems[0].Since.Equal(time.Now().Add(-5*time.Second)) {
			t.Errorf("problems: %+v, want %q", x.Problems, want)
		}
	})
}

// TestSilence: a feed that is silent for three times its usual gap is named, also once the hour that had the gap is
// over, until a note comes. Neither a short silence, nor one while records wait, nor a feed that never spoke is.
func TestSilence(t *testing.T) {
	watch(t, func(t *testing.T, m *Monitor, s *stream) {
		silent := func() time.Duration {
			pass(2 * time.Second)
			return m.Snapshot().Streams[0].Silent
		}
		pass(20 * interval)
		if d := silent(); d != 0 {
			t.Errorf("a feed that never spoke is silent for %v", d)
		}
		for range 10 {
			pass(2 * interval)
			s.records.WithLabelValues("answered").Inc()
			s.answered.SetToCurrentTime()
		}
		pass(5 * interval)
		if d := silent(); d != 0 {
			t.Errorf("silent after %v, the mean gap is 4 minutes", d)
		}
		pass(12 * interval)
		s.lag.WithLabelValues("0").Set(1)
		if d := silent(); d != 0 {
			t.Errorf("silent for %v while a record waits", d)
		}
		s.lag.WithLabelValues("0").Set(0)
		for range 2 {
			if d := silent(); d < 17*time.Minute {
				t.Errorf("silent for %v, want over 17 min", d)
			}
			if x := m.Snapshot(); len(x.Problems) != 1 ||
				!strings.HasPrefix(x.Problems[0].Text, "No note has come for ") {
				t.Errorf("problems: %+v", x.Problems)
			}
			pass(90 * interval)
		}
		s.records.WithLabelValues("answered").Inc()
		s.answered.SetToCurrentTime()
		if d := silent(); d != 0 {
			t.Errorf("silent for %v after a note", d)
		}
	})
}

func TestQuantile(t *testing.T) {
	t.Parallel()
	inf := math.Inf(1)
	for name, c := range map[string]struct {
		b    buckets
		want float64
	}{
		"no histogram":   {buckets{}, math.NaN()},
		"no values":      {buckets{[]float64{1, inf}, []float64{0, 0}}, math.NaN()},
		"within":         {buckets{[]float64{1, 2, inf}, []float64{50, 100, 100}}, 1.98},
		"in the first":   {buckets{[]float64{1, inf}, []float64{100, 100}}, 0.99},
		"beyond the end": {buckets{[]float64{1, inf}, []float64{0, 100}}, inf},
	} {
		if got := c.b.quantile(0.99); got != c.want && !(math.IsNaN(got) && math.IsNaN(c.want)) &&
			math.Abs(got-c.want) > 1e-12 {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
