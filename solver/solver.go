package solver

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/matrix"
)

// Defaults of Settings.
const (
	DefaultMaxIter = 500
	DefaultRelTol  = 1e-6
	DefaultSeed    = 1
)

// TolOrOff converts a tolerance of the command line, where 0 means off, to the RelTol of Settings.
func TolOrOff(tol float64) float64 { return cmp.Or(tol, -1) }

// MaxThreads is the largest number of threads that the commands accept. Solve has no such limit; far more threads than
// processors only cost memory and time.
const MaxThreads = 1024

// smallChanges is the number of updates in a row that must change the objective by no more than a tolerance: one small
// change may come from one short step.
const smallChanges = 3

var (
	// ErrShape is returned for an empty matrix and for start factors that do not fit it.
	ErrShape = errors.New("shapes do not match")
	// ErrRank is returned for a rank outside 1 … p.
	ErrRank = linalg.ErrRank
	// ErrSettings is returned for an invalid setting.
	ErrSettings = errors.New("setting out of range")
	// ErrStop is returned by a Recorder to end a run.
	ErrStop = errors.New("stop")
	// ErrNonFinite is returned for input that is NaN or infinite, or whose squares overflow.
	ErrNonFinite = linalg.ErrNonFinite
)

// NonFiniteError is the place of the first entry that is NaN or infinite, counted from 0. It wraps ErrNonFinite.
type NonFiniteError struct {
	Row, Col int
	Value    float64
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("entry in row %d, column %d is %v", e.Row, e.Col, e.Value)
}

func (e *NonFiniteError) Unwrap() error { return ErrNonFinite }

// Settings controls a run. Zero values mean the defaults that the fields name.
type Settings struct {
	// Rank is the number of topics k, 1 ≤ k ≤ p. It may exceed the rank of X.
	Rank int
	// Init chooses the start; "" means InitSVD.
	Init Init
	// Seed starts the generators of the start; 0 means DefaultSeed.
	Seed uint64
	// MaxIter is the largest number of updates; 0 means DefaultMaxIter.
	MaxIter int
	// RelTol ends the run when |f − f′| ≤ RelTol·|f| for three updates in a row, f and f′ the objective before and
	// after. 0 means DefaultRelTol, 1e-6; a negative one is off.
	RelTol float64
	// AbsTol ends the run when |f − f′| ≤ AbsTol·n·p for three updates in a row: the absolute change of the mean
	// objective. 0 and negative ones are off.
	AbsTol float64
	// StartTopics (p×k) and StartScores (n×k) replace Init if not nil. They are not modified.
	StartTopics, StartScores *mat.Dense
	// Threads is the largest number of goroutines that compute; 0 means GOMAXPROCS. The bits do not depend on it.
	Threads int
	// Recorder, when not nil, sees every iterate, the start included.
	Recorder Recorder
}

// Recorder watches a run and may stop it.
type Recorder interface {
	// Record is called once per iterate from the goroutine of Solve. ErrStop ends the run with this iterate as the
	// result and Status Stopped. Any other error ends it too, and Solve returns that error, wrapped, and no result.
	Record(Iterate) error
}

// Iterate is one state of a run as a Recorder sees it.
type Iterate struct {
	TracePoint
	// Topics and Scores are the factors that Objective belongs to. They alias the state of the run: do not modify
	// or keep them.
	Topics, Scores *mat.Dense
}

// Problem is the input of a method: the matrix and the settings, both checked.
type Problem struct {
	// X is the n×p matrix by its products, on Settings.Threads. It also implements matrix.Rows unless the caller's
	// matrix has its own products and no rows.
	X        matrix.Operator
	Settings Settings
}

// Method is one kind of factorization.
type Method interface {
	// Name returns the method's name on the command line.
	Name() string
	// Start returns the state at iteration 0. It is safe for concurrent use. A start that makes updates checks ctx
	// before each, and returns the state that it has reached when ctx has ended.
	Start(ctx context.Context, p *Problem) (State, error)
}

// State is one run of a method.
type State interface {
	// Update computes the next iterate and returns NotTerminated; or it keeps the iterate and returns why there is no
	// next one.
	Update() Status
	// Objective returns the objective of the iterate, every penalty included.
	Objective() float64
	// Factors returns the iterate. Its matrices alias the state.
	Factors() (topics, scores *mat.Dense)
	// Finish returns the factors of the result and their objective, recomputed by its definition. The state is not used
	// again.
	Finish() (topics, scores *mat.Dense, objective float64)
}

