package grm

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/eap"
)

// fit is the state of the search.
type fit struct {
	x          *mat.Dense
	categories [][]int16 // n×p, −1 for a missing answer
	of         eap.Model
	likelihood float64 // of the parameters before the last step, then of those that the search returns
	steps      int
	threads    linalg.Threads
	parts      []*part
}

// part is a range of participants, and what an E step sums over them. Parts do not depend on the number of threads.
type part struct {
	from, to   int
	counts     [][]float64 // by item: expected numbers of participants in each category at each node
	moments    *mat.Dense  // k×k: sum of E θθᵀ
	likelihood float64
}

// categorize fills in the categories and their values.
func (f *fit) categorize() error {
	n, p := f.x.Dims()
	for j := range p {
		values := slices.DeleteFunc(mat.Col(nil, j, f.x), math.IsNaN)
		slices.Sort(values)
		values = slices.Compact(values)
		if len(values) > MostCategories {
			return &factoranalysis.ItemError{
				Item: j,
				Reason: fmt.Sprintf("has %d different answers, at most %d can be categories", len(values),
					MostCategories),
			}
		}
		f.of.Values = append(f.of.Values, values)
	}
	for i := range n {
		row := make([]int16, p)
		for j, v := range f.x.RawRowView(i) {
			row[j] = int16(f.of.Category(j, v))
		}
		f.categories = append(f.categories, row)
	}
	return nil
}

// begin fills in the start: slopes of ±1 with the signs of the first principal component of the factor's items, and
// intercepts that give about the observed shares.
func (f *fit) begin(k int, r *mat.SymDense) {
	p := len(f.of.Factors)
	f.of.Slopes, f.of.Intercepts, f.of.Phi = make([]float64, p), make([][]float64, p), linalg.Identity(k)
	for t := range k {
		var items []int
		for j, of := range f.of.Factors {
			if of == t {
				items = append(items, j)
			}
		}
		own := mat.NewSymDense(len(items), nil)
		for a, i := range items {
			for b, j := range items {
				own.SetSym(a, b, r.At(i, j))
			}
		}
		_, vectors, ok := linalg.Eigen(own)
		for a, j := range items {
			f.of.Slopes[j] = 1
			if ok && vectors.At(a, len(items)-1) < 0 {
				f.of.Slopes[j] = -1
			}
		}
	}
	const spread = 1.2 // a logit at a slope of 1 is that much larger than the logit of the share
	for j, values := range f.of.Values {
		counts, total := make([]float64, len(values)), 0.0
		for _, row := range f.categories {
			if c := row[j]; c >= 0 {
				counts[c]++
				total++
			}
		}
		above := total
		for _, count := range counts[:len(values)-1] {
			above -= count
			f.of.Intercepts[j] = append(f.of.Intercepts[j], spread*math.Log(above/(total-above)))
		}
	}
	const rows = 32
	const most = 64
	n := len(f.categories)
	size := max(rows, (n+most-1)/most)
	for from := 0; from < n; from += size {
		o := &part{from: from, to: min(from+size, n), moments: mat.NewDense(k, k, nil)}
		for _, values := range f.of.Values {
			o.counts = append(o.counts, make([]float64, len(values)*eap.Nodes))
		}
		f.parts = append(f.parts, o)
	}
}

// expect sums over the participants what the M step needs. It returns the log-likelihood.
func (f *fit) expect() (total *part) {
	scorer := f.of.NewScorer()
	f.each(func(o *part) {
		s := scorer.Share()
		o.likelihood = 0
		o.moments.Zero()
		for _, counts := range o.counts {
			clear(counts)
		}
		for i := o.from; i < o.to; i++ {
			s.Categories(f.categories[i])
			o.likelihood += s.Likelihood
			for t, mean := range s.Means {
				row := o.moments.RawRowView(t)
				floats.Add(row, s.Covariance.RawRowView(t))
				floats.AddScaled(row, mean, s.Means)
			}
			for j, c := range f.categories[i] {
				if c >= 0 {
					at := int(c) * eap.Nodes
					floats.Add(o.counts[j][at:at+eap.Nodes], s.Weights[f.of.Factors[j]])
				}
			}
		}
	})
	total = f.parts[0]
	for _, o := range f.parts[1:] {
		total.likelihood += o.likelihood
		total.moments.Add(total.moments, o.moments)
		for j, counts := range o.counts {
			floats.Add(total.counts[j], counts)
		}
	}
	return total
}

