package bedstream

import (
	"fmt"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestDetailsMemory: however large predictions are, those kept stay below their bound: the oldest go first, and what
// their rows say besides stays. What is old is forgotten.
func TestDetailsMemory(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ds := newDetails(&Config{Now: func() time.Time { return now }})
	at := func(i int) beds.Order {
		return beds.Order{Seen: now.Add(time.Duration(i) * time.Second), Offset: int64(i)}
	}
	p := msg.Prediction{SchemaVersion: "1", Complaint: "Fall", Probability: .7, Threshold: .5}
	const visits, size, most = 300, 10 << 10, 1 << 20
	ds.most = most
	for i := range visits {
		p.VisitID, p.Warnings = fmt.Sprint("v", i), []msg.Warning{{Field: strings.Repeat("x", size)}}
		ds.predicted(p.VisitID, at(i), 1, p.AppendJSON(nil))
		ds.predicted(p.VisitID, at(i-1), 2, []byte("older"))
	}
	held, kept := 0, 0
	for i := range visits {
		d := ds.visits[fmt.Sprint("v", i)]
		held += len(d.value)
		v := d.show()
		if v.ID != fmt.Sprint("v", i) || v.Probability != .7 {
			t.Fatalf("row %d says %+v", i, v)
		}
		if v.Prediction != nil {
			kept++
		} else if i >= visits-most/4*3/size {
			t.Errorf("the prediction of %d, of the newest, is not kept", i)
		}
	}
	if held != ds.held || held > most || kept < most/2/size {
		t.Errorf("%d bytes held, counted as %d, of %d; %d predictions kept", held, ds.held, most, kept)
	}
	ds.noted("v0", at(1), &msg.Note{Site: "A"}) // of one whose prediction is gone
	if v := ds.visits["v0"].show(); v.ID != "v0" {
		t.Errorf("%+v", v)
	}
	ds.people["v0"] = "p"
	ds.forget(now.Add(visits * time.Second))
	ds.forgetPeople(beds.NewPool())
	if len(ds.visits) != 0 || ds.held != 0 || len(ds.people) != 0 {
		t.Errorf("%d visits, %d bytes and %d patients are not forgotten", len(ds.visits), ds.held, len(ds.people))
	}
}

// TestDetailsOfManyVisits: when there are too many, the oldest go, and what comes is kept.
func TestDetailsOfManyVisits(t *testing.T) {
	t.Parallel()
	ds := newDetails(&Config{})
	const visits = beds.MostVisits + 10
	for i := range visits {
		ds.noted(strconv.Itoa(i), beds.Order{Seen: time.Unix(int64(i), 0)}, &msg.Note{Site: "A"})
		ds.isOf(strconv.Itoa(i), "p")
	}
	if n := len(ds.people); n > beds.MostVisits || n < beds.MostVisits*9/10 || ds.person("0") != "0" ||
		ds.person(strconv.Itoa(visits-1)) != "p" {
		t.Errorf("whose %d visits are is known; of the oldest or not of the newest among them", n)
	}
	if n := len(ds.visits); n > beds.MostVisits || n < beds.MostVisits*9/10 || ds.visits["0"] != nil ||
		ds.visits[strconv.Itoa(visits-1)] == nil {
		t.Errorf("%d visits; the oldest or not the newest among them", n)
	}
}

// TestDetailsOfOthers: a prediction of another program, whose explanation has another form, has a row too.
func TestDetailsOfOthers(t *testing.T) {
	t.Parallel()
	d := detail{value: []byte(`{"schema_version":"1","visit_id":"v","complaint":"Fall",` +
		`"probability":0.7,"topics":"none"}`)}
	if v := d.show(); v.ID != "v" || v.Probability != .7 || v.Complaint != "Fall" {
		t.Errorf("%+v", v)
	}
}

// TestDetailsTexts: texts of notes count as what is kept, and the oldest go; what else is known of a patient stays.
func TestDetailsTexts(t *testing.T) {
	t.Parallel()
	now := time.Now()
	ds := newDetails(&Config{Now: func() time.Time { return now }, ShowNotes: true})
	const visits, size, most = 300, 10 << 10, 1 << 20
	ds.most = most
	p := msg.Prediction{SchemaVersion: "1", Complaint: "Fall", Probability: .7, Threshold: .5}
	for i := range visits {
		o := beds.Order{Seen: now.Add(time.Duration(i) * time.Second), Offset: int64(i)}
		p.VisitID = fmt.Sprint("v", i)
		ds.noted(p.VisitID, o, &msg.Note{Site: "A", Text: strings.Repeat("x", size)})
		ds.predicted(p.VisitID, o, 1, p.AppendJSON(nil))
	}
	held, texts := 0, 0
	for i := range visits {
		d := ds.visits[fmt.Sprint("v", i)]
		v := d.show()
		if v.Site != "A" || v.Note.Site != "A" || v.Note.Text != d.note.Text {
			t.Fatalf("row %d says %+v of %+v", i, v, d.note)
		}
		if held += len(d.value) + len(v.Note.Text); v.Note.Text != "" {
			texts++
		} else if i >= visits-most/4*3/(size+1<<10) {
			t.Errorf("the text of %d, of the newest, is not kept", i)
		}
	}
	if held != ds.held || held > most || texts == 0 {
		t.Errorf("%d bytes held, counted as %d, of %d; %d texts kept", held, ds.held, most, texts)
	}
	for i := range visits {
		ds.erase(fmt.Sprint("v", i))
	}
	if ds.held != 0 {
		t.Errorf("%d bytes held of nobody", ds.held)
	}
}

// TestPeopleWhileReading: whose visits they are is known before their predictions are read, and stays known until then.
func TestPeopleWhileReading(t *testing.T) {
	t.Parallel()
	d, err := New(Config{
		Zone: "UTC", Logger: slog.New(slog.DiscardHandler), Metrics: prometheus.NewRegistry(), Now: time.Now,
	})
	if err != nil {
		t.Fatal(err)
	}
	d.details.people["v"] = "p"
	if d.forget(); d.details.people["v"] != "p" {
		t.Error("the patient is forgotten before the prediction was read")
	}
	d.predictions.reached(0, 1, time.Now())
	if d.forget(); len(d.details.people) != 0 {
		t.Error("the patient of a visit that nothing is known of is not forgotten")
	}
}
