package beds_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/beds"
)

var start = time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC) // a Monday

func hours(h float64) time.Duration { return time.Duration(h * float64(time.Hour)) }

// exponentials is a history of six arrivals an hour for so many days, every third admitted. The times to decision are
// the quantiles of exponentials with means of 4 hours if admitted, of 2 hours if not. Children go to PAED, others to
// MED.
func exponentials(days int) *beds.History {
	h := &beds.History{From: start, AsOf: start.Add(hours(float64(24 * days)))}
	n := 6 * 24 * days
	rank := [2]int{}
	r := rand.New(rand.NewPCG(1, 1))
	// Ranks in random order, so that no time depends on the hour of the day.
	orders := [2][]int{r.Perm(n - n/3), r.Perm(n / 3)}
	for i := range n {
		v := beds.Visit{
			Arrived: start.Add(time.Duration(i) * 10 * time.Minute), P: 1. / 3, Admitted: i%3 == 0,
			Complaint: "Cough", Age: 40,
		}
		group, mean := 0, 2.0
		if v.Admitted {
			group, mean, v.Ward = 1, 4, "MED"
			if i%12 == 0 {
				v.Ward, v.Age = "PAED", 4
			}
		}
		u := (float64(orders[group][rank[group]]) + .5) / float64(len(orders[group]))
		rank[group]++
		v.Decided = v.Arrived.Add(hours(-mean * math.Log(1-u)))
		h.Visits = append(h.Visits, v)
	}
	return h
}

