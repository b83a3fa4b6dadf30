package invariance

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// configural compares the factors.
func (r *run) configural(seen *pair, samples, splits []*pair) {
	congruences := seen.congruences()
	var drawn, dealt [][]float64
	for _, s := range samples {
		drawn = append(drawn, s.congruences())
	}
	var least []float64
	for _, s := range splits {
		c := s.congruences()
		dealt, least = append(dealt, c), append(least, slices.Min(c))
	}
	for t, c := range congruences {
		by := column(dealt, t)
		f := Factor{
			Factor: factorName(t), Congruence: c, Interval: congruenceInterval(c, column(drawn, t)),
			Reference: quantile(.05, by), P: p(by, func(v float64) bool { return v <= c }), Reading: reading(c),
			Empty: mat.Norm(seen.loadings[0].ColView(t), 2) == 0 || mat.Norm(seen.loadings[1].ColView(t), 2) == 0,
		}
		for g := range f.Numbers {
			f.Numbers[g] = seen.columns[g][t] + 1
		}
		r.Configural.Factors = append(r.Configural.Factors, f)
	}
	worst := slices.Min(congruences)
	r.Configural.P = p(least, func(v float64) bool { return v <= worst })
}

// metric compares the loadings. The adjusted p value is that of the single-step procedure of Westfall and Young (1993, section
// 2.6), by the distribution of the largest difference in random splits. It controls the family-wise error as Holm's does, but
// does not need a p value of .05/(p·k) from a few hundred splits.
func (r *run) metric(seen *pair, samples, splits []*pair) {
	first, second := seen.equated()
	difference := seen.differences()
	var drawn, dealt []*mat.Dense
	for _, s := range samples {
		drawn = append(drawn, s.differences())
	}
	var largest, rms []float64
	for _, s := range splits {
		d := s.differences()
		dealt, largest, rms = append(dealt, d), append(largest, greatest(d)), append(rms, rootMeanSquare(d))
	}
	m := &r.Metric
	m.RMS, m.Largest = rootMeanSquare(difference), greatest(difference)
	atLeast := func(least float64) func(float64) bool { return func(v float64) bool { return v >= least } }
	m.RMSP, m.LargestP = p(rms, atLeast(m.RMS)), p(largest, atLeast(m.Largest))
	for j, item := range r.study.Items {
		for t := range r.Factors {
			d := difference.At(j, t)
			by := entries(dealt, j, t)
			for b, v := range by {
				by[b] = math.Abs(v)
			}
			m.Loadings = append(m.Loadings, Loading{
				Item: item.Name, Factor: factorName(t), First: first.At(j, t), Second: second.At(j, t), Difference: d,
				Interval: percentiles(entries(drawn, j, t)), P: p(by, atLeast(math.Abs(d))), AdjustedP: p(largest, atLeast(math.Abs(d))),
			})
		}
	}
}

func factorName(t int) string { return "factor" + strconv.Itoa(t+1) }

// p returns (1 + the number of values that are as extreme) / (1 + the number of values).
func p(values []float64, extreme func(float64) bool) float64 {
	count := 1
	for _, v := range values {
		if extreme(v) {
			count++
		}
	}
	return float64(count) / float64(1+len(values))
}

func column(rows [][]float64, t int) []float64 {
	out := make([]float64, len(rows))
	for b, row := range rows {
		out[b] = row[t]
	}
	return out
}

func entries(all []*mat.Dense, j, t int) []float64 {
	out := make([]float64, len(all))
	for b, a := range all {
		out[b] = a.At(j, t)
	}
	return out
}

func greatest(a *mat.Dense) float64 { return max(mat.Max(a), -mat.Min(a)) }

func rootMeanSquare(a *mat.Dense) float64 {
	rows, columns := a.Dims()
	return mat.Norm(a, 2) / math.Sqrt(float64(rows*columns))
}

func quantile(q float64, values []float64) float64 {
	sorted := slices.Sorted(slices.Values(values))
	return stat.Quantile(q, stat.LinInterp, sorted, nil)
}

// percentiles returns the interval of the percentile bootstrap.
func percentiles(values []float64) Interval {
	return Interval{quantile(.025, values), quantile(.975, values)}
}

// congruenceInterval returns the basic bootstrap interval of a congruence on the scale of atanh. A bootstrap sample has the error
// of the sample twice, so its congruences are too low; the basic interval takes the difference off again.
func congruenceInterval(seen float64, values []float64) Interval {
	wide := percentiles(values)
	z := math.Atanh(clip(seen))
	return Interval{math.Tanh(2*z - math.Atanh(clip(wide.High))), math.Tanh(2*z - math.Atanh(clip(wide.Low)))}
}

// clip keeps a congruence where its atanh is finite.
func clip(c float64) float64 {
	const most = 1 - 1e-12
	return min(max(c, -most), most)
}
