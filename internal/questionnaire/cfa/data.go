package cfa

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// fitted is a model with its estimates.
type fitted struct {
	*model
	objective objective
	theta     []float64
	errors    *mat.SymDense // covariances of the estimates
	bread     *mat.SymDense // inverse of the information of the modification indices
	test      test          // the chi-square that differences of models are made of
	measures  Measures
	// jacobian of ordered answers is that of the statistics, axes orthonormal columns that span the same.
	jacobian, axes *mat.Dense
}

// normalData is what the fits of all steps share: the answers, and the likelihoods without a model and without common
// factors.
type normalData struct {
	frame     *frame
	groups    []string
	patterns  [][]factoranalysis.Pattern
	saturated []*factoranalysis.Saturated
	full      bool // FIML
	n         float64
	log, base float64 // log-likelihoods of the saturated model and of the one without common factors
}

func newNormalData(ctx context.Context, f *frame, groups []string, samples []*mat.Dense, full bool,
) (*normalData, error) {
	d := &normalData{frame: f, groups: groups, full: full}
	for g, x := range samples {
		patterns := factoranalysis.Patterns(x)
		n, p := x.Dims()
		d.n += float64(n)
		if pairs := factoranalysis.NeverTogether(patterns, p); len(pairs) > 0 {
			return nil, fmt.Errorf("%w: nobody answered %q together with %q, so that the model has nothing to be "+
				"compared with", ErrUnidentified, f.items[pairs[0][0]], f.items[pairs[0][1]])
		}
		saturated, err := factoranalysis.Saturate(ctx, patterns, p)
		if errors.Is(err, factoranalysis.ErrSingular) {
			err = fmt.Errorf("the covariances of the items%s: %w: is an item the sum of others, or are units far apart",
				within(groups[g]), err)
		}
		if err != nil {
			return nil, err
		}
		if !saturated.Converged {
			return nil, fmt.Errorf("%w: the covariances without a model did not settle in %d rounds; maybe few people "+
				"answered some items together, or an item is the sum of others", ErrUnconverged, saturated.Rounds)
		}
		d.patterns, d.saturated = append(d.patterns, patterns), append(d.saturated, saturated)
		d.log += saturated.LogLikelihood
		column := make([]float64, n)
		for j := range p {
			known := slices.DeleteFunc(mat.Col(column, j, x), math.IsNaN)
			_, variance := stat.PopMeanVariance(known, nil)
			d.base -= float64(len(known)) / 2 * (math.Log(2*math.Pi*variance) + 1)
		}
	}
	return d, nil
}

// within names a group in a message.
func within(group string) string {
	if group == "" {
		return ""
	}
	return fmt.Sprintf(" in group %q", group)
}

// moments returns how many means, variances and covariances a group has.
func (d *normalData) moments(means bool) int {
	p := len(d.frame.items)
	if means {
		return p * (p + 3) / 2
	}
	return p * (p + 1) / 2
}

func (d *normalData) fit(ctx context.Context, equal step) (*fitted, error) {
	m, err := d.frame.newModel(d.groups, nil, d.full || len(d.groups) > 1, equal)
	if err != nil {
		return nil, err
	}
	df := len(d.groups)*d.moments(m.means) - m.free
	if err := m.checkDF(df); err != nil {
		return nil, err
	}
	var covariances []*mat.SymDense
	var means [][]float64
	for _, s := range d.saturated {
		covariances, means = append(covariances, s.Covariance), append(means, s.Mean)
	}
	of := func(m *model) objective { return newNormal(m, d.patterns) }
	o := of(m)
	f := &fitted{model: m, objective: o}
	f.theta, err = m.search(ctx, equal, of, func(m *model) []float64 { return m.start(covariances, means, nil) })
	if err != nil {
		return nil, err
	}
	_, information := o.scoring(f.theta, d.full)
	var ok bool
	if f.errors, ok = scaledInverse(information, 0); !ok {
		if err := m.checkIdentified(information); err != nil {
			return nil, err
		}
		return nil, fmt.Errorf("%w: the estimates are no maximum of the likelihood", ErrUnconverged)
	}
	f.bread = f.errors
	if d.full {
		_, expected := o.scoring(f.theta, false)
		if f.bread, ok = scaledInverse(expected, 0); !ok {
			return nil, cmp.Or(m.checkIdentified(expected),
				fmt.Errorf("%w: the expected information of the estimates has no inverse", ErrUnconverged))
		}
	}
	log := -o.loss(f.theta)
	f.test = test{max(0, 2*(d.log-log)), df}
	p := len(m.items)
	base := test{2 * (d.log - d.base), len(d.groups) * p * (p - 1) / 2}
	f.measures = Measures{
		ChiSquare: questionnaire.Figure(f.test.chiSquare), DF: df, ChiSquareScaled: questionnaire.Figure(math.NaN()),
		LogLikelihood: questionnaire.Figure(log), AIC: questionnaire.Figure(2*float64(m.free) - 2*log),
		BIC: questionnaire.Figure(math.Log(d.n)*float64(m.free) - 2*log), SRMR: questionnaire.Figure(d.srmr(f)),
	}
	f.measures.compare(f.test, base, d.n, len(d.groups))
	return f, nil
}

