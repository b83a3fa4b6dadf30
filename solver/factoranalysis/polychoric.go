package factoranalysis

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// MostCategories is the largest number of different answers to an item. It bounds the table of a pair.
	MostCategories = 30

	// maxPolychoric bounds |ρ|: the likelihood of a table with empty corners may rise up to 1.
	maxPolychoric = 0.9999

	// polychoricTol ends the search for ρ; the error is then far below it and any standard error.
	polychoricTol = 1e-9

	// maxScoring bounds the steps; a step that leaves the bracket is a bisection.
	maxScoring = 60

	// leastProbability is the least probability of a cell: computed, a smaller one is only rounding.
	leastProbability = 1e-14
)

// Ordered is a column of answers as ordered categories.
type Ordered struct {
	Codes   []uint8  // category of each row from 0, 255 for an unknown one
	Margins []Margin // of each group of rows; Categories makes one
}

// Margin is the distribution of a latent response: the K−1 thresholds of the categories, and their cumulative Φ.
type Margin struct{ Thresholds, Cumulative []float64 }

const missing = math.MaxUint8

// Categories returns the columns with their different known values, in ascending order, as categories. It returns an
// *ItemError for more than MostCategories. A column must have a value.
func Categories(x mat.Matrix) ([]Ordered, error) {
	n, p := x.Dims()
	items := make([]Ordered, p)
	column := make([]float64, n)
	for j := range items {
		known := slices.DeleteFunc(slices.Clone(mat.Col(column, j, x)), math.IsNaN)
		total := len(known)
		slices.Sort(known)
		var shares []float64
		for e := range known[:total-1] {
			if known[e] != known[e+1] {
				shares = append(shares, float64(e+1)/float64(total))
			}
		}
		if len(shares) >= MostCategories {
			return nil, &ItemError{j, "has more than 30 different answers, too many for polychoric correlations"}
		}
		values := slices.Compact(known)
		codes := make([]uint8, n)
		for i, v := range column {
			codes[i] = missing
			if !math.IsNaN(v) {
				code, _ := slices.BinarySearch(values, v)
				codes[i] = uint8(code)
			}
		}
		items[j] = Ordered{codes, []Margin{{lists.Map(shares, mathext.NormalQuantile), shares}}}
	}
	return items, nil
}

// polychoric returns the correlations ρ of pairs of latent standard normal variables, by the two-step estimator: the
// thresholds of an item are the normal quantiles of its cumulative shares, over all who answered it, and ρ of a pair
// maximizes
//
//	Σ n_ab·log π_ab(ρ), n_ab the count of the answers a and b together, π_ab the bivariate normal probability of their cell,
//
// in [−0.9999, 0.9999]. No continuity correction is made. Each group of rows has its own thresholds and π; the sum is
// over the groups too.
//
// Source: U. Olsson, "Maximum likelihood estimation of the polychoric correlation coefficient", 1979, section 3.
func polychoric(ctx context.Context, items []Ordered, groups []int, threads linalg.Threads,
) (r *mat.SymDense, unknown [][2]int, err error) {
	p := len(items)
	pairs := make([][2]int, 0, p*(p-1)/2)
	for i := range p {
		for j := range i {
			pairs = append(pairs, [2]int{j, i})
		}
	}
	found := make([]float64, len(pairs))
	const flopsPerPair = 1 << 14
	threads.Parallel(len(pairs), flopsPerPair*len(pairs)*len(items[0].Margins), func(from, to int) {
		t := table{groups: groups}
		for e := from; e < to && ctx.Err() == nil; e++ {
			t.fill(&items[pairs[e][0]], &items[pairs[e][1]])
			found[e] = t.correlation()
		}
	})
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	r = mat.NewSymDense(p, nil)
	for i := range p {
		r.SetSym(i, i, 1)
	}
	for e, pair := range pairs {
		if math.IsNaN(found[e]) {
			unknown = append(unknown, pair)
		} else {
			r.SetSym(pair[0], pair[1], found[e])
		}
	}
	return r, unknown, nil
}