func forecaster(t *testing.T, h *beds.History) *beds.Forecaster {
	t.Helper()
	fit, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	f, err := beds.New(fit)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func forecast(t *testing.T, f *beds.Forecaster, m *beds.Moment, o beds.Options) []beds.Forecast {
	t.Helper()
	forecasts, err := f.Forecast(m, o)
	if err != nil {
		t.Fatal(err)
	}
	return forecasts
}

// TestTimesAgainstClosedForm: for exponential times of rates a and l
//
//	q = p·e^{−aτ}(1−e^{−ah}) / (p·e^{−aτ} + (1−p)·e^{−lτ})
func TestTimesAgainstClosedForm(t *testing.T) {
	t.Parallel()
	h := exponentials(200)
	f := forecaster(t, h)
	m := &beds.Moment{At: h.AsOf}
	waited := []float64{0, .5, 2, 5, 9}
	for _, w := range waited {
		m.Waiting = append(m.Waiting, beds.Patient{Arrived: m.At.Add(-hours(w)), P: .4, Complaint: "Cough", Age: 30})
	}
	for _, horizon := range []float64{1, 8, 24} {
		got := forecast(t, f, m, beds.Options{Horizon: hours(horizon), WithoutComing: true})[0]
		for i, w := range waited {
			a, l := .4*math.Exp(-w/4), .6*math.Exp(-w/2)
			want := a * -math.Expm1(-horizon/4) / (a + l)
			if math.Abs(got.Q[i]-want) > .012 {
				t.Errorf("waited %v h, horizon %v h: got %.4f, want %.4f", w, horizon, got.Q[i], want)
			}
		}
	}
	got := forecast(t, f, m, beds.Options{Horizon: 72 * time.Hour})[0]
	if math.Abs(got.Q[0]-.4) > 1e-12 {
		t.Errorf("just arrived, no limit: got %v, want the probability at triage", got.Q[0])
	}
}

func TestWaitedLongerThanAnybody(t *testing.T) {
	t.Parallel()
	h := exponentials(30)
	m := &beds.Moment{At: h.AsOf, Waiting: []beds.Patient{{Arrived: h.AsOf.Add(-80 * time.Hour), P: .4}}}
	got := forecast(t, forecaster(t, h), m, beds.Options{Horizon: 8 * time.Hour, WithoutComing: true})[0]
	if want := .4 * (1 - math.Exp(-8./6)); got.Guessed != 1 || math.Abs(got.Q[0]-want) > 1e-12 {
		t.Errorf("guessed %d as %v, want %v", got.Guessed, got.Q[0], want)
	}
}

// TestNoHistory: times are exponential with a mean of six hours, there are no wards and no arrivals.
func TestNoHistory(t *testing.T) {
	t.Parallel()
	f := forecaster(t, &beds.History{From: start, AsOf: start})
	m := &beds.Moment{At: start, Since: start, Waiting: []beds.Patient{
		{Arrived: start.Add(-3 * time.Hour), P: .4, Age: -1}, {Arrived: start.Add(time.Minute), P: .9, Age: -1},
	}}
	got := forecast(t, f, m, beds.Options{Horizon: 8 * time.Hour})
	if len(got) != 1 || got[0].Ward != beds.All || got[0].Patients != 2 || got[0].Mean != 0 || got[0].UsualKnown {
		t.Fatalf("got %+v", got)
	}
	for i, p := range []float64{.4, .9} {
		if want := p * (1 - math.Exp(-8./6)); math.Abs(got[0].Q[i]-want) > 1e-4 {
			t.Errorf("patient %d: %v, want %v", i, got[0].Q[i], want)
		}
	}
	if p, known := f.Fit().BaseRate("Cough"); known {
		t.Errorf("a base rate of %v", p)
	}
	if f.Fit().Patience() != 24*time.Hour {
		t.Errorf("patience %v", f.Fit().Patience())
	}
}

// TestComingAgainstClosedForm: λ arrivals an hour, a third admitted after exponential times of rate a:
//
//	μ = λ/3·∫₀ʰ (1−e^{−a(h−s)}) ds = λ/3·(h − (1−e^{−ah})/a)
func TestComingAgainstClosedForm(t *testing.T) {
	t.Parallel()
	h := exponentials(200)
	f := forecaster(t, h)
	for _, horizon := range []float64{.4, 4, 8, 24} {
		m := &beds.Moment{At: h.AsOf.Add(7 * time.Minute), Since: h.AsOf.Add(7 * time.Minute)}
		got := forecast(t, f, m, beds.Options{Horizon: hours(horizon), WithoutWaiting: true})
		want := 2 * (horizon + 4*math.Expm1(-horizon/4))
		if math.Abs(got[0].Mean/want-1) > .03 {
			t.Errorf("%v h: got %.3f, want %.3f", horizon, got[0].Mean, want)
		}
		if sum := got[1].Mean + got[2].Mean; math.Abs(sum-got[0].Mean) > 1e-9 || got[1].Mean < 2*got[2].Mean {
			t.Errorf("%v h: wards %v and %v of %v", horizon, got[1].Mean, got[2].Mean, got[0].Mean)
		}
		if d := got[0].Total; math.Abs(d.Mean()-got[0].Mean) > 1e-9 {
			t.Errorf("%v h: distribution with mean %v", horizon, d.Mean())
		}
	}
}

// TestLevelFollowsArrivals: half as many again in the last month show in what is expected.
func TestLevelFollowsArrivals(t *testing.T) {
	t.Parallel()
	h := exponentials(100)
	f := forecaster(t, h)
	m := &beds.Moment{At: h.AsOf, Since: h.AsOf.Add(-28 * 24 * time.Hour)}
	mean := func(every time.Duration) float64 {
		m.Past = nil
		for at := m.Since; at.Before(m.At); at = at.Add(every) {
			m.Past = append(m.Past, beds.Visit{Arrived: at, P: 1. / 3})
		}
		return forecast(t, f, m, beds.Options{Horizon: 8 * time.Hour})[0].Mean
	}
	if got := mean(400*time.Second) / mean(600*time.Second); math.Abs(got-1.5) > .01 {
		t.Errorf("level %v, want 1.5", got)
	}
}

// TestDriftMaximisesItsLikelihood compares with a search over a grid.
func TestDriftMaximisesItsLikelihood(t *testing.T) {
	t.Parallel()
	h := exponentials(10)
	f := forecaster(t, h)
	m := &beds.Moment{At: start.Add(40 * 24 * time.Hour)}
	r := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		age, p := r.Float64()*40*24, .02+.9*r.Float64()
		v := beds.Visit{Arrived: m.At.Add(-hours(age)), P: p, Admitted: r.Float64() < 1/(1+(1-p)/p*math.Exp(-.4))}
		if r.Float64() < .9 {
			v.Decided = v.Arrived.Add(time.Hour)
		}
		m.Past = append(m.Past, v)
	}
	best, at := math.Inf(-1), 0.0
	for delta := -1.; delta < 1; delta += .004 {
		x := -delta * delta / (2 * .15 * .15)
		for _, v := range m.Past {
			age := m.At.Sub(v.Arrived).Hours() / 24
			if v.Decided.IsZero() || age < 1 || age > 29 {
				continue
			}
			p := 1 / (1 + (1-v.P)/v.P*math.Exp(-delta))
			if !v.Admitted {
				p = 1 - p
			}
			x += math.Exp2(-age/10) * math.Log(p)
		}
		if x > best {
			best, at = x, delta
		}
	}
	got := forecast(t, f, m, beds.Options{Horizon: time.Hour})[0].Delta
	if math.Abs(got-at) > .004 || at < .2 {
		t.Errorf("got %v, the grid's best is %v", got, at)
	}
}

