package rank

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
)

var (
	// ErrEmptyFold is returned if a fold would hold out no observed cell.
	ErrEmptyFold = errors.New("a fold holds nothing out")
	// ErrFit is returned for a candidate whose error is not finite.
	ErrFit = errors.New("error is not finite")
)

const (
	// blockwiseFolds is the number of groups of rows and of columns in Lam et al., reduced if there are fewer rows or
	// columns. There are as many folds as groups of the more numerous kind.
	blockwiseFolds = 10
	// A confound with more than strataBins distinct values is replaced by strataBins bins of equal counts.
	strataBins = 5

	blockwiseStream = 0x6263_7666
)

// Method prepares a factorization that accepts missing cells, for candidates of up to maxFactors factors. The training
// matrix is n×p with NaN at missing cells and at the held-out ones. It has all rows of the whole matrix, in its order;
// a row or column may have no other cell.
type Method func(training *mat.Dense, maxFactors int) (Fitter, error)

// Fitter fits one training matrix: it returns the reconstruction, n×p, and whether the fit converged. Without an error,
// a nil reconstruction means that the matrix does not allow the candidate, whose error is then +Inf. It should run on
// the goroutine of its caller, and is safe for concurrent use.
type Fitter func(ctx context.Context, c solver.Candidate) (reconstruction *mat.Dense, converged bool, err error)

// Settings controls BlockwiseCV. Zero values mean the defaults that the fields name.
type Settings struct {
	Jobs
	// Factors and Betas are the candidates, every pair of them.
	Factors []int
	Betas   []float64
	// Strata, n×c, holds the confounds whose distribution every group of rows keeps; nil for none.
	Strata *mat.Dense
	// Partitions is the number of random assignments of the cells to folds; 0 means 1.
	Partitions int
}

// Choice is the outcome of a cross-validation.
type Choice struct {
	// Lowest has the lowest error; ties go to the fewest factors and then to the largest β. OneStandardError is chosen
	// among the candidates whose error is at most that of Lowest plus its standard error: it has the fewest factors,
	// and among these the lowest error.
	Lowest, OneStandardError solver.ErrorPoint
	// Curve holds every candidate, ascending by factors and then by β.
	Curve []solver.ErrorPoint
	// Unconverged counts the Fits that did not converge. Their errors could have fallen further, which may change the
	// order of candidates.
	Fits, Unconverged int
}

// BlockwiseCV cross-validates the candidates on the n×p matrix x, NaN at missing cells (Kanagal and Sindhwani 2010; Lam
// et al., section 3.2).
//
// Rows and columns are permuted and dealt to 10 groups each, and block (r, c) of the groups is held out in fold (r + c)
// mod 10: every cell is in one fold, and each fold holds out as little of a row or a column as possible. With Strata,
// rows are dealt to groups in the order of their strata, permuted within each (a confound with many values is cut into
// fifths of the participants). The method sees held-out cells as missing. Its error on them is Σ (x − r)² divided by
// their number. All this is repeated for each of the Partitions.
//
// Equal input, settings and seed give equal bits for every number of threads, and the point of a candidate does not
// depend on the others if the method does not. x is not modified.
//
// It returns an error that wraps solver.ErrSettings for invalid settings, ErrEmptyFold, ErrFit, the errors of the
// method, and the cause of ctx if that ends first.
func BlockwiseCV(ctx context.Context, x *mat.Dense, method Method, s Settings) (*Choice, error) {
	cv := &blockwise{x: x, method: method, Settings: s}
	if err := cv.prepare(); err != nil {
		return nil, fmt.Errorf("cross-validating: %w", err)
	}
	// In this order, fold by fold and the largest first, few folds are in memory at a time, and no long fit comes last.
	count := len(cv.candidates)
	err := cv.Each(ctx, count*len(cv.folds), func(ctx context.Context, job int) error {
		return cv.fit(ctx, job/count, count-1-job%count)
	})
	if err != nil {
		return nil, fmt.Errorf("cross-validating: %w", err)
	}
	return cv.choose(), nil
}

type blockwise struct {
	Settings
	x           *mat.Dense
	method      Method
	candidates  []solver.Candidate // ascending
	partitions  []partition
	folds       []func() (Fitter, error) // of all partitions, one after the other
	errors      *mat.Dense               // candidates×folds
	unconverged atomic.Int64
}

type partition struct{ rows, columns []int }

func compareCandidates(a, b solver.Candidate) int {
	return cmp.Or(cmp.Compare(a.Factors, b.Factors), cmp.Compare(a.Beta, b.Beta))
}