// table is the contingency table of a pair of items in each group, with the memory for its likelihood.
type table struct {
	groups []int // of each row
	a, b   *Ordered
	counts []float64 // group after group; rows are the categories of a, width those of b
	cells  int       // of a group
	width  int
	normal BivariateNormal
	// above and here are two rows of corners, each with probabilities and densities at all thresholds of b and at ±∞.
	above, here []corner
}

// corner is the value of the distribution function at a pair of thresholds, and its derivative with respect to ρ.
type corner struct{ probability, density float64 }

func (t *table) fill(a, b *Ordered) {
	t.a, t.b, t.width = a, b, len(b.Margins[0].Thresholds)+1
	t.cells = (len(a.Margins[0].Thresholds) + 1) * t.width
	all, corners := len(a.Margins)*t.cells, t.width+1
	t.counts = slices.Grow(t.counts[:0], all)[:all]
	t.above, t.here = slices.Grow(t.above[:0], corners)[:corners], slices.Grow(t.here[:0], corners)[:corners]
	clear(t.counts)
	for i, code := range a.Codes {
		if other := b.Codes[i]; code != missing && other != missing {
			t.counts[t.groups[i]*t.cells+int(code)*t.width+int(other)]++
		}
	}
}

// correlation returns the ρ of greatest likelihood, NaN if all counts lie in one row or one column: the zero of the
// derivative, by Fisher scoring from the correlation of the category numbers, in a bracket that only shrinks.
func (t *table) correlation() float64 {
	rho := t.pearson()
	if math.IsNaN(rho) {
		return rho
	}
	low, high := -maxPolychoric, maxPolychoric
	rho = min(high, max(low, rho))
	for range maxScoring {
		slope, information := t.score(rho)
		if slope > 0 {
			low = rho
		} else {
			high = rho
		}
		next := rho + slope/information
		if !(next > low && next < high) {
			next = (low + high) / 2
		}
		if math.Abs(next-rho) < polychoricTol {
			return next
		}
		rho = next
	}
	return rho
}

// pearson returns the correlation of the category numbers, NaN if one of them does not vary.
func (t *table) pearson() float64 {
	var n, sa, sb, saa, sbb, sab float64
	for e, count := range t.counts {
		a, b := float64(e%t.cells/t.width), float64(e%t.width)
		n += count
		sa += count * a
		sb += count * b
		saa += count * a * a
		sbb += count * b * b
		sab += count * a * b
	}
	va, vb := n*saa-sa*sa, n*sbb-sb*sb // whole numbers, exact
	if va <= 0 || vb <= 0 {
		return math.NaN()
	}
	return (n*sab - sa*sb) / math.Sqrt(va*vb)
}

// score returns the derivative of the log-likelihood and the information: the expected one, N·Σ (∂π)²/π, or with
// several groups, whose tables are mostly empty, its estimate by the answers, Σ n_ab·(∂π/π)².
func (t *table) score(rho float64) (slope, information float64) {
	t.normal.To(rho)
	if len(t.a.Margins) > 1 {
		return t.scoreGroups()
	}
	t.rows(func(row int) {
		for c, count := range t.counts[row*t.width:][:t.width] {
			probability, change := between(t.above[c], t.above[c+1], t.here[c], t.here[c+1])
			slope += count * change / probability
			information += change * change / probability
		}
	})
	return slope, floats.Sum(t.counts) * information
}

// rows calls visit for each row of a table of one group, with the corners above and below it in above and here.
func (t *table) rows(visit func(row int)) {
	a, b := &t.a.Margins[0], &t.b.Margins[0]
	clear(t.above)
	for row := range len(a.Thresholds) + 1 {
		for column := range t.here {
			t.here[column] = t.corner(row+1, column, a, b)
		}
		visit(row)
		t.above, t.here = t.here, t.above
	}
}

