package icqf

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
)

// Score returns the scores of participants, n×k: for each row m of the n×p answers (NaN if missing) and c of the
// n×c confounds the minimum over w in [0, 1]ᵏ of
//
//	½ Σ v(m − w·Qᵀ − c·Qcᵀ)² + (a/ā)·(β‖w‖₁ + ½β₂‖w‖²),
//
// the sum over the a observed answers, with β = L1, β₂ = L2, the items' Weights v and ā = Answers, to optimality. Divided by a/ā,
// the sum stands for as many answers as the fit had of a participant: missing answers do not let the penalties weigh more. A row's scores depend on that row alone, to the last bit. A row without
// answers scores 0. Answers and confounds may be of any size: a participant may be older than all of the sample. The cost is
// n·p·k² multiply-adds.
//
// It returns an error that wraps solver.ErrShape for nil and for sizes that do not fit the model, solver.ErrSettings for a
// penalty without meaning, solver.ErrNonFinite for an infinite answer, for a loading that is not finite and for a row whose
// squares overflow, and ErrConfounds for a confound that is not finite; one that wraps ErrNotOptimal should rounding ever keep
// a row from its minimum.
func (m *Model) Score(answers, confounds *mat.Dense) (*mat.Dense, error) {
	if answers == nil {
		return nil, fmt.Errorf("scoring: %w: no answers", solver.ErrShape)
	}
	n, p := answers.Dims()
	if err := m.check(confounds, n); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	items, k := m.Loadings.Dims()
	if p != items {
		return nil, fmt.Errorf("scoring: %w: %d answers of %d items", solver.ErrShape, p, items)
	}
	if err := solver.CheckAnswers(answers); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	scores := mat.NewDense(n, k, nil)
	failed := make([]error, n)
	linalg.Threads(m.Threads).Parallel(n, n*p*k*k, func(from, to int) {
		s := m.NewScorer()
		for i := from; i < to; i++ {
			var c []float64
			if confounds != nil {
				c = confounds.RawRowView(i)
			}
			if s.set(answers.RawRowView(i), c) {
				failed[i] = s.lasso.minimize(scores.RawRowView(i))
			}
		}
	})
	for i, err := range failed {
		if err != nil {
			return nil, fmt.Errorf("scoring row %d: %w", i, err)
		}
	}
	return scores, nil
}

// Transform returns the scores of new participants for a model without confounds: Score of the answers alone. A matrix that
// is not a *mat.Dense is copied.
func (m *Model) Transform(answers mat.Matrix) (*mat.Dense, error) {
	dense, ok := answers.(*mat.Dense)
	if !ok {
		dense = mat.DenseCopyOf(answers)
	}
	return m.Score(dense, nil)
}

// Scorer scores one participant at a time and allocates nothing. It is for one goroutine; several may share a model.
type Scorer struct {
	model *Model
	lasso *boxLasso
}

// NewScorer returns a Scorer of a model that Score takes, which must not change from then on.
func (m *Model) NewScorer() *Scorer {
	_, k := m.Loadings.Dims()
	return &Scorer{m, newBoxLasso(k)}
}

