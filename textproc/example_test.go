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
		{Visit: "V1", Text: "78F fell at home, L hip pain"},
		{Visit: "V2", Text: "CP since this am, denies SOB"},
		{Visit: "V3", Text: "fall from ladder, hips hurt, no chest pain"},
	}, settings)
	if err != nil {
		fmt.Println(err)
		return
	}
	visits, _ := x.Dims()
	for j, term := range vectorizer.Vocabulary() {
		fmt.Printf("%-5s in %d of %d visits, idf %.3f\n", term.Text, term.DF, visits, vectorizer.IDF()[j])
	}
	// Output:
	// chest in 2 of 3 visits, idf 1.288
	// fall  in 2 of 3 visits, idf 1.288
	// hip   in 2 of 3 visits, idf 1.288
	// pain  in 3 of 3 visits, idf 1.000
}

func ExampleNew() {
	settings := textproc.DefaultSettings()
	settings.Norm = textproc.NoNorm
	vectorizer, err := textproc.New(settings, []textproc.Term{
		{Text: "hip", Surface: []string{"hip", "hips"}, DF: 40},
		{Text: "pain", Surface: []string{"pain", "pains"}, DF: 90},
	}, []float64{2, 1.5})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := vectorizer.Transformer().Row("Pains in L hip after GLF")
	fmt.Println(row.Columns, row.Values, row.Known, "of", row.Tokens, "known")
	// Output: [0 1] [2 1.5] 2 of 7 known
}

func ExampleTransformer_Tokens() {
	settings := textproc.DefaultSettings()
	settings.Negation = true
	vectorizer, err := textproc.New(settings, []textproc.Term{{Text: "not_breath", DF: 30}}, []float64{1})
	if err != nil {
		fmt.Println(err)
		return
	}
	note := "80YOM c/o chest pain, denies SOB."
	for _, token := range vectorizer.Transformer().Tokens(note) {
		fmt.Printf("%s (%s) %d\n", token.Text, note[token.Start:token.End], token.Column)
	}
	// Output:
	// male (YOM) -1
	// complain (c/o) -1
	// chest (chest) -1
	// pain (pain) -1
	// deni (denies) -1
	// not_short (SOB) -1
	// not_breath (SOB) 0
}

func ExampleLoadSynonyms() {
	table, err := textproc.LoadSynonyms(strings.NewReader("# our own\nfx = fracture\nc/o = complains of\n"))
	fmt.Println(table, err)
	_, err = textproc.LoadSynonyms(strings.NewReader("fx = fracture\n4x4 = gauze\n"))
	fmt.Println(err)
	// Output:
	// map[c/o:complains of fx:fracture] <nil>
	// reading synonyms: line 2: "4x4" is neither a word nor words joined by slashes
}
