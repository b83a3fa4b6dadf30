package textproc_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/textproc"
)

func TestLoadSynonyms(t *testing.T) {
	t.Parallel()
	got, err := textproc.LoadSynonyms(strings.NewReader("# shorthand\n\n FX = Fracture \nn/v=nausea  vomiting\nw/ = with\r\npt’s = patient"))
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{"fx": "fracture", "n/v": "nausea  vomiting", "w/": "with", "pt's": "patient"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}

	for _, c := range []struct{ name, file, says string }{
		{"no equals sign", "fx = fracture\nfx fracture", "line 2: no ="},
		{"no word", "= fracture", "line 1: "},
		{"nothing stands for it", "\nfx =", `line 2: nothing stands for "fx"`},
		{"digits", "4x4 = gauze", "line 1: "},
		{"two words", "chest pain = angina", "line 1: "},
		{"slash in front", "/c = with", "line 1: "},
		{"two slashes", "n//v = nausea", "line 1: "},
		{"only a slash", "/ = or", "line 1: "},
		{"punctuation stands for it", "fx = frac-ture", "line 1: "},
		{"long", strings.Repeat("a", 65) + " = noise", "line 1: "},
		{"long with slashes", strings.Repeat("aa/", 22) + " = noise", "line 1: "},
		{"twice", "fx = fracture\nFX = effects", `line 2: "fx" stands in the table already`},
		{"long line", "fx = fracture\n" + strings.Repeat("a", 1<<17), "line 2: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if _, err := textproc.LoadSynonyms(strings.NewReader(c.file)); err == nil || !strings.HasPrefix(err.Error(), "reading synonyms: "+c.says) {
				t.Errorf("got %v, want reading synonyms: %s", err, c.says)
			}
		})
	}
	broken := errors.New("broken")
	if _, err := textproc.LoadSynonyms(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v, want %v", err, broken)
	}
}

func TestBuiltInWords(t *testing.T) {
	t.Parallel()
	s := vectorizer(t, nil).Settings()
	if sorted := slices.Sorted(slices.Values(s.StopWords)); len(sorted) != len(slices.Compact(slices.Clone(sorted))) {
		t.Error("a stop word is there twice")
	}
	for _, finding := range []string{"left", "right", "up", "down", "after", "before", "off", "out", "more", "unable", "pain"} {
		if slices.Contains(s.StopWords, finding) {
			t.Errorf("%q is a stop word", finding)
		}
	}
	for _, ambiguous := range []string{"ms", "pe", "ra", "od", "dc", "mi"} {
		if words, found := s.Synonyms[ambiguous]; found {
			t.Errorf("%q stands for %q, which it need not", ambiguous, words)
		}
	}
	for word, words := range s.Synonyms {
		for x := range strings.FieldsSeq(words) {
			if _, again := s.Synonyms[x]; again && x != word {
				t.Errorf("%q stands for %q, of which %q is a synonym itself", word, words, x)
			}
		}
	}
}

func FuzzLoadSynonyms(f *testing.F) {
	for _, seed := range []string{"fx = fracture\n", "c/o = complains of\n# w/\nw/ = with", "=", "a=b=c", "\xff = x", "ﬁ = fi", "'s = is", "a/'b = c"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, file string) {
		table, err := textproc.LoadSynonyms(strings.NewReader(file))
		if err != nil {
			return
		}
		v := vectorizer(t, func(s *textproc.Settings) { s.Synonyms, s.StopWords = table, []string{} })
		for word := range table {
			if isASCII := !strings.ContainsFunc(word, func(c rune) bool { return c > '~' }); isASCII && len(v.Transformer().Tokens(word)) == 0 {
				t.Errorf("%q is not found in a note", word)
			}
		}
	})
}
