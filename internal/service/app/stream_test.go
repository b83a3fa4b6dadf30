package app_test

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// TestPredictions streams notes and holds each answer against what `predict` prints for the note.
func TestPredictions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := s.stream()
	sent := notes(t, 0, 100)
	unknown := note(t, 100)
	unknown.Complaint = "never heard of " + secret // scored by the model of all complaints
	wordless := note(t, 101)
	wordless.Text = secret
	keyless := note(t, 102)
	sent = append(sent, record(unknown), record(wordless), record(keyless))
	sent[len(sent)-1].Key = []byte("another key") // the answer's is the visit all the same
	want := s.predicted(sent)
	c.send(sent...)
	c.answers(len(sent))
	r.stop()

	got, ids, byModel := map[string]string{}, map[string]bool{}, map[string]int{}
	for _, m := range c.predictions {
		p := decode(t, m.Value)
		if string(m.Key) != p.VisitID {
			t.Errorf("the key of a prediction is %q, its visit %q", m.Key, p.VisitID)
		}
		got[p.VisitID] = bare(m.Value)
		byModel[p.Model.Name]++
		checkSums(t, p)
		h := headers(m)
		ids[h[msg.HeaderID]] = true
		from := sent[slices.IndexFunc(sent,
			func(r *kgo.Record) bool { return bytes.Contains(r.Value, []byte(`"`+p.VisitID+`"`)) })]
		if want := string(msg.AppendEventID(nil, from.Value, p.Model.Name, p.Model.Version)); h[msg.HeaderID] != want {
			t.Errorf("ce_id is %q, want %q", h[msg.HeaderID], want)
		}
		if h[msg.HeaderTime] != p.ScoredAt {
			t.Errorf("ce_time is %q, scored_at %q", h[msg.HeaderTime], p.ScoredAt)
		}
		if at, err := time.Parse(msg.TimeFormat, p.ScoredAt); err != nil || time.Since(at) > ingesttest.Patience {
			t.Errorf("scored_at is %q: %v", p.ScoredAt, err)
		}
		delete(h, msg.HeaderID)
		delete(h, msg.HeaderTime)
		fixed := map[string]string{
			msg.HeaderSpecVersion: "1.0", msg.HeaderType: msg.TypePrediction,
			msg.HeaderSource: s.config.Scoring.Source, msg.HeaderContentType: "application/json",
		}
		if diff := cmp.Diff(fixed, h); diff != "" {
			t.Errorf("headers (-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("predictions of the stream differ from those of predict (-predict +stream):\n%s", diff)
	}
	if len(ids) != len(sent) {
		t.Errorf("%d notes share %d ce_id", len(sent), len(ids))
	}
	if len(byModel) < 2 || byModel[bundle.Other] == 0 {
		t.Errorf("predictions by model are %v, want several models", byModel)
	}
	if got := s.metric("wardcast_predictions_total"); got != float64(len(sent)) {
		t.Errorf("wardcast_predictions_total is %v, want %d", got, len(sent))
	}
	if got := s.metric("wardcast_abstentions_total"); got != 1 {
		t.Errorf("wardcast_abstentions_total is %v, want 1 for the note without a known word", got)
	}
	if got := c.committed(); got != len(sent) {
		t.Errorf("offsets committed %d, want %d", got, len(sent))
	}
}

// checkSums fails where contributions do not add up to the logit, or those of terms to their topic's.
func checkSums(t *testing.T, p *msg.Prediction) {
	t.Helper()
	const tolerance = 1e-9 // of the contract
	sum := p.Intercept
	for _, x := range p.Topics {
		sum += x.Contribution
		terms := 0.
		for _, m := range x.Terms {
			terms += m.Contribution
		}
		if math.Abs(terms-x.Contribution) > tolerance {
			t.Errorf("terms of topic %d add up to %v, its contribution is %v", x.Topic, terms, x.Contribution)
		}
	}
	for _, x := range p.Words {
		sum += x.Contribution
	}
	for _, x := range p.Aux {
		sum += x.Contribution
	}
	if math.Abs(sum-p.Logit) > tolerance {
		t.Errorf("contributions add up to %v, the logit is %v", sum, p.Logit)
	}
}

// malformed are messages that become dead letters, by their reason.
func malformed(t *testing.T) map[string]malformedNote {
	good := string(record(note(t, 0)).Value)
	change := func(from, to string) []byte {
		if !strings.Contains(good, from) {
			t.Fatalf("a note does not hold %s", from)
		}
		return []byte(strings.Replace(good, from, to, 1))
	}
	text := func(s string) []byte {
		n := note(t, 0)
		n.Text = s
		return n.AppendJSON(nil)
	}
	visit := fmt.Sprintf(`"visit_id":"%s-0"`, secret)
	return map[string]malformedNote{
		"cut short":        {msg.NotJSON, []byte(good[:len(good)-9])},
		"not JSON":         {msg.NotJSON, []byte(secret)},
		"empty":            {msg.NotJSON, []byte{}},
		"registry":         {msg.NotJSON, append([]byte{0, 0, 0, 0, 42}, good...)},
		"binary":           {msg.InvalidUTF8, []byte{0xff, 0xfe, 0x00}},
		"array":            {msg.WrongType, fmt.Appendf(nil, `[%q]`, secret)},
		"string":           {msg.WrongType, fmt.Appendf(nil, `%q`, secret)},
		"null":             {msg.WrongType, []byte(`null`)},
		"text is a number": {msg.WrongType, []byte(`{"schema_version":"1","visit_id":"v","text":123}`)},
		"age is text": {msg.WrongType, fmt.Appendf(nil,
			`{"schema_version":"1","visit_id":"v","text":"fall","age":%q}`, secret)},
		"vitals are text": {msg.WrongType, fmt.Appendf(nil,
			`{"schema_version":"1","visit_id":"v","text":"fall","vitals":%q}`, secret)},
		"900 kB":             {msg.TooLarge, text(strings.Repeat("pain "+secret, 900_000/len("pain "+secret)))},
		"64 KiB and a byte":  {msg.TooLarge, text(strings.Repeat("x", msg.MaxText+1))},
		"empty text":         {msg.EmptyText, text("")},
		"blank text":         {msg.EmptyText, text(" \n\t")},
		"no visit":           {msg.MissingField, change(visit, `"patient":"x"`)},
		"visit is null":      {msg.MissingField, change(visit, `"visit_id":null`)},
		"no text":            {msg.MissingField, []byte(`{"schema_version":"1","visit_id":"v"}`)},
		"text is not UTF-8":  {msg.InvalidUTF8, change(secret+`"`, secret+"\xff\xc3\x28\"")},
		"major version 2":    {msg.UnknownSchemaVersion, change(`"schema_version":"1"`, `"schema_version":"2"`)},
		"version is no such": {msg.UnknownSchemaVersion, change(`"schema_version":"1"`, `"schema_version":"one"`)},
	}
}

type malformedNote struct {
	reason msg.Reason
	value  []byte
}

// field is that at fault, as a decoder reports it.
func (m malformedNote) field() string {
	refused, ok := errors.AsType[*msg.Error](msg.DecodeNote(m.value, &msg.Note{}))
	if !ok {
		return ""
	}
	return refused.Field
}

// TestDeadLetters streams what is no note among notes.
func TestDeadLetters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := s.stream()
	bad := malformed(t)
	var sent []*kgo.Record
	for i, name := range slices.Sorted(maps.Keys(bad)) {
		// One good note after each, of the same key and so of the same partition.
		n := note(t, i)
		sent = append(sent, &kgo.Record{Key: []byte(name), Value: bad[name].value, Headers: []kgo.RecordHeader{
			{Key: "trace", Value: []byte("t" + strconv.Itoa(i))},
		}}, &kgo.Record{Key: []byte(name), Value: n.AppendJSON(nil)})
	}
	minor := note(t, len(bad))
	sent = append(sent, &kgo.Record{Key: []byte(minor.VisitID), Value: bytes.Replace(minor.AppendJSON(nil),
		[]byte(`"schema_version":"1"`), []byte(`"schema_version":"1.7","later":{"field":[1]}`), 1)})
	c.send(sent...)
	c.answers(len(sent))
	r.stop()

	if len(c.predictions) != len(bad)+1 {
		t.Errorf("%d good notes answered, want %d", len(c.predictions), len(bad)+1)
	}
	source := map[string]*kgo.Record{}
	for _, m := range sent {
		if _, ok := source[string(m.Key)]; !ok {
			source[string(m.Key)] = m
		}
	}
	for _, m := range c.dead {
		name := string(m.Key)
		want, from := bad[name], source[name]
		delete(bad, name)
		if !bytes.Equal(m.Value, want.value) || m.Value == nil {
			t.Errorf("%s: the dead letter holds %d bytes, want the original %d", name, len(m.Value), len(want.value))
		}
		h := headers(m)
		if at, err := time.Parse(time.RFC3339, h["dlq-time"]); err != nil || time.Since(at) > ingesttest.Patience {
			t.Errorf("%s: dlq-time is %q: %v", name, h["dlq-time"], err)
		}
		delete(h, "dlq-time")
		all := map[string]string{
			"trace": headers(from)["trace"], "dlq-reason": string(want.reason), "dlq-stage": "decode",
			"dlq-source-topic": s.config.Kafka.Topics.Notes, "dlq-source-partition": strconv.Itoa(int(from.Partition)),
			"dlq-source-offset": strconv.FormatInt(from.Offset, 10), "dlq-attempts": "1",
		}
		if field := want.field(); field != "" {
			all["dlq-field"] = field
		}
		if detail := msg.Framing(want.value); detail != "" {
			all["dlq-detail"] = detail
		}
		if diff := cmp.Diff(all, h); diff != "" {
			t.Errorf("%s: headers (-want +got):\n%s", name, diff)
		}
	}
	for name := range bad {
		t.Errorf("%s: no dead letter", name)
	}
	if got := s.metric("wardcast_ingest_dead_letters_total", string(msg.TooLarge)); got != 2 {
		t.Errorf("wardcast_ingest_dead_letters_total{reason=%q} is %v, want 2", msg.TooLarge, got)
	}
	if got := c.committed(); got != len(sent) {
		t.Errorf("offsets committed %d, want %d", got, len(sent))
	}
}

