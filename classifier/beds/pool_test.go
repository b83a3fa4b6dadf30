package beds_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/beds"
)

// event is a call of a pool.
type event func(*beds.Pool)

func scored(id string, seen, arrived time.Time, p float64) event {
	return func(pool *beds.Pool) {
		pool.Score(beds.Scored{
			Order: beds.Order{Seen: seen, Offset: seen.UnixMilli()}, VisitID: id, Model: "m@1",
			Patient: beds.Patient{Arrived: arrived, P: p, Complaint: "Cough", Age: 40},
		})
	}
}

func decided(id string, seen time.Time, status beds.Status) event {
	return func(pool *beds.Pool) {
		pool.Decide(
			beds.Outcome{Order: beds.Order{Seen: seen}, VisitID: id, Status: status, Admitted: true, Ward: "MED"})
	}
}

func poolOf(events ...event) *beds.Pool {
	pool := beds.NewPool()
	for _, e := range events {
		e(pool)
	}
	return pool
}

func minutes(n int) time.Time { return start.Add(time.Duration(n) * time.Minute) }

func noHistory(t *testing.T) *beds.Fit {
	t.Helper()
	fit, err := beds.FitHistory(&beds.History{From: start, AsOf: start})
	if err != nil {
		t.Fatal(err)
	}
	return fit
}

func TestWhoWaits(t *testing.T) {
	t.Parallel()
	fit := noHistory(t)
	for name, c := range map[string]struct {
		events []event
		at     int // minutes
		want   []float64
	}{
		"a note":        {[]event{scored("a", minutes(2), minutes(0), .3)}, 10, []float64{.3}},
		"not known yet": {[]event{scored("a", minutes(12), minutes(0), .3)}, 10, nil},
		"a corrected note": {[]event{scored("a", minutes(2), minutes(0), .3), scored("a", minutes(5), minutes(0),
			.4)}, 10, []float64{.4}},
		"before the correction": {[]event{scored("a", minutes(2), minutes(0), .3), scored("a", minutes(15),
			minutes(0), .4)}, 10, []float64{.3}},
		"decided": {
			[]event{scored("a", minutes(2), minutes(0), .3), decided("a", minutes(9), beds.Decided)}, 10, nil,
		},
		"decided later": {[]event{scored("a", minutes(2), minutes(0), .3), decided("a", minutes(11),
			beds.Decided)}, 10, []float64{.3}},
		"cancelled": {[]event{
			scored("a", minutes(2), minutes(0), .3),
			decided("a", minutes(8), beds.Decided), decided("a", minutes(9), beds.Cancelled),
		}, 10, []float64{.3}},
		"outcome before the note": {
			[]event{decided("a", minutes(1), beds.Decided), scored("a", minutes(5), minutes(0), .3)}, 10, nil,
		},
		"a little ahead":      {[]event{scored("a", minutes(10), minutes(14), .3)}, 10, []float64{.3}},
		"far ahead":           {[]event{scored("a", minutes(10), minutes(16), .3)}, 10, nil},
		"no time of arrival":  {[]event{scored("a", minutes(4), time.Time{}, .3)}, 10, []float64{.3}},
		"a whole day":         {[]event{scored("a", minutes(2), minutes(0), .3)}, 24 * 60, []float64{.3}},
		"longer than anybody": {[]event{scored("a", minutes(2), minutes(0), .3)}, 24*60 + 1, nil},
		"by arrival": {[]event{
			scored("b", minutes(5), minutes(1), .2),
			scored("a", minutes(6), minutes(3), .1), scored("c", minutes(7), minutes(0), .3),
		}, 10, []float64{.3, .2, .1}},
	} {
		var got []float64
		m := poolOf(c.events...).Moment(minutes(c.at), fit)
		for _, p := range m.Waiting {
			got = append(got, p.P)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v wait, want %v", name, got, c.want)
		}
	}
}

