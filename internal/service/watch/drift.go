package watch

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/drift"
)

// Model describes a model to Drift.
type Model struct {
	Name      string
	Topics    int
	Columns   []string         // the categorical ones, in the order of drift.Note.Unknown
	Reference *drift.Reference // this model's training notes; nil if not recorded
}

// driftDays is the number of days before today that count.
const driftDays = 7

const secondsPerDay = 24 * 60 * 60

// Counter counts the notes of one model. It is safe for concurrent use.
type Counter struct {
	model Model
	empty *drift.Reference // without counts

	mu   sync.Mutex
	days [driftDays + 1]struct {
		number int64 // since 1970, UTC
		counts *drift.Reference
	}
}

// NewCounter returns a counter that has counted nothing.
func NewCounter(m Model) *Counter {
	c := &Counter{model: m}
	if m.Reference != nil {
		c.empty = m.Reference.Empty()
		return c
	}
	c.empty = &drift.Reference{Scores: &drift.Histogram{Counts: make([]float64, 1)}, Topics: make([]float64,
		m.Topics+1)}
	for _, name := range m.Columns {
		c.empty.Levels = append(c.empty.Levels, drift.ColumnLevels{Column: name})
	}
	return c
}

// Add counts a note that was scored at a time. It allocates once a day.
func (c *Counter) Add(n *drift.Note, at time.Time) {
	today := at.Unix() / secondsPerDay
	c.mu.Lock()
	defer c.mu.Unlock()
	day := &c.days[today%int64(len(c.days))]
	if day.counts == nil || day.number != today {
		day.number, day.counts = today, c.empty.Empty()
	}
	day.counts.Add(n)
}

// period returns the counts up to now.
func (c *Counter) period(now time.Time) *drift.Reference {
	sum, today := c.empty.Empty(), now.Unix()/secondsPerDay
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.days {
		if d := &c.days[i]; d.counts != nil && d.number <= today && d.number >= today-driftDays {
			sum.Merge(d.counts)
		}
	}
	return sum
}

// Drift is the metrics of the counters in use.
type Drift struct {
	counters atomic.Pointer[[]*Counter]
	now      func() time.Time
}

// NewDrift returns metrics without counters. now is the clock.
func NewDrift(now func() time.Time) *Drift { return &Drift{now: now} }

// Use sets the counters that the metrics show.
func (d *Drift) Use(counters []*Counter) {
	counters = slices.Clone(counters)
	slices.SortFunc(counters, func(a, b *Counter) int { return cmp.Compare(a.model.Name, b.model.Name) })
	d.counters.Store(&counters)
}

func describe(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, append([]string{"model"}, labels...), nil)
}

var (
	driftNotes = describe("wardcast_drift_notes",
		"Notes of the last seven days and today that the other measures of drift count.")
	scorePSI = describe("wardcast_score_psi",
		"Population stability index of the probabilities against the training window.")
	scorePSIExpected = describe("wardcast_score_psi_expected", "What chance alone makes of wardcast_score_psi.")
	topicPSI         = describe("wardcast_topic_psi",
		"Population stability index of the main topics against the training window.")
	topicPSIExpected = describe("wardcast_topic_psi_expected", "What chance alone makes of wardcast_topic_psi.")
	knownTerms       = describe("wardcast_known_term_ratio", "Share of the notes' terms that the model knows.")
	knownTermsBefore = describe("wardcast_known_term_training_ratio",
		"Share of the terms of the training notes that the model knows.")
	unknownLevels = describe("wardcast_unknown_level_ratio",
		"Share of the values of a categorical column that the model does not know.", "column")
	unknownLevelBefore = describe("wardcast_unknown_level_training_ratio",
		"Share of the values of a categorical column in training that the model does not know.", "column")
)

// Describe implements prometheus.Collector.
func (d *Drift) Describe(ch chan<- *prometheus.Desc) {
	for _, desc := range []*prometheus.Desc{
		driftNotes, scorePSI, scorePSIExpected, topicPSI, topicPSIExpected, knownTerms, knownTermsBefore, unknownLevels,
		unknownLevelBefore,
	} {
		ch <- desc
	}
}

// Collect implements prometheus.Collector.
func (d *Drift) Collect(ch chan<- prometheus.Metric) {
	all := d.counters.Load()
	if all == nil {
		return
	}
	for _, c := range *all {
		c.collect(ch, d.now())
	}
}

func (c *Counter) collect(ch chan<- prometheus.Metric, now time.Time) {
	send := func(desc *prometheus.Desc, value float64, labels ...string) {
		ch <- prometheus.MustNewConstMetric(desc, prometheus.GaugeValue, value,
			append([]string{c.model.Name}, labels...)...)
	}
	period, ref := c.period(now), c.model.Reference
	send(driftNotes, period.Notes())
	if period.Known.Of > 0 {
		send(knownTerms, period.Known.Share())
	}
	for _, l := range period.Levels {
		if l.Unknown.Of > 0 {
			send(unknownLevels, l.Unknown.Share(), l.Column)
		}
	}
	if ref == nil {
		return
	}
	send(knownTermsBefore, ref.Known.Share())
	for _, l := range ref.Levels {
		send(unknownLevelBefore, l.Unknown.Share(), l.Column)
	}
	if shifts, err := period.Against(ref); err == nil { // an error means that nothing was counted
		send(scorePSI, shifts.Scores.PSI)
		send(scorePSIExpected, shifts.Scores.Expected)
		send(topicPSI, shifts.Topics.PSI)
		send(topicPSIExpected, shifts.Topics.Expected)
	}
}
