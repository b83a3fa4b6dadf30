package icqf

import (
	"context"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// chunkRows is the number of rows that are taken through an update together: the reconstruction of so many stays in the
// cache. It is fixed, so that sums do not depend on the number of threads.
const chunkRows = 128

// admm is the method of one fit.
type admm struct {
	problem  *Problem
	settings Settings
	// What the end leaves beside the factors.
	confoundLoadings *mat.Dense
	squared, outside float64
}

// Name returns "icqf".
func (*admm) Name() string { return "icqf" }

// state is one run: the ADMM of section 3.2 in the letters of the paper, with D = [W, C] and B = [Q, Qc].
//
// An update is W, B (equations 1 and 2), then R = D·Bᵀ, Z, A (3 and 4) and V = Z + A/ρ, the matrix that the next W and B fit.
// All but B is done row by row: so that a chunk of rows passes the cache once, measure goes from R to the next W, which it
// keeps apart, and VᵀD for the next B. Neither R, Z nor V is stored.
type state struct {
	*admm
	chunks []chunk
	n, p   int
	k, e   int // e = k + c

	d, b  *mat.Dense // n×e and p×e
	bt    *mat.Dense // e×p
	loads *mat.Dense // B's first k columns
	gram  *mat.Dense // k×e, Qᵀ·B
	right *mat.Dense // p×e, (VᵀD) of the next D
	outer *mat.Dense // e×e, DᵀD of the next D
	next  *mat.Dense // n×e, [next W, C]
	a     *mat.Dense // n×p

	rho, gamma float64
	squared    float64 // Σ𝓜(M − R)²
	weights    float64 // Σ W and Σ B with their weights
}

// chunk is what belongs to a range of rows.
type chunk struct {
	answers, a, d, next *mat.Dense
	v                   *mat.Dense
	cross               *mat.Dense
	right               *mat.Dense
	squared             float64
}

// Start returns the state at iteration 0.
func (m *admm) Start(_ context.Context, _ *solver.Problem) (solver.State, error) {
	data := &m.problem.data
	n, p := data.Answers.Dims()
	k, c := m.settings.Rank, 0
	if data.Confounds != nil {
		_, c = data.Confounds.Dims()
	}
	e := k + c
	s := &state{
		admm: m, n: n, p: p, k: k, e: e,
		d: mat.NewDense(n, e, nil), b: mat.NewDense(p, e, nil), bt: mat.NewDense(e, p, nil),
		gram: mat.NewDense(k, e, nil), right: mat.NewDense(p, e, nil), outer: mat.NewDense(e, e, nil),
		next: mat.NewDense(n, e, nil), a: mat.NewDense(n, p, nil),
		gamma: float64(n) / float64(p) * data.Max, rho: m.settings.Rho,
	}
	if s.rho == 0 {
		s.rho = MinRho
	}
	if c > 0 {
		s.d.Slice(0, n, k, e).(*mat.Dense).Copy(data.Confounds)
	}
	s.loads = s.b.Slice(0, p, 0, k).(*mat.Dense)
	m.problem.start(s.d, s.b, k)
	s.next.Copy(s.d)
	for from := 0; from < n; from += chunkRows {
		to := min(n, from+chunkRows)
		rows := func(a *mat.Dense) *mat.Dense { return a.Slice(from, to, 0, a.RawMatrix().Cols).(*mat.Dense) }
		s.chunks = append(s.chunks, chunk{
			answers: rows(data.Answers), a: rows(s.a), d: rows(s.d), next: rows(s.next),
			v: mat.NewDense(to-from, p, nil), cross: mat.NewDense(to-from, k, nil), right: mat.NewDense(p, e, nil),
		})
	}
	s.measure()
	return s, nil
}

// Update makes one update.
func (s *state) Update() solver.Status {
	s.d.Copy(s.next)
	s.improveLoadings()
	s.measure()
	return solver.NotTerminated
}

// improveLoadings is the update of B, equation (2), for D and VᵀD.
func (s *state) improveLoadings() {
	threshold := s.settings.L1 * s.gamma / s.rho
	ridge := s.settings.L2 * s.gamma / s.rho
	linalg.GramTo(s.outer, s.d)
	box := box{gram: s.outer, linear: threshold, ridge: ridge, upper: s.settings.MaxLoading, free: s.e}
	for j := range s.p {
		box.minimize(s.b.RawRowView(j), s.right.RawRowView(j))
	}
}

// measure takes Z, A and V from the present factors, sums the squared error, and computes the next W and VᵀD.
func (s *state) measure() {
	transposeTo(s.bt, s.b)
	linalg.InnerTo(s.gram, s.loads, s.b)
	flops := s.n * s.p * (s.k + 2*s.e)
	linalg.Parallel(len(s.chunks), flops, func(from, to int) {
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

func (s *state) pass(c *chunk) {
	var serial linalg.Serial
	serial.MulTo(c.v, c.d, s.bt)
	rows, _ := c.v.Dims()
	c.squared = 0
	for i := range rows {
		c.squared += s.surrogate(c.answers.RawRowView(i), c.v.RawRowView(i), c.a.RawRowView(i))
	}
	serial.MulTo(c.cross, c.v, s.loads)
	box := box{gram: s.gram, linear: s.settings.L1 / s.rho, ridge: s.settings.L2 / s.rho, upper: 1, free: s.k}
	for i := range rows {
		next := c.next.RawRowView(i)
		copy(next, c.d.RawRowView(i))
		box.minimize(next, c.cross.RawRowView(i))
	}
	serial.InnerTo(c.right, c.v, c.next)
}

// surrogate updates Z (equation 3, cut to the range after the division) and A (4) of a row from R, replaces R by V and
// returns Σ𝓜(M − R)².
func (s *state) surrogate(answers, r, a []float64) (squared float64) {
	rho, low, high := s.rho, s.problem.data.Min, s.problem.data.Max
	seen, unseen, inverse := 1/(1+rho), 1/rho, 1/rho
	r, a = r[:len(answers)], a[:len(answers)]
	for j, m := range answers {
		fit := r[j]
		z := rho*fit - a[j]
		if m == m {
			squared += (m - fit) * (m - fit)
			z = (z + m) * seen
		} else {
			z *= unseen
		}
		z = min(max(z, low), high)
		alpha := a[j] + rho*(z-fit)
		a[j] = alpha
		r[j] = z + alpha*inverse
	}
	return squared
}

// Objective returns the objective of the iterate.
func (s *state) Objective() float64 {
	return s.squared/2 + s.penalty(s.d, s.b)
}

func (s *state) penalty(d, b *mat.Dense) float64 {
	l1, l2 := s.settings.L1, s.settings.L2
	sum := func(a *mat.Dense, columns int) (sum, squares float64) {
		rows, _ := a.Dims()
		for i := range rows {
			for _, v := range a.RawRowView(i)[:columns] {
				sum += v
				squares += v * v
			}
		}
		return sum, squares
	}
	scores, scoreSquares := sum(d, s.k)
	loadings, loadingSquares := sum(b, s.e)
	return l1*(scores+s.gamma*loadings) + l2/2*(scoreSquares+s.gamma*loadingSquares)
}

// Factors returns Q and W.
func (s *state) Factors() (topics, scores *mat.Dense) {
	return s.loads, s.d.Slice(0, s.n, 0, s.k).(*mat.Dense)
}

// Finish returns Q and W of their own.
func (s *state) Finish() (topics, scores *mat.Dense, objective float64) {
	loads, w := s.Factors()
	if s.e > s.k {
		s.confoundLoadings = mat.DenseCopyOf(s.b.Slice(0, s.p, s.k, s.e))
	}
	s.admm.squared, s.admm.outside = s.residual()
	return mat.DenseCopyOf(loads), mat.DenseCopyOf(w), s.admm.squared/2 + s.penalty(s.d, s.b)
}

// residual returns Σ𝓜(M − R)² and how far R leaves the range.
func (s *state) residual() (squared, outside float64) {
	data := &s.problem.data
	transposeTo(s.bt, s.b)
	for i := range s.chunks {
		c := &s.chunks[i]
		linalg.MulTo(c.v, c.d, s.bt)
		rows, _ := c.v.Dims()
		for i := range rows {
			for j, r := range c.v.RawRowView(i) {
				outside = max(outside, data.Min-r, r-data.Max)
				if m := c.answers.At(i, j); m == m {
					squared += (m - r) * (m - r)
				}
			}
		}
	}
	return squared, outside
}

func transposeTo(dst, a *mat.Dense) {
	rows, cols := a.Dims()
	raw := dst.RawMatrix()
	for i := range rows {
		for j, v := range a.RawRowView(i)[:cols] {
			raw.Data[j*raw.Stride+i] = v
		}
	}
}
