package evaluate

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/classifier/eval"
)

// The interval covers the expected AUROC of what is learned from that many participants. Two classes of normal answers
// differ by 1 along the first of three axes; the difference w of their means, learned from n₁, has the AUROC
// Φ(w₁/(√2‖w‖)).
func TestResampledCovers(t *testing.T) {
	t.Parallel()
	const (
		n, held, repeats, axes = 150, 30, 10, 3
		samples                = 1000
		// The standard error of a coverage of 0.95 is 0.007. The interval is known to err on the safe side.
		least, most = 0.93, 0.99
	)
	random := rand.New(rand.NewPCG(1, 2))
	normal := distuv.UnitNormal
	truth, intervals := 0.0, []*eval.Interval{}
	for range samples {
		x, y := make([][axes]float64, n), make([]bool, n)
		for i := range x {
			y[i] = i%2 == 0
			for a := range axes {
				x[i][a] = random.NormFloat64()
			}
			if y[i] {
				x[i][0]++
			}
		}
		var areas []float64
		for range repeats {
			rows := random.Perm(n)
			var w [axes]float64
			var counts [2]float64
			for _, i := range rows[held:] {
				if y[i] {
					counts[1]++
				} else {
					counts[0]++
				}
			}
			for _, i := range rows[held:] {
				for a := range axes {
					if y[i] {
						w[a] += x[i][a] / counts[1]
					} else {
						w[a] -= x[i][a] / counts[0]
					}
				}
			}
			var p []float64
			var outcome []bool
			for _, i := range rows[:held] {
				p, outcome = append(p, normal.CDF(floats.Dot(w[:], x[i][:]))), append(outcome, y[i])
			}
			area, _, err := eval.AUROC(outcome, p, nil)
			if err != nil {
				t.Fatal(err)
			}
			areas = append(areas, area)
			truth += normal.CDF(w[0]/(math.Sqrt2*floats.Norm(w[:], 2))) / (samples * repeats)
		}
		if m := resampled(areas, float64(held)/(n-held), 0); m.Interval != nil {
			intervals = append(intervals, m.Interval)
		}
	}
	covered, widths := 0.0, []float64{}
	for _, i := range intervals {
		if widths = append(widths, i.High-i.Low); i.Low <= truth && truth <= i.High {
			covered++
		}
	}
	if share := covered / samples; share < least || share > most {
		t.Errorf("of %d intervals, %.3f wide on average, %.3f cover %.3f", samples,
			stat.Mean(widths, nil), share, truth)
	}
}
