package traces_test

import (
	"bytes"
	"encoding/base64"
	"encoding/hex"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/trace"
	otlp "go.opentelemetry.io/proto/slim/otlp/trace/v1"
	"google.golang.org/protobuf/encoding/protojson"
	"google.golang.org/protobuf/encoding/prototext"
	"google.golang.org/protobuf/proto"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/service/config"
	"github.com/wardcast/wardcast/internal/service/traces"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

// collector answers by answer and keeps what it gets.
func collector(t *testing.T, answer http.HandlerFunc) (url string, got <-chan *otlp.TracesData) {
	t.Helper()
	all := make(chan *otlp.TracesData, 100)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Method != http.MethodPost || r.URL.Path != "/base/v1/traces" ||
			r.Header.Get("Content-Type") != "application/json" {
			t.Errorf("%s %s, %v: %v", r.Method, r.URL, r.Header, err)
		}
		all <- decode(t, body)
		answer(w, r)
	}))
	t.Cleanup(s.Close)
	return s.URL + "/base", all
}

var identifier = regexp.MustCompile(`"(traceId|spanId|parentSpanId)":"([0-9a-f]+)"`)

// decode reads OTLP's JSON strictly: what it does not know is an error. Only its identifiers are not those of protobuf.
func decode(t *testing.T, body []byte) *otlp.TracesData {
	t.Helper()
	body = identifier.ReplaceAllFunc(body, func(found []byte) []byte {
		m := identifier.FindSubmatch(found)
		id, err := hex.DecodeString(string(m[2]))
		if long := string(m[1]) == "traceId"; err != nil || long && len(id) != 16 || !long && len(id) != 8 {
			t.Errorf("%s is no identifier", found)
		}
		return bytes.Replace(found, m[2], []byte(base64.StdEncoding.EncodeToString(id)), 1)
	})
	out := new(otlp.TracesData)
	if err := protojson.Unmarshal(body, out); err != nil {
		t.Errorf("%v in %s", err, body)
	}
	return out
}

// open returns traces to this collector, their log, and a function that sums their spans by what became of them.
func open(t *testing.T, c *config.Traces) (*traces.Traces, *ingesttest.Log, func(result string) float64) {
	t.Helper()
	log, registry := &ingesttest.Log{}, prometheus.NewRegistry()
	out, err := traces.New(c, "v1.2.3", slog.New(slog.NewJSONHandler(log, nil)), registry)
	if err != nil {
		t.Fatal(err)
	}
	return out, log, func(result string) float64 {
		return ingesttest.Metric(t, registry, "wardcast_trace_spans_total", result)
	}
}

func begin(t *testing.T, out *traces.Traces, n int) {
	t.Helper()
	for range n {
		_, span := out.Tracer().Start(t.Context(), "process notes")
		span.End()
	}
}

// TestExport: a collector that reads OTLP strictly gets what a span is.
func TestExport(t *testing.T) {
	t.Parallel()
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("s3cret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	url, got := collector(t, func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "Bearer s3cret" {
			t.Errorf("headers %v", r.Header)
		}
		_, _ = io.WriteString(w, `{"partialSuccess":{}}`)
	})
	out, log, spans := open(t, &config.Traces{Endpoint: url, Ratio: 1, TokenFile: token})
	remote := trace.NewSpanContext(trace.SpanContextConfig{
		TraceID: trace.TraceID{15: 7}, SpanID: trace.SpanID{7: 9}, TraceFlags: trace.FlagsSampled, Remote: true,
	})
	ctx := trace.ContextWithSpanContext(t.Context(), remote)
	ctx, parent := out.Tracer().Start(ctx, "process notes", trace.WithSpanKind(trace.SpanKindConsumer),
		trace.WithLinks(trace.Link{SpanContext: remote}), trace.WithAttributes(
			attribute.String("messaging.system", "kafka"), attribute.Int64("messaging.kafka.offset", 1<<60)))
	_, child := out.Tracer().Start(ctx, "send predictions", trace.WithSpanKind(trace.SpanKindClient))
	child.SetStatus(codes.Error, "words")
	child.End()
	parent.End()
	out.Close()
	if len(got) != 1 || spans("exported") != 2 || spans("dropped") != 0 {
		t.Fatalf("%d requests with %v spans, %v dropped; %s", len(got), spans("exported"), spans("dropped"), log)
	}
	data := (<-got).GetResourceSpans()[0]
	about := map[string]string{}
	for _, a := range data.GetResource().GetAttributes() {
		about[a.GetKey()] = a.GetValue().GetStringValue()
	}
	if about["service.name"] != "wardcast" || about["service.version"] != "v1.2.3" ||
		about["service.instance.id"] == "" {
		t.Errorf("resource %v", about)
	}
	if scope := data.GetScopeSpans()[0].GetScope().GetName(); scope != "wardcast" {
		t.Errorf("scope %q", scope)
	}
	second, first := data.GetScopeSpans()[0].GetSpans()[0], data.GetScopeSpans()[0].GetSpans()[1]
	id := string(first.GetSpanId())
	if len(id) != 8 || second.GetStartTimeUnixNano() < first.GetStartTimeUnixNano() ||
		second.GetEndTimeUnixNano() > first.GetEndTimeUnixNano() {
		t.Errorf("%v is not within %v", second, first)
	}
	for _, s := range []*otlp.Span{first, second} {
		s.SpanId, s.StartTimeUnixNano, s.EndTimeUnixNano = nil, 0, 0
	}
	const traceID = `trace_id:"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x07" `
	const sender = `span_id:"\x00\x00\x00\x00\x00\x00\x00\t" `
	for _, pair := range []struct {
		got  *otlp.Span
		want string
	}{
		{first, traceID + `parent_` + sender + `flags:769 name:"process notes" kind:SPAN_KIND_CONSUMER ` +
			`attributes:{key:"messaging.system" value:{string_value:"kafka"}} ` +
			`attributes:{key:"messaging.kafka.offset" value:{int_value:1152921504606846976}} ` +
			`links:{` + traceID + sender + `flags:769} status:{}`},
		{second, traceID + `flags:257 name:"send predictions" kind:SPAN_KIND_CLIENT status:{code:STATUS_CODE_ERROR}`},
	} {
		want := new(otlp.Span)
		if err := prototext.Unmarshal([]byte(pair.want), want); err != nil {
			t.Fatal(err)
		}
		if pair.got == second {
			want.ParentSpanId = []byte(id)
		}
		if !proto.Equal(pair.got, want) {
			t.Errorf("got\n%vwant\n%v", prototext.Format(pair.got), prototext.Format(want))
		}
	}
}

