package fit

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/grm"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/linalg/eap"
)

// learnGRM fits the graded response model. The codebook's subscales are the factors if there are as many of them as
// factors, and each item is on one; otherwise factor analysis assigns the items.
func (o *Options) learnGRM(ctx context.Context, l *Learnt, factors int) error {
	x := l.study.AnswersOf(l.Rows, l.Items)
	m, err := grm.Fit(ctx, x, grm.Settings{Factors: factors, Assigned: l.assigned(factors), Threads: o.Threads})
	if at, ok := errors.AsType[*factoranalysis.ItemError](err); ok {
		return l.itemError(at)
	}
	if few, ok := errors.AsType[*grm.ItemsError](err); ok {
		return questionnaire.Optionf("the graded response model with %s has %w: %w", wording.Count(factors, "factor"),
			errFewItems, few)
	}
	if err != nil {
		return err
	}
	uniquenesses := lists.Make(len(l.Items), func(j int) float64 {
		loading := m.Loadings.At(j, m.Factors[j])
		return 1 - loading*loading
	})
	l.graded, l.fa = m, &FA{threads: o.Threads}
	l.fa.FA = model.FA{Loadings: m.Loadings, Phi: m.Phi, Uniquenesses: uniquenesses, Graded: &m.Model}
	l.fa.Means, l.fa.Deviations = linalg.SampleMoments(x)
	l.objective, l.iterations, l.Loadings = -m.LogLikelihood, m.Iterations, m.Loadings
	l.Status = solver.IterationLimit
	if m.Converged {
		l.Status = solver.Converged
	}
	return nil
}

// assigned returns the factors of the items by the codebook, nil if it does not say.
func (l *Learnt) assigned(factors int) []int {
	scales := questionnaire.ScalesOf(l.study.Items, l.Items, false)
	if factors == 1 || len(scales) != factors {
		return nil
	}
	all, assigned := make([]int, len(l.Items)), 0
	for t, scale := range scales {
		for _, j := range scale.Items {
			all[slices.Index(l.Items, j)] = t
			assigned++
		}
		if scale.Name == "" {
			return nil
		}
	}
	if assigned > len(l.Items) { // some of them several times
		return nil
	}
	return all
}

// gradedScores returns the scores by the graded response model, and their standard errors.
func (f *FA) gradedScores(answers *mat.Dense) (scores, errs *mat.Dense, err error) {
	n, p := answers.Dims()
	if p != len(f.Graded.Factors) {
		return nil, nil, fmt.Errorf("%w: %d items, must be %d", solver.ErrShape, p, len(f.Graded.Factors))
	}
	if err := solver.CheckAnswers(answers); err != nil {
		return nil, nil, err
	}
	_, k := f.Loadings.Dims()
	scores, errs = mat.NewDense(n, k, nil), mat.NewDense(n, k, nil)
	scorer := f.Graded.NewScorer()
	const flops = 1000 // for a participant and a factor, more or less
	linalg.Threads(f.threads).Parallel(n, n*k*flops, func(from, to int) {
		own := scorer.Share()
		for i := from; i < to; i++ {
			own.ScoreTo(scores.RawRowView(i), errs.RawRowView(i), answers.RawRowView(i))
		}
	})
	return scores, errs, nil
}

// measuredOf is measuredBy, for the graded response model with 1/√(1 + I) in place of the standard error, where I is
// the mean information over the population in answers to the items of the factor that the participant answered: whom
// the items are too easy or too hard for was asked all the same. The limit is the largest standard error of a
// measurement.
func measuredOf(m *model.Model, answers, errs *mat.Dense) []Measured {
	if m.FA == nil || m.FA.Graded == nil {
		return measuredBy(m, errs)
	}
	g := m.FA.Graded
	means := make([]float64, len(g.Factors))
	for j := range means {
		weights := 0.0
		for q := range eap.Nodes {
			weight := math.Exp(-eap.Node(q) * eap.Node(q) / 2)
			weights, means[j] = weights+weight, means[j]+weight*g.Information(j, eap.Node(q))
		}
		means[j] /= weights
	}
	n, _ := answers.Dims()
	out := linalg.NewLike(errs)
	for i := range n {
		row := out.RawRowView(i)
		for j, v := range answers.RawRowView(i) {
			if v == v {
				row[g.Factors[j]] += means[j]
			}
		}
		for t, information := range row {
			row[t] = 1 / math.Sqrt(1+information)
		}
	}
	measured := measuredBy(m, out)
	for t := range measured {
		measured[t].Limit = 0
		for i, ok := range measured[t].Participants {
			if ok {
				measured[t].Limit = max(measured[t].Limit, errs.At(i, t))
			}
		}
		for i := range n {
			measured[t].Participants[i] = errs.At(i, t) <= measured[t].Limit
		}
	}
	return measured
}