func (cv *blockwise) prepare() error {
	if cv.x == nil || cv.x.IsEmpty() {
		return fmt.Errorf("%w: no cells", solver.ErrShape)
	}
	n, p := cv.x.Dims()
	if len(cv.Factors) == 0 || len(cv.Betas) == 0 {
		return fmt.Errorf("%w: no candidates", solver.ErrSettings)
	}
	for _, k := range cv.Factors {
		for _, beta := range cv.Betas {
			if k < 1 || k > p || !(beta >= 0) {
				return fmt.Errorf("%w: %d factors for %d columns, β = %v", solver.ErrSettings, k, p, beta)
			}
			cv.candidates = append(cv.candidates, solver.Candidate{Factors: k, Beta: beta})
		}
	}
	slices.SortFunc(cv.candidates, compareCandidates)
	cv.candidates = slices.Compact(cv.candidates)

	rowGroups, columnGroups := min(n, blockwiseFolds), min(p, blockwiseFolds)
	folds := max(rowGroups, columnGroups)
	cv.Partitions = cmp.Or(cv.Partitions, 1)
	switch {
	case cv.Partitions < 1:
		return fmt.Errorf("%w: %d partitions", solver.ErrSettings, cv.Partitions)
	case folds < 2:
		return fmt.Errorf("%w: %d folds with %d×%d groups for %d×%d cells", solver.ErrSettings, folds, rowGroups,
			columnGroups, n, p)
	case cv.Strata != nil && cv.Strata.RawMatrix().Rows != n:
		return fmt.Errorf("%w: strata for %d rows, must be %d", solver.ErrShape, cv.Strata.RawMatrix().Rows, n)
	}
	for i := range cv.Partitions {
		cv.partitions = append(cv.partitions, cv.deal(i, rowGroups, columnGroups))
	}
	cv.folds = make([]func() (Fitter, error), cv.Partitions*folds)
	for f := range cv.folds {
		cv.folds[f] = shared(len(cv.candidates), func() (Fitter, error) { return cv.prepareFold(f) })
		if held, rest := cv.count(f); held == 0 || rest == 0 {
			return fmt.Errorf("%w: %d observed cells in fold %d of %d, %d outside it", ErrEmptyFold, held, f+1,
				len(cv.folds), rest)
		}
	}
	cv.errors = mat.NewDense(len(cv.candidates), len(cv.folds), nil)
	return nil
}

// deal permutes rows and columns and deals them to groups, for the partition of this number.
func (cv *blockwise) deal(number, rowGroups, columnGroups int) partition {
	n, p := cv.x.Dims()
	random := rand.New(rand.NewPCG(cv.Seed, blockwiseStream+uint64(number)))
	rows := random.Perm(n)
	if cv.Strata != nil {
		strata := binned(cv.Strata)
		slices.SortStableFunc(rows, func(a, b int) int { return slices.Compare(strata[a], strata[b]) })
	}
	group := func(order []int, groups int) []int {
		out := make([]int, len(order))
		for at, i := range order {
			out[i] = at % groups
		}
		return out
	}
	return partition{group(rows, rowGroups), group(random.Perm(p), columnGroups)}
}

// binned returns the rows of the strata. Columns with many values are replaced by bins of equal counts.
func binned(strata *mat.Dense) [][]int {
	n, c := strata.Dims()
	out := lists.Make(n, func(int) []int { return make([]int, c) })
	for j := range c {
		column := mat.Col(nil, j, strata)
		sorted := slices.Sorted(slices.Values(column))
		distinct := slices.Compact(slices.Clone(sorted))
		for i, v := range column {
			bin, _ := slices.BinarySearch(distinct, v)
			if len(distinct) > strataBins {
				below, _ := slices.BinarySearch(sorted, v)
				bin = below * strataBins / n
			}
			out[i][j] = bin
		}
	}
	return out
}

// held returns the groups of the columns, and the group whose cells of row i a fold holds out.
func (cv *blockwise) held(i, fold int) (columns []int, group int) {
	folds := len(cv.folds) / len(cv.partitions)
	of := &cv.partitions[fold/folds]
	return of.columns, (fold + folds - of.rows[i]) % folds
}

// count returns the numbers of observed cells that a fold holds out and that it leaves.
func (cv *blockwise) count(fold int) (held, rest int) {
	for i := range cv.x.RawMatrix().Rows {
		columns, group := cv.held(i, fold)
		for j, v := range cv.x.RawRowView(i) {
			switch {
			case v != v:
			case columns[j] == group:
				held++
			default:
				rest++
			}
		}
	}
	return held, rest
}

func (cv *blockwise) fit(ctx context.Context, f, candidate int) error {
	fitter, err := cv.folds[f]()
	if err != nil {
		return err
	}
	c := cv.candidates[candidate]
	r, converged, err := fitter(ctx, c)
	if err != nil {
		return fmt.Errorf("fitting %d factors at β = %v without fold %d: %w", c.Factors, c.Beta, f+1, err)
	}
	if err := ctx.Err(); err != nil {
		return err // the result of a fit that was cut short is useless
	}
	if r == nil {
		cv.errors.Set(candidate, f, math.Inf(1))
		return nil
	}
	var sum float64
	var cells int
	for i := range cv.x.RawMatrix().Rows {
		fitted := r.RawRowView(i)
		columns, group := cv.held(i, f)
		for j, v := range cv.x.RawRowView(i) {
			if columns[j] == group && v == v {
				sum += (v - fitted[j]) * (v - fitted[j])
				cells++
			}
		}
	}
	if mean := sum / float64(cells); mean-mean != 0 {
		return fmt.Errorf("%w: %v for %d factors at β = %v without fold %d", ErrFit, mean, c.Factors, c.Beta, f+1)
	}
	cv.errors.Set(candidate, f, sum/float64(cells))
	if !converged {
		cv.unconverged.Add(1)
	}
	return nil
}

