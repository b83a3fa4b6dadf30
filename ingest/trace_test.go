package ingest_test

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestSpans: each record that is sampled has a span, by the conventions and without anything that it holds, in the
// trace of its sender. Its answer goes on from that span; without a span it goes on from the record's.
func TestSpans(t *testing.T) {
	t.Parallel()
	const id = "4bf92f3577b34da6a3ce929d0e0e47"
	parent := func(n int, sampled string) string {
		return fmt.Sprintf("00-%s%02x-00f067aa0ba902%02x-%s", id, n, n, sampled)
	}
	c := newCluster(t)
	spans := tracetest.NewSpanRecorder()
	provider := sdk.NewTracerProvider(sdk.WithSpanProcessor(spans), sdk.WithSampler(sdk.ParentBased(sdk.NeverSample())))
	m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		if string(r.Value) == "value 2" {
			return errors.New("no")
		}
		if value := r.TraceParent(); value != "" {
			out.AddHeader(msg.HeaderTraceParent, value)
		}
		return echo(r, out)
	}), func(cfg *ingest.Config) { cfg.Tracer = provider.Tracer("test") })
	records := numbered(0, 6)
	for i, value := range map[int]string{
		0: parent(0, "01"), 1: parent(1, "00"), 2: parent(2, "01"), 4: "a name", 5: parent(5, "01"),
	} {
		records[i].AddHeader(msg.HeaderTraceParent, value)
	}
	records[5].Value = nil
	c.send(records...)
	c.await("answers", func() bool { return m.metric("records_total") == 6 })
	m.stop()

	type place struct {
		topic     string
		partition int
		offset    int64
	}
	sent := map[string]place{}
	for _, r := range c.read(c.in) {
		sent[r.key] = place{c.in, r.partition, r.offset}
	}
	continued := map[string]string{}
	for _, r := range append(c.read(c.out), c.read(c.dlq)...) {
		continued[r.key] = r.headers[msg.HeaderTraceParent]
	}
	byName := map[string]sdk.ReadOnlySpan{}
	for _, s := range spans.Ended() {
		byName[s.SpanContext().TraceID().String()+" "+s.Name()] = s
	}
	want := map[string]string{"k0": "", "k1": parent(1, "00"), "k2": parent(2, "01"), "k3": "", "k4": ""}
	for n, to := range map[int]string{0: c.out, 2: c.dlq} {
		key := fmt.Sprintf("k%d", n)
		inTrace := fmt.Sprintf("%s%02x ", id, n)
		process, send := byName[inTrace+"process "+c.in], byName[inTrace+"send "+to]
		if process == nil || send == nil {
			t.Fatalf("no span of %s among %v", key, byName)
		}
		if n == 0 {
			want[key] = "00-" + id + "00-" + process.SpanContext().SpanID().String() + "-01"
		}
		sender := binary.BigEndian.AppendUint64(nil, 0x00f067aa0ba90200+uint64(n))
		if got := process.Parent().SpanID(); string(got[:]) != string(sender) || !process.Parent().IsRemote() {
			t.Errorf("the parent of %s is %v", key, process.Parent())
		}
		if l := process.Links(); len(l) != 1 || !l[0].SpanContext.Equal(process.Parent()) {
			t.Errorf("links of %s: %v", key, l)
		}
		if send.Parent().SpanID() != process.SpanContext().SpanID() {
			t.Errorf("writing the answer of %s belongs to %v", key, send.Parent())
		}
		if process.SpanKind() != trace.SpanKindConsumer || send.SpanKind() != trace.SpanKindClient {
			t.Errorf("%s: kinds %v and %v", key, process.SpanKind(), send.SpanKind())
		}
		if send.StartTime().Before(process.StartTime()) || send.EndTime().After(process.EndTime()) {
			t.Errorf("writing the answer of %s is not within its span", key)
		}
		at := sent[key]
		about := map[string]string{
			"messaging.system": "kafka", "messaging.operation.name": "process", "messaging.operation.type": "process",
			"messaging.destination.name": at.topic, "messaging.destination.partition.id": fmt.Sprint(at.partition),
			"messaging.kafka.offset": fmt.Sprint(at.offset), "messaging.consumer.group.name": c.group,
		}
		status := codes.Unset
		if n == 2 {
			about["error.type"], status = ingest.ReasonScoringFailed, codes.Error
		}
		if process.Status() != (sdk.Status{Code: status}) {
			t.Errorf("status of %s: %v", key, process.Status())
		}
		got := map[string]string{}
		for _, a := range process.Attributes() {
			got[string(a.Key)] = a.Value.String()
		}
		if d := cmp.Diff(about, got); d != "" {
			t.Errorf("attributes of %s (-want +got):\n%s", key, d)
		}
	}
	if d := cmp.Diff(want, continued); d != "" {
		t.Errorf("traceparent of answers (-want +got):\n%s", d)
	}
	if n := len(spans.Ended()); n != 4 || len(spans.Started()) != n {
		t.Errorf("%d spans begun, %d ended, want 4", len(spans.Started()), n)
	}
}
