package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/grm"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/nmf"
	"github.com/wardcast/wardcast/solver/rank"
)

// Learnt is a method fitted to some participants of a Study.
type Learnt struct {
	// Rows are the training participants, by their numbers in the study. All answered some of the Items.
	Rows, Items []int
	// Loadings has a row for each of the items.
	Loadings *mat.Dense
	// Status says why the updates ended.
	Status solver.Status

	study      *Study
	iterations int
	objective  float64 // with all penalties, that of an intercept too
	// The fit of the method; for l1-nmf without Scores, which are those of the model.
	icqf      *icqf.Result
	fa        *FA
	fit       *factoranalysis.GoodnessOfFit
	residuals *model.Residuals
	extreme   [][2]int // pairs of Items with a polychoric correlation of 1 or −1
	graded    *grm.Model
	missing   missingAnswers           // of factor analysis
	errors    *model.Precision         // of its loadings, nil if there are none
	confounds []questionnaire.Confound // that it uses
}

// errFewItems says that the answers of a fit do not allow so many factors.
var errFewItems = errors.New("too few items")

// Learn fits the method of the options to these participants, in this order, and the items that vary among them. For
// factor analysis, items that the confounds explain fully are left out too.
//
// It returns the cause of ctx if that ends first, and a questionnaire.ErrOptions for more factors than items.
func (o *Options) Learn(ctx context.Context, s *Study, rows []int, c solver.Candidate) (*Learnt, error) {
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	l := &Learnt{Items: s.Varying(rows), study: s}
	if o.usesConfounds() {
		l.confounds = s.confounds
	}
	l.Rows = s.Answering(rows, l.Items)
	err := error(nil)
	switch {
	case len(l.Items) < c.Factors:
		err = questionnaire.Optionf("%w: %d factors for %d items", errFewItems, c.Factors, len(l.Items))
	case o.Method == model.MethodL1:
		err = o.learnL1(ctx, l, c.Factors)
	case o.Method == model.MethodFA:
		err = o.learnFA(ctx, l, c.Factors)
	case o.Method == model.MethodGRM:
		err = o.learnGRM(ctx, l, c.Factors)
	default:
		err = o.learnICQF(ctx, l, c)
	}
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w%s", err, s.without(l.Items))
	case l.Status == solver.Cancelled:
		return nil, fmt.Errorf("after %d updates: %w", l.iterations, context.Cause(ctx))
	case l.Status == solver.NonFinite:
		return nil, fmt.Errorf("update %d: %w", l.iterations, l.Status.Err())
	}
	return l, nil
}

// Each does jobs 0 … count−1 on as many goroutines as the options have threads, each with options for one thread.
// Progress, when not nil, is called after each job, one call at a time. A job that fails, but for the end of ctx,
// leaves its error in failed and lets the others run.
func (o *Options) Each(ctx context.Context, count int, progress func(done, total int),
	job func(ctx context.Context, alone *Options, i int) error,
) (failed []error, err error) {
	alone := *o
	alone.Recorder, alone.Threads, alone.quick = nil, 1, true
	failed = make([]error, count)
	jobs := rank.Jobs{Threads: o.Threads, Progress: progress}
	return failed, jobs.Each(ctx, count, func(ctx context.Context, i int) error {
		if failed[i] = job(ctx, &alone, i); ctx.Err() != nil {
			return failed[i]
		}
		return nil
	})
}

// Factors returns the Factors that score participants by their answers to the Items.
func (l *Learnt) Factors() Factors {
	if l.fa != nil {
		return l.fa
	}
	return &l.icqf.Model
}

// Stretched returns the loadings as (*icqf.Model).Stretch: items of different ranges can be compared by these.
func (l *Learnt) Stretched() *mat.Dense {
	if l.fa != nil {
		return l.Loadings
	}
	return l.icqf.Stretch(l.Loadings)
}

// Score returns the scores of participants of the study, n×k, from their answers to the Items and the loadings alone.
func (l *Learnt) Score(rows []int) (*mat.Dense, error) {
	return l.Factors().Score(l.study.AnswersOf(rows, l.Items), l.Known(rows))
}

// Known returns the confounds of these participants in the form that the method uses.
func (l *Learnt) Known(rows []int) *mat.Dense {
	if l.confounds == nil {
		return nil
	}
	return linalg.SelectRows(l.study.Known, rows)
}

