package classifier

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"sort"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/lists"
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

// sigmoid returns 1/(1+e⁻ˣ) without overflow. For x < 0 its last bits are not those of linalg.Sigmoid, and predictions
// keep theirs.
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
	n1 := float64(lists.Count(positive, func(y bool) bool { return y }))
	n0 := float64(len(positive)) - n1
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

// CalibrateTo stores in dst the calibrated probabilities of κ+1 classes, the reference first, from their κ log-odds
// against it:
//
//	dst = softmax(0, a·η_1 + b_1, …, a·η_κ + b_κ)
//
// with one slope a for all and an offset b_c for each, a = 1 and b = 0 without calibration. They are in [0, 1] and sum
// to 1 up to rounding. For κ = 1 dst[1] is Calibrate's, bit by bit. dst is one longer than logOdds, and no alias of it.
func CalibrateTo(dst []float64, c *bundle.Calibration, logOdds []float64) {
	if c.Kind == bundle.Isotonic {
		dst[1] = Calibrate(c, logOdds[0])
		dst[0] = 1 - dst[1]
		return
	}
	linearTo(dst, c, logOdds)
	softmax(dst)
}

// linearTo stores 0 and the calibrated log-odds in dst. They are bounded so that the difference of two is a number.
func linearTo(dst []float64, c *bundle.Calibration, logOdds []float64) {
	dst[0] = 0
	for i, x := range logOdds {
		if c.Kind == bundle.Platt {
			offset := c.Intercept
			if c.Offsets != nil {
				offset = c.Offsets[i]
			}
			x = c.Slope*x + offset
		}
		dst[i+1] = min(max(x, -math.MaxFloat64), math.MaxFloat64)
	}
}

// softmax replaces each x_c by exp(x_c)/Σ exp(x_d), without overflow.
func softmax(x []float64) {
	largest, sum := slices.Max(x), 0.0
	for c, v := range x {
		x[c] = math.Exp(v - largest)
		sum += x[c]
	}
	for c := range x {
		x[c] /= sum
	}
}

// FitClasses returns the calibration of the given kind that maps out-of-fold log-odds, n×κ, of the classes against the
// reference to labels in 0…κ, 0 being the reference. Isotonic maps exist for κ = 1 only. Platt's keeps, for each class,
// the sum of its probabilities at that of its smoothed targets, unless its slope is 0. The error wraps ErrCalibration.
// The cost is O(nκ²) for each of about ten steps.
func FitClasses(kind bundle.CalibrationKind, logOdds *mat.Dense, labels []int) (bundle.Calibration, error) {
	n, kappa := logOdds.Dims()
	if n == 0 || n != len(labels) {
		return bundle.Calibration{}, fmt.Errorf("%w: log-odds of %d rows for %d labels", ErrCalibration, n, len(labels))
	}
	positive := make([]bool, n)
	for i, label := range labels {
		if label < 0 || label > kappa {
			return bundle.Calibration{}, fmt.Errorf("%w: label %d is %d, must be one of %d classes", ErrCalibration,
				i, label, kappa+1)
		}
		if err := finite("log-odds", logOdds.RawRowView(i)); err != nil {
			return bundle.Calibration{}, fmt.Errorf("%w: row %d: %w", ErrCalibration, i, err)
		}
		positive[i] = label == 1
	}
	switch {
	case kind == bundle.Platt && kappa > 1:
		return fitPlattClasses(logOdds, labels), nil
	case kind == bundle.Platt:
		return fitPlatt(mat.Col(nil, 0, logOdds), positive), nil
	case kind == bundle.Isotonic && kappa == 1:
		return fitIsotonic(mat.Col(nil, 0, logOdds), positive), nil
	}
	c := bundle.Calibration{Kind: kind}
	return c, checkCalibration(&c, kappa)
}