func TestWards(t *testing.T) {
	t.Parallel()
	h := exponentials(60)
	f := forecaster(t, h)
	m := &beds.Moment{At: h.AsOf}
	own := []beds.WardShare{{Ward: "PAED", Share: .1}, {Ward: "MED", Share: .3}, {Ward: "closed", Share: .6}}
	for _, p := range []beds.Patient{{
		Age: 4, Complaint: "Cough",
	}, {Age: 70, Complaint: "Cough"}, {Age: 40, Complaint: "unknown"}, {Age: -1, Wards: own}} {
		p.P, p.Arrived = .5, m.At.Add(-time.Hour)
		m.Waiting = append(m.Waiting, p)
	}
	got := forecast(t, f, m, beds.Options{Horizon: 8 * time.Hour})
	if len(got) != 3 || got[1].Ward != "MED" || got[2].Ward != "PAED" {
		t.Fatalf("forecasts of %d wards", len(got))
	}
	for i, q := range got[0].Q {
		med, paed := got[1].Q[i]/q, got[2].Q[i]/q
		if math.Abs(med+paed-1) > 1e-12 {
			t.Errorf("patient %d: shares %v and %v", i, med, paed)
		}
		want := [][2]float64{{0, .05}, {.7, 1}, {.95, 1}, {.7499, .7501}}[i]
		if med < want[0] || med > want[1] {
			t.Errorf("patient %d: MED %v, want %v", i, med, want)
		}
	}
}

func TestUsual(t *testing.T) {
	t.Parallel()
	h := exponentials(60)
	f := forecaster(t, h)
	m := &beds.Moment{At: h.AsOf, Past: h.Visits, Since: h.From}
	got := forecast(t, f, m, beds.Options{Horizon: 24 * time.Hour})
	if !got[0].UsualKnown || math.Abs(got[0].Usual-48) > 1.5 ||
		math.Abs(got[0].Usual-got[1].Usual-got[2].Usual) > 1e-9 {
		t.Errorf("usual %v, %v and %v; want about 48", got[0].Usual, got[1].Usual, got[2].Usual)
	}
	waiting := forecast(t, f, m, beds.Options{Horizon: 24 * time.Hour, WithoutComing: true})[0].Usual
	coming := forecast(t, f, m, beds.Options{Horizon: 24 * time.Hour, WithoutWaiting: true})[0].Usual
	if math.Abs(waiting+coming-got[0].Usual) > 1e-9 || waiting < 5 || waiting > 11 {
		t.Errorf("usually %v of those waiting and %v of the coming", waiting, coming)
	}
	// Of those who waited a day before the window, hardly anybody is left.
	later := beds.Options{Horizon: 24 * time.Hour, Lead: 24 * time.Hour, WithoutComing: true}
	if left := forecast(t, f, m, later)[0].Usual; left > .5 {
		t.Errorf("usually %v of those who waited a day before", left)
	}
	for i := range m.Past {
		m.Past[i].Decided, m.Past[i].Admitted = time.Time{}, false
	}
	if got := forecast(t, f, m, beds.Options{Horizon: 24 * time.Hour}); got[0].UsualKnown {
		t.Errorf("usual %v without an outcome", got[0].Usual)
	}
}

