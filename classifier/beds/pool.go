package beds

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Order is the place of an event among those of its visit: when it became known, then its offset in the partition.
type Order struct {
	Seen   time.Time
	Offset int64
}

// event is a Scored or an Outcome.
type event interface{ order() Order }

func (o Order) order() Order { return o }

// Compare is negative if o comes before other, and 0 if they are one place.
func (o Order) Compare(other Order) int {
	return cmp.Or(o.Seen.Compare(other.Seen), cmp.Compare(o.Offset, other.Offset))
}

// Scored is the event that a note was scored. A corrected note is another one of the same visit.
type Scored struct {
	Order
	VisitID   string
	Patient   Patient // an Arrived of zero stands for Seen of the visit's first note
	Abstained bool
	Model     string // name@version
}

// Status says what an outcome does.
type Status int

// The statuses.
const (
	Decided   Status = iota // the decision, or a correction of it
	Cancelled               // withdraws what was said before: the visit is undecided again
)

// Outcome is the event that a visit was decided.
type Outcome struct {
	Order
	VisitID  string
	Status   Status
	Admitted bool
	Ward     string
	At       time.Time // of the decision; zero stands for Seen
}

// Pool knows who waits. It is a pure function of its events: the same events in any order, with any repeats, give the
// same Moment at every time, so that replaying the last Memory restores it. It is not safe for concurrent use.
type Pool struct {
	visits                  map[string]*poolVisit
	held                    int       // bytes
	firstNote, firstOutcome time.Time // earliest Seen of each, zero without any
	begins                  time.Time // Begins
}

// poolVisit holds the events of a visit in order. Outcomes without a note wait for it.
type poolVisit struct {
	scored   []Scored
	outcomes []Outcome
	held     int // bytes
}

// NewPool returns an empty pool.
func NewPool() *Pool { return &Pool{visits: map[string]*poolVisit{}} }

// Bounds of a Pool. A department has some hundred visits a day, and a visit some few events.
const (
	MostVisits = 150_000
	mostEvents = 64
	mostBytes  = 192 << 20
)

// What a visit, an event and the share of a ward take, without their strings.
const (
	visitBytes   = 160
	scoredBytes  = 256
	outcomeBytes = 160
	shareBytes   = 32
)

// Score adds a scored note. It keeps e.Patient.Wards. It reports false, and leaves the note out, if the visit has 64
// notes. If the pool is full, with MostVisits visits or 192 MiB, it drops the oldest tenth of its visits first.
func (p *Pool) Score(e Scored) bool {
	p.firstNote = earlier(p.firstNote, e.Seen)
	size := scoredBytes + len(e.VisitID) + len(e.Patient.Complaint)
	for _, w := range e.Patient.Wards {
		size += shareBytes + len(w.Ward)
	}
	return keep(p, e.VisitID, func(v *poolVisit) *[]Scored { return &v.scored }, e, size)
}

// Decide adds an outcome as Score adds a note.
func (p *Pool) Decide(e Outcome) bool {
	if e.At.IsZero() {
		e.At = e.Seen
	}
	p.firstOutcome = earlier(p.firstOutcome, e.Seen)
	size := outcomeBytes + len(e.VisitID) + len(e.Ward)
	return keep(p, e.VisitID, func(v *poolVisit) *[]Outcome { return &v.outcomes }, e, size)
}

// keep adds an event at its place among those of a visit, unless it is there. It reports false if the visit is full.
func keep[E event](p *Pool, visit string, of func(*poolVisit) *[]E, e E, size int) bool {
	v := p.visit(visit, size)
	if len(*of(v)) == mostEvents {
		return false
	}
	events := of(v)
	i, found := slices.BinarySearchFunc(*events, e.order(), func(e E, o Order) int { return e.order().Compare(o) })
	if !found {
		*events = slices.Insert(*events, i, e)
		p.hold(v, size)
	}
	return true
}

// Len returns the number of visits.
func (p *Pool) Len() int { return len(p.visits) }

// Has reports whether the pool knows a visit.
func (p *Pool) Has(visit string) bool { return p.visits[visit] != nil }

