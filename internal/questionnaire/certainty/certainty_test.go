package certainty_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/certainty"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// assessed fits planted answers with a bootstrap of as few replicates as may be.
func assessed(t *testing.T, change func(*fit.Options)) *model.Summary {
	t.Helper()
	f := questionnairetest.Fit(t, questionnairetest.Rows(1), func(o *fit.Options) {
		o.Threads = 1
		var err error
		if o.Assess, err = (certainty.Settings{Replicates: certainty.LeastReplicates}).Assess(); err != nil {
			t.Fatal(err)
		}
		if change != nil {
			change(o)
		}
	})
	return &f.Summary
}

// plain is what assessed returns without changes, and the loadings of the fit. It is made once.
var plain struct {
	sync.Mutex
	summary  *model.Summary
	loadings [][]float64
}

func assessedOnce(t *testing.T) (s *model.Summary, loadings [][]float64) {
	t.Helper()
	plain.Lock()
	defer plain.Unlock()
	if plain.summary == nil {
		plain.summary = assessed(t, func(o *fit.Options) {
			of := o.Assess
			o.Assess = func(ctx context.Context, o *fit.Options, l *fit.Outcome) error {
				for j := range questionnairetest.Items {
					plain.loadings = append(plain.loadings, l.Loadings.RawRowView(j))
				}
				return of(ctx, o, l)
			}
		})
	}
	return plain.summary, plain.loadings
}

// The planted factors, which are plain, are found again; each interval holds its loading or is next to it, and is a few
// standard errors wide.
func TestBootstrap(t *testing.T) {
	t.Parallel()
	s, loadings := assessedOnce(t)
	b := s.Bootstrap
	if b.Replicates != certainty.LeastReplicates || len(b.Factors) != questionnairetest.Factors ||
		b.FactorCorrelations != nil {
		t.Fatalf("bootstrap %+v", b)
	}
	for f, again := range b.Factors {
		if again.Congruence < 0.98 || again.Similar != 1 || again.Equal != 1 {
			t.Errorf("factor %d: %+v", f+1, again)
		}
	}
	const columns = questionnairetest.Factors + 5 // of age, sex and the intercept
	for j, low := range b.Loadings.Low {
		high, se := b.Loadings.High[j], b.Loadings.Errors[j]
		if len(low) != columns || len(high) != columns || len(se) != columns {
			t.Fatalf("item %d has %d loadings, want %d", j+1, len(low), columns)
		}
		for f, q := range loadings[j] {
			if !(low[f] <= q+se[f] && q-se[f] <= high[f] && low[f] >= 0 && high[f]-low[f] <= 6*se[f]) {
				t.Errorf("item %d, factor %d: loading %v ± %v, interval %v to %v", j+1, f+1, q, se[f], low[f], high[f])
			}
			if q > 1 && !(se[f] > 0.01 && se[f] < 0.5) {
				t.Errorf("item %d, factor %d: loading %v has the standard error %v", j+1, f+1, q, se[f])
			}
		}
	}
}

// A factor too many holds noise, which other samples do not have: a warning names it, and no planted one.
func TestBootstrapDoubtsNoise(t *testing.T) {
	t.Parallel()
	s := assessed(t, func(o *fit.Options) {
		o.Method, o.Betas, o.Factors = model.MethodFA, nil, []int{questionnairetest.Factors + 1}
	})
	var unstable []string
	for _, w := range s.Warnings {
		if strings.Contains(w, "samples of the bootstrap hold a factor similar to") {
			unstable = append(unstable, w)
		}
	}
	if len(unstable) != 1 {
		t.Fatalf("warnings %q for factors %+v, want one", unstable, s.Bootstrap.Factors)
	}
	for f, again := range s.Bootstrap.Factors {
		if named := strings.Contains(unstable[0],
			fmt.Sprintf("similar to factor%d ", f+1)); named != (again.Similar < 0.5) {
			t.Errorf("factor %d: %+v, warning %q", f+1, again, unstable[0])
		}
	}
}

