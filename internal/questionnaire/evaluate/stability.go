package evaluate

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/linalg"
)

const half = 0.5

// Halves compares the loadings of a method between two disjoint halves of the participants.
type Halves struct {
	Method       string  `json:"method"`
	Share        float64 `json:"train_share"`  // of each half
	Participants int     `json:"participants"` // of each half
	// Stability is the correlation, Congruence that of Tucker, of the loadings of matched factors.
	Stability  Measure `json:"stability"`
	Congruence Measure `json:"congruence"`
	// EmptyFactors counts those of both halves, over the repeats. They have no match.
	EmptyFactors int `json:"empty_factors"`
	// ItemsLeftOut are those that in some half did not vary.
	ItemsLeftOut []string `json:"items_left_out"`
	Unconverged  int      `json:"unconverged"` // fits that ended at MaxIter
}

func (o *Options) halves(ctx context.Context, s *fit.Study, e *Evaluation, method string,
	step func(*trained),
) (*Halves, error) {
	n := len(s.Order) / 2
	h := &Halves{Method: method, Share: half, Participants: n}
	var correlations, congruences []float64
	var out []int
	for repeat := range o.Repeats {
		shuffled := o.shuffled(s, repeat)
		var parts [2]*trained
		for i := range parts {
			part, err := o.learn(ctx, s, method, shuffled[i*n:(i+1)*n], e.Candidate)
			if err != nil {
				return nil, fmt.Errorf("repeat %d: %w", repeat+1, err)
			}
			if part.early {
				h.Unconverged++
			}
			out = lists.Union(out, s.Except(part.items))
			step(part)
			parts[i] = part
		}
		m := compare(parts[0], parts[1], signed(method))
		correlations, congruences = append(correlations, m.correlations...), append(congruences, m.congruences...)
		h.EmptyFactors += m.empty[0] + m.empty[1]
	}
	slices.Sort(out)
	h.Stability, h.Congruence, h.ItemsLeftOut = measure(correlations), measure(congruences), s.Names(out)
	return h, nil
}

// match is the agreement between the factors of two fits.
type match struct {
	correlations, congruences []float64 // of the loadings of each pair
	empty                     [2]int    // number of factors of each fit without loadings
}

// compare matches the factors of two fits by the items that both have; without any, all factors are empty.
func compare(a, b *trained, signed bool) match {
	var inA, inB []int
	for place, j := range a.items {
		if other := slices.Index(b.items, j); other >= 0 {
			inA, inB = append(inA, place), append(inB, other)
		}
	}
	if len(inA) == 0 {
		return match{empty: [2]int{a.loadings.RawMatrix().Cols, b.loadings.RawMatrix().Cols}}
	}
	return matched(linalg.SelectRows(a.loadings, inA), linalg.SelectRows(b.loadings, inB), signed)
}

// matched pairs the columns of two matrices of loadings so that the sum of their correlations is largest; the sum of
// the absolute values of their congruences if the signs are arbitrary, and a pair of negative congruence then counts
// with the opposite sign. The absolute value of a correlation would not do: factors with different items correlate
// negatively. Columns that are all 0 have no match. The cosine of two columns is Tucker's congruence, that of two
// centred columns their correlation.
func matched(a, b *mat.Dense, signed bool) match {
	first, second := filled(a), filled(b)
	_, k := a.Dims()
	_, l := b.Dims()
	m := match{empty: [2]int{k - len(first), l - len(second)}}
	if len(first) == 0 || len(second) == 0 {
		return m
	}
	a, b = linalg.SelectColumns(a, first), linalg.SelectColumns(b, second)
	if len(first) > len(second) {
		a, b = b, a // each of the fewer columns finds its match
	}
	centredA, centredB := linalg.Centred(a, nil), linalg.Centred(b, nil)
	var order []int
	if signed {
		order, _ = align.Topics(centredA, centredB)
	} else {
		order, _ = align.Factors(a, b)
	}
	for t := range min(len(first), len(second)) {
		correlation, congruence := linalg.Cosine(centredA, centredB, t, order[t]), linalg.Cosine(a, b, t, order[t])
		if !signed && congruence < 0 {
			correlation, congruence = -correlation, -congruence
		}
		m.correlations, m.congruences = append(m.correlations, correlation), append(m.congruences, congruence)
	}
	return m
}

// filled returns the columns that are not all 0.
func filled(a *mat.Dense) []int {
	return lists.Where(a.RawMatrix().Cols, func(t int) bool { return mat.Norm(a.ColView(t), 1) > 0 })
}

// Measure is a mean with the standard deviation about it.
type Measure struct {
	Count int `json:"count"` // of the values
	// Interval is set by resampled, for an AUROC or a difference whose values differ.
	Interval  *eval.Interval       `json:"interval_95,omitempty"`
	Mean      questionnaire.Figure `json:"mean"`               // undefined without values
	Deviation questionnaire.Figure `json:"standard_deviation"` // undefined for fewer than two values
}

func measure(values []float64) Measure {
	return Measure{
		Count: len(values), Mean: questionnaire.Figure(stat.Mean(values, nil)),
		Deviation: questionnaire.Figure(stat.StdDev(values, nil)),
	}
}

// resampled is measure for the values of repeated splits; ratio is n₂/n₁, held-out over training participants. Its
// interval is the corrected resampled t interval over those that are not NaN,
//
//	mean ± t·√(1/J + n₂/n₁)·deviation,  t the 97.5 % quantile of Student's distribution with J − 1 degrees of freedom,
//
// within low to 1. The J splits share participants, so the variance of their mean is more than 1/J of theirs: C. Nadeau
// and Y. Bengio, "Inference for the generalization error", 2003, section 3. It assumes the correlation n₂/(n₁ + n₂)
// between two splits; this has no unbiased estimator.
func resampled(values []float64, ratio, low float64) Measure {
	m := measure(slices.DeleteFunc(slices.Clone(values), math.IsNaN))
	if m.Deviation > 0 {
		j := float64(m.Count)
		mean := float64(m.Mean)
		reach := distuv.StudentsT{Sigma: 1, Nu: j - 1}.Quantile(0.975) * math.Sqrt(1/j+ratio) * float64(m.Deviation)
		m.Interval = &eval.Interval{Low: max(low, mean-reach), High: min(1, mean+reach)}
	}
	return m
}
