package process_test

import (
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/hl7"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

// TestApacheKafka runs a bridge on a real cluster. If WARDCAST_KAFKA_CTL can stop its brokers, two of three are stopped
// in between, which leaves fewer replicas in sync than the topics require: nothing is acknowledged, nothing is lost,
// and nothing is there twice.
func TestApacheKafka(t *testing.T) {
	brokers, ctl := os.Getenv("WARDCAST_KAFKA"), os.Getenv("WARDCAST_KAFKA_CTL")
	if brokers == "" {
		t.Skip("WARDCAST_KAFKA is not set: no Apache Kafka")
	}
	// Not parallel: the other tests expect all brokers.
	h := newHospital(t)
	h.config.Kafka.Brokers = strings.Split(brokers, ",")
	own, topics := &h.config.Bridge.Topics, &h.config.Kafka.Topics
	for _, topic := range []*string{&topics.Notes, &topics.Outcomes, &own.DeadLetters, &own.Raw, &own.State} {
		*topic += fmt.Sprint(".", time.Now().UnixNano())
	}
	h.start(nil)
	const n = 300
	message := func(i int) string { return adt("A04", fmt.Sprint(i), fmt.Sprint("V", i), text+fall) }
	deliver := func(from, to int) {
		t.Helper()
		s := h.dial()
		for i := from; i < to; {
			code, control := s.ask(message(i), ingesttest.Patience)
			switch {
			case code == hl7.Accepted && control == fmt.Sprint(i):
				i++
			case code == "":
				s = h.dial() // closed: the sender repeats
			default:
				t.Fatalf("message %d is answered %s of %q", i, code, control)
			}
		}
	}
	run := func(args ...string) {
		t.Helper()
		if out, err := exec.CommandContext(t.Context(), ctl, args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	deliver(0, n/3)
	if ctl != "" {
		run("kill", "2")
		run("kill", "3")
		if code, _ := h.dial().ask(message(n/3), 3*time.Second); code != "" {
			t.Errorf("a message is answered %s by one replica of three", code)
		}
		run("up", "2")
		run("up", "3")
	}
	deliver(n/3-20, n) // some of them again
	visits, ids := map[string]bool{}, map[string]bool{}
	for _, r := range h.held(topics.Notes) {
		visits[string(r.Key)], ids[header(r, "ce_id")] = true, true
	}
	if len(visits) != n || len(ids) != n {
		t.Errorf("%d visits and %d ce_id in the topic, want %d of both", len(visits), len(ids), n)
	}
}

// A refused message that its topic does not take for its size is answered, and those beside it are kept.
func TestLargeRefusals(t *testing.T) {
	t.Parallel()
	h := newHospital(t)
	h.broker()
	client, err := ingest.NewClient(ingest.Connection{Brokers: h.config.Kafka.Brokers})
	if err != nil {
		t.Fatal(err)
	}
	defer client.Close()
	raw := ingest.Topic{Name: h.config.Bridge.Topics.Raw, MaxMessageBytes: 4 << 10}
	if err := client.CreateTopics(t.Context(), raw); err != nil {
		t.Fatal(err)
	}
	h.start(nil)
	s := h.dial()
	s.want(hl7.Failed, "1", adt("A04", "1", "", strings.Repeat("NTE|1|a remark\r", 1<<10)))
	s.want(hl7.Failed, "2", adt("A04", "2", "", ""))
	h.records(h.config.Bridge.Topics.DeadLetters, 2)
	h.records(raw.Name, 1)
}
