package items

import (
	"context"
	"fmt"
	"math"
	"math/bits"
	"math/rand/v2"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/rank"
)

// confidence is the level of the intervals.
const confidence = 0.95

// Reliability holds the coefficients of a scale.
type Reliability struct {
	// Alpha is that of Cronbach (1951), from covariances, for p items:
	//
	//	α = p/(p − 1)·(1 − Σ_i C_ii/V)
	//
	// AlphaStandardized is the same with S instead of C: that of items with equal variances.
	Alpha             *float64                `json:"alpha"`
	AlphaInterval     *questionnaire.Interval `json:"alpha_interval"`
	AlphaStandardized *float64                `json:"alpha_standardized"`
	// MeanCorrelation is the mean of S below the diagonal.
	MeanCorrelation *float64 `json:"mean_correlation"`
	// Lambda6 is λ6 of Guttman (1945), 1 − Σ_i (1 − ρ²_i)/Σ_ij S_ij, where ρ²_i = 1 − 1/(S⁻¹)_ii is the share of the
	// variance of item i that the others explain.
	Lambda6   *float64   `json:"lambda6"`
	SplitHalf *SplitHalf `json:"split_half"`
	// OmegaTotal and OmegaHierarchical are those of factoranalysis.Omega with OmegaFactors group factors, 0 if omega is
	// undefined. With one factor the general factor is not identified, and OmegaHierarchical is nil.
	OmegaTotal                *float64                `json:"omega_total"`
	OmegaTotalInterval        *questionnaire.Interval `json:"omega_total_interval"`
	OmegaHierarchical         *float64                `json:"omega_hierarchical"`
	OmegaHierarchicalInterval *questionnaire.Interval `json:"omega_hierarchical_interval"`
	OmegaFactors              int                     `json:"omega_factors"`
	// OmegaReversed are the items that omega counts as reversed, as they load negatively on the general factor.
	OmegaReversed []string `json:"omega_reversed"`
	// OmegaWeakFactors counts group factors on which fewer than 3 items load .3: OmegaHierarchical is unreliable then.
	OmegaWeakFactors int `json:"omega_weak_factors"`
	// KMO is the sampling adequacy of R by factoranalysis.KMO, and KMOItems that of each item by its name.
	KMO      *float64            `json:"kmo"`
	KMOItems map[string]*float64 `json:"kmo_items"`
	Bartlett *Bartlett           `json:"bartlett"`
	// Warnings say why a figure is nil or was computed differently than requested.
	Warnings []string `json:"warnings"`
}

// Bartlett is the test of Bartlett (1950) that the items are uncorrelated, by R and the number of participants.
type Bartlett struct {
	ChiSquare float64 `json:"chi_square"`
	DF        int     `json:"df"`
	P         float64 `json:"p"`
}

// The warnings.
const (
	unknownPairs = "no coefficients: for some pairs of items, fewer than two participants answered both, or all who " +
		"did gave the same answer"
	singular = "no lambda 6, KMO or Bartlett's test: the correlations have no inverse: items repeat other " +
		"items, participants are few, or many answers are missing"
	noVariance   = "the sum of the items has no variance"
	approximated = "answers are missing, but Bartlett's test counts all participants as complete: its P is too small"
	noOmega      = "no omega: %d items are too few"
	fewerFactors = "the number of factors of omega is %d instead of %d: %d items allow no more"
	reversed     = "omega counts items as reversed, %d in number, because they load negatively on the general " +
		"factor: %s"
	weakFactor = "omega hierarchical is unreliable: fewer than %d items load %v or more on %d of %d group factors; " +
		"try fewer --factors"
)

// mostNames is the largest number of items that a warning names.
const mostNames = 10

// scale is p items that all vary, and the n participants who answered any of them.
type scale struct {
	x     *mat.Dense
	n     int
	names []string
	c     *mat.SymDense
	// t are the sums of the rows of C, v is V, pairs the mean number of participants who answered both items of a pair.
	t        []float64
	v, pairs float64
	r        *factoranalysis.Correlations
	threads  linalg.Threads
}

// rounding is the share of the sum of the variances below which the variance of the sum may be rounding.
const rounding = 1e-12

