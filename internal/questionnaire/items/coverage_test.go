package items_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// The interval of alpha covers the alpha of the population in 93 to 97 % of 500 samples, with and without missing
// answers. Items have loadings .5 to .8 on one factor and the variance 1, so α = p/(p − 1)·(1 − p/V) with V = (Σ λ)² +
// Σ (1 − λ²).
func TestCoverageOfAlpha(t *testing.T) {
	if os.Getenv("WARDCAST_LONG") == "" {
		t.Skip("it analyzes a thousand samples: WARDCAST_LONG=1 runs it")
	}
	t.Parallel()
	const samples, participants = 500, 150
	loadings := []float64{0.5, 0.6, 0.7, 0.8, 0.6, 0.7}
	var sum, unique float64
	for _, l := range loadings {
		sum, unique = sum+l, unique+1-l*l
	}
	p := float64(len(loadings))
	truth := p / (p - 1) * (1 - p/(sum*sum+unique))
	for _, missing := range []float64{0, 0.25} {
		random := rand.New(rand.NewPCG(7, 0))
		covered := 0
		for range samples {
			rows := [][]string{{"q1", "q2", "q3", "q4", "q5", "q6"}}
			for range participants {
				factor, row := random.NormFloat64(), make([]string, len(loadings))
				for j, l := range loadings {
					v := l*factor + math.Sqrt(1-l*l)*random.NormFloat64()
					if random.Float64() >= missing {
						row[j] = strconv.FormatFloat(10+v, 'g', -1, 64)
					}
				}
				rows = append(rows, row)
			}
			path := questionnairetest.File(t, "answers.csv", questionnairetest.CSV(rows))
			a, err := items.Run(t.Context(),
				// Omega of one factor is quick.
				items.Options{Input: path, Factors: 1, Columns: answers.Columns{Items: []string{"q*"}}})
			if err != nil {
				t.Fatal(err)
			}
			if a.AlphaInterval.Low <= truth && truth <= a.AlphaInterval.High {
				covered++
			}
		}
		share := float64(covered) / samples
		t.Logf("%v missing: %.3f covered", missing, share)
		if share < 0.93 || share > 0.97 {
			t.Errorf("with %v missing, %.3f of the intervals cover alpha %.4f", missing, share, truth)
		}
	}
}
