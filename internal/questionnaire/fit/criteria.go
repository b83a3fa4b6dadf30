package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/rank"
)

// A parallel analysis draws about drawnAnswers random answers, to be quick, in fewestDraws to rank.DefaultDraws draws.
const (
	drawnAnswers = 1_000_000
	fewestDraws  = 20
)

// mostReduced is the number of items above which parallel analysis counts components instead of factors, for speed.
// It counts them with normal draws; factors of a method that is not factor analysis are those of rank's Strict.
const mostReduced = 150

// What a parallel analysis counts.
const (
	ofComponents = "component"
	ofFactors    = "factor"
)

// Parallel is the outcome of a parallel analysis.
type Parallel struct {
	// Of names the matrix of the eigenvalues: "component", or "factor" with communalities on the diagonal.
	Of string `json:"of"`
	// Suggested is the number of factors; nil if undefined, and Reason says why.
	Suggested *int `json:"suggested"`
	// Eigenvalues are those of the correlations, Reference the 95 % quantiles of those of random answers; descending.
	Eigenvalues []float64 `json:"eigenvalues"`
	Reference   []float64 `json:"reference"`
	Draws       int       `json:"draws"`
	Reason      string    `json:"reason,omitempty"`
	// Correlation is the kind of the correlations if it is not Pearson's by pairs, or not the one of the options.
	Correlation factoranalysis.Kind `json:"correlation,omitempty"`
}

// MAP is the outcome of Velicer's minimum average partial test.
type MAP struct {
	// Suggested is the number of components with the least mean; nil if undefined, and Reason says why.
	Suggested *int `json:"suggested"`
	// Curve holds the mean squared partial correlation after 0, 1, 2 … components.
	Curve  []float64 `json:"curve"`
	Reason string    `json:"reason,omitempty"`
	// Correlation is as in Parallel.
	Correlation factoranalysis.Kind `json:"correlation,omitempty"`
}

// SimpleStructure is the comparison of models in which each item loads on one factor alone.
type SimpleStructure struct {
	// Suggested is the number of factors of the least BIC; nil if undefined, and Reason says why.
	Suggested *int               `json:"suggested"`
	Curve     []rank.SimplePoint `json:"curve"`
	Reason    string             `json:"reason,omitempty"`
}

// Others are the outcomes of the criteria other than cross-validation.
type Others struct {
	Parallel *Parallel `json:"parallel"`
	MAP      *MAP      `json:"map"`
	// Simple is zero unless the search for icqf is free, for up to mostReduced items.
	Simple SimpleStructure `json:"simple_structure,omitzero"`
}

// others computes the criteria other than cross-validation.
func (o *Options) others(ctx context.Context, s *Study) (others Others, err error) {
	if others.Parallel, err = o.Parallel(ctx, s); err != nil {
		return others, err
	}
	if others.MAP, err = o.MAP(ctx, s); err != nil {
		return others, err
	}
	if o.Method == model.MethodICQF && o.MostFactors > 0 && !o.Fewest && len(s.Items) <= mostReduced {
		others.Simple, err = o.simple(ctx, s)
	}
	return others, err
}

// String returns the outcome as one line.
func (p *Parallel) String() string {
	if p.Suggested == nil {
		return "Parallel analysis: none, " + p.Reason + "."
	}
	return fmt.Sprintf("Parallel analysis%s: %s above the 95 %% quantile of %d random draws.", of(p.Correlation),
		wording.Count(*p.Suggested, p.Of), p.Draws)
}

// String returns the outcome as one line.
func (m *MAP) String() string {
	if m.Suggested == nil {
		return "Velicer's MAP: none, " + m.Reason + "."
	}
	return fmt.Sprintf("Velicer's MAP%s: %s, mean squared partial correlation %.4g.", of(m.Correlation),
		wording.Count(*m.Suggested, "component"), m.Curve[*m.Suggested])
}

// String returns the outcome as one line.
func (s SimpleStructure) String() string {
	if s.Suggested == nil {
		return "Simple structures: none, " + s.Reason + "."
	}
	return fmt.Sprintf("Simple structures: %s, the lowest BIC of those whose factors correlate by at most %v.",
		wording.Count(*s.Suggested, "factor"), rank.MostAlike)
}

