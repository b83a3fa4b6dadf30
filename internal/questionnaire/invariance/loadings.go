package invariance

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/align"
	"github.com/wardcast/wardcast/solver/linalg"
)

// bootstrapStream, plus the number of the sample, distinguishes the generators from others of the same seed.
const bootstrapStream = 0x626f_6f74_0000_0000 // "boot"

// Configural compares the factors of the groups.
type Configural struct {
	Factors []Factor `json:"factors"`
	// P is the p value of the least congruence.
	P float64 `json:"p"`
}

// Factor compares a factor of the first group with its match in the second, numbered like that of both groups together.
type Factor struct {
	Factor string `json:"factor"`
	// Numbers are those of the factor among the factors of each group, from 1 on, by size.
	Numbers [2]int `json:"numbers"`
	// Congruence is that of Tucker, φ = λ₁ᵀλ₂ / (‖λ₁‖·‖λ₂‖), in [−1, 1]; 0 for an empty factor.
	Congruence             float64 `json:"congruence"`
	questionnaire.Interval         // 95 %
	// Reference is the 5 % quantile of congruences if the factor is the same, and P the share that is as low.
	Reference float64 `json:"reference"`
	P         float64 `json:"p"`
	// Reading is EqualFactor, FairFactor, OtherFactor or UnclearFactor.
	Reading string `json:"reading"`
	Empty   bool   `json:"empty"`
}

// The readings of a congruence: from model.EqualCongruence on, from model.SimilarCongruence on, and below. If groups of
// these sizes may differ as much by chance, a congruence below is UnclearFactor.
const (
	EqualFactor   = "equal"
	FairFactor    = "fair"
	OtherFactor   = "not the same"
	UnclearFactor = "cannot tell"
)

func reading(congruence, p float64) string {
	switch {
	case congruence >= model.EqualCongruence:
		return EqualFactor
	case congruence >= model.SimilarCongruence:
		return FairFactor
	case p >= level:
		return UnclearFactor
	}
	return OtherFactor
}

// pair holds the loadings of two groups, p×k. Column t of both is the same factor.
type pair struct {
	loadings [2]*mat.Dense
	columns  [2][]int // the former indices of the factors
}

// congruences returns Tucker's congruence of each factor; 0 if it is empty in a group.
func (p *pair) congruences() []float64 {
	a, b := p.loadings[0], p.loadings[1]
	return lists.Make(a.RawMatrix().Cols, func(t int) float64 { return linalg.Cosine(a, b, t, t) })
}

// arrange matches order and signs of the factors to those of the reference. It returns their former indices.
func arrange(loadings, reference *mat.Dense) (arranged *mat.Dense, from []int) {
	from, cosines := align.Factors(reference, loadings)
	arranged = linalg.SelectColumns(loadings, from)
	turn(arranged, cosines)
	return arranged, from
}

// turn changes the sign of the columns whose cosine is below 0.
func turn(loadings *mat.Dense, cosines []float64) {
	signs := lists.Map(cosines, func(c float64) float64 { return math.Copysign(1, c) })
	linalg.ScaleColumns(loadings, loadings, signs)
}

// match matches the factors of two groups one to one, by congruence, in the order of the factors of both together.
func match(first, second, both *mat.Dense) *pair {
	second, at := arrange(second, first)
	middle := &mat.Dense{}
	middle.Add(linalg.Directions(first), linalg.Directions(second))
	order, cosines := align.Factors(both, middle)
	p := &pair{columns: [2][]int{order, make([]int, len(order))}}
	for t, c := range order {
		p.columns[1][t] = at[c]
	}
	for g, l := range []*mat.Dense{first, second} {
		p.loadings[g] = linalg.SelectColumns(l, order)
		turn(p.loadings[g], cosines)
	}
	return p
}

// learn returns the fit to these rows, and its loadings on all items; an item that does not vary has none.
func (r *run) learn(ctx context.Context, o *fit.Options, rows []int) (*fit.Learnt, *mat.Dense, error) {
	l, err := o.Learn(ctx, r.study, rows, r.Candidate)
	if err != nil {
		return nil, nil, err
	}
	units := r.units(l)
	all := mat.NewDense(len(r.study.Items), r.Factors, nil)
	for row, j := range l.Items {
		for t := range r.Factors {
			all.Set(j, t, l.Loadings.At(row, t)*units[row]/r.deviations[j])
		}
	}
	return l, all, nil
}

// units returns the factors that turn loadings into those of the answers: for factor analysis the standard deviation of
// the answers less the confounds' effects; for polychoric loadings that of both groups.
func (r *run) units(l *fit.Learnt) []float64 {
	fa, ok := l.Factors().(*fit.FA)
	switch {
	case !ok:
		return slices.Repeat([]float64{1}, len(l.Items))
	case r.o.Correlation == model.Polychoric:
		return lists.Take(r.deviations, l.Items)
	}
	return fa.Deviations
}

