package factorize

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/rank"
)

// FactorAnalysis is a method of Rank in addition to those of package methods.
const FactorAnalysis = "fa"

// Criterion compares ranks.
type Criterion string

// The criteria. The best value is the least for bcv, bic and map, and the largest for ccc and dispersion; parallel
// counts the eigenvalues above those of random data. If several ranks have the best value, the smallest of them is
// chosen, or the largest for ccc and dispersion. Squared residuals that are only rounding count as equal.
const (
	BCV        Criterion = "bcv"        // error of bi-cross-validation; for least squares
	BIC        Criterion = "bic"        // BIC₁; for least squares
	CCC        Criterion = "ccc"        // cophenetic correlation of repeated runs from random starts; for scores ≥ 0
	Dispersion Criterion = "dispersion" // dispersion of the same runs; for scores ≥ 0
	Parallel   Criterion = "parallel"   // parallel analysis; for FactorAnalysis
	MAP        Criterion = "map"        // mean squared partial correlation; for FactorAnalysis
)

// Defaults that commands offer.
const (
	DefaultRuns  = 20
	DefaultFolds = 3

	// defaultMost is the largest rank that is tried by default.
	defaultMost = 20
)

// RankOptions says what Rank does. A field with help is a flag, and its zero value means the flag's default. RelTol 0
// means no tolerance. Fields with a JSON name are written to the report if the criterion uses them, with their defaults
// filled in. Rank sets Documents and Terms.
type RankOptions struct {
	Method      string      `json:"-" help:"${rankMethods}; fa is factor analysis, whose rows are participants and columns items. For icqf use questionnaire rank; for ${supervised} use train --rank." enum:"${rankMethods}" default:"sonmf"`
	Input       string      `json:"input" help:"Matrix: ${matrixFormats}. For fa, cells of a table may be empty, NA, NaN or a dot." required:"" type:"existingfile" placeholder:"FILE"`
	Orientation Orientation `json:"-" name:"input-orientation" help:"Meaning of the input's rows and columns." enum:"documents-by-terms,terms-by-documents" default:"documents-by-terms"`
	Documents   int         `json:"documents" kong:"-"`
	Terms       int         `json:"terms" kong:"-"`
	// Criterion is one of Criteria(Method), or Auto for the first of them.
	Criterion Criterion `json:"-" help:"bcv and bic for least squares, ccc and dispersion for scores that are never negative, parallel and map for fa (default: the first that applies to the method). If values are equal, bcv, bic and map choose the fewest topics, ccc and dispersion the most." enum:"auto,bcv,bic,ccc,dispersion,parallel,map" default:"auto"`
	Ranks     []int     `json:"-" help:"Numbers of topics to try, as 2:20 or 5,10,30; auto is 2 to 20, or fewer if the matrix is small. For fa they select the lines of the table; parallel decides by all." type:"ranks" default:"auto" placeholder:"\"auto\""`
	Seed      uint64    `json:"seed" help:"Seed of starts, groups and draws." default:"1"`
	// Init is the start of bcv and bic, "" means solver.InitSVD; ccc and dispersion begin at random.
	Init        solver.Init         `json:"init,omitempty" help:"Start for bcv and bic: svd, random or kmeans. ccc and dispersion start at random." enum:"svd,random,kmeans" default:"svd"`
	MaxIter     int                 `json:"max_iter,omitempty" help:"Stop a run after this many updates." default:"${maxIter}"`
	RelTol      float64             `json:"rel_tol,omitempty" help:"Stop a run at this relative change of the objective (0: never)." default:"${relTol}"`
	Runs        int                 `json:"runs,omitempty" help:"Runs for each number of topics, for ccc and dispersion." default:"${runs}"`
	Folds       int                 `json:"folds,omitempty" help:"Groups of rows and groups of columns for bcv; each pair is held out once." default:"${folds}"`
	Correlation factoranalysis.Kind `json:"correlation,omitempty" help:"Correlations for fa: pearson or polychoric." enum:"pearson,polychoric" default:"pearson"`
	Draws       int                 `json:"draws,omitempty" help:"Random data sets for parallel." default:"${draws}"`
	Threads     int                 `json:"-" help:"Threads, at most 1024 (0: one for each processor)." default:"0"`
	// Progress, when not nil, is called with the number of runs that are done, one call at a time.
	Progress func(done, total int)              `json:"-" kong:"-"`
	Warn     func(message string, facts ...any) `json:"-" kong:"-"` // that of table.Options
	Version  string                             `json:"-" kong:"-"` // of the program, for the report
}

