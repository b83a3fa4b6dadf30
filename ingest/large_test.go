package ingest_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/wardcast/wardcast/ingest"
)

// bombs sends three batches to partition 0: small records around one that is large once it is decompressed, the large
// one alone, and small ones.
func (c *cluster) bombs(size int, compression kgo.CompressionCodec) {
	c.Helper()
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.conn.Brokers...), kgo.DefaultProduceTopic(c.in),
		kgo.RecordPartitioner(kgo.ManualPartitioner()),
		kgo.ProducerBatchCompression(compression), kgo.ProducerBatchMaxBytes(1<<30), kgo.BrokerMaxWriteBytes(1<<30),
		kgo.ProducerLinger(time.Minute), kgo.MaxBufferedBytes(1<<31-1))
	if err != nil {
		c.Fatal(err)
	}
	defer producer.Close()
	for _, keys := range [][]string{{"a", "bomb1", "b"}, {"bomb2"}, {"c", "d"}} {
		for _, key := range keys {
			value := []byte("v")
			if key[:1] == "b" && len(key) > 1 {
				value = bytes.Repeat([]byte{'0'}, size)
			}
			producer.Produce(c.Context(), &kgo.Record{
				Key: []byte(key), Value: value, Headers: []kgo.RecordHeader{{Key: "own", Value: []byte("h")}},
			}, nil)
		}
		if err := producer.Flush(c.Context()); err != nil {
			c.Fatal(err)
		}
	}
}

// TestRecordTooLarge: a record that is large only once it is decompressed becomes a dead letter without its value, by
// its offset. All around it are answered once. Other readers leave it out.
func TestRecordTooLarge(t *testing.T) {
	t.Parallel()
	const size = 16 << 20
	for _, codec := range []struct {
		name string
		kgo.CompressionCodec
	}{{"zstd", kgo.ZstdCompression()}, {"gzip", kgo.GzipCompression()}, {"lz4", kgo.Lz4Compression()}} {
		t.Run(codec.name, func(t *testing.T) {
			c := newCluster(t)
			c.bombs(size, codec.CompressionCodec)
			m := c.start(handle(echo))
			c.await("commits past all of it", func() bool { return c.committed()[0] == 6 })
			m.stop()
			want := map[string]int{"a": 1, "b": 1, "c": 1, "d": 1}
			if d := cmp.Diff(want, count(c.read(c.out))); d != "" {
				t.Errorf("answered (-want +got):\n%s", d)
			}
			offsets := map[string]string{"bomb1": "1", "bomb2": "3"}
			letters := c.read(c.dlq)
			if len(letters) != len(offsets) {
				t.Errorf("%d dead letters, want %d", len(letters), len(offsets))
			}
			for _, l := range letters {
				n, err := strconv.Atoi(l.headers["dlq-size"])
				if err != nil || n < size || n > size+100 {
					t.Errorf("the size of %q is %q", l.key, l.headers["dlq-size"])
				}
				delete(l.headers, "dlq-size")
				delete(l.headers, "dlq-time")
				headers := map[string]string{
					"dlq-reason": "too_large", "dlq-stage": "read", "dlq-source-topic": c.in,
					"dlq-source-partition": "0", "dlq-source-offset": offsets[l.key],
					"dlq-lost-offsets": "1", "dlq-attempts": "1", "dlq-detail": "the value is left out",
				}
				if d := cmp.Diff(headers, l.headers); d != "" || l.value != "" || l.null {
					t.Errorf("%q, a value of %d bytes, null %t, headers (-want +got):\n%s", l.key,
						len(l.value), l.null, d)
				}
			}
			if n := m.metric("dead_letters_total", "too_large"); n != 2 {
				t.Errorf("dead_letters_total is %v", n)
			}
			got, replayed, err := c.replay(ingest.Replay{})
			if d := cmp.Diff(want, got); d != "" || err != nil || replayed.Lost != 2 {
				t.Errorf("replayed: %v, %d lost\n%s", err, replayed.Lost, d)
			}
		})
	}
}

// breaker says that it compresses, and does not.
type breaker struct{}

