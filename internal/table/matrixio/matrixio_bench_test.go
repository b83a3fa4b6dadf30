package matrixio

import (
	"bytes"
	"fmt"
	"io"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func BenchmarkRead(b *testing.B) {
	const n, p, nnz = 10000, 5000, 25 // entries per row
	var mtx, csv bytes.Buffer
	fmt.Fprintf(&mtx, "%%%%MatrixMarket matrix coordinate real general\n%d %d %d\n", n, p, n*nnz)
	dense := mat.NewDense(n*nnz/10, 10, nil)
	for e := range n * nnz {
		v := 1 / float64(e+3) // 16 or 17 digits, as tf-idf has
		i := e / nnz
		fmt.Fprintf(&mtx, "%d %d %v\n", i+1, (i*7+e%nnz*193)%p+1, v)
		dense.Set(e/10, e%10, v)
		fmt.Fprintf(&csv, "%v%c", v, ",,,,,,,,,\n"[e%10])
	}
	for _, format := range []struct {
		name string
		file []byte
		read func(io.Reader) error
	}{
		{"mtx", mtx.Bytes(), func(r io.Reader) error { _, err := ReadMTX(r); return err }},
		{"csv", csv.Bytes(), func(r io.Reader) error { _, err := readCSV(r); return err }},
		{"npy", array(dense), func(r io.Reader) error { _, err := readNPY(r); return err }},
	} {
		b.Run(fmt.Sprintf("%s/entries=%d", format.name, n*nnz), func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(format.file)))
			for b.Loop() {
				if err := format.read(bytes.NewReader(format.file)); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(n*nnz*float64(b.N)/b.Elapsed().Seconds(), "entries/s")
		})
	}
}