// alpha returns α of k items whose variances sum up to variances, nil if their sum has no variance.
func alpha(k int, variances, all float64) *float64 {
	if k < 2 || !(all > rounding*variances) {
		return nil
	}
	return finite(float64(k) / float64(k-1) * (1 - variances/all))
}

// feldt returns the interval of Feldt (1965) for α of p items and n participants:
//
//	1 − (1 − α)·F_{.975}, 1 − (1 − α)·F_{.025}
//
// with quantiles of the F distribution with n − 1 and (n − 1)(p − 1) degrees of freedom. It holds for normal answers
// with equal covariances. If answers are missing, n is the mean number of participants who answered both items of a
// pair. It is nil for α above 1, which pairwise covariances may give.
func feldt(alpha, n float64, p int) *questionnaire.Interval {
	if alpha > 1 {
		return nil
	}
	f := distuv.F{D1: n - 1, D2: (n - 1) * float64(p-1)}
	tail := (1 - confidence) / 2
	return &questionnaire.Interval{Low: 1 - (1-alpha)*f.Quantile(1-tail), High: 1 - (1-alpha)*f.Quantile(tail)}
}

func (s *scale) reliability(ctx context.Context, o *Options) (Reliability, error) {
	r := Reliability{KMOItems: map[string]*float64{}, OmegaReversed: []string{}, Warnings: []string{}}
	if len(s.r.Unknown) > 0 {
		r.Warnings = append(r.Warnings, unknownPairs)
		return r, nil
	}
	p := len(s.names)
	if r.Alpha = alpha(p, mat.Trace(s.c), s.v); r.Alpha == nil {
		r.Warnings = append(r.Warnings, noVariance)
	} else {
		r.AlphaInterval = feldt(*r.Alpha, s.pairs, p)
	}
	standardized := s.standardized()
	all := mat.Sum(standardized)
	r.AlphaStandardized = alpha(p, float64(p), all)
	r.MeanCorrelation = finite((all - float64(p)) / float64(p*(p-1)))
	r.SplitHalf = splitHalf(standardized, o.Seed, s.threads)
	if s.r.Smoothed() { // an eigenvalue of R is 0 or below: its inverse is meaningless
		r.Warnings = append(r.Warnings, singular)
	} else {
		s.inverse(&r, standardized)
	}
	return r, s.omega(ctx, &r, o)
}

// omega fills in omega, with fewer factors than requested if the items allow no more.
func (s *scale) omega(ctx context.Context, r *Reliability, of *Options) error {
	p, factors := len(s.names), of.Factors
	most := min(factors, p)
	for most > 0 && (p-most)*(p-most) < p+most { // more loadings and uniquenesses than correlations
		most--
	}
	switch {
	case most == 0:
		r.Warnings = append(r.Warnings, fmt.Sprintf(noOmega, p))
		return nil
	case most < factors:
		r.Warnings = append(r.Warnings, fmt.Sprintf(fewerFactors, most, factors, p))
	}
	o, err := factoranalysis.Omega(ctx, s.r.R, most)
	if err != nil {
		return err
	}
	if len(o.Reversed) > 0 {
		r.OmegaReversed = append(r.OmegaReversed, lists.Map(o.Reversed, func(i int) string { return s.names[i] })...)
		names := strings.Join(r.OmegaReversed[:min(len(o.Reversed), mostNames)], ", ")
		if len(o.Reversed) > mostNames {
			names += " …"
		}
		r.Warnings = append(r.Warnings, fmt.Sprintf(reversed, len(o.Reversed), names))
	}
	r.OmegaFactors, r.OmegaTotal = most, finite(o.Total)
	if most > 1 {
		r.OmegaHierarchical = finite(o.Hierarchical)
		if r.OmegaWeakFactors = weakFactors(o.Group); r.OmegaWeakFactors > 0 {
			r.Warnings = append(r.Warnings, fmt.Sprintf(weakFactor, leastItems, leastLoading, r.OmegaWeakFactors, most))
		}
	}
	return s.omegaIntervals(ctx, r, of.Seed)
}

// Omega has intervals by that many bootstrap samples, for scales of at most mostResampled items, for speed.
const resamples, mostResampled, omegaStream = 400, 100, 0x6f6d_6567_61