// The shares add up to what the fit explains, and none of the planted factors, which are independent, explains much
// that another one does.
func TestExplain(t *testing.T) {
	t.Parallel()
	s, _ := assessedOnce(t)
	e := s.ExplainedBy
	if math.Abs(e.Explained-s.Explained) > 1e-9 {
		t.Errorf("%v explained, the fit says %v", e.Explained, s.Explained)
	}
	for _, of := range []*model.ExplainedBy{e, e.CrossValidated} {
		sum := of.Means + of.Confounds.Share
		for i, f := range of.Factors {
			sum += f.Share
			if !(f.Lost > 0.15 && f.Alone < 0.4 && math.Abs(f.Alone-f.Lost) < 0.1 &&
				math.Abs(f.Share-(f.Alone+f.Lost)/2) < 1e-12) {
				t.Errorf("factor %d explains %+v", i+1, f)
			}
		}
		if math.Abs(sum-of.Explained) > 1e-9 || math.Abs(of.ConfoundsAlone+of.AddedByFactors-of.Explained) > 1e-12 {
			t.Errorf("parts %+v add up to %v", of, sum)
		}
		if math.Abs(of.ConfoundsAlone) > 0.06 { // age adds at most .2 of answers 0 to 4
			t.Errorf("the confounds alone explain %v", of.ConfoundsAlone)
		}
	}
	if cv := e.CrossValidated; !(cv.Explained < e.Explained-0.01 && cv.Explained > 0.5) {
		t.Errorf("%v explained, %v cross-validated", e.Explained, cv.Explained)
	}
}

// Noise is explained by the fit but not by prediction.
func TestCrossValidationOfNoise(t *testing.T) {
	t.Parallel()
	o := options(noise(1, 100), 3, model.MethodICQF, 0.01)
	of := learn(t, o)
	e, err := certainty.Explain(of)
	if err != nil {
		t.Fatal(err)
	}
	cv, _, err := certainty.CrossValidate(t.Context(), o, of, nil)
	if err != nil {
		t.Fatal(err)
	}
	if e.Explained < 0.3 || cv.Explained > 0.02 {
		t.Errorf("of noise %v is explained, %v cross-validated", e.Explained, cv.Explained)
	}
}

// Items that are answered 0 to 1 in place of 0 to 4 change neither what is explained nor how often a factor is found
// again, since the fit stretches their range. Their loadings are a quarter.
func TestRangesOfItems(t *testing.T) {
	t.Parallel()
	assess := func(ranges float64) (*fit.Outcome, *model.Summary) {
		x := bounded(1, 150, 2)
		x.Apply(func(_, j int, v float64) float64 {
			if j%2 == 0 {
				v *= ranges
			}
			return v
		}, x)
		o := options(x, 2, model.MethodICQF, 0.1)
		o.EqualRanges = true
		for j := 0; j < len(o.Table.Items); j += 2 {
			o.Table.Items[j].Range.High *= ranges
		}
		of := learn(t, o)
		of.Model = &model.Model{}
		assess, err := certainty.Settings{Replicates: certainty.LeastReplicates}.Assess()
		if err != nil {
			t.Fatal(err)
		}
		if err := assess(t.Context(), o, of); err != nil {
			t.Fatal(err)
		}
		return of, &of.Model.Summary
	}
	wide, want := assess(1)
	narrow, got := assess(0.25)
	if a, b := wide.Loadings.At(0, 0), narrow.Loadings.At(0, 0); math.Abs(a-4*b) > 1e-9 {
		t.Errorf("an item of 0 to 1 loads by %v, of 0 to 4 by %v", b, a)
	}
	near := cmpopts.EquateApprox(1e-9, 1e-9)
	if diff := cmp.Diff(want.ExplainedBy, got.ExplainedBy, near); diff != "" {
		t.Errorf("narrow ranges explain something else:\n%s", diff)
	}
	if diff := cmp.Diff(want.Bootstrap.Factors, got.Bootstrap.Factors, near); diff != "" {
		t.Errorf("with narrow ranges factors are found again otherwise:\n%s", diff)
	}
	if diff := cmp.Diff(want.Bootstrap.Scores, got.Bootstrap.Scores, near); diff != "" {
		t.Errorf("with narrow ranges scores have other errors:\n%s", diff)
	}
}

