package reproduce

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// tiny is up to where the paper takes entries of a factor for 0.
const tiny = 1e-10

// sparsity returns the share of the entries that are 0 or within 1e-10 of it, in percent.
func sparsity(m *mat.Dense) float64 {
	rows, cols := m.Dims()
	zeros := 0
	for i := range rows {
		for _, v := range m.RawRowView(i) {
			if math.Abs(v) <= tiny {
				zeros++
			}
		}
	}
	return 100 * float64(zeros) / float64(rows*cols)
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
	qa, err := basis(a)
	if err != nil {
		return 0, err
	}
	qb, err := basis(b)
	if err != nil {
		return 0, err
	}
	if qa == nil || qb == nil { // the projection on {0} is 0
		rank := 0
		for _, q := range []*mat.Dense{qa, qb} {
			if q != nil {
				_, rank = q.Dims()
			}
		}
		return math.Sqrt(float64(rank)), nil
	}
	_, ka := qa.Dims()
	_, kb := qb.Dims()
	var inner mat.Dense
	inner.Mul(qa.T(), qb)
	norm := mat.Norm(&inner, 2)
	return math.Sqrt(max(0, float64(ka+kb)-2*norm*norm)), nil
}

// negligible is the share of the largest eigenvalue of a Gram matrix of unit columns up to which others count as 0.
const negligible = 1e-12

// basis returns an orthonormal basis of the column space of A, nil for A = 0: A·V·Λ^(−1/2) for the eigenvectors V and
// the positive eigenvalues Λ of AᵀA, the columns of A first brought to unit length.
func basis(a *mat.Dense) (*mat.Dense, error) {
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
		return nil, fmt.Errorf("finding a basis of a column space: %w", solver.ErrNonFinite)
	}
	values := eigen.Values(nil) // ascending
	from := 0
	for from < k && !(values[from] > negligible*values[k-1]) {
		from++
	}
	if from == k {
		return nil, nil
	}
	var v mat.Dense
	eigen.VectorsTo(&v)
	for t := from; t < k; t++ {
		column := v.ColView(t).(*mat.VecDense)
		column.ScaleVec(1/math.Sqrt(values[t]), column)
	}
	q := new(mat.Dense)
	q.Mul(unit, v.Slice(0, k, from, k))
	return q, nil
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

// meanError returns the mean of values and its standard error, 0 for one value.
func meanError(values []float64) (mean, standardError float64) {
	mean, deviation := meanDeviation(values)
	return mean, stat.StdErr(deviation, float64(len(values)))
}

// meanDeviation returns the mean of values and their standard deviation, 0 for one value.
func meanDeviation(values []float64) (mean, deviation float64) {
	if len(values) < 2 {
		return stat.Mean(values, nil), 0
	}
	return stat.MeanStdDev(values, nil)
}
