// Package align matches the topics of one factorization with the topics of another, so that topics keep their places
// from one training to the next.
//
// Topics is p×k: one column per topic. Nothing passed in is modified. Source: R. Jonker and A. Volgenant, "A shortest
// augmenting path algorithm for dense and sparse linear assignment problems", 1987.
package align

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Topics returns the order of the columns of topics, p×k, in which they are nearest to those of previous, p×l: the
// column permutation[t] takes place t. It has the largest
//
//	Σ_t cosines[t],  cosines[t] = fᵀg/(‖f‖·‖g‖), f column t of previous, g column permutation[t] of topics,
//
// over the first min(k, l) places. A column that is zero or not finite has cosine 0. The places from l on have cosine 0
// too; the remaining columns fill them in their order. Signs count: a topic with the opposite signs is a different
// topic.
//
// The matching is the Hungarian method by shortest augmenting paths (Jonker and Volgenant 1987). Ties go to the first
// columns; equal input gives equal output. Topics panics if the numbers of terms differ. The cost is p·k·l + min(k,
// l)²·k.
func Topics(previous, topics *mat.Dense) (permutation []int, cosines []float64) {
	return match(previous, topics, func(cosine float64) float64 { return cosine })
}

// Factors is Topics for columns whose signs do not count, such as those of factor analysis: the permutation has the
// largest sum of the absolute values of the cosines. A column that takes a place with a negative cosine should be given
// the opposite signs.
func Factors(previous, factors *mat.Dense) (permutation []int, cosines []float64) {
	return match(previous, factors, math.Abs)
}

// match returns the permutation with the largest sum of the gains of the cosines.
func match(previous, topics *mat.Dense, gain func(cosine float64) float64) (permutation []int, cosines []float64) {
	_, l := previous.Dims()
	_, k := topics.Dims()
	all, gains := mat.NewDense(l, k, nil), mat.NewDense(min(k, l), k, nil)
	all.Mul(linalg.Directions(previous).T(), linalg.Directions(topics))
	gains.Apply(func(t, c int, _ float64) float64 { return gain(all.At(t, c)) }, gains)
	cosines = make([]float64, k)
	permutation = assign(gains)
	taken := make([]bool, k)
	for t, c := range permutation {
		cosines[t], taken[c] = all.At(t, c), true
	}
	return append(permutation, lists.Where(k, func(c int) bool { return !taken[c] })...), cosines
}

// assign returns for each row a column of its own so that the sum of the gains is largest. Gains have at least as many
// columns as rows.
//
// It is the Hungarian method: the rows are assigned one by one. A new row takes the cheapest path of exchanges with the
// rows assigned before. Prices of rows and columns keep the cost of every exchange at or above 0. Rows and columns
// count from 1 here; row 0 is not a row, and column 0 holds the new row.
func assign(gain *mat.Dense) []int {
	rows, cols := gain.Dims()
	rowPrice, colPrice := make([]float64, rows+1), make([]float64, cols+1)
	owner, from := make([]int, cols+1), make([]int, cols+1)
	cost, done := make([]float64, cols+1), make([]bool, cols+1)
	for joining := 1; joining <= rows; joining++ {
		owner[0] = joining
		for c := range cost {
			cost[c] = math.Inf(1)
		}
		clear(done)
		last := 0
		for owner[last] != 0 {
			done[last] = true
			row, step, next := owner[last], math.Inf(1), 0
			for c := 1; c <= cols; c++ {
				if done[c] {
					continue
				}
				if reduced := -gain.At(row-1, c-1) - rowPrice[row] - colPrice[c]; reduced < cost[c] {
					cost[c], from[c] = reduced, last
				}
				if cost[c] < step {
					step, next = cost[c], c
				}
			}
			for c := range cost {
				if done[c] {
					rowPrice[owner[c]] += step
					colPrice[c] -= step
				} else {
					cost[c] -= step
				}
			}
			last = next
		}
		for last != 0 {
			owner[last], last = owner[from[last]], from[last]
		}
	}
	columns := make([]int, rows)
	for c, r := range owner[1:] {
		if r != 0 {
			columns[r-1] = c
		}
	}
	return columns
}
