package textproc_test

import (
	"fmt"
	"math"
	"runtime"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/textproc"
)

// many returns notes of several patients, some with several notes.
func many() []textproc.Document {
	words := []string{
		"cough", "fever", "chest pain", "denies chest pain", "vomiting", "rash", "knee pain", "kne",
		"no vomiting", "78F", "spo2 88%", "sob", "hx of stroke",
	}
	docs := make([]textproc.Document, 300)
	for i := range docs {
		docs[i] = textproc.Document{
			Patient: fmt.Sprint(i * i % 220),
			Text:    words[i%len(words)] + ", " + words[i*7%11] + " and " + words[i*3%len(words)],
		}
	}
	return docs
}

// TestWordRowsTimesPieces: a note's words and the pieces of words multiply to its row of pieces.
func TestWordRowsTimesPieces(t *testing.T) {
	t.Parallel()
	docs := many()
	v, err := textproc.Learn(docs, settings(func(s *textproc.Settings) { s.MinDF = 3 }))
	if err != nil {
		t.Fatal(err)
	}
	v, words, err := v.LearnPieces(docs)
	if err != nil {
		t.Fatal(err)
	}
	tr := v.Transformer()
	pieces := words.Pieces()
	_, g := pieces.Dims()
	if g == 0 || g != len(v.Pieces()) {
		t.Fatalf("%d pieces of words, the vectorizer has %d", g, len(v.Pieces()))
	}
	entries := 0
	for i, d := range docs {
		want := v.TransformPieces([]string{d.Text})
		tr.Row(d.Text)
		got := make([]float64, g)
		tr.WordRow(words, func(j int32, value float64) {
			entries++
			columns, values := pieces.Row(int(j))
			for e, c := range columns {
				got[c] += value * values[e]
			}
		})
		for j, x := range got {
			if math.Abs(x-want.At(0, j)) > 1e-14 {
				t.Fatalf("note %d, piece %q: %v, want %v", i, v.Pieces()[j].Text, x, want.At(0, j))
			}
		}
	}
	if entries == 0 {
		t.Error("no note has words")
	}
}

// TestLearnDoesNotDependOnThreads: goroutines that count shares of the patients find the same vocabulary and pieces as
// a single one.
//
//nolint:paralleltest // it sets GOMAXPROCS
func TestLearnDoesNotDependOnThreads(t *testing.T) {
	docs := many()
	s := settings(func(s *textproc.Settings) { s.NGrams, s.MinDF = 2, 2 })
	learn := func(threads int) (*textproc.Vectorizer, *textproc.Words) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		v, err := textproc.Learn(docs, s)
		if err != nil {
			t.Fatal(err)
		}
		v, words, err := v.LearnPieces(docs)
		if err != nil {
			t.Fatal(err)
		}
		return v, words
	}
	want, wantWords := learn(1)
	for _, threads := range []int{2, 7} {
		got, words := learn(threads)
		if diff := cmp.Diff(want.Vocabulary(), got.Vocabulary()); diff != "" {
			t.Errorf("vocabulary by %d threads (-one +several):\n%s", threads, diff)
		}
		if diff := cmp.Diff(want.Pieces(), got.Pieces()); diff != "" {
			t.Errorf("pieces by %d threads (-one +several):\n%s", threads, diff)
		}
		a, b, c := wantWords.Pieces().Arrays()
		d, e, f := words.Pieces().Arrays()
		if !cmp.Equal(a, d) || !cmp.Equal(b, e) || !cmp.Equal(c, f) {
			t.Errorf("words by %d threads differ", threads)
		}
	}
}
