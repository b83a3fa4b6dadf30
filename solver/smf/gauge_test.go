package smf_test

import (
	"math"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// The orthonormal gauge keeps predictions, reconstruction and objective, encodes by products alone and orders topics.
func TestOrthonormal(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		m := newMethod(t, data, s)
		before := solve(t, x, solver.Settings{Rank: 4, MaxIter: 20}, m)
		after, err := m.Orthonormal(before)
		if err != nil {
			t.Fatal(err)
		}
		if at := objective(x, data, s, after); math.Abs(at/before.Objective-1) > 1e-12 {
			t.Errorf("objective %.15g, before %.15g", at, before.Objective)
		}
		checkOrthonormal(t, x, data, [2]*smf.Model{m.Model(before), m.Model(after)})
		var fit, want, gram mat.Dense
		fit.Mul(after.Scores, after.Topics.T())
		want.Mul(before.Scores, before.Topics.T())
		if d := gap(&fit, &want); d > 1e-12 {
			t.Errorf("reconstructions differ by %g", d)
		}
		gram.Mul(after.Scores.T(), after.Scores)
		last := math.Inf(1)
		for c := range 4 {
			for other := range c {
				if v := math.Abs(gram.At(c, other)) / gram.At(0, 0); v > 1e-12 {
					t.Errorf("topics %d and %d are not orthogonal in the reconstruction: %g", other, c, v)
				}
			}
			if v := gram.At(c, c); v > last {
				t.Errorf("topic %d is stronger than the one before", c)
			} else {
				last = v
			}
			if column := mat.Col(nil, c, after.Topics); slices.Max(column) < -slices.Min(column) {
				t.Errorf("topic %d: largest entry is negative", c)
			}
		}
	})
}

// checkOrthonormal compares the predictions of a model with those of its orthonormal gauge.
func checkOrthonormal(t *testing.T, x *mat.Dense, data smf.Data, models [2]*smf.Model) {
	t.Helper()
	var gram mat.Dense
	gram.Mul(models[1].Topics.T(), models[1].Topics)
	if d := linalg.DistanceFromIdentity(&gram); d > 1e-12 {
		t.Errorf("topics are off an orthonormal set by %g", d)
	}
	var odds [2]*mat.Dense
	for i, m := range models {
		p, err := m.Predict(x, data.Aux)
		if err != nil {
			t.Fatal(err)
		}
		odds[i] = p.LogOdds
	}
	if d := gap(odds[1], odds[0]); d > 1e-12 {
		t.Errorf("log-odds differ by %g", d)
	}
	var codes mat.Dense
	codes.Mul(x, models[1].Topics)
	n, kappa := odds[1].Dims()
	for i := range n {
		for c := range kappa {
			want := models[1].Head.Intercept[c] + mat.Dot(codes.RowView(i), models[1].Head.Coefficients.RowView(c))
			if data.Aux != nil {
				want += mat.Dot(data.Aux.RowView(i), models[1].Head.AuxCoefficients.RowView(c))
			}
			if got := odds[1].At(i, c); math.Abs(got-want) > 1e-12*max(1, math.Abs(want)) {
				t.Fatalf("document %d, class %d: log-odds %g, by the product of X and topics %g", i, c, got, want)
			}
		}
	}
}

// Topics of less than full rank are completed by topics without effect.
func TestOrthonormalOfDependentTopics(t *testing.T) {
	t.Parallel()
	for _, variant := range variants {
		x, data := planted(30, 12, 2)
		topics := normal(1, 12, 4)
		topics.SetCol(2, mat.Col(nil, 0, topics))
		topics.SetCol(3, make([]float64, 12))
		r := &solver.Result{Topics: topics, Scores: normal(2, 30, 4), Head: &solver.Head{
			Coefficients: normal(3, 2, 4), AuxCoefficients: normal(4, 2, 2), Intercept: []float64{1, 2},
		}}
		m := newMethod(t, data, smf.Settings{Variant: variant, Xi: 1})
		after, err := m.Orthonormal(r)
		if err != nil {
			t.Fatal(err)
		}
		checkOrthonormal(t, x, data, [2]*smf.Model{m.Model(r), m.Model(after)})
		if strength := mat.Norm(after.Scores.Slice(0, 30, 2, 4), 2); strength > 1e-12 {
			t.Errorf("%s: completed topics have scores of size %g", variant, strength)
		}
		r.Topics.Set(0, 0, math.NaN())
		if _, err := m.Orthonormal(r); err == nil {
			t.Errorf("%s: topics that are not finite: no error", variant)
		}
	}
}
