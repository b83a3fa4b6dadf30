package beds

import (
	"fmt"
	"math"
	"slices"
	"time"
)

// History is what a site knows of its past when rates and times are fitted.
type History struct {
	Visits   []Visit
	From     time.Time // since when all arrivals are known
	AsOf     time.Time // of the fit; nothing known later enters
	Zone     string    // of the wall clock, a name of the IANA database such as Europe/London; "" is UTC
	Holidays []string  // days such as 2026-12-25, past and future
}

// Fit is what is learned of a site's history. It is plain data; equal histories give equal fits.
type Fit struct {
	AsOf     time.Time `json:"as_of"`
	From     time.Time `json:"from"`
	Zone     string    `json:"zone"`
	Holidays []string  `json:"holidays"`
	Visits   int       `json:"visits"` // closed and decided, of which times, wards and shares were learned
	Times    Times     `json:"times"`
	Wards    Wards     `json:"wards"`
	Rates    Rates     `json:"rates"`
	// Sensitivity is Σp(1−p)/Σp: the relative change of later admissions with the log-odds.
	Sensitivity float64 `json:"sensitivity"`
	// Base are shares of admission by complaint, for patients whose prediction abstained; Overall is that of all.
	Base    map[string]float64 `json:"base"`
	Overall float64            `json:"overall"`
	// PatienceHours is when a patient without an outcome is believed to have left.
	PatienceHours float64 `json:"patience_hours"`
	// Dispersion is by horizon, "8h0m0s" as time.Duration prints it, for all that Judge gives it; a missing horizon has
	// σ = 0.2 and k = 60.
	Dispersion map[string]Dispersion `json:"dispersion,omitempty"`
	// Calibrations show how the fit forecast the last days of its history, by ward, All included, and horizon.
	Calibrations map[string]map[string]Calibration `json:"calibrations,omitempty"`
}

// Calibration returns what is known of the forecasts of a ward and horizon, as Judge says; the zero value without any.
func (f *Fit) Calibration(ward string, horizon time.Duration) Calibration {
	by, _ := Judge(horizon)
	return f.Calibrations[ward][by.String()]
}

// The least days of a history on which forecasts rest, and the least visits in it whose decision has a time.
const (
	LeastDays   = 14
	LeastVisits = 200
)

const basePrior = 20 // the weight, in visits, of the overall share of admissions in that of a complaint

// FitHistory learns times, wards and rates from a history, in any order of its visits. A history without visits gives a
// fit that knows no ward, expects no arrivals and takes times to decision as exponential with a mean of 6 hours. The
// error wraps ErrArgument or ErrProbability. It takes time linear in the visits and days, apart from sorting them.
func FitHistory(h *History) (*Fit, error) {
	loc, err := location(h.Zone)
	if err != nil {
		return nil, err
	}
	if h.From.After(h.AsOf) {
		return nil, fmt.Errorf("%w: a history from after its end", ErrArgument)
	}
	for _, day := range h.Holidays {
		if _, err := time.Parse(time.DateOnly, day); err != nil {
			return nil, fmt.Errorf("%w: holiday %q", ErrArgument, day)
		}
	}
	var closed []Visit
	for i := range h.Visits {
		v := &h.Visits[i]
		if !(v.P >= 0 && v.P <= 1) {
			return nil, fmt.Errorf("%w: visit %d of the history", ErrProbability, i)
		}
		if !v.Decided.IsZero() && !v.Arrived.Before(h.From) && h.AsOf.Sub(v.Arrived) >= longest {
			closed = append(closed, *v)
		}
	}
	nameFew(closed)
	f := &Fit{
		AsOf: h.AsOf.UTC(), From: h.From.UTC(), Zone: h.Zone, Holidays: h.Holidays, Visits: len(closed),
		Times: fitTimes(closed, loc), Wards: fitWards(closed), Sensitivity: sensitivity(closed),
	}
	f.Rates = fitRates(h, closed, loc, f.Wards.Names)
	f.PatienceHours = f.Times.patience()
	f.Base, f.Overall = baseRates(closed)
	return f, nil
}

