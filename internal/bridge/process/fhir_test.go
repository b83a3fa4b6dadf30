package process_test

import (
	"bufio"
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/deadletter"
	"github.com/wardcast/wardcast/ingest/fhir"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/bridge/process"
)

const (
	zzPatient = `{"resourceType":"Patient","id":"zzp1","name":[{"family":"Zzname"}],"gender":"female"}`
	zzVisit   = `{"resourceType":"Encounter","id":"zze1","status":"in-progress","class":{"code":"EMER"},
		"subject":{"reference":"Patient/zzp1"},"period":{"start":"2026-11-20T08:00:00Z"},"reasonCode":[{"text":"fall"}]}`
	zzText = `{"resourceType":"Observation","id":"zzo1","status":"final","code":{"coding":[{"code":"54094-8"}]},
		"encounter":{"reference":"Encounter/zze1"},"valueString":"fell at home"}`
	zzPDF = `{"resourceType":"DocumentReference","status":"current","type":{"coding":[{"code":"54094-8"}]},
		"context":{"encounter":[{"reference":"Encounter/zze1"}]},
		"content":[{"attachment":{"contentType":"application/pdf","data":"WnpuYW1l"}}]}`
)

const fhirUnread = "unsupported_attachment"

func bundle(kind string, resources ...string) string {
	for i, r := range resources {
		resources[i] = `{"resource":` + r + `}`
	}
	return `{"resourceType":"Bundle","type":"` + kind + `","timestamp":"2026-11-20T08:10:00Z","entry":[` +
		strings.Join(resources, ",") + `]}`
}

// post sends JSON and returns the status, 0 for none, and the answer.
func (h *hospital) post(path, body string, patience time.Duration) (int, string) {
	h.t.Helper()
	ctx, cancel := context.WithTimeout(h.t.Context(), patience)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://"+h.config.Bridge.FHIR.Listen+path,
		strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Content-Type", fhir.ContentType)
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return 0, ""
	}
	defer func() { _ = res.Body.Close() }()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	return res.StatusCode, string(data)
}

