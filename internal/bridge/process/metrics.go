package process

import (
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/meter"
)

// metrics are described in docs/metrics.md.
type metrics struct {
	messages      *prometheus.CounterVec // type, answer
	seconds       prometheus.Histogram
	commitSeconds prometheus.Histogram
	letters       *prometheus.CounterVec // reason
	unused        *prometheus.CounterVec // value
	events        map[bridge.To]prometheus.Counter
	connections   prometheus.Gauge
	ends          *prometheus.CounterVec // end
	answers       *prometheus.CounterVec // to, result
	answerDelay   *prometheus.GaugeVec   // to
	kinds         []string
}

func newMetrics(p *process) *metrics {
	in := meter.New(p.Registry, "wardcast_bridge_")
	// Not wardcast_build_info, by whose absence alerts notice that there is no scorer.
	in.Gauges("build_info", "Constant 1, labelled with the version of the binary.", "version").
		WithLabelValues(p.Version).Set(1)
	buckets := prometheus.ExponentialBuckets(5e-4, 2, 16)
	events := in.Counters("events_total", "Notes and outcomes that Kafka has acknowledged.", "topic")
	m := &metrics{
		messages: in.Counters("messages_total", "Messages by type and answer; none: the connection was closed.",
			"type", "answer"),
		seconds:       in.Histogram("message_seconds", "Time from a message to its answer.", buckets),
		commitSeconds: in.Histogram("commit_seconds", "Time in which Kafka acknowledges a round of events.", buckets),
		letters:       in.Counters("dead_letters_total", "Messages answered AE, by reason.", "reason"),
		unused: in.Counters("unused_values_total", "Values of messages that cannot be used, by what is wrong.",
			"value"),
		events: map[bridge.To]prometheus.Counter{
			bridge.Notes: events.WithLabelValues("notes"), bridge.Outcomes: events.WithLabelValues("outcomes"),
		},
		connections: in.Gauge("connections", "Open connections of MLLP."),
		ends:        in.Counters("ended_connections_total", "Connections of MLLP that ended, by how.", "end"),
		answers:     in.Counters("answers_total", "Attempts to send a prediction, by way and result.", "to", "result"),
		answerDelay: in.Gauges("answer_delay_seconds", "Age of the prediction that is being sent; 0 if none is.", "to"),
		kinds:       bridge.Kinds(),
	}
	in.Computed("ready", "1 while messages are taken.", func() float64 { return meter.Bool(p.ready() == nil) })
	for _, r := range Reasons() {
		m.letters.WithLabelValues(r)
	}
	for _, what := range bridge.UnusedValues() {
		m.unused.WithLabelValues(what)
	}
	for _, end := range mllp.Ends() {
		m.ends.WithLabelValues(string(end))
	}
	for _, way := range ways {
		for _, result := range results {
			m.answers.WithLabelValues(way, string(result))
		}
		m.answerDelay.WithLabelValues(way)
	}
	for _, kind := range m.kinds {
		for _, answer := range []string{string(hl7.Accepted), string(hl7.Failed), string(hl7.Rejected), unanswered} {
			m.messages.WithLabelValues(kind, answer)
		}
	}
	p.Registry.MustRegister(in.Readings(func(set meter.Set) { measureVisits(set, p.count()) },
		[]string{
			"visits",
			"Emergency visits that are remembered, by what they lack; all of them with lack none, others with class.",
			"lack",
		},
		[]string{
			"oldest_unjoined_seconds",
			"Time since the first message of the oldest emergency visit without a note; 0 if there is none.",
		}))
	return m
}

// message counts a message. Types that are not read share a label, so that no sender can make new ones.
func (m *metrics) message(kind, answer string, took time.Duration) {
	if _, known := slices.BinarySearch(m.kinds, kind); !known {
		kind = "other"
	}
	m.messages.WithLabelValues(kind, answer).Inc()
	m.seconds.Observe(took.Seconds())
}

func (m *metrics) ended(e mllp.End) {
	m.ends.WithLabelValues(string(e)).Inc()
	if e != mllp.Excess {
		m.connections.Dec()
	}
}

func measureVisits(set meter.Set, c bridge.Counts) {
	set("visits", float64(c.Visits), "none")
	set("visits", float64(c.OtherClasses), "class")
	set("visits", float64(c.WithoutText), "text")
	set("visits", float64(c.WithoutComplaint), "complaint")
	set("visits", float64(c.WithoutOutcome), "outcome")
	oldest := 0.
	if !c.OldestUnjoined.IsZero() {
		oldest = time.Since(c.OldestUnjoined).Seconds()
	}
	set("oldest_unjoined_seconds", oldest)
}
