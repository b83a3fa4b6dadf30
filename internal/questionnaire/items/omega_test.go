package items_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// plantedOmega analyzes samples of nine items on three factors, whose correlations have a general factor. It returns ω
// of the population too: the general factor loads λ·g on an item, so
// ω_h = (Σ λ·g)²/V and ω_t = 1 − Σ (1 − λ²)/V, where V is the sum of all correlations.
func plantedOmega(t *testing.T, samples int) (all []*items.Analysis, total, hierarchical float64) {
	t.Helper()
	loadings, second := []float64{0.8, 0.7, 0.6}, []float64{0.7, 0.6, 0.5}
	var general, unique, variance float64
	for _, g := range second {
		var sum float64
		for _, l := range loadings {
			sum, unique = sum+l, unique+1-l*l
		}
		general += sum * g
		variance += sum * sum * (1 - g*g)
	}
	variance += general*general + unique
	const participants = 400
	for s := range samples {
		random := rand.New(rand.NewPCG(11, uint64(s)))
		rows := [][]string{{"q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8", "q9"}}
		for range participants {
			z, row := random.NormFloat64(), []string{}
			for _, g := range second {
				factor := g*z + math.Sqrt(1-g*g)*random.NormFloat64()
				for _, l := range loadings {
					row = append(row, strconv.FormatFloat(
						10+l*factor+math.Sqrt(1-l*l)*random.NormFloat64(), 'g', -1, 64))
				}
			}
			rows = append(rows, row)
		}
		all = append(all, run(t, items.Options{
			Input:   questionnairetest.File(t, "answers.csv", questionnairetest.CSV(rows)),
			Columns: answers.Columns{Items: []string{"q*"}}, Seed: 1,
		}))
	}
	return all, 1 - unique/variance, general * general / variance
}

// Of the samples here, 95 % of the intervals should cover the planted omega. Those of omega hierarchical are null where
// a group factor is weak.
func TestCoverageOfOmega(t *testing.T) {
	t.Parallel()
	// The short form cannot tell .90 from .95, but intervals that are much too narrow, or shifted.
	samples, least, narrow := 8, 0.6, 0.4
	if os.Getenv("WARDCAST_LONG") != "" {
		samples, least, narrow = 100, 0.9, 0.8
	}
	all, total, hierarchical := plantedOmega(t, samples)
	for _, c := range []struct {
		what     string
		truth    float64
		of       func(*items.Analysis) *float64
		interval func(*items.Analysis) *questionnaire.Interval
	}{
		{
			"omega total", total,
			func(a *items.Analysis) *float64 { return a.OmegaTotal },
			func(a *items.Analysis) *questionnaire.Interval { return a.OmegaTotalInterval },
		},
		{
			"omega hierarchical", hierarchical,
			func(a *items.Analysis) *float64 { return a.OmegaHierarchical },
			func(a *items.Analysis) *questionnaire.Interval { return a.OmegaHierarchicalInterval },
		},
	} {
		covered, count := 0, 0
		var found, widths []float64
		for _, a := range all {
			i := c.interval(a)
			if i == nil { // a group factor of this sample is weak
				continue
			}
			if count++; i.Low <= c.truth && c.truth <= i.High {
				covered++
			}
			found, widths = append(found, *c.of(a)), append(widths, i.High-i.Low)
		}
		// A normal interval of 95 % is 3.92 standard deviations of the estimates wide.
		wide := stat.Mean(widths, nil) / (3.92 * stat.StdDev(found, nil))
		t.Logf("%s %.3f: covered by %d of %d intervals, width %.2f of that of the estimates", c.what, c.truth, covered,
			count, wide)
		if float64(covered) < least*float64(count) || count < samples*3/4 || wide < narrow || wide > 1/narrow {
			t.Errorf("%s: at least %v must be covered, and the width be near 1", c.what, least)
		}
	}
}
