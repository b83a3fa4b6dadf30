package table

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
	"math"
	"math/big"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"
)

// batchValues is the number of values of a column that are read at once.
const batchValues = 64

type parquetRows struct {
	file   *parquet.File
	groups []parquet.RowGroup
	left   int64 // rows of the current row group, groups[0]
	leaves []parquetLeaf
	header []string
	number int // of the last row
	cells  []string
	pages  pages
	most   int64 // bytes of pages at once
	text   int64 // bytes of the cells so far: one value of a dictionary may be that of many
}

// parquetLeaf is a column that is read.
type parquetLeaf struct {
	index  int // in the file
	cell   int
	levels int // the most definition levels
	most   int // bytes of a value
	spell  func(parquet.Value) string
	fault  error // of values that spell is nil for

	padded *paddedPages  // of the row group, or nil and
	pages  parquet.Pages // those of the library
	page   parquet.Page
	values parquet.ValueReader // of the page
	buffer []parquet.Value
	ready  []parquet.Value // of the buffer
}

// openParquet opens a file, which the caller must close.
func openParquet(f *os.File) (rows *parquetRows, err error) {
	defer rescue(&err)
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if info.Size() == 0 {
		return nil, ErrNoRows
	}
	if err := readFooter(f, info.Size()); err != nil {
		return nil, err
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, ErrParquet // the library's errors quote the file
	}
	rows = &parquetRows{
		file: file, groups: file.RowGroups(), pages: pages{file: f, size: info.Size()},
		most: max(maxPages, info.Size()),
	}
	var leafTypes []format.LogicalTypeValue // also those that the library does not know
	for _, e := range file.Metadata().Schema {
		if e.Type.Valid {
			leafTypes = append(leafTypes, e.LogicalType.Value)
		}
	}
	for i, path := range file.Schema().Columns() {
		leaf, _ := file.Schema().Lookup(path...)
		name := strings.Join(path, ".")
		if leaf.MaxRepetitionLevel > 0 { // the cells of a list are missing
			if name = path[0]; len(rows.header) > 0 && rows.header[len(rows.header)-1] == name {
				continue // another leaf of the same list
			}
		} else {
			kind := leaf.Node.Type()
			l := parquetLeaf{
				index: i, cell: len(rows.header), levels: leaf.MaxDefinitionLevel, most: maxRow,
				spell: speller(kind, leafTypes[i]), fault: ErrType,
			}
			if logical := kind.LogicalType(); logical != nil && logical.Value != nil {
				if _, ok := logical.Value.(*format.DecimalType); ok {
					l.most = maxDecimal
				}
			}
			if kind.Kind() == parquet.Int96 && isPadded(file) {
				l.spell, l.fault = nil, ErrInt96
			}
			rows.leaves = append(rows.leaves, l)
		}
		rows.header = append(rows.header, name)
	}
	rows.cells = make([]string, len(rows.header))
	if most := rowsFree + rowsPerByte*info.Size(); file.NumRows() > most || rows.claimed() > most {
		return nil, ErrManyRows
	}
	return rows, nil
}

// claimed returns the number of rows of all row groups.
func (p *parquetRows) claimed() (n int64) {
	for _, g := range p.groups {
		n += max(0, min(g.NumRows(), math.MaxInt64/int64(len(p.groups))))
	}
	return n
}

// use leaves all columns out whose cells nobody reads: their pages are not decoded.
func (p *parquetRows) use(cell func(int) bool) {
	p.leaves = slices.DeleteFunc(p.leaves, func(l parquetLeaf) bool { return !cell(l.cell) })
	p.most = maxPages
}

// open opens the next row group that has rows. It returns io.EOF after the last one.
func (p *parquetRows) open() error {
	for ; len(p.groups) > 0; p.groups = p.groups[1:] {
		if p.left = p.groups[0].NumRows(); p.left > 0 {
			break
		}
	}
	if len(p.groups) == 0 {
		return io.EOF
	}
	metadata := p.file.Metadata().RowGroups[len(p.file.RowGroups())-len(p.groups)]
	chunks := p.groups[0].ColumnChunks()
	p.groups = p.groups[1:]
	var held int64
	for i := range p.leaves {
		l := &p.leaves[i]
		n, err := p.pages.chunk(&metadata.Columns[l.index].MetaData, p.left, l.levels)
		if held += n; err != nil {
			return err
		}
		if held > p.most {
			return ErrManyPages
		}
		l.close()
		if column := &metadata.Columns[l.index].MetaData; isPadded(p.file) && p.pages.isPlain(column) {
			l.padded = &paddedPages{
				pages: &p.pages, column: column, kind: chunks[l.index].Type(), levels: l.levels,
				at: column.DataPageOffset,
			}
		} else {
			l.pages = chunks[l.index].Pages()
		}
		if l.buffer == nil {
			l.buffer = make([]parquet.Value, min(p.left, batchValues))
		}
	}
	return nil
}

