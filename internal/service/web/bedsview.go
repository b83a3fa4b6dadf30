package web

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// bedsPage is the page Beds.
type bedsPage struct {
	*bedsQuery
	zone   *time.Location
	now    time.Time
	asOf   time.Time
	Failed string // why there is no forecast
	// configured are the free beds of wards that the forecasts come with, for those that nobody typed.
	configured map[string]int

	Sub           string // below the heading
	Nobody, Stale bool   // nobody waits; outcomes do not come
	Old           string // when the count was made, if that is long ago
	Not           string // the moment, if it is not now
	Windows       []choice
	Spans         []choice // windows of the form
	Lead          *lead
	Wards         []wardRow
	Most          int // beds, at the end of the strips
	Hours         *fan
	Huddle        []huddleLine
	Remarks       []string
	CSV, JSON     string
	AllWards      string // address of all wards together, if the page is about one
	FreeAll       string
}

// lead is the sentence that answers, with its dots.
type lead struct {
	Where, By, Expect, Likely, Free, Chance string
	Short                                   bool
	Tightest                                []wardRow
	Trust                                   string
	Counted                                 string
	At                                      int64 // milliseconds
	Usual                                   string
	Wide, Narrow                            *chart.Chart
}

// wardRow is a ward in the table.
type wardRow struct {
	Name, Href, Here, Expect, Likely, Chance string
	Typed, Error                             string
	Selected, Warn                           bool
	Strip                                    template.HTML

	chance, mean float64 // chance is −1 if it is unknown
}

// outlook is a forecast with its distribution.
type outlook struct {
	*msg.BedDemand
	total beds.Distribution
}

func newOutlook(b *msg.BedDemand) outlook {
	return outlook{b, beds.Distribution{Offset: b.Total.PMF.Offset, P: b.Total.PMF.P}}
}

// warnFrom is the chance of a shortage from which a ward has a warning.
const warnFrom = 0.5

// clock returns the time of day on the site's wall clock.
func (page *bedsPage) clock(t time.Time) string { return t.In(page.zone).Format("15:04") }

// by returns the end of a window, with its day unless that is the day of the count.
func (page *bedsPage) by(window time.Duration) string {
	from, to := page.asOf.In(page.zone), page.asOf.Add(window).In(page.zone)
	next := from.AddDate(0, 0, 1).Format(time.DateOnly)
	switch day := to.Format(time.DateOnly); {
	case day == from.Format(time.DateOnly):
		return page.clock(to)
	case day == next && page.clock(to) == "00:00":
		return "midnight"
	case day == next && page.At.IsZero():
		return page.clock(to) + " tomorrow"
	}
	return to.Format("15:04 on 2 Jan")
}

// fill fills in the forecasts.
func (page *bedsPage) fill(d *demanded) {
	page.CSV, page.JSON = page.linkTo("/beds.csv", "", ""), page.api()
	if len(d.wards) == 0 {
		page.Failed = "There is no forecast yet."
		return
	}
	page.asOf = d.asOf
	all := newOutlook(&d.wards[0])
	chosen := all
	for i := range d.wards {
		if d.wards[i].Ward == page.Ward {
			chosen = newOutlook(&d.wards[i])
		}
	}
	page.configured = map[string]int{}
	for i := range d.wards {
		if w := &d.wards[i]; len(w.Exceed) > 0 {
			page.configured[w.Ward] = w.Exceed[0].Beds
		}
	}
	page.table(d.wards)
	page.windows()
	page.lead(&chosen)
	page.Hours = newFan(page, d.hours, chosen.Calibrated)
	page.remarks(&all)
}

// noHistory is the beds_version of forecasts that rest on no history of the site.
const noHistory = "generic"