// data returns the training data, with stretched answers.
func (l *Learnt) data() icqf.Data {
	data := l.study.Data(l.Rows)
	if len(l.Items) < len(l.study.Items) {
		data.Answers = linalg.SelectColumns(data.Answers, l.Items)
	}
	return data
}

func (o *Options) learnICQF(ctx context.Context, l *Learnt, c solver.Candidate) (err error) {
	data := l.data()
	settings := o.Solver(l.study, c.Factors, c.Beta)
	settings.Recorder = o.Recorder
	if l.icqf, err = icqf.Fit(ctx, data, settings); err != nil {
		return err
	}
	l.Status, l.iterations, l.objective = l.icqf.Status, l.icqf.Iterations, l.icqf.Objective+l.interceptPenalty()
	order := largestFirst(l.icqf.Scores, l.icqf.Loadings)
	l.icqf.Scores, l.icqf.Loadings = linalg.SelectColumns(l.icqf.Scores, order),
		linalg.SelectColumns(l.icqf.Loadings, order)
	l.study.unstretch(&l.icqf.Model, l.Items)
	l.Loadings = l.icqf.Loadings
	return nil
}

// interceptPenalty returns the penalty that the loadings of the intercept would have.
func (l *Learnt) interceptPenalty() (penalty float64) {
	if !l.study.intercept {
		return 0
	}
	r := l.icqf
	items, c := r.ConfoundLoadings.Dims()
	for j := range items {
		q := r.ConfoundLoadings.At(j, c-1)
		penalty += r.LoadingsL1*q + r.LoadingsL2/2*q*q
	}
	return penalty
}

// learnFA analyses the factors of the answers less the confounds' effects.
func (o *Options) learnFA(ctx context.Context, l *Learnt, factors int) (err error) {
	l.fa = &FA{threads: o.Threads}
	x, known, err := o.used(l.study.AnswersOf(l.Rows, l.Items), l.Known(l.Rows))
	if err != nil {
		return err
	}
	leave := func(left []int) error { // the items that the confounds do not explain fully
		if len(left) <= factors {
			return questionnaire.Optionf("%w: %d factors for the %d items that the confounds do not explain fully, "+
				"among %d participants", errFewItems, factors, len(left), len(l.Rows))
		}
		l.Items, l.Rows = left, l.study.Answering(l.Rows, left)
		return o.learnFA(ctx, l, factors)
	}
	given, regressed := x, 0
	if known != nil {
		if x, l.fa.ConfoundLoadings, err = WithoutConfounds(x, known); err != nil {
			return err
		}
		regressed = independent(known) - 1 // the intercept is a mean
		if left := lists.Take(l.Items, undetermined(x)); len(left) < len(l.Items) || len(left) <= factors {
			return leave(left)
		}
	}
	var m *factoranalysis.Model
	kind, err := o.correlating(o.kind(), func(kind factoranalysis.Kind) (err error) {
		m, err = factoranalysis.Fit(ctx, x, factoranalysis.Settings{
			Factors: factors, Extraction: factoranalysis.Extraction(o.Extraction),
			Rotation: factoranalysis.Rotation(o.Rotation), Target: o.targetOf(lists.Take(l.study.Items, l.Items)),
			Correlation: kind, Regressed: regressed, Answers: given, Confounds: known, Quick: o.quick,
			Threads: o.Threads,
		})
		return err
	})
	if at, ok := errors.AsType[*factoranalysis.ItemError](err); ok {
		switch {
		case at.Reason == factoranalysis.Determined:
			return leave(slices.Delete(slices.Clone(l.Items), at.Item, at.Item+1))
		case known != nil && kind != factoranalysis.Polychoric:
			at.Reason += ", once the confounds' effects are subtracted"
		}
		return l.itemError(at)
	}
	if err == nil && math.IsNaN(m.Fit.RMSR) {
		err = questionnaire.Optionf("no correlation can be computed: no pair of items has two participants who " +
			"answered both differently")
	}
	if err != nil {
		return err
	}
	l.fit = &m.Fit
	if kind == factoranalysis.Polychoric {
		l.extreme = factoranalysis.Extreme(m.Correlations.Raw)
	}
	if !o.quick {
		left := mat.NewDense(len(l.Items), len(l.Items), nil)
		left.Sub(m.Correlations.R, m.Implied())
		for _, pair := range m.Correlations.Unknown {
			left.Set(max(pair[0], pair[1]), min(pair[0], pair[1]), math.NaN())
		}
		l.residuals = residuals(lists.Take(l.study.Items, l.Items), left.At)
	}
	if known == nil && !o.quick {
		l.errors = precision(m)
	}
	l.fa.FA = model.FA{
		Loadings: m.Loadings, Phi: m.Phi, Uniquenesses: m.Uniquenesses, Means: m.Means, Deviations: m.Deviations,
		ScoreCorrelations: m.ScoreCorrelations, ConfoundLoadings: l.fa.ConfoundLoadings, Scores: o.ScoreKind,
	}
	n, p := x.Dims()
	l.missing = missingAnswers{method: o.Missing, participants: n}
	if kind != factoranalysis.FullInformation && o.Missing == model.FIML {
		l.missing.method = model.Pairwise
	}
	if s := m.Correlations.Saturated; s != nil {
		l.missing.covariance = s.Covariance
	}
	for _, pair := range factoranalysis.NeverTogether(
		factoranalysis.Patterns(l.study.AnswersOf(l.Rows, l.Items)), p) {
		l.missing.apart = append(l.missing.apart, [2]int{l.Items[pair[0]], l.Items[pair[1]]})
	}
	pairs := p*(p-1)/2 - len(m.Correlations.Unknown)
	l.objective = m.Fit.RMSR * m.Fit.RMSR * float64(pairs) // half the sum of squares off the diagonal, each twice
	l.Loadings, l.Status = l.fa.Loadings, solver.IterationLimit
	if m.Converged {
		l.Status = solver.Converged
	}
	return nil
}

