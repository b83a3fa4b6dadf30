package table

import (
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"math/bits"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/s2"
	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go/encoding/delta"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
	"github.com/pierrec/lz4/v4"
)

const (
	// maxPages bounds the bytes that are decoded at once: the dictionary and one page of each column that is read.
	maxPages = 128 << 20
	// maxEntries bounds the elements of all lists in a footer, of which a structure counts as perStructure: some 20 for
	// each column of each row group.
	maxEntries   = 1 << 21
	perStructure = 4
	maxFooter    = 64 << 20
	// maxList bounds the columns and the row groups: the library counts both in 16 bits.
	maxList = math.MaxUint16
	// maxPageHeader bounds the header of a page, which may hold its least and its greatest value.
	maxPageHeader = 64 << 20
	// rowsPerByte bounds the rows of a file by its size, beyond the first rowsFree.
	rowsPerByte, rowsFree = 8, 1 << 20
)

// The reasons for which a Parquet file is not decoded.
var (
	ErrManyPages   = fmt.Errorf("pages of more than %d MiB at once: write smaller pages or row groups", maxPages>>20)
	ErrManyEntries = fmt.Errorf("a footer of more than %d MiB, %d entries, or %d columns or row groups", maxFooter>>20,
		maxEntries, maxList)
	ErrManyRows = fmt.Errorf("more rows than %d and %d for each byte of the file", rowsFree, rowsPerByte)
)

// pages finds out how large pages are before the library decodes them, since it believes what headers say and
// decompresses whatever comes.
type pages struct {
	file io.ReaderAt
	size int64 // of the file in bytes
	read int64 // bytes that were decoded, or only read
	zstd *zstd.Decoder
}

// chunk returns how much memory a column of a row group takes: its dictionary and its largest page. It has a value in
// each row, and definition levels up to levels. What the column says of itself does not count: the library goes on to
// read pages until it has all rows.
func (p *pages) chunk(c *format.ColumnMetaData, rows int64, levels int) (held int64, err error) {
	at, values := c.DataPageOffset, int64(0)
	if c.DictionaryPageOffset != 0 {
		at = c.DictionaryPageOffset
	}
	var dictionary, largest int64
	for values < rows {
		h, n, err := p.header(at)
		if err != nil {
			return 0, err
		}
		p.read += int64(n) + int64(h.CompressedPageSize)
		size, err := p.page(h, at+int64(n), c.Codec, levels)
		if err != nil {
			return 0, err
		}
		at += int64(n) + int64(h.CompressedPageSize)
		switch h.Type {
		case format.DictionaryPage:
			dictionary += size
		case format.DataPage:
			values += int64(h.DataPageHeader.V.NumValues)
		case format.DataPageV2:
			values += int64(h.DataPageHeaderV2.V.NumValues)
		}
		largest = max(largest, size)
	}
	return dictionary + largest, nil
}

// header reads the header at an offset, and returns its length.
func (p *pages) header(at int64) (h *format.PageHeader, length int, err error) {
	for size := int64(1 << 10); size <= maxPageHeader; size <<= 4 {
		data := make([]byte, max(0, min(size, p.size-at)))
		n, e := p.file.ReadAt(data, at)
		if e != nil && !errors.Is(e, io.EOF) {
			return nil, 0, e
		}
		in := new(thrift.CompactProtocol).NewReaderFromBytes(data[:n])
		h = new(format.PageHeader)
		if err = thrift.NewDecoder(in).Decode(h); err == nil {
			if min(h.CompressedPageSize, h.UncompressedPageSize, h.DataPageHeader.V.NumValues,
				h.DataPageHeaderV2.V.NumValues, h.DictionaryPageHeader.V.NumValues) < 0 {
				return nil, 0, ErrParquet
			}
			return h, in.BytesRead(), nil
		}
		if int64(n) < size {
			break
		}
	}
	return nil, 0, ErrParquet
}

