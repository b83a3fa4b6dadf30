// Package waitlist is who waits for a decision, as people and programs ask for it: one Patient for each visit,
// filtered, searched, sorted and counted. Package bedstream makes the List, from the pool that it forecasts beds from.
// No I/O.
package waitlist

import (
	"cmp"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/wording"
)

// Visit is what the newest note and prediction say of a visit. It never changes: a corrected note makes another one.
type Visit struct {
	Row                        uint64 // number of the visit, in place of ID in addresses; 0 for none
	ID, Site, Complaint, Sex   string
	Age, Acuity                msg.Optional // the note's own, as it came
	Probability, Threshold     float64
	Decision                   msg.Decision
	Abstained                  bool
	Label                      string    // tells patients apart; "" for none
	Prediction                 []byte    // the message; nil if it is not kept
	Note                       *msg.Note // nil if it is not known; without text unless that may be shown
	search, complaint, patient string    // in lower case: words, complaint and label, as search.go reads them
}

// How many letters are kept of a label, and of a name: a complaint, a department, a sex.
const (
	mostLabel = 24
	mostName  = 120
)

// Name returns a copy of a name as lists show it: its first 120 letters.
func Name(s string) string { return strings.Clone(first(mostName, s)) }

func first(letters int, s string) string {
	for i := range s {
		if letters--; letters < 0 {
			return s[:i]
		}
	}
	return s
}

// NewVisit returns a visit by its newest prediction and note, which may be nil. The label is a field of the note. The
// caller sets Row and Prediction.
func NewVisit(p *msg.Prediction, note *msg.Note, label msg.Value) *Visit {
	v := &Visit{
		ID: p.VisitID, Complaint: Name(p.Complaint), Probability: p.Admission(), Threshold: p.Threshold,
		Decision: p.Decision, Abstained: p.Abstained, Label: written(label), Note: note,
	}
	if note == nil {
		note = p.Note()
	}
	v.Site, v.Sex, v.Age, v.Acuity = Name(note.Site), Name(note.Sex), note.Age, note.Acuity
	v.index(p)
	return v
}

// written returns a value as text, "" for none.
func written(v msg.Value) string {
	text, is := v.Text()
	if n, number := v.Number(); number {
		text = wording.Short(n, 2)
	} else if !is {
		return ""
	}
	return first(mostLabel, text)
}

// Close reports whether the probability is near the threshold.
func (v *Visit) Close() bool { return !v.Abstained && math.Abs(v.Probability-v.Threshold) <= CloseCall }

// CloseCall is how near to its threshold a probability is a close call: .1, whatever is lost in the difference.
const CloseCall = 0.1 + 1e-12

// Admits reports whether the decision is to admit.
func (v *Visit) Admits() bool { return !v.Abstained && v.Decision == msg.Admit }

// Patient is a visit that waits.
type Patient struct {
	*Visit
	Arrived time.Time
	Ward    string // the likeliest, "" if none is known
}

// Names are values that lists of filters may name, sorted: those of enough patients.
type Names struct{ Sites, Complaints, Wards []string }

// List is who waited at a moment. It is safe for concurrent use.
type List struct {
	AsOf     time.Time
	Patience time.Duration // after which a patient without an outcome is believed to have left
	Names    Names
	Ahead    int // patients who are not in the list, since their notes say that they arrive later

	patients []*Patient
	orders   [len(sorts)]struct {
		once sync.Once
		list []*Patient
	}
}

// New returns the list of these patients, which it keeps.
func New(asOf time.Time, patients []*Patient) *List { return &List{AsOf: asOf, patients: patients} }

// Len returns how many wait.
func (l *List) Len() int { return len(l.patients) }

// Row returns the patient of a row, or nil. Who has none, as those whom the pool alone knows, is not found.
func (l *List) Row(row uint64) *Patient {
	if row == 0 {
		return nil
	}
	i := slices.IndexFunc(l.patients, func(p *Patient) bool { return p.Row == row })
	if i < 0 {
		return nil
	}
	return l.patients[i]
}

// Sort is an order of patients.
type Sort string

// The orders: the most probable admission first, and who is not predicted at the threshold; the longest waiting first;
// the most urgent first, and who has no acuity last. Those who are equal stand by their arrival.
const (
	ByProbability Sort = "probability"
	ByWaited      Sort = "waited"
	ByAcuity      Sort = "acuity"
)

var sorts = [...]Sort{ByProbability, ByWaited, ByAcuity}

// Sorts returns the orders, the usual one first.
func Sorts() []string { return []string{string(ByProbability), string(ByWaited), string(ByAcuity)} }

// sorted returns all patients in an order, which is made once.
func (l *List) sorted(s Sort) []*Patient {
	i := max(0, slices.Index(sorts[:], s))
	o := &l.orders[i]
	o.once.Do(func() {
		o.list = slices.SortedFunc(slices.Values(l.patients), func(a, b *Patient) int {
			return cmp.Or(cmp.Compare(a.rank(sorts[i]), b.rank(sorts[i])), a.Arrived.Compare(b.Arrived),
				cmp.Compare(a.ID, b.ID))
		})
	})
	return o.list
}

// rank is what an order goes by, besides the arrival. Who is not predicted stands just below the threshold.
func (v *Visit) rank(s Sort) float64 {
	switch {
	case s == ByWaited:
		return 0
	case s == ByAcuity && v.Acuity.Set:
		return v.Acuity.Value
	case s == ByAcuity:
		return math.Inf(1)
	case v.Abstained:
		return -math.Nextafter(v.Threshold, 0)
	}
	return -v.Probability
}

// Decisions that a Query asks for.
const (
	Admit     = string(msg.Admit)
	Discharge = string(msg.Discharge)
	None      = "none" // not predicted
)

// Query says who is asked for. The zero value asks for all.
type Query struct {
	Site, Complaint, Ward string // "" for all
	Decision              string // Admit, Discharge or None
	Close                 bool   // close calls alone
	Words                 string // all of which match: see Search
	Labels                bool   // labels may be seen, and searched
	Sort                  Sort
	Limit, Offset         int
}

// Counts are numbers of patients.
type Counts struct {
	Total, Admit, Close, None int
	First                     time.Time // earliest arrival, zero without any
}

func (c *Counts) add(p *Patient) {
	c.Total++
	switch {
	case p.Abstained:
		c.None++
	case p.Admits():
		c.Admit++
	}
	if p.Close() {
		c.Close++
	}
	if c.First.IsZero() || p.Arrived.Before(c.First) {
		c.First = p.Arrived
	}
}

// Found are the patients that a Query asks for.
type Found struct {
	Counts              // of all that match
	Every    Counts     // of all that match but for the decision and close calls
	Patients []*Patient // from Offset on, at most Limit
}

// Find returns those who match a query, in its order.
func (l *List) Find(q *Query) *Found {
	f, words := &Found{}, readWords(q.Words)
	site, complaint := fold(Name(q.Site)), fold(Name(q.Complaint))
	for _, p := range l.sorted(q.Sort) {
		if site != "" && fold(p.Site) != site || complaint != "" && p.complaint != complaint ||
			q.Ward != "" && p.Ward != q.Ward || !p.matches(words, q.Labels) {
			continue
		}
		f.Every.add(p)
		if q.Close && !p.Close() || q.Decision == Admit && !p.Admits() || q.Decision == None && !p.Abstained ||
			q.Decision == Discharge && (p.Abstained || p.Admits()) {
			continue
		}
		if f.add(p); f.Total > q.Offset && len(f.Patients) < q.Limit {
			f.Patients = append(f.Patients, p)
		}
	}
	return f
}
