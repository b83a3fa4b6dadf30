package evaluate

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// The baselines, which predict labels without factors. None of them uses the confounds.
const (
	// MethodItems uses the answers to all items, with the training mean for a missing one.
	MethodItems = "items"
	// MethodPCA uses the first k principal components of the standardized items, with 0 for a missing answer.
	MethodPCA = "pca"
	// MethodSums uses the mean answer to each subscale, the sum score over the number of answers; all items are one
	// subscale if none has one. A subscale without answers has the training mean.
	MethodSums = "sums"
	// MethodMissing uses no answers, only the share of missing answers in each subscale; an item without a subscale is
	// its own. It measures how far missing answers alone predict a label.
	MethodMissing = "missing"
)

// learners returns the methods that learn factors and can be compared. A graded response model is not one of them:
// small samples leave it factors with too few items.
func learners() []string { return []string{model.MethodICQF, model.MethodFA, model.MethodL1} }

// Methods returns the methods that can be compared: those that learn factors, then the baselines.
func Methods() []string {
	return append(learners(), MethodItems, MethodPCA, MethodSums, MethodMissing)
}

// HasFactors reports whether the method has a given number of factors, and loadings to compare.
func HasFactors(method string) bool {
	return method == MethodPCA || slices.Contains(learners(), method)
}

// signed reports whether the signs of the factors are determined.
func signed(method string) bool { return method == model.MethodICQF || method == model.MethodL1 }

// trained is a method fitted to some participants.
type trained struct {
	rows, items []int      // used for the fit, by their numbers in the study
	loadings    *mat.Dense // a row for each item, comparable between items of different ranges; nil without factors
	early       bool       // the updates ended at MaxIter
	// features returns the predictors of the participants' labels, a row for each.
	features func(rows []int) (*mat.Dense, error)
}

func (o *Options) learn(ctx context.Context, s *fit.Study, method string, rows []int,
	c solver.Candidate,
) (*trained, error) {
	if slices.Contains(learners(), method) {
		with := o.Options
		with.Method, with.Recorder = method, nil
		l, err := with.Learn(ctx, s, rows, c)
		if err != nil {
			return nil, err
		}
		return &trained{
			rows: l.Rows, items: l.Items, loadings: l.Stretched(), early: l.Status == solver.IterationLimit,
			features: l.Score,
		}, nil
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	t := &trained{items: s.Varying(rows)}
	if len(t.items) == 0 {
		return nil, questionnaire.Optionf("no item varies")
	}
	t.rows = s.Answering(rows, t.items)
	means := linalg.ColumnMeans(s.AnswersOf(t.rows, t.items))
	filled := func(rows []int) *mat.Dense { return linalg.Filled(s.AnswersOf(rows, t.items), means) }
	switch method {
	case MethodPCA:
		return t, t.components(filled, c.Factors)
	case MethodSums:
		scales := questionnaire.ScalesOf(s.Items, t.items, false)
		means := linalg.ColumnMeans(summarized(s.Answers, t.rows, scales, average))
		t.features = func(rows []int) (*mat.Dense, error) {
			return linalg.Filled(summarized(s.Answers, rows, scales, average), means), nil
		}
	case MethodMissing:
		scales := questionnaire.ScalesOf(s.Items, s.Varying(s.Order), true)
		t.features = func(rows []int) (*mat.Dense, error) {
			return summarized(s.Answers, rows, scales, missing), nil
		}
	default:
		t.features = func(rows []int) (*mat.Dense, error) { return filled(rows), nil }
	}
	return t, nil
}

// components learns the loadings V·diag(√λ), p×k, of the first k eigenvectors V of the correlations, and gives Z·V of
// the standardized answers Z for features. The sum of each column of V is positive.
func (t *trained) components(filled func(rows []int) *mat.Dense, k int) error {
	x := filled(t.rows)
	n, p := x.Dims()
	if k > p {
		return questionnaire.Optionf("%d factors for %d items", k, p)
	}
	means, deviations := linalg.ColumnMoments(x)
	standardized := func(x *mat.Dense) *mat.Dense {
		x.Apply(func(_, j int, v float64) float64 { return (v - means[j]) / deviations[j] }, x)
		return x
	}
	z := standardized(x)
	correlations := mat.NewSymDense(p, nil)
	correlations.SymOuterK(1/float64(n), z.T())
	values, vectors, ok := linalg.Eigen(correlations)
	if !ok {
		return linalg.ErrEigen
	}
	directions := mat.NewDense(p, k, nil)
	t.loadings = mat.NewDense(p, k, nil)
	for c := range k { // the eigenvalues ascend
		v := mat.Col(nil, p-1-c, vectors)
		sum := floats.Sum(v)
		length := math.Sqrt(max(0, values[p-1-c]))
		for j, e := range v {
			directions.Set(j, c, math.Copysign(1, sum)*e)
			t.loadings.Set(j, c, length*directions.At(j, c))
		}
	}
	t.features = func(rows []int) (*mat.Dense, error) {
		scores := &mat.Dense{}
		scores.Mul(standardized(filled(rows)), directions)
		return scores, nil
	}
	return nil
}

// summarized returns a value of the answers of each participant to each scale.
func summarized(answers *mat.Dense, rows []int, scales []questionnaire.Scale,
	value func(answers []float64) float64,
) *mat.Dense {
	out := mat.NewDense(len(rows), len(scales), nil)
	out.Apply(func(r, c int, _ float64) float64 {
		return value(lists.Take(answers.RawRowView(rows[r]), scales[c].Items))
	}, out)
	return out
}

// average returns the mean of the answers, NaN without any. It changes them.
func average(answers []float64) float64 {
	return stat.Mean(slices.DeleteFunc(answers, math.IsNaN), nil)
}

func missing(answers []float64) float64 {
	return float64(floats.Count(math.IsNaN, answers)) / float64(len(answers))
}
