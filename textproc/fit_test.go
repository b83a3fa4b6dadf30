package textproc_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/textproc"
)

// settings returns the defaults for notes few enough to count by hand, changed.
func settings(change func(*textproc.Settings)) textproc.Settings {
	s := textproc.DefaultSettings()
	s.MinDF = 1
	if change != nil {
		change(&s)
	}
	return s
}

// vectorizer returns a vectorizer with an arbitrary vocabulary.
func vectorizer(tb testing.TB, change func(*textproc.Settings)) *textproc.Vectorizer {
	tb.Helper()
	v, err := textproc.New(settings(change), []textproc.Term{{Text: "pain", Surface: []string{"pain"}, DF: 1}},
		[]float64{1})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

func notes(texts ...string) []textproc.Document {
	docs := make([]textproc.Document, len(texts))
	for i, text := range texts {
		docs[i].Text = text
	}
	return docs
}

func dense(t *testing.T, docs []textproc.Document, s textproc.Settings) (terms string, rows [][]float64) {
	t.Helper()
	v, x, err := textproc.Fit(docs, s)
	if err != nil {
		t.Fatal(err)
	}
	var texts []string
	for _, term := range v.Vocabulary() {
		texts = append(texts, fmt.Sprintf("%s:%d", term.Text, term.DF))
	}
	n, _ := x.Dims()
	for i := range n {
		rows = append(rows, mat.Row(nil, i, x))
	}
	return strings.Join(texts, " "), rows
}

// unit returns (a, b) at length 1.
func unit(a, b float64) []float64 { return []float64{a / math.Hypot(a, b), b / math.Hypot(a, b)} }

func TestWeights(t *testing.T) {
	t.Parallel()
	docs := notes("knee knee knee hip", "knee", "rash", "")
	ln := math.Log
	for _, c := range []struct {
		name   string
		change func(*textproc.Settings)
		want   []float64 // hip, knee of the first note
	}{
		{"binary", func(s *textproc.Settings) { s.Weighting = textproc.Binary }, []float64{1, 1}},
		{
			"ln(N/df)",
			func(s *textproc.Settings) { s.IDF, s.Norm, s.SublinearTF = textproc.PlainIDF, textproc.NoNorm, false },
			[]float64{ln(4), 3 * ln(2)},
		},
		{
			"ln(N/df)+1",
			func(s *textproc.Settings) { s.IDF, s.Norm, s.SublinearTF = textproc.PlusOneIDF, textproc.NoNorm, false },
			[]float64{ln(4) + 1, 3 * (ln(2) + 1)},
		},
		{
			"smooth", func(s *textproc.Settings) { s.Norm, s.SublinearTF = textproc.NoNorm, false },
			[]float64{ln(5./2) + 1, 3 * (ln(5./3) + 1)},
		},
		{
			"sublinear", func(s *textproc.Settings) { s.IDF, s.Norm = textproc.PlainIDF, textproc.NoNorm },
			[]float64{ln(4), (1 + ln(3)) * ln(2)},
		},
		{"l2", func(s *textproc.Settings) { s.IDF = textproc.PlainIDF }, unit(ln(4), (1+ln(3))*ln(2))},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, rows := dense(t, docs, settings(c.change))
			if diff := cmp.Diff(c.want, rows[0][:2], cmpopts.EquateApprox(0, 1e-15)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			for _, value := range rows[3] {
				if value != 0 {
					t.Errorf("row of an empty note: %v", rows[3])
				}
			}
		})
	}
}

