package factoranalysis

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"

	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// maxCategories bounds the table of a pair.
	maxCategories = 30

	// maxPolychoric bounds |ρ|: the likelihood of a table with empty corners may rise up to 1.
	maxPolychoric = 0.9999

	// polychoricTol ends the search for ρ; the error is then far below it and any standard error.
	polychoricTol = 1e-9

	// maxScoring bounds the steps; a step that leaves the bracket is a bisection.
	maxScoring = 60

	// leastProbability is the least probability of a cell: computed, a smaller one is only rounding.
	leastProbability = 1e-14
)

// item is a column of answers as ordered categories.
type item struct {
	codes []uint8 // category of each row from 0, missing for an unknown one
	// thresholds are the K−1 normal quantiles of the cumulative shares; cumulative are their Φ, the shares themselves.
	thresholds, cumulative []float64
}

const missing = math.MaxUint8

// categories returns the columns with their different known values, in ascending order, as categories.
func categories(x mat.Matrix) ([]item, error) {
	n, p := x.Dims()
	items := make([]item, p)
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
		if len(shares) >= maxCategories {
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
		thresholds := make([]float64, len(shares))
		for c, share := range shares {
			thresholds[c] = mathext.NormalQuantile(share)
		}
		items[j] = item{codes: codes, thresholds: thresholds, cumulative: shares}
	}
	return items, nil
}

// polychoric returns the correlations ρ of pairs of latent standard normal variables, by the two-step estimator: the
// thresholds of an item are the normal quantiles of its cumulative shares, over all who answered it, and ρ of a pair
// maximizes
//
//	Σ n_ab·log π_ab(ρ), n_ab the count of the answers a and b together, π_ab the bivariate normal probability of their cell,
//
// in [−0.9999, 0.9999]. No continuity correction is made.
//
// Source: U. Olsson, "Maximum likelihood estimation of the polychoric correlation coefficient", 1979, section 3.
func polychoric(ctx context.Context, items []item,
	threads linalg.Threads,
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
	threads.Parallel(len(pairs), flopsPerPair*len(pairs), func(from, to int) {
		var t table
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

// table is the contingency table of a pair of items, with the memory for its likelihood.
type table struct {
	a, b   *item
	counts []float64 // rows are the categories of a, width those of b
	width  int
	normal bivariate
	// above and here are two rows of corners, each with probabilities and densities at all thresholds of b and at ±∞.
	above, here []corner
}

// corner is the value of the distribution function at a pair of thresholds, and its derivative with respect to ρ.
type corner struct{ probability, density float64 }

func (t *table) fill(a, b *item) {
	t.a, t.b, t.width = a, b, len(b.thresholds)+1
	cells, corners := (len(a.thresholds)+1)*t.width, t.width+1
	t.counts = slices.Grow(t.counts[:0], cells)[:cells]
	t.above, t.here = slices.Grow(t.above[:0], corners)[:corners], slices.Grow(t.here[:0], corners)[:corners]
	clear(t.counts)
	for i, code := range a.codes {
		if other := b.codes[i]; code != missing && other != missing {
			t.counts[int(code)*t.width+int(other)]++
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
		a, b := float64(e/t.width), float64(e%t.width)
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

// score returns the derivative of the log-likelihood and the expected information, N·Σ (∂π)²/π.
func (t *table) score(rho float64) (slope, information float64) {
	t.normal.to(rho)
	var n float64
	clear(t.above)
	rows := len(t.a.thresholds) + 1
	for row := range rows {
		t.corners(row)
		for c := range t.width {
			count := t.counts[row*t.width+c]
			probability := max(leastProbability, t.here[c+1].probability-t.here[c].probability-t.above[c+1].probability+
				t.above[c].probability)
			change := t.here[c+1].density - t.here[c].density - t.above[c+1].density + t.above[c].density
			slope += count * change / probability
			information += change * change / probability
			n += count
		}
		t.above, t.here = t.here, t.above
	}
	return slope, n * information
}

// corners fills here with the corners at the upper threshold of a row.
func (t *table) corners(row int) {
	t.here[0] = corner{}
	if row == len(t.a.thresholds) { // +∞
		for c, share := range t.b.cumulative {
			t.here[c+1] = corner{probability: share}
		}
		t.here[t.width] = corner{probability: 1}
		return
	}
	a, shareA := t.a.thresholds[row], t.a.cumulative[row]
	for c, b := range t.b.thresholds {
		t.here[c+1] = corner{t.normal.cdf(a, b, shareA, t.b.cumulative[c]), t.normal.density(a, b)}
	}
	t.here[t.width] = corner{probability: shareA}
}
