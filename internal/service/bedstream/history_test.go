package bedstream_test

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// TestHistory: each point of the past has what was forecast then, and what came as it is known now, with late,
// corrected and withdrawn outcomes.
func TestHistory(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fit(60, time.Now())
	const visits, apart = 240, 50 * time.Minute
	now := time.Now()
	admitted := map[int]time.Time{}
	for i := range visits {
		ago := time.Duration(visits-i) * apart
		decided := now.Add(-ago).Add(time.Duration(20+i*7%180) * time.Minute).Truncate(time.Second)
		s.send(early(s.note(i, .4, ago), ago-time.Minute))
		if decided.After(now) {
			continue
		}
		known := now.Sub(decided) - time.Duration(i%5)*20*time.Minute // some are told late
		at := func(o *msg.Outcome) { o.DecidedAt = decided.UTC().Format(time.RFC3339) }
		if i%2 == 0 {
			s.send(early(s.outcome(i, msg.Discharged, at), known))
			continue
		}
		s.send(early(s.outcome(i, msg.Admitted, at), known))
		switch i % 20 {
		case 3:
			s.send(early(s.outcome(i, msg.Discharged, at), known-time.Second))
		case 5:
			s.send(early(s.outcome(i, msg.Admitted, func(o *msg.Outcome) { o.Status = msg.Cancelled }),
				known-time.Second))
		default:
			admitted[i] = decided
		}
	}
	r := s.start()
	history := func(ward string) *httpapi.DemandHistory {
		h, err := r.History(t.Context(), &httpapi.HistoryQuery{Ward: ward, Window: 4 * time.Hour, Days: 7})
		if err != nil {
			t.Fatal(err)
		}
		return h
	}
	wards := map[string]int{"MED": 0, "SURG": 1}
	came := func(name string, from time.Time) (n int) { // within four hours
		for visit, decided := range admitted {
			ward, named := wards[name]
			if decided.After(from) && !decided.After(from.Add(4*time.Hour)) && (!named || visit%3 == ward) {
				n++
			}
		}
		return n
	}
	ingesttest.Await(t, "all outcomes", func() bool {
		told, of := 0, 0
		for _, p := range history(beds.All).Points {
			if p.Actual != nil {
				told, of = told+*p.Actual, of+came(beds.All, p.At)
			}
		}
		return told == of && told > 0
	})
	all := history("")
	if n := len(all.Points); n < 3*27 || n > 3*30 {
		t.Errorf("%d points of seven days", n)
	}
	compared, held := 0, 0
	for i, p := range all.Points {
		if i >= 3 && p.At.Sub(all.Points[i-3].At) != 6*time.Hour || p.Window != "4h" {
			t.Errorf("point %d is %+v", i, p)
		}
		if p.At.Add(4 * time.Hour).After(now) {
			continue
		}
		want := came(p.Ward, p.At)
		then := r.all(httpapi.DemandQuery{At: p.At, Window: 4 * time.Hour, Waiting: true, Coming: true, Ward: beds.All})
		switch {
		case p.Actual == nil || *p.Actual != want:
			t.Errorf("%s at %v: %v came, want %d", p.Ward, p.At, p.Actual, want)
		case p.Ward == beds.All && (p.Expected != then.Total.Mean || [2]int{*p.Low, *p.High} != then.Total.Interval80):
			t.Errorf("at %v: %v, %d to %d; forecast was %+v", p.At, p.Expected, *p.Low, *p.High, then.Total)
		}
		if compared++; p.Held() {
			held++
		}
	}
	if all.Compared != compared || all.Held != held || held == 0 {
		t.Errorf("held %d of %d, by the points %d of %d", all.Held, all.Compared, held, compared)
	}
	forecasts, err := r.Forecasts(t.Context(), &httpapi.DemandQuery{
		At: now.Add(-5 * time.Hour), Window: 4 * time.Hour, Waiting: true, Coming: true,
	})
	if err != nil || forecasts[0].Came == nil {
		t.Errorf("a past window: %+v, %v", forecasts, err)
	}
	if open, err := r.Forecasts(t.Context(), &httpapi.DemandQuery{
		At: now.Add(-3 * time.Hour), Window: 4 * time.Hour, Waiting: true, Coming: true,
	}); err != nil || open[0].Came != nil {
		t.Errorf("a window that is not over: %+v, %v", open, err)
	}
	if _, err := r.History(t.Context(),
		&httpapi.HistoryQuery{Ward: "NOWHERE", Window: time.Hour, Days: 1}); err == nil ||
		!errors.As(err, new(*httpapi.QueryError)) {
		t.Errorf("a ward without forecasts: %v", err)
	}
	before := history("MED")
	r.stop()
	r = s.start()
	ingesttest.Await(t, "the same after a restart", func() bool { return cmp.Equal(before, history("MED")) })
}

// TestHistoryWithoutOne: a forecast that expects nobody to come has no range to compare.
func TestHistoryWithoutOne(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.start()
	query := &httpapi.HistoryQuery{Window: 4 * time.Hour, Days: 1}
	if h, err := r.History(t.Context(), query); err != nil || len(h.Points) != 0 {
		t.Errorf("before the first note: %+v, %v", h, err)
	}
	s.send(early(s.note(1, .4, 48*time.Hour), 48*time.Hour), early(s.outcome(1, msg.Admitted), 36*time.Hour))
	var h *httpapi.DemandHistory
	var err error
	ingesttest.Await(t, "a history", func() bool {
		h, err = r.History(t.Context(), query)
		return err != nil || len(h.Points) > 0
	})
	if err != nil || h.Compared != 0 || len(h.Points) == 0 || h.Points[0].Low != nil ||
		r.all(httpapi.DemandQuery{}).BedsVersion != bedstream.GenericVersion {
		t.Errorf("%+v, %v", h, err)
	}
}
