package prediction

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/textproc"
)

// measured is the term of a number: its kind and the range.
var measured = regexp.MustCompile(`^(child:)?([a-z0-9]+):(<=|>=|<|>)?([0-9.]+)(?:-([0-9.]+))?(h|d|l|ft|mph|mo|y)?$`)

var units = map[string]string{
	"": "", "h": " hours", "d": " days", "l": " L", "ft": " ft", "mph": " mph", "mo": " months", "y": " years",
}

// named are terms whose text is no word.
var named = map[string]string{
	"sex:f": "female", "sex:m": "male", "spine:c": "cervical spine", "spine:t": "thoracic spine",
	"spine:l": "lumbar spine",
	"spine:s": "sacrum", "dose:amount": "a dose", "dose:count": "a number of doses", "ob:gp": "pregnancies and births",
	"dur:<1h": "for less than an hour",
}

// Spoken returns a term without its status for people: "HR 51–90" for hr:51-90.
func Spoken(term string) string {
	if name := named[term]; name != "" {
		return name
	}
	m := measured.FindStringSubmatch(term)
	kind := ""
	if m != nil {
		kind = textproc.SpokenMeasure(m[2])
	}
	if kind == "" {
		return strings.ReplaceAll(strings.TrimPrefix(term, "side:"), "_", " ")
	}
	sign := cmp.Or(map[string]string{"<=": "≤", ">=": "≥"}[m[3]], m[3])
	text := kind + " " + sign + m[4]
	if m[5] != "" {
		text += "–" + m[5]
	}
	text = strings.Replace(text, "× ", "×", 1) + units[m[6]]
	if m[1] != "" {
		text = "child’s " + text
	}
	return text
}

// Tag returns the word for a status of evidence, "" for what is stated.
func Tag(status string) string {
	return map[string]string{
		"negated": "denied", "uncertain": "possible", "historical": "history", "other-person": "not patient",
	}[status]
}

// TopicName returns the label of a topic for people.
func TopicName(label string) string {
	switch label {
	case classifier.Other:
		return "Other topics"
	case "":
		return "Topic without words"
	}
	words := strings.Split(label, ", ")
	for i, word := range words {
		term, status, said := strings.Cut(word, " (")
		if words[i] = Spoken(term); said {
			words[i] += " (" + status
		}
	}
	return strings.Join(words, " · ")
}

// TermName returns a term for people, the word for its status, and what else nurses wrote, which replaces a stem.
func TermName(t *classifier.TopicTerm) (name, tag string, wrote []string) {
	_, bare := textproc.StatusOf(t.Term)
	name, tag, wrote = Spoken(bare), Tag(t.Status), t.Surface
	if len(wrote) > 0 && name == bare && (wrote[0] == bare || strings.HasPrefix(wrote[0], bare[:len(bare)-1])) {
		return wrote[0], tag, wrote[1:] // a stem is the beginning of its words, but for a last y
	}
	if len(wrote) == 1 && wrote[0] == bare { // nothing but the term itself is known
		wrote = nil
	}
	return name, tag, wrote
}
