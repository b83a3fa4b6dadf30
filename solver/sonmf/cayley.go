package sonmf

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// firstStep is the first step length in units of 1/‖GᵀG‖.
	firstStep = 1 << 13
	// maxHalvings bounds the trials of one search.
	maxHalvings = 50
	// maxDrift is the ‖FᵀF − I‖ above which the topics are made orthonormal again.
	maxDrift = 1e-10
)

// cayleyState updates by algorithm 1 of the paper: with G = ⟨XF⟩₊, C = XᵀG and the gradient R = 2·(F·GᵀG − C),
//
//	Y(τ) = F − τ·U·(I + (τ/2)·VᵀU)⁻¹·VᵀF, U = [R, F], V = [F, −R],
//
// is orthonormal for every τ. τ is halved until Y(τ) lowers the objective below its value before the update of G, and
// doubled for the next search.
//
// Since YᵀY = I, the objective at Y is ‖X‖² − 2·tr(YᵀC) + ‖G‖². tr(YᵀC) needs only FᵀC, RᵀC and the k×k blocks of the
// inverse, so that a trial costs O(k³). Only the accepted Y is formed. An update costs X·F, Xᵀ·G and about 6·p·k²
// multiply-adds.
//
// Departures from the authors' program:
//   - A change within rounding ends the run as Stationary, not after fifty halvings.
//   - A search that fails ends the run as SearchFailed and keeps τ.
//   - The small system is solved, not inverted.
//   - C, GᵀG and R are stored divided by a power of two near ‖X‖², and τ multiplied by it, so that ‖R‖² overflows for
//     no scale of X.
type cayleyState struct {
	iterate
	unit float64 // the power of two that C, GᵀG and R are divided by
	tau  float64 // in units of 1/unit

	*cayleyCurve
	cross                      *mat.Dense // C: p×k
	gram                       *mat.Dense // GᵀG: k×k
	topicsCross, gradientCross *mat.Dense // FᵀC, RᵀC: k×k
}

// cayleyCurve is the curve Y(τ) of cayleyState from topics F for the gradient R.
type cayleyCurve struct {
	threads                      linalg.Threads
	gradient, next               *mat.Dense // R, Y: p×k
	topicsGradient, gradientGram *mat.Dense // FᵀR, RᵀR: k×k
	// FᵀF, YᵀY: k×k; rounding makes them differ from I, which matters near a minimum
	topicsGram, nextGram *mat.Dense
	upper, lower         *mat.Dense // the blocks of the solution of a trial: k×k, views of solution
	system, solution     *mat.Dense // 2k×2k and 2k×k
	pivots               []int
	polar                linalg.Polar
}

// newCayleyCurve returns the curve from these topics. The caller sets the gradient.
func newCayleyCurve(topics *mat.Dense, threads linalg.Threads) *cayleyCurve {
	_, k := topics.Dims()
	square := func() *mat.Dense { return mat.NewDense(k, k, nil) }
	solution := mat.NewDense(2*k, k, nil)
	return &cayleyCurve{
		threads:        threads,
		polar:          linalg.Polar{Threads: threads},
		gradient:       linalg.NewLike(topics),
		next:           linalg.NewLike(topics),
		topicsGradient: square(),
		gradientGram:   square(),
		topicsGram:     threads.Gram(topics),
		nextGram:       square(),
		system:         mat.NewDense(2*k, 2*k, nil),
		solution:       solution,
		upper:          solution.Slice(0, k, 0, k).(*mat.Dense),
		lower:          solution.Slice(k, 2*k, 0, k).(*mat.Dense),
		pivots:         make([]int, 2*k),
	}
}

// aim computes FᵀR and RᵀR of a new gradient.
func (c *cayleyCurve) aim(topics *mat.Dense) {
	c.threads.InnerTo(c.topicsGradient, topics, c.gradient)
	c.threads.GramTo(c.gradientGram, c.gradient)
}

func newCayleyState(x matrix.Operator, topics *mat.Dense, tau float64) *cayleyState {
	_, k := topics.Dims()
	it, _ := newIterate(x, topics)
	s := &cayleyState{
		iterate:       it,
		unit:          1,
		cayleyCurve:   newCayleyCurve(topics, linalg.ThreadsOf(x)),
		cross:         linalg.NewLike(topics),
		gram:          mat.NewDense(k, k, nil),
		topicsCross:   mat.NewDense(k, k, nil),
		gradientCross: mat.NewDense(k, k, nil),
	}
	if s.squared > 0 {
		_, exponent := math.Frexp(s.squared)
		s.unit = math.Ldexp(1, exponent-1)
	}
	s.tau = tau * s.unit
	return s
}

