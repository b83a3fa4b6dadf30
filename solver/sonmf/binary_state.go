package sonmf

import (
	"context"
	"math"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/logistic"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Constants of the line search, with the values that are usual for quasi-Newton methods (Nocedal and Wright 2006,
// "Numerical optimization", sections 3.1 and 3.5). A step must reach this share of the decrease that its slope
// promises. After a trial that does not, the next trial is at the minimum of the parabola through the known values,
// within these factors.
const (
	sufficient           = 1e-4
	leastCut, largestCut = 0.5, 0.1
	maxTrials            = 30
)

const (
	// memory is the number of past steps that the direction is built from. Fewer need more updates, and more not fewer.
	memory = 8
	// minCosine is the least cosine between a step and the change of the gradient. Pairs below it do not show the
	// curvature.
	minCosine = 1e-10
	// minCurvature is the least share of the mean curvature that a direction divides by: those of saturated documents
	// vanish.
	minCurvature = 1e-3
	// cellNoise is the change of the objective per cell that counts as rounding.
	cellNoise = 1e-14
	// leastMean is the least mean curvature, for when all documents are saturated.
	leastMean = 1e-12
	// maxSettling bounds the updates of one factor while the other is fixed. They also end when an update changes the
	// objective by no more than the share settled.
	maxSettling = 100
	settled     = 1e-6
	// clearSlope times that rounding is the promised decrease from which a search without a decrease is a failure.
	clearSlope = 1e3
)

// quasiNewtonState updates both factors at once. With the gradients of one pass over the cells it takes
//
//	D = −H·(gradient), F′ = polar(F + t·D_F), G′ = ⟨G + t·D_G⟩₊
//
// and the pass at (F′, G′) computes the objective and, if that is low enough, the next gradients too. An update
// therefore costs one pass unless t = 1 is too long. H is the inverse Hessian of L-BFGS from the last 8 steps (Nocedal
// and Wright 2006, algorithm 7.4), in the space of the entries of F and G. Its first approximation is diag(1/cᵢ) for
// the scores of document i and (Gᵀ·diag(c)·G)⁻¹ for the columns of F, where cᵢ is the mean over j of the second
// derivative σ(mᵢⱼ)·(1 − σ(mᵢⱼ)).
//
// The constraints are kept as in projected and Riemannian gradient methods (Bertsekas 1982, "Projected Newton methods
// for optimization problems with simple constraints"; Absil, Mahony and Sepulchre 2008, "Optimization algorithms on
// matrix manifolds", section 4): scores of 0 with a positive gradient stay 0, and in F only tangents to FᵀF = I are
// used. Where no lower objective is found, H's first approximation takes the place of H. The run ends only after a full
// search along that.
//
// A trial that overflows counts as too long. An update costs a pass (logistic.Loss) and O((n + p)·k·(k + 32)), and
// allocates nothing of the size of a factor.
type quasiNewtonState struct {
	binaryIterate
	threads               linalg.Threads
	trial                 *logistic.Point
	fixTopics, fixScores  bool
	gradient, step, other *factorPair // gradient and step at the iterate, and room for one more
	pairs, spare          []curvaturePair
	weights               [memory]float64

	curvature       []float64 // c
	weighted, moved *mat.Dense
	small, inverse  *mat.Dense // k×k; inverse is that of Gᵀ·diag(c)·G
	polar           linalg.Polar
}

// curvaturePair is a step and the change of the gradient along it.
type curvaturePair struct {
	step, change *factorPair
	product      float64
}

// factorPair is a vector with an entry for each of F and G.
type factorPair struct {
	blas64.Vector
	topics, scores *mat.Dense // alias it
}

func newFactorPair(n, p, k int) *factorPair {
	data := make([]float64, (n+p)*k)
	return &factorPair{
		Vector: blas64.Vector{N: len(data), Inc: 1, Data: data},
		topics: mat.NewDense(p, k, data[:p*k]),
		scores: mat.NewDense(n, k, data[p*k:]),
	}
}

func (v *factorPair) dot(w *factorPair) float64 { return blas64.Dot(v.Vector, w.Vector) }

func (v *factorPair) add(a float64, w *factorPair) { blas64.Axpy(a, w.Vector, v.Vector) }

// newPoint returns the point of these factors, to be evaluated with what every update needs.
func newPoint(topics, scores *mat.Dense) *logistic.Point {
	n, _ := scores.Dims()
	return &logistic.Point{
		Topics: topics, Scores: scores,
		TopicsGradient: linalg.NewLike(topics), ScoresGradient: linalg.NewLike(scores),
		Curvature: make([]float64, n),
	}
}

func newQuasiNewtonState(x matrix.Operator, topics, scores *mat.Dense) *quasiNewtonState {
	n, p := x.Dims()
	_, k := topics.Dims()
	threads := linalg.ThreadsOf(x)
	s := &quasiNewtonState{
		binaryIterate: binaryIterate{loss: logistic.New(x, k), at: newPoint(topics, scores), threshold: cellNoise *
			float64(n) * float64(p)},

		threads:   threads,
		polar:     linalg.Polar{Threads: threads},
		trial:     newPoint(linalg.NewLike(topics), linalg.NewLike(scores)),
		gradient:  newFactorPair(n, p, k),
		step:      newFactorPair(n, p, k),
		other:     newFactorPair(n, p, k),
		curvature: make([]float64, n),
		weighted:  linalg.NewLike(scores),
		moved:     linalg.NewLike(topics),
		small:     mat.NewDense(k, k, nil),
		inverse:   mat.NewDense(k, k, nil),
	}
	for range memory {
		s.spare = append(s.spare, curvaturePair{step: newFactorPair(n, p, k), change: newFactorPair(n, p, k)})
	}
	s.loss.Evaluate(s.at)
	s.differentiate()
	return s
}

func (s *quasiNewtonState) Update() solver.Status {
	s.precondition()
	for {
		slope := s.direct()
		if slope < 0 && s.search() {
			return solver.NotTerminated
		}
		switch {
		case len(s.pairs) > 0:
			s.forget()
		case -slope <= clearSlope*s.threshold:
			return solver.Stationary
		default: // also if the slope is NaN
			return solver.SearchFailed
		}
	}
}

func (s *quasiNewtonState) forget() {
	s.spare = append(s.spare, s.pairs...)
	s.pairs = s.pairs[:0]
}

// differentiate stores the gradient on the constraint FᵀF = I.
func (s *quasiNewtonState) differentiate() {
	s.gradient.topics.Copy(s.at.TopicsGradient)
	s.gradient.scores.Copy(s.at.ScoresGradient)
	s.tangent(s.gradient.topics)
	if s.fixTopics {
		s.gradient.topics.Zero()
	}
	if s.fixScores {
		s.gradient.scores.Zero()
	}
}

// tangent subtracts F·(FᵀV + VᵀF)/2 from V. The rest is tangent to the orthonormal matrices at F.
func (s *quasiNewtonState) tangent(v *mat.Dense) {
	s.threads.InnerTo(s.small, s.at.Topics, v)
	k, _ := s.small.Dims()
	for i := range k {
		for j := range i + 1 {
			mean := (s.small.At(i, j) + s.small.At(j, i)) / 2
			s.small.Set(i, j, mean)
			s.small.Set(j, i, mean)
		}
	}
	s.threads.MulTo(s.moved, s.at.Topics, s.small)
	v.Sub(v, s.moved)
}

// hold sets the entries to 0 whose score is 0 and would fall.
func (s *quasiNewtonState) hold(v *mat.Dense) {
	n, _ := v.Dims()
	for i := range n {
		row, gradient := v.RawRowView(i), s.gradient.scores.RawRowView(i)
		for t, score := range s.at.Scores.RawRowView(i) {
			if score == 0 && gradient[t] > 0 {
				row[t] = 0
			}
		}
	}
}

// precondition computes the curvatures c and the inverse of Gᵀ·diag(c)·G. If all scores are 0 there is no inverse, and
// the identity takes its place.
func (s *quasiNewtonState) precondition() {
	n, _ := s.at.Scores.Dims()
	p, k := s.at.Topics.Dims()
	var mean float64
	for i, sum := range s.at.Curvature {
		s.curvature[i] = sum / float64(p)
		mean += s.curvature[i] / float64(n)
	}
	for i, c := range s.curvature {
		s.curvature[i] = max(c, minCurvature*mean, leastMean)
		floats.ScaleTo(s.weighted.RawRowView(i), math.Sqrt(s.curvature[i]), s.at.Scores.RawRowView(i))
	}
	s.threads.GramTo(s.small, s.weighted)
	lift := minCurvature * mat.Trace(s.small) / float64(k)
	for t := range k {
		s.small.Set(t, t, s.small.At(t, t)+lift)
	}
	if err := s.inverse.Inverse(s.small); err != nil {
		s.inverse.Copy(linalg.Identity(k))
	}
}

// apply stores in dst the product of H's first approximation and v.
func (s *quasiNewtonState) apply(dst, v *factorPair) {
	s.threads.MulTo(dst.topics, v.topics, s.inverse)
	for i, c := range s.curvature {
		row := dst.scores.RawRowView(i)
		for t, entry := range v.scores.RawRowView(i) {
			row[t] = entry / c
		}
	}
}

// direct stores the direction in step and returns the slope of the objective along it.
func (s *quasiNewtonState) direct() (slope float64) {
	blas64.Copy(s.gradient.Vector, s.other.Vector)
	s.hold(s.other.scores)
	for i := len(s.pairs) - 1; i >= 0; i-- {
		pair := &s.pairs[i]
		s.weights[i] = pair.step.dot(s.other) / pair.product
		s.other.add(-s.weights[i], pair.change)
	}
	scale := 1.0
	if m := len(s.pairs); m > 0 {
		last := &s.pairs[m-1]
		s.apply(s.step, last.change)
		scale = last.product / last.change.dot(s.step)
	}
	s.apply(s.step, s.other)
	blas64.Scal(-scale, s.step.Vector)
	for i := range s.pairs {
		pair := &s.pairs[i]
		s.step.add(-s.weights[i]-pair.change.dot(s.step)/pair.product, pair.step)
	}
	s.tangent(s.step.topics)
	s.hold(s.step.scores)
	return s.step.dot(s.gradient)
}

// search moves the iterate along the step to a lower objective and reports whether there is one.
func (s *quasiNewtonState) search() bool {
	// With a length above 1 the topics could turn by more than about a right angle.
	length := min(1, 1/mat.Norm(s.step.topics, 2))
	for range maxTrials {
		promised := s.try(length)
		change := s.trial.Objective - s.at.Objective
		switch {
		case change <= sufficient*promised && change < -s.threshold:
			s.accept()
			return true
		case -promised < s.threshold:
			return false
		}
		cut := largestCut
		if parabola := -promised / (2 * (change - promised)); parabola > cut {
			cut = min(parabola, leastCut)
		}
		length *= cut
	}
	return false
}

// try evaluates the point at the given length along the step, and returns the change of the objective that the slopes
// promise. The objective of a point that is not finite is ∞.
func (s *quasiNewtonState) try(length float64) (promised float64) {
	s.moved.Scale(length, s.step.topics)
	promised = linalg.Dot(s.moved, s.gradient.topics)
	s.moved.Add(s.at.Topics, s.moved)
	n, _ := s.at.Scores.Dims()
	for i := range n {
		row, step, gradient := s.trial.Scores.RawRowView(i), s.step.scores.RawRowView(i),
			s.gradient.scores.RawRowView(i)
		for t, score := range s.at.Scores.RawRowView(i) {
			row[t] = max(0, score+length*step[t])
			promised += gradient[t] * (row[t] - score)
		}
	}
	if s.fixTopics {
		s.trial.Topics.Copy(s.at.Topics)
	} else if err := s.polar.To(s.trial.Topics, s.moved); err != nil {
		s.trial.Objective = math.Inf(1)
		return promised
	}
	s.loss.Evaluate(s.trial)
	return promised
}

// accept makes the trial the iterate and stores the step with the change of the gradient, for the curvature.
func (s *quasiNewtonState) accept() {
	if len(s.spare) == 0 {
		s.spare = append(s.spare, s.pairs[0])
		s.pairs = append(s.pairs[:0], s.pairs[1:]...)
	}
	pair := s.spare[len(s.spare)-1]
	pair.step.topics.Sub(s.trial.Topics, s.at.Topics)
	pair.step.scores.Sub(s.trial.Scores, s.at.Scores)
	blas64.Copy(s.gradient.Vector, pair.change.Vector)
	s.at, s.trial = s.trial, s.at
	s.differentiate()
	blas64.Scal(-1, pair.change.Vector)
	pair.change.add(1, s.gradient)
	pair.product = pair.step.dot(pair.change)
	if pair.product > minCosine*blas64.Nrm2(pair.step.Vector)*blas64.Nrm2(pair.change.Vector) {
		s.spare = s.spare[:len(s.spare)-1]
		s.pairs = append(s.pairs, pair)
	}
}

// settle makes updates with one factor fixed, until they change the objective little or ctx ends.
func (s *quasiNewtonState) settle(ctx context.Context, fixTopics, fixScores bool) {
	s.fixTopics, s.fixScores = fixTopics, fixScores
	s.differentiate()
	for range maxSettling {
		if ctx.Err() != nil {
			break
		}
		before := s.at.Objective
		if s.Update() != solver.NotTerminated || before-s.at.Objective <= settled*before {
			break
		}
	}
	s.fixTopics, s.fixScores = false, false
	s.forget()
	s.differentiate()
}
