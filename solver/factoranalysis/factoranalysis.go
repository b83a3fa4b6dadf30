package factoranalysis

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Rotation is a choice of axes.
type Rotation string

// The rotations.
const (
	// RotatePromax makes factors oblique, see Promax.
	RotatePromax Rotation = "promax"
	// RotateOblimin makes factors oblique, see Oblimin.
	RotateOblimin Rotation = "oblimin"
	// RotateGeomin makes factors oblique, and lets items load on several.
	RotateGeomin Rotation = "geomin"
	// RotateTarget makes factors oblique, and brings loadings to Target.
	RotateTarget Rotation = "target"
	// RotateBifactor has a general factor first, and group factors, all uncorrelated: the solution of Schmid and Leiman
	// for one factor less, rotated by Oblimin, see Omega.
	RotateBifactor Rotation = "bifactor"
	// RotateVarimax keeps factors uncorrelated, see Varimax.
	RotateVarimax Rotation = "varimax"
	// RotateNone leaves the principal axes.
	RotateNone Rotation = "none"
)

// rotation turns loadings (p×k); it returns Φ (k×k) too, the correlations of the factors, nil for I.
type rotation func(loadings *mat.Dense) (rotated, phi *mat.Dense)

// named is a rotation with a function for standard errors, which returns the rotation of loadings near others, nil for
// none. The first kept factors keep their places and signs.
type named struct {
	name   Rotation
	rotate rotation
	near   func(loadings *mat.Dense) rotation
	kept   int
}

// rotations returns all rotations; the target is that of RotateTarget.
func rotations(target *mat.Dense) []named {
	free, partial := &obliquely{geomin, manyStarts}, towards(target)
	return []named{
		{RotatePromax, Promax, func(loadings *mat.Dense) rotation { return turnedFirst(Promax, loadings) }, 0},
		{RotateOblimin, Oblimin, oblimin.near, 0},
		{RotateGeomin, free.rotate, free.near, 0},
		{RotateTarget, partial.rotate, partial.near, math.MaxInt},
		{RotateBifactor, bifactor, nearBifactor, 1},
		{RotateVarimax, varimaxAlone, func(a *mat.Dense) rotation { return turnedFirst(varimaxAlone, a) }, 0},
		{RotateNone, func(loadings *mat.Dense) (rotated, phi *mat.Dense) { return loadings, nil }, nil, 0},
	}
}

func varimaxAlone(loadings *mat.Dense) (rotated, phi *mat.Dense) {
	rotated, _ = Varimax(loadings)
	return rotated, nil
}

var extractions = []Extraction{Minres, MaximumLikelihood}

// Rotations returns the names of the rotations, the default first.
func Rotations() []string {
	return lists.Map(rotations(nil), func(r named) string { return string(r.name) })
}

// Settings controls Fit. Zero values mean what the fields say.
type Settings struct {
	// Factors is the number of factors k, 1 ≤ k < p; at least 3 for RotateBifactor, with the general factor.
	Factors int
	// Correlation is the kind of correlation; "" means Pearson.
	Correlation Kind
	// Extraction is the criterion of the factors; "" means Minres.
	Extraction Extraction
	// Rotation is the choice of axes; "" means RotatePromax.
	Rotation Rotation
	// Target, p×k, holds the loadings to which RotateTarget rotates, NaN for those that are free. Each factor has at
	// least k−1 that are not.
	Target *mat.Dense
	// Regressed is the number of coefficients of the regression whose residuals are x. It reduces n in Fit.
	Regressed int
	// Answers, n×p, and Confounds, n×c, are for Polychoric, whose categories residuals no longer have: those that were
	// regressed, and on what. The correlations are then those of normal variables that are the sum of a linear function
	// of the confounds and of what is correlated. nil means that x are the answers. It adds to the cost a regression of
	// each item, and for each pair an evaluation of the likelihood for each different row of the confounds.
	Answers, Confounds *mat.Dense
	// Quick leaves out the chi-square of FullInformation and what follows from it, which take most of the time.
	Quick bool
	// Threads is the largest number of goroutines; 0 means GOMAXPROCS. The bits do not depend on it.
	Threads int
}

