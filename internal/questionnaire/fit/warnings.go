package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// By rule of thumb, a categorical confound has at most mostLevels levels, of leastOfLevel participants or more.
const (
	mostLevels   = 10
	leastOfLevel = 5
)

// warnings returns warnings about properties of the table that may distort the factors.
func (o *Options) warnings(t *answers.Table) (warnings []string) {
	methods := o.Compared
	if len(methods) == 0 {
		methods = []string{o.Method}
	}
	if !o.Columns.FromLow && (slices.Contains(methods, model.MethodL1) || slices.Contains(methods, model.MethodICQF) &&
		len(o.Columns.Confounds) == 0) {
		above := lists.Count(t.Items, func(item questionnaire.Item) bool { return item.Range.Low > 0 })
		if above > 0 {
			warnings = append(warnings, fmt.Sprintf("the lowest possible answer to %d of %d items is above 0, and "+
				"without an intercept the factors have to explain it too: --from-low counts answers from there",
				above, len(t.Items)))
		}
	}
	if slices.ContainsFunc(methods, func(m string) bool { return m == model.MethodICQF || m == model.MethodFA }) {
		for k, c := range o.Columns.Confounds {
			if c.Kind == questionnaire.Categorical {
				_, levels := t.Values(k, t.All())
				warnings = append(warnings, levelWarning(c.Name, levels)...)
			}
		}
	}
	if t.Unlinked(func(item questionnaire.Item) string { return item.Name }) >= 0 {
		warnings = append(warnings, "no participant answered items of two sets (of forms, or bins of time), so "+
			"nothing links the sets: a factor may hold the items of one only, or have another meaning in each")
	}
	return warnings
}

// levelWarning returns a warning for a categorical confound with many or small levels, otherwise none.
func levelWarning(name string, of []string) []string {
	participants, numbers := map[string]int{}, true
	for _, level := range of {
		_, err := questionnaire.Number(level)
		numbers = numbers && err == nil
		participants[level]++
	}
	small := lists.Count(slices.Collect(maps.Values(participants)), func(n int) bool { return n < leastOfLevel })
	if len(participants) <= mostLevels && small == 0 {
		return nil
	}
	what, advice := "", "join levels"
	if small > 0 {
		what, advice = fmt.Sprintf(", %d of them with fewer than %d participants", small, leastOfLevel),
			"join small levels"
	}
	if numbers {
		advice = fmt.Sprintf("if it is a quantity, use %s:%s", name, questionnaire.Numeric)
	}
	return []string{fmt.Sprintf("the categorical confound %s has %d levels%s, and each level has its own loadings: %s",
		name, len(participants), what, advice)}
}

// UnusedConfounds returns a warning if there are confounds that the method does not use, otherwise "".
func (o *Options) UnusedConfounds() string {
	if !o.usesConfounds() && len(o.Columns.Confounds) > 0 {
		return o.Method + " does not use confounds"
	}
	return ""
}

func (o *Options) usesConfounds() bool {
	return o.Method != model.MethodL1 && o.Method != model.MethodGRM
}

// tuned is the number of participants for each item below which regression scores overfit: the variance of their errors
// is about 1.4 times the estimate, or more. docs/results.md has the measurement.
const tuned = 2

// approximated is the share of missing answers from which on chi-square is far from its distribution: docs/results.md.
const approximated = 0.02

// approximate says why chi-square, and measures derived from it, may not have the assumed distribution.
func (l *Learnt) approximate(kind string, missing float64) (doubts []string) {
	if missing >= approximated && l.missing.method == model.Pairwise {
		doubts = append(doubts, fmt.Sprintf("%.0f %% of the answers are missing, but chi-square counts all %d "+
			"participants as complete: P is too small, RMSEA too large, its interval too narrow, TLI and CFI too low",
			100*missing, len(l.Rows)))
	}
	if kind == model.Polychoric {
		doubts = append(doubts, "chi-square of polychoric correlations has another distribution than that of "+
			"Pearson's: P is too small, and the interval of RMSEA too narrow",
			"standard errors of scores are those of the continuous responses that polychoric correlations assume, "+
				"not of answers in a few categories: they are too small, and reliabilities too high")
	}
	return doubts
}

