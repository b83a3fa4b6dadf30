package invariance_test

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/invariance"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver/linalg"
)

func run(t *testing.T, o invariance.Options) *invariance.Result {
	t.Helper()
	r, err := invariance.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func both(t *testing.T, f func(t *testing.T, method string)) {
	for _, method := range []string{model.MethodFA, model.MethodICQF} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			f(t, method)
		})
	}
}

// Two items with planted DIF are found among twelve, with the size of the difference, though the groups differ in their
// factors too. The factors are the same.
func TestPlantedDIFIsFound(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, method string) {
		const shift, unit = .6, 1.2 // answers are 1.2 times as wide as their deviations
		p := &planted{
			groups: [2]int{300, 200}, factors: 2, impact: .5, missing: .05, shift: map[int]float64{2: shift, 7: -shift},
		}
		r := run(t, p.options(1, method))
		for j, d := range r.DIF.Items {
			if want := p.shift[j] != 0; (d.Class != invariance.NoDIF) != want {
				t.Errorf("item %s: class %s, adjusted p %v", d.Item, d.Class, d.AdjustedP)
			}
			// The interval misses the truth of one item in twenty; twice as wide, of one in ten thousand.
			if half := float64(d.High - d.Low); math.Abs(float64(d.Difference)-p.shift[j]*unit) > half {
				t.Errorf("item %s: difference %v in %v to %v, planted %v", d.Item, d.Difference, d.Low, d.High,
					p.shift[j]*unit)
			}
		}
		if slices.Contains(r.DIF.Anchors, "q3") || slices.Contains(r.DIF.Anchors, "q8") || len(r.DIF.Anchors) != 10 ||
			r.DIF.Rounds < 2 {
			t.Errorf("%d rounds, anchors %q", r.DIF.Rounds, r.DIF.Anchors)
		}
		for _, f := range r.Configural.Factors {
			if f.Reading != invariance.EqualFactor || f.Congruence < f.Low || f.Congruence > f.High || f.High > 1 {
				t.Errorf("factor %+v", f)
			}
		}
	})
}

// An item that alone measures a factor, and one that hardly anybody answered, cannot be tested; a warning says so. They
// count neither as free of DIF nor as having it.
func TestUntestableItems(t *testing.T) {
	t.Parallel()
	const alone, rare = 11, 0
	p := &planted{
		groups: [2]int{150, 150}, factors: 2, shift: map[int]float64{4: 1}, loading: func(_ bool, j, f int) float64 {
			if (j == alone) != (f == 1) {
				return 0
			}
			return .8
		},
	}
	o := p.options(1, model.MethodICQF)
	var left [2]int
	for i, class := range o.Table.Labels[0] {
		if v := o.Table.Answers.At(i, rare); left[class] == 2 || left[class] == 1 &&
			v == o.Table.Answers.At(i-2, rare) {
			o.Table.Answers.Set(i, rare, math.NaN())
		} else {
			left[class]++
		}
	}
	r := run(t, o)
	for j, d := range r.DIF.Items {
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{
			"difference", "low", "high", "uniform_p", "nonuniform_p", "p", "adjusted_p",
			"uniform_r2_change", "nonuniform_r2_change",
		} {
			if v, ok := got[name]; !ok || (v == nil) != (j == alone || j == rare) {
				t.Errorf("item %s: %s is %v", d.Item, name, v)
			}
		}
		if (d.Class == invariance.UntestableDIF) != (j == alone || j == rare) || got["class"] != d.Class ||
			got["item"] != d.Item {
			t.Errorf("item %s: %s", d.Item, data)
		}
	}
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "cannot be tested for DIF: q1, q12") {
		t.Errorf("warnings %s", said)
	}
	if !slices.Contains(r.DIF.Anchors, "q12") || slices.Contains(r.DIF.Anchors, "q5") {
		t.Errorf("anchors %q", r.DIF.Anchors)
	}
}

// A slope that differs is nonuniform DIF, and a loading that differs.
func TestPlantedLoadingIsFound(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{500, 500}, factors: 2, loading: func(first bool, j, f int) float64 {
		if q := simple(j, f); j != 3 || first {
			return q
		}
		return simple(j, f) / 3
	}}
	o := p.options(2, model.MethodFA)
	o.Bootstrap = 60
	r := run(t, o)
	if d := r.DIF.Items[3]; d.NonuniformP > .001 || d.UniformP < .01 || d.Class == invariance.NoDIF {
		t.Errorf("DIF %+v", d)
	}
}

