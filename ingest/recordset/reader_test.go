package recordset_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/ingest/recordset"
)

const limit = 1 << 20

var at = time.UnixMilli(1_790_000_000_000)

// spec is a batch to be written.
type spec struct {
	base       int64
	codec      compress.Compression
	attributes uint16
	producer   int64
	latest     time.Time
	records    []string      // values; the key of each is k and its number
	compress   func() []byte // the compressed records, if they are not to be made of the above
	more       int           // records that the header promises beyond those
}

// record returns a record in the format of v2.
func record(delta int64, key, value string, headers ...protocol.Header) []byte {
	b := []byte{0}
	b = binary.AppendVarint(b, delta) // milliseconds
	b = binary.AppendVarint(b, delta)
	b = append(binary.AppendVarint(b, int64(len(key))), key...)
	b = append(binary.AppendVarint(b, int64(len(value))), value...)
	b = binary.AppendVarint(b, int64(len(headers)))
	for _, h := range headers {
		b = append(binary.AppendVarint(b, int64(len(h.Key))), h.Key...)
		b = append(binary.AppendVarint(b, int64(len(h.Value))), h.Value...)
	}
	return sized(b)
}

// sized puts the size of a record before it.
func sized(b []byte) []byte { return append(binary.AppendVarint(nil, int64(len(b))), b...) }

// countHeaders returns a record that claims so many headers and has none.
func countHeaders(n int64) []byte {
	b := record(0, "k0", "v")[1:]
	return sized(binary.AppendVarint(b[:len(b)-1], n))
}

// v2 returns a batch.
func v2(s spec) []byte {
	var payload []byte
	n := len(s.records) + s.more
	if s.compress != nil {
		payload = s.compress()
	} else {
		var b bytes.Buffer
		w := io.WriteCloser(nopCloser{&b})
		if s.codec != compress.None {
			w = s.codec.Codec().NewWriter(&b)
		}
		for i, value := range s.records {
			_, _ = w.Write(record(int64(i), fmt.Sprintf("k%d", i), value))
		}
		_ = w.Close()
		payload = b.Bytes()
	}
	be := binary.BigEndian
	b := be.AppendUint16(nil, s.attributes|uint16(s.codec))
	b = be.AppendUint32(b, uint32(n-1))
	b = be.AppendUint64(b, uint64(at.UnixMilli()))
	b = be.AppendUint64(b, uint64(s.latest.UnixMilli()))
	b = be.AppendUint64(b, uint64(s.producer))
	b = append(b, make([]byte, 6)...)
	b = be.AppendUint32(b, uint32(n))
	b = append(b, payload...)
	out := be.AppendUint64(nil, uint64(s.base))
	out = be.AppendUint32(out, uint32(4+1+4+len(b)))
	out = append(be.AppendUint32(out, 0), 2)
	out = be.AppendUint32(out, crc32.Checksum(b, crc32.MakeTable(crc32.Castagnoli)))
	return append(out, b...)
}

type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// line is what a test sees of a record.
func line(r recordset.Record) string {
	if r.Lost != "" {
		return fmt.Sprintf("%d+%d %s %s size=%v", r.Offset, r.Offsets, r.Key, r.Lost, r.Size > 0)
	}
	value := string(r.Value)
	if len(value) > 20 {
		value = fmt.Sprintf("%d bytes", len(value))
	}
	return fmt.Sprintf("%d %s=%s +%d", r.Offset, r.Key, value, r.Time.Sub(at).Milliseconds())
}

func limits(from int64) recordset.Limits {
	return recordset.Limits{From: from, Record: limit, Alive: func() error { return nil }}
}

// read returns the lines of all records.
func read(t *testing.T, r *recordset.Reader) []string {
	t.Helper()
	var lines []string
	var buffer []byte
	for {
		record, grown, err := r.Next(buffer[:0])
		if errors.Is(err, io.EOF) {
			return lines
		}
		if err != nil {
			t.Fatal(err)
		}
		buffer, lines = grown, append(lines, line(record))
	}
}