// TestBundles: what is answered, and what is in the topics afterwards.
func TestBundles(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	f := func(status int, want, body string) {
		t.Helper()
		got, answer := h.post("/fhir", body, ingesttest.Patience)
		if got != status || !strings.Contains(answer, want) || strings.Contains(strings.ToLower(answer), "zz") {
			t.Errorf("%.80s: %d %s, want %d with %s", body, got, answer, status, want)
		}
	}
	visit := bundle("transaction", zzPatient, zzVisit, zzText)
	f(200, `"entry":[{"response":{"status":"200 OK"}},{"response":{"status":"200 OK"}},{"response":{"status":"200 `+
		`OK"}}]`, visit)
	f(200, `"transaction-response"`, visit) // again
	f(200, `"batch-response"`, bundle("batch"))
	f(200, `"informational"`, bundle("message", zzVisit))
	f(202, `{"response":{"status":"202 Accepted"}}`, bundle("transaction", zzVisit, zzPDF))
	f(202, `"unsupported_attachment"`, bundle("message", zzVisit, zzPDF))
	f(400, `"not_json"`, "{Zzname")
	f(413, `"too_large"`, strings.Repeat(" ", fhir.MaxBundle+1))
	f(422, `"expression":["Bundle.entry[1].resource"]`,
		bundle("transaction", zzVisit, `{"resourceType":"Patient","id":7}`))
	f(422, `"wrong_bundle"`, zzVisit)
	f(422, `"missing_visit"`, bundle("transaction", `{"resourceType":"Encounter","status":"Zz"}`))
	f(422, `"no_server"`,
		`{"resourceType":"Bundle","type":"subscription-notification","entry":[{"resource":{"resourceType":
		"SubscriptionStatus","type":"event-notification","notificationEvent":[{"focus":{"reference":"Encounter/zz"}}]}}]}`)
	h.records(h.config.Kafka.Topics.Notes, 1)
	var reasons []string
	for _, l := range h.records(h.config.Bridge.Topics.DeadLetters, 8) {
		reasons = append(reasons, header(l, "dlq-reason"))
		if strings.Contains(strings.ToLower(fmt.Sprintf("%s %v", l.Value, l.Headers)), "zz") {
			t.Errorf("a dead letter quotes: %s", l.Value)
		}
	}
	slices.Sort(reasons)
	if want := "missing_visit no_server not_fhir not_json too_large unsupported_attachment unsupported_attachment " +
		"wrong_bundle"; strings.
		Join(reasons, " ") != want {
		t.Errorf("reasons %v, want %s", reasons, want)
	}
	h.records(h.config.Bridge.Topics.Raw, 5) // refused, and not too large
	reader, err := ingest.NewClient(ingest.Connection{Brokers: h.config.Kafka.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	box := deadletter.Box{
		Client: reader, Topic: h.config.Bridge.Topics.DeadLetters, Logger: slog.New(slog.DiscardHandler),
	}
	if counts, err := box.Count(t.Context(), deadletter.Filter{Reasons: []msg.Reason{fhirUnread}}); err != nil ||
		len(counts) != 1 || counts[0].Letters != 2 {
		t.Errorf("dlq counts %+v, %v", counts, err)
	}
	for path, want := range map[string]string{
		"/fhir/metadata": `"fhirVersion":"4.0.1"`, "/cds-services": `"hook":"encounter-start"`,
		"/metrics": `wardcast_bridge_messages_total{answer="AA",type="Bundle^transaction"} 3`,
	} {
		if status, body := h.get(path); status != 200 || !strings.Contains(body, want) {
			t.Errorf("%s: %d %s, want %s", path, status, body, want)
		}
	}
	if log := strings.ToLower(h.log.String()); strings.Contains(log, "zz") {
		t.Errorf("the log has identifiers: %s", log)
	}
}

// TestBundleWhileBrokerIsAway: no answer that it was taken, and nothing is lost or doubled.
func TestBundleWhileBrokerIsAway(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	stop := h.broker()
	h.start(nil)
	stop()
	if status, answer := h.post("/fhir", bundle("transaction", zzVisit, zzText), 2*time.Second); status != 0 &&
		status != 503 {
		t.Errorf("%d %s without a broker", status, answer)
	}
	h.broker()
	ingesttest.Await(t, "an answer", func() bool {
		status, _ := h.post("/fhir", bundle("transaction", zzVisit, zzText), ingesttest.Patience)
		return status == http.StatusOK
	})
	h.records(h.config.Kafka.Topics.Notes, 1)
}

// TestBundleAtStop: a Bundle that is being sent when the bridge stops is answered, and what follows from it is written.
func TestBundleAtStop(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.broker()
	stop := h.start(nil)
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.config.Bridge.FHIR.Listen)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	body := bundle("transaction", zzVisit, zzText)
	if _, err := fmt.Fprintf(conn, "POST /fhir HTTP/1.1\r\nHost: a\r\nContent-Type: %s\r\nContent-Length: %d\r\n"+
		"Expect: 100-continue\r\n\r\n", fhir.ContentType, len(body)); err != nil {
		t.Fatal(err)
	}
	in := bufio.NewReader(conn)
	if line, err := in.ReadString('\n'); err != nil || !strings.Contains(line, " 100 ") { // it is being read
		t.Fatal(line, err)
	}
	_, _ = in.ReadString('\n') // the end of that
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		stop()
	}()
	ingesttest.Await(t, "the end of MLLP", func() bool {
		c, err := new(net.Dialer).DialContext(t.Context(), "tcp", h.config.Bridge.MLLP.Listen)
		if err == nil {
			_ = c.Close()
		}
		return err != nil
	})
	_, _ = io.WriteString(conn, body) // the answer tells whether it was taken
	res, err := http.ReadResponse(in, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if <-stopped; res.StatusCode != http.StatusOK {
		t.Errorf("%s, want 200", res.Status)
	}
	h.records(h.config.Kafka.Topics.Notes, 1)
}

// TestNotifications: the resources that a notification names are fetched with a login, and none from elsewhere.
func TestNotifications(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	asked, away := map[string]int{}, true
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked[r.URL.RequestURI()]++
		answers := map[string]string{
			"/fhir/Encounter/zze1":   zzVisit,
			"/fhir/Patient/zzp1":     zzPatient,
			"/fhir/Observation/zzo1": zzText,
			"/fhir/Observation?encounter=Encounter%2Fzze1&_count=1000":       bundle("searchset", zzText),
			"/fhir/DocumentReference?encounter=Encounter%2Fzze1&_count=1000": bundle("searchset"),
			"/token": `{"access_token":"t","expires_in":300}`,
		}
		switch answer := answers[r.URL.RequestURI()]; {
		case r.URL.Path != "/token" && (r.Header.Get("Authorization") != "Bearer t" || away):
			w.WriteHeader(http.StatusServiceUnavailable)
		case answer == "":
			w.WriteHeader(http.StatusNotFound)
		default:
			_, _ = io.WriteString(w, answer)
		}
	}))
	defer server.Close()
	h := newHospital(t)
	secret, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.MarshalECPrivateKey(secret)
	if err != nil {
		t.Fatal(err)
	}
	c := &h.config.Bridge.FHIR
	c.Server, c.SMART.ClientID, c.SMART.TokenURL = server.URL+"/fhir", "us", server.URL+"/token"
	c.SMART.Key = filepath.Join(t.TempDir(), "key.pem")
	if err := os.WriteFile(c.SMART.Key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}),
		0o600); err != nil {
		t.Fatal(err)
	}
	h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	notification := func(focus ...string) string {
		var events []string
		for _, f := range focus {
			events = append(events, `{"focus":{"reference":"`+f+`"}}`)
		}
		return bundle("subscription-notification", `{"resourceType":"SubscriptionStatus","type":"event-notification",
			"notificationEvent":[`+strings.Join(events, ",")+`]}`)
	}
	if status, answer := h.post("/fhir", notification("Encounter/zze1"), ingesttest.Patience); status != 502 {
		t.Errorf("%d %s while the server is away", status, answer)
	}
	mu.Lock()
	away = false
	mu.Unlock()
	for _, focus := range []string{server.URL + "/fhir/Observation/zzo1", "Encounter/zze1"} {
		if status, answer := h.post("/fhir",
			notification(focus, "Encounter/zzgone", "http://elsewhere.invalid/a?b=/c d"),
			ingesttest.Patience); status != 200 || strings.Contains(answer, "zz") {
			t.Errorf("%s: %d %s", focus, status, answer)
		}
	}
	n := h.records(h.config.Kafka.Topics.Notes, 1)[0]
	if !strings.Contains(string(n.Value), "fell at home") || !strings.Contains(string(n.Value), `"sex":"F"`) {
		t.Errorf("the note is %s", n.Value)
	}
	mu.Lock()
	defer mu.Unlock()
	if asked["/token"] != 1 || asked["/fhir/Encounter/zzgone"] != 2 {
		t.Errorf("asked %v", asked)
	}
	if log := strings.ToLower(h.log.String()); strings.Contains(log, "zz") {
		t.Errorf("the log has identifiers: %s", log)
	}
}

