package factoranalysis

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

// LeastItems is the least number of items of a factor in a simple structure: the loadings of fewer are not identified
// without the other factors.
const LeastItems = 3

const (
	// simpleTol ends the estimation of a simple structure, after mostSimple iterations at the latest: the discrepancy
	// falls by no more. Of 500 participants it is 0.0025 of a chi-square.
	simpleTol, mostSimple = 5e-6, 2000
	// mostMoves bounds the rounds in which items move to other factors.
	mostMoves = 20
	// greatestStart bounds the loadings of a start, and correlations of factors are startShare of those of Promax.
	greatestStart, startShare = 0.95, 0.9
)

// SimpleStructure is a model of standardized items each of which loads on one factor alone: for items i and j, which
// load on the factors s and t, Σᵢⱼ = λᵢ·λⱼ·φₛₜ, and Σᵢᵢ = λᵢ² + ψᵢ.
type SimpleStructure struct {
	// Factor is that of each item, counted from 0, Loadings are λ and Uniquenesses ψ, p each.
	Factor                 []int
	Loadings, Uniquenesses []float64
	// Phi, k×k, are the correlations of the factors.
	Phi *mat.SymDense
	// Discrepancy is log|Σ| + tr(Σ⁻¹R): up to a constant, −2/n times the log-likelihood of n participants whose
	// correlations are R.
	Discrepancy float64
}

// Parameters is the number of free parameters: loadings, uniquenesses and the correlations of the factors.
func (s *SimpleStructure) Parameters() int {
	k := s.Phi.SymmetricDim()
	return 2*len(s.Factor) + k*(k-1)/2
}

// Closest is the largest correlation of two factors, in magnitude; 0 if there is but one factor.
func (s *SimpleStructure) Closest() (closest float64) {
	for t := range s.Phi.SymmetricDim() {
		for o := range t {
			closest = max(closest, math.Abs(s.Phi.At(t, o)))
		}
	}
	return closest
}

// FitSimpleStructure looks for the simple structure of k factors of least discrepancy to correlations R, p×p. Each item
// begins with the factor on which it loads most, of minres factors rotated by Promax. The parameters are then those of
// maximum likelihood (D. B. Rubin and D. T. Thayer, "EM algorithms for ML factor analysis", 1982), each item moves to
// the factor that predicts it best from the other items, and so on while the discrepancy falls.
//
// It returns nil where a factor of the start has fewer than LeastItems, or the model cannot be estimated. When ctx ends,
// its cause is returned. The cost is that of Fit, and p² + p·k² for each iteration.
func FitSimpleStructure(ctx context.Context, r *mat.SymDense, k int) (*SimpleStructure, error) {
	p := r.SymmetricDim()
	if k*LeastItems > p {
		return nil, nil
	}
	e, err := extract(ctx, r, k, Minres)
	if err != nil {
		return nil, fmt.Errorf("factoring: %w", err)
	}
	loadings, phi := Promax(e.loadings)
	s := newSimpleStructure(p, k)
	for i := range p {
		row := loadings.RawRowView(i)
		s.Factor[i] = floats.MaxIdx(lists.Map(row, math.Abs))
		s.Loadings[i] = row[s.Factor[i]]
	}
	for t := range k {
		for o := range t {
			s.Phi.SetSym(t, o, startShare*phi.At(t, o))
		}
	}
	var best *SimpleStructure
	whole := mat.DenseCopyOf(r)
	for range mostMoves {
		if s == nil || !s.enough() || !s.estimate(ctx, whole) || best != nil && s.Discrepancy >= best.Discrepancy {
			break
		}
		best, s = s, s.moved(whole)
	}
	return best, context.Cause(ctx)
}

func newSimpleStructure(p, k int) *SimpleStructure {
	return &SimpleStructure{
		Factor: make([]int, p), Loadings: make([]float64, p), Uniquenesses: make([]float64, p),
		Phi: mat.NewSymDense(k, linalg.Identity(k).RawMatrix().Data),
	}
}

// enough reports whether each factor has LeastItems.
func (s *SimpleStructure) enough() bool {
	counts := make([]int, s.Phi.SymmetricDim())
	for _, t := range s.Factor {
		counts[t]++
	}
	return slices.Min(counts) >= LeastItems
}

// posterior is what the items tell of the factors: with W = Ψ⁻¹Λ, WᵀR (k×p), the diagonal of D = ΛᵀΨ⁻¹Λ, Φ⁻¹, and the
// covariance V = (Φ⁻¹ + D)⁻¹ of the factors given the items.
type posterior struct {
	along      *mat.Dense
	w, d       []float64
	inverse, v mat.SymDense
	log        float64 // log|Φ| − log|V|
}

