package beds

import (
	"math"
	"slices"
	"time"

	"github.com/wardcast/wardcast/internal/lists"
)

// The grid of times to decision: steps of three minutes, up to 72 hours. Longer times count as 72 hours.
const (
	stepHours = 0.05
	longest   = 72 * time.Hour
	steps     = 1440
)

const strata = 6 // terciles of the probability, by day and by night

// Times counts the times from arrival to decision of closed cohorts: all visits that arrived at least 72 hours before
// the fit and were decided. Younger cohorts would hold short stays only.
type Times struct {
	Cuts     [2]float64     `json:"cuts"` // between the terciles of the probability
	Admitted [strata]Counts `json:"admitted"`
	Others   [strata]Counts `json:"others"`
}

// Counts are numbers of decisions: Counts[i] within (i−1, i] steps of three minutes after the arrival, i ≥ 1; Counts[0]
// counts decisions at the arrival or, by a wrong clock, before it.
type Counts []int

func (c *Counts) add(hours float64) {
	i := min(max(int(math.Ceil(hours/stepHours-1e-9)), 0), steps)
	for len(*c) <= i {
		*c = append(*c, 0)
	}
	(*c)[i]++
}

func (c Counts) total() int {
	n := 0
	for _, x := range c {
		n += x
	}
	return n
}

// sum returns the counts of all strata together.
func sum(groups ...*[strata]Counts) Counts {
	all := make(Counts, steps+1)
	for _, g := range groups {
		for _, c := range g {
			for i, x := range c {
				all[i] += x
			}
		}
	}
	return all
}

func fitTimes(visits []Visit, loc *time.Location) Times {
	var t Times
	p := lists.Map(visits, func(v Visit) float64 { return v.P })
	if slices.Sort(p); len(p) > 0 {
		t.Cuts = [2]float64{p[len(p)/3], p[2*len(p)/3]}
	}
	for i := range visits {
		v := &visits[i]
		into := &t.Others
		if v.Admitted {
			into = &t.Admitted
		}
		into[t.stratum(v.P, v.Arrived.In(loc))].add(v.Decided.Sub(v.Arrived).Hours())
	}
	return t
}

// stratum returns the stratum of an arrival at a local time.
func (t *Times) stratum(p float64, local time.Time) int {
	g := 0
	for _, cut := range t.Cuts {
		if p >= cut {
			g++
		}
	}
	if atNight(local) {
		g += len(t.Cuts) + 1
	}
	return g
}

// The curve of a stratum is blended with that of all strata, which weighs as much as so many visits of its own; that of
// all strata with an exponential time of mean 6 hours, so that a site without a history has one.
const (
	strataPrior = 100
	timesPrior  = 20
	priorHours  = 6
)

// curve is a distribution function of hours on the grid, linear between its points. That of a part stays below 1.
type curve []float64

// at returns the share of times of at most so many hours. Beyond the grid it is the last point.
func (c curve) at(hours float64) float64 {
	if !(hours >= 0) {
		return 0
	}
	x := hours / stepHours
	i := int(min(x, float64(len(c)-1)))
	if i >= len(c)-1 {
		return c[len(c)-1]
	}
	return c[i] + (x-float64(i))*(c[i+1]-c[i])
}

// share returns the curve of counts in n visits, some of them perhaps counted elsewhere.
func (c Counts) share(n float64) curve {
	f := make(curve, steps+1)
	sum := 0
	for i := range f {
		if i < len(c) {
			sum += c[i]
		}
		f[i] = float64(sum) / n
	}
	return f
}

// curves returns the blended curve of each stratum.
func curves(counts *[strata]Counts) (blended [strata]curve) {
	all := sum(counts)
	n := float64(all.total())
	pooled := all.share(max(n, 1))
	for i := range pooled {
		exponential := -math.Expm1(-stepHours * float64(i) / priorHours)
		pooled[i] = (n*pooled[i] + timesPrior*exponential) / (n + timesPrior)
	}
	pooled[steps] = 1
	for g, c := range counts {
		n := float64(c.total())
		blended[g] = c.share(max(n, 1))
		for i := range pooled {
			blended[g][i] = (n*blended[g][i] + strataPrior*pooled[i]) / (n + strataPrior)
		}
	}
	return blended
}

// hazards are the compiled times.
type hazards struct{ admitted, others [strata]curve }

// impossible is the probability of having waited so long below which the history says nothing about what comes next.
const impossible = 1e-9

// window is a part of the time to come, in hours from now.
type window struct{ from, to float64 }

// admission returns the probability that a patient of stratum g with probability p at triage, who has waited so many
// hours without a decision, is admitted within the window (l, h]:
//
//	q = p·[A(τ+h) − A(τ+l)] / (p·[1−A(τ)] + (1−p)·[1−L(τ)])
//
// A and L are the distribution functions of the times to decision of the admitted and of all others: competing risks,
// given the outcome. For τ = 0, l = 0 and h = ∞ it is p. If nobody ever waited so long, it is p(e^{−l/6} − e^{−h/6}),
// and guessed is true.
func (z *hazards) admission(p float64, g int, waited float64, w window) (q float64, guessed bool) {
	admitted, others := z.admitted[g], z.others[g]
	still := p*(1-admitted.at(waited)) + (1-p)*(1-others.at(waited))
	if still < impossible {
		return p * (math.Expm1(-w.from/priorHours) - math.Expm1(-w.to/priorHours)), true
	}
	return min(max(p*(admitted.at(waited+w.to)-admitted.at(waited+w.from))/still, 0), 1), false
}

// leastPatience and stayQuantile say when a patient without an outcome is believed to have left: after the 99.5th
// percentile of all times to decision, but after 24 hours at the earliest.
const (
	leastPatience = 24
	stayQuantile  = 0.995
)

// patience returns the hours after which a patient without an outcome leaves the pool.
func (t *Times) patience() float64 {
	all := sum(&t.Admitted, &t.Others)
	n, before := float64(all.total()), 0
	for i, x := range all {
		if before += x; float64(before) >= stayQuantile*n {
			return max(leastPatience, float64(i)*stepHours)
		}
	}
	return leastPatience
}