// Model is a factor solution.
type Model struct {
	// Scorer holds the solution, and everything that scores need.
	Scorer
	// Fit measures how well the factors reproduce the correlations.
	Fit GoodnessOfFit
	// Converged reports whether the extraction ended at a minimum.
	Converged bool
	// Correlations are the factored ones.
	Correlations *Correlations
	// Unrotated is what standard errors need: of MaximumLikelihood and a rotation, for FullInformation or Pearson of
	// complete answers, unless a uniqueness is at its bound. Otherwise nil.
	Unrotated *Unrotated
}

const (
	// maxFills and fillTol end the completion of unknown correlations.
	maxFills = 500
	fillTol  = 1e-7
	// Each third step is followed by a jump, and longest is the greatest share that one step counts as of another.
	fillsOfJump = 3
	longest     = 0.97
)

// Fit factors the correlations of x, n×p, where NaN is a missing answer, and rotates the factors. Uniquenesses are at
// least 0.005. Minres minimizes the sum of squared residuals off the diagonal. MaximumLikelihood gives residuals more
// weight the smaller the items' uniquenesses are; it needs correlations with an inverse. With FullInformation its
// factors are those of greatest likelihood of all answers, which differ from the factors of the correlations.
//
// Pairs of items that no participant answered together, as in designs with planned missing answers, are ignored. Their
// correlations are filled in from the solution, which is computed again until none of them changes by more than 1e-7.
// The likelihood of FullInformation says nothing of them: what its iterations leave there would be more factors.
//
// Errors are those of Correlate, also for Confounds that are not finite, have other rows than x, or determine an item,
// and one that wraps solver.ErrSettings for a number of factors outside 1 … p−1, an unknown extraction or rotation;
// MaximumLikelihood adds one that wraps ErrSingular for correlations that had to be smoothed. When ctx ends, its cause
// is returned within one update of the extraction. Converged reports a search that does not converge, and
// Correlations.Smoothed a matrix that is not a correlation matrix. An update costs p²·k and p³/3, and with few items
// for that many factors p²·(p−k)·k.
func Fit(ctx context.Context, x mat.Matrix, s Settings) (*Model, error) {
	s.Correlation, s.Extraction, s.Rotation = cmp.Or(s.Correlation, Pearson), cmp.Or(s.Extraction, Minres),
		cmp.Or(s.Rotation, RotatePromax)
	all := rotations(s.Target)
	at := slices.IndexFunc(all, func(r named) bool { return r.name == s.Rotation })
	if at < 0 {
		return nil, fmt.Errorf("%w: rotation %q is not one of %v", solver.ErrSettings, s.Rotation, Rotations())
	}
	if !slices.Contains(extractions, s.Extraction) {
		return nil, fmt.Errorf("%w: extraction %q is not one of %v", solver.ErrSettings, s.Extraction, extractions)
	}
	n, p := x.Dims()
	if s.Factors < 1 || s.Factors >= p {
		return nil, fmt.Errorf("%w: %d factors for %d items", solver.ErrSettings, s.Factors, p)
	}
	if s.Rotation == RotateTarget {
		if err := s.checkTarget(p); err != nil {
			return nil, err
		}
	}
	if s.Rotation == RotateBifactor {
		if s.Factors--; s.Factors < 2 {
			return nil, fmt.Errorf("%w: %d factors for %s, must be at least 3: a general factor and two others",
				solver.ErrSettings, s.Factors+1, RotateBifactor)
		}
	}
	if err := s.checkGiven(n, p); err != nil {
		return nil, err
	}
	of := x
	if s.Answers != nil && s.Correlation == Polychoric {
		of = s.Answers
	}
	correlations, err := correlate(ctx, of, s.Confounds, s.Correlation, s.Threads)
	if err != nil {
		return nil, fmt.Errorf("correlating: %w", err)
	}
	extracted, err := complete(ctx, correlations, s.Factors, s.Extraction)
	if err != nil {
		return nil, fmt.Errorf("factoring: %w", err)
	}
	log, model := math.NaN(), (*Saturated)(nil)
	if correlations.Saturated != nil && (s.Extraction == MaximumLikelihood || !s.Quick) {
		var likeliest *extraction
		if likeliest, model, log, err = correlations.likeliest(ctx, extracted, s.Factors); err != nil {
			return nil, fmt.Errorf("factoring: %w", err)
		}
		if s.Extraction == MaximumLikelihood {
			extracted = likeliest
		}
	}
	m := &Model{Converged: extracted.converged, Correlations: correlations}
	m.Uniquenesses, m.Threads = extracted.uniquenesses, s.Threads
	m.Means, m.Deviations = linalg.SampleMoments(x)
	if s := correlations.Saturated; s != nil {
		m.Means = s.Mean
		n = participants(correlations.patterns)
		for j := range m.Deviations {
			m.Deviations[j] = math.Sqrt(s.Covariance.At(j, j) * float64(n) / float64(n-1))
		}
	}
	m.Loadings, m.Phi = extracted.loadings, linalg.Identity(s.Factors)
	implied := m.Implied()
	order := m.rotate(all[at])
	if !correlations.Smoothed() {
		m.ScoreCorrelations = correlations.R
	}
	m.Fit = goodness(correlations, implied, s.Factors, n-s.Regressed, log)
	near := all[at].near
	if near != nil && s.Extraction == MaximumLikelihood && slices.Min(m.Uniquenesses) > LeastUniqueness {
		m.Unrotated = correlations.unrotated(x, extracted, model, n-s.Regressed)
	}
	if m.Unrotated != nil {
		m.Unrotated.near, m.Unrotated.order = near(extracted.loadings), order
	}
	return m, nil
}