// omegaIntervals fills in the intervals of omega: percentiles of samples of the participants with replacement, but for
// those where an item does not vary or R has no inverse. That of omega hierarchical is nil with weak group factors.
func (s *scale) omegaIntervals(ctx context.Context, r *Reliability, seed uint64) error {
	if len(s.names) > mostResampled {
		return nil
	}
	total, hierarchical := make([]float64, resamples), make([]float64, resamples)
	err := rank.Jobs{Threads: int(s.threads)}.Each(ctx, resamples, func(ctx context.Context, i int) error {
		total[i], hierarchical[i] = math.NaN(), math.NaN()
		rows := folds.Resample(rand.New(rand.NewPCG(seed, omegaStream+uint64(i))), s.n)
		c, err := factoranalysis.Correlate(ctx, linalg.SelectRows(s.x, rows), factoranalysis.Pearson, 1)
		if err != nil || len(c.Unknown) > 0 || c.Smoothed() {
			return context.Cause(ctx)
		}
		o, err := factoranalysis.Omega(ctx, c.R, r.OmegaFactors)
		if err == nil {
			total[i], hierarchical[i] = o.Total, o.Hierarchical
		}
		return err
	})
	r.OmegaTotalInterval = percentiles(total)
	if r.OmegaHierarchical != nil && r.OmegaWeakFactors == 0 {
		r.OmegaHierarchicalInterval = percentiles(hierarchical)
	}
	return err
}

// percentiles returns the interval, nil if more than half of the values are NaN.
func percentiles(values []float64) *questionnaire.Interval {
	if values = slices.DeleteFunc(values, math.IsNaN); len(values) < resamples/2 {
		return nil
	}
	i := questionnaire.Percentiles(values)
	return &i
}

// A group factor with fewer than leastItems such loadings is weak: a factor needs three items, and .3 is the usual
// threshold (Costello and Osborne, "Best practices in exploratory factor analysis", 2005).
const leastItems, leastLoading = 3, 0.3

// weakFactors counts the weak group factors. If items share one factor only, the others are chance: the correlations of
// all factors, and so the general factor, are then arbitrary. On six items of one factor, made by synth questionnaire,
// omega hierarchical of three factors is .02 to .96, and .01 to .94 in psych.
func weakFactors(group *mat.Dense) (weak int) {
	_, k := group.Dims()
	for t := range k {
		items := floats.Count(func(v float64) bool { return math.Abs(v) >= leastLoading }, mat.Col(nil, t, group))
		if items < leastItems {
			weak++
		}
	}
	return weak
}

// standardized returns S.
func (s *scale) standardized() *mat.SymDense {
	p := len(s.t)
	out := mat.NewSymDense(p, nil)
	for i := range p {
		out.SetSym(i, i, 1)
		for j := range i {
			out.SetSym(i, j, s.c.At(i, j)/math.Sqrt(s.c.At(i, i)*s.c.At(j, j)))
		}
	}
	return out
}

// inverse fills in the figures that need the inverses of S and R.
func (s *scale) inverse(r *Reliability, standardized *mat.SymDense) {
	r.Lambda6 = lambda6(standardized)
	overall, each := factoranalysis.KMO(s.r.R)
	r.KMO = finite(overall)
	for i, name := range s.names {
		r.KMOItems[name] = finite(each[i])
	}
	if chiSquare, df, probability := factoranalysis.Bartlett(s.r.R, s.n); finite(chiSquare) != nil {
		r.Bartlett = &Bartlett{chiSquare, df, probability}
		if s.pairs < fewPairs*float64(s.n) {
			r.Warnings = append(r.Warnings, approximated)
		}
	}
}

// fewPairs is the share of participants who answered both items of a pair, on average, below which chi-square is far
// from its distribution: with 2 % of the answers missing. docs/results.md has the measurement.
const fewPairs = 0.96

// lambda6 returns λ6 of S; nil if it is not positive definite.
func lambda6(s *mat.SymDense) *float64 {
	inverse := linalg.Inverse(s)
	if inverse == nil {
		return nil
	}
	unique := 0.0
	for i := range s.SymmetricDim() {
		unique += 1 / inverse.At(i, i)
	}
	return finite(1 - unique/mat.Sum(s))
}

