package model

import (
	"errors"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// FA is a solution of factor analysis: plain data with the fields of factoranalysis.Scorer, which package fit uses. It
// is immutable and safe for concurrent use.
type FA struct {
	Loadings, Phi     *mat.Dense // p×k, k×k
	Uniquenesses      []float64
	Means, Deviations []float64
	ScoreCorrelations *mat.SymDense // p×p, nil for those of the solution
	// ConfoundLoadings is B, p×c, or nil: the factors are those of the answers less C·Bᵀ, on the scale of the answers.
	ConfoundLoadings *mat.Dense
}

// The tensors of FA in addition to those of every model.
const (
	tensorPhi          = "factor_correlations"
	tensorUniquenesses = "uniquenesses"
	tensorMeans        = "item_means"
	tensorDeviations   = "item_deviations"
	tensorCorrelations = "item_correlations"
)

// tensors returns everything but Loadings and ConfoundLoadings.
func (f *FA) tensors() safetensors.Tensors {
	all := safetensors.Tensors{tensorPhi: tensor(f.Phi)}
	for name, values := range map[string][]float64{
		tensorUniquenesses: f.Uniquenesses, tensorMeans: f.Means, tensorDeviations: f.Deviations,
	} {
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
	f := &FA{Loadings: loadings, ConfoundLoadings: confounds}
	var err error
	if f.Phi, err = matrix(all, tensorPhi, k, k); err != nil {
		return nil, err
	}
	for name, to := range map[string]*[]float64{
		tensorUniquenesses: &f.Uniquenesses, tensorMeans: &f.Means, tensorDeviations: &f.Deviations,
	} {
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