// of names the correlations that a criterion uses.
func of(kind factoranalysis.Kind) string {
	if kind == "" {
		return ""
	}
	return fmt.Sprintf(" of %s correlations", kind)
}

// taken returns the number of factors of a factor analysis if none is given; 0 if none is suggested.
func (p *Parallel) taken(s *Study) int {
	if p.Suggested == nil {
		return 0
	}
	return min(max(1, *p.Suggested), mostFactors(min(len(s.Items), len(s.IDs))))
}

// Parallel compares the eigenvalues of the answers' correlations with those of random answers. The correlations are
// those of criterion. If the outcome is undefined, Reason says why; the error is the
// context's, or a *table.Error for an item without polychoric correlations.
func (o *Options) Parallel(ctx context.Context, s *Study) (*Parallel, error) {
	n, p := s.Answers.Dims()
	return o.parallel(ctx, s, min(max(drawnAnswers/(n*p), fewestDraws), rank.DefaultDraws))
}

func (o *Options) parallel(ctx context.Context, s *Study, draws int) (*Parallel, error) {
	out := &Parallel{Of: ofComponents, Draws: draws, Eigenvalues: []float64{}, Reference: []float64{}}
	if len(s.Items) <= mostReduced {
		out.Of = ofFactors
	}
	components := out.Of == ofComponents
	var a *rank.ParallelAnalysis
	kind, undefined, err := o.criterion(ctx, s, components, func(x *mat.Dense, kind factoranalysis.Kind) (err error) {
		a, err = rank.Parallel(ctx, x, rank.ParallelSettings{
			Components: components, Correlation: kind, Draws: out.Draws,
			Strict: !components && !model.Standardized(o.Method),
			Jobs:   rank.Jobs{Seed: o.Seed, Threads: o.Threads},
		})
		return err
	})
	out.Correlation = kind
	at, ofItem := errors.AsType[*factoranalysis.ItemError](undefined)
	switch {
	case err != nil:
		return nil, err
	case ofItem && kind == factoranalysis.Polychoric:
		return nil, &table.Error{File: s.File, Column: s.Items[at.Item].Name, Err: errors.New(at.Reason)}
	case undefined != nil:
		out.Reason = undefined.Error()
	default:
		out.Suggested, out.Eigenvalues, out.Reference = &a.Suggested, a.Eigenvalues, a.Reference
	}
	return out, nil
}

// leastHalf is the least number of participants in a half that unsteady analyzes: factors of fewer are often missed, and
// so are those of no more participants than items.
const leastHalf, halvesStream = 100, 0x6861_6c76

// unsteady returns a warning if parallel analysis, or simple structures if they are followed, find another number of
// factors in a random half of the participants than in all.
func (o *Options) unsteady(ctx context.Context, s *Study, d *model.Decision) []string {
	by, all := "parallel analysis finds", d.Criteria.Parallel
	find := func(s *Study) (found *int, of string, err error) {
		p, err := o.parallel(ctx, s, fewestDraws)
		if err != nil {
			return nil, "", err
		}
		return p.Suggested, p.Of, nil
	}
	if d.Followed == model.SimpleStructure {
		by, all = "simple structures have", d.Criteria.SimpleStructure
		find = func(s *Study) (*int, string, error) {
			simple, err := o.simple(ctx, s)
			return simple.Suggested, ofFactors, err
		}
	}
	n, half := len(s.Order), *s
	least := max(leastHalf, len(s.Items)+1)
	foldOf := folds.Random(rand.New(rand.NewPCG(o.Seed, halvesStream)), n, 2)
	for fold := 0; fold < 2 && all != nil && n >= 2*least; fold++ {
		_, rows := folds.Split(foldOf, fold)
		half.Order = lists.Take(s.Order, rows)
		found, of, err := find(&half) // an item may not vary there, or ctx have ended
		if err == nil && found != nil && *found != *all {
			return []string{fmt.Sprintf("%s %s in all %d participants, but %d in a random half of them: other "+
				"participants may have another number", by, wording.Count(*all, of), n, *found)}
		}
	}
	return nil
}

