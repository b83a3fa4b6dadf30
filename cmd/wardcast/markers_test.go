package main

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"io/fs"
	"maps"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/internal/cli"
	"github.com/wardcast/wardcast/internal/cli/clitest"
	"github.com/wardcast/wardcast/models/topicindex"
)

// planting are invented names, each with where it was planted, and where each was found.
type planting struct {
	*testing.T
	planted map[string]string
	found   map[string]string // by where it was planted
	looks   int

	searched, header string // names in searches, and in headers of requests
}

// name returns a new name, which is read as a word.
func (p *planting) name(where string) string {
	const consonants, vowels = "bdfgklmnprtv", "aou"
	name := "zq"
	for n := len(p.planted)*37 + 11; len(name) < 10; n /= 7 {
		name += string(consonants[n%12]) + string(vowels[n%3])
	}
	name += fmt.Sprintf("%c%ck", consonants[len(p.planted)%12], vowels[len(p.planted)/12%3])
	p.planted[name] = where
	return name
}

// look looks for names, all but their end, which a stemmer may cut. own are the fields where it is right to find them.
func (p *planting) look(where, content string, own ...string) {
	p.looks++
	low := strings.ToLower(content)
	if !strings.Contains(low, "zq") {
		return
	}
names:
	for name, planted := range p.planted {
		for _, field := range own {
			if strings.HasPrefix(planted, field) {
				continue names
			}
		}
		if strings.Contains(low, name[:len(name)-1]) {
			p.found[planted] = where
		}
	}
}

// run runs a command, which may fail but says nothing of anybody.
func (p *planting) run(stdin string, args ...string) {
	p.Helper()
	r := wardcast(p.T, stdin, append(args, "--log-level", "debug")...)
	if r.Code == cli.ExitUsage {
		p.Errorf("%v: %s", args, r.Stderr)
	}
	p.look("output of "+args[0], r.Stdout+r.Stderr)
}

// files looks into all files of a folder, compressed ones too, and at their names.
func (p *planting) files(dir string) {
	p.Helper()
	if err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path) //nolint:gosec // of the test
		if z, not := gzip.NewReader(bytes.NewReader(data)); not == nil {
			data, err = io.ReadAll(z)
		}
		p.look("file "+path, path+string(data))
		return err
	}); err != nil {
		p.Error(err)
	}
}

var linked = regexp.MustCompile(`(?:href|action|src|hx-get|hx-post|sse-connect)="([^"]+)"`)

