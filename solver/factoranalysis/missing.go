package factoranalysis

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
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
	var all []Pattern
	for _, members := range alike(x) {
		g := Pattern{N: len(members), Items: known(x, members[0])}
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

// participants counts those who gave an answer.
func participants(patterns []Pattern) (n int) {
	for e := range patterns {
		n += patterns[e].N
	}
	return n
}

// alike returns the rows of x with the same known entries together, in the order of the first of them.
func alike(x mat.Matrix) [][]int {
	n, p := x.Dims()
	return folds.Groups(lists.Make(n, func(i int) string {
		return string(lists.Make(p, func(j int) byte {
			if math.IsNaN(x.At(i, j)) {
				return 0
			}
			return 1
		}))
	}))
}

// known returns the columns with an entry in a row.
func known(x mat.Matrix, row int) []int {
	_, p := x.Dims()
	return lists.Where(p, func(j int) bool { return !math.IsNaN(x.At(row, j)) })
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

// NormalScore returns the log-likelihood of all patterns at μ and Σ, and its derivatives: with respect to μ, p, and to
// Σ, p×p, halved as by an entry of a symmetric matrix. It reports false if Σ is not positive definite.
//
// With K = Σ⁻¹, d an answer less μ and m the items that its pattern lacks, these have the expectation −K_mm⁻¹·(Kd)_m in
// place of d_m, where d is 0, and the covariance K_mm⁻¹. For T the sum of all ddᵀ with the expectations filled in, and
// M that of the covariances,
//
//	log = −½·(Σ k·log 2π + log det Σ + log det K_mm + tr KT),  s = K·Σd,  G = ½·(K·(T + M)·K − nK),
//
// over the n participants, who gave k answers each. A pattern without m items costs m·p for each column of its Root,
// and m³, which is less than by the inverse of Σ_oo.
func NormalScore(patterns []Pattern, mu []float64, sigma *mat.SymDense) (log float64, ofMean []float64,
	ofCov *mat.SymDense, ok bool,
) {
	p := len(mu)
	var factor mat.Cholesky
	precision := mat.NewSymDense(p, nil)
	if !factor.Factorize(sigma) || factor.InverseTo(precision) != nil {
		return 0, nil, nil, false
	}
	k := mat.DenseCopyOf(precision)
	count := 0
	for e := range patterns {
		count += patterns[e].rows()
	}
	// A pattern has the rows √N·(mean − μ) and Rootᵀ.
	rows, known := mat.NewDense(count, p, nil), make([]bool, p)
	moments, total := mat.NewSymDense(p, nil), mat.NewVecDense(p, nil)
	logDet, n := factor.LogDet(), 0.0
	first := 0
	for e := range patterns {
		g := &patterns[e]
		weight, size := float64(g.N), len(g.Items)
		part := rows.Slice(first, first+g.rows(), 0, p).(*mat.Dense)
		first += g.rows()
		clear(known)
		for a, i := range g.Items {
			known[i] = true
			part.Set(0, i, math.Sqrt(weight)*(g.Mean[a]-mu[i]))
			if g.Root != nil {
				for c, v := range g.Root.RawRowView(a) {
					part.Set(1+c, i, v)
				}
			}
		}
		missing := lists.Where(p, func(i int) bool { return !known[i] })
		ofMissing, ok := fill(part, missing, k, moments, weight)
		if !ok {
			return 0, nil, nil, false
		}
		total.AddScaledVec(total, math.Sqrt(weight), part.RowView(0))
		n += weight
		log -= weight / 2 * (float64(size)*math.Log(2*math.Pi) + logDet + ofMissing)
	}
	var filled mat.SymDense
	var half, both mat.Dense
	filled.SymOuterK(1, rows.T())
	log -= linalg.Dot(mat.DenseCopyOf(&filled), k) / 2
	moments.AddSym(moments, &filled)
	half.Mul(k, moments)
	both.Mul(&half, k)
	ofCov = mat.NewSymDense(p, nil)
	for i := range p {
		for j := i; j < p; j++ {
			ofCov.SetSym(i, j, (both.At(i, j)-n*k.At(i, j))/2)
		}
	}
	slope := mat.NewVecDense(p, nil)
	slope.MulVec(k, total)
	return log, slope.RawVector().Data, ofCov, true
}

// rows returns how many rows NormalScore needs for the pattern.
func (g *Pattern) rows() int {
	if g.Root == nil {
		return 1
	}
	_, c := g.Root.Dims()
	return 1 + c
}

// fill puts the expectations of the missing items into the rows of a pattern, adds their covariances, times N, to the
// moments, and returns log det K_mm.
func fill(rows *mat.Dense, missing []int, k *mat.Dense, moments *mat.SymDense, weight float64,
) (logDet float64, ok bool) {
	if len(missing) == 0 {
		return 0, true
	}
	own, along := mat.NewSymDense(len(missing), nil), make([]float64, len(missing))
	for a, i := range missing {
		for b, j := range missing[:a+1] {
			own.SetSym(a, b, k.At(i, j))
		}
	}
	factor, ok := lapack64.Potrf(own.RawSymmetric()) // mat.Cholesky would take longer to estimate its condition
	if !ok {
		return 0, false
	}
	for a := range missing {
		logDet += 2 * math.Log(own.At(a, a))
	}
	lapack64.Potri(factor)
	for r := range rows.RawMatrix().Rows {
		row := rows.RawRowView(r)
		for a, i := range missing {
			along[a] = floats.Dot(row, k.RawRowView(i))
		}
		for a, i := range missing {
			for b, v := range along {
				row[i] -= own.At(a, b) * v
			}
		}
	}
	for a, i := range missing {
		for b, j := range missing[:a+1] {
			moments.SetSym(i, j, moments.At(i, j)+weight*own.At(a, b))
		}
	}
	return logDet, true
}

// Saturated is the normal distribution of greatest likelihood without a model.
type Saturated struct {
	Mean          []float64
	Covariance    *mat.SymDense // divisor n
	LogLikelihood float64       // in Correlations that of the standardized answers
	Converged     bool
	Rounds        int // of a search that did not converge
}

const (
	// EM ends if an iteration moves means and covariances by less than emTolerance standard deviations.
	maxRounds   = 1000
	emTolerance = 1e-8
	// Every checkRounds it also ends if an eigenvalue of the correlations is below nearSingular. Two forms of 10 or 20
	// items, linked by 10 to 30 people, had larger ones than 4e-4 at all maxima after 150 to 1000 rounds but one.
	checkRounds  = 150
	nearSingular = 3e-4
)

// Saturate returns the means and covariances of greatest likelihood of p items by EM. In terms of NormalScore, with G
// its derivative by Σ, s that by μ, and n participants, an iteration is
//
//	δ = Σs/n,  μ ← μ + δ,  Σ ← Σ + 2ΣGΣ/n − δδᵀ.
//
// Source: A. P. Dempster, N. M. Laird and D. B. Rubin, "Maximum likelihood from incomplete data via the EM algorithm",
// 1977, section 4.1.3. A round is two iterations, and a third from where they lead, see leap, if that is likelier.
//
// With too few answers there is no maximum, and the covariances approach singular ones. If they come near, or after
// maxRounds, the result is not Converged. Saturate returns ErrSingular if a covariance matrix on the way has no
// inverse, and the cause if ctx ends.
func Saturate(ctx context.Context, patterns []Pattern, p int) (*Saturated, error) {
	s := startSaturated(patterns, p)
	complete := !slices.ContainsFunc(patterns, func(g Pattern) bool { return len(g.Items) < p })
	round := 0
	for ; round < maxRounds; round++ {
		if round > 0 && round%checkRounds == 0 {
			if values, err := linalg.Eigenvalues(s.correlations()); err != nil {
				return nil, err
			} else if values[0] < nearSingular {
				break
			}
		}
		log, one, change, ok := s.step(patterns)
		if !ok {
			return nil, ErrSingular
		}
		s.LogLikelihood, s.Converged = log, complete || change < emTolerance
		if s.Converged || ctx.Err() != nil {
			return s, context.Cause(ctx)
		}
		least, two, _, ok := one.step(patterns)
		if !ok {
			return nil, ErrSingular
		}
		leapt, next, _, ok := s.leap(one, two).step(patterns)
		if s = two; ok && leapt >= least {
			s = next
		}
	}
	s.Rounds = round
	return s, nil
}

// correlations returns those of the covariances.
func (s *Saturated) correlations() *mat.SymDense {
	r := mat.NewSymDense(len(s.Mean), nil)
	for i := range s.Mean {
		for j := range i {
			r.SetSym(i, j, within1(s.Covariance.At(i, j)/math.Sqrt(s.Covariance.At(i, i)*s.Covariance.At(j, j))))
		}
		r.SetSym(i, i, 1)
	}
	return r
}

// leap extrapolates two iterations, from s to one and from there to two. With their steps r and r + v, in units of the
// standard deviations, and a = max(1, ‖r‖/‖v‖), it returns s + 2ar + a²v: R. Varadhan and C. Roland, "Simple and
// globally convergent methods for accelerating the convergence of any EM algorithm", 2008.
func (s *Saturated) leap(one, two *Saturated) *Saturated {
	p := len(s.Mean)
	units := &Saturated{Mean: make([]float64, p), Covariance: mat.NewSymDense(p, nil)}
	for i := range p {
		units.Mean[i] = 1 / math.Sqrt(s.Covariance.At(i, i))
	}
	units.Covariance.SymRankOne(units.Covariance, 1, mat.NewVecDense(p, units.Mean))
	flat := func(s *Saturated) []float64 { return slices.Concat(s.Mean, s.Covariance.RawSymmetric().Data) }
	unit, now, v := flat(units), flat(one), flat(two)
	norm := func(x []float64) float64 { return floats.Norm(floats.MulTo(make([]float64, len(x)), x, unit), 2) }
	r := floats.SubTo(make([]float64, len(now)), now, flat(s))
	floats.Sub(v, now)
	floats.Sub(v, r)
	a := max(1, norm(r)/norm(v))
	now = flat(s)
	floats.AddScaled(now, 2*a, r)
	floats.AddScaled(now, a*a, v)
	return &Saturated{Mean: now[:p], Covariance: mat.NewSymDense(p, now[p:])}
}

// step returns the log-likelihood of the distribution, the next one of EM, and by how much that changes in units of
// the standard deviations. It reports false if the covariances have no inverse.
func (s *Saturated) step(patterns []Pattern) (log float64, next *Saturated, change float64, ok bool) {
	log, ofMean, ofCov, ok := NormalScore(patterns, s.Mean, s.Covariance)
	if !ok {
		return 0, nil, 0, false
	}
	n, p := float64(participants(patterns)), len(s.Mean)
	next = &Saturated{Mean: slices.Clone(s.Mean), Covariance: mat.NewSymDense(p, nil)}
	delta := mat.NewVecDense(p, nil)
	delta.MulVec(s.Covariance, mat.NewVecDense(p, ofMean))
	delta.ScaleVec(1/n, delta)
	var half, moved mat.Dense
	half.Mul(s.Covariance, ofCov)
	moved.Mul(&half, s.Covariance)
	moved.Scale(2/n, &moved)
	moved.RankOne(&moved, -1, delta, delta)
	for i := range p {
		si := s.Covariance.At(i, i)
		change = max(change, math.Abs(delta.AtVec(i))/math.Sqrt(si))
		next.Mean[i] += delta.AtVec(i)
		for j := range i + 1 {
			change = max(change, math.Abs(moved.At(i, j))/math.Sqrt(si*s.Covariance.At(j, j)))
			next.Covariance.SetSym(i, j, s.Covariance.At(i, j)+moved.At(i, j))
		}
	}
	return log, next, change, true
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

// rescaled returns the distribution of the answers v·deviation + mean.
func (s *Saturated) rescaled(means, deviations []float64) *Saturated {
	p := len(means)
	r := *s
	r.Mean, r.Covariance = make([]float64, p), mat.NewSymDense(p, nil)
	for i := range p {
		r.Mean[i] = means[i] + deviations[i]*s.Mean[i]
		for j := range i + 1 {
			r.Covariance.SetSym(i, j, deviations[i]*deviations[j]*s.Covariance.At(i, j))
		}
	}
	return &r
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
	for j := range p {
		for i := j + 1; i < p; i++ {
			if !together[j*p+i] {
				pairs = append(pairs, [2]int{j, i})
			}
		}
	}
	return pairs
}
