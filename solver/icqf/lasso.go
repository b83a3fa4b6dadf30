package icqf

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/solver"
)

const (
	// unit is the rounding of one operation, 2⁻⁵².
	unit = 0x1p-52
	// slack times k+1 units of rounding bounds a gradient that counts as 0, and the distance of a column from its fit
	// by others: solving two triangles leaves up to 3k+1 of them (Higham 2002, theorem 10.4), and the gradient itself
	// k+1.
	slack = 4
	// stepsPerFactor bounds the steps of a search; no nearly singular problem of 100,000 took more than 2k+4.
	stepsPerFactor = 100
)

// boxLasso is the problem of one participant's k scores: with G = QᵀQ + β₂·I and l = Qᵀ(m − Qc·c) − β over observed
// answers
//
//	minimize f(w) = ½wᵀGw − lᵀw subject to 0 ≤ w ≤ 1,
//
// the ℓ1 norm of scores ≥ 0 being their sum. G is positive semi-definite, and singular for fewer answers than factors
// or for dependent loadings.
//
// The method is that of active sets (Lawson and Hanson 1974, chapter 23; Stark and Parker 1995 with both bounds), from
// w = 0. Free scores are off their bounds, and their columns of Q are independent, so that their minimum for given
// other scores is unique. The other scores are held. A step goes
//
//   - to the minimum of the free scores, as far as the box allows, if they are not there yet;
//   - otherwise it frees the held score whose gradient leads inside most, and goes along the line on which the gradient
//     of the free scores stays 0, to the minimum on that line. If its column depends on theirs there is no such
//     minimum, and the step goes as far as the box allows.
//
// A score that meets its bound is held there. Each step lowers f, so that no set of free scores is at its minimum
// twice: the search is finite, and ends where no gradient leads inside, which for a convex f is the minimum. Scores
// start from 0, so that the scores of a row do not depend on other rows.
type boxLasso struct {
	gram, linear []float64 // k×k and k, set by the user

	gradient []float64 // l − G·w
	tol      []float64 // below which an entry of it counts as 0
	free     []int
	isFree   []bool
	// factor is the triangle L of the free columns of G = LLᵀ in their order, with rows of k. Where the last column
	// depends on the others, the last of its diagonal stands for 0.
	factor    []float64
	dependent bool
	curvature float64 // of the line on which the last free score moves, the square of the last of the diagonal
	direction []float64
	steps     int // the most of a search
}

func newBoxLasso(k int) *boxLasso {
	return &boxLasso{
		gram: make([]float64, k*k), linear: make([]float64, k), gradient: make([]float64, k), tol: make([]float64, k),
		free: make([]int, 0, k), isFree: make([]bool, k), factor: make([]float64, k*k), direction: make([]float64, k),
		steps: stepsPerFactor * k,
	}
}

// minimize stores the minimum in w. It returns a solver.ErrNonFinite for a problem that overflows, and ErrNotOptimal
// after too many steps. Each costs k², or k³ where a score meets its bound, and nothing is allocated.
func (b *boxLasso) minimize(w []float64) error {
	k := len(w)
	var norms float64
	for t := range k {
		b.tol[t] = math.Sqrt(b.gram[t*k+t])
		norms += b.tol[t]
	}
	for t, l := range b.linear {
		b.tol[t] = b.rounding() * (math.Abs(l) + b.tol[t]*norms)
		if b.tol[t]-b.tol[t] != 0 {
			return fmt.Errorf("%w: answers or loadings too large", solver.ErrNonFinite)
		}
	}
	clear(w)
	clear(b.isFree)
	b.free, b.dependent = b.free[:0], false
	for range b.steps {
		copy(b.gradient, b.linear)
		for t, v := range w {
			if v > 0 {
				floats.AddScaled(b.gradient, -v, b.gram[t*k:(t+1)*k])
			}
		}
		alone := b.dependent
		moving := func(t int) bool { return !(math.Abs(b.gradient[t]) <= b.tol[t]) }
		if !alone && !slices.ContainsFunc(b.free, moving) {
			t := b.steepest(w)
			if t < 0 {
				return nil
			}
			b.add(t)
			alone = true
		}
		if alone {
			b.step(w, b.toFree())
		} else {
			b.step(w, b.toMinimum())
		}
	}
	return ErrNotOptimal
}