// Head holds the coefficients that a supervised method fits next to the factors, for labels 0 … κ, where 0 is the
// reference. The method defines how they give the log-odds of a document from its scores or from the topics.
type Head struct {
	// Coefficients is κ×k: one row per class 1 … κ, one column per topic.
	Coefficients *mat.Dense
	// AuxCoefficients is κ×q, nil for q = 0.
	AuxCoefficients *mat.Dense
	// Intercept holds κ values.
	Intercept []float64
}

// Supervised is a State that also fits a head.
type Supervised interface {
	State
	// Head returns the head that belongs to the factors of Finish. It is called after it.
	Head() *Head
}

// Result is the outcome of a run.
type Result struct {
	// Topics is p×k, Scores is n×k.
	Topics, Scores *mat.Dense
	// Head is the head of a supervised method, nil for other methods.
	Head *Head
	// Objective belongs to Topics and Scores and is recomputed from them; MeanObjective is Objective/(n·p).
	Objective, MeanObjective float64
	// OrthogonalityResidual is ‖TopicsᵀTopics − I‖², the sum of squares of the entries.
	OrthogonalityResidual float64
	// Iterations counts the updates.
	Iterations int
	// Status is the reason why the run ended.
	Status Status
	// Trace holds the objective of each iterate, the start first.
	Trace []TracePoint
	// Seconds are the wall times of its parts.
	Seconds Seconds

	transform Transform
	threads   linalg.Threads
}

// TracePoint is the objective of one iterate. Seconds counts from the end of the initialization.
type TracePoint struct {
	Iteration int     `json:"iteration"`
	Objective float64 `json:"objective"`
	Seconds   float64 `json:"seconds"`
}

// Candidate is a choice of the number of factors and, for methods that have them, of the weight of the penalties.
type Candidate struct {
	Factors int     `json:"factors"`
	Beta    float64 `json:"beta"`
}

// ErrorPoint is the cross-validated error of a candidate.
type ErrorPoint struct {
	Candidate
	// Error is the mean over folds of the mean squared error of the held-out observed cells. StandardError is its
	// standard error: from the deviation between partitions, or between the folds if there is one partition.
	Error         float64 `json:"error"`
	StandardError float64 `json:"standard_error"`
}

// Seconds is the wall time of the parts of a run.
type Seconds struct {
	// Init is the time for checks and start, Solve that for updates and result.
	Init, Solve float64
}

// Solve factorizes the n×p matrix X by the method. When ctx ends, it returns within one update, even during the start,
// with Status Cancelled and no error; iteration 0 is then the state that the start has reached. The singular vectors of
// a start are not interrupted.
//
// It returns an error that wraps ErrShape, ErrRank, ErrSettings or ErrNonFinite for input that cannot be solved, and
// the errors of the method's start, among them a *DomainError for an entry outside the domain of the method.
func Solve(ctx context.Context, x mat.Matrix, settings Settings, method Method) (*Result, error) {
	begin := time.Now()
	if method == nil {
		return nil, fmt.Errorf("%w: no method", ErrSettings)
	}
	problem := &Problem{X: linalg.OperatorOf(x, linalg.Threads(settings.Threads)), Settings: settings}
	if err := problem.check(); err != nil {
		return nil, fmt.Errorf("solving by %s: %w", method.Name(), err)
	}
	state, err := method.Start(ctx, problem)
	if err != nil {
		return nil, fmt.Errorf("starting %s: %w", method.Name(), err)
	}
	started := time.Now()

	r := &Result{}
	if r.Status, r.Trace, err = iterate(ctx, problem, state, started); err != nil {
		return nil, fmt.Errorf("recording an iterate of %s: %w", method.Name(), err)
	}
	r.Iterations = len(r.Trace) - 1
	r.Topics, r.Scores, r.Objective = state.Finish()
	if s, ok := state.(Supervised); ok {
		r.Head = s.Head()
	}
	if s, ok := state.(Transforming); ok {
		r.transform, r.threads = s.Transform(), linalg.Threads(problem.Settings.Threads)
	}
	n, p := x.Dims()
	r.MeanObjective = r.Objective / (float64(n) * float64(p))
	distance := linalg.DistanceFromIdentity(linalg.ThreadsOf(problem.X).Gram(r.Topics))
	r.OrthogonalityResidual = distance * distance
	r.Seconds = Seconds{Init: started.Sub(begin).Seconds(), Solve: time.Since(started).Seconds()}
	return r, nil
}

