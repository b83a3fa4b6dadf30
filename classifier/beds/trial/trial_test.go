package trial

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/eval"
)

// Trial holds forecasts of beds against a simulated hospital, as they would have been made at the time: what is
// learned, is learned of earlier days.
type Trial struct {
	Hospital Settings
	// FitDays is the day of the fit, TestFrom the first day that counts; zeros mean 331 and 401. The days between give
	// the dispersion its first forecasts.
	FitDays, TestFrom int
	// Forecasts, if not nil, takes each forecast that counts.
	Forecasts func(*Forecast) error
	// Visits, if not nil, takes every visit with its calibrated probability, by arrival.
	Visits func(*Visit, float64) error
}

// The hours of the day of forecasts, besides a random moment, and their horizons.
var (
	clocks   = []int{8, 14, 22}
	horizons = []time.Duration{4 * time.Hour, 8 * time.Hour, 24 * time.Hour}
)

// Components of a forecast.
const (
	Waiting = "waiting"
	Coming  = "coming"
	Total   = "total"
)

// Methods that a trial compares.
const (
	Ours    = "wardcast"
	Average = "same-hour average"
	Naive   = "last week"
	Known   = "true q, known day" // of all patients waiting only
)

// Forecast is one forecast with what came.
type Forecast struct {
	Cell
	Day    int // from the first that counts
	At     time.Time
	Mean   float64
	Y      int
	Scores beds.Scores
}

// Cell names what is compared: a method's forecasts of a component, by ward and horizon.
type Cell struct {
	Method    string
	Component string
	Ward      string
	Horizon   time.Duration
}

// Result holds the scores of a trial.
type Result struct {
	Days   int
	Scores map[Cell][]beds.Scores
	Counts map[Cell][]int
	// CRPS is that of each day's forecasts.
	CRPS map[Cell][][]float64
}

// trial is a trial under way.
type trial struct {
	*Trial
	hospital *Simulation
	visits   []Visit
	past     []beds.Visit // as visits
	counts   map[string]*decisions
	fit      *beds.Fit
	forecast *beds.Forecaster
	archive  map[time.Duration][]archived
	result   *Result
}

// archived is a forecast that the dispersion is fitted to.
type archived struct {
	end  time.Time
	past beds.Past
}

// Run simulates the hospital and makes the forecasts.
func (t *Trial) Run(ctx context.Context) (*Result, error) {
	if t.FitDays == 0 && t.TestFrom == 0 {
		t.FitDays, t.TestFrom = 331, 401
	}
	m, err := New(t.Hospital)
	if err != nil {
		return nil, err
	}
	if t.FitDays < 1 || t.TestFrom < t.FitDays || m.Days() < t.TestFrom+2 {
		return nil, errors.New("simulating a hospital: the days of the fit and of the test do not fit into it")
	}
	w := &trial{
		Trial: t, hospital: m, archive: map[time.Duration][]archived{},
		result: &Result{
			Scores: map[Cell][]beds.Scores{}, Counts: map[Cell][]int{}, CRPS: map[Cell][][]float64{},
			Days: m.Days() - 1 - t.TestFrom,
		},
	}
	if err := w.live(ctx); err != nil {
		return nil, err
	}
	if err := w.learn(); err != nil {
		return nil, err
	}
	r := rand.New(rand.NewPCG(m.settings.Seed, 1))
	for day := t.FitDays; day < m.Days()-1; day++ { // the last day is for the horizon of the one before
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		midnight := m.Start().AddDate(0, 0, day)
		if day >= t.TestFrom && (day-t.TestFrom)%7 == 0 {
			if err := w.disperse(midnight); err != nil {
				return nil, err
			}
		}
		minutes := []int{r.IntN(24 * 60)}
		for _, h := range clocks {
			minutes = append(minutes, 60*h)
		}
		slices.Sort(minutes)
		for _, minute := range minutes {
			if err := w.moment(day, midnight.Add(time.Duration(minute)*time.Minute)); err != nil {
				return nil, err
			}
		}
	}
	return w.result, nil
}

// live simulates the visits and calibrates their scores on the days of the fit.
func (w *trial) live(ctx context.Context) error {
	for i := range w.hospital.Days() {
		if err := ctx.Err(); err != nil {
			return err
		}
		for _, v := range w.hospital.Day(i) {
			v.Note.Text = "" // nobody reads it
			w.visits = append(w.visits, v)
		}
	}
	calibrated, err := calibrate(w.visits, w.hospital.Start().AddDate(0, 0, w.FitDays))
	if err != nil {
		return err
	}
	for i := range w.visits {
		v := &w.visits[i]
		past := beds.Visit{
			Arrived: v.Arrived, Decided: v.Decided, Admitted: v.Admitted(), Ward: v.Ward, P: calibrated(v),
			Complaint: v.Note.Complaint, Age: -1,
		}
		if v.Note.Age.Set {
			past.Age = v.Note.Age.Value
		}
		w.past = append(w.past, past)
		if w.Visits != nil {
			if err := w.Visits(v, past.P); err != nil {
				return err
			}
		}
	}
	w.counts = map[string]*decisions{}
	for _, ward := range append(slices.Clone(wards), beds.All) {
		w.counts[ward] = decide(w.past, ward)
	}
	return nil
}

