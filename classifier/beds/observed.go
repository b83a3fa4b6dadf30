package beds

import (
	"slices"
	"time"
)

// Count is a number of admissions by component.
type Count struct {
	Waiting int // arrived at t or before
	Coming  int // arrived later
}

// Total returns the sum of the components that the options ask for.
func (c Count) Total(o Options) int {
	switch {
	case o.WithoutComing:
		return c.Waiting
	case o.WithoutWaiting:
		return c.Coming
	}
	return c.Waiting + c.Coming
}

// Observe counts the visits admitted to a ward, or to any for All, with a decision in (t, t+h], as Forecast does.
func Observe(visits []Visit, ward string, t time.Time, h time.Duration) (c Count) {
	end := t.Add(h)
	for i := range visits {
		v := &visits[i]
		if !v.Admitted || !v.Decided.After(t) || v.Decided.After(end) || ward != All && v.Ward != ward {
			continue
		}
		if v.Arrived.After(t) {
			c.Coming++
		} else {
			c.Waiting++
		}
	}
	return c
}

// KnownVisits returns those of the visits, by arrival, that arrived in [from, t], with the decisions made by t.
func KnownVisits(visits []Visit, from, t time.Time) []Visit {
	var known []Visit
	for _, v := range visits[firstFrom(visits, from):] {
		if v.Arrived.After(t) {
			break
		}
		if v.Decided.After(t) {
			v.Decided, v.Admitted, v.Ward = time.Time{}, false, ""
		}
		known = append(known, v)
	}
	return known
}

// KnownMoment returns the moment t of which visits are the history, by arrival, complete from since on.
func KnownMoment(visits []Visit, since, t time.Time, fit *Fit) *Moment {
	m := &Moment{At: t, Since: since, Past: KnownVisits(visits, since, t)}
	for i := range m.Past {
		if v := &m.Past[i]; v.Decided.IsZero() && t.Sub(v.Arrived) <= fit.Patience() {
			m.Waiting = append(m.Waiting, Patient{Arrived: v.Arrived, P: v.P, Complaint: v.Complaint, Age: v.Age})
		}
	}
	return m
}

// firstFrom returns the index of the first of the visits, by arrival, that arrived at t or later.
func firstFrom(visits []Visit, t time.Time) int {
	i, _ := slices.BinarySearchFunc(visits, t, func(v Visit, t time.Time) int { return v.Arrived.Compare(t) })
	return i
}

// The days of which the usual number of admissions is the mean, and how many must be known for that.
const (
	usualDays  = 42
	leastUsual = 7
)

// usual returns the mean number of admissions at the same hours of the wall clock on the last 42 days, as far as they
// are known: of all first, then of each ward. It is nil if too few days are known, or no outcome. Who waited at the
// moment of the forecast counts as waiting, as in the forecast.
func usual(m *Moment, o Options, loc *time.Location, wards []string) []float64 {
	var starts []time.Time
	local := m.At.Add(o.Lead).In(loc)
	for day := 1; day <= usualDays; day++ {
		if t := local.AddDate(0, 0, -day); !t.Before(m.Since) && !t.Add(o.Horizon).After(m.At) {
			starts = append(starts, t)
		}
	}
	if len(starts) < leastUsual {
		return nil
	}
	means := make([]float64, len(wards)+1)
	decided := false
	for i := range m.Past {
		v := &m.Past[i]
		decided = decided || !v.Decided.IsZero()
		if !v.Admitted {
			continue
		}
		n := 0
		for _, t := range starts {
			coming := v.Arrived.After(t.Add(-o.Lead))
			if v.Decided.After(t) && !v.Decided.After(t.Add(o.Horizon)) &&
				(coming && !o.WithoutComing || !coming && !o.WithoutWaiting) {
				n++
			}
		}
		means[0] += float64(n)
		if w, known := slices.BinarySearch(wards, v.Ward); known {
			means[w+1] += float64(n)
		}
	}
	if !decided {
		return nil
	}
	for i := range means {
		means[i] /= float64(len(starts))
	}
	return means
}
