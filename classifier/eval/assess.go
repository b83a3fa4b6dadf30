package eval

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Assessment holds the measures of one set of predictions with 95 % intervals that count the notes of a patient as one.
// The JSON names are stable. Measures that the data leave undefined are nil.
type Assessment struct {
	N          int      `json:"n"`
	Positives  int      `json:"positives"`
	Patients   int      `json:"patients"`
	Prevalence Estimate `json:"prevalence"`

	// Of ranking; see AUROC and Metrics.AUPRC. AUPRC has a normal interval on the logit scale, from 100 bootstrap
	// samples of patients.
	AUROC *Estimate `json:"auroc,omitempty"`
	AUPRC *Estimate `json:"auprc,omitempty"`

	// Overall; see Metrics. Knowledge is the log loss less that of predicting the prevalence of these very rows: below
	// 0 the model knows something.
	LogLoss     Estimate  `json:"log_loss"`
	Knowledge   Estimate  `json:"log_loss_less_base_rate"`
	Brier       Estimate  `json:"brier"`
	BrierScaled *Estimate `json:"brier_scaled,omitempty"`

	// Of calibration; see Metrics. The interval of ObservedExpected is normal on the log scale.
	CalibrationIntercept *Estimate `json:"calibration_intercept,omitempty"`
	CalibrationSlope     *Estimate `json:"calibration_slope,omitempty"`
	ObservedExpected     *Estimate `json:"observed_expected,omitempty"`
	// CalibrationError is the integrated calibration index: the mean distance of p from SmoothCalibration (Austin &
	// Steyerberg 2019, Stat. Med. 38(21)). It has no interval, since noise alone makes it greater than 0.
	CalibrationError *float64 `json:"calibration_error,omitempty"`
}

// Assess returns all measures of p but those at a threshold, which AtThreshold has. groups are the patients; nil means
// that no patient comes twice. There must be at least two. The variances are those of the measures' influence functions
// summed by patient. The cost is O(n log n), and O(n) for each sample of the bootstrap.
func Assess(y []bool, p []float64, groups []string) (*Assessment, error) {
	m, err := Measure(y, p, 0, groups)
	if err != nil {
		return nil, err
	}
	c, err := clustersOf(len(y), groups)
	if err != nil {
		return nil, err
	}
	all := func(int) bool { return true }
	truth := func(i int) bool { return y[i] }
	a := &Assessment{N: m.N, Positives: m.Positives, Patients: c.count, Prevalence: *c.share(all, truth, len(y))}
	loss := Losses(y, p)
	a.LogLoss = c.mean(loss)
	a.Knowledge = c.mean(lists.Make(len(y), func(i int) float64 { return loss[i] - noteLoss(y[i], m.Prevalence) }))
	brier := squares(y, p)
	a.Brier = c.mean(brier)
	if m.ObservedExpected != nil && m.Positives > 0 {
		a.ObservedExpected = c.observedExpected(y, p)
	}
	if m.AUPRC != nil {
		a.AUPRC = c.precision(*m.AUPRC, y, p)
	}
	if m.Positives == 0 || m.Positives == m.N {
		return a, nil
	}
	a.BrierScaled = c.brierScaled(y, brier, &m)
	if area := auroc(y, p, groups); area.interval() != nil {
		a.AUROC = &area
	}
	a.calibration(c, y, p)
	return a, nil
}

// Losses returns the log loss of each row, −ln(p if y else 1−p) in nats, p clipped as in Metrics.LogLoss.
func Losses(y []bool, p []float64) []float64 {
	return lists.Make(len(y), func(i int) float64 { return noteLoss(y[i], p[i]) })
}

func noteLoss(y bool, p float64) float64 {
	if !y {
		p = 1 - p
	}
	return -math.Log(min(max(p, probabilityClip), 1-probabilityClip))
}

// squares returns (p−y)² of each row.
func squares(y []bool, p []float64) []float64 {
	return lists.Make(len(y), func(i int) float64 { return square(p[i] - one(y[i])) })
}

// brierScaled returns 1 − B/v with v = π(1−π), whose influence function is −(b_i−B)/v + B(1−2π)(y_i−π)/v², over n.
func (c *clusters) brierScaled(y []bool, brier []float64, m *Metrics) *Estimate {
	n, v := float64(m.N), m.Prevalence*(1-m.Prevalence)
	return new(normal(*m.BrierScaled, c.variance(func(i int) float64 {
		return (m.Brier*(1-2*m.Prevalence)*(one(y[i])-m.Prevalence)/(v*v) - (brier[i]-m.Brier)/v) / n
	})))
}

// observedExpected returns Σy/Σp, some y positive, whose logarithm has the influence function y_i/Σy − p_i/Σp.
func (c *clusters) observedExpected(y []bool, p []float64) *Estimate {
	var expected float64
	for _, v := range p {
		expected += v
	}
	observed := float64(Positives(y))
	se := math.Sqrt(c.variance(func(i int) float64 { return one(y[i])/observed - p[i]/expected }))
	ratio := observed / expected
	low, high := ratio*math.Exp(-normal975*se), ratio*math.Exp(normal975*se)
	return &Estimate{Value: ratio, StandardError: ratio * se, Low: low, High: high}
}

// calibration sets the measures of calibration. Both classes occur.
func (a *Assessment) calibration(c *clusters, y []bool, p []float64) {
	x := LogOdds(p)
	a.CalibrationIntercept, a.CalibrationSlope = c.calibration(y, x)
	if s := smooth(y, x); s != nil {
		var sum float64
		for i, v := range p {
			sum += math.Abs(v - s.at(i))
		}
		a.CalibrationError = new(sum / float64(len(p)))
	}
}

