package questionnaire

import (
	"context"
	"fmt"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

// Options says how to learn. Zero values mean what the fields say.
type Options struct {
	// Input is the path of the answers.
	Input   string
	Columns Columns
	// Factors and Betas are the candidates that cross-validation chooses from; one of each is taken as it is. None means
	// DefaultFactors and DefaultBetas.
	Factors []int
	Betas   []float64
	// Fewest takes the fewest factors within one standard error of the lowest error in place of the lowest.
	Fewest bool
	// MaxIter is the largest number of updates of a fit; 0 means icqf.DefaultMaxIter.
	MaxIter int
	// RelTol ends a fit at this relative change of the objective; 0 is off. Commands offer solver.DefaultRelTol. The fits of a
	// cross-validation end at rank.ICQFRelTol where that is larger.
	RelTol float64
	// Ridge is the weight β₂ of half the squares of scores and, times (n/m)·max, loadings, beside β.
	Ridge float64
	// BoundLoadings keeps loadings within the largest answer.
	BoundLoadings bool
	// Inner is the algorithm within an update; "" means icqf.CoordinateDescent.
	Inner icqf.Inner
	// Threads is the largest number of goroutines that compute, at most 1024; 0 means GOMAXPROCS.
	Threads int
	Seed    uint64
	// Trace asks for the objective of each iterate in the summary.
	Trace bool
	// Version is the program's version, for the summary.
	Version string
	// Remark, when not nil, is told what to know of the input once it is read.
	Remark func(Remarks)
	// Progress, when not nil, is called after each fit of a cross-validation; Recorder sees the iterates of a single fit.
	Progress func(done, total int)
	Recorder solver.Recorder

	table *Table // in place of Input
}

// mostFactors is the largest number of DefaultFactors.
const mostFactors = 20

// DefaultFactors are the candidates for the number of factors of so many items: 1 to 20, but at most half of the items.
func DefaultFactors(items int) []int {
	var all []int
	for k := 1; k <= max(1, min(mostFactors, items/2)); k++ {
		all = append(all, k)
	}
	return all
}

// DefaultBetas are the candidates for the weight of the penalties: those of the authors' program.
func DefaultBetas() []float64 { return []float64{0.001, 0.01, 0.1, 0.2, 0.5} }

// Summary is the outcome of a fit as it stands in result.json.
type Summary struct {
	Method     string  `json:"method"`
	Status     string  `json:"status"`
	Iterations int     `json:"iterations"`
	Objective  float64 `json:"objective"`
	// ReconstructionError is the mean squared error of the observed answers, Explained the share of their variance about
	// the items' means that the model explains, OutsideRange how far the reconstruction leaves the range in its worst cell.
	ReconstructionError float64 `json:"reconstruction_error"`
	Explained           float64 `json:"explained"`
	OutsideRange        float64 `json:"outside_range"`
	Factors             int     `json:"factors"`
	Beta                float64 `json:"beta"`
	// BCV is the curve of the cross-validation, empty where there was nothing to choose.
	BCV                     []rank.Point `json:"bcv"`
	OneStandardErrorFactors int          `json:"one_standard_error_factors,omitempty"`
	BCVUnconverged          int          `json:"bcv_unconverged"` // fits of the cross-validation that ended at MaxIter
	Seconds                 Seconds      `json:"seconds"`
	Participants            int          `json:"participants"`
	// Unanswered and Incomplete count the participants left out, for want of answers and of confounds.
	Unanswered int         `json:"unanswered"`
	Incomplete int         `json:"incomplete"`
	Missing    float64     `json:"missing"` // share of the answers
	Items      []ItemFit   `json:"items"`
	FactorFits []FactorFit `json:"factor_scores"`
	// EmptyFactors counts those of which all scores or all loadings are 0. They come last.
	EmptyFactors int `json:"empty_factors"`
	// Warnings are sentences for whoever reads the result.
	Warnings []string            `json:"warnings"`
	Compact  []CompactItem       `json:"compact,omitempty"` // of a second stage
	Trace    []solver.TracePoint `json:"trace"`             // empty unless asked for
	Settings Settings            `json:"settings"`
	Version  string              `json:"version"`
}

// Seconds is the wall time of the parts of a run: reading, cross-validation, start, updates.
type Seconds struct {
	Load   float64 `json:"load"`
	Choose float64 `json:"choose"`
	Init   float64 `json:"init"`
	Solve  float64 `json:"solve"`
}

// ItemFit tells of an item's answers: the share that is missing, their mean, and the share of their variance that is
// explained.
type ItemFit struct {
	Item      string  `json:"item"`
	Missing   float64 `json:"missing"`
	Mean      float64 `json:"mean"`
	Explained float64 `json:"explained"`
}

// FactorFit tells of a factor's scores: their mean, and the shares of participants where it is absent (0) and where it is
// more than half present.
type FactorFit struct {
	Mean   float64 `json:"mean"`
	Absent float64 `json:"absent"`
	High   float64 `json:"high"`
}

// Settings are the options of a run with their defaults filled in.
type Settings struct {
	// Input is the path of the answers, from the folder of the model once it is written; of a second stage its questionnaires.
	Input         string     `json:"input"`
	InputSHA256   string     `json:"input_sha256,omitempty"` // none of a second stage
	Range         Range      `json:"range"`                  // that the reconstruction keeps
	Ridge         float64    `json:"ridge"`
	BoundLoadings bool       `json:"bound_loadings"`
	Inner         icqf.Inner `json:"inner"`
	Seed          uint64     `json:"seed"`
	MaxIter       int        `json:"max_iter"`
	RelTol        float64    `json:"rel_tol"`
	Threads       int        `json:"threads"`
}

// Fitted is what Fit learnt.
type Fitted struct {
	Model
	Scores Scores

	input string // path of the answers, which only a fit with an InputSHA256 has
}

// check fills in the defaults.
func (o *Options) check() error {
	fail := func(format string, args ...any) error {
		return fmt.Errorf("%w: %s", ErrOptions, fmt.Sprintf(format, args...))
	}
	if o.MaxIter == 0 {
		o.MaxIter = icqf.DefaultMaxIter
	}
	if o.Inner == "" {
		o.Inner = icqf.CoordinateDescent
	}
	switch {
	case o.Inner != icqf.CoordinateDescent && o.Inner != icqf.FISTA:
		return fail("inner algorithm %q", o.Inner)
	case !(o.Ridge >= 0) || math.IsInf(o.Ridge, 1):
		return fail("ridge %v", o.Ridge)
	case o.MaxIter < 1:
		return fail("at most %d updates", o.MaxIter)
	case !(o.RelTol >= 0) || math.IsInf(o.RelTol, 1):
		return fail("tolerance %v", o.RelTol)
	case o.Threads < 0 || o.Threads > solver.MaxThreads:
		return fail("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	}
	for _, k := range o.Factors {
		if k < 1 {
			return fail("%d factors", k)
		}
	}
	for _, b := range o.Betas {
		if !(b >= 0) || math.IsInf(b, 1) {
			return fail("beta %v", b)
		}
	}
	return nil
}

// complete fills in the candidates, and refuses more factors than there are items or participants.
func (o *Options) complete(s *study) error {
	if len(o.Factors) == 0 {
		o.Factors = DefaultFactors(min(len(s.Items), len(s.IDs)))
	}
	if len(o.Betas) == 0 {
		o.Betas = DefaultBetas()
	}
	for _, k := range o.Factors {
		if k > len(s.Items) || k > len(s.IDs) {
			return fmt.Errorf("%w: %q: %d factors of %d items and %d participants", ErrOptions, s.File, k, len(s.Items), len(s.IDs))
		}
	}
	return nil
}

// settings of a fit of so many factors.
func (o *Options) settings(s *study, factors int, beta float64) icqf.Settings {
	settings := icqf.Settings{Rank: factors, L1: beta, L2: o.Ridge, Inner: o.Inner, MaxIter: o.MaxIter, RelTol: solver.TolOrOff(o.RelTol), Seed: o.Seed, Threads: o.Threads}
	if o.BoundLoadings {
		settings.MaxLoading = s.scale.High
	}
	return settings
}

// begin reads the input.
func (o *Options) begin() (s *study, err error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	t, err := o.read()
	if err == nil {
		if o.Remark != nil {
			o.Remark(t.Remarks)
		}
		s, err = newStudy(t, &o.Columns)
	}
	if err == nil {
		err = o.complete(s)
	}
	return s, err
}

// read returns the answers.
func (o *Options) read() (*Table, error) {
	if o.table != nil {
		return o.table, nil
	}
	return Read(o.Input, &o.Columns)
}

// Fit factorizes the answers. When ctx ends before it is done, it returns an error that wraps the context's.
func Fit(ctx context.Context, o Options) (*Fitted, error) {
	begin := time.Now()
	s, err := o.begin()
	if err != nil {
		return nil, err
	}
	loaded := time.Now()
	choice := &rank.Choice{Lowest: rank.Point{Candidate: rank.Candidate{Factors: o.Factors[0], Beta: o.Betas[0]}}}
	if len(o.Factors)*len(o.Betas) > 1 {
		if choice, err = o.choose(ctx, s); err != nil {
			return nil, err
		}
	}
	best := choice.Lowest
	if o.Fewest && len(choice.Curve) > 0 {
		best = choice.OneStandardError
	}
	seconds := Seconds{Load: loaded.Sub(begin).Seconds(), Choose: time.Since(loaded).Seconds()}
	settings := o.settings(s, best.Factors, best.Beta)
	settings.Recorder = o.Recorder
	data := s.data(s.order)
	r, err := icqf.Fit(ctx, data, settings)
	if err != nil {
		return nil, fmt.Errorf("factorizing %q: %w", o.Input, err)
	}
	switch r.Status {
	case solver.NonFinite:
		return nil, fmt.Errorf("factorizing %q, update %d: %w", o.Input, r.Iterations, r.Status.Err())
	case solver.Cancelled:
		return nil, fmt.Errorf("factorizing %q, after %d updates: %w", o.Input, r.Iterations, context.Cause(ctx))
	}
	seconds.Init, seconds.Solve = r.Seconds.Init, r.Seconds.Solve

	order := largestFirst(r.Scores, r.Loadings)
	m := Model{
		Format: Format, Items: s.Items, Confounds: s.confounds, ID: o.Columns.ID, Numbered: s.numbered, Missing: o.Columns.Missing, FromLow: o.Columns.FromLow, Visits: o.Columns.Visits, VisitItems: s.visitItems,
		CreatedAt: time.Now().UTC().Truncate(time.Second), factors: r.Model,
	}
	m.factors.Loadings = pickColumns(r.Loadings, order)
	scores := pickColumns(r.Scores, order)
	m.Summary = Summary{
		Method: "icqf", Status: r.Status.String(), Iterations: r.Iterations, Objective: r.Objective,
		ReconstructionError: r.ReconstructionError, OutsideRange: r.Outside, Factors: best.Factors, Beta: best.Beta,
		BCV: choice.Curve, OneStandardErrorFactors: choice.OneStandardError.Factors, BCVUnconverged: choice.Unconverged, Seconds: seconds,
		Participants: len(s.IDs), Unanswered: len(s.Unanswered), Incomplete: len(s.Incomplete), Trace: []solver.TracePoint{}, FactorFits: factorFits(scores),
		Settings: Settings{Input: o.Input, InputSHA256: s.sha256, Range: s.scale, Ridge: o.Ridge, BoundLoadings: o.BoundLoadings, Inner: o.Inner, Seed: o.Seed, MaxIter: o.MaxIter, RelTol: o.RelTol, Threads: linalg.Threads(o.Threads).Limit()},
		Version:  o.Version,
	}
	if choice.Curve == nil {
		m.Summary.BCV = []rank.Point{}
	}
	if o.Trace {
		m.Summary.Trace = r.Trace
	}
	if err := m.describe(data, scores); err != nil {
		return nil, err
	}
	m.warn(scores, s.Inferred)
	return &Fitted{Model: m, Scores: Scores{IDs: s.IDs, Values: putBack(scores, s.order)}, input: o.Input}, nil
}

// choose cross-validates the candidates.
func (o *Options) choose(ctx context.Context, s *study) (*rank.Choice, error) {
	data := s.data(s.order)
	choice, err := rank.BlockwiseCV(ctx, data.Answers, rank.ICQF{Data: data, Settings: o.settings(s, 0, 0)}, rank.Settings{
		Factors: o.Factors, Betas: o.Betas, Strata: data.Confounds, Seed: o.Seed, Threads: o.Threads, Progress: o.Progress,
	})
	if err != nil {
		return nil, fmt.Errorf("%q: %w", o.Input, err)
	}
	return choice, nil
}

// factorFits returns what the summary tells of the scores.
func factorFits(scores *mat.Dense) []FactorFit {
	n, k := scores.Dims()
	fits := make([]FactorFit, k)
	for t := range fits {
		f := &fits[t]
		for i := range n {
			w := scores.At(i, t)
			f.Mean += w
			if w == 0 {
				f.Absent++
			}
			if w > 0.5 {
				f.High++
			}
		}
		*f = FactorFit{f.Mean / float64(n), f.Absent / float64(n), f.High / float64(n)}
	}
	return fits
}

// warn fills in the warnings. The empty factors are those of the smallest size, 0, and so the last.
func (m *Model) warn(scores *mat.Dense, inferred *Inferred) {
	s := &m.Summary
	s.Warnings = []string{}
	for t := range s.Factors {
		if mat.Max(scores.ColView(t)) == 0 || mat.Max(m.factors.Loadings.ColView(t)) == 0 {
			s.EmptyFactors++
		}
	}
	const empty = "factors are empty, all their scores or loadings are 0: the penalties leave nothing of them"
	switch {
	case s.EmptyFactors == s.Factors:
		s.Warnings = append(s.Warnings, fmt.Sprintf("all %d %s", s.Factors, empty))
	case s.EmptyFactors > 0:
		s.Warnings = append(s.Warnings, fmt.Sprintf("the last %d of %d %s", s.EmptyFactors, s.Factors, empty))
	}
	if inferred != nil && inferred.Apart != nil {
		a, what := inferred.Apart, "answers are"
		if a.Answers == 1 {
			what = "answer is"
		}
		s.Warnings = append(s.Warnings, fmt.Sprintf("the range %v to %v is that of the answers in the file, and %d %s far from all others: a code of missing entries has to be named", inferred.Low, inferred.High, a.Answers, what))
	}
}

// describe fills in what the summary tells of the items.
func (m *Model) describe(data icqf.Data, scores *mat.Dense) error {
	r, err := m.factors.Reconstruct(scores, data.Confounds)
	if err != nil {
		return fmt.Errorf("describing the fit: %w", err)
	}
	n, p := data.Answers.Dims()
	var left, all, missing float64
	m.Summary.Items = make([]ItemFit, p)
	for j, mean := range columnMeans(data.Answers) {
		var seen, residual, variance float64
		for i := range n {
			if v := data.Answers.At(i, j); !math.IsNaN(v) {
				seen++
				residual += (v - r.At(i, j)) * (v - r.At(i, j))
				variance += (v - mean) * (v - mean)
			}
		}
		m.Summary.Items[j] = ItemFit{Item: m.Items[j].Name, Missing: 1 - seen/float64(n), Mean: mean, Explained: explained(residual, variance)}
		left, all, missing = left+residual, all+variance, missing+float64(n)-seen
	}
	m.Summary.Explained, m.Summary.Missing = explained(left, all), missing/float64(n*p)
	return nil
}

// explained returns 1 − residual/variance, 0 where the variance is too small to tell.
func explained(residual, variance float64) float64 {
	if e := 1 - residual/variance; !math.IsNaN(e) && !math.IsInf(e, 0) {
		return e
	}
	return 0
}