// group is what a model of triage notes reads besides the words.
type group struct {
	complaint string
	child     bool
}

func groupOf(v *Visit) group {
	return group{v.Note.Complaint, v.Note.Age.Set && v.Note.Age.Value < 16}
}

// calibrate returns the calibrated probability of a visit, by the visits decided before the end: for each complaint,
// and apart for its children, since a model that reads both is calibrated for each.
func calibrate(visits []Visit, end time.Time) (func(*Visit) float64, error) {
	y, p := map[group][]bool{}, map[group][]float64{}
	for i := range visits {
		if v := &visits[i]; v.Decided.Before(end) {
			for _, g := range []group{groupOf(v), {}} {
				y[g], p[g] = append(y[g], v.Admitted()), append(p[g], sigmoid(v.Score))
			}
		}
	}
	maps := map[group]*eval.Recalibration{}
	for g := range y {
		m, err := eval.FitRecalibration(y[g], p[g])
		if err != nil {
			return nil, fmt.Errorf("calibrating scores: %w", err)
		}
		if m != nil && m.Slope > 0 {
			maps[g] = m
		}
	}
	if maps[group{}] == nil {
		return nil, errors.New("calibrating scores: too few visits before the fit")
	}
	return func(v *Visit) float64 {
		m := maps[groupOf(v)]
		if m == nil {
			m = maps[group{}]
		}
		return m.Apply(sigmoid(v.Score))
	}, nil
}

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }

// learn fits the history up to the day of the fit.
func (w *trial) learn() (err error) {
	asOf := w.hospital.Start().AddDate(0, 0, w.FitDays)
	h := &beds.History{From: w.hospital.Start(), AsOf: asOf, Holidays: w.hospital.Holidays(), Visits: beds.KnownVisits(
		w.past, w.hospital.Start(), asOf)}
	if w.fit, err = beds.FitHistory(h); err != nil {
		return err
	}
	w.forecast, err = beds.New(w.fit)
	return err
}

// disperse fits the dispersion of each horizon to the forecasts of the last 70 days whose time has passed.
func (w *trial) disperse(now time.Time) (err error) {
	fit := *w.fit
	fit.Dispersion = map[string]beds.Dispersion{}
	for _, h := range horizons {
		var past []beds.Past
		for _, a := range w.archive[h] {
			if !a.end.After(now) && now.Sub(a.end) <= beds.DispersionWindow*24*time.Hour {
				past = append(past, a.past)
			}
		}
		if fit.Dispersion[h.String()], err = beds.FitDispersion(past, fit.Sensitivity); err != nil {
			return err
		}
	}
	w.fit = &fit
	w.forecast, err = beds.New(w.fit)
	return err
}

// moment makes and scores the forecasts of a moment.
func (w *trial) moment(day int, at time.Time) error {
	m := beds.KnownMoment(w.past, at.Add(-beds.Memory), at, w.fit)
	first, _ := slices.BinarySearchFunc(w.past, at.Add(-w.fit.Patience()),
		func(v beds.Visit, t time.Time) int { return v.Arrived.Compare(t) })
	for _, h := range horizons {
		forecasts, err := w.forecast.Forecast(m, beds.Options{Horizon: h})
		if err != nil {
			return err
		}
		for i := range forecasts {
			f := &forecasts[i]
			came := w.counts[f.Ward].count(at, h)
			if f.Ward == beds.All {
				w.archive[h] = append(w.archive[h],
					archived{at.Add(h), beds.Past{Q: f.Q, Mean: f.Mean, Observed: came}})
			}
			if day < w.TestFrom {
				continue
			}
			if err := w.compare(day-w.TestFrom, f, came); err != nil {
				return err
			}
		}
		if day >= w.TestFrom {
			var truth beds.Distribution
			beds.PoissonBinomialTo(&truth, w.truth(first, at, h))
			cell := Cell{Method: Known, Component: Waiting, Ward: beds.All, Horizon: h}
			if err := w.add(
				&Forecast{Cell: cell, Day: day - w.TestFrom, At: at, Y: w.counts[beds.All].count(at, h).Waiting},
				&truth); err != nil {
				return err
			}
		}
	}
	return nil
}

// truth returns the true probabilities of those waiting, among visits from the first on.
func (w *trial) truth(first int, at time.Time, h time.Duration) (q []float64) {
	for i := first; i < len(w.visits) && !w.visits[i].Arrived.After(at); i++ {
		if v := &w.visits[i]; v.Decided.After(at) {
			q = append(q, v.Truth.Q(at.Sub(v.Arrived).Hours(), h.Hours()))
		}
	}
	return q
}