func (s *Settings) checkGiven(n, p int) error {
	if s.Answers != nil {
		if rows, columns := s.Answers.Dims(); rows != n || columns != p {
			return fmt.Errorf("%w: %d×%d answers, must be %d×%d", solver.ErrShape, rows, columns, n, p)
		}
	}
	if s.Confounds == nil {
		return nil
	}
	if rows, _ := s.Confounds.Dims(); rows != n {
		return fmt.Errorf("%w: confounds of %d participants, must be %d", solver.ErrShape, rows, n)
	}
	return solver.CheckFinite(s.Confounds)
}

func (s *Settings) checkTarget(p int) error {
	if s.Target == nil {
		return fmt.Errorf("%w: rotation %s without a target", solver.ErrSettings, RotateTarget)
	}
	if rows, columns := s.Target.Dims(); rows != p || columns != s.Factors {
		return fmt.Errorf("%w: a target of %d items and %d factors, must be %d and %d", solver.ErrSettings, rows,
			columns, p, s.Factors)
	}
	for t := range s.Factors {
		given := lists.Count(mat.Col(nil, t, s.Target), func(v float64) bool { return v == v })
		if given < s.Factors-1 {
			return fmt.Errorf("%w: %d targets for factor %d, must be at least %d, one for each other factor",
				solver.ErrSettings, given, t+1, s.Factors-1)
		}
	}
	return nil
}

// unrotated returns what standard errors of an extraction of greatest likelihood need, nil where there are none: for
// FullInformation of a distribution of standardized answers, for others of n complete answers.
func (c *Correlations) unrotated(x mat.Matrix, e *extraction, model *Saturated, n int) *Unrotated {
	_, p := x.Dims()
	u := &Unrotated{
		Loadings: mat.DenseCopyOf(e.loadings), Residuals: slices.Clone(e.uniquenesses),
		Mean: make([]float64, p), Patterns: []Pattern{{Items: linalg.Indices(p), N: n, Mean: make([]float64, p)}},
	}
	switch {
	case model != nil:
		u.Patterns, u.Mean = c.patterns, model.Mean
		for i := range p {
			v := model.Covariance.At(i, i)
			floats.Scale(math.Sqrt(v), u.Loadings.RawRowView(i))
			u.Residuals[i] *= v
		}
	case floats.HasNaN(mat.DenseCopyOf(x).RawMatrix().Data):
		return nil
	}
	return u
}