// remarks says what to know of the count.
func (page *bedsPage) remarks(all *outlook) {
	n := all.Waiting.Patients
	page.Nobody, page.Stale = n == 0, all.OutcomesStale
	page.Sub = "From the " + plural(n, "patient") + " now waiting"
	switch generic := all.BedsVersion == noHistory; {
	case n == 0 && generic:
		page.Sub = "Nobody waiting"
	case n == 0:
		page.Sub = "Nobody waiting. Expected arrivals only"
	case !page.Waiting && !generic:
		page.Sub += " and those still expected"
	}
	page.Sub += "."
	if all.BedsVersion == noHistory {
		page.Sub += " There is no history of this site yet: those still to come are not counted."
	}
	if all.Abstained > 0 {
		page.Remarks = append(page.Remarks, "Not predicted: "+grouped(all.Abstained)+" of those waiting, who count with the average of their complaint.")
	}
	if all.TimedOut > 0 {
		page.Remarks = append(page.Remarks, plural(all.TimedOut, "patient")+" left the count since yesterday, having waited too long without an outcome.")
	}
	switch age := page.now.Sub(page.asOf); {
	case !page.At.IsZero():
		page.Not = page.asOf.In(page.zone).Format("2 Jan 2006 15:04")
	case age > bedsOld:
		page.Old = page.clock(page.asOf)
	}
}

