package waitlist_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/waitlist"
)

var now = time.Date(2026, 11, 20, 16, 27, 4, 0, time.UTC)

// patient is one who arrived so many minutes ago.
func patient(row uint64, minutes int, p float64, change ...func(*msg.Prediction, *msg.Note)) *waitlist.Patient {
	prediction := &msg.Prediction{
		VisitID: fmt.Sprint("v", row), Complaint: "Chest  Pain", Probability: p, Threshold: .5, Decision: msg.Discharge,
		Evidence: []msg.Evidence{
			{Start: 1, End: 3, Text: "inc SOB", Terms: []string{"dyspnea"}, Contribution: 1},
			{Start: 4, End: 5, Text: "", Terms: []string{"hidden"}, Contribution: .1},
			{Contribution: .2},
		},
	}
	if p >= .5 {
		prediction.Decision = msg.Admit
	}
	note := &msg.Note{Site: "North", Sex: "F", Age: msg.Some(84.5), Acuity: msg.Some(3)}
	for _, f := range change {
		f(prediction, note)
	}
	v := waitlist.NewVisit(prediction, note, note.Fields.Value("location"))
	v.Row = row
	return &waitlist.Patient{Visit: v, Arrived: now.Add(-time.Duration(minutes) * time.Minute), Ward: "MED"}
}

func abstains(p *msg.Prediction, _ *msg.Note) { p.Abstained = true }

func acuity(level float64) func(*msg.Prediction, *msg.Note) {
	return func(_ *msg.Prediction, n *msg.Note) { n.Acuity = msg.Optional{Value: level, Set: level > 0} }
}

func rows(f *waitlist.Found) string {
	var all []string
	for _, p := range f.Patients {
		all = append(all, fmt.Sprint(p.Row))
	}
	return strings.Join(all, " ")
}

// TestSorts: who is not predicted stands at the threshold, behind those of that probability; who has no acuity is last;
// those who are equal stand by their arrival.
func TestSorts(t *testing.T) {
	t.Parallel()
	l := waitlist.New(now, []*waitlist.Patient{
		patient(1, 10, .2, acuity(0)), patient(2, 20, .9, acuity(2)), patient(3, 30, .9, abstains, acuity(5)),
		patient(4, 40, .5, acuity(2)), patient(5, 50, .49, acuity(1)), patient(6, 50, .9, acuity(0)),
	})
	for sort, want := range map[waitlist.Sort]string{
		"": "6 2 4 3 5 1", waitlist.ByProbability: "6 2 4 3 5 1", waitlist.ByWaited: "5 6 4 3 2 1",
		waitlist.ByAcuity: "5 4 2 3 6 1",
	} {
		if got := rows(l.Find(&waitlist.Query{Sort: sort, Limit: 9})); got != want {
			t.Errorf("%q: %s, want %s", sort, got, want)
		}
		if got := rows(l.Find(&waitlist.Query{
			Sort: sort, Limit: 2,
			Offset: 3,
		})); got != strings.Join(strings.Fields(want)[3:5], " ") {
			t.Errorf("%q: the fourth and fifth are %s", sort, got)
		}
	}
	if l.Row(4).ID != "v4" || l.Row(9) != nil || l.Len() != 6 {
		t.Error("rows are not found by their numbers")
	}
}

// TestCounts: of all that match, whatever the limit, and of those that match but for the decision and close calls.
func TestCounts(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(3, 4))
	var all []*waitlist.Patient
	for i := range 300 {
		p := patient(uint64(i), r.IntN(900), float64(r.IntN(101))/100)
		p.Abstained, p.Site, p.Ward = r.IntN(20) == 0, []string{"North", "South"}[i%2], []string{"MED", "SURG"}[i/2%2]
		all = append(all, p)
	}
	l := waitlist.New(now, all)
	for _, q := range []waitlist.Query{
		{},
		{Site: "north"},
		{Ward: "SURG"},
		{Ward: "surg"},
		{Complaint: "chest pain"},
		{Complaint: "chest"},
		{Decision: waitlist.Admit, Site: "South"},
		{Decision: waitlist.Discharge},
		{Decision: waitlist.None},
		{Close: true},
		{Decision: waitlist.Admit, Close: true, Ward: "MED"},
		{Decision: waitlist.None, Close: true},
		{Words: "dyspnea"},
	} {
		var want, every waitlist.Counts
		for _, p := range all {
			if q.Site != "" && !strings.EqualFold(q.Site, p.Site) || q.Ward != "" && q.Ward != p.Ward ||
				q.Complaint == "chest" {
				continue
			}
			near := !p.Abstained && p.Probability > .395 && p.Probability < .605
			admit := !p.Abstained && p.Probability >= .5
			count := func(c *waitlist.Counts) {
				c.Total++
				for to, is := range map[*int]bool{&c.Admit: admit, &c.Close: near, &c.None: p.Abstained} {
					if is {
						*to++
					}
				}
				if c.First.IsZero() || p.Arrived.Before(c.First) {
					c.First = p.Arrived
				}
			}
			count(&every)
			decision := map[string]bool{
				"": true, waitlist.Admit: admit, waitlist.None: p.Abstained,
				waitlist.Discharge: !admit && !p.Abstained,
			}
			if decision[q.Decision] && (near || !q.Close) {
				count(&want)
			}
		}
		q.Limit = 7
		f := l.Find(&q)
		if f.Counts != want || f.Every != every || len(f.Patients) != min(7, want.Total) {
			t.Errorf("%+v: %+v of %+v and %d rows, want %+v of %+v", q, f.Counts, f.Every, len(f.Patients), want, every)
		}
	}
}

