// Package traces samples spans and sends them to a collector of OpenTelemetry, as OTLP's JSON over HTTP:
// OpenTelemetry's own exporters would link gRPC. Spans wait in bounded memory. Those that the collector does not take
// are dropped and counted; nothing waits for it.
package traces

import (
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/internal/loglimit"
	"github.com/wardcast/wardcast/internal/meter"
	"github.com/wardcast/wardcast/internal/service/config"
)

const (
	maxWaiting = 2048 // spans, of which each takes some 2 kB
	maxBatch   = 512  // spans of a request
	interval   = 2 * time.Second
	patience   = 10 * time.Second // of a request
	lastWords  = 2 * time.Second  // to send what waits when the process ends
	name       = "wardcast"
)

// Traces sends spans, unless no collector is configured.
type Traces struct {
	collector *collector
	provider  *sdk.TracerProvider // nil without a collector
	log       *slog.Logger
	limit     *loglimit.Limiter

	waiting           atomic.Int64 // spans
	exported, dropped prometheus.Counter
}

// New returns Traces; version is that of the program. It does not connect.
func New(c *config.Traces, version string, log *slog.Logger, r prometheus.Registerer) (*Traces, error) {
	t := &Traces{log: log.With("component", "traces"), limit: loglimit.New(time.Minute)}
	spans := meter.New(r, "wardcast_trace_").Counters("spans_total", "Spans, by what became of them.", "result")
	t.exported, t.dropped = spans.WithLabelValues("exported"), spans.WithLabelValues("dropped")
	var err error
	if t.collector, err = newCollector(c, t.log); err != nil || t.collector == nil {
		return t, err
	}
	batches := sdk.NewBatchSpanProcessor(t, sdk.WithMaxQueueSize(maxWaiting), sdk.WithMaxExportBatchSize(maxBatch),
		sdk.WithBatchTimeout(interval), sdk.WithExportTimeout(patience))
	t.provider = sdk.NewTracerProvider(
		sdk.WithSpanProcessor(bounded{batches, t}),
		sdk.WithSampler(sdk.ParentBased(sdk.TraceIDRatioBased(c.Ratio))),
		sdk.WithResource(resource.NewSchemaless(
			attribute.String("service.name", name),
			attribute.String("service.version", version),
			attribute.String("service.instance.id", rand.Text()),
		)))
	return t, nil
}

// Check returns the error of a configuration that New would return.
func Check(c *config.Traces, log *slog.Logger) error {
	_, err := newCollector(c, log)
	return err
}

// Tracer returns what makes spans, nil without a collector.
func (t *Traces) Tracer() trace.Tracer {
	if t.provider == nil {
		return nil
	}
	return t.provider.Tracer(name)
}

// Close sends the spans that wait, for a short time.
func (t *Traces) Close() {
	if t.provider != nil {
		ctx, cancel := context.WithTimeout(context.Background(), lastWords)
		defer cancel()
		_ = t.provider.Shutdown(ctx) // what fails is counted
		t.collector.client.CloseIdleConnections()
	}
	t.limit.Flush()
}

var errTooMany = fmt.Errorf("%d spans wait", maxWaiting)

// bounded drops spans while too many wait. The processor inside it would drop them too, but not count them.
type bounded struct {
	sdk.SpanProcessor
	traces *Traces
}

func (b bounded) OnEnd(s sdk.ReadOnlySpan) {
	if t := b.traces; t.waiting.Add(1) > maxWaiting {
		t.waiting.Add(-1)
		t.drop(1, errTooMany)
		return
	}
	b.SpanProcessor.OnEnd(s)
}

// ExportSpans sends spans once.
func (t *Traces) ExportSpans(ctx context.Context, spans []sdk.ReadOnlySpan) error {
	rejected, err := t.collector.send(ctx, spans)
	t.waiting.Add(-int64(len(spans)))
	t.exported.Add(float64(len(spans) - rejected))
	if err != nil {
		t.drop(rejected, err)
	}
	return nil
}

// Shutdown is for package sdk.
func (*Traces) Shutdown(context.Context) error { return nil }

func (t *Traces) drop(spans int, err error) {
	t.dropped.Add(float64(spans))
	t.limit.Add("drop", func(times int) {
		t.log.Warn("the collector of traces does not take all spans: they are dropped", "times", times, "err", err)
	})
}
