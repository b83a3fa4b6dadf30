package factorize

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/solver/smf"
)

// Orientation says what the rows of the input are.
type Orientation string

// The orientations.
const (
	DocumentsByTerms Orientation = "documents-by-terms"
	TermsByDocuments Orientation = "terms-by-documents"
)

// ErrOptions is returned for invalid options.
var ErrOptions = errors.New("option out of range")

// Options says what Run does. Fields with help are flags. Fields with a JSON name are written to the report, with their
// defaults filled in: zero values mean DocumentsByTerms, solver.InitSVD, one start and solver.DefaultMaxIter; a
// tolerance of 0 is off. Run sets Documents, Terms, SeedKept, the seed of the start whose result is kept, and Starts,
// their number.
type Options struct {
	Method      string      `json:"-" help:"${methods}." enum:"${methods}" default:"sonmf"`
	Input       string      `json:"input" help:"Matrix: ${matrixFormats}." required:"" type:"existingfile" placeholder:"FILE"`
	Orientation Orientation `json:"input_orientation" name:"input-orientation" help:"Meaning of the input's rows and columns." enum:"documents-by-terms,terms-by-documents" default:"documents-by-terms"`
	Documents   int         `json:"documents" kong:"-"`
	Terms       int         `json:"terms" kong:"-"`
	Rank        int         `json:"rank" help:"Number of topics." required:"" placeholder:"K"`
	Out         string      `json:"-" help:"Folder for factors.safetensors and result.json, created if missing." required:"" placeholder:"DIR"`
	Init        solver.Init `json:"init" help:"Start: svd, random or kmeans. Method svd and runs with both start factors ignore it." enum:"svd,random,kmeans" default:"svd"`
	Seed        uint64      `json:"seed" help:"Seed of the start; ignored whenever --init is." default:"1"`
	SeedKept    uint64      `json:"seed_kept" kong:"-"`
	Restarts    int         `json:"-" help:"Number of starts, with consecutive seeds; the result with the least objective is kept. More than 1 requires --init random or kmeans." default:"1"`
	MaxIter     int         `json:"max_iter" help:"Stop after this many updates." default:"${maxIter}"`
	RelTol      float64     `json:"rel_tol" help:"Stop at this relative change of the objective (0: never)." default:"${relTol}"`
	AbsTol      float64     `json:"abs_tol" help:"Stop at this absolute change of the mean objective (0: never)." default:"0"`
	Threads     int         `json:"threads" help:"Threads, at most 1024 (0: one for each processor)." default:"0"`
	Trace       bool        `json:"-" help:"Write the objective after every update to result.json."`
	StartTopics string      `json:"start_topics,omitempty" help:"Start from these topics, terms × k." type:"existingfile" placeholder:"FILE"`
	StartScores string      `json:"start_scores,omitempty" help:"Start from these scores, documents × k." type:"existingfile" placeholder:"FILE"`
	Step        string      `json:"step,omitempty" help:"Update for sonmf: extrapolated, exact, or cayley, the paper's line search (default: ${step}). For sonmf-binary: quasi-newton, or newton-fixed, the paper's (default: ${binaryStep}). For ${supervised}: a number, the step length of the paper's algorithm (default: faster updates that choose their own step)." placeholder:"STEP"`
	Starts      int         `json:"restarts" kong:"-"`
	L1Topics    *float64    `json:"l1_topics,omitempty" name:"l1-topics" help:"Weight of the sum of the topics in l1-nmf, 0 or more (default: from the scale of the matrix)." placeholder:"WEIGHT"`
	L1Scores    *float64    `json:"l1_scores,omitempty" name:"l1-scores" help:"Weight of the sum of the scores in l1-nmf (default: from the scale of the matrix)." placeholder:"WEIGHT"`
	Supervised  `json:"-" group:"smf-w and smf-h"`
	Version     string `json:"-" kong:"-"` // of the program, for the report
	// Warn is that of table.Options, for the input.
	Warn func(message string, facts ...any) `json:"-" kong:"-"`
}

// Report is the outcome of a run, the content of result.json.
type Report struct {
	Method                string   `json:"method"`
	Status                string   `json:"status"`
	Iterations            int      `json:"iterations"`
	Objective             float64  `json:"objective"`
	MeanObjective         float64  `json:"mean_objective"`
	OrthogonalityResidual *float64 `json:"orthogonality_residual"` // nil if it overflows
	// nil for methods without labels; smf-h uses the codes that predictions derive
	TrainAccuracy *float64 `json:"train_accuracy"`
	TestAccuracy  *float64 `json:"test_accuracy,omitempty"`
	// nil for more than two classes, and if all documents have the same class
	TestAUROC *float64            `json:"test_auroc,omitempty"`
	Seconds   Seconds             `json:"seconds"`
	Trace     []solver.TracePoint `json:"trace"` // empty unless requested
	Settings  Settings            `json:"settings"`
	Version   string              `json:"version"`
}

