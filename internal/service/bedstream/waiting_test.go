package bedstream_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

// renamed is how long a list may name what was common then.
const renamed = 16 * time.Second

// triaged is the triage note of visit i.
func (s *site) triaged(i int, change ...func(*msg.Note)) *kgo.Record {
	n := msg.Note{
		SchemaVersion: "1", VisitID: fmt.Sprint(secret, i), PatientID: fmt.Sprint(secret, "patient", i), Site: "A",
		Text: "hip pain " + secret, Age: msg.Some(float64(20 + i)), Sex: "F", Acuity: msg.Some(float64(1 + i%5)),
	}
	n.Fields.Set("location", msg.Text(fmt.Sprint("B", i)))
	for _, f := range change {
		f(&n)
	}
	return &kgo.Record{Topic: triageNotes, Key: []byte(n.VisitID), Value: n.AppendJSON(nil), Timestamp: s.now()}
}

// list returns who waits, by visit.
func (r *running) list() (*waitlist.List, map[string]*waitlist.Patient) {
	r.s.Helper()
	l, err := r.Waiting(r.s.Context())
	if err != nil {
		r.s.Fatal(err)
	}
	all := map[string]*waitlist.Patient{}
	found := l.Find(&waitlist.Query{Limit: 1000})
	for _, p := range found.Patients {
		all[p.ID] = p
	}
	if len(all) != found.Total || l.Len() != found.Total {
		r.s.Errorf("%d visits of %d patients are listed", len(all), found.Total)
	}
	return l, all
}

// until waits until the list is as it should be, and as many wait as beds are forecast for.
func (r *running) until(what string, f func(map[string]*waitlist.Patient) bool) {
	r.s.Helper()
	ingesttest.Await(r.s, what, func() bool {
		_, all := r.list()
		return f(all) && len(all) == r.all(httpapi.DemandQuery{}).Waiting.Patients
	})
}

// TestWaiting: notes, corrections, outcomes and withdrawn ones, before and after a restart, whose rows are others.
func TestWaiting(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fit(60, time.Now())
	s.config.Label = "location"
	r := s.start()
	for i := range 12 {
		s.send(s.triaged(i), s.note(i, float64(i)/12, time.Hour))
	}
	r.until("twelve", func(all map[string]*waitlist.Patient) bool { return len(all) == 12 && all[secret+"11"].Age.Set })
	s.advance(renamed)
	list, all := r.list()
	p := all[secret+"11"]
	if p.Age != msg.Some(31) || p.Sex != "F" || p.Site != "A" || p.Acuity != msg.Some(2) || p.Label != "B11" ||
		p.Complaint != "Fall" || p.Probability != 11./12 || p.Threshold != .5 || p.Ward == "" || p.Note.Text != "" ||
		p.Prediction == nil || time.Since(p.Arrived) < time.Hour || list.Patience < 24*time.Hour {
		t.Errorf("%+v, %+v", p, p.Visit)
	}
	if d := cmp.Diff(waitlist.Names{
		Sites: []string{"A"}, Complaints: []string{"Fall"}, Wards: list.Names.Wards,
	}, list.Names); d != "" || len(list.Names.Wards) == 0 {
		t.Errorf("%d patients have it, so it is named (-want +got):\n%s", len(all), d)
	}
	s.send(s.triaged(1, func(n *msg.Note) { n.Age = msg.Some(99) }),
		s.note(1, .9, time.Hour, func(p *msg.Prediction) { p.Complaint = "Rare" }),
		s.outcome(2, msg.Admitted), s.outcome(3, msg.Left))
	r.until("a correction and two outcomes", func(all map[string]*waitlist.Patient) bool {
		c := all[secret+"1"]
		return len(all) == 10 && c != nil && c.Age == msg.Some(99) && c.Complaint == "Rare"
	})
	s.advance(renamed)
	if list, _ := r.list(); slices.Contains(list.Names.Complaints, "Rare") ||
		!slices.Contains(list.Names.Complaints, "Fall") {
		t.Errorf("of one complaint of a patient and one of ten are named %q", list.Names.Complaints)
	}
	s.send(s.outcome(2, msg.Admitted, func(o *msg.Outcome) { o.Status = msg.Cancelled }))
	back := func(all map[string]*waitlist.Patient) bool { return len(all) == 11 && all[secret+"2"].Label == "B2" }
	r.until("one who is back", back)
	_, before := r.list()
	r.stop()
	r = s.start()
	r.until("all after a restart", back)
	_, after := r.list()
	rows := map[uint64]bool{}
	for id, p := range after {
		if b := before[id]; b == nil || p.Probability != b.Probability || p.Age != b.Age || p.Label != b.Label ||
			!p.Arrived.Equal(b.Arrived) {
			t.Errorf("after a restart %+v, before %+v", p, before[id])
		}
		if b := before[id]; b != nil && (p.Row != b.Row || rows[p.Row]) {
			t.Errorf("row %d was row %d before the restart, or is another's", p.Row, b.Row)
		}
		rows[p.Row] = true
	}
	// Erased: the note, and then all that is known.
	s.send(&kgo.Record{Topic: triageNotes, Key: fmt.Append(nil, secret, 5)})
	r.until("an erased note", func(all map[string]*waitlist.Patient) bool { return all[secret+"5"].Label == "" })
	s.send(&kgo.Record{Topic: predictions, Key: fmt.Append(nil, secret, 5)})
	r.until("an erased visit", func(all map[string]*waitlist.Patient) bool { return len(all) == 10 })
	s.advance(100 * time.Hour)
	r.until("nobody after four days", func(all map[string]*waitlist.Patient) bool { return len(all) == 0 })
}

