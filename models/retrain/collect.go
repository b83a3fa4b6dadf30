package retrain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/train"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Past is what Collect returns.
type Past struct {
	Rows []train.Row // in the order of arrival, then of visit. Their Aux are those of Settings.Aux.
	// Split holds the rows to train on, which arrived before Counts.Split.Cut, and those to judge on, which arrived
	// later and whose patients are not trained on.
	//
	// A patient on both sides counts for training. The champion may have learned from the earlier notes of that patient
	// too, so judging the later ones would flatter both, and the champion more: it would win by memory. train.Holdout
	// does the same for evaluate.
	Split  train.Split
	Counts Counts
	// Decisions are those of Rows, Undecided the arrivals without an outcome: forecasts of beds learn from both.
	Decisions []Decision
	Undecided []Arrival
}

// Decision is how a visit ended.
type Decision struct {
	At       time.Time // zero if unknown
	Admitted bool      // whatever Settings.Admission says
	Ward     string    // of the admitted; "" if unknown
}

// Arrival is that of a visit without an outcome.
type Arrival struct {
	Arrived time.Time
	Site    string
}

// ErrNoTime is returned if no outcome has a time and Settings.AsOf is zero.
var ErrNoTime = errors.New("no outcome has a time of decision: give the cut-off")

// Collect reads a source and returns labelled notes. If they are too few to train on, the error is a *TooFewError; it
// comes with a Past whose Counts say why, and so do errors of the split.
//
// It takes time in O(messages + rows·log rows).
func Collect(ctx context.Context, source Source, s Settings) (*Past, error) {
	s, err := s.withDefaults()
	if err != nil {
		return nil, err
	}
	c := &collector{
		settings: s, asOf: micros(time.Now()), newest: unknown, counts: newCounts(),
		index: map[string]int32{}, interned: map[string]string{}, seed: maphash.MakeSeed(),
		arrived: map[uint64]struct{}{},
	}
	from := time.Time{}
	if !s.AsOf.IsZero() {
		c.asOf = micros(s.AsOf)
		from = s.AsOf.Add(-s.Window - recordedSlack)
	}
	if err := source.Outcomes(ctx, from, c.outcome); err != nil {
		return nil, fmt.Errorf("reading outcomes: %w", err)
	}
	if s.AsOf.IsZero() && len(c.visits) > 0 {
		if c.newest == unknown {
			return nil, ErrNoTime
		}
		c.asOf = c.newest
	}
	c.counts.AsOf = time.UnixMicro(c.asOf).UTC()
	c.counts.From = c.counts.AsOf.Add(-s.Window)
	if err := source.Notes(ctx, c.counts.From.Add(-recordedSlack), c.note); err != nil {
		return nil, fmt.Errorf("reading notes: %w", err)
	}
	return c.finish(source.Names())
}

// collector joins notes with outcomes.
type collector struct {
	settings Settings
	counts   Counts
	asOf     int64 // events later than this are not known
	newest   int64 // time of the newest known event

	// index holds the place of each visit in visits. Assigning to an existing key would keep the whole new message.
	index     map[string]int32
	visits    []visit     // with an outcome that is known
	rows      []train.Row // an erased one has no text
	recorded  []int64     // when the note of each row was recorded
	interned  map[string]string
	undecided []Arrival // visits without an outcome, each once, by the hash of its name in arrived
	arrived   map[uint64]struct{}
	seed      maphash.Seed

	inNote    msg.Note
	inOutcome msg.Outcome
}

type visit struct {
	at          int64  // time of the event that counts
	decided     int64  // when it says that the visit was decided
	ward        string // that it names
	row         int32  // 1 + index of its row, 0 for none
	disposition int8   // index into msg.Dispositions
	marks
}

// marks are facts about the events of a visit.
type marks uint8

const (
	cancelled marks = 1 << iota // by the event that counts
	revised                     // some event is a correction or a cancellation
	saidYes                     // some final event is an admission
	saidNo                      // some final event is not an admission
	hasNote                     // some note names the visit
)

func (m marks) has(all marks) bool { return m&all == all }

const unknown = -1 << 63 // before all times

// micros returns a time as a number, unknown for the zero time.
func micros(t time.Time) int64 {
	if t.IsZero() {
		return unknown
	}
	return t.UnixMicro()
}

