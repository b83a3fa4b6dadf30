package icqf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/lapack64"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

const (
	// The rounds of coordinate descent between two attempts at the minimum on the free scores, and the most attempts. Where
	// the minimum is unique the first few succeed.
	scoreRounds, scoreAttempts = 8, 1000
	// scoreTol is the gradient, in units of that at 0, that counts as 0 at a minimum.
	scoreTol = 1e-12
	// singular is what is added to the diagonal, in units of its largest entry, where a direction is wanted whether or not
	// the matrix is singular. It changes the way to the minimum, not the minimum.
	singular = 1e-13
)

// Score returns the scores of participants, n×k: for each row m of the n×p answers (NaN where there is none) and c of the
// n×c confounds the minimum over w in [0, 1]ᵏ of
//
//	½ Σ (m − w·Qᵀ − c·Qcᵀ)² + β‖w‖₁ + ½β₂‖w‖²,
//
// the sum over observed answers, to optimality. A row's scores depend on that row alone, to the last bit. A row without
// answers scores 0. Answers and confounds may be of any size: a participant may be older than all of the sample. The cost is
// n·p·k² multiply-adds.
//
// It returns an error that wraps solver.ErrShape for sizes that do not fit the model, solver.ErrNonFinite for an infinite
// answer, and ErrConfounds for a confound that is not finite.
func (m *Model) Score(answers, confounds *mat.Dense) (*mat.Dense, error) {
	n, p := answers.Dims()
	items, k := m.Loadings.Dims()
	if p != items {
		return nil, fmt.Errorf("scoring: %w: %d answers of %d items", solver.ErrShape, p, items)
	}
	if err := m.checkConfounds(confounds, n); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	for i := range n {
		for j, v := range answers.RawRowView(i) {
			if math.IsInf(v, 0) {
				return nil, fmt.Errorf("scoring: %w", &solver.NonFiniteError{Row: i, Col: j, Value: v})
			}
		}
	}
	scores := mat.NewDense(n, k, nil)
	linalg.Parallel(n, n*p*k*k, func(from, to int) {
		s := newScorer(m)
		for i := from; i < to; i++ {
			var c []float64
			if confounds != nil {
				c = confounds.RawRowView(i)
			}
			s.score(scores.RawRowView(i), answers.RawRowView(i), c)
		}
	})
	return scores, nil
}

// Scorer scores one participant at a time and allocates nothing for it. It is not safe for concurrent use; several may share a
// model.
type Scorer struct{ s scorer }

// NewScorer returns a Scorer of the model, which must not change from then on.
func (m *Model) NewScorer() *Scorer { return &Scorer{newScorer(m)} }

// ScoreTo writes the scores of a participant into dst, of length k: those that Model.Score returns for a row of these answers, of
// length p, and confounds, of length c, to the last bit. It returns the errors of Model.Score.
func (s *Scorer) ScoreTo(dst, answers, confounds []float64) error {
	p, k := s.s.Loadings.Dims()
	c := 0
	if s.s.ConfoundLoadings != nil {
		_, c = s.s.ConfoundLoadings.Dims()
	}
	if len(dst) != k || len(answers) != p || len(confounds) != c {
		return fmt.Errorf("scoring: %w: %d scores of %d answers and %d confounds in place of %d, %d and %d", solver.ErrShape, len(dst), len(answers), len(confounds), k, p, c)
	}
	for j, v := range answers {
		if math.IsInf(v, 0) {
			return fmt.Errorf("scoring: %w", &solver.NonFiniteError{Col: j, Value: v})
		}
	}
	for j, v := range confounds {
		if v-v != 0 {
			return fmt.Errorf("scoring: %w: column %d is %v", ErrConfounds, j, v)
		}
	}
	clear(dst)
	s.s.score(dst, answers, confounds)
	return nil
}

