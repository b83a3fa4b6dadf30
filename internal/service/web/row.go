package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
)

// row is a prediction as a page shows it.
type row struct {
	Number   uint64
	Title    string // its complaint
	Who      string // age, sex and acuity
	At       time.Time
	P        probability
	Segments []mark // the note, if it may be shown
	Words    []mark // else the words that moved the prediction, by size
	Vitals   []vital
	Warnings []string
	Reason   *reason
	Why      why
	Model    string
	Selected bool
}

// reason is why there is no prediction.
type reason struct{ Head, Text string }

// probability is a probability of admission beside its threshold.
type probability struct {
	None, Admit               bool
	Percent, Word             string
	Width, Tick               string
	value, threshold, logOdds float64
}

// closeCall is how near to its threshold a probability is a close call.
const closeCall = 0.1

// Kind is what the page filters by: admit, close, none.
func (r *row) Kind() string {
	var kinds []string
	if r.P.Admit {
		kinds = append(kinds, "admit")
	}
	if !r.P.None && math.Abs(r.P.value-r.P.threshold) <= closeCall {
		kinds = append(kinds, "close")
	}
	if r.P.None {
		kinds = append(kinds, "none")
	}
	return strings.Join(kinds, " ")
}

func newProbability(p *msg.Prediction) probability {
	v := p.Admission()
	out := probability{
		None: p.Abstained, Admit: !p.Abstained && p.Decision == msg.Admit, Percent: percent(v), Word: "Likely discharge",
		Width: geometry(100 * v), Tick: geometry(100 * p.Threshold), value: v, threshold: p.Threshold, logOdds: p.Logit,
	}
	switch {
	case out.Admit && v >= 0.5:
		out.Word = "Likely admission"
	case out.Admit:
		out.Word = "Above threshold"
	case v >= 0.5:
		out.Word = "Below threshold"
	}
	return out
}

// row returns what was published. A prediction that cannot be read, which no version of wardcast writes, is a row that says so.
func (f *published) row() *row {
	var p msg.Prediction
	if err := json.Unmarshal(f.value, &p); err != nil {
		return &row{Number: f.number, Title: "Prediction cannot be read", At: f.at, P: probability{None: true}}
	}
	var note *msg.Note
	if f.note != nil {
		note = &msg.Note{}
		if msg.DecodeNote(f.note, note) != nil {
			note = nil
		}
	}
	r := newRow(&p, note)
	r.Number, r.At = f.number, f.at
	return r
}

// newRow returns a prediction as a page shows it; note is nil if it may not be shown.
func newRow(p *msg.Prediction, note *msg.Note) *row {
	r := &row{Title: p.Complaint, P: newProbability(p), Model: p.Model.Name + " · " + p.Model.Version, Why: newWhy(p, note)}
	if r.Title == "" {
		r.Title = "Complaint not given"
	}
	if note != nil {
		r.Segments = segments(note.Text, p.Evidence)
	}
	for i := range p.Evidence {
		if e := &p.Evidence[i]; e.Text != "" && step(e.Contribution) > 0 {
			r.Words = append(r.Words, newMark(e, e.Text))
		}
	}
	patient := note
	if patient == nil {
		patient = patientOf(p)
	}
	r.Who, r.Vitals = who(patient), vitals(patient)
	if p.Abstained {
		r.Reason = abstained(p)
	}
	for _, w := range p.Warnings {
		r.Warnings = append(r.Warnings, warned(w))
	}
	return r
}

// patientOf returns what a prediction itself tells about the patient: the values that its model uses.
func patientOf(p *msg.Prediction) *msg.Note {
	n := &msg.Note{}
	for _, a := range p.Aux {
		if v, ok := a.Value.Number(); ok && n.Number(a.Name) != nil {
			*n.Number(a.Name) = msg.Some(v)
		}
		if v, ok := a.Value.Text(); ok && n.Word(a.Name) != nil {
			*n.Word(a.Name) = v
		}
	}
	return n
}

func who(n *msg.Note) string {
	var first, parts []string
	if n.Age.Set {
		first = append(first, number(n.Age.Value, 0))
	}
	if n.Sex != "" {
		first = append(first, n.Sex)
	}
	if first != nil {
		parts = append(parts, strings.Join(first, " "))
	}
	if n.Acuity.Set {
		parts = append(parts, "acuity "+number(n.Acuity.Value, 0))
	}
	return strings.Join(parts, " · ")
}

func abstained(p *msg.Prediction) *reason {
	if p.AbstainReason == "no_known_terms" {
		return &reason{"No known words", "The model knows none of its words. Read the note."}
	}
	return &reason{strings.ReplaceAll(p.AbstainReason, "_", " "), fmt.Sprintf("The model knows %s %% of its words. Read the note.", percent(p.KnownTermShare))}
}

