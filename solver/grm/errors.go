package grm

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/eap"
)

// errors returns the standard errors of all parameters by the inverse of Σ g·gᵀ, with the gradient g of a participant's
// log-likelihood: by Fisher's identity the posterior mean of that of the likelihood of answers and factors.
func (f *fit) errors(parameters int) *Errors {
	const least = 2 // participants for each parameter
	n, k := len(f.categories), f.of.Phi.RawMatrix().Rows
	if n < least*parameters {
		return nil
	}
	first := make([]int, len(f.of.Factors)) // the slope of each item; its intercepts follow
	count := 0
	for j, d := range f.of.Intercepts {
		first[j] = count
		count += 1 + len(d)
	}
	phi := mat.NewSymDense(k, nil)
	for t := range k {
		for u := range t + 1 {
			phi.SetSym(t, u, f.of.Phi.At(t, u))
		}
	}
	precision := linalg.Inverse(phi)
	slopes := f.scoreTables()
	gradients := mat.NewDense(n, parameters, nil)
	scorer := f.of.NewScorer()
	f.each(func(o *part) {
		s := scorer.Share()
		moments, product := mat.NewDense(k, k, nil), mat.NewDense(k, k, nil)
		for i := o.from; i < o.to; i++ {
			s.Categories(f.categories[i])
			g := gradients.RawRowView(i)
			for j, c := range f.categories[i] {
				if c < 0 {
					continue
				}
				own, w := slopes[j][c], s.Weights[f.of.Factors[j]]
				for q, weight := range w {
					g[first[j]] += weight * own.slope[q]
					if c > 0 {
						g[first[j]+int(c)] += weight * own.upper[q]
					}
					if int(c) < len(f.of.Intercepts[j]) {
						g[first[j]+int(c)+1] += weight * own.lower[q]
					}
				}
			}
			if k == 1 {
				continue
			}
			moments.Outer(1, mat.NewVecDense(k, s.Means), mat.NewVecDense(k, s.Means))
			moments.Add(moments, s.Covariance)
			product.Mul(precision, moments)
			moments.Mul(product, precision)
			at := count
			for t := range k {
				for u := t + 1; u < k; u++ {
					g[at] = moments.At(t, u) - precision.At(t, u)
					at++
				}
			}
		}
	})
	information := mat.NewSymDense(parameters, nil)
	blas64.Syrk(blas.Trans, 1, gradients.RawMatrix(), 0, information.RawSymmetric())
	covariance := linalg.Inverse(information)
	if covariance == nil {
		return nil
	}
	e := &Errors{Phi: mat.NewDense(k, k, nil)}
	for j, a := range f.of.Slopes {
		at := first[j]
		e.Slopes = append(e.Slopes, math.Sqrt(covariance.At(at, at)))
		var thresholds []float64
		for c, d := range f.of.Intercepts[j] {
			b, to := -d/a, at+1+c
			variance := b*b*covariance.At(at, at) + covariance.At(to, to) + 2*b*covariance.At(at, to)
			thresholds = append(thresholds, math.Sqrt(max(0, variance))/math.Abs(a))
		}
		e.Thresholds = append(e.Thresholds, thresholds)
	}
	at := count
	for t := range k {
		for u := t + 1; u < k; u++ {
			v := math.Sqrt(covariance.At(at, at))
			e.Phi.Set(t, u, v)
			e.Phi.Set(u, t, v)
			at++
		}
	}
	return e
}

// tableOf holds the derivatives of the logarithm of a category's probability at the nodes.
type tableOf struct{ slope, upper, lower [eap.Nodes]float64 }

// scoreTables returns the tables of each category of each item.
func (f *fit) scoreTables() [][]tableOf {
	all := make([][]tableOf, len(f.of.Slopes))
	for j, values := range f.of.Values {
		all[j] = make([]tableOf, len(values))
		for c := range values {
			of := &all[j][c]
			for q := range eap.Nodes {
				d := derive(f.of.Bounds(j, c, eap.Node(q)))
				of.slope[q], of.upper[q], of.lower[q] = eap.Node(q)*(d.upper+d.lower), d.upper, d.lower
			}
		}
	}
	return all
}
