package beds

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"time"
)

// Horizons returns those that are judged against a history, and published.
func Horizons() []time.Duration { return []time.Duration{4 * time.Hour, 8 * time.Hour, 24 * time.Hour} }

// nearHorizon is how much longer or shorter than a judged horizon another one is that is judged by it.
const nearHorizon = time.Hour

// Judge returns the one of Horizons by which h is judged, which is at most an hour from it; h and false without one.
func Judge(h time.Duration) (by time.Duration, judged bool) {
	for _, by := range Horizons() {
		if (h - by).Abs() <= nearHorizon {
			return by, true
		}
	}
	return h, false
}

// What Learn needs before the days that it judges by.
const leastLearned = 28 * 24 * time.Hour

// Learn returns the fit of a history together with how it would have done: it makes the forecasts of the last 70 days
// again, at 8, 14 and 22 h, by what was known on those days, and compares them with what came. Times, wards and rates
// of these forecasts are those learned before the 70 days; their dispersion is fitted anew each week, as far as their
// results were known. The probabilities of the visits should be those of models that had not seen them.
//
// The fit then holds the dispersion and the calibration. With fewer than four weeks before those days it judges fewer
// days, and none with less than four weeks in all. It takes time linear in the days, their visits and the wards. Errors
// as of FitHistory.
func Learn(h *History) (*Fit, error) {
	fit, err := FitHistory(h)
	if err != nil {
		return nil, err
	}
	from := h.AsOf.AddDate(0, 0, -DispersionWindow)
	if earliest := h.From.Add(leastLearned); earliest.After(from) {
		from = earliest
	}
	if !from.Before(h.AsOf) {
		return fit, nil
	}
	r := &rerun{
		history: h, visits: slices.Clone(h.Visits), past: map[time.Duration][]judged{},
		scores: map[string]map[time.Duration][]Scores{},
	}
	slices.SortStableFunc(r.visits, func(a, b Visit) int {
		return cmp.Or(a.Arrived.Compare(b.Arrived), a.Decided.Compare(b.Decided), cmp.Compare(a.P, b.P))
	})
	if err := r.run(from); err != nil {
		return nil, err
	}
	fit.Dispersion, err = r.dispersion(h.AsOf, fit.Sensitivity)
	if err != nil {
		return nil, err
	}
	fit.Calibrations = map[string]map[string]Calibration{}
	for _, ward := range append([]string{All}, fit.Wards.Names...) {
		fit.Calibrations[ward] = map[string]Calibration{}
		for _, horizon := range Horizons() {
			fit.Calibrations[ward][horizon.String()] = Calibrated(r.scores[ward][horizon])
		}
	}
	return fit, nil
}

// rerun makes forecasts of the past again.
type rerun struct {
	history *History
	visits  []Visit // by arrival
	// What came of the forecasts, by time: those of all wards, by horizon, and how good each was, by ward and horizon.
	past   map[time.Duration][]judged
	scores map[string]map[time.Duration][]Scores
}

// judged is a forecast with what came.
type judged struct {
	at time.Time
	Past
}

// clocks are the hours of the wall clock whose forecasts are judged. More would share most of their admissions.
var clocks = []int{8, 14, 22}

func (r *rerun) run(from time.Time) error {
	early := *r.history
	early.AsOf, early.Visits = from, KnownVisits(r.visits, early.From, from)
	fit, err := FitHistory(&early)
	if err != nil {
		return err
	}
	f, err := New(fit)
	if err != nil {
		return err
	}
	for t, week := from.Truncate(slice), from; t.Before(r.history.AsOf); t = t.Add(slice) {
		if !week.After(t) {
			week = t.AddDate(0, 0, 7)
			again := *fit
			if again.Dispersion, err = r.dispersion(t, fit.Sensitivity); err != nil {
				return err
			}
			if f, err = New(&again); err != nil {
				return err
			}
		}
		if local := t.In(f.arrivals.loc); local.Minute() > 0 || !slices.Contains(clocks, local.Hour()) {
			continue
		}
		m := KnownMoment(r.visits, later(r.history.From, t.Add(-Memory)), t, fit)
		for _, horizon := range Horizons() {
			forecasts, err := f.Forecast(m, Options{Horizon: horizon})
			if err != nil {
				return fmt.Errorf("a forecast of the past: %w", err)
			}
			r.judge(forecasts)
		}
	}
	return nil
}

// judge compares the forecasts of a moment and horizon with what came, if the history goes on so long.
func (r *rerun) judge(forecasts []Forecast) {
	t, horizon := forecasts[0].At, forecasts[0].Horizon
	end := t.Add(horizon)
	if end.After(r.history.AsOf) {
		return
	}
	came := r.visits[firstFrom(r.visits, t.Add(-longest)):firstFrom(r.visits, end)]
	for i := range forecasts {
		f := &forecasts[i]
		observed := Observe(came, f.Ward, t, horizon)
		if f.Ward == All {
			r.past[horizon] = append(r.past[horizon], judged{t, Past{Q: f.Q, Mean: f.Mean, Observed: observed}})
		}
		if r.scores[f.Ward] == nil {
			r.scores[f.Ward] = map[time.Duration][]Scores{}
		}
		r.scores[f.Ward][horizon] = append(r.scores[f.Ward][horizon], Score(&f.Total, observed.Total(Options{})))
	}
}

// dispersion fits that of each horizon to the forecasts of the 70 days before t of which all had come by then.
func (r *rerun) dispersion(t time.Time, sensitivity float64) (map[string]Dispersion, error) {
	all := map[string]Dispersion{}
	for _, horizon := range Horizons() {
		var past []Past
		for _, j := range r.past[horizon] {
			if !j.at.Add(horizon).After(t) && t.Sub(j.at) <= DispersionWindow*24*time.Hour {
				past = append(past, j.Past)
			}
		}
		d, err := FitDispersion(past, sensitivity)
		if err != nil {
			return nil, err
		}
		all[horizon.String()] = d
	}
	return all, nil
}

// The medians in hours and spreads of log-normal times to decision that a site without a history is taken to have:
// those of the simulated hospital of the evaluation. Nine in ten are decided within 7 hours if admitted, 5 if not.
const (
	genericAdmitted, genericAdmittedSpread = 3.4, 0.55
	genericOthers, genericOthersSpread     = 2.4, 0.60
	genericVisits                          = 1000 // that weigh in each stratum
)

// Generic returns the fit of a site of which nothing is known: it has times to decision as departments commonly do,
// knows no ward and expects nobody to arrive. The error wraps ErrArgument.
func Generic(zone string) (*Fit, error) {
	f, err := FitHistory(&History{Zone: zone})
	if err != nil {
		return nil, err
	}
	for g := range strata {
		for i := range genericVisits {
			z := math.Sqrt2 * math.Erfinv(2*(float64(i)+.5)/genericVisits-1)
			f.Times.Admitted[g].add(genericAdmitted * math.Exp(genericAdmittedSpread*z))
			f.Times.Others[g].add(genericOthers * math.Exp(genericOthersSpread*z))
		}
	}
	return f, nil
}