// part returns the relation of item i to the scale.
func (s *scale) part(i int) Part {
	if len(s.r.Unknown) > 0 {
		return Part{}
	}
	own, t := s.c.At(i, i), s.t[i]
	rest := s.v - 2*t + own
	return Part{
		ItemRest: finite((t - own) / math.Sqrt(own*rest)), ItemTotal: finite(t / math.Sqrt(own*s.v)),
		AlphaDropped: alpha(len(s.names)-1, mat.Trace(s.c)-own, rest),
	}
}

// Of up to mostSplitItems items all splits are tried, 6,435, of more randomSplits are drawn; both are those of psych.
const mostSplitItems, randomSplits = 16, 10000

// SplitHalf is the reliability of the scale by the covariance of its halves. For halves A and B of the items, of sizes
// that differ by at most one,
//
//	reliability = p²/(|A|·|B|)·Σ_{i∈A, j∈B} S_ij / Σ_ij S_ij
//
// With equal sizes the factor is 4 (Rulon 1939; Guttman 1945), and for halves of equal variance too, this is their
// correlation after the correction of Spearman and Brown. For unequal sizes it is the coefficient of Raju (1970); psych
// keeps the factor 4 there, which gives .83 for three items of reliability .92. The mean of all splits is the
// standardized α.
type SplitHalf struct {
	Lowest  float64 `json:"lowest"` // β of Revelle (1979)
	Mean    float64 `json:"mean"`
	Highest float64 `json:"highest"` // λ4 of Guttman (1945)
	// All: every split was tried. The extremes of all splits may lie beyond those of random ones.
	Splits int  `json:"splits"`
	All    bool `json:"all"`
}

// splitHalf tries all splits of the items of S, p×p, or draws random ones; nil if the sum of the items has no variance.
//
// The cost is p² for each split.
func splitHalf(s *mat.SymDense, seed uint64, threads linalg.Threads) *SplitHalf {
	p := s.SymmetricDim()
	all := mat.Sum(s)
	if !(all > rounding*float64(p)) {
		return nil
	}
	half := &SplitHalf{All: p <= mostSplitItems}
	var values []float64
	if half.All {
		values = allSplits(s)
	} else {
		values = drawnSplits(s, rand.New(rand.NewPCG(seed, 0)), threads)
	}
	floats.Scale(float64(p*p)/float64(p/2*(p-p/2))/all, values)
	half.Splits = len(values)
	half.Lowest, half.Mean, half.Highest = floats.Min(values), stat.Mean(values, nil), floats.Max(values)
	return half
}

// allSplits returns Σ_{i∈A, j∈B} S_ij of each split once.
func allSplits(s *mat.SymDense) (values []float64) {
	p := s.SymmetricDim()
	for half := range uint(1) << p {
		if bits.OnesCount(half) != p/2 || p%2 == 0 && half&1 == 0 { // the other half of another split
			continue
		}
		between := 0.0
		for i := range p {
			for j := range p {
				if half>>i&1 == 1 && half>>j&1 == 0 {
					between += s.At(i, j)
				}
			}
		}
		values = append(values, between)
	}
	return values
}

// drawnSplits returns Σ_{i∈A, j∈B} S_ij of random splits: aᵀS·1 − aᵀS·a, where a is 1 for items in A and 0 for others.
func drawnSplits(s *mat.SymDense, random *rand.Rand, threads linalg.Threads) []float64 {
	p := s.SymmetricDim()
	const block = 500 // splits for one product of matrices
	square, halves := mat.DenseCopyOf(s), mat.NewDense(p, block, nil)
	sums := lists.Make(p, func(i int) float64 { return floats.Sum(square.RawRowView(i)) })
	values := make([]float64, randomSplits)
	for from := 0; from < randomSplits; from += block {
		halves.Zero()
		for b := range block {
			for _, i := range random.Perm(p)[:p/2] {
				halves.Set(i, b, 1)
			}
		}
		products := threads.Product(square, halves)
		for i := range p {
			for b, in := range halves.RawRowView(i) {
				values[from+b] += in * (sums[i] - products.At(i, b))
			}
		}
	}
	return values
}
