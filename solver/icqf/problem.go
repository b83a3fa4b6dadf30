package icqf

import (
	"cmp"
	"context"
	"fmt"
	"math"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

const (
	// startPowerIterations is small because the singular vectors are only a start.
	startPowerIterations = 2
	// startRank rounds the number of singular vectors up. Randomized vectors depend on their number: so the start of k
	// factors depends on k, and not on the rank of Prepare.
	startRank = 20
)

// Problem is a questionnaire prepared for fits with different settings. It is safe for concurrent use.
type Problem struct {
	data     Data
	observed int
	// answers is a copy of the answers, row by row.
	answers []float64
	// filled holds the answers, with the item's mean in missing cells.
	filled *mat.Dense
	rank   int // the most factors
	// svds hold the singular vectors for up to startRank factors, for up to twice as many and so on.
	svds []*linalg.TruncatedSVD
}

// Prepare checks the data and computes the start of fits with up to s.Rank factors: the singular vectors of the
// answers, with the item's mean for missing ones. Of the settings it reads Rank, Seed and Threads.
//
// Rows and columns without answers, as in the training part of a cross-validation, are allowed: their scores and
// loadings depend on start and penalties only.
//
// It returns an error that wraps solver.ErrShape or solver.ErrRank for invalid sizes, solver.ErrSettings for an invalid
// range, ErrNoAnswers without any answer, ErrConfounds for confounds outside [0, 1], and a *solver.NonFiniteError or a
// *solver.DomainError for an answer that is infinite or outside the range.
func Prepare(data Data, s Settings) (*Problem, error) {
	p := &Problem{data: data}
	if err := p.check(); err != nil {
		return nil, fmt.Errorf("preparing a questionnaire: %w", err)
	}
	p.answers = mat.DenseCopyOf(data.Answers).RawMatrix().Data
	p.filled = linalg.Filled(data.Answers, linalg.ColumnMeans(data.Answers))
	p.observed = floats.Count(func(v float64) bool { return v == v }, p.answers)
	n, items := data.Answers.Dims()
	if s.Rank < 1 || s.Rank > items {
		return nil, fmt.Errorf("preparing a questionnaire: %w: %d factors for %d items", solver.ErrRank, s.Rank, items)
	}
	p.rank = s.Rank
	threads := linalg.Threads(s.Threads)
	for rank := startRank; ; rank += startRank {
		svd, err := linalg.SVD(linalg.Dense{Dense: p.filled, Threads: threads}, linalg.SVDSettings{
			Threads: threads,
			Rank:    min(n, items, rank), PowerIterations: startPowerIterations,
			Seed: cmp.Or(s.Seed, solver.DefaultSeed),
		})
		if err != nil {
			return nil, fmt.Errorf("preparing a questionnaire: %w", err)
		}
		p.svds = append(p.svds, svd)
		if rank >= min(n, items, s.Rank) {
			return p, nil
		}
	}
}

// check completes the range.
func (p *Problem) check() error {
	d := &p.data
	if d.Answers == nil || d.Answers.IsEmpty() {
		return fmt.Errorf("%w: no cells", solver.ErrShape)
	}
	n, _ := d.Answers.Dims()
	if err := checkConfounds(d.Confounds, n); err != nil {
		return err
	}
	if err := solver.CheckAnswers(d.Answers); err != nil {
		return err
	}
	if d.Intercept && d.Confounds == nil {
		return fmt.Errorf("%w: no column for the intercept", ErrConfounds)
	}
	if d.Min == 0 && d.Max == 0 {
		if d.Min, d.Max = d.Range(); d.Min > d.Max {
			return ErrNoAnswers
		}
	}
	if !(d.Min >= 0 && d.Min < d.Max) || math.IsInf(d.Max, 1) {
		return fmt.Errorf("%w: answers from %v to %v", solver.ErrSettings, d.Min, d.Max)
	}
	for i := range n {
		for j, v := range d.Answers.RawRowView(i) {
			if v < d.Min || v > d.Max {
				return &solver.DomainError{Row: i, Col: j, Value: v, Range: fmt.Sprintf("in %v … %v", d.Min, d.Max)}
			}
		}
	}
	return nil
}

// Range returns Min and Max, or if both are 0 the least and the greatest answer; +Inf and −Inf without answers.
func (d Data) Range() (least, greatest float64) {
	if d.Min != 0 || d.Max != 0 {
		return d.Min, d.Max
	}
	if d.Answers == nil {
		return linalg.Extremes(nil)
	}
	return linalg.Extremes(mat.DenseCopyOf(d.Answers).RawMatrix().Data)
}

func checkConfounds(confounds *mat.Dense, n int) error {
	if confounds == nil {
		return nil
	}
	rows, _ := confounds.Dims()
	if rows != n {
		return fmt.Errorf("%w: %d rows of confounds, %d of answers", solver.ErrShape, rows, n)
	}
	for i := range rows {
		for j, v := range confounds.RawRowView(i) {
			if !(v >= 0 && v <= 1) {
				return fmt.Errorf("%w: row %d, column %d is %v, not in [0, 1]", ErrConfounds, i, j, v)
			}
		}
	}
	return nil
}

// Fit returns the factors. When ctx ends, it returns the iterate that it has reached with Status Cancelled.
//
// It returns an error that wraps solver.ErrRank for more factors than were prepared, and solver.ErrSettings for an
// invalid setting.
func (p *Problem) Fit(ctx context.Context, s Settings) (*Result, error) {
	if err := p.checkSettings(&s); err != nil {
		return nil, fmt.Errorf("fitting a questionnaire: %w", err)
	}
	method := &admm{problem: p, settings: s}
	r, err := solver.Solve(ctx, p.filled, solver.Settings{
		Rank: s.Rank, MaxIter: cmp.Or(s.MaxIter, DefaultMaxIter), RelTol: s.RelTol, Seed: s.Seed, Threads: s.Threads,
		Recorder: s.Recorder,
	}, method)
	if err != nil {
		return nil, err
	}
	_, loadings := p.weights(&s)
	return &Result{
		LoadingsL1: loadings.l1, LoadingsL2: loadings.l2,
		Model:  p.model(&s, r.Topics, method.confoundLoadings),
		Scores: r.Scores, Objective: r.Objective,
		Iterations: r.Iterations, Status: r.Status, Trace: r.Trace, Seconds: r.Seconds,
		ReconstructionError: method.residualSquared / float64(p.observed), Outside: method.outside,
	}, nil
}

// model returns the Model with the penalties of the fit.
func (p *Problem) model(s *Settings, loadings, confounds *mat.Dense) Model {
	scores, _ := p.weights(s)
	m := Model{Loadings: loadings, ConfoundLoadings: confounds, L1: scores.l1, L2: scores.l2, Threads: s.Threads}
	if s.Scaled {
		n, _ := p.filled.Dims()
		m.Answers = float64(p.observed) / float64(n)
	}
	return m
}

// weights returns the weights of the penalties of scores and of loadings.
func (p *Problem) weights(s *Settings) (scores, loadings weights) {
	n, items := p.filled.Dims()
	if !s.Scaled {
		gamma := float64(n) / float64(items) * p.data.Max
		return weights{s.L1, s.L2}, weights{s.L1 * gamma, s.L2 * gamma}
	}
	unit := p.data.Max / ScaledMax
	a, b := float64(items)/ScaledItems*unit*unit, float64(n)/ScaledItems*ScaledMax
	return weights{s.L1 * a, s.L2 * a}, weights{s.L1 * b * unit, s.L2 * b}
}

func (p *Problem) checkSettings(s *Settings) error {
	if s.Rank > p.rank {
		return fmt.Errorf("%w: %d factors, prepared for %d", solver.ErrRank, s.Rank, p.rank)
	}
	s.Inner = cmp.Or(s.Inner, CoordinateDescent)
	switch {
	case s.Inner != CoordinateDescent && s.Inner != FISTA:
		return fmt.Errorf("%w: inner algorithm %q is not one of cd, fista", solver.ErrSettings, s.Inner)
	case !(s.L1 >= 0) || !(s.L2 >= 0) || math.IsInf(s.L1, 1) || math.IsInf(s.L2, 1):
		return fmt.Errorf("%w: penalties %v and %v", solver.ErrSettings, s.L1, s.L2)
	case !(s.MaxLoading >= 0):
		return fmt.Errorf("%w: loadings up to %v", solver.ErrSettings, s.MaxLoading)
	case s.Rho != 0 && !(s.Rho >= MinRho) || math.IsInf(s.Rho, 1):
		return fmt.Errorf("%w: ρ = %v, want at least √2, or 0", solver.ErrSettings, s.Rho)
	}
	return nil
}

// start stores the start in the first columns of d (n×e) and of b (p×e): the better half of each pair of singular
// vectors σ·u·vᵀ, that of their positive or of their negative entries (NNDSVD; Boutsidis and Gallopoulos 2008), with
// the length given to the loadings so that the largest score is 1.
func (p *Problem) start(d, b *mat.Dense, rank int) {
	svd := p.svds[min((rank-1)/startRank, len(p.svds)-1)]
	for t := range min(rank, len(svd.S)) {
		sign := 1.0
		if linalg.MostlyNegative(svd.U, svd.V, t) {
			sign = -1
		}
		var largest float64
		for i := range svd.U.RawMatrix().Rows {
			largest = max(largest, sign*svd.U.At(i, t))
		}
		if largest == 0 {
			continue
		}
		storeHalf(d, svd.U, t, sign/largest)
		storeHalf(b, svd.V, t, sign*largest*svd.S[t])
	}
}

// storeHalf stores the positive entries of a column of factor·A.
func storeHalf(dst, a *mat.Dense, column int, factor float64) {
	rows, _ := a.Dims()
	for i := range rows {
		dst.Set(i, column, max(0, factor*a.At(i, column)))
	}
}
