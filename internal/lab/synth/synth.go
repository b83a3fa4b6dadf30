// Package synth generates triage notes from a known topic model and admission rule, so that users can try the product
// without their own notes. All phrases are invented; catalogue.yaml holds them.
//
// A visit has one presenting complaint. Its note holds phrases from that complaint's topics, from topics shared by all
// complaints (transport, history, frailty, …) and sometimes from a second complaint. The log-odds of admission are
// linear in the number of phrases:
//
//	logit P(admitted) = Intercept[c] + Σ_t Coefficient[t]·m[t] + Age·(age-50)/10
//	                  + Acuity·(acuity-3) + HR·(hr-85)/10 + SpO2·(spo2-97)
//
// Here m[t] counts the phrases of topic t in the note, except denied ones ("denies …", "no …"). The rest of the text is
// age and sex, durations, vital signs and filler words, in shorthand and with typing errors.
//
// About one visit in seven is a return of an earlier patient (PatientID) with the same complaint. Changes lets the
// hospital drift, and Outcomes returns the outcomes as messages: delayed, and sometimes corrected or cancelled.
//
// Note i is a function of the settings and i alone, and a Generator is safe for concurrent use.
package synth

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"strconv"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Settings describe a stream of notes. A zero Start means 2026-01-01, a zero Interval ten minutes.
type Settings struct {
	Seed        uint64        `help:"Seed: equal seeds give equal notes." default:"1"`
	Start       time.Time     `help:"Earliest arrival." format:"2006-01-02" default:"2026-01-01"`
	Interval    time.Duration `help:"Mean time between arrivals." default:"10m"`
	Misspelling float64       `help:"Probability of a typing error in a word of five letters or more." default:"${misspelling}"`
	Labels
	Changes
}

// DefaultMisspelling is a realistic rate of typing errors.
const DefaultMisspelling = 0.025

const defaultInterval = 10 * time.Minute

// Note is a note with its outcome.
type Note struct {
	msg.Note
	Admitted    bool
	Probability float64 // of Admitted, before it was drawn
}

// Generator makes notes.
type Generator struct {
	settings   Settings
	complaints []complaint
	words      *catalogue
	topics     []theme // of all complaints
	shared     []int   // indices of the topics that any complaint can have
	pick       []float64
}

// complaint is a presentation with the indices and cumulative shares of its topics.
type complaint struct {
	presentation
	topics []int
	pick   []float64
}

