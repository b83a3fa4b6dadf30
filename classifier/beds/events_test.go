package beds_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
)

func TestEventsOfMessages(t *testing.T) {
	t.Parallel()
	order := beds.Order{Seen: start, Offset: 7}
	var a msg.Arrival
	const prediction = `{"schema_version":"1","visit_id":"V1","arrived_at":"2026-01-05T01:30:00+01:00",` +
		`"complaint":"Cough","model":{"name":"m","version":"1"},` +
		`"probability":0.3,"admission_probability":0.7,"aux":[{"name":"age","value":0.5}],"classes":[{"class":"MED",` +
		`"probability":0.4}]}`
	if err := msg.DecodeArrival([]byte(prediction), &a); err != nil {
		t.Fatal(err)
	}
	want := beds.Scored{
		Order: order, VisitID: "V1", Model: "m@1",
		Patient: beds.Patient{
			Arrived: start.Add(30 * time.Minute), P: .7, Complaint: "cough", Age: .5,
			Wards: []beds.WardShare{{Ward: "MED", Share: .4}},
		},
	}
	if d := cmp.Diff(want, beds.NewScored(&a, order)); d != "" {
		t.Error(d)
	}
	if e := beds.NewScored(&msg.Arrival{ArrivedAt: "this morning"}, order); !e.Patient.Arrived.IsZero() ||
		e.Patient.Age != -1 {
		t.Errorf("got %+v", e)
	}
	if e := beds.NewScored(&msg.Arrival{ArrivedAt: "0001-01-01T00:00:00Z"}, order); e.Patient.Arrived.IsZero() {
		t.Error("an arrival of long ago counts as none")
	}
	for name, c := range map[string]struct {
		m    msg.Outcome
		want beds.Outcome
	}{
		"admitted": {
			msg.Outcome{
				VisitID: "V1", Disposition: msg.Admitted, Status: msg.Final, Ward: "MED",
				DecidedAt: "2026-01-05T00:30:00Z",
			},
			beds.Outcome{Order: order, VisitID: "V1", Admitted: true, Ward: "MED", At: start.Add(30 * time.Minute)},
		},
		"left": {
			msg.Outcome{VisitID: "V1", Disposition: msg.Left, Ward: "MED", DecidedAt: "soon"},
			beds.Outcome{Order: order, VisitID: "V1"},
		},
		"cancelled": {
			msg.Outcome{VisitID: "V1", Disposition: msg.Admitted, Status: msg.Cancelled},
			beds.Outcome{Order: order, VisitID: "V1", Status: beds.Cancelled},
		},
	} {
		if d := cmp.Diff(c.want, beds.NewOutcome(&c.m, order)); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
}
