package factoranalysis

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/diff/fd"
	"gonum.org/v1/gonum/mat"
)

// correlationMatrix returns that of 60 draws of p variables that one factor ties.
func correlationMatrix(p int) *mat.SymDense {
	random := rand.New(rand.NewPCG(6, 0))
	x := mat.NewDense(60, p, nil)
	for i := range 60 {
		common := random.NormFloat64()
		for j := range p {
			x.Set(i, j, common+random.NormFloat64())
		}
	}
	r, _, _ := pearson(x, 0)
	return r
}

// The derivatives of the objective are those of finite differences.
func TestMinresDerivatives(t *testing.T) {
	t.Parallel()
	const p, k = 7, 2
	r := correlationMatrix(p)
	e, err := extract(t.Context(), r, k, Minres)
	if err != nil {
		t.Fatal(err)
	}
	psi := e.uniquenesses // near the minimum, where the second derivatives are positive definite
	for i := range psi {
		psi[i] = min(1, psi[i]+0.02*float64(i%3))
	}
	at := func(psi []float64) position {
		d, err := (&residuals{r: r, k: k}).at(psi)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	d := at(psi)
	gradient := d.gradient()
	want := fd.Gradient(nil, func(psi []float64) float64 { return at(psi).objective() }, psi,
		&fd.Settings{Formula: fd.Central})
	for i := range p {
		if math.Abs(gradient[i]-want[i]) > 1e-7 {
			t.Errorf("∂f/∂ψ%d = %v, want %v", i, gradient[i], want[i])
		}
	}
	// H·step = −g, where H is by differences of the gradient.
	step := newton(d, gradient, []int{0, 1, 2, 3, 4, 5, 6})
	const h = 1e-6
	for i := range p {
		up, down := make([]float64, p), make([]float64, p)
		for j := range p {
			up[j], down[j] = psi[j]+h*step[j], psi[j]-h*step[j]
		}
		change := (at(up).gradient()[i] - at(down).gradient()[i]) / (2 * h)
		if math.Abs(change+gradient[i]) > 1e-6 {
			t.Errorf("row %d of H·step = %v, want %v", i, change, -gradient[i])
		}
	}
}

// A matrix that factors make exactly is explained without a residual.
func TestMinresExact(t *testing.T) {
	t.Parallel()
	const p, k = 9, 3
	random := rand.New(rand.NewPCG(7, 0))
	loadings := mat.NewDense(p, k, nil)
	loadings.Apply(func(_, _ int, _ float64) float64 { return 0.3 * random.NormFloat64() }, loadings)
	want := make([]float64, p)
	r := mat.NewSymDense(p, nil)
	r.SymOuterK(1, loadings)
	for i := range p {
		if h := r.At(i, i); h > 0.9 {
			t.Fatalf("item %d has communality %v", i, h)
		}
		want[i] = 1 - r.At(i, i)
		r.SetSym(i, i, 1)
	}
	e, err := extract(t.Context(), r, k, Minres)
	if err != nil {
		t.Fatal(err)
	}
	d, err := (&residuals{r: r, k: k}).at(e.uniquenesses)
	if err != nil {
		t.Fatal(err)
	}
	if !e.converged || d.objective() > 1e-18 {
		t.Errorf("converged %v at %v", e.converged, d.objective())
	}
	for i, psi := range e.uniquenesses {
		if math.Abs(psi-want[i]) > 1e-8 {
			t.Errorf("item %d: uniqueness %v, want %v", i, psi, want[i])
		}
	}
}

// At the end no free uniqueness can be moved for the better, and no bound one inwards; also of small samples, whose
// Heywood cases turn Newton's step uphill.
func TestMinresStationary(t *testing.T) {
	t.Parallel()
	bound := 0
	for seed := range uint64(200) {
		random := rand.New(rand.NewPCG(10, seed))
		n, p := 8+random.IntN(60), 3+random.IntN(15)
		k := 1 + random.IntN(p-1)
		x := mat.NewDense(n, p, nil)
		x.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, x)
		c, err := Correlate(t.Context(), x, Pearson, 0)
		if err != nil {
			t.Fatal(err)
		}
		e, err := extract(t.Context(), c.R, k, Minres)
		if err != nil {
			t.Fatal(err)
		}
		d, err := (&residuals{r: c.R, k: k}).at(e.uniquenesses)
		if err != nil {
			t.Fatal(err)
		}
		for i, psi := range e.uniquenesses {
			if psi < LeastUniqueness || psi > 1 {
				t.Errorf("case %d: uniqueness %v of item %d", seed, psi, i)
			}
			if psi == LeastUniqueness {
				bound++
			}
		}
		if _, steepest := unbound(&residuals{}, e.uniquenesses, d.gradient()); steepest > roundingTol || !e.converged {
			t.Errorf("case %d, %d factors of %d×%d: derivative %v, converged %v", seed, k, n, p, steepest, e.converged)
		}
	}
	if bound == 0 {
		t.Error("no bound holds in any case")
	}
}

// Rotations change the axes alone, and no turn of two columns improves varimax.
func TestRotations(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(8, 0))
	loadings := mat.NewDense(12, 4, nil)
	loadings.Apply(func(_, _ int, _ float64) float64 { return random.NormFloat64() }, loadings)
	for j := range 4 {
		loadings.Set(5, j, 0) // an item without communality has no direction
	}
	rotated, rotation := Varimax(loadings)
	var identity mat.Dense
	identity.Mul(rotation.T(), rotation)
	for s := range 4 {
		for u := range 4 {
			want := 0.0
			if s == u {
				want = 1
			}
			if math.Abs(identity.At(s, u)-want) > 1e-12 {
				t.Errorf("TᵀT has %v at %d, %d", identity.At(s, u), s, u)
			}
		}
	}
	best := varimaxCriterion(rotated)
	for s := range 4 {
		for u := range s {
			for _, angle := range []float64{-0.3, -0.01, 0.01, 0.3} {
				other := mat.DenseCopyOf(rotated)
				turn(other, u, s, angle)
				if c := varimaxCriterion(other); c > best {
					t.Errorf("columns %d and %d turned by %v: %v, above %v", u, s, angle, c, best)
				}
			}
		}
	}
	pattern, phi := Promax(loadings)
	var fit, want mat.Dense
	fit.Product(pattern, phi, pattern.T())
	want.Mul(loadings, loadings.T())
	if !mat.EqualApprox(&fit, &want, 1e-10) {
		t.Error("promax changes the correlations that the factors explain")
	}
}

// varimaxCriterion is the criterion by its definition.
func varimaxCriterion(loadings *mat.Dense) float64 {
	p, k := loadings.Dims()
	var sum float64
	for t := range k {
		var fourth, squares float64
		for j := range p {
			if length := mat.Norm(loadings.RowView(j), 2); length > 0 {
				b := loadings.At(j, t) / length
				fourth += b * b * b * b / float64(p)
				squares += b * b / float64(p)
			}
		}
		sum += fourth - squares*squares
	}
	return sum
}

// Promax of columns that depend on one another is the varimax.
func TestPromaxOfDependentColumns(t *testing.T) {
	t.Parallel()
	loadings := mat.NewDense(4, 2, []float64{0.5, 0, 0.6, 0, 0.4, 0, 0.7, 0})
	pattern, phi := Promax(loadings)
	rotated, _ := Varimax(loadings)
	if !mat.Equal(pattern, rotated) || phi.At(0, 1) != 0 || phi.At(0, 0) != 1 {
		t.Errorf("pattern %v, correlations %v", mat.Formatted(pattern), mat.Formatted(phi))
	}
}
