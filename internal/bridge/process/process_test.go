package process_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/hl7/mllp"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/bridge/process"
	"github.com/wardcast/wardcast/internal/service/config"
)

func TestMain(m *testing.M) { ingesttest.VerifyMain(m) }

// hospital is a site with a broker and the configuration of a bridge.
type hospital struct {
	t        *testing.T
	config   config.Config
	dir      string // of the broker
	log      *ingesttest.Log
	registry *prometheus.Registry
}

func newHospital(t *testing.T) *hospital {
	t.Helper()
	h := &hospital{t: t, config: config.Default(), dir: filepath.Join(t.TempDir(), "broker"), log: &ingesttest.Log{}}
	h.config.Kafka.Brokers = []string{ingesttest.FreeAddress(t)}
	b := &h.config.Bridge
	b.Site, b.KeyFile = "A", filepath.Join(t.TempDir(), "bridge.key")
	b.MLLP.Listen, b.FHIR.Listen = ingesttest.FreeAddress(t), ingesttest.FreeAddress(t)
	if err := bridge.NewKeyFile(b.KeyFile); err != nil {
		t.Fatal(err)
	}
	return h
}

// broker starts a broker apart from the bridge, and returns what stops it.
func (h *hospital) broker() (stop func()) {
	h.t.Helper()
	b, err := embedded.Start(embedded.Config{Dir: h.dir, Listen: h.config.Kafka.Brokers[0]})
	if err != nil {
		h.t.Fatal(err)
	}
	stop = sync.OnceFunc(b.Close)
	h.t.Cleanup(stop)
	return stop
}

// start runs the bridge and returns what stops it.
func (h *hospital) start(change func(*process.Options)) (stop func()) {
	h.t.Helper()
	h.registry = prometheus.NewRegistry()
	o := process.Options{
		Config: &h.config, Registry: h.registry, CreateTopics: true, Logger: slog.New(slog.NewJSONHandler(h.log, nil)),
	}
	if change != nil {
		change(&o)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- process.Run(ctx, o) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			h.t.Error(err)
		}
	})
	h.t.Cleanup(stop)
	ingesttest.Await(h.t, "the bridge", func() bool {
		return ingesttest.Metric(h.t, h.registry, "wardcast_bridge_ready") == 1
	})
	return stop
}

// sender is a connection that sends messages.
type sender struct {
	t    *testing.T
	conn net.Conn
	in   *mllp.Reader
}

func (h *hospital) dial() *sender {
	h.t.Helper()
	conn, err := new(net.Dialer).DialContext(h.t.Context(), "tcp", h.config.Bridge.MLLP.Listen)
	if err != nil {
		h.t.Fatal(err)
	}
	h.t.Cleanup(func() { _ = conn.Close() })
	return &sender{h.t, conn, mllp.NewReader(conn, 64<<10)}
}

func (s *sender) send(message string) {
	s.t.Helper()
	if _, err := s.conn.Write(mllp.Frame(nil, []byte(message))); err != nil {
		s.t.Fatal(err)
	}
}

// ask sends a message and returns its answer, "" if the connection is closed or nothing comes in time.
func (s *sender) ask(message string, patience time.Duration) (code hl7.Code, control string) {
	s.t.Helper()
	s.send(message)
	if err := s.conn.SetReadDeadline(time.Now().Add(patience)); err != nil {
		s.t.Fatal(err)
	}
	answer, err := s.in.Next()
	if err != nil {
		return "", ""
	}
	code, control, err = hl7.ReadAcknowledgement(answer)
	if err != nil {
		s.t.Fatal(err)
	}
	return code, control
}

// want sends a message, which must be answered with a code and its number.
func (s *sender) want(code hl7.Code, control, message string) {
	s.t.Helper()
	if got, of := s.ask(message, ingesttest.Patience); got != code || of != control {
		s.t.Errorf("message %s is answered %s of %q, want %s", control, got, of, code)
	}
}

