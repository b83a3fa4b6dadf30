// Package recordset reads the records of a Kafka fetch response one by one in bounded memory: a batch of a few
// kilobytes can decompress to gigabytes.
//
// A record of more than Limits.Record bytes is skipped: its Record has Lost, its offset, time and size, and its key if
// that is short. The other records of its batch are read as usual. A batch that is damaged, or cannot be decompressed
// in that memory, is one such Record for all the offsets that could not be read.
//
// # Memory
//
// A Reader refers to the response and holds a buffer of 16 KiB. In a compressed batch it also holds what has been
// decompressed: 32 KiB for gzip; a block for snappy (32 KiB from Java, at most 4 MiB) and lz4 (at most 4 MiB); for zstd
// the batch or, above 4 MiB, the window of its encoder, at most 8 MiB.
//
// # Formats
//
// It reads batches of message format 2, which Kafka has written since 0.11, and refuses older ones by a
// FormatError. It skips records of aborted transactions and markers. A record has the broker's time if its topic is set
// to LogAppendTime. A Reader is not safe for concurrent use.
package recordset

import (
	"bufio"
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"time"

	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
	"github.com/segmentio/kafka-go/protocol"
	"github.com/segmentio/kafka-go/protocol/fetch"

	"github.com/wardcast/wardcast/ingest/msg"
)

// HeaderBytes is the memory of a header beyond its bytes, up to twenty times them. It counts towards a record's size.
const HeaderBytes = 40

// Record is a record, or stands for one or several in a row that cannot be read.
type Record struct {
	Offset     int64
	Time       time.Time
	Key, Value []byte // nil is Kafka's null
	Headers    []protocol.Header

	// Lost is why the record, without value, headers and long key, is not read: msg.TooLarge or msg.Unreadable; or "".
	Lost    msg.Reason
	Size    int64 // of the record in bytes, 0 if unknown
	Offsets int64 // number of offsets from Offset on: 1 unless several records are lost
}

// Limits say what a Reader reads.
type Limits struct {
	From   int64 // skip records before it: Kafka sends whole batches
	Record int   // largest size of a record in bytes
	// Alive is called while a large record is skipped, at least every 16 MiB. Its error ends the reading.
	Alive func() error
}

// Reader reads records. The zero value has none.
type Reader struct {
	limits  Limits
	rest    []byte // batches to come
	begun   bool   // a whole one was read
	aborted []fetch.ResponseTransaction
	open    map[int64]bool // producers in an aborted transaction
	passed  int64

	batch   batch
	in      *bufio.Reader // of its records
	payload decompressor
}

// batch is the batch being read.
type batch struct {
	left      int   // records to come
	base      int64 // added to the offsets of its records
	next      int64 // offset after the last one read
	last      int64 // offset of the last one
	firstTime int64 // in milliseconds, added to the times of its records
	time      int64 // of all records, if the broker set it; otherwise noTime
	broken    error // why it cannot be read at all
}

const noTime = math.MinInt64

// at returns the time of a record that has the time ms.
func (b *batch) at(ms int64) time.Time {
	if b.time != noTime {
		ms = b.time
	}
	return time.UnixMilli(ms)
}

// Attributes of a batch.
const (
	logAppendTime = 1 << 3
	transactional = 1 << 4
	control       = 1 << 5
)

