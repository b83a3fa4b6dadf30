package table_test

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/klauspost/compress/zstd"
	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/format"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/table/tabletest"
)

// readAll returns the number of rows of a file, and the first error that is none of a row.
func readAll(path string, o table.Options, use ...string) (rows int, err error) {
	r, err := table.Open(path, o)
	if err != nil {
		return 0, err
	}
	defer func() { _ = r.Close() }()
	if use != nil {
		r.Use(use...)
	}
	for {
		_, err := r.Next()
		if at, ok := errors.AsType[*table.Error](err); err == nil || ok && at.Line > 0 {
			rows++
			continue
		}
		if errors.Is(err, io.EOF) {
			err = nil
		}
		return rows, err
	}
}

// TestTextBombs: small files of immense contents are refused by a limit that the error states.
func TestTextBombs(t *testing.T) {
	t.Parallel()
	const mib = 1 << 20
	row := strings.Repeat("1", 1023) + "\n"
	gz := func(s string, more string, times int) []byte { return packed(t, s, more, times, false) }
	for name, c := range map[string]struct {
		data  []byte
		ahead bool
		want  error
	}{
		"columns.csv":    {[]byte(strings.Repeat(",", 100_000) + "\n1\n"), false, table.ErrManyColumns},
		"more.csv":       {[]byte("a\n" + strings.Repeat(",", 3*mib) + "\n"), false, table.ErrManyColumns},
		"columns.tsv":    {[]byte(strings.Repeat("\t", 300_000) + "\n1\n"), false, table.ErrManyColumns},
		"wide.csv":       {[]byte("a" + strings.Repeat(",", 99_999) + "\n1\n"), false, nil},
		"field.csv.gz":   {gz("a,b\n1,", strings.Repeat("x", mib), 20), false, table.ErrTooLong},
		"rows.csv.gz":    {gz("a\n", row, 40<<10), false, table.ErrExpands},
		"rows.csv.zst":   {packed(t, "a\n", row, 40<<10, true), false, table.ErrExpands},
		"lines.csv.gz":   {gz("a\n", strings.Repeat("1\n", mib), 1), false, table.ErrManyLines},
		"blank.jsonl.gz": {gz("{\"a\":1}\n", strings.Repeat("\n", mib), 40), false, table.ErrManyLines},
		"deep.jsonl":     {[]byte(strings.Repeat(`{"a":`, 300)), false, table.ErrNotObject},
		"name.jsonl":     {[]byte(`{"` + strings.Repeat("a", 5000) + `":1}`), false, table.ErrLongName},
		"prefix.jsonl": {
			[]byte(`{"` + strings.Repeat("a", 4000) + `":{"` + strings.Repeat("b", 99) + `":1}}`), false, table.ErrLongName,
		},
		"names.jsonl":     {names(100_001), false, table.ErrManyColumns},
		"sparse.jsonl":    {append(names(50_000), strings.Repeat("{}\n", 600)...), true, table.ErrManyCells},
		"name.csv":        {[]byte(strings.Repeat("a", 5000) + ",b\n1,2\n"), false, table.ErrLongName},
		"notsparse.jsonl": {append(names(50_000), strings.Repeat("{}\n", 300)...), true, nil},
	} {
		path := filepath.Join(t.TempDir(), name)
		if err := os.WriteFile(path, c.data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(path, table.Options{Ahead: c.ahead}); !errors.Is(err, c.want) ||
			err != nil && (len(err.Error()) > 1000 || !strings.Contains(err.Error(), name)) {
			t.Errorf("%s: %.200v, want %v", name, err, c.want)
		}
	}
}

// names returns a JSON object with so many names, one to a line.
func names(n int) []byte {
	var b bytes.Buffer
	for i := range n {
		if i%1000 == 0 {
			b.WriteString(strings.Repeat("}\n", min(i, 1)) + "{")
		} else {
			b.WriteString(",")
		}
		fmt.Fprintf(&b, `"c%d":1`, i)
	}
	b.WriteString("}\n")
	return b.Bytes()
}

func packed(t *testing.T, head, more string, times int, zst bool) []byte {
	t.Helper()
	var b bytes.Buffer
	var w io.WriteCloser = gzip.NewWriter(&b)
	if zst {
		var err error
		if w, err = zstd.NewWriter(&b); err != nil {
			t.Fatal(err)
		}
	}
	_, err := io.WriteString(w, head)
	for range times {
		_, e := io.WriteString(w, more)
		err = errors.Join(err, e)
	}
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestParquetBombs: pages are refused before they are decoded, unless nobody reads their columns. PyArrow 26 wrote the
// files: a value of 140 MiB; one of 1 MiB in 3,000 rows; 30 million rows without a value.
func TestParquetBombs(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		rows, without int // without the text
		want, bare    error
	}{
		"page-zstd":   {0, 1, table.ErrManyPages, nil},
		"page-brotli": {0, 1, table.ErrManyPages, nil},
		"dictionary":  {31, 3000, table.ErrExpands, nil},
		"nulls":       {0, 0, table.ErrManyRows, table.ErrManyRows},
	} {
		path := filepath.Join("testdata", "bombs", name+".parquet")
		if n, err := readAll(path, table.Options{}, "id", "text"); !errors.Is(err, c.want) || n != c.rows {
			t.Errorf("%s: %d rows, %v; want %d, %v", name, n, err, c.rows, c.want)
		}
		if n, err := readAll(path, table.Options{}, "id"); n != c.without || !errors.Is(err, c.bare) {
			t.Errorf("%s: %d rows, %v without the text", name, n, err)
		}
	}
	path := filepath.Join(t.TempDir(), "delta.parquet") // each value shares all but its end with the one before
	type row struct {
		Same string `parquet:"same,delta,zstd"`
	}
	rows := make([]row, 1000)
	for i := range rows {
		rows[i].Same = strings.Repeat("a", 200_000) + strconv.Itoa(i)
	}
	if err := parquet.WriteFile(path, rows); err != nil {
		t.Fatal(err)
	}
	if _, err := readAll(path, table.Options{}); err != nil && !errors.Is(err, table.ErrManyPages) {
		t.Error(err)
	}
}

// TestParquetExpands: what all pages decode to is held against the size of the file, also where the footer counts fewer
// values than rows, and so are texts that are one value of a dictionary.
func TestParquetExpands(t *testing.T) {
	t.Parallel()
	type plain struct {
		Text string `parquet:"text,plain,zstd"`
	}
	type dictionary struct {
		Text string `parquet:"text,dict,zstd"`
	}
	type runs struct {
		Text *string `parquet:"text,optional,dict"`
	}
	long := strings.Repeat("a", 10<<20)
	few := func(m *format.FileMetaData) { m.RowGroups[0].Columns[0].MetaData.NumValues = 1 }
	for name, c := range map[string]struct {
		file []byte
		rows int
		want error
	}{
		"pages": {tabletest.Repeated(t, []plain{{long}}, 40), 0, table.ErrExpands},
		"fewer": {tabletest.Repeated(t, []plain{{long}}, 40, few), 0, table.ErrExpands},
		"value": {tabletest.Repeated(t, []plain{{long}}, 1), 1, nil},
		"cells": {
			tabletest.Repeated(t, slices.Repeat([]dictionary{{long[:1000]}}, 1000), 900), 33554, table.ErrExpands,
		},
		"groups": {tabletest.Repeated(t, make([]runs, 100_000), 1, func(m *format.FileMetaData) {
			m.RowGroups, m.NumRows = slices.Repeat(m.RowGroups, 1000), 1000
			for i := range m.RowGroups {
				m.RowGroups[i].NumRows = 1
			}
		}), 130, table.ErrExpands},
		"decimal": {tabletest.Repeated(t, []plain{{long[:1<<20]}}, 1, func(m *format.FileMetaData) {
			m.Schema[1].LogicalType = format.LogicalType{Value: &format.DecimalType{Scale: 2, Precision: 9}}
		}), 0, table.ErrType},
	} {
		path := filepath.Join(t.TempDir(), name+".parquet")
		if err := os.WriteFile(path, c.file, 0o600); err != nil {
			t.Fatal(err)
		}
		if n, err := readAll(path, table.Options{}, "text"); n != c.rows || !errors.Is(err, c.want) {
			t.Errorf("%s: %d rows, %v; want %d, %v", name, n, err, c.rows, c.want)
		}
	}
}

// TestParquetFooters: a footer is walked before the library allocates what it claims.
func TestParquetFooters(t *testing.T) {
	t.Parallel()
	uvarint := func(n uint64) []byte { return binary.AppendUvarint(nil, n) }
	list := func(field, n byte, count uint64) []byte { // field of the outermost structure
		return append([]byte{field<<4 | 9, 0xf0 | n}, uvarint(count)...)
	}
	for name, c := range map[string]struct {
		footer []byte
		want   error
	}{
		"columns":  {list(2, 12, 1<<31-1), table.ErrManyEntries},
		"few":      {append(list(2, 12, 70_000), make([]byte, 80_000)...), table.ErrManyEntries},
		"lists":    {append([]byte{2<<4 | 12}, list(1, 5, 1<<31-1)...), table.ErrManyEntries},
		"size":     {append([]byte{2<<4 | 12}, list(1, 5, 1<<40)...), table.ErrParquet}, // more than Thrift has
		"binary":   {append([]byte{2<<4 | 8}, uvarint(1<<31)...), table.ErrParquet},
		"deep":     {bytes.Repeat([]byte{1<<4 | 12}, 1000), table.ErrParquet},
		"map":      {append([]byte{1<<4 | 11}, append(uvarint(1<<30), 0x88)...), table.ErrManyEntries},
		"rubbish":  {[]byte{0xff, 0xff}, table.ErrParquet},
		"nothing":  {[]byte{}, table.ErrParquet},
		"an empty": {[]byte{0}, table.ErrParquet},
	} {
		data := append([]byte("PAR1"), c.footer...)
		data = append(binary.LittleEndian.AppendUint32(data, uint32(len(c.footer))), "PAR1"...)
		path := filepath.Join(t.TempDir(), "footer.parquet")
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := readAll(path, table.Options{}); !errors.Is(err, c.want) && !errors.Is(err, table.ErrNoRows) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