// Reconstruct returns R = W·Qᵀ + C·Qcᵀ, n×p, for scores n×k and confounds n×c. It is not cut to the range of the answers.
// It returns the errors of Score.
func (m *Model) Reconstruct(scores, confounds *mat.Dense) (*mat.Dense, error) {
	n, k := scores.Dims()
	items, factors := m.Loadings.Dims()
	if k != factors {
		return nil, fmt.Errorf("reconstructing: %w: %d scores of %d factors", solver.ErrShape, k, factors)
	}
	if err := m.checkConfounds(confounds, n); err != nil {
		return nil, fmt.Errorf("reconstructing: %w", err)
	}
	r := mat.NewDense(n, items, nil)
	linalg.MulTo(r, scores, mat.DenseCopyOf(m.Loadings.T()))
	if confounds != nil {
		linalg.AddMulTo(r, confounds, mat.DenseCopyOf(m.ConfoundLoadings.T()))
	}
	return r, nil
}

func (m *Model) checkConfounds(confounds *mat.Dense, n int) error {
	if (confounds == nil) != (m.ConfoundLoadings == nil) {
		return fmt.Errorf("%w: %t, but %t in the model", ErrConfounds, confounds != nil, m.ConfoundLoadings != nil)
	}
	if confounds == nil {
		return nil
	}
	rows, c := confounds.Dims()
	if _, want := m.ConfoundLoadings.Dims(); rows != n || c != want {
		return fmt.Errorf("%w: %d×%d confounds in place of %d×%d", solver.ErrShape, rows, c, n, want)
	}
	for i := range rows {
		for j, v := range confounds.RawRowView(i) {
			if v-v != 0 {
				return fmt.Errorf("%w: row %d, column %d is %v", ErrConfounds, i, j, v)
			}
		}
	}
	return nil
}

// scorer holds the quadratic problem of a row, minimize ½wᵀGw − lᵀw.
type scorer struct {
	*Model
	gram             *mat.SymDense
	linear, gradient []float64 // gradient is l − G·w
	free             []int
	factor           []float64
	solution, trial  []float64
}

func newScorer(m *Model) scorer {
	_, k := m.Loadings.Dims()
	return scorer{
		Model: m, gram: mat.NewSymDense(k, nil), linear: make([]float64, k), gradient: make([]float64, k), free: make([]int, 0, k),
		factor: make([]float64, k*k), solution: make([]float64, k), trial: make([]float64, k),
	}
}

// score minimizes from w, 0 at first.
func (s *scorer) score(w, answers, confounds []float64) {
	if !s.set(answers, confounds) {
		return
	}
	scale := 0.0
	for _, l := range s.linear {
		scale = max(scale, math.Abs(l))
	}
	copy(s.gradient, s.linear)
	for range scoreAttempts {
		if moved := s.descend(w); s.finish(w, scoreTol*scale) || !moved || s.slide(w, scoreTol*scale) {
			return
		}
	}
}

// set makes the problem of a row and reports whether it has answers.
func (s *scorer) set(answers, confounds []float64) bool {
	k := len(s.linear)
	raw := s.gram.RawSymmetric()
	clear(raw.Data)
	seen := false
	for t := range s.linear {
		s.linear[t] = -s.L1
		raw.Data[t*raw.Stride+t] = s.L2
	}
	for j, v := range answers {
		if v != v {
			continue
		}
		seen = true
		if len(confounds) > 0 {
			for c, q := range s.ConfoundLoadings.RawRowView(j) {
				v -= confounds[c] * q
			}
		}
		loadings := s.Loadings.RawRowView(j)
		for t, q := range loadings {
			if q == 0 {
				continue
			}
			s.linear[t] += q * v
			row := raw.Data[t*raw.Stride : t*raw.Stride+k]
			for u := t; u < k; u++ {
				row[u] += q * loadings[u]
			}
		}
	}
	return seen
}

// descend makes rounds of coordinate descent and reports whether any score moved.
func (s *scorer) descend(w []float64) (moved bool) {
	for range scoreRounds {
		moved = false
		for t, old := range w {
			d := s.gram.At(t, t)
			var v float64
			switch {
			case d > 0:
				v = min(max(old+s.gradient[t]/d, 0), 1)
			case s.gradient[t] == 0:
				v = old
			}
			if v != old {
				w[t] = v
				moved = true
				for u := range w {
					s.gradient[u] -= (v - old) * s.gram.At(t, u)
				}
			}
		}
		if !moved {
			return false
		}
	}
	return moved
}