// TestWallClock: in London the night's arrivals stay at their hour when the clock changes, and days are counted by it.
func TestWallClock(t *testing.T) {
	t.Parallel()
	h := &beds.History{
		From: time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
		AsOf: time.Date(2026, 5, 31, 23, 0, 0, 0, time.UTC), Zone: "Europe/London",
	}
	loc, err := time.LoadLocation(h.Zone)
	if err != nil {
		t.Fatal(err)
	}
	for day := time.Date(2026, 2, 1, 3, 20, 0, 0, loc); day.Before(h.AsOf); day = day.AddDate(0, 0, 1) {
		h.Visits = append(h.Visits, beds.Visit{Arrived: day, Decided: day.Add(time.Hour), Admitted: true, P: .5})
	}
	fit, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	for d, hourly := range fit.Rates.Arrivals {
		for hour, n := range hourly {
			if (n > 0) != (hour == 3) {
				t.Errorf("weekday %d, %d h: %d arrivals", d, hour, n)
			}
		}
	}
	if got := fit.Rates.Slices[time.Sunday][1]; got != 4*17 { // an hour that 29 March does not have
		t.Errorf("%d slices of Sundays at 1 h", got)
	}
}

// TestHolidays: they do not enter the rates, and their factor is pulled towards 1.
func TestHolidays(t *testing.T) {
	t.Parallel()
	h := exponentials(28)
	h.Holidays = []string{"2026-01-14", "2026-02-02"}
	kept := h.Visits[:0]
	for i, v := range h.Visits {
		if v.Arrived.Format(time.DateOnly) != h.Holidays[0] || i%2 == 0 {
			kept = append(kept, v)
		}
	}
	h.Visits = kept
	f := forecaster(t, h)
	if got, want := f.Fit().Rates.Holiday, (8+.5)/9; math.Abs(got-want) > 1e-3 {
		t.Errorf("factor %v, want %v", got, want)
	}
	mean := func(at time.Time) float64 {
		return forecast(t, f, &beds.Moment{At: at, Since: at}, beds.Options{Horizon: 8 * time.Hour})[0].Mean
	}
	day := time.Date(2026, 2, 2, 8, 0, 0, 0, time.UTC)
	if got := mean(day) / mean(day.AddDate(0, 0, 7)); math.Abs(got-(8+.5)/9) > 1e-3 {
		t.Errorf("a holiday has %v of a usual day", got)
	}
}