// New returns a generator whose first note is number 0.
func New(s Settings) (*Generator, error) {
	c, l := &s.Changes, &s.Labels
	finite := c.BaseRate - c.BaseRate + c.Shift - c.Shift
	switch {
	case !(s.Misspelling >= 0 && s.Misspelling <= 1) || s.Interval < 0:
		return nil, errors.New("making notes: misspelling outside [0,1] or negative interval")
	case finite != 0 || !(c.Wording >= 0 && c.Wording <= 1):
		return nil, errors.New("making notes: a base rate or shift that is not finite, or wording outside [0,1]")
	case l.Delay < 0 || !(l.Revised >= 0 && l.Revised <= 1):
		return nil, errors.New("making notes: a negative delay of labels, or a share of revised ones outside [0,1]")
	}
	if s.Start.IsZero() {
		s.Start = time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	s.Start = s.Start.UTC()
	s.Interval = cmp.Or(s.Interval, defaultInterval)
	words, err := readCatalogue()
	if err != nil {
		return nil, err
	}
	g := &Generator{settings: s, words: words}
	for _, t := range words.Shared {
		g.shared = append(g.shared, g.add(t))
	}
	weights := []float64{}
	for _, p := range words.Complaints {
		c := complaint{presentation: p}
		shares := []float64{}
		for _, t := range p.Themes {
			c.topics = append(c.topics, g.add(t))
			shares = append(shares, t.Weight)
		}
		c.pick = cumulate(shares)
		weights = append(weights, p.Weight)
		g.complaints = append(g.complaints, c)
	}
	g.pick = cumulate(weights)
	return g, nil
}

// effects are the coefficients of the values outside the text, per ten years, one level, 10/min and one percent.
var effects = struct{ Age, Acuity, HR, SpO2 float64 }{Age: 0.16, Acuity: -0.45, HR: 0.12, SpO2: -0.1}

// strength scales the coefficients of the catalogue so that the true probabilities reach an AUROC of about 0.89 over
// all complaints.
const strength = 0.85

// add adds the topic of a theme and returns its index.
func (g *Generator) add(t theme) int {
	t.Coefficient *= strength
	g.topics = append(g.topics, t)
	return len(g.topics) - 1
}

// golden spreads the seeds of the notes: the increment of SplitMix64 (Steele, Lea & Flood 2014).
const golden = 0x9e3779b97f4a7c15

// visit is a note under construction.
type visit struct {
	*rand.Rand
	n      Note
	c      *complaint
	counts []int // mentions by topic
	said   []said
	effect float64 // Σ Coefficient·m
	vitals shift
}

type said struct{ topic, phrase int }

// At returns note i, i ≥ 0.
func (g *Generator) At(i int) Note { return g.visit(i).n }

func (g *Generator) visit(i int) *visit {
	patient := g.patient(i)
	v := &visit{Rand: g.random(patient, forNote), counts: make([]int, len(g.topics))}
	v.c = &g.complaints[draw(v.Rand, g.pick)]
	v.n.SchemaVersion = msg.SchemaVersion
	v.n.VisitID = "S" + strconv.FormatUint(g.settings.Seed, 36) + "-" + strconv.Itoa(i)
	v.n.Site = [...]string{"A", "A", "A", "B", "B", "C"}[v.IntN(6)]
	v.n.Complaint = v.c.Name
	arrival := g.settings.Start.Add(time.Duration((float64(i) + v.Float64()) * float64(g.settings.Interval)))
	v.n.ArrivedAt = arrival.UTC().Format(time.RFC3339)

	age := v.person()
	v.n.PatientID = "P" + strconv.FormatUint(g.settings.Seed, 36) + "-" + strconv.Itoa(patient)
	if patient != i { // only the person and the complaint are the same as before
		v.Rand = g.random(i, forNote)
	}
	g.choose(v, age)
	logit := v.c.Base + v.effect + effects.Age*(age-50)/10 + v.measure() + g.policy(arrival)
	v.n.Probability = linalg.Sigmoid(logit)
	v.n.Admitted = v.Float64() < v.n.Probability
	v.n.Text = g.reword(i, arrival, g.write(v), v.n.Complaint)
	return v
}

const (
	comeback = 0.15 // share of return visits
	lately   = 2000 // largest number of visits since the previous one
)

// patient returns the index of the first visit of visit i's patient.
func (g *Generator) patient(i int) int {
	for i > 0 {
		r := rand.New(rand.NewPCG(^g.settings.Seed, (uint64(i)+1)*golden))
		if r.Float64() >= comeback {
			break
		}
		i -= 1 + r.IntN(min(i, lately))
	}
	return i
}

// person draws age and sex and returns the age in years.
func (v *visit) person() float64 {
	v.n.Sex = "M"
	if v.Float64() < v.c.Female {
		v.n.Sex = "F"
	}
	age := math.Floor(min(max(v.c.Age+v.c.Spread*v.NormFloat64(), 18), 101))
	if v.Float64() < v.c.Children {
		age = math.Floor(17 * math.Pow(v.Float64(), 1.6))
		if age == 0 {
			age = math.Round(100*float64(1+v.IntN(11))/12) / 100 // months
		}
	}
	v.n.Age = msg.Some(age)
	return age
}

// Probabilities of what a note holds in addition to its first topic.
const (
	secondTopic     = 0.35
	secondComplaint = 0.08
	anotherPhrase   = 0.45 // of the same topic, repeatedly
	mostPhrases     = 4    // of one topic
)

// choose draws the topics of the visit and the phrases that mention them.
func (g *Generator) choose(v *visit, age float64) {
	first := g.topicOf(v, v.c)
	count := 1
	for count < mostPhrases && v.Float64() < anotherPhrase {
		count++
	}
	g.mention(v, first, count)
	if v.Float64() < secondTopic {
		if t := g.topicOf(v, v.c); t != first {
			g.mention(v, t, 1)
		}
	}
	if v.Float64() < secondComplaint {
		if other := &g.complaints[draw(v.Rand, g.pick)]; other != v.c {
			g.mention(v, g.topicOf(v, other), 1)
		}
	}
	for _, t := range g.shared {
		p := g.topics[t].Weight
		if c := g.topics[t].Coefficient; c > 0 {
			p *= 0.4 + age/70 // older patients come by ambulance, with a history
		} else {
			p *= max(0.3, 1.6-age/70)
		}
		if v.Float64() < p && g.topics[t].Who.suits(age) {
			g.mention(v, t, 1+v.IntN(2))
		}
	}
}

// topicOf draws a topic of the complaint that suits the patient's age.
func (g *Generator) topicOf(v *visit, c *complaint) int {
	for {
		if t := c.topics[draw(v.Rand, c.pick)]; g.topics[t].Who.suits(v.n.Age.Value) {
			return t
		}
	}
}

// mention adds up to count distinct phrases of the topic.
func (g *Generator) mention(v *visit, t, count int) {
	for range count {
		s := said{t, v.IntN(len(g.topics[t].Phrases))}
		if slices.Contains(v.said, s) {
			continue
		}
		v.said = append(v.said, s)
		v.counts[t]++
		v.effect += g.topics[t].Coefficient
		x := g.topics[t].Vitals
		v.vitals.HR += x.HR
		v.vitals.SBP += x.SBP
		v.vitals.RR += x.RR
		v.vitals.Temp += x.Temp
		v.vitals.SpO2 += x.SpO2
	}
}

// missing is the probability that acuity, or all vital signs, are missing.
const missing = 0.03

// measure draws acuity and vital signs, and returns their effect on the log-odds, even if the note lacks them.
func (v *visit) measure() float64 {
	acuity := min(max(math.Round(3-0.4*v.effect+0.6*v.NormFloat64()), 1), 5)
	around := func(mean, sd, low, high float64) float64 {
		return math.Round(min(max(mean+sd*v.NormFloat64(), low), high))
	}
	hr := around(84+v.vitals.HR, 13, 38, 190)
	if v.n.Age.Value < 5 {
		hr += 35
	}
	sbp := around(132+v.vitals.SBP, 18, 62, 230)
	dbp := around(0.58*sbp, 7, 30, 130)
	rr := around(17+v.vitals.RR, 1.8, 8, 48)
	temp := math.Round(10*(36.8+v.vitals.Temp+0.3*v.NormFloat64())) / 10
	spo2 := around(97.6+v.vitals.SpO2, 1.2, 70, 100)
	if v.Float64() >= missing {
		v.n.Acuity = msg.Some(acuity)
	}
	if v.Float64() >= missing {
		v.n.Vitals = msg.Vitals{
			SBP: msg.Some(sbp), DBP: msg.Some(dbp), HR: msg.Some(hr), RR: msg.Some(rr), TempC: msg.Some(temp),
			SpO2: msg.Some(spo2),
		}
	}
	return effects.Acuity*(acuity-3) + effects.HR*(hr-85)/10 + effects.SpO2*(spo2-97)
}

// draw draws an index; c holds cumulative probabilities.
func draw(r *rand.Rand, c []float64) int {
	u := r.Float64()
	return min(sort.Search(len(c), func(i int) bool { return u < c[i] }), len(c)-1)
}

// cumulate returns the cumulative sums of the weights, as shares of their total.
func cumulate(weights []float64) []float64 {
	var sum, before float64
	for _, w := range weights {
		sum += w
	}
	c := make([]float64, len(weights))
	for i, w := range weights {
		before += w / sum
		c[i] = before
	}
	return c
}

// Probabilities of the parts around the phrases.
const (
	saysDuration = 0.55
	saysDenials  = 0.4
	saysVitals   = 0.3
	saysFiller   = 0.3
	allCapitals  = 0.06
)

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

type writer struct {
	*visit
	b           []byte
	misspelling float64
}

// person writes age and sex in one of several styles.
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
	style := w.IntN(6)
	if style == 0 && unit == "mo" {
		style = 5
	}
	w.text([...]string{
		number + strings.ToUpper(sex),
		"pt is a " + number + " " + unit + " " + long,
		number + unit + " " + sex,
		number + unit + " " + strings.ToUpper(sex),
		"pt",
		number + " " + unit + " " + long,
	}[style])
}