// RankReport is the outcome of Rank.
type RankReport struct {
	Method    string    `json:"method"`
	Criterion Criterion `json:"criterion"`
	Rank      int       `json:"rank"` // the choice
	// OneStandardErrorRank is the least rank whose bcv is within one standard error of the best; nil for other
	// criteria.
	OneStandardErrorRank *int        `json:"one_standard_error_rank,omitempty"`
	Curve                []RankPoint `json:"curve"`
	Unconverged          int         `json:"unconverged"` // runs that met no tolerance within MaxIter updates
	Warnings             []string    `json:"warnings"`    // for users to read
	Seconds              RankSeconds `json:"seconds"`
	Settings             RankOptions `json:"settings"`
	Version              string      `json:"version"`
}

// RankPoint is the criterion at one rank; for parallel it is the eigenvalue of that number.
type RankPoint struct {
	Rank  int     `json:"rank"`
	Value float64 `json:"value"`
	// StandardError belongs to bcv. Reference is the percentile of the random eigenvalues of parallel. FourthPower is
	// map with fourth powers.
	StandardError *float64 `json:"standard_error,omitempty"`
	Reference     *float64 `json:"reference,omitempty"`
	FourthPower   *float64 `json:"fourth_power,omitempty"`
}

// RankSeconds is the wall time of reading and of everything else.
type RankSeconds struct {
	Load  float64 `json:"load"`
	Solve float64 `json:"solve"`
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

// Rank reads a matrix and chooses the number of topics or factors. When ctx ends, it returns the cause. Errors about
// options wrap solver.ErrSettings.
func Rank(ctx context.Context, o RankOptions) (*RankReport, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	begin := time.Now()
	x, err := matrixio.Options{Gaps: o.Method == FactorAnalysis, Warn: o.Warn}.Read(o.Input)
	if err != nil {
		return nil, err
	}
	// The entries are checked here, where rows and columns are still those of the file.
	if outside, ok := errors.AsType[*solver.DomainError](methods.Domain(o.Method).Check(x)); ok &&
		o.Method != FactorAnalysis {
		return nil, fmt.Errorf("ranking %q by %s: %w: row %d, column %d is %v, must be %v for %s",
			o.Input, o.Criterion, solver.ErrDomain, outside.Row+1, outside.Col+1, outside.Value,
			outside.Domain, o.Method)
	}
	if o.Orientation == TermsByDocuments {
		x = matrixio.Transposed(x)
	}
	loaded := time.Now()
	n, p := x.Dims()
	r := &RankReport{
		Method: o.Method, Criterion: o.Criterion, Warnings: []string{}, Version: o.Version,
		Settings: RankOptions{Input: o.Input, Documents: n, Terms: p, Seed: o.Seed},
	}
	if o.Method == FactorAnalysis {
		err = o.rankFactors(ctx, x, r)
	} else {
		err = o.rankTopics(ctx, x, r)
	}
	if at, ok := errors.AsType[*factoranalysis.ItemError](err); ok {
		err = fmt.Errorf("item %d %s", at.Item+1, at.Reason)
	}
	if err != nil {
		return nil, fmt.Errorf("ranking %q by %s: %w", o.Input, o.Criterion, err)
	}
	r.Seconds = RankSeconds{Load: loaded.Sub(begin).Seconds(), Solve: time.Since(loaded).Seconds()}
	return r, nil
}

func (o *RankOptions) jobs() rank.Jobs {
	return rank.Jobs{Seed: o.Seed, Threads: o.Threads, Progress: o.Progress}
}

func (o *RankOptions) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", solver.ErrSettings, fmt.Sprintf(format, args...))
	}
	known := append(methods.Names(), FactorAnalysis)
	criteria := Criteria(o.Method)
	if o.Criterion == Auto && len(criteria) > 0 {
		o.Criterion = criteria[0]
	}
	switch {
	case !slices.Contains(known, o.Method):
		return fail("method %q is not one of %s", o.Method, strings.Join(known, ", "))
	case len(criteria) == 0:
		return fail("method %q has no criterion: its scores may be negative, and it does not minimize squares",
			o.Method)
	case !slices.Contains(criteria, o.Criterion):
		return fail("method %q has no criterion %q, only %s", o.Method, o.Criterion,
			strings.Trim(strings.ReplaceAll(fmt.Sprint(criteria), " ", ", "), "[]"))
	case o.Orientation != "" && o.Orientation != DocumentsByTerms && o.Orientation != TermsByDocuments:
		return fail("input orientation %q is neither %s nor %s", o.Orientation, DocumentsByTerms, TermsByDocuments)
	case o.Threads < 0 || o.Threads > solver.MaxThreads:
		return fail("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	case o.Runs < 0 || o.Runs == 1 || o.Folds < 0 || o.MaxIter < 0:
		return fail("%d runs, %d folds, %d updates", o.Runs, o.Folds, o.MaxIter)
	case (o.Criterion == CCC || o.Criterion == Dispersion) && slices.Contains(o.Ranks, 1):
		return fail("criterion %q of rank 1: all runs agree on one topic", o.Criterion)
	case math.IsInf(o.RelTol, 1):
		return fail("tolerance %v", o.RelTol)
	}
	for i, k := range o.Ranks {
		if k < 1 || i > 0 && k <= o.Ranks[i-1] {
			return fail("rank %d is less than 1 or does not ascend", k)
		}
	}
	return nil
}

