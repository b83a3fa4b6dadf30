package elasticnet

import "math"

// gather returns Σ_e values_e · y[rows_e].
func gather(rows []int32, values, y []float64) float64 {
	values = values[:len(rows)]
	var even, odd float64
	e := 0
	for ; e+2 <= len(rows); e += 2 {
		even += values[e] * y[rows[e]]
		odd += values[e+1] * y[rows[e+1]]
	}
	if e < len(rows) {
		even += values[e] * y[rows[e]]
	}
	return even + odd
}

// scatter adds a·values_e to y[rows_e].
func scatter(a float64, rows []int32, values, y []float64) {
	values = values[:len(rows)]
	for e, i := range rows {
		y[i] += a * values[e]
	}
}

// softplus is linalg.Softplus with log in place of log1p: to an absolute 1e-16, which no sum over rows shows.
func softplus(eta float64) float64 {
	return max(eta, 0) + math.Log(1+math.Exp(-math.Abs(eta)))
}