// checkDF refuses models with more parameters than moments.
func (m *model) checkDF(df int) error {
	if df < 0 {
		return fmt.Errorf("%w: %d free parameters, but only %d moments of the answers", ErrUnidentified, m.free,
			m.free+df)
	}
	return nil
}

// srmr returns the root of the mean squared residual, of the moments in units of the items' standard deviations: P. M.
// Bentler, "EQS structural equations program manual", 1995. Groups count by their participants.
func (d *normalData) srmr(f *fitted) (sum float64) {
	all := f.at(f.theta)
	for g, s := range d.saturated {
		var squares, n float64
		for _, pattern := range d.patterns[g] {
			n += float64(pattern.N)
		}
		for i := range all[g].p {
			si := s.Covariance.At(i, i)
			for j := range i + 1 {
				r := s.Covariance.At(i, j) - all[g].sigma.At(i, j)
				squares += r * r / (si * s.Covariance.At(j, j))
			}
			if f.means {
				r := s.Mean[i] - all[g].mu[i]
				squares += r * r / si
			}
		}
		sum += n / d.n * math.Sqrt(squares/float64(d.moments(f.means)))
	}
	return sum
}

// modifications returns the modification indices of loadings and covariances that the model lacks or fixes, largest
// first. With the derivatives g of the function, I of its expected information and that of the free parameters F,
//
//	V = I_aa − I_aF·I_FF⁻¹·I_Fa,  MI = g²/V,  expected change = −g/V:
//
// D. Sörbom, "Model modification", 1989.
func (f *fitted) modifications() []Modification {
	var cells []cell
	for g := range f.groups {
		for _, c := range f.cells {
			if c.group == g && c.candidate && c.free == fixed {
				cells = append(cells, c)
			}
		}
		for k, factor := range f.factors {
			for i, item := range f.items {
				if f.given(opLoading, factor, item) == nil {
					cells = append(cells, cell{
						group: g, kind: path, lhs: factor, op: opLoading, rhs: item, i: i, j: len(f.items) + k,
					})
				}
			}
		}
		for i, lhs := range f.items {
			for j := i + 1; j < len(f.items); j++ {
				if f.given(opCovariance, lhs, f.items[j]) == nil {
					cells = append(cells, cell{
						group: g, kind: covariance, lhs: lhs, op: opCovariance, rhs: f.items[j], i: i, j: j,
					})
				}
			}
		}
	}
	all := []Modification{}
	if len(cells) == 0 {
		return all
	}
	gradient, cross, own := f.objective.candidates(f.theta, cells)
	half := linalg.NewLike(cross)
	linalg.Threads(1).MulTo(half, cross, mat.DenseCopyOf(f.bread))
	const rounding = 1e-8
	for e, c := range cells {
		v := own[e] - mat.Dot(half.RowView(e), cross.RowView(e))
		if !(v > rounding*own[e]) {
			continue // it would not be identified
		}
		all = append(all, Modification{
			Group: f.groups[c.group], LHS: c.lhs, Op: c.op, RHS: c.rhs, MI: gradient[e] * gradient[e] / v,
			ExpectedChange: -gradient[e] / v,
		})
	}
	slices.SortStableFunc(all, func(a, b Modification) int { return cmp.Compare(b.MI, a.MI) })
	return all
}
