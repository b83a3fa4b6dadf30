package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"github.com/wardcast/wardcast/ingest/recordset"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/wait"
)

const (
	// requestTimeout bounds one request and its answer. The broker gets half of it, so that it gives up first.
	requestTimeout = 10 * time.Second
	// metadataTTL bounds how long requests go to a broker that no longer leads its partition.
	metadataTTL = 2 * time.Second

	minBackoff = 50 * time.Millisecond
	maxBackoff = time.Second
)

// Client talks to a cluster over connections that all its users share. It is safe for concurrent use.
type Client struct {
	kafka     *kafka.Client
	transport *kafka.Transport
	dialer    *dialer
	pauses    pauses
	buffers   sync.Pool // of responses to fetches, as *[]byte
	readers   sync.Pool // as *recordset.Reader
}

// NewClient returns a client; it reads the files of conn but does not connect. Without topics it requests metadata of
// all topics of the cluster about every second while in use.
func NewClient(conn Connection, topics ...string) (*Client, error) {
	d, err := newDialer(conn)
	if err != nil {
		return nil, err
	}
	return newClient(d, topics), nil
}

func newClient(d *dialer, topics []string) *Client {
	t := &kafka.Transport{
		Dial: d.dial, DialTimeout: 2 * dialTimeout, MetadataTTL: metadataTTL, MetadataTopics: topics,
		ClientID: clientID,
	}
	return &Client{
		kafka:     &kafka.Client{Addr: kafka.TCP(d.conn.Brokers...), Timeout: requestTimeout, Transport: t},
		transport: t, dialer: d,
		pauses: pauses{permanent: 5 * time.Second, backlog: 5 * time.Second, follow: 5 * time.Second, lookups: 7},
	}
}

// Close closes the connections that no request uses.
func (c *Client) Close() { c.transport.CloseIdleConnections() }

// Probe returns nil if a broker answers.
func (c *Client) Probe(ctx context.Context) error { return c.dialer.probe(ctx) }