func adt(event, control, visit, more string) string {
	return "MSH|^~\\&|A|B|C|D|20261120080000+0000||ADT^" + event + "|" + control + "|P|2.5.1\rEVN|" + event +
		"|20261120080000+0000\rPID|1||Zzmrn1||Zzname\rPV1|1|E|ED||||||||||||||||" + visit +
		"|||||||||||||||||01||||||||20261120075900+0000\r" + more
}

const (
	text = "OBX|1|TX|54094-8^^LN||fell at home||||||F\r"
	fall = "OBX|2|TX|8661-1^^LN||fall||||||F\r"
)

// records returns n records of a topic.
func (h *hospital) records(topic string, n int) (all []*kgo.Record) {
	h.t.Helper()
	reader := ingesttest.Reader(h.t, h.config.Kafka.Brokers, topic)
	ctx, cancel := context.WithTimeout(h.t.Context(), ingesttest.Patience)
	defer cancel()
	for len(all) < n {
		fetches := reader.PollFetches(ctx)
		if ctx.Err() != nil {
			h.t.Fatalf("topic %s has %d records, want %d", topic, len(all), n)
		}
		all = append(all, fetches.Records()...)
	}
	if len(all) > n {
		h.t.Errorf("topic %s has %d records, want %d", topic, len(all), n)
	}
	return all
}

func header(r *kgo.Record, name string) string {
	for _, h := range r.Headers {
		if h.Key == name {
			return string(h.Value)
		}
	}
	return ""
}

func (h *hospital) get(path string) (int, string) {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), http.MethodGet,
		"http://"+h.config.Bridge.FHIR.Listen+path, nil)
	if err != nil {
		h.t.Fatal(err)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, string(body)
}

func TestMessagesBecomeEvents(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	stop := h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	s := h.dial()
	s.want(hl7.Accepted, "1", adt("A04", "1", "ZZV1", fall))
	s.want(hl7.Accepted, "2", adt("A08", "2", "ZZV1", text))
	s.want(hl7.Accepted, "2", adt("A08", "2", "ZZV1", text)) // again
	s.want(hl7.Accepted, "3", adt("A03", "3", "ZZV1", ""))
	s.want(hl7.Failed, "4", adt("A04", "4", "", text))
	s.want(hl7.Rejected, "5", strings.Replace(adt("A04", "5", "ZZV1", text), "ADT^A04", "ZZZ^Z99", 1))
	s.want(hl7.Failed, "6", adt("A04", "6", "ZZV1", strings.Repeat("NTE|1|"+strings.Repeat("x", 1000)+"\r", 1100)))
	s.want(hl7.Failed, "", "hello Zzname")
	topics := &h.config.Kafka.Topics
	note := h.records(topics.Notes, 1)[0]
	for _, name := range []string{
		"ce_id", "ce_type", "ce_source", "ce_time", "ce_specversion", "content-type", "wardcast-key-id",
	} {
		if header(note, name) == "" {
			t.Errorf("a note without the header %s", name)
		}
	}
	outcome := h.records(topics.Outcomes, 1)[0]
	if string(outcome.Key) != string(note.Key) || !strings.Contains(string(outcome.Value), `"discharged"`) {
		t.Errorf("outcome %s of %s", outcome.Value, outcome.Key)
	}
	letters := h.records(h.config.Bridge.Topics.DeadLetters, 3)
	var reasons []string
	for _, l := range letters {
		reasons = append(reasons, header(l, "dlq-reason"))
		var v struct {
			ID, Reason, Segment string
			Position, Field     int
		}
		if err := json.Unmarshal(l.Value, &v); err != nil || v.Reason != reasons[len(reasons)-1] ||
			v.ID != string(l.Key) {
			t.Errorf("dead letter %s: %v", l.Value, err)
		}
		if v.Reason == bridge.MissingVisit && (v.Segment != "PV1" || v.Field != 19 || v.Position != 4 ||
			header(l, "dlq-field") != "PV1-19") {
			t.Errorf("dead letter %s, want the place", l.Value)
		}
	}
	slices.Sort(reasons)
	if want := []string{"missing_visit", "not_hl7", "too_large"}; !slices.Equal(reasons, want) {
		t.Errorf("reasons %v, want %v", reasons, want)
	}
	for _, r := range h.records(h.config.Bridge.Topics.Raw, 2) { // not the one that is too large
		if header(r, "wardcast-access") != "restricted" || !strings.Contains(string(r.Value), "Zz") {
			t.Errorf("a raw message %q", r.Value)
		}
	}
	if status, body := h.get("/metrics"); status != http.StatusOK || strings.Contains(strings.ToLower(body), "zz") ||
		!strings.Contains(body, `wardcast_bridge_messages_total{answer="AA",type="ADT^A08"} 2`) ||
		!strings.Contains(body, `wardcast_bridge_visits{lack="none"} 1`) {
		t.Errorf("metrics %d:\n%s", status, body)
	}
	for _, path := range []string{"/healthz", "/readyz"} {
		if status, body := h.get(path); status != http.StatusOK {
			t.Errorf("%s: %d %s", path, status, body)
		}
	}
	for _, r := range append(letters, note, outcome) {
		if strings.Contains(strings.ToLower(fmt.Sprintf("%s %s %v", r.Key, r.Value, r.Headers)), "zz") {
			t.Errorf("an identifier in %s", r.Topic)
		}
	}
	stop()
	// The next process knows what was joined.
	h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	s = h.dial()
	s.want(hl7.Accepted, "2", adt("A08", "2", "ZZV1", text))
	s.want(hl7.Accepted, "7", adt("A13", "7", "ZZV1", ""))
	h.records(topics.Notes, 1)
	h.records(topics.Outcomes, 2)
	if log := strings.ToLower(h.log.String()); strings.Contains(log, "zz") ||
		!strings.Contains(log, `"reason":"missing_visit","place":"pv1-19"`) {
		t.Errorf("the log has identifiers, or lacks a refusal: %s", log)
	}
}

