package beds

import (
	"cmp"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
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
	site       *Clock
	now        time.Time
	asOf       time.Time
	Failed     string         // why there is no forecast
	configured map[string]int // free beds of wards that the forecasts come with, for those that nobody typed

	Sub       string // below the heading
	Stale     bool   // outcomes do not come
	Old       bool   // the count was made long ago
	Not       string // the moment, if it is not now
	ToCome    bool   // the moment is to come
	Came      bool   // the window is over, and it is known what came
	Over      bool   // the window is over
	Windows   []frame.Choice
	Spans     []frame.Choice // windows of the form
	History   *past
	Link      string // address of this moment
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
	Came, Verdict                           string // what came, and whether the range had it
	Warn, Some                              bool   // of the chance: a shortage is likely, or not unlikely
	Tightest                                []wardRow
	Trust, Counted, Usual                   string
	At                                      int64 // milliseconds
	Wide, Narrow                            *chart.Chart
}

type wardRow struct {
	Name, Href, Here, Expect, Likely, Chance string
	Why                                      string // there is no range, or what it is worth
	Came, Verdict                            string
	Typed, Usual, Error                      string // Usual are the free beds if nobody types
	Selected, Missed, Warn, Some             bool
	Width                                    float64 // of the chance, of 100
	Strip                                    template.HTML

	chance, mean float64 // chance is −1 if it is unknown
	line         huddleLine
}

type outlook struct {
	httpapi.Forecast
	total forecast.Distribution
}

func newOutlook(f httpapi.Forecast) outlook {
	return outlook{f, forecast.Distribution{Offset: f.Total.PMF.Offset, P: f.Total.PMF.P}}
}

// trust returns whether the range may be shown, and in a few words why not or what it is worth, "" if it was checked.
func (o *outlook) trust() (shown bool, why string) {
	switch {
	case o.BedsVersion == noHistory:
		return false, "no history"
	case o.Calibrated:
		return true, ""
	case o.Coverage80.N >= forecast.CalibrationWindow:
		return false, "held in " + frame.Percent(o.Coverage80.Share) + " %"
	}
	return true, "unchecked"
}

// verdict says whether a range had what came.
func verdict(low, high, came int) string {
	switch {
	case came < low:
		return "missed by " + strconv.Itoa(low-came)
	case came > high:
		return "missed by " + strconv.Itoa(came-high)
	}
	return "held"
}

// needed says what came.
func needed(n int) string { return wording.Count(n, "was needed", "were needed") }

// The chances of a shortage from which a ward has a warning, and from which it stands out.
const (
	warnFrom = 0.5
	someFrom = 0.1
)

func (page *view) clock(t time.Time) string { return t.In(page.site.Zone).Format(clockLayout) }

// by returns the end of a window to the minute, with its day unless that is the day of the count.
func (page *view) by(window time.Duration) string {
	from, to := page.asOf.In(page.site.Zone), page.asOf.Add(window).Round(time.Minute).In(page.site.Zone)
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
	if len(d.wards) == 0 {
		page.Failed = "There is no forecast yet."
		return
	}
	page.asOf, page.Window = d.asOf, d.window
	chosen := &d.wards[0]
	page.configured = map[string]int{}
	for i := range d.wards {
		o := &d.wards[i]
		if o.Ward == page.Ward {
			chosen = o
		}
		if len(o.Exceed) > 0 {
			page.configured[o.Ward] = o.Exceed[0].Beds
		}
	}
	page.Came = chosen.Came != nil && !page.At.IsZero()
	page.CSV, page.JSON = frame.Address(csvPath, page.address()), page.api()
	page.Link = page.LinkTo("at", page.asOf.UTC().Format(time.RFC3339))
	if page.Ahead == 0 {
		page.Link = page.LinkTo("at", page.asOf.UTC().Format(time.RFC3339), "by", page.clock(page.end()))
	}
	page.table(&d.wards[0], d.wards[1:])
	page.ends()
	page.spans()
	page.lead(chosen)
	shown, _ := chosen.trust()
	page.Hours = newFan(page, d.hours, shown)
	page.History = newPast(page, d.history)
	page.remarks(&d.wards[0])
}

// end returns when the window ends, to the minute.
func (page *view) end() time.Time { return page.asOf.Add(page.Window).Round(time.Minute) }

const noHistory = "generic" // the beds_version of forecasts that rest on no history of the site

