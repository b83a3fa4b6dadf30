package bedstream_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/twmb/franz-go/pkg/kgo"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/ingesttest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/bedstream"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// TestWhoWaits: notes, corrected notes, outcomes before and after their note, corrections, repeats and erased messages.
func TestWhoWaits(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.fit(60, time.Now())
	s.send(early(s.outcome(0, msg.Discharged), time.Second)) // before its note
	r := s.start()
	if b := r.all(httpapi.DemandQuery{}); b.Waiting.Patients != 0 || b.Total.Mean <= 0 ||
		b.BedsVersion == bedstream.GenericVersion {
		t.Errorf("nobody waits, some will come: %+v", b)
	}
	abstained := func(p *msg.Prediction) { p.Abstained, p.AbstainReason = true, "few_known_terms" }
	for i := range 10 {
		s.send(s.note(i, .4, time.Hour))
	}
	// corrected, and again
	s.send(s.note(1, .9, time.Hour), s.note(1, .9, time.Hour), s.note(10, .01, time.Minute, abstained))
	r.waits(10)
	if b := r.all(httpapi.DemandQuery{}); b.Abstained != 1 || b.OutcomesStale ||
		!cmp.Equal(b.Models, []string{"_other@v1"}) {
		t.Errorf("%+v", b)
	}
	s.send(s.outcome(2, msg.Admitted), s.outcome(3, msg.Left), s.outcome(3, msg.Left), s.outcome(999, msg.Admitted))
	r.waits(8)
	s.send(s.outcome(2, msg.Admitted, func(o *msg.Outcome) { o.Status = msg.Cancelled }))
	r.waits(9)
	s.send(&kgo.Record{Topic: outcomes, Key: fmt.Append(nil, secret, 3)}) // erased: undecided again
	r.waits(10)
	s.send(&kgo.Record{Topic: predictions, Key: fmt.Append(nil, secret, 4)}) // erased: forgotten
	r.waits(9)
	ingesttest.Await(t, "the metric",
		func() bool { return ingesttest.Metric(t, s.registry, "wardcast_beds_patients_waiting") == 9 })

	// Waiting alone, a ward alone, and the beds that there are.
	got := r.ask(httpapi.DemandQuery{Window: 4 * time.Hour, Waiting: true, Ward: "MED", Beds: map[string]int{"MED": 2}})
	if len(got) != 1 || !strings.Contains(got["MED"], `"exceed":[{"beds":2,"probability":`) ||
		!strings.Contains(got["MED"], `"calibrated":false`) {
		t.Errorf("%v", got)
	}
	for field, q := range map[string]httpapi.DemandQuery{
		"ward":          {Window: time.Hour, Waiting: true, Ward: "NOWHERE"},
		"beds":          {Window: time.Hour, Waiting: true, Beds: map[string]int{"NOWHERE": 1}},
		"at 8 days ago": {Window: time.Hour, Waiting: true, At: time.Now().AddDate(0, 0, -8)},
		"at in 4 days":  {Window: time.Hour, Waiting: true, At: time.Now().AddDate(0, 0, 4)},
		// farther than a Duration reaches
		"at of a year": {Window: time.Hour, Waiting: true, At: time.Date(9999, 1, 1, 0, 0, 0, 0, time.UTC)},
	} {
		_, err := r.Forecasts(t.Context(), &q)
		fault, named := errors.AsType[*httpapi.QueryError](err)
		if !named || strings.Contains(err.Error(), "NOWHERE") ||
			!strings.HasPrefix(field, fault.Field) {
			t.Errorf("%s: %v", field, err)
		}
	}
	// Tomorrow those who wait now are gone, and others have come.
	tomorrow := r.all(
		httpapi.DemandQuery{Window: 8 * time.Hour, Waiting: true, Coming: true, At: s.now().AddDate(0, 0, 1)})
	if tomorrow.Waiting.Mean > .1 || tomorrow.Coming.Mean < 1 {
		t.Errorf("tomorrow: %+v, %+v", tomorrow.Waiting, tomorrow.Coming)
	}
}

