package beds

import (
	"math/rand/v2"
	"testing"
	"time"
)

// TestJudged: each forecast is compared with what came in the whole history, once all of that is known.
func TestJudged(t *testing.T) {
	t.Parallel()
	h := &History{From: time.Date(2026, 1, 5, 0, 0, 0, 0, time.UTC), AsOf: time.Date(2026, 2, 12, 10, 0,
		0, 0, time.UTC)}
	r := rand.New(rand.NewPCG(5, 6))
	after := func(t time.Time, hours float64) time.Time { return t.Add(time.Duration(hours * float64(time.Hour))) }
	for at := h.From; at.Before(h.AsOf); at = after(at, r.ExpFloat64()/2) {
		v := Visit{Arrived: at, Decided: after(at, 3*r.ExpFloat64()), P: .4, Admitted: r.Float64() < .4}
		if v.Admitted {
			v.Ward = "MED"
		}
		h.Visits = append(h.Visits, v)
	}
	run := &rerun{
		history: h, visits: h.Visits, past: map[time.Duration][]judged{},
		scores: map[string]map[time.Duration][]Scores{},
	}
	if err := run.run(h.From.Add(leastLearned)); err != nil {
		t.Fatal(err)
	}
	for _, horizon := range Horizons() {
		// of ten days, the first 2 February
		want := map[time.Duration]int{4 * time.Hour: 30, 8 * time.Hour: 30, 24 * time.Hour: 28}[horizon]
		if n := len(run.past[horizon]); n != want || len(run.scores[All][horizon]) != n ||
			len(run.scores["MED"][horizon]) != n {
			t.Errorf("%v: %d forecasts, want %d", horizon, n, want)
		}
		for _, j := range run.past[horizon] {
			if came := Observe(h.Visits, All, j.at, horizon); j.Observed != came || j.at.Add(horizon).After(h.AsOf) {
				t.Errorf("%v for %v: %+v, want %+v", j.at, horizon, j.Observed, came)
			}
		}
	}
}