// next returns the next value of the row group.
func (l *parquetLeaf) next() (v parquet.Value, err error) {
	for len(l.ready) == 0 {
		switch {
		case l.values != nil:
		case l.padded != nil:
			if l.values, err = l.padded.next(); err != nil {
				return v, ErrParquet
			}
		default:
			if l.page, err = l.pages.ReadPage(); err != nil {
				return v, ErrParquet
			}
			l.values = l.page.Values()
		}
		n, err := l.values.ReadValues(l.buffer)
		if l.ready = l.buffer[:n]; n > 0 {
			break
		}
		if err == nil || !errors.Is(err, io.EOF) {
			return v, ErrParquet
		}
		if l.page != nil {
			parquet.Release(l.page)
		}
		l.page, l.values = nil, nil
	}
	v, l.ready = l.ready[0], l.ready[1:]
	return v, nil
}

// close releases the row group.
func (l *parquetLeaf) close() {
	if l.page != nil {
		parquet.Release(l.page)
	}
	if l.pages != nil {
		_ = l.pages.Close() // only read
	}
	l.padded, l.pages, l.page, l.values, l.ready = nil, nil, nil, nil, nil
}

func (p *parquetRows) Close() error {
	for i := range p.leaves {
		p.leaves[i].close()
	}
	if p.pages.zstd != nil {
		p.pages.zstd.Close()
	}
	return nil
}

// readFooter checks the footer of a file. The library would allocate what it says.
func readFooter(f io.ReaderAt, size int64) error {
	const magic = "PAR1"
	var end [8]byte // the footer's size and the magic number
	if _, err := f.ReadAt(end[:], max(0, size-int64(len(end)))); err != nil || string(end[4:]) != magic {
		return ErrParquet
	}
	length := int64(binary.LittleEndian.Uint32(end[:]))
	switch {
	case length > size-int64(len(end)+len(magic)):
		return ErrParquet
	case length > maxFooter:
		return ErrManyEntries
	}
	data := make([]byte, length)
	if _, err := f.ReadAt(data, size-int64(len(end))-length); err != nil {
		return ErrParquet
	}
	return checkFooter(data)
}

// rescue turns a panic of the library, which a damaged file can cause, into an error.
func rescue(err *error) {
	if recover() != nil {
		*err = ErrParquet
	}
}

func (p *parquetRows) next() (row Row, err error) {
	defer rescue(&err)
	if p.left == 0 {
		if err := p.open(); err != nil {
			return Row{}, err
		}
	}
	p.left--
	p.number++
	bad, size, reason := -1, 0, error(nil)
	for i := range p.leaves {
		l := &p.leaves[i]
		v, err := l.next()
		if err != nil {
			return Row{}, err
		}
		cell, stored := "", 0
		if k := v.Kind(); k == parquet.ByteArray || k == parquet.FixedLenByteArray {
			stored = len(v.ByteArray())
		}
		switch {
		case stored > maxRow-size:
			bad, reason, size = l.cell, ErrTooLong, maxRow
		case v.IsNull():
		case l.spell == nil || stored > l.most:
			return Row{}, &Error{Column: p.header[l.cell], Err: l.fault}
		default:
			cell = l.spell(v)
			size += len(cell)
			p.text += int64(stored)
		}
		if bad < 0 && !utf8.ValidString(cell) {
			bad, reason = l.cell, ErrEncoding
		}
		p.cells[l.cell] = cell
	}
	if expands(p.text, p.pages.size) {
		return Row{}, ErrExpands
	}
	if bad >= 0 {
		return Row{}, &Error{Line: p.number, Column: p.header[bad], Err: reason}
	}
	return Row{p.number, p.cells}, nil
}