func (s *cayleyState) Update() solver.Status {
	s.x.MulTo(s.scores, s.topics)
	positivePart(s.scores, s.scores)
	s.x.MulTransTo(s.cross, s.scores)
	s.threads.GramTo(s.gram, s.scores)
	s.cross.Scale(1/s.unit, s.cross)
	s.gram.Scale(1/s.unit, s.gram)
	s.threads.MulTo(s.gradient, s.topics, s.gram)
	s.gradient.Sub(s.gradient, s.cross)
	s.gradient.Scale(2, s.gradient)
	s.aim(s.topics)
	s.threads.InnerTo(s.topicsCross, s.topics, s.cross)
	s.threads.InnerTo(s.gradientCross, s.gradient, s.cross)

	curvature := mat.Norm(s.gram, 2)
	if s.tau == 0 && curvature > 0 {
		s.tau = firstStep / curvature
	}
	refreshed := s.squared + s.unit*(linalg.Dot(s.topicsGram, s.gram)-2*mat.Trace(s.topicsCross))
	promised, shortest := s.promise(refreshed, curvature)
	switch {
	case math.IsNaN(promised) || math.IsInf(promised, 0):
		return solver.NonFinite
	case promised <= s.threshold:
		return solver.Stationary
	}

	tau := max(s.tau, shortest)
	for range maxHalvings + 1 {
		if objective, ok := s.try(tau, refreshed); ok {
			s.topics, s.next = s.next, s.topics
			s.topicsGram, s.nextGram = s.nextGram, s.topicsGram
			s.objective = objective
			s.tau = 2 * tau
			return solver.NotTerminated
		}
		tau /= 2
	}
	return solver.SearchFailed
}

// promise returns a decrease of the objective that this update must find, and a step length that finds it. The decrease
// is that of the new scores plus the one that is certain along Y(τ): the slope there is −‖S‖²/2, S = RFᵀ − FRᵀ, and the
// second derivative is at most (2·‖GᵀG‖ + ‖R‖)·‖S‖². Shorter steps waste updates and look like convergence.
func (s *cayleyState) promise(refreshed, curvature float64) (decrease, tau float64) {
	decrease = max(0, s.objective-refreshed)
	squaredGradient := mat.Trace(s.gradientGram)
	bound := 2*curvature + math.Sqrt(squaredGradient)
	if bound == 0 {
		return decrease, 0
	}
	slope := linalg.Dot(s.gradientGram, s.topicsGram) - traceOfProduct(s.topicsGradient, s.topicsGradient)
	return decrease + s.unit*max(0, slope)/(4*bound), 1 / (2 * bound)
}

// try forms Y(τ) in next and returns its objective. It reports false unless that is below the iterate's by more than
// rounding.
func (s *cayleyState) try(tau, refreshed float64) (objective float64, ok bool) {
	if !s.solve(tau) {
		return 0, false
	}
	moved := linalg.Dot(s.upper, s.gradientCross) + linalg.Dot(s.lower, s.topicsCross)
	if !(s.objective-(refreshed+2*s.unit*tau*moved) > s.threshold) {
		return 0, false
	}
	if !s.form(s.topics, tau) {
		return 0, false
	}
	objective = s.squared + s.unit*(linalg.Dot(s.nextGram, s.gram)-2*linalg.Dot(s.next, s.cross))
	return objective, s.objective-objective > s.threshold
}

// solve stores (I + (τ/2)·VᵀU)⁻¹·VᵀF in solution. It reports false for a singular system and if τ·R overflows, not for
// an ill-conditioned one: its blocks have sizes 1 and τ·‖R‖².
func (c *cayleyCurve) solve(tau float64) bool {
	k := len(c.pivots) / 2
	for i := range k {
		top, bottom := c.system.RawRowView(i), c.system.RawRowView(k+i)
		for j := range k {
			top[j] = tau / 2 * c.topicsGradient.At(i, j)
			top[k+j] = tau / 2 * c.topicsGram.At(i, j)
			bottom[j] = -tau / 2 * c.gradientGram.At(i, j)
			bottom[k+j] = -tau / 2 * c.topicsGradient.At(j, i)
			c.upper.Set(i, j, c.topicsGram.At(i, j))
			c.lower.Set(i, j, -c.topicsGradient.At(j, i))
		}
		top[i]++
		bottom[k+i]++
	}
	if !lapack64.Getrf(c.system.RawMatrix(), c.pivots) {
		return false
	}
	lapack64.Getrs(blas.NoTrans, c.system.RawMatrix(), c.solution.RawMatrix(), c.pivots)
	return true
}

// form stores Y(τ) in next, from the solution of solve, and its Gram matrix. A Y(τ) that has drifted is made
// orthonormal again. form reports false if Y(τ) is not finite.
func (c *cayleyCurve) form(topics *mat.Dense, tau float64) bool {
	c.threads.MulTo(c.next, c.gradient, c.upper)
	c.threads.AddMulTo(c.next, topics, c.lower)
	c.next.Scale(-tau, c.next)
	c.next.Add(topics, c.next)
	c.threads.GramTo(c.nextGram, c.next)
	if drift := linalg.DistanceFromIdentity(c.nextGram); !(drift <= maxDrift) {
		if err := c.polar.To(c.next, c.next); err != nil {
			return false
		}
		c.threads.GramTo(c.nextGram, c.next)
	}
	return true
}

func traceOfProduct(a, b *mat.Dense) float64 {
	k, _ := a.Dims()
	var sum float64
	for i := range k {
		for j := range k {
			sum += a.At(i, j) * b.At(j, i)
		}
	}
	return sum
}
