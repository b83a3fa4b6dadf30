package smf

import (
	"context"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// Leukaemia compares supervised factorizations of gene expressions with other methods. A sample is a document and a
// gene a term.
type Leukaemia struct {
	Splits int    `json:"splits" help:"Splits into halves; the paper has 5." default:"5"`
	Folds  int    `json:"folds" help:"Folds of the cross-validation inside the training half." default:"5"`
	Ranks  []int  `json:"ranks" help:"Numbers of topics to choose from." default:"1,2,3,5"`
	Genes  int    `json:"genes" help:"Genes shown of each topic." default:"10"`
	Seed   uint64 `json:"seed" help:"Seed of all random draws." default:"1"`
	// Version is the program's version, which the numbers depend on.
	Version string           `json:"version" kong:"-"`
	Columns PhenotypeColumns `json:"columns" embed:""`

	Expressions string `json:"-" help:"CSV of genes × samples, gzipped or not; the first line names the samples, the first column the genes." placeholder:"FILE" type:"existingfile" required:""`
	Phenotypes  string `json:"-" help:"CSV of the same samples, in any order; the first column names them." placeholder:"FILE" type:"existingfile" required:""`
	read        *Expressions
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
	// These are measured on the test half: see eval.ClassMetrics.
	Accuracy         float64 `json:"accuracy"`
	BalancedAccuracy float64 `json:"balanced_accuracy"`
	AUROC            float64 `json:"auroc"`
	LogLoss          float64 `json:"log_loss"`
	Seconds          float64 `json:"seconds"`
}

// Key implements report.Cell.
func (c LeukaemiaCell) Key() any { return c.LeukaemiaKey }

// hyperparameters are chosen by cross-validation, 0 for those that a method lacks.
type hyperparameters struct {
	Rank   int     `json:"rank,omitempty"`
	Xi     float64 `json:"xi,omitempty"`
	Ridge  float64 `json:"ridge,omitempty"`
	Lambda float64 `json:"lambda,omitempty"`
}

func (l *Leukaemia) check() error {
	if l.Splits < 1 || l.Folds < 2 || l.Genes < 1 || len(l.Ranks) == 0 {
		return report.Invalid("%d splits, %d folds, %d ranks, %d genes of a topic", l.Splits, l.Folds,
			len(l.Ranks), l.Genes)
	}
	samples, genes := l.read.X.Dims()
	half := samples / 2
	most := min(genes, half-(half+l.Folds-1)/l.Folds) // the samples of the smallest part that is factorized
	if l.Folds > half || slices.Min(l.Ranks) < 1 || slices.Max(l.Ranks) > most {
		return report.Invalid("%d folds and ranks %v of %d samples, half of which are trained on: ranks may be 1 to %d",
			l.Folds, l.Ranks, samples, max(0, most))
	}
	return nil
}

// Run makes the splits and then finds the topics of all samples.
func (l *Leukaemia) Run(ctx context.Context, session *report.Session) (_ *report.Report, err error) {
	if l.read == nil {
		if l.read, err = ReadExpressions(l.Expressions, l.Phenotypes, l.Columns); err != nil {
			return nil, err
		}
	}
	e := l.read
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
					Fill: func(ctx context.Context, cell *LeukaemiaCell) error {
						train, test, err := l.halves(o, split)
						if err != nil {
							return err
						}
						return m.fill(ctx, cell, o, train, test)
					},
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
	rows []int      // in the whole
	x    *mat.Dense // samples × genes
	data smf.Data
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
	return train, l.read.samples(o, rows[1], rows[0]), err
}

// train returns the training samples of these rows.
func (l *Leukaemia) train(o *Outcome, rows []int) (*training, error) {
	s := l.read.samples(o, rows, rows)
	folds, err := eval.StratifiedFolds(s.data.Labels, nil, l.Folds, l.Seed)
	return &training{*s, l, folds}, err
}

// samples returns the samples of these rows, standardized by the training rows.
func (e *Expressions) samples(o *Outcome, rows, train []int) *samples {
	s := &samples{
		rows: rows, x: standardizer(linalg.SelectRows(e.X, train))(linalg.SelectRows(e.X, rows)),
		data: smf.Data{Classes: len(o.Classes)},
	}
	for _, i := range rows {
		s.data.Labels = append(s.data.Labels, o.labels[i])
	}
	return s
}

// standardizer returns a function that centres the p columns and scales them to the variance 1/p, by the statistics of
// the given rows. A row then has a mean square of 1, like the ones of the intercept, which has the same ridge. Columns
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
