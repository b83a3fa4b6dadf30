// Package fit learns the factors of a table of answers, chooses their number, and scores new participants.
package fit

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Options says how to learn. Zero values mean what the fields say.
type Options struct {
	// Input is the path of the answers. Table, when not nil, holds them instead.
	Input   string
	Table   *answers.Table
	Columns answers.Columns
	// Method is one of model.Methods; "" means model.MethodICQF.
	Method string
	// Compared are the methods if several are compared. They are used for warnings only.
	Compared []string
	// Factors and Betas are the candidates of a cross-validation, or just one. Empty means a search among
	// DefaultFactors and DefaultBetas, as Choose says; factor analysis then uses the number that parallel analysis
	// suggests. Only ICQF has Betas.
	Factors []int
	Betas   []float64
	// MostFactors is the largest number of factors of a search. Begin fills it in; it is 0 if Factors are given.
	MostFactors int
	// Fewest chooses the fewest factors within one standard error of the lowest error instead of the lowest.
	Fewest bool
	model.Learning
	// Scores says what their table holds. For ICQF they are those of the factorization, which Objective is about; those
	// of Score depend on the participant alone. Participants with too few answers for scores are learnt from too.
	Scores Table
	// Trace adds the objective after each update to the summary.
	Trace bool
	// Version is the program's version, and Command its command line, for the summary.
	Version, Command string
	// Remark, when not nil, receives the remarks about the input once it is read.
	Remark func(answers.Remarks)
	// Progress, if not nil, is called after each fit of a cross-validation; Recorder sees the iterates of a single fit.
	Progress func(done, total int)
	Recorder solver.Recorder
	// Assess, when not nil, completes the summary of a fit. Its options have their defaults filled in.
	Assess func(ctx context.Context, o *Options, of *Outcome) error

	// ScoreKind is the factoranalysis.ScoreKind of factor analysis; "" means regression. A cross-validation uses that.
	ScoreKind string

	target     map[string]*answers.SheetRow // the numbers of Target by item, nil without
	searchBeta bool                         // Betas were not given
	byDefault  bool                         // Missing was not given
	quick      bool                         // loadings are needed, and no measures of their fit
}

// Outcome is a fit before its scores are written.
type Outcome struct {
	*Learnt
	Study     *Study
	Candidate solver.Candidate
	// Scores are those of the factorization, for the Rows. Measured says which are measurements; nil: all.
	Scores   *mat.Dense
	Measured []Measured
	Model    *model.Model
}

// CheckCorrelation returns an error that wraps questionnaire.ErrOptions if factor analysis cannot use the correlations:
// polychoric ones are computed by pairs only.
func (o *Options) CheckCorrelation() error {
	if o.Correlation == model.Polychoric && o.Missing == model.FIML {
		return questionnaire.Optionf("full information is of pearson correlations; polychoric ones use the " +
			"participants who answered both items: use --missing pairwise or listwise")
	}
	return nil
}

// check fills in the defaults.
func (o *Options) check() error {
	o.MaxIter, o.Inner, o.Partitions = cmp.Or(o.MaxIter, icqf.DefaultMaxIter), cmp.Or(o.Inner, icqf.CoordinateDescent),
		cmp.Or(o.Partitions, 1)
	o.Method = cmp.Or(o.Method, model.MethodICQF)
	if o.Missing == "" && o.Correlation != "" {
		o.Missing = model.Pairwise
	}
	valid := func(v float64) bool { return v >= 0 && !math.IsInf(v, 1) }
	factors := slices.IndexFunc(o.Factors, func(k int) bool { return k < 1 })
	beta := slices.IndexFunc(o.Betas, func(b float64) bool { return !valid(b) })
	switch {
	case !slices.Contains(model.Methods(), o.Method):
		return questionnaire.Optionf("method %q must be one of %s", o.Method, strings.Join(model.Methods(), ", "))
	case o.Method != model.MethodICQF && len(o.Betas) > 0:
		return questionnaire.Optionf("beta %v: only %s has penalties of a given weight", o.Betas, model.MethodICQF)
	case o.Missing != "" && !slices.Contains(model.MissingMethods(), o.Missing):
		return questionnaire.Optionf("missing answers %q must be one of %s", o.Missing,
			strings.Join(model.MissingMethods(), ", "))
	case o.Inner != icqf.CoordinateDescent && o.Inner != icqf.FISTA:
		return questionnaire.Optionf("inner algorithm %q", o.Inner)
	case !valid(o.Ridge):
		return questionnaire.Optionf("ridge %v", o.Ridge)
	case o.MaxIter < 1:
		return questionnaire.Optionf("at most %d updates", o.MaxIter)
	case o.Partitions < 1:
		return questionnaire.Optionf("%d partitions", o.Partitions)
	case !valid(o.RelTol):
		return questionnaire.Optionf("tolerance %v", o.RelTol)
	case o.Threads < 0 || o.Threads > solver.MaxThreads:
		return questionnaire.Optionf("%d threads, must be 0 to %d", o.Threads, solver.MaxThreads)
	case factors >= 0:
		return questionnaire.Optionf("%d factors", o.Factors[factors])
	case beta >= 0:
		return questionnaire.Optionf("beta %v", o.Betas[beta])
	case o.Method == model.MethodFA:
		return cmp.Or(o.CheckCorrelation(), o.checkRotation())
	}
	return nil
}

