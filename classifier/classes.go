package classifier

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/solver/linalg"
)

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