// TestRedate: after the clock was set back by two hours, who came and who was decided before stays so.
func TestRedate(t *testing.T) {
	t.Parallel()
	pool := poolOf(scored("a", minutes(125), minutes(0), .3), scored("b", minutes(126), minutes(1), .4),
		decided("b", minutes(127), beds.Decided), scored("c", minutes(4), minutes(2), .5),
		decided("c", minutes(128), beds.Decided), scored("d", minutes(11), minutes(3), .6))
	pool.Redate(minutes(8))
	var got []float64
	m := pool.Moment(minutes(8), noHistory(t))
	for _, p := range m.Waiting {
		got = append(got, p.P)
	}
	if !slices.Equal(got, []float64{.3}) { // d is three minutes ahead, as clocks may be
		t.Errorf("%v wait, want .3", got)
	}
}

func TestArrivalWithoutTimeIsTheFirstNote(t *testing.T) {
	t.Parallel()
	m := poolOf(scored("a", minutes(9), time.Time{}, .4), scored("a", minutes(4), time.Time{}, .3)).Moment(minutes(10),
		noHistory(t))
	if !m.Waiting[0].Arrived.Equal(minutes(4)) || m.Waiting[0].P != .4 {
		t.Errorf("got %+v", m.Waiting[0])
	}
}

func TestMomentCounts(t *testing.T) {
	t.Parallel()
	fit := noHistory(t)
	pool := poolOf(scored("a", minutes(2), minutes(0), .3), scored("b", minutes(3), minutes(0), .3),
		decided("b", minutes(8), beds.Decided),
		decided("another department's", minutes(50), beds.Decided))
	if m := pool.Moment(minutes(60), fit); m.OutcomesStale || m.TimedOut != 0 ||
		!slices.Equal(m.Models, []string{"m@1"}) || !m.Since.Equal(minutes(8)) {
		t.Errorf("an hour later: %+v", m)
	}
	if m := pool.Moment(minutes(69), fit); !m.OutcomesStale {
		t.Error("an outcome of an hour ago is not stale, or that of another department counts")
	}
	for day, want := range []int{0, 0, 1, 0} {
		if m := pool.Moment(minutes(24*60*day-30), fit); m.TimedOut != want {
			t.Errorf("day %d: %d timed out", day, m.TimedOut)
		}
	}
}

// TestSince: a KafkaTopic that reaches back further than the other does not make a department look empty.
func TestSince(t *testing.T) {
	t.Parallel()
	fit := noHistory(t)
	for name, c := range map[string]struct {
		events []event
		want   int
	}{
		"nothing":        {nil, 60},
		"outcomes alone": {[]event{decided("a", minutes(1), beds.Decided)}, 60},
		"notes alone":    {[]event{scored("a", minutes(5), minutes(4), .3)}, 5},
		"outcomes go back": {
			[]event{decided("a", minutes(1), beds.Decided), scored("b", minutes(9), minutes(8), .3)}, 9,
		},
		"notes go back": {
			[]event{scored("b", minutes(9), minutes(8), .3), decided("b", minutes(20), beds.Decided)}, 20,
		},
		"outcomes come late": {
			[]event{scored("b", minutes(9), minutes(8), .3), decided("b", minutes(70), beds.Decided)}, 9,
		},
	} {
		if got := poolOf(c.events...).Moment(minutes(60), fit).Since; !got.Equal(minutes(c.want)) {
			t.Errorf("%s: complete since minute %v, want %d", name, got.Sub(start).Minutes(), c.want)
		}
	}
}

