package fit_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// clinical is a kind of questionnaire as clinics have them: normal factors, all of whose correlations are phi, with six
// items each that load by .45 to .75, and answers in five categories. The first item of each factor loads by cross on
// the next factor too.
type clinical struct {
	cuts                  []float64
	participants, factors int
	phi, cross            float64
}

const itemsOfFactor = 6

// Of skewed answers 59 % are the lowest.
func skewed() []float64    { return []float64{0.2275, 0.7388, 1.2265, 1.7507} }
func symmetric() []float64 { return []float64{-1.4758, -0.4959, 0.4959, 1.4758} }

// options draws a questionnaire.
func (c *clinical) options(t *testing.T, seed uint64) fit.Options {
	random := rand.New(rand.NewPCG(seed, uint64(100*c.participants+c.factors)))
	loadings := make([]float64, itemsOfFactor*c.factors)
	rows := [][]string{{"id"}}
	for j := range loadings {
		loadings[j] = 0.45 + 0.3*random.Float64()
		rows[0] = append(rows[0], fmt.Sprintf("q%02d", j))
	}
	rows[0] = append(rows[0], "group")
	factors := make([]float64, c.factors)
	for i := range c.participants {
		common := random.NormFloat64()
		for k := range factors {
			factors[k] = math.Sqrt(c.phi)*common + math.Sqrt(1-c.phi)*random.NormFloat64()
		}
		row := []string{fmt.Sprintf("p%d", i)}
		for j, l := range loadings {
			v, communality := l*factors[j/itemsOfFactor], l*l
			if j%itemsOfFactor == 0 {
				v += c.cross * factors[(j/itemsOfFactor+1)%c.factors]
				communality += c.cross*c.cross + 2*c.phi*l*c.cross
			}
			v += math.Sqrt(1-communality) * random.NormFloat64()
			answer := 0
			for answer < len(c.cuts) && v > c.cuts[answer] {
				answer++
			}
			row = append(row, strconv.Itoa(answer))
		}
		rows = append(rows, append(row, strconv.Itoa(i%2)))
	}
	return fit.Options{
		Input:    questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)),
		Columns:  answers.Columns{Items: []string{"q*"}, Range: &questionnaire.Range{High: float64(len(c.cuts))}},
		Learning: model.Learning{RelTol: 1e-6, Seed: 1},
	}
}

