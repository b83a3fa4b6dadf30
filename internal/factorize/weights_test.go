package factorize_test

import (
	"math"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/factorize"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// Balanced classes weigh the label loss, and the report says so.
func TestClassWeights(t *testing.T) {
	t.Parallel()
	c := supervisedExample(40, 1, 0, 1)
	for i := range c.labels { // one in ten
		if c.labels[i] = 0; i%10 == 0 {
			c.labels[i] = 1
		}
	}
	for weights, want := range map[smf.ClassWeights]float64{
		"": math.Log(1. / 9), smf.Unweighted: math.Log(1. / 9), smf.Balanced: 0,
	} {
		o := c.options(t, "smf-w")
		o.ClassWeights, o.XiGiven, o.RidgeGiven = weights, "1", "1e-9"
		o.Input = writeCSV(t, mat.NewDense(40, 6, nil)) // the intercept alone
		r, err := factorize.Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, factors := outputs(t, o.Out)
		if got := factors["intercept"].At(0, 0); math.Abs(got-want) > 1e-6 {
			t.Errorf("class weights %q: intercept %g, want %g", weights, got, want)
		}
		if got := r.Settings.ClassWeights; got != weights && (weights != "" || got != smf.Unweighted) {
			t.Errorf("class weights %q: reported as %q", weights, got)
		}
	}
}

// What is held out gives no weights to what is factorized: the candidates are those of weights by the training parts.
func TestClassWeightsHoldOut(t *testing.T) {
	t.Parallel()
	c := supervisedExample(43, 1, 0, 1) // folds of different sizes
	for i := range c.labels {
		if c.labels[i] = 0; i%5 == 0 {
			c.labels[i] = 1
		}
	}
	o := c.options(t, "smf-w")
	o.ClassWeights, o.XiGiven, o.RidgeGiven = smf.Balanced, "1", factorize.Auto
	r, err := factorize.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	want, err := smf.Choose(t.Context(), c.x, smf.Data{Labels: c.labels, Weights: smf.Balanced.Weights(c.labels)},
		smf.Search{
			Method: smf.Settings{Variant: smf.VariantW}, Xi: []float64{1}, ClassWeights: smf.Balanced, Seed: o.Seed,
			Solver: solver.Settings{
				Rank: o.Rank, Init: o.Init, Seed: o.Seed, MaxIter: o.MaxIter,
				RelTol: solver.TolOrOff(o.RelTol), AbsTol: o.AbsTol,
			},
		})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want.Candidates, r.Settings.CrossValidation.Candidates,
		cmpopts.EquateApprox(1e-9, 0)); diff != "" {
		t.Error(diff)
	}
}

// Log-odds rank documents whose probabilities round to the same number.
func TestAUROCOfCertainDocuments(t *testing.T) {
	t.Parallel()
	c := supervisedExample(40, 1, 0, 1)
	o := c.options(t, "smf-w")
	o.XiGiven, o.RidgeGiven = "1", "0.1"
	far := mat.NewDense(4, 6, nil)
	for i := range 4 {
		far.Set(i, 1, 1e3*float64(i+1)) // class 1 stands out in column 1
	}
	o.TestInput, o.TestLabels = writeCSV(t, far), writeCSV(t, mat.NewDense(4, 1, []float64{0, 0, 1, 1}))
	r, err := factorize.Run(t.Context(), o, nil)
	if err != nil {
		t.Fatal(err)
	}
	if r.TestAUROC == nil || *r.TestAUROC != 1 {
		t.Errorf("AUROC %v, want 1", r.TestAUROC)
	}
}

// Runs of a cross-validation are reported; the last report says that all are done.
func TestTried(t *testing.T) {
	t.Parallel()
	o := supervisedExample(30, 1, 0, 1).options(t, "smf-w")
	var most atomic.Int64
	o.XiGiven, o.MaxIter = factorize.Auto, 5
	o.Tried = func(done, total int) {
		if total != 25 || done > total {
			t.Errorf("%d of %d runs", done, total)
		}
		if done == total {
			most.Add(1)
		}
	}
	if _, err := factorize.Run(t.Context(), o, nil); err != nil || most.Load() != 1 {
		t.Errorf("all runs done %d times, error %v", most.Load(), err)
	}
}
