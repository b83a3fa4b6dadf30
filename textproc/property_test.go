package textproc

import (
	"cmp"
	"encoding/json"
	"maps"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// drawNote draws parts of notes, valid and invalid.
func drawNote(t *rapid.T, label string) string {
	pieces := rapid.SliceOfN(rapid.OneOf(
		rapid.SampledFrom([]string{
			"pain", "PAINS", "chest", "fell", "fx", "c/o", "w/", "n/v/d", "sob", "denies", "no", "not", "but", "the",
			"pt's", "o'clock", "neg", "flu", "mom", "has", "h/o", "copd",
			"resolved", "poss", "vomitting", "chestpain", "loc", "hi", "afebrile", "room", "air", "L", "R", "and",
			"to", "of", "out",
		}),
		rapid.SampledFrom([]string{
			"78F", "2.5", "1,000", "HR", "120", "/", "80", "10", "T", "39.5", "%", "x3", "days", "wk", "preg", "G3P2",
			"L5", "gcs", "mg", "ft", "yo", "M", "A&O", "x", "k", "+", "-", "++", "(-)", "?",
		}),
		rapid.SampledFrom([]string{
			"can’t", "café", "cafe\u0301", "ﬁnger", "\u00ad", "straße", "㏂", "\xff", "\xe2\x80", "İ", "\u0345", "각",
			"ᄀ", "膝", "8⁄10", "×2", "↓", "–", "½", "٣", "°",
			"painpainpainpainpainpainpainpainpainpainpainpainpainpainpainpainpain",
		}),
		rapid.SampledFrom([]string{" ", " ", " ", " ", ", ", ". ", "; ", ": ", "/", "-", "'", "\n", "("}),
		rapid.StringN(0, 3, -1),
		rapid.Map(rapid.SliceOfN(rapid.Byte(), 0, 3), func(b []byte) string { return string(b) }),
	), 0, 24).Draw(t, label)
	return strings.Join(pieces, "")
}

func drawSettings(t *rapid.T) Settings {
	s := DefaultSettings()
	s.Weighting = rapid.SampledFrom([]Weighting{TFIDF, TFIDF, Binary}).Draw(t, "weighting")
	s.IDF = rapid.SampledFrom([]IDF{PlainIDF, PlusOneIDF, SmoothIDF}).Draw(t, "idf")
	s.Norm = rapid.SampledFrom([]Norm{NoNorm, L2Norm}).Draw(t, "norm")
	s.SublinearTF = rapid.Bool().Draw(t, "sublinear")
	s.Status = rapid.Bool().Draw(t, "status")
	s.Numbers = rapid.Bool().Draw(t, "numbers")
	s.Age = rapid.Bool().Draw(t, "age")
	s.Spelling = rapid.Bool().Draw(t, "spelling")
	s.KeepStopWords = rapid.Bool().Draw(t, "keep stop words")
	s.NGrams = rapid.IntRange(1, 3).Draw(t, "ngrams")
	s.MinDF = rapid.IntRange(1, 2).Draw(t, "mindf")
	s.MaxTerms = rapid.SampledFrom([]int{0, 0, 5}).Draw(t, "maxterms")
	s.MaxDF = rapid.SampledFrom([]float64{1, 1, .5}).Draw(t, "maxdf")
	if rapid.Bool().Draw(t, "own words") {
		s.StopWords = []string{}
	}
	// Compiling the built-in table takes most of a test's time.
	if os.Getenv("WARDCAST_LONG") == "" && rapid.IntRange(0, 3).Draw(t, "table") > 0 {
		s.Concepts = Builtin().WithoutConcepts()
	}
	return s
}

func drawDocuments(t *rapid.T) []Document {
	docs := make([]Document, rapid.IntRange(1, 8).Draw(t, "notes"))
	for i := range docs {
		docs[i] = Document{Patient: rapid.SampledFrom([]string{"", "", "a", "b"}).Draw(t, "visit"), Text: drawNote(t,
			"note")}
	}
	return docs
}

// clone returns a row that outlives the transformer's next call.
func (r Row) clone() Row {
	r.Columns, r.Values = slices.Clone(r.Columns), slices.Clone(r.Values)
	return r
}

func equal(t interface{ Fatalf(string, ...any) }, what string, got, want Row) {
	if got.Tokens != want.Tokens || got.Known != want.Known || !slices.Equal(got.Columns, want.Columns) ||
		!slices.Equal(got.Values, want.Values) {
		t.Fatalf("%s: got %v, want %v", what, got, want)
	}
}

// checkSpans fails unless tokens lie in the note one after the other and each has text and terms.
func checkSpans(t interface{ Fatalf(string, ...any) }, note string, tokens []Token) {
	end := 0
	for _, token := range tokens {
		if token.Start < end || token.Start >= token.End || token.End > len(note) {
			t.Fatalf("token [%d,%d) after byte %d in %d bytes of %q", token.Start, token.End, end, len(note), note)
		}
		end = token.End
		if len(token.Terms) == 0 || token.Status >= statuses {
			t.Fatalf("token %+v of %q", token, note)
		}
		for _, term := range token.Terms {
			if term == "" || !utf8.ValidString(term) ||
				slices.ContainsFunc(prefixes[1:], func(p string) bool { return strings.HasPrefix(term, p) }) {
				t.Fatalf("term %q of %q", term, note)
			}
		}
	}
}

// termsOf returns the terms of tokens with the prefixes of their statuses.
func termsOf(tokens []Token) []string {
	var all []string
	for _, token := range tokens {
		for _, term := range token.Terms {
			all = append(all, prefixes[token.Status]+term)
		}
	}
	return all
}

func TestSpans(t *testing.T) {
	t.Parallel()
	reader := newReader(t)
	rapid.Check(t, func(t *rapid.T) {
		note := drawNote(t, "note")
		checkSpans(t, note, reader.Tokens(note))
	})
}

func TestFoldIgnoresForm(t *testing.T) {
	t.Parallel()
	reader := newReader(t)
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SampledFrom([]string{
			"chest pain", "no", "denies", "can't", "n/v", "hr 120", "t 39.5", "x3 days", "+loc", "-fever", "flu neg",
			"78f", "l5", "(-) cp", "mom has flu", "a&o x 3", "c/o sob", "? fx", "pain 8/10", ",", ".", ";",
		})
		note := rapid.OneOf(
			rapid.StringMatching(`[a-z '/.,0-9+%():?-]{0,60}`),
			rapid.Map(rapid.SliceOfN(words, 0, 9), func(s []string) string { return strings.Join(s, " ") }),
		).Draw(t, "note")
		want := termsOf(reader.Tokens(note))
		wide := strings.Map(func(c rune) rune { // fullwidth forms, which NFKC undoes
			if c > ' ' && c <= '~' {
				return c - '!' + '！'
			}
			return c
		}, note)
		for name, form := range map[string]string{
			"upper case": strings.ToUpper(note), "wide": wide, "invalid UTF-8": strings.ReplaceAll(note, "e",
				"\xffe\x80"), "zero-width": strings.ReplaceAll(note, "a", "\u200ba\u00ad"),
			"typographic": strings.NewReplacer("'", "’", "-", "–").Replace(note),
		} {
			if diff := gocmp.Diff(want, termsOf(reader.Tokens(form))); diff != "" {
				t.Fatalf("%s %q of %q (-want +got):\n%s", name, form, note, diff)
			}
		}
	})
}

