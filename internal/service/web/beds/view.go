package beds

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	forecast "github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

type view struct {
	*query
	zone       *time.Location
	now        time.Time
	asOf       time.Time
	Failed     string         // why there is no forecast
	configured map[string]int // free beds of wards that the forecasts come with, for those that nobody typed

	Sub       string // below the heading
	Stale     bool   // outcomes do not come
	Old       bool   // the count was made long ago
	Not       string // the moment, if it is not now
	Windows   []frame.Choice
	Spans     []frame.Choice // windows of the form
	Lead      *lead
	Wards     []wardRow
	Most      int // beds, at the end of the strips
	Hours     *fan
	Huddle    []huddleLine
	Remarks   []string
	CSV, JSON string
	AllWards  string // address of all wards together, if the page is about one
	FreeAll   string
}

// lead is the sentence that answers, with its dots.
type lead struct {
	Where, By, Expect, Likely, Free, Chance string
	Tightest                                []wardRow
	Trust, Counted, Usual                   string
	At                                      int64 // milliseconds
	Wide, Narrow                            *chart.Chart
}

type wardRow struct {
	Name, Href, Here, Expect, Likely, Chance string
	Typed, Error                             string
	Selected, Warn                           bool
	Strip                                    template.HTML

	chance, mean float64 // chance is −1 if it is unknown
	line         huddleLine
}

type outlook struct {
	*msg.BedDemand
	total forecast.Distribution
}

func newOutlook(b *msg.BedDemand) outlook {
	return outlook{b, forecast.Distribution{Offset: b.Total.PMF.Offset, P: b.Total.PMF.P}}
}

const warnFrom = 0.5 // the chance of a shortage from which a ward has a warning

func (page *view) clock(t time.Time) string { return t.In(page.zone).Format("15:04") }

// by returns the end of a window, with its day unless that is the day of the count.
func (page *view) by(window time.Duration) string {
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

func (page *view) fill(d *demanded) {
	page.CSV, page.JSON = frame.Address("/beds.csv", page.address()), page.api()
	if len(d.wards) == 0 {
		page.Failed = "There is no forecast yet."
		return
	}
	page.asOf = d.asOf
	outlooks := make([]outlook, len(d.wards))
	chosen := &outlooks[0]
	page.configured = map[string]int{}
	for i := range d.wards {
		o := &outlooks[i]
		if *o = newOutlook(&d.wards[i]); o.Ward == page.Ward {
			chosen = o
		}
		if len(o.Exceed) > 0 {
			page.configured[o.Ward] = o.Exceed[0].Beds
		}
	}
	page.table(&outlooks[0], outlooks[1:])
	page.windows()
	page.lead(chosen)
	page.Hours = newFan(page, d.hours, chosen.Calibrated)
	page.remarks(&outlooks[0])
}

const noHistory = "generic" // the beds_version of forecasts that rest on no history of the site

func (page *view) remarks(all *outlook) {
	n := all.Waiting.Patients
	page.Stale = all.OutcomesStale
	page.Sub = "From the " + wording.Count(n, "patient") + " now waiting"
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
		page.Remarks = append(page.Remarks,
			"Not predicted: "+frame.Grouped(all.Abstained)+
				" of those waiting, who count with the average of their complaint.")
	}
	if all.TimedOut > 0 {
		page.Remarks = append(page.Remarks, wording.Count(all.TimedOut, "patient")+
			" left the count since yesterday, having waited too long without an outcome.")
	}
	switch age := page.now.Sub(page.asOf); {
	case !page.At.IsZero():
		page.Not = page.asOf.In(page.zone).Format("2 Jan 2006 15:04")
	case age > oldAfter:
		page.Old = true
	}
}

// checkedWindows are those whose ranges are compared with what came.
var checkedWindows = []time.Duration{4 * time.Hour, 8 * time.Hour, 24 * time.Hour}

func (page *view) windows() {
	for _, d := range checkedWindows {
		value := short(d)
		if d == httpapi.DefaultWindow {
			value = ""
		}
		page.Windows = append(page.Windows,
			frame.Choice{Name: page.LinkTo("window", value), Label: page.by(d), Current: d == page.Window})
	}
	spans := []time.Duration{page.Window}
	for _, hours := range []int{1, 2, 4, 6, 8, 12, 16, 24, 48} {
		spans = append(spans, time.Duration(hours)*time.Hour)
	}
	slices.Sort(spans)
	for _, d := range slices.Compact(spans) {
		label := spelled(d) + " (by " + page.by(d) + ")"
		page.Spans = append(page.Spans, frame.Choice{Name: short(d), Label: label, Current: d == page.Window})
	}
}

