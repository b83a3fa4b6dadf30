package textproc

import (
	"math/rand/v2"
	"runtime"
	"strings"
	"testing"
)

// TestTransformerMemory: for any words and any length of the notes, a transformer keeps its memory bounds and its rows
// stay right.
func TestTransformerMemory(t *testing.T) {
	pieces := []Piece{}
	for a := 'a'; a <= 'z'; a++ {
		for b := 'a'; b <= 'z'; b++ {
			for c := 'a'; c <= 'z'; c++ {
				pieces = append(pieces, Piece{Text: string([]rune{a, b, c}), IDF: 1})
			}
		}
	}
	v, err := New(DefaultSettings(), []Term{{Text: "pain", DF: 1}}, []float64{1}, pieces...)
	if err != nil {
		t.Fatal(err)
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	transformer := v.Transformer()
	random := rand.New(rand.NewPCG(1, 2))
	for range 24 { // words of some 15 MB
		var note strings.Builder
		for range 1000 { // the longest words, each with as many pieces as there can be
			for range maxWord - 1 {
				note.WriteByte(byte('a' + random.IntN(26)))
			}
			note.WriteByte(' ')
		}
		note.WriteString("pain")
		if row := transformer.Row(note.String()); len(row.Columns) != 1 {
			t.Fatalf("columns %v", row.Columns)
		}
	}
	transformer.Row(strings.Repeat("1 b; ", 64<<10/5))
	transformer.Row("pain")
	runtime.GC()
	runtime.ReadMemStats(&after)
	const most = 6 << 20
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > most {
		t.Errorf("%d bytes are held, want at most %d", got, most)
	}
	runtime.KeepAlive(transformer)
}