// doubts returns why the loadings of a factor analysis may mean little.
func (l *Learnt) doubts(kind string, missing float64) (doubts []string) {
	if l.graded != nil {
		return l.gradedDoubts()
	}
	if l.fa == nil {
		return nil
	}
	items, factors := l.Loadings.Dims()
	switch df := l.fit.DF; {
	case df < 0:
		doubts = append(doubts, fmt.Sprintf("the number of factors, %d, is too large for %d items (%d degrees of "+
			"freedom): other loadings fit as well", factors, items, df))
	case df == 0:
		doubts = append(doubts, "without degrees of freedom nothing is tested: such a model fits any correlations")
	case math.IsNaN(l.fit.ChiSquare) && l.missing.method == model.FIML:
		doubts = append(doubts, "the likelihood of the factors does not settle, so RMSR is the only measure of fit: "+
			"too few participants answered some items together")
	case math.IsNaN(l.fit.ChiSquare):
		doubts = append(doubts, "the correlations have no inverse, so RMSR is the only measure of fit: participants "+
			"are few, items repeat other items, or many answers are missing")
	}
	if l.fit.DF > 0 && !math.IsNaN(l.fit.ChiSquare) {
		doubts = append(doubts, l.approximate(kind, missing)...)
	}
	if n := len(l.Rows); l.fa.ScoreCorrelations != nil && n < tuned*items {
		doubts = append(doubts, fmt.Sprintf("%d participants are few for %d items: the scores overfit these "+
			"participants, so their standard errors are too small and their reliabilities too high", n, items))
	}
	if pairs := len(l.extreme); pairs > 0 {
		first := l.names(l.extreme[0][:])
		doubts = append(doubts, fmt.Sprintf("polychoric correlations of 1 or -1: %s (first: %s and %s); %s",
			wording.Count(pairs, "pair of items", "pairs of items"), first[0], first[1], cfa.Apart))
	}
	doubts = append(doubts, l.missing.doubts(l.study, len(l.Rows))...)
	atBound := func(j int) bool { return l.fa.Uniquenesses[j] <= factoranalysis.LeastUniqueness }
	if heywood := l.names(lists.Where(items, atBound)); len(heywood) > 0 {
		doubts = append(doubts, fmt.Sprintf("a Heywood case: the uniqueness of %s is at its lower bound, %v; there "+
			"may be too many factors or too few participants", strings.Join(heywood, ", "),
			factoranalysis.LeastUniqueness))
	}
	return doubts
}

// doubts says what of missing answers a reader must know.
func (a *missingAnswers) doubts(s *Study, participants int) (doubts []string) {
	if a.method == model.Listwise && a.participants < participants {
		doubts = append(doubts, fmt.Sprintf("listwise: the factors are those of the %d of %d participants who "+
			"answered all items, which biases them unless answers are missing at random", a.participants, participants))
	}
	if len(a.apart) > 0 {
		first := a.apart[0]
		doubts = append(doubts, fmt.Sprintf("nobody answered %s together (first: %s and %s): their correlations are "+
			"those that the factors imply, which no answer tests",
			wording.Count(len(a.apart), "pair of items", "pairs of items"),
			s.Items[first[0]].Name, s.Items[first[1]].Name))
	}
	return doubts
}

// unstable warns of factors, except the empty last ones, that most bootstrap samples lack. The bootstrap may be nil.
func unstable(b *model.Bootstrap, empty int) (warnings []string) {
	const least = 0.5
	if b == nil {
		return nil
	}
	for t, f := range b.Factors[:len(b.Factors)-empty] {
		if f.Similar < least {
			warnings = append(warnings,
				fmt.Sprintf("only %.0f %% of the samples of the bootstrap hold a factor similar to factor%d (a "+
					"congruence of at least %v): other participants may not have it, so fewer factors may be better",
					100*f.Similar, t+1, model.SimilarCongruence))
		}
	}
	return warnings
}