func rankAndFit(t *testing.T, o fit.Options) (*fit.Ranking, *model.Fitted) {
	t.Helper()
	r, err := fit.Rank(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := fit.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r, f
}

// Where cross-validation takes one factor for five, fit follows parallel analysis; rank says the same, and both why. An
// evaluation and a comparison of groups have as many factors as the fit.
func TestFollowsParallelAnalysis(t *testing.T) {
	t.Parallel()
	five := clinical{cuts: skewed(), participants: 200, factors: 5, phi: 0.4}
	o := five.options(t, 2)
	r, f := rankAndFit(t, o)
	if r.Factors == *r.Parallel.Suggested || r.Followed != model.ParallelAnalysis || !r.Disagree() {
		t.Errorf("rank finds %s and follows %s", r.Found(), r.Followed)
	}
	if s := &f.Summary; s.Factors != *r.Parallel.Suggested || s.Sentence() != r.Sentence() {
		t.Errorf("fit has %d factors: %s\nrank: %s", s.Factors, s.Sentence(), r.Sentence())
	}
	e, err := evaluate.Run(t.Context(), evaluate.Options{Options: o, Repeats: 1})
	if err != nil || e.Factors != f.Summary.Factors || e.Beta != f.Summary.Beta || e.Choices[0].Factors == r.Factors {
		t.Errorf("the fit has %d factors, the evaluation %+v (%v)", f.Summary.Factors, e, err)
	}
	groups := invariance.Options{Options: o, Bootstrap: certainty.LeastReplicates}
	groups.Columns.Labels = []questionnaire.Label{{Name: "group", Positive: "0", Negative: "1"}}
	g, err := invariance.Run(t.Context(), groups)
	if err != nil || g.Factors != f.Summary.Factors || g.Beta != f.Summary.Beta {
		t.Errorf("the fit has %d factors, the comparison of groups %+v (%v)", f.Summary.Factors, g, err)
	}
	o.Fewest = true
	f, err = fit.Fit(t.Context(), o)
	if err != nil || f.Summary.Followed != model.CrossValidation ||
		f.Summary.Factors != r.OneStandardErrorFactors {
		t.Errorf("the fewest are %d factors, by %s (%v)", f.Summary.Factors, f.Summary.Followed, err)
	}
	o.Fewest, o.Factors = false, []int{1, 2}
	if f, err = fit.Fit(t.Context(), o); err != nil || f.Summary.Followed != model.CrossValidation ||
		f.Summary.Factors > 2 {
		t.Errorf("of 1 and 2 factors fit takes %d, by %s (%v)", f.Summary.Factors, f.Summary.Followed, err)
	}
	o.Factors = []int{3}
	if f, err = fit.Fit(t.Context(), o); err != nil || f.Summary.Criteria != nil {
		t.Errorf("a given number of factors has criteria %v (%v)", f.Summary.Criteria, err)
	}
}

// Where both cross-validation and parallel analysis miss factors that correlate, fit and rank follow simple structures.
func TestFollowsSimpleStructures(t *testing.T) {
	t.Parallel()
	five := clinical{cuts: symmetric(), participants: 200, factors: 5, phi: 0.7}
	o := five.options(t, 1)
	r, f := rankAndFit(t, o)
	if r.Followed != model.SimpleStructure || *r.Criteria.SimpleStructure != 5 || *r.Criteria.Parallel >= 5 ||
		*r.Criteria.CrossValidation >= 5 {
		t.Errorf("rank finds %s and follows %s", r.Found(), r.Followed)
	}
	unsteady := func(w string) bool { return strings.HasPrefix(w, "simple structures have 5") }
	if !slices.ContainsFunc(r.Warnings, unsteady) {
		t.Errorf("it has 3 in a half, but rank warns %q", r.Warnings)
	}
	if s := &f.Summary; s.Factors != 5 || s.EmptyFactors > 0 || s.Sentence() != r.Sentence() {
		t.Errorf("fit has %d factors, %d empty: %s\nrank: %s", s.Factors, s.EmptyFactors, s.Sentence(), r.Sentence())
	}
	o.Betas = []float64{3, 1, 0.1} // 3 has the lowest error, and empties four
	f, err := fit.Fit(t.Context(), o)
	if err != nil || f.Summary.Factors != 5 || f.Summary.EmptyFactors > 0 {
		t.Errorf("of given betas fit takes %v, with %d of %d factors empty (%v)", f.Summary.Beta,
			f.Summary.EmptyFactors, f.Summary.Factors, err)
	}
}

// The share of planted questionnaires in which each criterion alone, and fit, find the number of factors.
// WARDCAST_LONG=100 measures all kinds, 100 samples of those with phi = .4 and at most 500 participants and 20 of the
// others; 1 draws few, of three kinds.
func TestNumberOfFactors(t *testing.T) {
	n, err := strconv.Atoi(os.Getenv("WARDCAST_LONG"))
	if err != nil {
		t.Skip("it takes minutes: WARDCAST_LONG=1 runs it, WARDCAST_LONG=100 all of it for an hour")
	}
	t.Parallel()
	measure := func(cuts string, c clinical) {
		c.cuts = map[string][]float64{"skewed": skewed(), "symmetric": symmetric()}[cuts]
		samples, common := n/5, c.phi == 0.4 && c.participants < 2000 && c.cross == 0
		if common {
			samples = n
		}
		if n > 1 || common && cuts == "skewed" && c.participants == 500 {
			t.Run(fmt.Sprintf("%s/phi=%v/k=%d/n=%d/cross=%v", cuts, c.phi, c.factors, c.participants, c.cross),
				func(t *testing.T) { c.measure(t, max(samples, 3)) })
		}
	}
	for _, cuts := range []string{"skewed", "symmetric"} {
		for _, participants := range []int{200, 500, 2000} {
			measure(cuts, clinical{participants: participants, factors: 1, phi: 0.4}) // no correlations
			for _, factors := range []int{3, 5} {
				for _, phi := range []float64{0.4, 0, 0.7} {
					measure(cuts, clinical{participants: participants, factors: factors, phi: phi})
				}
				measure(cuts, clinical{participants: participants, factors: factors, phi: 0.4, cross: 0.3})
			}
		}
	}
}

// measure logs the shares. What is followed finds the number in .8 of the samples, and as often as parallel analysis
// but for .05. Factors that correlate by .7 are told apart less often.
func (c *clinical) measure(t *testing.T, samples int) {
	var before, parallel, velicer, simple, after float64
	for seed := range samples {
		o := c.options(t, uint64(seed))
		r, err := fit.Rank(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		count := func(of *float64, found *int) {
			if found != nil && *found == c.factors {
				*of += 1 / float64(samples)
			}
		}
		count(&before, r.Criteria.CrossValidation)
		count(&parallel, r.Criteria.Parallel)
		count(&velicer, r.Criteria.MAP)
		count(&simple, r.Criteria.SimpleStructure)
		count(&after, map[string]*int{
			model.CrossValidation: r.Criteria.CrossValidation, model.ParallelAnalysis: r.Criteria.Parallel,
			model.SimpleStructure: r.Criteria.SimpleStructure,
		}[r.Followed])
	}
	t.Logf("%d samples: cross-validation %.2f, MAP %.2f, parallel analysis %.2f, simple structures %.2f, followed %.2f",
		samples, before, velicer, parallel, simple, after)
	if one := 1 / float64(samples); c.phi < 0.7 && after < 0.8-one || after < parallel-max(0.05, one) {
		t.Errorf("followed finds %d factors in %.2f of the samples, parallel analysis in %.2f", c.factors, after, parallel)
	}
}
