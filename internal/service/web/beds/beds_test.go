package beds

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	forecast "github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
)

// hospitalDemand forecasts the beds of a simulated hospital.
type hospitalDemand struct {
	forecaster  *forecast.Forecaster
	visits      []forecast.Visit
	now         time.Time
	calibration forecast.Calibration
	wards       func(string) string // renames wards
	available   map[string]int      // beds that the site configured
	nobody      bool
	version     string // of the fit
	stale       bool
	err         error
}

// simulated is 30 days of invented visits, and what 25 of them teach.
var simulated = sync.OnceValues(func() (*hospitalDemand, error) {
	start := time.Date(2026, 10, 22, 0, 0, 0, 0, time.UTC)
	g, err := synth.New(synth.Settings{Seed: 3, Start: start, Interval: 9 * time.Minute})
	if err != nil {
		return nil, err
	}
	d := &hospitalDemand{
		now:         time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC),
		calibration: forecast.Calibration{Calibrated: true, N: 200, Coverage80: 0.81},
	}
	for i := range 30 * 160 {
		n, ends := g.At(i), g.Outcomes(i)[0]
		v := forecast.Visit{Admitted: n.Admitted, P: n.Probability, Complaint: n.Complaint, Age: -1}
		v.Arrived, err = time.Parse(time.RFC3339, n.ArrivedAt)
		if err != nil {
			return nil, err
		}
		if v.Decided = ends.Recorded; n.Admitted {
			v.Ward = synth.Ward(rand.New(rand.NewPCG(uint64(i), 0)), &n.Note)
		}
		if n.Age.Set {
			v.Age = n.Age.Value
		}
		d.visits = append(d.visits, v)
	}
	asOf := start.AddDate(0, 0, 25)
	fit, err := forecast.FitHistory(
		&forecast.History{From: start, AsOf: asOf, Visits: forecast.KnownVisits(d.visits, start, asOf)})
	if err != nil {
		return nil, err
	}
	d.forecaster, err = forecast.New(fit)
	return d, err
})

// demand returns a copy of the simulated hospital, to be changed.
func demand(t *testing.T) *hospitalDemand {
	t.Helper()
	d, err := simulated()
	if err != nil {
		t.Fatal(err)
	}
	return &hospitalDemand{
		forecaster: d.forecaster, visits: d.visits, now: d.now, calibration: d.calibration,
		version: "2026-11-11T00-00-00Z-3f9c1a",
	}
}

// known returns the visits that have arrived, without decisions of later.
func (d *hospitalDemand) known(t time.Time) []forecast.Visit {
	return forecast.KnownVisits(d.visits, d.visits[0].Arrived, t)
}

func (d *hospitalDemand) Forecasts(_ context.Context, q *httpapi.DemandQuery) (out []httpapi.Forecast, err error) {
	if d.err != nil {
		return nil, d.err
	}
	at := q.At
	if at.IsZero() {
		at = d.now
	}
	m := &forecast.Moment{
		At: at, Past: d.known(at), Since: d.visits[0].Arrived, OutcomesStale: d.stale, Abstained: 2,
		Models: []string{"_other@2026-11-20T02-00-00Z-3f9c1a"},
	}
	for _, v := range m.Past {
		if v.Decided.IsZero() && !d.nobody {
			m.Waiting = append(m.Waiting,
				forecast.Patient{Arrived: v.Arrived, P: v.P, Complaint: v.Complaint, Age: v.Age})
		}
	}
	all, err := d.forecaster.Forecast(m,
		forecast.Options{Horizon: q.Window, WithoutComing: !q.Coming, WithoutWaiting: !q.Waiting})
	if err != nil {
		return nil, err
	}
	for i := range all {
		if q.Ward != "" && q.Ward != all[i].Ward {
			continue
		}
		var exceed []int
		if n, known := d.available[all[i].Ward]; known {
			exceed = []int{n}
		}
		b := all[i].Message(
			&forecast.Envelope{Site: "north", Beds: exceed, Calibration: d.calibration, BedsVersion: d.version})
		if d.wards != nil && b.Ward != forecast.All {
			b.Ward = d.wards(b.Ward)
		}
		one := httpapi.Forecast{BedDemand: &b}
		if !at.Add(q.Window).After(d.now) {
			n := forecast.Observe(d.known(d.now), all[i].Ward, at, q.Window).Total(
				forecast.Options{WithoutComing: !q.Coming, WithoutWaiting: !q.Waiting})
			one.Came = &n
		}
		out = append(out, one)
	}
	return out, nil
}

