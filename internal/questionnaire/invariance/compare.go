package invariance

import (
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// configural compares the factors. The p values are those of a bootstrap under the hypothesis that the factors are the
// same: the direction of each factor, a in the first group and b in the second, is replaced by the direction between
// them, m, with the errors a* − a and b* − b of a bootstrap sample,
//
//	φ₀* = cos(m + a* − a, m + b* − b),  m = (a + b)/‖a + b‖.
//
// So each group keeps the errors that follow from its size and from the variance of its factors. Random splits of all
// participants would not: if the factors of one group vary more, they reject equal factors far too often.
func (r *run) configural(seen *pair, samples []*pair) {
	congruences := seen.congruences()
	a, b := directions(seen.loadings[0]), directions(seen.loadings[1])
	m := &mat.Dense{}
	m.Add(a, b)
	m = directions(m)
	var drawn, same [][]float64
	var least []float64
	for _, s := range samples {
		drawn = append(drawn, s.congruences())
		null := &pair{loadings: [2]*mat.Dense{directions(s.loadings[0]), directions(s.loadings[1])}}
		for g, from := range []*mat.Dense{a, b} {
			null.loadings[g].Sub(null.loadings[g], from)
			null.loadings[g].Add(null.loadings[g], m)
		}
		c := null.congruences()
		same, least = append(same, c), append(least, slices.Min(c))
	}
	for t, c := range congruences {
		by := column(same, t)
		chance := p(by, func(v float64) bool { return v <= c })
		f := Factor{
			Factor: factorName(t), Congruence: c, Interval: basic(c, column(drawn, t)),
			Reference: quantile(.05, by), P: chance, Reading: reading(c, chance),
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

// metric compares the loadings. The p values are the share of bootstrap samples in which the error |d* − d| is at least
// the difference |d|. The adjusted ones follow the single-step procedure of Westfall and Young (1993), by the largest
// error in each sample. They control the family-wise error as Holm's do, but do not need a p value of .05/(p·k) from a
// few hundred samples.
func (r *run) metric(seen *pair, samples []*pair) {
	first, second := seen.equated()
	difference := seen.differences()
	var drawn, errs []*mat.Dense
	var largest, rms []float64
	for _, s := range samples {
		d, e := s.differences(), &mat.Dense{}
		e.Sub(d, difference)
		drawn, errs = append(drawn, d), append(errs, e)
		largest, rms = append(largest, greatest(e)), append(rms, rootMeanSquare(e))
	}
	m := &r.Metric
	m.RMS, m.Largest = rootMeanSquare(difference), greatest(difference)
	atLeast := func(least float64) func(float64) bool { return func(v float64) bool { return v >= least } }
	m.RMSP, m.LargestP = p(rms, atLeast(m.RMS)), p(largest, atLeast(m.Largest))
	for j, item := range r.study.Items {
		for t := range r.Factors {
			d := difference.At(j, t)
			by := entries(errs, j, t)
			for b, v := range by {
				by[b] = math.Abs(v)
			}
			m.Loadings = append(m.Loadings, Loading{
				Item: item.Name, Reversed: item.Reversed, Factor: factorName(t), First: first.At(j, t),
				Second: second.At(j, t), Difference: d,
				Interval: percentiles(d, entries(drawn, j, t)), P: p(by, atLeast(math.Abs(d))),
				AdjustedP: p(largest, atLeast(math.Abs(d))),
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
	return questionnaire.Quantile(slices.Sorted(slices.Values(values)), q)
}

// percentiles returns the percentile bootstrap interval, widened to hold the observed value, which it may miss if a
// factor is matched with another one in most samples.
func percentiles(seen float64, values []float64) questionnaire.Interval {
	return questionnaire.Interval{Low: min(seen, quantile(.025, values)), High: max(seen, quantile(.975, values))}
}

// basic returns the basic bootstrap interval, 2·seen less the quantiles. A bootstrap sample has the sampling error
// twice, so its congruences are too low; this interval corrects for it. It is widened to hold seen, and clipped to [−1,
// 1].
func basic(seen float64, values []float64) questionnaire.Interval {
	i := questionnaire.Interval{Low: 2*seen - quantile(.975, values), High: 2*seen - quantile(.025, values)}
	return questionnaire.Interval{Low: max(-1, min(i.Low, seen)), High: min(1, max(i.High, seen))}
}
