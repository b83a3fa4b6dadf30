package process

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/config"
)

// halted returns a bridge whose committer does not run: Kafka is away.
func halted(t *testing.T, change func(*config.Bridge)) *process {
	t.Helper()
	c := config.Default()
	c.Bridge.Site = "A"
	change(&c.Bridge)
	p := &process{
		Options: Options{Config: &c, Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry()},
		config:  &c.Bridge,
	}
	var err error
	if p.bridge, err = bridge.New(c.Bridge, bridge.PublicKey()); err == nil {
		err = p.prepareFHIR()
	}
	if err != nil {
		t.Fatal(err)
	}
	p.commits = newCommitter(p)
	p.metrics = newMetrics(p)
	p.restored.Store(true)
	return p
}

// TestPositionWaits: how far answers were sent is written down later if too much waits for Kafka.
func TestPositionWaits(t *testing.T) {
	t.Parallel()
	p := halted(t, func(*config.Bridge) {})
	a := &answers{process: p, way: byMLLP, sent: delivered{0: {Next: 7}}, changed: true}
	p.commits.waiting = make([]*entry, maxWaiting)
	a.save()
	p.commits.waiting = nil
	a.save()
	a.save() // nothing has changed
	if n := len(p.commits.waiting); n != 1 {
		t.Errorf("%d positions wait, want 1", n)
	}
}

// post returns how a Bundle is answered.
func post(ctx context.Context, p *process, body io.Reader) int {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/fhir", body)
	r.Header.Set("Content-Type", fhir.ContentType)
	w := httptest.NewRecorder()
	p.takeBundle(w, r)
	return w.Code
}

// gone is the end of a body, after which the sender is gone.
type gone context.CancelFunc

func (g gone) Read([]byte) (int, error) { g(); return 0, io.EOF }

// TestCutBundle: a Bundle that does not come to its end is not answered as if it had been taken.
func TestCutBundle(t *testing.T) {
	t.Parallel()
	p := halted(t, func(*config.Bridge) {})
	body := io.MultiReader(strings.NewReader(`{"resourceType":`), iotest.ErrReader(io.ErrUnexpectedEOF))
	if status := post(t.Context(), p, body); status != http.StatusServiceUnavailable || len(p.commits.waiting) > 0 {
		t.Errorf("%d is answered", status)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	p.fhir.taken = nil // as many as may be held
	if status := post(ctx, p, strings.NewReader("{}")); status != http.StatusServiceUnavailable {
		t.Errorf("%d is answered to one that had to wait", status)
	}
}

// TestManyNames: a notification makes the bridge ask a bounded number of times, also for what the server does not have.
func TestManyNames(t *testing.T) {
	t.Parallel()
	asked := atomic.Int64{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusNotFound)
	}))
	defer server.Close()
	p := halted(t, func(*config.Bridge) {})
	p.fhir.server = p.asks(server.URL)
	defer p.fhir.client.CloseIdleConnections()
	focus := lists.Make(2*maxFetched, func(i int) fhir.Reference {
		return fhir.Reference{Reference: "Encounter/" + strconv.Itoa(i)}
	})
	_, _, err := p.fetch(t.Context(), focus)
	if refusal, ok := errors.AsType[*bridge.Refusal](err); !ok || refusal.Reason != fhir.ErrTooMany.Error() ||
		asked.Load() > maxFetched {
		t.Errorf("asked %d times: %v", asked.Load(), err)
	}
}

// TestPauses: a prediction that is refused or not answered is sent again with growing pauses, not in a flood.
func TestPauses(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var got []time.Duration
		began := time.Now()
		p := halted(t, func(*config.Bridge) {})
		a := &answers{process: p, way: byMLLP, log: p.Logger, send: func(context.Context, *ingest.Record, []byte,
			string,
		) (result, error) {
			got = append(got, time.Since(began)/time.Second)
			switch {
			case len(got) == 9:
				return resultAccepted, nil
			case len(got)%2 == 0:
				return "", mllp.ErrNoAnswer
			}
			return resultFailed, nil
		}}
		want := []time.Duration{0, 1, 3, 7, 15, 31, 63, 123, 183}
		if !a.deliver(t.Context(), &ingest.Record{}, nil, "") || !slices.Equal(got, want) {
			t.Errorf("sent at the seconds %d, want %d", got, want)
		}
	})
}

// TestPanic: a message that the bridge fails on is refused, and its sender is told which it was.
func TestPanic(t *testing.T) {
	t.Parallel()
	p := halted(t, func(*config.Bridge) {})
	p.bridge = nil
	h, _, refusal := p.read([]byte("MSH|^~\\&|A|B|C|D|20261120||ADT^A04|K1|P|2.5.1\r"), false)
	if refusal == nil || refusal.Reason != internalError || h.Control != "K1" {
		t.Errorf("refused by %v, answered to %q", refusal, h.Control)
	}
	if _, refusal := p.join([]bridge.Reading{{}}, nil, nil, time.Now()); refusal == nil ||
		refusal.Reason != internalError || len(p.commits.waiting) == 0 {
		t.Errorf("refused by %v", refusal)
	}
}

// TestManyUnreadDocuments: a Bundle waits for Kafka as a whole, however many of its documents cannot be read.
func TestManyUnreadDocuments(t *testing.T) {
	t.Parallel()
	p := halted(t, func(*config.Bridge) {})
	const (
		n       = maxWaiting + 100
		visit   = `{"resource":{"resourceType":"Encounter","id":"e","status":"in-progress","class":{"code":"EMER"}}}`
		picture = `,{"resource":{"resourceType":"DocumentReference","status":"current","type":{"coding":[{"code":"54094-8"}]},
			"context":{"encounter":[{"reference":"Encounter/e"}]},"content":[{"attachment":{"contentType":"image/png"}}]}}`
	)
	ctx, cancel := context.WithCancel(t.Context())
	status := post(ctx, p, io.MultiReader(strings.NewReader(
		`{"resourceType":"Bundle","type":"transaction","entry":[`+visit+strings.Repeat(picture, n)+`]}`), gone(cancel)))
	letters, events := 0, 0
	for _, e := range p.commits.waiting {
		letters += len(e.letters)
		events += len(e.events)
	}
	if letters != n || events == 0 || status != http.StatusServiceUnavailable {
		t.Errorf("%d letters and %d events wait, and %d is answered; want %d letters", letters, events, status, n)
	}
}