// simulatedPast is what the simulated hospital was forecast on its last three days.
var simulatedPast = sync.OnceValues(func() (points []httpapi.HistoryPoint, err error) {
	d, err := simulated()
	if err != nil {
		return nil, err
	}
	for at := d.now.AddDate(0, 0, -3).Truncate(24 * time.Hour); !at.After(d.now); at = at.Add(6 * time.Hour) {
		all, err := forecasts(context.Background(), d,
			&httpapi.DemandQuery{At: at, Window: 8 * time.Hour, Waiting: true, Coming: true})
		if err != nil {
			return nil, err
		}
		for _, o := range all {
			points = append(points, httpapi.HistoryPoint{
				At: at, Ward: o.Ward, Window: "8h", Expected: o.Total.Mean, Low: &o.Total.Interval80[0],
				High: &o.Total.Interval80[1], Actual: o.Came,
			})
		}
	}
	return points, nil
})

func (d *hospitalDemand) History(context.Context, *httpapi.HistoryQuery) (*httpapi.DemandHistory, error) {
	points, err := simulatedPast()
	h := &httpapi.DemandHistory{}
	for _, p := range points {
		if d.wards != nil && p.Ward != forecast.All {
			p.Ward = d.wards(p.Ward)
		}
		if d.version == noHistory {
			p.Low, p.High = nil, nil
		}
		h.Add(p)
	}
	return h, err
}

// visit asks the page with a forecast for an address.
func visit(t *testing.T, d httpapi.BedDemand, address string) (status int, body string) {
	t.Helper()
	s := webtest.New(t)
	s.Serve(New(s.Page("/beds", "Beds"), d, &Clock{Zone: time.UTC, Shifts: []string{"07:00", "15:00", "23:00"}}))
	status, _, body = s.Ask(webtest.Viewer, address, nil)
	return status, body
}

// threeEach are three beds for each ward of the simulated hospital.
var threeEach = map[string]int{"CARD": 3, "ICU": 3, "MED": 3, "ORTHO": 3, "PAED": 3, "SURG": 3}

// TestPage holds the numbers on the page against those of the message.
func TestPage(t *testing.T) {
	t.Parallel()
	d := demand(t)
	all, err := forecasts(t.Context(), d, &httpapi.DemandQuery{Window: 8 * time.Hour, Waiting: true, Coming: true})
	if err != nil {
		t.Fatal(err)
	}
	status, body := visit(t, d, "/beds?free=18&free.MED=9&free.CARD=3&free.ICU=0")
	text := webtest.Plain(body)
	o := all[0]
	for _, want := range []string{
		fmt.Sprintf("By midnight expect to need %.0f beds , most likely %d to %d .", o.Total.Mean,
			o.Total.Interval80[0], o.Total.Interval80[1]),
		"With 18 free, the chance of being short is " + frame.Percent(o.total.Exceed(18)) + " %",
		"From the " + strconv.Itoa(o.Waiting.Patients) + " patients now waiting and those still expected.",
		"Counted at 16:00.", "The range held in 81 % of the last 200 forecasts.", "Tightest:",
		"Not predicted: 2 of those waiting",
		fmt.Sprintf("All wards: %.0f expected by midnight, plan for %d (9 in 10), %.0f of those already here, usual "+
			"%.0f; more than 18:", o.Total.Mean, o.total.Quantile(.9), o.Waiting.Mean, o.UsualMean.Value),
	} {
		if status != 200 || !strings.Contains(text, want) {
			t.Errorf("%d, the page lacks %q:\n%s", status, want, text)
		}
	}
	free := map[string]int{"MED": 9, "CARD": 3, "ICU": 0}
	var chances []float64
	for i := range all[1:] {
		w := all[i+1]
		row := fmt.Sprintf("%s %.1f %.1f %s ", w.Ward, w.Total.Mean, w.Waiting.Mean, ranged(w.Total.Interval80))
		if n, known := free[w.Ward]; known {
			chances = append(chances, w.total.Exceed(n))
			if w.total.Exceed(n) >= warnFrom {
				row += "▲ "
			}
			row += frame.Percent(w.total.Exceed(n)) + " %"
		} else {
			row += "–"
		}
		if !strings.Contains(text, row) {
			t.Errorf("the table lacks %q:\n%s", row, text)
		}
	}
	// The likeliest shortage comes first.
	slices.Sort(chances)
	first := regexp.MustCompile(`<tbody><tr><th scope="row"><a[^>]*><bdi>([A-Z]+)<`).FindStringSubmatch(body)
	if first == nil {
		t.Fatal("the page has no table")
	}
	at := slices.IndexFunc(all, func(o outlook) bool { return o.Ward == first[1] })
	if w := all[at]; w.total.Exceed(free[first[1]]) !=
		chances[len(chances)-1] {
		t.Errorf("first in the table is %q", first[1])
	}
	if n := strings.Count(body, `class="ring"`) / 2; n == 0 || !strings.Contains(body,
		"short: "+strconv.Itoa(n)+" in 20") || strings.Count(body, `class="dot"`)/2+n != outcomes {
		t.Errorf("%d rings, %d dots", n, strings.Count(body, `class="dot"`)/2)
	}
}