// Nothing is acknowledged while the broker is away, and nothing is lost or doubled when it is back.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	stop := h.broker()
	h.start(nil)
	h.dial().want(hl7.Accepted, "1", adt("A04", "1", "V1", text+fall))
	stop()
	away := adt("A04", "2", "V2", text+fall)
	if code, _ := h.dial().ask(away, 2*time.Second); code != "" {
		t.Errorf("a message is answered %s without a broker", code)
	}
	h.broker()
	h.dial().want(hl7.Accepted, "2", away)
	ids := map[string]bool{}
	for _, r := range h.records(h.config.Kafka.Topics.Notes, 2) {
		ids[header(r, "ce_id")] = true
	}
	if len(ids) != 2 {
		t.Errorf("%d identifiers, want 2", len(ids))
	}
}

// receiver takes ORU^R01 and answers as it is told.
type receiver struct {
	mu      sync.Mutex
	codes   []hl7.Code // of the next answers; then AA
	control []string   // MSH-10 of the messages, in order
	bodies  []string
}

func (r *receiver) answer(_ context.Context, message []byte, _ bool) []byte {
	r.mu.Lock()
	defer r.mu.Unlock()
	h, err := hl7.ReadHeader(message)
	if err != nil {
		return nil
	}
	r.control, r.bodies = append(r.control, h.Control), append(r.bodies, string(message))
	code := hl7.Accepted
	if len(r.codes) > 0 {
		code, r.codes = r.codes[0], r.codes[1:]
	}
	if code == "" {
		return nil
	}
	return h.Acknowledge(hl7.Answer{Code: code, ID: "1", Time: time.Now()})
}

func (r *receiver) got() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.control)
}

const half = `"probability":0.5`

