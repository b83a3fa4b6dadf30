package model

import (
	"errors"
	"fmt"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/safetensors"
)

// FA scores participants by factor analysis. It is immutable and safe for concurrent use.
type FA struct {
	factoranalysis.Scorer
	// ConfoundLoadings is B, p×c: what the confounds add to the answers, on the scale of the answers; nil without confounds. The
	// factors are those of the answers less C·Bᵀ.
	ConfoundLoadings *mat.Dense
}

// Score returns the regression scores of participants, n×k, from their answers, n×p with NaN for a missing one, less what the
// confounds, n×c, add. It returns the errors of (*factoranalysis.Scorer).Scores, and one that wraps solver.ErrShape for confounds
// that do not fit.
func (f *FA) Score(answers, confounds *mat.Dense) (*mat.Dense, error) {
	scores, _, err := f.ScoreErrors(answers, confounds)
	return scores, err
}

// ScoreErrors returns the scores of Score and their standard errors, each n×k. It costs no more than either.
func (f *FA) ScoreErrors(answers, confounds *mat.Dense) (scores, errs *mat.Dense, err error) {
	rest, err := f.without(answers, confounds)
	if err != nil {
		return nil, nil, err
	}
	return f.ScoresErrors(rest)
}

// without returns the answers less what the confounds add.
func (f *FA) without(answers, confounds *mat.Dense) (*mat.Dense, error) {
	if (f.ConfoundLoadings == nil) != (confounds == nil) {
		return nil, fmt.Errorf("%w: confounds %t, but %t in the model", solver.ErrShape, confounds != nil, f.ConfoundLoadings != nil)
	}
	if confounds == nil {
		return answers, nil
	}
	n, p := answers.Dims()
	items, c := f.ConfoundLoadings.Dims()
	if rows, columns := confounds.Dims(); rows != n || columns != c || p != items {
		return nil, fmt.Errorf("%w: %d×%d confounds of %d×%d answers, %d×%d in the model", solver.ErrShape, rows, columns, n, p, items, c)
	}
	rest := &mat.Dense{}
	rest.Mul(confounds, f.ConfoundLoadings.T())
	rest.Sub(answers, rest)
	return rest, nil
}

// WithoutConfounds returns the answers, n×p, less what the confounds, n×c, add, and B of confoundEffects.
func WithoutConfounds(answers, confounds *mat.Dense) (rest, effects *mat.Dense, err error) {
	if effects, err = confoundEffects(answers, confounds); err != nil {
		return nil, nil, err
	}
	if rest, err = (&FA{ConfoundLoadings: effects}).without(answers, confounds); err == nil {
		clearRounding(rest, answers)
	}
	return rest, effects, err
}

// clearRounding sets to 0 what is left of answers to an item that the confounds explain but for rounding, so that nothing is made
// of it.
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

// confoundEffects returns B, p×c, that minimizes Σ (m − c·Bᵀ)² over the observed answers, n×p, to each item by itself. The
// columns of the confounds, n×c, may depend on each other, as those of a category and an intercept do; of all minima B is the one
// with the least sum of squares.
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

// Reconstruct returns the answers that scores, n×k, and confounds, n×c, make: n×p. NaN scores count as 0, the mean.
func (f *FA) Reconstruct(scores, confounds *mat.Dense) (*mat.Dense, error) {
	n, k := scores.Dims()
	items, factors := f.Loadings.Dims()
	if k != factors || (confounds == nil) != (f.ConfoundLoadings == nil) {
		return nil, fmt.Errorf("reconstructing: %w: scores of %d factors, %d in the model, confounds %t", solver.ErrShape, k, factors, confounds != nil)
	}
	r := mat.NewDense(n, items, nil)
	r.Mul(scores, f.Loadings.T())
	r.Apply(func(_, j int, v float64) float64 { return f.Means[j] + f.Deviations[j]*v }, r)
	if confounds != nil {
		var added mat.Dense
		added.Mul(confounds, f.ConfoundLoadings.T())
		r.Add(r, &added)
	}
	return r, nil
}

// StandardErrors returns those of the scores, n×k; they depend only on which items were answered.
func (f *FA) StandardErrors(answers *mat.Dense) (*mat.Dense, error) {
	_, errs, err := f.ScoresErrors(answers)
	return errs, err
}

// The tensors of FA besides those of every model.
const (
	tensorPhi          = "factor_correlations"
	tensorUniquenesses = "uniquenesses"
	tensorMeans        = "item_means"
	tensorDeviations   = "item_deviations"
	tensorCorrelations = "item_correlations"
)

// tensors returns what Loadings and ConfoundLoadings leave out.
func (f *FA) tensors() safetensors.Tensors {
	all := safetensors.Tensors{tensorPhi: tensor(f.Phi)}
	for name, values := range map[string][]float64{tensorUniquenesses: f.Uniquenesses, tensorMeans: f.Means, tensorDeviations: f.Deviations} {
		all[name] = safetensors.Tensor{Shape: []int{len(values)}, Data: values}
	}
	if f.ScoreCorrelations != nil {
		all[tensorCorrelations] = tensor(mat.DenseCopyOf(f.ScoreCorrelations))
	}
	return all
}

// parseFA returns the FA with these loadings in the tensors of a model of p items and k factors.
func parseFA(all safetensors.Tensors, loadings, confounds *mat.Dense) (*FA, error) {
	p, k := loadings.Dims()
	f := &FA{Scorer: factoranalysis.Scorer{Loadings: loadings}, ConfoundLoadings: confounds}
	var err error
	if f.Phi, err = matrix(all, tensorPhi, k, k); err != nil {
		return nil, err
	}
	for name, to := range map[string]*[]float64{tensorUniquenesses: &f.Uniquenesses, tensorMeans: &f.Means, tensorDeviations: &f.Deviations} {
		if *to, err = all.Float64(name, p); err != nil {
			return nil, err
		}
	}
	if !(floats.Min(f.Uniquenesses) > 0 && floats.Min(f.Deviations) > 0) {
		return nil, errors.New("a uniqueness or a deviation that is not above 0")
	}
	if _, ok := all[tensorCorrelations]; ok {
		r, err := matrix(all, tensorCorrelations, p, p)
		if err != nil {
			return nil, err
		}
		f.ScoreCorrelations = mat.NewSymDense(p, r.RawMatrix().Data)
	}
	return f, nil
}