// Erase removes all that is known of a visit.
func (p *Pool) Erase(visit string) {
	if v := p.visits[visit]; v != nil {
		p.hold(v, -v.held)
		delete(p.visits, visit)
	}
}

// visit returns a visit with room for an event of this size, a new one if need be.
func (p *Pool) visit(id string, size int) *poolVisit {
	for len(p.visits) > 0 && (p.held+size > mostBytes || p.visits[id] == nil && len(p.visits) == MostVisits) {
		p.makeRoom()
	}
	v := p.visits[id]
	if v == nil {
		v = &poolVisit{}
		p.visits[id] = v
		p.hold(v, visitBytes)
	}
	return v
}

func (p *Pool) hold(v *poolVisit, bytes int) {
	v.held += bytes
	p.held += bytes
}

// arrived returns when the patient arrived, by a note of the visit.
func (v *poolVisit) arrived(e *Scored) time.Time {
	if e.Patient.Arrived.IsZero() {
		return v.scored[0].Seen
	}
	return e.Patient.Arrived
}

// newest returns when the patient arrived at the latest, or when the newest outcome came without a note.
func (v *poolVisit) newest() (t time.Time) {
	if len(v.scored) == 0 {
		return v.outcomes[len(v.outcomes)-1].Seen
	}
	for i := range v.scored {
		t = later(t, v.arrived(&v.scored[i]))
	}
	return t
}

// Forget drops visits that arrived more than Memory before t, and outcomes as old without a note. No later Moment
// changes.
func (p *Pool) Forget(t time.Time) {
	oldest := t.Add(-Memory)
	for id, v := range p.visits {
		if v.newest().Before(oldest) {
			p.Erase(id)
		}
	}
}

// makeRoom drops the oldest tenth of the visits. Patients who wait are of the newest.
func (p *Pool) makeRoom() {
	type aged struct {
		id     string
		newest time.Time
	}
	all := make([]aged, 0, len(p.visits))
	for id, v := range p.visits {
		all = append(all, aged{id, v.newest()})
	}
	slices.SortFunc(all, func(a, b aged) int { return cmp.Or(a.newest.Compare(b.newest), cmp.Compare(a.id, b.id)) })
	for _, v := range all[:(len(all)+9)/10] {
		p.begins = later(p.begins, v.newest)
		p.Erase(v.id)
	}
}

// Begins returns the time up to which visits were dropped to make room; zero if none were.
func (p *Pool) Begins() time.Time { return p.begins }

// Redate moves what is said to have become known after t, by more than clocks differ, to t. The clock was set back, or
// another one is ahead: until t catches up, new patients would be missing and decided ones would wait again.
func (p *Pool) Redate(t time.Time) {
	redate := func(seen *time.Time) {
		if seen.After(t.Add(clockSkew)) {
			*seen = t
		}
	}
	for _, v := range p.visits {
		for i := range v.scored {
			redate(&v.scored[i].Seen)
		}
		for i := range v.outcomes {
			redate(&v.outcomes[i].Seen)
		}
	}
	redate(&p.firstNote)
	redate(&p.firstOutcome)
	redate(&p.begins)
}

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

// earlier returns the earlier of two times of which a may be zero for none.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || b.Before(a) {
		return b
	}
	return a
}

// Since returns from when on both notes and outcomes were known at t, within Memory and from Begins on. The KafkaTopics
// may reach back differently: outcomes before the first note do not show how many arrived, nor notes before the first
// outcome how many were admitted. Without a note it is t.
func (p *Pool) Since(t time.Time) time.Time {
	if p.firstNote.IsZero() || p.firstNote.After(t) {
		return t
	}
	since := later(later(p.firstNote, t.Add(-Memory)), p.begins)
	if since.After(t) {
		return t
	}
	if p.firstOutcome.After(t) {
		return since
	}
	return later(since, p.firstOutcome)
}

// How the pool treats time: notes may be this much ahead of the clock; outcomes are stale when none came for so long;
// and those who timed out are counted for a day.
const (
	clockSkew     = 5 * time.Minute
	staleAfter    = time.Hour
	timedOutShown = 24 * time.Hour
)