// A note means the same next to non-ASCII words, which make it folded.
func TestFoldedTextReadsAsASCII(t *testing.T) {
	t.Parallel()
	reader := newReader(t)
	rapid.Check(t, func(t *rapid.T) {
		note := strings.Map(func(c rune) rune {
			if c >= utf8.RuneSelf {
				return -1
			}
			return c
		}, drawNote(t, "note"))
		want := reader.Tokens(note)
		got := reader.Tokens(note + "\n\u200b")
		if diff := gocmp.Diff(want, got); diff != "" {
			t.Fatalf("%q (-ASCII +folded):\n%s", note, diff)
		}
	})
}

// columnsOf returns the terms that a note counts, by their definition: those of Tokens with the prefix of their status,
// unless it is off or the disease is chronic, and the phrases of up to Settings.NGrams neighbours of one clause,
// without measurements and parts of concepts.
func columnsOf(t *Transformer, note string) []string {
	var all, units []string
	var clauses []int32
	for i, token := range t.Tokens(note) {
		m := &t.mentions[i]
		prefix := prefixes[token.Status]
		if m.plain || !t.v.settings.Status {
			prefix = ""
		}
		for k, term := range token.Terms {
			all = append(all, prefix+term)
			if m.measure == nil && k < len(token.Terms)-m.parts {
				units, clauses = append(units, prefix+term), append(clauses, m.clause)
			}
		}
	}
	for n := 2; n <= t.v.settings.NGrams; n++ {
		for i := 0; i+n <= len(units); i++ {
			if clauses[i] == clauses[i+n-1] {
				all = append(all, strings.Join(units[i:i+n], " "))
			}
		}
	}
	return all
}