// TestSkipped: bad messages are counted and logged without a word of them.
func TestSkipped(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Site = "North"
	r := s.start()
	bad := s.note(1, .4, time.Hour)
	bad.Value = append([]byte(`{"visit_id":"`+secret), bad.Value...)
	unlikely := s.note(2, 1.5, time.Hour)
	undated := s.note(3, .4, time.Hour)
	undated.Timestamp = time.UnixMilli(0)
	elsewhere := func(p *msg.Prediction) { p.Aux = []msg.Aux{{Name: "site", Value: msg.Text("South")}} }
	here := func(p *msg.Prediction) { p.Aux = []msg.Aux{{Name: "site", Value: msg.Text("North")}} }
	s.send(bad, unlikely, undated, s.note(4, .4, time.Hour, elsewhere), s.note(5, .4, time.Hour, here),
		s.note(6, .4, time.Hour),
		&kgo.Record{Topic: outcomes, Key: []byte("k"), Value: []byte(`{"schema_version":"1","visit_id":"` + secret +
			`","disposition":"flown"}`)})
	r.waits(2)
	for reason, n := range map[string]float64{"not_json": 1, "wrong_type": 2, "other_site": 1} {
		ingesttest.Await(t, reason, func() bool {
			return ingesttest.Metric(t, s.registry, "wardcast_beds_skipped_messages_total", reason) == n
		})
	}
	if b := r.all(httpapi.DemandQuery{}); b.Site != "North" || b.BedsVersion != bedstream.GenericVersion {
		t.Errorf("%+v", b)
	}
	ingesttest.Await(t, "a line of each reason",
		func() bool { return strings.Count(s.log.String(), "left out of the bed demand") == 3 })
}

// TestSameBytes: another process that reads the same KafkaTopics forecasts the same for a moment that has passed, with
// a fit of the store and with one of its own.
func TestSameBytes(t *testing.T) {
	t.Parallel()
	for name, days := range map[string]int{"generic": 0, "of the store": 60, "own": 0} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t)
			if days > 0 {
				s.fit(days, time.Now())
			}
			if name == "own" {
				s.past(30)
			}
			r := s.start()
			for i := 5000; i < 5040; i++ {
				s.send(early(s.note(i, float64(i%10)/10, time.Duration(i%200)*time.Minute), 90*time.Minute))
			}
			r.waits(40) // or 30 might wait while a note and an outcome are still to be read
			for i := 5000; i < 5040; i += 4 {
				s.send(early(s.outcome(i, msg.Admitted), time.Duration(i%60)*time.Minute))
			}
			now := s.now()
			var moments []time.Time
			for _, ago := range []time.Duration{10 * time.Minute, 45 * time.Minute, 26 * time.Hour, 6*24*time.Hour +
				20*time.Hour} {
				moments = append(moments, now.Add(-ago).Truncate(time.Second))
			}
			r.waits(30)
			before := map[time.Time]map[string]string{}
			for _, at := range moments {
				before[at] = r.ask(httpapi.DemandQuery{At: at})
			}
			r.stop()
			s.advance(time.Minute)
			again := s.start()
			for _, at := range moments {
				if d := cmp.Diff(before[at], again.ask(httpapi.DemandQuery{At: at})); d != "" {
					t.Errorf("%v: %s", now.Sub(at), d)
				}
			}
			b := again.all(httpapi.DemandQuery{At: moments[0]})
			if name == "own" && (!strings.HasPrefix(b.BedsVersion, bedstream.OwnVersion) ||
				len(before[moments[0]]) != 4 || // all, and three wards
				b.Coming.Mean < 1) {
				t.Errorf("%+v", b)
			}
			if name == "generic" && (b.BedsVersion != bedstream.GenericVersion || b.Calibrated) {
				t.Errorf("%+v", b)
			}
		})
	}
}

// past sends the visits of so many days, one an hour. Nine of the admitted went to a ward of too few patients to be
// named.
func (s *site) past(days int) {
	s.Helper()
	var records []*kgo.Record
	for i := range days * 24 {
		ago := time.Duration(days*24-i) * time.Hour
		note := early(s.note(i, .4, ago), ago-time.Minute)
		decided := ago - 3*time.Hour
		d := msg.Discharged
		if i%3 == 0 {
			d = msg.Admitted
		}
		if decided < 0 {
			continue
		}
		outcome := early(s.outcome(i, d, func(o *msg.Outcome) {
			o.Ward, o.DecidedAt = "", s.now().Add(-decided).UTC().Format(time.RFC3339)
		}), decided)
		if d == msg.Admitted {
			outcome = early(s.outcome(i, d, func(o *msg.Outcome) {
				o.Ward, o.DecidedAt = []string{"MED", "SURG", "CARD"}[i/3%3],
					s.now().Add(-decided).UTC().Format(time.RFC3339)
				if n := i - 12*24; n >= 0 && n < 27 {
					o.Ward = secret
				}
			}), decided)
		}
		records = append(records, note, outcome)
	}
	s.send(records...)
}

