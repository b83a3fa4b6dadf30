package chooserank

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/methods"
)

// FactorAnalysis is the method beside those of package methods.
const FactorAnalysis = "fa"

// Criterion tells ranks apart.
type Criterion string

// The criteria.
const (
	BCV        Criterion = "bcv"
	BIC        Criterion = "bic"
	CCC        Criterion = "ccc"
	Dispersion Criterion = "dispersion"
	Parallel   Criterion = "parallel"
	MAP        Criterion = "map"
)

// Defaults that commands offer.
const (
	DefaultRuns  = 20
	DefaultFolds = 3

	// defaultMost is the largest rank that is tried unless Ranks says otherwise.
	defaultMost = 20
)

// Options says what to do. Zero values mean what the fields say.
type Options struct {
	// Method is FactorAnalysis or one of methods.Names.
	Method string
	// Input is the path of the matrix, and TermsByDocuments its orientation. For FactorAnalysis rows are participants and
	// columns items, and a CSV file may have missing answers.
	Input            string
	TermsByDocuments bool
	// Criterion is one that the method has.
	Criterion Criterion
	// Ranks are the candidates, ascending; empty means 2 … 20, or to what the matrix leaves room for. Of parallel they are the
	// places in the curve, since its choice rests on all, and empty means all; of map too.
	Ranks []int
	// Seed starts all generators.
	Seed uint64
	// Init is the start of bcv and bic, "" means solver.InitSVD; ccc and dispersion begin at random.
	Init solver.Init
	// MaxIter and RelTol are those of solver.Settings; RelTol 0 is off.
	MaxIter int
	RelTol  float64
	// Runs is the number of runs for each rank of ccc and dispersion; 0 means 20.
	Runs int
	// Folds is the number of groups of rows and of columns of bcv; 0 means 3.
	Folds int
	// Correlation and Draws are for FactorAnalysis: see factoranalysis.ParallelSettings.
	Correlation factoranalysis.Kind
	Draws       int
	// Threads is the number of threads for all of the process while Run runs; 0 leaves it as it is.
	Threads int
	// Progress, when not nil, is told how much is done, one call at a time.
	Progress func(done, total int)
	// Version is the program's version, for the report.
	Version string
}

// Report is the outcome.
type Report struct {
	Method    string    `json:"method"`
	Criterion Criterion `json:"criterion"`
	// Rank is the choice.
	Rank int `json:"rank"`
	// OneStandardErrorRank is the least rank whose bcv is at most that of Rank and its standard error; nil for other criteria.
	OneStandardErrorRank *int    `json:"one_standard_error_rank,omitempty"`
	Curve                []Point `json:"curve"`
	// Unconverged counts the runs that met no tolerance within MaxIter updates.
	Unconverged int `json:"unconverged"`
	// Warnings are for users to read.
	Warnings []string `json:"warnings"`
	Seconds  Seconds  `json:"seconds"`
	Settings Settings `json:"settings"`
	Version  string   `json:"version"`
}

// Point is the criterion at one rank. Of parallel it is the eigenvalue of that place.
type Point struct {
	Rank  int     `json:"rank"`
	Value float64 `json:"value"`
	// StandardError is that of bcv, Reference the percentile of the random eigenvalues of parallel, FourthPower the variant of
	// map by fourth powers.
	StandardError *float64 `json:"standard_error,omitempty"`
	Reference     *float64 `json:"reference,omitempty"`
	FourthPower   *float64 `json:"fourth_power,omitempty"`
}

// Seconds is the wall time of reading and of all else.
type Seconds struct {
	Load  float64 `json:"load"`
	Solve float64 `json:"solve"`
}

// Settings are the options of a run with their defaults filled in, those that the criterion uses.
type Settings struct {
	Input       string              `json:"input"`
	Documents   int                 `json:"documents"`
	Terms       int                 `json:"terms"`
	Seed        uint64              `json:"seed"`
	Init        solver.Init         `json:"init,omitempty"`
	MaxIter     int                 `json:"max_iter,omitempty"`
	RelTol      float64             `json:"rel_tol,omitempty"`
	Runs        int                 `json:"runs,omitempty"`
	Folds       int                 `json:"folds,omitempty"`
	Correlation factoranalysis.Kind `json:"correlation,omitempty"`
	Draws       int                 `json:"draws,omitempty"`
}

// Criteria returns the criteria of a method.
func Criteria(method string) []Criterion {
	if method == FactorAnalysis {
		return []Criterion{Parallel, MAP}
	}
	var out []Criterion
	if methods.Domain(method) != solver.Binary {
		out = append(out, BCV, BIC)
	}
	if _, nonNegative := signs(method); nonNegative {
		out = append(out, CCC, Dispersion)
	}
	return out
}

// signs returns which factors are never negative.
func signs(method string) (topics, scores bool) {
	topics, scores = methods.NonNegative(method)
	return topics, scores || method == methods.SONMF
}

