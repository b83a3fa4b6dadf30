package beds

import (
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

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

// Complaint returns a complaint as fits and patients tell it: in small letters, with single spaces, and cut off if it
// is long. It shares no memory with s.
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