// rest returns the answers of these rows less the confounds' effects.
func (r *run) rest(rows, items []int) (*mat.Dense, error) {
	rest, _, err := fit.WithoutConfounds(r.study.AnswersOf(rows, items), linalg.SelectRows(r.study.Known, rows))
	return rest, err
}

func (r *run) compare(ctx context.Context) error {
	both, reference, err := r.learn(ctx, &r.o.Options, r.both)
	if err != nil {
		return fmt.Errorf("learning from both groups: %w", err)
	}
	r.count(both)
	m, err := r.newMatcher(both)
	if err != nil {
		return err
	}
	var loadings [2]*mat.Dense
	for g := range loadings {
		l, q, err := r.learn(ctx, &r.o.Options, r.groups[g])
		if err != nil {
			return fmt.Errorf("learning from group %q: %w", r.Groups[g].Value, err)
		}
		r.count(l)
		loadings[g] = q
	}
	seen := match(loadings[0], loadings[1], reference)
	samples, err := r.resample(ctx, seen)
	if err != nil {
		return err
	}
	r.configural(seen, samples)
	return m.dif(ctx)
}

func (r *run) count(l *fit.Learnt) {
	if r.Fits++; l.Status.Early() {
		r.Unconverged++
	}
}

// resample returns the loadings of the bootstrap samples that can be fitted, with matched factors.
func (r *run) resample(ctx context.Context, seen *pair) ([]*pair, error) {
	samples := make([]*pair, r.Bootstrap)
	var mu sync.Mutex
	failed, err := r.o.Each(ctx, r.Bootstrap, r.o.Progress, func(ctx context.Context, alone *fit.Options, b int) error {
		p := &pair{}
		random := rand.New(rand.NewPCG(r.o.Seed, bootstrapStream+uint64(b)))
		var drawn [2][]int // in the order of the study
		for g, all := range r.groups {
			drawn[g] = lists.Take(all, slices.Sorted(slices.Values(folds.Resample(random, len(all)))))
		}
		for g, rows := range drawn {
			l, q, err := r.learn(ctx, alone, rows)
			if err != nil {
				return err
			}
			p.loadings[g], _ = arrange(q, seen.loadings[g])
			mu.Lock()
			r.count(l)
			mu.Unlock()
		}
		samples[b] = p
		return nil
	})
	if err != nil || ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	samples = slices.DeleteFunc(samples, func(p *pair) bool { return p == nil })
	r.Failed = r.Bootstrap - len(samples)
	if len(samples) < certainty.LeastReplicates {
		return nil, fmt.Errorf("learning from bootstrap samples: %w", cmp.Or(failed...))
	}
	return samples, nil
}

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
	a, b := linalg.Directions(seen.loadings[0]), linalg.Directions(seen.loadings[1])
	m := &mat.Dense{}
	m.Add(a, b)
	m = linalg.Directions(m)
	var drawn, same [][]float64
	var least []float64
	for _, s := range samples {
		drawn = append(drawn, s.congruences())
		null := &pair{}
		for g, from := range []*mat.Dense{a, b} {
			null.loadings[g] = linalg.Directions(s.loadings[g])
			null.loadings[g].Sub(null.loadings[g], from)
			null.loadings[g].Add(null.loadings[g], m)
		}
		c := null.congruences()
		same, least = append(same, c), append(least, slices.Min(c))
	}
	names := model.FactorNames(a)
	for t, c := range congruences {
		by := column(same, t)
		slices.Sort(by)
		chance := p(by, func(v float64) bool { return v <= c })
		f := Factor{
			Factor: names[t], Congruence: c, Interval: basic(c, column(drawn, t)),
			Reference: questionnaire.Quantile(by, .05), P: chance, Reading: reading(c, chance),
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

// p returns (1 + the number of values that are as extreme) / (1 + the number of values).
func p(values []float64, extreme func(float64) bool) float64 {
	return float64(1+lists.Count(values, extreme)) / float64(1+len(values))
}

func column(rows [][]float64, t int) []float64 {
	return lists.Map(rows, func(row []float64) float64 { return row[t] })
}

// basic returns the basic bootstrap interval, 2·seen less the quantiles. A bootstrap sample has the sampling error
// twice, so its congruences are too low; this interval corrects for it. It is widened to hold seen, and clipped to [−1,
// 1].
func basic(seen float64, values []float64) questionnaire.Interval {
	i := questionnaire.Percentiles(values)
	return questionnaire.Interval{Low: max(-1, min(2*seen-i.High, seen)), High: min(1, max(2*seen-i.Low, seen))}
}
