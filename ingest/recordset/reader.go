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

// HeaderBytes is what a header takes beyond its bytes. It counts for the size of a record, or a megabyte of empty
// headers would take twenty.
const HeaderBytes = 40

// Record is a record, or what is left of one, or of several in a row, that cannot be read.
type Record struct {
	Offset     int64
	Time       time.Time
	Key, Value []byte // nil is Kafka's null
	Headers    []protocol.Header

	// Lost is why the record cannot be read: msg.TooLarge or msg.Unreadable; "" if it was read. A lost one has no value
	// and no headers, and a key only if that is short.
	Lost msg.Reason
	// Size of the record in bytes, 0 if it is not known.
	Size int64
	// Offsets is how many offsets this is about, from Offset on: 1 unless several are lost.
	Offsets int64
}

// Limits say what a Reader reads.
type Limits struct {
	From   int64 // records before this offset are left out: Kafka sends whole batches
	Record int   // largest size of a record in bytes
	// Alive is called while a large record is passed over, at least every 16 MiB. Its error ends the reading.
	Alive func() error
}

// Reader reads records. The zero value has none.
type Reader struct {
	limits  Limits
	rest    []byte // batches to come
	begun   bool   // there was a whole one
	aborted []fetch.ResponseTransaction
	open    map[int64]bool // by producer, those that are in an aborted transaction
	passed  int64

	batch   batch
	in      *bufio.Reader // of its records
	payload decompressor
}

