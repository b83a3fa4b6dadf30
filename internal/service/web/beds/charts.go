package beds

import (
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"time"

	forecast "github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
)

type dotsSize struct {
	class         string
	width, height float64
	columns       int // at most
	radius        float64
}

var (
	wideDots   = dotsSize{class: "wide", width: 560, height: 190, columns: 24, radius: 13}
	narrowDots = dotsSize{class: "narrow", width: 340, height: 160, columns: 17, radius: 9}
)

const outcomes = 20 // the number of dots: few enough to be counted at a glance (Kay et al. 2016, CHI).

// newDots draws a distribution as equally likely counts, those above the free beds (−1: unknown) as rings.
func newDots(o *outlook, free int, by string, size dotsSize) *chart.Chart {
	var counts [outcomes]int
	short := 0
	for i := range counts {
		counts[i] = o.total.Quantile((float64(i) + 0.5) / outcomes)
		if free >= 0 && counts[i] > free {
			short++
		}
	}
	low, high := max(0, counts[0]-1), counts[outcomes-1]+1
	if free >= 0 {
		low, high = max(0, min(low, free)), max(high, free+1)
	}
	if o.Came != nil {
		low, high = min(low, *o.Came), max(high, *o.Came)
	}
	wide := (high-low)/size.columns + 1 // counts in a column
	if free >= 0 {
		low -= ((low-free-1)%wide + wide) % wide // so that no column holds both
	}
	columns := (high-low)/wide + 1
	heights := make([]int, columns)
	for _, n := range counts {
		heights[(n-low)/wide]++
	}
	c := &chart.Chart{
		Title: "Beds needed by " + by + ", as 20 equally likely outcomes",
		Desc:  fmt.Sprintf("Middle %d.", o.Total.Median),
		Class: size.class, Width: size.width, Height: size.height, Left: 12, Right: 12, Top: 44, Bottom: 46,
		X: chart.Span{From: -0.5, To: float64(columns) - 0.5}, Y: chart.Span{To: size.height - 44 - 46}, // of y: pixels
	}
	if shown, _ := o.trust(); shown {
		c.Desc += " 8 in 10 chance of " + ranged(o.Total.Interval80) + "."
	}
	if free >= 0 {
		c.Desc += fmt.Sprintf(" %d of 20 outcomes need more than the %d free beds.", short, free)
	}
	stack(c, heights, size.radius, func(column int) bool { return free >= 0 && low+column*wide > free })
	var ticks []chart.Tick
	room := labelWidth
	if wide > 1 {
		room = rangeWidth
	}
	apart := int(math.Ceil(room / columnWidth(c)))
	for i := 0; i < columns; i += apart {
		label := strconv.Itoa(low + i*wide)
		if wide > 1 {
			label += "–" + strconv.Itoa(low+(i+1)*wide-1)
		}
		if low+i*wide < 0 {
			label = "0–" + strconv.Itoa(low+wide-1)
		}
		ticks = append(ticks, chart.Tick{At: float64(i), Label: label})
	}
	c.AxisX("Beds needed by "+by+" (each dot is 1 chance in 20)", ticks...)
	if o.Came != nil {
		at := chart.At(float64(min(max(*o.Came, low), high)-low)/float64(wide), c.Y.To)
		c.Line("limit", chart.At(at.X, 0), at)
		c.Label("strong mid", at, chart.At(0, -12), needed(*o.Came))
	}
	if free >= 0 {
		end := float64(free+1-low)/float64(wide) - 0.5
		c.Line("mark", chart.At(end, 0), chart.At(end, c.Y.To))
		sides(c, chart.At(end, c.Y.To), free, short)
	}
	return c
}