func (o *Options) checkRotation() error {
	kind, by := factoranalysis.ScoreKind(o.ScoreKind), factoranalysis.Rotation(o.Rotation)
	switch target, bifactor := by == factoranalysis.RotateTarget, by == factoranalysis.RotateBifactor; {
	case target != (o.Target != ""):
		return questionnaire.Optionf("--rotation target requires --target, and --target applies to it only")
	case (target || bifactor) && len(o.Factors) != 1:
		return questionnaire.Optionf("--rotation %s requires one number of --factors", by)
	case bifactor && o.Factors[0] < 3:
		return questionnaire.Optionf("--rotation bifactor requires 3 --factors or more: one is general")
	case bifactor && kind != "" && kind != factoranalysis.ScoreRegression:
		return questionnaire.Optionf("--scores %s cannot be used with --rotation bifactor, whose loadings depend on "+
			"each other: use regression", kind)
	}
	return nil
}

// readTarget reads the Target, in which each item must have a row.
func (o *Options) readTarget(items []questionnaire.Item) error {
	s, err := answers.ReadSheet(o.Target,
		answers.SheetColumns{ID: "item", Numbers: model.FactorNames(mat.NewDense(1, o.Factors[0], nil))})
	if err != nil {
		return err
	}
	o.target = s.ByID()
	for _, item := range items {
		if o.target[item.Name] == nil {
			return &table.Error{File: o.Target, Err: questionnaire.Optionf("no row for item %q", item.Name)}
		}
	}
	return nil
}

// targetOf returns the targets of these items, nil without.
func (o *Options) targetOf(items []questionnaire.Item) *mat.Dense {
	if o.target == nil {
		return nil
	}
	target := mat.NewDense(len(items), o.Factors[0], nil)
	for j, item := range items {
		target.SetRow(j, o.target[item.Name].Numbers)
	}
	return target
}

// complete fills in the candidates, and refuses more factors than there are items or participants.
func (o *Options) complete(s *Study) error {
	o.Correlation = cmp.Or(o.Correlation, model.Pearson)
	if o.Target != "" {
		if err := o.readTarget(s.Items); err != nil {
			return err
		}
	}
	if len(o.Factors) == 0 {
		most := min(len(s.Items), len(s.IDs))
		o.Factors, o.MostFactors = DefaultFactors(most), mostFactors(most)
	}
	switch {
	case o.Method != model.MethodICQF:
		o.Betas = []float64{0}
	case len(o.Betas) == 0:
		o.Betas, o.searchBeta = DefaultBetas(), true
	}
	for _, k := range o.Factors {
		if k > len(s.Items) || k > len(s.IDs) || o.Method == model.MethodFA && k == len(s.Items) {
			limit := "no more factors than either"
			if o.Method == model.MethodFA {
				limit = "fewer factors than items"
			}
			return questionnaire.Optionf("%q: %s for %s and %s, which allow %s", s.File, wording.Count(k, "factor"),
				wording.Count(len(s.Items), "item"), wording.Count(len(s.IDs), "participant"), limit)
		}
	}
	return nil
}

// Solver returns the settings of a fit of that many factors.
func (o *Options) Solver(s *Study, factors int, beta float64) icqf.Settings {
	settings := icqf.Settings{
		Scaled: true, Rank: factors, L1: beta, L2: o.Ridge, Inner: o.Inner, MaxIter: o.MaxIter,
		RelTol: solver.TolOrOff(o.RelTol), Seed: o.Seed, Threads: o.Threads,
	}
	if o.BoundLoadings {
		settings.MaxLoading = s.scale.High
	}
	return settings
}