// kind returns the correlations of the options.
func (o *Options) kind() factoranalysis.Kind {
	switch {
	case o.Method != model.MethodFA:
		return factoranalysis.Pearson
	case o.Missing == model.FIML:
		return factoranalysis.FullInformation
	}
	return factoranalysis.Kind(cmp.Or(o.Correlation, model.Pearson))
}

// correlating calls do with a kind of correlations, and if they are full-information ones by default, but the answers
// are too few for a likelihood, again with Pearson's by pairs. It returns the last kind.
func (o *Options) correlating(kind factoranalysis.Kind, do func(factoranalysis.Kind) error,
) (factoranalysis.Kind, error) {
	err := do(kind)
	if kind != factoranalysis.FullInformation || !errors.Is(err, factoranalysis.ErrSingular) {
		return kind, err
	}
	if o.byDefault {
		return factoranalysis.Pearson, do(factoranalysis.Pearson)
	}
	return kind, questionnaire.Optionf("full information: %w; too few participants answered, or an item is the sum of "+
		"others: --missing pairwise does without", err)
}

// MAP computes the test on the correlations of the answers, up to half as many components as items or
// participants. If the outcome is undefined, Reason says why.
func (o *Options) MAP(ctx context.Context, s *Study) (*MAP, error) {
	out := &MAP{}
	kind, undefined, err := o.criterion(ctx, s, false, func(x *mat.Dense, kind factoranalysis.Kind) error {
		c, err := factoranalysis.Correlate(ctx, x, kind, o.Threads)
		if err == nil {
			out.Curve, _, err = rank.FilledMAP(ctx, c)
		}
		return err
	})
	out.Correlation = kind
	switch {
	case err != nil:
		return nil, err
	case undefined != nil:
		out.Curve, out.Reason = []float64{}, undefined.Error()
	default:
		// With fewer participants than items, the rest after many components is rounding.
		n, p := s.Answers.Dims()
		out.Curve = out.Curve[:min(len(out.Curve), mostFactors(min(n, p))+1)]
		least := floats.MinIdx(out.Curve)
		out.Suggested = &least
	}
	return out, nil
}

// simple compares simple structures. If the outcome is undefined, Reason says why. Participants are as many as answered
// each pair of items, at least.
func (o *Options) simple(ctx context.Context, s *Study) (SimpleStructure, error) {
	out := SimpleStructure{Curve: []rank.SimplePoint{}}
	_, undefined, err := o.criterion(ctx, s, false, func(x *mat.Dense, kind factoranalysis.Kind) error {
		c, err := factoranalysis.Correlate(ctx, x, kind, o.Threads)
		if err != nil {
			return err
		}
		if c.Fewest <= len(s.Items) {
			return fmt.Errorf("only %s answered some pair of items, and there are %d items",
				wording.Count(c.Fewest, "participant"), len(s.Items))
		}
		suggested, curve, err := rank.SimpleStructures(ctx, c, c.Fewest)
		if suggested > 0 {
			out.Suggested, out.Curve = &suggested, curve
		}
		return err
	})
	switch {
	case undefined != nil:
		out.Reason = undefined.Error()
	case out.Suggested == nil:
		out.Reason = "too few items for a factor"
	}
	return out, err
}

// criterion does a criterion for the number of factors, with the answers to correlate and the kind of correlations:
// Pearson's of components, and of answers less the confounds' effects, which have no categories for polychoric ones.
// It returns the kind if a reader must be told, and why the criterion is undefined. The error is that of correlated, or
// the context's.
func (o *Options) criterion(ctx context.Context, s *Study, components bool,
	do func(x *mat.Dense, kind factoranalysis.Kind) error,
) (told factoranalysis.Kind, undefined, err error) {
	x, err := o.correlated(s)
	if err != nil {
		return "", nil, err
	}
	asked := o.kind()
	if components || asked == factoranalysis.Polychoric && len(o.Columns.Confounds) > 0 {
		asked = factoranalysis.Pearson
	}
	kind, undefined := o.correlating(asked, func(kind factoranalysis.Kind) error { return do(x, kind) })
	if kind != factoranalysis.Pearson || asked != o.kind() {
		told = kind
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%q: %w", o.Input, context.Cause(ctx))
	}
	return told, undefined, err
}