const (
	head       = 12 // bytes of offset and length, with which batches begin
	formatAt   = 16
	header     = 61 // bytes of it
	format     = 2  // of messages
	bufferSize = 16 << 10
	aliveEvery = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// FormatError is the message format, 0 or 1, of a record that is not read. Fetching it again does not help.
type FormatError byte

func (e FormatError) Error() string {
	return fmt.Sprintf("message format %d is older than Kafka 0.11 and not read: set the topic's message.format.version to "+
		"0.11.0 or later for new records, and copy the old ones into a new topic", byte(e))
}

var errChecksum = errors.New("the checksum of a record batch is wrong")

// stopped is the error of Limits.Alive.
type stopped struct{ error }

// Reset begins with the record set of a response. aborted are the transactions that the response names.
func (r *Reader) Reset(set []byte, aborted []fetch.ResponseTransaction, l Limits) {
	if r.in == nil {
		r.in = bufio.NewReaderSize(nil, bufferSize)
	}
	r.end()
	// brokers list them by their ends
	slices.SortFunc(aborted,
		func(a, b fetch.ResponseTransaction) int { return cmp.Compare(a.FirstOffset, b.FirstOffset) })
	r.limits, r.rest, r.begun, r.aborted, r.open, r.passed = l, set, false, aborted, nil, 0
}

// Passed returns the offset after all that was read or skipped.
func (r *Reader) Passed() int64 { return r.passed }

// Next returns the next record, or io.EOF, and dst with the record's bytes appended. A FormatError comes
// again until the caller begins behind it. Any other error means that the set is damaged or incomplete, and should be
// fetched again.
func (r *Reader) Next(dst []byte) (Record, []byte, error) {
	for {
		if r.batch.left == 0 {
			if err := r.begin(); err != nil {
				return Record{}, dst, err
			}
			continue
		}
		record, grown, err := r.record(dst)
		if end, ok := errors.AsType[stopped](err); ok {
			return Record{}, dst, end.error
		}
		if err != nil {
			record, r.batch.left = r.lose(err), 1
		}
		r.batch.next = max(r.batch.next, record.Offset+record.Offsets)
		if r.batch.left--; r.batch.left == 0 {
			r.end()
		}
		if record.Offset >= r.limits.From {
			r.passed = max(r.passed, record.Offset+record.Offsets)
			return record, grown, nil
		}
		dst = grown[:len(dst)]
	}
}

func (r *Reader) end() {
	r.passed = max(r.passed, r.batch.last+1)
	r.batch = batch{}
	r.in.Reset(nil)
	r.payload.close()
}

// lose returns the Record for the unreadable rest of the batch; its offset is -1 if nothing is left.
func (r *Reader) lose(err error) Record {
	b := &r.batch
	record := Record{Offset: max(b.next, r.limits.From), Time: b.at(b.firstTime), Lost: msg.Unreadable}
	for _, large := range []error{errWhole, zstd.ErrDecoderSizeExceeded, zstd.ErrWindowSizeExceeded} {
		if errors.Is(err, large) {
			record.Lost = msg.TooLarge
		}
	}
	if record.Offsets = b.last + 1 - record.Offset; record.Offsets <= 0 {
		return Record{Offset: -1}
	}
	return record
}

// begin begins the next batch, unless it is skipped.
func (r *Reader) begin() error {
	if len(r.rest) <= formatAt {
		return r.short()
	}
	if f := r.rest[formatAt]; f < format {
		return FormatError(f)
	} else if f > format {
		return fmt.Errorf("record batches have the unknown format %d", f)
	}
	size := head + int64(int32(binary.BigEndian.Uint32(r.rest[8:])))
	if size < header {
		return fmt.Errorf("a record batch of %d bytes: %w", size, errDamaged)
	}
	if size > int64(len(r.rest)) {
		return r.short()
	}
	set := r.rest[:size]
	r.rest, r.begun = r.rest[size:], true
	r.batch = batch{time: noTime}
	c := cursor{rest: set[formatAt+1:]}
	crc := c.int32()
	if uint32(crc) != crc32.Checksum(c.rest, castagnoli) {
		return errChecksum
	}
	b := &r.batch
	attributes := binary.BigEndian.Uint16(c.bytes(2))
	b.base = int64(binary.BigEndian.Uint64(set))
	b.last = b.base + int64(c.int32())
	b.firstTime = c.int64()
	if latest := c.int64(); attributes&logAppendTime != 0 {
		b.time = latest
	}
	producer := c.int64()
	c.bytes(2 + 4) // epoch and sequence
	n := int(c.int32())
	for len(r.aborted) > 0 && r.aborted[0].FirstOffset <= b.base {
		if r.open == nil {
			r.open = make(map[int64]bool)
		}
		r.open[r.aborted[0].ProducerID] = true
		r.aborted = r.aborted[1:]
	}
	// A producer has one transaction at a time: from its first offset to its marker all batches belong to it.
	marker := attributes&control != 0
	if marker {
		delete(r.open, producer)
	}
	if marker || attributes&transactional != 0 && r.open[producer] || b.last < r.limits.From || n <= 0 {
		r.end()
		return nil
	}
	b.next, b.left = b.base, n
	r.decompress(compress.Compression(attributes&7), c.rest)
	return nil
}

// short ends the set: brokers truncate the last batch at the limit of the fetch, but not the first.
func (r *Reader) short() error {
	if !r.begun && len(r.rest) > 0 {
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

// decompress makes in read the records of the batch.
func (r *Reader) decompress(codec compress.Compression, payload []byte) {
	r.payload.close()
	from, err := r.payload.open(codec, payload)
	r.batch.broken = err
	r.in.Reset(from)
}

// record reads a record of the batch. Its errors mean that the batch is unreadable.
func (r *Reader) record(dst []byte) (Record, []byte, error) {
	if r.batch.broken != nil {
		return Record{}, dst, r.batch.broken
	}
	record := Record{Offset: r.batch.base, Offsets: 1}
	var err error
	if record.Size, err = binary.ReadVarint(r.in); err != nil {
		return Record{}, dst, err
	}
	if record.Size < 0 {
		return Record{}, dst, errDamaged
	}
	if record.Size > int64(r.limits.Record) {
		record.Lost = msg.TooLarge
		begins, err := r.in.Peek(int(min(record.Size, bufferSize)))
		if err != nil {
			return Record{}, dst, io.ErrUnexpectedEOF
		}
		c := cursor{rest: begins}
		if err := r.parse(&c, &record); err != nil {
			return Record{}, dst, err
		}
		record.Key = bytes.Clone(record.Key)
		return record, dst, r.discard(record.Size)
	}
	begin, size := len(dst), int(record.Size)
	dst = slices.Grow(dst, size)[:begin+size]
	if _, err := io.ReadFull(r.in, dst[begin:]); err != nil {
		return Record{}, dst, io.ErrUnexpectedEOF
	}
	c := cursor{rest: dst[begin:]}
	err = r.parse(&c, &record)
	return record, dst, err
}

// parse reads a record from all its bytes, or a lost one from its first bytes.
func (r *Reader) parse(c *cursor, record *Record) error {
	c.bytes(1) // unused attributes
	record.Time = r.batch.at(r.batch.firstTime + c.varint())
	record.Offset += c.varint()
	if c.short {
		return errDamaged
	}
	record.Key = c.bytes(c.varint())
	if record.Lost == "" {
		record.Value = c.bytes(c.varint())
		c.headers(record, int64(r.limits.Record)-record.Size)
	}
	// Reading continues after a record's offset: one outside the batch would repeat or skip records.
	if c.short && record.Lost == "" || record.Offset < r.batch.next || record.Offset > r.batch.last {
		return errDamaged
	}
	return nil
}

// headers reads the headers of a record, which is lost if they are too many.
func (c *cursor) headers(record *Record, room int64) {
	n := c.varint()
	switch {
	case n < 0 || n > int64(len(c.rest))/2: // a header takes at least two bytes
		c.short = true
	case HeaderBytes*n > room:
		record.Value, record.Lost = nil, msg.TooLarge
	case n > 0:
		record.Headers = make([]protocol.Header, n)
		for i := range record.Headers {
			record.Headers[i] = protocol.Header{Key: string(c.bytes(c.varint())), Value: c.bytes(c.varint())}
		}
	}
}

func (r *Reader) discard(n int64) error {
	for n > 0 {
		if err := r.limits.Alive(); err != nil {
			return stopped{err}
		}
		k, err := r.in.Discard(int(min(n, aliveEvery)))
		if err != nil {
			return io.ErrUnexpectedEOF
		}
		n -= int64(k)
	}
	return nil
}

// cursor reads values from bytes. Once one is missing, it is short and returns zeros.
type cursor struct {
	rest  []byte
	short bool
}

func (c *cursor) varint() int64 {
	v, n := binary.Varint(c.rest)
	if n <= 0 {
		c.rest, c.short = nil, true
		return 0
	}
	c.rest = c.rest[n:]
	return v
}

// bytes reads n bytes; a negative number is Kafka's null.
func (c *cursor) bytes(n int64) []byte {
	switch {
	case c.short || n < 0:
		return nil
	case n > int64(len(c.rest)):
		c.rest, c.short = nil, true
		return nil
	}
	b := c.rest[:n:n]
	c.rest = c.rest[n:]
	return b
}

func (c *cursor) int32() int32 {
	if b := c.bytes(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (c *cursor) int64() int64 {
	if b := c.bytes(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}
