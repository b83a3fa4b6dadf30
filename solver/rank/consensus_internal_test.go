package rank

import (
	"math"
	"math/rand/v2"
	"testing"
)

// Joining along chains of neighbours makes the tree of always joining the nearest two, and the cophenetic correlation
// is the one of its definition over the pairs of rows.
func TestAverageLinkage(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 0))
	for range 20 {
		const n = 17
		d := make(triangle, n*(n-1)/2)
		for i := range d {
			d[i] = random.Float64()
		}
		weights := make([]float64, n)
		for a := range weights {
			weights[a] = float64(1 + random.IntN(4))
		}
		want, products := naive(d, weights)
		if got := d.joined(weights); math.Abs(got-want) > 1e-9*want || math.Abs(products-want) > 1e-9*want {
			t.Fatalf("Σh² = %v, want %v; Σhd = %v", got, want, products)
		}
	}
}

// naive returns Σh² and Σhd over the pairs of rows.
func naive(d triangle, weights []float64) (squares, products float64) {
	var clusters [][]int
	for a := range weights {
		clusters = append(clusters, []int{a})
	}
	mean := func(a, b []int) float64 {
		var sum, pairs float64
		for _, i := range a {
			for _, j := range b {
				sum += weights[i] * weights[j] * *d.at(i, j)
				pairs += weights[i] * weights[j]
			}
		}
		return sum / pairs
	}
	for len(clusters) > 1 {
		x, y, least := 0, 0, math.Inf(1)
		for a := range clusters {
			for b := range a {
				if h := mean(clusters[a], clusters[b]); h < least {
					x, y, least = a, b, h
				}
			}
		}
		for _, i := range clusters[x] {
			for _, j := range clusters[y] {
				squares += weights[i] * weights[j] * least * least
				products += weights[i] * weights[j] * least * *d.at(i, j)
			}
		}
		clusters[y] = append(clusters[y], clusters[x]...)
		clusters = append(clusters[:x], clusters[x+1:]...)
	}
	return squares, products
}
