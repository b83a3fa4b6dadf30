// Package trial holds the forecasts of package beds against a simulated emergency department of which everything is
// known: who arrives when, with which note, how likely each patient is to be admitted, to which ward and when. It has
// tests alone.
//
// Notes are those of package synth, whose log-odds of admission are known. Arrivals follow the hour, the weekday, the
// season, a trend, holidays and the luck of the day; four outbreaks bring fever and dyspnoea, more severe than usual.
// Each day has a mood of its own, in which more or fewer are admitted and all is faster or slower; from day 430 on
// fewer are admitted. Equal settings give equal visits.
package trial

import (
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/synth"
)

// Settings describe a simulation.
type Settings struct {
	Seed   uint64
	Days   int       // 0 means 540
	PerDay float64   // mean arrivals a day at the start; 0 means 170
	Start  time.Time // zero means 2025-01-01, in UTC
	// Noise is the standard deviation of what a score misses of the log-odds; 0 means 2.5, with which scores that are
	// calibrated by complaint, as those of a model are, have an AUROC of about .80.
	Noise float64
}

// Visit is a simulated visit.
type Visit struct {
	Note    msg.Note
	Arrived time.Time
	Decided time.Time
	Outcome msg.Disposition
	Ward    string  // of the admitted
	Score   float64 // log-odds of admission with Noise, to be calibrated
	Truth   Truth
}

// Admitted reports whether the visit ended in an admission.
func (v *Visit) Admitted() bool { return v.Outcome == msg.Admitted }

// Message returns the outcome as a message.
func (v *Visit) Message() msg.Outcome {
	return msg.Outcome{
		SchemaVersion: msg.SchemaVersion, VisitID: v.Note.VisitID, Disposition: v.Outcome, Status: msg.Final,
		Ward: v.Ward, DecidedAt: v.Decided.Format(time.RFC3339), RecordedAt: v.Decided.Format(time.RFC3339),
	}
}

// Truth is what made a visit, the mood of its day included.
type Truth struct {
	P                    float64 // probability of admission of those who do not leave
	Admitted, Discharged float64 // means of the logarithm of the hours to decision
}

// The times of decisions in hours are log-normal: their medians, spreads, and what severity, night and the mood of the
// day do.
const (
	admittedHours, admittedSpread     = 3.4, 0.55
	dischargedHours, dischargedSpread = 2.4, 0.60
	leftHours, leftSpread             = 1.5, 0.50
	severityEffect                    = 0.12
	admittedNight, dischargedNight    = 0.15, 0.10
	moodTimes                         = 0.10
	leaves                            = 0.03
)

// Q returns the true probability that a patient who has waited so many hours is admitted within the horizon.
func (t *Truth) Q(waited, horizon float64) float64 {
	admitted := func(h float64) float64 { return logNormal(h, t.Admitted, admittedSpread) }
	p, d, l := (1-leaves)*t.P, (1-leaves)*(1-t.P), float64(leaves)
	still := p*(1-admitted(waited)) + d*(1-logNormal(waited, t.Discharged, dischargedSpread)) +
		l*(1-logNormal(waited, math.Log(leftHours), leftSpread))
	if still <= 0 {
		return 0
	}
	return p * (admitted(waited+horizon) - admitted(waited)) / still
}

// logNormal returns the probability of at most h.
func logNormal(h, mean, sd float64) float64 {
	if h <= 0 {
		return 0
	}
	return math.Erfc(-(math.Log(h)-mean)/(sd*math.Sqrt2)) / 2
}

// What moves admissions and arrivals.
const (
	moodAdmissions  = 0.25 // standard deviation of the log-odds between days
	policyDay       = 430
	policyEffect    = -0.20
	outbreaks       = 4
	outbreakArrives = 0.25
	outbreakEffect  = 0.45
	season          = 0.06
	trend           = 0.08 // a year
	holidayFactor   = 0.85
	dayCV           = 0.08
	year            = 365.25
	worstOfYear     = 15 // the day with most arrivals
)