// predict writes predictions for a visit, one for each ce_id. That of other is about a visit of another site.
func (h *hospital) predict(visit, more string, ids ...string) {
	h.t.Helper()
	client, err := ingest.NewClient(ingest.Connection{Brokers: h.config.Kafka.Brokers})
	if err != nil {
		h.t.Fatal(err)
	}
	defer client.Close()
	var out []*ingest.Output
	for _, id := range ids {
		of := visit
		if id == "other" {
			of = "v-elsewhere"
		}
		o := &ingest.Output{Key: []byte(visit), Value: fmt.Appendf(nil,
			`{"visit_id":%q,"scored_at":"2026-11-20T08:15:02Z","model":{"name":"m","version":"1"},%s}`, of, more)}
		o.AddHeader("ce_id", id)
		out = append(out, o)
	}
	if err := ingest.NewProducer(client, slog.New(slog.DiscardHandler)).Produce(h.t.Context(),
		h.config.Kafka.Topics.Predictions, out); err != nil {
		h.t.Fatal(err)
	}
}

func TestAnswers(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.broker()
	r := &receiver{codes: []hl7.Code{hl7.Failed, "", hl7.Accepted, hl7.Rejected}}
	h.receive(r)
	stop := h.start(nil)
	h.dial().want(hl7.Accepted, "1", adt("A04", "1", "V1", text+fall))
	visit := string(h.records(h.config.Kafka.Topics.Notes, 1)[0].Key)
	h.predict(visit, half, "first", "other", "second", "third")
	// Failed, closed, accepted; rejected and set aside; accepted.
	want := []string{"first", "first", "first", "second", "third"}
	ingesttest.Await(t, "answers", func() bool { return len(r.got()) >= len(want) })
	if got := r.got(); !slices.Equal(got, want) {
		t.Errorf("sent %v, want %v", got, want)
	}
	if !strings.Contains(r.bodies[0], visit) || !strings.Contains(r.bodies[0], "|50|%") {
		t.Errorf("the answer is %q", r.bodies[0])
	}
	ingesttest.Await(t, "the last acknowledgement", func() bool {
		return ingesttest.Metric(t, h.registry, "wardcast_bridge_answers_total", "accepted") == 2
	})
	if n := ingesttest.Metric(t, h.registry, "wardcast_bridge_answers_total", "unknown"); n != 1 {
		t.Errorf("%v predictions are unknown, want 1", n)
	}
	// What was sent is not sent again by the next process.
	ingesttest.Await(t, "the position", func() bool {
		for _, record := range h.state() {
			if strings.HasPrefix(string(record.Key), "answers-") && strings.Contains(string(record.Value), `"next":4`) {
				return true
			}
		}
		return false
	})
	stop()
	h.start(nil)
	h.predict(visit, half, "fourth")
	ingesttest.Await(t, "the next answer", func() bool { return len(r.got()) > len(want) })
	if got := r.got(); !slices.Equal(got, append(want, "fourth")) {
		t.Errorf("sent %v, want the fourth alone after a restart", got)
	}
}

// A bridge that sends answers for the first time does not send the predictions of the past.
func TestOldPredictions(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.broker()
	stop := h.start(nil) // without answers
	h.dial().want(hl7.Accepted, "1", adt("A04", "1", "V1", text+fall))
	visit := string(h.records(h.config.Kafka.Topics.Notes, 1)[0].Key)
	stop()
	client, err := ingest.NewClient(ingest.Connection{Brokers: h.config.Kafka.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	if err := client.CreateTopics(t.Context(), ingest.Topic{Name: h.config.Kafka.Topics.Predictions}); err != nil {
		t.Fatal(err)
	}
	h.predict(visit, half, "old")
	r := h.receive(&receiver{})
	h.start(nil)
	h.predict(visit, half, "new")
	ingesttest.Await(t, "the answer", func() bool { return len(r.got()) > 0 })
	if got := r.got(); !slices.Equal(got, []string{"new"}) {
		t.Errorf("sent %v, want the new one alone", got)
	}
}

// receive makes a receiver take the answers of the bridge.
func (h *hospital) receive(r *receiver) *receiver {
	h.t.Helper()
	l, err := new(net.ListenConfig).Listen(h.t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		h.t.Fatal(err)
	}
	h.config.Bridge.Answers.MLLP = l.Addr().String()
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error, 1)
	go func() {
		served <- (&mllp.Server{Answer: r.answer, Limit: 1 << 20, Idle: time.Minute, Connections: 4}).Serve(ctx, l)
	}()
	h.t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			h.t.Error(err)
		}
	})
	return r
}

