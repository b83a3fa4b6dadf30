package beds

import "math"

// Scores say how good one forecast was for the count that came.
type Scores struct {
	// CRPS is the continuous ranked probability score Σ_k (F(k) − 1{k ≥ y})², in beds; less is better.
	CRPS float64 `json:"crps"`
	// Log is −ln P(y), in nats; less is better. An impossible count has the P of leastProbability.
	Log       float64    `json:"log"`
	Error     float64    `json:"error"`     // mean − y
	PIT       [2]float64 `json:"pit"`       // F(y−1) and F(y), the bounds of the probability integral transform
	Covered80 bool       `json:"covered80"` // whether the closed interval from the 10th to the 90th percentile holds y
	Width80   int        `json:"width80"`   // its upper minus its lower end
}

const leastProbability = 1e-300 // keeps the logarithm of an impossible count finite

// The percentiles of the 80 % interval.
const (
	low80  = 0.1
	high80 = 0.9
)

// Score returns the scores of a forecast for a count y ≥ 0.
func Score(d *Distribution, y int) Scores {
	below, at := d.CDF(y-1), d.At(y)
	lo, hi := d.Quantile(low80), d.Quantile(high80)
	return Scores{
		CRPS: crps(d, y), Log: -math.Log(max(at, leastProbability)), Error: d.Mean() - float64(y),
		PIT: [2]float64{below, below + at}, Covered80: lo <= y && y <= hi, Width80: hi - lo,
	}
}

func crps(d *Distribution, y int) float64 {
	var sum, f float64
	end := d.Offset + len(d.P)
	for k := min(d.Offset, y); k < max(end, y); k++ {
		f += d.At(k)
		x := f
		if k >= y {
			x--
		}
		sum += x * x
	}
	return sum
}

// PITMass returns the part of the interval from F(y−1) to F(y) in [.1, .9], as a share of P(y). Its expectation is
// exactly .80 if the forecasts are right, but larger for closed intervals of counts. An impossible count has 0, or 1 if
// F is inside.
func (s *Scores) PITMass() float64 {
	below, at := s.PIT[0], s.PIT[1]
	if at <= below {
		if below >= low80 && below <= high80 {
			return 1
		}
		return 0
	}
	return max(0, min(at, high80)-max(below, low80)) / (at - below)
}

// Measures are means over forecasts.
type Measures struct {
	N         int     `json:"n"`
	Observed  float64 `json:"observed"` // mean count
	MAE       float64 `json:"mae"`
	Bias      float64 `json:"bias"` // mean of forecast − count
	CRPS      float64 `json:"crps"`
	Log       float64 `json:"log"`
	PITMass   float64 `json:"pit_mass"`  // in [.1, .9]
	Covered80 float64 `json:"covered80"` // closed interval
	Width80   float64 `json:"width80"`
}

// Measure returns the means of the scores of forecasts, of which y are the counts.
func Measure(scores []Scores, y []int) Measures {
	m := Measures{N: len(scores)}
	for i := range scores {
		s := &scores[i]
		m.Observed += float64(y[i])
		m.MAE += math.Abs(s.Error)
		m.Bias += s.Error
		m.CRPS += s.CRPS
		m.Log += s.Log
		m.PITMass += s.PITMass()
		if s.Covered80 {
			m.Covered80++
		}
		m.Width80 += float64(s.Width80)
	}
	for _, x := range []*float64{&m.Observed, &m.MAE, &m.Bias, &m.CRPS, &m.Log, &m.PITMass, &m.Covered80, &m.Width80} {
		*x /= float64(max(len(scores), 1))
	}
	return m
}

// Calibration says whether the last forecasts of a ward and horizon held what they promise.
type Calibration struct {
	Calibrated bool    `json:"calibrated"`
	N          int     `json:"n"`
	Coverage80 float64 `json:"coverage80"` // share of closed intervals that held the count
}

// CalibrationWindow is the number of forecasts by which calibration is judged.
const CalibrationWindow = 200

// The bounds of their PIT mass.
const (
	leastMass = 0.74
	mostMass  = 0.86
)

// Calibrated judges the last 200 forecasts, the latest last. Fewer are not enough.
func Calibrated(scores []Scores) Calibration {
	if len(scores) > CalibrationWindow {
		scores = scores[len(scores)-CalibrationWindow:]
	}
	m := Measure(scores, make([]int, len(scores)))
	return Calibration{
		Calibrated: len(scores) == CalibrationWindow && m.PITMass >= leastMass && m.PITMass <= mostMass, N: len(scores),
		Coverage80: m.Covered80,
	}
}