func check(t *testing.T, set []byte, from, passed int64, want ...string) {
	t.Helper()
	var r recordset.Reader
	for range 2 { // a reader is used again
		r.Reset(set, nil, limits(from))
		if d := cmp.Diff(want, read(t, &r)); d != "" {
			t.Errorf("records (-want +got):\n%s", d)
		}
		if r.Passed() != passed {
			t.Errorf("passed %d, want %d", r.Passed(), passed)
		}
	}
}

var codecs = []compress.Compression{compress.None, compress.Gzip, compress.Snappy, compress.Lz4, compress.Zstd}

func TestRecords(t *testing.T) {
	t.Parallel()
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			set := append(v2(spec{base: 7, codec: codec, records: []string{"a", "b", "c"}}),
				v2(spec{base: 20, codec: codec, records: []string{"d"}})...)
			check(t, set, 0, 21, "7 k0=a +0", "8 k1=b +1", "9 k2=c +2", "20 k0=d +0")
			check(t, set, 9, 21, "9 k2=c +2", "20 k0=d +0")
			check(t, set, 10, 21, "20 k0=d +0")
			check(t, set[:len(set)-1], 0, 10, "7 k0=a +0", "8 k1=b +1", "9 k2=c +2") // cut off by the broker
		})
	}
}

// TestLarge: a record that is too large is passed over, and those around it are read.
func TestLarge(t *testing.T) {
	t.Parallel()
	for _, codec := range codecs {
		t.Run(codec.String(), func(t *testing.T) {
			t.Parallel()
			fits := strings.Repeat("0", limit-50)
			set := v2(spec{base: 3, codec: codec, records: []string{
				"a", strings.Repeat("0", limit), "b", fits, strings.Repeat("1", 3*limit), "c",
			}})
			want := []string{
				"3 k0=a +0", "4+1 k1 too_large size=true", "5 k2=b +2",
				fmt.Sprintf("6 k3=%d bytes +3", len(fits)), "7+1 k4 too_large size=true", "8 k5=c +5",
			}
			check(t, set, 0, 9, want...)
			check(t, set, 5, 9, want[2:]...) // after a restart
		})
	}
}

// bomb compresses a record of so many bytes by zstd, with a small one on each side.
func bomb(window, size int) []byte {
	var b bytes.Buffer
	w, err := zstd.NewWriter(&b, zstd.WithWindowSize(window), zstd.WithEncoderConcurrency(1))
	if err != nil {
		panic(err)
	}
	_, _ = w.Write(record(0, "k0", "a"))
	inside := append([]byte{0}, binary.AppendVarint(binary.AppendVarint(nil, 1), 1)...)
	inside = append(binary.AppendVarint(inside, 2), "k1"...)
	inside = binary.AppendVarint(inside, int64(size))
	_, _ = w.Write(append(binary.AppendVarint(nil, int64(len(inside)+size+1)), inside...))
	zeros := make([]byte, 1<<20)
	for range size / len(zeros) {
		_, _ = w.Write(zeros)
	}
	_, _ = w.Write([]byte{0})
	_, _ = w.Write(record(2, "k2", "b"))
	_ = w.Close()
	return b.Bytes()
}

// TestBomb: a large record is passed over in a few megabytes of memory.
func TestBomb(t *testing.T) {
	compressed := bomb(2<<20, 256<<20)
	set := v2(spec{base: 5, codec: compress.Zstd, more: 3, compress: func() []byte { return compressed }})
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var r recordset.Reader
	r.Reset(set, nil, limits(0))
	if d := cmp.Diff([]string{"5 k0=a +0", "6+1 k1 too_large size=true", "7 k2=b +2"}, read(t, &r)); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	runtime.ReadMemStats(&after)
	const most = 40 << 20 // 8 MiB to try it whole, doubled on the way, and the window
	if got := after.TotalAlloc - before.TotalAlloc; got > most {
		t.Errorf("%d bytes were allocated for a batch of %d, want at most %d", got, len(set), most)
	}
}

