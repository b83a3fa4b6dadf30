package ingest_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

const patient = "zzpatient" // stands in records and in no log

// refusal returns an error that names the patient.
func refusal(v ingest.Verdict) error {
	v.Err = errors.New("no good: " + patient)
	return &v
}

func TestDisposition(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		err  error
		want ingest.Verdict
	}{
		"unknown": {errors.New("x"), ingest.Verdict{Reason: "scoring_failed", Stage: "handle"}},
		"all": {
			refusal(ingest.Verdict{Reason: "no_model", Stage: "route", ModelVersion: "v1"}),
			ingest.Verdict{Reason: "no_model", Stage: "route", ModelVersion: "v1"},
		},
		"wrapped": {
			fmt.Errorf("scoring: %w", refusal(ingest.Verdict{Reason: "no_model", Stage: "route"})),
			ingest.Verdict{Reason: "no_model", Stage: "route"},
		},
		"field": {
			refusal(ingest.Verdict{Reason: "wrong_type", Field: "age", Stage: "decode"}),
			ingest.Verdict{Reason: "wrong_type", Field: "age", Stage: "decode"},
		},
		"not a code": {
			refusal(ingest.Verdict{Reason: "78F fell", Field: "78F fell", Stage: strings.Repeat("x", 40)}),
			ingest.Verdict{Reason: "scoring_failed", Stage: "handle"},
		},
		"message error": {
			fmt.Errorf("decoding: %w", &msg.Error{Reason: msg.EmptyText, Field: "text"}),
			ingest.Verdict{Reason: "empty_text", Field: "text", Stage: "decode"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, ingest.Disposition(test.err)); diff != "" {
				t.Errorf("Disposition(%v): -want +got\n%s", test.err, diff)
			}
		})
	}
}

func TestConfigIsChecked(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	for name, change := range map[string]func(*ingest.Config){
		"no group":      func(cfg *ingest.Config) { cfg.Group = "" },
		"no brokers":    func(cfg *ingest.Config) { cfg.Connection.Brokers = nil },
		"same topics":   func(cfg *ingest.Config) { cfg.Output = cfg.Input },
		"long session":  func(cfg *ingest.Config) { cfg.SessionTimeout = 11e9 },
		"compression":   func(cfg *ingest.Config) { cfg.Compression = "rar" },
		"no handler":    func(cfg *ingest.Config) { cfg.Handler = nil },
		"negative time": func(cfg *ingest.Config) { cfg.ReadyAfterStall = -1 },
	} {
		cfg := ingest.Config{
			Connection: c.conn, Group: "g", Input: "a", Output: "b", DeadLetters: "c",
			Handler: handle(echo), Logger: discard,
		}
		change(&cfg)
		if _, err := ingest.New(cfg); err == nil {
			t.Errorf("%s: New accepts it", name)
		}
	}
}

