package textproc_test

import (
	"compress/gzip"
	"encoding/csv"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardcast/wardcast/textproc"
)

// narratives returns the NEISS narratives of the shared data, or skips.
func narratives(tb testing.TB) []string {
	tb.Helper()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		tb.Skip("WARDCAST_SHARED is not set: no narratives to read")
	}
	file, err := os.Open(filepath.Join(shared, "data", "neiss_2017_2020.csv.gz"))
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	unzipped, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	rows, err := csv.NewReader(unzipped).ReadAll()
	if err != nil {
		tb.Fatal(err)
	}
	const narrative = 11
	var texts []string
	for _, row := range rows[1:] {
		texts = append(texts, row[narrative])
	}
	return texts
}

func documents(texts []string) []textproc.Document {
	docs := make([]textproc.Document, len(texts))
	for i, text := range texts {
		docs[i].Text = text
	}
	return docs
}

func BenchmarkRow(b *testing.B) {
	texts := narratives(b)
	v, x, err := textproc.Fit(documents(texts), textproc.DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	t := v.Transformer()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		t.Row(texts[i%len(texts)])
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
	b.ReportMetric(float64(x.NNZ())/float64(len(texts)), "terms/note")
}

func BenchmarkFit(b *testing.B) {
	docs := documents(narratives(b))
	b.ReportAllocs()
	for b.Loop() {
		if _, _, err := textproc.Fit(docs, textproc.DefaultSettings()); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(b.N*len(docs))/b.Elapsed().Seconds(), "notes/s")
}