// The counts of Fit and the values of Row follow from the terms of each note by their definitions.
func TestFitByDefinition(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		docs, s := drawDocuments(t), drawSettings(t)
		v, x, err := Fit(docs, s)
		if err != nil {
			return
		}
		reader := v.Transformer()
		visits := make(map[string]map[string]bool) // term → visits
		all := make(map[string]bool)
		for i, d := range docs {
			visit := cmp.Or(d.Patient, string(rune('0'+i)))
			all[visit] = true
			for _, term := range columnsOf(reader, d.Text) {
				if visits[term] == nil {
					visits[term] = make(map[string]bool)
				}
				visits[term][visit] = true
			}
		}
		var terms []string
		for term, in := range visits {
			if len(in) >= s.MinDF && float64(len(in)) <= s.MaxDF*float64(len(all)) {
				terms = append(terms, term)
			}
		}
		slices.SortFunc(terms,
			func(a, b string) int { return cmp.Or(len(visits[b])-len(visits[a]), strings.Compare(a, b)) })
		if s.MaxTerms > 0 && len(terms) > s.MaxTerms {
			terms = terms[:s.MaxTerms]
		}
		slices.Sort(terms)
		column := make(map[string]int)
		var got []string
		for j, term := range v.Vocabulary() {
			got = append(got, term.Text)
			column[term.Text] = j
			if term.DF != len(visits[term.Text]) || len(term.Surface) == 0 || len(term.Surface) > maxSurfaces {
				t.Fatalf("term %+v is in %d visits", term, len(visits[term.Text]))
			}
		}
		if diff := gocmp.Diff(terms, got); diff != "" {
			t.Fatalf("vocabulary (-want +got):\n%s", diff)
		}
		for i, d := range docs {
			counts := make(map[int32]float64)
			for _, term := range columnsOf(reader, d.Text) {
				if j, found := column[term]; found {
					counts[int32(j)]++
				}
			}
			columns, values := x.Row(i)
			if !slices.Equal(columns, slices.Sorted(maps.Keys(counts))) {
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
					value *= map[IDF]float64{
						PlainIDF: math.Log(n / df), PlusOneIDF: math.Log(n/df) + 1,
						SmoothIDF: math.Log((1+n)/(1+df)) + 1,
					}[s.IDF]
				}
				counts[j] = value
				square += value * value
			}
			for c, j := range columns {
				want := counts[j]
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
			equal(t, "batch", Row{Columns: columns, Values: values, Tokens: want.Tokens, Known: want.Known}, want)
			if i < len(docs) {
				columns, values = x.Row(i)
				equal(t, "Fit", Row{Columns: columns, Values: values, Tokens: want.Tokens, Known: want.Known}, want)
			}
		}
	})
}

