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

// Changes describe how a hospital drifts after Settings.Start. The zero value changes nothing.
type Changes struct {
	BaseRate  float64   `help:"Add this to the log-odds of all admissions every 30 days." default:"0"`
	Shift     float64   `help:"Add this to the log-odds of all admissions from --shift-from on: a ward opens or closes." default:"0"`
	ShiftFrom time.Time `help:"Day from which --shift counts (default: never)." format:"2006-01-02" placeholder:"DATE"`
	Wording   float64   `help:"Share of the shorthand that is replaced by other words every 30 days." default:"0"`
	Template  time.Time `name:"new-template" help:"Day from which notes are in capitals, under a header (default: never)." format:"2006-01-02" placeholder:"DATE"`
}

// Labels describe how outcomes are recorded. The zero value records the truth without delay. The delay is exponentially
// distributed. Of the revised outcomes a third is corrected, a third cancelled and decided again, and a third cancelled
// for good, hours to days later. The outcomes of a bad day stay wrong.
type Labels struct {
	Delay   time.Duration `name:"label-delay" help:"Mean time from a decision to the record of its outcome." default:"0s"`
	Revised float64       `help:"Share of outcomes that are wrong at first, and later corrected or cancelled." default:"0"`
	BadDay  time.Time     `name:"bad-labels" help:"Day (UTC) whose visits get the outcome of the next visit (default: none)." format:"2006-01-02" placeholder:"DATE"`
}

const (
	day   = 24 * time.Hour
	month = 30 * day
)

// months returns the time since the start in units of 30 days.
func (g *Generator) months(t time.Time) float64 {
	return float64(t.Sub(g.settings.Start)) / float64(month)
}

// policy returns the change of the log-odds of an admission at this time.
func (g *Generator) policy(arrival time.Time) float64 {
	c := &g.settings.Changes
	shift := c.BaseRate * g.months(arrival)
	if !c.ShiftFrom.IsZero() && !arrival.Before(c.ShiftFrom) {
		shift += c.Shift
	}
	return shift
}

// random returns the random numbers of note i for one use; they differ between uses.
func (g *Generator) random(i int, use uint64) *rand.Rand {
	return rand.New(rand.NewPCG(g.settings.Seed+use, (uint64(i)+1)*golden))
}

// Uses of random: forNote for the note itself, the others for what the hospital adds.
const (
	forNote    = 0
	forWording = 0x776f7264
	forOutcome = 0x6f757463
)

// reword applies the changes of wording and template at the arrival.
func (g *Generator) reword(i int, arrival time.Time, text, complaint string) string {
	c := &g.settings.Changes
	if c.Wording > 0 && g.random(i, forWording).Float64() < c.Wording*g.months(arrival) {
		text = strings.NewReplacer(g.words.Rewordings...).Replace(text)
	}
	if !c.Template.IsZero() && !arrival.Before(c.Template) {
		text = strings.ToUpper("triage form v2 | chief complaint: " + complaint + " | narrative: " + text)
	}
	return text
}

// The hours from arrival to decision are log-normal, with these medians and spreads.
const (
	admittedMedian, admittedSpread = 3.4, 0.55
	otherMedian, otherSpread       = 2.4, 0.60
)

// revisedAfter is the mean time from a wrong outcome to its revision.
const revisedAfter = 20 * time.Hour

// Dispositions of patients who are not admitted, as shares; the others are discharged.
const (
	leaves      = 0.05
	transferred = 0.03
	dies        = 0.005
)

// Outcome is a recorded outcome.
type Outcome struct {
	msg.Outcome
	Visit    int       // number of the note
	Recorded time.Time // as in RecordedAt
}

// Outcomes returns the events of note i in the order of recording. The last one is the truth, except for a cancellation
// and on Labels.BadDay.
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
	// add adds an event that is known at a time and recorded after the delay.
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

// Log returns the events of the first n notes in the order of recording.
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

// childhood is the age below which everybody is admitted to PAED.
const childhood = 16

// Ward draws the ward of an admitted patient, whose note is of a Generator.
func Ward(r *rand.Rand, n *msg.Note) string {
	u := r.Float64()
	if n.Age.Set && n.Age.Value < childhood {
		return "PAED"
	}
	words, _ := readCatalogue() // as the Generator did
	c := slices.IndexFunc(words.Complaints, func(p presentation) bool { return p.Name == n.Complaint })
	for _, w := range words.Complaints[c].Wards {
		if u < w.Share {
			return w.Name
		}
		u -= w.Share
	}
	return "MED"
}