func TestVocabulary(t *testing.T) {
	t.Parallel()
	docs := []textproc.Document{
		{Patient: "1", Text: "hip Smith"},
		{Patient: "2", Text: "hip pain"},
		{Patient: "1", Text: "knee pain Smith"},
		{Patient: "", Text: "hip rash"},
		{Patient: "", Text: "rash"},
	}
	for _, c := range []struct {
		name   string
		change func(*textproc.Settings)
		want   string
	}{
		{"all", nil, "hip:3 knee:1 pain:2 rash:2 smith:1"},
		{"min df counts visits", func(s *textproc.Settings) { s.MinDF = 2 }, "hip:3 pain:2 rash:2"},
		{"max df counts visits", func(s *textproc.Settings) { s.MaxDF = .5 }, "knee:1 pain:2 rash:2 smith:1"},
		{"max terms by df, then alphabet", func(s *textproc.Settings) { s.MaxTerms = 2 }, "hip:3 pain:2"},
		{"n-grams", func(s *textproc.Settings) { s.NGrams, s.MaxTerms = 2, 4 }, "hip:3 hip pain:1 pain:2 rash:2"},
		{"own stop words", func(s *textproc.Settings) { s.StopWords = []string{"Smith"} }, "hip:3 knee:1 pain:2 " +
			"rash:2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got, _ := dense(t, docs, settings(c.change)); got != c.want {
				t.Errorf("got %s, want %s", got, c.want)
			}
		})
	}
}

// Words that could be names need more patients than common ones: as terms, in pairs, as spellings and in pieces.
func TestNamesNeedMorePatients(t *testing.T) {
	t.Parallel()
	v, err := textproc.Learn(notes("skateboard ramp Garcia", "skateboard ramp Garcia", "skateboards Baker foot",
		"skateboards Baker foot", "foote denies fever", "foote denies fever"), settings(func(s *textproc.Settings) {
		s.MinDF, s.MinCommon, s.NGrams = 3, 2, 2
	}))
	if err != nil {
		t.Fatal(err)
	}
	var terms []string
	for _, term := range v.Vocabulary() {
		terms = append(terms, term.Text+"="+strings.Join(term.Surface, "|"))
	}
	want := []string{
		"foot=foot", "foot not:fever=foot not:fever", "not:fever=fever", "ramp=ramp", "skateboard=skateboard|skateboards",
		"skateboard ramp=skateboard ramp",
	}
	if diff := cmp.Diff(want, terms); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	with, _, err := v.LearnPieces(notes("ramp Garcia", "ramp Garcia"))
	if err != nil {
		t.Fatal(err)
	}
	for _, g := range with.Pieces() {
		if pieced := " ramp "; !strings.Contains(pieced, g.Text) {
			t.Errorf("piece %q of a name of two patients", g.Text)
		}
	}
	if len(with.Pieces()) == 0 {
		t.Error("a common word has no pieces")
	}
}

