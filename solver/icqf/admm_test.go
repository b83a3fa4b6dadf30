package icqf

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// TestInnerAlgorithmsAgree compares the two on one problem, and their minimum with its first-order conditions by the
// weights of the settings. After 30 steps plain gradient steps are far from the minimum; momentum is what brings FISTA
// near.
func TestInnerAlgorithmsAgree(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(5, 0))
	const l1, l2, rho = 0.5, 0.1, 2
	var gram mat.Dense
	design, right := mat.NewDense(12, 6, nil), mat.NewDense(6, 8, nil)
	design.Apply(func(_, _ int, _ float64) float64 { return random.Float64() }, design)
	gram.Mul(design.T(), design)
	right.Apply(func(i, j int, _ float64) float64 { return float64(i*j%7) - 1 }, right)
	solve := func(kind Inner, times int) *mat.Dense {
		p := newInner(kind, 6, weights{l1, l2}, 1)
		p.box.Gram.Copy(&gram)
		p.prepare(rho)
		x := mat.NewDense(6, 8, nil)
		for range times {
			p.improve(x, mat.DenseCopyOf(right), 8)
		}
		return x
	}
	want, got, once := solve(CoordinateDescent, 5000), solve(FISTA, 200), solve(FISTA, 1)
	if !mat.EqualApprox(got, want, 1e-8) {
		t.Errorf("FISTA ends at\n%v\ncoordinate descent at\n%v", mat.Formatted(got), mat.Formatted(want))
	}
	var off, gradient mat.Dense
	off.Sub(once, want)
	if worst := max(mat.Max(&off), -mat.Min(&off)); worst > 0.05 {
		t.Errorf("off by %v after %d steps", worst, steps)
	}
	gradient.Mul(&gram, want)
	gradient.Sub(right, &gradient)
	inside := 0
	gradient.Apply(func(i, j int, g float64) float64 {
		x := want.At(i, j)
		g -= (l1 + l2*x) / rho
		if x > 0 && g < -1e-12 || x < 1 && g > 1e-12 {
			t.Errorf("entry (%d, %d) is %v with gradient %v", i, j, x, g)
		}
		if x > 0 && x < 1 {
			inside++
		}
		return g
	}, &gradient)
	if inside < 5 {
		t.Errorf("%d entries off the bounds", inside)
	}
}

// TestLagrangianNeverRises recomputes the augmented Lagrangian from the factors and multipliers of each iterate
// (proposition 3.1), with missing answers and confounds in all cases, and holds that scores and loadings lie within
// their bounds, and Z within the range, at each. Far below MinRho the Lagrangian does rise.
//
// The proof covers cells whose Z is not clipped: there the new multiplier costs ρ(z − r)² and the new z gains as much.
// A cell that is cut has the cost alone, so that this bounds the rise where some are.
func TestLagrangianNeverRises(t *testing.T) {
	t.Parallel()
	wide, _, _ := questionnaire(6, 80, 16, 3)
	wide.Max = 6
	narrow := wide
	narrow.Min, narrow.Max = 1, 3
	narrow.Answers = mat.DenseCopyOf(wide.Answers)
	narrow.Answers.Apply(func(_, _ int, v float64) float64 { return min(max(v, 1), 3) }, narrow.Answers)
	for name, s := range map[string]Settings{
		"lasso":            {L1: 0.05},
		"ridge":            {L2: 0.5},
		"bounded loadings": {L1: 0.05, MaxLoading: 0.7},
		"all of it":        {L1: 0.05, L2: 0.1, MaxLoading: 0.7},
		"no penalty":       {},
	} {
		for _, data := range []Data{wide, narrow} {
			for _, rho := range []float64{MinRho, 2, 3, 10, 0.3} {
				for _, inner := range []Inner{CoordinateDescent, FISTA} {
					s.Rank, s.Rho, s.Inner = 4, max(rho, MinRho), inner
					state := started(t, data, s)
					state.rho = rho
					a := ascend(t, state)
					if a.beyond > 0 != (rho < 1) {
						t.Errorf("%s, %s, range to %v, ρ = %v: rises in %d updates", name, inner,
							data.Max, rho, a.beyond)
					}
					if rho >= MinRho && a.cuts > 0 != (data.Max == narrow.Max) {
						t.Errorf("%s, %s, range to %v, ρ = %v: %d cells cut", name, inner, data.Max, rho, a.cuts)
					}
				}
			}
		}
	}
}

