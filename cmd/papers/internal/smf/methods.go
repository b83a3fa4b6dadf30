package smf

import (
	"context"
	"math"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

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

// fitted is a fitted method.
type fitted struct {
	hyperparameters
	probabilities func(x *mat.Dense) (*mat.Dense, error) // samples × classes
}

// methods returns the methods for this many classes.
func methods(classes int) []method {
	all := []method{
		{string(smf.VariantW), supervised(smf.VariantW)},
		{string(smf.VariantH), supervised(smf.VariantH)},
		{"mf-lr", inTwoStages(true)},
		{"pca-lr", inTwoStages(false)},
	}
	if classes == 2 {
		all = append(all, method{"lasso", lasso})
	}
	return all
}

// fill fits the method to one half and measures it on the other.
func (m method) fill(ctx context.Context, cell *LeukaemiaCell, o *Outcome, train *training, test *samples) error {
	began := time.Now()
	f, err := m.fit(ctx, train)
	if err != nil {
		return err
	}
	p, err := f.probabilities(test.x)
	if err != nil {
		return err
	}
	found, err := eval.MeasureClasses(test.data.Labels, p, o.Classes, nil)
	if err != nil {
		return err
	}
	cell.Train, cell.Test, cell.hyperparameters = len(train.data.Labels), found.N, f.hyperparameters
	cell.Accuracy, cell.BalancedAccuracy, cell.AUROC, cell.LogLoss = found.Accuracy, found.BalancedAccuracy,
		*found.AUROC, found.LogLoss
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
	x := t.x
	settings := solver.Settings{MaxIter: leukaemiaUpdates, RelTol: leukaemiaRelTol, Seed: t.Seed}
	choice, err := smf.Choose(ctx, x, t.data, smf.Search{
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
	method, err := smf.New(t.data, smf.Settings{Variant: v, Xi: chosen.Xi, Ridge: chosen.Ridge})
	if err != nil {
		return nil, nil, chosen, err
	}
	settings.Rank = chosen.Rank
	r, err := solver.Solve(ctx, x, settings, method)
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

// inTwoStages factorizes without labels and fits a logistic regression to the scores, with the rank and ridge of the
// least cross-validated log loss.
func inTwoStages(scaled bool) func(context.Context, *training) (*fitted, error) {
	return func(ctx context.Context, t *training) (*fitted, error) {
		least, best := math.Inf(1), twoStage{}
		for _, rank := range t.Ranks {
			for _, ridge := range []float64{0.001, 0.01, 0.1, 1, 10} {
				candidate := twoStage{rank: rank, ridge: ridge, scaled: scaled, seed: t.Seed}
				loss, err := t.heldOut(ctx, candidate)
				if err != nil {
					return nil, err
				}
				if loss < least {
					least, best = loss, candidate
				}
			}
		}
		m, err := best.fit(ctx, t.x, t.data)
		if err != nil {
			return nil, err
		}
		return &fitted{hyperparameters{Rank: best.rank, Ridge: best.ridge}, predictions(m)}, nil
	}
}

// heldOut returns the cross-validated log loss.
func (t *training) heldOut(ctx context.Context, s twoStage) (float64, error) {
	p := mat.NewDense(len(t.folds), t.data.Classes, nil)
	for fold := range t.Folds {
		var rows [2][]int // outside the fold, and in it
		labels := smf.Data{Classes: t.data.Classes}
		for i, f := range t.folds {
			if f == fold {
				rows[1] = append(rows[1], i)
			} else {
				rows[0] = append(rows[0], i)
				labels.Labels = append(labels.Labels, t.data.Labels[i])
			}
		}
		x := linalg.SelectRows(t.x, rows[0])
		scale := standardizer(x)
		m, err := s.fit(ctx, scale(x), labels)
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
	m, err := eval.MeasureClasses(t.data.Labels, p, make([]string, t.data.Classes), nil)
	return m.LogLoss, err
}

// lasso is a logistic regression on the genes themselves, with the λ of the least cross-validated deviance.
func lasso(ctx context.Context, t *training) (*fitted, error) {
	design, err := elasticnet.NewDesign(t.x)
	if err != nil {
		return nil, err
	}
	y := make([]bool, len(t.data.Labels))
	for i, label := range t.data.Labels {
		y[i] = label == 1
	}
	cv, err := elasticnet.CrossValidate(ctx, elasticnet.Problem{Design: design, Y: y}, t.folds,
		elasticnet.DefaultSettings())
	if err != nil {
		return nil, err
	}
	return &fitted{hyperparameters{Lambda: cv.Lambda[cv.IndexMin]}, func(x *mat.Dense) (*mat.Dense, error) {
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