// TestNotTaken: what a collector does not take is dropped and counted, and logged in one line without the token.
func TestNotTaken(t *testing.T) {
	t.Parallel()
	const all = 3
	for name, c := range map[string]struct {
		answer  http.HandlerFunc
		dropped float64
		log     string
	}{
		"refused": {
			func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusServiceUnavailable) },
			all, "the collector answers 503",
		},
		"elsewhere": {
			func(w http.ResponseWriter, r *http.Request) {
				http.Redirect(w, r, "/other", http.StatusTemporaryRedirect)
			},
			all, "the collector answers 307",
		},
		"broken off": {func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }, all, "EOF"},
		"in part": {
			func(w http.ResponseWriter, _ *http.Request) {
				_, _ = io.WriteString(w, `{"partialSuccess":{"rejectedSpans":"2","errorMessage":"words"}}`)
			},
			2, "the collector rejects some of 3 spans",
		},
		"no JSON": {func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, `thanks`) }, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, _ := collector(t, c.answer)
			out, log, spans := open(t, &config.Traces{Endpoint: url, Ratio: 1})
			begin(t, out, all)
			out.Close()
			if spans("dropped") != c.dropped || spans("exported") != all-c.dropped {
				t.Errorf("%v dropped, %v exported", spans("dropped"), spans("exported"))
			}
			if lines := strings.Count(log.String(), "\n"); lines > 1 || !strings.Contains(log.String(), c.log) {
				t.Errorf("log:\n%s", log)
			}
		})
	}
}

// TestTooMany: while a collector hangs, a bounded number of spans wait, and nobody waits for them.
func TestTooMany(t *testing.T) {
	t.Parallel()
	hang := make(chan struct{})
	url, _ := collector(t, func(http.ResponseWriter, *http.Request) { <-hang })
	out, log, spans := open(t, &config.Traces{Endpoint: url, Ratio: 1})
	const sent = 10_000
	begin(t, out, sent)
	if dropped := spans("dropped"); dropped < sent-2048 {
		t.Errorf("%v of %d spans are dropped", dropped, sent)
	}
	close(hang)
	out.Close()
	ingesttest.Await(t, "the spans that waited", func() bool { return spans("exported")+spans("dropped") == sent })
	if lines := strings.Count(log.String(), "\n"); lines > 2 || !strings.Contains(log.String(), "2048 spans wait") {
		t.Errorf("log:\n%s", log)
	}
}

// TestSampling: a trace that begins here is sampled by the ratio, another one as its sender did.
func TestSampling(t *testing.T) {
	t.Parallel()
	for _, ratio := range []float64{0, 1} {
		url, _ := collector(t, func(http.ResponseWriter, *http.Request) {})
		out, _, _ := open(t, &config.Traces{Endpoint: url, Ratio: ratio})
		for flags, want := range map[trace.TraceFlags]bool{0: false, trace.FlagsSampled: true} {
			ctx := trace.ContextWithRemoteSpanContext(t.Context(), trace.NewSpanContext(trace.SpanContextConfig{
				TraceID: trace.TraceID{1}, SpanID: trace.SpanID{1}, TraceFlags: flags,
			}))
			if _, span := out.Tracer().Start(ctx, "x"); span.IsRecording() != want {
				t.Errorf("a sender's flags %v: %v", flags, span.IsRecording())
			}
		}
		if _, span := out.Tracer().Start(t.Context(), "x"); span.IsRecording() != (ratio == 1) {
			t.Errorf("ratio %v: %v", ratio, span.IsRecording())
		}
		out.Close()
	}
}

// TestOff: without a collector there is no tracer; files that cannot be read are errors.
func TestOff(t *testing.T) {
	t.Parallel()
	out, _, _ := open(t, &config.Traces{Ratio: 1})
	if out.Tracer() != nil {
		t.Error("a tracer")
	}
	out.Close()
	log := slog.New(slog.DiscardHandler)
	for key, c := range map[string]config.Traces{
		"traces.token_file": {TokenFile: "nowhere"},
		"traces.ca_file":    {CAFile: "traces_test.go"},
	} {
		c.Endpoint = "https://collector.example:4318"
		if err := traces.Check(&c, log); err == nil || !strings.Contains(err.Error(), key) {
			t.Errorf("%s: %v", key, err)
		}
	}
}
