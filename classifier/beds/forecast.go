package beds

import (
	"fmt"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/ingest/msg"
)

// Moment is all that is known at a time. Its order does not depend on the order in which it became known.
type Moment struct {
	At      time.Time
	Waiting []Patient
	// Past are the visits that arrived within Memory before At, waiting or not, with the outcomes known then.
	Past  []Visit
	Since time.Time // since when Past has all arrivals, and what became of them
	// Abstained counts those waiting without a prediction, TimedOut those who left by Fit.Patience in the last day.
	Abstained, TimedOut int
	// Ahead counts undecided visits that are no arrivals yet: their notes say that they come more than five minutes
	// later.
	Ahead         int
	OutcomesStale bool     // no outcome of a visit with a note came for an hour
	Models        []string // that scored those waiting, name@version, sorted
}

// Memory is how long a Moment looks back: six weeks for what is usual, and a day.
const Memory = usualDays*24*time.Hour + 24*time.Hour

// Options say what is forecast.
type Options struct {
	Horizon time.Duration // above 0; with Lead at most 72 h
	// Lead is how long after the moment the horizon begins: a forecast of (At+Lead, At+Lead+Horizon] of what is known
	// at At. The coming are then all who arrive after At. Not negative.
	Lead                          time.Duration
	WithoutWaiting, WithoutComing bool // leave one of the two out of the total, not both
}

// Forecast is the distribution of the admissions to a ward that are decided within the horizon from At on.
type Forecast struct {
	Ward     string    // All, or a ward
	At       time.Time // when the horizon begins
	Horizon  time.Duration
	Patients int // waiting
	Waiting  Distribution
	Coming   Distribution
	Total    Distribution // of the components asked for
	// Q are the probabilities of admission of those waiting, Mean is the expected number of the coming.
	Q    []float64
	Mean float64
	// Usual is the mean of the same hours over the last six weeks; absent without a week of history.
	Usual               float64
	UsualKnown          bool
	Dispersion          Dispersion
	Delta               float64 // what the log-odds of all are corrected by
	Guessed             int     // counts those waiting longer than anybody in the history
	Abstained, TimedOut int
	OutcomesStale       bool
	Models              []string
}

// MostPatience is the longest Fit.Patience: the end of the grid of times to decision.
const MostPatience = longest

// Forecaster makes forecasts from a fit. It is safe for concurrent use.
type Forecaster struct {
	fit      *Fit
	hazards  *hazards
	wards    *wardShares
	arrivals *arrivals
}

