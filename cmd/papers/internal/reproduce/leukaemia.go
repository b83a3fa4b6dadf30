package reproduce

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// LeukaemiaSettings say how methods are compared.
type LeukaemiaSettings struct {
	Splits int    `json:"splits"` // into two halves, one to train on and one to test
	Folds  int    `json:"folds"`  // of the cross-validation inside the training half
	Ranks  []int  `json:"ranks"`  // numbers of topics to choose from
	Genes  int    `json:"genes"`  // shown of each topic
	Seed   uint64 `json:"seed"`
	// Version is that of the program, which the numbers depend on.
	Version string           `json:"version"`
	Columns PhenotypeColumns `json:"columns"`
}

// Leukaemia compares supervised factorizations of gene expressions with others: section 6 of Lee, Lyu and Yao, on other
// data. A sample is a document and a gene a term.
type Leukaemia struct {
	LeukaemiaSettings
	// Cells is the path of a file of JSON lines, to which each LeukaemiaCell is added as it comes; those that it holds are
	// not computed again. It goes on under the same settings and data only. "" is none.
	Cells string
	// Progress, when not nil, is told how many of the fits are done.
	Progress func(done, total int)
}

// LeukaemiaCell is one method on one split.
type LeukaemiaCell struct {
	Outcome string `json:"outcome"`
	Method  string `json:"method"`
	Split   int    `json:"split"` // from 0
	Train   int    `json:"train"` // samples
	Test    int    `json:"test"`
	hyperparameters
	// These are of the test half: see eval.ClassMetrics.
	Accuracy         float64 `json:"accuracy"`
	BalancedAccuracy float64 `json:"balanced_accuracy"`
	AUROC            float64 `json:"auroc"`
	LogLoss          float64 `json:"log_loss"`
	Seconds          float64 `json:"seconds"`
}

// hyperparameters are what a cross-validation chose, 0 where a method has no such thing.
type hyperparameters struct {
	Rank   int     `json:"rank,omitempty"`
	Xi     float64 `json:"xi,omitempty"`
	Ridge  float64 `json:"ridge,omitempty"`
	Lambda float64 `json:"lambda,omitempty"`
}

func (c *LeukaemiaCell) check() error {
	if c.Train == 0 || c.Test == 0 {
		return fmt.Errorf("%d samples to train on, %d to test", c.Train, c.Test)
	}
	return nil
}

// leukaemiaHeader is the header of cells.
type leukaemiaHeader struct {
	LeukaemiaSettings
	Expressions string `json:"expressions"` // fingerprint
}

func (h leukaemiaHeader) of() string { return "gene expressions" }

func (h leukaemiaHeader) whole() bool { return h.Expressions != "" }

func (l *Leukaemia) check(e *Expressions) error {
	if l.Splits < 1 || l.Folds < 2 || l.Genes < 1 || len(l.Ranks) == 0 {
		return fmt.Errorf("%w: %d splits, %d folds, %d ranks, %d genes of a topic", ErrSettings, l.Splits, l.Folds, len(l.Ranks), l.Genes)
	}
	samples, genes := e.X.Dims()
	half := samples / 2
	most := min(genes, half-(half+l.Folds-1)/l.Folds) // the samples of the smallest part that is factorized
	if l.Folds > half || slices.Min(l.Ranks) < 1 || slices.Max(l.Ranks) > most {
		return fmt.Errorf("%w: %d folds and ranks %v of %d samples, halves of which are trained on: ranks from 1 to %d can be", ErrSettings, l.Folds, l.Ranks, samples, max(0, most))
	}
	return nil
}

