package web

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
)

// dotsSize is the size of the chart of dots.
type dotsSize struct {
	id, class     string
	width, height float64
	columns       int // at most
	radius        float64
}

var (
	wideDots   = dotsSize{"dw", "wide", 560, 190, 24, 13}
	narrowDots = dotsSize{"dn", "narrow", 340, 160, 17, 9}
)

// outcomes is the number of dots: few enough to be counted at a glance (Kay et al. 2016, CHI).
const outcomes = 20

// newDots draws a distribution as equally likely counts, those above the free beds as rings. free is −1 if it is unknown.
func newDots(o *outlook, free int, by string, size dotsSize) *plot {
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
	wide := (high-low)/size.columns + 1 // counts in a column
	if free >= 0 {
		low -= ((low-free-1)%wide + wide) % wide // so that no column holds both
	}
	columns := (high-low)/wide + 1
	heights := make([]int, columns)
	for _, n := range counts {
		heights[(n-low)/wide]++
	}
	p := &plot{
		ID: size.id, Class: size.class, Title: "Beds needed by " + by + ", as 20 equally likely outcomes", Width: size.width, Height: size.height,
		left: 12, right: 12, top: 44, bottom: 46, x: span{-0.5, float64(columns) - 0.5}, y: span{0, 1},
	}
	p.Desc = fmt.Sprintf("Middle %d.", o.Total.Median)
	if o.Calibrated {
		p.Desc += " 8 in 10 chance of " + ranged(o.Total.Interval80) + "."
	}
	if free >= 0 {
		p.Desc += fmt.Sprintf(" %d of 20 outcomes need more than the %d free beds.", short, free)
	}
	p.stack(heights, size.radius, func(column int) bool { return free >= 0 && low+column*wide > free })
	var ticks []tick
	room := labelWidth
	if wide > 1 {
		room = rangeWidth
	}
	apart := int(math.Ceil(room / (p.atX(1) - p.atX(0))))
	for i := 0; i < columns; i += apart {
		label := strconv.Itoa(low + i*wide)
		if wide > 1 {
			label += "–" + strconv.Itoa(low+(i+1)*wide-1)
		}
		if low+i*wide < 0 {
			label = "0–" + strconv.Itoa(low+wide-1)
		}
		ticks = append(ticks, tick{float64(i), label})
	}
	p.axisX(ticks, "Beds needed by "+by+" (each dot is 1 chance in 20)")
	if free >= 0 {
		at := float64(free+1-low)/float64(wide) - 0.5
		p.line("mark", point{at, 0}, point{at, 1})
		p.sides(p.atX(at), free, short)
	}
	return p
}

// sides writes what the dots on either side of the free beds mean, on the side that has room for it.
func (p *plot) sides(x float64, free, short int) {
	const room = 140 // pixels
	y := p.top - 12
	if x >= room {
		p.text("strong", "end", x-8, y, "enough with "+strconv.Itoa(free))
	}
	switch {
	case x < room:
		p.text("strong over", "start", x+8, y, fmt.Sprintf("short with %d: %d in 20", free, short))
	case p.Width-x >= room:
		p.text("strong over", "start", x+8, y, fmt.Sprintf("short: %d in 20", short))
	}
}

// labelWidth and rangeWidth are the room in pixels that the label of a column takes: of one count, or of several.
const labelWidth, rangeWidth = 34.0, 56.0

// stack draws columns of dots, smaller if they would not fit.
func (p *plot) stack(heights []int, radius float64, short func(column int) bool) {
	base, room := p.Height-p.bottom, p.Height-p.bottom-p.top
	pitch := min(p.atX(1)-p.atX(0), 2*radius+2, room/float64(slices.Max(heights)))
	radius = pitch/2 - 1
	for column, n := range heights {
		for i := range n {
			x, y := geometry(p.atX(float64(column))), geometry(base-2-pitch*(float64(i)+0.5))
			if !short(column) {
				p.Shapes = append(p.Shapes, shape{Class: "dot", X: x, Y: y, R: geometry(radius)})
				continue
			}
			p.Shapes = append(p.Shapes, shape{Class: "ring", X: x, Y: y, R: geometry(radius)}, shape{Class: "hole", X: x, Y: y, R: geometry(radius * holeShare)})
		}
	}
}

// holeShare is the radius of the hole in a ring, as a share of that of the ring.
const holeShare = 0.42

// strip is a ward's forecast in a row of the table, 232 wide: line 95 %, bar 80 %, dot the middle, tick the free beds.
type strip struct {
	Line, Bar        string // paths, empty if no range is shown
	Middle, End      string
	Free             string // "" if it is unknown
	Width, Thickness string
}

const (
	stripWidth = 232.0
	stripEdge  = 4.0
)