// New returns a forecaster. The fit is not to be modified afterwards. The error wraps ErrArgument.
func New(f *Fit) (*Forecaster, error) {
	loc, err := location(f.Zone)
	if err != nil {
		return nil, err
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	return &Forecaster{
		fit: f, hazards: &hazards{curves(&f.Times.Admitted), curves(&f.Times.Others)}, wards: newWardShares(&f.Wards),
		arrivals: newArrivals(&f.Rates, f.Holidays, loc),
	}, nil
}

// Wards returns the wards that forecasts are made for, apart from All.
func (f *Forecaster) Wards() []string { return slices.Clone(f.fit.Wards.Names) }

// LikeliestWard returns the ward that a patient most probably goes to if admitted, the first by name of several, or ""
// if no wards are known.
func (f *Forecaster) LikeliestWard(p *Patient) string {
	if len(f.wards.names) == 0 {
		return ""
	}
	shares := make([]float64, len(f.wards.names))
	f.wards.to(shares, p)
	return f.wards.names[floats.MaxIdx(shares)]
}

// Fit returns the fit, which is not to be modified.
func (f *Forecaster) Fit() *Fit { return f.fit }

// Forecast returns the forecasts of all wards together, first, and of each ward. The same moment, in the same order,
// gives the same forecasts to the last bit. The error wraps ErrArgument or ErrProbability.
func (f *Forecaster) Forecast(m *Moment, o Options) ([]Forecast, error) {
	if o.Horizon <= 0 || o.Lead < 0 || o.Horizon > longest || o.Lead > longest-o.Horizon || o.WithoutWaiting &&
		o.WithoutComing {
		return nil, fmt.Errorf("%w: horizon %v after %v, or nothing to forecast", ErrArgument, o.Horizon, o.Lead)
	}
	for i := range m.Waiting {
		if p := m.Waiting[i].P; !(p >= 0 && p <= 1) {
			return nil, fmt.Errorf("%w: patient %d of those waiting", ErrProbability, i)
		}
	}
	by, _ := Judge(o.Horizon)
	d, known := f.fit.Dispersion[by.String()]
	if !known {
		d = startDispersion
	}
	delta := drift(m.Past, m.At)
	all, wards, guessed := f.waiting(m, o, delta)
	mean := f.coming(m, o, delta)
	forecasts := make([]Forecast, 0, len(wards)+1)
	usually := usual(m, o, f.arrivals.loc, f.fit.Wards.Names)
	add := func(ward string, q []float64, mean float64) {
		c := Forecast{
			Ward: ward, At: m.At.Add(o.Lead), Horizon: o.Horizon, Patients: len(m.Waiting), Q: q, Mean: mean,
			Dispersion: d, Delta: delta,
			Guessed: guessed, Abstained: m.Abstained, TimedOut: m.TimedOut, OutcomesStale: m.OutcomesStale,
			Models: m.Models,
		}
		c.mix(o, f.fit.Sensitivity)
		if usually != nil {
			c.Usual, c.UsualKnown = usually[len(forecasts)], true
		}
		forecasts = append(forecasts, c)
	}
	add(All, all, mean[len(wards)])
	for w, name := range f.fit.Wards.Names {
		add(name, wards[w], mean[w])
	}
	return forecasts, nil
}

func (c *Forecast) mix(o Options, sensitivity float64) {
	var x mixer
	x.mix(c.Q, c.Mean, sensitivity, c.Dispersion)
	c.Waiting, c.Coming = x.allWaiting, x.allComing
	switch {
	case o.WithoutComing:
		c.Total = c.Waiting
	case o.WithoutWaiting:
		c.Total = c.Coming
	default:
		c.Total = x.all
	}
}

// waiting returns for each patient who waits the probability of admission within the horizon: to any ward, and to each.
func (f *Forecaster) waiting(m *Moment, o Options, delta float64) (all []float64, wards [][]float64, guessed int) {
	all = make([]float64, len(m.Waiting))
	wards = make([][]float64, len(f.fit.Wards.Names))
	for w := range wards {
		wards[w] = make([]float64, len(m.Waiting))
	}
	shares := make([]float64, len(wards))
	for i := range m.Waiting {
		patient := &m.Waiting[i]
		waited := max(0, m.At.Sub(patient.Arrived).Hours())
		stratum := f.fit.Times.stratum(patient.P, patient.Arrived.In(f.arrivals.loc))
		q, guess := f.hazards.admission(shifted(patient.P, delta), stratum, waited,
			window{o.Lead.Hours(), (o.Lead + o.Horizon).Hours()})
		if guess {
			guessed++
		}
		all[i] = q
		f.wards.to(shares, patient)
		for w, share := range shares {
			wards[w][i] = q * share
		}
	}
	return all, wards, guessed
}

// coming returns the expected admissions of those who arrive later, by ward and last for all.
func (f *Forecaster) coming(m *Moment, o Options, delta float64) []float64 {
	mean := make([]float64, len(f.fit.Wards.Names)+1)
	f.arrivals.comingTo(mean, m.At, o.Lead+o.Horizon)
	if o.Lead > 0 {
		early := make([]float64, len(mean))
		f.arrivals.comingTo(early, m.At, o.Lead)
		for w := range mean {
			mean[w] = max(mean[w]-early[w], 0)
		}
	}
	factor := f.arrivals.level(m) * math.Exp(f.fit.Sensitivity*delta)
	for w := range mean {
		mean[w] *= factor
	}
	return mean
}

// Envelope is what the message of a forecast says besides the forecast itself.
type Envelope struct {
	Site        string
	Beds        []int // the numbers n for which P(more than n) is published
	Calibration Calibration
	BedsVersion string // of the Fit
}

const tailMass = 1e-12 // how much of a distribution its message leaves out

// Message returns the forecast as a message, whose figures are those of the probabilities it holds.
func (c *Forecast) Message(e *Envelope) msg.BedDemand {
	pmf, tail := c.Total.Trim(tailMass)
	b := msg.BedDemand{
		SchemaVersion: msg.SchemaVersion, Site: e.Site, Ward: c.Ward, AsOf: c.At.UTC().Format(msg.TimeFormat),
		HorizonHours: c.Horizon.Hours(),
		Waiting:      msg.DemandWaiting{Patients: c.Patients, Mean: c.Waiting.Mean()},
		Coming:       msg.DemandComing{Mean: c.Coming.Mean()},
		Total: msg.DemandTotal{
			Mean: pmf.Mean(), Median: pmf.Quantile(0.5),
			Interval80: [2]int{pmf.Quantile(low80), pmf.Quantile(high80)},
			Interval95: [2]int{pmf.Quantile(0.025), pmf.Quantile(0.975)},
			PMF:        msg.PMF{Offset: pmf.Offset, P: slices.Clone(pmf.P)}, Tail: tail,
		},
		Exceed: []msg.DemandAbove{}, Abstained: c.Abstained, TimedOut: c.TimedOut, OutcomesStale: c.OutcomesStale,
		Calibrated: e.Calibration.Calibrated,
		Coverage80: msg.DemandCoverage{N: e.Calibration.N, Share: e.Calibration.Coverage80},
		Sigma:      c.Dispersion.Sigma, K: c.Dispersion.K, Delta: c.Delta, Models: slices.Clone(c.Models),
		BedsVersion: e.BedsVersion,
	}
	for _, n := range e.Beds {
		b.Exceed = append(b.Exceed, msg.DemandAbove{Beds: n, Probability: min(pmf.Exceed(n), 1)})
	}
	if c.UsualKnown {
		b.UsualMean = msg.Some(c.Usual)
	}
	return b
}