// page gets an address, or posts words to it, looks at headers, body and links, and returns these. own are fields that
// it shows of single visits.
func (p *planting) page(base, path string, own ...string) (links []string) {
	p.Helper()
	method, words := http.MethodGet, ""
	if where, posted := strings.CutPrefix(path, "POST "); posted {
		method, path, words = http.MethodPost, where, url.Values{"q": {p.searched}}.Encode()
	}
	req, err := http.NewRequestWithContext(p.Context(), method, base+path, strings.NewReader(words))
	if err != nil {
		p.Fatal(err)
	}
	for _, name := range []string{"User-Agent", "Referer", "Cookie", "X-Request-Id", "X-Forwarded-For", "Traceparent"} {
		req.Header.Set(name, p.header)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	req.Header.Set("Authorization", "Bearer "+opsToken)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		p.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode >= http.StatusInternalServerError {
		p.Errorf("%s: %s, %v", path, res.Status, err)
	}
	p.look("page "+path, string(body), own...)
	p.look("headers of "+path, fmt.Sprint(res.Header))
	for _, link := range linked.FindAllStringSubmatch(string(body), -1) {
		address, err := url.QueryUnescape(html.UnescapeString(link[1]))
		if err != nil {
			address = link[1]
		}
		p.look("link on "+path, address)
		links = append(links, html.UnescapeString(link[1]))
	}
	return links
}

// opsToken is that of an operator, whose reading the audit log has.
const opsToken = "0123456789abcdef0123456789abcdef"

// TestMarkers plants names in every field of every input, runs what reads them, and finds none outside the notes' own
// topic and the fields of their own visits: not in the store, indexes, logs, errors, metrics, links, pages of totals,
// bed demand, or headers of dead letters.
func TestMarkers(t *testing.T) {
	t.Parallel()
	p := &planting{T: t, planted: map[string]string{}, found: map[string]string{}}
	type fields = map[string]any
	var visits []fields
	now := time.Now().UTC().Truncate(time.Second)
	const n, tail = 700, 150
	for line := range strings.Lines(synthetic(t, fmt.Sprint(n), "jsonl")) {
		v := fields{}
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			t.Fatal(err)
		}
		delete(v, "true_probability")
		v["arrived_at"] = now.AddDate(0, 0, -40).Add(time.Duration(len(visits)) * 80 * time.Minute).Format(time.RFC3339)
		v["ward"] = []string{"MED", "SURG"}[len(visits)%2]
		visits = append(visits, v)
	}
	at := n - tail
	plant := func(times int, edit func(fields)) {
		for range times {
			edit(visits[at])
			at++
		}
	}
	put := func(field, name string) func(fields) { return func(v fields) { v[field] = name } }
	add := func(name string) func(fields) { return func(v fields) { v["text"] = fmt.Sprint(v["text"], " ", name) } }
	for _, times := range []int{1, 1, 2, 3, 4} {
		plant(times, add(p.name(fmt.Sprintf("text of %d visits", times))))
	}
	plant(1, add(strings.ToUpper(p.name("text in capitals"))))
	plant(1, add("son "+p.name("text, a first name")+" "+p.name("text, a surname")+" called"))
	plant(1, add(p.name("text, an address")+"@example.org"))
	one, said := p.name("patient_id of 12 visits"), p.name("text of 12 visits of one patient")
	ward, complaint := p.name("ward of 12 visits of one patient"), p.name("complaint of 12 visits of one patient")
	plant(12, func(v fields) {
		v["patient_id"], v["ward"], v["complaint"] = one, ward, complaint
		add(said)(v)
	})
	for _, field := range []string{"patient_id", "complaint", "site", "sex", "ward", "visit_id", "name", "by"} {
		plant(1, put(field, p.name(field+" of 1 visit")))
		plant(1, put(field, "Bay "+p.name(field+" in words")))
	}
	for _, field := range []string{"complaint", "site", "ward"} {
		plant(9, put(field, p.name(field+" of 9 visits")))
	}
	plant(1, func(v fields) { v["contact"] = fields{p.name("unknown key"): []any{p.name("unknown value")}} })
	plant(1, func(v fields) { v["vitals"] = fields{"hr": 90, p.name("vital sign"): 1} })
	plant(1, func(v fields) { v["fields"] = fields{"arrival_mode": p.name("level of a field"), p.name("field"): 1} })

	line := func(v fields, without ...string) string {
		c := maps.Clone(v)
		for _, k := range without {
			delete(c, k)
		}
		data, err := json.Marshal(c)
		if err != nil {
			t.Fatal(err)
		}
		return string(data)
	}
	note := func(v fields) string { return line(v, "label", "ward", "by") }
	outcome := func(v fields, decided time.Time) string {
		disposition := map[any]string{1.0: "admitted"}[v["label"]]
		if disposition == "" {
			disposition = "discharged"
		}
		return line(fields{
			"schema_version": "1", "visit_id": v["visit_id"], "disposition": disposition,
			"ward": v["ward"], "by": v["by"], "decided_at": decided.Format(time.RFC3339),
		})
	}
	known := visits[n-1]
	with := func(field string, value any) string {
		c := maps.Clone(known)
		c["visit_id"], c[field] = "bad", value
		return note(c)
	}
	bad := []string{
		"{" + p.name("no JSON"), `["` + p.name("an array") + `"]`, with("age", p.name("age")),
		with("schema_version", p.name("schema_version")), with("text", []string{p.name("text that is a list")}),
		with("visit_id", []string{p.name("visit_id that is a list")}), with("acuity", p.name("acuity")),
		"\x00\x00\x00\x00\x01" + p.name("behind a prefix"), `{"schema":1,"payload":"` + p.name("in an envelope") + `"}`,
		with("text", strings.Repeat("x ", 40000)+p.name("text too large")),
	}
	label := p.name("label of 1 row")
	p.searched, p.header = p.name("searched words"), p.name("header of requests")
	if len(p.planted) < 40 {
		t.Fatalf("%d names", len(p.planted))
	}

	dir := t.TempDir()
	store, train, notes, outcomes := filepath.Join(dir, "models"), "", "", ""
	for _, v := range visits {
		decided, err := time.Parse(time.RFC3339, v["arrived_at"].(string))
		if err != nil {
			t.Fatal(err)
		}
		train, notes = train+line(v)+"\n", notes+note(v)+"\n"
		outcomes += outcome(v, decided.Add(4*time.Hour)) + "\n"
	}
	file := func(name, content string) string { return clitest.File(t, name, content) }
	trained, noted, decided := file("train.jsonl", train), file("notes.jsonl", notes), file("outcomes.jsonl", outcomes)
	aux := []string{"--aux-columns", "age:numeric,sex:categorical", "--rank", "5", "--min-documents", "2000"}
	p.run("", append([]string{"train", "--input", trained, "--model-dir", store, "--patient-column", "patient_id"},
		aux...)...)
	p.run("", "retrain", "--once", "--notes", noted, "--outcomes", decided, "--model-dir", store, "--rank", "5",
		"--min-documents", "2000", "--output=json")
	labels := file("labels.jsonl", strings.Replace(train, `"label":0`, `"label":"`+label+`"`, 1))
	for _, how := range [][]string{{"--classes", "auto", "--method", "smf-w"}, {"--positive-label", "1"}} {
		how = append(how, "--model-dir", filepath.Join(dir, how[1]), "--input", labels)
		p.run("", append(append([]string{"train"}, how...), aux...)...)
	}
	refused := file("bad.jsonl", strings.Join(bad, "\n"))
	p.run("", "retrain", "--once", "--notes", refused, "--outcomes", decided, "--model-dir", filepath.Join(dir, "bad"))
	p.run(strings.Join(bad, "\n"), "predict", "--model-dir", store)
	message := strings.NewReplacer("Zzname", p.name("name of HL7"), "Zzmrn1", p.name("patient of HL7"),
		"Zzvisit1", p.name("visit of HL7")).Replace(triageMessage)
	adt, past := file("adt.hl7", message), filepath.Join(dir, "past")
	p.run("", "bridge", "check", "--message", adt)
	p.run("", "bulk", "--folder", filepath.Dir(adt), "--out", past, "--config", file("bridge.yaml",
		"kafka: {brokers: [127.0.0.1:9]}\nbridge: {site: A, key_file: "+file("key", strings.Repeat("0f", 32))+"}\n"))
	p.files(past)

	broker, address := ingesttest.FreeAddress(t), ingesttest.FreeAddress(t)
	spans := make(chan string, 1000)
	collector := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		spans <- string(body)
	}))
	t.Cleanup(collector.Close)
	config := file("wardcast.yaml", fmt.Sprintf("kafka: {brokers: [%q]}\nmodels: {store: %q}\n"+
		"traces: {endpoint: %q, ratio: 1}\n"+
		"http: {listen: %q, tokens: [{name: ops, role: operator, token_file: %q}], rate_limit: {per_second: 0}}\n",
		broker, store, collector.URL, address, file("token", opsToken)))
	serve := func(more ...string) *running {
		return launch(t, append([]string{
			"serve", "--config", config, "--embedded-broker", filepath.Join(dir, "broker"), "--create-topics",
			"--log-level", "debug",
		}, more...)...).ready()
	}
	s := serve()
	c := ingesttest.Reader(t, []string{broker}, "triage.predictions", "triage.notes.dlq", "triage.bed-demand")
	var records []*kgo.Record
	send := func(topic string, key any, value string) {
		records = append(records, &kgo.Record{Topic: topic, Key: fmt.Append(nil, key), Value: []byte(value)})
	}
	for i, v := range visits[n-tail:] {
		v["arrived_at"] = now.Add(-time.Duration(i+1) * time.Minute).Format(time.RFC3339)
		send("triage.notes", v["visit_id"], note(v))
		if i%2 == 0 {
			send("triage.outcomes", v["visit_id"], outcome(v, now))
		}
	}
	for _, b := range bad {
		send("triage.notes", "bad", b)
	}
	send("triage.outcomes", "bad", strings.Replace(outcome(known, now), `"disposition":"`, `"disposition":"`+label, 1))
	if err := c.ProduceSync(t.Context(), records...).FirstErr(); err != nil {
		t.Fatal(err)
	}
	predicted, dead, demand := 0, 0, 0
	for predicted < tail || dead < len(bad) || demand < 6 {
		c.PollFetches(t.Context()).EachRecord(func(r *kgo.Record) {
			switch r.Topic {
			case "triage.predictions":
				predicted++
				p.look("a prediction", string(r.Value), "visit_id", "complaint", "sex")
			case "triage.notes.dlq":
				dead++
				p.look("headers of a dead letter", fmt.Sprint(r.Headers))
			default:
				demand++
				p.look("bed demand", string(r.Key)+string(r.Value))
			}
		})
	}
	base := "http://" + address
	own := []string{"visit_id", "complaint", "site", "sex"} // of the visits themselves, one a row
	for range 2 {
		for _, path := range []string{
			"/waiting", "/live", "/v1/waiting", "/waiting?sort=waited&limit=500", "/v1/waiting.csv", "POST /waiting",
			"POST /v1/waiting.csv", "/v1/waiting?q=" + p.searched,
		} {
			p.page(base, path, append(own, "searched")...)
		}
		for _, path := range p.page(base, "/models") {
			if strings.HasPrefix(path, "/models/") || strings.HasPrefix(path, "/v1/") {
				p.page(base, path)
			}
		}
		for _, path := range []string{
			"/beds", "/try", "/topics", "/topics?q=hip", "/models", "/questionnaires", "/health", "/metrics", "/audit",
			"/v1/models", "/v1/bed-demand", "/v1/bed-demand/history", "/v1/topics/search?q=hip", "/healthz", "/readyz",
			"/v1/history", "/v1/generations", "/v1/beds.csv",
			"/v1/models/" + label + "/topics",
		} {
			p.page(base, strings.Replace(path, label, "no-such-model", 1))
		}
		for _, args := range [][]string{
			{"dlq", "list"},
			{"dlq", "show", "0/0"},
			{"dlq", "replay", "--all", "--rate", "0"},
			{"doctor"},
			{"retrain", "--once"},
		} {
			p.run("", append(args, "--config", config)...)
		}
		s.stop()
		if log := s.String(); !strings.Contains(log, `"msg":"audit"`) || !strings.Contains(log, "/v1/waiting.csv") {
			t.Error("the log of serve has no line of who read what")
		}
		p.look("log of serve", s.String())
		s = serve("--show-notes")
		own = append(own, "text", "unknown", "field") // what the operator asked for
	}
	s.stop()
	p.look("log of serve --show-notes", s.String())
	if len(spans) == 0 {
		t.Error("no spans")
	}
	for range len(spans) {
		p.look("spans", <-spans)
	}
	for _, args := range [][]string{
		{"models", "list"}, {"models", "history"}, {"models", "verify"}, {"topics", "list"},
	} {
		p.run("", append(args, "--model-dir", store)...)
	}
	p.files(store)
	p.files(topicindex.CacheFolder(store))
	for planted, where := range p.found {
		t.Errorf("%s: found in %s", planted, where)
	}
	t.Logf("%d names, %d outputs", len(p.planted), p.looks)
}