// instant returns the first time that is there, as a number; ok is false if one that comes first is not RFC 3339.
func instant(otherwise time.Time, written ...string) (at int64, ok bool) {
	for _, s := range written {
		if s = strings.TrimSpace(s); s != "" {
			t, err := time.Parse(time.RFC3339, s)
			return micros(t), err == nil
		}
	}
	return micros(otherwise), true
}

func (c *collector) outcome(m *Message) error {
	read := &c.counts.Outcomes
	read.Messages++
	if len(m.Value) == 0 {
		read.Empty++
		if i, ok := c.index[string(m.Key)]; ok {
			c.visits[i] = visit{at: unknown}
			delete(c.index, string(m.Key))
		}
		return nil
	}
	o, decode := &c.inOutcome, msg.DecodeOutcome
	if m.Own {
		decode = msg.DecodeOwnOutcome
	}
	if err := decode(m.Value, o); err != nil {
		read.refuse(err.Error(), m.Place)
		return nil
	}
	at, ok := instant(m.Recorded, o.RecordedAt, o.DecidedAt)
	if !ok {
		read.refuse(BadTime, m.Place)
		return nil
	}
	if at > c.asOf {
		c.counts.OutcomesLater++
		return nil
	}
	c.newest = max(c.newest, at)
	i, before := c.index[o.VisitID]
	if !before {
		i = int32(len(c.visits)) //nolint:gosec // two thousand million visits do not fit into memory
		c.index[strings.Clone(o.VisitID)] = i
		c.visits = append(c.visits, visit{at: unknown})
	}
	v := &c.visits[i]
	now := int8(slices.Index(msg.Dispositions(), o.Disposition)) //nolint:gosec // there are five
	withdrawn := o.Status == msg.Cancelled
	v.marks |= c.said(o)
	if at < v.at {
		if now != v.disposition || withdrawn != v.has(cancelled) {
			c.counts.OutcomesOvertaken++
		}
		return nil
	}
	v.at, v.disposition, v.ward = at, now, c.intern(beds.WardName(o.Ward))
	if v.decided, ok = instant(m.Recorded, o.DecidedAt, o.RecordedAt); !ok {
		v.decided = unknown
	}
	if v.marks &^= cancelled; withdrawn {
		v.marks |= cancelled
	}
	return nil
}

// said returns the marks that an event leaves, whether or not it counts.
func (c *collector) said(o *msg.Outcome) marks {
	switch {
	case o.Status != msg.Final:
		return revised
	case slices.Contains(c.settings.Admission, o.Disposition):
		return saidYes
	default:
		return saidNo
	}
}

func (c *collector) note(m *Message) error {
	read := &c.counts.Notes
	read.Messages++
	if len(m.Value) == 0 {
		read.Empty++
		c.erase(string(m.Key))
		return nil
	}
	n, decode := &c.inNote, msg.DecodeNote
	if m.Own {
		decode = msg.DecodeOwnNote
	}
	if err := decode(m.Value, n); err != nil {
		read.refuse(err.Error(), m.Place)
		return nil
	}
	at, why := c.settings.Intake.Arrived(n.ArrivedAt)
	if why != "" {
		c.counts.Implausible[intake.ArrivedField]++
	}
	if at.IsZero() {
		at = m.Recorded
	}
	arrived := micros(at)
	v, decided := &visit{}, false
	if i, ok := c.index[n.VisitID]; ok {
		v, decided = &c.visits[i], true
		v.marks |= hasNote
	}
	switch {
	case arrived == unknown:
		c.counts.Excluded[NoTime]++
	case arrived > c.asOf:
		c.counts.Excluded[AfterCutOff]++
	case arrived < micros(c.counts.From):
		c.counts.Excluded[BeforeWindow]++
	case !decided:
		c.counts.Excluded[Undecided]++
		c.waits(n, arrived)
	case v.has(cancelled):
		c.counts.Excluded[Cancelled]++
	case v.row > 0:
		c.again(int(v.row)-1, arrived, micros(m.Recorded))
	default:
		c.rows = append(c.rows, c.row(n, arrived))
		c.recorded = append(c.recorded, micros(m.Recorded))
		v.row = int32(len(c.rows)) //nolint:gosec // as many visits at most
	}
	return nil
}