// known is what the pool knew of a visit at a time.
type known struct {
	id      string
	arrived time.Time
	scored  *Scored   // nil without a note
	outcome *Outcome  // nil while undecided
	told    time.Time // when the newest outcome became known, also one that withdraws others
}

// known returns what was known of a visit at t.
func (v *poolVisit) known(id string, t time.Time) known {
	k := known{id: id, scored: latest(v.scored, t)}
	if k.scored == nil {
		return k
	}
	k.arrived = v.arrived(k.scored)
	if k.outcome = latest(v.outcomes, t); k.outcome != nil {
		k.told = k.outcome.Seen
		if k.outcome.Status == Cancelled {
			k.outcome = nil
		}
	}
	return k
}

// ahead reports whether an undecided patient with a note had not arrived at t.
func (k *known) ahead(t time.Time) bool {
	return k.scored != nil && k.outcome == nil && k.arrived.After(t.Add(clockSkew))
}

// arrivedBy reports whether a patient with a note had arrived at t, within Memory.
func (k *known) arrivedBy(t time.Time) bool {
	return k.scored != nil && !k.arrived.After(t.Add(clockSkew)) && !k.arrived.Before(t.Add(-Memory))
}

// patient returns the patient of a visit, with the base rate of the complaint if the prediction abstained.
func (k *known) patient(fit *Fit) Patient {
	patient := k.scored.Patient
	patient.Arrived = k.arrived
	if k.scored.Abstained {
		if base, is := fit.BaseRate(patient.Complaint); is {
			patient.P = base
		}
		patient.Wards = nil
	}
	return patient
}

// Moment returns what was known at t. Patients wait who have arrived, have no outcome and waited no longer than the
// fit's patience, by the latest note of the visit. Those whose prediction abstained have the base rate of their
// complaint.
func (p *Pool) Moment(t time.Time, fit *Fit) *Moment {
	m := &Moment{At: t, Since: p.Since(t), OutcomesStale: true}
	patience := fit.Patience()
	all := p.known(t, m)
	m.Past = slices.Grow(m.Past, len(all))
	models := map[string]bool{}
	for i := range all {
		k := &all[i]
		patient := k.patient(fit)
		past := Visit{Arrived: patient.Arrived, P: patient.P, Complaint: patient.Complaint, Age: patient.Age}
		waited := t.Sub(patient.Arrived)
		switch {
		case k.outcome != nil:
			past.Decided, past.Admitted, past.Ward = k.outcome.At, k.outcome.Admitted, k.outcome.Ward
		case waited <= patience:
			m.Waiting = append(m.Waiting, patient)
			models[k.scored.Model] = true
			if k.scored.Abstained {
				m.Abstained++
			}
		case waited <= patience+timedOutShown:
			m.TimedOut++
		}
		m.Past = append(m.Past, past)
	}
	m.Models = slices.Sorted(maps.Keys(models))
	return m
}

// Waiter is a visit that waits for a decision, by its latest note.
type Waiter struct {
	VisitID string
	Patient Patient
	Scored  *Scored // not to be modified
}

// Waiting returns those of Moment(t, fit).Waiting with their visits, in no order, and the moment's Ahead.
func (p *Pool) Waiting(t time.Time, fit *Fit) (all []Waiter, ahead int) {
	for id, v := range p.visits {
		switch k := v.known(id, t); {
		case k.ahead(t):
			ahead++
		case k.arrivedBy(t) && k.outcome == nil && t.Sub(k.arrived) <= fit.Patience():
			all = append(all, Waiter{id, k.patient(fit), k.scored})
		}
	}
	return all, ahead
}

// Admitted returns the visits that were known at t to be admitted by a decision in (from, to], in no order, with what
// Observe counts by.
func (p *Pool) Admitted(t, from, to time.Time) []Visit {
	var all []Visit
	for id, v := range p.visits {
		k := v.known(id, t)
		if o := k.outcome; k.arrivedBy(t) && o != nil && o.Admitted && o.At.After(from) && !o.At.After(to) {
			all = append(all, Visit{Arrived: k.arrived, Decided: o.At, Admitted: true, Ward: o.Ward})
		}
	}
	return all
}

