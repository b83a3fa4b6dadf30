// Package prediction is how pages show a prediction: its probability, the note with the words that moved it, vital
// signs, and tables that add up to its log-odds; also terms and topics in words. A note is shown only if it is handed
// over.
package prediction

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/waitlist"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/textproc"
)

// HTML is the templates: probability, meter, note, remarks, vitals, why and key.
//
//go:embed prediction.html
var HTML string

// Row is a prediction as a page shows it.
type Row struct {
	Number   uint64
	Title    string // its complaint
	Person   string // age and sex
	Who      string // these and acuity
	At       time.Time
	P        Probability
	Segments []mark // the note, if it may be shown
	Opening  []mark // its beginning, if it is too long for a list
	Words    []mark // else the words that moved the prediction, by size
	Vitals   []vital
	Warnings []string
	Reason   *reason
	Why      Why
	Model    string
	Selected bool
}

type reason struct{ Head, Text string }

// Probability is a probability of admission next to its threshold.
type Probability struct {
	None, Admit      bool
	Word             string
	Value, Threshold float64
}

// Near reports whether the probability is near its threshold, a close call.
func (p Probability) Near() bool {
	return !p.None && math.Abs(p.Value-p.Threshold) <= waitlist.CloseCall
}

// Kind is what the page Live filters by: admit, close, none.
func (r *Row) Kind() string {
	var kinds []string
	if r.P.Admit {
		kinds = append(kinds, "admit")
	}
	if r.P.Near() {
		kinds = append(kinds, "close")
	}
	if r.P.None {
		kinds = append(kinds, "none")
	}
	return strings.Join(kinds, " ")
}

// Said is the probability as it is read out.
func (r *Row) Said() string {
	if r.P.None {
		return "not predicted"
	}
	return frame.Percent(r.P.Value) + " percent"
}

// A note of more letters than longNote takes more than four lines of a list; mostOpening of them are in the page.
const longNote, mostOpening = 300, 600

// opening returns the beginning of a note that is too long for a list, nil for one that is not.
func opening(segments []mark) (list []mark) {
	letters := 0
	for _, m := range segments {
		text := []rune(m.Text)
		if letters < mostOpening {
			m.Text = string(text[:min(len(text), mostOpening-letters)])
			list = append(list, m)
		}
		letters += len(text)
	}
	if letters <= longNote {
		return nil
	}
	return list
}

func newProbability(p *msg.Prediction) Probability {
	out := Probability{
		None: p.Abstained, Admit: !p.Abstained && p.Decision == msg.Admit, Word: "Likely discharge",
		Value: p.Admission(), Threshold: p.Threshold,
	}
	switch {
	case out.Admit && out.Value >= 0.5:
		out.Word = "Likely admission"
	case out.Admit:
		out.Word = "Above threshold"
	case out.Value >= 0.5:
		out.Word = "Below threshold"
	}
	return out
}

// Width is how much of the meter is filled, in percent.
func (p Probability) Width() string { return fmt.Sprintf("%.1f", 100*p.Value) }

// Tick is where the threshold stands, in percent.
func (p Probability) Tick() string { return fmt.Sprintf("%.1f", 100*p.Threshold) }

// NewRow returns a prediction as a page shows it; note is nil if it may not be shown.
func NewRow(p *msg.Prediction, note *msg.Note) *Row {
	r := &Row{
		Title: cmp.Or(p.Complaint, "Complaint not given"), P: newProbability(p),
		Model: frame.ModelLabel(p.Model.Name, "") + " · " + p.Model.Version, Why: newWhy(p, note),
	}
	if note != nil {
		r.Segments = segments(note.Text, p.Evidence)
		r.Opening = opening(r.Segments)
	}
	for i := range p.Evidence {
		if e := &p.Evidence[i]; e.Text != "" && step(e.Contribution) > 0 {
			r.Words = append(r.Words, newMark(e, e.Text))
		}
	}
	patient := note
	if patient == nil {
		patient = p.Note()
	}
	r.Person, r.Who = who(patient)
	r.Vitals = vitals(counted(patient, p.Warnings))
	if p.Abstained {
		r.Reason = abstained(p)
	}
	for _, w := range p.Warnings {
		r.Warnings = append(r.Warnings, warned(w))
	}
	return r
}