// ScoreTo writes the scores of a participant into dst, of length k: those that Model.Score returns for a row of these answers, of
// length p, and confounds, of length c, to the last bit. It returns the errors of Model.Score.
func (s *Scorer) ScoreTo(dst, answers, confounds []float64) error {
	p, k := s.model.Loadings.Dims()
	c := 0
	if s.model.ConfoundLoadings != nil {
		_, c = s.model.ConfoundLoadings.Dims()
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
	if s.set(answers, confounds) {
		if err := s.lasso.minimize(dst); err != nil {
			return fmt.Errorf("scoring: %w", err)
		}
	}
	return nil
}

// Reconstruct returns R = W·Qᵀ + C·Qcᵀ, n×p, for scores n×k and confounds n×c. It is not cut to the range of the answers.
// It returns the errors of Score.
func (m *Model) Reconstruct(scores, confounds *mat.Dense) (*mat.Dense, error) {
	if scores == nil {
		return nil, fmt.Errorf("reconstructing: %w: no scores", solver.ErrShape)
	}
	n, k := scores.Dims()
	if err := m.check(confounds, n); err != nil {
		return nil, fmt.Errorf("reconstructing: %w", err)
	}
	items, factors := m.Loadings.Dims()
	if k != factors {
		return nil, fmt.Errorf("reconstructing: %w: %d scores of %d factors", solver.ErrShape, k, factors)
	}
	r := mat.NewDense(n, items, nil)
	linalg.Threads(m.Threads).MulTo(r, scores, mat.DenseCopyOf(m.Loadings.T()))
	if confounds != nil {
		linalg.Threads(m.Threads).AddMulTo(r, confounds, mat.DenseCopyOf(m.ConfoundLoadings.T()))
	}
	return r, nil
}

// share returns by how much the penalties of a participant weigh more than those of the model.
func (m *Model) share(answers []float64) float64 {
	if m.Answers == 0 {
		return 1
	}
	return float64(answered(answers)) / m.Answers
}

// check returns what is wrong with the model, or with the confounds of n participants.
func (m *Model) check(confounds *mat.Dense, n int) error {
	if m.Loadings == nil || m.Loadings.IsEmpty() {
		return fmt.Errorf("%w: a model without loadings", solver.ErrShape)
	}
	if !(m.L1 >= 0) || !(m.L2 >= 0) || math.IsInf(m.L1, 1) || math.IsInf(m.L2, 1) {
		return fmt.Errorf("%w: penalties %v and %v", solver.ErrSettings, m.L1, m.L2)
	}
	if items, _ := m.Loadings.Dims(); m.Weights != nil && len(m.Weights) != items || !(m.Answers >= 0) {
		return fmt.Errorf("%w: %d weights of %d items, penalties for %v answers", solver.ErrSettings, len(m.Weights), items, m.Answers)
	}
	if err := solver.CheckFinite(m.Loadings); err != nil {
		return fmt.Errorf("loadings: %w", err)
	}
	if (confounds == nil) != (m.ConfoundLoadings == nil) {
		return fmt.Errorf("%w: %t, but %t in the model", ErrConfounds, confounds != nil, m.ConfoundLoadings != nil)
	}
	if confounds == nil {
		return nil
	}
	items, _ := m.Loadings.Dims()
	known, want := m.ConfoundLoadings.Dims()
	if known != items {
		return fmt.Errorf("%w: loadings of %d items, confounds' of %d", solver.ErrShape, items, known)
	}
	if err := solver.CheckFinite(m.ConfoundLoadings); err != nil {
		return fmt.Errorf("confounds' loadings: %w", err)
	}
	if rows, c := confounds.Dims(); rows != n || c != want {
		return fmt.Errorf("%w: %d×%d confounds in place of %d×%d", solver.ErrShape, rows, c, n, want)
	}
	if at, ok := errors.AsType[*solver.NonFiniteError](solver.CheckFinite(confounds)); ok {
		return fmt.Errorf("%w: row %d, column %d is %v", ErrConfounds, at.Row, at.Col, at.Value)
	}
	return nil
}

// set makes the problem of a row and reports whether it has answers.
func (s *Scorer) set(answers, confounds []float64) bool {
	gram, linear, all := s.lasso.gram, s.lasso.linear, s.model.Loadings.RawMatrix()
	k := len(linear)
	clear(gram)
	share := s.model.share(answers)
	for t := range linear {
		linear[t] = -s.model.L1 * share
		gram[t*k+t] = s.model.L2 * share
	}
	seen := false
	for j, v := range answers {
		if v != v {
			continue
		}
		seen = true
		if len(confounds) > 0 {
			for c, q := range s.model.ConfoundLoadings.RawRowView(j) {
				v -= confounds[c] * q
			}
		}
		loadings := all.Data[j*all.Stride:][:k]
		weight := s.model.weight(j)
		for t, q := range loadings {
			if q == 0 {
				continue
			}
			q *= weight
			linear[t] += q * v
			row, others := gram[t*k+t:(t+1)*k], loadings[t:]
			for u, other := range others {
				row[u] += q * other
			}
		}
	}
	for t := range k {
		for u := range t {
			gram[t*k+u] = gram[u*k+t]
		}
	}
	return seen
}