// finish takes the scores off the bounds to their minimum for the others, and reports whether that is the minimum of all. If
// it is not, or there is none, the scores stay.
func (s *scorer) finish(w []float64, tol float64) bool {
	s.free = s.free[:0]
	for t, v := range w {
		if v > 0 && v < 1 {
			s.free = append(s.free, t)
		}
	}
	size := len(s.free)
	if size > 0 {
		gram := blas64.Symmetric{N: size, Stride: size, Data: s.factor[:size*size], Uplo: blas.Upper}
		right := blas64.General{Rows: size, Cols: 1, Stride: 1, Data: s.solution[:size]}
		for a, t := range s.free {
			right.Data[a] = s.linear[t]
			for u, v := range w {
				if v == 1 {
					right.Data[a] -= s.gram.At(t, u)
				}
			}
			for b := a; b < size; b++ {
				gram.Data[a*size+b] = s.gram.At(t, s.free[b])
			}
		}
		factor, ok := lapack64.Potrf(gram)
		if !ok {
			return false
		}
		lapack64.Potrs(factor, right)
		for _, v := range right.Data {
			if !(v >= 0 && v <= 1) {
				return false
			}
		}
	}
	copy(s.trial, w)
	for a, t := range s.free {
		s.trial[t] = s.solution[a]
	}
	if !s.optimal(s.trial, tol) {
		return false
	}
	copy(w, s.trial)
	return true
}

// optimal computes the gradient at w and reports whether w is the minimum.
func (s *scorer) optimal(w []float64, tol float64) bool {
	minimum := true
	for t, g := range s.linear {
		for u, v := range w {
			g -= s.gram.At(t, u) * v
		}
		s.gradient[t] = g
		minimum = minimum && !(w[t] > 0 && g < -tol || w[t] < 1 && g > tol)
	}
	return minimum
}

// slide moves the scores off the bounds to a minimum for the others, along Newton directions as far as the box lets them, and
// reports whether that is a minimum of all. Where the problem is singular, as for fewer answers than factors, coordinate
// descent creeps along a valley that this goes down at once.
func (s *scorer) slide(w []float64, tol float64) bool {
	largest := 0.0
	for t := range w {
		largest = max(largest, s.gram.At(t, t))
	}
	tol = max(tol, scoreTol*largest)
	for range 2 * len(w) {
		if s.optimal(w, tol) {
			return true
		}
		s.free = s.free[:0]
		for t, v := range w {
			if v > 0 && v < 1 {
				s.free = append(s.free, t)
			}
		}
		size := len(s.free)
		if size == 0 {
			return false
		}
		gram := blas64.Symmetric{N: size, Stride: size, Data: s.factor[:size*size], Uplo: blas.Upper}
		direction := s.solution[:size]
		for a, t := range s.free {
			direction[a] = s.gradient[t]
			for b := a; b < size; b++ {
				gram.Data[a*size+b] = s.gram.At(t, s.free[b])
			}
			gram.Data[a*size+a] += singular * largest
		}
		factor, ok := lapack64.Potrf(gram)
		if !ok {
			return false
		}
		lapack64.Potrs(factor, blas64.General{Rows: size, Cols: 1, Stride: 1, Data: direction})
		step, bound := 1.0, -1
		for a, t := range s.free {
			room := (1 - w[t]) / direction[a]
			if direction[a] < 0 {
				room = -w[t] / direction[a]
			}
			if room < step {
				step, bound = room, a
			}
		}
		for a, t := range s.free {
			w[t] = min(max(w[t]+step*direction[a], 0), 1)
		}
		if bound >= 0 {
			w[s.free[bound]] = 0
			if direction[bound] > 0 {
				w[s.free[bound]] = 1
			}
		}
	}
	return s.optimal(w, tol)
}
