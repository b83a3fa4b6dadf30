package beds

import (
	"math"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/lists"
)

// slice is the grid on which arrivals are expected.
const (
	slice         = 15 * time.Minute
	slicesPerHour = 4
)

// Rates are what a site's history says about arrivals: how many come by weekday and hour of the wall clock, and how
// many of those are admitted, where, and after how long.
type Rates struct {
	Arrivals [7][24]int     `json:"arrivals"` // from Sunday, without holidays
	Slices   [7][24]int     `json:"slices"`   // of 15 minutes that were observed
	Holiday  float64        `json:"holiday"`  // the factor of arrivals on holidays
	Bands    [dayBands]Band `json:"bands"`    // the arrivals by their time of the day: from 0, 7, 12, 17 and 22 h
}

// Band is what became of the closed arrivals of one time of the day.
type Band struct {
	Arrivals int `json:"arrivals"`
	// Admitted are the times to admission by ward, in the order of Wards.Names; the last are those of unknown wards.
	Admitted []Counts `json:"admitted"`
}

const holidayPrior = 8 // the weight, in days, of a factor of 1

// fitRates counts arrivals in [from, to), and what became of the closed visits; wards are sorted.
func fitRates(h *History, closed []Visit, loc *time.Location, wards []string) Rates {
	var r Rates
	holidays := lists.Set(h.Holidays)
	for u := h.From.Truncate(slice); u.Before(h.AsOf); u = u.Add(slice) {
		if local := u.In(loc); !holidays[date(local)] {
			r.Slices[local.Weekday()][local.Hour()]++
		}
	}
	observed := 0.0
	for i := range h.Visits {
		local := h.Visits[i].Arrived.In(loc)
		switch {
		case h.Visits[i].Arrived.Before(h.From) || !h.Visits[i].Arrived.Before(h.AsOf):
		case holidays[date(local)]:
			observed++
		default:
			r.Arrivals[local.Weekday()][local.Hour()]++
		}
	}
	r.Holiday = 1
	r.Holiday = r.holidayFactor(h, holidays, observed, loc)
	for b := range r.Bands {
		r.Bands[b].Admitted = make([]Counts, len(wards)+1)
	}
	for i := range closed {
		v := &closed[i]
		band := &r.Bands[dayBand(v.Arrived.In(loc))]
		band.Arrivals++
		if v.Admitted {
			w, known := slices.BinarySearch(wards, v.Ward)
			if !known {
				w = len(wards)
			}
			band.Admitted[w].add(v.Decided.Sub(v.Arrived).Hours())
		}
	}
	return r
}

// holidayFactor returns observed/expected arrivals on the n holidays of the history, as (8 + n·f)/(8 + n).
func (r *Rates) holidayFactor(h *History, holidays map[string]bool, observed float64, loc *time.Location) float64 {
	hourly := r.hourly()
	expected, days := 0.0, map[string]bool{}
	for u := h.From.Truncate(slice); u.Before(h.AsOf); u = u.Add(slice) {
		if local := u.In(loc); holidays[date(local)] {
			expected += hourly[local.Weekday()][local.Hour()] / slicesPerHour
			days[date(local)] = true
		}
	}
	n := float64(len(days))
	if expected == 0 {
		return 1
	}
	return (holidayPrior + n*observed/expected) / (holidayPrior + n)
}

func date(local time.Time) string { return local.Format(time.DateOnly) }

// cellPrior is the weight, in weeks, of the hour's profile times the weekday's factor in the rate of an hour.
const cellPrior = 20

// hourly returns the arrivals per hour by weekday and hour, r(dow, hour) = (n·cell + 20·r₀)/(n + 20), n weeks.
func (r *Rates) hourly() (rate [7][24]float64) {
	ratio := func(arrivals, slices int) float64 {
		if slices == 0 {
			return 0
		}
		return slicesPerHour * float64(arrivals) / float64(slices)
	}
	var hourArrivals, hourSlices [24]int
	var dayArrivals, daySlices [7]int
	all, allSlices := 0, 0
	for d := range r.Arrivals {
		for h := range r.Arrivals[d] {
			n, m := r.Arrivals[d][h], r.Slices[d][h]
			hourArrivals[h], hourSlices[h] = hourArrivals[h]+n, hourSlices[h]+m
			dayArrivals[d], daySlices[d] = dayArrivals[d]+n, daySlices[d]+m
			all, allSlices = all+n, allSlices+m
		}
	}
	if all == 0 {
		return rate
	}
	mean := ratio(all, allSlices)
	for d := range rate {
		weekday := 1.0
		if daySlices[d] > 0 {
			weekday = ratio(dayArrivals[d], daySlices[d]) / mean
		}
		for h := range rate[d] {
			weeks := float64(r.Slices[d][h]) / slicesPerHour
			usual := ratio(hourArrivals[h], hourSlices[h]) * weekday
			rate[d][h] = (weeks*ratio(r.Arrivals[d][h], r.Slices[d][h]) + cellPrior*usual) / (weeks + cellPrior)
		}
	}
	return rate
}

