package app_test

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestInputThatCannotBe: the stream, the API and predict give such notes the same answer, name each field, and count it
// without its value.
func TestInputThatCannotBe(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	s.config.Input.Levels["sex"]["female"] = append(s.config.Input.Levels["sex"]["female"], "weibl.")
	s.broker()
	r := s.start().ready()
	c := s.stream()
	now := time.Now().UTC()
	var sent []*kgo.Record
	want := map[string][]msg.Warning{}
	add := func(change func(*msg.Note), warnings ...msg.Warning) {
		n := note(t, len(sent))
		n.ArrivedAt = now.Format(time.RFC3339)
		change(&n)
		sent, want[n.VisitID] = append(sent, record(n)), warnings
	}
	add(func(n *msg.Note) { n.Sex = " Weibl." })
	add(func(n *msg.Note) { n.Age = msg.Some(999) }, msg.Warning{Field: "age", Code: msg.ValueOutOfRange})
	add(func(n *msg.Note) { n.Vitals.TempC, n.Vitals.HR = msg.Some(98.6), msg.Some(0) },
		msg.Warning{Field: "vitals.hr", Code: msg.ValueOutOfRange},
		msg.Warning{Field: "vitals.temp_c", Code: msg.ValueOutOfRange})
	add(func(n *msg.Note) { n.ArrivedAt = "22/11/2026 15:00" },
		msg.Warning{Field: "arrived_at", Code: msg.ValueBadTime})
	add(func(n *msg.Note) { n.Sex = secret }, msg.Warning{Field: "sex", Code: msg.ValueUnknownLevel})
	add(func(n *msg.Note) { n.Complaint = secret }, msg.Warning{Field: "complaint", Code: msg.ValueUnknownComplaint})
	add(func(n *msg.Note) { n.FieldsLeftOut, n.Fields = true, msg.Fields{{Name: "A b", Value: msg.Number(1)}} },
		msg.Warning{Field: msg.FieldsField, Code: msg.ValueLeftOut})
	// the prediction does not depend on the clock
	add(func(n *msg.Note) { n.ArrivedAt = now.AddDate(-10, 0, 0).Format(time.RFC3339) })
	c.send(sent...)
	c.answers(len(sent))
	got, predictions := map[string]string{}, map[string]*msg.Prediction{}
	for _, m := range c.predictions {
		p := decode(t, m.Value)
		got[p.VisitID], predictions[p.VisitID] = bare(m.Value), p
		if d := cmp.Diff(want[p.VisitID], append([]msg.Warning(nil), p.Warnings...)); d != "" {
			t.Errorf("note %s (-want +got):\n%s", strings.TrimPrefix(p.VisitID, secret), d)
		}
	}
	if d := cmp.Diff(s.predicted(sent), got); d != "" {
		t.Errorf("predictions of the stream differ from those of predict (-predict +stream):\n%s", d)
	}
	if p := predictions[secret+"-0"]; p.Aux[1].Value != msg.Text("F") {
		t.Errorf("a spelling of the site is read as %+v", p.Aux[1])
	}
	if p := predictions[secret+"-3"]; p.ArrivedAt != "" {
		t.Errorf("the prediction has the arrival %q", p.ArrivedAt)
	}
	for _, m := range sent {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
			"http://"+s.config.HTTP.Listen+"/v1/predictions", strings.NewReader(string(m.Value)))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := s.http.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if closed := res.Body.Close(); err != nil || closed != nil {
			t.Fatal(err, closed)
		}
		if d := cmp.Diff(got[string(m.Key)], bare([]byte(strings.TrimSpace(string(body))))); d != "" {
			t.Errorf("the API differs from the stream (-stream +API):\n%s", d)
		}
	}
	r.stop()
	total := 0.0
	for labels, n := range map[[2]string]float64{
		{"age", "out_of_range"}: 1, {"vitals.hr", "out_of_range"}: 1, {"vitals.temp_c", "out_of_range"}: 1,
		{"arrived_at", "bad_time"}:     1,
		{"arrived_at", "far_from_now"}: 1, {"sex", "unknown_level"}: 1, {"complaint", "unknown_complaint"}: 1,
		{"fields", "left_out"}: 1,
	} {
		if got := s.metric("wardcast_input_warnings_total", labels[0], labels[1]); got != n {
			t.Errorf("%q: %v counted, want %v", labels, got, n)
		}
		total += n
	}
	if got := s.metric("wardcast_input_warnings_total"); got != total {
		t.Errorf("%v warnings are counted, want %v", got, total)
	}
}