// Seconds is the wall time of the parts of a run: reading, start with the choice of weights, updates.
type Seconds struct {
	Load  float64 `json:"load"`
	Init  float64 `json:"init"`
	Solve float64 `json:"solve"`
}

// Settings are the options of a run.
type Settings struct {
	Options
	*Supervised // nil for methods without labels
}

// Run reads the input, factorizes it and writes the output. The recorder, which may be nil, sees every iterate.
//
// When ctx ends during the updates, the best iterate so far is written, and Run returns its report with an error that
// wraps the context's. An objective that is not finite is an error, and nothing is written.
func Run(ctx context.Context, o Options, recorder solver.Recorder) (*Report, error) {
	method, supervised, err := o.check()
	if err != nil {
		return nil, err
	}
	begin := time.Now()
	x, settings, err := o.load(recorder)
	if err != nil {
		return nil, err
	}
	var t *task
	if o.supervised() {
		if t, err = o.loadTask(x, supervised); err != nil {
			return nil, err
		}
	}
	if ctx.Err() != nil {
		return nil, fmt.Errorf("reading the input: %w", context.Cause(ctx))
	}
	undo, err := makeFolder(o.Out) // before an hour of updates, not after
	if err != nil {
		return nil, err
	}
	defer undo()
	loaded := time.Now()
	if t != nil {
		if err := t.choose(ctx, x, &o, settings); err != nil {
			return nil, err
		}
		method = t.method
	}
	chosen := time.Now()
	result, err := o.best(ctx, x, settings, method)
	if err != nil {
		return nil, err
	}
	report := o.report(x, method, result)
	report.Seconds = Seconds{
		Load: loaded.Sub(begin).Seconds(),
		Init: chosen.Sub(loaded).Seconds() + result.Seconds.Init, Solve: result.Seconds.Solve,
	}
	if t != nil {
		if err := t.describe(report, &o, x, result); err != nil {
			return nil, err
		}
	}
	if err := write(o.Out, report, result); err != nil {
		return nil, err
	}
	if result.Status == solver.Cancelled {
		return report, fmt.Errorf("factorizing, after %d updates: %w", result.Iterations, context.Cause(ctx))
	}
	return report, nil
}

// best returns the result with the least objective of all starts, the first if several are equal, with the seconds of
// all, and sets SeedKept. Starts that end without a finite objective are skipped, unless there is no other.
func (o *Options) best(ctx context.Context, x mat.Matrix, settings solver.Settings,
	method solver.Method,
) (best *solver.Result, err error) {
	var failed error
	var seconds solver.Seconds
	cancelled := false
	settings.Seed = cmp.Or(settings.Seed, solver.DefaultSeed)
	for range o.Restarts {
		result, err := o.solve(ctx, x, settings, method)
		if err != nil {
			return nil, err
		}
		seconds.Init += result.Seconds.Init
		seconds.Solve += result.Seconds.Solve
		if result.Status == solver.NonFinite || !finite(result.Objective) {
			failed = fmt.Errorf("factorizing by %s, update %d: %w", o.Method, result.Iterations, solver.NonFinite.Err())
		} else if best == nil || result.Objective < best.Objective {
			best, o.SeedKept = result, settings.Seed
		}
		if cancelled = result.Status == solver.Cancelled; cancelled {
			break
		}
		settings.Seed++
	}
	if best == nil {
		return nil, failed
	}
	best.Seconds = seconds
	if cancelled {
		best.Status = solver.Cancelled
	}
	return best, nil
}

func finite(v float64) bool { return !math.IsNaN(v) && !math.IsInf(v, 0) }

// solve runs the method once. An error about an entry of the matrix names its row and column in the input.
func (o *Options) solve(ctx context.Context, x mat.Matrix, settings solver.Settings,
	method solver.Method,
) (*solver.Result, error) {
	result, err := solver.Solve(ctx, x, settings, method)
	if outside, ok := errors.AsType[*solver.DomainError](err); ok {
		row, column := outside.Row+1, outside.Col+1
		if o.Orientation == TermsByDocuments {
			row, column = column, row
		}
		return nil, fmt.Errorf("factorizing %q by %s: %w: row %d, column %d is %v, must be %v", o.Input, o.Method,
			solver.ErrDomain, row, column, outside.Value, outside.Domain)
	}
	return result, err
}