// TestWindow: a window above the limit is no matter for a batch that is small; a large one is lost by all its offsets.
func TestWindow(t *testing.T) {
	t.Parallel()
	small := func() []byte {
		var b bytes.Buffer
		w, _ := zstd.NewWriter(&b, zstd.WithWindowSize(128<<20))
		_, _ = w.Write(record(0, "k0", "a"))
		_ = w.Flush() // or the encoder sees how little there is
		_, _ = w.Write(record(1, "k1", strings.Repeat("0", limit)))
		_ = w.Close()
		return b.Bytes()
	}
	check(t, v2(spec{codec: compress.Zstd, more: 2, compress: small}), 0, 2, "0 k0=a +0", "1+1 k1 too_large size=true")
	set := append(
		v2(spec{base: 4, codec: compress.Zstd, more: 3, compress: func() []byte { return bomb(128<<20, 32<<20) }}),
		v2(spec{base: 7, records: []string{"c"}})...)
	check(t, set, 0, 8, "4+3  too_large size=false", "7 k0=c +0")
	check(t, set, 6, 8, "6+1  too_large size=false", "7 k0=c +0")
}

// TestSnappyBlocks: the two framings, and blocks that promise more than they hold, or than there may be.
func TestSnappyBlocks(t *testing.T) {
	t.Parallel()
	whole := append(record(0, "k0", "a"), record(1, "k1", "b")...)
	one := func(b []byte) []byte {
		return v2(spec{codec: compress.Snappy, more: 2, compress: func() []byte { return b }})
	}
	framed := func(blocks ...[]byte) []byte {
		b := append([]byte("\x82SNAPPY\x00"), 0, 0, 0, 1, 0, 0, 0, 1)
		for _, block := range blocks {
			b = append(binary.BigEndian.AppendUint32(b, uint32(len(block))), block...)
		}
		return b
	}
	check(t, one(s2.EncodeSnappy(nil, whole)), 0, 2, "0 k0=a +0", "1 k1=b +1")
	check(t, one(framed(s2.EncodeSnappy(nil, whole[:5]), s2.EncodeSnappy(nil, whole[5:]))), 0, 2,
		"0 k0=a +0", "1 k1=b +1")
	claim := binary.AppendUvarint(nil, 0xffffffff)
	check(t, one(claim), 0, 2, "0+2  unreadable size=false")
	check(t, one(framed(s2.EncodeSnappy(nil, whole[:len(whole)/2]), claim)), 0, 2, "0 k0=a +0",
		"1+1  unreadable size=false")
	check(t, one(framed([]byte{1})[:20]), 0, 2, "0+2  unreadable size=false")
	check(t, one(s2.EncodeSnappy(nil, append(slices.Clip(whole), make([]byte, 9<<20)...))), 0, 2,
		"0+2  too_large size=false")
}