// Run makes the splits, and then the topics of all samples. When ctx ends or a fit fails, what is known comes with the
// error.
func (l *Leukaemia) Run(ctx context.Context, e *Expressions) (_ *LeukaemiaResult, err error) {
	if err := l.check(e); err != nil {
		return nil, err
	}
	file, err := openCells(l.Cells, leukaemiaHeader{l.LeukaemiaSettings, e.fingerprint()}, (*LeukaemiaCell).check)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.close()) }()
	samples, genes := e.X.Dims()
	out := &LeukaemiaResult{Settings: l.LeukaemiaSettings, Samples: samples, Genes: genes, Outcomes: e.Outcomes}
	variants := []smf.Variant{smf.VariantW, smf.VariantH}
	done, total := 0, len(variants)
	for _, o := range e.Outcomes {
		total += l.Splits * len(contestants(len(o.Classes)))
	}
	defer out.summarize()
	step := func() {
		done++
		if l.Progress != nil {
			l.Progress(done, total)
		}
	}
	for i := range e.Outcomes {
		o := &e.Outcomes[i]
		for split := range l.Splits {
			train, test, err := l.halves(e, o, split)
			if err != nil {
				return out, err
			}
			for _, m := range contestants(len(o.Classes)) {
				cell := file.find(func(k *LeukaemiaCell) bool { return k.Outcome == o.Name && k.Method == m.name && k.Split == split })
				if cell == nil {
					if cell, err = m.cell(ctx, o, train, test); err != nil {
						return out, fmt.Errorf("%s, %s, split %d: %w", o.Name, m.name, split+1, err)
					}
					cell.Split = split
					if err := file.add(cell); err != nil {
						return out, err
					}
				}
				out.Cells = append(out.Cells, *cell)
				step()
			}
		}
	}
	everyone := make([]int, samples)
	for i := range everyone {
		everyone[i] = i
	}
	whole, err := l.train(e, &e.Outcomes[0], everyone)
	if err != nil {
		return out, err
	}
	for _, v := range variants {
		found, err := l.topics(ctx, e, whole, v)
		if err != nil {
			return out, fmt.Errorf("%s of all samples: %w", v, err)
		}
		out.Supervised = append(out.Supervised, *found)
		step()
	}
	return out, nil
}

// samples are those of a half, standardized by the training half.
type samples struct {
	rows []int      // in the whole
	x    *mat.Dense // samples × genes
	data smf.Data
}

// training are the samples that a method learns from.
type training struct {
	samples
	LeukaemiaSettings
	folds []int // of each sample, for cross-validation
	scale func(*mat.Dense) *mat.Dense
}

// halves returns a split, stratified by class.
func (l *Leukaemia) halves(e *Expressions, o *Outcome, split int) (*training, *samples, error) {
	half, err := eval.StratifiedFolds(o.labels, nil, 2, l.Seed+uint64(split))
	if err != nil {
		return nil, nil, err
	}
	var rows [2][]int
	for i, h := range half {
		rows[h] = append(rows[h], i)
	}
	train, err := l.train(e, o, rows[0])
	if err != nil {
		return nil, nil, err
	}
	return train, e.samples(o, rows[1], train.scale), nil
}

// train returns the training samples of these rows.
func (l *Leukaemia) train(e *Expressions, o *Outcome, rows []int) (*training, error) {
	scale := standardizer(linalg.SelectRows(e.X, rows))
	s := e.samples(o, rows, scale)
	folds, err := eval.StratifiedFolds(s.data.Labels, nil, l.Folds, l.Seed)
	if err != nil {
		return nil, err
	}
	return &training{*s, l.LeukaemiaSettings, folds, scale}, nil
}

// samples returns the samples of these rows.
func (e *Expressions) samples(o *Outcome, rows []int, scale func(*mat.Dense) *mat.Dense) *samples {
	s := &samples{rows: rows, x: scale(linalg.SelectRows(e.X, rows)), data: smf.Data{Classes: len(o.Classes)}}
	for _, i := range rows {
		s.data.Labels = append(s.data.Labels, o.labels[i])
	}
	return s
}

// standardizer returns what centres the p columns and scales them to the variance 1/p, by the statistics of the given rows:
// a row then has a mean square of 1, as the ones of the intercept, which the same ridge covers. Columns that are constant
// there become 0.
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
