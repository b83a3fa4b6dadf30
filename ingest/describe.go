package ingest

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/describegroups"
	"github.com/segmentio/kafka-go/protocol/metadata"
)

// Settings of topics, by their names in Kafka.
const (
	MaxMessageBytes = "max.message.bytes"
	CleanupPolicy   = "cleanup.policy"
	Retention       = "retention.ms"
)

// TopicState is what the brokers say about a topic that exists.
type TopicState struct {
	Partitions int
	Copies     int               // of the partition that has the fewest
	Settings   map[string]string // those above; empty if the user may not see them
	Allowed    Operations
}

// Operations are the operations of Kafka's ACLs that the user may do.
type Operations int32

// The codes of operations that Kafka gives as bits.
const (
	Read  = 3
	Write = 4
)

// Has reports whether the user may do an operation. Brokers that do not say it (before Kafka 2.3) count as allowing it.
func (o Operations) Has(code int) bool { return o == math.MinInt32 || o&(1<<code) != 0 }

// Describe returns the state of the topics that exist. A topic that the user may not see allows nothing, and has no
// partitions.
func (c *Client) Describe(ctx context.Context, names ...string) (map[string]*TopicState, error) {
	m, err := c.metadata(ctx, names)
	if err != nil {
		return nil, fmt.Errorf("reading metadata from %s: %w", c.kafka.Addr, err)
	}
	states := make(map[string]*TopicState, len(names))
	var visible []string
	for i := range m.Topics {
		t := &m.Topics[i]
		switch code := kafka.Error(t.ErrorCode); code {
		case 0:
			s := &TopicState{
				Partitions: len(t.Partitions), Copies: math.MaxInt, Allowed: Operations(t.TopicAuthorizedOperations),
			}
			for j := range t.Partitions {
				s.Copies = min(s.Copies, len(t.Partitions[j].ReplicaNodes))
			}
			states[t.Name], visible = s, append(visible, t.Name)
		case kafka.TopicAuthorizationFailed:
			states[t.Name] = &TopicState{}
		case kafka.UnknownTopicOrPartition:
		default:
			return nil, fmt.Errorf("reading metadata of topic %q: %w", t.Name, code)
		}
	}
	settings, err := c.settings(ctx, visible, MaxMessageBytes, CleanupPolicy, Retention)
	for name, s := range settings {
		states[name].Settings = s
	}
	return states, err
}

// metadata asks the first broker that answers: kafka-go's transport answers from what it knows, without operations.
func (c *Client) metadata(ctx context.Context, names []string) (*metadata.Response, error) {
	const version = 8 // the first with operations
	ask := func(broker string) (*metadata.Response, error) {
		conn, err := c.dialer.dial(ctx, "tcp", broker)
		if err != nil {
			return nil, err
		}
		defer func() { _ = conn.Close() }()
		if err := conn.SetDeadline(time.Now().Add(requestTimeout)); err != nil {
			return nil, err
		}
		res, err := protocol.RoundTrip(conn, version, 1, clientID,
			&metadata.Request{TopicNames: names, IncludeTopicAuthorizedOperations: true})
		if m, ok := res.(*metadata.Response); ok {
			return m, nil
		}
		return nil, err
	}
	var errs []error
	for _, broker := range c.dialer.conn.Brokers {
		m, err := ask(broker)
		if err == nil {
			return m, nil
		}
		errs = append(errs, err)
	}
	return nil, errors.Join(errs...)
}

// GroupOperations returns what the user may do with a consumer group. It asks again for a few seconds while a new
// cluster finds the group's coordinator.
func (c *Client) GroupOperations(ctx context.Context, group string) (Operations, error) {
	for attempt := 1; ; attempt++ {
		allowed, err := c.groupOperations(ctx, group)
		code, ok := errors.AsType[kafka.Error](err)
		switch {
		case err == nil:
			return allowed, nil
		case code == kafka.GroupAuthorizationFailed:
			return 0, nil
		case !ok || !code.Temporary() || attempt == c.pauses.lookups:
			return 0, fmt.Errorf("reading what may be done with group %q: %w", group, err)
		}
		if err := pause(ctx, attempt); err != nil {
			return 0, err
		}
	}
}

func (c *Client) groupOperations(ctx context.Context, group string) (Operations, error) {
	res, err := c.transport.RoundTrip(ctx, c.kafka.Addr,
		&describegroups.Request{Groups: []string{group}, IncludeAuthorizedOperations: true})
	if err != nil {
		return 0, err
	}
	groups, ok := res.(*describegroups.Response)
	if !ok || len(groups.Groups) != 1 {
		return 0, errors.New("no answer for the group")
	}
	if code := kafka.Error(groups.Groups[0].ErrorCode); code != 0 {
		return 0, code
	}
	return Operations(groups.Groups[0].AuthorizedOperations), nil
}
