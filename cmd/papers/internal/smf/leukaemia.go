package smf

import (
	"context"
	"math"
	"slices"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// Leukaemia compares supervised factorizations of gene expressions with other methods. A sample is a document and a gene a
// term.
type Leukaemia struct {
	Splits int    `json:"splits" help:"Splits into halves; the paper has 5." default:"5"`
	Folds  int    `json:"folds" help:"Folds of the cross-validation inside the training half." default:"5"`
	Ranks  []int  `json:"ranks" help:"Numbers of topics to choose from." default:"1,2,3,5"`
	Genes  int    `json:"genes" help:"Genes shown of each topic." default:"10"`
	Seed   uint64 `json:"seed" help:"Seed of all random draws." default:"1"`
	// Version is that of the program, which the numbers depend on.
	Version string           `json:"version" kong:"-"`
	Columns PhenotypeColumns `json:"columns" embed:""`

	Expressions string `json:"-" help:"CSV of genes × samples, gzipped or not; the first line names the samples, the first column the genes." placeholder:"FILE" type:"existingfile" required:""`
	Phenotypes  string `json:"-" help:"CSV of the same samples, in any order; the first column names them." placeholder:"FILE" type:"existingfile" required:""`
	data        *Expressions
}

// LeukaemiaKey names a cell.
type LeukaemiaKey struct {
	Outcome string `json:"outcome"`
	Method  string `json:"method"`
	Split   int    `json:"split"` // from 0
}

// LeukaemiaCell is one method on one split.
type LeukaemiaCell struct {
	LeukaemiaKey
	Train int `json:"train"` // samples
	Test  int `json:"test"`
	hyperparameters
	// These are of the test half: see eval.ClassMetrics.
	Accuracy         float64 `json:"accuracy"`
	BalancedAccuracy float64 `json:"balanced_accuracy"`
	AUROC            float64 `json:"auroc"`
	LogLoss          float64 `json:"log_loss"`
	Seconds          float64 `json:"seconds"`
}

// Key implements report.Cell.
func (c LeukaemiaCell) Key() any { return c.LeukaemiaKey }

// hyperparameters are what a cross-validation chose, 0 for those that a method lacks.
type hyperparameters struct {
	Rank   int     `json:"rank,omitempty"`
	Xi     float64 `json:"xi,omitempty"`
	Ridge  float64 `json:"ridge,omitempty"`
	Lambda float64 `json:"lambda,omitempty"`
}

func (l *Leukaemia) check() error {
	if l.Splits < 1 || l.Folds < 2 || l.Genes < 1 || len(l.Ranks) == 0 {
		return report.Invalid("%d splits, %d folds, %d ranks, %d genes of a topic", l.Splits, l.Folds, len(l.Ranks), l.Genes)
	}
	samples, genes := l.data.X.Dims()
	half := samples / 2
	most := min(genes, half-(half+l.Folds-1)/l.Folds) // the samples of the smallest part that is factorized
	if l.Folds > half || slices.Min(l.Ranks) < 1 || slices.Max(l.Ranks) > most {
		return report.Invalid("%d folds and ranks %v of %d samples, half of which are trained on: ranks may be 1 to %d", l.Folds, l.Ranks, samples, max(0, most))
	}
	return nil
}

// Run makes the splits, and then finds the topics of all samples.
func (l *Leukaemia) Run(ctx context.Context, session *report.Session) (_ *report.Report, err error) {
	if l.data == nil {
		if l.data, err = ReadExpressions(l.Expressions, l.Phenotypes, l.Columns); err != nil {
			return nil, err
		}
	}
	e := l.data
	if err := l.check(); err != nil {
		return nil, err
	}
	var jobs []report.Job[LeukaemiaCell]
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		for split := range l.Splits {
			for _, m := range methods(len(o.Classes)) {
				jobs = append(jobs, report.Job[LeukaemiaCell]{
					Cell: LeukaemiaCell{LeukaemiaKey: LeukaemiaKey{o.Name, m.name, split}},
					Fill: func(ctx context.Context, cell *LeukaemiaCell) error { return l.fill(ctx, cell, o, m) },
				})
			}
		}
	}
	header := struct {
		*Leukaemia
		Expressions string `json:"expressions"` // fingerprint
	}{l, e.fingerprint()}
	session.Expect(len(variants()))
	cells, err := report.Resume(ctx, session, header, jobs)
	if cells == nil {
		return nil, err
	}
	n, genes := e.X.Dims()
	out := &LeukaemiaResult{Settings: l, Samples: n, Genes: genes, Outcomes: e.Outcomes, Cells: cells}
	if err == nil {
		err = out.explain(ctx, session)
	}
	return out.report(), err
}

