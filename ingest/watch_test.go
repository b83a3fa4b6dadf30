package ingest_test

import (
	"slices"
	"testing"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
)

// watchOften looks at the number of partitions more often than a site does.
func watchOften(cfg *ingest.Config) { cfg.Watch(100 * time.Millisecond) }

// addPartitions gives the input two more.
func (c *cluster) addPartitions() error {
	res, err := c.kafka.CreatePartitions(c.Context(),
		&kafka.CreatePartitionsRequest{Topics: []kafka.TopicPartitionsConfig{{Name: c.in, Count: testPartitions + 2}}})
	if err != nil {
		return err
	}
	return res.Errors[c.in]
}

// TestPartitionsAreAdded: both members of a group get some, though one of them shares them out.
func TestPartitionsAreAdded(t *testing.T) {
	t.Parallel()
	c := newCluster(t)
	members := []*member{c.start(handle(echo), watchOften), c.start(handle(echo), watchOften)}
	assigned := func(each float64) func() bool {
		return func() bool {
			return !slices.ContainsFunc(members,
				func(m *member) bool { return m.metric("assigned_partitions") != each })
		}
	}
	c.await("both members", assigned(testPartitions/2))
	c.send(numbered(0, 100)...)
	c.awaitAnswers(100)
	if err := c.addPartitions(); err != nil {
		t.Fatal(err)
	}
	c.await("the new partitions", assigned(testPartitions/2+1))
	c.await("the new partitions in the metadata", func() bool { return len(c.ends(c.in)) == testPartitions+2 })
	fresh, err := ingest.NewClient(c.conn)
	if err != nil {
		t.Fatal(err)
	}
	defer fresh.Close()
	if err := ingest.NewProducer(fresh, discard).Produce(t.Context(), c.in, numbered(100, 1000)); err != nil {
		t.Fatal(err)
	}
	c.awaitAnswers(1000)
	for _, m := range members {
		m.stop()
	}
	if ends := c.ends(c.in); slices.Min(ends[testPartitions:]) == 0 {
		t.Fatalf("nothing was written to the new partitions: %v", ends)
	}
	c.wantAll(1000, true)
}

// TestPartitionsAreAddedWhileJoining adds partitions when those there were are
// shared out and not yet assigned.
func TestPartitionsAreAddedWhileJoining(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	added := make(chan error, 1)
	c.fake.ControlKey(int16(kmsg.SyncGroup), func(kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.SleepControl(func() { added <- c.addPartitions() })
		return nil, nil, false
	})
	m := c.start(handle(echo), watchOften)
	c.await("the first join", func() bool { return len(added) == 1 })
	if err := <-added; err != nil {
		t.Fatal(err)
	}
	c.await("the new partitions", func() bool { return m.metric("assigned_partitions") == testPartitions+2 })
	m.stop()
}

// TestTopicIsMadeAnew deletes the input beneath a member: once the topic is
// there again, and holds more than was read of the former one, all of it is
// answered.
func TestTopicIsMadeAnew(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	m := c.start(handle(echo), watchOften)
	c.await("the partitions", func() bool { return m.metric("assigned_partitions") == testPartitions })
	c.send(numbered(0, 100)...)
	c.awaitAnswers(100)
	if err := c.client.DeleteTopics(t.Context(), c.in); err != nil {
		t.Fatal(err)
	}
	c.await("none without the topic", func() bool { return m.metric("assigned_partitions") == 0 })
	if err := c.client.CreateTopics(t.Context(), ingest.Topic{Name: c.in, Partitions: testPartitions}); err != nil {
		t.Fatal(err)
	}
	c.await("the topic in the metadata", func() bool { return len(c.ends(c.in)) == testPartitions })
	c.send(numbered(100, 1000)...)
	c.awaitAnswers(1000)
	m.stop()
	c.wantAll(1000, false)
}
