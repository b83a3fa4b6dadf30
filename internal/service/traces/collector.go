package traces

import (
	"bytes"
	"context"
	"crypto/tls"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/wardcast/wardcast/internal/reload"
	"github.com/wardcast/wardcast/internal/service/config"
)

// collector takes spans by OTLP over HTTP.
type collector struct {
	address string
	client  *http.Client
	token   *reload.Value[string] // nil without
}

// newCollector reads the files that c names. It returns nil if there is no collector.
func newCollector(c *config.Traces, log *slog.Logger) (*collector, error) {
	if c.Endpoint == "" {
		return nil, nil
	}
	address, err := url.JoinPath(c.Endpoint, "v1/traces")
	if err != nil {
		return nil, err
	}
	secured := &tls.Config{MinVersion: tls.VersionTLS12}
	if c.CAFile != "" {
		if secured.RootCAs, err = reload.Authorities(c.CAFile); err != nil {
			return nil, fmt.Errorf("reading traces.ca_file: %w", err)
		}
	}
	to := &collector{address: address, client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, TLSClientConfig: secured, IdleConnTimeout: time.Minute,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }, // it gets a token
	}}
	if c.TokenFile != "" {
		to.token, err = reload.New(func() (string, error) { return reload.Secret(c.TokenFile) }, func(err error) {
			log.Warn("cannot read the file; still using its previous contents", "key", "traces.token_file", "err", err)
		}, c.TokenFile)
		if err != nil {
			return nil, fmt.Errorf("reading traces.token_file: %w", err)
		}
	}
	return to, nil
}

// send sends spans of one resource and scope. An error says why the collector did not take some.
func (c *collector) send(ctx context.Context, spans []sdk.ReadOnlySpan) (rejected int, err error) {
	all := len(spans)
	body, _ := json.Marshal(encode(spans)) // which cannot fail
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, c.address, bytes.NewReader(body))
	if err != nil {
		return all, err
	}
	r.Header.Set("Content-Type", "application/json")
	if c.token != nil {
		token, _ := c.token.Get() // newCollector has read it
		r.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := c.client.Do(r)
	if err != nil {
		return all, err
	}
	defer func() { _ = res.Body.Close() }() // it is only read
	if res.StatusCode/100 != 2 {
		return all, fmt.Errorf("the collector answers %s", res.Status)
	}
	answer, _ := io.ReadAll(io.LimitReader(res.Body, maxAnswer)) // it took the spans, whatever follows
	var said struct {
		PartialSuccess struct {
			RejectedSpans json.Number `json:"rejectedSpans"` // or a string
		} `json:"partialSuccess"`
	}
	_ = json.Unmarshal(answer, &said) // an answer may be empty
	if n, _ := said.PartialSuccess.RejectedSpans.Int64(); n > 0 {
		return min(int(n), all), fmt.Errorf("the collector rejects some of %d spans", all)
	}
	return 0, nil
}

const maxAnswer = 64 << 10 // bytes

// object is a message of OTLP in its JSON: identifiers in hexadecimal digits, numbers of 64 bits as text.
type object map[string]any

// Values of OTLP's enumeration and flags.
const (
	statusError  = 2
	flagIsKnown  = 0x100 // whether the span is remote
	flagIsRemote = 0x200
)

func encode(spans []sdk.ReadOnlySpan) object {
	all := make([]object, len(spans))
	for i, s := range spans {
		parent, links, status := s.Parent(), []object{}, object{}
		for _, l := range s.Links() {
			links = append(links, identify(l.SpanContext, l.SpanContext.IsRemote()))
		}
		if s.Status().Code == codes.Error {
			status["code"] = statusError
		}
		out := identify(s.SpanContext(), parent.IsRemote())
		out["name"], out["kind"] = s.Name(), int(s.SpanKind()) // whose numbers are OTLP's
		out["startTimeUnixNano"] = strconv.FormatInt(s.StartTime().UnixNano(), 10)
		out["endTimeUnixNano"] = strconv.FormatInt(s.EndTime().UnixNano(), 10)
		out["attributes"], out["links"], out["status"] = keyValues(s.Attributes()), links, status
		if parent.HasSpanID() {
			out["parentSpanId"] = parent.SpanID()
		}
		all[i] = out
	}
	return object{"resourceSpans": []object{{
		"resource": object{"attributes": keyValues(spans[0].Resource().Attributes())},
		"scopeSpans": []object{{
			"scope": object{"name": spans[0].InstrumentationScope().Name},
			"spans": all,
		}},
	}}}
}

func identify(s trace.SpanContext, remote bool) object {
	flags := uint32(s.TraceFlags()) | flagIsKnown
	if remote {
		flags |= flagIsRemote
	}
	return object{"traceId": s.TraceID(), "spanId": s.SpanID(), "flags": flags}
}

// keyValues encodes whole numbers, and all else as text.
func keyValues(attributes []attribute.KeyValue) []object {
	out := make([]object, len(attributes))
	for i, a := range attributes {
		kind := "stringValue"
		if a.Value.Type() == attribute.INT64 {
			kind = "intValue"
		}
		out[i] = object{"key": a.Key, "value": object{kind: a.Value.String()}}
	}
	return out
}
