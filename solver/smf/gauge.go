package smf

import (
	"fmt"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Orthonormal returns a result of the method in the gauge with orthonormal topics, TopicsᵀTopics = I, in which the
// codes of both variants are X·Topics. With topics W, scores S, coefficients C and the thin singular value
// decomposition W = U·D·Vᵀ
//
//	SMF-W: Topics = U·R, Scores = S·V·D·R, Coefficients = C·V·D·R
//	SMF-H: Topics = U·R, Scores = S·V·D·R, Coefficients = C·V·D⁻¹·R
//
// where the rotation R orders the topics by the singular values of Scores·Topicsᵀ, largest first. The entry of largest
// magnitude of each topic is positive, the first of several. Predictions are the same.
//
// If W has rank < k, further topics complete it to an orthonormal set; their scores and coefficients are 0. The result
// shares only the trace with r. The cost is O((n+p)·k²).
func (m *Method) Orthonormal(r *solver.Result) (*solver.Result, error) {
	const serial = linalg.Threads(1) // small products, made once
	p, k := r.Topics.Dims()
	basis, small := mat.NewDense(p, k, nil), mat.NewDense(k, k, nil) // W = basis·small
	if err := serial.PolarTo(basis, r.Topics); err != nil {
		return nil, fmt.Errorf("making topics orthonormal: %w", err)
	}
	serial.InnerTo(small, basis, r.Topics)
	var svd mat.SVD
	if !svd.Factorize(small, mat.SVDFull) {
		return nil, fmt.Errorf("making topics orthonormal: %w", solver.ErrNonFinite)
	}
	var u, v mat.Dense
	svd.UTo(&u)
	svd.VTo(&v)
	values := svd.Values(nil)
	coded := make([]float64, k) // the factors of the coefficients
	for t, d := range values {
		if d*d <= negligible*values[0]*values[0] {
			values[t] = 0
			continue
		}
		coded[t] = d
		if m.settings.Variant == VariantH {
			coded[t] = 1 / d
		}
	}
	var scores, coefficients mat.Dense
	scores.Mul(r.Scores, &v)
	linalg.ScaleColumns(&scores, &scores, values)
	coefficients.Mul(r.Head.Coefficients, &v)
	linalg.ScaleColumns(&coefficients, &coefficients, coded)

	_, rotation, ok := eigen(serial.Gram(&scores))
	if !ok {
		return nil, fmt.Errorf("ordering topics: %w", solver.ErrNonFinite)
	}
	turned, head := *r, *r.Head
	small.Mul(&u, rotation)
	turned.Topics, turned.Scores, head.Coefficients = serial.Product(basis, small), new(mat.Dense), new(mat.Dense)
	signs := linalg.Signs(turned.Topics)
	turned.Scores.Mul(&scores, rotation)
	head.Coefficients.Mul(&coefficients, rotation)
	for _, a := range []*mat.Dense{turned.Topics, turned.Scores, head.Coefficients} {
		linalg.ScaleColumns(a, a, signs)
	}
	turned.Head = &head
	distance := linalg.DistanceFromIdentity(serial.Gram(turned.Topics))
	turned.OrthogonalityResidual = distance * distance
	return &turned, nil
}
