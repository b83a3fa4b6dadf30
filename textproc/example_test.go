package textproc_test

import (
	"fmt"
	"strings"

	"github.com/wardcast/wardcast/textproc"
)

func ExampleFit() {
	settings := textproc.DefaultSettings()
	settings.MinDF = 2
	vectorizer, x, err := textproc.Fit([]textproc.Document{
		{Patient: "V1", Text: "78F fell at home, L hip pain"},
		{Patient: "V2", Text: "CP since this am, denies SOB"},
		{Patient: "V3", Text: "fall from bed, hips hurt, no chest pain. 81 yo woman"},
	}, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	visits, _ := x.Dims()
	for j, term := range vectorizer.Vocabulary() {
		fmt.Printf("%-10s in %d of %d visits, idf %.3f\n", term.Text, term.DF, visits, vectorizer.IDF()[j])
	}
	// Output:
	// age:75-84y in 2 of 3 visits, idf 1.288
	// fall       in 2 of 3 visits, idf 1.288
	// hip        in 2 of 3 visits, idf 1.288
	// pain       in 2 of 3 visits, idf 1.288
	// sex:f      in 2 of 3 visits, idf 1.288
}

func ExampleNew() {
	settings := textproc.DefaultSettings()
	settings.Norm = textproc.NoNorm
	vectorizer, err := textproc.New(settings, []textproc.Term{
		{Text: "hip", Surface: []string{"hip", "hips"}, DF: 40},
		{Text: "not:loss_of_consciousness", Surface: []string{"loc"}, DF: 90},
	}, []float64{2, 1.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := vectorizer.Transformer().Row("Pains in L hip after GLF, no LOC")
	fmt.Println(row.Columns, row.Values, row.Known, "of", row.Tokens, "known")
	// Output: [0 1] [2 1.5] 2 of 6 known
}

func ExampleTransformer_Tokens() {
	reader, err := textproc.Reader(textproc.DefaultSettings())
	if err != nil {
		fmt.Println(err)
		return
	}
	note := "80YOM c/o chest pain 8/10, denies SOB. HR 120"
	for _, token := range reader.Tokens(note) {
		fmt.Printf("%-10s %-8s %s\n", note[token.Start:token.End], token.Status, strings.Join(token.Terms, ", "))
	}
	// Output:
	// 80YOM      affirmed age:75-84y, sex:m
	// chest pain affirmed chest_pain, chest, pain
	// 8/10       affirmed pain:7-10
	// SOB        negated  dyspnea
	// HR 120     affirmed hr:111-130
}

func ExampleConcepts_With() {
	table := "concept\tsurfaces\tkind\tnote\n" +
		"fast_track\tft|fast track\tadmin\tour own\n"
	settings := textproc.DefaultSettings()
	var err error
	if settings.Concepts, err = textproc.Builtin().With(strings.NewReader(table)); err != nil {
		fmt.Println(err)
		return
	}
	reader, err := textproc.Reader(settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(reader.Tokens("to FT")[0].Terms)
	_, err = textproc.Builtin().With(strings.NewReader("concept\tsurfaces\tkind\tnote\nfast_track\tft\troom\t\n"))
	fmt.Println(err)
	// Output:
	// [fast_track]
	// reading concepts: line 2: kind "room" of "fast_track" is not one of symptom, finding, history, mechanism, treatment, anatomy, admin
}

func ExampleCodePoints() {
	note := "can’t walk"
	reader, err := textproc.Reader(textproc.DefaultSettings())
	if err != nil {
		fmt.Println(err)
		return
	}
	token := reader.Tokens(note)[0]
	positions := []int{token.Start, token.End}
	textproc.CodePoints(note, positions)
	fmt.Println(token.Terms, token.Start, token.End, positions)
	// Output: [unable_to_walk] 0 12 [0 10]
}
