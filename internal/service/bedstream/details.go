package bedstream

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

// details are what the list of those who wait says of visits beyond what the pool knows of them.
type details struct {
	label  string             // the field of a note that tells patients apart, "" for none
	texts  bool               // the text of notes may be shown
	visits map[string]*detail // by the key of the pool
	people map[string]string  // the key of each visit's patient, where it is known
	order  []string           // the visits of people in the order in which they came; some may be gone
	held   int                // bytes of predictions and texts
	most   int                // of these
}

// detail is what is known of a visit. A note comes before its prediction.
type detail struct {
	row           uint64     // of its first prediction, 0 before that came
	scored, noted beds.Order // of the newest prediction and the newest note
	value         []byte     // the prediction, nil before it came and once there is no room for it
	note          *msg.Note
	labelled      msg.Value
	visit         *waitlist.Visit // by both, nil until it is asked for
}

const (
	// detailed is how long details are kept: nobody waits longer.
	detailed = beds.MostPatience + time.Hour
	// mostDetails bounds the predictions that are kept, of some kilobytes each, and the texts, in bytes. Beyond it the
	// oldest go, and their rows explain nothing.
	mostDetails = 32 << 20
)

func newDetails(c *Config) details {
	return details{
		label: c.Label, texts: c.ShowNotes, visits: map[string]*detail{}, people: map[string]string{},
		most: mostDetails,
	}
}

// of returns the details of a visit, new ones if need be.
func (ds *details) of(visit string) *detail {
	d := ds.visits[visit]
	if d == nil {
		if len(ds.visits) == beds.MostVisits {
			ds.makeRoom()
		}
		d = &detail{}
		ds.visits[visit] = d
	}
	return d
}

// size returns how many bytes of details.held a visit holds.
func (d *detail) size() int {
	if d.note == nil {
		return len(d.value)
	}
	return len(d.value) + len(d.note.Text)
}

// number returns the row of the visit whose first prediction is in a record: the same in every process that reads the
// record, and of no other one, also not of a KafkaTopic that takes the place of this one. It does not tell which.
func number(r *ingest.Record) uint64 {
	sum := sha256.Sum256(fmt.Appendf(nil, "%d %d %d", r.Partition, r.Offset, r.Time.UnixMilli()))
	return binary.BigEndian.Uint64(sum[:])
}

// predicted records a prediction of a visit, of which it keeps a copy. The visit has the row of the first one.
func (ds *details) predicted(visit string, o beds.Order, row uint64, value []byte) {
	d := ds.of(visit)
	if d.row == 0 {
		d.row = row
	}
	if o.Compare(d.scored) < 0 {
		return
	}
	ds.held += len(value) - len(d.value)
	d.scored, d.value, d.visit = o, slices.Clone(value), nil
	if ds.held > ds.most {
		ds.shrink()
	}
}

// noted records a note of a visit, nil if it was erased. It shares no memory with it.
func (ds *details) noted(visit string, o beds.Order, n *msg.Note) {
	d := ds.of(visit)
	if o.Compare(d.noted) < 0 {
		return
	}
	before := d.size()
	d.noted, d.note, d.labelled = o, nil, msg.Value{}
	if n == nil {
		delete(ds.people, visit)
	} else {
		d.note = &msg.Note{
			Site: waitlist.Name(n.Site), Sex: waitlist.Name(n.Sex), Age: n.Age, Acuity: n.Acuity, Vitals: n.Vitals,
		}
		if ds.texts {
			d.note.Text = strings.Clone(n.Text)
		}
		d.labelled = n.Fields.Value(ds.label)
		if text, is := d.labelled.Text(); is {
			d.labelled = msg.Text(waitlist.Name(text))
		}
	}
	if d.value != nil {
		d.visit = nil
	}
	if ds.held += d.size() - before; ds.held > ds.most {
		ds.shrink()
	}
}

// isOf records whose visit it is. If there are too many, the oldest tenth is forgotten.
func (ds *details) isOf(visit, patient string) {
	if ds.people[visit] == "" {
		if n := len(ds.order) / 10; len(ds.order) >= beds.MostVisits {
			for _, old := range ds.order[:n] {
				delete(ds.people, old)
			}
			ds.order = slices.Delete(ds.order, 0, n)
		}
		ds.order = append(ds.order, visit)
	}
	ds.people[visit] = patient
}

// person returns the key of a visit's patient, that of the visit if the patient is not known.
func (ds *details) person(visit string) string { return cmp.Or(ds.people[visit], visit) }

func (ds *details) erase(visit string) {
	if d := ds.visits[visit]; d != nil {
		ds.held -= d.size()
		delete(ds.visits, visit)
	}
	delete(ds.people, visit)
}

// forget drops what became known before a time.
func (ds *details) forget(before time.Time) {
	for visit, d := range ds.visits {
		if d.scored.Seen.Before(before) && d.noted.Seen.Before(before) {
			ds.held -= d.size()
			delete(ds.visits, visit)
		}
	}
}

// forgetPeople drops the patients of visits that neither the details nor the pool knows. Notes may be read before their
// predictions: until all of these are read, each of them is of a visit that may still be known.
func (ds *details) forgetPeople(pool *beds.Pool) {
	maps.DeleteFunc(ds.people, func(visit, _ string) bool { return ds.visits[visit] == nil && !pool.Has(visit) })
	ds.order = slices.DeleteFunc(ds.order, func(visit string) bool { return ds.people[visit] == "" })
}

// oldest returns the visits by what became known last of each.
func (ds *details) oldest() []string {
	newest := func(visit string) time.Time {
		d := ds.visits[visit]
		return slices.MaxFunc([]time.Time{d.scored.Seen, d.noted.Seen}, time.Time.Compare)
	}
	return slices.SortedFunc(maps.Keys(ds.visits), func(a, b string) int { return newest(a).Compare(newest(b)) })
}

// makeRoom drops the oldest tenth of the visits.
func (ds *details) makeRoom() {
	for _, visit := range ds.oldest()[:len(ds.visits)/10] {
		ds.held -= ds.visits[visit].size()
		delete(ds.visits, visit)
	}
}

// shrink drops the oldest predictions and texts until a quarter of the room is free.
func (ds *details) shrink() {
	for _, visit := range ds.oldest() {
		if ds.held <= ds.most/4*3 {
			return
		}
		d := ds.visits[visit]
		ds.held -= d.size()
		d.shrink()
	}
}

// shrink drops the prediction and the text. What else they say of the visit stays.
func (d *detail) shrink() {
	if d.note != nil && d.note.Text != "" {
		without := *d.note
		without.Text, d.note = "", &without
	}
	if d.value == nil && d.visit == nil {
		return // the prediction is still to come
	}
	without := *d.show()
	without.Prediction, without.Note = nil, d.note
	d.visit, d.value = &without, nil
}

// show returns the visit as its newest prediction and note say, which must have come.
func (d *detail) show() *waitlist.Visit {
	if d.visit == nil {
		var p msg.Prediction
		_ = json.Unmarshal(d.value, &p) // what has another form, as other programs may explain, is left out
		d.visit = waitlist.NewVisit(&p, d.note, d.labelled)
		d.visit.Row, d.visit.Prediction = d.row, d.value
	}
	return d.visit
}