// TestPublished: forecasts on the clock and when a mean moves; wards that are gone are erased.
// TestWaitingMetric counts who waits when the metric is read, however rarely forecasts are made.
func TestWaitingMetric(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.LookEvery(time.Hour)
	s.fit(60, time.Now())
	r := s.start()
	metric := func() float64 { return ingesttest.Metric(t, s.registry, "wardcast_beds_patients_waiting") }
	ingesttest.Await(t, "the first forecasts", func() bool {
		return ingesttest.Metric(t, s.registry, "wardcast_beds_forecast_timestamp_seconds") > 0
	})
	for i := range 3 {
		s.send(s.note(i, .5, time.Minute))
	}
	r.waits(3)
	if got := metric(); got != 3 {
		t.Errorf("the metric is %g while 3 wait", got)
	}
	s.send(s.outcome(0, msg.Admitted))
	r.waits(2)
	if got := metric(); got != 2 {
		t.Errorf("the metric is %g while 2 wait", got)
	}
}

func TestPublished(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Beds = map[string]int{"MED": 1}
	gone := msg.BedDemand{
		SchemaVersion: "1", Site: bedstream.AllSites, Ward: "GONE", AsOf: "2026-01-01T00:00:00.000Z", HorizonHours: 8,
	}
	other := gone
	other.Site = "elsewhere"
	for _, b := range []msg.BedDemand{gone, other} {
		s.send(
			&kgo.Record{Topic: output, Key: msg.AppendBedDemandKey(nil, b.Site, b.Ward, 8), Value: b.AppendJSON(nil)})
	}
	s.fit(60, time.Now())
	r := s.start()
	c := ingesttest.Reader(t, []string{s.address}, output)
	latest := map[string]msg.BedDemand{}
	read := func(what string, done func() bool) {
		t.Helper()
		ingesttest.Await(t, what, func() bool {
			c.PollRecords(t.Context(), 100).EachRecord(func(record *kgo.Record) {
				if len(record.Value) == 0 {
					delete(latest, string(record.Key))
					return
				}
				var b msg.BedDemand
				if err := msg.DecodeBedDemand(record.Value, &b); err != nil {
					t.Fatal(err)
				}
				if key := string(msg.AppendBedDemandKey(nil, b.Site, b.Ward, b.HorizonHours)); key !=
					string(record.Key) {
					t.Errorf("%s under %s", key, record.Key)
				}
				latest[string(record.Key)] = b
			})
			return done()
		})
	}
	read("the first forecasts", func() bool { _, there := latest["_all|GONE|8"]; return len(latest) == 10 && !there })
	if b := latest["_all|MED|24"]; len(b.Exceed) != 1 || b.Exceed[0].Beds != 1 ||
		latest["elsewhere|GONE|8"].Ward != "GONE" {
		t.Errorf("%+v", latest)
	}
	at, err := time.Parse(time.RFC3339, latest["_all|MED|8"].AsOf)
	if err != nil || !at.Equal(at.Truncate(5*time.Minute)) {
		t.Errorf("not on the clock: %v, %v", at, err)
	}
	first := maps.Clone(latest)
	for i := range 5 {
		s.send(s.note(i, .8, time.Minute))
	}
	r.waits(5)
	read("the mean has moved",
		func() bool { return latest["_all|_all|8"].Total.Mean > first["_all|_all|8"].Total.Mean+.5 })
}

// TestClockIsSetBack: those who waited are still listed, and forecasts are published for now.
func TestClockIsSetBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.FitEvery(50 * time.Millisecond)
	s.fit(60, time.Now().Add(-3*time.Hour))
	r := s.start()
	for i := range 3 {
		s.send(s.note(i, .8, 3*time.Hour))
	}
	s.send(s.outcome(0, msg.Admitted))
	r.waits(2)
	ingesttest.Await(t, "a forecast", func() bool {
		return ingesttest.Metric(t, s.registry, "wardcast_beds_forecast_timestamp_seconds") > 0
	})
	s.advance(-2 * time.Hour)
	r.waits(2)
	c := ingesttest.Reader(t, []string{s.address}, output)
	ingesttest.Await(t, "a forecast for now", func() (found bool) {
		c.PollRecords(t.Context(), 100).EachRecord(func(record *kgo.Record) {
			var b msg.BedDemand
			err := msg.DecodeBedDemand(record.Value, &b)
			at, e := time.Parse(time.RFC3339, b.AsOf)
			found = found || err == nil && e == nil && at.Before(s.now())
		})
		return found
	})
}