// TestStates: what the page says if something is missing, damaged, old, or asked for wrongly.
func TestStates(t *testing.T) {
	t.Parallel()
	with := func(change func(*hospitalDemand)) *hospitalDemand {
		d := demand(t)
		change(d)
		return d
	}
	none := forecast.Calibration{N: 14, Coverage80: 0.79}
	for name, c := range map[string]struct {
		demand  httpapi.BedDemand
		address string
		status  int
		has     []string
		lacks   []string
	}{
		"no free beds": {
			demand(t), "/beds", 200, []string{"most likely"}, []string{"being short", "Tightest", `class="ring"`},
		},
		"sum of the wards": {
			demand(t), "/beds?free.CARD=3&free.ICU=3&free.MED=3&free.ORTHO=3&free.PAED=3&free.SURG=3", 200,
			[]string{"With 18 free, the chance"},
			nil,
		},
		"configured": {with(func(d *hospitalDemand) { d.available = threeEach }), "/beds?free.ICU=5", 200, []string{
			"With 20 free, the chance", `"Beds free in MED" value="" placeholder="3"`,
			`"Beds free in ICU" value="5"`, "Tightest",
		}, []string{"free.MED=3"}},
		"old": {demand(t), "/beds", 200, []string{`id="old">`}, nil},
		"another moment": {demand(t), "/beds?at=2026-11-20T08:00", 200, []string{
			"A moment of the past: what was known at 20 Nov 2026 08:00, and what came.", "At 08:00 we expected",
			"were needed</b>.", "The range held.", "As known at", `value="2026-11-20T08:00"`,
			`data-fresh=""`, "dot: needed", `<span class="muted">held</span>`, "Black: what came", "who waited then",
		}, []string{`id="old">`, "being short", "Beds free in", "For the huddle"}},
		"what came is not known": {demand(t), "/beds?at=2026-11-20T12:00", 200, []string{
			"This is not now: it is what was known at 20 Nov 2026 12:00. What came is not known.", "By 20:00 expect",
		}, []string{"were needed"}},
		"a window that is not over": {
			demand(t), "/beds?at=" + time.Now().UTC().Add(-time.Hour).Format(momentLayout), 200,
			[]string{"The window is not over."},
			[]string{"were needed"},
		},
		"a moment to come": {demand(t), "/beds?at=2099-11-20T09:15&window=4h", 200, []string{
			"A moment to come: what is known now, of the window that begins 20 Nov 2099 09:15.", "By 13:15 expect",
		}, []string{"was known", "were needed"}},
		"a time of the clock": {demand(t), "/beds?by=20:00&free=18", 200, []string{
			"By 20:00 expect", `<a class="btn" href="/beds?by=20%3A00&amp;free=18" aria-current="true">20:00</a>`,
			`<a class="btn" href="/beds?by=23%3A00&amp;free=18">23:00, shift</a>`,
			`<a class="btn" href="/beds?free=18">midnight</a>`, `name="by" type="time" value="20:00"`,
			`id="copy" href="/beds?at=2026-11-20T16%3A00%3A00Z&amp;by=20%3A00&amp;free=18"`,
		}, nil},
		"a time that has just passed": {demand(t), "/beds?by=16:10", 200, []string{"By 16:10 tomorrow expect"}, nil},
		"no time": {
			demand(t), "/beds?by=soon", 400, []string{"A time of day, such as 18:00."}, nil,
		},
		"one ward": {
			demand(t), "/beds?ward=ICU&free.ICU=0", 200,
			[]string{"<b><bdi>ICU</bdi></b>: by midnight", "All wards together", "Beds needed in <bdi>ICU</bdi>"},
			[]string{"Tightest"},
		},
		"waiting only": {demand(
			t), "/beds?include=waiting", 200, []string{"patients now waiting.", "checked"}, []string{"still expected"}},
		"nobody": {
			with(func(d *hospitalDemand) { d.nobody = true }), "/beds", 200,
			[]string{"Nobody waiting. Expected arrivals only."},
			nil,
		},
		"stale outcomes": {
			with(func(d *hospitalDemand) { d.stale = true }), "/beds", 200,
			[]string{"No outcome has come for an hour"},
			nil,
		},
		"uncalibrated": {
			with(func(d *hospitalDemand) { d.calibration = none }), "/beds?free=18&free.ICU=1", 200,
			[]string{
				"are unchecked: 14 of 200 forecasts have been compared", "chance of being short", `class="fd soft"`,
				"<small>unchecked</small>",
			},
			[]string{`class="fd"`, "plan for"},
		},
		"refuted": {
			with(func(d *hospitalDemand) { d.calibration = forecast.Calibration{N: 200, Coverage80: .6} }),
			"/beds?free=18", 200,
			[]string{"it held in 60 % of the last 200 forecasts", "– <small>held in 60 %</small>"},
			[]string{"most likely", "b80", "plan for", "Bands"},
		},
		"other window": {
			with(func(d *hospitalDemand) { d.calibration = none }), "/beds?window=12h", 200,
			[]string{"only forecasts for about 4, 8 and 24 hours are compared"},
			nil,
		},
		"bad free": {
			demand(t), "/beds?free=many&free.ICU=-1", 400,
			[]string{"A whole number of beds", `value="many"`, `aria-invalid="true"`, "expect to need"},
			nil,
		},
		"bad window": {demand(t), "/beds?window=9d", 400, []string{"Between 15 minutes and 48 hours"}, nil},
		"bad moment": {demand(t), "/beds?at=then", 400, []string{"A day and a time"}, nil},
		"refused": {with(func(d *hospitalDemand) {
			d.err = &httpapi.QueryError{Detail: "too far away"}
		}), "/beds?at=2020-01-01T08:00", 400, []string{"Too far away."}, []string{"expect to need"}},
		"failed": {
			with(func(d *hospitalDemand) { d.err = errors.New("broken") }), "/beds", 503,
			[]string{"could not be made at", "Try again"},
			[]string{"broken"},
		},
		"unknown ward": {
			demand(t), "/beds?ward=NOWHERE", 404, []string{"No ward of that name", `href="/beds"`}, []string{"NOWHERE"},
		},
		"odd name": {
			with(func(d *hospitalDemand) { d.wards = func(w string) string { return w + ` <i>&"` } }), "/beds", 200,
			[]string{"ICU &lt;i&gt;&amp;&#34;", "ward=ICU&#43;%3Ci%3E%26%22"},
			[]string{"<i>&"},
		},
		"no history": {with(func(d *hospitalDemand) { d.version = noHistory }), "/beds", 200, []string{
			"patients now waiting. There is no history of this site yet: those still to come are not counted.",
			"No range is shown: there is no history", "No forecast had a range to compare", "<small>no history</small>",
		}, []string{"still expected", "most likely"}},
		"nothing at all": {
			with(func(d *hospitalDemand) { d.nobody, d.version = true, noHistory }), "/beds", 200,
			[]string{"Nobody waiting. There is no history"},
			[]string{"Expected arrivals"},
		},
		"clock times": {demand(t), "/beds?window=4h", 200, []string{
			`<option value="4h" selected>4 hours (by 20:00)</option>`, `<option value="">to that time</option>`,
			`<option value="24h">24 hours (by 16:00 tomorrow)</option>`,
		}, nil},
		"mirrored name": {
			with(func(d *hospitalDemand) { d.wards = func(w string) string { return w + "\u202e" } }), "/beds", 200,
			[]string{`<bdi>ICU\u202e</bdi></a>`, `<li><bdi>ICU\u202e</bdi>: `},
			[]string{"\u202e"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			status, body := visit(t, c.demand, c.address)
			if status != c.status {
				t.Errorf("%d, want %d", status, c.status)
			}
			for _, want := range c.has {
				if !strings.Contains(body, want) {
					t.Errorf("the page lacks %q:\n%s", want, webtest.Plain(body))
				}
			}
			for _, bad := range c.lacks {
				if strings.Contains(body, bad) {
					t.Errorf("the page has %q:\n%s", bad, webtest.Plain(body))
				}
			}
		})
	}
}