// Read returns the Table, or reads the Input.
func (o *Options) Read() (*answers.Table, error) {
	if o.Table != nil {
		return o.Table, nil
	}
	return answers.Read(o.Input, &o.Columns)
}

// Begin checks the options, reads the input, and fills in the candidates. If ctx ends meanwhile, it returns its cause.
func (o *Options) Begin(ctx context.Context) (*Study, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	t, err := o.Read()
	if err != nil {
		return nil, err
	}
	t.Warnings = o.warnings(t)
	s, err := newStudy(t, &o.Columns)
	if err == nil {
		err = o.decideMissing(ctx, s)
	}
	if o.Remark != nil {
		if o.Columns.Visits == nil { // which turns the subscales into bins of time
			t.Opposed = Opposed(t, o.Threads)
		}
		o.Remark(t.Remarks)
	}
	if err != nil {
		return nil, err
	}
	if s.Known == nil && o.PenalizeIntercept {
		return nil, questionnaire.Optionf("there is no intercept to penalize without confounds")
	}
	s.intercept = s.Known != nil && !o.PenalizeIntercept
	if o.EqualRanges {
		s.stretches = stretches(s.Items, o.Columns.FromLow, s.scale.High)
	}
	return s, o.complete(s)
}

// Fit factorizes the answers. When ctx ends before, it returns an error that wraps the context's.
func Fit(ctx context.Context, o Options) (*model.Fitted, error) {
	begin := time.Now()
	s, err := o.Begin(ctx)
	if err != nil {
		return nil, err
	}
	loaded := time.Now()
	choice, err := o.Choose(ctx, s)
	if err != nil {
		return nil, err
	}
	best := choice.Fitted
	seconds := model.Seconds{Load: loaded.Sub(begin).Seconds(), Choose: time.Since(loaded).Seconds()}
	learning := time.Now()
	l, err := o.Learn(ctx, s, s.Order, best)
	if err == nil {
		err = s.CheckLeft(l.Items)
	}
	if err != nil {
		return nil, fmt.Errorf("factorizing %q: %w", o.Input, err)
	}
	seconds.Solve = time.Since(learning).Seconds() // of methods that do not say it
	m := o.model(s, l, choice.Choice, best)
	m.Summary.Seconds, m.Summary.Parallel, m.Summary.Decision = seconds, choice.parallel, choice.Decision
	m.Summary.Scree = choice.scree
	scores, err := l.describe(&m, &o)
	if err != nil {
		return nil, fmt.Errorf("describing the fit: %w", err)
	}
	answers := linalg.SelectRows(s.Answers, s.Order)
	m.Summary.Known = s.knownOf()
	left, err := describe(&m, icqf.Data{Answers: answers, Confounds: l.Known(s.Order)}, scores, o.Threads)
	if err != nil {
		return nil, err
	}
	var careless [][]string
	if o.Table == nil && o.Columns.Visits == nil {
		m.Summary.Careless, careless = s.careless(left, o.Columns.FromLow)
	}
	errs, err := FactorsOf(&m).StandardErrors(answers)
	if err != nil {
		return nil, fmt.Errorf("describing the scores: %w", err)
	}
	measured := measuredOf(&m, answers, errs)
	if o.Assess != nil {
		if err := o.Assess(ctx, &o,
			&Outcome{Learnt: l, Study: s, Candidate: best, Scores: scores, Measured: measured, Model: &m}); err != nil {
			return nil, err
		}
	}
	m.Summary.FactorFits = factorFits(&m, scores, errs, measured)
	m.CountLoadings(errs)
	warn(&m, scores, &s.Remarks)
	doubts := slices.Concat(l.doubts(o.Correlation, m.Summary.Missing), vague(m.Summary.FactorFits, len(l.Rows)),
		unreliable(m.Summary.FactorFits), unstable(m.Summary.Bootstrap, m.Summary.EmptyFactors))
	if d := &m.Summary.Decision; d.Criteria != nil {
		begin := time.Now()
		doubts = slices.Concat(doubts, o.unsteady(ctx, s, d), l.thin(&m.Summary))
		m.Summary.Seconds.Choose += time.Since(begin).Seconds()
	}
	m.Summary.Warnings = append(m.Summary.Warnings, slices.Concat(lacking(s.Lacking), choice.Warnings, doubts)...)
	if w := o.UnusedConfounds(); w != "" {
		m.Summary.Warnings = append(m.Summary.Warnings, w)
	}
	inFile := func(ordered *mat.Dense) *mat.Dense {
		a := linalg.NewLike(ordered)
		for row, i := range s.Order {
			a.SetRow(i, ordered.RawRowView(row))
		}
		return a
	}
	if o.Scores.Sums {
		m.Summary.Sums = model.SumScales(s.Items, answers, linalg.Threads(o.Threads))
	}
	out, few, err := o.Scores.scores(s.Table, inFile(scores), inFile(errs), m.Summary.Sums)
	if err != nil {
		return nil, err
	}
	m.Summary.TooFew = len(few)
	return &model.Fitted{
		Model: m, Scores: out, TooFew: few, Unsure: choice.Warnings, Doubts: doubts, Input: o.Input, Careless: careless,
	}, nil
}