func (page *bedsPage) strip(o *outlook) strip {
	at := func(n float64) float64 { return stripEdge + n/float64(max(page.Most, 1))*(stripWidth-2*stripEdge) }
	s := strip{Middle: geometry(at(float64(o.Total.Median))), End: geometry(stripWidth - stripEdge)}
	if o.Calibrated {
		s.Line = fmt.Sprintf("M%s 15H%s", geometry(at(float64(o.Total.Interval95[0]))), geometry(at(float64(o.Total.Interval95[1]))))
		from, to := at(float64(o.Total.Interval80[0])), at(float64(o.Total.Interval80[1]))
		s.Bar = fmt.Sprintf("M%s 10H%sV20H%sZ", geometry(from-stripBar), geometry(to+stripBar), geometry(from-stripBar))
	}
	if n, known := page.freeOf(o.Ward); known {
		s.Free = geometry(at(float64(n) + 0.5))
	}
	return s
}

// stripBar is by how much a bar stands out, so that one of a single count is seen.
const stripBar = 2.0

// fan is the chart of the hours, and its table.
type fan struct {
	*plot
	Ranges bool // whether ranges are shown
	Rows   []fanRow
}

// fanRow is an hour of the table.
type fanRow struct {
	By                string
	Low, Middle, High int
}

// bands are the quantiles of the bands, from the widest to the narrowest.
var bands = []struct {
	class     string
	low, high float64
}{{"b95", 0.025, 0.975}, {"b80", 0.1, 0.9}, {"b50", 0.25, 0.75}}

// newFan draws how the number of beds grows. Without ranges it draws the middle alone.
func newFan(page *bedsPage, hours []msg.BedDemand, ranges bool) *fan {
	if len(hours) == 0 {
		return nil
	}
	f := &fan{Ranges: ranges}
	totals := []beds.Distribution{{P: []float64{1}}} // nobody needs a bed within no time
	windows := []time.Duration{0}
	most := 1
	for i := range hours {
		o := newOutlook(&hours[i])
		totals, windows = append(totals, o.total), append(windows, time.Duration(o.HorizonHours*float64(time.Hour)))
		most = max(most, o.total.Quantile(bands[0].high))
	}
	free, known := page.freeOf(page.Ward)
	end := windows[len(windows)-1]
	if known {
		most = max(most, free+1)
	}
	f.plot = &plot{ID: "fan", Class: "fan", Width: 456, Height: 300, left: 32, right: 58, top: 14, bottom: 28, x: span{0, end.Hours()}, y: span{0, float64(most)}}
	f.axisY(f.y.every(f.y.step(8, 1), 0))
	curve := func(q float64) (points []point) {
		for i := range totals {
			points = append(points, point{windows[i].Hours(), float64(totals[i].Quantile(q))})
		}
		return points
	}
	if ranges {
		for _, b := range bands {
			back := curve(b.low)
			slices.Reverse(back)
			f.area(b.class, append(curve(b.high), back...)...)
		}
	}
	f.line("med", curve(0.5)...)
	if known {
		f.line("limit", point{0, float64(free)}, point{end.Hours(), float64(free)})
		f.text("strong", "start", f.left+6, f.atY(float64(free))-6, plural(free, "bed")+" free")
	}
	f.ends(&totals[len(totals)-1])
	f.line("now", point{page.Window.Hours(), 0}, point{page.Window.Hours(), float64(most)})
	ticks := []tick{{0, "now"}}
	if !page.At.IsZero() {
		ticks[0].label = page.clock(page.asOf)
	}
	for i := 2; i < len(windows); i += 2 {
		ticks = append(ticks, tick{windows[i].Hours(), page.clock(page.asOf.Add(windows[i]))})
	}
	f.axisX(ticks, "")
	for i := range hours {
		t := &totals[i+1]
		f.Rows = append(f.Rows, fanRow{page.by(windows[i+1]), t.Quantile(bands[1].low), t.Quantile(0.5), t.Quantile(bands[1].high)})
	}
	last := f.Rows[len(f.Rows)-1]
	f.Title, f.Desc = "Beds needed over the next "+spelled(end), fmt.Sprintf("By %s %d beds in the middle.", last.By, last.Middle)
	if ranges {
		f.Desc += fmt.Sprintf(" 8 in 10 chance of %d to %d.", last.Low, last.High)
	}
	return f
}

// ends writes the last values at the right, kept apart.
func (f *fan) ends(last *beds.Distribution) {
	const apart = 15 // pixels
	x := f.Width - f.right + 8
	middle := f.atY(float64(last.Quantile(0.5))) + 4
	f.text("strong", "start", x, middle, strconv.Itoa(last.Quantile(0.5)))
	if !f.Ranges {
		return
	}
	low, high := last.Quantile(bands[1].low), last.Quantile(bands[1].high)
	f.text("", "start", x, min(f.atY(float64(high))+4, middle-apart), strconv.Itoa(high)+" high")
	f.text("", "start", x, max(f.atY(float64(low))+4, middle+apart), strconv.Itoa(low)+" low")
}