// fixed answers each query with the same forecasts, and remembers what it was asked for.
type fixed struct {
	forecasts []httpapi.Forecast
	err       error

	mu    sync.Mutex
	asked []httpapi.DemandQuery
}

func (f *fixed) History(context.Context, *httpapi.HistoryQuery) (*httpapi.DemandHistory, error) {
	return &httpapi.DemandHistory{}, f.err
}

func (f *fixed) Forecasts(_ context.Context, q *httpapi.DemandQuery) ([]httpapi.Forecast, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.asked = append(f.asked, *q)
	return f.forecasts, f.err
}

// TestCache: viewers of the same page cost one forecast; the hours are of the same moment.
func TestCache(t *testing.T) {
	t.Parallel()
	ward := demand(t)
	all, err := ward.Forecasts(t.Context(), &httpapi.DemandQuery{Window: 8 * time.Hour, Waiting: true, Coming: true})
	if err != nil {
		t.Fatal(err)
	}
	d := &fixed{forecasts: all}
	h := &room{demand: d, site: &Clock{Zone: time.UTC}}
	of := func(q *query) {
		if _, err := h.of(t.Context(), q); err != nil {
			t.Error(err)
		}
	}
	var viewers sync.WaitGroup
	for range 8 {
		viewers.Go(func() { of(readQuery(url.Values{"free": {"18"}, "window": {"8h"}}, time.UTC)) })
	}
	viewers.Wait()
	if len(d.asked) != 1+fanPoints {
		t.Errorf("asked %d times", len(d.asked))
	}
	for _, q := range d.asked[1:] {
		if !q.At.Equal(ward.now) || q.Ward != msg.AllWards {
			t.Errorf("asked for %+v", q)
		}
	}
	for i := range maxEntries + 2 {
		at := ward.now.Add(-time.Duration(i) * time.Minute)
		of(&query{asked: asked{Ahead: time.Hour, Ward: msg.AllWards, At: at}})
	}
	if n := len(h.cache.entries); n > maxEntries {
		t.Errorf("%d entries are kept", n)
	}
}

