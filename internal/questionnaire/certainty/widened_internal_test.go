package certainty

import (
	"math"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// The end on the side of the bias moves by twice as much, the other one stays; without bias both stay.
func TestWidened(t *testing.T) {
	t.Parallel()
	var sorted []float64
	for z := -0.2; z <= 0.2001; z += 0.01 {
		sorted = append(sorted, math.Tanh(0.5+z))
	}
	i := questionnaire.Percentiles(sorted)
	for _, c := range []struct{ seen, low, high float64 }{
		{math.Tanh(0.5), i.Low, i.High},
		{math.Tanh(0.6), i.Low, math.Tanh(math.Atanh(i.High) + 0.2)},
		{math.Tanh(0.4), math.Tanh(math.Atanh(i.Low) - 0.2), i.High},
	} {
		if w := widened(c.seen, sorted); math.Abs(w.Low-c.low) > 1e-9 || math.Abs(w.High-c.high) > 1e-9 {
			t.Errorf("about %v: %v, want %v to %v", c.seen, w, c.low, c.high)
		}
	}
}