// mostParameters bounds those that standard errors are computed of: the cost grows with the cube, to some ten seconds.
const mostParameters = 1500

// precision returns the standard errors of maximum likelihood, nil if there are none.
func precision(m *factoranalysis.Model) *model.Precision {
	if p, k := m.Loadings.Dims(); m.Unrotated == nil || p*(k+2) > mostParameters {
		return nil
	}
	information := cfa.Information(m.Unrotated)
	if information == nil {
		return nil
	}
	loadings, phi := m.Unrotated.StandardErrors(information)
	if loadings == nil {
		return nil
	}
	errs := &model.Precision{Loadings: *intervals(m.Loadings, loadings)}
	if phi != nil {
		errs.FactorCorrelations = intervals(m.Phi, phi)
	}
	return errs
}

// intervals returns normal intervals of 95 %.
func intervals(values, errs *mat.Dense) *model.Intervals {
	const normal = 1.96
	low, high := linalg.NewLike(values), linalg.NewLike(values)
	low.Apply(func(i, j int, v float64) float64 { return v - normal*errs.At(i, j) }, values)
	high.Apply(func(i, j int, v float64) float64 { return v + normal*errs.At(i, j) }, values)
	return &model.Intervals{Errors: rowsOf(errs), Low: rowsOf(low), High: rowsOf(high)}
}

// names returns the names of the Items at these places.
func (l *Learnt) names(at []int) []string { return l.study.Names(lists.Take(l.Items, at)) }

// itemError names the item of an error.
func (l *Learnt) itemError(at *factoranalysis.ItemError) error {
	return &table.Error{File: l.study.File, Column: l.names([]int{at.Item})[0], Err: errors.New(at.Reason)}
}

// missingAnswers says what factor analysis did about missing answers.
type missingAnswers struct {
	method       string // one of model.MissingMethods
	participants int    // whose answers it used
	covariance   *mat.SymDense
	apart        [][2]int // items that nobody answered together
}

// rows returns the covariances of full information, NaN for items that nobody answered together.
func (a *missingAnswers) rows() (rows [][]questionnaire.Figure) {
	if a.covariance == nil {
		return nil
	}
	p := a.covariance.SymmetricDim()
	for i := range p {
		rows = append(rows, lists.Make(p, func(j int) questionnaire.Figure {
			if slices.Contains(a.apart, [2]int{min(i, j), max(i, j)}) {
				return questionnaire.Figure(math.NaN())
			}
			return questionnaire.Figure(a.covariance.At(i, j))
		}))
	}
	return rows
}

func independent(a *mat.Dense) int {
	const rounding = 1e-10
	var svd mat.SVD
	if !svd.Factorize(a, mat.SVDNone) {
		return a.RawMatrix().Cols
	}
	return svd.Rank(rounding)
}

