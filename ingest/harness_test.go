package ingest_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/segmentio/kafka-go"
	"github.com/twmb/franz-go/pkg/kfake"

	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/embedded"
	"github.com/wardcast/wardcast/ingest/ingesttest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(serveBrokerEnv); dir != "" {
		serveBroker(dir)
		return
	}
	ingesttest.Parallel(12)
	if os.Getenv("WARDCAST_KAFKA") != "" { // a real one has work of its own
		ingesttest.Parallel(10)
	}
	ingesttest.VerifyMain(m)
}

// cluster is what a test runs against: a broker in the process, or the real
// one of WARDCAST_KAFKA.
type cluster struct {
	*testing.T
	conn   ingest.Connection
	client *ingest.Client
	kafka  *kafka.Client
	fake   *kfake.Cluster // nil where the cluster is real
	in     string
	out    string
	dlq    string
	group  string
}

var discard = slog.New(slog.DiscardHandler)

const testPartitions = 4

// newCluster returns a cluster with topics of the test's own.
func newCluster(t *testing.T) *cluster {
	if brokers := os.Getenv("WARDCAST_KAFKA"); brokers != "" {
		return attach(t, ingest.Connection{Brokers: strings.Split(brokers, ",")}, nil)
	}
	return newFake(t)
}

// newFake returns a cluster in the process, for tests that inject faults.
func newFake(t *testing.T, opts ...kfake.Opt) *cluster {
	t.Helper()
	opts = append([]kfake.Opt{
		kfake.NumBrokers(1),
		kfake.BrokerConfigs(map[string]string{"default.replication.factor": "1"}),
	}, opts...)
	fake, err := kfake.NewCluster(opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(fake.Close)
	embedded.LimitRebalances(fake)
	return attach(t, ingest.Connection{Brokers: fake.ListenAddrs()}, fake)
}

func attach(t *testing.T, conn ingest.Connection, fake *kfake.Cluster) *cluster {
	t.Helper()
	client, err := ingest.NewClient(conn)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(client.Close)
	client.Hurry(fake != nil)
	transport := &kafka.Transport{MetadataTTL: time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	name := fmt.Sprintf("test-%s-%d", strings.ToLower(strings.ReplaceAll(t.Name(), "/", "-")), time.Now().UnixNano())
	c := &cluster{
		T: t, conn: conn, client: client, fake: fake,
		kafka: &kafka.Client{Addr: kafka.TCP(conn.Brokers...), Timeout: 10 * time.Second, Transport: transport},
		in:    name + "-in", out: name + "-out", dlq: name + "-dlq", group: name,
	}
	err = client.CreateTopics(t.Context(),
		ingest.Topic{Name: c.in, Partitions: testPartitions, MaxMessageBytes: 4 << 20},
		ingest.Topic{Name: c.out, Partitions: testPartitions},
		ingest.Topic{Name: c.dlq, Partitions: testPartitions, MaxMessageBytes: ingest.DeadLetterMaxMessageBytes})
	if err != nil {
		t.Fatal(err)
	}
	if fake == nil {
		t.Cleanup(func() {
			_ = client.DeleteTopics(context.WithoutCancel(t.Context()), c.in, c.out, c.dlq)
		})
	}
	return c
}

// handle is a handler from a function.
type handle func(r *ingest.Record, out *ingest.Output) error

func (h handle) NewWorker() ingest.Worker { return h }

func (h handle) Handle(r *ingest.Record, out *ingest.Output) error { return h(r, out) }

// echo answers with the record itself.
func echo(r *ingest.Record, out *ingest.Output) error {
	out.Key = r.Key
	out.Value = append(out.Value, r.Value...)
	out.AddHeader("ce_id", string(r.Key))
	return nil
}

// member is a running consumer.
type member struct {
	*ingest.Consumer
	c        *cluster
	registry *prometheus.Registry
	cancel   context.CancelFunc
	done     chan struct{}
	err      error
	log      *ingesttest.Log
}

// start runs a consumer until stop or the end of the test.
func (c *cluster) start(h ingest.Handler, change ...func(*ingest.Config)) *member {
	c.Helper()
	m := &member{c: c, registry: prometheus.NewRegistry(), done: make(chan struct{}), log: &ingesttest.Log{}}
	cfg := ingest.Config{
		Connection: c.conn, Group: c.group, Input: c.in, Output: c.out, DeadLetters: c.dlq, Handler: h,
		Logger: slog.New(slog.NewTextHandler(m.log, nil)), Registerer: m.registry,
	}
	for _, f := range change {
		f(&cfg)
	}
	var err error
	if m.Consumer, err = ingest.New(cfg); err != nil {
		c.Fatal(err)
	}
	m.Hurry(c.fake != nil)
	var ctx context.Context
	ctx, m.cancel = context.WithCancel(context.WithoutCancel(c.Context()))
	go func() {
		defer close(m.done)
		m.err = m.Run(ctx)
	}()
	c.Cleanup(func() {
		m.cancel()
		<-m.done
		if c.Failed() {
			c.Logf("log of the consumer:\n%s", m.log)
		}
	})
	return m
}

func (m *member) isReady() bool { return m.Check() == nil }

// stop drains the consumer.
func (m *member) stop() {
	m.c.Helper()
	m.cancel()
	<-m.done
	if m.err != nil {
		m.c.Errorf("Run: %v", m.err)
	}
}

// metric returns the sum of a metric's values, only of those with the label value if one is given.
func (m *member) metric(name string, label ...string) float64 {
	m.c.Helper()
	return ingesttest.Metric(m.c, m.registry, "wardcast_ingest_"+name, label...)
}

// logged returns how many lines of the log match a pattern, and the sum of the numbers that it captures.
func (m *member) logged(pattern string) (lines, sum int) {
	m.c.Helper()
	found := regexp.MustCompile(pattern).FindAllStringSubmatch(m.log.String(), -1)
	for _, line := range found {
		n, err := strconv.Atoi(line[1])
		if err != nil {
			m.c.Fatal(err)
		}
		sum += n
	}
	return len(found), sum
}

// await returns when f is true.
func (c *cluster) await(what string, f func() bool) {
	c.Helper()
	ingesttest.Await(c, what, f)
}

// send produces messages to the input topic.
func (c *cluster) send(messages ...*ingest.Output) {
	c.Helper()
	if err := ingest.NewProducer(c.client, slog.New(slog.DiscardHandler)).Produce(c.Context(), c.in,
		messages); err != nil {
		c.Fatal(err)
	}
}

// numbered returns messages n to m-1, with the keys k<i>.
func numbered(n, m int) []*ingest.Output {
	var all []*ingest.Output
	for i := n; i < m; i++ {
		all = append(all, &ingest.Output{Key: fmt.Appendf(nil, "k%d", i), Value: fmt.Appendf(nil, "value %d", i)})
	}
	return all
}

// message is one that was read back.
type message struct {
	key, value string
	null       bool
	headers    map[string]string
	partition  int
	offset     int64
}

// read returns all messages of a topic in the order of partition and offset.
func (c *cluster) read(topic string) []message {
	c.Helper()
	var all []message
	for p, end := range c.ends(topic) {
		for offset := int64(0); offset < end; {
			var res *kafka.FetchResponse
			c.patiently("reading", func() (err error) {
				res, err = c.kafka.Fetch(c.Context(), &kafka.FetchRequest{
					Topic: topic, Partition: p, Offset: offset,
					MinBytes: 1, MaxBytes: 16 << 20, MaxWait: 100 * time.Millisecond,
				})
				if err == nil {
					err = res.Error
				}
				return err
			})
			before := offset
			for {
				r, err := res.Records.ReadRecord()
				if errors.Is(err, io.EOF) {
					break
				}
				if err != nil {
					c.Fatal(err)
				}
				if r.Offset < before {
					continue
				}
				key, _ := kafka.ReadAll(r.Key)
				value, _ := kafka.ReadAll(r.Value)
				m := message{
					key: string(key), value: string(value), null: value == nil, headers: map[string]string{},
					partition: p, offset: r.Offset,
				}
				for _, h := range r.Headers {
					m.headers[h.Key] = string(h.Value)
				}
				all = append(all, m)
				offset = r.Offset + 1
			}
			if offset == before {
				offset++ // a transaction's marker
			}
		}
	}
	return all
}

// ends returns the offset after the last message of each partition.
func (c *cluster) ends(topic string) []int64 {
	c.Helper()
	var meta *kafka.MetadataResponse
	c.patiently("reading metadata", func() (err error) {
		meta, err = c.kafka.Metadata(c.Context(), &kafka.MetadataRequest{Topics: []string{topic}})
		if err == nil {
			err = meta.Topics[0].Error
		}
		return err
	})
	ends := make([]int64, len(meta.Topics[0].Partitions))
	var requests []kafka.OffsetRequest
	for i := range ends {
		requests = append(requests, kafka.LastOffsetOf(i))
	}
	c.patiently("listing offsets", func() error {
		res, err := c.kafka.ListOffsets(c.Context(),
			&kafka.ListOffsetsRequest{Topics: map[string][]kafka.OffsetRequest{topic: requests}})
		if err != nil {
			return err
		}
		for _, p := range res.Topics[topic] {
			if p.Error != nil {
				return p.Error
			}
			ends[p.Partition] = p.LastOffset
		}
		return nil
	})
	return ends
}

// patiently calls f until it succeeds: a broker may be away for a while.
func (c *cluster) patiently(what string, f func() error) {
	c.Helper()
	var err error
	defer func() {
		if err != nil {
			c.Logf("%s: %v", what, err)
		}
	}()
	c.await(what, func() bool { err = f(); return err == nil })
}

// metadata returns what the cluster says of the test's topics.
func (c *cluster) metadata() (*kafka.MetadataResponse, error) {
	return c.kafka.Metadata(c.Context(), &kafka.MetadataRequest{Topics: []string{c.in, c.out, c.dlq}})
}

// committed returns the group's offset for each partition of the input, -1
// if there is none.
func (c *cluster) committed() []int64 {
	c.Helper()
	ends := c.ends(c.in)
	ids := make([]int, len(ends))
	for i := range ids {
		ids[i] = i
	}
	var res *kafka.OffsetFetchResponse
	c.patiently("reading the group's offsets", func() (err error) {
		res, err = c.kafka.OffsetFetch(c.Context(),
			&kafka.OffsetFetchRequest{GroupID: c.group, Topics: map[string][]int{c.in: ids}})
		if err == nil {
			err = res.Error
		}
		return err
	})
	offsets := make([]int64, len(ends))
	for _, p := range res.Topics[c.in] {
		offsets[p.Partition] = p.CommittedOffset
	}
	return offsets
}

// awaitAnswers returns when the output and the dead letters hold n messages.
func (c *cluster) awaitAnswers(n int64) {
	c.Helper()
	c.await(strconv.FormatInt(n, 10)+" answers", func() bool { return sum(c.ends(c.out))+sum(c.ends(c.dlq)) >= n })
}

func sum(xs []int64) (s int64) {
	for _, x := range xs {
		s += x
	}
	return s
}

// count returns how often each key occurs.
func count(messages []message) map[string]int {
	n := make(map[string]int)
	for _, m := range messages {
		n[m.key]++
	}
	return n
}

// wantAll fails unless each key from k0 to k<n-1> was answered; where once is
// set, exactly once.
func (c *cluster) wantAll(n int, once bool) {
	c.Helper()
	answered := count(append(c.read(c.out), c.read(c.dlq)...))
	lost, repeats := 0, 0
	for i := range n {
		switch k := answered["k"+strconv.Itoa(i)]; {
		case k == 0:
			lost++
		case k > 1:
			repeats += k - 1
		}
	}
	if lost > 0 || once && repeats > 0 {
		c.Errorf("of %d records %d are lost and %d answered again, want none", n, lost, repeats)
	}
	if len(answered) > n {
		c.Errorf("%d keys answered, want %d", len(answered), n)
	}
}