// explain adds the topics of all samples.
func (r *LeukaemiaResult) explain(ctx context.Context, session *report.Session) error {
	everyone := make([]int, r.Samples)
	for i := range everyone {
		everyone[i] = i
	}
	whole, err := r.Settings.train(&r.Outcomes[0], everyone)
	if err != nil {
		return err
	}
	for _, v := range variants() {
		found, err := whole.topics(ctx, v)
		if err != nil {
			return err
		}
		r.Supervised = append(r.Supervised, *found)
		session.Step(1)
	}
	return nil
}

// samples are some of all samples, standardized by the training half.
type samples struct {
	rows   []int      // in the whole
	x      *mat.Dense // samples × genes
	labels smf.Data
}

// training are the samples that a method learns from.
type training struct {
	samples
	*Leukaemia
	folds []int // of each sample, for cross-validation
}

// halves returns a split, stratified by class: the training half, and the other.
func (l *Leukaemia) halves(o *Outcome, split int) (*training, *samples, error) {
	half, err := eval.StratifiedFolds(o.labels, nil, 2, l.Seed+uint64(split))
	if err != nil {
		return nil, nil, err
	}
	var rows [2][]int
	for i, h := range half {
		rows[h] = append(rows[h], i)
	}
	train, err := l.train(o, rows[0])
	return train, l.data.samples(o, rows[1], rows[0]), err
}

// train returns the training samples of these rows.
func (l *Leukaemia) train(o *Outcome, rows []int) (*training, error) {
	s := l.data.samples(o, rows, rows)
	folds, err := eval.StratifiedFolds(s.labels.Labels, nil, l.Folds, l.Seed)
	return &training{*s, l, folds}, err
}

// samples returns the samples of these rows, standardized by the training rows.
func (e *Expressions) samples(o *Outcome, rows, train []int) *samples {
	s := &samples{rows: rows, x: standardizer(linalg.SelectRows(e.X, train))(linalg.SelectRows(e.X, rows)), labels: smf.Data{Classes: len(o.Classes)}}
	for _, i := range rows {
		s.labels.Labels = append(s.labels.Labels, o.labels[i])
	}
	return s
}

// standardizer returns a function that centres the p columns and scales them to the variance 1/p, by the statistics of the
// given rows. A row then has a mean square of 1, as the ones of the intercept have, which the same ridge covers. Columns
// that are constant in the given rows become 0.
func standardizer(train *mat.Dense) func(*mat.Dense) *mat.Dense {
	means, deviations := linalg.ColumnMoments(train)
	root := math.Sqrt(float64(len(means)))
	return func(x *mat.Dense) *mat.Dense {
		scaled := new(mat.Dense)
		scaled.Apply(func(_, j int, v float64) float64 {
			if deviations[j] == 0 {
				return 0
			}
			return (v - means[j]) / (deviations[j] * root)
		}, x)
		return scaled
	}
}

// The runs of supervised factorizations end at 1,000 updates, as in section 6, or at this relative change.
const (
	leukaemiaUpdates = 1000
	leukaemiaRelTol  = 1e-6
)

// method is a way to learn classes that chooses its own settings by cross-validation.
type method struct {
	name string
	fit  func(ctx context.Context, t *training) (*fitted, error)
}

// fitted is what a method learned.
type fitted struct {
	hyperparameters
	probabilities func(x *mat.Dense) (*mat.Dense, error) // samples × classes
}

// methods returns the methods that learn so many classes.
func methods(classes int) []method {
	all := []method{
		{string(smf.VariantW), supervised(smf.VariantW)},
		{string(smf.VariantH), supervised(smf.VariantH)},
		{"mf-lr", twoStage(true)},
		{"pca-lr", twoStage(false)},
	}
	if classes == 2 {
		all = append(all, method{"lasso", lasso})
	}
	return all
}

// fill fits a method to one half of a split and measures it on the other.
func (l *Leukaemia) fill(ctx context.Context, cell *LeukaemiaCell, o *Outcome, m method) error {
	train, test, err := l.halves(o, cell.Split)
	if err != nil {
		return err
	}
	began := time.Now()
	f, err := m.fit(ctx, train)
	if err != nil {
		return err
	}
	p, err := f.probabilities(test.x)
	if err != nil {
		return err
	}
	found, err := eval.MeasureClasses(test.labels.Labels, p, o.Classes, nil)
	if err != nil {
		return err
	}
	cell.Train, cell.Test, cell.hyperparameters = len(train.labels.Labels), found.N, f.hyperparameters
	cell.Accuracy, cell.BalancedAccuracy, cell.AUROC, cell.LogLoss = found.Accuracy, found.BalancedAccuracy, *found.AUROC, found.LogLoss
	cell.Seconds = time.Since(began).Seconds()
	return nil
}

func supervised(v smf.Variant) func(context.Context, *training) (*fitted, error) {
	return func(ctx context.Context, t *training) (*fitted, error) {
		method, r, chosen, err := t.factorize(ctx, v)
		if err != nil {
			return nil, err
		}
		return &fitted{chosen, predictions(method.Model(r))}, nil
	}
}