// Items that belong to other factors in one group make other factors.
func TestOtherStructureIsFound(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, method string) {
		p := &planted{groups: [2]int{250, 250}, factors: 2, loading: func(first bool, j, f int) float64 {
			if !first && j%2 == 0 {
				f = 1 - f
			}
			return simple(j, f)
		}}
		r := run(t, p.options(3, method))
		for _, f := range r.Configural.Factors {
			if f.Reading != invariance.OtherFactor || f.P > .05 || f.Congruence > f.Reference || f.High > .95 {
				t.Errorf("factor %+v", f)
			}
		}
		if r.Configural.P > .05 {
			t.Errorf("p %v", r.Configural.P)
		}
	})
}

// Neither the threads nor the order of the participants change a bit. Another seed does.
func TestResultsKeepTheirBits(t *testing.T) {
	t.Parallel()
	both(t, func(t *testing.T, method string) {
		p := &planted{groups: [2]int{60, 40}, factors: 2, missing: .05}
		result := func(change func(*invariance.Options)) *invariance.Result {
			o := p.options(4, method)
			change(&o)
			r := run(t, o)
			r.Seconds = 0
			return r
		}
		want := result(func(o *invariance.Options) { o.Threads = 1 })
		for name, change := range map[string]func(*invariance.Options){
			"threads": func(o *invariance.Options) { o.Threads = 3 },
			"order": func(o *invariance.Options) {
				n, _ := o.Table.Answers.Dims()
				rows := make([]int, n)
				for i := range rows {
					rows[i] = n - 1 - i
				}
				o.Table.Answers = linalg.SelectRows(o.Table.Answers, rows)
				slices.Reverse(o.Table.Labels[0])
				slices.Reverse(o.Table.Lines)
			},
		} {
			if diff := cmp.Diff(want, result(change)); diff != "" {
				t.Errorf("%s:\n%s", name, diff)
			}
		}
		if other := result(func(o *invariance.Options) { o.Seed = 2 }); cmp.Equal(want.Configural, other.Configural) {
			t.Error("another seed draws the same samples")
		}
	})
}

// An item that does not vary in one of the groups is left out and named. Whoever is in neither group does not count.
func TestWhatIsLeftOut(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{60, 40}, factors: 2}
	o := p.options(5, model.MethodFA)
	o.Table.Labels[0][3] = -1
	for i, class := range o.Table.Labels[0] {
		if class == 0 {
			o.Table.Answers.Set(i, 4, 2)
		}
		if i == 0 { // answered nothing else
			for j := range o.Table.Items {
				if j != 4 {
					o.Table.Answers.Set(i, j, math.NaN())
				}
			}
		}
	}
	r := run(t, o)
	if !slices.Equal(r.ItemsLeftOut, []string{"q5"}) || len(r.DIF.Items) != 11 || r.Outside != 1 ||
		r.Groups[0].Participants != 59 || r.Groups[1].Participants != 39 {
		t.Errorf("left out %q, %d outside, groups %v", r.ItemsLeftOut, r.Outside, r.Groups)
	}
	said := strings.Join(r.Warnings, "\n")
	for _, want := range []string{"left out: q5", `group "F" has 59 participants`, `group "M" has 39`} {
		if !strings.Contains(said, want) {
			t.Errorf("warnings lack %q:\n%s", want, said)
		}
	}
}

// An empty factor has no match, which is said.
func TestEmptyFactors(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{60, 60}, factors: 1}
	o := p.options(6, model.MethodICQF)
	o.Factors, o.Betas = []int{3}, []float64{5}
	r := run(t, o)
	last := r.Configural.Factors[2]
	if !last.Empty || last.Congruence != 0 || !strings.Contains(strings.Join(r.Warnings, "\n"), "empty") {
		t.Errorf("factor %+v, warnings %q", last, r.Warnings)
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{60, 40}, factors: 2}
	for name, c := range map[string]struct {
		change func(*invariance.Options)
		want   string
	}{
		"no groups": {func(o *invariance.Options) { o.Columns.Labels = nil }, "sex=F:M"},
		"one value": {func(o *invariance.Options) { o.Columns.Labels[0].Negative = "" }, "sex=F:M"},
		"a confound too": {
			func(o *invariance.Options) { o.Columns.Confounds = []questionnaire.Confound{{Name: "sex"}} },
			"cannot be a confound",
		},
		"samples": {func(o *invariance.Options) { o.Bootstrap = 19 }, "19 bootstrap samples"},
		"method":  {func(o *invariance.Options) { o.Method = "pca" }, "method"},
		"small group": {func(o *invariance.Options) {
			for i := 20; i < 100; i++ {
				o.Table.Labels[0][i] = 1
			}
		}, `group "M" has 10 participants, at least 20`},
		"no group": {func(o *invariance.Options) { clear(o.Table.Labels[0]) }, "only one class"},
		"no item": {func(o *invariance.Options) {
			o.Table.Answers.Apply(func(i, _ int, v float64) float64 { return v * float64(o.Table.Labels[0][i]) },
				o.Table.Answers)
		}, "no item varies in both groups"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := p.options(7, model.MethodFA)
			c.change(&o)
			if _, err := invariance.Run(t.Context(), o); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want %q in it", err, c.want)
			}
		})
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	o := p.options(7, model.MethodFA)
	o.Progress = func(done, _ int) {
		if done == 3 {
			cancel(stop)
		}
	}
	if _, err := invariance.Run(ctx, o); !errors.Is(err, stop) {
		t.Errorf("interrupted: %v", err)
	}
}

