package train

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

type supervised struct {
	*rows
	*Settings
	text     *text
	data     smf.Data
	auxScale []float64 // divisor of each auxiliary feature
	progress Progress
}

func newSupervised(r *rows, t *text, s *Settings) *supervised {
	m := &supervised{rows: r, Settings: s, text: t}
	m.data = smf.Data{Labels: r.classes, Classes: r.kappa() + 1, Weights: s.ClassWeights.Weights(r.classes)}
	m.data.Aux, m.auxScale = r.denseAux()
	return m
}

// supervise fits topics and coefficients together, then calibration and threshold.
func supervise(ctx context.Context, r *rows, t *text, s *Settings, d *Data) (*Fitted, error) {
	m := newSupervised(r, t, s)
	m.progress = d.progress
	folds, err := m.folds(s)
	if err != nil {
		return nil, err
	}
	if err := m.checkFolds(folds); err != nil {
		return nil, err
	}
	choice, err := m.choose(ctx, folds)
	if err != nil {
		return nil, err
	}
	f := &Fitted{Supervised: choice}
	f.Vectorizer, f.Aux = t.vectorizer, r.columns
	if err := m.fit(ctx, f, d.Previous); err != nil {
		return nil, err
	}
	return f, f.calibrate(r, choice.LogOdds, choice.FoldOf, s)
}

// checkFolds returns an error that wraps smf.ErrLabels and names the outcome if one is not in two folds.
func (m *supervised) checkFolds(folds []int) error {
	for class, name := range m.names {
		in := map[int]bool{}
		for i, c := range m.classes {
			if c == class {
				in[folds[i]] = true
			}
		}
		if len(in) < 2 {
			return fmt.Errorf("%w: too few notes of class %q to learn from", smf.ErrLabels, name)
		}
	}
	return nil
}

// choose cross-validates ξ, ν and the rank, unless they are given.
func (m *supervised) choose(ctx context.Context, folds []int) (*smf.Choice, error) {
	search := smf.Search{
		Method: m.method(smf.Candidate{}),
		Solver: solver.Settings{Seed: m.Seed, MaxIter: solverMaxIter, RelTol: solverRelTol}, FoldOf: folds,
		ClassWeights: m.ClassWeights, Progress: m.progress,
	}
	if m.Xi != nil {
		search.Xi = []float64{*m.Xi}
	}
	if m.Ridge != nil {
		search.Ridge = []float64{*m.Ridge}
	}
	for _, rank := range m.ranks() {
		if rank = m.text.rank(rank); !slices.Contains(search.Ranks, rank) {
			search.Ranks = append(search.Ranks, rank)
		}
	}
	if m.Standardize {
		search.Prepare = func(train mat.Matrix) func(mat.Matrix) mat.Matrix {
			means, scales := standard(train)
			return func(x mat.Matrix) mat.Matrix { return linalg.NewStandardized(x, means, scales) }
		}
	}
	choice, err := smf.Choose(ctx, m.text.x, m.data, search)
	if err != nil {
		return nil, fmt.Errorf("choosing a factorization: %w", err)
	}
	return choice, nil
}

func (m *supervised) method(c smf.Candidate) smf.Settings {
	return smf.Settings{Variant: smf.Variant(m.Method), Xi: c.Xi, Ridge: c.Ridge}
}

// standard returns the arguments of linalg.NewStandardized that centre columns and give them equal variance. The mean
// square length of a row stays the same, and with it the meaning of ξ and ν. Constant columns become 0.
func standard(x mat.Matrix) (means, scales []float64) {
	means, deviations := linalg.ColumnMoments(x)
	scales = deviations
	varying := floats.Count(func(d float64) bool { return d > 0 }, deviations)
	n, _ := x.Dims()
	squared := linalg.OperatorOf(x, 0).NormSquared()
	for j, d := range deviations {
		if d > 0 {
			scales[j] = math.Sqrt(squared/float64(n*varying)) / d
		}
	}
	return means, scales
}

// fit factorizes all rows by the best candidate and sets topics and heads, so that the scores of a note are Fᵀx.
func (m *supervised) fit(ctx context.Context, f *Fitted, previous *bundle.Bundle) error {
	earlier, start, err := m.text.earlier(m.Settings, previous, f.Supervised.Best.Rank)
	if err != nil {
		return err
	}
	n, p := m.text.x.Dims()
	x, means, scales := mat.Matrix(m.text.x), make([]float64, p), slices.Repeat([]float64{1}, p)
	if m.Standardize {
		means, scales = standard(m.text.x)
		x = linalg.NewStandardized(m.text.x, means, scales)
	}
	settings := solver.Settings{
		Rank: f.Supervised.Best.Rank, Seed: m.Seed, MaxIter: solverMaxIter, RelTol: solverRelTol,
	}
	if start != nil {
		settings.StartTopics = mat.NewDense(p, settings.Rank, nil)
		for j, scale := range scales {
			if scale == 0 {
				continue
			}
			for t, v := range start.RawRowView(j) {
				settings.StartTopics.Set(j, t, v/scale)
			}
		}
	}
	method, err := smf.New(m.data, m.method(f.Supervised.Best))
	if err == nil {
		f.Solver, err = solve(ctx, x, settings, method)
	}
	var result *solver.Result
	if err == nil {
		// In this gauge the codes of both variants are products of a row with the topics.
		result, err = method.Orthonormal(f.Solver)
	}
	if err != nil {
		return fmt.Errorf("finding topics: %w", err)
	}
	f.Topics = result.Topics
	offset := make([]float64, settings.Rank) // of the scores, by the means
	for j, scale := range scales {
		for t, v := range f.Topics.RawRowView(j) {
			f.Topics.Set(j, t, v*scale)
			offset[t] += means[j] * v * scale
		}
	}
	lengths := unitColumns(f.Topics)
	order := linalg.Indices(settings.Rank)
	if earlier != nil {
		f.Topics, order, f.Alignment = aligned(earlier, f.Topics, previous.Version, start != nil)
	}
	for c := range m.kappa() {
		h := classifier.Head{
			Beta: make([]float64, len(order)), Gamma: slices.Clone(m.auxScale), Intercept: result.Head.Intercept[c],
		}
		beta := result.Head.Coefficients.RawRowView(c)
		for t, from := range order {
			h.Beta[t] = beta[from] * lengths[from]
			h.Intercept -= beta[from] * offset[from]
		}
		for q, scale := range h.Gamma {
			h.Gamma[q] = result.Head.AuxCoefficients.At(c, q) / scale
		}
		f.Heads = append(f.Heads, h)
	}
	scores := mat.NewDense(n, len(order), nil)
	linalg.OperatorOf(m.text.x, 0).MulTo(scores, f.Topics)
	f.Prevalence = classifier.Prevalence(scores, f.Topics)
	return nil
}

// denseAux returns the auxiliary features, centred and divided, with the divisor of each; nil without any.
func (r *rows) denseAux() (*mat.Dense, []float64) {
	if r.width == 0 {
		return nil, nil
	}
	x, scales := mat.NewDense(len(r.all), r.width, nil), r.auxScales()
	for i := range r.all {
		row := x.RawRowView(i)
		r.featuresTo(row, i)
		floats.Div(row, scales)
	}
	return x, scales
}
