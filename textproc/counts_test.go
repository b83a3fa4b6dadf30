package textproc_test

import (
	"bytes"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/textproc"
)

// TestCountsAddUp: counts of patients in two processes, written one after the other, give the vocabulary and the pieces
// of words that one process learns.
func TestCountsAddUp(t *testing.T) {
	t.Parallel()
	texts := []string{
		"chest pain, denies fever", "no chest pain; fell from ladder", "fever and COUGH x3 days",
		"Coughing, fell at home", "ladder fall, chest wall pain <left>",
	}
	var docs []textproc.Document
	for i := range 60 {
		docs = append(docs, textproc.Document{Patient: fmt.Sprint(i / 2), Text: texts[i%len(texts)]})
	}
	s := textproc.DefaultSettings()
	s.NGrams = 2
	want, err := textproc.Learn(docs, s)
	if err != nil {
		t.Fatal(err)
	}
	wantPieces, wantWords, err := want.LearnPieces(docs)
	if err != nil {
		t.Fatal(err)
	}
	add := func(count func([]textproc.Document) *textproc.Counts) *textproc.Counts {
		var both bytes.Buffer
		for _, part := range [][]textproc.Document{docs[:20], docs[20:]} {
			if err := count(part).Write(&both); err != nil {
				t.Fatal(err)
			}
		}
		all, err := textproc.ReadCounts(&both)
		if err != nil {
			t.Fatal(err)
		}
		return all
	}
	got, err := add(func(part []textproc.Document) *textproc.Counts {
		c, err := textproc.CountTerms(part, s)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}).Learn(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Vocabulary(), got.Vocabulary()); diff != "" || !cmp.Equal(want.IDF(), got.IDF()) {
		t.Errorf("vocabulary differs:\n%s", diff)
	}
	pieces, words, err := add(got.CountPieces).LearnPieces(got)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(wantPieces.Pieces(), pieces.Pieces()); diff != "" || len(pieces.Pieces()) == 0 ||
		!cmp.Equal(wantWords.Uses(), words.Uses()) {
		t.Errorf("pieces differ:\n%s", diff)
	}
}

type full struct{ writes int }

var errFull = errors.New("no space left")

func (f *full) Write([]byte) (int, error) {
	f.writes++
	return 0, errFull
}

// TestCountsOnFullDisk: the first write that fails is the last one, so that the error stands once and not for each
// term.
func TestCountsOnFullDisk(t *testing.T) {
	t.Parallel()
	c, err := textproc.CountTerms([]textproc.Document{{Text: "chest pain"}}, textproc.DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	disk := &full{}
	if err := c.Write(disk); !errors.Is(err, errFull) || disk.writes != 1 {
		t.Errorf("%d writes: %v", disk.writes, err)
	}
}
