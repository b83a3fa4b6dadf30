package factoranalysis

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// GoodnessOfFit measures how well k factors reproduce the correlations R of p items that n participants answered. With
//
//	F = tr(Σ⁻¹R) − log det(Σ⁻¹R) − p,  Σ = ΛΦΛᵀ with a diagonal of ones,
//
// the discrepancy of maximum likelihood for every extraction, the chi-square is (n − 1 − (2p+5)/6 − 2k/3)·F: M. S.
// Bartlett, "A note on the multiplying factors for various χ² approximations", 1954. F₀ and χ₀² are those of
// uncorrelated items, with df₀ = p(p−1)/2, k = 0 and Σ = I. The definitions are those of R's psych, and CFI, which it
// lacks, is Bentler's.
//
// Of FullInformation, n·F is twice the difference between the log-likelihood of the answers under the distribution of
// Saturated and the greatest under k factors, for every extraction: with missing answers, factors of another extraction
// fit so much worse that the chi-square would reject true ones. n·F₀ is that for uncorrelated items. Both df are less
// by the pairs of items that nobody answered together.
//
// Undefined figures are NaN: all but RMSR and DF if R was smoothed, so that its determinant is arbitrary, or if pairs
// of items have no correlation, but for FullInformation; all that need df > 0 otherwise. RMSR is NaN if no
// pair has a correlation.
type GoodnessOfFit struct {
	// ChiSquare and P test whether k factors suffice.
	ChiSquare, P float64
	// DF is p(p−1)/2 − pk + k(k−1)/2, which may be negative.
	DF int
	// RMSR is the root of the mean squared residual correlation off the diagonal, over the pairs that have one.
	RMSR float64
	// RMSEA is √(χ²/(n·df) − 1/(n−1)), or 0, with an interval of 90 %.
	RMSEA Interval
	// TLI is (χ₀²/df₀ − χ²/df)/(χ₀²/df₀ − 1), L. R. Tucker and C. Lewis, 1973, where χ₀² has the multiplier of χ².
	TLI float64
	// CFI is 1 − ⟨χ² − df⟩₊/max(⟨χ₀² − df₀⟩₊, ⟨χ² − df⟩₊), P. M. Bentler, 1990.
	CFI float64
	// BIC is χ² − df·log n.
	BIC float64
}

// Interval is a value with the bounds of its confidence interval.
type Interval struct{ Value, Low, High float64 }

// rmseaLevel is the usual confidence level of the interval of RMSEA.
const rmseaLevel = 0.9

// goodness returns the fit of k factors that imply these correlations. log is the log-likelihood of k factors by
// FullInformation; without it, NaN, what needs it is undefined.
func goodness(c *Correlations, implied *mat.SymDense, k, n int, log float64) GoodnessOfFit {
	p := implied.SymmetricDim()
	nan := math.NaN()
	g := GoodnessOfFit{
		ChiSquare: nan, P: nan, RMSEA: Interval{nan, nan, nan}, TLI: nan, CFI: nan, BIC: nan,
		DF: p*(p-1)/2 - p*k + k*(k-1)/2, RMSR: c.residual(implied),
	}
	var own, model mat.Cholesky
	sigma := mat.NewSymDense(p, nil)
	sigma.CopySym(implied)
	for i := range p {
		sigma.SetSym(i, i, 1)
	}
	pairs := p * (p - 1) / 2
	objective, alone := nan, nan
	switch {
	case c.Saturated != nil:
		pairs -= len(c.Unknown)
		g.DF -= len(c.Unknown)
		if !math.IsNaN(log) {
			objective, alone = c.discrepancies(log)
		}
	case c.Smoothed() || len(c.Unknown) > 0 || !own.Factorize(c.R) || !model.Factorize(sigma):
		return g
	default:
		var ratio mat.Dense // Σ⁻¹R
		if model.SolveTo(&ratio, c.R) == nil {
			objective = mat.Trace(&ratio) + model.LogDet() - own.LogDet() - float64(p)
			alone = -own.LogDet()
		}
	}
	if math.IsNaN(objective) || g.DF < 0 {
		return g
	}
	df, participants, factor := float64(g.DF), float64(n), float64(n-1)-float64(2*p+5)/6
	g.ChiSquare = (factor - 2*float64(k)/3) * objective
	g.BIC = g.ChiSquare - df*math.Log(participants)
	if g.DF == 0 {
		return g
	}
	g.P = mathext.GammaIncRegComp(df/2, max(0, g.ChiSquare)/2)
	g.RMSEA.Value = math.Sqrt(max(0, g.ChiSquare/(df*participants)-1/(participants-1)))
	tail := (1 - rmseaLevel) / 2
	g.RMSEA.Low = math.Sqrt(Noncentrality(g.ChiSquare, df, 1-tail) / (df * (participants - 1)))
	g.RMSEA.High = math.Sqrt(Noncentrality(g.ChiSquare, df, tail) / (df * (participants - 1)))
	nullDF := float64(pairs)
	null := factor * alone
	ratio0 := (factor - 2*float64(k)/3) * alone / nullDF
	g.TLI = (ratio0 - g.ChiSquare/df) / (ratio0 - 1)
	excess := max(0, g.ChiSquare-df)
	g.CFI = 1
	if excess > 0 {
		g.CFI = 1 - excess/max(null-nullDF, excess)
	}
	return g
}