// batch is the batch that is being read: what its header says, or the message around a compressed set of v0 and v1.
type batch struct {
	magic byte
	left  int   // records to come
	base  int64 // added to the offsets of its records
	next  int64 // offset behind the last one read
	last  int64 // offset of the last one
	// in milliseconds: of the first record of v2, to which the others add, or of a compressed message before v2
	firstTime int64
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
	head       = 12 // bytes of offset and length, with which batches and messages begin
	magicAt    = 16
	headV2     = 61 // bytes of the header
	bufferSize = 16 << 10
	aliveEvery = 16 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

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

// Passed returns the offset behind all that was read or left out.
func (r *Reader) Passed() int64 { return r.passed }

// Next returns the next record, or io.EOF. Its bytes are appended to dst, which is returned too. Any other error means
// that the set is damaged or incomplete, and should be fetched again.
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
		if errors.Is(err, io.EOF) && r.batch.magic < 2 { // which do not say how many there are
			r.end()
			continue
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

// lose returns what stands for the rest of the batch, which cannot be read; its offset is -1 if there is none.
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

// begin begins the next batch. None has begun if it is left out.
func (r *Reader) begin() error {
	if len(r.rest) <= magicAt {
		return r.short()
	}
	size := head + int64(int32(binary.BigEndian.Uint32(r.rest[8:])))
	if size <= magicAt {
		return fmt.Errorf("a record batch of %d bytes: %w", size, errDamaged)
	}
	if size > int64(len(r.rest)) {
		return r.short()
	}
	set := r.rest[:size]
	r.rest, r.begun = r.rest[size:], true
	r.batch = batch{magic: set[magicAt], time: noTime}
	switch r.batch.magic {
	case 0, 1:
		return r.beginV1(set)
	case 2:
		return r.beginV2(set)
	}
	return fmt.Errorf("record batches have the unknown format %d", r.batch.magic)
}

// short ends the set: brokers cut the last batch off at the limit of the fetch, but not the first.
func (r *Reader) short() error {
	if !r.begun && len(r.rest) > 0 {
		return io.ErrUnexpectedEOF
	}
	return io.EOF
}

var errChecksum = errors.New("the checksum of a record batch is wrong")

func (r *Reader) beginV2(set []byte) error {
	if len(set) < headV2 {
		return fmt.Errorf("a record batch of %d bytes: %w", len(set), errDamaged)
	}
	c := cursor{rest: set[magicAt+1:]}
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
	// A producer has one transaction at a time, so that its batches are of the aborted one from that one's first offset
	// to its marker.
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

// beginV1 begins with a message of v0 or v1. Its value is a set of messages if it is compressed.
func (r *Reader) beginV1(set []byte) error {
	b := &r.batch
	offset := int64(binary.BigEndian.Uint64(set))
	b.next, b.last, b.left = offset, offset, 1
	c := cursor{rest: set[head:]}
	crc := c.int32()
	if uint32(crc) != crc32.ChecksumIEEE(c.rest) {
		return errChecksum
	}
	m := c.messageV1()
	if c.short {
		return fmt.Errorf("a message of %d bytes: %w", len(set), errDamaged)
	}
	if m.attributes&logAppendTime != 0 {
		b.time = m.time
	}
	codec := compress.Compression(m.attributes & 7)
	if offset < r.limits.From {
		r.end()
		return nil
	}
	if codec == compress.None {
		r.decompress(codec, set)
		return nil
	}
	b.next, b.left, b.firstTime = r.passed, math.MaxInt, m.time // its first offset is not known yet
	r.decompress(codec, m.value)
	// offsets count from the first message, but that of the set is that of the last
	if b.magic == 1 && b.broken == nil {
		last, err := r.lastV1()
		if end, ok := errors.AsType[stopped](err); ok {
			return end.error
		}
		b.base, b.broken = offset-last, err
		if err == nil {
			r.decompress(codec, m.value)
		}
	}
	return nil
}

// lastV1 returns the offset of the last message of a set.
func (r *Reader) lastV1() (last int64, err error) {
	for {
		var h [head]byte
		if _, err := io.ReadFull(r.in, h[:]); errors.Is(err, io.EOF) {
			return last, nil
		} else if err != nil {
			return 0, err
		}
		last = int64(binary.BigEndian.Uint64(h[:]))
		if err := r.discard(int64(binary.BigEndian.Uint32(h[8:]))); err != nil {
			return 0, err
		}
	}
}

// decompress makes in read the records of the batch.
func (r *Reader) decompress(codec compress.Compression, payload []byte) {
	r.payload.close()
	from, err := r.payload.open(codec, payload)
	r.batch.broken = err
	r.in.Reset(from)
}

// record reads a record of the batch. io.EOF means that there is none, all other errors that the batch cannot be read.
func (r *Reader) record(dst []byte) (Record, []byte, error) {
	if r.batch.broken != nil {
		return Record{}, dst, r.batch.broken
	}
	record := Record{Offset: r.batch.base, Offsets: 1}
	var err error
	if record.Size, err = r.size(&record); err != nil {
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

// size reads the size of a record; before v2, its offset too.
func (r *Reader) size(record *Record) (int64, error) {
	if r.batch.magic < 2 {
		var h [head]byte
		if _, err := io.ReadFull(r.in, h[:]); err != nil {
			return 0, err
		}
		record.Offset += int64(binary.BigEndian.Uint64(h[:]))
		return int64(int32(binary.BigEndian.Uint32(h[8:]))), nil
	}
	return binary.ReadVarint(r.in)
}

// parse takes a record from all its bytes, or from those that a lost one begins with.
func (r *Reader) parse(c *cursor, record *Record) error {
	if r.batch.magic < 2 {
		c.int32() // the checksum; that of the set was right
		m := c.messageV1()
		record.Time, record.Key = r.batch.at(m.time), m.key
		if record.Lost == "" {
			record.Value = m.value
		}
	} else {
		c.bytes(1) // attributes, of which there are none
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
	}
	// Reading goes on behind the offset of a record: one that is not of the batch would repeat records or skip some.
	if c.short && record.Lost == "" || record.Offset < r.batch.next || record.Offset > r.batch.last {
		return errDamaged
	}
	return nil
}

// headers takes the headers of a record. The record is lost if they have no room.
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

// messageV1 is a message of v0 or v1.
type messageV1 struct {
	attributes byte
	time       int64
	key, value []byte
}

// messageV1 takes a message, from behind its checksum.
func (c *cursor) messageV1() (m messageV1) {
	fixed := c.bytes(2)
	if c.short {
		return m
	}
	m.attributes = fixed[1]
	if fixed[0] > 0 {
		m.time = c.int64()
	}
	m.key = c.bytes(int64(c.int32()))
	m.value = c.bytes(int64(c.int32()))
	return m
}