func (w *writer) vitals() {
	v := w.n.Vitals
	if !v.HR.Set {
		return
	}
	sbp, dbp, hr, rr, temp, spo2 := v.SBP.Value, v.DBP.Value, v.HR.Value, v.RR.Value, v.TempC.Value, v.SpO2.Value
	switch w.IntN(4) {
	case 0:
		w.b = fmt.Appendf(w.b, ". bp %.0f/%.0f hr %.0f t %.1f o2 %.0f%% ra", sbp, dbp, hr, temp, spo2)
	case 1:
		w.b = fmt.Appendf(w.b, ". HR %.0f, BP %.0f/%.0f, RR %.0f, SpO2 %.0f%% RA, T %.1fF", hr, sbp, dbp, rr,
			spo2, 32+1.8*temp)
	case 2:
		w.b = fmt.Appendf(w.b, ". sats %.0f on room air, pulse %.0f", spo2, hr)
	default:
		w.b = fmt.Appendf(w.b, ". vs: %.0f/%.0f p %.0f r %.0f t %.1f", sbp, dbp, hr, rr, temp)
	}
}

func (w *writer) text(parts ...string) {
	for _, s := range parts {
		w.b = append(w.b, s...)
	}
}

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

// shortest is the length of the shortest word that can have a typing error.
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
