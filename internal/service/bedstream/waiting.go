package bedstream

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

var _ httpapi.Waiting = (*Demand)(nil)

const (
	listPatience = 3 * time.Second        // how long a request waits, after a start, until the list is whole
	listedFor    = 500 * time.Millisecond // that a list is the answer: it is made once for all callers
	namedFor     = 15 * time.Second       // the same of the values that filters name
)

// listing keeps the latest list.
type listing struct {
	mu         sync.Mutex
	list       *waitlist.List
	made       time.Time
	named      time.Time
	complaints map[string]bool // those of enough patients, by the names of the pool
	sites      map[string]bool
	wards      map[string]bool
}

// FollowNotes reads notes until ctx ends, with the errors of ingest.Client.Follow: what they say of those who wait, and
// whose visits they are.
func (d *Demand) FollowNotes(ctx context.Context) error {
	var n msg.Note
	return d.follow(ctx, &d.notes, d.Notes, func(r *ingest.Record) string { return d.note(r, &n) })
}

// note records a note, decoded into n. One that cannot be decoded is a dead letter, and is not counted here.
func (d *Demand) note(r *ingest.Record, n *msg.Note) (why string) {
	if r.Time.UnixMilli() <= 0 {
		return noTime
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(r.Value) == 0 {
		d.details.noted(visit(string(r.Key)), order(r), nil)
		return ""
	}
	if msg.DecodeNote(r.Value, n) != nil {
		return ""
	}
	key := visit(n.VisitID)
	if n.PatientID != "" {
		d.details.isOf(key, visit(n.PatientID))
	}
	if d.Now().Sub(r.Time) < detailed {
		d.details.noted(key, order(r), n)
		d.ahead(key)
	}
	return ""
}

// ahead decodes what is new of a visit, or the next list would decode all that came at once. What is read after a start
// may have an outcome, and waits. The caller holds mu.
func (d *Demand) ahead(visit string) {
	if detail := d.details.visits[visit]; detail != nil && detail.value != nil && d.predictions.read() {
		detail.show()
	}
}

// Waiting implements httpapi.Waiting. The list is at most half a second old.
func (d *Demand) Waiting(ctx context.Context) (*waitlist.List, error) {
	if err := d.begun(); err != nil {
		return nil, err
	}
	waiting, cancel := context.WithTimeoutCause(ctx, listPatience, httpapi.ErrNotWhole)
	defer cancel()
	if d.known(waiting) != nil {
		return nil, context.Cause(waiting)
	}
	l := &d.listing
	l.mu.Lock()
	defer l.mu.Unlock()
	if ctx.Err() != nil {
		return nil, fmt.Errorf("listing who waits: %w", ctx.Err()) // the caller is gone
	}
	if now := d.Now(); l.list == nil || now.Sub(l.made) >= listedFor || now.Before(l.made) {
		l.list, l.made = d.waitlist(d.moment()), now
	}
	return l.list, nil
}

// waitlist returns who waits at a time. The caller holds the lock of the listing.
func (d *Demand) waitlist(at time.Time) *waitlist.List {
	d.mu.Lock()
	defer d.mu.Unlock()
	f := d.fits.at(at, d.pool)
	waiting, ahead := d.pool.Waiting(at, f.Fit())
	patients := make([]*waitlist.Patient, len(waiting))
	for i := range waiting {
		w := &waiting[i]
		p := &waitlist.Patient{Arrived: w.Patient.Arrived, Ward: f.LikeliestWard(&w.Patient)}
		if detail := d.details.visits[w.VisitID]; detail != nil && (detail.value != nil || detail.visit != nil) {
			p.Visit = detail.show()
		} else { // the pool alone knows it
			p.Visit = waitlist.NewVisit(&msg.Prediction{
				Complaint: w.Patient.Complaint, Probability: w.Patient.P, Abstained: w.Scored.Abstained,
			}, nil, msg.Value{})
		}
		patients[i] = p
	}
	list := waitlist.New(at, patients)
	list.Patience, list.Names, list.Ahead = f.Fit().Patience(), d.names(patients, f), ahead
	return list
}

// names returns the values of those who wait that filters may name: those of enough patients, whether they wait or not.
// The caller holds both locks.
func (d *Demand) names(patients []*waitlist.Patient, f *fitted) waitlist.Names {
	l := &d.listing
	if now := d.Now(); now.Sub(l.named) >= namedFor || now.Before(l.named) {
		complaints, sites := intake.Tally{}, intake.Tally{}
		d.pool.Complaints(func(visit, complaint string) { complaints.Add(complaint, d.details.person(visit)) })
		for visit, detail := range d.details.visits {
			if detail.note != nil {
				sites.Add(detail.note.Site, d.details.person(visit))
			}
		}
		l.complaints, l.sites, l.wards, l.named = complaints.Many(), sites.Many(), d.wards(), now
	}
	return waitlist.Names{
		Sites: named(patients, func(p *waitlist.Patient) string { return p.Site },
			func(site string) bool { return l.sites[site] }),
		Complaints: named(patients, func(p *waitlist.Patient) string { return p.Complaint },
			func(complaint string) bool { return l.complaints[beds.Complaint(complaint)] }),
		Wards: named(patients, func(p *waitlist.Patient) string { return p.Ward },
			func(ward string) bool {
				return l.wards[ward] || f == d.fits.stored && f.Fit().Wards.Count(ward) >= intake.LeastNamed
			}),
	}
}

// wards returns the wards that may be named: those of enough patients, and those of the configuration.
func (d *Demand) wards() map[string]bool {
	wards := intake.Tally{}
	d.pool.Wards(func(visit, ward string) { wards.Add(ward, d.details.person(visit)) })
	named := wards.Many()
	for ward := range d.Beds {
		named[ward] = true
	}
	return named
}

// named returns the values of patients that may be named, sorted.
func named(patients []*waitlist.Patient, of func(*waitlist.Patient) string, may func(string) bool) []string {
	all := map[string]bool{}
	for _, p := range patients {
		if value := of(p); value != "" {
			if _, seen := all[value]; !seen {
				all[value] = may(value)
			}
		}
	}
	maps.DeleteFunc(all, func(_ string, named bool) bool { return !named })
	return slices.Sorted(maps.Keys(all))
}
