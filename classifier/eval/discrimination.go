package eval

import (
	"cmp"
	"math"
	"slices"

	"github.com/wardcast/wardcast/internal/lists"
)

const normal975 = 1.959963984540054 // the 0.975 quantile of the standard normal distribution, for 95 % intervals

// AUROC returns the area under the receiver operating characteristic, the probability that a positive row is ranked
// above a negative one, ties counted ½,
//
//	A = Σ_{i∈pos} Σ_{j∈neg} [ 1(p_i > p_j) + ½·1(p_i = p_j) ] / (n₁·n₀)
//
// and its 95 % interval A ± 1.96·√var(A), cut at 0 and 1. The variance is DeLong's (DeLong, DeLong & Clarke-Pearson
// 1988, Biometrics 44(3)) by midranks in O(n log n) (Sun & Xu 2014, IEEE Signal Process. Lett. 21(11)). Rows of one
// group are taken as dependent (Obuchowski 1997, Biometrics 53(2)); nil groups are all of one row. The interval is nil
// if one class has fewer than two rows (groups); at A = 0 or 1 it has no width. AUROC returns ErrOneClass unless both
// classes occur.
func AUROC(y []bool, p []float64, groups []string) (float64, *Interval, error) {
	if err := check(y, p, groups); err != nil {
		return 0, nil, err
	}
	if _, _, err := bothClasses(y); err != nil {
		return 0, nil, err
	}
	area := auroc(y, p, groups)
	return area.Value, area.interval(), nil
}

// auroc returns AUROC; both classes occur. Its standard error is NaN if it is undefined.
func auroc(y []bool, p []float64, groups []string) Estimate {
	placement, area := placements(y, p)
	variance, ok := placementVariance(y, placement, area, groups)
	if !ok {
		variance = math.NaN()
	}
	e := normal(area, variance)
	e.Low, e.High = max(0, e.Low), min(1, e.High)
	return e
}

// interval returns that of an estimate, nil if it is undefined.
func (e Estimate) interval() *Interval {
	if math.IsNaN(e.StandardError) {
		return nil
	}
	return &Interval{e.Low, e.High}
}

// placements returns for each row the share of the other class that it is on the right side of, ties ½: V₁₀ for
// positive and V₀₁ for negative rows. Their mean over either class is the area.
func placements(y []bool, p []float64) (placement []float64, area float64) {
	order := ascending(p)
	placement = make([]float64, len(y))
	var positives, negatives float64 // below the current run of ties
	for from := 0; from < len(order); {
		to := tiesEnd(order, p, from)
		tiedPositives := float64(lists.Count(order[from:to], func(i int) bool { return y[i] }))
		tiedNegatives := float64(to-from) - tiedPositives
		for _, i := range order[from:to] {
			if y[i] {
				placement[i] = negatives + tiedNegatives/2
			} else {
				placement[i] = positives + tiedPositives/2
			}
		}
		positives += tiedPositives
		negatives += tiedNegatives
		from = to
	}
	for i, v := range y {
		if v {
			placement[i] /= negatives
			area += placement[i]
		} else {
			placement[i] = 1 - placement[i]/positives
		}
	}
	area /= positives
	return placement, area
}

// placementVariance returns Obuchowski's variance of the area,
//
//	S₁₀/n₁ + S₀₁/n₀ + 2·S₁₁/(n₁n₀)
//
// (1997, eq. 3 and 4) from the sums of placements less area over each group, DeLong's if groups is nil.
func placementVariance(y []bool, placement []float64, area float64, groups []string) (variance float64, ok bool) {
	type sums struct{ positive, negative, ones, zeros float64 }
	of := clustered(len(y), groups)
	clusters := make([]sums, of.count)
	for i, v := range y {
		c := &clusters[of.cluster(i)]
		if v {
			c.positive += placement[i] - area
			c.ones++
		} else {
			c.negative += placement[i] - area
			c.zeros++
		}
	}
	var s10, s01, s11, ones, zeros, withOnes, withZeros float64
	for _, c := range clusters {
		s10 += c.positive * c.positive
		s01 += c.negative * c.negative
		s11 += c.positive * c.negative
		ones += c.ones
		zeros += c.zeros
		withOnes += min(c.ones, 1)
		withZeros += min(c.zeros, 1)
	}
	if withOnes < 2 || withZeros < 2 {
		return 0, false
	}
	all := float64(len(clusters))
	variance = s10*withOnes/(withOnes-1)/(ones*ones) + s01*withZeros/(withZeros-1)/(zeros*zeros) +
		2*s11*all/(all-1)/(ones*zeros)
	return max(variance, 0), true
}

// averagePrecision returns Metrics.AUPRC; some row is positive.
func averagePrecision(y []bool, p []float64) float64 {
	c := &clusters{count: len(y)}
	value, _ := weightedPrecision(c.falling(y, p), slices.Repeat([]int32{1}, len(y)))
	return value
}

// ascending returns the rows in the order of their probability, ties in the order of the rows.
func ascending(p []float64) []int {
	type row struct {
		p float64
		i int
	}
	rows := lists.Make(len(p), func(i int) row { return row{p[i], i} })
	slices.SortFunc(rows, func(a, b row) int { return cmp.Or(cmp.Compare(a.p, b.p), cmp.Compare(a.i, b.i)) })
	return lists.Map(rows, func(r row) int { return r.i })
}

// tiesEnd returns the end of the run of equal probabilities that starts at from.
func tiesEnd(order []int, p []float64, from int) int {
	to := from + 1
	for to < len(order) && p[order[to]] == p[order[from]] {
		to++
	}
	return to
}