// sides writes what the dots on either side of the free beds mean, on the side that has room for it.
func sides(c *chart.Chart, end chart.Point, free, short int) {
	const room = 140 // pixels
	x := c.Place(end).X
	if x >= room {
		c.Label("strong end", end, chart.At(-8, -12), "enough with "+strconv.Itoa(free))
	}
	switch {
	case x < room:
		c.Label("strong over", end, chart.At(8, -12), fmt.Sprintf("short with %d: %d in 20", free, short))
	case c.Width-x >= room:
		c.Label("strong over", end, chart.At(8, -12), fmt.Sprintf("short: %d in 20", short))
	}
}

// columnWidth is the distance between two columns of dots, in pixels.
func columnWidth(c *chart.Chart) float64 {
	return c.Place(chart.At(1, 0)).X - c.Place(chart.At(0, 0)).X
}

// labelWidth and rangeWidth are the room in pixels that the label of a column takes: of one count, or of several.
const labelWidth, rangeWidth = 34.0, 56.0

// stack draws columns of dots, smaller if they would not fit.
func stack(c *chart.Chart, heights []int, radius float64, short func(column int) bool) {
	pitch := min(columnWidth(c), 2*radius+2, c.Y.To/float64(slices.Max(heights)))
	radius = pitch/2 - 1
	for column, n := range heights {
		for i := range n {
			at := chart.At(float64(column), 2+pitch*(float64(i)+0.5))
			if !short(column) {
				c.Dot("dot", at, radius)
				continue
			}
			c.Dot("ring", at, radius)
			c.Dot("hole", at, radius*holeShare)
		}
	}
}

const holeShare = 0.42 // the radius of the hole in a ring, as a share of that of the ring

// strip draws a ward's forecast in a row of the table: line 95 %, bar 80 %, dot the middle, tick the free beds.
func (page *view) strip(o *outlook) template.HTML {
	const stands = 0.009 // by which a bar stands out, so that one of a single count is seen; a share of the width
	most := float64(max(page.Most, 1))
	c := &chart.Chart{
		Class: "mini", Width: 232, Height: 30, Left: 4, Right: 4,
		X: chart.Span{To: most + 0.5}, Y: chart.Span{From: 30, To: 0},
	}
	c.Line("gr", chart.At(0, 15), chart.At(most+0.5, 15))
	if shown, why := o.trust(); shown {
		bar := "fd"
		if why != "" {
			bar += " soft"
		}
		c.Line("wide95", chart.At(float64(o.Total.Interval95[0]), 15), chart.At(float64(o.Total.Interval95[1]), 15))
		low, high := float64(o.Total.Interval80[0]), float64(o.Total.Interval80[1])
		c.Bar(bar, chart.At(low-stands*most, 10), chart.At(high+stands*most, 20))
	}
	c.Dot("open", chart.At(float64(o.Total.Median), 15), 3.5)
	if o.Came != nil {
		c.Dot("used", chart.At(float64(min(*o.Came, page.Most)), 15), 4)
	} else if n, known := page.freeOf(o.Ward); known {
		c.Line("mark", chart.At(float64(n)+0.5, 3), chart.At(float64(n)+0.5, 27))
	}
	return c.SVG()
}

type fan struct {
	*chart.Chart
	Ranges bool // whether ranges are shown
	Came   bool // what came is shown
	Rows   []fanRow
}

type fanRow struct {
	By                string
	Low, Middle, High int
	Why               string // the range is unchecked, or not shown
	Shown             bool
	Came              string
}

// bands are the quantiles of the bands, from the widest to the narrowest.
var bands = []struct {
	class     string
	low, high float64
}{{"b95", 0.025, 0.975}, {"b80", 0.1, 0.9}, {"b50", 0.25, 0.75}}