// TestFitIsPlainData: read back from JSON it gives the same forecasts to the last bit, whatever the order of its
// visits.
func TestFitIsPlainData(t *testing.T) {
	t.Parallel()
	h := exponentials(40)
	h.Zone, h.Holidays = "America/New_York", []string{"2026-01-19"}
	fit, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	rand.New(rand.NewPCG(5, 6)).Shuffle(len(h.Visits),
		func(i, j int) { h.Visits[i], h.Visits[j] = h.Visits[j], h.Visits[i] })
	shuffled, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	data, err := json.Marshal(fit)
	if err != nil {
		t.Fatal(err)
	}
	again, err := json.Marshal(shuffled)
	if err != nil || string(again) != string(data) {
		t.Errorf("another order gives another fit: %v", err)
	}
	var read beds.Fit
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	m := &beds.Moment{
		At: h.AsOf, Waiting: []beds.Patient{{Arrived: h.AsOf.Add(-time.Hour), P: .3, Complaint: "Cough", Age: 50}},
	}
	want := forecast(t, forecaster(t, h), m, beds.Options{Horizon: 8 * time.Hour})
	f, err := beds.New(&read)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(want, forecast(t, f, m, beds.Options{Horizon: 8 * time.Hour}),
		cmp.AllowUnexported(beds.Distribution{})); d != "" {
		t.Error(d)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	f := forecaster(t, exponentials(10))
	for name, c := range map[string]struct {
		err  error
		want error
	}{
		"zone":             {refusal(beds.FitHistory(&beds.History{Zone: "Mars/Olympus"})), beds.ErrArgument},
		"holiday":          {refusal(beds.FitHistory(&beds.History{Holidays: []string{"Easter"}})), beds.ErrArgument},
		"end before begin": {refusal(beds.FitHistory(&beds.History{From: start})), beds.ErrArgument},
		"probability": {
			refusal(beds.FitHistory(&beds.History{Visits: []beds.Visit{{P: math.NaN()}}})), beds.ErrProbability,
		},
		"no horizon": {refusal(f.Forecast(&beds.Moment{}, beds.Options{})), beds.ErrArgument},
		"nothing": {
			refusal(f.Forecast(&beds.Moment{}, beds.Options{Horizon: 1, WithoutComing: true, WithoutWaiting: true})),
			beds.ErrArgument,
		},
		"a patient": {
			refusal(f.Forecast(&beds.Moment{Waiting: []beds.Patient{{P: 2}}}, beds.Options{Horizon: 1})),
			beds.ErrProbability,
		},
		"an empty fit": {refusal(beds.New(&beds.Fit{})), beds.ErrArgument},
	} {
		if !errors.Is(c.err, c.want) {
			t.Errorf("%s: got %v, want %v", name, c.err, c.want)
		}
	}
}

// TestDamagedFits: what was read from a file that somebody changed is refused, or gives forecasts.
func TestDamagedFits(t *testing.T) {
	t.Parallel()
	h := exponentials(10)
	for name, damage := range map[string]func(*beds.Fit){
		"wards":      func(f *beds.Fit) { f.Wards.Names = append(f.Wards.Names, "A") },
		"shares":     func(f *beds.Fit) { f.Wards.Admitted["Cough"][1][0] = -1 },
		"times":      func(f *beds.Fit) { f.Times.Others[0] = make(beds.Counts, 2000) },
		"bands":      func(f *beds.Fit) { f.Rates.Bands[2].Admitted = nil },
		"arrivals":   func(f *beds.Fit) { f.Rates.Arrivals[2][3] = -9 },
		"dispersion": func(f *beds.Fit) { f.Dispersion = map[string]beds.Dispersion{"8h0m0s": {Sigma: -1}} },
		"patience":   func(f *beds.Fit) { f.PatienceHours = math.NaN() },
		"base":       func(f *beds.Fit) { f.Base["Cough"] = 2 },
		"overall":    func(f *beds.Fit) { f.Overall = -1 },
		"zone":       func(f *beds.Fit) { f.Zone = "nowhere" },
	} {
		fit, err := beds.FitHistory(h)
		if err != nil {
			t.Fatal(err)
		}
		damage(fit)
		if _, err := beds.New(fit); !errors.Is(err, beds.ErrArgument) && !errors.Is(err, beds.ErrProbability) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func refusal[T any](_ T, err error) error { return err }

// TestTimesAreOfClosedCohorts: among visits of the last 72 hours only the short ones are decided; they are left out.
func TestTimesAreOfClosedCohorts(t *testing.T) {
	t.Parallel()
	h := exponentials(30)
	before, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 500 {
		arrived := h.AsOf.Add(-time.Duration(i) * time.Minute)
		h.Visits = append(h.Visits,
			beds.Visit{Arrived: arrived, Decided: arrived.Add(time.Minute), P: .9, Complaint: "Cough", Age: 40})
		// Nor those who never had an outcome, or came before the history is complete.
		h.Visits = append(h.Visits, beds.Visit{Arrived: arrived.Add(-200 * time.Hour), P: .9},
			beds.Visit{Arrived: start.Add(-time.Hour), Decided: start, P: .1})
	}
	after, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(before.Times, after.Times); d != "" || before.Visits != after.Visits {
		t.Errorf("%d and %d visits: %s", before.Visits, after.Visits, d)
	}
}

// TestObserve: the window is open at its beginning and closed at its end, and those who arrive at t wait.
func TestObserve(t *testing.T) {
	t.Parallel()
	at := start.Add(100 * time.Hour)
	visit := func(arrived, decided float64, ward string) beds.Visit {
		return beds.Visit{
			Arrived: at.Add(hours(arrived)), Decided: at.Add(hours(decided)), Admitted: ward != "", Ward: ward,
		}
	}
	visits := []beds.Visit{
		visit(-1, 0, "MED"), visit(-1, .1, "MED"), visit(0, 8, "MED"), visit(.1, 8, "SURG"), visit(1, 8.1, "MED"),
		visit(-2, 3, ""),
		{Arrived: at.Add(-time.Hour)},
	}
	for ward, want := range map[string]beds.Count{
		beds.All: {Waiting: 2, Coming: 1}, "MED": {Waiting: 2}, "SURG": {Coming: 1}, "ICU": {},
	} {
		if got := beds.Observe(visits, ward, at, 8*time.Hour); got != want {
			t.Errorf("%s: got %+v, want %+v", ward, got, want)
		}
	}
}