// withoutDIF are groups without any planted DIF: with factors whose means and variances differ, answers that pile up at
// the lowest, and missing answers.
func withoutDIF() map[string]*planted {
	return map[string]*planted{
		"same":     {groups: [2]int{250, 250}, factors: 2},
		"impact":   {groups: [2]int{250, 250}, factors: 2, impact: .7},
		"variance": {groups: [2]int{300, 150}, factors: 2, spread: 1.4, missing: .1},
		"floor":    {groups: [2]int{250, 250}, factors: 2, impact: .5, low: 1},
	}
}

// long skips a test of many samples unless WARDCAST_LONG is set, and returns their number: that of WARDCAST_LONG, or
// few if it is 1.
func long(t *testing.T) int {
	t.Helper()
	n, err := strconv.Atoi(os.Getenv("WARDCAST_LONG"))
	if err != nil {
		t.Skip("it takes minutes: WARDCAST_LONG=1 runs it, WARDCAST_LONG=500 with 500 samples")
	}
	t.Parallel()
	const few = 40
	return max(n, few)
}

// chance returns two standard errors of a share of .05 of so many.
func chance(count float64) float64 { return 2 * math.Sqrt(.05*.95/count) }

// If half of the items show DIF, a warning says that nobody knows which.
func TestHalfWithDIF(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{300, 300}, factors: 1, shift: map[int]float64{0: 1, 2: 1, 4: 1}}
	r := run(t, p.options(9, model.MethodFA))
	if said := strings.Join(r.Warnings, "\n"); !strings.Contains(said, "half of the items or more show DIF") ||
		len(r.DIF.Anchors) < 3 {
		t.Errorf("anchors %q, warnings %s", r.DIF.Anchors, said)
	}
}

// The effects of confounds are subtracted, and may differ between the groups; but they must not determine the group.
func TestConfounds(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	rows[0] = append(rows[0], "gender")
	for i, row := range rows[1:] {
		rows[i+1] = append(row, strings.ToLower(row[len(row)-2]))
	}
	options := func(confounds ...questionnaire.Confound) invariance.Options {
		o := invariance.Options{
			Options:   questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))),
			Bootstrap: certainty.LeastReplicates,
		}
		o.Columns.Confounds, o.Columns.Labels = confounds,
			[]questionnaire.Label{{Name: "sex", Positive: "F", Negative: "M"}}
		return o
	}
	age := questionnaire.Confound{Name: "age", Kind: questionnaire.Numeric}
	for _, method := range []string{model.MethodFA, model.MethodICQF, model.MethodL1} {
		o := options(age)
		if o.Method = method; method != model.MethodICQF {
			o.Betas = nil
		}
		if r := run(t, o); len(r.DIF.Items) != questionnairetest.Items ||
			r.Groups[0].Participants+r.Groups[1].Participants != questionnairetest.Participants {
			t.Errorf("%s: %+v", method, r.Groups)
		}
	}
	_, err := invariance.Run(t.Context(),
		options(age, questionnaire.Confound{Name: "gender", Kind: questionnaire.Categorical}))
	if err == nil || !strings.Contains(err.Error(), "determine the groups") {
		t.Errorf("error %v", err)
	}
}

