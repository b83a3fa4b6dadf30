package items

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// The ratings of Shrout and Fleiss (1979, table 2), with the values of their table 4 for single ratings and, by the
// formula of Spearman and Brown, for means of four; and two visits with a shift of everybody. The intervals are those
// that pingouin 0.7.0 prints, intraclass_corr(data, "participant", "bin", "score").
func TestICC(t *testing.T) {
	t.Parallel()
	judged := []float64{9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7}
	visits := []float64{3, 7, 0, 8, 19, 26, 9, 14, 16, 20, 18, 16, 20, 20, 1, 6, 15, 14, 2, 8, 8, 14, 23, 27}
	equals := func(name string, got questionnaire.Figure, want float64) {
		t.Helper()
		const printed = 0.005
		if !(math.Abs(float64(got)-want) <= printed) {
			t.Errorf("%s is %v, want %v", name, got, want)
		}
	}
	for _, c := range []struct {
		name                   string
		scores                 []float64
		bins                   int
		agreement, consistency [3]float64 // and their intervals
		means                  [2]float64 // ICC(2,k) and ICC(3,k)
	}{
		{"Shrout and Fleiss", judged, 4, [3]float64{.29, .02, .76}, [3]float64{.71, .34, .95}, [2]float64{.62, .91}},
		{"visits", visits, 2, [3]float64{.82, .07, .96}, [3]float64{.92, .73, .97}, [2]float64{.90, .96}},
	} {
		agreement, consistency := icc(c.scores, c.bins)
		for i, of := range []ICC{agreement, consistency} {
			want, k := [][3]float64{c.agreement, c.consistency}[i], questionnaire.Figure(c.bins)
			equals(c.name, of.Value, want[0])
			equals(c.name+", lower end", of.Low, want[1])
			equals(c.name+", upper end", of.High, want[2])
			equals(c.name+", mean of all", k*of.Value/(1+(k-1)*of.Value), c.means[i])
		}
	}
	if a, _ := icc(judged[:4], 4); a.Value.Defined() {
		t.Errorf("a single participant has an ICC of %v", a.Value)
	}
}

// Scores whose variance is by .8 that of participants, at three visits: the mean is right, and 95 % of the intervals
// hold .8.
func TestICCOfPlantedScores(t *testing.T) {
	t.Parallel()
	const samples, people, bins, truth = 1000, 60, 3, 0.8
	random := rand.New(rand.NewPCG(3, 0))
	var mean, held [2]float64
	for range samples {
		var scores []float64
		for range people {
			own := math.Sqrt(truth) * random.NormFloat64()
			for range bins {
				scores = append(scores, own+math.Sqrt(1-truth)*random.NormFloat64())
			}
		}
		agreement, consistency := icc(scores, bins)
		for i, of := range []ICC{agreement, consistency} {
			mean[i] += float64(of.Value) / samples
			if of.Low <= truth && truth <= of.High {
				held[i] += 1. / samples
			}
		}
	}
	for i := range mean {
		if math.Abs(mean[i]-truth) > 0.01 || math.Abs(held[i]-0.95) > 0.02 {
			t.Errorf("ICC(%d,1): mean %.3f, %.3f of the intervals hold the truth", i+2, mean[i], held[i])
		}
	}
}
