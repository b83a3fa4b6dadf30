package smf_test

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// Log-odds of the training documents under SMF-W are those of the training, and each is a sum of contributions.
func TestPredictIsTheModel(t *testing.T) {
	t.Parallel()
	every(t, func(t *testing.T, x *mat.Dense, data smf.Data, s smf.Settings) {
		m := newMethod(t, data, s)
		r := solve(t, csr(t, x), solver.Settings{Rank: 4}, m)
		p, err := m.Model(r).Predict(csr(t, x), data.Aux)
		if err != nil {
			t.Fatal(err)
		}
		if scores, err := r.Transform(csr(t, x)); err != nil || !mat.Equal(scores, p.Scores) {
			t.Errorf("Transform gives other scores than predictions use, error %v", err)
		}
		for i := range data.Labels {
			probabilities := p.Probabilities.RawRowView(i)
			if math.Abs(floats.Sum(probabilities)-1) > 1e-12 || floats.Min(probabilities) < 0 {
				t.Fatalf("document %d: probabilities %v", i, probabilities)
			}
			for c, intercept := range r.Head.Intercept {
				sum := intercept + floats.Dot(r.Head.Coefficients.RawRowView(c), p.Scores.RawRowView(i))
				if data.Aux != nil {
					sum += floats.Dot(r.Head.AuxCoefficients.RawRowView(c), data.Aux.RawRowView(i))
				}
				if math.Abs(sum-p.LogOdds.At(i, c)) > 1e-12 ||
					math.Abs(math.Log(probabilities[c+1]/probabilities[0])-sum) > 1e-9 {
					t.Fatalf("document %d, class %d: log-odds %g, contributions %g, probabilities %v", i, c+1,
						p.LogOdds.At(i, c), sum, probabilities)
				}
			}
		}
		var loss float64
		for i, y := range data.Labels {
			w := 1.0
			if data.Weights != nil {
				w = data.Weights[i]
			}
			loss -= w * math.Log(p.Probabilities.At(i, y))
		}
		if want := labelPart(x, data, s, r); s.Variant == smf.VariantW && math.Abs(loss/want-1) > 1e-9 {
			t.Errorf("label loss of the predictions is %g, in training it was %g", loss, want)
		}
	})
}

// labelPart returns the label loss of a result.
func labelPart(x *mat.Dense, data smf.Data, s smf.Settings, r *solver.Result) float64 {
	total := objective(x, data, s, r)
	data.Weights = make([]float64, len(data.Labels))
	return total - objective(x, data, s, r)
}

// The class of a document is the one of the largest probability.
func TestPredictedClasses(t *testing.T) {
	t.Parallel()
	for _, kappa := range []int{1, 3} {
		const n, p, k = 20, 9, 4
		m := &smf.Model{Variant: smf.VariantH, Topics: normal(3, p, k), Head: &solver.Head{
			Coefficients: normal(4, kappa, k), AuxCoefficients: normal(5, kappa, 2),
			Intercept: normal(6, 1, kappa).RawRowView(0),
		}}
		got, err := m.Predict(normal(1, n, p), normal(2, n, 2))
		if err != nil {
			t.Fatal(err)
		}
		for i, class := range got.Classes {
			if floats.MaxIdx(got.Probabilities.RawRowView(i)) != class {
				t.Errorf("kappa %d, document %d: class %d of probabilities %v", kappa, i, class,
					got.Probabilities.RawRowView(i))
			}
		}
	}
}

func TestPredictRefuses(t *testing.T) {
	t.Parallel()
	m := &smf.Model{Variant: smf.VariantW, Topics: normal(1, 5, 2), Head: &solver.Head{
		Coefficients: normal(2, 1, 2), Intercept: []float64{0},
	}}
	if _, err := m.Predict(normal(3, 4, 6), nil); !errors.Is(err, solver.ErrShape) {
		t.Errorf("6 terms for 5: error %v", err)
	}
	if _, err := m.Predict(normal(3, 4, 5), normal(4, 4, 1)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("auxiliary features for a model without: error %v", err)
	}
	m.Head.AuxCoefficients = normal(5, 1, 1)
	if _, err := m.Predict(normal(3, 4, 5), normal(4, 3, 1)); !errors.Is(err, solver.ErrShape) {
		t.Errorf("auxiliary features of 3 documents for 4: error %v", err)
	}
}

func accuracy(t *testing.T, m *smf.Model, x *mat.Dense, data smf.Data) float64 {
	t.Helper()
	p, err := m.Predict(x, data.Aux)
	if err != nil {
		t.Fatal(err)
	}
	right := 0
	for i, y := range data.Labels {
		if p.Classes[i] == y {
			right++
		}
	}
	return float64(right) / float64(len(data.Labels))
}

// half returns every second document, from the given one on.
func half(x *mat.Dense, data smf.Data, from int) (*mat.Dense, smf.Data) {
	n, p := x.Dims()
	part, kept := mat.NewDense((n-from+1)/2, p, nil), smf.Data{Classes: data.Classes}
	for i := from; i < n; i += 2 {
		part.SetRow(i/2, x.RawRowView(i))
		kept.Labels = append(kept.Labels, data.Labels[i])
	}
	return part, kept
}

// With balanced weights the intercept alone gives all classes the same probability.
func TestBalanced(t *testing.T) {
	t.Parallel()
	data := smf.Data{Labels: []int{0, 0, 0, 0, 0, 0, 1, 1, 2}}
	data.Weights = smf.Balanced.Weights(data.Labels)
	s := smf.Settings{Variant: smf.VariantW, Xi: 1}
	m := newMethod(t, data, s)
	r := solve(t, mat.NewDense(9, 2, nil), solver.Settings{Rank: 1}, m)
	for c, v := range r.Head.Intercept {
		if math.Abs(v) > 1e-6 {
			t.Errorf("log-odds of class %d are %g, want 0", c+1, v)
		}
	}
	if want := 9 * math.Log(3); math.Abs(r.Objective-want) > 1e-9 {
		t.Errorf("objective %g, want %g", r.Objective, want)
	}
}

// If the label follows a weak direction, the same number of topics predicts it only with supervision.
func TestSupervisionFindsWeakDirections(t *testing.T) {
	t.Parallel()
	x, data := planted(400, 60, 2)
	train, known := half(x, data, 0)
	test, unknown := half(x, data, 1)
	run := func(variant smf.Variant, xi float64) float64 {
		m := newMethod(t, known, smf.Settings{Variant: variant, Xi: xi, Ridge: 0.1})
		return accuracy(t, m.Model(solve(t, train, solver.Settings{Rank: 3}, m)), test, unknown)
	}
	blind, w, h := run(smf.VariantW, 1e7), run(smf.VariantW, 0.01), run(smf.VariantH, 0.01)
	t.Logf("accuracy: by the reconstruction %.3f, SMF-W %.3f, SMF-H %.3f", blind, w, h)
	if w < 0.8 || blind > 0.6 || h < blind {
		t.Errorf("accuracy by the reconstruction %v, of SMF-W %v, of SMF-H %v", blind, w, h)
	}
}
