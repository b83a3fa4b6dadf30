package textproc_test

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"os"
	"path/filepath"
	"strings"
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

// Texts of the greatest size that a note may have. The time per byte must not grow with the size.
func BenchmarkRowOf64KiB(b *testing.B) {
	v := vectorizer(b, func(s *textproc.Settings) { s.NGrams = 3 })
	distinct := make([]byte, 0, 1<<16)
	for i := 0; len(distinct) < 1<<16; i++ {
		for n := i; n > 0; n /= 26 {
			distinct = append(distinct, 'a'+byte(n%26))
		}
		distinct = append(distinct, ' ')
	}
	for name, unit := range map[string]string{
		"words": "chest pain ", "slashes": "n/v/", "only=slashes": "a/////////", "one=word": "a", "apostrophes": "a'",
		"marks": "\u0301", "e=and=marks": "e" + strings.Repeat("\u0301", 40),
		"invalid": "\xff", "letters=and=invalid": "e\xff", "hangul": "ᄀ", "hiragana": "か\u3099", "expanding": "\ufdfa",
		"curly": "pt’s ", "digits": "1.", "distinct": string(distinct),
		"senses": "loc/", "denied": "denied ", "positive": "pos ", "neg": "neg ", "joined": "a/neg/",
		"weeks": "20wk 1 1 1 ", "commas": "no,", "past": "h/o x, ", "signs": "+-", "joined=denied": "fever/neg ",
		"newlines": "\n", "lists": "denies:\n- cp\n", "answers": "fever no ", "signed=letters": "+n/-v/",
		"titles": "dr a ", "changes": "hr 90->", "until": "no fever until ",
	} {
		b.Run(name, func(b *testing.B) {
			for _, size := range []int{1 << 10, 1 << 16} {
				text := strings.Repeat(unit, size/len(unit)+1)[:size]
				b.Run(fmt.Sprintf("bytes=%d", size), func(b *testing.B) {
					t := v.Transformer()
					b.SetBytes(int64(size))
					b.ReportAllocs()
					for b.Loop() {
						t.Row(text)
					}
				})
			}
		})
	}
}

// Notes pasted from elsewhere: each has a few characters beyond ASCII.
func BenchmarkRowTypographic(b *testing.B) {
	texts := narratives(b)
	v, _, err := textproc.Fit(documents(texts), textproc.DefaultSettings())
	if err != nil {
		b.Fatal(err)
	}
	for i := range texts {
		texts[i] = strings.ReplaceAll(texts[i], "'", "’") + " – 38 °C"
	}
	t := v.Transformer()
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		t.Row(texts[i%len(texts)])
		i++
	}
	b.ReportMetric(float64(b.N)/b.Elapsed().Seconds(), "notes/s")
}