// state returns what the topic of states holds now.
func (h *hospital) state() []*record { return h.held(h.config.Bridge.Topics.State) }

type record = kgo.Record

// held returns what a topic holds now.
func (h *hospital) held(topic string) (all []*record) {
	h.t.Helper()
	reader := ingesttest.Reader(h.t, h.config.Kafka.Brokers, topic)
	defer reader.Close()
	for {
		ctx, cancel := context.WithTimeout(h.t.Context(), 500*time.Millisecond)
		fetches := reader.PollFetches(ctx)
		cancel()
		if fetches.Empty() {
			return all
		}
		all = append(all, fetches.Records()...)
	}
}

func TestConfigurationErrors(t *testing.T) {
	t.Parallel()
	f := func(name, want string, change func(*config.Config)) {
		t.Helper()
		h := newHospital(t)
		change(&h.config)
		err := process.Run(t.Context(), process.Options{
			Config: &h.config, Registry: prometheus.NewRegistry(), Logger: slog.New(slog.DiscardHandler),
			EmbeddedBroker: h.dir,
		})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	f("no site", "bridge.site", func(c *config.Config) { c.Bridge.Site = "" })
	f("no key", "bridge.key_file", func(c *config.Config) { c.Bridge.KeyFile = "" })
	f("no such key", "reading the key", func(c *config.Config) { c.Bridge.KeyFile += "x" })
	f("an open port", "bridge.mllp.listen", func(c *config.Config) { c.Bridge.MLLP.Listen = "0.0.0.0:2575" })
	f("an open page", "bridge.fhir.listen", func(c *config.Config) { c.Bridge.FHIR.Listen = ":8090" })
	f("answers over the network", "bridge.answers.mllp",
		func(c *config.Config) { c.Bridge.Answers.MLLP = "10.0.0.1:2575" })
	f("an open broker", "kafka.brokers", func(c *config.Config) { c.Kafka.Brokers = []string{"0.0.0.0:9092"} })
	f("missing topics", "do not exist", func(*config.Config) {})
	f("a certificate that is not one", "bridge.mllp.tls", func(c *config.Config) {
		c.Bridge.MLLP.TLS = config.BridgeTLS{Certificate: c.Bridge.KeyFile, Key: c.Bridge.KeyFile}
		c.Kafka.Topics.Notes, c.Kafka.Topics.Outcomes = c.Bridge.Topics.State, c.Bridge.Topics.State
		c.Bridge.Topics.DeadLetters, c.Bridge.Topics.Raw = c.Bridge.Topics.State, c.Bridge.Topics.State
	})
}

// TestDocumented holds the table of metrics against the code.
func TestDocumented(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	families, err := h.registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile("../../../docs/metrics.md")
	if err != nil {
		t.Fatal(err)
	}
	exported := 0
	for _, f := range families {
		exported++
		row := fmt.Sprintf("| `%s` | %s |", f.GetName(), strings.ToLower(f.GetType().String()))
		if !strings.Contains(string(page), row) {
			t.Errorf("docs/metrics.md lacks %s: %s", row, f.GetHelp())
		}
	}
	if listed := strings.Count(string(page), "| `wardcast_bridge_"); listed != exported {
		t.Errorf("docs/metrics.md lists %d metrics of a bridge, which has %d", listed, exported)
	}
}
