package ingest

import (
	"strconv"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/meter"
)

// metrics are described in docs/metrics.md.
type metrics struct {
	consumed      *prometheus.CounterVec // partition
	records       *prometheus.CounterVec // disposition
	deadLetters   *prometheus.CounterVec // reason
	handleSeconds prometheus.Histogram
	endToEnd      prometheus.Histogram
	inFlight      prometheus.Gauge
	lastAnswer    prometheus.Gauge
	lastLetter    *prometheus.GaugeVec // reason
	skipped       *prometheus.CounterVec
	rebalances    prometheus.Counter
	assigned      prometheus.Gauge
	commits       *prometheus.CounterVec // result
	retries       prometheus.Counter
	fetchErrors   prometheus.Counter
	panics        prometheus.Counter
	stalls        prometheus.Counter
	blocked       prometheus.Gauge
	permanent     *prometheus.CounterVec // code
	missing       *prometheus.GaugeVec   // topic

	// The children that the hot path needs, looked up once.
	predicted, dead, erased prometheus.Counter
	reasons                 map[string]prometheus.Counter
}

func newMetrics(reg prometheus.Registerer) *metrics {
	in := meter.New(reg, "wardcast_ingest_")
	m := &metrics{
		consumed:    in.Counters("consumed_records_total", "Records read from the input topic.", "partition"),
		records:     in.Counters("records_total", "Records by what became of them.", "disposition"),
		deadLetters: in.Counters("dead_letters_total", "Acknowledged dead letters by reason.", "reason"),
		handleSeconds: in.Histogram("handle_seconds", "Time to handle one record.",
			prometheus.ExponentialBuckets(5e-6, 2, 16)),
		endToEnd: in.Histogram("end_to_end_seconds", "Time from a record's timestamp to the acknowledgement of its "+
			"answer.", prometheus.ExponentialBuckets(1e-3, 2, 17)),
		inFlight: in.Gauge("in_flight_records", "Records handled whose answer is not acknowledged yet."),
		lastAnswer: in.Gauge("last_answer_timestamp_seconds",
			"When the last answer was acknowledged; 0 if there was none."),
		lastLetter: in.Gauges("last_dead_letter_timestamp_seconds",
			"When the last dead letter was acknowledged, by reason; 0 if there was none.", "reason"),
		skipped: in.Counters("skipped_offsets_total", "Offsets skipped because the broker has nothing there.",
			"cause"),
		rebalances:  in.Counter("rebalances_total", "Generations of the consumer group joined."),
		assigned:    in.Gauge("assigned_partitions", "Partitions assigned to this process."),
		commits:     in.Counters("commits_total", "Offset commits by result.", "result"),
		retries:     in.Counter("produce_retries_total", "Produce requests that were retried."),
		fetchErrors: in.Counter("fetch_errors_total", "Fetch requests that failed."),
		panics:      in.Counter("handler_panics_total", "Panics recovered in the handler."),
		stalls: in.Counter("stalls_total",
			"Generations left because a partition with records made no progress."),
		blocked: in.Gauge("blocked_partitions", "Partitions that are blocked until the cause of a refusal by the brokers is fixed."),
		permanent: in.Counters("permanent_errors_total",
			"Broker errors that last until their cause is fixed, by Kafka's code.", "code"),
		missing: in.Gauges("topic_missing", "1 while a topic of the stream does not exist.", "kafka_topic"),
		reasons: make(map[string]prometheus.Counter),
	}
	m.predicted = m.records.WithLabelValues("answered")
	m.dead = m.records.WithLabelValues("dead_letter")
	m.erased = m.records.WithLabelValues("erased")
	for _, r := range append(msg.Reasons(), "other") {
		m.reasons[string(r)] = m.deadLetters.WithLabelValues(string(r))
		m.lastLetter.WithLabelValues(string(r))
	}
	m.permanent.WithLabelValues(strconv.Itoa(int(kafka.TopicAuthorizationFailed))) // others appear when they occur
	for _, cause := range []string{causeRetention, causeAbsent} {
		m.skipped.WithLabelValues(cause)
	}
	for _, result := range []string{commitOK, commitStale, commitFailed} {
		m.commits.WithLabelValues(result)
	}
	return m
}

// Values of the labels cause and result.
const (
	causeRetention = "retention" // deleted before they were read
	causeAbsent    = "absent"    // compacted, aborted, or the marker of a transaction

	commitOK     = "ok"
	commitStale  = "stale" // refused: the partition now belongs to another member
	commitFailed = "failed"
)

func (m *metrics) deadLetter(reason string) {
	c, ok := m.reasons[reason]
	if !ok {
		reason = "other" // the reason is not in ingest/msg
		c = m.reasons[reason]
	}
	m.lastLetter.WithLabelValues(reason).SetToCurrentTime()
	c.Inc()
	m.dead.Inc()
}
