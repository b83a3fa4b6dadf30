package synth

import (
	"cmp"
	"slices"
	"strings"
)

// Truth is the model behind the notes; the package comment has the formula.
type Truth struct {
	Complaints []Complaint
	Topics     []Topic
	Effects    Effects
}

// Complaint is a presenting complaint.
type Complaint struct {
	Name      string
	Share     float64 // of all visits; the shares sum to 1
	Intercept float64
}

// Topic is a topic over terms. The phrases that mention it are equally likely.
type Topic struct {
	Complaint   string // "" for a topic that any complaint can have
	Name        string
	Coefficient float64 // log-odds of admission per mention
	Terms       []Term  // most expected first
}

// Term is a word as written, in lower case.
type Term struct {
	Text     string
	Expected float64 // mean number of times that a mention of the topic holds the word
}

// Effects are the coefficients of what is not in the text.
type Effects struct {
	Age    float64 // per ten years
	Acuity float64 // per level
	HR     float64 // per 10/min
	SpO2   float64 // per %
}

var effects = Effects{Age: 0.16, Acuity: -0.45, HR: 0.12, SpO2: -0.1}

// Truth returns the model behind the notes. Do not modify it.
func (g *Generator) Truth() Truth { return g.truth }

// terms returns the expected words of a phrase that is drawn from phrases.
func terms(phrases []phrase) []Term {
	expected := map[string]float64{}
	for _, p := range phrases {
		for _, part := range p {
			for _, alternative := range part {
				for _, word := range words(alternative) {
					expected[word] += 1 / float64(len(part)*len(phrases))
				}
			}
		}
	}
	list := make([]Term, 0, len(expected))
	for word, e := range expected {
		list = append(list, Term{word, e})
	}
	slices.SortFunc(list, func(a, b Term) int {
		return cmp.Or(cmp.Compare(b.Expected, a.Expected), cmp.Compare(a.Text, b.Text))
	})
	return list
}

// words returns the runs of letters in s, which is in lower case.
func words(s string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return r < 'a' || r > 'z' })
}