// Run reads the input and returns the choice. When ctx ends, its cause is returned. Options without meaning are errors that
// wrap solver.ErrSettings.
func Run(ctx context.Context, o Options) (*Report, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(o.Threads))
	}
	begin := time.Now()
	read := matrixio.Read
	if o.Method == FactorAnalysis {
		read = matrixio.ReadAnswers
	}
	x, err := read(o.Input)
	if err != nil {
		return nil, err
	}
	// Here, since the folds of bcv have rows and columns of their own.
	if outside, ok := errors.AsType[*solver.DomainError](methods.Domain(o.Method).Check(x)); ok && o.Method != FactorAnalysis {
		return nil, fmt.Errorf("ranking %q by %s: %w: row %d, column %d is %v, must be %v for %s",
			o.Input, o.Criterion, solver.ErrDomain, outside.Row+1, outside.Col+1, outside.Value, outside.Domain, o.Method)
	}
	if o.TermsByDocuments {
		x = matrixio.Transposed(x)
	}
	loaded := time.Now()
	n, p := x.Dims()
	r := &Report{
		Method: o.Method, Criterion: o.Criterion, Warnings: []string{}, Version: o.Version,
		Settings: Settings{Input: o.Input, Documents: n, Terms: p, Seed: o.Seed},
	}
	switch o.Criterion {
	case Parallel, MAP:
		err = o.factorAnalysis(ctx, x, r)
	default:
		err = o.factorization(ctx, x, r)
	}
	if err != nil {
		return nil, fmt.Errorf("ranking %q by %s: %w", o.Input, o.Criterion, err)
	}
	r.Seconds = Seconds{Load: loaded.Sub(begin).Seconds(), Solve: time.Since(loaded).Seconds()}
	return r, nil
}

// check fills in the defaults.
func (o *Options) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", solver.ErrSettings, fmt.Sprintf(format, args...))
	}
	known := append(methods.Names(), FactorAnalysis)
	criteria := Criteria(o.Method)
	switch {
	case !slices.Contains(known, o.Method):
		return fail("method %q is none of %s", o.Method, strings.Join(known, ", "))
	case !slices.Contains(criteria, o.Criterion):
		if len(criteria) == 0 {
			return fail("method %q has no criterion: its scores may be negative, and it is no least squares", o.Method)
		}
		names := make([]string, len(criteria))
		for i, c := range criteria {
			names[i] = string(c)
		}
		return fail("method %q has no criterion %q, only %s", o.Method, o.Criterion, strings.Join(names, ", "))
	case o.Threads > solver.MaxThreads:
		return fail("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	case o.Threads < 0 || o.Runs < 0 || o.Runs == 1 || o.Folds < 0 || o.MaxIter < 0:
		return fail("%d threads, %d runs, %d folds, %d updates", o.Threads, o.Runs, o.Folds, o.MaxIter)
	case (o.Criterion == CCC || o.Criterion == Dispersion) && slices.Contains(o.Ranks, 1):
		return fail("criterion %q of rank 1: all runs agree on one topic", o.Criterion)
	case math.IsInf(o.RelTol, 1):
		return fail("tolerance %v", o.RelTol)
	}
	for i, k := range o.Ranks {
		if k < 1 || i > 0 && k <= o.Ranks[i-1] {
			return fail("rank %d", k)
		}
	}
	return nil
}

// factorAnalysis fills a report by parallel or map.
func (o *Options) factorAnalysis(ctx context.Context, x mat.Matrix, r *Report) error {
	dense, ok := x.(*mat.Dense)
	if !ok {
		return fmt.Errorf("%w: factor analysis wants a dense matrix", solver.ErrSettings)
	}
	s := &r.Settings
	if s.Correlation = o.Correlation; s.Correlation == "" {
		s.Correlation = factoranalysis.Pearson
	}
	var correlations *factoranalysis.Correlations
	if o.Criterion == MAP {
		var err error
		if correlations, err = factoranalysis.Correlate(dense, s.Correlation); err != nil {
			return err
		}
		a, err := factoranalysis.MAP(correlations.R)
		if err != nil {
			return err
		}
		for m := range a.Squares {
			r.Curve = append(r.Curve, Point{Rank: m, Value: a.Squares[m], FourthPower: &a.FourthPowers[m]})
		}
	} else {
		if s.Draws = o.Draws; s.Draws == 0 {
			s.Draws = factoranalysis.DefaultDraws
		}
		a, err := factoranalysis.Parallel(ctx, dense, factoranalysis.ParallelSettings{
			Correlation: s.Correlation, Draws: s.Draws, Seed: o.Seed, Progress: o.Progress,
		})
		if err != nil {
			return err
		}
		r.Rank, correlations = a.Suggested, a.Correlations
		for m := range a.Eigenvalues {
			r.Curve = append(r.Curve, Point{Rank: m + 1, Value: a.Eigenvalues[m], Reference: &a.Reference[m]})
		}
	}
	if len(o.Ranks) > 0 {
		r.Curve = slices.DeleteFunc(r.Curve, func(p Point) bool { return !slices.Contains(o.Ranks, p.Rank) })
	}
	if len(r.Curve) == 0 {
		return fmt.Errorf("%w: %w: %v of %d items", solver.ErrSettings, solver.ErrRank, o.Ranks, s.Terms)
	}
	if o.Criterion == MAP {
		r.choose(false)
	}
	if r.Rank == 0 {
		r.Warnings = append(r.Warnings, "no factor stands out")
	}
	if unknown := len(correlations.Unknown); unknown > 0 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d pairs of items have no correlation in common answers: 0 is taken for them", unknown))
	}
	if correlations.Smoothed() {
		r.Warnings = append(r.Warnings, fmt.Sprintf("the least eigenvalue of the correlations is %.3g: they were smoothed", correlations.LeastEigenvalue))
	}
	return nil
}
