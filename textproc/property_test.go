package textproc

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// drawNote draws what notes are made of, and what they should not be made of.
func drawNote(t *rapid.T, label string) string {
	pieces := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"pain", "PAINS", "chest", "fell", "fx", "c/o", "w/", "n/v/d", "sob", "denies", "no", "not", "but", "the", "pt's", "78F", "2.5", "L", "o'clock",
			"can’t", "café", "cafe\u0301", "ﬁnger", "\u00ad", "straße", "㏂", "\xff", "\xe2\x80", "İ", "\u0345", "각", "ᄀ", "膝", "x", "painpainpainpainpainpainpainpainpainpainpainpainpainpainpainpainpain",
		}),
		rapid.SampledFrom([]string{" ", " ", " ", ", ", ". ", "; ", "/", "-", "'", "\n", "("}),
		rapid.StringN(0, 3, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(b []byte) string { return string(b) }),
	), 0, 20).Draw(t, label)
	return strings.Join(pieces, "")
}

func drawSettings(t *rapid.T) Settings {
	s := DefaultSettings()
	s.Weighting = rapid.SampledFrom([]Weighting{TFIDF, TFIDF, Binary}).Draw(t, "weighting")
	s.IDF = rapid.SampledFrom([]IDF{PlainIDF, PlusOneIDF, SmoothIDF}).Draw(t, "idf")
	s.Norm = rapid.SampledFrom([]Norm{NoNorm, L2Norm}).Draw(t, "norm")
	s.SublinearTF = rapid.Bool().Draw(t, "sublinear")
	s.Negation = rapid.Bool().Draw(t, "negation")
	s.NGrams = rapid.IntRange(1, 3).Draw(t, "ngrams")
	s.MinDF = rapid.IntRange(1, 2).Draw(t, "mindf")
	s.MaxTerms = rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "maxterms")
	s.MaxDF = rapid.SampledFrom([]float64{1, 1, .5}).Draw(t, "maxdf")
	if rapid.Bool().Draw(t, "own words") {
		s.Synonyms = map[string]string{"CHEST": "thorax", "c/o": "complains pain"}
		s.StopWords = []string{}
	}
	return s
}

func drawDocuments(t *rapid.T) []Document {
	docs := make([]Document, rapid.IntRange(1, 8).Draw(t, "notes"))
	for i := range docs {
		docs[i] = Document{Visit: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "visit"), Text: drawNote(t, "note")}
	}
	return docs
}

// clone returns a row that outlives the transformer's next call.
func (r Row) clone() Row {
	r.Columns, r.Values = slices.Clone(r.Columns), slices.Clone(r.Values)
	return r
}

func equal(t interface{ Fatalf(string, ...any) }, what string, got, want Row) {
	if got.Tokens != want.Tokens || got.Known != want.Known || !slices.Equal(got.Columns, want.Columns) || !slices.Equal(got.Values, want.Values) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

func TestSpans(t *testing.T) {
	t.Parallel()
	v, err := newVectorizer(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		note := drawNote(t, "note")
		one, other := v.Transformer(), v.Transformer()
		start, end := 0, 0
		for _, token := range one.Tokens(note) {
			if token.Start < start || token.End < end || token.Start >= token.End || token.End > len(note) {
				t.Fatalf("token [%d,%d) after [%d,%d) in %d bytes", token.Start, token.End, start, end, len(note))
			}
			start, end = token.Start, token.End
			span := note[start:end]
			if !slices.ContainsFunc(other.Tokens(span), func(x Token) bool { return x.Text == token.Text }) {
				t.Fatalf("token %q is not what its span %q holds", token.Text, span)
			}
			if strings.ContainsFunc(token.Text, func(c rune) bool { return c >= '0' && c <= '9' }) || !utf8.ValidString(token.Text) {
				t.Fatalf("token %q", token.Text)
			}
		}
	})
}

