package textproc_test

import (
	"math"
	"testing"

	"github.com/wardcast/wardcast/textproc"
)

// The parts of a note ascend, do not overlap and add up for any note: phrases, parts of concepts, pieces of words, and
// one character that stands for several words.
func TestPartsShareOutEverything(t *testing.T) {
	t.Parallel()
	texts := []string{
		"knee pain, denies chest pain", "HR 120 knee swelling x2", "cp, n/v/d and zebra knee㏂hip pain", "㏂㏂ ㎏pain",
		"kn\u00adee ﬁnger pain", "", "+n/-v knee, BP 90/50 -> 120/70", "denies:\n- cp\n- knee pain",
	}
	v, _, err := textproc.Fit(notes(texts...), settings(func(s *textproc.Settings) { s.MinDF, s.NGrams = 1, 3 }))
	if err != nil {
		t.Fatal(err)
	}
	v, _, err = v.LearnPieces(notes(texts...))
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, len(v.Pieces()))
	for i := range weights {
		weights[i] = float64(i%5) - 1.5
	}
	reader := v.Transformer()
	for _, text := range texts {
		row := reader.Row(text)
		want := reader.PieceSum(weights)
		contributions := make([]float64, len(row.Columns))
		for c := range contributions {
			contributions[c] = float64(c) + .25
			want += contributions[c]
		}
		parts, other := reader.Parts(nil, contributions)
		end, got := 0, other
		for _, p := range parts {
			if p.Start < end || p.End <= p.Start || p.End > len(text) {
				t.Errorf("%q: part [%d,%d) after byte %d", text, p.Start, p.End, end)
			}
			end, got = p.End, got+p.Contribution
		}
		const rounding = 1e-9
		if math.Abs(got-want) > rounding {
			t.Errorf("%q: parts add up to %v, want %v", text, got, want)
		}
	}
}