// hourly and daily are the shape of a day and of a week, from Sunday, with a mean of 1.
var (
	hourly = [24]float64{
		.62, .48, .38, .32, .29, .32, .42, .66, 1.00, 1.32, 1.49, 1.54, 1.50, 1.51, 1.47, 1.44, 1.35, 1.34, 1.33, 1.28,
		1.19, 1.07, .92, .76,
	}
	daily = [7]float64{.94, 1.10, 1.02, 1.00, .99, 1.00, .95}
)

// holidays are the days of each year with fewer arrivals.
var holidays = []string{"01-01", "04-18", "04-21", "05-05", "05-26", "08-25", "12-25", "12-26"}

// Simulation makes the visits of a hospital.
type Simulation struct {
	settings Settings
	notes    *synth.Generator
	next     int // number of the next note
	days     []day
}

// day is what all visits of a day have in common.
type day struct {
	luck       float64 // factor of arrivals
	admissions float64 // added to the log-odds
	times      float64 // added to the logarithm of the hours
	outbreak   bool
}

// New returns a simulation.
func New(s Settings) (*Simulation, error) {
	if s.Days < 0 || s.PerDay < 0 || s.Noise < 0 {
		return nil, errors.New("simulating a hospital: negative settings")
	}
	if s.Days == 0 {
		s.Days = 540
	}
	if s.PerDay == 0 {
		s.PerDay = 170
	}
	if s.Noise == 0 {
		s.Noise = 2.5
	}
	if s.Start.IsZero() {
		s.Start = time.Date(2025, 1, 1, 0, 0, 0, 0, time.UTC)
	}
	s.Start = s.Start.UTC().Truncate(24 * time.Hour)
	notes, err := synth.New(synth.Settings{Seed: s.Seed, Misspelling: synth.DefaultMisspelling})
	if err != nil {
		return nil, err
	}
	m := &Simulation{settings: s, notes: notes, days: make([]day, s.Days)}
	r := rand.New(rand.NewPCG(s.Seed, ^uint64(0)))
	for i := range m.days {
		m.days[i] = day{
			luck: gamma(r, 1/(dayCV*dayCV)), admissions: moodAdmissions * r.NormFloat64(),
			times: moodTimes * r.NormFloat64(),
		}
	}
	for range outbreaks {
		first, length := r.IntN(max(1, s.Days-14)), 12+r.IntN(3)
		for i := first; i < min(first+length, s.Days); i++ {
			m.days[i].outbreak = true
		}
	}
	return m, nil
}

// Start returns the first moment of the simulation, Days its length.
func (m *Simulation) Start() time.Time { return m.settings.Start }

// Days returns how many days are simulated.
func (m *Simulation) Days() int { return m.settings.Days }

// Holidays returns the holidays of the simulation, as 2006-01-02.
func (m *Simulation) Holidays() (all []string) {
	for i := range m.settings.Days {
		if t := m.settings.Start.AddDate(0, 0, i); slices.Contains(holidays, t.Format("01-02")) {
			all = append(all, t.Format(time.DateOnly))
		}
	}
	return all
}

// Rate returns the true mean of the arrivals per hour at a time, with the luck of its day and its outbreak.
func (m *Simulation) Rate(t time.Time) float64 {
	i := int(t.Sub(m.settings.Start) / (24 * time.Hour))
	if i < 0 || i >= len(m.days) {
		return 0
	}
	rate := m.usual(t) * m.days[i].luck
	if m.days[i].outbreak {
		rate *= 1 + outbreakArrives
	}
	return rate
}

// usual is the rate without luck and outbreaks.
func (m *Simulation) usual(t time.Time) float64 {
	days := t.Sub(m.settings.Start).Hours() / 24
	rate := m.settings.PerDay / 24 * hourly[t.Hour()] * daily[t.Weekday()] * (1 + trend*days/year) *
		(1 + season*math.Cos(2*math.Pi*(float64(t.YearDay())-worstOfYear)/year))
	if slices.Contains(holidays, t.Format("01-02")) {
		rate *= holidayFactor
	}
	return rate
}

