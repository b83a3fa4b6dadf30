package beds_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/beds"
)

// TestLearn: forecasts of a history that goes on as it was are calibrated as soon as there are 200 of them, and the fit
// survives its JSON.
func TestLearn(t *testing.T) {
	t.Parallel()
	h := exponentials(98)
	fit, err := beds.Learn(h)
	if err != nil {
		t.Fatal(err)
	}
	plain, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(plain.Times, fit.Times); d != "" {
		t.Error("the times are not those of the whole history", d)
	}
	for _, horizon := range beds.Horizons() {
		if _, known := fit.Dispersion[horizon.String()]; !known {
			t.Errorf("no dispersion for %v", horizon)
		}
		for _, ward := range []string{beds.All, "MED", "PAED"} {
			c := fit.Calibration(ward, horizon)
			if c.N != 200 || c.Coverage80 < .7 {
				t.Errorf("%s, %v: %+v", ward, horizon, c)
			}
		}
	}
	if c := fit.Calibration("MED", time.Hour); c != (beds.Calibration{}) {
		t.Errorf("one hour was not judged: %+v", c)
	}
	data, err := json.Marshal(fit)
	if err != nil {
		t.Fatal(err)
	}
	var read beds.Fit
	if err := json.Unmarshal(data, &read); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(fit, &read); d != "" {
		t.Error(d)
	}
}

// TestLearnByTheWallClock: forecasts of 8, 14 and 22 h are judged in every zone, those off the full hour among them.
func TestLearnByTheWallClock(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"America/New_York", "Asia/Kolkata", "Asia/Kathmandu"} {
		h := exponentials(35)
		h.Zone = zone
		fit, err := beds.Learn(h)
		if err != nil {
			t.Fatal(err)
		}
		if n := fit.Calibration(beds.All, 4*time.Hour).N; n < 3*6 || n > 3*7 {
			t.Errorf("%q: %d forecasts of 7 days were judged", zone, n)
		}
	}
}

// TestLearnOfLittle judges nothing, and says so.
func TestLearnOfLittle(t *testing.T) {
	t.Parallel()
	fit, err := beds.Learn(exponentials(20))
	if err != nil || fit.Calibrations != nil || fit.Visits == 0 {
		t.Errorf("%+v, %v", fit, err)
	}
	if _, err := beds.Learn(&beds.History{Zone: "Nowhere/Else"}); !errors.Is(err, beds.ErrArgument) {
		t.Error(err)
	}
}

// TestGeneric: without a history the times are as stated, and nobody is expected.
func TestGeneric(t *testing.T) {
	t.Parallel()
	fit, err := beds.Generic("Europe/London")
	if err != nil {
		t.Fatal(err)
	}
	f, err := beds.New(fit)
	if err != nil {
		t.Fatal(err)
	}
	m := &beds.Moment{At: start, Waiting: []beds.Patient{{Arrived: start, P: .5, Age: -1}}}
	got := forecast(t, f, m, beds.Options{Horizon: hours(3.4)})
	if len(got) != 1 || math.Abs(got[0].Q[0]-.25) > .01 || got[0].Coming.Mean() != 0 {
		t.Errorf("half of the admitted are decided after 3.4 hours: %+v", got)
	}
	if _, err := beds.Generic("Nowhere/Else"); !errors.Is(err, beds.ErrArgument) {
		t.Error(err)
	}
}

// TestLead: windows one after another add up to the whole, for those who wait and for those to come.
func TestLead(t *testing.T) {
	t.Parallel()
	h := exponentials(60)
	f := forecaster(t, h)
	m := &beds.Moment{At: h.AsOf.Add(9 * time.Hour), Past: h.Visits, Since: h.From}
	for _, waited := range []float64{0, 1.5, 6} {
		m.Waiting = append(m.Waiting,
			beds.Patient{Arrived: m.At.Add(-hours(waited)), P: .4, Complaint: "Cough", Age: 30})
	}
	whole := forecast(t, f, m, beds.Options{Horizon: 12 * time.Hour})
	first := forecast(t, f, m, beds.Options{Horizon: 5 * time.Hour})
	rest := forecast(t, f, m, beds.Options{Horizon: 7 * time.Hour, Lead: 5 * time.Hour})
	for w := range whole {
		if !rest[w].At.Equal(m.At.Add(5 * time.Hour)) {
			t.Errorf("the window begins at %v", rest[w].At)
		}
		for i := range whole[w].Q {
			if got := first[w].Q[i] + rest[w].Q[i]; math.Abs(got-whole[w].Q[i]) > 1e-12 {
				t.Errorf("%s, patient %d: %v, want %v", whole[w].Ward, i, got, whole[w].Q[i])
			}
		}
		if got := first[w].Mean + rest[w].Mean; math.Abs(got-whole[w].Mean) > 1e-12 {
			t.Errorf("%s, coming: %v, want %v", whole[w].Ward, got, whole[w].Mean)
		}
	}
	for _, o := range []beds.Options{{Horizon: time.Hour, Lead: -1}, {Horizon: time.Hour, Lead: 72 * time.Hour}, {
		Horizon: time.Hour, Lead: math.MaxInt64,
	}} {
		if _, err := f.Forecast(m, o); !errors.Is(err, beds.ErrArgument) {
			t.Errorf("%+v: %v", o, err)
		}
	}
}

// TestManyWards: of more than a hundred wards the most frequent are kept, and the admissions of the others still count
// for all.
func TestManyWards(t *testing.T) {
	t.Parallel()
	h := exponentials(60)
	admitted := 0
	for i := range h.Visits {
		if v := &h.Visits[i]; v.Admitted {
			if v.Ward = "MED"; admitted%3 == 0 {
				v.Ward = fmt.Sprintf("W%03d", admitted%300)
			}
			admitted++
		}
	}
	before := slices.Clone(h.Visits)
	fit, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	if _, kept := slices.BinarySearch(fit.Wards.Names, "MED"); len(fit.Wards.Names) != 100 || !kept {
		t.Errorf("%d wards: %v", len(fit.Wards.Names), fit.Wards.Names)
	}
	if d := cmp.Diff(before, h.Visits); d != "" {
		t.Error("the history was changed")
	}
}

// TestLearnOfMissingOutcomes: patients whose outcome never comes are forecast in vain, which the judgement shows.
func TestLearnOfMissingOutcomes(t *testing.T) {
	t.Parallel()
	h := exponentials(45)
	for i := range h.Visits {
		if v := &h.Visits[i]; i%5 == 0 {
			v.Decided, v.Admitted, v.Ward = time.Time{}, false, ""
		}
	}
	fit, err := beds.Learn(h)
	if err != nil {
		t.Fatal(err)
	}
	if c := fit.Calibration(beds.All, 4*time.Hour); c.Calibrated || c.Coverage80 > .6 {
		t.Errorf("a fifth of the outcomes is missing, and forecasts are taken to be right: %+v", c)
	}
}
