package retrain

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"sort"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models/train"
)

// finish labels, orders, counts and splits the rows.
func (c *collector) finish(sources []string) (*Past, error) {
	decided := decidedRows{c.rows, c.label()}
	c.index, c.visits, c.recorded, c.interned, c.arrived = nil, nil, nil, nil, nil
	decided.dropErased()
	sort.Sort(&decided)
	c.rows = decided.rows
	data := train.Data{Rows: c.rows, Aux: c.settings.Aux, Intake: c.settings.Intake}
	maps.Copy(c.counts.Implausible, data.Clean())
	c.counts.Documents = len(c.rows)
	c.counts.Events = train.Positives(c.rows)
	c.counts.Attenders = train.CountAttenders(c.rows)
	c.counts.Recurring = train.CountRecurring(c.rows)
	past := &Past{Rows: c.rows, Counts: c.counts, Decisions: decided.decisions, Undecided: c.undecided}
	err := past.split(&c.settings, sources)
	return past, err
}

// decidedRows are rows with how their visits ended, to be sorted by arrival and then by visit.
type decidedRows struct {
	rows      []train.Row
	decisions []Decision
}

// dropErased drops the rows without a text.
func (d *decidedRows) dropErased() {
	n := 0
	for i := range d.rows {
		if d.rows[i].Text != "" {
			d.Swap(n, i)
			n++
		}
	}
	d.rows, d.decisions = d.rows[:n], d.decisions[:n]
}

func (d *decidedRows) Len() int { return len(d.rows) }

func (d *decidedRows) Less(i, j int) bool {
	a, b := &d.rows[i], &d.rows[j]
	return cmp.Or(a.Arrived.Compare(b.Arrived), strings.Compare(a.Visit, b.Visit)) < 0
}

func (d *decidedRows) Swap(i, j int) {
	d.rows[i], d.rows[j] = d.rows[j], d.rows[i]
	d.decisions[i], d.decisions[j] = d.decisions[j], d.decisions[i]
}

// label sets the labels, counts what takes all events of a visit, and returns how the visits of the rows ended.
func (c *collector) label() []Decision {
	decisions := make([]Decision, len(c.rows))
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
		decision := &decisions[v.row-1]
		if v.decided != unknown {
			decision.At = time.UnixMicro(v.decided).UTC()
		}
		if decision.Admitted = d == msg.Admitted; decision.Admitted {
			decision.Ward = v.ward
		}
		switch {
		case v.has(revised):
			c.counts.Revised++
		case v.has(saidYes | saidNo):
			c.counts.Conflicting++
		}
	}
	return decisions
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
			Documents: c.Train, Events: c.TrainEvents, Others: others, MinDocuments: s.MinDocuments,
			MinEvents: s.MinEvents, Sources: sources, Counts: p.Counts,
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
