package cfa

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// orderedMoments are the statistics of a group whose answers are ordered: the thresholds of each item, then the
// polychoric correlations of the pairs i < j, pair by pair.
type orderedMoments struct {
	n           int
	thresholds  [][]float64
	r           *mat.SymDense
	statistics  []float64
	first       int // the place of the first correlation
	covariances *mat.SymDense
}

// newOrderedMoments computes statistics and their covariances. values are the categories of each item, ascending.
//
// An answer moves a threshold τ = Φ⁻¹(F), with F the share up to a category, by (1{answer up to it} − F)/φ(τ), and a
// correlation ρ, which maximizes the likelihood of its pair given the thresholds, by
//
//	(s_ρ − Σ A_ρτ·(what moves τ))/A_ρρ,  s = ∂ log π,  A_ρρ = Σ s_ρ²/n,  A_ρτ = Σ s_ρ·s_τ/n,
//
// π the probability of its cell. The covariances are those of these moves, divisor n − 1, over n: B. O. Muthén, "A
// general structural equation model with dichotomous, ordered categorical, and continuous latent variable indicators",
// 1984, section 3, and K. G. Jöreskog, "On the estimation of polychoric correlations and their asymptotic covariance
// matrix", 1994.
func newOrderedMoments(ctx context.Context, x *mat.Dense, values [][]float64, threads linalg.Threads,
) (*orderedMoments, error) {
	n, p := x.Dims()
	c, err := factoranalysis.Correlate(ctx, x, factoranalysis.Polychoric, int(threads))
	if err != nil {
		return nil, err
	}
	o := &orderedMoments{n: n, r: c.Raw()}
	items := make([]orderedItem, p)
	for j := range p {
		items[j] = newOrderedItem(mat.Col(nil, j, x), values[j])
		items[j].first = len(o.statistics)
		o.thresholds = append(o.thresholds, items[j].thresholds)
		o.statistics = append(o.statistics, items[j].thresholds...)
	}
	o.first = len(o.statistics)
	pairs := pairs(p)
	for _, pair := range pairs {
		o.statistics = append(o.statistics, o.r.At(pair[0], pair[1]))
	}
	moves := mat.NewDense(n, len(o.statistics), nil)
	for j := range items {
		for k, share := range items[j].shares {
			density := distuv.UnitNormal.Prob(items[j].thresholds[k])
			for i, code := range items[j].codes {
				v := -share
				if code <= k {
					v++
				}
				moves.Set(i, items[j].first+k, v/density)
			}
		}
	}
	const flopsPerCell = 50
	threads.Parallel(len(pairs), flopsPerCell*n*len(pairs), func(from, to int) {
		for e := from; e < to && ctx.Err() == nil; e++ {
			a, b := &items[pairs[e][0]], &items[pairs[e][1]]
			moveCorrelation(moves, o.first+e, a, b, o.r.At(pairs[e][0], pairs[e][1]))
		}
	})
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	gram := threads.Gram(moves)
	o.covariances = mat.NewSymDense(len(o.statistics), nil)
	for i := range o.statistics {
		for j := range i + 1 {
			o.covariances.SetSym(i, j, gram.At(i, j)/float64(n*(n-1)))
		}
	}
	return o, nil
}

// pairs returns the pairs i < j of p items in the order of their correlations.
func pairs(p int) (all [][2]int) {
	for i := range p {
		for j := i + 1; j < p; j++ {
			all = append(all, [2]int{i, j})
		}
	}
	return all
}

// orderedItem is the answers to an item as categories from 0.
type orderedItem struct {
	codes              []int
	shares, thresholds []float64
	first              int // the place of its first threshold
}

func newOrderedItem(column, values []float64) (o orderedItem) {
	counts := make([]float64, len(values))
	for _, v := range column {
		code, _ := slices.BinarySearch(values, v)
		o.codes = append(o.codes, code)
		counts[code]++
	}
	var sum float64
	for _, count := range counts[:len(counts)-1] {
		sum += count
		o.shares = append(o.shares, sum/float64(len(column)))
		o.thresholds = append(o.thresholds, mathext.NormalQuantile(o.shares[len(o.shares)-1]))
	}
	return o
}