// TestDots: 20 dots whatever the counts are, none of them on the wrong side of the free beds.
func TestDots(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mean  float64
		free  int
		short bool
	}{
		"nobody": {0, 0, false}, "few": {0.4, 0, true}, "more than enough": {3, 40, false},
		"far too few": {60, 2, true}, "many": {300, 300, true}, "unknown": {12, -1, false},
	} {
		var d forecast.Distribution
		forecast.NegativeBinomialTo(&d, c.mean, 20)
		b := &msg.BedDemand{Calibrated: true, Total: msg.DemandTotal{PMF: msg.PMF{Offset: d.Offset, P: d.P}}}
		o := newOutlook(httpapi.Forecast{BedDemand: b})
		for _, size := range []dotsSize{wideDots, narrowDots} {
			p := newDots(&o, c.free, "20:00", size)
			dots, rings, limit := 0, 0, p.Width
			for _, part := range p.Parts {
				if part.Class == "mark" {
					limit = part.Points[0].X
				}
			}
			for _, part := range p.Parts {
				if part.Radius == 0 || part.Class == "hole" {
					continue
				}
				x, y := part.Points[0].X, part.Points[0].Y
				if x < 0 || x > p.Width || y < 0 || y > p.Height || (x > limit) != (part.Class == "ring") {
					t.Errorf("%s: %+v is out of place, the free beds end at %v", name, part, limit)
				}
				if part.Class == "ring" {
					rings++
				} else {
					dots++
				}
			}
			if dots+rings != outcomes || (rings > 0) != c.short {
				t.Errorf("%s: %d dots, %d rings", name, dots, rings)
			}
		}
	}
}

// TestPlot: a chart as SVG, golden.
func TestPlot(t *testing.T) {
	t.Parallel()
	page := &view{
		query: readQuery(map[string][]string{"free": {"4"}, "window": {"2h"}}, time.UTC), site: &Clock{Zone: time.UTC},
		asOf: time.Date(2026, 11, 20, 16, 0, 0, 0, time.UTC),
	}
	page.Window = 2 * time.Hour
	var hours []outlook
	for i := range 3 {
		var d forecast.Distribution
		forecast.NegativeBinomialTo(&d, float64(2*i+1), 20)
		hours = append(hours, newOutlook(httpapi.Forecast{BedDemand: &msg.BedDemand{
			HorizonHours: float64(i + 1), Total: msg.DemandTotal{PMF: msg.PMF{Offset: d.Offset, P: d.P}},
		}}))
	}
	goldentest.Equal(t, "testdata/beds-fan.golden.html", []byte(newFan(page, hours, true).SVG()+"\n"))
}