// learnL1 runs the non-negative factorization with ℓ1 penalties, whose weights depend on the scale of the answers, with
// the mean of the item for each missing answer. Its factors are scaled so that the largest score is 1. Participants are
// then scored by their own answers, as by ICQF.
func (o *Options) learnL1(ctx context.Context, l *Learnt, factors int) error {
	method, err := nmf.NewL1(nil, nil)
	if err != nil {
		return err
	}
	given := l.data().Answers
	x := linalg.Filled(given, linalg.ColumnMeans(given))
	r, err := solver.Solve(ctx, x, solver.Settings{
		Rank: factors, MaxIter: o.MaxIter,
		RelTol: solver.TolOrOff(o.RelTol), Seed: o.Seed, Threads: o.Threads, Recorder: o.Recorder,
	}, method)
	if err != nil {
		return err
	}
	unit := mat.Max(r.Scores)
	if !(unit > 0) {
		unit = 1
	}
	_, weight := method.Weights(x, factors) // of answers to all items, as the means are given
	order := largestFirst(r.Scores, r.Topics)
	l.icqf = &icqf.Result{
		Model: icqf.Model{
			Loadings: linalg.SelectColumns(r.Topics, order), L1: weight * unit,
			Answers: float64(len(l.Items)), Threads: o.Threads,
		},
		Trace: r.Trace, Seconds: r.Seconds,
	}
	l.icqf.Loadings.Scale(unit, l.icqf.Loadings)
	l.study.unstretch(&l.icqf.Model, l.Items)
	l.Loadings, l.Status, l.iterations, l.objective = l.icqf.Loadings, r.Status, r.Iterations, r.Objective
	return nil
}

// describe completes a model. It returns the scores: for ICQF those of the factorization, otherwise those of Score.
func (l *Learnt) describe(m *model.Model, o *Options) (scores *mat.Dense, err error) {
	m.Confounds, m.Summary.Iterations, m.Summary.Objective = l.confounds, l.iterations, l.objective
	if l.fa != nil {
		m.FA = &l.fa.FA
		m.Summary.FactorCorrelations, m.Summary.Accounted = rowsOf(l.fa.Phi), l.fa.accounted()
		if l.fit != nil {
			m.Summary.Fit, m.Summary.Residuals, m.Summary.StandardErrors = goodness(l.fit), l.residuals, l.errors
			m.Summary.MissingMethod, m.Summary.Covariance = l.missing.method, l.missing.rows()
			apart := len(l.missing.apart)
			m.Summary.PairsNeverTogether = &apart
		}
		scores, err = l.Score(l.Rows)
		if err == nil && l.graded != nil {
			l.describeGraded(m, scores)
		}
		return scores, err
	}
	r := l.icqf
	m.ICQF, m.Summary.OutsideRange = r.Model, r.Outside
	m.Summary.Seconds.Init, m.Summary.Seconds.Solve = r.Seconds.Init, r.Seconds.Solve
	if o.Trace {
		m.Summary.Trace = r.Trace
	}
	m.Summary.Penalties = model.Penalties{
		Scores: r.L1, Loadings: r.LoadingsL1, ScoresRidge: r.L2, LoadingsRidge: r.LoadingsL2, Answers: r.Answers,
	}
	answers, known := l.study.AnswersOf(l.Rows, l.Items), l.Known(l.Rows)
	if err := m.ICQF.Calibrate(answers, known); err != nil {
		return nil, err
	}
	scores, m.ICQF.Noise, err = m.ICQF.Residuals(answers, known)
	return cmp.Or(r.Scores, scores), err
}

func goodness(g *factoranalysis.GoodnessOfFit) *model.GoodnessOfFit {
	figure := func(v float64) questionnaire.Figure { return questionnaire.Figure(v) }
	return &model.GoodnessOfFit{
		RMSR:  figure(g.RMSR),
		RMSEA: model.RMSEA{Value: figure(g.RMSEA.Value), Low: figure(g.RMSEA.Low), High: figure(g.RMSEA.High)},
		TLI:   figure(g.TLI), CFI: figure(g.CFI), BIC: figure(g.BIC), ChiSquare: figure(g.ChiSquare),
		DF: g.DF, P: figure(g.P),
	}
}

func rowsOf(a *mat.Dense) [][]float64 {
	n, _ := a.Dims()
	return lists.Make(n, func(i int) []float64 { return mat.Row(nil, i, a) })
}