func (page *view) remarks(all *outlook) {
	n := all.Waiting.Patients
	switch age := page.now.Sub(page.asOf); {
	case !page.At.IsZero():
		page.Over = age >= page.Window
		page.Not, page.ToCome = page.asOf.In(page.site.Zone).Format("2 Jan 2006 15:04"), age < 0
	case age > oldAfter:
		page.Old = true
	}
	page.Stale = all.OutcomesStale
	page.Sub = "From the " + wording.Count(n, "patient") + " now waiting"
	if page.Not != "" && !page.ToCome {
		page.Sub = "From the " + wording.Count(n, "patient") + " who waited then"
	}
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
	if n, known := page.freeOf(msg.AllWards); known {
		page.FreeAll = strconv.Itoa(n)
	}
}

func (page *view) row(o *outlook) wardRow {
	w := wardRow{
		Name: o.Ward, Href: page.LinkTo("ward", o.Ward), Here: wording.Fixed(o.Waiting.Mean, 1),
		Expect: wording.Fixed(o.Total.Mean, 1), Likely: frame.Unknown, Chance: frame.Unknown,
		Typed: page.TypedFree[o.Ward], Error: page.Errors["free."+o.Ward], Selected: o.Ward == page.Ward,
		Strip: page.strip(o), chance: -1, Width: -1, mean: o.Total.Mean, line: page.line(o),
	}
	shown, why := o.trust()
	if w.Why = why; shown {
		w.Likely = ranged(o.Total.Interval80)
	}
	if n, known := page.freeOf(o.Ward); known {
		w.Usual, w.chance = strconv.Itoa(n), o.total.Exceed(n)
		w.Chance, w.Width = frame.Percent(w.chance)+" %", 100*w.chance
		w.Warn, w.Some = w.chance >= warnFrom, w.chance >= someFrom
	}
	if o.Came != nil {
		w.Came = strconv.Itoa(*o.Came)
		if shown {
			w.Verdict = verdict(o.Total.Interval80[0], o.Total.Interval80[1], *o.Came)
			w.Missed = w.Verdict != "held"
		}
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
	if shown, why := o.trust(); shown && why == "" {
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
		Counted: page.clock(page.asOf), At: page.asOf.UnixMilli(),
	}
	if o.Ward != msg.AllWards {
		l.Where, page.AllWards = o.Ward, page.LinkTo("ward", "")
	}
	if o.UsualMean.Set {
		l.Usual = wording.Short(o.UsualMean.Value, 0)
	}
	shown, _ := o.trust()
	if shown {
		l.Likely = ranged(o.Total.Interval80)
	}
	l.Trust = page.trusted(o)
	if page.Came {
		if l.Came = needed(*o.Came); shown {
			l.Verdict = "The range " + verdict(o.Total.Interval80[0], o.Total.Interval80[1], *o.Came) + "."
			l.Verdict = strings.Replace(l.Verdict, "missed", "was missed", 1)
		}
	}
	free, known := page.freeOf(o.Ward)
	if known && !page.Came {
		chance := o.total.Exceed(free)
		l.Free, l.Chance = strconv.Itoa(free), frame.Percent(chance)
		l.Warn, l.Some = chance >= warnFrom, chance >= someFrom
	} else {
		free = -1
	}
	if o.Ward == msg.AllWards && !page.Came {
		l.Tightest = page.tightest()
	}
	l.Wide, l.Narrow = newDots(o, free, l.By, wideDots), newDots(o, free, l.By, narrowDots)
	page.Lead = l
}

// trusted says what the range of the answer is worth.
func (page *view) trusted(o *outlook) string {
	c := o.Coverage80
	_, judged := forecast.Judge(page.Window)
	switch shown, _ := o.trust(); {
	case o.BedsVersion == noHistory:
		return "No range is shown: there is no history of this site yet."
	case o.Calibrated:
		return fmt.Sprintf("“Most likely” means 8 times in 10. The range held in %s %% of the last %d forecasts.",
			frame.Percent(c.Share), c.N)
	case !shown:
		return fmt.Sprintf("No range is shown: it held in %s %% of the last %d forecasts, too far from 80 %%. "+
			"Take the chances with care.", frame.Percent(c.Share), c.N)
	case page.Waiting:
		return "The range is unchecked: only forecasts of all patients are compared with what came."
	case !judged:
		return "The range is unchecked: only forecasts for about 4, 8 and 24 hours are compared with what came."
	}
	return fmt.Sprintf("The range and the chances are unchecked: %d of %d forecasts have been compared with what came.",
		c.N, forecast.CalibrationWindow)
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
	return page.At.In(page.site.Zone).Format(momentLayout)
}
