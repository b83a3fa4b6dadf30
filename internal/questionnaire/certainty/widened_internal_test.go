package certainty

import (
	"math"
	"testing"
)

// The end on the side of the bias moves by twice as much, the other one stays; without bias both stay.
func TestWidened(t *testing.T) {
	t.Parallel()
	var sorted []float64
	for z := -0.2; z <= 0.2001; z += 0.01 {
		sorted = append(sorted, math.Tanh(0.5+z))
	}
	low, high := percentiles(sorted)
	for _, c := range []struct{ seen, low, high float64 }{
		{math.Tanh(0.5), low, high},
		{math.Tanh(0.6), low, math.Tanh(math.Atanh(high) + 0.2)},
		{math.Tanh(0.4), math.Tanh(math.Atanh(low) - 0.2), high},
	} {
		if l, h := widened(c.seen, sorted); math.Abs(l-c.low) > 1e-9 || math.Abs(h-c.high) > 1e-9 {
			t.Errorf("about %v: %v to %v, want %v to %v", c.seen, l, h, c.low, c.high)
		}
	}
}
