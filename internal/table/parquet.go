package table

import (
	"encoding/binary"
	"encoding/hex"
	"errors"
	"io"
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

// batchRows is the number of rows that are decoded at once.
const batchRows = 128

type parquetRows struct {
	columns []parquetColumn // by leaf
	header  []string
	rows    parquet.Rows
	batch   []parquet.Row
	ready   []parquet.Row // of the batch
	number  int           // of the last row
	cells   []string
}

// parquetColumn maps a leaf's values to a cell and its spelling.
type parquetColumn struct {
	cell  int // -1 for a list, whose cells are missing
	spell func(parquet.Value) string
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
	if !hasFooter(f, info.Size()) {
		return nil, ErrParquet
	}
	file, err := parquet.OpenFile(f, info.Size(), parquet.SkipPageIndex(true), parquet.SkipBloomFilters(true))
	if err != nil {
		return nil, ErrParquet // the library's errors quote the file
	}
	// its reader fails
	groups := slices.DeleteFunc(file.RowGroups(), func(g parquet.RowGroup) bool { return g.NumRows() == 0 })
	rows = &parquetRows{rows: parquet.MultiRowGroup(groups...).Rows(), batch: make([]parquet.Row, batchRows)}
	for _, path := range file.Schema().Columns() {
		leaf, _ := file.Schema().Lookup(path...)
		name, cell := strings.Join(path, "."), len(rows.header)
		if leaf.MaxRepetitionLevel > 0 {
			if name, cell = path[0], -1; len(rows.header) > 0 && rows.header[len(rows.header)-1] == name {
				rows.columns = append(rows.columns, parquetColumn{cell: cell}) // another leaf of the same list
				continue
			}
		}
		rows.columns = append(rows.columns, parquetColumn{cell, speller(leaf.Node.Type())})
		rows.header = append(rows.header, name)
	}
	rows.cells = make([]string, len(rows.header))
	return rows, nil
}

// hasFooter reports whether the file holds all of its footer. The library would allocate memory for a larger one.
func hasFooter(f io.ReaderAt, size int64) bool {
	const magic = "PAR1"
	var end [8]byte // the footer's size and the magic number
	_, err := f.ReadAt(end[:], max(0, size-int64(len(end))))
	return err == nil && string(end[4:]) == magic &&
		int64(binary.LittleEndian.Uint32(end[:])) <= size-int64(len(end)+len(magic))
}

// rescue turns a panic of the library, which a damaged file can cause, into an error.
func rescue(err *error) {
	if recover() != nil {
		*err = ErrParquet
	}
}

func (p *parquetRows) next() (row Row, err error) {
	defer rescue(&err)
	if len(p.ready) == 0 {
		n, err := p.rows.ReadRows(p.batch)
		switch p.ready = p.batch[:n]; {
		case n > 0 && (err == nil || errors.Is(err, io.EOF)):
		case errors.Is(err, io.EOF):
			return Row{}, io.EOF
		default:
			return Row{}, ErrParquet
		}
	}
	p.number++
	clear(p.cells)
	bad := -1
	for _, v := range p.ready[0] {
		c := p.columns[v.Column()]
		if v.IsNull() || c.cell < 0 {
			continue
		}
		p.cells[c.cell] = c.spell(v)
		if bad < 0 && !utf8.ValidString(p.cells[c.cell]) {
			bad = c.cell
		}
	}
	p.ready = p.ready[1:]
	if bad >= 0 {
		return Row{}, &Error{Line: p.number, Column: p.header[bad], Err: ErrEncoding}
	}
	return Row{p.number, p.cells}, nil
}

// speller returns how values of a type are spelled.
func speller(t parquet.Type) func(parquet.Value) string {
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
		unit := time.Nanosecond
		switch l.Unit.Value.(type) {
		case *format.MilliSeconds:
			unit = time.Millisecond
		case *format.MicroSeconds:
			unit = time.Microsecond
		}
		perSecond := int64(time.Second / unit)
		return func(v parquet.Value) string {
			return instant(v.Int64()/perSecond, v.Int64()%perSecond*int64(unit), layout)
		}
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
	case parquet.FixedLenByteArray:
		return func(v parquet.Value) string { return hex.EncodeToString(v.ByteArray()) }
	}
	return parquet.Value.String
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

// maxScale is the most decimals that Parquet allows in 32 bytes.
const maxScale = 76

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