const (
	// maxFactorEM and factorTolerance end the search for factors of greatest likelihood: the last round adds less to
	// it.
	maxFactorEM     = 1000
	factorTolerance = 1e-6
)

// discrepancies returns F and F₀ of FullInformation for factors of this log-likelihood.
func (c *Correlations) discrepancies(log float64) (objective, alone float64) {
	p := c.Raw.SymmetricDim()
	apart := startSaturated(c.patterns, p)
	for i := range p {
		for j := range i {
			apart.Covariance.SetSym(i, j, 0)
		}
	}
	without, _, _, _ := NormalScore(c.patterns, apart.Mean, apart.Covariance)
	n, most := float64(participants(c.patterns)), c.standardized.LogLikelihood
	return 2 * (most - log) / n, 2 * (most - without) / n
}

// likeliest returns the k factors of FullInformation under which all standardized answers are most likely, with their
// distribution and its log-likelihood, NaN if the search does not settle. A round of EM expects the covariances of all
// answers, and maximizes the likelihood of their factors: D. B. Rubin and D. T. Thayer, "EM algorithms for ML factor
// analysis", 1982. It begins with other factors of their correlations.
func (c *Correlations) likeliest(ctx context.Context, from *extraction, k int,
) (e *extraction, model *Saturated, log float64, err error) {
	s, p, first := c.standardized, c.Raw.SymmetricDim(), *from
	model, e = &Saturated{Mean: s.Mean, Covariance: mat.NewSymDense(p, nil)}, &first
	deviations := lists.Make(p, func(i int) float64 { return math.Sqrt(s.Covariance.At(i, i)) })
	model.imply(e, deviations)
	var start []float64
	last, settled := math.Inf(-1), false
	for range maxFactorEM {
		now, next, _, ok := model.step(c.patterns)
		if !ok {
			break
		}
		gain := now - last
		last = now
		if settled = gain < factorTolerance; settled {
			break
		}
		r := mat.NewSymDense(p, nil)
		for i := range p {
			deviations[i] = math.Sqrt(next.Covariance.At(i, i))
			for j := range i {
				r.SetSym(i, j, next.Covariance.At(i, j)/(deviations[i]*deviations[j]))
			}
			r.SetSym(i, i, 1)
		}
		if start == nil {
			start = startUniquenesses(r, k)
		}
		if e, err = extractFrom(ctx, r, k, MaximumLikelihood, start); err != nil {
			return nil, nil, 0, err
		}
		start = e.uniquenesses
		next.imply(e, deviations)
		model = next
	}
	if !settled {
		last = math.NaN()
	}
	e.converged = e.converged && settled
	return e, model, last, nil
}

// imply sets the covariances to those that factors imply of items with these standard deviations.
func (s *Saturated) imply(e *extraction, deviations []float64) {
	s.Covariance.SymOuterK(1, e.loadings)
	for i, d := range deviations {
		for j := range i {
			s.Covariance.SetSym(i, j, s.Covariance.At(i, j)*d*deviations[j])
		}
		s.Covariance.SetSym(i, i, d*d)
	}
}

// residual returns the RMSR of a model that implies these correlations.
func (c *Correlations) residual(implied *mat.SymDense) float64 {
	p := implied.SymmetricDim()
	var off mat.Dense
	off.Sub(c.R, implied)
	for i := range p {
		off.Set(i, i, 0)
	}
	for _, pair := range c.Unknown {
		off.Set(pair[0], pair[1], 0)
		off.Set(pair[1], pair[0], 0)
	}
	return mat.Norm(&off, 2) / math.Sqrt(float64(p*(p-1)-2*len(c.Unknown)))
}