func (o *Options) report(x mat.Matrix, method solver.Method, result *solver.Result) *Report {
	settings := *o
	settings.Documents, settings.Terms = x.Dims()
	settings.Starts = o.Restarts
	settings.Threads = linalg.Threads(o.Threads).Limit()
	if l1, ok := method.(interface {
		Weights(x mat.Matrix, rank int) (topics, scores float64)
	}); ok {
		topics, scores := l1.Weights(x, o.Rank)
		settings.L1Topics, settings.L1Scores = &topics, &scores
	}
	// These fields are elsewhere in the report, or omitted.
	settings.Method, settings.Supervised, settings.Restarts, settings.Trace, settings.Out, settings.Version = "",
		Supervised{}, 0, false, "", ""
	report := &Report{
		Method: o.Method, Status: result.Status.String(), Iterations: result.Iterations,
		Objective: result.Objective, MeanObjective: result.MeanObjective,
		Trace: []solver.TracePoint{}, Settings: Settings{Options: settings}, Version: o.Version,
	}
	if finite(result.OrthogonalityResidual) {
		report.OrthogonalityResidual = &result.OrthogonalityResidual
	}
	if o.Trace {
		report.Trace = result.Trace
	}
	return report
}

// check fills in the defaults and returns the method, or the given settings of a supervised one. solver.Solve checks
// the numbers.
func (o *Options) check() (method solver.Method, supervised smf.Settings, err error) {
	fail := func(format string, args ...any) (solver.Method, smf.Settings, error) {
		return nil, supervised, fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	o.Orientation, o.Init = cmp.Or(o.Orientation, DocumentsByTerms), cmp.Or(o.Init, solver.InitSVD)
	o.MaxIter, o.Restarts = cmp.Or(o.MaxIter, solver.DefaultMaxIter), cmp.Or(o.Restarts, 1)
	switch {
	case o.Orientation != DocumentsByTerms && o.Orientation != TermsByDocuments:
		return fail("input orientation %q is neither %s nor %s", o.Orientation, DocumentsByTerms, TermsByDocuments)
	case o.Rank < 1:
		return fail("factorizing %q: %v: %d topics", o.Input, solver.ErrRank, o.Rank)
	case o.Threads < 0 || o.Threads > solver.MaxThreads:
		return fail("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	case math.IsInf(o.RelTol, 1) || math.IsInf(o.AbsTol, 1):
		return fail("tolerances %v and %v", o.RelTol, o.AbsTol)
	case o.Out == "":
		return fail("no output folder")
	case o.Restarts < 0:
		return fail("%d restarts", o.Restarts)
	case o.Restarts > 1 && (o.Init == solver.InitSVD || o.StartTopics != "" || o.StartScores != "" ||
		o.Method == methods.SVD):
		return fail("%d restarts from a start that does not depend on the seed; choose the start random or kmeans",
			o.Restarts)
	}
	if o.supervised() {
		supervised, err = o.checkSupervised()
		return nil, supervised, err
	}
	method, choices, err := methods.New(o.Method,
		methods.Settings{Step: o.Step, L1Topics: o.L1Topics, L1Scores: o.L1Scores})
	if o.Step = choices.Step; err == nil {
		err = o.refuse(o.Method)
	}
	return method, supervised, err
}

func (o *Options) load(recorder solver.Recorder) (mat.Matrix, solver.Settings, error) {
	settings := solver.Settings{
		Rank: o.Rank, Init: o.Init, Seed: o.Seed, MaxIter: o.MaxIter, RelTol: solver.TolOrOff(o.RelTol),
		AbsTol: o.AbsTol, Threads: o.Threads, Recorder: recorder,
	}
	x, err := o.read(o.Input)
	if err != nil {
		return nil, settings, err
	}
	n, p := x.Dims()
	if o.Rank > p {
		return nil, settings, fmt.Errorf("%w: factorizing %q: %w: %d topics of %d terms", ErrOptions, o.Input,
			solver.ErrRank, o.Rank, p)
	}
	if settings.StartTopics, err = readFactor(o.StartTopics, p, o.Rank, false); err != nil {
		return nil, settings, err
	}
	if settings.StartScores, err = readFactor(o.StartScores, n, o.Rank, false); err != nil {
		return nil, settings, err
	}
	return x, settings, o.checkSigns(&settings)
}

// checkSigns refuses starts of methods with non-negative factors: negative entries of a non-negative factor, and
// factors of zeros only, which no update changes. A single column of zeros is an unused topic, which a finished run may
// have.
func (o *Options) checkSigns(s *solver.Settings) error {
	topics, scores := methods.NonNegative(o.Method)
	check := func(path string, factor, other *mat.Dense, nonNegative bool) error {
		if factor == nil {
			return nil
		}
		x := linalg.OperatorOf(factor, 0)
		outside, ok := errors.AsType[*solver.DomainError](solver.NonNegative.Check(x))
		if ok && nonNegative {
			return fmt.Errorf("reading %q: %w: row %d, column %d is %v, must be non-negative for %s", path,
				solver.ErrDomain, outside.Row+1, outside.Col+1, outside.Value, o.Method)
		}
		locked := nonNegative || other == nil
		if (topics || scores) && o.Method != methods.SONMFBinary && locked && x.NormSquared() == 0 {
			return fmt.Errorf("reading %q: %w: every entry is 0, and no update of %s changes that", path,
				solver.ErrDomain, o.Method)
		}
		return nil
	}
	return cmp.Or(check(o.StartTopics, s.StartTopics, s.StartScores, topics),
		check(o.StartScores, s.StartScores, s.StartTopics, scores))
}

// read reads a matrix of documents in the orientation of the input.
func (o *Options) read(path string) (mat.Matrix, error) {
	x, err := matrixio.Options{Warn: o.Warn}.Read(path)
	if err == nil && o.Orientation == TermsByDocuments {
		x = matrixio.Transposed(x)
	}
	return x, err
}

// readFactor reads a dense rows×cols matrix, nil for no path. If line is true, a single column may be one line.
func readFactor(path string, rows, cols int, line bool) (*mat.Dense, error) {
	if path == "" {
		return nil, nil
	}
	x, err := matrixio.Read(path)
	if err != nil {
		return nil, err
	}
	dense, ok := x.(*mat.Dense)
	if !ok {
		return nil, fmt.Errorf("reading %q: %w: start factors are dense", path, ErrOptions)
	}
	r, c := x.Dims()
	if line && cols == 1 && r == 1 && c == rows {
		return mat.DenseCopyOf(dense.T()), nil
	}
	if r != rows || c != cols {
		return nil, fmt.Errorf("%w: reading %q: %w: %d×%d, must be %d×%d", ErrOptions, path, solver.ErrShape,
			r, c, rows, cols)
	}
	return dense, nil
}

// The files of the output folder.
const (
	FactorsFile = "factors.safetensors"
	ResultFile  = "result.json"
)

// makeFolder creates a folder and its missing parents. The returned function removes those that are still empty.
func makeFolder(path string) (undo func(), err error) {
	var made []string
	for dir := filepath.Clean(path); ; dir = filepath.Dir(dir) {
		if _, err := os.Stat(dir); !errors.Is(err, fs.ErrNotExist) {
			break
		}
		made = append(made, dir)
	}
	undo = func() {
		for _, dir := range made {
			_ = os.Remove(dir) // fails if it is not empty
		}
	}
	if err := os.MkdirAll(path, 0o700); err != nil {
		undo()
		return nil, fmt.Errorf("making the output folder: %w", err)
	}
	return undo, nil
}

// write stores the factors, then the report. An older report is removed first, so that a report never describes other
// factors. If the report cannot be encoded, nothing changes.
func write(dir string, report *Report, result *solver.Result) error {
	encoded, err := json.MarshalIndent(report, "", "  ")
	if err != nil {
		return fmt.Errorf("writing %q: %w", ResultFile, err)
	}
	if err := os.Remove(filepath.Join(dir, ResultFile)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("replacing %q: %w", ResultFile, err)
	}
	folder := files.Folder{Path: dir, Files: 0o600}
	var factors bytes.Buffer
	if err = safetensors.Write(&factors, tensors(result), nil); err == nil {
		err = folder.Write(FactorsFile, factors.Bytes())
	}
	if err != nil {
		return fmt.Errorf("writing %q: %w", FactorsFile, err)
	}
	if err := folder.Write(ResultFile, append(encoded, '\n')); err != nil {
		return fmt.Errorf("writing %q: %w", ResultFile, err)
	}
	return nil
}

// tensors returns the factors under their names, and the head of a supervised result.
func tensors(r *solver.Result) safetensors.Tensors {
	all := safetensors.Tensors{"scores": safetensors.Of(r.Scores), "topics": safetensors.Of(r.Topics)}
	if h := r.Head; h != nil {
		all["coefficients"], all["intercept"] = safetensors.Of(h.Coefficients), safetensors.OfList(h.Intercept)
		all["aux_coefficients"] = safetensors.Tensor{Shape: []int{len(h.Intercept), 0}}
		if h.AuxCoefficients != nil {
			all["aux_coefficients"] = safetensors.Of(h.AuxCoefficients)
		}
	}
	return all
}
