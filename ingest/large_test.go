package ingest_test

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

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