// plattClasses is the log loss of softmax(0, a·η + b) and its derivatives by θ = (a, b_1, …, b_κ).
type plattClasses struct {
	logOdds  *mat.Dense // n×κ
	labels   []int
	counts   []float64 // rows of each class
	p        []float64 // κ+1, memory
	gradient *mat.VecDense
	hessian  *mat.SymDense
}

// target is that of class c in a row of the given class: Laplace's (n_c+1)/(n_c+κ+1) for its own, the rest in equal
// parts for the others. For κ = 1 they are Platt's.
func (f *plattClasses) target(label, c int) float64 {
	share := 1 / (f.counts[label] + float64(len(f.counts)))
	if c == label {
		return (f.counts[label] + 1) * share
	}
	return share
}

func (f *plattClasses) loss(theta []float64) float64 {
	by := calibration(theta)
	var sum float64
	for i, label := range f.labels {
		linearTo(f.p, &by, f.logOdds.RawRowView(i))
		sum += floats.LogSumExp(f.p)
		for c, x := range f.p {
			sum -= f.target(label, c) * x
		}
	}
	return sum
}

func calibration(theta []float64) bundle.Calibration {
	return bundle.Calibration{Kind: bundle.Platt, Slope: theta[0], Offsets: theta[1:]}
}

// derive sets the gradient and the Hessian.
func (f *plattClasses) derive(theta []float64) {
	f.gradient.Zero()
	f.hessian.Zero()
	by := calibration(theta)
	g, h := f.gradient.RawVector().Data, f.hessian.RawSymmetric()
	for i, label := range f.labels {
		p, eta := f.p, f.logOdds.RawRowView(i)
		CalibrateTo(p, &by, eta)
		mean := floats.Dot(p[1:], eta)
		for c, x := range eta {
			d, q := p[c+1]-f.target(label, c+1), p[c+1]
			g[0] += d * x
			g[c+1] += d
			h.Data[0] += q * (x - mean) * x
			h.Data[c+1] += q * (x - mean)
			row := h.Data[(c+1)*h.Stride:]
			row[c+1] += q
			for e := c; e < len(eta); e++ {
				row[e+1] -= q * p[e+1]
			}
		}
	}
}

// step stores Newton's step, −H⁻¹g.
func (f *plattClasses) step(step, theta []float64) bool {
	f.derive(theta)
	for c := range theta {
		f.hessian.SetSym(c, c, f.hessian.At(c, c)+plattRidge)
	}
	var factor mat.Cholesky
	if !factor.Factorize(f.hessian) {
		return false
	}
	// An ill-conditioned step is still a step: it is taken only if the loss does not rise.
	to := mat.NewVecDense(len(step), step)
	if err := factor.SolveVecTo(to, f.gradient); err != nil && math.IsNaN(mat.Sum(to)) {
		return false
	}
	floats.Scale(-1, step)
	return true
}

// fitPlattClasses minimises the log loss by Newton steps with halving, as fitPlatt does in the two unknowns of yes and
// no. A slope that comes out negative is replaced by 0, and the probabilities by (n_c+1)/(n+κ+1).
func fitPlattClasses(logOdds *mat.Dense, labels []int) bundle.Calibration {
	_, kappa := logOdds.Dims()
	f := &plattClasses{
		logOdds: logOdds, labels: labels, counts: make([]float64, kappa+1), p: make([]float64, kappa+1),
		gradient: mat.NewVecDense(kappa+1, nil), hessian: mat.NewSymDense(kappa+1, nil),
	}
	for _, label := range labels {
		f.counts[label]++
	}
	flat := make([]float64, kappa+1)
	for c := range kappa {
		flat[c+1] = math.Log((f.counts[c+1] + 1) / (f.counts[0] + 1))
	}
	theta := slices.Clone(flat)
	newton := linalg.Newton{Loss: f.loss, Step: f.step, Done: plattDone, Shortest: plattTolerance}
	newton.Minimize(theta)
	if theta[0] < 0 {
		theta = flat
	}
	return calibration(theta)
}
