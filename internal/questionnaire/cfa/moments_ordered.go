package cfa

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
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

// newOrderedMoments computes statistics and their covariances.
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
func newOrderedMoments(ctx context.Context, x *mat.Dense, threads linalg.Threads) (*orderedMoments, error) {
	n, p := x.Dims()
	c, err := factoranalysis.Correlate(ctx, x, factoranalysis.Polychoric, int(threads))
	if err != nil {
		return nil, err
	}
	o := &orderedMoments{n: n, r: c.Raw}
	all, err := factoranalysis.Categories(x)
	if err != nil {
		return nil, err
	}
	var items []orderedItem
	for j := range all {
		item := orderedItem{&all[j], all[j].Margins[0], len(o.statistics)}
		items = append(items, item)
		o.thresholds, o.statistics = append(o.thresholds, item.Thresholds), append(o.statistics, item.Thresholds...)
	}
	o.first = len(o.statistics)
	pairs := pairs(p)
	for _, pair := range pairs {
		o.statistics = append(o.statistics, o.r.At(pair[0], pair[1]))
	}
	moves := mat.NewDense(n, len(o.statistics), nil)
	for j := range items {
		for k, share := range items[j].Cumulative {
			density := distuv.UnitNormal.Prob(items[j].Thresholds[k])
			for i, code := range items[j].Codes {
				v := -share
				if int(code) <= k {
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

// orderedItem is an item with the place of its first threshold.
type orderedItem struct {
	*factoranalysis.Ordered
	factoranalysis.Margin
	first int
}

// moveCorrelation stores what each row moves the correlation ρ of two items by, in a column of moves.
func moveCorrelation(moves *mat.Dense, column int, a, b *orderedItem, rho float64) {
	width, n := len(b.Thresholds)+1, float64(len(a.Codes))
	counts, probabilities, scores := factoranalysis.Cells(a.Ordered, b.Ordered, rho)
	var own float64
	for e, s := range scores {
		own += counts[e] / n * s * s
	}
	// slopes of the thresholds of both items
	spread := math.Sqrt(1 - rho*rho)
	cross := func(of, other *orderedItem, at func(k, c int) int) []float64 {
		slopes := make([]float64, len(of.Thresholds))
		for k, t := range of.Thresholds {
			below, density := 0.0, distuv.UnitNormal.Prob(t)
			for c := range len(other.Thresholds) + 1 {
				up := 1.0
				if c < len(other.Thresholds) {
					up = distuv.UnitNormal.CDF((other.Thresholds[c] - rho*t) / spread)
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
	for i, code := range a.Codes {
		v, row := scores[int(code)*width+int(b.Codes[i])], moves.RawRowView(i)
		for k, s := range ofA {
			v -= s * row[a.first+k]
		}
		for k, s := range ofB {
			v -= s * row[b.first+k]
		}
		row[column] = v / own
	}
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
		if len(first) > factoranalysis.MostCategories {
			return nil, &table.Error{File: o.Input, Column: item, Err: fmt.Errorf("more than %d different answers, "+
				"too many for an ordered item", factoranalysis.MostCategories)}
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