// checkedWindows are those whose ranges are compared with what came.
var checkedWindows = []time.Duration{4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

// windows fills in the choice of windows.
func (page *bedsPage) windows() {
	for _, d := range checkedWindows {
		value := short(d)
		if d == httpapi.DefaultWindow {
			value = ""
		}
		page.Windows = append(page.Windows, choice{page.linkTo("/beds", "window", value), page.by(d), d == page.Window})
	}
	spans := []time.Duration{time.Hour, 2 * time.Hour, 4 * time.Hour, 6 * time.Hour, 8 * time.Hour, 12 * time.Hour, 16 * time.Hour, 24 * time.Hour, 48 * time.Hour}
	if !slices.Contains(spans, page.Window) {
		spans = append(spans, page.Window)
		slices.Sort(spans)
	}
	for _, d := range spans {
		page.Spans = append(page.Spans, choice{short(d), spelled(d) + " (by " + page.by(d) + ")", d == page.Window})
	}
}

// freeOf returns the free beds of a ward: those that were typed, or that the configuration names. Those of all are the sum if each
// ward has its own.
func (page *bedsPage) freeOf(ward string) (n int, known bool) {
	if n, known = page.free[ward]; !known {
		n, known = page.configured[ward]
	}
	if known || ward != msg.AllWards || len(page.Wards) == 0 {
		return n, known
	}
	for _, w := range page.Wards {
		beds, known := page.freeOf(w.Name)
		if !known {
			return 0, false
		}
		n += beds
	}
	return n, true
}

// table fills in the wards, the likeliest shortage first, and the text of the huddle.
func (page *bedsPage) table(list []msg.BedDemand) {
	for i := range list[1:] {
		o := newOutlook(&list[i+1])
		free, _ := page.freeOf(o.Ward)
		page.Most = max(page.Most, o.Total.Interval95[1], free)
	}
	lines := map[string]huddleLine{}
	for i := range list[1:] {
		o := newOutlook(&list[i+1])
		page.Wards = append(page.Wards, page.row(&o))
		lines[o.Ward] = page.line(&o)
	}
	slices.SortStableFunc(page.Wards, func(a, b wardRow) int {
		return cmp.Or(cmp.Compare(b.chance, a.chance), cmp.Compare(b.mean, a.mean))
	})
	for _, w := range page.Wards {
		page.Huddle = append(page.Huddle, lines[w.Name])
	}
	all := newOutlook(&list[0])
	page.Huddle = append(page.Huddle, page.line(&all))
	page.FreeAll = page.typed[msg.AllWards]
	if n, known := page.freeOf(msg.AllWards); known && page.FreeAll == "" {
		page.FreeAll = strconv.Itoa(n)
	}
}

func (page *bedsPage) row(o *outlook) wardRow {
	w := wardRow{
		Name: o.Ward, Href: page.linkTo("/beds", "ward", o.Ward), Here: tenth(o.Waiting.Mean), Expect: tenth(o.Total.Mean), Likely: "–", Chance: "–",
		Typed: page.typed[o.Ward], Error: page.Errors["free."+o.Ward], Selected: o.Ward == page.Ward, Strip: page.strip(o), chance: -1, mean: o.Total.Mean,
	}
	if o.Calibrated {
		w.Likely = ranged(o.Total.Interval80)
	}
	if n, known := page.freeOf(o.Ward); known {
		if w.Typed == "" {
			w.Typed = strconv.Itoa(n)
		}
		w.chance = o.total.Exceed(n)
		w.Chance, w.Warn = percent(w.chance)+" %", w.chance >= warnFrom
	}
	return w
}

// tenth returns an expected number of beds.
func tenth(v float64) string { return strconv.FormatFloat(v, 'f', 1, 64) }

// ranged returns an interval of counts.
func ranged(i [2]int) string {
	if i[0] == i[1] {
		return strconv.Itoa(i[0])
	}
	return fmt.Sprintf("%d to %d", i[0], i[1])
}

// likely is the probability that planning for a ward's 90th percentile suffices.
const likely = 0.9

// huddleLine is a ward in one line, as it is read out in a huddle.
type huddleLine struct{ Name, Text string }

func (page *bedsPage) line(o *outlook) huddleLine {
	name := o.Ward
	if name == msg.AllWards {
		name = "All wards"
	}
	text := fmt.Sprintf(": %.0f expected by %s", o.Total.Mean, page.by(page.Window))
	if o.Calibrated {
		text += fmt.Sprintf(", plan for %d (9 in 10)", o.total.Quantile(likely))
	}
	text += fmt.Sprintf(", %.0f of those already here", o.Waiting.Mean)
	if o.UsualMean.Set {
		text += fmt.Sprintf(", usual %.0f", o.UsualMean.Value)
	}
	if n, known := page.freeOf(o.Ward); known {
		text += fmt.Sprintf("; more than %d: %s %%", n, percent(o.total.Exceed(n)))
	}
	return huddleLine{name, text + "."}
}

// lead fills in the answer about a ward, or all.
func (page *bedsPage) lead(o *outlook) {
	l := &lead{
		By: page.by(page.Window), Expect: plural(int(math.Round(o.Total.Mean)), "bed"), Counted: page.clock(page.asOf) + " " + page.asOf.In(page.zone).Format("MST"),
		At: page.asOf.UnixMilli(),
	}
	if o.Ward != msg.AllWards {
		l.Where, page.AllWards = o.Ward, page.linkTo("/beds", "ward", "")
	}
	if o.UsualMean.Set {
		l.Usual = number(o.UsualMean.Value, 0)
	}
	c := o.Coverage80
	switch {
	case o.Calibrated:
		l.Likely = ranged(o.Total.Interval80)
		l.Trust = fmt.Sprintf("“Most likely” means 8 times in 10. The range held in %s %% of the last %d forecasts.", percent(c.Share), c.N)
	case !slices.Contains(checkedWindows, page.Window):
		l.Trust = "No range is shown: only forecasts for 4, 8 and 24 hours are compared with what came."
	case c.N < beds.CalibrationWindow:
		l.Trust = fmt.Sprintf("No range is shown yet, and the chances are not yet checked: %d of %d forecasts have been compared with what came.", c.N, beds.CalibrationWindow)
	default:
		l.Trust = fmt.Sprintf("No range is shown: it held in %s %% of the last %d forecasts, too far from 80 %%. Take the chances with care.", percent(c.Share), c.N)
	}
	free, known := page.freeOf(o.Ward)
	if known {
		p := o.total.Exceed(free)
		l.Free, l.Chance, l.Short = strconv.Itoa(free), percent(p), p >= warnFrom
	} else {
		free = -1
	}
	if o.Ward == msg.AllWards {
		l.Tightest = page.tightest()
	}
	l.Wide, l.Narrow = newDots(o, free, l.By, wideDots), newDots(o, free, l.By, narrowDots)
	page.Lead = l
}

// mostTight bounds the wards that the answer names.
const mostTight = 3

// tightest returns the wards that will probably be short, or else the one that is nearest to it.
func (page *bedsPage) tightest() (tight []wardRow) {
	for _, w := range page.Wards {
		if w.chance < 0 || len(tight) == mostTight || len(tight) > 0 && !w.Warn {
			break
		}
		tight = append(tight, w)
	}
	return tight
}

// LinkTo returns the address of the page with one of its parameters changed, or left out if the value is empty.
func (page *bedsPage) LinkTo(name, value string) string { return page.linkTo("/beds", name, value) }

// Moment returns the chosen moment as the browser's field writes it, "" for now.
func (page *bedsPage) Moment() string {
	if page.At.IsZero() {
		return ""
	}
	return page.At.In(page.zone).Format(momentLayout)
}
