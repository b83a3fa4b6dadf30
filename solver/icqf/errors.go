package icqf

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// deviation is the standard deviation of a score without information: no variable in [0, 1] has a larger one.
const deviation = 0.5

// Residuals returns the variance of each item's answers about the reconstruction by Score, for Model.Noise:
//
//	σⱼ² = Σᵢ (mᵢⱼ − rᵢⱼ)² / Σᵢ (1 − kᵢ/aᵢ),
//
// the sums over participants who answered the item and more items than they have scores off the bounds, kᵢ of aᵢ
// answers: a score that fits an answer takes away a part of its residual. An item without such a participant has the
// mean of the other items; 0 if none has one.
//
// Noise is clipped at the ends of the range. So, if their variance is larger, the sums are only over participants for
// whom rᵢⱼ is at least a tenth of the range away from both ends. If these are few, σⱼ² is the variance over all
// participants times the ratio of the two variances for all items together. It returns the errors of Score.
func (m *Model) Residuals(answers, confounds *mat.Dense) (scores *mat.Dense, variances []float64, err error) {
	if scores, err = m.Score(answers, confounds); err != nil {
		return nil, nil, err
	}
	fitted, err := m.Reconstruct(scores, confounds)
	if err != nil {
		return nil, nil, err
	}
	n, p := answers.Dims()
	low, high := make([]float64, p), make([]float64, p)
	for j := range p {
		low[j], high[j] = linalg.Extremes(mat.Col(nil, j, answers))
	}
	all, inside := make([]residuals, p), make([]residuals, p)
	for i := range n {
		row := answers.RawRowView(i)
		free := floats.Count(func(w float64) bool { return w > 0 && w < 1 }, scores.RawRowView(i))
		part := 1 - float64(free)/float64(answered(row))
		if !(part > 0) {
			continue
		}
		for j, v := range row {
			if v != v {
				continue
			}
			r := fitted.At(i, j)
			all[j].add(v-r, part)
			if margin := (high[j] - low[j]) / 10; r >= low[j]+margin && r <= high[j]-margin {
				inside[j].add(v-r, part)
			}
		}
	}
	return scores, variancesOf(all, inside), nil
}

// residuals sums up squares, and their number less the degrees of freedom of the scores.
type residuals struct{ squares, left float64 }

func (r *residuals) add(residual, part float64) {
	r.squares += residual * residual
	r.left += part
}

// variance returns the mean square, 0 without squares.
func (r residuals) variance() float64 {
	if r.left == 0 {
		return 0
	}
	return r.squares / r.left
}

// variancesOf returns the variances of Residuals from all residuals of each item and those of the participants inside.
func variancesOf(all, inside []residuals) []float64 {
	const few = 20
	var total residuals
	var squares, expected float64 // of those inside
	for j := range all {
		total.squares += all[j].squares
		total.left += all[j].left
		squares += inside[j].squares
		expected += all[j].variance() * inside[j].left
	}
	ratio := 1.
	if expected > 0 {
		ratio = max(1, squares/expected)
	}
	variances := make([]float64, len(all))
	for j, r := range all {
		switch {
		case r.left == 0:
			variances[j] = total.variance() * ratio
		case inside[j].left < few:
			variances[j] = r.variance() * ratio
		default:
			variances[j] = max(r.variance(), inside[j].variance())
		}
	}
	return variances
}

func answered(row []float64) int { return floats.Count(func(v float64) bool { return v == v }, row) }

// StandardErrors returns the standard errors of the scores of n participants, n×k, in (0, 0.5], from the variances σⱼ²
// in Noise. They are the roots of the diagonal of
//
//	H⁻¹(A + δ²τ²·I)H⁻¹, H = Σ vⱼqⱼqⱼᵀ + δ·I, A = Σ vⱼ²σⱼ²qⱼqⱼᵀ, δ = mean(vⱼσⱼ²)/τ², τ = 0.5,
//
// the sums and the mean over the answered items. That is the sandwich (White 1982) of the least squares of Score
// without bounds, with only the prior knowledge that a score is in [0, 1]: a score without information has the error τ.
// Loadings count as known. Bounds are ignored, which is right for scores off them, and too wide for scores at them.
//
// It returns an error that wraps solver.ErrShape for a model without Noise and for sizes that do not fit it.
func (m *Model) StandardErrors(answers *mat.Dense) (*mat.Dense, error) {
	items, k := m.Loadings.Dims()
	if len(m.Noise) != items || answers == nil || answers.RawMatrix().Cols != items {
		return nil, fmt.Errorf("standard errors: %w: variances of %d items in place of %d", solver.ErrShape,
			len(m.Noise), items)
	}
	n, _ := answers.Dims()
	out := mat.NewDense(n, k, nil)
	linalg.Threads(m.Threads).Parallel(n, n*items*k*k, func(from, to int) {
		for i := from; i < to; i++ {
			m.errorsTo(out.RawRowView(i), answers.RawRowView(i))
		}
	})
	return out, nil
}

func (m *Model) errorsTo(dst, answers []float64) {
	k := len(dst)
	inH, inA := make([]float64, k*k), make([]float64, k*k)
	h, a := mat.NewSymDense(k, inH), mat.NewSymDense(k, inA)
	var noise float64
	for j, v := range answers {
		if v != v {
			continue
		}
		weight := m.Weight(j)
		noisy := weight * m.Noise[j]
		noise += noisy
		q := m.Loadings.RawRowView(j)
		for s, x := range q { // as SymRankOne, which takes three times as long for few factors
			rowH, rowA := inH[s*k:(s+1)*k], inA[s*k:(s+1)*k]
			for t := s; t < k && x != 0; t++ {
				rowH[t] += weight * x * q[t]
				rowA[t] += weight * noisy * x * q[t]
			}
		}
	}
	const variance = deviation * deviation
	if delta := noise / variance / float64(max(1, answered(answers))); delta > 0 {
		for t := range k {
			h.SetSym(t, t, h.At(t, t)+delta)
			a.SetSym(t, t, a.At(t, t)+delta*delta*variance)
		}
	}
	for t := range dst {
		dst[t] = deviation
	}
	inverse := linalg.Inverse(h)
	if inverse == nil {
		return
	}
	for t := range dst {
		of := mat.NewVecDense(k, mat.Col(nil, t, inverse))
		if v := mat.Inner(of, a, of); v < variance { // not if squares overflow
			dst[t] = math.Sqrt(max(0, v))
		}
	}
}

// Stretch returns loadings, p×c, times √vⱼ: those of answers whose ranges are stretched to the same width, which the
// fit compares. Without Weights it returns the loadings themselves.
func (m *Model) Stretch(loadings *mat.Dense) *mat.Dense {
	if m.Weights == nil {
		return loadings
	}
	out := linalg.NewLike(loadings)
	out.Apply(func(j, _ int, q float64) float64 { return math.Sqrt(m.Weights[j]) * q }, loadings)
	return out
}

// Weight returns vⱼ, the weight of an item's squared error: 1 without Weights.
func (m *Model) Weight(item int) float64 {
	if m.Weights == nil {
		return 1
	}
	return m.Weights[item]
}