// Cells returns for each pair of categories of two items with one margin each, row by row of a: how many gave both, the
// probability π, and ∂log π/∂ρ. |ρ| < 1.
func Cells(a, b *Ordered, rho float64) (counts, probabilities, scores []float64) {
	t := table{groups: make([]int, len(a.Codes))}
	t.fill(a, b)
	t.normal.To(rho)
	t.rows(func(int) {
		for c := range t.width {
			probability, change := between(t.above[c], t.here[c], t.above[c+1], t.here[c+1])
			probabilities, scores = append(probabilities, probability), append(scores, change/probability)
		}
	})
	return t.counts, probabilities, scores
}

func (t *table) scoreGroups() (slope, information float64) {
	for e, count := range t.counts {
		if count == 0 {
			continue
		}
		g, row, c := e/t.cells, e%t.cells/t.width, e%t.width
		a, b := &t.a.Margins[g], &t.b.Margins[g]
		probability, change := between(t.corner(row, c, a, b), t.corner(row, c+1, a, b), t.corner(row+1, c, a, b),
			t.corner(row+1, c+1, a, b))
		slope += count * change / probability
		information += count * (change / probability) * (change / probability)
	}
	return slope, information
}

// between returns the probability of a cell, at least leastProbability, and its derivative, by the corners of its upper
// and lower side.
func between(aboveLeft, above, left, here corner) (probability, change float64) {
	return max(leastProbability, here.probability-left.probability-above.probability+aboveLeft.probability),
		here.density - left.density - above.density + aboveLeft.density
}

// corner returns the corner after so many categories of the rows and of the columns.
func (t *table) corner(row, column int, a, b *Margin) corner {
	switch lastRow, lastColumn := row > len(a.Thresholds), column == t.width; {
	case row == 0 || column == 0:
		return corner{}
	case lastRow && lastColumn:
		return corner{probability: 1}
	case lastRow:
		return corner{probability: b.Cumulative[column-1]}
	case lastColumn:
		return corner{probability: a.Cumulative[row-1]}
	}
	x, y := a.Thresholds[row-1], b.Thresholds[column-1]
	return corner{t.normal.CDF(x, y, a.Cumulative[row-1], b.Cumulative[column-1]), t.normal.Density(x, y)}
}

const (
	// strongCorrelation is the |ρ| from which the integrand over the angle is no longer close to a polynomial. Genz
	// chose this bound, and the bounds between the numbers of quadrature points.
	strongCorrelation = 0.925
	fewPoints         = 0.3
	somePoints        = 0.75

	// negligible is an exponent of e. With a smaller exponent the term is lost when it is added to 1.
	negligible = -100
)

// point is a node of a quadrature rule on [0, 1] with its weight.
type point struct{ x, weight float64 }

var (
	points6  = legendre(6)
	points12 = legendre(12)
	points20 = legendre(20)
)

func legendre(n int) []point {
	x, weight := make([]float64, n), make([]float64, n)
	quad.Legendre{}.FixedLocations(x, weight, 0, 1)
	return lists.Make(n, func(i int) point { return point{x[i], weight[i]} })
}

// BivariateNormal is the standard normal distribution of two variables (A, B) of correlation ρ, −1 ≤ ρ ≤ 1, prepared
// for many points. Its probabilities are exact to 1e-14.
//
// The method is that of Z. Drezner and G. O. Wesolowsky, "On the computation of the bivariate normal integral", 1990,
// as A. Genz made it exact to double precision in "Numerical computation of rectangular bivariate and trivariate normal
// and t probabilities", 2004, section 2.
type BivariateNormal struct {
	rho   float64
	nodes [20]angle
	n     int // nodes in use, 0 if |ρ| ≥ strongCorrelation
}

// angle is a node θ of the integral over the correlation sin θ.
type angle struct{ sin, half, weight float64 } // half is 1/(2cos²θ), weight includes asin(ρ)/2π