func (f *Fit) check() error {
	n := len(f.Wards.Names)
	if !slices.IsSorted(f.Wards.Names) {
		return fmt.Errorf("%w: wards are not sorted", ErrArgument)
	}
	for _, bands := range f.Wards.Admitted {
		for _, counts := range bands {
			if counts != nil && len(counts) != n || !counted(counts) {
				return fmt.Errorf("%w: counts of wards", ErrArgument)
			}
		}
	}
	times := slices.Concat(f.Times.Admitted[:], f.Times.Others[:])
	for _, band := range f.Rates.Bands {
		if len(band.Admitted) != n+1 || band.Arrivals < 0 {
			return fmt.Errorf("%w: times of %d groups for %d wards", ErrArgument, len(band.Admitted), n)
		}
		times = append(times, band.Admitted...)
	}
	for _, counts := range times {
		if len(counts) > steps+1 || !counted(counts) {
			return fmt.Errorf("%w: counts of times", ErrArgument)
		}
	}
	for day := range f.Rates.Arrivals {
		if !counted(f.Rates.Arrivals[day][:]) || !counted(f.Rates.Slices[day][:]) {
			return fmt.Errorf("%w: counts of arrivals", ErrArgument)
		}
	}
	for horizon, d := range f.Dispersion {
		if !(d.Sigma >= 0 && d.K >= 0) || math.IsInf(d.Sigma+d.K, 1) {
			return fmt.Errorf("%w: dispersion of %s", ErrArgument, horizon)
		}
	}
	if !(f.PatienceHours > 0 && f.Sensitivity >= 0 && f.Rates.Holiday >= 0) {
		return fmt.Errorf("%w: patience %v h, sensitivity %v, holidays %v", ErrArgument, f.PatienceHours, f.Sensitivity,
			f.Rates.Holiday)
	}
	for _, p := range f.Base {
		if !(p >= 0 && p <= 1) {
			return fmt.Errorf("%w: base rate", ErrProbability)
		}
	}
	if !(f.Overall >= 0 && f.Overall <= 1) {
		return fmt.Errorf("%w: overall base rate", ErrProbability)
	}
	return nil
}

// counted reports whether no count is negative.
func counted(counts []int) bool {
	return len(counts) == 0 || slices.Min(counts) >= 0
}

func baseRates(visits []Visit) (base map[string]float64, overall float64) {
	type count struct{ n, admitted float64 }
	var all count
	complaints := map[string]count{}
	for i := range visits {
		c := complaints[visits[i].Complaint]
		c.n, all.n = c.n+1, all.n+1
		if visits[i].Admitted {
			c.admitted, all.admitted = c.admitted+1, all.admitted+1
		}
		complaints[visits[i].Complaint] = c
	}
	overall = all.admitted / max(all.n, 1)
	base = map[string]float64{}
	for name, c := range complaints {
		base[name] = (c.admitted + basePrior*overall) / (c.n + basePrior)
	}
	return base, overall
}

// Patience returns how long a patient without an outcome stays in the pool.
func (f *Fit) Patience() time.Duration {
	return time.Duration(math.Round(f.PatienceHours * float64(time.Hour)))
}

// BaseRate returns the probability of admission of a complaint; none is known without a history.
func (f *Fit) BaseRate(complaint string) (p float64, known bool) {
	if p, known = f.Base[complaint]; known {
		return p, true
	}
	return f.Overall, f.Visits > 0
}

// The visits of which the drift is learned, and the standard deviation that it is expected to have.
const (
	driftYoungest = 24 * time.Hour
	driftOldest   = 29 * 24 * time.Hour
	driftScale    = 0.15
)

// drift returns the δ that maximises
//
//	Σ w·log-likelihood(admitted; σ(L+δ)) − δ²/(2·0.15²)
//
// over the decided visits that arrived 1 to 29 days before t, where L is the log-odds of their probability and w halves
// in 10 days. By Newton's method; the function is strictly concave.
func drift(past []Visit, t time.Time) float64 {
	delta := 0.0
	const most, enough = 50, 1e-12
	for range most {
		slope, curvature := -delta/(driftScale*driftScale), 1/(driftScale*driftScale)
		for i := range past {
			v := &past[i]
			age := t.Sub(v.Arrived)
			if v.Decided.IsZero() || age < driftYoungest || age > driftOldest || v.P <= 0 || v.P >= 1 {
				continue
			}
			w, p := weight(age), shifted(v.P, delta)
			y := 0.0
			if v.Admitted {
				y = 1
			}
			slope += w * (y - p)
			curvature += w * p * (1 - p)
		}
		step := slope / curvature
		delta += step
		if math.Abs(step) < enough {
			break
		}
	}
	return delta
}

// shifted returns σ(logit p + δ).
func shifted(p, delta float64) float64 {
	e := math.Exp(delta)
	return p * e / (p*e + 1 - p)
}

// sensitivity returns c = Σp(1−p)/Σp: the relative change of the admissions with the patients' log-odds.
func sensitivity(visits []Visit) float64 {
	var change, sum float64
	for i := range visits {
		p := visits[i].P
		change, sum = change+p*(1-p), sum+p
	}
	if sum == 0 {
		return 1
	}
	return change / sum
}