// choose returns the first rank with the least value, or the last with the largest. It warns if values are equal.
func (r *RankReport) choose(largest bool) RankPoint {
	compare := func(a, b RankPoint) int {
		if largest {
			a, b = b, a
		}
		return cmp.Compare(a.Value, b.Value)
	}
	best := slices.MinFunc(r.Curve, compare)
	var equal []int
	for _, point := range r.Curve {
		if compare(point, best) == 0 {
			if equal = append(equal, point.Rank); largest {
				best = point
			}
		}
	}
	if r.Rank = best.Rank; len(equal) > 1 {
		r.Warnings = append(r.Warnings,
			fmt.Sprintf("%v are equal by %s: %d is chosen by rule", equal, r.Criterion, r.Rank))
	}
	return best
}

// rankFactors fills in the report of parallel or map.
func (o *RankOptions) rankFactors(ctx context.Context, x mat.Matrix, r *RankReport) error {
	dense, ok := x.(*mat.Dense)
	if !ok {
		return fmt.Errorf("%w: factor analysis needs a dense matrix", solver.ErrSettings)
	}
	s := &r.Settings
	s.Correlation = cmp.Or(o.Correlation, factoranalysis.Pearson)
	var correlations *factoranalysis.Correlations
	if o.Criterion == MAP {
		var err error
		if correlations, err = factoranalysis.Correlate(ctx, dense, s.Correlation, o.Threads); err != nil {
			return err
		}
		squares, fourth, err := rank.FilledMAP(ctx, correlations, s.Documents)
		if err != nil {
			return err
		}
		for m := range squares {
			r.Curve = append(r.Curve, RankPoint{Rank: m, Value: squares[m], FourthPower: &fourth[m]})
		}
	} else {
		s.Draws = cmp.Or(o.Draws, rank.DefaultDraws)
		a, err := rank.Parallel(ctx, dense,
			rank.ParallelSettings{Correlation: s.Correlation, Draws: s.Draws, Jobs: o.jobs()})
		if err != nil {
			return err
		}
		r.Rank, correlations = a.Suggested, a.Correlations
		for m := range a.Eigenvalues {
			r.Curve = append(r.Curve, RankPoint{Rank: m + 1, Value: a.Eigenvalues[m], Reference: &a.Reference[m]})
		}
	}
	if len(o.Ranks) > 0 {
		r.Curve = slices.DeleteFunc(r.Curve, func(p RankPoint) bool { return !slices.Contains(o.Ranks, p.Rank) })
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
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"%d pairs of items have too few common answers for a correlation: they are filled in from the factors",
			unknown))
	}
	if correlations.Smoothed() {
		r.Warnings = append(r.Warnings, fmt.Sprintf(
			"the least eigenvalue of the correlations is %.3g: they were smoothed", correlations.LeastEigenvalue))
	}
	return nil
}

// rounding is the share of Σx² up to which squared residuals are rounding: relative errors of 1e-12 of an entry.
const rounding = 1e-24

// ranking computes a criterion for a factorization.
type ranking struct {
	*RankReport
	options *RankOptions
	x       mat.Matrix
	method  solver.Method
	ranks   []int
	early   atomic.Int64 // runs that met no tolerance
}