// Day returns the visits that arrive on a day, from 0 on, by arrival. Days are to be asked for in turn.
func (m *Simulation) Day(i int) []Visit {
	r := rand.New(rand.NewPCG(m.settings.Seed, uint64(i)))
	d := &m.days[i]
	var visits []Visit
	midnight := m.settings.Start.AddDate(0, 0, i)
	for h := range 24 {
		hour := midnight.Add(time.Duration(h) * time.Hour)
		arrive := func(mean float64, wanted func(string) bool) {
			for range poisson(r, mean) {
				at := hour.Add(time.Duration(r.Float64() * float64(time.Hour))).Truncate(time.Second)
				visits = append(visits, m.visit(r, at, m.note(wanted)))
			}
		}
		arrive(m.usual(hour)*d.luck, func(string) bool { return true })
		if d.outbreak {
			arrive(m.usual(hour)*d.luck*outbreakArrives, spreads)
		}
	}
	slices.SortFunc(visits, func(a, b Visit) int { return a.Arrived.Compare(b.Arrived) })
	return visits
}

// spreads reports whether an outbreak brings a complaint.
func spreads(complaint string) bool {
	return complaint == "Fever" || complaint == "Shortness of Breath"
}

// note returns the next note with a complaint that is wanted.
func (m *Simulation) note(wanted func(complaint string) bool) synth.Note {
	for {
		n := m.notes.At(m.next)
		m.next++
		if wanted(n.Complaint) {
			return n
		}
	}
}

// wards are those that synth.Ward draws, sorted.
var wards = []string{"CARD", "ICU", "MED", "ORTHO", "PAED", "SURG"}

// The mean and the spread of the log-odds of synth's notes, by which severity is standardised.
const (
	meanLogit, logitSD = -1.9, 2.26
	mostSevere         = 2.5
)

func (m *Simulation) visit(r *rand.Rand, at time.Time, n synth.Note) Visit {
	i := int(at.Sub(m.settings.Start) / (24 * time.Hour))
	d := &m.days[i]
	logit := math.Log(n.Probability / (1 - n.Probability))
	v := Visit{Note: n.Note, Arrived: at, Score: logit + m.settings.Noise*r.NormFloat64()}
	v.Note.ArrivedAt = at.Format(time.RFC3339)
	severity := min(max((logit-meanLogit)/logitSD, -mostSevere), mostSevere)
	logit += d.admissions
	if i >= policyDay {
		logit += policyEffect
	}
	if d.outbreak && spreads(n.Complaint) {
		logit += outbreakEffect
	}
	night := 0.0
	if at.Hour() >= 22 || at.Hour() < 7 {
		night = 1
	}
	v.Truth = Truth{
		P:          1 / (1 + math.Exp(-logit)),
		Admitted:   math.Log(admittedHours) - severityEffect*severity + admittedNight*night + d.times,
		Discharged: math.Log(dischargedHours) + severityEffect*severity + dischargedNight*night + d.times,
	}
	mean, spread := v.Truth.Discharged, dischargedSpread
	v.Outcome = msg.Discharged
	switch u := r.Float64(); {
	case u < leaves:
		v.Outcome, mean, spread = msg.Left, math.Log(leftHours), leftSpread
	case u < leaves+(1-leaves)*v.Truth.P:
		v.Outcome, mean, spread = msg.Admitted, v.Truth.Admitted, admittedSpread
		v.Ward = synth.Ward(r, &v.Note)
	}
	v.Decided = at.Add(time.Duration(math.Exp(mean+spread*r.NormFloat64()) * float64(time.Hour))).Truncate(time.Second)
	return v
}

// poisson draws a count of a small mean, by multiplying uniform numbers (Knuth 1969, The Art of Computer Programming
// 2).
func poisson(r *rand.Rand, mean float64) int {
	limit, x, n := math.Exp(-mean), r.Float64(), 0
	for x > limit {
		x *= r.Float64()
		n++
	}
	return n
}