// page returns the bytes that a page takes once decoded, or an error if these are too many or not as its header says.
func (p *pages) page(h *format.PageHeader, at int64, codec format.CompressionCodec, levels int) (int64, error) {
	v1, v2 := &h.DataPageHeader.V, &h.DataPageHeaderV2.V
	values := max(v1.NumValues, v2.NumValues, h.DictionaryPageHeader.V.NumValues)
	const perValue = 5 // a level, and an offset or an index
	held := int64(h.UncompressedPageSize) + perValue*int64(values)
	if held > maxPages || h.CompressedPageSize > maxPages {
		return 0, ErrManyPages
	}
	if p.read += held; expands(p.read, p.size) {
		return 0, ErrExpands
	}
	packed := make([]byte, h.CompressedPageSize)
	if _, err := p.file.ReadAt(packed, at); err != nil {
		return 0, ErrParquet
	}
	width, encoding := bits.Len(uint(levels)), v1.Encoding
	ok, before := true, 0
	if h.Type == format.DataPageV2 { // its levels are not compressed
		repeats := int(v2.RepetitionLevelsByteLength)
		encoding, before = v2.Encoding, repeats+int(v2.DefinitionLevelsByteLength)
		if repeats < 0 || before < repeats || before > len(packed) {
			return 0, ErrParquet
		}
		ok = fits(packed[repeats:before], width, values)
		if v2.IsCompressed.Valid && !v2.IsCompressed.V {
			codec = format.Uncompressed
		}
	}
	plain, err := p.plain(codec, packed[before:], max(0, int(h.UncompressedPageSize)-before))
	if err != nil {
		return 0, err
	}
	switch {
	case h.Type == format.DictionaryPage:
		return held, nil
	case h.Type == format.DataPage && levels > 0 && v1.DefinitionLevelEncoding == format.RLE:
		if len(plain) < 4 || uint64(binary.LittleEndian.Uint32(plain)) > uint64(len(plain)-4) {
			return 0, ErrParquet
		}
		end := 4 + binary.LittleEndian.Uint32(plain)
		ok, plain = fits(plain[4:end], width, values), plain[end:]
	}
	switch encoding {
	case format.PlainDictionary, format.RLEDictionary: //nolint:staticcheck // older files have the first
		ok = ok && (len(plain) == 0 || fits(plain[1:], int(plain[0]), values))
	case format.RLE:
		ok = ok && (len(plain) < 4 || fits(plain[4:], 1, values))
	case format.DeltaBinaryPacked, format.DeltaLengthByteArray, format.DeltaByteArray:
		ok = ok && announces(plain, values)
	}
	if ok && encoding == format.DeltaByteArray { // each value may repeat most of the one before
		shared, err := new(delta.BinaryPackedEncoding).DecodeInt32(nil, plain)
		if err != nil {
			return 0, ErrParquet
		}
		before := held
		for _, n := range shared {
			held += int64(max(0, n))
		}
		p.read += held - before
	}
	switch {
	case !ok:
		return 0, ErrParquet
	case held > maxPages:
		return 0, ErrManyPages
	}
	return held, nil
}

// plain returns the bytes of a compressed page, which must not be more than size.
func (p *pages) plain(codec format.CompressionCodec, packed []byte, size int) (plain []byte, err error) {
	var in io.Reader
	switch codec {
	case format.Uncompressed:
		return packed, nil
	case format.Snappy:
		if n, err := s2.DecodedLen(packed); err != nil || n > size {
			return nil, ErrParquet
		}
		if plain, err = s2.Decode(nil, packed); err != nil {
			return nil, ErrParquet
		}
		return plain, nil
	case format.Lz4Raw:
		plain = make([]byte, size)
		n, err := lz4.UncompressBlock(packed, plain)
		if err != nil {
			return nil, ErrParquet
		}
		return plain[:n], nil
	case format.Gzip:
		in, err = gzip.NewReader(bytes.NewReader(packed))
	case format.Brotli:
		in = brotli.NewReader(bytes.NewReader(packed))
	case format.Zstd:
		if p.zstd == nil {
			p.zstd, err = zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxWindow(maxWindow))
		}
		if err == nil {
			err = p.zstd.Reset(bytes.NewReader(packed))
		}
		in = p.zstd
	default:
		err = ErrParquet
	}
	if err != nil {
		return nil, ErrParquet
	}
	plain = make([]byte, size+1)
	n, err := io.ReadFull(in, plain)
	if err == nil || !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, ErrParquet // more than size, or damaged
	}
	return plain[:n], nil
}