// rankTopics fills in the report of bcv, bic, ccc or dispersion.
func (o *RankOptions) rankTopics(ctx context.Context, x mat.Matrix, r *RankReport) error {
	method, _, err := methods.New(o.Method, methods.Settings{})
	if err != nil {
		return err
	}
	s := &r.Settings
	s.Init, s.MaxIter, s.RelTol = cmp.Or(o.Init, solver.InitSVD), cmp.Or(o.MaxIter, solver.DefaultMaxIter), o.RelTol
	c := &ranking{RankReport: r, options: o, x: x, method: method, ranks: o.Ranks}
	n, p := x.Dims()
	most, compute, largest := p, c.stability, true
	switch o.Criterion {
	case BCV:
		s.Folds = cmp.Or(o.Folds, DefaultFolds)
		most, compute, largest = rank.MostBiCross(n, p, s.Folds), c.bcv, false
	case BIC:
		most, compute, largest = min(n, p)-1, c.bic, false // as many topics as documents or terms leave no residual
	default:
		s.Init, s.Runs = solver.InitRandom, cmp.Or(o.Runs, DefaultRuns)
	}
	if len(c.ranks) == 0 {
		for k := 2; k <= max(2, min(defaultMost, most)); k++ {
			c.ranks = append(c.ranks, k)
		}
	}
	if last := c.ranks[len(c.ranks)-1]; last > most {
		return fmt.Errorf("%w: rank %d: %d documents and %d terms leave room for %d", solver.ErrSettings, last, n,
			p, max(most, 0))
	}
	if err := compute(ctx); err != nil {
		return err
	}
	r.Unconverged = int(c.early.Load())
	best := r.choose(largest)
	if best.StandardError != nil {
		within := slices.IndexFunc(r.Curve, func(p RankPoint) bool { return p.Value <= best.Value+*best.StandardError })
		r.OneStandardErrorRank = &r.Curve[within].Rank
	}
	return nil
}

// fit runs the method once, on one thread if their number is given: fits then run in parallel.
func (c *ranking) fit(ctx context.Context, x mat.Matrix, factors int,
	seed uint64,
) (topics, scores *mat.Dense, err error) {
	s := &c.Settings
	r, err := solver.Solve(ctx, x, solver.Settings{
		Rank: factors, Init: s.Init, Seed: seed, MaxIter: s.MaxIter,
		RelTol: solver.TolOrOff(s.RelTol), Threads: min(c.options.Threads, 1),
	}, c.method)
	if err != nil {
		return nil, nil, err
	}
	switch r.Status {
	case solver.Cancelled:
		return nil, nil, context.Cause(ctx)
	case solver.NonFinite:
		return nil, nil, fmt.Errorf("factorizing with %d topics: %w", factors, r.Status.Err())
	}
	if r.Status.Early() {
		c.early.Add(1)
	}
	return r.Topics, r.Scores, nil
}

func (c *ranking) bcv(ctx context.Context) error {
	topics, scores := signs(c.Method)
	curve, err := rank.BiCrossValidate(ctx, c.x, c.fit, rank.BiCrossSettings{
		Factors: c.ranks, Folds: c.Settings.Folds, NonNegativeTopics: topics, NonNegativeScores: scores,
		Jobs: c.options.jobs(),
	})
	if err != nil {
		return err
	}
	n, p := c.x.Dims()
	for i := range curve {
		if curve[i].Error <= rounding*linalg.OperatorOf(c.x, 0).NormSquared()/float64(n*p) {
			curve[i].Error, curve[i].StandardError = 0, 0
		}
		c.Curve = append(c.Curve,
			RankPoint{Rank: curve[i].Factors, Value: curve[i].Error, StandardError: &curve[i].StandardError})
	}
	return nil
}

func (c *ranking) bic(ctx context.Context) error {
	squares, err := rank.SquaredResiduals(ctx, c.x, c.fit, rank.RunSettings{Factors: c.ranks, Jobs: c.options.jobs()})
	n, p := c.x.Dims()
	for i, v := range squares {
		// Residuals that are only rounding count as equal, so none gives −∞.
		v = max(v, rounding*linalg.OperatorOf(c.x, 0).NormSquared(), math.SmallestNonzeroFloat64)
		c.Curve = append(c.Curve, RankPoint{Rank: c.ranks[i], Value: rank.BIC1(v, n, p, c.ranks[i])})
	}
	return err
}

// stability computes ccc or dispersion.
func (c *ranking) stability(ctx context.Context) error {
	all, err := rank.Stabilities(ctx, c.x, c.fit,
		rank.RunSettings{Factors: c.ranks, Runs: c.Settings.Runs, Jobs: c.options.jobs()})
	for i, s := range all {
		value := s.Cophenetic
		if c.Criterion == Dispersion {
			value = s.Dispersion
		}
		c.Curve = append(c.Curve, RankPoint{Rank: c.ranks[i], Value: value})
	}
	return err
}