// model returns the model of a fit, without its numbers.
func (o *Options) model(s *Study, l *Learnt, choice *Choice, of solver.Candidate) model.Model {
	m := model.Model{
		Format: model.Format, Items: s.Items, ID: o.Columns.ID, Numbered: s.Numbered, Missing: o.Columns.Missing,
		FromLow: o.Columns.FromLow, Visits: o.Columns.Visits, VisitItems: s.VisitItems,
		CreatedAt: time.Now().UTC().Truncate(time.Second),
	}
	m.Summary = model.Summary{
		Method: o.Method, Status: l.Status.String(), Factors: of.Factors, Beta: of.Beta,
		BCV: choice.Curve, OneStandardErrorFactors: choice.OneStandardErrorFactors, BCVUnconverged: choice.Unconverged,
		Participants: len(s.IDs), Unanswered: len(s.Unanswered), Incomplete: len(s.Incomplete),
		Trace: []solver.TracePoint{}, Warnings: append([]string{}, s.Warnings...),
		Settings: model.Settings{
			Input: o.Input, InputSHA256: s.SHA256, Range: s.scale, Command: o.Command, Learning: o.Learning,
			Scores: o.ScoreKind,
		},
		Version: o.Version,
	}
	m.Summary.Settings.Threads = linalg.Threads(o.Threads).Limit()
	if o.Method != model.MethodFA {
		m.Summary.Settings.Extraction, m.Summary.Settings.Rotation = "", ""
		m.Summary.Settings.Correlation, m.Summary.Settings.Missing, m.Summary.Settings.Scores = "", "", ""
	}
	return m
}

func lacking(all []answers.Lacking) (warnings []string) {
	for _, l := range all {
		warnings = append(warnings, fmt.Sprintf("none of the %d participants with %s %s answered %s, which others "+
			"answered: missing answers alone reveal the group",
			l.Participants, l.Column, strings.Join(l.Groups, ", "), strings.Join(l.Scales, ", ")))
	}
	return warnings
}

func (s *Study) knownOf() []model.Known {
	known := []model.Known{}
	for k, c := range s.confounds {
		numbers, levels := s.Values(k, s.Order)
		d := model.Known{Name: c.Name}
		if c.Kind == questionnaire.Numeric {
			d.Mean, d.Deviation = stat.MeanStdDev(numbers, nil)
			d.Low, d.High = slices.Min(numbers), slices.Max(numbers)
		}
		participants := map[string]int{}
		for _, level := range levels {
			participants[level]++
		}
		for _, level := range c.Levels {
			d.Levels = append(d.Levels, model.Level{Level: level, Participants: participants[level]})
		}
		known = append(known, d)
	}
	return known
}

// emptyFactors counts the factors whose loadings or scores are all 0.
func emptyFactors(loadings, scores *mat.Dense) (empty int) {
	for t := range scores.RawMatrix().Cols {
		if mat.Norm(scores.ColView(t), 2) == 0 || mat.Norm(loadings.ColView(t), 2) == 0 {
			empty++
		}
	}
	return empty
}

// warn fills in the warnings. Empty factors have the smallest size, 0, and so come last.
func warn(m *model.Model, scores *mat.Dense, of *answers.Remarks) {
	s := &m.Summary
	s.EmptyFactors = emptyFactors(m.Loadings(), scores)
	const empty = "factors are empty, all their scores or loadings are 0: the penalties leave nothing of them"
	switch {
	case s.EmptyFactors == s.Factors:
		s.Warnings = append(s.Warnings, fmt.Sprintf("all %d %s", s.Factors, empty))
	case s.EmptyFactors > 0:
		s.Warnings = append(s.Warnings, fmt.Sprintf("the last %d of %d %s", s.EmptyFactors, s.Factors, empty))
	}
	if a := of.Apart; a != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("the ranges of items are those of the answers in the file, and %s "+
			"far from all others (%v): codes of missing entries must be named",
			wording.Count(a.Answers, "answer is", "answers are"), a.Range))
	}
	if a := of.ApartConfounds; a != nil {
		s.Warnings = append(s.Warnings, fmt.Sprintf("%s far from all others (%v, first in %s): name codes of missing "+
			"entries", wording.Count(a.Answers, "value of confounds is", "values of confounds are"), a.Range, a.Column))
	}
}