// Any sequence of the words that the tables know, with numbers and marks, is read to its end, into parts in their
// order.
func TestReadsAnySequence(t *testing.T) {
	s := DefaultSettings()
	reader, err := Reader(s)
	if err != nil {
		t.Fatal(err)
	}
	pieces := []string{"0", "1", "3", "8", "10", "12.5", "39", "90", "98", "120", "1999", "1,000"}
	for _, c := range ":;,.!?/-+>=<()[]\"'%#*~@&\n" {
		pieces = append(pieces, string(c))
	}
	few := len(pieces)
	for _, w := range reader.v.words {
		pieces = append(pieces, w.raw)
	}
	slices.SortFunc(pieces[few:],
		func(a, b string) int { return cmp.Or(cmp.Compare(len(a), len(b)), cmp.Compare(a, b)) })
	short := few + 300 // most triggers and units
	random := rand.New(rand.NewPCG(1, 2))
	notes := 5_000
	if os.Getenv("WARDCAST_LONG") != "" {
		notes = 100_000
	}
	for range notes {
		var note strings.Builder
		for range 2 + random.IntN(14) {
			if random.IntN(3) > 0 {
				note.WriteByte(' ')
			}
			note.WriteString(pieces[random.IntN([]int{few, short, len(pieces)}[random.IntN(3)])])
		}
		checkSpans(t, note.String(), reader.Tokens(note.String()))
	}
}

// The same note gives the same terms however it was encoded, and a row that agrees with them.
func FuzzTokens(f *testing.F) {
	for _, seed := range []string{
		"", "78F glf at home, unable to wt bear L hip, shortened + rotated",
		"Denies CP, SOB or n/v/d. c/o abd pain w/fever HR 120 bp 84/50 T 39.5 88% RA",
		"8mo F HR 150-160 x3 days, mom has flu; poss uti? h/o copd, strep+ flu- (-) loc",
		"G3P2 34wks preg ROM, BS 18.2 mmol/l, K+ 6.8 A&Ox4 L4-5 2L NC fell 12 ft 20/40",
		"kn\xffee \xc3", "e" + strings.Repeat("\u0301", 100), strings.Repeat("a", 70), "ﬁ ㏂ İ ß ͅ 각 𝐏𝐀𝐈𝐍 \u200d",
		strings.Repeat("a/", 100), "''' 's ’s '", "8⁄10 ½ ٣ ×2 ↓loc", "y.o. s.o.b. d/c'd w/c", "to 98 with hr 90",
	} {
		f.Add(seed)
	}
	s := DefaultSettings()
	s.MinDF, s.NGrams = 1, 2
	v, _, err := Fit([]Document{
		{Text: "denies chest pain, fell on left hip"}, {Text: "abd pain, no n/v"}, {Text: "café straße HR 120 L5 78F"},
	}, s)
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
		tokens := warm.Tokens(text)
		checkSpans(t, text, tokens)
		if len(tokens) != row.Tokens {
			t.Errorf("%d tokens, the row has %d", len(tokens), row.Tokens)
		}
		valid := strings.ToValidUTF8(text, "")
		want := termsOf(warm.Tokens(valid))
		for name, form := range map[string]string{
			"NFC": norm.NFC.String(valid), "NFD": norm.NFD.String(valid),
			"upper case": upper(valid), "invalid UTF-8": text,
		} {
			if got := termsOf(warm.Tokens(form)); !slices.Equal(got, want) {
				t.Errorf("%s: got %q, want %q", name, got, want)
			}
		}
	})
}

// upper returns s in capitals, except letters that share a capital with another one, the dotless i of Turkish, and
// marks whose capital is a letter, the Greek iota below.
func upper(s string) string {
	return strings.Map(func(r rune) rune {
		if u := []rune(strings.ToUpper(string(r))); !unicode.IsMark(r) && len(u) == 1 &&
			foldString(string(u)) == foldString(string(r)) {
			return u[0]
		}
		return r
	}, s)
}