func (cv *blockwise) prepareFold(f int) (Fitter, error) {
	training := mat.DenseCopyOf(cv.x)
	for i := range cv.x.RawMatrix().Rows {
		row := training.RawRowView(i)
		columns, group := cv.held(i, f)
		for j := range row {
			if columns[j] == group {
				row[j] = math.NaN()
			}
		}
	}
	fitter, err := cv.method(training, cv.candidates[len(cv.candidates)-1].Factors)
	if err != nil {
		return nil, fmt.Errorf("preparing fold %d: %w", f+1, err)
	}
	return fitter, nil
}

// newPoint returns the mean of a candidate's errors, one for each fold, and its standard error.
func newPoint(c solver.Candidate, errors []float64) solver.ErrorPoint {
	// Squares of errors of 1e200 would overflow. Scaling by a power of two is exact.
	_, exponent := math.Frexp(slices.Max(errors))
	scaled := lists.Map(errors, func(e float64) float64 { return math.Ldexp(e, -exponent) })
	mean, deviation := stat.MeanStdDev(scaled, nil)
	return solver.ErrorPoint{
		Candidate: c, Error: math.Ldexp(mean, exponent),
		StandardError: math.Ldexp(stat.StdErr(deviation, float64(len(errors))), exponent),
	}
}

func (cv *blockwise) choose() *Choice {
	out := &Choice{Fits: len(cv.candidates) * len(cv.folds), Unconverged: int(cv.unconverged.Load())}
	for i, c := range cv.candidates {
		errors := cv.errors.RawRowView(i)
		if cv.Partitions > 1 {
			var means []float64
			for of := range slices.Chunk(errors, len(errors)/cv.Partitions) {
				means = append(means, newPoint(c, of).Error)
			}
			errors = means
		}
		out.Curve = append(out.Curve, newPoint(c, errors))
	}
	out.choose()
	return out
}

// Merge adds the candidates of another cross-validation of the same matrix, method and settings, and chooses among all.
// The two must not share a candidate.
func (out *Choice) Merge(other *Choice) {
	out.Curve = append(out.Curve, other.Curve...)
	out.Fits, out.Unconverged = out.Fits+other.Fits, out.Unconverged+other.Unconverged
	out.choose()
}

// choose sorts the curve and reads the choice from it.
func (out *Choice) choose() {
	slices.SortFunc(out.Curve, func(a, b solver.ErrorPoint) int { return compareCandidates(a.Candidate, b.Candidate) })
	better := func(a, b solver.ErrorPoint) int {
		return cmp.Or(cmp.Compare(a.Error, b.Error), cmp.Compare(a.Factors, b.Factors), cmp.Compare(b.Beta, a.Beta))
	}
	out.Lowest = slices.MinFunc(out.Curve, better)
	within := slices.DeleteFunc(slices.Clone(out.Curve), func(p solver.ErrorPoint) bool {
		return p.Error > out.Lowest.Error+out.Lowest.StandardError
	})
	out.OneStandardError = slices.MinFunc(within, func(a, b solver.ErrorPoint) int {
		return cmp.Or(cmp.Compare(a.Factors, b.Factors), better(a, b))
	})
}

// ICQFRelTol is the least tolerance of the fits when ICQF is cross-validated. On 60 questionnaires with 10 planted
// factors and noise of three sizes, the lowest error is at 10 factors in each, with a tolerance of 1e-4 and with 1e-5.
const ICQFRelTol = 1e-4

// ICQF returns the Method of package icqf, with the confounds and the range of data, whose answers are used only to
// determine the range if none is given. The settings are those of each fit, except Rank, L1, Threads and a RelTol below
// ICQFRelTol.
func ICQF(data icqf.Data, s icqf.Settings) Method {
	data.Min, data.Max = data.Range()
	s.Threads, s.RelTol = 1, max(s.RelTol, ICQFRelTol)
	return func(training *mat.Dense, maxFactors int) (Fitter, error) {
		data, s := data, s
		data.Answers, s.Rank = training, maxFactors
		problem, err := icqf.Prepare(data, s)
		return func(ctx context.Context, c solver.Candidate) (*mat.Dense, bool, error) {
			s := s
			s.Rank, s.L1 = c.Factors, c.Beta
			r, err := problem.Fit(ctx, s)
			if err != nil {
				return nil, false, err
			}
			reconstruction, err := r.Reconstruct(r.Scores, data.Confounds)
			return reconstruction, !r.Status.Early(), err
		}, err
	}
}