// TestClockWasAhead: whoever came before is listed once a clock that was months ahead is right, whether it was so at
// the start or became so later, when all looked too old to be remembered.
func TestClockWasAhead(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.FitEvery(50 * time.Millisecond)
	s.config.Label = "location"
	for i := range 2 {
		s.send(s.triaged(i), s.note(i, .8, time.Hour))
	}
	s.send(s.note(2, .8, time.Hour), s.outcome(2, msg.Left))
	const months = 100 * 24 * time.Hour
	s.advance(months)
	r := s.start()
	back := func() {
		s.Helper()
		s.advance(-months)
		r.until("those who wait", func(all map[string]*waitlist.Patient) bool {
			return len(all) == 2 && all[secret+"1"].Label == "B1"
		})
	}
	r.waits(0)
	back()
	s.advance(months)
	ingesttest.Await(t, "nobody to be remembered", func() bool {
		return ingesttest.Metric(t, s.registry, "wardcast_beds_visits") == 0
	})
	back()
}

// TestStatesOfADay: in each of 200 states of a simulated day (25 without WARDCAST_LONG), with corrections, late and
// withdrawn outcomes, restarts and a broker away, the list has exactly those who wait, by their newest note, and as
// many as beds are forecast for.
func TestStatesOfADay(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fit(60, time.Now())
	r := s.start()
	random := rand.New(rand.NewPCG(13, 34))
	waits, ages := map[int]bool{}, map[int]float64{}
	var all, gone []int
	some := func() int { return all[random.IntN(len(all))] }
	agree := func(state int) {
		t.Helper()
		r.until(fmt.Sprint("state ", state), func(list map[string]*waitlist.Patient) bool {
			s.advance(time.Second) // for so long the list and the forecast stay what they were
			if len(list) != len(waits) {
				return false
			}
			for i := range waits {
				if p := list[fmt.Sprint(secret, i)]; p == nil || p.Age != msg.Some(ages[i]) {
					return false
				}
			}
			return true
		})
	}
	states := 25
	if os.Getenv("WARDCAST_LONG") != "" {
		states = 200
	}
	for state := range states {
		noted := func(i int) {
			ages[i] = float64(random.IntN(90))
			aged := func(n *msg.Note) { n.Age = msg.Some(ages[i]) }
			s.send(s.triaged(i, aged), s.note(i, random.Float64(), time.Hour))
		}
		for range random.IntN(4) {
			i := len(all)
			all, waits[i] = append(all, i), true
			noted(i)
		}
		for range min(len(all), random.IntN(3)) {
			noted(some()) // corrected, some of them after their outcome
		}
		for range min(len(all), random.IntN(4)) {
			i := some()
			late := func(o *msg.Outcome) {
				o.DecidedAt = s.now().Add(-time.Duration(random.IntN(300)) * time.Minute).UTC().Format(time.RFC3339)
			}
			s.send(s.outcome(i, []msg.Disposition{msg.Admitted, msg.Discharged, msg.Left}[random.IntN(3)], late))
			delete(waits, i)
			gone = append(gone, i)
		}
		if len(gone) > 0 && state%7 == 0 {
			i := gone[random.IntN(len(gone))]
			s.send(s.outcome(i, msg.Admitted, func(o *msg.Outcome) { o.Status = msg.Cancelled }))
			waits[i] = true
		}
		switch {
		case state%50 == 11:
			r.stop()
			r = s.start()
		case state%100 == 17:
			s.broker.Close()
			if list, err := r.Waiting(t.Context()); err == nil &&
				list.Len() != r.all(httpapi.DemandQuery{}).Waiting.Patients {
				t.Errorf("state %d: without a broker %d wait, beds are forecast for others", state, list.Len())
			}
			s.open()
		}
		agree(state)
	}
}

// TestNamesCountPatients: ten visits of one patient do not make a complaint or a site common.
func TestNamesCountPatients(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.ShowNotes = true
	r := s.start()
	for i := range 12 {
		one := func(n *msg.Note) { n.PatientID, n.Site = secret, "B" }
		s.send(s.triaged(i, one), s.note(i, .4, time.Hour))
	}
	all := func(all map[string]*waitlist.Patient) bool { return len(all) == 12 && all[secret+"11"].Note != nil }
	r.until("twelve visits", all)
	s.advance(renamed)
	list, visits := r.list()
	if n := list.Names; len(n.Sites)+len(n.Complaints)+len(n.Wards) != 0 {
		t.Errorf("of one patient are named %+v", n)
	}
	if text := visits[secret+"3"].Note.Text; !strings.HasPrefix(text, "hip pain") || visits[secret+"3"].Label != "" {
		t.Errorf("the note that may be shown is %q", text)
	}
}

// TestNotWhole: until all is read there is no list, and no part of one.
func TestNotWhole(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.send(s.note(1, .4, time.Hour))
	s.broker.Close()
	r := s.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := r.Waiting(ctx); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("who leaves gets %v", err)
	}
	if _, err := r.Waiting(t.Context()); !errors.Is(err, httpapi.ErrNotWhole) {
		t.Errorf("without a broker: %v", err)
	}
	s.open()
	ingesttest.Await(t, "the list", func() bool {
		l, err := r.Waiting(t.Context())
		return err == nil && l.Len() == 1
	})
}
