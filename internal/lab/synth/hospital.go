package synth

import (
	"cmp"
	"context"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Changes are what drifts in a hospital from Settings.Start on. The zero value changes nothing.
type Changes struct {
	// BaseRate adds to the log-odds of every admission for each 30 days.
	BaseRate float64
	// Shift adds to the log-odds of every admission from ShiftFrom on, as when a ward closes; a zero ShiftFrom is
	// never.
	Shift     float64
	ShiftFrom time.Time
	// Wording is the share of shorthand that each 30 days replace by other words, up to all of it.
	Wording float64
	// Template is when an interface changes: notes of later arrivals come in capitals, under a header that names the
	// complaint. Zero is never.
	Template time.Time
}

// Labels say how outcomes reach the topic of outcomes. The zero value tells the truth as soon as it is decided.
type Labels struct {
	// Delay is the mean time from a decision to its record, exponentially distributed.
	Delay time.Duration
	// Revised is the share of visits whose first outcome is wrong: a third of them is corrected, a third is cancelled
	// and decided again, and a third is cancelled for good. Hours to days pass until then.
	Revised float64
	// BadDay is a day (in UTC) whose visits have the outcome of the next visit, for good. Zero is none.
	BadDay time.Time
}

const (
	day   = 24 * time.Hour
	month = 30 * day
)

// months returns the time from the start in units of 30 days.
func (g *Generator) months(t time.Time) float64 {
	return float64(t.Sub(g.settings.Start)) / float64(month)
}

// policy returns what the time of an arrival adds to the log-odds of an admission.
func (g *Generator) policy(arrival time.Time) float64 {
	c := &g.settings.Changes
	shift := c.BaseRate * g.months(arrival)
	if !c.ShiftFrom.IsZero() && !arrival.Before(c.ShiftFrom) {
		shift += c.Shift
	}
	return shift
}

// random returns the random numbers of note i for a use, each of which has other ones.
func (g *Generator) random(i int, use uint64) *rand.Rand {
	return rand.New(rand.NewPCG(g.settings.Seed+use, (uint64(i)+1)*golden))
}

// Uses of random: forNote is the note itself, the others are what a hospital adds to it.
const (
	forNote    = 0
	forWording = 0x776f7264
	forOutcome = 0x6f757463
)

// newWords are what takes the place of shorthand.
var newWords = strings.NewReplacer(
	" c/o ", " reports ", " w/ ", " with ", " pt ", " patient ", " hx ", " history ", " s/p ", " post ",
	" sob", " short of breath", " abd ", " abdominal ",
	" n/v", " nausea and vomiting", " r ", " right ", " l ", " left ", " yo ", " year old ",
	" denies ", " negative for ", " since ", " onset ", " x ", " for ",
)

// reword returns the text in the words and the form of its time.
func (g *Generator) reword(i int, arrival time.Time, text, complaint string) string {
	c := &g.settings.Changes
	if c.Wording > 0 && g.random(i, forWording).Float64() < c.Wording*g.months(arrival) {
		text = newWords.Replace(text)
	}
	if !c.Template.IsZero() && !arrival.Before(c.Template) {
		text = strings.ToUpper("triage form v2 | chief complaint: " + complaint + " | narrative: " + text)
	}
	return text
}

// Hours from arrival to decision are log-normal: medians and spreads of the admitted and of all others.
const (
	admittedMedian, admittedSpread = 3.4, 0.55
	otherMedian, otherSpread       = 2.4, 0.60
)

// revisedAfter is the mean time from a wrong outcome to its revision.
const revisedAfter = 20 * time.Hour

// Shares of the visits that end in something other than a discharge, among those that are not admitted.
const (
	leaves      = 0.05
	transferred = 0.03
	dies        = 0.005
)

// Outcome is an outcome as it is recorded.
type Outcome struct {
	msg.Outcome
	Visit    int       // number of the note
	Recorded time.Time // as in RecordedAt
}

// Outcomes returns the events of note i, in the order in which they are recorded. The last is the truth, unless it is a
// cancellation, or of Labels.BadDay.
func (g *Generator) Outcomes(i int) []Outcome {
	v := g.visit(i)
	arrived, err := time.Parse(time.RFC3339, v.n.ArrivedAt)
	if err != nil {
		return nil // it was formatted here
	}
	r := g.random(i, forOutcome)
	admitted := v.n.Admitted
	l := &g.settings.Labels
	if !l.BadDay.IsZero() && arrived.Truncate(day).Equal(l.BadDay.UTC().Truncate(day)) {
		admitted = g.At(i + 1).Admitted
	}
	var all []Outcome
	// add adds an event that is known at a time, and recorded some delay later.
	add := func(d msg.Disposition, status msg.OutcomeStatus, decided, known time.Time) {
		recorded := known.Add(time.Duration(r.ExpFloat64() * float64(l.Delay))).Truncate(time.Second)
		if n := len(all); n > 0 && !recorded.After(all[n-1].Recorded) {
			recorded = all[n-1].Recorded.Add(time.Second)
		}
		all = append(all, Outcome{Visit: i, Recorded: recorded, Outcome: msg.Outcome{
			SchemaVersion: msg.SchemaVersion, VisitID: v.n.VisitID, Disposition: d, Status: status,
			DecidedAt: decided.Format(time.RFC3339), RecordedAt: recorded.Format(time.RFC3339),
		}})
	}
	// later returns a time after the last event.
	later := func() time.Time {
		return all[len(all)-1].Recorded.Add(time.Hour + time.Duration(r.ExpFloat64()*float64(revisedAfter)))
	}
	decided := arrived.Add(decision(r, admitted))
	kind := r.Float64()
	switch {
	case kind >= l.Revised:
		add(disposition(r, admitted), msg.Final, decided, decided)
	case kind < l.Revised/3:
		add(disposition(r, !admitted), msg.Final, decided, decided)
		add(disposition(r, admitted), msg.Corrected, decided, later())
	default:
		first := disposition(r, !admitted)
		add(first, msg.Final, decided, decided)
		add(first, msg.Cancelled, decided, later())
		if kind < l.Revised*2/3 {
			again := later()
			add(disposition(r, admitted), msg.Final, again, again)
		}
	}
	return all
}

// decision draws the time from arrival to decision.
func decision(r *rand.Rand, admitted bool) time.Duration {
	median, spread := otherMedian, otherSpread
	if admitted {
		median, spread = admittedMedian, admittedSpread
	}
	return time.Duration(median * math.Exp(spread*r.NormFloat64()) * float64(time.Hour)).Truncate(time.Second)
}

// disposition draws how a visit ends.
func disposition(r *rand.Rand, admitted bool) msg.Disposition {
	u := r.Float64()
	switch {
	case admitted:
		return msg.Admitted
	case u < leaves:
		return msg.Left
	case u < leaves+transferred:
		return msg.Transferred
	case u < leaves+transferred+dies:
		return msg.Died
	}
	return msg.Discharged
}

// Log returns the events of the first n notes in the order in which they are recorded.
func (g *Generator) Log(ctx context.Context, n int) (all []Outcome, err error) {
	for i := range n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all = append(all, g.Outcomes(i)...)
	}
	slices.SortStableFunc(all,
		func(a, b Outcome) int { return cmp.Or(a.Recorded.Compare(b.Recorded), cmp.Compare(a.Visit, b.Visit)) })
	return all, nil
}