// Noncentrality returns the λ for which noncentral at x is this probability, or 0 if it is smaller for every λ.
func Noncentrality(x, df, probability float64) float64 {
	if !(noncentral(x, df, 0) > probability) {
		return 0
	}
	low, high := 0.0, max(1, x)
	for noncentral(x, df, high) > probability {
		low, high = high, 2*high
	}
	for {
		middle := (low + high) / 2
		if middle <= low || middle >= high {
			return middle
		}
		if noncentral(x, df, middle) > probability {
			low = middle
		} else {
			high = middle
		}
	}
}

// poissonTail bounds the Poisson weights that count: 1e-16 of the sum is outside nine standard deviations and 40 more.
const (
	poissonTail  = 9
	poissonExtra = 40
)

// noncentral returns P(X ≤ x) for a noncentral chi-square variable of df degrees of freedom and noncentrality λ,
//
//	Σ_j e^(−λ/2)·(λ/2)^j/j!·P(χ²_(df+2j) ≤ x).
//
// Terms are added from the last to the first, where P(a) = P(a+1) + (x/2)^a·e^(−x/2)/Γ(a+1) with a = df/2 + j adds
// positive numbers only.
func noncentral(x, df, lambda float64) float64 {
	if x <= 0 {
		return 0
	}
	half, mean := x/2, lambda/2
	reach := poissonTail*math.Sqrt(mean) + poissonExtra
	last, first := math.Ceil(mean+reach), max(0, math.Floor(mean-reach))
	below := mathext.GammaIncReg(df/2+last, half)
	logHalf, logMean := math.Log(half), math.Log(mean)
	var sum, weight, step float64
	for j := last; j >= first; j-- {
		// Both follow from those before, unless these were too small for a number.
		if weight *= (j + 1) / mean; !(weight > 0) {
			log, _ := math.Lgamma(j + 1)
			weight = math.Exp(j*logMean - mean - log)
		}
		if mean == 0 {
			weight = 0
			if j == 0 {
				weight = 1
			}
		}
		if step *= (df/2 + j) / half; !(step > 0) {
			log, _ := math.Lgamma(df/2 + j)
			step = math.Exp((df/2+j-1)*logHalf - half - log)
		}
		sum += weight * below
		below += step
	}
	return min(1, sum)
}

// KMO returns the Kaiser-Meyer-Olkin measure of sampling adequacy of correlations R, p×p, over all pairs and of each
// item, in [0, 1]. With the partial correlations q of two items given the others, from R⁻¹,
//
//	Σ r_ij²/(Σ r_ij² + Σ q_ij²),  over i ≠ j, or over the pairs of item j.
//
// H. F. Kaiser and J. Rice, "Little Jiffy, Mark IV", 1974. All are NaN if R has no inverse. The cost is p³.
func KMO(r *mat.SymDense) (overall float64, items []float64) {
	p := r.SymmetricDim()
	inverse := linalg.Inverse(r)
	if inverse == nil {
		return math.NaN(), slices.Repeat([]float64{math.NaN()}, p)
	}
	items = make([]float64, p)
	var all, allPartial float64
	for j := range p {
		var squares, partial float64
		for i := range p {
			if i != j {
				squares += r.At(i, j) * r.At(i, j)
				partial += inverse.At(i, j) * inverse.At(i, j) / (inverse.At(i, i) * inverse.At(j, j))
			}
		}
		items[j] = squares / (squares + partial)
		all, allPartial = all+squares, allPartial+partial
	}
	return all / (all + allPartial), items
}

// Bartlett returns the chi-square that tests whether items with correlations R, p×p, of n participants are
// uncorrelated, its p(p−1)/2 degrees of freedom, and the p value:
//
//	χ² = −(n − 1 − (2p+5)/6)·log det R.
//
// M. S. Bartlett, "Tests of significance in factor analysis", 1950. Both are NaN if R has no inverse.
func Bartlett(r *mat.SymDense, n int) (chiSquare float64, df int, probability float64) {
	p := r.SymmetricDim()
	df = p * (p - 1) / 2
	var factor mat.Cholesky
	if !factor.Factorize(r) {
		return math.NaN(), df, math.NaN()
	}
	chiSquare = -(float64(n-1) - float64(2*p+5)/6) * factor.LogDet()
	return chiSquare, df, mathext.GammaIncRegComp(float64(df)/2, max(0, chiSquare)/2)
}
