package evaluate

import (
	"encoding/json"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/classifier/eval"
)

// Measure is a mean with the standard deviation about it.
type Measure struct {
	Count     int     `json:"count"`              // of the values
	Mean      float64 `json:"mean"`               // null without values
	Deviation float64 `json:"standard_deviation"` // null for fewer than two values
	// Interval is that of resampled, for an AUROC or a difference whose values differ.
	Interval *eval.Interval `json:"interval_95,omitempty"`
}

// MarshalJSON writes null for what too few values do not define.
func (m Measure) MarshalJSON() ([]byte, error) {
	out := map[string]any{"count": m.Count, "mean": nil, "standard_deviation": nil}
	if m.Count > 0 {
		out["mean"] = m.Mean
	}
	if m.Count > 1 {
		out["standard_deviation"] = m.Deviation
	}
	if m.Interval != nil {
		out["interval_95"] = m.Interval
	}
	return json.Marshal(out)
}

func measure(values []float64) Measure {
	m := Measure{Count: len(values)}
	if len(values) > 0 {
		m.Mean = stat.Mean(values, nil)
	}
	if len(values) > 1 {
		m.Deviation = stat.StdDev(values, nil)
	}
	return m
}

// resampled is measure for the values of repeated splits, n₂/n₁ of whose held-out and training participants is the
// ratio. Its interval is the corrected resampled t interval over those that are not NaN,
//
//	mean ± t·√(1/J + n₂/n₁)·deviation,  t the 97.5 % quantile of Student's distribution with J − 1 degrees of freedom,
//
// within low to 1. The J splits share participants, so the variance of their mean is more than 1/J of theirs: C. Nadeau
// and Y. Bengio, "Inference for the generalization error", 2003, section 3. It takes the correlation of two splits for
// n₂/(n₁ + n₂), which nothing estimates without bias.
func resampled(values []float64, ratio, low float64) Measure {
	m := measure(slices.DeleteFunc(slices.Clone(values), math.IsNaN))
	if m.Count > 1 && m.Deviation > 0 {
		j := float64(m.Count)
		reach := distuv.StudentsT{Sigma: 1, Nu: j - 1}.Quantile(0.975) * math.Sqrt(1/j+ratio) * m.Deviation
		m.Interval = &eval.Interval{Low: max(low, m.Mean-reach), High: min(1, m.Mean+reach)}
	}
	return m
}
