package icqf

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Score returns the scores of participants, n×k: for each row m of the n×p answers (NaN if missing) and c of the
// n×c confounds the minimum over w in [0, 1]ᵏ of
//
//	½ Σ v(m − w·Qᵀ − c·Qcᵀ)² + Σₜ (λₜwₜ + ½β₂uₜwₜ²), λₜ = βuₜ + cₜ(√sₜ − sₜ),
//	uₜ = min(a/ā, sₜ), sₜ = min(1, Iₜ/(0.8·Īₜ)), Iₜ = Σ vqₜ²,
//
// the sums over the a observed answers, with β = L1, β₂ = L2, the items' Weights v, ā = Answers, and Īₜ and cₜ of the
// Calibration. Without one λₜ = βuₜ and uₜ = a/ā. uₜ keeps the weight of the penalties relative to the sum of squares
// if answers are missing. cₜ corrects for the noise, which is then larger, and which the bounds clip on one side. It
// may be negative.
//
// A factor with Iₜ below 0.02·Īₜ is left out for lack of information: its score is 0. Otherwise it would fit the
// residuals of the other factors, easily at its upper bound. A row without answers scores 0.
//
// A row's scores depend on that row alone, to the last bit. Answers and confounds may be of any size: a participant may
// be older than all of the sample. The cost is n·p·k² multiply-adds.
//
// It returns an error that wraps solver.ErrShape for nil and for sizes that do not fit the model, solver.ErrSettings
// for an invalid penalty, solver.ErrNonFinite for an infinite answer, for a loading that is not finite and for a row
// whose squares overflow, and ErrConfounds for a confound that is not finite; and ErrNotOptimal if rounding errors keep
// a row from its minimum.
func (m *Model) Score(answers, confounds *mat.Dense) (*mat.Dense, error) {
	if err := m.checkRows(answers, confounds); err != nil {
		return nil, fmt.Errorf("scoring: %w", err)
	}
	n, p := answers.Dims()
	_, k := m.Loadings.Dims()
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

// Scorer scores one participant at a time and allocates nothing. It is for one goroutine; several may share a model.
type Scorer struct {
	model  *Model
	lasso  *boxLasso
	given  float64   // number of answers, divided by Model.Answers
	shares []float64 // s of Model.Score; 0 without a Calibration
}

// NewScorer returns a Scorer of a valid model, which must not change from then on.
func (m *Model) NewScorer() *Scorer {
	_, k := m.Loadings.Dims()
	return &Scorer{model: m, lasso: newBoxLasso(k), shares: make([]float64, k)}
}

// ScoreTo writes the scores of a participant into dst, of length k: those that Model.Score returns for a row of these
// answers, of length p, and confounds, of length c, to the last bit. It returns the errors of Model.Score.
func (s *Scorer) ScoreTo(dst, answers, confounds []float64) error {
	p, k := s.model.Loadings.Dims()
	c := 0
	if s.model.ConfoundLoadings != nil {
		_, c = s.model.ConfoundLoadings.Dims()
	}
	if len(dst) != k || len(answers) != p || len(confounds) != c {
		return fmt.Errorf("scoring: %w: %d scores of %d answers and %d confounds in place of %d, %d and %d",
			solver.ErrShape, len(dst), len(answers), len(confounds), k, p, c)
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

// Reconstruct returns R = W·Qᵀ + C·Qcᵀ, n×p, for scores n×k and confounds n×c. It is not clipped to the range of the
// answers. It returns the errors of Score.
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

// checkRows returns an error for an invalid model or invalid rows.
func (m *Model) checkRows(answers, confounds *mat.Dense) error {
	if answers == nil {
		return fmt.Errorf("%w: no answers", solver.ErrShape)
	}
	n, p := answers.Dims()
	if err := m.check(confounds, n); err != nil {
		return err
	}
	if items, _ := m.Loadings.Dims(); p != items {
		return fmt.Errorf("%w: %d answers of %d items", solver.ErrShape, p, items)
	}
	return solver.CheckAnswers(answers)
}

// check returns an error for an invalid model or invalid confounds of n participants.
func (m *Model) check(confounds *mat.Dense, n int) error {
	if m.Loadings == nil || m.Loadings.IsEmpty() {
		return fmt.Errorf("%w: a model without loadings", solver.ErrShape)
	}
	if !(m.L1 >= 0) || !(m.L2 >= 0) || math.IsInf(m.L1, 1) || math.IsInf(m.L2, 1) {
		return fmt.Errorf("%w: penalties %v and %v", solver.ErrSettings, m.L1, m.L2)
	}
	if items, _ := m.Loadings.Dims(); m.Weights != nil && len(m.Weights) != items || !(m.Answers >= 0) {
		return fmt.Errorf("%w: %d weights of %d items, penalties for %v answers", solver.ErrSettings, len(m.Weights),
			items, m.Answers)
	}
	if _, k := m.Loadings.Dims(); m.Calibration != nil &&
		(len(m.Calibration.Information) != k || len(m.Calibration.Shifts) != k) {
		return fmt.Errorf("%w: a calibration of %d and %d of %d factors", solver.ErrSettings,
			len(m.Calibration.Information), len(m.Calibration.Shifts), k)
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

// set sets up the problem of a row and reports whether it has answers.
func (s *Scorer) set(answers, confounds []float64) bool {
	gram, linear, all := s.lasso.gram, s.lasso.linear, s.model.Loadings.RawMatrix()
	k := len(linear)
	clear(gram)
	clear(linear)
	seen := 0
	for j, v := range answers {
		if v != v {
			continue
		}
		seen++
		if len(confounds) > 0 {
			for c, q := range s.model.ConfoundLoadings.RawRowView(j) {
				v -= confounds[c] * q
			}
		}
		loadings := all.Data[j*all.Stride:][:k]
		weight := s.model.Weight(j)
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
	if c := s.model.Calibration; c != nil {
		for t := range k {
			s.shares[t] = c.share(t, gram[t*k+t])
		}
		for t, share := range s.shares {
			if share == 0 { // the factor is left out
				linear[t] = 0
				for u := range k {
					gram[t*k+u], gram[u*k+t] = 0, 0
				}
			}
		}
	}
	s.given = 1
	if s.model.Answers > 0 {
		s.given = float64(seen) / s.model.Answers
	}
	s.penalize()
	return seen > 0
}

func (s *Scorer) penalize() {
	m, k := s.model, len(s.shares)
	for t, share := range s.shares {
		weight := s.given
		if share > 0 {
			weight = min(weight, share)
			s.lasso.linear[t] -= m.Calibration.Shifts[t] * rise(share)
		}
		s.lasso.linear[t] -= m.L1 * weight
		s.lasso.gram[t*k+t] += m.L2 * weight
	}
}
