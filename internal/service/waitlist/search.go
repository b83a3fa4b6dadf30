package waitlist

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/wording"
)

// fold returns a name in lower case with single spaces.
func fold(s string) string { return strings.ToLower(strings.Join(strings.Fields(s), " ")) }

// index makes what is searched of a visit: the words of its complaint, and those of the note that the model knows and
// that moved its prediction, as nurses write them and as concepts are named. Each has a space in front.
func (v *Visit) index(p *msg.Prediction) {
	v.complaint, v.patient = fold(v.Complaint), " "+strings.Join(split(v.Label), " ")
	parts := []string{v.complaint}
	for i := range p.Evidence {
		e := &p.Evidence[i]
		if e.Text == "" {
			continue // a name may be in it
		}
		parts = append(append(parts, e.Text), e.Terms...)
	}
	v.search = " " + strings.Join(split(strings.Join(parts, " ")), " ") + " "
}

// split returns the words of a text in lower case: letters and digits, and what stands between two of them as in 39.4.
func split(s string) []string {
	words := strings.FieldsFunc(strings.ToLower(s), func(r rune) bool {
		return unicode.IsSpace(r) || strings.ContainsRune(`,;()"_/+`, r)
	})
	for i := range words {
		words[i] = strings.Trim(words[i], ".:?!'-")
	}
	return words
}

// word is a word that is searched.
type word struct {
	text string
	age  string // that it may mean, "84" or "7 mo"; "" for none
	sex  string // f or m, "" for none
}

var sexes = map[string]string{
	"f": "f", "female": "f", "woman": "f", "girl": "f", "m": "m", "male": "m", "man": "m", "boy": "m",
}

// aged is a word that is an age, maybe with a sex; spaced is an age with its unit in two words.
var (
	aged   = regexp.MustCompile(`^([0-9]{1,3})(yo?|years?|mo|months?|f|m)?$`)
	spaced = regexp.MustCompile(`\b([0-9]{1,3}) (yo?|years?|mo|months?)\b`)
)

// readWords returns what is searched.
func readWords(s string) (words []word) {
	for _, text := range split(spaced.ReplaceAllString(strings.ToLower(s), "$1$2")) {
		w := word{text: text, sex: sexes[text]}
		if m := aged.FindStringSubmatch(text); m != nil {
			w.age, w.sex = m[1], sexes[m[2]]
			if strings.HasPrefix(m[2], "mo") {
				w.age += " mo"
			}
		}
		if text != "" {
			words = append(words, w)
		}
	}
	return words
}

// matches reports whether all words are of the visit: its age and sex, the beginning of a word of its complaint or of
// its note, or of its label if that may be seen.
func (v *Visit) matches(words []word, labels bool) bool {
	for i := range words {
		w := &words[i]
		meant := w.age != "" || w.sex != ""
		person := meant && (w.age == "" || w.age == v.years()) && (w.sex == "" || w.sex == v.sex())
		known := !meant && strings.Contains(v.search, " "+w.text)
		label := labels && strings.Contains(v.patient, " "+w.text)
		if !person && !known && !label {
			return false
		}
	}
	return true
}

// years returns the age as it is said, but for the unit of years, "" if it is not known.
func (v *Visit) years() string {
	switch {
	case !v.Age.Set:
		return ""
	case v.Age.Value == 0:
		return "0"
	}
	return strings.TrimSuffix(wording.Age(v.Age.Value), " y")
}

// sex returns the sex as it is searched.
func (v *Visit) sex() string {
	s := strings.ToLower(strings.TrimSpace(v.Sex))
	if known := sexes[s]; known != "" {
		return known
	}
	return s
}
