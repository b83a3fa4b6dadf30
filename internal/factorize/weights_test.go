package factorize_test

import (
	"math"
	"sync/atomic"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/factorize"
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
	for weights, want := range map[factorize.ClassWeights]float64{"": math.Log(1. / 9), factorize.Unweighted: math.Log(1. / 9), factorize.Balanced: 0} {
		o := c.options(t, "smf-w")
		o.ClassWeights, o.Xi, o.Ridge = weights, "1", "1e-9"
		o.Input = writeCSV(t, mat.NewDense(40, 6, nil)) // the intercept alone
		r, err := factorize.Run(t.Context(), o, nil)
		if err != nil {
			t.Fatal(err)
		}
		_, factors := outputs(t, o.Out)
		if got := factors["intercept"].At(0, 0); math.Abs(got-want) > 1e-6 {
			t.Errorf("class weights %q: intercept %g, want %g", weights, got, want)
		}
		if got := r.Settings.ClassWeights; got != weights && (weights != "" || got != factorize.Unweighted) {
			t.Errorf("class weights %q: reported as %q", weights, got)
		}
	}
}

// Runs of a cross-validation are told, the last one that all are done.
func TestTried(t *testing.T) {
	t.Parallel()
	o := supervisedExample(30, 1, 0, 1).options(t, "smf-w")
	var most atomic.Int64
	o.Xi, o.MaxIter = factorize.Auto, 5
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