func warned(w msg.Warning) string {
	name := fieldName(w.Field)
	switch w.Code {
	case msg.ValueOutOfRange:
		return name + " is out of range and was left out."
	case msg.ValueBadTime:
		return name + " is not a time and was left out."
	case msg.ValueUnknownLevel, msg.ValueUnknownComplaint:
		return name + " has a value that the model does not know."
	}
	return name + ": " + strings.ReplaceAll(string(w.Code), "_", " ") + "."
}

// fields are the names of a note's fields for people, with unit.
var fields = map[string][2]string{
	"arrived_at": {"Arrival", ""}, "age": {"Age", ""}, "sex": {"Sex", ""}, "acuity": {"Acuity", ""}, "site": {"Site", ""}, bundle.ComplaintColumn: {"Complaint", ""},
	"vitals.sbp": {"Systolic BP", ""}, "vitals.dbp": {"Diastolic BP", ""}, "vitals.hr": {"Heart rate", ""}, "vitals.rr": {"Respiratory rate", ""},
	"vitals.temp_c": {"Temperature", " °C"}, "vitals.spo2": {"SpO₂", " %"},
}

func fieldName(field string) string {
	if f, ok := fields[field]; ok {
		return f[0]
	}
	return field
}

// vital is a measurement at triage.
type vital struct {
	Name, Value string
	Out         bool // the National Early Warning Score 2 gives it 3 points, its most
}

// newsAge is the age from which the score applies.
const newsAge = 16

// vitals returns the measurements of a note, in the order in which they are read out.
func vitals(n *msg.Note) (list []vital) {
	v := &n.Vitals
	adult := n.Age.Set && n.Age.Value >= newsAge
	add := func(name string, o msg.Optional, low, high float64) {
		unit := map[string]string{"Temp": " °C", "SpO₂": " %"}[name]
		if o.Set {
			list = append(list, vital{name, number(o.Value, 1) + unit, adult && (o.Value <= low || o.Value >= high)})
		}
	}
	// Ranges: Royal College of Physicians, National Early Warning Score (NEWS) 2, 2017, chart 1, oxygen scale 1.
	none := math.Inf(1)
	if v.SBP.Set && v.DBP.Set {
		list = append(list, vital{"BP", number(v.SBP.Value, 0) + "/" + number(v.DBP.Value, 0), adult && (v.SBP.Value <= 90 || v.SBP.Value >= 220)})
	} else {
		add("Systolic BP", v.SBP, 90, 220)
		add("Diastolic BP", v.DBP, -none, none)
	}
	add("HR", v.HR, 40, 131)
	add("RR", v.RR, 8, 25)
	add("Temp", v.TempC, 35, none)
	add("SpO₂", v.SpO2, 91, none)
	return list
}

// mark is a piece of a note; with a Class one that moved the prediction.
type mark struct {
	Text, Class, Tag, Hint string
	Denied                 bool
}

// steps are the contributions from which the tint is deeper, in log-odds. They are fixed, so that patients can be compared.
var steps = []float64{0.05, 0.25, 0.5}

// step returns the depth of the tint, 0 for none.
func step(contribution float64) int {
	n := 0
	for n < len(steps) && math.Abs(contribution) >= steps[n] {
		n++
	}
	return n
}

// tags are the words for the statuses of evidence.
var tags = map[string]string{"negated": "denied", "uncertain": "possible", "historical": "history", "other-person": "not patient"}

func newMark(e *msg.Evidence, text string) mark {
	side := "a"
	if e.Contribution < 0 {
		side = "d"
	}
	m := mark{Text: text, Tag: tags[e.Status], Denied: e.Status == "negated"}
	m.Hint = signed(e.Contribution) + " log-odds"
	if m.Tag != "" {
		m.Hint += ", " + m.Tag
	}
	if n := step(e.Contribution); n > 0 {
		m.Class = fmt.Sprintf("%s %s%d", side, side, n)
	}
	return m
}

// segments cuts a note at its evidence. What moved the prediction too little for a tint is plain text.
func segments(text string, evidence []msg.Evidence) (list []mark) {
	runes := []rune(text)
	parts := slices.DeleteFunc(slices.Clone(evidence), func(e msg.Evidence) bool {
		return e.Start < 0 || e.End <= e.Start || e.End > len(runes) || step(e.Contribution) == 0
	})
	slices.SortFunc(parts, func(a, b msg.Evidence) int { return cmp.Compare(a.Start, b.Start) })
	at := 0
	for i := range parts {
		e := &parts[i]
		if e.Start < at {
			continue
		}
		if e.Start > at {
			list = append(list, mark{Text: string(runes[at:e.Start])})
		}
		list = append(list, newMark(e, string(runes[e.Start:e.End])))
		at = e.End
	}
	if at < len(runes) {
		list = append(list, mark{Text: string(runes[at:])})
	}
	return list
}