// TestDamaged: what a producer has broken, behind a checksum that is right, is lost by its offsets; the batches around
// it are read.
func TestDamaged(t *testing.T) {
	t.Parallel()
	good := v2(spec{base: 9, records: []string{"z"}})
	for _, codec := range codecs[1:] {
		set := v2(
			spec{base: 4, codec: codec, more: 5, compress: func() []byte { return []byte("this is not compressed") }})
		check(t, append(set, good...), 0, 10, "4+5  unreadable size=false", "9 k0=z +0")
	}
	check(t,
		append(v2(spec{base: 4, codec: 5, records: []string{"a"}, more: 4, compress: func() []byte { return nil }}),
			good...), 0, 10, "4+5  unreadable size=false", "9 k0=z +0")
	check(t, append(v2(spec{base: 4, records: []string{"a", "b"}, more: 3}), good...), 0, 10, "4 k0=a +0", "5 k1=b +1",
		"6+3  unreadable size=false", "9 k0=z +0")
	for _, n := range []int64{-1, 1, 100, 1 << 40, 1 << 62, 1<<62 + 1, math.MaxInt64} {
		set := v2(spec{base: 8, more: 1, compress: func() []byte { return countHeaders(n) }})
		check(t, append(set, good...), 0, 10, "8+1  unreadable size=false", "9 k0=z +0")
	}
	long := record(0, "k0", "v")[1:]
	long = append(binary.AppendVarint(nil, 1<<32+int64(len(long))), long...)
	check(t, append(v2(spec{base: 8, more: 1, compress: func() []byte { return long }}), good...), 0, 10,
		"8+1  unreadable size=false", "9 k0=z +0")
	// of a record whose offset is read already, or is not of the batch
	for _, delta := range []int64{-1, 0, 3, 4, 1 << 40, math.MaxInt64, math.MinInt64} {
		for _, value := range []string{"b", strings.Repeat("b", limit)} {
			set := v2(spec{base: 6, more: 3, compress: func() []byte {
				return append(record(0, "k0", "a"), record(delta, "k1", value)...)
			}})
			check(t, append(set, good...), 0, 10, "6 k0=a +0", "7+2  unreadable size=false", "9 k0=z +0")
		}
	}

	var r recordset.Reader
	on := bytes.Clone(good)
	on[len(on)-1] ^= 1
	for name, set := range map[string][]byte{
		"a bit": on, "cut short": good[:len(good)-1], "shorter": good[:9],
		"no length": append(make([]byte, 12), good[12:]...),
	} {
		r.Reset(set, nil, limits(0))
		if _, _, err := r.Next(nil); err == nil || errors.Is(err, io.EOF) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHeaders: they are read, and count for the size.
func TestHeaders(t *testing.T) {
	t.Parallel()
	var r recordset.Reader
	want := []protocol.Header{{Key: "a", Value: []byte("1")}, {Key: "", Value: []byte{}}}
	few, many := record(0, "k0", "v", want...),
		record(1, "k1", "v", make([]protocol.Header, limit/recordset.HeaderBytes)...)
	r.Reset(v2(spec{more: 2, compress: func() []byte { return append(few, many...) }}), nil, limits(0))
	got, _, err := r.Next(nil)
	if err != nil || !cmp.Equal(got.Headers, want) {
		t.Errorf("%v, %v", got.Headers, err)
	}
	if got, _, err := r.Next(nil); err != nil || got.Lost != msg.TooLarge || got.Headers != nil || got.Value != nil {
		t.Errorf("%s with %d headers, %v", line(got), len(got.Headers), err)
	}
}

// TestTimes: the broker's time is that of all records of a batch.
func TestTimes(t *testing.T) {
	t.Parallel()
	latest := at.Add(time.Hour)
	check(t, v2(spec{latest: latest, attributes: 1 << 3, records: []string{"a", "b"}}), 0, 2, "0 k0=a +3600000",
		"1 k1=b +3600000")
	check(t, v2(spec{latest: latest, records: []string{"a", "b"}}), 0, 2, "0 k0=a +0", "1 k1=b +1")
}

// TestTransactions: records of an aborted transaction and markers are left out.
func TestTransactions(t *testing.T) {
	t.Parallel()
	const transactional, marker = 1 << 4, 1<<4 | 1<<5
	var set []byte
	for _, s := range []spec{
		{base: 0, attributes: transactional, producer: 1, records: []string{"a"}}, // aborted
		{base: 1, attributes: transactional, producer: 2, records: []string{"b"}},
		{base: 2, producer: 1, records: []string{"c"}},
		{base: 3, attributes: marker, producer: 1, records: []string{"m"}},
		{base: 4, attributes: transactional, producer: 1, records: []string{"d"}},
		{base: 5, attributes: transactional, producer: 2, records: []string{"e"}}, // aborted
		{base: 6, attributes: marker, producer: 2, records: []string{"m"}},
	} {
		set = append(set, v2(s)...)
	}
	var r recordset.Reader
	r.Reset(set, []fetch.ResponseTransaction{{ProducerID: 2, FirstOffset: 5}, {ProducerID: 1, FirstOffset: 0}},
		limits(0))
	if d := cmp.Diff([]string{"1 k0=b +0", "2 k0=c +0", "4 k0=d +0"}, read(t, &r)); d != "" {
		t.Errorf("records (-want +got):\n%s", d)
	}
	if r.Passed() != 7 {
		t.Errorf("passed %d", r.Passed())
	}
}

// TestOldFormats: messages from before Kafka 0.11 are refused, again and again, behind the records before them.
func TestOldFormats(t *testing.T) {
	t.Parallel()
	for old := range byte(2) {
		set := append(v2(spec{base: 4, records: []string{"a", "b"}}), message(old, 6)...)
		set = append(set, v2(spec{base: 7, records: []string{"c"}})...)
		var r recordset.Reader
		r.Reset(set, nil, limits(5))
		if got, _, err := r.Next(nil); err != nil || line(got) != "5 k1=b +1" {
			t.Errorf("%s, %v", line(got), err)
		}
		for range 3 {
			_, _, err := r.Next(nil)
			if got, ok := errors.AsType[recordset.FormatError](err); !ok || byte(got) != old || r.Passed() != 6 {
				t.Errorf("format %d: %v, passed %d", old, err, r.Passed())
			}
		}
		want := fmt.Sprintf("message format %d is older than Kafka 0.11", old)
		if err := recordset.FormatError(old); !strings.HasPrefix(err.Error(), want) {
			t.Error(err)
		}
	}
	var r recordset.Reader
	unknown := v2(spec{records: []string{"a"}})
	unknown[16] = 3
	r.Reset(unknown, nil, limits(0))
	if _, _, err := r.Next(nil); err == nil || !strings.Contains(err.Error(), "unknown format 3") {
		t.Error(err)
	}
}

// message returns a message of format 0 or 1 without a key.
func message(format byte, offset int64) []byte {
	be := binary.BigEndian
	b := []byte{format, 0}
	if format > 0 {
		b = be.AppendUint64(b, uint64(at.UnixMilli()))
	}
	b = be.AppendUint32(b, math.MaxUint32) // null
	b = append(be.AppendUint32(b, 1), 'a')
	out := be.AppendUint32(be.AppendUint64(nil, uint64(offset)), uint32(4+len(b)))
	return append(be.AppendUint32(out, crc32.ChecksumIEEE(b)), b...)
}

// TestStopped: the reading of a large record can be ended.
func TestStopped(t *testing.T) {
	t.Parallel()
	end := errors.New("end")
	calls := 0
	l := limits(0)
	l.Alive = func() error {
		if calls++; calls == 2 {
			return end
		}
		return nil
	}
	var r recordset.Reader
	r.Reset(v2(spec{codec: compress.Zstd, records: []string{"a", strings.Repeat("0", 100<<20)}}), nil, l)
	if got, _, err := r.Next(nil); err != nil || got.Offset != 0 {
		t.Fatal(got, err)
	}
	if _, _, err := r.Next(nil); !errors.Is(err, end) || calls != 2 {
		t.Errorf("%v after %d calls", err, calls)
	}
}

// lastOffset returns the greatest offset that the headers of the set's batches name.
func lastOffset(set []byte) int64 {
	last := int64(math.MinInt64)
	for len(set) > 16 {
		size := 12 + int64(int32(binary.BigEndian.Uint32(set[8:])))
		if size <= 16 || size > int64(len(set)) {
			break
		}
		offset := int64(binary.BigEndian.Uint64(set))
		if set[16] == 2 && size >= 27 {
			offset += int64(int32(binary.BigEndian.Uint32(set[23:])))
		}
		last, set = max(last, offset), set[size:]
	}
	return last
}

func FuzzReader(f *testing.F) {
	for _, codec := range codecs {
		f.Add(v2(spec{base: 1, codec: codec, records: []string{"a", strings.Repeat("b", 4096), "c"}}))
	}
	f.Add(v2(spec{base: 1, more: 1, compress: func() []byte { return countHeaders(1 << 62) }}))
	f.Add(v2(spec{base: 1, more: 1, compress: func() []byte { return record(1<<40, "k0", "a") }}))
	f.Add(append(v2(spec{base: 1, records: []string{"a"}}), message(1, 2)...))
	f.Fuzz(func(t *testing.T, set []byte) {
		if len(set) > 21 && set[16] == 2 { // or no input gets past the checksum
			size := min(len(set), 12+int(binary.BigEndian.Uint32(set[8:])&0xffff))
			if size > 21 {
				binary.BigEndian.PutUint32(set[17:], crc32.Checksum(set[21:size], crc32.MakeTable(crc32.Castagnoli)))
			}
		}
		last := lastOffset(set)
		var r recordset.Reader
		r.Reset(set, nil, limits(0))
		for range 10000 {
			record, grown, err := r.Next(nil)
			if r.Passed() > 0 && r.Passed()-1 > last {
				t.Fatalf("passed %d, and the last batch ends with %d", r.Passed(), last)
			}
			if err != nil {
				return
			}
			if len(grown) > limit || record.Offsets < 1 {
				t.Fatalf("%d bytes, %d offsets", len(grown), record.Offsets)
			}
		}
	})
}