// describeGraded fills in what the summary says of the graded response model, from the scores of the participants.
func (l *Learnt) describeGraded(m *model.Model, scores *mat.Dense) {
	g, n := l.graded, float64(len(l.Rows))
	likelihood, parameters := g.LogLikelihood, float64(g.Parameters)
	out := &model.Graded{
		Parameters: g.Parameters, AIC: 2 * (parameters - likelihood), BIC: parameters*math.Log(n) - 2*likelihood,
		Dependent: []model.Dependence{},
	}
	switch {
	case m.Summary.Factors == 1:
	case l.assigned(m.Summary.Factors) != nil:
		out.Assigned = model.AssignedByCodebook
	default:
		out.Assigned = model.AssignedByFA
	}
	if g.Errors != nil && m.Summary.Factors > 1 {
		out.CorrelationErrors = rowsOf(g.Errors.Phi)
	}
	for j, item := range m.Items {
		of := model.GradedItem{
			Item: item.Name, Factor: g.Factors[j] + 1, Discrimination: g.Slopes[j],
			DiscriminationError: questionnaire.Figure(math.NaN()),
		}
		if g.Errors != nil {
			of.DiscriminationError = questionnaire.Figure(g.Errors.Slopes[j])
		}
		for _, b := range m.Thresholds(j) {
			e := math.NaN()
			at := slices.IndexFunc(g.Intercepts[j], func(d float64) bool { return -d/g.Slopes[j] == b })
			if at >= 0 && g.Errors != nil {
				e = g.Errors.Thresholds[j][at]
			}
			of.Thresholds = append(of.Thresholds, questionnaire.Figure(b))
			of.ThresholdErrors = append(of.ThresholdErrors, questionnaire.Figure(e))
		}
		out.Items = append(out.Items, of)
	}
	l.dependence(out, scores)
	m.Summary.LogLikelihood, m.Summary.Graded = &likelihood, out
}

// dependence fills in Q3.
func (l *Learnt) dependence(out *model.Graded, scores *mat.Dense) {
	q3 := grm.Q3(&l.graded.Model, l.study.AnswersOf(l.Rows, l.Items), scores, l.fa.threads)
	total, pairs := 0.0, 0.0
	each := func(visit func(a, b int, v float64)) {
		for a := range l.Items {
			for b := range a {
				if v := q3.At(a, b); v == v {
					visit(b, a, v)
				}
			}
		}
	}
	each(func(_, _ int, v float64) { total, pairs = total+v, pairs+1 })
	mean := total / pairs
	each(func(a, b int, v float64) {
		if v > mean+model.DependentQ3 {
			out.Dependent = append(out.Dependent, model.Dependence{
				First: out.Items[a].Item, Second: out.Items[b].Item, Q3: v,
			})
		}
	})
	slices.SortStableFunc(out.Dependent, func(a, b model.Dependence) int { return cmp.Compare(b.Q3, a.Q3) })
	out.MeanQ3 = questionnaire.Figure(mean)
}

// gradedDoubts returns why the parameters of the graded response model may mean little.
func (l *Learnt) gradedDoubts() (doubts []string) {
	if steep := l.names(l.graded.Steep); len(steep) > 0 {
		doubts = append(doubts, fmt.Sprintf("the discrimination of %s is at its bound, %v: two items may be nearly "+
			"the same, or participants are few", strings.Join(steep, ", "), grm.SteepestSlope))
	}
	const few = 5 // answers of a category
	x := l.study.AnswersOf(l.Rows, l.Items)
	sparse := l.names(lists.Where(len(l.Items), func(j int) bool {
		column := mat.Col(nil, j, x)
		return slices.ContainsFunc(l.graded.Values[j], func(v float64) bool {
			return lists.Count(column, func(answer float64) bool { return answer == v }) < few
		})
	}))
	if len(sparse) > 0 {
		doubts = append(doubts, fmt.Sprintf("fewer than %d participants gave some answers to %s: their thresholds are "+
			"imprecise", few, strings.Join(sparse, ", ")))
	}
	return doubts
}