// each calls work for all parts.
func (f *fit) each(work func(*part)) {
	const flops = math.MaxInt // always worth a second goroutine
	f.threads.Parallel(len(f.parts), flops, func(from, to int) {
		for _, o := range f.parts[from:to] {
			work(o)
		}
	})
}

// step makes one step of EM.
func (f *fit) step() {
	f.steps++
	o := f.expect()
	f.likelihood = o.likelihood
	k, n := f.of.Phi.RawMatrix().Rows, float64(len(f.categories))
	scales := make([]float64, k)
	for t := range scales {
		scales[t] = math.Sqrt(o.moments.At(t, t) / n)
	}
	next := mat.NewDense(k, k, nil)
	next.Apply(func(t, u int, v float64) float64 {
		if t == u {
			return 1
		}
		return (v + o.moments.At(u, t)) / (2 * n * (scales[t] * scales[u]))
	}, o.moments)
	slopes := make([]float64, len(f.of.Slopes))
	intercepts := make([][]float64, len(slopes))
	for j, t := range f.of.Factors {
		theta := append([]float64{f.of.Slopes[j]}, f.of.Intercepts[j]...)
		maximize(theta, o.counts[j])
		slopes[j] = min(SteepestSlope, max(-SteepestSlope, theta[0]*scales[t]))
		intercepts[j] = theta[1:]
	}
	f.of.Slopes, f.of.Intercepts, f.of.Phi = slopes, intercepts, next
}

// search steps until the parameters stay. Of each three steps the last starts from an extrapolation of the two before.
func (f *fit) search(ctx context.Context) (converged bool, err error) {
	for f.steps < mostSteps {
		if ctx.Err() != nil {
			return false, context.Cause(ctx)
		}
		start := f.of
		f.step()
		first := f.of
		f.step()
		if f.moved(first) <= paramTol {
			converged = true
			break
		}
		before, second := f.likelihood, f.of // the likelihood of first
		if !f.extrapolate(start, first) {
			continue
		}
		f.step()
		if !(f.likelihood >= before) {
			f.of = second
		}
	}
	f.likelihood = f.expect().likelihood
	return converged, nil
}

// moved returns the largest change of a parameter since before, relative to those above 1.
func (f *fit) moved(before eap.Model) (most float64) {
	a, b := parameters(f.of), parameters(before)
	for i, v := range a {
		most = max(most, math.Abs(v-b[i])/max(1, math.Abs(v)))
	}
	return most
}

// parameters returns the slopes, the intercepts and the correlations above the diagonal.
func parameters(m eap.Model) []float64 {
	all := slices.Clone(m.Slopes)
	for _, d := range m.Intercepts {
		all = append(all, d...)
	}
	k := m.Phi.RawMatrix().Rows
	for t := range k {
		all = append(all, m.Phi.RawRowView(t)[t+1:]...)
	}
	return all
}

// extrapolate goes on in the direction of two steps, start → first → f.of, as far as SQUAREM's third scheme says: with
// r the first step and v the difference of the two, to start − 2αr + α²v, where α = −|r|/|v|. It reports whether it
// moved: parameters out of order are not taken.
func (f *fit) extrapolate(start, first eap.Model) bool {
	a, b, c := parameters(start), parameters(first), parameters(f.of)
	var rr, vv float64
	for i := range a {
		r, v := b[i]-a[i], c[i]-2*b[i]+a[i]
		rr, vv = rr+r*r, vv+v*v
	}
	alpha := -math.Sqrt(rr / vv)
	if !(alpha < -1) || math.IsInf(alpha, -1) {
		return false
	}
	for i := range a {
		a[i] += -2*alpha*(b[i]-a[i]) + alpha*alpha*(c[i]-2*b[i]+a[i])
	}
	next := f.of
	p, k := len(next.Slopes), next.Phi.RawMatrix().Rows
	next.Slopes, a = a[:p], a[p:]
	for _, slope := range next.Slopes {
		if math.Abs(slope) > SteepestSlope {
			return false
		}
	}
	next.Intercepts = make([][]float64, p)
	for j, d := range f.of.Intercepts {
		next.Intercepts[j], a = a[:len(d)], a[len(d):]
	}
	next.Phi = linalg.Identity(k)
	for t := range k {
		for u := t + 1; u < k; u++ {
			next.Phi.Set(t, u, a[0])
			next.Phi.Set(u, t, a[0])
			a = a[1:]
		}
	}
	if next.Check() != nil {
		return false
	}
	f.of = next
	return true
}