// Await waits until a broker answers, and logs why it waits. It returns an error that waiting cannot cure (refused
// credentials, an invalid certificate), or that of ctx.
func (c *Client) Await(ctx context.Context, log *slog.Logger) error {
	for attempt := 0; ; attempt++ {
		err := c.dialer.probe(ctx)
		if err == nil || hopeless(err) {
			return err
		}
		if attempt%10 == 0 {
			log.Warn("waiting for kafka", "err", err)
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// pause waits before another attempt: twice as long each time up to maxBackoff, less a random part of up to half.
func pause(ctx context.Context, attempt int) error {
	d := maxBackoff
	if attempt < 16 {
		d = min(minBackoff<<attempt, maxBackoff)
	}
	//nolint:gosec // Jitter needs no unpredictable numbers and no seed: nothing depends on it but the pause.
	_ = wait.For(ctx, d-rand.N(d/2+1))
	return ctx.Err()
}

// pauses are waiting times, shorter in tests.
type pauses struct {
	permanent time.Duration // after an error that somebody must fix
	backlog   time.Duration // before ends that no fetch reported are read again
	follow    time.Duration // between counts of a followed topic's partitions; longer than metadataTTL
	// lookups is how often a topic is looked up, with growing pauses, before it counts as missing: brokers learn of a
	// new topic at different times. 7 take about three seconds.
	lookups int
}

// permanent reports whether an error lasts until somebody fixes a permission, a topic or a message.
func permanent(err error) bool {
	if _, old := errors.AsType[recordset.FormatError](err); old {
		return true
	}
	code, ok := errors.AsType[kafka.Error](err)
	switch code {
	case kafka.Unknown, kafka.OffsetOutOfRange, kafka.BrokerNotAvailable, kafka.ReplicaNotAvailable:
		return false // although kafka-go calls them permanent
	}
	return ok && !code.Temporary()
}

// noPartition reports whether a topic or partition does not exist, according to the transport or a broker.
func noPartition(err error) bool {
	return errors.Is(err, protocol.ErrNoTopic) || errors.Is(err, protocol.ErrNoPartition) ||
		errors.Is(err, kafka.UnknownTopicOrPartition)
}

// absent explains the error of a request for a partition: brokers hide a topic from users who may not see it.
func (c *Client) absent(ctx context.Context, topic string, err error) error {
	if !noPartition(err) {
		return err
	}
	_, why := c.partitions(ctx, topic)
	return cmp.Or(why, err)
}

// again logs a failed attempt and waits before the next. It does not log the first few, within which a new leader is
// found, and later only every tenth.
func again(ctx context.Context, attempt int, err error, log *slog.Logger, what string) error {
	if attempt%10 == 5 {
		log.Warn(what, "attempt", attempt, "err", err) //nolint:sloglint // all callers give a literal
	}
	return pause(ctx, attempt)
}

// Topic is a topic to be created.
type Topic struct {
	Name            string
	Partitions      int  // 0 is DefaultPartitions
	MaxMessageBytes int  // of the largest batch; 0 leaves it to the cluster
	Compacted       bool // keep the last record of each key for ever, rather than all records for a while
}

const (
	// DefaultPartitions is how many partitions a topic gets.
	DefaultPartitions = 4
	// DeadLetterMaxMessageBytes is the limit for a topic of dead letters, which are records with more headers: it must
	// exceed that of any topic that feeds it, 1 MiB by default.
	DeadLetterMaxMessageBytes = 8 << 20
)

// CreateTopics creates the topics that do not exist. It is no error if all exist and the user may not create any.
func (c *Client) CreateTopics(ctx context.Context, topics ...Topic) error {
	req := &kafka.CreateTopicsRequest{}
	var names []string
	for _, t := range topics {
		names = append(names, t.Name)
		k := kafka.TopicConfig{
			Topic: t.Name, NumPartitions: cmp.Or(t.Partitions, DefaultPartitions), ReplicationFactor: -1,
		}
		if t.MaxMessageBytes > 0 {
			k.ConfigEntries = append(k.ConfigEntries,
				kafka.ConfigEntry{ConfigName: "max.message.bytes", ConfigValue: strconv.Itoa(t.MaxMessageBytes)})
		}
		if t.Compacted {
			k.ConfigEntries = append(k.ConfigEntries,
				kafka.ConfigEntry{ConfigName: "cleanup.policy", ConfigValue: "compact"})
		}
		req.Topics = append(req.Topics, k)
	}
	fresh := newClient(c.dialer, names)
	defer fresh.Close()
	res, err := fresh.kafka.CreateTopics(ctx, req)
	if err != nil {
		return fmt.Errorf("creating topics: %w", err)
	}
	for name, err := range res.Errors {
		res.Errors[name] = denied(err, "Create", "topic", name)
	}
	err = failed("creating", res.Errors, kafka.TopicAlreadyExists)
	if _, ok := errors.AsType[*DeniedError](err); ok && c.CheckTopics(ctx, names...) == nil {
		return nil
	}
	return err
}

// EnsureTopics waits for a broker and creates the topics that do not exist. It logs why it waits.
func (c *Client) EnsureTopics(ctx context.Context, log *slog.Logger, topics ...Topic) error {
	if err := c.Await(ctx, log); err != nil {
		return fmt.Errorf("waiting for a broker: %w", err)
	}
	for {
		err := c.CreateTopics(ctx, topics...)
		var passing interface{ Temporary() bool }
		if !errors.As(err, &passing) || !passing.Temporary() {
			return err
		}
		// A cluster that has just started has no controller yet.
		log.WarnContext(ctx, "cannot create the topics yet", "err", err)
		if !wait.For(ctx, time.Second) {
			return ctx.Err()
		}
	}
}

// DeleteTopics deletes topics.
func (c *Client) DeleteTopics(ctx context.Context, names ...string) error {
	res, err := c.kafka.DeleteTopics(ctx, &kafka.DeleteTopicsRequest{Topics: names})
	if err != nil {
		return fmt.Errorf("deleting topics: %w", err)
	}
	return failed("deleting", res.Errors, nil)
}

// failed joins the errors of the topics, except the expected one.
func failed(doing string, topics map[string]error, expected error) error {
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(topics)) {
		if err := topics[name]; err != nil && !errors.Is(err, expected) {
			errs = append(errs, fmt.Errorf("%s topic %q: %w", doing, name, err))
		}
	}
	return errors.Join(errs...)
}

// MissingTopicsError names the topics that do not exist.
type MissingTopicsError struct{ Topics []string }

func (e *MissingTopicsError) Error() string {
	if len(e.Topics) == 1 {
		return fmt.Sprintf("topic %q does not exist", e.Topics[0])
	}
	return fmt.Sprintf("topics %s do not exist", strings.Join(e.Topics, ", "))
}

// settle asks which topics are missing until none is, or returns a *MissingTopicsError.
func (c *Client) settle(ctx context.Context, ask func() (missing []string, err error)) error {
	for attempt := 1; ; attempt++ {
		missing, err := ask()
		if err != nil || len(missing) == 0 {
			return err
		}
		if attempt == c.pauses.lookups {
			return &MissingTopicsError{Topics: missing}
		}
		if err := pause(ctx, attempt); err != nil {
			return err
		}
	}
}

// CheckTopics returns a *MissingTopicsError if a topic does not exist. It asks over fresh connections.
func (c *Client) CheckTopics(ctx context.Context, names ...string) error {
	_, err := c.existing(ctx, names...)
	return err
}

// existing returns the number of partitions of each topic, or a *MissingTopicsError. It asks over fresh connections.
func (c *Client) existing(ctx context.Context, names ...string) (counts map[string]int, err error) {
	err = c.settle(ctx, func() (missing []string, err error) {
		fresh := newClient(c.dialer, names)
		defer fresh.Close()
		counts, err = fresh.partitions(ctx, names...)
		return slices.DeleteFunc(slices.Clone(names), func(name string) bool { return counts[name] > 0 }), err
	})
	return counts, err
}

// found returns the number of partitions of a topic as existing does, and asks again until the brokers answer.
func (c *Client) found(ctx context.Context, topic string, log *slog.Logger) (int, error) {
	for attempt := 0; ; attempt++ {
		counts, err := c.existing(ctx, topic)
		_, missing := errors.AsType[*MissingTopicsError](err)
		if _, forbidden := errors.AsType[*DeniedError](err); err == nil || missing || forbidden {
			return counts[topic], err
		}
		if err := again(ctx, attempt, err, log, "cannot find the partitions of a topic"); err != nil {
			return 0, err
		}
	}
}

// partitions returns the number of partitions of each topic that exists, according to the transport.
func (c *Client) partitions(ctx context.Context, names ...string) (map[string]int, error) {
	m, err := c.kafka.Metadata(ctx, &kafka.MetadataRequest{Topics: names})
	if err != nil {
		return nil, fmt.Errorf("reading metadata from %s: %w", c.kafka.Addr, err)
	}
	counts := make(map[string]int, len(names))
	for _, t := range m.Topics {
		switch {
		case t.Error == nil:
			counts[t.Name] = len(t.Partitions)
		case !errors.Is(t.Error, kafka.UnknownTopicOrPartition):
			return nil, fmt.Errorf("reading metadata of topic %q: %w", t.Name,
				denied(t.Error, "Describe", "topic", t.Name))
		}
	}
	return counts, nil
}

// bounds returns the first offset of a partition, and the offset after its last readable record: an open transaction
// hides its records and all after them.
func (c *Client) bounds(ctx context.Context, topic string, partition int) (first, end int64, err error) {
	p, err := c.offsets(ctx, topic, kafka.ReadCommitted, kafka.FirstOffsetOf(partition), kafka.LastOffsetOf(partition))
	return p.FirstOffset, p.LastOffset, err
}

func (c *Client) offsets(ctx context.Context, topic string, level kafka.IsolationLevel, ask ...kafka.OffsetRequest,
) (kafka.PartitionOffsets, error) {
	res, err := c.kafka.ListOffsets(ctx,
		&kafka.ListOffsetsRequest{IsolationLevel: level, Topics: map[string][]kafka.OffsetRequest{topic: ask}})
	switch {
	case err != nil:
	case len(res.Topics[topic]) != 1:
		err = errors.New("no answer for the partition")
	default:
		err = res.Topics[topic][0].Error
	}
	if err != nil {
		return kafka.PartitionOffsets{}, fmt.Errorf("listing offsets: %w",
			denied(c.absent(ctx, topic, err), "Describe", "topic", topic))
	}
	return res.Topics[topic][0], nil
}

// Passed reports whether a group has committed all records before these offsets, by partition of a topic.
func (c *Client) Passed(ctx context.Context, group, topic string, ends []int64) (bool, error) {
	ask := lists.Make(len(ends), func(i int) int { return i })
	res, err := c.kafka.OffsetFetch(ctx,
		&kafka.OffsetFetchRequest{GroupID: group, Topics: map[string][]int{topic: ask}})
	if err == nil {
		err = res.Error
	}
	if err != nil {
		return false, fmt.Errorf("reading what group %q has committed: %w", group, denied(err, "Describe", "group", group))
	}
	passed := len(res.Topics[topic]) == len(ends)
	for _, p := range res.Topics[topic] {
		if p.Error != nil {
			return false, fmt.Errorf("reading what group %q has committed: %w", group, p.Error)
		}
		passed = passed && (ends[p.Partition] == 0 || p.CommittedOffset >= ends[p.Partition])
	}
	return passed, nil
}

// settings returns settings of topics by their names in Kafka, as far as they are visible, or a *MissingTopicsError.
func (c *Client) settings(ctx context.Context, topics []string, names ...string) (map[string]map[string]string, error) {
	req := &kafka.DescribeConfigsRequest{}
	found := make(map[string]map[string]string)
	for _, t := range topics {
		found[t] = make(map[string]string)
		req.Resources = append(req.Resources, kafka.DescribeConfigRequestResource{
			ResourceType: kafka.ResourceTypeTopic, ResourceName: t, ConfigNames: names,
		})
	}
	err := c.settle(ctx, func() (missing []string, err error) {
		res, err := c.kafka.DescribeConfigs(ctx, req)
		if err != nil {
			return nil, fmt.Errorf("reading settings of topics: %w", err)
		}
		for _, r := range res.Resources {
			if errors.Is(r.Error, kafka.UnknownTopicOrPartition) {
				missing = append(missing, r.ResourceName)
			}
			for _, e := range r.ConfigEntries {
				found[r.ResourceName][e.ConfigName] = e.ConfigValue
			}
		}
		return missing, nil
	})
	return found, err
}

// DeniedError names the permission that the brokers say the user lacks.
type DeniedError struct {
	Operation string // of Kafka's ACLs: Read, Write, Describe, Create
	Resource  string // topic or group
	Name      string
	Err       error // Kafka's
}

func (e *DeniedError) Error() string {
	return fmt.Sprintf("the brokers deny %s on %s %q: %v", e.Operation, e.Resource, e.Name, e.Err)
}

func (e *DeniedError) Unwrap() error { return e.Err }

// denied names the permission that a request requires, if err says that it is missing. It replaces Describe, which
// Kafka implies for those who may read or write a topic, by the one required.
func denied(err error, operation, resource, name string) error {
	if before, ok := errors.AsType[*DeniedError](err); ok {
		err = before.Err
	}
	if errors.Is(err, kafka.TopicAuthorizationFailed) || errors.Is(err, kafka.GroupAuthorizationFailed) {
		return &DeniedError{Operation: operation, Resource: resource, Name: name, Err: err}
	}
	return err
}