// freeOf returns the free beds of a ward as typed or configured; of all wards, the sum if each has its own.
func (page *view) freeOf(ward string) (n int, known bool) {
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
func (page *view) table(all *outlook, wards []outlook) {
	for i := range wards {
		free, _ := page.freeOf(wards[i].Ward)
		page.Most = max(page.Most, wards[i].Total.Interval95[1], free)
	}
	for i := range wards {
		page.Wards = append(page.Wards, page.row(&wards[i]))
	}
	slices.SortStableFunc(page.Wards, func(a, b wardRow) int {
		return cmp.Or(cmp.Compare(b.chance, a.chance), cmp.Compare(b.mean, a.mean))
	})
	for _, w := range page.Wards {
		page.Huddle = append(page.Huddle, w.line)
	}
	page.Huddle = append(page.Huddle, page.line(all))
	page.FreeAll = page.typed[msg.AllWards]
	if n, known := page.freeOf(msg.AllWards); known && page.FreeAll == "" {
		page.FreeAll = strconv.Itoa(n)
	}
}

func (page *view) row(o *outlook) wardRow {
	w := wardRow{
		Name: o.Ward, Href: page.LinkTo("ward", o.Ward), Here: wording.Fixed(o.Waiting.Mean, 1),
		Expect: wording.Fixed(o.Total.Mean, 1), Likely: frame.Unknown, Chance: frame.Unknown,
		Typed: page.typed[o.Ward], Error: page.Errors["free."+o.Ward], Selected: o.Ward == page.Ward,
		Strip: page.strip(o), chance: -1, mean: o.Total.Mean, line: page.line(o),
	}
	if o.Calibrated {
		w.Likely = ranged(o.Total.Interval80)
	}
	if n, known := page.freeOf(o.Ward); known {
		if w.Typed == "" {
			w.Typed = strconv.Itoa(n)
		}
		w.chance = o.total.Exceed(n)
		w.Chance, w.Warn = frame.Percent(w.chance)+" %", w.chance >= warnFrom
	}
	return w
}

func ranged(i [2]int) string {
	if i[0] == i[1] {
		return strconv.Itoa(i[0])
	}
	return fmt.Sprintf("%d to %d", i[0], i[1])
}

const likely = 0.9 // the probability that planning for a ward's 90th percentile suffices

// huddleLine is a ward in one line, as it is read out in a huddle.
type huddleLine struct{ Name, Text string }

func (page *view) line(o *outlook) huddleLine {
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
		text += fmt.Sprintf("; more than %d: %s %%", n, frame.Percent(o.total.Exceed(n)))
	}
	return huddleLine{name, text + "."}
}

func (page *view) lead(o *outlook) {
	l := &lead{
		By: page.by(page.Window), Expect: wording.Count(int(math.Round(o.Total.Mean)), "bed"),
		Counted: page.clock(page.asOf) + " " + page.asOf.In(page.zone).Format("MST"), At: page.asOf.UnixMilli(),
	}
	if o.Ward != msg.AllWards {
		l.Where, page.AllWards = o.Ward, page.LinkTo("ward", "")
	}
	if o.UsualMean.Set {
		l.Usual = wording.Short(o.UsualMean.Value, 0)
	}
	c := o.Coverage80
	switch {
	case o.Calibrated:
		l.Likely = ranged(o.Total.Interval80)
		l.Trust = fmt.Sprintf("“Most likely” means 8 times in 10. The range held in %s %% of the last %d forecasts.",
			frame.Percent(c.Share), c.N)
	case !slices.Contains(checkedWindows, page.Window):
		l.Trust = "No range is shown: only forecasts for 4, 8 and 24 hours are compared with what came."
	case c.N < forecast.CalibrationWindow:
		l.Trust = fmt.Sprintf("No range is shown yet, and the chances are not yet checked: "+
			"%d of %d forecasts have been compared with what came.", c.N, forecast.CalibrationWindow)
	default:
		l.Trust = fmt.Sprintf("No range is shown: it held in %s %% of the last %d forecasts, too far from 80 %%. "+
			"Take the chances with care.", frame.Percent(c.Share), c.N)
	}
	free, known := page.freeOf(o.Ward)
	if known {
		l.Free, l.Chance = strconv.Itoa(free), frame.Percent(o.total.Exceed(free))
	} else {
		free = -1
	}
	if o.Ward == msg.AllWards {
		l.Tightest = page.tightest()
	}
	l.Wide, l.Narrow = newDots(o, free, l.By, wideDots), newDots(o, free, l.By, narrowDots)
	page.Lead = l
}

const mostTight = 3 // bounds the wards that the answer names

func (page *view) tightest() (tight []wardRow) {
	for _, w := range page.Wards {
		if w.chance < 0 || len(tight) == mostTight || len(tight) > 0 && !w.Warn {
			break
		}
		tight = append(tight, w)
	}
	return tight
}

// Moment returns the chosen moment as the browser's field writes it, "" for now.
func (page *view) Moment() string {
	if page.At.IsZero() {
		return ""
	}
	return page.At.In(page.zone).Format(momentLayout)
}