// arrivals are the compiled rates.
type arrivals struct {
	loc      *time.Location
	hourly   [7][24]float64
	holiday  float64
	holidays map[string]bool
	// reach[b][w] is the share of the arrivals of a band admitted to ward w, or last to any, within some hours.
	reach [dayBands][]curve
}

func newArrivals(r *Rates, holidays []string, loc *time.Location) *arrivals {
	a := &arrivals{loc: loc, hourly: r.hourly(), holiday: r.Holiday, holidays: lists.Set(holidays)}
	for b := range r.Bands {
		band := &r.Bands[b]
		n := float64(max(band.Arrivals, 1))
		var all curve
		for _, c := range band.Admitted {
			f := c.share(n)
			a.reach[b] = append(a.reach[b], f)
			if all == nil {
				all = make(curve, len(f))
			}
			for i := range f {
				all[i] += f[i]
			}
		}
		a.reach[b][len(a.reach[b])-1] = all
	}
	return a
}

// expected returns the arrivals that the history expects in the slice that starts at u.
func (a *arrivals) expected(u time.Time) float64 {
	local := u.In(a.loc)
	x := a.hourly[local.Weekday()][local.Hour()] / slicesPerHour
	if a.holidays[date(local)] {
		x *= a.holiday
	}
	return x
}

// The windows of what has lately come compared with what was expected: 28 days with a half-life of 10 for the trend,
// 12 hours for today, whose factor is blended with 1 by the weight of 60 arrivals.
const (
	trendWindow   = 28 * 24 * time.Hour
	halfLife      = 10 * 24 * time.Hour
	todayWindow   = 12 * time.Hour
	todayPrior    = 60
	leastObserved = 24 * time.Hour
)

// weight halves with each half-life.
func weight(age time.Duration) float64 {
	return math.Exp2(-float64(age) / float64(halfLife))
}

// level returns the factor of arrivals at a moment: its trend times that of today,
//
//	Σw·observed/Σw·expected over 28 days, times (60 + N)/(60 + E) over 12 hours
//
// with E after the trend. A site observed for less than a day has no trend yet.
func (a *arrivals) level(m *Moment) float64 {
	var observed, expected, n, today float64
	since := m.At.Add(-trendWindow)
	if m.Since.After(since) {
		since = m.Since
	}
	for u := m.At.Add(-slice); !u.Before(since); u = u.Add(-slice) {
		x := a.expected(u.Add(slice / 2))
		age := m.At.Sub(u)
		expected += weight(age) * x
		if age <= todayWindow {
			today += x
		}
	}
	for i := range m.Past {
		age := m.At.Sub(m.Past[i].Arrived)
		if age < 0 || m.Past[i].Arrived.Before(since) {
			continue
		}
		observed += weight(age)
		if age <= todayWindow {
			n++
		}
	}
	trend := 1.0
	if m.At.Sub(since) >= leastObserved && expected > 0 {
		trend = observed / expected
	}
	return trend * (todayPrior + n) / (todayPrior + trend*today)
}

// comingTo stores in dst, by ward and last for all, the expected admissions within the horizon of those who arrive
// after t, were they as many and as ill as in the history:
//
//	Σ_s r(s)/4 · F(t+h−s | band of s)
//
// over slices s of 15 minutes, taken at their middle.
func (a *arrivals) comingTo(dst []float64, t time.Time, horizon time.Duration) {
	clear(dst)
	for ahead := time.Duration(0); ahead < horizon; ahead += slice {
		length := min(slice, horizon-ahead)
		middle := ahead + length/2
		s := t.Add(middle)
		x := a.expected(s) * float64(length) / float64(slice)
		left := (horizon - middle).Hours()
		for w, f := range a.reach[dayBand(s.In(a.loc))] {
			dst[w] += x * f.at(left)
		}
	}
}