// TestMetricsAreRegisteredOnce: two consumers need registries of their own, or labels that distinguish them.
func TestMetricsAreRegisteredOnce(t *testing.T) {
	t.Parallel()
	cfg := ingest.Config{
		Connection: newFake(t).conn, Group: "g", Input: "a", Output: "b", DeadLetters: "c",
		Handler: handle(echo), Logger: discard, Registerer: prometheus.NewRegistry(),
	}
	if _, err := ingest.New(cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := ingest.New(cfg); !errors.As(err, new(prometheus.AlreadyRegisteredError)) {
		t.Errorf("a second consumer with this registry: %v", err)
	}
}

// TestEveryRecordIsAnswered sends every kind of record and looks at all that
// comes of it.
func TestEveryRecordIsAnswered(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	h := func(r *ingest.Record, out *ingest.Output) error {
		switch kind, _, _ := strings.Cut(string(r.Value), " "); kind {
		case "panic":
			panic(patient)
		case "index":
			_ = r.Value[len(r.Value)+r.Partition]
		case "refuse":
			return refusal(ingest.Verdict{Reason: "wrong_type", Stage: "decode", ModelVersion: "v1"})
		case "":
			return &msg.Error{Reason: msg.NotJSON}
		}
		return echo(r, out)
	}
	const n = 3000
	want := make(map[string]string) // key → reason, "" for an answer
	var all []*ingest.Output
	add := func(key, value, reason string) {
		m := &ingest.Output{Key: []byte(key), Value: []byte(value)}
		m.AddHeader("trace", "t-"+key)
		all = append(all, m)
		want[key] = reason
	}
	for i := range n {
		add("k"+strconv.Itoa(i), "value "+patient, "")
	}
	add("panic", "panic "+patient, "scoring_failed")
	add("index", "index "+patient, "scoring_failed")
	add("refuse", "refuse "+patient, "wrong_type")
	add("empty", "", "not_json")
	add("large", "refuse "+strings.Repeat(patient, 110_000), "wrong_type") // 990 kB
	all = append(all, &ingest.Output{Key: []byte("tombstone")})
	all = append(all, &ingest.Output{Value: []byte("value without a key")})
	want[""] = ""
	rand.New(rand.NewPCG(1, 2)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	c.send(all...)
	m := c.start(handle(h))
	c.awaitAnswers(int64(len(all) - 1))
	m.stop()

	source := make(map[string]message)
	for _, x := range c.read(c.in) {
		source[x.key] = x
	}
	got := make(map[string]string)
	delete(source, "tombstone") // erases a record: neither answered nor a dead letter
	for _, x := range c.read(c.out) {
		got[x.key] = ""
		if x.key != "" && (x.headers["ce_id"] != x.key || x.value != source[x.key].value) {
			t.Errorf("answer to %q has ce_id %q and value %.20q", x.key, x.headers["ce_id"], x.value)
		}
	}
	for _, x := range c.read(c.dlq) {
		s := source[x.key]
		got[x.key] = x.headers["dlq-reason"]
		if x.value != s.value || x.null != s.null {
			t.Errorf("dead letter %q has not the original value", x.key)
		}
		if at, err := time.Parse(msg.TimeFormat, x.headers["dlq-time"]); err != nil || time.Since(at) > time.Hour {
			t.Errorf("dead letter %q has dlq-time %q", x.key, x.headers["dlq-time"])
		}
		delete(x.headers, "dlq-time")
		wantHeaders := map[string]string{
			"dlq-reason": want[x.key], "dlq-stage": "handle", "dlq-source-topic": c.in,
			"dlq-source-partition": strconv.Itoa(s.partition),
			"dlq-source-offset":    strconv.FormatInt(s.offset, 10), "dlq-attempts": "1", "trace": "t-" + x.key,
		}
		switch x.key {
		case "refuse", "large":
			wantHeaders["dlq-stage"], wantHeaders["dlq-model-version"] = "decode", "v1"
		case "empty":
			wantHeaders["dlq-stage"] = "decode"
		}
		if diff := cmp.Diff(wantHeaders, x.headers); diff != "" {
			t.Errorf("headers of dead letter %q: -want +got\n%s", x.key, diff)
		}
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("records and their reasons: -want +got\n%s", diff)
	}
	if diff := cmp.Diff(c.ends(c.in), c.committed()); diff != "" {
		t.Errorf("committed offsets after draining: -want +got\n%s", diff)
	}
	for _, x := range []struct {
		name, label string
		want        float64
	}{
		{"consumed_records_total", "", n + 7},
		{"records_total", "answered", n + 1},
		{"records_total", "dead_letter", 5},
		{"records_total", "erased", 1},
		{"dead_letters_total", "wrong_type", 2},
		{"dead_letters_total", "scoring_failed", 2},
		{"handler_panics_total", "", 2},
		{"handle_seconds", "", n + 7},
		{"end_to_end_seconds", "", n + 1},
		{"in_flight_records", "", 0},
		{"lag_records", "", 0},
		{"oldest_unanswered_seconds", "", 0},
		{"commits_total", "stale", 0},
		{"skipped_offsets_total", "", 0},
		{"rebalances_total", "", 1},
	} {
		var got float64
		if x.label == "" {
			got = m.metric(x.name)
		} else {
			got = m.metric(x.name, x.label)
		}
		if got != x.want {
			t.Errorf("metric %s %s is %v, want %v", x.name, x.label, got, x.want)
		}
	}
	for _, name := range []string{"last_answer_timestamp_seconds", "last_dead_letter_timestamp_seconds"} {
		if m.metric(name) == 0 {
			t.Errorf("metric %s is 0", name)
		}
	}
	if strings.Contains(m.log.String(), patient) {
		t.Errorf("a record's content is in the log:\n%s", m.log)
	}
	if _, n := m.logged(`records=(\d+) reason=wrong_type `); n != 2 {
		t.Errorf("the log shows %d records of a wrong type, want 2:\n%s", n, m.log)
	}
	if _, n := m.logged(`records=(\d+) reason=scoring_failed stage=`); n != 2 {
		t.Errorf("the log shows %d records without a field that could not be scored, want 2:\n%s", n, m.log)
	}
	if !strings.Contains(m.log.String(), "index out of range") ||
		!strings.Contains(m.log.String(), "consumer_test.go") {
		t.Errorf("the log does not say where the handler panicked:\n%s", m.log)
	}
}

// TestOrderPerKey checks that one key's answers keep the order of its records
// and share a partition with it.
func TestOrderPerKey(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const keys, each = 20, 200
	var all []*ingest.Output
	for i := range keys * each {
		all = append(all, &ingest.Output{Key: fmt.Appendf(nil, "k%d", i%keys), Value: fmt.Appendf(nil, "%06d", i)})
	}
	m := c.start(handle(echo))
	for i := 0; i < len(all); i += 500 {
		c.send(all[i : i+500]...)
	}
	c.awaitAnswers(keys * each)
	m.stop()
	last, place := make(map[string]string), make(map[string]int)
	for _, x := range c.read(c.out) {
		if last[x.key] >= x.value {
			t.Fatalf("%s: %s comes after %s", x.key, x.value, last[x.key])
		}
		if p, ok := place[x.key]; ok && p != x.partition {
			t.Fatalf("%s is in partitions %d and %d", x.key, p, x.partition)
		}
		last[x.key], place[x.key] = x.value, x.partition
	}
	for _, x := range c.read(c.in) {
		if place[x.key] != x.partition {
			t.Errorf("%s is in partition %d, its answers in %d", x.key, x.partition, place[x.key])
		}
	}
}

// TestDrainRepeatsNothing stops a consumer in the middle of a stream: what it
// answered is committed, and the next one goes on from there.
func TestDrainRepeatsNothing(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	const n = 10_000
	c.send(numbered(0, n)...)
	for _, until := range []int64{n / 10, n / 2, n} {
		m := c.start(handle(echo))
		c.awaitAnswers(until)
		m.stop()
	}
	c.wantAll(n, true)
	if diff := cmp.Diff(c.ends(c.in), c.committed()); diff != "" {
		t.Errorf("committed offsets: -want +got\n%s", diff)
	}
}

func TestMissingTopicIsNamed(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	m := c.start(handle(echo), func(cfg *ingest.Config) { cfg.Output = "no-such-topic" })
	<-m.done
	var missing *ingest.MissingTopicsError
	if !errors.As(m.err, &missing) || !cmp.Equal(missing.Topics, []string{"no-such-topic"}) {
		t.Fatalf("Run returns %v, want a *MissingTopicsError naming the topic", m.err)
	}
	if m.isReady() {
		t.Error("it is ready")
	}
}

func TestCreateTopicsKeepsWhatIs(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	if err := c.client.CreateTopics(t.Context(), ingest.Topic{Name: c.in, Partitions: 9}); err != nil {
		t.Fatal(err)
	}
	if got := len(c.ends(c.in)); got != testPartitions {
		t.Errorf("%d partitions, want %d", got, testPartitions)
	}
	if err := c.client.CheckTopics(t.Context(), c.in, c.out); err != nil {
		t.Error(err)
	}
	err := c.client.CreateTopics(t.Context(), ingest.Topic{Name: c.group + "-twice"},
		ingest.Topic{Name: c.group + "-twice"})
	if err == nil || !strings.Contains(err.Error(), c.group+"-twice") {
		t.Errorf("CreateTopics of a topic twice returns %v, want an error that names the topic", err)
	}
}