// gamma draws a gamma variable with mean 1 and the given shape ≥ 1 (Marsaglia & Tsang 2000, ACM TOMS 26).
func gamma(r *rand.Rand, shape float64) float64 {
	d := shape - 1./3
	c := 1 / math.Sqrt(9*d)
	for {
		x := r.NormFloat64()
		v := 1 + c*x
		if v <= 0 {
			continue
		}
		v = v * v * v
		if math.Log(r.Float64()) < x*x/2+d-d*v+d*math.Log(v) {
			return d * v / shape
		}
	}
}

func simulate(t *testing.T, s Settings) (*Simulation, []Visit) {
	t.Helper()
	m, err := New(s)
	if err != nil {
		t.Fatal(err)
	}
	var visits []Visit
	for i := range m.Days() {
		visits = append(visits, m.Day(i)...)
	}
	return m, visits
}

func TestEqualSeedsGiveEqualVisits(t *testing.T) {
	t.Parallel()
	_, a := simulate(t, Settings{Seed: 3, Days: 5})
	_, b := simulate(t, Settings{Seed: 3, Days: 5})
	_, c := simulate(t, Settings{Seed: 4, Days: 5})
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
	if len(a) == len(c) && a[0].Note.Text == c[0].Note.Text {
		t.Error("another seed gives the same visits")
	}
	if !slices.IsSortedFunc(a, func(a, b Visit) int { return a.Arrived.Compare(b.Arrived) }) {
		t.Error("visits are not in order")
	}
}

// TestVisitsAreWhatTheTruthSays: arrivals, admissions, those admitted within a window, wards of children, messages.
func TestVisitsAreWhatTheTruthSays(t *testing.T) {
	t.Parallel()
	m, visits := simulate(t, Settings{Seed: 1, Days: 120})
	expected := 0.0
	for u := m.Start(); u.Before(m.Start().AddDate(0, 0, m.Days())); u = u.Add(time.Hour) {
		expected += m.Rate(u)
	}
	if n := float64(len(visits)); math.Abs(n-expected) > 4*math.Sqrt(expected) || n < 120*140 || n > 120*220 {
		t.Errorf("%v arrivals, expected %v", n, expected)
	}
	var p, admitted, left, q, within, waiting float64
	var y []bool
	var score []float64
	for i := range visits {
		v := &visits[i]
		p += (1 - .03) * v.Truth.P
		y, score = append(y, v.Admitted()), append(score, 1/(1+math.Exp(-v.Score)))
		switch {
		case v.Admitted():
			admitted++
			if child := v.Note.Age.Set && v.Note.Age.Value < 16; child != (v.Ward == "PAED") ||
				!slices.Contains(wards, v.Ward) {
				t.Fatalf("a patient of %v years on %s", v.Note.Age.Value, v.Ward)
			}
		case v.Outcome == msg.Left:
			left++
		}
		if hours := v.Decided.Sub(v.Arrived).Hours(); hours > 2 {
			waiting++
			q += v.Truth.Q(2, 4)
			if v.Admitted() && hours <= 6 {
				within++
			}
		}
	}
	n := float64(len(visits))
	if math.Abs(admitted-p) > 4*math.Sqrt(p) || math.Abs(left-.03*n) > 4*math.Sqrt(.03*n) || admitted/n < .2 ||
		admitted/n > .35 {
		t.Errorf("%v admitted, expected %v; %v left, of %v", admitted, p, left, n)
	}
	if math.Abs(within-q) > 4*math.Sqrt(q) {
		t.Errorf("%v of %v admitted between 2 and 6 h, expected %v", within, waiting, q)
	}
	quality, err := eval.Measure(y, score, .5, nil)
	if err != nil || *quality.AUROC < .73 || *quality.AUROC > .78 {
		t.Errorf("scores have an AUROC of %v, %v", *quality.AUROC, err)
	}
	outcome := visits[0].Message()
	if err := msg.DecodeOutcome(outcome.AppendJSON(nil), new(msg.Outcome)); err != nil {
		t.Error(err)
	}
}