// To prepares v for the correlation ρ.
func (v *BivariateNormal) To(rho float64) {
	v.rho, v.n = rho, 0
	rule := points20
	switch r := math.Abs(rho); {
	case r >= strongCorrelation:
		return
	case r < fewPoints:
		rule = points6
	case r < somePoints:
		rule = points12
	}
	end := math.Asin(rho)
	for _, p := range rule {
		sin := math.Sin(end * p.x)
		v.nodes[v.n] = angle{sin: sin, half: 1 / (2 * (1 - sin*sin)), weight: p.weight * end / (2 * math.Pi)}
		v.n++
	}
}

// CDF returns P(A ≤ a, B ≤ b) for finite a and b, given Φ(a) and Φ(b). For |ρ| < 0.925 it is
//
//	Φ(a)·Φ(b) + 1/(2π)·∫₀^{asin ρ} exp(−(a² + b² − 2ab·sin θ)/(2cos²θ)) dθ.
func (v *BivariateNormal) CDF(a, b, phiA, phiB float64) float64 {
	if v.n == 0 {
		return v.strong(a, b)
	}
	squares, product, sum := a*a+b*b, 2*a*b, 0.0
	for _, t := range v.nodes[:v.n] {
		sum += t.weight * math.Exp((product*t.sin-squares)*t.half)
	}
	return max(0, phiA*phiB+sum)
}

// Density returns the density at (a, b), also the derivative of CDF with respect to ρ (Plackett 1954). |ρ| < 1.
func (v *BivariateNormal) Density(a, b float64) float64 {
	free := 1 - v.rho*v.rho
	return math.Exp((2*v.rho*a*b-a*a-b*b)/(2*free)) / (2 * math.Pi * math.Sqrt(free))
}

// strong is CDF for |ρ| ≥ 0.925. With h = −a, k = −b·s and s the sign of ρ, it subtracts from the probability at ρ = s
//
//	s/(2π)·∫₀^√(1−ρ²) exp(−(h−k)²/(2x²) − hk/(1+√(1−x²)))/√(1−x²) dx.
//
// The steep part, exp(−(h−k)²/(2x²) − hk/2) times the expansion 1 + c·x²·(1 + d·x²) of the rest, is integrated exactly,
// and only the remainder numerically.
func (v *BivariateNormal) strong(a, b float64) float64 {
	h, k, sign := -a, -b, 1.0
	limit := upperTail(max(h, k))
	if v.rho < 0 {
		limit = max(0, upperTail(h)-upperTail(-k))
		k, sign = -k, -1
	}
	end := math.Sqrt((1 - v.rho) * (1 + v.rho))
	hk, square := h*k, (h-k)*(h-k)
	if end == 0 || -(square/(end*end)+hk)/2 < negligible {
		return limit
	}
	c, d := (4-hk)/8, (12-hk)/16

	edge, gap := math.Exp(-(square/(end*end)+hk)/2), math.Abs(h-k)
	i0 := end*edge - math.Exp(-hk/2)*math.Sqrt(2*math.Pi)*gap*upperTail(gap/end) // ∫ of the steep part alone
	i2 := (end*end*end*edge - square*i0) / 3                                     // times x²
	i4 := (math.Pow(end, 5)*edge - square*i2) / 5                                // times x⁴
	integral := i0 + c*(i2+d*i4)

	for _, p := range points20 {
		x := end * p.x
		steep := -(square/(x*x) + hk) / 2
		if steep < negligible {
			continue
		}
		root := math.Sqrt(1 - x*x)
		// hk/(1+root) − hk/2 = hk·(1−root)/(2(1+root))
		rest := math.Exp(-hk*(1-root)/(2*(1+root)))/root - (1 + c*x*x*(1+d*x*x))
		integral += end * p.weight * math.Exp(steep) * rest
	}
	return min(1, max(0, limit-sign*integral/(2*math.Pi)))
}

// upperTail returns 1 − Φ(x).
func upperTail(x float64) float64 { return math.Erfc(x/math.Sqrt2) / 2 }