// started returns the state of a fit before its first update.
func started(t *testing.T, data Data, s Settings) *state {
	t.Helper()
	p, err := Prepare(data, s)
	if err != nil {
		t.Fatal(err)
	}
	first, err := (&admm{problem: p, settings: s}).Start(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return first.(*state)
}

// ascent counts the updates in which the augmented Lagrangian rises, those in which it rises by more than cut cells
// cost, and these cells. The largest rise is a share of the Lagrangian.
type ascent struct {
	rises, beyond, cuts int
	largest             float64
}

// ascend makes a hundred updates and checks the bounds at each.
func ascend(t *testing.T, s *state) (a ascent) {
	t.Helper()
	const rounding = 1e-11
	before := make([]bool, s.n*s.p)
	for last := math.Inf(1); s.updates < 100; {
		s.Update()
		value, cut, cost := lagrangian(s)
		for i, c := range cut {
			if !c && !before[i] {
				cost[i] = 0
			} else {
				a.cuts++
			}
		}
		if value > last+rounding*math.Abs(last) {
			a.rises++
			a.largest = max(a.largest, value/last-1)
		}
		if value > last+floats.Sum(cost)+rounding*math.Abs(last) {
			a.beyond++
		}
		last, before = value, cut
		checkBounds(t, s)
	}
	return a
}

// checkBounds checks those of an iterate, and of Z to rounding, since it is computed back from V.
func checkBounds(t *testing.T, s *state) {
	t.Helper()
	w := linalg.Columns(s.d, 0, s.k)
	if mat.Min(w) < 0 || mat.Max(w) > 1 {
		t.Fatalf("update %d: scores from %v to %v", s.updates, mat.Min(w), mat.Max(w))
	}
	if most := s.settings.MaxLoading; mat.Min(s.bt) < 0 || most > 0 && mat.Max(s.bt) > most {
		t.Fatalf("update %d: loadings from %v to %v", s.updates, mat.Min(s.bt), mat.Max(s.bt))
	}
	for i := range s.chunks {
		z := surrogate(&s.chunks[i], s.rho)
		if low, high := s.problem.data.Min, s.problem.data.Max; slices.Min(z) < low-1e-13*high ||
			slices.Max(z) > high+1e-13*high {
			t.Fatalf("update %d: Z from %v to %v", s.updates, slices.Min(z), slices.Max(z))
		}
	}
}

// lagrangian returns L of the iterate, which cells of Z are cut, and ρ(z − r)² of each: A and V = Z + A/ρ are those
// that measure made of its factors.
func lagrangian(s *state) (sum float64, cut []bool, cost []float64) {
	sum = s.penalty()
	for i := range s.chunks {
		c := &s.chunks[i]
		rows, _ := c.d.Dims()
		r := mat.NewDense(rows, s.p, nil)
		r.Mul(c.d, s.bt)
		z := surrogate(c, s.rho)
		for j, fit := range r.RawMatrix().Data {
			a, m := c.a[j], c.answers[j]
			if m == m {
				sum += (m - z[j]) * (m - z[j]) / 2
			}
			d := z[j] - fit
			sum += a*d + s.rho/2*d*d
			cost = append(cost, s.rho*d*d)
			// Where z is not cut, its derivative is 0: m − z = a, and a = 0 where there is no answer.
			if m != m {
				m = z[j]
			}
			cut = append(cut, math.Abs(m-z[j]-a) > 1e-9)
		}
	}
	return sum, cut, cost
}

// TestRhoFindsItsPlace starts far above MinRho, and beside the range.
func TestRhoFindsItsPlace(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(7, 150, 24, 4)
	state := started(t, data, Settings{Rank: 4, L1: 0.1})
	state.rho = 50
	for range 600 {
		state.Update()
	}
	if state.rho < MinRho || state.rho > math.Sqrt(imbalance) {
		t.Errorf("ρ = %v, want √2 … √10", state.rho)
	}
	before := state.rho
	state.chunks[0].residuals = [2]float64{1, 1e-6}
	for i := range state.chunks[1:] {
		state.chunks[1+i].residuals = [2]float64{}
	}
	state.balance()
	if state.rho != rhoFactor*before {
		t.Errorf("ρ = %v where the range is not kept, want %v", state.rho, rhoFactor*before)
	}
}