func who(n *msg.Note) (person, whole string) {
	if n.Age.Set {
		person = wording.Age(n.Age.Value)
	}
	person = strings.TrimSpace(person + " " + n.Sex)
	if !n.Acuity.Set {
		return person, person
	}
	return person, strings.TrimPrefix(person+" · acuity "+wording.Short(n.Acuity.Value, 0), " · ")
}

// counted returns a note without the vital signs that were left out: they are no alarm.
func counted(n *msg.Note, warnings []msg.Warning) *msg.Note {
	without := *n
	for _, w := range warnings {
		if o := without.Number(w.Field); o != nil {
			*o = msg.Optional{}
		}
	}
	return &without
}

func abstained(p *msg.Prediction) *reason {
	if p.AbstainReason == "no_known_terms" {
		parts := func(e msg.Evidence) bool { return e.End > e.Start && step(e.Contribution) > 0 }
		if slices.ContainsFunc(p.Evidence, parts) {
			return &reason{"Too little known", "The model knows parts of its words only. Read the note."}
		}
		return &reason{"No known words", "The model knows none of its words. Read the note."}
	}
	known := frame.Percent(p.KnownTermShare)
	return &reason{strings.ReplaceAll(p.AbstainReason, "_", " "), "The model knows " + known +
		" % of its words. Read the note."}
}

func warned(w msg.Warning) string {
	name, _ := fieldName(w.Field)
	switch w.Code {
	case msg.ValueOutOfRange:
		return name + " is out of range and was left out."
	case msg.ValueBadTime:
		return name + " is not a time and was left out."
	case msg.ValueNotNumber:
		return name + " is not a number and was left out."
	case msg.ValueLeftOut:
		return "Some of the note's fields cannot be read and were left out."
	case msg.ValueUnknownLevel, msg.ValueUnknownComplaint:
		return name + " has a value that the model does not know."
	}
	return name + ": " + strings.ReplaceAll(string(w.Code), "_", " ") + "."
}

// fieldName returns the name of a note's field for people, and the unit behind its values.
func fieldName(field string) (name, suffix string) {
	for _, v := range msg.VitalSigns() {
		if field == "vitals."+v.Name {
			return v.Title, v.Suffix
		}
	}
	switch field {
	case "arrived_at":
		return "Arrival", ""
	case bundle.ComplaintColumn:
		return "Complaint", ""
	}
	return frame.Capital(field), ""
}

type vital struct {
	Name, Value string
	Out         bool // the National Early Warning Score 2 gives it 3 points
}

const newsAge = 16 // the age from which the score applies

func vitals(n *msg.Note) (list []vital) {
	adult := n.Age.Set && n.Age.Value >= newsAge
	sbp, dbp := n.Vitals.SBP, n.Vitals.DBP
	pressure := sbp.Set && dbp.Set
	for _, v := range msg.VitalSigns() {
		o := v.In(n)
		shown := vital{v.Short, wording.Short(o.Value, 1) + v.Suffix, adult && v.Out(o.Value)}
		switch {
		case !o.Set || pressure && v.Name == "dbp":
			continue
		case pressure && v.Name == "sbp":
			shown.Name, shown.Value = "BP", wording.Short(sbp.Value, 0)+"/"+wording.Short(dbp.Value, 0)
		}
		list = append(list, shown)
	}
	return list
}

// mark is a piece of a note; with a Class one that moved the prediction.
type mark struct {
	Text, Class, Tag, Hint string
	Denied                 bool
}

// steps are the contributions, in log-odds, from which the tint is deeper: fixed, so that patients can be compared.
var steps = []float64{0.05, 0.25, 0.5}