// maximize moves θ, the slope and the intercepts of an item, to the maximum of Σ counts·log P over categories and
// nodes. A step below newtonTol is the last, and not tried: what it gains is less than the rounding of the sum, and the
// step after it would be about its square.
func maximize(theta, counts []float64) {
	const newtonTol, most, shortest = 1e-6, 30, 1e-6
	gradient, curvature := make([]float64, len(theta)), mat.NewSymDense(len(theta), nil)
	next, step := make([]float64, len(theta)), mat.NewVecDense(len(theta), nil)
	value := expected(theta, counts, gradient, curvature)
	for range most {
		var factor mat.Cholesky
		if !factor.Factorize(curvature) || factor.SolveVecTo(step, mat.NewVecDense(len(theta), gradient)) != nil {
			return
		}
		last := floats.Norm(step.RawVector().Data, math.Inf(1)) < newtonTol
		size, before := 1.0, value
		for ; size > shortest; size /= 2 {
			floats.AddScaledTo(next, theta, size, step.RawVector().Data)
			if !descending(next[1:]) {
				continue
			}
			if !last {
				value = expected(next, counts, gradient, curvature)
			}
			if value >= before {
				break
			}
		}
		if size <= shortest {
			return
		}
		if copy(theta, next); last {
			return
		}
	}
}

func descending(values []float64) bool {
	for i := 1; i < len(values); i++ {
		if !(values[i] < values[i-1]) {
			return false
		}
	}
	return true
}

// expected returns Σ counts·log P at θ, and stores its gradient and the negative of its second derivatives.
// A logit is slope·node + intercept.
func expected(theta, counts, gradient []float64, curvature *mat.SymDense) (sum float64) {
	clear(gradient)
	curvature.Zero()
	m := eap.Model{Slopes: theta[:1], Intercepts: [][]float64{theta[1:]}}
	for c := range len(theta) {
		for q := range eap.Nodes {
			r := counts[c*eap.Nodes+q]
			if r == 0 {
				continue
			}
			node := eap.Node(q)
			d := derive(m.Bounds(0, c, node))
			sum += r * d.log
			gradient[0] += r * node * (d.upper + d.lower)
			curvature.SetSym(0, 0, curvature.At(0, 0)-r*node*node*(d.upperUpper+2*d.upperLower+d.lowerLower))
			if c > 0 {
				gradient[c] += r * d.upper
				curvature.SetSym(c, c, curvature.At(c, c)-r*d.upperUpper)
				curvature.SetSym(0, c, curvature.At(0, c)-r*node*(d.upperUpper+d.upperLower))
			}
			if c+1 < len(theta) {
				gradient[c+1] += r * d.lower
				curvature.SetSym(c+1, c+1, curvature.At(c+1, c+1)-r*d.lowerLower)
				curvature.SetSym(0, c+1, curvature.At(0, c+1)-r*node*(d.upperLower+d.lowerLower))
			}
			if c > 0 && c+1 < len(theta) {
				curvature.SetSym(c, c+1, curvature.At(c, c+1)-r*d.upperLower)
			}
		}
	}
	return sum
}

// derivatives are those of log P by the upper and the lower logit of a category.
type derivatives struct {
	log, upper, lower                  float64
	upperUpper, upperLower, lowerLower float64
}

// derive returns, with w = σ(1 − σ) at the logit and w′ at the other one,
//
//	∂log P/∂upper = w/P,  ∂²log P/∂upper² = w(1 − 2σ)/P − (w/P)²,  ∂²log P/∂upper∂lower = w·w′/P²,
//
// and for the lower logit the first two with −w in place of w.
func derive(upper, lower float64) derivatives {
	between := -math.Expm1(lower - upper) // P = σ(upper)·σ(−lower)·between
	over, under := linalg.Sigmoid(upper), linalg.Sigmoid(lower)
	up := linalg.Sigmoid(-upper) / (linalg.Sigmoid(-lower) * between)
	down := -under / (over * between)
	return derivatives{
		log:        math.Log(between) - linalg.Softplus(-upper) - linalg.Softplus(lower),
		upper:      up,
		lower:      down,
		upperUpper: up*(1-2*over) - up*up,
		upperLower: -up * down,
		lowerLower: down*(1-2*under) - down*down,
	}
}