// TestNoModel streams notes to a store without a model of all complaints.
func TestNoModel(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	without := s.withoutOther()
	s.broker()
	r := s.start().ready()
	c := s.stream()
	sent := notes(t, 0, 50)
	c.send(sent...)
	c.answers(len(sent))
	r.stop()
	predictable := 0
	for i := range sent {
		if without.Models[bundle.Slug(note(t, i).Complaint)].Version != "" {
			predictable++
		}
	}
	if predictable == 0 || predictable == len(sent) || len(c.predictions) != predictable {
		t.Errorf("%d of %d notes answered, %d have a model", len(c.predictions), len(sent), predictable)
	}
	for _, m := range c.dead {
		if h := headers(m); h["dlq-reason"] != string(msg.NoModel) || h["dlq-stage"] != "score" {
			t.Errorf("dlq-reason is %q and dlq-stage %q, want no_model and score", h["dlq-reason"], h["dlq-stage"])
		}
	}
}

// TestDrain stops a scorer in the middle of a stream and has another go on.
func TestDrain(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := s.stream()
	sent := notes(t, 0, 3000)
	c.send(sent...)
	c.answers(1)
	r.stop()
	first := c.committed()
	c.answers(first)
	if got := int(s.metric("wardcast_ingest_records_total", "answered")); got != first {
		t.Errorf("%d records answered, offsets committed %d: a drained scorer leaves none for another to repeat", got,
			first)
	}
	s.options.Registry = prometheus.NewRegistry()
	second := s.start().ready()
	c.answers(len(sent))
	second.stop()
	if got := c.committed(); got != len(sent) {
		t.Errorf("the group lags by %d", len(sent)-got)
	}
	if len(c.predictions) != len(sent) || len(c.dead) > 0 {
		t.Errorf("%d predictions and %d dead letters of %d notes, want each once", len(c.predictions),
			len(c.dead), len(sent))
	}
	if got := strings.Count(s.log.String(), `"msg":"ready"`); got != 2 {
		t.Errorf("%d lines say ready, want one for each scorer", got)
	}
}