// fits reports whether runs of values with this number of bits (the hybrid encoding of Parquet) are as many as there
// are values, or few more: the last run is padded.
func fits(runs []byte, width int, values int32) bool {
	const padding = 512
	left := int64(values) + padding
	for len(runs) > 0 {
		head, n := binary.Uvarint(runs)
		count, size := int64(head>>1), int64(width+7)/8
		if n <= 0 || head>>1 > math.MaxInt32 {
			return false
		}
		if head&1 == 1 {
			count, size = 8*count, count*int64(width)
		}
		if left -= count; left < 0 {
			return false
		}
		runs = runs[n:]
		if count > 0 {
			runs = runs[min(size, int64(len(runs))):]
		}
	}
	return true
}

// announces reports whether the header of delta-encoded numbers says that they are at most so many.
func announces(numbers []byte, values int32) bool {
	var head uint64
	for range 3 { // size of a block, its parts, the number of values
		n := 0
		if head, n = binary.Uvarint(numbers); n <= 0 {
			return len(numbers) == 0
		}
		numbers = numbers[n:]
	}
	return head <= uint64(values)
}

// footer walks over a structure of Thrift's compact protocol and counts the elements of its lists, for which the
// library allocates memory before it reads them.
type footer struct {
	thrift.Reader

	entries int64
}

// thriftDepth bounds the nesting of values, and with it the stack.
const thriftDepth = 64

func checkFooter(data []byte) error {
	f := &footer{Reader: new(thrift.CompactProtocol).NewReaderFromBytes(data)}
	err := f.skip(thrift.STRUCT, 0)
	if err != nil && !errors.Is(err, ErrManyEntries) {
		return ErrParquet
	}
	return err
}

// skip consumes a value of a type.
func (f *footer) skip(kind thrift.Type, depth int) (err error) {
	if depth > thriftDepth {
		return ErrParquet
	}
	switch kind {
	case thrift.TRUE, thrift.FALSE: // the type of a field says it all
	case thrift.I8:
		_, err = f.ReadInt8()
	case thrift.I16, thrift.I32, thrift.I64:
		_, err = f.ReadInt64()
	case thrift.DOUBLE:
		_, err = f.ReadFloat64()
	case thrift.BINARY:
		_, err = f.ReadBytes()
	case thrift.LIST, thrift.SET:
		l, failed := f.ReadList()
		err = cmp.Or(failed, f.elements(l.Size, depth, l.Type))
	case thrift.MAP:
		m, failed := f.ReadMap()
		err = cmp.Or(failed, f.elements(m.Size, depth, m.Key, m.Value))
	case thrift.STRUCT:
		for err == nil {
			field, failed := f.ReadField()
			if failed != nil || field.Type == thrift.STOP {
				return failed
			}
			err = f.skip(field.Type, depth+1)
		}
	default:
		err = ErrParquet
	}
	return err
}

// elements counts and consumes the elements of a list, or the keys and values of a map. Those of the outermost
// structure are the columns and the row groups.
func (f *footer) elements(n int32, depth int, kinds ...thrift.Type) error {
	if f.entries += int64(n); len(kinds) > 1 || kinds[0] == thrift.STRUCT {
		f.entries += (perStructure - 1) * int64(n)
	}
	if f.entries > maxEntries || depth == 1 && n > maxList {
		return ErrManyEntries
	}
	for range n {
		for _, kind := range kinds {
			if kind == thrift.TRUE || kind == thrift.FALSE { // of an element, a byte says it
				kind = thrift.I8
			}
			if err := f.skip(kind, depth+1); err != nil {
				return err
			}
		}
	}
	return nil
}
