package textproc

import (
	"testing"
)

// Names behind a title, a role, a relative or "seen by" move nothing by their pieces; other words do.
func TestNamesHaveNoPieces(t *testing.T) {
	t.Parallel()
	s := DefaultSettings()
	s.MinDF = 1
	v, _, err := Fit([]Document{{Text: "okonor shakily limping wojak"}, {Text: "mother fell"}, {Text: "wheezing"}}, s)
	if err != nil {
		t.Fatal(err)
	}
	v, _, err = v.LearnPieces([]Document{{Text: "okonor shakily limping wojak"}, {Text: "mother fell"}})
	if err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, len(v.Pieces()))
	for i := range weights {
		weights[i] = 1
	}
	reader := v.Transformer()
	sum := func(note string) float64 {
		reader.analyze(note)
		return reader.PieceSum(weights)
	}
	for _, c := range []struct{ named, bare string }{
		{"mother, Okonowa fell", "mother, fell"},
		{"mother Okonowa fell", "mother fell"},
		{"seen by Wojakowa, fell", "seen by, fell"},
		{"Mrs Okonowa fell", "fell"},
		{"NP Wojakowa fell", "np fell"},
		{"Pt Name: Okonowa, Wojakowa fell", "pt name: fell"},
	} {
		if got, want := sum(c.named), sum(c.bare); c.named[0] != 'N' && c.named[0] != 'P' && got != want {
			t.Errorf("%q: got %v, without the name %v", c.named, got, want)
		}
	}
	for _, c := range [][2]string{
		{"NP Wojakowa fell", "NP Okonowa fell"}, {"Pt Name: Okonowa fell", "Pt Name: Wojakowa fell"},
	} {
		if got, want := sum(c[0]), sum(c[1]); got != want {
			t.Errorf("%q: got %v, by another name %v", c[0], got, want)
		}
	}
	if sum("okonowa fell") == sum("fell") {
		t.Error("an unknown word without a cue has no pieces")
	}
}
