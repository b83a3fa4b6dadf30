package recordset

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/segmentio/kafka-go/compress"
)

const (
	// maxWindow is the largest window that RFC 8878 asks zstd decoders to support; levels up to 19 do not exceed it.
	maxWindow = 8 << 20
	// maxWhole bounds snappy blocks, and zstd batches that are decompressed whole. By default producers put at most 1
	// MiB into a batch, before compression.
	minWhole, maxWhole = 64 << 10, 4 << 20
	maxKept            = 1 << 20 // bounds the buffer that is kept for the next batch
	snappyRatio        = 22      // most that snappy can do: 64 bytes from the 3 bytes of a copy
	usualRatio         = 3       // least ratio to expect of zstd
)

var (
	errDamaged = errors.New("the batch is damaged")
	errWhole   = errors.New("the batch cannot be decompressed piece by piece")
)

// decompressor decompresses one batch at a time.
type decompressor struct {
	source bytes.Reader  // the compressed bytes
	zstd   *zstd.Decoder // of whole batches
	whole  []byte        // decompressed batch or block
	end    func()        // of the batch; may be nil
}

// open returns a reader of what the payload decompresses to. It is valid until close.
func (d *decompressor) open(codec compress.Compression, payload []byte) (io.Reader, error) {
	d.source.Reset(payload)
	switch codec {
	case compress.None:
		return &d.source, nil
	case compress.Gzip, compress.Lz4:
		r := codec.Codec().NewReader(&d.source)
		d.end = func() { _ = r.Close() } // it was read from memory
		return r, nil
	case compress.Snappy:
		blocks, framed := payload, len(payload) >= xerialHeader && string(payload[:len(xerialMagic)]) == xerialMagic
		if framed {
			blocks = payload[xerialHeader:]
		}
		return &snappyReader{d: d, rest: blocks, framed: framed}, nil
	case compress.Zstd:
		return d.openZstd(payload)
	}
	return nil, fmt.Errorf("%w: unknown compression %d", errDamaged, codec)
}

// openZstd decompresses the payload whole unless that is too much: most batches are far smaller than the window of
// their encoder, which a streaming decoder would hold.
func (d *decompressor) openZstd(payload []byte) (io.Reader, error) {
	if d.zstd == nil {
		var err error
		if d.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1),
			zstd.WithDecodeAllCapLimit(true)); err != nil {
			return nil, err
		}
	}
	for size := minWhole; size <= maxWhole; size *= 4 {
		if size < maxWhole && size < usualRatio*len(payload) {
			continue
		}
		d.whole = slices.Grow(d.whole[:0], size)
		// Its errors do not say whether it was too much; the streaming decoder finds out.
		if whole, err := d.zstd.DecodeAll(payload, d.whole); err == nil {
			d.source.Reset(whole)
			return &d.source, nil
		}
	}
	r, err := zstd.NewReader(&d.source, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow),
		zstd.WithDecoderMaxMemory(maxWindow))
	if err != nil {
		return nil, err
	}
	d.end = r.Close
	return r, nil
}

func (d *decompressor) close() {
	if d.end != nil {
		d.end()
		d.end = nil
	}
	if cap(d.whole) > maxKept {
		d.whole = nil
	}
	d.source.Reset(nil)
}

// xerialHeader begins Java's snappy streams: a magic number and two versions, then blocks with their lengths.
const (
	xerialMagic  = "\x82SNAPPY\x00"
	xerialHeader = len(xerialMagic) + 8
)

// snappyReader reads a batch of one block, or of several in the framing of Java's client.
type snappyReader struct {
	d      *decompressor
	rest   []byte // blocks to come
	framed bool
	block  []byte // rest of the decompressed one
}

func (s *snappyReader) Read(p []byte) (int, error) {
	for len(s.block) == 0 {
		if len(s.rest) == 0 {
			return 0, io.EOF
		}
		block := s.rest
		if s.framed {
			if len(block) < 4 || uint64(binary.BigEndian.Uint32(block)) > uint64(len(block)-4) {
				return 0, errDamaged
			}
			block = block[4:][:binary.BigEndian.Uint32(block)]
			s.rest = s.rest[4:]
		}
		s.rest = s.rest[len(block):]
		n, err := s2.DecodedLen(block)
		switch {
		case err != nil:
			return 0, err
		case n > snappyRatio*len(block):
			return 0, errDamaged
		case n > maxWhole:
			return 0, errWhole
		}
		if s.d.whole, err = s2.Decode(s.d.whole[:cap(s.d.whole)], block); err != nil {
			return 0, err
		}
		s.block = s.d.whole
	}
	n := copy(p, s.block)
	s.block = s.block[n:]
	return n, nil
}
