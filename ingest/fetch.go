package ingest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/wardcast/wardcast/ingest/recordset"
)

const (
	fetchMaxWait = 500 * time.Millisecond // how long the broker holds a fetch until a record comes
	// readCommitted is the isolation level of all fetches: no records of open transactions, and a list of aborted ones.
	readCommitted = 1

	// maxRecordBytes is the largest record that the consumer reads: the default limit of a topic, which has room for a
	// text of msg.MaxText with each byte escaped, and all other fields.
	maxRecordBytes = 1 << 20
	maxReadBytes   = maxRecordBytes + 64<<10 // the same for other readers: dead letters have more headers
)

type want struct {
	topic     string
	partition int
	offset    int64
	maxBytes  int
	maxRecord int          // larger ones are lost
	alive     func() error // as in recordset.Limits
}

// fetched is what a fetch returned of one partition. It must be released.
type fetched struct {
	end     int64 // offset after the last readable record: those of open transactions come later
	high    int64 // offset after the last record
	empty   bool
	records *recordset.Reader
	buffer  []byte // that holds them
}

// rawFetch is a request whose answer holds the records as stored. kafka-go would decompress all of them at once.
type rawFetch struct {
	fetch.Request
	version int16
	client  *Client
}

// fetchResponse is a fetch.Response up to the length of its records, which are its end.
type fetchResponse struct {
	ThrottleTimeMs int32                `kafka:"min=v1,max=v11"`
	ErrorCode      int16                `kafka:"min=v7,max=v11"`
	SessionID      int32                `kafka:"min=v7,max=v11"`
	Topics         []fetchResponseTopic `kafka:"min=v0,max=v11"`

	buffer []byte // all of it
}

type fetchResponseTopic struct {
	Topic      string                   `kafka:"min=v0,max=v11"`
	Partitions []fetchResponsePartition `kafka:"min=v0,max=v11"`
}

type fetchResponsePartition struct {
	Partition            int32                       `kafka:"min=v0,max=v11"`
	ErrorCode            int16                       `kafka:"min=v0,max=v11"`
	HighWatermark        int64                       `kafka:"min=v0,max=v11"`
	LastStableOffset     int64                       `kafka:"min=v4,max=v11"`
	LogStartOffset       int64                       `kafka:"min=v5,max=v11"`
	AbortedTransactions  []fetch.ResponseTransaction `kafka:"min=v4,max=v11"`
	PreferredReadReplica int32                       `kafka:"min=v11,max=v11"`
	RecordBytes          int32                       `kafka:"min=v0,max=v11"`
}

// ApiKey implements protocol.Message.
//
//nolint:staticcheck,revive // as kafka-go spells it
func (*fetchResponse) ApiKey() protocol.ApiKey { return protocol.Fetch }

func (r *rawFetch) Required(versions map[protocol.ApiKey]int16) bool {
	r.version = versions[protocol.Fetch]
	return true
}

// fetchID is the correlation id of all fetches: a connection of kafka-go's has one request at a time.
const fetchID = 1

func (r *rawFetch) RawExchange(broker io.ReadWriter) (protocol.Message, error) {
	if err := protocol.WriteRequest(broker, r.version, fetchID, r.client.transport.ClientID, &r.Request); err != nil {
		return nil, err
	}
	var head [8]byte // length and correlation id
	if _, err := io.ReadFull(broker, head[:]); err != nil {
		return nil, err
	}
	size := int(int32(binary.BigEndian.Uint32(head[:]))) - 4
	if id := binary.BigEndian.Uint32(head[4:]); id != fetchID || size < 0 {
		return nil, errors.New("the answer is not that of the request")
	}
	answer := &fetchResponse{buffer: r.client.buffer(size)}
	if _, err := io.ReadFull(broker, answer.buffer); err != nil {
		return nil, err
	}
	return answer, protocol.Unmarshal(answer.buffer, r.version, answer)
}

// maxKeptResponse bounds the buffers for responses that are kept: those of a fetch of fetchMaxBytes.
const maxKeptResponse = fetchMaxBytes + 64<<10

func (c *Client) buffer(size int) []byte {
	if b, ok := c.buffers.Get().(*[]byte); ok && cap(*b) >= size {
		return (*b)[:size]
	}
	return make([]byte, size)
}

func (c *Client) release(f *fetched) {
	f.records.Reset(nil, nil, recordset.Limits{})
	c.readers.Put(f.records)
	if buffer := f.buffer; cap(buffer) <= maxKeptResponse {
		c.buffers.Put(&buffer)
	}
}

func (c *Client) fetch(ctx context.Context, w want) (*fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := c.transport.RoundTrip(ctx, c.kafka.Addr, &rawFetch{client: c, Request: fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(fetchMaxWait.Milliseconds()), MinBytes: 1, MaxBytes: int32(w.maxBytes),
		IsolationLevel: readCommitted, SessionID: -1, SessionEpoch: -1,
		Topics: []fetch.RequestTopic{{Topic: w.topic, Partitions: []fetch.RequestPartition{{
			Partition: int32(w.partition), CurrentLeaderEpoch: -1, FetchOffset: w.offset, LogStartOffset: -1,
			PartitionMaxBytes: int32(w.maxBytes),
		}}}},
	}})
	if err != nil {
		return nil, fmt.Errorf("fetching: %w", denied(c.absent(ctx, w.topic, err), "Read", "topic", w.topic))
	}
	response, ok := answer.(*fetchResponse)
	if !ok || len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, errors.New("fetching: no answer for the partition")
	}
	p := &response.Topics[0].Partitions[0]
	for _, code := range []int16{response.ErrorCode, p.ErrorCode} {
		if code != 0 {
			return nil, denied(kafka.Error(code), "Read", "topic", w.topic)
		}
	}
	records := response.buffer[len(response.buffer):]
	if n := int(p.RecordBytes); n > len(response.buffer) {
		return nil, fmt.Errorf("fetching: %w", io.ErrUnexpectedEOF)
	} else if n > 0 {
		records = response.buffer[len(response.buffer)-n:]
	}
	f := &fetched{end: p.HighWatermark, high: p.HighWatermark, empty: len(records) == 0, buffer: response.buffer}
	if p.LastStableOffset >= 0 { // -1 from a broker that does not report it
		f.end = p.LastStableOffset
	}
	if f.records, ok = c.readers.Get().(*recordset.Reader); !ok {
		f.records = new(recordset.Reader)
	}
	f.records.Reset(records, p.AbortedTransactions,
		recordset.Limits{From: w.offset, Record: w.maxRecord, Alive: w.alive})
	return f, nil
}
