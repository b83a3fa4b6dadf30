package retrain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/train"
)

// finish labels, orders, counts and splits the rows.
func (c *collector) finish(sources []string) (*Past, error) {
	c.label()
	c.index, c.visits, c.recorded, c.interned = nil, nil, nil, nil
	c.rows = slices.DeleteFunc(c.rows, func(r train.Row) bool { return r.Text == "" })
	slices.SortFunc(c.rows, func(a, b train.Row) int {
		return cmp.Or(a.Arrived.Compare(b.Arrived), strings.Compare(a.Visit, b.Visit))
	})
	c.counts.Documents = len(c.rows)
	for i := range c.rows {
		if c.rows[i].Positive {
			c.counts.Events++
		}
	}
	c.counts.Attenders = train.CountAttenders(c.rows)
	c.counts.Recurring = train.CountRecurring(c.rows)
	past := &Past{Rows: c.rows, Counts: c.counts}
	err := past.split(&c.settings, sources)
	return past, err
}

// label sets the labels, and counts what only the whole of a visit's events tells.
func (c *collector) label() {
	dispositions := msg.Dispositions()
	from := micros(c.counts.From)
	for _, v := range c.visits {
		if v.row == 0 {
			if !v.has(hasNote) && !v.has(cancelled) && v.at >= from {
				c.counts.WithoutNote++
			}
			continue
		}
		d := dispositions[v.disposition]
		c.rows[v.row-1].Positive = slices.Contains(c.settings.Admission, d)
		c.counts.Dispositions[string(d)]++
		switch {
		case v.has(revised):
			c.counts.Revised++
		case v.has(saidYes | saidNo):
			c.counts.Conflicting++
		}
	}
}

// split divides the rows in time and checks that there are enough to train on.
func (p *Past) split(s *Settings, sources []string) error {
	c := &p.Counts.Split
	c.PatientsKnown = p.Counts.UnknownPatient == 0
	var divided error
	if len(p.Rows) > 0 {
		divided = p.divide(s.Judged)
	}
	others := c.Train - c.TrainEvents
	if c.Train < s.MinDocuments || min(c.TrainEvents, others) < s.MinEvents {
		return &TooFewError{
			Documents: c.Train, Events: c.TrainEvents, Others: others, MinDocuments: s.MinDocuments, MinEvents: s.MinEvents,
			Sources: sources, Counts: p.Counts,
		}
	}
	return divided
}

// divide sets the split and counts it. If there is no later part, the error says so and all rows are to train on.
func (p *Past) divide(judged float64) error {
	c := &p.Counts.Split
	times := make([]time.Time, len(p.Rows))
	for i := range p.Rows {
		times[i] = p.Rows[i].Arrived
	}
	cut, err := eval.TemporalCut(times, 1-judged)
	if err == nil {
		c.Cut = cut
		var repeats train.Repeats
		repeats, c.SeenInTrain, err = train.Holdout(p.Rows, func(i int) bool { return p.Rows[i].Arrived.Before(cut) })
		if err == nil {
			p.Split = repeats[0][0]
		}
	}
	count := func(at []int) (n, events int) {
		for _, i := range at {
			if p.Rows[i].Positive {
				events++
			}
		}
		return len(at), events
	}
	c.Train, c.TrainEvents = count(p.Split.Train)
	c.Judge, c.JudgeEvents = count(p.Split.Test)
	if err != nil {
		c.Train, c.TrainEvents = len(p.Rows), p.Counts.Events
		return fmt.Errorf("splitting the notes in time: %w", err)
	}
	return nil
}