func TestFoldIgnoresForm(t *testing.T) {
	t.Parallel()
	v, err := newVectorizer(DefaultSettings())
	if err != nil {
		t.Fatal(err)
	}
	terms := func(s string) (all []string) {
		for _, token := range v.Transformer().Tokens(s) {
			all = append(all, token.Text)
		}
		return all
	}
	rapid.Check(t, func(t *rapid.T) {
		note := rapid.StringMatching(`[a-z '/.,0-9]{0,60}`).Draw(t, "note")
		want := terms(note)
		wide := strings.Map(func(c rune) rune { // fullwidth forms, which NFKC undoes
			if c > ' ' && c <= '~' {
				return c - '!' + '！'
			}
			return c
		}, note)
		for name, form := range map[string]string{
			"upper": strings.ToUpper(note), "wide": wide, "mixed with invalid UTF-8": strings.ReplaceAll(note, "e", "\xffe\x80"),
			"typographic": strings.ReplaceAll(note, "'", "’"),
		} {
			if diff := gocmp.Diff(want, terms(form)); diff != "" {
				t.Fatalf("%s %q of %q (-want +got):\n%s", name, form, note, diff)
			}
		}
	})
}

// The counts of Fit and the values of Row are those that follow from Tokens by their definitions.
func TestFitByDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs, s := drawDocuments(t), drawSettings(t)
		v, x, err := Fit(docs, s)
		if err != nil {
			return
		}
		visits := make(map[string]map[string]bool) // term → visits
		all := make(map[string]bool)
		for i, d := range docs {
			visit := cmp.Or(d.Visit, string(rune('0'+i)))
			all[visit] = true
			for _, token := range v.Transformer().Tokens(d.Text) {
				if visits[token.Text] == nil {
					visits[token.Text] = make(map[string]bool)
				}
				visits[token.Text][visit] = true
			}
		}
		var terms []string
		for term, in := range visits {
			if len(in) >= s.MinDF && float64(len(in)) <= s.MaxDF*float64(len(all)) {
				terms = append(terms, term)
			}
		}
		slices.SortFunc(terms, func(a, b string) int { return cmp.Or(len(visits[b])-len(visits[a]), strings.Compare(a, b)) })
		if s.MaxTerms > 0 && len(terms) > s.MaxTerms {
			terms = terms[:s.MaxTerms]
		}
		slices.Sort(terms)
		var got []string
		for _, term := range v.Vocabulary() {
			got = append(got, term.Text)
			if term.DF != len(visits[term.Text]) || len(term.Surface) == 0 || len(term.Surface) > maxSurfaces {
				t.Fatalf("term %+v is in %d visits", term, len(visits[term.Text]))
			}
		}
		if diff := gocmp.Diff(terms, got); diff != "" {
			t.Fatalf("vocabulary (-want +got):\n%s", diff)
		}
		for i, d := range docs {
			counts := make(map[int]float64)
			for _, token := range v.Transformer().Tokens(d.Text) {
				if token.Column >= 0 {
					counts[token.Column]++
				}
			}
			columns, values := x.Row(i)
			if !slices.Equal(columns, slices.Sorted(maps.Keys(int32Keys(counts)))) {
				t.Fatalf("columns %v, want those of %v", columns, counts)
			}
			var square float64
			for j, c := range counts {
				value := c
				switch n, df := float64(len(all)), float64(v.Vocabulary()[j].DF); {
				case s.Weighting == Binary:
					counts[j] = 1
					continue
				case s.SublinearTF:
					value = 1 + math.Log(c)
					fallthrough
				default:
					value *= map[IDF]float64{PlainIDF: math.Log(n / df), PlusOneIDF: math.Log(n/df) + 1, SmoothIDF: math.Log((1+n)/(1+df)) + 1}[s.IDF]
				}
				counts[j] = value
				square += value * value
			}
			for c, j := range columns {
				want := counts[int(j)]
				if s.Weighting == TFIDF && s.Norm == L2Norm && square > 0 {
					want /= math.Sqrt(square)
				}
				if math.Abs(values[c]-want) > 1e-12 {
					t.Fatalf("value %v of column %d, want %v", values[c], j, want)
				}
			}
		}
	})
}

func int32Keys(m map[int]float64) map[int32]struct{} {
	keys := make(map[int32]struct{}, len(m))
	for j := range m {
		keys[int32(j)] = struct{}{}
	}
	return keys
}