// response returns the change of the free scores of a minimum if the linear term of the free score at this position
// rises by 1: a column of the inverse of their G, in their order. It is valid until the next call.
func (b *boxLasso) response(position int) []float64 {
	size := len(b.free)
	column := b.direction[:size]
	clear(column)
	column[position] = 1
	blas64.Trsv(blas.NoTrans, b.triangle(size), vector(column))
	blas64.Trsv(blas.Trans, b.triangle(size), vector(column))
	return column
}

// rounding returns the bound below which a sum counts as 0, relative to the size of its terms.
func (b *boxLasso) rounding() float64 { return slack * float64(len(b.linear)+1) * unit }

// steepest returns the held score whose gradient, relative to its tolerance, leads inside most, or −1.
func (b *boxLasso) steepest(w []float64) int {
	best, most := -1, 1.0
	for t, g := range b.gradient {
		if w[t] > 0 {
			g = -g
		}
		if !b.isFree[t] && !(g <= most*b.tol[t]) {
			best, most = t, g/b.tol[t]
		}
	}
	return best
}

// triangle returns L of the first free scores.
func (b *boxLasso) triangle(size int) blas64.Triangular {
	return blas64.Triangular{Uplo: blas.Lower, Diag: blas.NonUnit, N: size, Data: b.factor, Stride: len(b.linear)}
}

func vector(data []float64) blas64.Vector { return blas64.Vector{N: len(data), Data: data, Inc: 1} }

func (b *boxLasso) add(t int) {
	k, size := len(b.linear), len(b.free)
	row := b.factor[size*k:]
	for a, u := range b.free {
		row[a] = b.gram[t*k+u]
	}
	blas64.Trsv(blas.NoTrans, b.triangle(size), vector(row[:size]))
	d := b.gram[t*k+t]
	none := b.rounding() * d
	b.curvature = d - floats.Dot(row[:size], row[:size])
	b.dependent = b.curvature <= none
	row[size] = math.Sqrt(max(b.curvature, none))
	b.free, b.isFree[t] = append(b.free, t), true
}

// toFree directs the last free score, keeping the gradients of the others, and returns the step to the minimum.
func (b *boxLasso) toFree() float64 {
	k, last := len(b.linear), len(b.free)-1
	g := b.gradient[b.free[last]]
	sign := math.Copysign(1, g)
	for a, v := range b.factor[last*k : last*k+last] {
		b.direction[a] = -sign * v
	}
	b.direction[last] = sign
	blas64.Trsv(blas.Trans, b.triangle(last), vector(b.direction[:last]))
	if b.dependent {
		return math.Inf(1)
	}
	return math.Abs(g) / b.curvature
}

// toMinimum makes the direction to the minimum of the free scores and returns the length of the step.
func (b *boxLasso) toMinimum() float64 {
	for a, t := range b.free {
		b.direction[a] = b.gradient[t]
	}
	x := vector(b.direction[:len(b.free)])
	blas64.Trsv(blas.NoTrans, b.triangle(len(b.free)), x)
	blas64.Trsv(blas.Trans, b.triangle(len(b.free)), x)
	return 1
}

// step moves the free scores by length directions, or until the first meets its bound, and holds those at theirs.
func (b *boxLasso) step(w []float64, length float64) {
	meets := -1
	for a, t := range b.free {
		room := math.Inf(1)
		switch d := b.direction[a]; {
		case d > 0:
			room = (1 - w[t]) / d
		case d < 0:
			room = -w[t] / d
		}
		if room < length {
			meets, length = a, room
		}
	}
	first := -1
	for a, t := range b.free {
		w[t] = min(max(w[t]+length*b.direction[a], 0), 1)
		if a == meets {
			w[t] = 0
			if b.direction[a] > 0 {
				w[t] = 1
			}
		}
		if first < 0 && (w[t] == 0 || w[t] == 1) {
			first = a
		}
	}
	b.dependent = b.dependent && first < 0
	if first < 0 {
		return
	}
	rest := b.free[first:]
	b.free = b.free[:first]
	for _, t := range rest {
		if b.isFree[t] = w[t] > 0 && w[t] < 1; b.isFree[t] {
			b.add(t)
		}
	}
}
