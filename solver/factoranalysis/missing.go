package factoranalysis

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
)

// Pattern is what the likelihood of normal answers needs of the N participants who answered the same items.
type Pattern struct {
	// Items are the k answered ones, ascending.
	Items []int
	N     int
	// Mean is that of the answers, k, and Root a matrix of k rows with Root·Rootᵀ = Σ (x − mean)(x − mean)ᵀ, which has
	// as few columns as there are participants or items; nil for one participant.
	Mean []float64
	Root *mat.Dense
}

// Patterns groups the rows of x, where NaN is a missing answer, by the items answered, in the order in which the
// patterns first appear. Rows without an answer are left out.
func Patterns(x *mat.Dense) []Pattern {
	n, p := x.Dims()
	at, rows := map[string]int{}, [][]int{}
	key := make([]byte, p)
	for i := range n {
		for j, v := range x.RawRowView(i) {
			key[j] = 0
			if v == v {
				key[j] = 1
			}
		}
		place, known := at[string(key)]
		if !known {
			place = len(rows)
			at[string(key)], rows = place, append(rows, nil)
		}
		rows[place] = append(rows[place], i)
	}
	var all []Pattern
	for _, members := range rows {
		g := Pattern{N: len(members)}
		for j := range p {
			if v := x.At(members[0], j); v == v {
				g.Items = append(g.Items, j)
			}
		}
		if len(g.Items) == 0 {
			continue
		}
		answers := mat.NewDense(len(g.Items), g.N, nil) // transposed
		for e, j := range g.Items {
			row := answers.RawRowView(e)
			for c, i := range members {
				row[c] = x.At(i, j)
			}
			mean := floats.Sum(row) / float64(g.N)
			floats.AddConst(-mean, row)
			g.Mean = append(g.Mean, mean)
		}
		g.Root = root(answers)
		all = append(all, g)
	}
	return all
}

// root returns a matrix R with R·Rᵀ = A·Aᵀ, nil for A of one column, which is 0.
func root(a *mat.Dense) *mat.Dense {
	k, n := a.Dims()
	if n == 1 {
		return nil
	}
	if n <= k {
		return a
	}
	var factor mat.Cholesky
	scatter := mat.NewSymDense(k, nil)
	scatter.SymOuterK(1, a)
	if !factor.Factorize(scatter) {
		return a
	}
	var lower mat.TriDense
	factor.LTo(&lower)
	return mat.DenseCopyOf(&lower)
}

// PatternLikelihood is the normal log-likelihood of a pattern and what its derivatives are made of: with the implied
// K = Σ_oo, d = mean − μ_o and C = RootRootᵀ/N + ddᵀ, P = K⁻¹, Pd, and the score W = PCP − P.
type PatternLikelihood struct {
	Log   float64
	P, W  *mat.SymDense
	Pd    []float64
	shift []float64
}

// To computes all for μ, p, and Σ, p×p. It reports false if Σ_oo is not positive definite.
func (l *PatternLikelihood) To(g *Pattern, mu []float64, sigma *mat.SymDense) bool {
	k, n := len(g.Items), float64(g.N)
	l.P, l.W = mat.NewSymDense(k, nil), mat.NewSymDense(k, nil)
	l.Pd, l.shift = make([]float64, k), make([]float64, k)
	for a, i := range g.Items {
		l.shift[a] = g.Mean[a] - mu[i]
		for b, j := range g.Items[:a+1] {
			l.P.SetSym(a, b, sigma.At(i, j))
		}
	}
	var factor mat.Cholesky
	if !factor.Factorize(l.P) || factor.InverseTo(l.P) != nil {
		return false
	}
	pd, shift := mat.NewVecDense(k, l.Pd), mat.NewVecDense(k, l.shift)
	pd.MulVec(l.P, shift)
	square := mat.Dot(pd, shift)
	l.W.CopySym(l.P)
	raw := l.W.RawSymmetric()
	blas64.Scal(-1, blas64.Vector{N: len(raw.Data), Inc: 1, Data: raw.Data})
	if g.Root != nil {
		var around mat.Dense
		around.Mul(l.P, g.Root)
		square += linalg.Dot(&around, g.Root) / n
		blas64.Syrk(blas.NoTrans, 1/n, around.RawMatrix(), 1, raw)
	}
	l.W.SymRankOne(l.W, 1, pd)
	l.Log = -n / 2 * (float64(k)*math.Log(2*math.Pi) + factor.LogDet() + square)
	return true
}