// A row does not depend on neighbours, order, caches, saving and loading.
func TestRowsDependOnTheTextAlone(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs, s := drawDocuments(t), drawSettings(t)
		v, x, err := Fit(docs, s)
		if err != nil {
			return
		}
		shuffled := rapid.Permutation(docs).Draw(t, "order")
		again, _, err := Fit(shuffled, s)
		if err != nil {
			t.Fatal(err)
		}
		if diff := gocmp.Diff(v.Vocabulary(), again.Vocabulary()); diff != "" {
			t.Fatalf("the order of notes changed the vocabulary:\n%s", diff)
		}

		saved, err := json.Marshal([]any{v.Settings(), v.Vocabulary(), v.IDF()})
		if err != nil {
			t.Fatal(err)
		}
		var settings Settings
		var vocabulary []Term
		var idf []float64
		if err := json.Unmarshal(saved, &[]any{&settings, &vocabulary, &idf}); err != nil {
			t.Fatal(err)
		}
		loaded, err := New(settings, vocabulary, idf)
		if err != nil {
			t.Fatal(err)
		}

		texts := make([]string, 0, len(docs)+3)
		for _, d := range docs {
			texts = append(texts, d.Text)
		}
		texts = append(texts, drawNote(t, "new"), "", drawNote(t, "new"))
		warm, forgetful, reloaded := v.Transformer(), v.Transformer(), loaded.Transformer()
		forgetful.bound = 1
		batch := loaded.Transform(texts)
		for i, text := range texts {
			want := v.Transformer().Row(text).clone()
			equal(t, "warm cache", warm.Row(text), want)
			equal(t, "warm cache, again", warm.Row(text), want)
			equal(t, "cache of one word", forgetful.Row(text), want)
			equal(t, "reloaded", reloaded.Row(text), want)
			columns, values := batch.Row(i)
			equal(t, "batch", Row{columns, values, want.Tokens, want.Known}, want)
			if i < len(docs) {
				columns, values = x.Row(i)
				equal(t, "Fit", Row{columns, values, want.Tokens, want.Known}, want)
			}
		}
	})
}

func FuzzRow(f *testing.F) {
	for _, seed := range []string{
		"", "78F glf at home, unable to wt bear L hip, shortened + rotated", "Denies CP, SOB or n/v/d. c/o abd pain w/fever",
		"kn\xffee \xc3", "e" + strings.Repeat("\u0301", 100), strings.Repeat("a", 70), "ﬁ ㏂ İ ß ͅ 각 𝐏𝐀𝐈𝐍 \u200d", strings.Repeat("a/", 100), "''' 's ’s '",
	} {
		f.Add(seed)
	}
	s := DefaultSettings()
	s.MinDF, s.NGrams, s.Negation = 1, 2, true
	v, _, err := Fit([]Document{{Text: "denies chest pain, fell on left hip"}, {Text: "abd pain, no n/v"}, {Text: "café straße"}}, s)
	if err != nil {
		f.Fatal(err)
	}
	warm := v.Transformer()
	f.Fuzz(func(t *testing.T, text string) {
		row := warm.Row(text).clone()
		equal(t, "fresh cache", v.Transformer().Row(text), row)
		if row.Known > row.Tokens {
			t.Errorf("%d of %d tokens known", row.Known, row.Tokens)
		}
		for i, j := range row.Columns {
			if i > 0 && j <= row.Columns[i-1] || int(j) >= len(v.Vocabulary()) {
				t.Errorf("columns %v", row.Columns)
			}
			if !(row.Values[i] > 0 && row.Values[i] <= 1) {
				t.Errorf("values %v", row.Values)
			}
		}
		start, end := 0, 0
		for _, token := range warm.Tokens(text) {
			if token.End < end || token.Start >= token.End || token.End > len(text) || !utf8.ValidString(token.Text) {
				t.Errorf("token %+v after [%d,%d) in %d bytes", token, start, end, len(text))
			}
			start, end = token.Start, token.End
		}
	})
}
