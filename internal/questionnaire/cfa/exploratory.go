package cfa

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Information returns the second derivatives of the negative log-likelihood of an exploratory model, whose items load
// on all of its uncorrelated factors: of complete answers their expectation, from which standard errors of maximum
// likelihood are taken, and of incomplete ones themselves, because which answers are missing may depend on others. It
// is nil if no answers have such covariances.
//
// The parameters are the loadings, p×k, by rows, the residual variances and, of incomplete answers, the means. A turn
// of the factors changes nothing: the matrix is singular for k > 1.
func Information(u *factoranalysis.Unrotated) *mat.SymDense {
	p, k := u.Loadings.Dims()
	m := &model{
		frame:  &frame{items: make([]string, p), factors: make([]string, k)},
		groups: []string{""}, means: !u.Complete(),
	}
	var theta []float64
	free := func(v float64, of kind, i, j int) {
		m.cells = append(m.cells, cell{kind: of, i: i, j: j, free: len(theta)})
		theta = append(theta, v)
	}
	for i := range p {
		for t := range k {
			free(u.Loadings.At(i, t), path, i, p+t)
		}
	}
	for i, v := range u.Residuals {
		free(v, covariance, i, i)
	}
	for i, v := range u.Mean {
		if m.means {
			free(v, mean, i, i)
		}
	}
	m.free = len(theta)
	for t := range k {
		m.cells = append(m.cells, cell{kind: covariance, i: p + t, j: p + t, free: fixed, value: 1})
	}
	o := newNormal(m, [][]factoranalysis.Pattern{u.Patterns})
	if math.IsInf(o.loss(theta), 1) {
		return nil
	}
	_, information := o.scoring(theta, m.means)
	return information
}
