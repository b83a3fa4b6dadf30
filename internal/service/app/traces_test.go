package app_test

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/config"
)

// TestTraces: notes have spans in the traces of their senders, which name no patient, and a collector that is away
// keeps nobody waiting.
func TestTraces(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var bodies []string
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, string(body))
	}))
	t.Cleanup(collector.Close)
	const trace, sender = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
	s := newSite(t)
	s.broker()
	s.config.Traces = config.Traces{Endpoint: collector.URL}
	r := s.start().ready()
	c := s.stream()
	n := note(t, 0)
	n.VisitID, n.PatientID, n.Complaint, n.Site = secret+" visit", secret+" patient", secret+" complaint", secret+" site"
	n.Text += " " + secret
	traced := record(n)
	bad := &kgo.Record{Key: []byte(secret), Value: []byte(`{"visit_id":"` + secret)}
	for _, r := range []*kgo.Record{traced, bad} {
		r.Headers = []kgo.RecordHeader{
			{Key: msg.HeaderTraceParent, Value: []byte("00-" + trace + "-" + sender + "-01")},
			{Key: "tracestate", Value: []byte("vendor=" + secret)},
			{Key: "baggage", Value: []byte("name=" + secret)},
			{Key: secret, Value: []byte(secret)},
		}
	}
	hostile := record(note(t, 1))
	hostile.Headers = []kgo.RecordHeader{{Key: msg.HeaderTraceParent, Value: []byte(secret)}}
	c.send(traced, hostile, bad)
	c.answers(3)
	r.stop()

	mu.Lock()
	defer mu.Unlock()
	all := map[string]bool{} // name and identifier of each span
	for _, body := range bodies {
		if strings.Contains(strings.ToLower(body), strings.ToLower(secret)) {
			t.Errorf("a span names a patient: %s", body)
		}
		var got struct {
			ResourceSpans []struct {
				ScopeSpans []struct {
					Spans []json.RawMessage
				}
			}
		}
		if err := json.Unmarshal([]byte(body), &got); err != nil {
			t.Fatal(err)
		}
		for _, raw := range got.ResourceSpans[0].ScopeSpans[0].Spans {
			var name struct{ TraceID, SpanID, ParentSpanID, Name string }
			if err := json.Unmarshal(raw, &name); err != nil || name.TraceID != trace {
				t.Errorf("%v in %s", err, raw)
			}
			if strings.HasPrefix(name.Name, "process") && name.ParentSpanID != sender {
				t.Errorf("%s is not of its sender", raw)
			}
			all[name.Name+" "+name.SpanID] = true
		}
	}
	if len(all) != 4 {
		t.Errorf("%d spans, want two of each note that is traced: %v", len(all), all)
	}
	for _, m := range c.predictions {
		var got string
		for name := range all {
			if id, ok := strings.CutPrefix(name, "process triage.notes "); ok &&
				headers(m)[msg.HeaderTraceParent] == fmt.Sprintf("00-%s-%s-01", trace, id) {
				got = id
			}
		}
		if want := string(m.Key) == n.VisitID; want != (got != "") {
			t.Errorf("the headers of a prediction are %v; spans: %v", headers(m), all)
		}
	}
	if n := s.metric("wardcast_trace_spans_total", "exported"); n != 4 {
		t.Errorf("%v spans are counted", n)
	}

	s.registry = prometheus.NewRegistry()
	s.options.Registry = s.registry
	s.config.Traces = config.Traces{Endpoint: "http://" + ingesttest.FreeAddress(t), Ratio: 1}
	r = s.start().ready()
	c.send(notes(t, 2, 52)...)
	c.answers(53)
	r.stop()
	if got := s.metric("wardcast_trace_spans_total", "dropped"); got != 100 {
		t.Errorf("%v spans are dropped while the collector is away, want two of each note", got)
	}
	if !strings.Contains(s.log.String(), "the collector of traces does not take all spans") {
		t.Errorf("log:\n%s", s.log)
	}
}