func TestSurface(t *testing.T) {
	t.Parallel()
	docs := notes("Bleeding, denies pain", "bleeding bleeds, denies pain", "bleed. CP", "bleeding. no pain",
		"BLEED, chest  pain", "bled bleeds, CP HR 120", "HR 120, HR: 130")
	v, _, err := textproc.Fit(docs, settings(func(s *textproc.Settings) { s.MinDF, s.NGrams = 2, 2 }))
	if err != nil {
		t.Fatal(err)
	}
	got := make(map[string][]string)
	for _, term := range v.Vocabulary() {
		got[term.Text] = term.Surface
	}
	want := map[string][]string{
		"bleed":            {"bleeding", "bleed", "bleeds"},
		"bleed chest_pain": {"bleed chest_pain"}, // each of its forms is from one visit, so the term stands for itself
		"bleed not:pain":   {"bleed not:pain"},
		"chest":            {"cp"},
		"chest_pain":       {"cp"},
		"hr:111-130":       {"hr 120"},
		"not:pain":         {"pain"},
		"pain":             {"cp"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	pain := []textproc.Term{{Text: "pain", Surface: []string{"pain"}, DF: 5}}
	for _, c := range []struct {
		name       string
		change     func(*textproc.Settings)
		vocabulary []textproc.Term
		idf        []float64
		want       error
		says       string
	}{
		{
			"weighting", func(s *textproc.Settings) { s.Weighting = "tfidf" }, pain,
			[]float64{1},
			textproc.ErrSettings, `unknown weighting "tfidf"`,
		},
		{
			"idf formula", func(s *textproc.Settings) { s.IDF = "" }, pain,
			[]float64{1},
			textproc.ErrSettings, `unknown idf ""`,
		},
		{
			"norm", func(s *textproc.Settings) { s.Norm = "l1" }, pain,
			[]float64{1},
			textproc.ErrSettings, `unknown norm "l1"`,
		},
		{"min df", func(s *textproc.Settings) { s.MinDF = 0 }, pain, []float64{1}, textproc.ErrSettings, "min_df 0"},
		{
			"max df", func(s *textproc.Settings) { s.MaxDF = math.NaN() }, pain,
			[]float64{1},
			textproc.ErrSettings, "max_df NaN",
		},
		{
			"max terms", func(s *textproc.Settings) { s.MaxTerms = -1 }, pain,
			[]float64{1},
			textproc.ErrSettings, "max_terms -1",
		},
		{"n-grams", func(s *textproc.Settings) { s.NGrams = 4 }, pain, []float64{1}, textproc.ErrSettings, "n_grams 4"},
		{
			"tokenizer", func(s *textproc.Settings) { s.Tokenizer = "wardcast-0" }, pain,
			[]float64{1},
			textproc.ErrSettings, "tokenizer",
		},
		{
			"stemmer", func(s *textproc.Settings) { s.Stemmer = "snowball 3.1" }, pain,
			[]float64{1},
			textproc.ErrSettings, "stemmer",
		},
		{
			"stop word", func(s *textproc.Settings) { s.StopWords = []string{"in the"} }, pain,
			[]float64{1},
			textproc.ErrSettings, "stop word",
		},
		{"concepts", func(s *textproc.Settings) {
			s.Concepts = &textproc.Concepts{
				Triggers: []textproc.Trigger{{Surface: "no", Effect: "deny", Concept: "zebra"}},
			}
		}, pain, []float64{1}, textproc.ErrSettings, "no concept"},
		{"no terms", nil, nil, nil, textproc.ErrEmptyVocabulary, "empty"},
		{"lengths", nil, pain, []float64{1, 2}, textproc.ErrVocabulary, "1 terms and 2 idf"},
		{"empty term", nil, []textproc.Term{{}}, []float64{1}, textproc.ErrVocabulary, "column 0"},
		{"invalid UTF-8", nil, []textproc.Term{{Text: "\xff"}}, []float64{1}, textproc.ErrVocabulary, "column 0"},
		{"same term", nil, append(pain, pain...), []float64{1, 1}, textproc.ErrVocabulary, "column 1"},
		{"negative df", nil, []textproc.Term{{Text: "pain", DF: -1}}, []float64{1}, textproc.ErrVocabulary, "column 0"},
		{"negative idf", nil, pain, []float64{-1}, textproc.ErrVocabulary, "idf of -1"},
		{"NaN idf", nil, pain, []float64{math.NaN()}, textproc.ErrVocabulary, "idf of NaN"},
		{"infinite idf", nil, pain, []float64{math.Inf(1)}, textproc.ErrVocabulary, "idf of +Inf"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := textproc.New(settings(c.change), c.vocabulary, c.idf); !errors.Is(err, c.want) ||
				!strings.Contains(err.Error(), c.says) {
				t.Errorf("New: got %v, want %v with %q", err, c.want, c.says)
			}
			if !errors.Is(c.want, textproc.ErrSettings) {
				return
			}
			if _, _, err := textproc.Fit(notes("pain"), settings(c.change)); !errors.Is(err, c.want) {
				t.Errorf("Fit: got %v, want %v", err, c.want)
			}
		})
	}
	for name, docs := range map[string][]textproc.Document{
		"no notes": nil, "empty notes": notes("", "?"), "rare terms": notes("pain", "knee"),
	} {
		s := textproc.DefaultSettings()
		if _, _, err := textproc.Fit(docs, s); !errors.Is(err, textproc.ErrEmptyVocabulary) {
			t.Errorf("%s: got %v, want %v", name, err, textproc.ErrEmptyVocabulary)
		}
	}
}

func TestSettingsJSON(t *testing.T) {
	t.Parallel()
	s := textproc.DefaultSettings()
	s.StopWords = []string{}
	s.Concepts = &textproc.Concepts{
		Concepts: []textproc.Concept{{Name: "fracture", Surfaces: []string{"fx"}, Kind: "finding"}},
	}
	const want = `{"weighting":"tf-idf","idf":"ln((1+N)/(1+df))+1","sublinear_tf":true,"norm":"l2","min_df":5,` +
		`"max_df":1,"max_terms":0,"n_grams":1,` +
		`"status":true,"numbers":true,"age":true,"spelling":true,"concepts":{"concepts":[{"name":"fracture",` +
		`"surfaces":["fx"],"kind":"finding"}],"senses":null,"triggers":null},` +
		`"stop_words":[],"keep_stop_words":false,"tokenizer":"wardcast-3","stemmer":"snowball-porter2 kljensen ` +
		`v0.10.0 (pre-2023)"}`
	got, err := json.Marshal(s)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	got, err = json.Marshal(textproc.Term{Text: "fractur", Surface: []string{"fx"}, DF: 7})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(`{"term":"fractur","surface":["fx"],"df":7}`, string(got)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if v := vectorizer(t, nil); v.Settings().Concepts == nil || len(v.Settings().StopWords) == 0 {
		t.Error("the built-in concepts or stop words are not written out")
	}
}

func TestVectorizerIsShared(t *testing.T) {
	t.Parallel()
	docs := notes("chest pain", "knee pain, straße", "fell on hip")
	v, x, err := textproc.Fit(docs, settings(nil))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() {
			transformer := v.Transformer()
			for i, d := range docs {
				columns, values := x.Row(i)
				row := transformer.Row(d.Text)
				if !cmp.Equal(columns, row.Columns) || !cmp.Equal(values, row.Values) {
					t.Errorf("row %d differs", i)
				}
			}
		})
	}
	all.Wait()
}

