package synth

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
)

// Probabilities of what stands around the phrases.
const (
	saysDuration = 0.55
	saysDenials  = 0.4
	saysVitals   = 0.3
	saysFiller   = 0.3
	allCapitals  = 0.06
)

// write returns the text of a note.
func (g *Generator) write(v *visit) string {
	var room [1024]byte
	w := &writer{visit: v, b: room[:0], misspelling: g.settings.Misspelling}
	w.person()
	w.text(v.one(g.words.Leads))
	w.phrase(v.c.Openings[v.IntN(len(v.c.Openings))])
	if v.Float64() < saysDuration {
		w.text(" ", v.one(g.words.Durations))
	}
	v.Shuffle(len(v.said), func(i, j int) { v.said[i], v.said[j] = v.said[j], v.said[i] })
	joint := v.one(g.words.Joints)
	for _, s := range v.said {
		w.text(joint)
		w.phrase(g.topics[s.topic].Phrases[s.phrase])
	}
	if v.Float64() < saysDenials {
		w.text(joint, v.one(g.words.Denials))
	}
	if v.Float64() < saysVitals {
		w.vitals()
	}
	if v.Float64() < saysFiller {
		w.text(". ", v.one(g.words.Fillers))
	}
	if v.Float64() < allCapitals {
		return string(bytes.ToUpper(w.b))
	}
	return string(w.b)
}

// writer builds the text of a note.
type writer struct {
	*visit
	b           []byte
	misspelling float64
}

// person writes age and sex, in one of the ways of nurses.
func (w *writer) person() {
	sex, long := "f", "female"
	if w.n.Sex == "M" {
		sex, long = "m", "male"
	}
	age, unit := int(w.n.Age.Value), "yo"
	if w.n.Age.Value < 1 {
		age, unit = int(w.n.Age.Value*12+0.5), "mo"
	}
	number := strconv.Itoa(age)
	switch style := w.IntN(6); {
	case style == 0 && unit == "yo":
		w.text(number, strings.ToUpper(sex))
	case style == 1:
		w.text("pt is a ", number, " ", unit, " ", long)
	case style == 2:
		w.text(number, unit, " ", sex)
	case style == 3:
		w.text(number, unit, " ", strings.ToUpper(sex))
	case style == 4:
		w.text("pt")
	default:
		w.text(number, " ", unit, " ", long)
	}
}

func (w *writer) vitals() {
	if v := w.n.Vitals; v.HR.Set {
		w.b = fmt.Appendf(w.b, ". bp %.0f/%.0f hr %.0f t %.1f o2 %.0f%% ra", v.SBP.Value, v.DBP.Value, v.HR.Value, v.TempC.Value, v.SpO2.Value)
	}
}

func (w *writer) text(parts ...string) {
	for _, s := range parts {
		w.b = append(w.b, s...)
	}
}

// one draws one of the texts.
func (v *visit) one(texts []string) string { return texts[v.IntN(len(texts))] }

// phrase writes a phrase: one alternative of each part, with typing errors.
func (w *writer) phrase(p phrase) {
	start := len(w.b)
	for _, part := range p {
		if len(part) == 1 {
			w.text(part[0])
		} else {
			w.text(part[w.IntN(len(part))])
		}
	}
	if w.misspelling > 0 {
		w.mistype(start)
	}
}

// shortest is the least number of letters of a word that can have a typing error.
const shortest = 5

// mistype makes typing errors in the words after start.
func (w *writer) mistype(start int) {
	for i := start; i < len(w.b); i++ {
		begin := i
		for i < len(w.b) && w.b[i] >= 'a' && w.b[i] <= 'z' {
			i++
		}
		if i-begin < shortest || w.Float64() >= w.misspelling {
			continue
		}
		at := begin + 1 + w.IntN(i-begin-2) // neither the first letter nor the last
		switch w.IntN(3) {
		case 0: // swapped
			w.b[at], w.b[at+1] = w.b[at+1], w.b[at]
		case 1: // dropped
			w.b = append(w.b[:at], w.b[at+1:]...)
			i--
		default: // doubled
			w.b = append(w.b, 0)
			copy(w.b[at+1:], w.b[at:])
			i++
		}
	}
}
