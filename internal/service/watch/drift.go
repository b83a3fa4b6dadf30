package watch

import (
	"cmp"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/internal/meter"
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
	prometheus.Collector
	counters atomic.Pointer[[]*Counter]
	now      func() time.Time
}

// NewDrift returns metrics without counters. now is the clock.
func NewDrift(now func() time.Time) *Drift {
	d := &Drift{now: now}
	d.Collector = meter.New(nil, "wardcast_").Readings(d.measure,
		[]string{
			"drift_notes", "Notes of the last seven days and today that the other measures of drift count.", "model",
		},
		[]string{"score_psi", "Population stability index of the probabilities against the training window.", "model"},
		[]string{"score_psi_expected", "What chance alone makes of wardcast_score_psi.", "model"},
		[]string{"topic_psi", "Population stability index of the main topics against the training window.", "model"},
		[]string{"topic_psi_expected", "What chance alone makes of wardcast_topic_psi.", "model"},
		[]string{"known_term_ratio", "Share of the notes' terms that the model knows.", "model"},
		[]string{
			"known_term_training_ratio", "Share of the terms of the training notes that the model knows.", "model",
		},
		[]string{
			"unknown_level_ratio", "Share of the values of a categorical column that the model does not know.", "model",
			"column",
		},
		[]string{
			"unknown_level_training_ratio",
			"Share of the values of a categorical column in training that the model does not know.", "model", "column",
		})
	return d
}

// Use sets the counters that the metrics show.
func (d *Drift) Use(counters []*Counter) {
	counters = slices.Clone(counters)
	slices.SortFunc(counters, func(a, b *Counter) int { return cmp.Compare(a.model.Name, b.model.Name) })
	d.counters.Store(&counters)
}

// measure sets the metrics of all models.
func (d *Drift) measure(set meter.Set) {
	all := d.counters.Load()
	if all == nil {
		return
	}
	for _, c := range *all {
		c.measure(set, d.now())
	}
}

func (c *Counter) measure(set meter.Set, now time.Time) {
	name := c.model.Name
	period, ref := c.period(now), c.model.Reference
	set("drift_notes", period.Notes(), name)
	if period.Known.Of > 0 {
		set("known_term_ratio", period.Known.Share(), name)
	}
	for _, l := range period.Levels {
		if l.Unknown.Of > 0 {
			set("unknown_level_ratio", l.Unknown.Share(), name, l.Column)
		}
	}
	if ref == nil {
		return
	}
	set("known_term_training_ratio", ref.Known.Share(), name)
	for _, l := range ref.Levels {
		set("unknown_level_training_ratio", l.Unknown.Share(), name, l.Column)
	}
	if shifts, err := period.Against(ref); err == nil { // an error means that nothing was counted
		set("score_psi", shifts.Scores.PSI, name)
		set("score_psi_expected", shifts.Scores.Expected, name)
		set("topic_psi", shifts.Topics.PSI, name)
		set("topic_psi_expected", shifts.Topics.Expected, name)
	}
}
