package web

import (
	"fmt"
	"math"

	"github.com/wardcast/wardcast/ingest/msg"
)

// why is what moved a prediction: tables that add up to its log-odds.
type why struct {
	P                       probability
	Outcome                 string // which outcome the tables are about, if there are several
	Places, Patient, Topics []barRow
	Sum, Logit, Exact       string
	Calibrated              bool // the probability is not that of the log-odds
}

// unnamed stands for words of the note that may not be shown.
const unnamed = "a word not shown"

// newWhy returns the tables of a prediction; note is nil if it may not be shown.
func newWhy(p *msg.Prediction, note *msg.Note) why {
	w := why{P: newProbability(p), Logit: signed(p.Logit), Exact: exact(p.Logit)}
	var runes []rune
	if note != nil {
		runes = []rune(note.Text)
	}
	var words, patient float64
	for i := range p.Evidence {
		e := &p.Evidence[i]
		r := newBarRow(e.Text, e.Contribution)
		switch {
		case e.End == 0:
			r.Name = "Other words"
		case e.Text == "" && e.Start >= 0 && e.End > e.Start && e.End <= len(runes):
			r.Name = string(runes[e.Start:e.End])
		case e.Text == "":
			r.Name = unnamed
		}
		r.Tag, r.Denied = tags[e.Status], e.Status == "negated"
		w.Places, words = append(w.Places, r), words+e.Contribution
	}
	for _, a := range p.Aux {
		w.Patient, patient = append(w.Patient, newBarRow(auxName(&a), a.Contribution)), patient+a.Contribution
	}
	drawBars("fa", w.Places, w.Patient)
	for _, t := range p.Topics {
		w.Topics = append(w.Topics, newBarRow(topicName(t.Label), t.Contribution))
	}
	if p.Words != nil {
		var single float64
		for _, x := range p.Words {
			single += x.Contribution
		}
		w.Topics = append(w.Topics, newBarRow("Single words", single))
	}
	drawBars("fa", w.Topics)
	w.Sum = "Start " + signed(p.Intercept) + ", note " + signed(words) + ", patient " + signed(patient)
	w.Calibrated = p.Class == "" && math.Abs(1/(1+math.Exp(-p.Logit))-p.Probability) > 0.005
	if p.Class != "" {
		w.Outcome = fmt.Sprintf("The tables explain %s (%s %%) against %s: a bar to the right is toward %s.", p.Class, percent(p.Probability), p.Against, p.Class)
	}
	return w
}

// auxName returns the name and value of what is known about a patient.
func auxName(a *msg.Aux) string {
	f, ok := fields[a.Name]
	if !ok {
		f[0] = a.Name
	}
	if v, ok := a.Value.Number(); ok {
		return f[0] + " " + number(v, 1) + f[1]
	}
	if v, ok := a.Value.Text(); ok && v != "" {
		return f[0] + " " + v
	}
	return f[0] + " not given"
}

// fell says how the last word that was typed moved a prediction, "" if it did not.
func fell(word string, before, after float64) string {
	was, is := percent(before), percent(after)
	if was == is {
		return ""
	}
	verb := "rose"
	if after < before {
		verb = "fell"
	}
	return fmt.Sprintf("After “%s” it %s from %s %% to %s %%.", word, verb, was, is)
}
