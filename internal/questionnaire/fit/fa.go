package fit

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Factors scores participants with the fit of a method.
type Factors interface {
	// Score returns the scores, n×k, from answers, n×p with NaN for a missing one, and confounds, n×c or nil.
	Score(answers, confounds *mat.Dense) (*mat.Dense, error)
	// StandardErrors returns the standard errors of the scores, n×k, from the answers.
	StandardErrors(answers *mat.Dense) (*mat.Dense, error)
	// Reconstruct predicts answers from scores and confounds, n×p.
	Reconstruct(scores, confounds *mat.Dense) (*mat.Dense, error)
}

// FactorsOf returns the Factors of a model.
func FactorsOf(m *model.Model) Factors {
	if m.FA != nil {
		return &FA{FA: *m.FA}
	}
	return &m.ICQF
}

// ScoreErrors returns the scores of FactorsOf and their standard errors, n×k, including the errors of the loadings.
func ScoreErrors(m *model.Model, answers, confounds *mat.Dense) (scores, errs *mat.Dense, err error) {
	if m.FA != nil {
		scores, errs, err = (&FA{FA: *m.FA}).ScoreErrors(answers, confounds)
	} else if scores, err = m.ICQF.Score(answers, confounds); err == nil {
		errs, err = m.ICQF.StandardErrors(answers)
	}
	if err == nil {
		m.CountLoadings(errs)
	}
	return scores, errs, err
}

// FA scores participants by factor analysis or the graded response model. It is immutable and safe for concurrent use.
type FA struct {
	model.FA
	threads int // the largest number; 0 means GOMAXPROCS
}

func (f *FA) scorer() *factoranalysis.Scorer {
	return &factoranalysis.Scorer{
		Loadings: f.Loadings, Phi: f.Phi, Uniquenesses: f.Uniquenesses, Means: f.Means, Deviations: f.Deviations,
		ScoreCorrelations: f.ScoreCorrelations, Scores: factoranalysis.ScoreKind(f.Scores), Threads: f.threads,
	}
}

func (f *FA) accounted() (all []model.Accounted) {
	for _, v := range f.scorer().Accounted() {
		all = append(all, model.Accounted{SSLoadings: v, Proportion: v / float64(len(f.Uniquenesses))})
	}
	return all
}

// Score returns the scores of participants, n×k, from their answers, n×p with NaN for a missing one, less
// the effects of the confounds, n×c. It returns the errors of (*factoranalysis.Scorer).ScoresErrors, and one that wraps
// solver.ErrShape for confounds of other shapes.
func (f *FA) Score(answers, confounds *mat.Dense) (*mat.Dense, error) {
	scores, _, err := f.ScoreErrors(answers, confounds)
	return scores, err
}

// ScoreErrors returns the scores of Score and their standard errors, each n×k. It costs no more than one of them.
func (f *FA) ScoreErrors(answers, confounds *mat.Dense) (scores, errs *mat.Dense, err error) {
	rest, err := f.without(answers, confounds)
	switch {
	case err != nil:
		return nil, nil, err
	case f.Graded != nil:
		return f.gradedScores(rest)
	}
	return f.scorer().ScoresErrors(rest)
}

// without returns the answers less the confounds' effects.
func (f *FA) without(answers, confounds *mat.Dense) (*mat.Dense, error) {
	if (f.ConfoundLoadings == nil) != (confounds == nil) {
		return nil, fmt.Errorf("%w: confounds %t, but %t in the model", solver.ErrShape, confounds != nil,
			f.ConfoundLoadings != nil)
	}
	if confounds == nil {
		return answers, nil
	}
	n, p := answers.Dims()
	items, c := f.ConfoundLoadings.Dims()
	if rows, columns := confounds.Dims(); rows != n || columns != c || p != items {
		return nil, fmt.Errorf("%w: %d×%d confounds of %d×%d answers, %d×%d in the model", solver.ErrShape, rows,
			columns, n, p, items, c)
	}
	rest := &mat.Dense{}
	rest.Mul(confounds, f.ConfoundLoadings.T())
	rest.Sub(answers, rest)
	return rest, nil
}

