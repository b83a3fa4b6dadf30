package factoranalysis

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// The derivatives of the likelihood are those of finite differences.
func TestLikelihoodDerivatives(t *testing.T) {
	t.Parallel()
	const p, k = 7, 2
	r := correlationMatrix(p)
	var factor mat.Cholesky
	if !factor.Factorize(r) {
		t.Fatal("singular")
	}
	f := &likelihood{r: r, k: k, logDet: factor.LogDet()}
	e, err := extract(t.Context(), r, k, MaximumLikelihood)
	if err != nil {
		t.Fatal(err)
	}
	point := make([]float64, p)
	for i := range point {
		point[i] = math.Log(e.uniquenesses[i]) + 0.02*float64(i%3)
	}
	at := func(point []float64) position {
		d, err := f.at(slices.Clone(point))
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	gradient := at(point).gradient()
	want := fd.Gradient(nil, func(point []float64) float64 { return at(point).objective() }, point,
		&fd.Settings{Formula: fd.Central})
	for i := range p {
		if math.Abs(gradient[i]-want[i]) > 1e-7 {
			t.Errorf("∂F/∂x%d = %v, want %v", i, gradient[i], want[i])
		}
	}
	hessian := at(point).hessians([]int{0, 1, 2, 3, 4, 5, 6})[0]
	const h = 1e-6
	for j := range p {
		up, down := slices.Clone(point), slices.Clone(point)
		up[j], down[j] = up[j]+h, down[j]-h
		above, below := at(up).gradient(), at(down).gradient()
		for i := range p {
			if want := (above[i] - below[i]) / (2 * h); math.Abs(hessian.At(i, j)-want) > 1e-6 {
				t.Errorf("∂²F/∂x%d∂x%d = %v, want %v", i, j, hessian.At(i, j), want)
			}
		}
	}
}

// wideCorrelations returns those of n draws of p items that load in turn on five factors.
func wideCorrelations(t *testing.T, n, p int) *mat.SymDense {
	t.Helper()
	random := rand.New(rand.NewPCG(24, uint64(n)))
	x := mat.NewDense(n, p, nil)
	for i := range n {
		var factors [5]float64
		for l := range factors {
			factors[l] = random.NormFloat64()
		}
		for j := range p {
			x.Set(i, j, 0.6*factors[j%5]+0.8*random.NormFloat64())
		}
	}
	c, err := Correlate(t.Context(), x, Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	return c.R
}

// Leading eigenvalues are those of the whole decomposition, also where the last factors are as small as noise.
func TestLeading(t *testing.T) {
	t.Parallel()
	r := wideCorrelations(t, 150, 320)
	values, vectors, ok := linalg.Eigen(r)
	if !ok {
		t.Fatal("no eigenvalues")
	}
	const k = 8
	if !manyItems(320, k) {
		t.Fatal("too few items")
	}
	found, pairs, ok := krylov(mat.DenseCopyOf(r), k, nil)
	if !ok {
		t.Fatal("no convergence")
	}
	for l := range k {
		want := values[319-l]
		if math.Abs(found[l]-want) > 1e-11*values[319] {
			t.Errorf("eigenvalue %d: %v, want %v", l, found[l], want)
		}
		if cosine := math.Abs(mat.Dot(pairs.RowView(l), vectors.ColView(319-l))); math.Abs(cosine-1) > 1e-10 {
			t.Errorf("vector %d: cosine %v", l, cosine)
		}
	}
}

// A matrix of which several eigenvalues are equal has all of them found.
func TestLeadingOfEqualEigenvalues(t *testing.T) {
	t.Parallel()
	const p = 300
	r := mat.NewDense(p, p, nil)
	for i := range p {
		for j := range p {
			if i%6 == j%6 {
				r.Set(i, j, 0.5) // six blocks of 50 equal items
			}
		}
		r.Set(i, i, 1)
	}
	values, _, ok := krylov(r, 6, nil)
	if !ok {
		t.Fatal("no convergence")
	}
	for l := range 6 {
		if math.Abs(values[l]-25.5) > 1e-10 {
			t.Errorf("eigenvalue %d: %v, want 25.5", l, values[l])
		}
	}
}

// Few eigenvalues lead to the same solution as all.
func TestExtractOfManyItems(t *testing.T) {
	t.Parallel()
	const p, k = 280, 5
	r := wideCorrelations(t, 400, p)
	for _, by := range []Extraction{Minres, MaximumLikelihood} {
		e, err := extract(t.Context(), r, k, by)
		if err != nil || !e.converged {
			t.Fatalf("%s: converged %v, error %v", by, e.converged, err)
		}
		// The gradient by all eigenvalues vanishes, too.
		var f criterion
		var at position
		if by == Minres {
			minres := &residuals{r: r, k: k}
			f = minres
			at, err = minres.whole(less(r, e.uniquenesses), e.uniquenesses)
		} else {
			var factor mat.Cholesky
			if !factor.Factorize(r) {
				t.Fatal("singular")
			}
			ml, logs := &likelihood{r: r, k: k, logDet: factor.LogDet()}, make([]float64, p)
			for i, psi := range e.uniquenesses {
				logs[i] = math.Log(psi)
			}
			f = ml
			at, err = ml.whole(ml.scaled(logs), logs)
		}
		if err != nil {
			t.Fatal(err)
		}
		if _, steepest := unbound(f, at.point(), at.gradient()); steepest > 1e-7 {
			t.Errorf("%s: derivative %v", by, steepest)
		}
		var few position
		if few, err = f.at(at.point()); err != nil {
			t.Fatal(err)
		}
		if d := few.objective()/at.objective() - 1; math.Abs(d) > 1e-11 {
			t.Errorf("%s: objective %v, by all eigenvalues %v", by, few.objective(), at.objective())
		}
	}
}
