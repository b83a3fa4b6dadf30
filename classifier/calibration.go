package classifier

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/solver/linalg"
)

// ErrCalibration is returned for a calibration that is not a rising map into [0, 1].
var ErrCalibration = errors.New("malformed calibration")

// Calibrate returns the calibrated probability of a logit: the logistic function of it or of a linear map of it
// (Platt), or the line through the isotonic map's points, constant outside them. It never decreases.
func Calibrate(c *bundle.Calibration, logit float64) float64 {
	switch c.Kind {
	case bundle.Platt:
		return sigmoid(c.Slope*logit + c.Intercept)
	case bundle.Isotonic:
		last := len(c.Logits) - 1
		at := sort.SearchFloat64s(c.Logits, logit)
		if at == 0 || at > last {
			return c.Probabilities[min(at, last)]
		}
		share := (logit - c.Logits[at-1]) / (c.Logits[at] - c.Logits[at-1])
		return c.Probabilities[at-1] + share*(c.Probabilities[at]-c.Probabilities[at-1])
	default:
		return sigmoid(logit)
	}
}

// checkCalibration returns an error that wraps ErrCalibration unless c maps kappa log-odds to probabilities.
func checkCalibration(c *bundle.Calibration, kappa int) error {
	offsets := 0
	if kappa > 1 && c.Kind == bundle.Platt {
		offsets = kappa
	}
	if kappa > 1 && c.Kind == bundle.Isotonic {
		return fmt.Errorf("%w: an isotonic map needs two classes, not %d", ErrCalibration, kappa+1)
	}
	if len(c.Offsets) != offsets {
		return fmt.Errorf("%w: %s with %d offsets, must be %d", ErrCalibration, c.Kind, len(c.Offsets), offsets)
	}
	if err := finite("offsets", c.Offsets); err != nil {
		return fmt.Errorf("%w: %w", ErrCalibration, err)
	}
	switch c.Kind {
	case bundle.Uncalibrated:
	case bundle.Platt:
		if !(c.Slope >= 0) || math.IsInf(c.Slope, 1) || math.IsNaN(c.Intercept) || math.IsInf(c.Intercept, 0) {
			return fmt.Errorf("%w: platt slope %v, intercept %v", ErrCalibration, c.Slope, c.Intercept)
		}
	case bundle.Isotonic:
		if len(c.Logits) == 0 || len(c.Logits) != len(c.Probabilities) {
			return fmt.Errorf("%w: isotonic with %d logits and %d probabilities", ErrCalibration, len(c.Logits),
				len(c.Probabilities))
		}
		for i, p := range c.Probabilities {
			if !(p >= 0 && p <= 1) || math.IsNaN(c.Logits[i]) || math.IsInf(c.Logits[i], 0) ||
				i > 0 && !(c.Logits[i] > c.Logits[i-1] && p >= c.Probabilities[i-1]) {
				return fmt.Errorf("%w: isotonic point %d does not rise within [0, 1]", ErrCalibration, i)
			}
		}
	default:
		return fmt.Errorf("%w: kind %q", ErrCalibration, c.Kind)
	}
	return nil
}

// sigmoid returns 1/(1+e⁻ˣ) without overflow.
func sigmoid(x float64) float64 {
	if x >= 0 {
		return 1 / (1 + math.Exp(-x))
	}
	e := math.Exp(x)
	return e / (1 + e)
}

const (
	plattTolerance = 1e-10 // the largest change of a coefficient at which the fit has ended
	plattRidge     = 1e-12 // times the identity, keeps the step finite if all logits are equal
)

// fitPlatt minimises the log loss of σ(a·logit + b) by Newton steps with halving (Lin, Lin & Weng 2007), on Platt's
// targets (n₊+1)/(n₊+2) and 1/(n₋+2), which keep a finite even if the logits separate the classes. A negative slope is
// replaced by 0: the probability must not fall when the logit rises.
func fitPlatt(logits []float64, positive []bool) bundle.Calibration {
	var n1, n0 float64
	for _, y := range positive {
		if y {
			n1++
		} else {
			n0++
		}
	}
	target := map[bool]float64{true: (n1 + 1) / (n1 + 2), false: 1 / (n0 + 2)}
	newton := linalg.Newton{
		Loss: func(theta []float64) float64 {
			var sum float64
			for i, x := range logits {
				m := theta[0]*x + theta[1]
				sum += linalg.Softplus(m) - target[positive[i]]*m
			}
			return sum
		},
		Step: func(step, theta []float64) bool {
			var ga, gb, haa, hab, hbb float64
			for i, x := range logits {
				p := sigmoid(theta[0]*x + theta[1])
				d, w := p-target[positive[i]], p*(1-p)
				ga += d * x
				gb += d
				haa += w * x * x
				hab += w * x
				hbb += w
			}
			haa += plattRidge
			hbb += plattRidge
			det := haa*hbb - hab*hab
			step[0], step[1] = -(hbb*ga-hab*gb)/det, -(haa*gb-hab*ga)/det
			return det > 0
		},
		Done: plattDone, Shortest: plattTolerance,
	}
	flat := math.Log((n1 + 1) / (n0 + 1))
	theta := []float64{0, flat}
	newton.Minimize(theta)
	if theta[0] < 0 {
		theta[0], theta[1] = 0, flat
	}
	return bundle.Calibration{Kind: bundle.Platt, Slope: theta[0], Intercept: theta[1]}
}

// plattDone reports whether no coefficient changed by plattTolerance.
func plattDone(step, _ []float64) bool { return floats.Norm(step, math.Inf(1)) < plattTolerance }

// fitIsotonic pools adjacent violators (Zadrozny & Elkan 2002). Each pool becomes one point at the mean of its logits;
// between points the map is linear, so that notes keep their order. Probabilities stay 1/(n+2) away from 0 and 1, which
// no n notes can prove. Up to that, and to the lines between the points, their sum is that of the outcomes.
func fitIsotonic(logits []float64, positive []bool) bundle.Calibration {
	sorted, order := slices.Clone(logits), make([]int, len(logits))
	floats.ArgsortStable(sorted, order)
	type pool struct{ n, x, y float64 }
	var pools []pool
	for at, i := range order {
		y := 0.0
		if positive[i] {
			y = 1
		}
		if at > 0 && sorted[at] == sorted[at-1] { // equal logits share their pool
			top := &pools[len(pools)-1]
			*top = pool{top.n + 1, top.x + sorted[at], top.y + y}
		} else {
			pools = append(pools, pool{1, sorted[at], y})
		}
		for len(pools) > 1 {
			a, b := pools[len(pools)-2], pools[len(pools)-1]
			// The next note may still join the last pool, so equal logits are settled before comparing.
			if at+1 < len(sorted) && sorted[at+1] == sorted[at] || a.y/a.n < b.y/b.n {
				break
			}
			pools = append(pools[:len(pools)-2], pool{a.n + b.n, a.x + b.x, a.y + b.y})
		}
	}
	c := bundle.Calibration{Kind: bundle.Isotonic}
	edge := 1 / float64(len(logits)+2)
	for _, p := range pools {
		x := p.x / p.n
		if last := len(c.Logits) - 1; last >= 0 && x <= c.Logits[last] {
			continue // means that rounding made equal
		}
		c.Logits = append(c.Logits, x)
		c.Probabilities = append(c.Probabilities, min(max(p.y/p.n, edge), 1-edge))
	}
	return c
}