func (breaker) Compress(dst *bytes.Buffer, _ []byte, _ ...kgo.CompressFlag) ([]byte, kgo.CompressionCodecType) {
	dst.WriteString("not compressed")
	return dst.Bytes(), kgo.CodecZstd
}

// TestUnreadableBatch: a batch that cannot be decompressed is one dead letter for all its offsets, and blocks nothing.
func TestUnreadableBatch(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	c.send(numbered(0, 1)...)
	producer, err := kgo.NewClient(kgo.SeedBrokers(c.conn.Brokers...), kgo.DefaultProduceTopic(c.in),
		kgo.RecordPartitioner(kgo.ManualPartitioner()), kgo.WithCompressor(breaker{}))
	if err != nil {
		t.Fatal(err)
	}
	defer producer.Close()
	if err := producer.ProduceSync(t.Context(), &kgo.Record{Key: []byte("k"), Value: []byte("v")},
		&kgo.Record{Key: []byte("k"), Value: []byte("v")}).FirstErr(); err != nil {
		t.Fatal(err)
	}
	c.send(numbered(1, 20)...)
	m := c.start(handle(echo))
	c.await("commits past all of it", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	m.stop()
	if got := count(c.read(c.out)); len(got) != 20 {
		t.Errorf("answered %v", got)
	}
	offsets := 0
	for _, l := range c.read(c.dlq) {
		n, err := strconv.Atoi(l.headers["dlq-lost-offsets"])
		if err != nil || l.headers["dlq-reason"] != "unreadable" ||
			l.key != fmt.Sprintf("%s/0/%s", c.in, l.headers["dlq-source-offset"]) {
			t.Errorf("dead letter %q %v", l.key, l.headers)
		}
		offsets += n
	}
	if offsets != 2 {
		t.Errorf("%d offsets are in dead letters, want 2", offsets)
	}
}

// TestOldFormat: a partition with a message from before Kafka 0.11 is blocked, and the others are answered. Readers of
// a topic end with an error that says where it is. Nothing is lost.
func TestOldFormat(t *testing.T) {
	t.Parallel()
	c := newFake(t)
	const n = 40
	c.send(numbered(0, n)...)
	old := make([]byte, 34)
	binary.BigEndian.PutUint32(old[8:], uint32(len(old)-12))
	old[16] = 1
	var mended atomic.Bool
	c.fake.ControlKey(int16(kmsg.Fetch), func(r kmsg.Request) (kmsg.Response, error, bool) {
		c.fake.KeepControl()
		request := r.(*kmsg.FetchRequest)
		if asked := request.Topics[0]; mended.Load() || asked.Topic != c.in || asked.Partitions[0].Partition != 0 {
			return nil, nil, false
		}
		partition := kmsg.NewFetchResponseTopicPartition()
		partition.HighWatermark, partition.RecordBatches = n, old
		topic := kmsg.NewFetchResponseTopic()
		topic.Topic, topic.Partitions = c.in, append(topic.Partitions, partition)
		response := request.ResponseKind().(*kmsg.FetchResponse)
		response.Topics = append(response.Topics, topic)
		return response, nil, true
	})
	m := c.start(handle(echo), soonUnready)
	others := n - int(c.ends(c.in)[0])
	c.awaitAnswers(int64(others))
	c.await("the block", func() bool { return m.metric("blocked_partitions") == 1 })
	where := fmt.Sprintf("topic %q, partition 0 at offset 0: message format 1 is older than Kafka 0.11", c.in)
	c.await("word of it", func() bool {
		err := m.Check()
		return err != nil && strings.Contains(err.Error(), where)
	})
	if _, _, err := c.replay(ingest.Replay{}); err == nil || !strings.Contains(err.Error(), where) {
		t.Error(err)
	}
	if got := c.committed()[0]; got > 0 || len(c.read(c.dlq)) > 0 {
		t.Errorf("committed %d, %d dead letters", got, len(c.read(c.dlq)))
	}
	mended.Store(true)
	c.await("commits of all", func() bool { return cmp.Equal(c.committed(), c.ends(c.in)) })
	m.stop()
	c.wantAll(n, true)
}
