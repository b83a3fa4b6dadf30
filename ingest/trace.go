package ingest

import (
	"context"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/ingest/msg"
)

// tracing makes the spans of records, by OpenTelemetry's conventions for messaging (version 1.44). They hold nothing of
// a record's key, value or headers, except the identifiers of its trace. Without a tracer there are none.
type tracing struct {
	tracer       trace.Tracer
	input, group string
}

func attributes(operation, topic string) []attribute.KeyValue {
	return []attribute.KeyValue{
		attribute.String("messaging.system", "kafka"),
		attribute.String("messaging.operation.name", operation),
		attribute.String("messaging.operation.type", operation),
		attribute.String("messaging.destination.name", topic),
	}
}

// begin starts the span of a record, if it is sampled. The span that wrote the record is its parent, so that a note and
// its prediction are one trace; the conventions ask for a link to it too.
func (t *tracing) begin(r *Record, at time.Time) {
	if t.tracer == nil {
		return
	}
	ctx := context.Background()
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(at)}
	if parent := r.TraceParent(); parent != "" {
		ctx = propagation.TraceContext{}.Extract(ctx, propagation.MapCarrier{msg.HeaderTraceParent: parent})
		options = append(options, trace.WithLinks(trace.LinkFromContext(ctx)))
	}
	_, span := t.tracer.Start(ctx, "process "+t.input, options...)
	if !span.IsRecording() {
		return
	}
	r.span = span
	span.SetAttributes(append(attributes("process", t.input),
		attribute.String("messaging.destination.partition.id", strconv.Itoa(r.Partition)),
		attribute.String("messaging.consumer.group.name", t.group),
		attribute.Int64("messaging.kafka.offset", r.Offset),
	)...)
}

// end ends the span of a record whose answer, or dead letter, a topic has acknowledged. Writing it, which began at
// wrote, is a span of its own. A record that is never acknowledged has no span: it comes again.
func (t *tracing) end(r *Record, topic string, wrote, acknowledged time.Time) {
	if r.span == nil {
		return
	}
	_, span := t.tracer.Start(trace.ContextWithSpan(context.Background(), r.span), "send "+topic,
		trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(wrote),
		trace.WithAttributes(attributes("send", topic)...))
	span.End(trace.WithTimestamp(acknowledged))
	r.span.End(trace.WithTimestamp(acknowledged))
}

// fail records that r becomes a dead letter for this reason.
func (r *Record) fail(reason string) {
	if r.span != nil {
		r.span.SetStatus(codes.Error, "")
		r.span.SetAttributes(attribute.String("error.type", reason))
	}
}

// TraceParent returns the trace context of the answer to r, in the format of W3C: that of the span in which r is
// processed or, without one, that of the record; "" if there is none.
func (r *Record) TraceParent() string {
	if r.span != nil {
		carrier := propagation.MapCarrier{}
		propagation.TraceContext{}.Inject(trace.ContextWithSpan(context.Background(), r.span), carrier)
		return carrier[msg.HeaderTraceParent]
	}
	for _, h := range r.Headers {
		if h.Key == msg.HeaderTraceParent && msg.IsTraceParent(h.Value) {
			return string(h.Value)
		}
	}
	return ""
}