// TestCorrection: a corrected note is another event, and a repeat is the same one. The trace of a note goes on in its
// prediction.
func TestCorrection(t *testing.T) {
	t.Parallel()
	const trace = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
	s := newSite(t)
	s.broker()
	r := s.start().ready()
	c := s.stream()
	n := note(t, 0)
	first := record(n)
	n.Text += " corrected"
	second, repeat := record(n), record(note(t, 0))
	first.Headers = []kgo.RecordHeader{
		{Key: "traceparent", Value: []byte(trace)}, {Key: "traceparent", Value: []byte(trace)},
	}
	second.Headers = []kgo.RecordHeader{{Key: "traceparent", Value: []byte(secret)}}
	c.send(first, second, repeat)
	c.answers(3)
	r.stop()
	var ids, traces []string
	for _, m := range c.predictions {
		ids, traces = append(ids, headers(m)[msg.HeaderID]), append(traces, headers(m)["traceparent"])
	}
	if ids[0] == ids[1] || ids[0] != ids[2] {
		t.Errorf("a note, its correction and a repeat of the first have the ids %v", ids)
	}
	if want := []string{trace, "", ""}; !slices.Equal(traces, want) {
		t.Errorf("traceparent is %q, want %q", traces, want)
	}
}

// TestReplayFromPage: dead letters go back from the page Health, are refused again, and say so.
func TestReplayFromPage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker()
	s.config.HTTP.Listen = ingesttest.FreeAddress(t)
	s.start().ready()
	c := s.stream()
	c.send(&kgo.Record{Value: []byte(secret)}, &kgo.Record{Value: []byte("{}")})
	c.answers(2)
	if status, body := s.get("/health/replay?stream=triage&reason=not_json"); status != http.StatusOK ||
		!strings.Contains(body, "<b>1 note</b>") {
		t.Errorf("%d %s", status, body)
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost,
		"http://"+s.config.HTTP.Listen+"/health/replay", strings.NewReader("stream=triage&reason=not_json&why=again"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.http.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusOK || res.Request.URL.Path != "/health" || res.Request.URL.RawQuery != "" {
		t.Errorf("the replay leads to %s with %s", res.Request.URL, res.Status)
	}
	c.answers(3)
	// The broker has the letter a moment before the scorer counts it.
	s.await("two dead letters that are no JSON",
		func() bool { return s.metric("wardcast_ingest_dead_letters_total", "not_json") == 2 })
	s.await("what came of the replay", func() bool {
		_, page := s.get("/health")
		return strings.Contains(page, "<b>1 note</b> sent back") &&
			strings.Contains(page, "1 note died again: not json.")
	})
}
