// Package align matches the topics of one model with those of another.
package align

import "gonum.org/v1/gonum/mat"

// Topics matches the columns of topics, p×k, with those of previous, p×l.
func Topics(previous, topics *mat.Dense) (permutation []int, cosines []float64) {
	return nil, nil
}