// NormalScore returns the log-likelihood of all patterns at μ and Σ, and its derivatives: with respect to μ, p, and to
// Σ, p×p, halved as by an entry of a symmetric matrix: Σ N·W/2. It reports false if Σ is not positive definite.
func NormalScore(patterns []Pattern, mu []float64, sigma *mat.SymDense) (log float64, ofMean []float64,
	ofCov *mat.SymDense, ok bool,
) {
	p := len(mu)
	ofMean, ofCov = make([]float64, p), mat.NewSymDense(p, nil)
	sums := ofCov.RawSymmetric()
	var l PatternLikelihood
	for e := range patterns {
		g := &patterns[e]
		if !l.To(g, mu, sigma) {
			return 0, nil, nil, false
		}
		log += l.Log
		n, w := float64(g.N), l.W.RawSymmetric()
		for a, i := range g.Items {
			ofMean[i] += n * l.Pd[a]
			to, from := sums.Data[i*sums.Stride:], w.Data[a*w.Stride:]
			for b := a; b < len(g.Items); b++ { // the upper triangle
				to[g.Items[b]] += n / 2 * from[b]
			}
		}
	}
	return log, ofMean, ofCov, true
}

// Saturated is the normal distribution of greatest likelihood without a model.
type Saturated struct {
	Mean          []float64
	Covariance    *mat.SymDense // divisor n
	LogLikelihood float64
	Converged     bool
}

const (
	// maxEM and emTolerance end the iterations of EM: the last moves means and covariances by less, in units of the
	// standard deviations.
	maxEM       = 20_000
	emTolerance = 1e-8
)

// Saturate returns the means and covariances of greatest likelihood of p items by EM. In terms of NormalScore, with G
// its derivative by Σ, s that by μ, and n participants, an iteration is
//
//	δ = Σs/n,  μ ← μ + δ,  Σ ← Σ + 2ΣGΣ/n − δδᵀ.
//
// Source: A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
// 1977, section 4.1.3. It returns ErrSingular if a covariance matrix on the way has no inverse, and the cause if ctx
// ends.
func Saturate(ctx context.Context, patterns []Pattern, p int) (*Saturated, error) {
	s := startSaturated(patterns, p)
	var n float64
	complete := true
	for e := range patterns {
		n += float64(patterns[e].N)
		complete = complete && len(patterns[e].Items) == p
	}
	var half, moved mat.Dense
	for range maxEM {
		log, ofMean, ofCov, ok := NormalScore(patterns, s.Mean, s.Covariance)
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case !ok:
			return nil, ErrSingular
		}
		if s.LogLikelihood = log; s.Converged || complete {
			s.Converged = true
			return s, nil
		}
		delta := mat.NewVecDense(p, nil)
		delta.MulVec(s.Covariance, mat.NewVecDense(p, ofMean))
		delta.ScaleVec(1/n, delta)
		half.Mul(s.Covariance, ofCov)
		moved.Mul(&half, s.Covariance)
		moved.Scale(2/n, &moved)
		moved.RankOne(&moved, -1, delta, delta)
		var change float64
		for i := range p {
			si := s.Covariance.At(i, i)
			change = max(change, math.Abs(delta.AtVec(i))/math.Sqrt(si))
			for j := range i + 1 {
				change = max(change, math.Abs(moved.At(i, j))/math.Sqrt(si*s.Covariance.At(j, j)))
			}
		}
		s.Converged = change < emTolerance
		for i := range p {
			s.Mean[i] += delta.AtVec(i)
			for j := range i + 1 {
				s.Covariance.SetSym(i, j, s.Covariance.At(i, j)+moved.At(i, j))
			}
		}
	}
	return s, nil
}

// startSaturated returns the means and variances of the known answers; all covariances if there is only one pattern.
func startSaturated(patterns []Pattern, p int) *Saturated {
	s := &Saturated{Mean: make([]float64, p), Covariance: mat.NewSymDense(p, nil)}
	counts := make([]float64, p)
	for _, g := range patterns {
		for a, i := range g.Items {
			counts[i] += float64(g.N)
			s.Mean[i] += float64(g.N) * g.Mean[a]
		}
	}
	floats.Div(s.Mean, counts)
	for _, g := range patterns {
		for a, i := range g.Items {
			for b, j := range g.Items[:a+1] {
				if i != j && len(patterns) > 1 {
					continue
				}
				v := float64(g.N) * (g.Mean[a] - s.Mean[i]) * (g.Mean[b] - s.Mean[j])
				if g.Root != nil {
					v += floats.Dot(g.Root.RawRowView(a), g.Root.RawRowView(b))
				}
				s.Covariance.SetSym(i, j, s.Covariance.At(i, j)+v/math.Sqrt(counts[i]*counts[j]))
			}
		}
	}
	return s
}

// NeverTogether returns the pairs of p items that no participant answered both.
func NeverTogether(patterns []Pattern, p int) (pairs [][2]int) {
	together := make([]bool, p*p)
	for _, g := range patterns {
		for a, i := range g.Items {
			for _, j := range g.Items[:a] {
				together[j*p+i] = true
			}
		}
	}
	for i := range p {
		for j := range i {
			if !together[j*p+i] {
				pairs = append(pairs, [2]int{j, i})
			}
		}
	}
	slices.SortFunc(pairs, func(a, b [2]int) int { return (a[0]*p + a[1]) - (b[0]*p + b[1]) })
	return pairs
}