func TestThreadsKeepTheBits(t *testing.T) {
	t.Parallel()
	want, _ := assessedOnce(t)
	got := assessed(t, func(o *fit.Options) { o.Threads = 3 })
	if diff := cmp.Diff(want.Bootstrap, got.Bootstrap); diff != "" {
		t.Errorf("three threads give another bootstrap:\n%s", diff)
	}
	if diff := cmp.Diff(want.ExplainedBy, got.ExplainedBy); diff != "" {
		t.Errorf("three threads explain something else:\n%s", diff)
	}
	if other := assessed(t, func(o *fit.Options) { o.Seed = 2 }); cmp.Equal(want.Bootstrap, other.Bootstrap) {
		t.Error("another seed draws the same participants")
	}
}

// Maximum likelihood needs more participants than items. A sample with replacement may hold too few: it does not count,
// and does not end the bootstrap.
func TestBootstrapLeavesOutWhatCannotBeLearned(t *testing.T) {
	t.Parallel()
	o := options(noise(1, 20), 1, model.MethodFA, 0)
	o.Extraction = string(factoranalysis.MaximumLikelihood)
	of := learn(t, o)
	const replicates = 200
	b, err := (certainty.Settings{Replicates: replicates}).Bootstrap(t.Context(), o, of)
	if err != nil {
		t.Fatal(err)
	}
	if b.Replicates != replicates || b.Failed == 0 || b.Failed > replicates/4 ||
		!(b.Loadings.Low[0][0] < b.Loadings.High[0][0]) {
		t.Errorf("%d of %d samples failed, first loading %v to %v", b.Failed, b.Replicates, b.Loadings.Low[0][0],
			b.Loadings.High[0][0])
	}
	if _, err := (certainty.Settings{Replicates: certainty.LeastReplicates}).Bootstrap(t.Context(), o,
		of); !errors.Is(err, factoranalysis.ErrSingular) {
		t.Errorf("with fewer than %d samples left: %v, want ErrSingular", certainty.LeastReplicates, err)
	}
}

// Three factors need three items. One of them varies by the answer of a single participant, and without that one no
// factors can be learned: the fold is left out, and the others are predicted.
func TestCrossValidationLeavesOutWhatCannotBeLearned(t *testing.T) {
	t.Parallel()
	x := linalg.SelectColumns(noise(1, 40), []int{0, 1, 2})
	for i := 1; i < 40; i++ {
		x.Set(i, 2, 1)
	}
	o := options(x, 3, model.MethodICQF, 0.01)
	cv, failed, err := certainty.CrossValidate(t.Context(), o, learn(t, o), nil)
	if err != nil || failed != 1 || cv == nil {
		t.Errorf("%d folds failed, error %v; want 1", failed, err)
	}
}

func TestRefuses(t *testing.T) {
	t.Parallel()
	for _, n := range []int{-1, 1, certainty.LeastReplicates - 1} {
		if _, err := (certainty.Settings{Replicates: n}).Assess(); !errors.Is(err, questionnaire.ErrOptions) {
			t.Errorf("%d replicates: error %v, want ErrOptions", n, err)
		}
	}
	o := options(noise(1, 50), 3, model.MethodICQF, 0.1)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := certainty.Settings{Replicates: 100, Progress: func(done, _ int) {
		if done == 3 {
			cancel()
		}
	}}.Bootstrap(ctx, o, learn(t, o))
	if !errors.Is(err, context.Canceled) {
		t.Errorf("after an interrupt: %v, want the context's error", err)
	}
}
