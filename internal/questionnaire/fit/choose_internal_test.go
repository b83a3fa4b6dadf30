package fit

import (
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/rank"
)

// explore searches as Choose does, with an error for each candidate instead of fits.
func explore(o *Options, factors []int, betas []float64, e func(k int, beta float64) float64) *rank.Choice {
	all := &rank.Choice{}
	for len(factors) > 0 {
		batch := &rank.Choice{}
		for _, k := range factors {
			for _, beta := range betas {
				batch.Curve = append(batch.Curve, solver.ErrorPoint{
					Candidate: solver.Candidate{Factors: k, Beta: beta}, Error: e(k, beta), StandardError: 0.002,
				})
			}
		}
		all.Merge(batch)
		factors, betas = o.next(all)
	}
	return all
}

func TestSearch(t *testing.T) {
	t.Parallel()
	valley := func(k int, beta float64) func(int, float64) float64 { // the best beta falls with the number of factors
		return func(at int, b float64) float64 {
			return 1 + 0.01*math.Abs(float64(at-k)) +
				0.001*math.Abs(math.Log(b+1e-6)-math.Log(beta+1e-6)+0.3*float64(at-k))
		}
	}
	for _, test := range []struct {
		name    string
		factors int
		beta    float64
		warning string
	}{
		{"begins there", 4, firstBeta, ""},
		{"smaller", 7, 0.01, ""},
		{"none", 3, 0, ""},
		{"larger", 2, 30, ""},
		{"the largest", 2, 100, "largest beta"},
		{"more factors than at first", 33, 0.03, ""},
		{"more factors than may be", 60, 0.03, "most factors tried, 40"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			o := &Options{
				Factors: DefaultFactors(80), Betas: DefaultBetas(), MostFactors: mostFactors(80), searchBeta: true,
			}
			c := explore(o, o.Factors, []float64{firstBeta}, valley(test.factors, test.beta))
			if c.Lowest.Factors != min(test.factors, 40) || test.factors <= 40 && c.Lowest.Beta != test.beta {
				t.Errorf("found %+v", c.Lowest)
			}
			checkTried(t, o, c)
			warnings := edges(c, 80)
			if test.warning == "" && len(warnings) > 0 || !strings.Contains(strings.Join(warnings, ""), test.warning) {
				t.Errorf("warnings %q, want %q", warnings, test.warning)
			}
			for i, p := range c.Curve {
				if i > 0 && p.Candidate == c.Curve[i-1].Candidate {
					t.Errorf("%+v was tried twice", p.Candidate)
				}
			}
		})
	}
}

// A search ends at the candidates next to those that cannot be fitted, also if none can be.
func TestSearchAmongUnfitted(t *testing.T) {
	t.Parallel()
	for _, most := range []int{0, 1, 5, 8} {
		o := &Options{Factors: DefaultFactors(80), Betas: []float64{0}, MostFactors: mostFactors(80)}
		c := explore(o, o.Factors, o.Betas, func(k int, _ float64) float64 {
			if k > most {
				return math.Inf(1)
			}
			return 1 / float64(k)
		})
		if c.Lowest.Factors != max(1, most) || math.IsInf(c.Lowest.Error, 1) != (most == 0) || len(edges(c, 80)) > 0 {
			t.Errorf("at most %d factors can be fitted: found %+v, warnings %q", most, c.Lowest, edges(c, 80))
		}
		checkTried(t, o, c)
	}
}

// checkTried fails unless the two numbers of factors next to the lowest on either side were tried with its β, and one
// fewer than within one standard error too, and each β next to it was tried with its number of factors, or was worse
// with the nearest number that it was tried with.
func checkTried(t *testing.T, o *Options, c *rank.Choice) {
	t.Helper()
	low := c.Lowest
	at := slices.Index(o.Betas, low.Beta)
	for _, beta := range o.Betas[max(0, at-1):min(at+2, len(o.Betas))] {
		k := low.Factors
		for point(c, k, beta) == nil && k > 0 {
			k--
		}
		if k == 0 || k != low.Factors && point(c, k, low.Beta).Error > point(c, k, beta).Error {
			t.Errorf("with %d factors β = %v was not tried", low.Factors, beta)
		}
	}
	for _, k := range []int{
		low.Factors - 2, low.Factors - 1, low.Factors + 1, low.Factors + 2, c.OneStandardError.Factors - 1,
	} {
		if k >= 1 && k <= o.MostFactors && point(c, k, low.Beta) == nil {
			t.Errorf("%d factors were not tried at β = %v", k, low.Beta)
		}
	}
}

// Given candidates are all tried and no others, and it is said where they end at the lowest error.
func TestEdges(t *testing.T) {
	t.Parallel()
	falling := func(k int, beta float64) float64 { return 1 / float64(k) / (1 + beta) }
	rising := func(k int, beta float64) float64 { return float64(k) * (1 + beta) }
	for _, test := range []struct {
		name    string
		factors []int
		betas   []float64
		error   func(int, float64) float64
		want    string
	}{
		{"most", []int{2, 3, 4}, []float64{0.1}, falling, "most factors tried, 4"},
		{"as many as there are items", []int{2, 3, 9}, []float64{0.1}, falling, ""},
		{"fewest", []int{2, 3, 4}, []float64{0.1}, rising, "fewest factors tried, 2"},
		{"one", []int{1, 2}, []float64{0.1}, rising, ""},
		{"largest", []int{2}, []float64{0.1, 0.5}, falling, "largest beta tried, 0.5"},
		{"smallest", []int{2}, []float64{0.1, 0.5}, rising, "smallest beta tried, 0.1"},
		{"zero", []int{2}, []float64{0, 0.5}, rising, ""},
		{"inside", []int{2, 3, 4}, []float64{0.1}, func(k int, _ float64) float64 {
			return math.Abs(float64(k - 3))
		}, ""},
	} {
		c := explore(&Options{Factors: test.factors, Betas: test.betas}, test.factors, test.betas, test.error)
		if len(c.Curve) != len(test.factors)*len(test.betas) {
			t.Errorf("%s: tried %+v", test.name, c.Curve)
		}
		if got := strings.Join(edges(c, 9), "; "); got == "" != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s: warnings %q, want %q", test.name, got, test.want)
		}
	}
}
