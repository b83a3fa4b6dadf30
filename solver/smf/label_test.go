package smf

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
)

func normal(seed uint64, rows, cols int) *mat.Dense {
	random := rand.New(rand.NewPCG(seed, 0))
	a := mat.NewDense(rows, cols, nil)
	a.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, a)
	return a
}

// The residuals are the gradient of the loss by the activations, and curve the product with its Hessian.
func TestLossDerivatives(t *testing.T) {
	t.Parallel()
	for _, kappa := range []int{1, 3} {
		const n = 5
		l := labels{class: []int{0, 1, kappa, 1, 0}, weights: []float64{1, 2, 0.5, 0, 3}}
		at := normal(1, n, kappa)
		probs, residual := mat.NewDense(n, kappa, nil), mat.NewDense(n, kappa, nil)
		loss := func(x []float64) float64 { return l.loss(probs, mat.NewDense(n, kappa, x)) }
		want := fd.Gradient(nil, loss, at.RawMatrix().Data, &fd.Settings{Formula: fd.Central})
		loss(at.RawMatrix().Data)
		l.residualTo(residual, probs)
		for i, v := range residual.RawMatrix().Data {
			if math.Abs(v-want[i]) > 1e-8 {
				t.Errorf("kappa %d: gradient[%d] is %g, by differences %g", kappa, i, v, want[i])
			}
		}

		const h = 1e-5
		direction, ahead, behind := normal(2, n, kappa), mat.NewDense(n, kappa, nil), mat.NewDense(n, kappa, nil)
		for side, dst := range map[float64]*mat.Dense{h: ahead, -h: behind} {
			addScaledTo(dst, at, side, direction)
			l.loss(probs, dst)
			l.residualTo(dst, probs)
		}
		l.loss(probs, at)
		l.curve(direction, probs)
		for i, v := range direction.RawMatrix().Data {
			if slope := (ahead.RawMatrix().Data[i] - behind.RawMatrix().Data[i]) / (2 * h); math.Abs(v-slope) > 1e-8 {
				t.Errorf("kappa %d: curvature[%d] is %g, by differences %g", kappa, i, v, slope)
			}
		}
	}
}

// Far activations neither overflow nor lose the loss.
func TestLossOfFarActivations(t *testing.T) {
	t.Parallel()
	p := make([]float64, 2)
	for _, c := range []struct {
		a    []float64
		y    int
		want float64
	}{
		{[]float64{1e4, 0}, 1, 0},
		{[]float64{1e4, 0}, 0, 1e4},
		{[]float64{-1e4, -1e4}, 0, 0},
		{[]float64{-1e4, -1e4}, 2, 1e4},
		{[]float64{0, 0}, 1, math.Log(3)},
	} {
		if got := softmax(p, c.a, c.y); math.Abs(got-c.want) > 1e-12*max(1, c.want) || math.IsNaN(p[0]+p[1]) {
			t.Errorf("loss of class %d at %v is %g, want %g; probabilities %v", c.y, c.a, got, c.want, p)
		}
	}
}

// The regression ends where its gradient is zero.
func TestRegressionIsStationary(t *testing.T) {
	t.Parallel()
	for _, kappa := range []int{1, 3} {
		const n, m = 60, 5
		l := labels{class: make([]int, n)}
		for i := range l.class {
			l.class[i] = (i * i) % (kappa + 1)
		}
		design := normal(3, n, m)
		for i := range n {
			design.Set(i, m-1, 1)
		}
		g := newRegression(&task{Settings: Settings{Ridge: 0.3}, n: n, kappa: kappa, labels: l}, design,
			mat.NewDense(kappa, m, nil))
		start := g.objective
		g.fit(0, 100)
		l.residualTo(g.residual, g.probs)
		g.accumulate(g.gradient, g.residual, g.coef)
		if norm := mat.Norm(g.gradient, 2); norm > 1e-6 || !(g.objective < start) {
			t.Errorf("kappa %d: gradient of length %g at objective %g, from %g", kappa, norm, g.objective, start)
		}
	}
}