// correlated returns the answers to correlate, less the confounds' effects if the method uses confounds.
func (o *Options) correlated(s *Study) (*mat.Dense, error) {
	x, known := s.Data(s.Order).Answers, linalg.SelectRows(s.Known, s.Order)
	if !o.usesConfounds() {
		return x, nil
	}
	x, known, err := o.used(x, known)
	if err != nil {
		return nil, err
	}
	rest, _, err := WithoutConfounds(x, known)
	return rest, err
}

// used returns the answers that correlations are computed from, and their confounds: listwise those of participants who
// answered all items.
func (o *Options) used(x, known *mat.Dense) (_, _ *mat.Dense, err error) {
	if o.Missing != model.Listwise {
		return x, known, nil
	}
	n, p := x.Dims()
	rows := slices.DeleteFunc(linalg.Indices(n), func(i int) bool { return floats.HasNaN(x.RawRowView(i)) })
	if len(rows) <= p {
		return nil, nil, questionnaire.Optionf("listwise, %s of %d: too few answered all of the %s; --missing pairwise "+
			"or fiml uses the others too", wording.Count(len(rows), "participant"), n, wording.Count(p, "item"))
	}
	return linalg.SelectRows(x, rows), linalg.SelectRows(known, rows), nil
}

// decide returns which criterion fit follows; c is nil without a cross-validation.
//
// In the cross-validation of ICQF, a score is shrunk on its own, as if factors were uncorrelated: with few items a
// factor, one factor of all items then predicts a held-out answer better than the score of the answer's own factor. So
// it misses factors that are correlated, or many for the participants, but invents none; parallel analysis is followed
// if it finds more. In the simulation of the paper, whose factors are separate, it sometimes finds one less. Simple
// structures are followed if they find more than both: among few participants, both miss factors that correlate. They
// alone would find factors in noise, and halves of one factor: parallel analysis must find two. And where
// cross-validation finds no fewer than that, factors are separate, and items that load on several may look like one
// factor more to simple structures: in 28 of 60 questionnaires of that simulation they do.
func (o *Options) decide(c *Choice, others Others) model.Decision {
	d := model.Decision{
		Criteria: &model.Criteria{
			Parallel: others.Parallel.Suggested, MAP: others.MAP.Suggested, SimpleStructure: others.Simple.Suggested,
		},
		Followed: model.CrossValidation,
	}
	switch {
	case c == nil:
	case o.Fewest:
		d.Criteria.CrossValidation = &c.OneStandardErrorFactors
	default:
		d.Criteria.CrossValidation = &c.Factors
	}
	sought, by := o.sought(others)
	switch {
	case model.Standardized(o.Method) && o.MostFactors > 0:
		d.Followed, d.Because = model.ParallelAnalysis, "this method uses its number unless candidates are given"
	case o.Fewest:
		d.Because = "the fewest factors within one standard error were asked for"
	case o.MostFactors == 0:
		d.Because = "the candidates were given"
	case o.Method != model.MethodICQF:
		d.Because = "it is the criterion of this method"
	case by == "":
		d.Because = "parallel analysis suggests no number, or more factors than the search tries"
	case c.Factors >= sought:
		d.Because = "it finds no fewer factors than parallel analysis"
	case by == model.SimpleStructure && c.Factors >= *others.Parallel.Suggested:
		d.Because = "it finds no fewer factors than parallel analysis, and simple structures may split factors"
	case by == model.SimpleStructure:
		d.Followed, d.Because = by, "the others miss factors that correlate"
	default:
		d.Followed = by
		d.Because = "cross-validation misses factors that are correlated or have few items, and does not invent any"
	}
	return d
}

// sought returns the number of factors of parallel analysis, or of simple structures that split what it finds to be
// several, and by which: one that a search may try, otherwise 0.
func (o *Options) sought(others Others) (factors int, by string) {
	k, simple := others.Parallel.Suggested, others.Simple.Suggested
	switch {
	case o.Method != model.MethodICQF || o.Fewest || k == nil:
		return 0, ""
	case simple != nil && *k > 1 && *simple > *k && *simple <= o.MostFactors:
		return *simple, model.SimpleStructure
	case *k <= o.MostFactors:
		return *k, model.ParallelAnalysis
	}
	return 0, ""
}
