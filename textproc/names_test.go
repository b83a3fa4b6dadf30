package textproc

import (
	"math"
	"slices"
	"testing"
)

// Names behind a title, a role, a relative or "seen by", or before a note, move nothing by their pieces; other words
// do.
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
		{"NP Wojakowa fell", "fell"},
		{"Pt Name: Okonowa, Wojakowa fell", "fell"},
		{"Okonowa fell", "fell"},
		{"OKONOWA fell", "fell"},
		{"Okonowa 78F fell", "78F fell"},
		{"Okonowa, fell", "fell"},
		{"Wojakowa Okonowa fell", "fell"},
		{"Okonowa, Wojakowa: fell", "fell"},
		{"OKONOWA, WOJAKOWA. FELL", "fell"},
		{"OKONOWA Wojakowa fell", "fell"},
		{"crew Okonowa / Wojakowa, fell", "crew, fell"},
		{"crew Fallon / Fallon, fell", "crew, fell"},
	} {
		if got, want := sum(c.named), sum(c.bare); got != want {
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
	for _, note := range []string{"okonowa fell", "fell, Okonowa", "OKONOWA FELL", "Shakily fell"} {
		if sum(note) == sum("fell") {
			t.Errorf("%q: an unknown word that hardly is a name has no pieces", note)
		}
	}
}

// All words of a note that the model does not know, names or not, move a sum of pieces by less than they would as words
// that it knows, and take less from the others: their squares are at most those of a short known word.
func TestUnknownWordsAreBounded(t *testing.T) {
	t.Parallel()
	docs := []Document{{Text: "shakily limping wheezing vomiting"}, {Text: "mother fell"}, {Text: "confused, lethargic"}}
	s := DefaultSettings()
	s.MinDF = 1
	v, _, err := Fit(docs, s)
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err = v.LearnPieces(docs); err != nil {
		t.Fatal(err)
	}
	weights := make([]float64, len(v.Pieces()))
	for i := range weights {
		weights[i] = 1
	}
	reader := v.Transformer()
	var squares []float64
	for _, w := range []string{"shakily", "limping", "wheezing", "vomiting", "mother", "fell", "confused", "lethargic"} {
		squares = append(squares, v.words[w].cuttings[0].square)
	}
	for _, unknown := range []string{"xfellx", "lethargiconova vomitingerski", "xlethargicxa fellingtonmoth limpvomitsonwheez"} {
		row := v.TransformPieces([]string{"limping shakily", "limping shakily, " + unknown})
		reader.Row("limping shakily, " + unknown)
		all := reader.PieceSum(weights)
		_, alone := row.Row(0)
		_, with := row.Row(1)
		var sum float64
		for _, x := range with {
			sum += x
		}
		if math.Abs(sum-all) > 1e-12 {
			t.Errorf("%q: the row's sum is %v, PieceSum %v", unknown, sum, all)
		}
		known := reader.pieceSums[0] + reader.pieceSums[1]
		var before float64
		for _, x := range alone {
			before += x
		}
		square := squares[0] + squares[1] // of limping and shakily
		least := before * math.Sqrt(square/(square+slices.Max(squares)))
		if known < least || known > before {
			t.Errorf("%q takes the known words from %v to %v, below %v", unknown, before, known, least)
		}
	}
}

// Names that no note of training has, behind a cue and before a note, hardly move a probability.
func TestNamesMoveNothing(t *testing.T) {
	t.Parallel()
	reader, score := trainSmall(t)
	surnames := [][2][]string{ // beginnings and ends of five origins
		{{"Adebo", "Chukwu", "Okon", "Ezen"}, {"wale", "dike", "kwonwa"}},
		{{"Wojt", "Kowal", "Zielin", "Nowak"}, {"czykowski", "ewicz", "inska"}},
		{{"Villa", "Esco", "Monte", "Herna"}, {"berrueta", "lobaro", "rquez"}},
		{{"Ramasu", "Venka", "Krish", "Subra"}, {"mbramani", "tarajan", "namurti"}},
		{{"Thorn", "Hather", "Wink", "Amble"}, {"thwaite", "sleigh", "worthy"}},
	}
	const most, mean = .05, .01
	var moves []float64
	for _, origin := range surnames {
		for _, first := range origin[0] {
			for _, last := range origin[1] {
				for cue, bare := range map[string]string{
					"Mrs ": "", "Dr. ": "", "seen by ": "seen by", "Pt Name: ": "pt", "mother, ": "mother", "RN ": "", "": "",
				} {
					for _, note := range []string{", knee pain", ", chest pain and syncope"} {
						move := math.Abs(score(cue+first+last+note) - score(bare+note))
						if move > most {
							t.Errorf("%q: the name moves the probability by %.4f", cue+first+last+note, move)
						}
						moves = append(moves, move)
					}
				}
			}
		}
	}
	var sum float64
	for _, m := range moves {
		sum += m
	}
	if got := sum / float64(len(moves)); got > mean {
		t.Errorf("names move the probability by %.4f in the mean, the largest %.4f", got, slices.Max(moves))
	}
	if reader("knee pain, Kowalinska") == reader("knee pain") {
		t.Error("a word without a cue moves nothing, so that the test cannot fail")
	}
}

// trainSmall returns the pieces' sum and the probability of a small logistic regression over words and their pieces.
func trainSmall(t *testing.T) (pieces, score func(note string) float64) {
	t.Helper()
	s := DefaultSettings()
	s.MinDF = 1
	var docs []Document
	var texts []string
	for _, admitted := range []string{
		"chest pain and syncope", "sepsis, hypotensive", "stroke, slurred speech", "unresponsive, vomiting blood",
		"collapsed at work, chest pain", "worsening dyspnea", "confused and lethargic", "kowalski okonkwo shaking",
	} {
		docs = append(docs, Document{Patient: admitted, Text: admitted})
		texts = append(texts, admitted)
	}
	for _, home := range []string{
		"knee pain", "twisted ankle", "sore throat", "finger laceration", "medication refill", "itchy rash",
		"earache since monday", "stubbed toe while walking",
	} {
		docs = append(docs, Document{Patient: home, Text: home})
		texts = append(texts, home)
	}
	v, _, err := Fit(docs, s)
	if err != nil {
		t.Fatal(err)
	}
	if v, _, err = v.LearnPieces(docs); err != nil {
		t.Fatal(err)
	}
	reader := v.Transformer()
	words, grams := make([]float64, len(v.Vocabulary())), make([]float64, len(v.Pieces()))
	logit := func(note string) float64 {
		row := reader.Row(note)
		z := reader.PieceSum(grams)
		for c, j := range row.Columns {
			z += words[j] * row.Values[c]
		}
		return z
	}
	probability := func(note string) float64 { return 1 / (1 + math.Exp(-logit(note))) }
	const rounds, step = 200, .5
	cut := v.TransformPieces(texts)
	for range rounds {
		for i, text := range texts {
			y := 0.0
			if i < len(texts)/2 {
				y = 1
			}
			g := step * (y - probability(text))
			row := reader.Row(text)
			for c, j := range row.Columns {
				words[j] += g * row.Values[c]
			}
			columns, values := cut.Row(i)
			for c, j := range columns {
				grams[j] += g * values[c]
			}
		}
	}
	return func(note string) float64 { reader.Row(note); return reader.PieceSum(grams) }, probability
}