func TestSearch(t *testing.T) {
	t.Parallel()
	p := patient(7, 10, .8, func(_ *msg.Prediction, n *msg.Note) { n.Fields.Set("location", msg.Text("Bay 12")) })
	child := patient(8, 10, .8, func(p *msg.Prediction, n *msg.Note) {
		n.Age, n.Sex, p.Complaint = msg.Some(.58), "Male", "Fever"
		n.Fields.Set("location", msg.Number(12))
	})
	l := waitlist.New(now, []*waitlist.Patient{p, child})
	for words, want := range map[string]string{
		"": "7 8", "84 F": "7", "84f": "7", "f 84": "7", "84yo": "7", "84 M": "", "85": "", "m": "8", "boy": "8",
		"7 mo": "8",
		"7mo":  "8", "7 months, male": "8", "chest": "7", "CHEST pain": "7", "pain chest": "7",
		"hest": "", "sob": "7 8",
		"dyspnea fever": "8", "hidden": "", "v7": "", "bay": "7", "12": "7 8", "bay 12": "7", "7": "", "mo": "",
		",": "7 8",
	} {
		f := l.Find(&waitlist.Query{Words: words, Labels: true, Limit: 9, Sort: waitlist.ByWaited})
		if got := rows(f); got != want {
			t.Errorf("%q finds %q, want %q", words, got, want)
		}
	}
	if got := rows(l.Find(&waitlist.Query{Words: "bay", Limit: 9})); got != "" {
		t.Errorf("a label that may not be seen is found: %s", got)
	}
}

// TestWithoutNote: what the model read of the note stands for it; labels are short.
func TestWithoutNote(t *testing.T) {
	t.Parallel()
	p := &msg.Prediction{Aux: []msg.Aux{
		{Name: "age", Value: msg.Number(30)},
		{Name: "sex", Value: msg.Text("M")},
		{Name: "site", Value: msg.Text("A")},
		{Name: "pain", Value: msg.Number(3)},
	}}
	v := waitlist.NewVisit(p, nil, msg.Text(strings.Repeat("é", 99)))
	if v.Age != msg.Some(30) || v.Sex != "M" || v.Site != "A" || v.Note != nil || len([]rune(v.Label)) != 24 {
		t.Errorf("%+v", v)
	}
	if v := waitlist.NewVisit(p, nil, msg.Value{}); v.Label != "" {
		t.Errorf("a label without a value: %q", v.Label)
	}
}

// TestLongNames: of a very long complaint or department a visit keeps the beginning, by which it is found.
func TestLongNames(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("é", 4000)
	p := patient(1, 1, .5, func(p *msg.Prediction, n *msg.Note) { p.Complaint, n.Site = long, long })
	if len(p.Complaint) != 240 || len(p.Site) != 240 {
		t.Errorf("a complaint of %d bytes, a department of %d", len(p.Complaint), len(p.Site))
	}
	l := waitlist.New(now, []*waitlist.Patient{p})
	if found := l.Find(&waitlist.Query{Complaint: long, Site: long, Limit: 1}); found.Total != 1 {
		t.Error("it is not found by its name")
	}
}

// FuzzSearch: no words that are searched do harm, and each finds what it is of.
func FuzzSearch(f *testing.F) {
	for _, words := range []string{"84 M", "7 mo mo", "chest pain", "İ", "\xff", "-", "9999999999999999999m"} {
		f.Add(words)
	}
	f.Fuzz(func(t *testing.T, words string) {
		complaint := func(p *msg.Prediction, n *msg.Note) {
			p.Complaint = words
			n.Fields.Set("location", msg.Text(words))
		}
		l := waitlist.New(now, []*waitlist.Patient{patient(1, 1, .5, complaint), patient(2, 1, .5)})
		found := l.Find(&waitlist.Query{Words: words, Limit: 9})
		if found.Total > 2 || !slices.IsSortedFunc(found.Patients, func(a,
			b *waitlist.Patient,
		) int {
			return int(a.Row) - int(b.Row)
		}) {
			t.Errorf("%q finds %s", words, rows(found))
		}
		if named := l.Find(&waitlist.Query{Complaint: words, Limit: 9}); named.Total == 0 {
			t.Errorf("the complaint %q is not found by its name", words)
		}
	})
}

// TestRowOfNone: patients whom the pool alone knows have no row, so that none of them is found by it.
func TestRowOfNone(t *testing.T) {
	t.Parallel()
	l := waitlist.New(now, []*waitlist.Patient{patient(0, 10, .2), patient(1, 20, .9)})
	if p := l.Row(0); p != nil {
		t.Errorf("row 0 is %+v", p)
	}
	if p := l.Row(1); p == nil || p.Row != 1 {
		t.Errorf("row 1 is %+v", p)
	}
}