// posterior returns nil where a matrix has no inverse.
func (s *SimpleStructure) posterior(r *mat.Dense) *posterior {
	p, k := len(s.Factor), s.Phi.SymmetricDim()
	b := &posterior{along: mat.NewDense(k, p, nil), w: make([]float64, p), d: make([]float64, k)}
	for i, t := range s.Factor {
		b.w[i] = s.Loadings[i] / s.Uniquenesses[i]
		b.d[t] += s.Loadings[i] * b.w[i]
		floats.AddScaled(b.along.RawRowView(t), b.w[i], r.RawRowView(i))
	}
	var phi, precision mat.Cholesky
	if !phi.Factorize(s.Phi) || phi.InverseTo(&b.inverse) != nil || !precision.Factorize(b.precision(b.d)) ||
		precision.InverseTo(&b.v) != nil {
		return nil
	}
	b.log = phi.LogDet() + precision.LogDet()
	return b
}

// precision returns Φ⁻¹ + D.
func (b *posterior) precision(d []float64) *mat.SymDense {
	sum := mat.NewSymDense(len(d), nil)
	sum.AddSym(&b.inverse, mat.NewDiagDense(len(d), d))
	return sum
}

// estimate moves loadings, uniquenesses and Φ to greatest likelihood, sets Discrepancy, and reports whether it could.
func (s *SimpleStructure) estimate(ctx context.Context, r *mat.Dense) bool {
	k := s.Phi.SymmetricDim()
	for i, l := range s.Loadings {
		s.Loadings[i] = max(-greatestStart, min(l, greatestStart))
		s.Uniquenesses[i] = 1 - s.Loadings[i]*s.Loadings[i]
	}
	s.Discrepancy = math.Inf(1)
	var moments, explained mat.Dense
	for range mostSimple {
		b := s.posterior(r)
		if b == nil || ctx.Err() != nil {
			return false
		}
		sums := mat.NewDense(k, k, nil) // WᵀRW
		for i, t := range s.Factor {
			for o, row := 0, sums.RawRowView(t); o < k; o++ {
				row[o] += b.w[i] * b.along.At(o, i)
			}
		}
		explained.Mul(&b.v, sums)
		before := s.Discrepancy
		s.Discrepancy = b.log - mat.Trace(&explained)
		for _, u := range s.Uniquenesses {
			s.Discrepancy += math.Log(u) + 1/u
		}
		if !(s.Discrepancy < before-simpleTol) {
			break
		}
		moments.Mul(&explained, &b.v) // of the factors
		moments.Add(&moments, &b.v)
		for i, t := range s.Factor {
			var moment float64 // of the item and its factor
			for o := range k {
				moment += b.along.At(o, i) * b.v.At(o, t)
			}
			size := math.Sqrt(moments.At(t, t))
			s.Loadings[i] = moment / size
			s.Uniquenesses[i] = max(LeastUniqueness, 1-s.Loadings[i]*s.Loadings[i])
		}
		for t := range k {
			for o := range t {
				s.Phi.SetSym(t, o, within1(moments.At(t, o)/math.Sqrt(moments.At(t, t)*moments.At(o, o))))
			}
		}
	}
	return !math.IsNaN(s.Discrepancy)
}

// moved returns a start with each item at the factor that predicts it best from the other items, and the loadings of
// these predictions; nil if no item moves.
//
// With V and c = Wᵀr of the other items, r their correlations with the item, factor t alone explains the share
// (Vc)ₜ²/(Φ − V)ₜₜ of it.
func (s *SimpleStructure) moved(r *mat.Dense) *SimpleStructure {
	p, k := len(s.Factor), s.Phi.SymmetricDim()
	b := s.posterior(r)
	if b == nil {
		return nil
	}
	to := newSimpleStructure(p, k)
	to.Phi.CopySym(s.Phi)
	for i, own := range s.Factor {
		d, c := slices.Clone(b.d), mat.Col(nil, i, b.along)
		d[own] -= s.Loadings[i] * b.w[i]
		c[own] -= b.w[i]
		v := linalg.Inverse(b.precision(d))
		if v == nil {
			return nil
		}
		var along mat.VecDense
		along.MulVec(v, mat.NewVecDense(k, c))
		best := math.Inf(-1)
		to.Factor[i], to.Loadings[i] = own, s.Loadings[i]
		for t := range k {
			known := s.Phi.At(t, t) - v.At(t, t)
			if share := along.AtVec(t) * along.AtVec(t) / known; known > 0 && share > best {
				best, to.Factor[i], to.Loadings[i] = share, t, along.AtVec(t)/known
			}
		}
	}
	if slices.Equal(to.Factor, s.Factor) {
		return nil
	}
	return to
}
