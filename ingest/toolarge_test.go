package ingest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kerr"
	"github.com/twmb/franz-go/pkg/kfake"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
)

// smallDeadLetters has the dead letters go to a topic that takes only batches of this size.
func (c *cluster) smallDeadLetters(limit int) {
	c.Helper()
	c.dlq += "-small"
	if err := c.client.CreateTopics(c.Context(),
		ingest.Topic{Name: c.dlq, Partitions: testPartitions, MaxMessageBytes: limit}); err != nil {
		c.Fatal(err)
	}
}

// TestDeadLetterWithoutMessage: a dead letter that its topic refuses as too large is written without the message, those
// of the same batch with it, and no partition waits.
func TestDeadLetterWithoutMessage(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.smallDeadLetters(1000)
	messages := numbered(0, 20)
	messages[7].Value, messages[9].Value = []byte("!"+noise(5000)), []byte("!small")
	messages[7].AddHeader("trace", noise(2000))
	c.send(messages...)
	m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		if r.Value[0] == '!' {
			return &msg.Error{Reason: msg.NotJSON}
		}
		return echo(r, out)
	}))
	c.awaitAnswers(20)
	m.stop()
	dead := map[string]message{}
	for _, x := range c.read(c.dlq) {
		dead[x.key] = x
	}
	x := dead["k7"]
	if len(dead) != 2 || dead["k9"].value != "!small" || x.value != "" || x.null ||
		x.headers["dlq-reason"] != "not_json" || x.headers["dlq-size"] != "5003" ||
		x.headers["dlq-lost-offsets"] != "1" || !strings.Contains(x.headers["dlq-detail"], "left out") {
		t.Errorf("dead letters %v", dead)
	}
	if got := m.metric("permanent_errors_total", "10"); got != 0 {
		t.Errorf("a partition was blocked %v times", got)
	}
}

// TestDeadLetterTooLarge: if a dead letter without its message is refused too, here because of its key, one partition
// waits, the others go on in the same generation, and raising the limit sets it free.
func TestDeadLetterTooLarge(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	raise := func(value string) {
		t.Helper()
		res, err := c.kafka.IncrementalAlterConfigs(t.Context(),
			&kafka.IncrementalAlterConfigsRequest{Resources: []kafka.IncrementalAlterConfigsRequestResource{{
				ResourceType: kafka.ResourceTypeTopic, ResourceName: c.dlq,
				Configs: []kafka.IncrementalAlterConfigsRequestConfig{
					{Name: "max.message.bytes", Value: value, ConfigOperation: kafka.ConfigOperationSet},
				},
			}}})
		if err != nil || res.Resources[0].Error != nil {
			t.Fatal(err, res)
		}
	}
	const stallTimeout = 5 * time.Second // brokers on a busy machine take one for the first letter
	c.smallDeadLetters(1000)
	m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		if len(r.Value) > 1000 {
			return &msg.Error{Reason: msg.TooLarge, Field: "text"}
		}
		return echo(r, out)
	}), func(cfg *ingest.Config) { cfg.Stall(stallTimeout) })
	c.send(&ingest.Output{Key: []byte("zeros"), Value: make([]byte, 5000)}) // compresses: no trouble
	var beside []*ingest.Output                                             // letters of the same batch
	for i := range 32 {
		beside = append(beside, &ingest.Output{Key: fmt.Appendf(nil, "beside%d", i), Value: make([]byte, 1001)})
	}
	c.awaitAnswers(1)
	long := &ingest.Output{Key: []byte(noise(3000)), Value: make([]byte, 1001)}
	c.send(slices.Insert(beside, len(beside)/2, long)...)
	c.await("a blocked partition", func() bool {
		return m.metric("blocked_partitions") == 1 && m.metric("permanent_errors_total", "10") > 0
	})
	blocked := time.Now()
	if age := m.metric("oldest_unanswered_seconds"); age <= 0 || age > 60 {
		t.Errorf("the record that waits is %v s old", age)
	}
	c.await("the stall timeout and more", func() bool { return time.Since(blocked) > stallTimeout*5/4 })
	if got := m.metric("stalls_total"); got != 0 {
		t.Errorf("the generation was left %v times for a blocked partition", got)
	}
	before := sum(c.ends(c.out))
	c.send(numbered(0, 100)...)
	c.await("answers of the other partitions", func() bool { return sum(c.ends(c.out)) >= before+50 })
	raise("10000")
	c.awaitAnswers(int64(102 + len(beside)))
	m.stop()
	if got := m.metric("blocked_partitions"); got != 0 {
		t.Errorf("blocked_partitions is %v", got)
	}
	if !strings.Contains(m.log.String(), "should take larger messages") {
		t.Errorf("the limit was not warned of at the start:\n%s", m.log)
	}
	if !strings.Contains(m.log.String(), "reason=too_large field=text stage=decode") {
		t.Errorf("the log does not name the wrong field:\n%s", m.log)
	}
	dead := count(c.read(c.dlq))
	for key, times := range dead {
		if times != 1 {
			t.Errorf("%d dead letters of %s", times, key)
		}
	}
	if len(dead) != 2+len(beside) {
		t.Errorf("dead letters %v", dead)
	}
}

// TestLimitOfANewTopic: the broker that is asked for the limits may not know
// of the topic yet.
func TestLimitOfANewTopic(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	c.smallDeadLetters(1000)
	fault := c.fake.Fault(kfake.Fault{
		Keys: []kmsg.Key{kmsg.DescribeConfigs}, Resource: c.dlq, Err: kerr.UnknownTopicOrPartition, Count: 2,
	})
	m := c.start(handle(echo))
	c.await("the group", m.isReady)
	m.stop()
	if fault.Hits() != 2 || !strings.Contains(m.log.String(), "should take larger messages") {
		t.Errorf("after %d answers of a broker that does not know the topic the limit was not warned of:\n%s",
			fault.Hits(), m.log)
	}
}

func TestAnswerTooLargeIsADeadLetter(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	c.send(numbered(0, 100)...)
	m := c.start(handle(func(r *ingest.Record, out *ingest.Output) error {
		if string(r.Key) == "k7" || string(r.Key) == "k8" {
			out.Key, out.Value = r.Key, []byte(noise(2<<20))
			return nil
		}
		return echo(r, out)
	}))
	c.await("all answers", func() bool { return len(count(append(c.read(c.out), c.read(c.dlq)...))) == 100 })
	m.stop()
	for _, x := range c.read(c.dlq) {
		if x.headers["dlq-reason"] != "scoring_failed" || x.headers["dlq-stage"] != "produce" ||
			!strings.HasPrefix(x.value, "value ") {
			t.Errorf("dead letter %s: %.20q, headers %v", x.key, x.value, x.headers)
		}
	}
	c.wantAll(100, true)
}