// newFan draws how the number of beds grows. Without ranges it draws the middle alone.
func newFan(page *view, hours []outlook, ranges bool) *fan {
	if len(hours) == 0 {
		return nil
	}
	f := &fan{Ranges: ranges}
	totals := []forecast.Distribution{{P: []float64{1}}} // nobody needs a bed within no time
	windows := []time.Duration{0}
	most := 1
	came := []chart.Point{chart.At(0, 0)}
	for i := range hours {
		o := &hours[i]
		totals, windows = append(totals, o.total), append(windows, time.Duration(o.HorizonHours*float64(time.Hour)))
		most = max(most, o.total.Quantile(bands[0].high))
		if o.Came != nil {
			most = max(most, *o.Came)
			came = append(came, chart.At(o.HorizonHours, float64(*o.Came)))
		}
	}
	free, known := page.freeOf(page.Ward)
	known = known && !page.Came
	end := windows[len(windows)-1]
	if known {
		most = max(most, free+1)
	}
	f.Chart = &chart.Chart{
		Class: "fan", Width: 456, Height: 300, Left: 32, Right: 58, Top: 14, Bottom: 28,
		X: chart.Span{To: end.Hours()}, Y: chart.Span{To: float64(most)},
	}
	f.AxisY("", f.Y.Ticks(8, 1)...)
	curve := func(q float64) (points []chart.Point) {
		for i := range totals {
			points = append(points, chart.At(windows[i].Hours(), float64(totals[i].Quantile(q))))
		}
		return points
	}
	if ranges {
		for _, b := range bands {
			f.Band(b.class, curve(b.high), curve(b.low))
		}
	}
	f.Line("med", curve(0.5)...)
	if f.Came = len(came) > 1 && !page.At.IsZero(); f.Came {
		f.Line("run", came...)
		for _, at := range came[1:] {
			f.Dot("used", at, 3.5)
		}
	}
	if known {
		f.Line("limit", chart.At(0, float64(free)), chart.At(end.Hours(), float64(free)))
		f.Label("strong", chart.At(0, float64(free)), chart.At(6, -6), wording.Count(free, "bed")+" free")
	}
	f.ends(&totals[len(totals)-1])
	f.Line("now", chart.At(page.Window.Hours(), 0), chart.At(page.Window.Hours(), float64(most)))
	ticks := []chart.Tick{{Label: "now"}}
	if !page.At.IsZero() {
		ticks[0].Label = page.clock(page.asOf)
	}
	for i := 2; i < len(windows); i += 2 {
		ticks = append(ticks, chart.Tick{At: windows[i].Hours(), Label: page.clock(page.asOf.Add(windows[i]))})
	}
	f.AxisX("", ticks...)
	for i := range hours {
		t := &totals[i+1]
		row := fanRow{
			By: page.by(windows[i+1]), Low: t.Quantile(bands[1].low), Middle: t.Quantile(0.5),
			High: t.Quantile(bands[1].high), Came: frame.Unknown,
		}
		if row.Shown, row.Why = hours[i].trust(); hours[i].Came != nil {
			row.Came = strconv.Itoa(*hours[i].Came)
		}
		f.Rows = append(f.Rows, row)
	}
	last := f.Rows[len(f.Rows)-1]
	f.Title, f.Desc = "Beds needed over the next "+spelled(end),
		fmt.Sprintf("By %s %d beds in the middle.", last.By, last.Middle)
	if ranges {
		f.Desc += fmt.Sprintf(" 8 in 10 chance of %d to %d.", last.Low, last.High)
	}
	return f
}

// ends writes the last values at the right, kept apart.
func (f *fan) ends(last *forecast.Distribution) {
	const apart = 15 // pixels
	at := f.Place(chart.At(f.X.To, float64(last.Quantile(0.5))))
	x, middle := at.X+8, at.Y+4
	f.Text("strong", chart.At(x, middle), strconv.Itoa(last.Quantile(0.5)))
	if !f.Ranges {
		return
	}
	low, high := last.Quantile(bands[1].low), last.Quantile(bands[1].high)
	f.Text("", chart.At(x, min(f.Place(chart.At(0, float64(high))).Y+4, middle-apart)), strconv.Itoa(high)+" high")
	f.Text("", chart.At(x, max(f.Place(chart.At(0, float64(low))).Y+4, middle+apart)), strconv.Itoa(low)+" low")
}