// Complaints calls each for every visit with a note, with the complaint of its latest one.
func (p *Pool) Complaints(each func(visit, complaint string)) {
	for id, v := range p.visits {
		if n := len(v.scored); n > 0 {
			each(id, v.scored[n-1].Patient.Complaint)
		}
	}
}

// Wards calls each for every visit with a note whose latest outcome is the admission to a ward, with that ward.
func (p *Pool) Wards(each func(visit, ward string)) {
	for id, v := range p.visits {
		if n := len(v.outcomes); len(v.scored) > 0 && n > 0 && v.outcomes[n-1].Admitted && v.outcomes[n-1].Ward != "" {
			each(id, v.outcomes[n-1].Ward)
		}
	}
}

// known returns the visits with a note at t, by arrival and then by name. It says in m how many come later, and whether
// an outcome came lately: those of visits without a note may be of another department.
func (p *Pool) known(t time.Time, m *Moment) []known {
	all := make([]known, 0, len(p.visits))
	for id, v := range p.visits {
		k := v.known(id, t)
		if k.scored != nil && k.told.After(t.Add(-staleAfter)) {
			m.OutcomesStale = false
		}
		if k.arrivedBy(t) {
			all = append(all, k)
		} else if k.ahead(t) {
			m.Ahead++
		}
	}
	slices.SortFunc(all, func(a, b known) int {
		return cmp.Or(a.arrived.Compare(b.arrived), cmp.Compare(a.id, b.id))
	})
	return all
}

func latest[E event](events []E, t time.Time) *E {
	for i := range slices.Backward(events) {
		if !events[i].order().Seen.After(t) {
			return &events[i]
		}
	}
	return nil
}

// NewScored returns the event of a prediction. Where the arrival is absent or not a time in RFC 3339, the time of the
// first note takes its place. Classes of a model of several outcomes are kept as wards; classes that are not wards do
// not count. It shares no memory with the message.
func NewScored(a *msg.Arrival, o Order) Scored {
	e := Scored{
		Order: o, VisitID: strings.Clone(a.VisitID), Abstained: a.Abstained,
		Model:   a.Model.Name + "@" + a.Model.Version,
		Patient: Patient{Arrived: instant(a.ArrivedAt), P: a.Admission, Complaint: Complaint(a.Complaint), Age: -1},
	}
	if a.Age.Set {
		e.Patient.Age = a.Age.Value
	}
	for _, c := range a.Classes {
		e.Patient.Wards = append(e.Patient.Wards, WardShare{strings.Clone(c.Class), c.Probability})
	}
	return e
}

const maxComplaint = 80 // how many bytes of a complaint are kept

// Complaint returns s in lower case with single spaces, at most maxComplaint bytes. It shares no memory with s.
func Complaint(s string) string {
	s = strings.ToLower(strings.Join(strings.Fields(s), " "))
	return strings.Clone(strings.ToValidUTF8(s[:min(len(s), maxComplaint)], ""))
}

const maxWard = 200 // how many bytes the name of a ward may have

// WardName returns a copy of the name of a ward, "" for one that cannot be: All, or one that is very long.
func WardName(s string) string {
	s = strings.TrimSpace(s)
	if s == All || len(s) > maxWard {
		return ""
	}
	return strings.Clone(s)
}

// NewOutcome returns the event of an outcome. Where the time of the decision is absent or not in RFC 3339, the
// time at which it became known takes its place. It shares no memory with the message.
func NewOutcome(m *msg.Outcome, o Order) Outcome {
	e := Outcome{Order: o, VisitID: strings.Clone(m.VisitID), At: instant(m.DecidedAt)}
	switch {
	case m.Status == msg.Cancelled:
		e.Status = Cancelled
	case m.Disposition == msg.Admitted:
		e.Admitted, e.Ward = true, WardName(m.Ward)
	}
	return e
}

// instant returns the time that s names in RFC 3339, or zero. The one that Go takes for none is moved by a nanosecond.
func instant(s string) time.Time {
	t, err := time.Parse(time.RFC3339, s)
	if err != nil {
		return time.Time{}
	}
	if t.IsZero() {
		t = t.Add(1)
	}
	return t.UTC()
}
