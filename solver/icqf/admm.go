package icqf

import (
	"cmp"
	"context"
	"math"
	"math/bits"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// chunkRows is the number of rows that are updated together: their reconstruction fits into the cache. It is fixed, so
// that sums do not depend on the number of threads.
const chunkRows = 128

const (
	// firstBalance is the update, a power of two, after which ρ is first adapted; then after each doubling.
	firstBalance = 32
	// imbalance is the ratio of the residuals from which ρ is changed, by rhoFactor (Boyd et al. 2011, section 3.4.1).
	imbalance, rhoFactor = 10, 2
)

type admm struct {
	problem  *Problem
	settings Settings
	// Results of the run in addition to the factors.
	confoundLoadings         *mat.Dense
	residualSquared, outside float64
}

func (*admm) Name() string { return "icqf" }

// state is one run: the ADMM of section 3.2 in the letters of the paper, with D = [W, C] and B = [Q, Qc].
//
// An update is W, B (equations 1 and 2), then R = D·Bᵀ, Z, A (3 and 4) and V = Z + A/ρ, the matrix that the next W and
// B fit. All but B is done row by row. measure computes, for a chunk of rows, everything from R to the next W, which it
// stores separately, and DᵀV for the next B, so that the rows pass the cache once. R and Z are never stored as a whole.
// A, V and the DᵀV of every chunk are: 2·n·p numbers and e/128 of n·p more, beside the copies of the answers in
// Problem. Measured with 100 items and 8 factors, a fit holds 3.6·n·p numbers.
type state struct {
	*admm
	threads    linalg.Threads
	n, p, k, e int // e = k + c
	chunks     []chunk
	d, next    *mat.Dense // n×e
	bt, right  *mat.Dense // Bᵀ and DᵀV of the next D, e×p
	loads      *mat.Dense // Q, p×k
	offset     *mat.Dense // −QcᵀQ, c×k, nil without confounds
	rho        float64
	squared    float64 // Σ𝓜(M − R)²
	updates    int
	watched    bool // the residuals of the last update are known

	scores, loadings *inner // the problems of W and of B
	// The matrices of which bt and right are columns, with a multiple of linalg.BoxColumns.
	wideBt, wideRight *mat.Dense
}

type chunk struct {
	answers, a []float64
	d, next    *mat.Dense // rows×e, of those of the state
	confounds  *mat.Dense // of the rows, nil for none
	v          *mat.Dense // rows×p: R, then V
	cross      *mat.Dense // V·Q − C·QcᵀQ, rows×k
	right      *mat.Dense // DᵀV of the rows, e×p
	squared    float64
	residuals  [2]float64 // ‖Z − R‖² and ‖Z − Z′‖² for the Z′ before, in a watched update
	// Wᵀ and crossᵀ, k×rows, and columns of 0 up to a multiple of linalg.BoxColumns.
	wideW, wideCross *mat.Dense
}

// Start returns the state at iteration 0.
func (m *admm) Start(_ context.Context, _ *solver.Problem) (solver.State, error) {
	data, set := &m.problem.data, &m.settings
	n, p := data.Answers.Dims()
	k, e := set.Rank, set.Rank
	if data.Confounds != nil {
		e += data.Confounds.RawMatrix().Cols
	}
	s := &state{
		admm: m, threads: linalg.Threads(set.Threads), n: n, p: p, k: k, e: e,
		d: mat.NewDense(n, e, nil), next: mat.NewDense(n, e, nil), loads: mat.NewDense(p, k, nil),
		wideBt: mat.NewDense(e, wide(p), nil), wideRight: mat.NewDense(e, wide(p), nil),
		rho: max(MinRho, set.Rho),
	}
	s.bt, s.right = linalg.Columns(s.wideBt, 0, p), linalg.Columns(s.wideRight, 0, p)
	scores, loadings := m.problem.weights(set)
	s.scores = newInner(set.Inner, k, scores, 1)
	s.loadings = newInner(set.Inner, e, loadings, set.MaxLoading)
	if data.Intercept {
		s.loadings.penalized--
	}
	m.problem.start(s.d, s.loads, k)
	s.bt.Slice(0, k, 0, p).(*mat.Dense).Copy(s.loads.T())
	if e > k {
		linalg.Columns(s.d, k, e).Copy(data.Confounds)
		s.offset = mat.NewDense(e-k, k, nil)
	}
	s.next.Copy(s.d)
	a := make([]float64, n*p)
	for from := 0; from < n; from += chunkRows {
		to := min(n, from+chunkRows)
		rows := to - from
		c := chunk{
			answers: m.problem.answers[from*p : to*p], a: a[from*p : to*p],
			d: s.d.Slice(from, to, 0, e).(*mat.Dense), next: s.next.Slice(from, to, 0, e).(*mat.Dense),
			v: mat.NewDense(rows, p, nil), cross: mat.NewDense(rows, k, nil), right: mat.NewDense(e, p, nil),
			wideW: mat.NewDense(k, wide(rows), nil), wideCross: mat.NewDense(k, wide(rows), nil),
		}
		if e > k {
			c.confounds = data.Confounds.Slice(from, to, 0, e-k).(*mat.Dense)
		}
		transposeTo(c.wideW, c.d, rows)
		s.chunks = append(s.chunks, c)
	}
	s.measure()
	return s, nil
}

// wide returns the least multiple of linalg.BoxColumns that is not below n.
func wide(n int) int { return (n + linalg.BoxColumns - 1) / linalg.BoxColumns * linalg.BoxColumns }

func (s *state) Update() solver.Status {
	s.d, s.next = s.next, s.d
	for i := range s.chunks {
		c := &s.chunks[i]
		c.d, c.next = c.next, c.d
	}
	s.threads.InnerTo(s.loadings.box.Gram, s.d, s.d)
	s.loadings.prepare(s.rho)
	s.loadings.improve(s.wideBt, s.wideRight, s.p)
	if s.watched {
		s.balance()
	}
	s.updates++
	s.watched = s.settings.Rho == 0 && s.updates >= firstBalance && bits.OnesCount(uint(s.updates)) == 1
	s.measure()
	return solver.NotTerminated
}

// balance adapts ρ to the residuals of the last update. At an observed answer whose z is not clipped, z = m − a, and
// the ratio of the residuals is 1/ρ². So ρ rises if the range is violated, and falls to MinRho otherwise.
//
// This replaces the spectral rule of Xu et al. 2017. That rule estimates two curvatures; the curvature of the data term
// is known here: 1 or 0.
//
// A fit of many factors with small penalties takes thousands of updates with balanced residuals: W and B alternate
// along a flat valley (docs/questionnaires.md, "Number of factors and β").
func (s *state) balance() {
	var primal, dual float64
	for i := range s.chunks {
		primal += s.chunks[i].residuals[0]
		dual += s.chunks[i].residuals[1]
	}
	primal, dual = math.Sqrt(primal), s.rho*math.Sqrt(dual)
	switch {
	case primal > imbalance*dual:
		s.rho *= rhoFactor
	case dual > imbalance*primal:
		s.rho = max(MinRho, s.rho/rhoFactor)
	}
}

// measure computes Z, A and V from the current factors, sums the squared error, and computes the next W and DᵀV.
func (s *state) measure() {
	transposeTo(s.loads, s.bt, s.k)
	s.threads.InnerTo(s.scores.box.Gram, s.loads, s.loads)
	s.scores.prepare(s.rho)
	if s.offset != nil {
		confounds := s.bt.Slice(s.k, s.e, 0, s.p).(*mat.Dense)
		linalg.Threads(1).MulTo(s.offset, confounds, s.loads)
		s.offset.Scale(-1, s.offset)
	}
	s.threads.Parallel(len(s.chunks), s.n*s.p*(s.k+2*s.e), func(from, to int) {
		for i := from; i < to; i++ {
			s.pass(&s.chunks[i])
		}
	})
	s.squared = 0
	s.right.Zero()
	for i := range s.chunks {
		s.squared += s.chunks[i].squared
		s.right.Add(s.right, s.chunks[i].right)
	}
}

// pass is measure for a chunk. Equation 3 is clipped to the range after the division.
func (s *state) pass(c *chunk) {
	const serial = linalg.Threads(1)
	data := &s.problem.data
	var before, fit []float64
	if s.watched {
		before = surrogate(c, s.rho)
	}
	serial.MulTo(c.v, c.d, s.bt)
	if s.watched {
		fit = slices.Clone(c.v.RawMatrix().Data)
	}
	step := linalg.Surrogate{Rho: s.rho, Low: data.Min, High: data.Max}
	c.squared = step.Step(c.answers, c.v.RawMatrix().Data, c.a)
	if s.watched {
		c.residuals = [2]float64{}
		for i, z := range surrogate(c, s.rho) {
			c.residuals[0] += (z - fit[i]) * (z - fit[i])
			c.residuals[1] += (z - before[i]) * (z - before[i])
		}
	}
	serial.MulTo(c.cross, c.v, s.loads)
	if s.offset != nil {
		serial.AddMulTo(c.cross, c.confounds, s.offset)
	}
	rows, _ := c.cross.Dims()
	transposeTo(c.wideCross, c.cross, rows)
	s.scores.improve(c.wideW, c.wideCross, rows)
	transposeTo(c.next, c.wideW, s.k)
	serial.InnerTo(c.right, c.next, c.v)
}

// surrogate returns Z = V − A/ρ.
func surrogate(c *chunk, rho float64) []float64 {
	z := slices.Clone(c.v.RawMatrix().Data)
	for i, a := range c.a {
		z[i] -= a / rho
	}
	return z
}

// transposeTo stores Aᵀ in the first columns of dst; A has as many rows. Further columns of A are ignored.
func transposeTo(dst, a *mat.Dense, rows int) {
	from := a.RawMatrix()
	for j := range min(dst.RawMatrix().Rows, from.Cols) {
		row := dst.RawRowView(j)[:rows]
		for i := range row {
			row[i] = from.Data[i*from.Stride+j]
		}
	}
}

func (s *state) Objective() float64 { return s.squared/2 + s.penalty() }

func (s *state) penalty() float64 {
	penalized := s.bt.Slice(0, s.loadings.penalized, 0, s.p).(*mat.Dense)
	return s.scores.penalty(linalg.Columns(s.d, 0, s.k)) + s.loadings.penalty(penalized)
}

// Factors returns Q and W.
func (s *state) Factors() (topics, scores *mat.Dense) { return s.loads, linalg.Columns(s.d, 0, s.k) }

// Finish returns copies of Q and W.
func (s *state) Finish() (topics, scores *mat.Dense, objective float64) {
	topics, scores = s.Factors()
	if s.offset != nil {
		s.confoundLoadings = mat.DenseCopyOf(s.bt.Slice(s.k, s.e, 0, s.p).T())
	}
	s.residualSquared, s.outside = s.residual()
	return mat.DenseCopyOf(topics), mat.DenseCopyOf(scores), s.residualSquared/2 + s.penalty()
}

// residual returns Σ𝓜(M − R)² and how far R leaves the range.
func (s *state) residual() (squared, outside float64) {
	data := &s.problem.data
	for i := range s.chunks {
		c := &s.chunks[i]
		linalg.Threads(1).MulTo(c.v, c.d, s.bt)
		for j, r := range c.v.RawMatrix().Data {
			if r < data.Min || r > data.Max {
				outside = max(outside, data.Min-r, r-data.Max)
			}
			if m := c.answers[j]; m == m {
				squared += (m - r) * (m - r)
			}
		}
	}
	return squared, outside
}

const (
	// rounds is the number of rounds of coordinate descent of an update: with four or more, even the exact minimum
	// would not help the following updates further.
	rounds = 4
	// steps is the number of accelerated gradient steps of an update.
	steps = 30
)

// inner is one of the two lasso problems of an update: minimize over X, whose columns are rows of W or of B, in [0,
// upper]
//
//	½·tr(XᵀGX) − tr(XᵀC) + (l1/ρ)·ΣX + (l2/2ρ)·‖X‖².
type inner struct {
	kind Inner
	weights
	penalized int // the entries from here on have no penalty
	rho       float64
	box       linalg.Box
}

// weights are those of the ℓ1 penalty and of the ridge.
type weights struct{ l1, l2 float64 }

// newInner returns the problem of k entries, all of them penalized. 0 is no upper bound.
func newInner(kind Inner, k int, w weights, upper float64) *inner {
	return &inner{
		kind: kind, weights: w, penalized: k,
		box: linalg.Box{Gram: mat.NewDense(k, k, nil), Upper: cmp.Or(upper, math.Inf(1)), Rounds: rounds},
	}
}

// penalty returns the penalty of a matrix of penalized unknowns, rows or columns.
func (p *inner) penalty(a *mat.Dense) float64 {
	var sum, squares float64
	for i := range a.RawMatrix().Rows {
		row := a.RawRowView(i)
		sum += floats.Sum(row)
		if p.l2 > 0 {
			squares += floats.Dot(row, row)
		}
	}
	return p.l1*sum + p.l2/2*squares
}

// prepare makes the problem ready for a new Gram matrix, to which it adds the ridge.
func (p *inner) prepare(rho float64) {
	p.rho = rho
	for t := range p.penalized {
		p.box.Gram.RawRowView(t)[t] += p.l2 / rho
	}
}

// improve improves the first count columns of X, each separately, for those of C, which it overwrites.
func (p *inner) improve(x, c *mat.Dense, count int) {
	shift := p.l1 / p.rho
	for t := range p.penalized {
		row, dead := c.RawRowView(t)[:count], p.box.Gram.At(t, t) == 0
		floats.AddConst(-shift, row)
		// An entry that fits nothing is best at 0 for its penalty.
		if dead && p.l1 > 0 {
			clear(x.RawRowView(t))
		}
	}
	if p.kind == FISTA {
		p.accelerate(x, c)
		return
	}
	p.box.Improve(x, c)
}

// accelerate makes the steps of FISTA (Beck and Teboulle 2009): with x₀ = y₁ and t₁ = 1
//
//	xᵢ = cut(yᵢ − (G·yᵢ − c)/L), tᵢ₊₁ = (1 + √(1+4tᵢ²))/2, yᵢ₊₁ = xᵢ + (tᵢ − 1)/tᵢ₊₁·(xᵢ − xᵢ₋₁).
//
// The ℓ1 norm of entries ≥ 0 is linear and part of c, so its proximal step is the clipping. The value may rise from
// step to step, but never above that of x₀: plus ½L‖xᵢ − xᵢ₋₁‖², it never rises (Chambolle and Dossal 2015).
func (p *inner) accelerate(x, c *mat.Dense) {
	var y, gradient mat.Dense
	y.CloneFrom(x)
	gradient.CloneFrom(x)
	at, ahead, downhill := x.RawMatrix().Data, y.RawMatrix().Data, gradient.RawMatrix().Data
	cross := c.RawMatrix().Data
	t, size := 1.0, 0.0
	if largest := mat.Norm(p.box.Gram, math.Inf(1)); largest > 0 { // an upper bound L of the eigenvalues
		size = 1 / largest
	}
	for range steps {
		linalg.Threads(1).MulTo(&gradient, p.box.Gram, &y)
		next := (1 + math.Sqrt(1+4*t*t)) / 2
		momentum := (t - 1) / next
		for i, old := range at {
			v := min(max(ahead[i]-size*(downhill[i]-cross[i]), 0), p.box.Upper)
			at[i] = v
			ahead[i] = v + momentum*(v-old)
		}
		t = next
	}
}
