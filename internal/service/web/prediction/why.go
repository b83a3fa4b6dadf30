package prediction

import (
	"fmt"
	"math"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

// Why is what moved a prediction: tables that add up to its log-odds.
type Why struct {
	P                       Probability
	Outcome                 string // which outcome the tables are about, if there are several
	Places, Patient, Topics []frame.BarRow
	Sum, Logit, Exact       string
	Calibrated              bool // the probability is not that of the log-odds
}

const unnamed = "a word not shown" // stands for words of the note that may not be shown

func newWhy(p *msg.Prediction, note *msg.Note) Why {
	w := Why{P: newProbability(p), Logit: frame.Signed(p.Logit), Exact: frame.Exact(p.Logit)}
	var runes []rune
	if note != nil {
		runes = []rune(note.Text)
	}
	var words, patient float64
	for i := range p.Evidence {
		e := &p.Evidence[i]
		r := bar(e.Text, e.Contribution)
		switch {
		case e.End == 0:
			r.Name = "Other words"
		case e.Text == "" && e.Start >= 0 && e.End > e.Start && e.End <= len(runes):
			r.Name = string(runes[e.Start:e.End])
		case e.Text == "":
			r.Name = unnamed
		}
		r.Tag, r.Denied = Tag(e.Status), e.Status == "negated"
		w.Places, words = append(w.Places, r), words+e.Contribution
	}
	for _, a := range p.Aux {
		w.Patient, patient = append(w.Patient, bar(auxName(&a), a.Contribution)), patient+a.Contribution
	}
	frame.DrawBars("fa", w.Places, w.Patient)
	for _, t := range p.Topics {
		w.Topics = append(w.Topics, bar(TopicName(t.Label), t.Contribution))
	}
	if p.Words != nil {
		var single float64
		for _, x := range p.Words {
			single += x.Contribution
		}
		w.Topics = append(w.Topics, bar("Single words", single))
	}
	frame.DrawBars("fa", w.Topics)
	w.Sum = "Start " + frame.Signed(p.Intercept) + ", note " + frame.Signed(words) + ", patient " +
		frame.Signed(patient)
	w.Calibrated = p.Class == "" && math.Abs(1/(1+math.Exp(-p.Logit))-p.Probability) > 0.005
	if p.Class != "" {
		w.Outcome = fmt.Sprintf("The tables explain %s (%s %%) against %s: a bar to the right is toward %s.",
			p.Class, frame.Percent(p.Probability), p.Against, p.Class)
	}
	return w
}

func bar(name string, v float64) frame.BarRow { return frame.NewBarRow(name, v, frame.Signed(v)) }

func auxName(a *msg.Aux) string {
	name, suffix := fieldName(a.Name)
	if v, ok := a.Value.Number(); ok {
		return name + " " + wording.Short(v, 1) + suffix
	}
	if v, ok := a.Value.Text(); ok && v != "" {
		return name + " " + v
	}
	return name + " not given"
}