// describe fills in what the summary says of the answers. It returns the answers less their reconstruction.
func describe(m *model.Model, data icqf.Data, scores *mat.Dense, threads int) (*mat.Dense, error) {
	r, err := FactorsOf(m).Reconstruct(scores, data.Confounds)
	if err != nil {
		return nil, fmt.Errorf("describing the fit: %w", err)
	}
	n, p := data.Answers.Dims()
	var left, weighed, all, missing float64 // squares: residual, weighted residual, weighted
	m.Summary.Items = make([]model.ItemFit, p)
	for j, mean := range linalg.ColumnMeans(data.Answers) {
		var seen, residual, variance float64
		for i := range n {
			if v := data.Answers.At(i, j); !math.IsNaN(v) {
				seen++
				residual += (v - r.At(i, j)) * (v - r.At(i, j))
				variance += (v - mean) * (v - mean)
			}
		}
		m.Summary.Items[j] = model.ItemFit{
			Item: m.Items[j].Name, Missing: 1 - seen/float64(n), Mean: mean, Explained: explained(residual, variance),
		}
		if m.FA != nil {
			common := 1 - m.FA.Uniquenesses[j]
			m.Summary.Items[j].Communality = &common
		}
		weight := m.ICQF.Weight(j)
		left, weighed, all, missing = left+residual, weighed+weight*residual, all+weight*variance,
			missing+float64(n)-seen
	}
	m.Summary.Explained, m.Summary.Missing = explained(weighed, all), missing/float64(n*p)
	m.Summary.ReconstructionError = left / (float64(n*p) - missing)
	r.Sub(data.Answers, r)
	supplement(m, scores, r, linalg.Threads(threads))
	return r, nil
}

// explained returns 1 − residual/variance, 0 if that is not finite.
func explained(residual, variance float64) float64 {
	if e := 1 - residual/variance; !math.IsNaN(e) && !math.IsInf(e, 0) {
		return e
	}
	return 0
}

// largestFirst orders the factors by how much they add to all answers, Σ W·Σ Q.
func largestFirst(scores, loadings *mat.Dense) []int {
	_, k := scores.Dims()
	size := func(t int) float64 { return mat.Sum(scores.ColView(t)) * mat.Sum(loadings.ColView(t)) }
	return linalg.Order(k, func(s, t int) int { return cmp.Compare(size(t), size(s)) })
}

// mostResiduals is the largest number of pairs of items that a summary names.
const mostResiduals = 20

// supplement adds the correlations of the scores, n×k, and of the answers less their reconstruction, n×p, to the
// summary of a method without correlated factors.
func supplement(m *model.Model, scores, left *mat.Dense, threads linalg.Threads) {
	if m.FA != nil {
		return
	}
	k, between := m.Summary.Factors, &mat.SymDense{}
	stat.CorrelationMatrix(between, scores, nil)
	m.Summary.ScoreCorrelations = lists.Make(k, func(t int) []questionnaire.Figure {
		return lists.Make(k, func(u int) questionnaire.Figure { return questionnaire.Figure(between.At(t, u)) })
	})
	c, _ := threads.Covariances(left)
	m.Summary.Residuals = residuals(m.Items, func(i, j int) float64 {
		return c.At(i, j) / math.Sqrt(c.At(i, i)*c.At(j, j))
	})
}

// residuals describes the correlations of items that a solution leaves; NaN is none.
func residuals(items []questionnaire.Item, of func(i, j int) float64) *model.Residuals {
	all := []model.ResidualPair{}
	var squares float64
	for i := range items {
		for j := range i {
			if v := of(i, j); !math.IsNaN(v) && !math.IsInf(v, 0) {
				squares += v * v
				all = append(all, model.ResidualPair{First: items[j].Name, Second: items[i].Name, Correlation: v})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b model.ResidualPair) int {
		return cmp.Compare(math.Abs(b.Correlation), math.Abs(a.Correlation))
	})
	return &model.Residuals{
		RootMeanSquare: math.Sqrt(squares / float64(max(1, len(all)))), Largest: all[:min(len(all), mostResiduals)],
	}
}