// TestAbstained: the base rate of the complaint stands for a prediction that abstained.
func TestAbstained(t *testing.T) {
	t.Parallel()
	fit, err := beds.FitHistory(exponentials(40))
	if err != nil {
		t.Fatal(err)
	}
	pool := beds.NewPool()
	pool.Score(beds.Scored{Order: beds.Order{Seen: start}, VisitID: "a", Abstained: true, Patient: beds.Patient{
		Arrived: start, P: .01, Complaint: "Cough",
	}})
	m := pool.Moment(start, fit)
	if m.Abstained != 1 || m.Waiting[0].P < .33 || m.Waiting[0].P > .34 {
		t.Errorf("got %+v", m)
	}
	if m := pool.Moment(start, noHistory(t)); m.Waiting[0].P != .01 {
		t.Errorf("without a history: %+v", m)
	}
}

// hospitalDays are the events of 300 visits over five weeks, with corrected notes, late and cancelled outcomes.
func hospitalDays(r *rand.Rand) (events []event, end time.Time) {
	for i := range 300 {
		id := fmt.Sprint("v", i)
		arrived := start.Add(hours(r.Float64() * 24 * 35))
		seen := arrived.Add(time.Duration(r.IntN(10)) * time.Minute)
		events = append(events, scored(id, seen, arrived, r.Float64()))
		if r.IntN(5) == 0 {
			events = append(events, scored(id, seen.Add(hours(r.Float64())), arrived.Add(time.Minute), r.Float64()))
		}
		known := arrived.Add(hours(6*r.ExpFloat64() - .1))
		if r.IntN(20) > 0 {
			events = append(events, decided(id, known, beds.Decided))
		}
		if r.IntN(10) == 0 {
			events = append(events, decided(id, known.Add(hours(r.Float64())), beds.Cancelled))
		}
	}
	return events, start.Add(36 * 24 * time.Hour)
}