// TestRiskAssessments: a prediction goes to a FHIR server once, to a topic, and to the card of the visit.
func TestRiskAssessments(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var taken []string
	statuses := []int{503, 201, 422, 200}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		mu.Lock()
		defer mu.Unlock()
		taken = append(taken, r.Method+" "+r.URL.Path+" "+r.Header.Get("If-None-Exist")+" "+string(body))
		status := 201
		if len(statuses) > 0 {
			status, statuses = statuses[0], statuses[1:]
		}
		w.WriteHeader(status)
	}))
	defer server.Close()
	h := newHospital(t)
	h.broker()
	a := &h.config.Bridge.Answers
	a.FHIR, a.Topic = server.URL+"/fhir", "triage.risk"
	h.start(nil)
	if status, answer := h.post("/fhir", bundle("transaction", zzPatient, zzVisit, zzText),
		ingesttest.Patience); status != 200 {
		t.Fatal(answer)
	}
	visit := h.records(h.config.Kafka.Topics.Notes, 1)[0].Key
	card := func(id string) string {
		t.Helper()
		status, answer := h.post("/cds-services/wardcast", `{"hook":"patient-view","context":{"encounterId":"`+id+`"}}`,
			ingesttest.Patience)
		if status != 200 {
			t.Errorf("a card of %s: %d", id, status)
		}
		return answer
	}
	if got := card("zze1"); got != `{"cards":[]}` {
		t.Errorf("before a prediction the cards are %s", got)
	}
	h.predict(string(visit), `"probability":0.2431,"evidence":[{"text":"a b c d e f","contribution":1}]`,
		"first", "second", "third")
	ingesttest.Await(t, "answers", func() bool { mu.Lock(); defer mu.Unlock(); return len(taken) == 4 })
	const path = "POST /fhir/RiskAssessment identifier=urn%3Awardcast%3Aprediction%7C"
	for i, id := range []string{"first", "first", "second", "third"} {
		if !strings.HasPrefix(taken[i], path+id+" {") || !strings.Contains(taken[i], string(visit)) ||
			strings.Contains(taken[i], "zz") {
			t.Errorf("request %d is %s", i, taken[i])
		}
	}
	if taken[0] != taken[1] {
		t.Error("what is sent again differs")
	}
	if n := ingesttest.Metric(t, h.registry, "wardcast_bridge_answers_total", "fhir", "rejected"); n != 1 {
		t.Errorf("%v were rejected, want 1", n)
	}
	for _, r := range h.records("triage.risk", 3) {
		if !bytes.Equal(r.Key, visit) || !bytes.Contains(r.Value, []byte(`"probabilityDecimal":24.31`)) {
			t.Errorf("the topic has %s", r.Value)
		}
	}
	ingesttest.Await(t, "a card", func() bool { return card("Encounter/zze1") != `{"cards":[]}` })
	var got struct {
		Cards []struct{ Summary, Detail, Indicator string }
	}
	if err := json.Unmarshal([]byte(card("zze1")), &got); err != nil || len(got.Cards) != 1 ||
		!strings.Contains(got.Cards[0].Summary, "24.3 %") ||
		!strings.Contains(got.Cards[0].Detail, "raises: a b c d …") {
		t.Errorf("%v: %+v", err, got)
	}
	if got := card("unknown"); got != `{"cards":[]}` {
		t.Errorf("an unknown visit has %s", got)
	}
	if status, _ := h.post("/cds-services/wardcast", "Zz", ingesttest.Patience); status != 400 {
		t.Errorf("a call that is not JSON: %d", status)
	}
}

