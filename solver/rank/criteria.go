package rank

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// Size is that of a matrix: n rows, p columns, and how many of its n·p cells are observed.
type Size struct{ Rows, Columns, Observed int }

// BIC1 returns the Bayesian information criterion of a factorization with k factors whose squared residuals over the
// observed cells sum to S,
//
//	log S + k·(n+p)/N·log(N/(n+p)),  N the number of observed cells.
//
// Less is better. It is the BIC₁ of K. C. Lam et al., "Interpretable factorization of clinical questionnaires", section 4.1, where N is n·p; from P. Stoica and Y. Selén,
// "Model-order selection", 2004. Meaningful for least squares alone, and S = 0 gives −∞.
func BIC1(squares float64, s Size, factors int) float64 {
	ends, cells := float64(s.Rows+s.Columns), float64(s.Observed)
	return math.Log(squares) + float64(factors)*ends/cells*math.Log(cells/ends)
}

// Unassigned is the cluster of rows that no factor scores.
const Unassigned = -1

// Assign returns the cluster of each row of scores (n×k, ≥ 0), the factor that contributes most to it:
//
//	argmax_t ‖f_t‖·scores_it,  f_t column t of topics (p×k),
//
// the first of equals. Weighing by the length of f_t makes it independent of how a factorization splits the scale between
// the two. A row without a positive score is Unassigned.
func Assign(topics, scores *mat.Dense) []int {
	n, k := scores.Dims()
	lengths := make([]float64, k)
	for t := range lengths {
		lengths[t] = mat.Norm(topics.ColView(t), 2)
	}
	clusters := make([]int, n)
	for i := range clusters {
		clusters[i] = Unassigned
		var largest float64
		for t, v := range scores.RawRowView(i) {
			if v *= lengths[t]; v > largest {
				clusters[i], largest = t, v
			}
		}
	}
	return clusters
}