// speller returns how values of a type are spelled, nil for an unknown type. Of stored, only what the library does not
// know counts.
func speller(t parquet.Type, stored format.LogicalTypeValue) func(parquet.Value) string {
	if _, ok := stored.(*format.Float16Type); ok {
		return func(v parquet.Value) string { return number(half(v.ByteArray()), 32) }
	}
	var logical format.LogicalTypeValue
	if l := t.LogicalType(); l != nil {
		logical = l.Value
	}
	switch l := logical.(type) {
	case *format.DateType:
		return func(v parquet.Value) string { return instant(int64(v.Int32())*secondsOfDay, 0, time.DateOnly) }
	case *format.TimestampType:
		layout := time.RFC3339Nano
		if !l.IsAdjustedToUTC {
			layout = strings.TrimSuffix(layout, "Z07:00")
		}
		unit := unitOf(l.Unit)
		perSecond := int64(time.Second / unit)
		return func(v parquet.Value) string {
			return instant(v.Int64()/perSecond, v.Int64()%perSecond*int64(unit), layout)
		}
	case *format.TimeType:
		unit := unitOf(l.Unit)
		return func(v parquet.Value) string {
			count := v.Int64()
			if t.Kind() == parquet.Int32 {
				count = int64(v.Int32())
			}
			return instant(0, count*int64(unit), "15:04:05.999999999")
		}
	case *format.UUIDType:
		return func(v parquet.Value) string { return hex.EncodeToString(v.ByteArray()) }
	case *format.BsonType, *format.GeometryType, *format.GeographyType:
		return nil
	case *format.DecimalType:
		return func(v parquet.Value) string { return decimal(v, int(l.Scale)) }
	case *format.IntType:
		switch {
		case l.IsSigned:
		case t.Kind() == parquet.Int32:
			return func(v parquet.Value) string { return strconv.FormatUint(uint64(v.Uint32()), 10) }
		default:
			return func(v parquet.Value) string { return strconv.FormatUint(v.Uint64(), 10) }
		}
	}
	switch t.Kind() {
	case parquet.Int96: // the older timestamp: nanoseconds of the day, and the Julian day
		return func(v parquet.Value) string {
			const epoch = 2440588 // the Julian day of 1 January 1970
			i := v.Int96()
			return instant((int64(i[2])-epoch)*secondsOfDay, int64(uint64(i[1])<<32|uint64(i[0])), time.RFC3339Nano)
		}
	case parquet.Float:
		return func(v parquet.Value) string { return number(float64(v.Float()), 32) }
	case parquet.Double:
		return func(v parquet.Value) string { return number(v.Double(), 64) }
	case parquet.FixedLenByteArray: // of any meaning, such as an interval
		return nil
	}
	return parquet.Value.String
}

// unitOf returns the unit of a count of time, a nanosecond if it is unknown.
func unitOf(unit format.TimeUnit) time.Duration {
	if unit.Value == nil {
		return time.Nanosecond
	}
	return unit.Value.Duration()
}

// half returns a floating-point number of 16 bits: a sign, 5 bits of exponent and 10 of fraction.
func half(b []byte) float64 {
	bits := int(binary.LittleEndian.Uint16(b))
	exponent, fraction, sign := bits>>10&31, bits&1023, float64(1-bits>>15*2)
	switch exponent {
	case 0:
		return sign * math.Ldexp(float64(fraction), -24)
	case 31:
		if fraction > 0 {
			return math.NaN()
		}
		return sign * math.Inf(1)
	}
	return sign * math.Ldexp(float64(1024+fraction), exponent-25)
}

const secondsOfDay = 24 * 60 * 60

// instant spells a time since 1970.
func instant(seconds, nanoseconds int64, layout string) string {
	return time.Unix(seconds, nanoseconds).UTC().Format(layout)
}

// number spells a floating-point number. NaN, which some programs write for a missing one, is a missing cell.
func number(v float64, bits int) string {
	if v != v {
		return ""
	}
	return strconv.FormatFloat(v, 'g', -1, bits)
}

// maxDecimal bounds the bytes of a decimal, and maxScale the digits after its point, which are the most in these.
const maxDecimal, maxScale = 32, 76

// decimal spells an integer that is scaled by a power of ten.
func decimal(v parquet.Value, scale int) string {
	unscaled := new(big.Int)
	switch v.Kind() {
	case parquet.Int32:
		unscaled.SetInt64(int64(v.Int32()))
	case parquet.Int64:
		unscaled.SetInt64(v.Int64())
	default: // two's complement, big-endian
		b := v.ByteArray()
		if unscaled.SetBytes(b); len(b) > 0 && b[0] >= 0x80 {
			unscaled.Sub(unscaled, new(big.Int).Lsh(big.NewInt(1), uint(8*len(b))))
		}
	}
	if scale <= 0 || scale > maxScale {
		return unscaled.String()
	}
	return new(big.Rat).SetFrac(unscaled,
		new(big.Int).Exp(big.NewInt(10), big.NewInt(int64(scale)), nil)).FloatString(scale)
}
