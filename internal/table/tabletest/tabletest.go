// Package tabletest makes hostile tables for tests.
package tabletest

import (
	"bytes"
	"encoding/binary"
	"errors"
	"testing"

	"github.com/parquet-go/parquet-go"
	"github.com/parquet-go/parquet-go/encoding/thrift"
	"github.com/parquet-go/parquet-go/format"
)

// Repeated returns a Parquet file of one column without bounds of its values, whose pages with data follow each other
// so many times. The footer says so, unless lie changes it.
func Repeated[T any](t testing.TB, rows []T, times int, lie ...func(*format.FileMetaData)) []byte {
	t.Helper()
	var b bytes.Buffer
	column := parquet.SchemaOf(rows[0]).Columns()[0]
	w := parquet.NewGenericWriter[T](&b, parquet.SkipPageBounds(column...), parquet.SkipPageStatistics(column...))
	_, err := w.Write(rows)
	if err = errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	file, err := parquet.OpenFile(bytes.NewReader(b.Bytes()), int64(b.Len()))
	if err != nil {
		t.Fatal(err)
	}
	footer := file.Metadata()
	group := &footer.RowGroups[0]
	chunk := &group.Columns[0]
	chunk.OffsetIndexOffset, chunk.ColumnIndexOffset = 0, 0
	c := &chunk.MetaData
	first := c.DataPageOffset
	if c.DictionaryPageOffset != 0 {
		first = c.DictionaryPageOffset
	}
	data := b.Bytes()[c.DataPageOffset : first+c.TotalCompressedSize]
	n := int64(times)
	c.TotalCompressedSize += (n - 1) * int64(len(data))
	c.NumValues, group.NumRows, footer.NumRows = n*c.NumValues, n*group.NumRows, n*footer.NumRows
	for _, change := range lie {
		change(footer)
	}
	end, err := thrift.Marshal(new(thrift.CompactProtocol), footer)
	if err != nil {
		t.Fatal(err)
	}
	out := append(bytes.Clone(b.Bytes()[:c.DataPageOffset]), bytes.Repeat(data, times)...)
	return append(binary.LittleEndian.AppendUint32(append(out, end...), uint32(len(end))), "PAR1"...)
}