func TestRowAllocatesNothing(t *testing.T) {
	const note = "78F glf at home x2 days ago, unable to wt bear L hip, shortened + rotated. Denies CP, vomitting. " +
		"HR 120 bp 84/50 pain 8/10, -LOC mom has flu"
	v, _, err := textproc.Fit(notes(note), settings(func(s *textproc.Settings) { s.NGrams = 2 }))
	if err != nil {
		t.Fatal(err)
	}
	transformer := v.Transformer()
	if got := testing.AllocsPerRun(100, func() { transformer.Row(note) }); got != 0 {
		t.Errorf("%v allocations", got)
	}
}

// TestNamesArePositions: a name that has the stem of a known word, or nearly its spelling, is not a word of other
// patients.
func TestNamesArePositions(t *testing.T) {
	t.Parallel()
	var docs []textproc.Document
	for i := range 6 {
		docs = append(docs, textproc.Document{Patient: string(rune('a' + i)), Text: "foot pain"})
	}
	s := textproc.DefaultSettings()
	v, _, err := textproc.Fit(docs, s)
	if err != nil {
		t.Fatal(err)
	}
	transformer := v.Transformer()
	row := transformer.Row("Mrs Foote, Mr Paine, Foote: Paine, foot pain")
	weights := make([]float64, len(row.Columns))
	for i := range weights {
		weights[i] = 1
	}
	var printed []string
	text := "Mrs Foote, Mr Paine, Foote: Paine, foot pain"
	parts, _ := transformer.Parts(nil, weights)
	for _, p := range parts {
		if p.Printable {
			printed = append(printed, text[p.Start:p.End])
		} else if len(p.Terms) > 0 {
			t.Errorf("%q has the terms %q", text[p.Start:p.End], p.Terms)
		}
	}
	if d := cmp.Diff([]string{"foot pain"}, printed); d != "" {
		t.Errorf("printed: %s", d)
	}
}