// TestBrokerAway: forecasts are then dated back to when all was known, and go on when the broker is back.
func TestBrokerAway(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	r := s.start()
	s.send(s.note(1, .8, time.Minute))
	r.waits(1)
	s.broker.Close()
	s.advance(5 * time.Hour)
	b := r.all(httpapi.DemandQuery{})
	asOf, err := time.Parse(time.RFC3339, b.AsOf)
	if age := s.now().Sub(asOf); err != nil || age < 299*time.Minute || b.Waiting.Patients != 1 {
		t.Errorf("%v old, %v: %+v", age, err, b)
	}
	if unseen := r.all(httpapi.DemandQuery{At: s.now().Add(-time.Minute)}); unseen.Waiting.Mean > b.Waiting.Mean/2 {
		t.Errorf("what happened since is not known, but %v of %v are still to be admitted",
			unseen.Waiting.Mean, b.Waiting.Mean)
	}
	s.open()
	s.send(s.note(2, .8, time.Minute))
	r.waits(2)
	ingesttest.Await(t, "a forecast for now", func() bool {
		at, err := time.Parse(time.RFC3339, r.all(httpapi.DemandQuery{}).AsOf)
		return err == nil && s.now().Sub(at) < 10*time.Second
	})
}

// TestFitOfTheGeneration: the fit of the generation in use is used, whichever is newer, a damaged one is not, and
// without the topics of outcomes and forecasts the rest works.
func TestFitOfTheGeneration(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Outcomes, s.config.Output = "no.outcomes", "no.forecasts"
	s.config.FitEvery(100 * time.Millisecond)
	older := s.fit(60, time.Now().Add(-time.Hour))
	newer := s.fit(60, time.Now())
	s.inUse.Store(older)
	damaged, err := s.store.SaveBeds(t.Context(), time.Now(), []byte(`{"zone":"Nowhere"}`))
	if err != nil {
		t.Fatal(err)
	}
	s.send(s.note(1, .8, time.Minute))
	r := s.start()
	r.waits(1)
	uses := func(version string) {
		t.Helper()
		ingesttest.Await(t, version, func() bool { return r.all(httpapi.DemandQuery{}).BedsVersion == version })
	}
	if b := r.all(httpapi.DemandQuery{}); b.BedsVersion != older || !b.OutcomesStale {
		t.Errorf("%+v", b)
	}
	s.inUse.Store(newer)
	uses(newer)
	s.inUse.Store(damaged)
	ingesttest.Await(t, "a remark", func() bool { return r.Remark() != "" })
	if remark := r.Remark(); !strings.Contains(remark, damaged) || !strings.Contains(remark, newer) ||
		ingesttest.Metric(t, s.registry, "wardcast_beds_fit_damaged") != 1 {
		t.Errorf("the damaged fit is reported as %q", remark)
	}
	if !strings.Contains(s.log.String(), "cannot be used") {
		t.Error("the damaged fit is not logged")
	}
	s.inUse.Store(older) // rolled back
	uses(older)
	if remark := r.Remark(); remark != "" {
		t.Error(remark)
	}
	s.inUse.Store("")
	uses(bedstream.GenericVersion)
}

// TestDamagedFit: without a sound fit the bed demand rests on no history, and that is reported until there is a sound
// one.
func TestDamagedFit(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.config.Outcomes, s.config.Output = "no.outcomes", "no.forecasts"
	version := s.fit(60, time.Now())
	if err := os.WriteFile(filepath.Join(s.storeDir, "beds", version, "fit.json"), []byte("{}"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.start()
	if b := r.all(httpapi.DemandQuery{}); b.BedsVersion != bedstream.GenericVersion {
		t.Errorf("%+v", b)
	}
	if remark, want := r.Remark(), "The fit of beds "+version+
		" is damaged or cannot be read: the bed demand rests on no history."; remark != want {
		t.Errorf("got %q, want %q", remark, want)
	}
}

// TestUnread: a process that has not read the past gives no forecast.
func TestUnread(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.broker.Close()
	r := s.start()
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	all, err := r.Forecasts(ctx, &httpapi.DemandQuery{Window: time.Hour, Waiting: true})
	if _, fault := errors.AsType[*httpapi.QueryError](err); err == nil || fault {
		t.Errorf("%v, %v", all, err)
	}
	s.open()
	if b := r.all(httpapi.DemandQuery{}); b.Ward != beds.All {
		t.Errorf("%+v", b)
	}
}
