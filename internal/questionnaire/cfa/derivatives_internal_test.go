package cfa

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// point returns a model of two groups, a factor of factors, a fixed loading, equal ones, a residual covariance and
// equal intercepts, and a point near its start values.
func point(t *testing.T, r *rand.Rand, cuts []int, equal step) (*model, []float64) {
	t.Helper()
	f, err := newFrame("model", "a =~ x1 + u*x2 + x3\nb =~ x4 + 0.7*x5 + x6 + u*x3\nc =~ x7 + x8\ntop =~ a + b + c\nx1 ~~ x4")
	if err != nil {
		t.Fatal(err)
	}
	m, err := f.newModel([]string{"one", "two"}, cuts, true, equal)
	if err != nil {
		t.Fatal(err)
	}
	unit := mat.NewSymDense(8, nil)
	for i := range 8 {
		for j := range 8 {
			if unit.SetSym(i, j, .4); i == j {
				unit.SetSym(i, j, 1.2)
			}
		}
	}
	var both [][][]float64
	if cuts != nil {
		thresholds := make([][]float64, 8)
		for i := range cuts {
			for k := range cuts[i] {
				thresholds[i] = append(thresholds[i], float64(k)-.5)
			}
		}
		both = [][][]float64{thresholds, thresholds}
	}
	theta := m.start([]*mat.SymDense{unit, unit}, [][]float64{make([]float64, 8), make([]float64, 8)}, both)
	for i := range theta {
		theta[i] += .05 * r.NormFloat64()
	}
	return m, theta
}

// compare reports a derivative that differs from the finite difference.
func compare(t *testing.T, what string, got, want float64) {
	t.Helper()
	if math.Abs(got-want) > 1e-4*(1+math.Abs(want)) {
		t.Errorf("%s is %v, by finite differences %v", what, got, want)
	}
}

// The gradient and the observed information are the derivatives of the loss, with missing answers, groups, means and a
// factor of factors, and candidates of modification indices have the gradient and the expected information.
func TestDerivativesOfTheLikelihood(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(1, 1))
	var patterns [][]factoranalysis.Pattern
	for range 2 {
		x := mat.NewDense(30, 8, nil)
		x.Apply(func(i, j int, _ float64) float64 {
			if i%3 == 1 && j%4 == 2 || i%5 == 2 && j < 2 {
				return math.NaN()
			}
			return r.NormFloat64()
		}, x)
		patterns = append(patterns, factoranalysis.Patterns(x))
	}
	m, theta := point(t, r, nil, step{loadings: true, intercepts: true})
	o := newNormal(m, patterns)
	gradient, information := o.scoring(theta, true)
	numeric := fd.Gradient(nil, o.loss, theta, &fd.Settings{Formula: fd.Central})
	for i, v := range gradient {
		compare(t, "the derivative by "+m.nameOf(i), v, numeric[i])
	}
	second := mat.NewDense(m.free, m.free, nil)
	fd.Jacobian(second, func(y, x []float64) {
		g, _ := o.scoring(x, false)
		copy(y, g)
	}, theta, &fd.JacobianSettings{Formula: fd.Central})
	for i := range m.free {
		for j := range m.free {
			compare(t, "the derivative by "+m.nameOf(i)+" and "+m.nameOf(j), information.At(i, j), second.At(i, j))
		}
	}
	// Candidates: free cells given once more must have the same gradient and information.
	_, expected := o.scoring(theta, false)
	cells := slices.Clone(o.free)
	g, cross, own := o.candidates(theta, cells)
	sums, whole := make([]float64, m.free), mat.NewDense(m.free, m.free, nil)
	for e, c := range cells {
		sums[c.free] += g[e]
		for j := range m.free {
			whole.Set(c.free, j, whole.At(c.free, j)+cross.At(e, j))
		}
		if own[e] == 0 {
			t.Errorf("cell %d has no second derivative", e)
		}
	}
	for i := range m.free {
		compare(t, "the candidate's derivative", sums[i], gradient[i])
		for j := range m.free {
			compare(t, "the candidate's information", whole.At(i, j), expected.At(i, j))
		}
	}
}

// The Jacobian of the statistics of ordered answers is their derivative, and so is the gradient of the loss.
func TestDerivativesOfOrderedStatistics(t *testing.T) {
	t.Parallel()
	r := rand.New(rand.NewPCG(2, 1))
	m, theta := point(t, r, []int{2, 2, 3, 2, 1, 2, 2, 4}, step{thresholds: true, loadings: true, intercepts: true})
	o := &ordered{model: m, free: m.freeCells()}
	for range 2 {
		moments := &orderedMoments{}
		for range len(m.at(theta)[0].expected()) {
			moments.statistics = append(moments.statistics, r.NormFloat64())
		}
		moments.covariances = mat.NewSymDense(len(moments.statistics), nil)
		for e := range moments.statistics {
			moments.covariances.SetSym(e, e, .5+r.Float64())
		}
		o.moments = append(o.moments, moments)
	}
	gradient, _ := o.scoring(theta, false)
	numeric := fd.Gradient(nil, o.loss, theta, &fd.Settings{Formula: fd.Central})
	for i, v := range gradient {
		compare(t, "the derivative by "+m.nameOf(i), v, numeric[i])
	}
	jacobian, differences := o.byFree(m.at(theta)), mat.NewDense(o.total(), m.free, nil)
	fd.Jacobian(differences, func(y, x []float64) { copy(y, o.residuals(m.at(x))) }, theta,
		&fd.JacobianSettings{Formula: fd.Central})
	for e := range o.total() {
		for i := range m.free {
			compare(t, "a statistic's derivative by "+m.nameOf(i), jacobian.At(e, i), -differences.At(e, i))
		}
	}
}