func iterate(ctx context.Context, problem *Problem, state State, started time.Time) (Status, []TracePoint, error) {
	s := &problem.Settings
	n, p := problem.X.Dims()
	absTol := s.AbsTol * float64(n) * float64(p)
	var trace []TracePoint
	record := func() (float64, error) {
		point := TracePoint{Iteration: len(trace), Objective: state.Objective(), Seconds: time.Since(started).Seconds()}
		trace = append(trace, point)
		if s.Recorder != nil {
			topics, scores := state.Factors()
			return point.Objective, s.Recorder.Record(Iterate{TracePoint: point, Topics: topics, Scores: scores})
		}
		return point.Objective, nil
	}

	objective, err := record()
	for small := 0; ; {
		switch {
		case errors.Is(err, ErrStop):
			return Stopped, trace, nil
		case err != nil:
			return NotTerminated, nil, err
		case math.IsNaN(objective) || math.IsInf(objective, 0):
			return NonFinite, trace, nil
		case small >= smallChanges:
			return Converged, trace, nil
		case len(trace) > s.MaxIter:
			return IterationLimit, trace, nil
		case ctx.Err() != nil:
			return Cancelled, trace, nil //nolint:nilerr // the Status says how a run ends
		}
		if status := state.Update(); status != NotTerminated {
			return status, trace, nil
		}
		previous := objective
		objective, err = record()
		change := math.Abs(previous - objective)
		if s.RelTol > 0 && change <= s.RelTol*math.Abs(previous) || s.AbsTol > 0 && change <= absTol {
			small++
		} else {
			small = 0
		}
	}
}

// check completes the settings and returns an error if the problem cannot be solved.
func (p *Problem) check() error {
	n, terms := p.X.Dims()
	s := &p.Settings
	s.Init, s.MaxIter = cmp.Or(s.Init, InitSVD), cmp.Or(s.MaxIter, DefaultMaxIter)
	s.RelTol, s.Seed = cmp.Or(s.RelTol, DefaultRelTol), cmp.Or(s.Seed, DefaultSeed)
	switch {
	case n == 0 || terms == 0:
		return fmt.Errorf("%w: matrix of %d×%d", ErrShape, n, terms)
	case s.Rank < 1 || s.Rank > terms:
		return fmt.Errorf("%w: %d topics of %d terms", ErrRank, s.Rank, terms)
	case s.Init != InitSVD && s.Init != InitRandom && s.Init != InitKMeans:
		return fmt.Errorf("%w: start %q is not one of svd, random, kmeans", ErrSettings, s.Init)
	case s.MaxIter < 0:
		return fmt.Errorf("%w: at most %d updates", ErrSettings, s.MaxIter)
	case CheckThreads(s.Threads) != nil:
		return CheckThreads(s.Threads)
	case math.IsNaN(s.RelTol) || math.IsNaN(s.AbsTol):
		return fmt.Errorf("%w: tolerances %v and %v", ErrSettings, s.RelTol, s.AbsTol)
	}
	if err := checkFinite(p.X); err != nil {
		return fmt.Errorf("reading the matrix: %w", err)
	}
	if err := checkStart(s.StartTopics, terms, s.Rank); err != nil {
		return fmt.Errorf("reading the start topics: %w", err)
	}
	if err := checkStart(s.StartScores, n, s.Rank); err != nil {
		return fmt.Errorf("reading the start scores: %w", err)
	}
	return nil
}

// CheckThreads returns an error that wraps ErrSettings for a negative number of threads.
func CheckThreads(threads int) error {
	if threads < 0 {
		return fmt.Errorf("%w: %d threads", ErrSettings, threads)
	}
	return nil
}