// moveCorrelation stores what each row moves the correlation ρ of two items by, in a column of moves.
func moveCorrelation(moves *mat.Dense, column int, a, b *orderedItem, rho float64) {
	rows, width := len(a.shares)+1, len(b.shares)+1
	n := float64(len(a.codes))
	counts := make([]float64, rows*width)
	for i, code := range a.codes {
		counts[code*width+b.codes[i]]++
	}
	probabilities, scores := cells(a, b, rho)
	var own float64
	for e, s := range scores {
		own += counts[e] / n * s * s
	}
	// slopes of the thresholds of both items
	spread := math.Sqrt(1 - rho*rho)
	cross := func(of, other *orderedItem, at func(k, c int) int) []float64 {
		slopes := make([]float64, len(of.thresholds))
		for k, t := range of.thresholds {
			below, density := 0.0, distuv.UnitNormal.Prob(t)
			for c := range len(other.shares) + 1 {
				up := 1.0
				if c < len(other.shares) {
					up = distuv.UnitNormal.CDF((other.thresholds[c] - rho*t) / spread)
				}
				d := density * (up - below)
				below = up
				here, next := at(k, c), at(k+1, c)
				slopes[k] += d / n * (counts[here]*scores[here]/probabilities[here] -
					counts[next]*scores[next]/probabilities[next])
			}
		}
		return slopes
	}
	ofA := cross(a, b, func(k, c int) int { return k*width + c })
	ofB := cross(b, a, func(k, c int) int { return c*width + k })
	for i, code := range a.codes {
		v, row := scores[code*width+b.codes[i]], moves.RawRowView(i)
		for k, s := range ofA {
			v -= s * row[a.first+k]
		}
		for k, s := range ofB {
			v -= s * row[b.first+k]
		}
		row[column] = v / own
	}
}

// cells returns the probability of each cell of a pair, and the derivative of its logarithm by ρ, row by row.
func cells(a, b *orderedItem, rho float64) (probabilities, scores []float64) {
	// leastProbability is the least of a cell: computed, a smaller one is only rounding.
	const leastProbability = 1e-14
	rows, width := len(a.shares)+1, len(b.shares)+1
	var normal factoranalysis.BivariateNormal
	normal.To(rho)
	corner := func(row, c int) (probability, density float64) {
		switch {
		case row < 0 || c < 0:
			return 0, 0
		case row == rows-1 && c == width-1:
			return 1, 0
		case row == rows-1:
			return b.shares[c], 0
		case c == width-1:
			return a.shares[row], 0
		}
		x, y := a.thresholds[row], b.thresholds[c]
		return normal.CDF(x, y, a.shares[row], b.shares[c]), normal.Density(x, y)
	}
	cumulative, slopes := make([]float64, rows*width), make([]float64, rows*width)
	for row := range rows {
		for c := range width {
			cumulative[row*width+c], slopes[row*width+c] = corner(row, c)
		}
	}
	difference := func(of []float64, row, c int) float64 {
		v := of[row*width+c]
		if row > 0 {
			v -= of[(row-1)*width+c]
		}
		if c > 0 {
			v -= of[row*width+c-1]
		}
		if row > 0 && c > 0 {
			v += of[(row-1)*width+c-1]
		}
		return v
	}
	for row := range rows {
		for c := range width {
			probability := max(leastProbability, difference(cumulative, row, c))
			probabilities = append(probabilities, probability)
			scores = append(scores, difference(slopes, row, c)/probability)
		}
	}
	return probabilities, scores
}

// categoriesOf returns the different answers to each item over all groups, ascending. An item must have the same ones
// in all groups. The error is a *table.Error.
func (o *Options) categoriesOf(f *frame, groups []string, samples []*mat.Dense) ([][]float64, error) {
	distinct := func(g, j int) []float64 {
		values := mat.Col(nil, j, samples[g])
		slices.Sort(values)
		return slices.Compact(values)
	}
	var all [][]float64
	for j, item := range f.items {
		first := distinct(0, j)
		const most = 30
		if len(first) > most {
			return nil, &table.Error{
				File: o.Input, Column: item,
				Err: errors.New("more than 30 different answers, too many for an ordered item"),
			}
		}
		for g := range groups {
			if !slices.Equal(distinct(g, j), first) {
				return nil, &table.Error{
					File: o.Input, Column: item,
					Err: fmt.Errorf("groups %q and %q gave different answers to this ordered item: a category that "+
						"one of them lacks has no threshold there; merge it with its neighbour", groups[0], groups[g]),
				}
			}
		}
		all = append(all, first)
	}
	return all, nil
}
