package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"
)

// readCommitted is the isolation level of all fetches: the broker returns no record of a transaction that is still open, and
// says which of the others were aborted.
const readCommitted = 1

// want says what to fetch.
type want struct {
	topic     string
	partition int
	offset    int64
	maxBytes  int
	wait      time.Duration // how long the broker holds the request until a record comes
}

// fetched is what a fetch returned of one partition.
type fetched struct {
	end     int64 // where the records end that can be read now: those of open transactions come later
	high    int64 // where all records end
	records committed
}

// fetch reads records once. kafka-go's own Fetch does not say which transactions were aborted.
func (c *Client) fetch(ctx context.Context, w want) (*fetched, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	answer, err := c.transport.RoundTrip(ctx, c.kafka.Addr, &fetch.Request{
		ReplicaID: -1, MaxWaitTime: int32(w.wait.Milliseconds()), MinBytes: 1, MaxBytes: int32(w.maxBytes), IsolationLevel: readCommitted, SessionID: -1, SessionEpoch: -1,
		Topics: []fetch.RequestTopic{{Topic: w.topic, Partitions: []fetch.RequestPartition{{
			Partition: int32(w.partition), CurrentLeaderEpoch: -1, FetchOffset: w.offset, LogStartOffset: -1, PartitionMaxBytes: int32(w.maxBytes),
		}}}},
	})
	if err != nil {
		return nil, fmt.Errorf("fetching: %w", err)
	}
	response, ok := answer.(*fetch.Response)
	if !ok || len(response.Topics) != 1 || len(response.Topics[0].Partitions) != 1 {
		return nil, errors.New("fetching: no answer for the partition")
	}
	p := &response.Topics[0].Partitions[0]
	for _, code := range []int16{response.ErrorCode, p.ErrorCode} {
		if code != 0 {
			return nil, kafka.Error(code)
		}
	}
	slices.SortFunc(p.AbortedTransactions, func(a, b fetch.ResponseTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) }) // brokers list them by their ends
	f := &fetched{end: p.HighWatermark, high: p.HighWatermark, records: committed{aborted: p.AbortedTransactions}}
	if p.LastStableOffset >= 0 { // -1 from a broker that does not tell
		f.end = p.LastStableOffset
	}
	switch records := p.RecordSet.Records.(type) {
	case nil:
	case *protocol.RecordStream:
		f.records.batches = records.Records
	default:
		f.records.batches = []protocol.RecordReader{records}
	}
	return f, nil
}

// committed reads the records of a response that belong to no aborted transaction.
type committed struct {
	batches []protocol.RecordReader
	// aborted lists the aborted transactions by their first offset; those that a batch may belong to have moved to open.
	aborted []fetch.ResponseTransaction
	open    map[int64]bool // by producer
	// passed is the offset behind the last marker or aborted record that was left out.
	passed int64
}

// ReadRecord returns the next record, or io.EOF.
func (c *committed) ReadRecord() (*kafka.Record, error) {
	for len(c.batches) > 0 {
		if c.counts(c.batches[0]) {
			if r, err := c.batches[0].ReadRecord(); !errors.Is(err, io.EOF) {
				return r, err
			}
		} else if err := c.skip(c.batches[0]); err != nil {
			return nil, err
		}
		c.batches = c.batches[1:]
	}
	return nil, io.EOF
}

// counts reports whether the records of a batch count: it is no marker, and not of a transaction that was aborted. A producer has
// one transaction at a time, so that its batches are of the aborted one from that one's first offset to its marker.
func (c *committed) counts(batch protocol.RecordReader) bool {
	switch b := batch.(type) {
	case *protocol.ControlBatch:
		delete(c.open, b.ProducerID)
		return false
	case *protocol.RecordBatch:
		for len(c.aborted) > 0 && c.aborted[0].FirstOffset <= b.BaseOffset {
			if c.open == nil {
				c.open = make(map[int64]bool)
			}
			c.open[c.aborted[0].ProducerID] = true
			c.aborted = c.aborted[1:]
		}
		return !b.Attributes.Transactional() || !c.open[b.ProducerID]
	default: // from before Kafka had transactions
		return true
	}
}

// skip passes over the rest of a batch.
func (c *committed) skip(b protocol.RecordReader) error {
	for {
		r, err := b.ReadRecord()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		c.passed = max(c.passed, r.Offset+1)
		release(r)
	}
}