// Calibration returns Assessment.CalibrationIntercept and CalibrationSlope alone, in O(n). Both are nil for one class.
func Calibration(y []bool, p []float64) (intercept, slope *Estimate, err error) {
	c, err := checked(y, p, nil)
	if err != nil || !slices.Contains(y, !y[0]) {
		return nil, nil, err
	}
	intercept, slope = c.calibration(y, LogOdds(p))
	return intercept, slope, nil
}

// calibration returns intercept and slope of both classes; the slope is nil where it does not exist.
func (c *clusters) calibration(y []bool, x []float64) (intercept, slope *Estimate) {
	at := calibrationIntercept(y, x)
	var information float64
	residual := make([]float64, len(y))
	for i, v := range x {
		q := linalg.Sigmoid(at + v)
		information += q * (1 - q)
		residual[i] = one(y[i]) - q
	}
	intercept = new(normal(at, c.variance(func(i int) float64 { return residual[i] / information })))
	if fit := recalibrate(y, x); fit != nil {
		slope = new(normal(fit.theta[1], fit.covariance(c).At(1, 1)))
	}
	return intercept, slope
}

// bootstrapSamples give a standard error to a tenth of itself. The seed makes reports repeatable.
const (
	bootstrapSamples = 100
	bootstrapSeed    = 0x6576616c // "eval"
)

// precision returns the average precision with its interval, from samples of the clusters with replacement. Samples
// without a positive outcome are left out; some row is positive.
func (c *clusters) precision(value float64, y []bool, p []float64) *Estimate {
	falling := c.falling(y, p)
	random := rand.New(rand.NewPCG(bootstrapSeed, uint64(len(y))))
	times := make([]int32, c.count)
	values := make([]float64, 0, bootstrapSamples)
	for range bootstrapSamples {
		clear(times)
		for range c.count {
			times[random.IntN(c.count)]++
		}
		if v, ok := weightedPrecision(falling, times); ok {
			values = append(values, v)
		}
	}
	if len(values) < 2 {
		return nil
	}
	se := stat.StdDev(values, nil)
	x := logit(value)
	half := normal975 * se / max(value*(1-value), probabilityClip)
	low, high := min(value, linalg.Sigmoid(x-half)), max(value, linalg.Sigmoid(x+half))
	return &Estimate{Value: value, StandardError: se, Low: low, High: high}
}

// called is a row among those that are called positive, by falling probability.
type called struct {
	cluster  int32
	positive bool
	last     bool // of rows with equal probabilities
}

func (c *clusters) falling(y []bool, p []float64) []called {
	order := ascending(p)
	out := make([]called, len(order))
	for at := range out {
		i := order[len(order)-1-at]
		out[at] = called{int32(c.cluster(i)), y[i], at == len(out)-1 || p[order[len(order)-2-at]] != p[i]}
	}
	return out
}

// weightedPrecision returns the average precision of rows that count as often as their cluster; false if none is
// positive.
func weightedPrecision(rows []called, times []int32) (float64, bool) {
	var sum, before, positives, all float64
	for _, r := range rows {
		n := float64(times[r.cluster])
		all += n
		if r.positive {
			positives += n
		}
		if r.last {
			if positives > before {
				sum += (positives - before) * positives / all
			}
			before = positives
		}
	}
	return sum / positives, positives > 0
}

// Difference holds the measures of one set of predictions less those of another on the same rows. Below 0 the first is
// better by log loss and Brier score, above 0 by AUROC.
type Difference struct {
	LogLoss Estimate  `json:"log_loss"`
	Brier   Estimate  `json:"brier"`
	AUROC   *Estimate `json:"auroc,omitempty"` // nil unless both classes occur, each in at least two patients
}

// Compare returns the measures of p less those of q. Standard errors are paired, and count the notes of a patient as
// one; that of AUROC is DeLong's for correlated curves (1988, Biometrics 44(3)) with Obuchowski's clusters (1997,
// Biometrics 53(2)). groups are those of Assess. The cost is O(n log n).
func Compare(y []bool, p, q []float64, groups []string) (*Difference, error) {
	c, err := checked(y, p, groups)
	if err != nil {
		return nil, err
	}
	if err := check(y, q, groups); err != nil {
		return nil, fmt.Errorf("the other predictions: %w", err)
	}
	d := &Difference{
		LogLoss: c.mean(minus(Losses(y, p), Losses(y, q))),
		Brier:   c.mean(minus(squares(y, p), squares(y, q))),
	}
	first, area := placements(y, p)
	second, other := placements(y, q)
	if variance, ok := placementVariance(y, minus(first, second), area-other, groups); ok {
		d.AUROC = new(normal(area-other, variance))
	}
	return d, nil
}

// MeanDifference returns the mean of a − b, values of each row, with its paired standard error; groups as for Assess.
func MeanDifference(a, b []float64, groups []string) (Estimate, error) {
	if len(a) != len(b) || groups != nil && len(groups) != len(a) {
		return Estimate{}, fmt.Errorf("%w: %d and %d values, %d groups", ErrShape, len(a), len(b), len(groups))
	}
	c, err := clustersOf(len(a), groups)
	if err != nil {
		return Estimate{}, err
	}
	return c.mean(minus(a, b)), nil
}

func minus(a, b []float64) []float64 { return floats.SubTo(make([]float64, len(a)), a, b) }