// waits keeps the arrival of a visit without an outcome.
func (c *collector) waits(n *msg.Note, arrived int64) {
	id := maphash.String(c.seed, n.VisitID)
	if _, before := c.arrived[id]; before {
		return
	}
	c.arrived[id] = struct{}{}
	c.undecided = append(c.undecided, Arrival{time.UnixMicro(arrived).UTC(), c.intern(strings.TrimSpace(n.Site))})
}

// again takes another note of the visit of row i; the one that was recorded first counts.
func (c *collector) again(i int, arrived, recorded int64) {
	reason := Superseded
	if c.inNote.Text == c.rows[i].Text {
		reason = Repeated
	}
	c.counts.Excluded[reason]++
	if recorded != unknown && recorded < c.recorded[i] {
		c.rows[i], c.recorded[i] = c.row(&c.inNote, arrived), recorded
	}
}

func (c *collector) erase(id string) {
	i, ok := c.index[id]
	if !ok || c.visits[i].row == 0 {
		return
	}
	v := &c.visits[i]
	c.rows[v.row-1] = train.Row{}
	c.counts.Excluded[Erased]++
	v.row = 0
}

// row returns the row of a note but for its label. It keeps nothing of the message.
func (c *collector) row(n *msg.Note, arrived int64) train.Row {
	all := n.VisitID + n.PatientID + n.Text
	visit, patient := len(n.VisitID), len(n.VisitID)+len(n.PatientID)
	row := train.Row{
		Visit: all[:visit], Patient: all[visit:patient], Text: all[patient:],
		Complaint: c.intern(strings.TrimSpace(n.Complaint)), Site: c.intern(strings.TrimSpace(n.Site)),
		Arrived: time.UnixMicro(arrived).UTC(), Aux: make([]msg.Value, len(c.settings.Aux)),
	}
	for i, a := range c.settings.Aux {
		row.Aux[i] = n.Value(a.Name)
		if s, ok := row.Aux[i].Text(); ok {
			row.Aux[i] = msg.Text(c.intern(s))
		}
	}
	return row
}

// intern returns a copy of s, the same one for equal strings.
func (c *collector) intern(s string) string {
	if known, ok := c.interned[s]; ok {
		return known
	}
	s = strings.Clone(s)
	c.interned[s] = s
	return s
}

// finish labels, orders, counts and splits the rows.
func (c *collector) finish(sources []string) (*Past, error) {
	decisions := c.label()
	c.index, c.visits, c.recorded, c.interned, c.arrived = nil, nil, nil, nil, nil
	order := linalg.Order(len(c.rows), func(i, j int) int {
		a, b := &c.rows[i], &c.rows[j]
		return cmp.Or(a.Arrived.Compare(b.Arrived), strings.Compare(a.Visit, b.Visit))
	})
	order = slices.DeleteFunc(order, func(i int) bool { return c.rows[i].Text == "" }) // erased
	c.rows, decisions = lists.Take(c.rows, order), lists.Take(decisions, order)
	data := train.Data{Rows: c.rows, Aux: c.settings.Aux, Intake: c.settings.Intake}
	maps.Copy(c.counts.Implausible, data.Clean(DefaultFit().Text))
	c.counts.Documents = len(c.rows)
	c.counts.Events = train.Positives(c.rows)
	c.counts.Attenders = train.CountAttenders(c.rows)
	c.counts.Recurring = train.CountRecurring(c.rows)
	past := &Past{Rows: c.rows, Counts: c.counts, Decisions: decisions, Undecided: c.undecided}
	return past, past.split(&c.settings, sources)
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
	times := lists.Make(len(p.Rows), func(i int) time.Time { return p.Rows[i].Arrived })
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
		return len(at), lists.Count(at, func(i int) bool { return p.Rows[i].Positive })
	}
	c.Train, c.TrainEvents = count(p.Split.Train)
	c.Judge, c.JudgeEvents = count(p.Split.Test)
	if err != nil {
		c.Train, c.TrainEvents = len(p.Rows), p.Counts.Events
		return fmt.Errorf("splitting the notes in time: %w", err)
	}
	return nil
}