// thin warns of factors, except the empty last ones, on which fewer items load most than identify a factor. Factors
// that were not rotated hold all items.
func (l *Learnt) thin(s *model.Summary) (warnings []string) {
	loadings := l.Stretched()
	own := make([][]string, s.Factors)
	for j, name := range l.study.Names(l.Items) {
		sizes := lists.Map(loadings.RawRowView(j), math.Abs)
		if t := floats.MaxIdx(sizes); sizes[t] > 0 {
			own[t] = append(own[t], name)
		}
	}
	for t, names := range own[:s.Factors-s.EmptyFactors] {
		if len(names) < factoranalysis.LeastItems && s.Settings.Rotation != string(factoranalysis.RotateNone) {
			warnings = append(warnings, fmt.Sprintf("factor%d is uncertain, as fewer than %d items load on it more "+
				"than on others: %s", t+1, factoranalysis.LeastItems, cmp.Or(strings.Join(names, ", "), "none does")))
		}
	}
	return warnings
}

// leastScaleItems is the least number of items of a scale to check: of two, either may be the opposed one.
const leastScaleItems = 3

// Opposed returns, for each scale in the order of its first item, the items that correlate negatively with the first
// principal component of the scale's correlations (of pairwise complete answers), and on average with the other items.
// The component's sign is that of the sum of its weights. The first is the rule by which alpha(check.keys=TRUE) of R's
// package psych reverses items (Revelle, psych 2.2.9). The second exempts items of a scale that holds several groups of
// unrelated items, whose signs in the component are random. Items without a subscale are one scale.
func Opposed(t *answers.Table, threads int) (all []answers.Opposed) {
	rows := t.All()
	for _, scale := range questionnaire.ScalesOf(t.Items, t.Varying(rows), false) {
		items := scale.Items
		if len(items) < leastScaleItems {
			continue
		}
		// Pearson correlations are too quick to be interrupted.
		correlations, err := factoranalysis.Correlate(context.Background(), t.AnswersOf(rows, items),
			factoranalysis.Pearson, threads)
		if err != nil {
			continue // answers too large or too small for squares, which newStudy refuses
		}
		_, vectors, ok := linalg.Eigen(correlations.R)
		if !ok {
			continue
		}
		first := mat.Col(nil, len(items)-1, vectors)
		o := answers.Opposed{Scale: scale.Name}
		for i, w := range first {
			if w*floats.Sum(first) < 0 && floats.Sum(mat.Row(nil, i, correlations.R)) < 1 { // with itself it is 1
				o.Items = append(o.Items, t.Items[items[i]].Name)
			}
		}
		if len(o.Items) > 0 {
			all = append(all, o)
		}
	}
	return all
}

// decideMissing fills in what is done about missing answers, once for all fits of a run: full information, unless no
// maximum of the likelihood is found. The error is the cause if ctx ended.
func (o *Options) decideMissing(ctx context.Context, s *Study) error {
	if o.Missing != "" {
		return nil
	}
	o.Missing = model.Pairwise
	if !floats.HasNaN(s.Answers.RawMatrix().Data) {
		return nil
	}
	o.Missing, o.byDefault = model.FIML, true
	if o.Method != model.MethodFA && !slices.Contains(o.Compared, model.MethodFA) {
		return nil
	}
	fa := *o
	fa.Method = model.MethodFA
	x, _, err := fa.correlated(s)
	if err == nil {
		_, err = factoranalysis.Correlate(ctx, x, factoranalysis.FullInformation, o.Threads)
	}
	if errors.Is(err, factoranalysis.ErrSingular) {
		o.Missing = model.Pairwise
		s.Warnings = append(s.Warnings, fmt.Sprintf("correlations are by pairs (--missing pairwise), which may be "+
			"biased: full information failed, since %v; maybe too few participants answered some items together, or "+
			"an item is the sum of others", err))
	}
	return context.Cause(ctx)
}
