package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

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

// mostReduced is the largest number of items of which parallel analysis counts factors and simple structures are
// compared. Of more items it counts components, which is faster.
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
	items  []int           // that these criteria use
}

// others computes the criteria other than cross-validation. If one is undefined, its Reason says why; the error is that
// of basis, or the context's.
func (o *Options) others(ctx context.Context, s *Study) (others Others, err error) {
	b, err := o.basis(ctx, s)
	if err != nil {
		return others, err
	}
	n, p := s.Answers.Dims()
	others.items = b.items
	others.Parallel = o.parallel(ctx, b, min(max(drawnAnswers/(n*p), fewestDraws), rank.DefaultDraws))
	others.MAP = o.velicer(ctx, b)
	if o.Method == model.MethodICQF && o.MostFactors > 0 && !o.Fewest && p <= mostReduced {
		others.Simple = b.simple(ctx)
	}
	if ctx.Err() != nil {
		err = fmt.Errorf("%q: %w", o.Input, context.Cause(ctx))
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

// parallel compares the eigenvalues of the answers' correlations with those of random answers.
func (o *Options) parallel(ctx context.Context, b *basis, draws int) *Parallel {
	out := &Parallel{
		Of: ofFactors, Draws: draws, Eigenvalues: []float64{}, Reference: []float64{}, Correlation: o.reported(b.kind),
	}
	settings := rank.ParallelSettings{
		Correlation: b.kind, Observed: b.correlations, Draws: draws, Strict: !model.Standardized(o.Method),
		Jobs: rank.Jobs{Seed: o.Seed, Threads: o.Threads},
	}
	undefined := b.undefined
	if _, p := b.answers.Dims(); p > mostReduced {
		out.Of, out.Correlation, undefined = ofComponents, o.reported(factoranalysis.Pearson), nil
		settings = rank.ParallelSettings{Components: true, Draws: draws, Jobs: settings.Jobs}
	}
	var a *rank.ParallelAnalysis
	if undefined == nil {
		a, undefined = rank.Parallel(ctx, b.answers, settings)
	}
	if undefined != nil {
		out.Reason = undefined.Error()
		return out
	}
	out.Suggested, out.Eigenvalues, out.Reference = &a.Suggested, a.Eigenvalues, a.Reference
	return out
}

// leastHalf is the least number of participants in a half that is analyzed: factors of fewer are often missed, and so
// are those of no more participants than items.
const leastHalf, halvesStream = 100, 0x6861_6c76

// warnings says which items the criteria leave out, and whether the answers may have no common factor, or the criterion
// that is followed suggests no number that a fit can have.
func (others *Others) warnings(s *Study, d *model.Decision) (warnings []string) {
	if left := s.others(others.items); len(left) > 0 {
		warnings = append(warnings, "parallel analysis, MAP and simple structures leave out items that do not vary or "+
			"that the confounds determine: "+strings.Join(left, ", "))
	}
	if k := d.Criteria.Parallel; k != nil && *k == 0 {
		warnings = append(warnings, "parallel analysis finds no factors: the answers may have none in common")
	} else if d.Followed == "" {
		warnings = append(warnings, d.Because)
	}
	return warnings
}

// unsteady returns a warning if parallel analysis, or simple structures if they are followed, have another number of
// factors in a random half of the participants.
func (o *Options) unsteady(ctx context.Context, s *Study, d *model.Decision) []string {
	by, all := "parallel analysis finds", d.Criteria.Parallel
	if d.Followed == model.SimpleStructure {
		by, all = "simple structures have", d.Criteria.SimpleStructure
	}
	n, half := len(s.Order), *s
	least := max(leastHalf, len(s.Items)+1)
	foldOf := folds.Random(rand.New(rand.NewPCG(o.Seed, halvesStream)), n, 2)
	for fold := 0; fold < 2 && all != nil && n >= 2*least; fold++ {
		_, rows := folds.Split(foldOf, fold)
		half.Order = lists.Take(s.Order, rows)
		b, err := o.basis(ctx, &half)
		if err != nil { // too few there answered all items, say
			continue
		}
		p := &Parallel{Of: ofFactors}
		if d.Followed == model.SimpleStructure {
			p.Suggested = b.simple(ctx).Suggested
		} else {
			p = o.parallel(ctx, b, fewestDraws)
		}
		if found := p.Suggested; found != nil && *found != *all {
			return []string{fmt.Sprintf("%s %s in all %d participants, but %d in a random half of them: other "+
				"participants may have another number", by, wording.Count(*all, p.Of), n, *found)}
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

// correlating calls do with a kind of correlations, and if they are full-information ones by default, but no maximum
// of the likelihood is found, again with Pearson's by pairs. It returns the last kind.
func (o *Options) correlating(kind factoranalysis.Kind, do func(factoranalysis.Kind) error,
) (factoranalysis.Kind, error) {
	err := do(kind)
	if kind != factoranalysis.FullInformation || !errors.Is(err, factoranalysis.ErrSingular) {
		return kind, err
	}
	if o.byDefault {
		return factoranalysis.Pearson, do(factoranalysis.Pearson)
	}
	return kind, questionnaire.Optionf("full information: %w; maybe too few participants answered some items "+
		"together, or an item is the sum of others: --missing pairwise does without", err)
}

// velicer computes the test on the correlations of the answers.
func (o *Options) velicer(ctx context.Context, b *basis) *MAP {
	out, err := &MAP{Correlation: o.reported(b.kind)}, b.undefined
	if err == nil {
		n, _ := b.answers.Dims()
		out.Curve, _, err = rank.FilledMAP(ctx, b.correlations, n)
	}
	if err != nil {
		out.Curve, out.Reason = []float64{}, err.Error()
		return out
	}
	least := floats.MinIdx(out.Curve)
	out.Suggested = &least
	return out
}

// simple compares simple structures. Participants are as many as answered each pair of items, at least.
func (b *basis) simple(ctx context.Context) SimpleStructure {
	out, err := SimpleStructure{Curve: []rank.SimplePoint{}}, b.undefined
	_, p := b.answers.Dims()
	switch {
	case err != nil:
	case p < factoranalysis.LeastItems:
		err = fmt.Errorf("%s are too few for a factor", wording.Count(p, "item"))
	case b.correlations.Fewest <= p:
		err = fmt.Errorf("only %s answered some pair of items, and there are %d items",
			wording.Count(b.correlations.Fewest, "participant"), p)
	default:
		k, curve, failed := rank.SimpleStructures(ctx, b.correlations, b.correlations.Fewest)
		if err = failed; k > 0 {
			out.Suggested, out.Curve = &k, curve
		} else if err == nil {
			err = errors.New("the likelihood of no number of factors could be maximized")
		}
	}
	if err != nil {
		out.Reason = err.Error()
	}
	return out
}

// basis is what the criteria other than cross-validation are computed from.
type basis struct {
	answers      *mat.Dense // less the confounds' effects
	correlations *factoranalysis.Correlations
	kind         factoranalysis.Kind
	items        []int
	undefined    error // why there are no correlations
}

// basis correlates the answers. Less the confounds' effects, they have no categories for polychoric correlations. The
// error is that of correlated, or a *table.Error for an item without polychoric correlations.
func (o *Options) basis(ctx context.Context, s *Study) (*basis, error) {
	x, items, err := o.correlated(s)
	if err != nil {
		return nil, err
	}
	b, asked := &basis{answers: x, items: items}, o.kind()
	if asked == factoranalysis.Polychoric && len(o.Columns.Confounds) > 0 {
		asked = factoranalysis.Pearson
	}
	b.kind, b.undefined = o.correlating(asked, func(kind factoranalysis.Kind) (err error) {
		b.correlations, err = factoranalysis.Correlate(ctx, x, kind, o.Threads)
		return err
	})
	if at, ok := errors.AsType[*factoranalysis.ItemError](b.undefined); ok {
		name := s.Items[items[at.Item]].Name
		if b.kind == factoranalysis.Polychoric {
			return nil, &table.Error{File: s.File, Column: name, Err: errors.New(at.Reason)}
		}
		b.undefined = fmt.Errorf("%q %s", name, at.Reason)
	}
	return b, nil
}

// reported returns the kind of correlations that the outcome names: none for Pearson's, unless others were asked for.
func (o *Options) reported(kind factoranalysis.Kind) factoranalysis.Kind {
	if kind == factoranalysis.Pearson && o.kind() == kind {
		return ""
	}
	return kind
}

// correlated returns the answers to correlate, less the confounds' effects if the method uses confounds, and their
// items: those that vary and that the confounds do not determine.
func (o *Options) correlated(s *Study) (x *mat.Dense, items []int, err error) {
	if items = s.Varying(s.Order); len(items) == 0 {
		return nil, nil, questionnaire.Optionf("%q: no item varies among %d participants", s.File, len(s.Order))
	}
	if x = linalg.SelectColumns(s.Data(s.Order).Answers, items); !o.usesConfounds() {
		return x, items, nil
	}
	x, known, err := o.used(x, linalg.SelectRows(s.Known, s.Order))
	if err != nil || known == nil {
		return x, items, err
	}
	if x, _, err = WithoutConfounds(x, known); err != nil {
		return nil, nil, err
	}
	if left := undetermined(x); len(left) > 0 {
		x, items = linalg.SelectColumns(x, left), lists.Take(items, left)
	}
	return x, items, nil
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
	if c != nil {
		d.Criteria.CrossValidation = new(c.byCrossValidation(o).Factors)
	}
	sought, by := o.sought(others)
	switch {
	case model.Standardized(o.Method) && o.MostFactors > 0:
		d.Followed, d.Because = model.ParallelAnalysis, "this method uses its number unless candidates are given"
		if k := others.Parallel.Suggested; k == nil || *k < 1 || *k > o.MostFactors {
			d.Followed, d.Because = "", "parallel analysis suggests no number of factors that a fit can have"
		}
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
		d.Followed, d.Because = by, "cross-validation and parallel analysis miss factors that correlate"
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
