package textproc_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/textproc"
)

// vectorizer returns one whose vocabulary is of no interest.
func vectorizer(tb testing.TB, change func(*textproc.Settings)) *textproc.Vectorizer {
	tb.Helper()
	s := textproc.DefaultSettings()
	if change != nil {
		change(&s)
	}
	v, err := textproc.New(s, []textproc.Term{{Text: "pain", Surface: []string{"pain"}, DF: 1}}, []float64{1})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// spelled returns the tokens of text as term<bytes it came from>.
func spelled(v *textproc.Vectorizer, text string) []string {
	var all []string
	for _, token := range v.Transformer().Tokens(text) {
		all = append(all, token.Text+"<"+text[token.Start:token.End]+">")
	}
	return all
}

func TestTokens(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ name, text, want string }{
		{"empty", "", ""},
		{"only stop words and punctuation", "The patient is ... [who]?!", ""},
		{"case", "Chest PAIN", "chest<Chest>,pain<PAIN>"},
		{"stems", "bleeding, vomiting", "bleed<bleeding>,vomit<vomiting>"},
		{"numbers are no tokens", "98 knees 38.5 2,5", "knee<knees>"},
		{"digits separate", "96YOM 3wks 10mg L5 O2", "male<YOM>,week<wks>,mg<mg>,left<L>"},
		{"digits inside", "covid19pos", "covid<covid>,pos<pos>"},
		{"single letters", "x y é", ""},
		{"sides", "L hip R wrist", "left<L>,hip<hip>,right<R>,wrist<wrist>"},
		{"punctuation", "hand/wrist;head-on*fall", "hand<hand>,wrist<wrist>,head<head>,fall<fall>"},
		{"slash shorthand", "c/o N/V/D w/ fever", "complain<c/o>,nausea<N/V/D>,vomit<N/V/D>,diarrhea<N/V/D>,fever<fever>"},
		{"slash shorthand before a word", "cut w/knife", "cut<cut>,knife<knife>"},
		{"slash shorthand is a whole word", "abc/o c/ooze", "abc<abc>,ooz<ooze>"},
		{"slash shorthand, longest that fits", "n/v/x n/v/diarrhea", "nausea<n/v>,vomit<n/v>,nausea<n/v>,vomit<n/v>,diarrhea<diarrhea>"},
		{"shorthand of several words", "SOB", "short<SOB>,breath<SOB>"},
		{"long form agrees with shorthand", "shortness of breath", "short<shortness>,breath<breath>"},
		{"possessive", "pt's mother's knee", "mother<mother's>,knee<knee>"},
		{"apostrophes", "o'clock 'knee' can't", "o'clock<o'clock>,knee<knee>"},
		{"typographic apostrophe", "mother’s knee can’t", "mother<mother’s>,knee<knee>"},
		{"trailing apostrophe", "knees' pain", "knee<knees>,pain<pain>"},
		{"invalid UTF-8 is dropped", "kn\xffee \xc3pain", "knee<kn\xffee>,pain<pain>"},
		{"composed and decomposed are one", "café cafe\u0301", "café<café>,café<cafe\u0301>"},
		{"compatibility forms", "ﬁnger ｋｎｅｅ", "finger<ﬁnger>,knee<ｋｎｅｅ>"},
		{"full case folding", "STRASSE straße ΣΊΣΥΦΟΣ", "strass<STRASSE>,strass<straße>,σίσυφοσ<ΣΊΣΥΦΟΣ>"},
		{"soft hyphen and byte order mark", "\ufeffkn\u00adee", "knee<kn\u00adee>"},
		{"symbols", "38°C ½ pain→knee 5×", "pain<pain>,knee<knee>"},
		{"one character of several words", "knee㏂hip", "kneea<knee㏂>,hip<hip>"},
		{"longest word", strings.Repeat("a", 64) + " knee", strings.Repeat("a", 64) + "<" + strings.Repeat("a", 64) + ">,knee<knee>"},
		{"longer word", strings.Repeat("a", 65) + " knee", "knee<knee>"},
		{"longer word beyond ASCII", strings.Repeat("é", 33) + " knee", "knee<knee>"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := strings.Join(spelled(vectorizer(t, nil), c.text), ",")
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("tokens of %q (-want +got):\n%s", c.text, diff)
			}
		})
	}
}

func TestNegation(t *testing.T) {
	t.Parallel()
	v := vectorizer(t, func(s *textproc.Settings) { s.Negation = true })
	for _, c := range []struct{ name, text, want string }{
		{"denies", "denies chest pain", "deni,not_chest,not_pain"},
		{"list", "Denies CP, SOB or n/v.", "deni,not_chest,not_pain,not_short,not_breath,not_nausea,not_vomit"},
		{"full stop", "no fever. cough", "not_fever,cough"},
		{"point in a number", "no fever 38.5 cough", "not_fever,not_cough"},
		{"but", "no fever but cough", "not_fever,cough"},
		{"complaint", "denies loc c/o neck pain", "deni,not_loss,not_conscious,complain,neck,pain"},
		{"shorthand", "w/o fever", "not_fever"},
		{"contraction", "can’t walk", "not_walk"},
		{"end of scope", "no one1 two three four five six seven eight", "not_two,not_three,not_four,not_five,not_six,not_seven,eight"},
		{"second denial", "no fever no cough", "not_fever,not_cough"},
		{"new line", "no fever\ncough", "not_fever,cough"},
		{"before", "fever no", "fever"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, token := range v.Transformer().Tokens(c.text) {
				got = append(got, token.Text)
			}
			if diff := cmp.Diff(c.want, strings.Join(got, ",")); diff != "" {
				t.Errorf("terms of %q (-want +got):\n%s", c.text, diff)
			}
		})
	}
	if got := spelled(vectorizer(t, nil), "denies chest pain"); !cmp.Equal(got, []string{"deni<denies>", "chest<chest>", "pain<pain>"}) {
		t.Errorf("without negation: %q", got)
	}
}

func TestNGrams(t *testing.T) {
	t.Parallel()
	v := vectorizer(t, func(s *textproc.Settings) { s.NGrams, s.Negation = 3, true })
	got := spelled(v, "CP and cough. No fever")
	want := []string{
		"chest<CP>", "pain<CP>", "chest pain<CP>", "cough<cough>", "pain cough<CP and cough>", "chest pain cough<CP and cough>",
		"not_fever<fever>",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
