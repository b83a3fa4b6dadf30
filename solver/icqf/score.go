package icqf

import "gonum.org/v1/gonum/mat"

// Score returns the scores of participants, n×k: for each row m of the n×p answers (NaN where there is none) and c of the
// n×c confounds the minimum over w in [0, 1]ᵏ of
//
//	½ Σ (m − w·Qᵀ − c·Qcᵀ)² + β‖w‖₁ + ½β₂‖w‖²,
//
// the sum over observed answers, to optimality. A row's scores depend on that row alone, to the last bit. A row without
// answers scores 0.
//
// It returns an error that wraps solver.ErrShape or ErrConfounds for what does not fit the model.
func (m *Model) Score(answers, confounds *mat.Dense) (*mat.Dense, error) {
	return nil, nil
}

// Reconstruct returns R = W·Qᵀ + C·Qcᵀ, n×p, for scores n×k and confounds n×c. It is not cut to the range of the answers.
// It returns the errors of Score.
func (m *Model) Reconstruct(scores, confounds *mat.Dense) (*mat.Dense, error) {
	return nil, nil
}