// Without DIF, 3 to 7 % of the items have p values below .05, but for chance.
func TestNoDIFIsFoundWhereThereIsNone(t *testing.T) {
	replications := long(t)
	for name, p := range withoutDIF() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, method string) {
				var uniform, nonuniform, joint, items float64
				for seed := range uint64(replications) {
					d, err := invariance.RunDIF(t.Context(), p.options(1000+seed, method))
					if err != nil {
						t.Fatal(err)
					}
					for _, d := range d.Items {
						items++
						for at, v := range map[*float64]float64{
							&uniform: float64(d.UniformP), &nonuniform: float64(d.NonuniformP), &joint: float64(d.P),
						} {
							if v < .05 {
								*at++
							}
						}
					}
				}
				t.Logf("uniform %.3f, nonuniform %.3f, both %.3f", uniform/items, nonuniform/items, joint/items)
				for _, share := range []float64{uniform / items, nonuniform / items, joint / items} {
					if share < .03-chance(items) || share > .07+chance(items) {
						t.Errorf("a share of %.3f", share)
					}
				}
			})
		})
	}
}

// The same factors are taken for different in at most 7 % of the samples; three standard errors
// more are allowed for chance. The tests may be stricter than they say.
func TestEqualFactorsAreNotFoundDifferent(t *testing.T) {
	replications := float64(long(t))
	for name, p := range withoutDIF() {
		t.Run(name, func(t *testing.T) {
			both(t, func(t *testing.T, method string) {
				var configural float64
				for seed := range uint64(replications) {
					o := p.options(1000+seed, method)
					o.Bootstrap = 59 // p values are multiples of 1/60
					r := run(t, o)
					if r.Configural.P <= .05 {
						configural++
					}
				}
				share := configural / replications
				t.Logf("factors %.3f", share)
				if most := .07 + 3*math.Sqrt(.07*.93/replications); share > most {
					t.Errorf("a share of %.3f", share)
				}
			})
		})
	}
}

// Factors that vary more in one group, with the same loadings, are as congruent as others.
func TestVarianceOfFactorsDoesNotMatter(t *testing.T) {
	t.Parallel()
	p := &planted{groups: [2]int{1500, 1500}, factors: 2, spread: 1.5, impact: 1}
	r := run(t, p.options(8, model.MethodFA))
	for _, f := range r.Configural.Factors {
		if f.Congruence < .99 {
			t.Errorf("factor %+v", f)
		}
	}
	if r.Fits != 3+2*certainty.LeastReplicates {
		t.Errorf("%d fits", r.Fits)
	}
}

// The intervals of congruences cover the truth, known from a sample of 40,000, in 90 to 99 % of the
// samples, but for chance: they are widened to hold what is seen. Both factors have the same congruence.
func TestIntervalsCover(t *testing.T) {
	replications := long(t)
	loading := func(first bool, j, f int) float64 {
		q := simple(j, f)
		switch {
		case first:
		case q > 0 && j%itemsOfFactor < 2, q == 0 && j%itemsOfFactor == 5:
			q = .3
		}
		return q
	}
	both(t, func(t *testing.T, method string) {
		p := &planted{groups: [2]int{20000, 20000}, factors: 2, loading: loading}
		truth := run(t, p.options(99, method))
		p.groups = [2]int{200, 200}
		var congruence, congruences float64
		for seed := range uint64(replications) {
			o := p.options(seed, method)
			o.Bootstrap = 100
			r := run(t, o)
			for i, f := range r.Configural.Factors {
				congruences++
				if v := truth.Configural.Factors[i].Congruence; f.Low <= v && v <= f.High {
					congruence++
				}
			}
		}
		share := congruence / congruences
		t.Logf("congruences %.3f", share)
		if share < .9-chance(congruences) || share > .99+chance(congruences) {
			t.Errorf("a share of %.3f", share)
		}
	})
}

// Items that the confounds determine have no loadings to compare, whatever the method.
func TestRefusesWhatConfoundsDetermine(t *testing.T) {
	t.Parallel()
	for _, method := range []string{model.MethodFA, model.MethodICQF, model.MethodL1} {
		rows := questionnairetest.Rows(1)
		for i, row := range rows {
			row[1] = map[string]string{"sex": "q1", "F": "0", "M": "4"}[row[11]]
			rows[i] = append(row, strconv.Itoa(i%2))
		}
		rows[0][len(rows[0])-1] = "group"
		o := invariance.Options{
			Options:   questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))),
			Bootstrap: certainty.LeastReplicates,
		}
		o.Method, o.Factors, o.Betas = method, []int{2}, nil
		o.Columns.Labels = []questionnaire.Label{{Name: "group", Positive: "0", Negative: "1"}}
		if _, err := invariance.Run(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
			!strings.Contains(err.Error(), "add '!q1' to --items") {
			t.Errorf("%s: %v", method, err)
		}
	}
}