func checkStart(m *mat.Dense, rows, cols int) error {
	if m == nil {
		return nil
	}
	if r, c := m.Dims(); r != rows || c != cols {
		return fmt.Errorf("%w: %d×%d in place of %d×%d", ErrShape, r, c, rows, cols)
	}
	return checkFinite(linalg.Dense{Dense: m})
}

// SquaredResidual returns ‖X − Scores·Topicsᵀ‖² for an n×p matrix X, scores n×k and topics p×k.
//
// For a dense X it is summed entry by entry, at n·p·k multiply-adds. For any other X it is
//
//	‖X‖² − 2·tr(Scoresᵀ·X·Topics) + tr((ScoresᵀScores)·(TopicsᵀTopics))
//
// at one product of X with k columns, with an absolute error of about 1e-16·‖X‖².
func SquaredResidual(x mat.Matrix, topics, scores *mat.Dense) float64 {
	op := linalg.OperatorOf(x, 0)
	if d, ok := op.(linalg.Dense); ok {
		return denseResidual(d, topics, scores)
	}
	n, k := scores.Dims()
	projected := mat.NewDense(n, k, nil)
	op.MulTo(projected, topics)
	threads := linalg.ThreadsOf(op)
	return op.NormSquared() - 2*linalg.Dot(scores, projected) + linalg.Dot(threads.Gram(scores), threads.Gram(topics))
}

// residualRows is the number of rows of the fit that are held at a time.
const residualRows = 64

func denseResidual(x linalg.Dense, topics, scores *mat.Dense) float64 {
	n, p := x.Dims()
	_, k := scores.Dims()
	transposed, fit := mat.DenseCopyOf(topics.T()), mat.NewDense(min(n, residualRows), p, nil)
	var sum float64
	for from := 0; from < n; from += residualRows {
		to := min(from+residualRows, n)
		block := fit.Slice(0, to-from, 0, p).(*mat.Dense)
		x.Threads.MulTo(block, scores.Slice(from, to, 0, k).(*mat.Dense), transposed)
		for i := from; i < to; i++ {
			row := block.RawRowView(i - from)
			for j, v := range x.RawRowView(i) {
				d := v - row[j]
				sum += d * d
			}
		}
	}
	return sum
}

// Status is the reason why a run ended.
type Status int

// The ways a run ends.
const (
	// NotTerminated is the status of a run that goes on.
	NotTerminated Status = iota
	// Converged means that several updates in a row changed the objective by no more than RelTol or AbsTol allows.
	Converged
	// Stationary means that the method finds no update that lowers the objective by more than rounding.
	Stationary
	// IterationLimit means that MaxIter updates were made before any tolerance was met.
	IterationLimit
	// Cancelled means that the context ended first. The result is the best iterate so far.
	Cancelled
	// Stopped means that the Recorder returned ErrStop. The result is the iterate that it was shown.
	Stopped
	// SearchFailed means that a line search found no step although the gradient promises one. The result is the
	// iterate before the search.
	SearchFailed
	// NonFinite means that the objective became NaN or infinite at Result.Iterations; the factors are useless.
	NonFinite
	// Cycling means that updates of a given step length no longer lower the objective: the step is too long. The result
	// is the last iterate.
	Cycling
)

type ending struct {
	name string
	err  error
}

var endings = [...]ending{
	NotTerminated:  {"not-terminated", nil},
	Converged:      {"converged", nil},
	Stationary:     {"stationary", nil},
	IterationLimit: {"iteration-limit", errors.New("iteration limit reached")},
	Cancelled:      {"cancelled", errors.New("run cancelled")},
	Stopped:        {"stopped", errors.New("run stopped by its recorder")},
	SearchFailed:   {"search-failed", errors.New("line search found no descent")},
	NonFinite:      {"non-finite", errors.New("objective is not finite")},
	Cycling:        {"cycling", errors.New("step too long: objective no longer falls")},
}

var unknown = ending{"unknown", errors.New("unknown status")}

func (s Status) ending() ending {
	if s < 0 || int(s) >= len(endings) {
		return unknown
	}
	return endings[s]
}

// String returns the name of the status in result files.
func (s Status) String() string { return s.ending().name }

// Early reports whether the run ended before a minimum was found.
func (s Status) Early() bool { return s.Err() != nil }

// Err returns the error of a run that ended early, nil otherwise.
func (s Status) Err() error { return s.ending().err }
