package table

import (
	"encoding/binary"
	"io"
	"math/bits"
	"strings"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/rle"
	"github.com/parquet-go/parquet-go/format"
)

// isPadded reports whether fastparquet wrote the file. It appends 8 zero bytes to the values of each page, which the
// library takes for more values: it refuses some types, and for text prints a warning.
func isPadded(file *parquet.File) bool {
	return strings.HasPrefix(file.Metadata().CreatedBy, "fastparquet")
}

// paddedPages reads a column of plain values in a row group, whose pages chunk has checked.
type paddedPages struct {
	*pages

	column *format.ColumnMetaData
	kind   parquet.Type
	levels int
	at     int64
	read   int64 // values so far
}

// isPlain reports whether the first page of a column, and so each of them, has plain values that may be padded.
func (p *pages) isPlain(c *format.ColumnMetaData) bool {
	if c.DictionaryPageOffset != 0 {
		return false
	}
	h, _, err := p.header(c.DataPageOffset)
	return err == nil && h.Type == format.DataPage && h.DataPageHeader.V.Encoding == format.Plain
}

// next returns the values of the next page.
func (p *paddedPages) next() (parquet.ValueReader, error) {
	if p.read >= p.column.NumValues {
		return nil, io.EOF
	}
	h, n, err := p.header(p.at)
	if err != nil || h.Type != format.DataPage || h.DataPageHeader.V.Encoding != format.Plain {
		return nil, ErrParquet
	}
	packed := make([]byte, h.CompressedPageSize)
	if _, err := p.file.ReadAt(packed, p.at+int64(n)); err != nil {
		return nil, ErrParquet
	}
	data, err := p.plain(p.column.Codec, packed, int(h.UncompressedPageSize))
	if err != nil {
		return nil, err
	}
	count := int(h.DataPageHeader.V.NumValues)
	values := &paddedValues{present: make([]bool, count)}
	p.at, p.read = p.at+int64(n)+int64(len(packed)), p.read+int64(count)
	levels := make([]byte, count)
	if p.levels > 0 {
		end := 4 + binary.LittleEndian.Uint32(data) // page has checked it
		levels, err = (&rle.Encoding{BitWidth: bits.Len(uint(p.levels))}).DecodeLevels(nil, data[4:end])
		if data = data[end:]; err != nil || len(levels) < count {
			return nil, ErrParquet
		}
	}
	present := 0
	for i := range values.present {
		if values.present[i] = int(levels[i]) == p.levels; values.present[i] {
			present++
		}
	}
	size := 0
	switch p.kind.Kind() {
	case parquet.ByteArray:
		for range present {
			size += 4 + int(binary.LittleEndian.Uint32(data[size:]))
		}
	default:
		size = (present*bitsOf(p.kind) + 7) / 8
	}
	decoded, err := p.kind.Decode(p.kind.NewValues(nil, nil), data[:size], &parquet.Plain)
	if err != nil {
		return nil, ErrParquet
	}
	values.values = p.kind.NewPage(0, present, decoded).Values()
	return values, nil
}

// bitsOf returns the size of a plain value of a type other than a byte array.
func bitsOf(kind parquet.Type) int {
	switch kind.Kind() {
	case parquet.Boolean:
		return 1
	case parquet.Int32, parquet.Float:
		return 32
	case parquet.Int96:
		return 96
	case parquet.FixedLenByteArray:
		return 8 * kind.Length()
	}
	return 64
}

// paddedValues are the values of a page and the nulls between them.
type paddedValues struct {
	present []bool // those that are left
	values  parquet.ValueReader
}

func (v *paddedValues) ReadValues(to []parquet.Value) (n int, err error) {
	for ; n < len(to) && len(v.present) > 0; n++ {
		to[n] = parquet.NullValue()
		if v.present[0] {
			if read, err := v.values.ReadValues(to[n : n+1]); read == 0 {
				return n, err
			}
		}
		v.present = v.present[1:]
	}
	if n < len(to) {
		err = io.EOF
	}
	return n, err
}