// step returns the depth of the tint, 0 for none.
func step(contribution float64) int {
	n := 0
	for n < len(steps) && math.Abs(contribution) >= steps[n] {
		n++
	}
	return n
}

func newMark(e *msg.Evidence, text string) mark {
	side := "a"
	if e.Contribution < 0 {
		side = "d"
	}
	m := mark{Text: text}
	m.Tag, m.Denied = remark(text, e.Status)
	m.Hint = frame.Signed(e.Contribution) + " log-odds"
	if m.Tag != "" {
		m.Hint += ", " + m.Tag
	}
	if n := step(e.Contribution); n > 0 {
		m.Class = fmt.Sprintf("%s %s%d", side, side, n)
	}
	return m
}

// remark returns the word for the status of a part of a note, and whether the part is denied; neither if its text says
// so: "no helmet".
func remark(text, status string) (tag string, denied bool) {
	if textproc.Spoken(text, status) == text {
		return "", false
	}
	return Tag(status), status == textproc.Negated.String()
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

// Why is what moved a prediction: tables that add up to its log-odds.
type Why struct {
	P                       Probability
	Outcome                 string // which outcome the tables are about, if there are several
	Places, Patient, Topics []frame.BarRow
	Sum, Logit, Exact       string
	Model                   msg.Model
	LogOdds                 float64
	Calibrated              bool // the probability is not that of the log-odds
}

const unnamed = "a word not shown" // stands for words of the note that may not be shown

func newWhy(p *msg.Prediction, note *msg.Note) Why {
	w := Why{
		P: newProbability(p), Logit: frame.Signed(p.Logit), Exact: frame.Exact(p.Logit), Model: p.Model,
		LogOdds: p.Logit,
	}
	var runes []rune
	if note != nil {
		runes = []rune(note.Text)
	}
	var words, patient, without float64
	var absent []string // the names of what is not given, which add without
	for i := range p.Evidence {
		e := &p.Evidence[i]
		r := bar(e.Text, e.Contribution)
		switch {
		case e.Other == msg.OtherWords:
			r.Name = "Other words"
		case e.End == 0:
			r.Name = "Other parts"
		case e.Text == "" && e.Start >= 0 && e.End > e.Start && e.End <= len(runes):
			r.Name = string(runes[e.Start:e.End])
		case e.Text == "":
			r.Name = unnamed
		}
		r.Tag, r.Denied = remark(r.Name, e.Status)
		w.Places, words = append(w.Places, r), words+e.Contribution
	}
	for _, a := range p.Aux {
		name, given := auxName(&a)
		if patient += a.Contribution; given {
			w.Patient = append(w.Patient, bar(name, a.Contribution))
		} else {
			absent, without = append(absent, name), without+a.Contribution
		}
	}
	switch n := len(absent); {
	case n == 1:
		w.Patient = append(w.Patient, bar(absent[0]+" not given", without))
	case n > 1:
		r := bar(strconv.Itoa(n)+" not given", without)
		r.Sub = strings.Join(absent, ", ")
		w.Patient = append(w.Patient, r)
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
	w.Calibrated = p.Class == "" && math.Abs(linalg.Sigmoid(p.Logit)-p.Probability) > 0.005
	if p.Class != "" {
		w.Outcome = fmt.Sprintf("The tables explain %s (%s %%) against %s: a bar to the right is toward %s.",
			p.Class, frame.Percent(p.Probability), p.Against, p.Class)
	}
	return w
}

func bar(name string, v float64) frame.BarRow { return frame.NewBarRow(name, v, frame.Signed(v)) }

// auxName returns the name of what is known of a patient, with its value if it is given.
func auxName(a *msg.Aux) (name string, given bool) {
	name, suffix := fieldName(a.Name)
	if v, ok := a.Value.Number(); ok {
		return name + " " + wording.Short(v, 1) + suffix, true
	}
	if v, ok := a.Value.Text(); ok && v != "" {
		return name + " " + v, true
	}
	return name, false
}