// factorize returns a supervised factorization by the hyperparameters of the least cross-validated log loss.
func (t *training) factorize(ctx context.Context, v smf.Variant) (*smf.Method, *solver.Result, hyperparameters, error) {
	settings := solver.Settings{MaxIter: leukaemiaUpdates, RelTol: leukaemiaRelTol, Seed: t.Seed}
	choice, err := smf.Choose(ctx, t.x, t.labels, smf.Search{
		Method: smf.Settings{Variant: v}, Solver: settings, Ranks: t.Ranks, FoldOf: t.folds,
		Prepare: func(train mat.Matrix) func(mat.Matrix) mat.Matrix {
			scale := standardizer(train.(*mat.Dense))
			return func(x mat.Matrix) mat.Matrix { return scale(x.(*mat.Dense)) }
		},
	})
	if err != nil {
		return nil, nil, hyperparameters{}, err
	}
	chosen := hyperparameters{Rank: choice.Best.Rank, Xi: choice.Best.Xi, Ridge: choice.Best.Ridge}
	method, err := smf.New(t.labels, smf.Settings{Variant: v, Xi: chosen.Xi, Ridge: chosen.Ridge})
	if err != nil {
		return nil, nil, chosen, err
	}
	settings.Rank = chosen.Rank
	r, err := solver.Solve(ctx, t.x, settings, method)
	if err != nil {
		return nil, nil, chosen, err
	}
	return method, r, chosen, ctx.Err()
}

func predictions(m *smf.Model) func(*mat.Dense) (*mat.Dense, error) {
	return func(x *mat.Dense) (*mat.Dense, error) {
		p, err := m.Predict(x, nil)
		if err != nil {
			return nil, err
		}
		return p.Probabilities, nil
	}
}

// twoStage factorizes without labels and fits a logistic regression to the scores, with the rank and ridge of the least
// cross-validated log loss.
func twoStage(scaled bool) func(context.Context, *training) (*fitted, error) {
	return func(ctx context.Context, t *training) (*fitted, error) {
		least, best := math.Inf(1), smf.TwoStage{}
		for _, rank := range t.Ranks {
			for _, ridge := range []float64{0.001, 0.01, 0.1, 1, 10} {
				if err := ctx.Err(); err != nil {
					return nil, err
				}
				candidate := smf.TwoStage{Rank: rank, Ridge: ridge, Scaled: scaled, Seed: t.Seed}
				loss, err := t.heldOut(candidate)
				if err != nil {
					return nil, err
				}
				if loss < least {
					least, best = loss, candidate
				}
			}
		}
		m, err := best.Fit(t.x, t.labels)
		if err != nil {
			return nil, err
		}
		return &fitted{hyperparameters{Rank: best.Rank, Ridge: best.Ridge}, predictions(m)}, nil
	}
}

// heldOut returns the cross-validated log loss.
func (t *training) heldOut(s smf.TwoStage) (float64, error) {
	p := mat.NewDense(len(t.folds), t.labels.Classes, nil)
	for fold := range t.Folds {
		var rows [2][]int // outside the fold, and in it
		training := smf.Data{Classes: t.labels.Classes}
		for i, f := range t.folds {
			if f == fold {
				rows[1] = append(rows[1], i)
			} else {
				rows[0] = append(rows[0], i)
				training.Labels = append(training.Labels, t.labels.Labels[i])
			}
		}
		x := linalg.SelectRows(t.x, rows[0])
		scale := standardizer(x)
		m, err := s.Fit(scale(x), training)
		if err != nil {
			return 0, err
		}
		held, err := predictions(m)(scale(linalg.SelectRows(t.x, rows[1])))
		if err != nil {
			return 0, err
		}
		for from, to := range rows[1] {
			p.SetRow(to, held.RawRowView(from))
		}
	}
	m, err := eval.MeasureClasses(t.labels.Labels, p, make([]string, t.labels.Classes), nil)
	return m.LogLoss, err
}

// lasso is a logistic regression on the genes themselves, with the λ of the least cross-validated deviance.
func lasso(ctx context.Context, t *training) (*fitted, error) {
	design, err := elasticnet.NewDesign(t.x)
	if err != nil {
		return nil, err
	}
	y := make([]bool, len(t.labels.Labels))
	for i, label := range t.labels.Labels {
		y[i] = label == 1
	}
	cv, err := elasticnet.CrossValidate(ctx, elasticnet.Problem{Design: design, Y: y}, t.folds, elasticnet.DefaultSettings())
	if err != nil {
		return nil, err
	}
	return &fitted{hyperparameters{Lambda: cv.LambdaMin()}, func(x *mat.Dense) (*mat.Dense, error) {
		design, err := elasticnet.NewDesign(x)
		if err != nil {
			return nil, err
		}
		odds := cv.LinearPredictor(design, cv.IndexMin)
		linalg.LogisticTo(odds, odds)
		p := mat.NewDense(len(odds), 2, nil)
		for i, v := range odds {
			p.SetRow(i, []float64{1 - v, v})
		}
		return p, nil
	}}, nil
}
