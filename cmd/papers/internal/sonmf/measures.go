package sonmf

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// orthogonalResidual names a measure that orthogonal methods alone have.
const orthogonalResidual = "orthogonal residual"

// measure sets the measures of the iterate that was kept.
func (o *observer) measure(seconds float64) error {
	topics, err := subspaceDistance(o.truth.topics, o.topics)
	if err != nil {
		return err
	}
	scores, err := subspaceDistance(o.truth.scores, o.scores)
	if err != nil {
		return err
	}
	o.measures = map[string]float64{
		o.cell.part.objective(): o.objective, "truth": o.truth.mean, orthogonalResidual: orthogonality(o.topics), "ε_F": topics, "ε_G": scores,
		"F sparsity %": sparsity(o.topics), "G sparsity %": sparsity(o.scores), "seconds": seconds, "iterations": float64(o.iterations),
	}
	if o.truth.probability != nil {
		o.measures["ε_P"], o.measures["least ε_P"] = probabilityDistance(o.truth.probability, o.topics, o.scores), slices.Min(o.probabilityCurve)
	}
	return nil
}

// tiny is up to where the paper takes entries of a factor for 0.
const tiny = 1e-10

// sparsity returns the share of the entries that are at most 1e-10 away from 0, in percent.
func sparsity(m *mat.Dense) float64 {
	zeros, entries := 0, m.RawMatrix().Data
	for _, v := range entries {
		if math.Abs(v) <= tiny {
			zeros++
		}
	}
	return 100 * float64(zeros) / float64(len(entries))
}

// orthogonality returns ‖AᵀA − I‖², equation (8).
func orthogonality(a *mat.Dense) float64 {
	var gram mat.Dense
	gram.Mul(a.T(), a)
	distance := linalg.DistanceFromIdentity(&gram)
	return distance * distance
}

// subspaceDistance returns ‖H_A − H_B‖, the Frobenius norm of the difference of the projections on the column spaces
// of A and B (m×k). Equation (9) shows its square, the paper's tables hold the norm. With orthonormal bases Q of the two
// spaces it is
//
//	√(rank A + rank B − 2·‖Q_Aᵀ·Q_B‖²),
//
// at O(m·k²), exact to about 1e-7.
func subspaceDistance(a, b *mat.Dense) (float64, error) {
	qa, rankA, err := basis(a)
	if err != nil {
		return 0, err
	}
	qb, rankB, err := basis(b)
	if err != nil {
		return 0, err
	}
	norm := 0.0
	if rankA > 0 && rankB > 0 {
		var inner mat.Dense
		inner.Mul(qa.T(), qb)
		norm = mat.Norm(&inner, 2)
	}
	return math.Sqrt(max(0, float64(rankA+rankB)-2*norm*norm)), nil
}

// negligible is the share of the largest eigenvalue of a Gram matrix of unit columns up to which others count as 0.
const negligible = 1e-12

// basis returns an orthonormal basis of the column space of A, and its rank: A·V·Λ^(−1/2) for the eigenvectors V and the
// positive eigenvalues Λ of AᵀA, the columns of A first brought to unit length.
func basis(a *mat.Dense) (q *mat.Dense, rank int, err error) {
	rows, k := a.Dims()
	unit := mat.NewDense(rows, k, nil)
	for t := range k {
		if length := mat.Norm(a.ColView(t), 2); length > 0 {
			unit.ColView(t).(*mat.VecDense).ScaleVec(1/length, a.ColView(t))
		}
	}
	gram := mat.NewSymDense(k, nil)
	gram.SymOuterK(1, unit.T())
	var eigen mat.EigenSym
	if !eigen.Factorize(gram, true) {
		return nil, 0, fmt.Errorf("finding a basis of a column space: %w", solver.ErrNonFinite)
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	values := eigen.Values(nil) // ascending
	for t := k - 1; t >= 0 && values[t] > negligible*values[k-1]; t-- {
		column := v.ColView(t).(*mat.VecDense)
		column.ScaleVec(1/math.Sqrt(values[t]), column)
		rank++
	}
	if rank > 0 {
		q = new(mat.Dense)
		q.Mul(unit, v.Slice(0, k, k-rank, k))
	}
	return q, rank, nil
}

// probabilities returns 1/(1+exp(−G·Fᵀ)), n×p.
func probabilities(topics, scores *mat.Dense) *mat.Dense {
	n, _ := scores.Dims()
	p, _ := topics.Dims()
	m := mat.NewDense(n, p, nil)
	linalg.Threads(0).MulTo(m, scores, mat.DenseCopyOf(topics.T()))
	linalg.LogisticTo(m.RawMatrix().Data, m.RawMatrix().Data)
	return m
}

// probabilityDistance returns ‖P − P̂‖, the Frobenius norm; the paper's text shows its square, the tables hold the norm.
func probabilityDistance(p, topics, scores *mat.Dense) float64 {
	estimate := probabilities(topics, scores)
	estimate.Sub(estimate, p)
	return mat.Norm(estimate, 2)
}