// Fill replaces the unknown correlations by those that k minres factors of the known ones imply, as Fit does.
func (c *Correlations) Fill(ctx context.Context, k int) error {
	if len(c.Unknown) == 0 {
		return nil
	}
	_, err := complete(ctx, c, k, Minres)
	return err
}

// complete factors the correlations, filling in the unknown ones.
func complete(ctx context.Context, c *Correlations, k int, by Extraction) (*extraction, error) {
	from := c.Raw
	if by == MaximumLikelihood && len(c.Unknown) > 0 { // 0 in the place of unknown ones has no inverse
		if err := c.Fill(ctx, k); err != nil {
			return nil, err
		}
		from = c.R
	}
	if by == MaximumLikelihood && c.Smoothed() {
		return nil, fmt.Errorf("%w, which %s needs; use %s", ErrSingular, MaximumLikelihood, Minres)
	}
	if len(c.Unknown) == 0 {
		return extract(ctx, c.R, k, by)
	}
	filled := mat.NewSymDense(from.SymmetricDim(), nil)
	filled.CopySym(from)
	e, err := extract(ctx, filled, k, by)
	if err != nil {
		return nil, err
	}
	count := len(c.Unknown)
	settled, now, step, before := false, make([]float64, count), make([]float64, count), make([]float64, count)
	for u, pair := range c.Unknown {
		now[u] = filled.At(pair[0], pair[1])
	}
	for i := range maxFills {
		copy(before, step)
		for u, pair := range c.Unknown {
			step[u] = mat.Dot(e.loadings.RowView(pair[0]), e.loadings.RowView(pair[1])) - now[u]
		}
		floats.Add(now, step)
		if settled = floats.Norm(step, math.Inf(1)) <= fillTol; settled {
			break
		}
		if i%fillsOfJump == fillsOfJump-1 {
			jump(now, step, before)
		}
		for u, pair := range c.Unknown {
			filled.SetSym(pair[0], pair[1], now[u])
		}
		if e, err = extractFrom(ctx, filled, k, by, e.uniquenesses); err != nil {
			return nil, err
		}
	}
	for u, pair := range c.Unknown {
		filled.SetSym(pair[0], pair[1], now[u])
	}
	e.converged = e.converged && settled
	c.R, c.LeastEigenvalue, err = smoothed(filled)
	return e, err
}

// jump moves correlations on by what all later steps add, if each is the same share of the step before, as the last one
// was: a search with more factors than the known correlations tell would be slow without. They stay correlations.
func jump(now, step, before []float64) {
	share := floats.Dot(step, before) / floats.Dot(before, before)
	if !(share > 0) {
		return
	}
	floats.AddScaled(now, min(share/(1-min(share, longest)), longest/(1-longest)), step)
	for u, v := range now {
		now[u] = within1(v)
	}
}

// rotate rotates the loadings, sets Φ, and returns the order of the factors.
func (m *Model) rotate(by named) (order []int) {
	loadings, phi := by.rotate(m.Loadings)
	_, k := loadings.Dims()
	if phi == nil {
		phi = linalg.Identity(k)
	}
	accounted := accounted(loadings, phi)
	order = linalg.Order(k, func(a, b int) int {
		if min(a, b) < by.kept {
			return a - b
		}
		return cmp.Compare(accounted[b], accounted[a])
	})
	m.Loadings, m.Phi = linalg.SelectColumns(loadings, order), submatrix(phi, order)
	signs := lists.Make(k, func(t int) float64 {
		if t < by.kept {
			return 1
		}
		return math.Copysign(1, mat.Sum(m.Loadings.ColView(t)))
	})
	linalg.ScaleColumns(m.Loadings, m.Loadings, signs)
	m.Phi.Apply(func(s, t int, v float64) float64 { return signs[s] * signs[t] * v }, m.Phi)
	return order
}

func accounted(loadings, phi *mat.Dense) []float64 {
	var gram, product mat.Dense
	gram.Mul(loadings.T(), loadings)
	product.Mul(phi, &gram)
	return lists.Make(phi.RawMatrix().Rows, func(t int) float64 { return product.At(t, t) })
}