// compare scores our forecast and those without a model.
func (w *trial) compare(day int, f *beds.Forecast, came beds.Count) error {
	var earlier []beds.Count // of the same hours, the latest first
	for d := 1; d <= 7*8; d++ {
		earlier = append(earlier, w.counts[f.Ward].count(f.At.AddDate(0, 0, -d), f.Horizon))
	}
	for _, c := range []struct {
		name    string
		ours    *beds.Distribution
		options beds.Options
	}{
		{Waiting, &f.Waiting, beds.Options{WithoutComing: true}},
		{Coming, &f.Coming, beds.Options{WithoutWaiting: true}},
		{Total, &f.Total, beds.Options{}},
	} {
		history := make([]int, len(earlier))
		for i := range earlier {
			history[i] = earlier[i].Total(c.options)
		}
		average, naive := sameHours(history), lastWeek(history)
		for method, d := range map[string]*beds.Distribution{Ours: c.ours, Average: &average, Naive: &naive} {
			one := &Forecast{
				Cell: Cell{Method: method, Component: c.name, Ward: f.Ward, Horizon: f.Horizon}, Day: day,
				At: f.At, Y: came.Total(c.options),
			}
			if err := w.add(one, d); err != nil {
				return err
			}
		}
	}
	return nil
}

// add scores a forecast and keeps its scores.
func (w *trial) add(f *Forecast, d *beds.Distribution) error {
	f.Scores, f.Mean = beds.Score(d, f.Y), d.Mean()
	r := w.result
	r.Scores[f.Cell] = append(r.Scores[f.Cell], f.Scores)
	r.Counts[f.Cell] = append(r.Counts[f.Cell], f.Y)
	if r.CRPS[f.Cell] == nil {
		r.CRPS[f.Cell] = make([][]float64, r.Days)
	}
	r.CRPS[f.Cell][f.Day] = append(r.CRPS[f.Cell][f.Day], f.Scores.CRPS)
	if w.Forecasts != nil {
		return w.Forecasts(f)
	}
	return nil
}

// decisions are the admissions to a ward, by the time of decision.
type decisions struct {
	decided, arrived []time.Time
}

func decide(visits []beds.Visit, ward string) *decisions {
	var admitted []beds.Visit
	for _, v := range visits {
		if v.Admitted && (ward == beds.All || v.Ward == ward) {
			admitted = append(admitted, v)
		}
	}
	slices.SortStableFunc(admitted, func(a, b beds.Visit) int { return a.Decided.Compare(b.Decided) })
	d := &decisions{}
	for _, v := range admitted {
		d.decided, d.arrived = append(d.decided, v.Decided), append(d.arrived, v.Arrived)
	}
	return d
}

// count returns what beds.Observe does, in less time.
func (d *decisions) count(t time.Time, h time.Duration) (c beds.Count) {
	after := func(t time.Time) int {
		i, _ := slices.BinarySearchFunc(d.decided, t, func(a, b time.Time) int {
			if a.After(b) {
				return 1
			}
			return -1
		})
		return i
	}
	for _, arrived := range d.arrived[after(t):after(t.Add(h))] {
		if arrived.After(t) {
			c.Coming++
		} else {
			c.Waiting++
		}
	}
	return c
}

// TestTrial: on a small hospital forecasts are better than the average of the same hours and have no large bias, and
// those that know the truth are better still.
func TestTrial(t *testing.T) {
	t.Parallel()
	var y []bool
	var p []float64
	trial := Trial{
		Hospital: Settings{Seed: 2, Days: 150, PerDay: 80}, FitDays: 90, TestFrom: 110,
		Visits: func(v *Visit, calibrated float64) error {
			y, p = append(y, v.Admitted()), append(p, calibrated)
			return nil
		},
	}
	result, err := trial.Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	quality, err := eval.Measure(y, p, .5, nil)
	if err != nil || *quality.AUROC < .78 || *quality.AUROC > .82 || math.Abs(*quality.CalibrationSlope-1) > .1 {
		t.Errorf("scores: AUROC %v, slope %v, %v", *quality.AUROC, *quality.CalibrationSlope, err)
	}
	measure := func(method string) beds.Measures {
		cell := Cell{Method: method, Component: Waiting, Ward: beds.All, Horizon: 8 * time.Hour}
		if n := len(result.Scores[cell]); n != 4*result.Days {
			t.Fatalf("%d forecasts on %d days", n, result.Days)
		}
		return beds.Measure(result.Scores[cell], result.Counts[cell])
	}
	ours, average, naive, known := measure(Ours), measure(Average), measure(Naive), measure(Known)
	if !(known.CRPS < ours.CRPS && ours.CRPS < average.CRPS && average.CRPS < naive.CRPS) {
		t.Errorf("CRPS %v with the truth, ours %v, average %v, last week %v", known.CRPS, ours.CRPS,
			average.CRPS, naive.CRPS)
	}
	if math.Abs(ours.Bias) > .1*ours.Observed || ours.PITMass < .7 || ours.PITMass > .9 {
		t.Errorf("ours: %+v", ours)
	}
}