// WithoutConfounds returns the answers, n×p, less the effects of the confounds, n×c, and B of confoundEffects; the
// answers themselves and nil without confounds.
func WithoutConfounds(answers, confounds *mat.Dense) (rest, effects *mat.Dense, err error) {
	if confounds == nil {
		return answers, nil, nil
	}
	if effects, err = confoundEffects(answers, confounds); err != nil {
		return nil, nil, err
	}
	if rest, err = (&FA{FA: model.FA{ConfoundLoadings: effects}}).without(answers, confounds); err == nil {
		clearRounding(rest, answers)
	}
	return rest, effects, err
}

// clearRounding sets the residuals of an item to 0 if the confounds explain its answers up to rounding.
func clearRounding(rest, answers *mat.Dense) {
	const rounding = 1e-20 // of the sum of squares
	n, p := rest.Dims()
	for j := range p {
		var left, all float64
		for i := range n {
			if v := rest.At(i, j); v == v {
				left, all = left+v*v, all+answers.At(i, j)*answers.At(i, j)
			}
		}
		for i := 0; i < n && left <= rounding*all; i++ {
			if v := rest.At(i, j); v == v {
				rest.Set(i, j, 0)
			}
		}
	}
}

// undetermined returns the columns of answers less the confounds' effects that these do not explain fully.
func undetermined(rest *mat.Dense) []int {
	return lists.Where(rest.RawMatrix().Cols, func(j int) bool {
		return slices.ContainsFunc(mat.Col(nil, j, rest), func(v float64) bool { return v == v && v != 0 })
	})
}

// confoundEffects returns B, p×c, that minimizes Σ (m − c·Bᵀ)² over the observed answers, n×p, to each item by itself,
// and of all minima the one with the least sum of squares: the columns of the confounds, n×c, may depend on each other.
func confoundEffects(answers, confounds *mat.Dense) (*mat.Dense, error) {
	n, p := answers.Dims()
	_, c := confounds.Dims()
	effects := mat.NewDense(p, c, nil)
	for j := range p {
		gram, moments := mat.NewSymDense(c, nil), mat.NewVecDense(c, nil)
		for i := range n {
			if v := answers.At(i, j); v == v {
				row := confounds.RowView(i)
				gram.SymRankOne(gram, 1, row)
				moments.AddScaledVec(moments, v, row)
			}
		}
		values, vectors, ok := linalg.Eigen(gram)
		if !ok {
			return nil, fmt.Errorf("regressing item %d on the confounds: %w", j, linalg.ErrEigen)
		}
		along := &mat.VecDense{}
		along.MulVec(vectors.T(), moments)
		for t, v := range values {
			// Below this share of the largest, an eigenvalue is the rounding of 0.
			const rounding = 1e-10
			if v <= rounding*values[c-1] {
				along.SetVec(t, 0)
				continue
			}
			along.SetVec(t, along.AtVec(t)/v)
		}
		along.MulVec(vectors, along)
		effects.SetRow(j, along.RawVector().Data)
	}
	return effects, nil
}

// Reconstruct predicts answers, n×p, from scores, n×k, and confounds, n×c. NaN scores count as 0, the mean.
func (f *FA) Reconstruct(scores, confounds *mat.Dense) (*mat.Dense, error) {
	n, k := scores.Dims()
	items, factors := f.Loadings.Dims()
	if k != factors || (confounds == nil) != (f.ConfoundLoadings == nil) {
		return nil, fmt.Errorf("reconstructing: %w: scores of %d factors, %d in the model, confounds %t",
			solver.ErrShape, k, factors, confounds != nil)
	}
	r := mat.NewDense(n, items, nil)
	scores = linalg.Filled(scores, make([]float64, k))
	if f.Graded != nil {
		r.Apply(func(i, j int, _ float64) float64 {
			return f.Graded.Expected(j, scores.At(i, f.Graded.Factors[j]))
		}, r)
		return r, nil
	}
	r.Mul(scores, f.Loadings.T())
	r.Apply(func(_, j int, v float64) float64 { return f.Means[j] + f.Deviations[j]*v }, r)
	if confounds != nil {
		var added mat.Dense
		added.Mul(confounds, f.ConfoundLoadings.T())
		r.Add(r, &added)
	}
	return r, nil
}

// StandardErrors returns the standard errors of the scores, n×k. Those of factor analysis depend only on which items
// were answered.
func (f *FA) StandardErrors(answers *mat.Dense) (*mat.Dense, error) {
	alone := *f
	alone.ConfoundLoadings = nil
	_, errs, err := alone.ScoreErrors(answers, nil)
	return errs, err
}