// TestPoolForgetsItsOrder: any order of the events, with repeats, gives the same moments and messages of the same
// bytes; so does a pool that hears the events again from the start, and one that forgets.
func TestPoolForgetsItsOrder(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(11, 12))
	events, end := hospitalDays(r)
	fit, err := beds.FitHistory(exponentials(40))
	if err != nil {
		t.Fatal(err)
	}
	f, err := beds.New(fit)
	if err != nil {
		t.Fatal(err)
	}
	bytes := func(pool *beds.Pool, at time.Time) string {
		forecasts, err := f.Forecast(pool.Moment(at, fit), beds.Options{Horizon: 8 * time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		var data []byte
		for i := range forecasts {
			m := forecasts[i].Message(&beds.Envelope{Site: "A", Beds: []int{3}})
			data = m.AppendJSON(data)
		}
		return string(data)
	}
	times := []time.Time{start.Add(30 * time.Hour), start.Add(500 * time.Hour), end.Add(-10 * 24 * time.Hour), end}
	straight := poolOf(events...)
	waiting := 0
	for _, at := range times {
		waiting += len(straight.Moment(at, fit).Waiting)
	}
	if waiting < 6 {
		t.Fatalf("%d patients wait at %d times", waiting, len(times))
	}
	for range 4 {
		mixed := slices.Concat(events, events[:50])
		r.Shuffle(len(mixed), func(i, j int) { mixed[i], mixed[j] = mixed[j], mixed[i] })
		other := beds.NewPool()
		for i, e := range mixed {
			e(other)
			if i%100 == 0 {
				other.Forget(times[0]) // of what is older than the first moment
			}
		}
		for _, at := range times {
			if d := cmp.Diff(straight.Moment(at, fit), other.Moment(at, fit)); d != "" {
				t.Fatalf("%v: %s", at, d)
			}
			if got, want := bytes(other, at), bytes(straight, at); got != want {
				t.Fatalf("%v: got %s\nwant %s", at, got, want)
			}
		}
	}
	late := end.Add(15 * 24 * time.Hour)
	want := straight.Moment(late, fit)
	straight.Forget(late)
	if d := cmp.Diff(want, straight.Moment(late, fit)); d != "" {
		t.Errorf("after forgetting: %s", d)
	}
}

// TestPoolMemory: a flood of the largest events is refused before it takes more than it may, and an erased visit leaves
// its room.
func TestPoolMemory(t *testing.T) {
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	p := beds.NewPool()
	visit := func(i int) string { return fmt.Sprintf("%016d", i) }
	event := func(i, j int) beds.Scored {
		e := beds.Scored{
			Order: beds.Order{Seen: start.Add(time.Duration(j) * time.Second)}, VisitID: visit(i),
			Patient: beds.Patient{Complaint: fmt.Sprintf("%080d", i), Arrived: start},
		}
		for range 4 {
			e.Patient.Wards = append(e.Patient.Wards, beds.WardShare{Ward: fmt.Sprintf("%064d", i)})
		}
		return e
	}
	taken := 0
	for i := 0; p.Begins().IsZero(); i++ {
		for j := range 8 {
			e := event(i, j)
			p.Score(e)
			p.Decide(beds.Outcome{Order: e.Order, VisitID: e.VisitID, Ward: fmt.Sprintf("%0200d", i)})
			taken++
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	const most = 192 << 20
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > most || taken < 50_000 {
		t.Errorf("%d bytes are held for %d notes, want at most %d", got, taken, most)
	}
	p.Forget(start.Add(2 * beds.Memory))
	if p.Len() != 0 {
		t.Errorf("%d visits are not forgotten", p.Len())
	}
}

// TestPoolBounds: neither visits nor events of one are more than stated. Who comes to a full pool waits as others do:
// the oldest visits go, and the past is known since then.
func TestPoolBounds(t *testing.T) {
	t.Parallel()
	p := beds.NewPool()
	scored := func(visit string, i int) beds.Scored {
		return beds.Scored{
			Order: beds.Order{Seen: start.Add(time.Duration(i) * time.Second)}, VisitID: visit,
			Patient: beds.Patient{P: .5, Arrived: start.Add(time.Duration(i) * time.Second)},
		}
	}
	taken := 0
	for i := range 200 {
		if p.Score(scored("corrected", i)) {
			taken++
		}
		p.Decide(beds.Outcome{
			Order: beds.Order{Seen: start.Add(time.Duration(i) * time.Second)}, VisitID: "corrected",
			Status: beds.Cancelled,
		})
	}
	if taken != 64 || p.Len() != 1 {
		t.Errorf("%d notes of one visit, %d visits", taken, p.Len())
	}
	const more = beds.MostVisits + 5
	for i := range more {
		if !p.Score(scored(strconv.Itoa(i), i)) {
			t.Fatalf("visit %d is refused", i)
		}
	}
	if n := p.Len(); n > beds.MostVisits || n < beds.MostVisits*9/10 || !p.Has(strconv.Itoa(more-1)) || p.Has("0") {
		t.Errorf("%d visits, the first among them: %t, or not the last", n, p.Has("0"))
	}
	if !p.Decide(beds.Outcome{VisitID: "another"}) {
		t.Error("an outcome is refused")
	}
	fit, err := beds.Generic("")
	if err != nil {
		t.Fatal(err)
	}
	now := start.Add(more * time.Second)
	waiting, patience := 0, int(fit.Patience().Seconds())
	for i := range more {
		if p.Has(strconv.Itoa(i)) && more-i <= patience {
			waiting++
		}
	}
	m := p.Moment(now, fit)
	if len(m.Waiting) < waiting || waiting < patience/2 {
		t.Errorf("%d wait, at least %d of them known", len(m.Waiting), waiting)
	}
	begins := p.Begins()
	if !m.Since.Equal(begins) || !begins.After(start) || !begins.Before(now.Add(-fit.Patience())) {
		t.Errorf("known since %s, dropped until %s", m.Since, begins)
	}
	if m := p.Moment(start, fit); !m.Since.Equal(start) {
		t.Errorf("what is forgotten is known since %s", m.Since)
	}
}

// TestWaitingAgreesWithTheMoment: in 200 states of a day with notes, corrections, outcomes, early and late ones, and
// some that are withdrawn, the visits that wait are the patients of the moment, whatever order they became known in.
func TestWaitingAgreesWithTheMoment(t *testing.T) {
	t.Parallel()
	fit, pool := noHistory(t), beds.NewPool()
	r := rand.New(rand.NewPCG(13, 1))
	visits, early := 0, 0
	for state := range 200 {
		at := minutes(10 * state)
		for range r.IntN(6) {
			id := strconv.Itoa(visits)
			visits++
			if r.IntN(4) == 0 {
				id = strconv.Itoa(r.IntN(visits)) // a corrected note
			}
			scored(id, at, at.Add(-time.Duration(r.IntN(1800)-60)*time.Minute), r.Float64())(pool)
		}
		for range r.IntN(6) {
			decided(strconv.Itoa(r.IntN(visits+3)), at.Add(time.Duration(r.IntN(20)-10)*time.Minute),
				beds.Status(r.IntN(6)/5))(pool)
		}
		var want, got []string
		m := pool.Moment(at, fit)
		for _, p := range m.Waiting {
			want = append(want, fmt.Sprint(p.Arrived.UnixNano(), p.P))
		}
		seen := map[string]bool{}
		waiting, ahead := pool.Waiting(at, fit)
		if early += ahead; ahead != m.Ahead {
			t.Errorf("state %d: %d arrive later, the moment has %d", state, ahead, m.Ahead)
		}
		for _, w := range waiting {
			got = append(got, fmt.Sprint(w.Patient.Arrived.UnixNano(), w.Patient.P))
			if seen[w.VisitID] {
				t.Errorf("state %d: a visit waits twice", state)
			}
			seen[w.VisitID] = true
		}
		slices.Sort(want)
		slices.Sort(got)
		if d := cmp.Diff(want, got); d != "" || state == 199 && len(got) < 50 {
			t.Fatalf("state %d: %d of %d wait (-moment +visits):\n%s", state, len(got), visits, d)
		}
	}
	if early == 0 {
		t.Error("nobody arrives later")
	}
	counted := 0
	pool.Complaints(func(_, complaint string) { counted += len(complaint) / len("Cough") })
	if counted == 0 || counted > visits {
		t.Errorf("%d complaints of %d visits", counted, visits)
	}
}

// TestLikeliestWard: by the classes of the patient's model, else by complaint; none without a history.
func TestLikeliestWard(t *testing.T) {
	t.Parallel()
	h := &beds.History{From: start, AsOf: start.AddDate(0, 0, 30)}
	for i := range 300 {
		v := beds.Visit{
			Arrived: minutes(10 * i), Decided: minutes(10*i + 60), Admitted: true, Complaint: "cough",
			Age: 40, P: .5,
		}
		v.Ward = "MED"
		if i%3 == 0 {
			v.Ward, v.Complaint = "SURG", "wound"
		}
		h.Visits = append(h.Visits, v)
	}
	fit, err := beds.FitHistory(h)
	if err != nil {
		t.Fatal(err)
	}
	f, err := beds.New(fit)
	if err != nil {
		t.Fatal(err)
	}
	none, err := beds.New(noHistory(t))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		f    *beds.Forecaster
		p    beds.Patient
		want string
	}{
		{f, beds.Patient{Complaint: "cough", Age: 40}, "MED"},
		{f, beds.Patient{Complaint: "wound", Age: 40}, "SURG"},
		{f, beds.Patient{Complaint: "cough", Age: 40, Wards: []beds.WardShare{{Ward: "SURG", Share: .2}}}, "SURG"},
		{f, beds.Patient{Complaint: "new", Age: -1}, "MED"},
		{none, beds.Patient{Complaint: "cough"}, ""},
	} {
		if got := c.f.LikeliestWard(&c.p); got != c.want {
			t.Errorf("%+v: %q, want %q", c.p, got, c.want)
		}
	}
}