// TestFHIRAccess: with TLS and a token, and without either.
func TestFHIRAccess(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	c := &h.config.Bridge.FHIR
	c.TLS.Certificate, c.TLS.Key = certify(t)
	c.TokenFile = filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(c.TokenFile, []byte("secret\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	h.start(func(o *process.Options) { o.EmbeddedBroker = h.dir })
	transport := &http.Transport{DisableKeepAlives: true, TLSClientConfig: client(t, c.TLS.Certificate, "", "")}
	ask := func(method, path, token string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), method, "https://"+c.Listen+path,
			strings.NewReader(bundle("batch")))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Authorization", token)
		req.Header.Set("Content-Type", "application/json; charset=utf-8")
		res, err := (&http.Client{Transport: transport}).Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		return res.StatusCode
	}
	for token, want := range map[string]int{"": 401, "Bearer wrong": 401, "secret": 401, "Bearer secret": 200} {
		if got := ask("POST", "/fhir", token); got != want {
			t.Errorf("token %q: %d, want %d", token, got, want)
		}
		if got := ask("GET", "/metrics", token); got != want {
			t.Errorf("metrics, token %q: %d, want %d", token, got, want)
		}
	}
	if got := ask("GET", "/healthz", ""); got != 200 {
		t.Errorf("health without a token: %d", got)
	}
	if status, _ := h.post("/fhir", bundle("batch"), ingesttest.Patience); status == 200 {
		t.Error("a Bundle is taken without TLS")
	}
}

// TestFHIRConfiguration: what must be secured, or cannot be read.
func TestFHIRConfiguration(t *testing.T) {
	t.Parallel()
	for want, change := range map[string]func(*hospital){
		"token_file or tls.client_ca": func(h *hospital) {
			h.config.Bridge.FHIR.Listen = "0.0.0.0:0"
			h.config.Bridge.FHIR.TLS.Certificate, h.config.Bridge.FHIR.TLS.Key = certify(t)
		},
		"bridge.answers.fhir: example.org": func(h *hospital) {
			h.config.Bridge.Answers.FHIR = "http://example.org/fhir"
		},
		"bridge.fhir.token_file": func(h *hospital) { h.config.Bridge.FHIR.TokenFile = "missing" },
		"bridge.fhir.ca":         func(h *hospital) { h.config.Bridge.FHIR.CA = "fhir_test.go" },
		"bridge.fhir.tls": func(h *hospital) {
			h.config.Bridge.FHIR.TLS.Certificate, h.config.Bridge.FHIR.TLS.Key = "fhir_test.go", "fhir_test.go"
		},
	} {
		h := newHospital(t)
		change(h)
		err := process.Run(t.Context(), process.Options{Config: &h.config, Logger: slog.New(slog.DiscardHandler)})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRoutesAreDescribed: docs/openapi.yaml has the routes of FHIR and CDS Hooks.
func TestRoutesAreDescribed(t *testing.T) {
	t.Parallel()
	document, err := os.ReadFile("../../../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("fhir.go")
	if err != nil {
		t.Fatal(err)
	}
	routes := regexp.MustCompile(`HandleFunc\("(GET|POST) ([^"]+)"`).FindAllSubmatch(code, -1)
	for _, route := range routes {
		path := fmt.Sprintf("\n  %s:\n    servers: ", route[2])
		_, rest, described := strings.Cut(string(document), path)
		_, method, _ := strings.Cut(rest, "\n    ")
		if !described || !strings.HasPrefix(method, strings.ToLower(string(route[1]))+":") {
			t.Errorf("%s %s is not described: %.20q", route[1], route[2], method)
		}
	}
	if len(routes) != 4 {
		t.Errorf("%d routes", len(routes))
	}
}
