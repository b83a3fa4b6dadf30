package fit

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/rank"
)

// validated returns how the method of the options is cross-validated on these data of the study.
func (o *Options) validated(s *Study, data icqf.Data) rank.Method {
	if o.Method == model.MethodICQF {
		return rank.ICQF(data, o.Solver(s, 0, 0))
	}
	with := *o
	with.Threads, with.Recorder = 1, nil
	rows, _ := data.Answers.Dims()
	all := linalg.Indices(rows)
	return func(training *mat.Dense, _ int) (rank.Fitter, error) {
		t := *s.Table
		t.Answers = training
		inside := &Study{Table: &t, Known: data.Confounds, confounds: s.confounds, scale: s.scale}
		means := linalg.ColumnMeans(training)
		return func(ctx context.Context, c rank.Candidate) (*mat.Dense, bool, error) {
			l, err := with.Learn(ctx, inside, all, model.Candidate(c))
			if err != nil {
				return nil, false, err
			}
			predicted, err := l.reconstruct(all)
			if err != nil {
				return nil, false, err
			}
			// An item that does not vary in training is left out there, and its mean is the prediction.
			whole := mat.NewDense(rows, len(means), nil)
			whole.Apply(func(_, j int, _ float64) float64 { return means[j] }, whole)
			for column, j := range l.Items {
				for i := range rows {
					whole.Set(i, j, predicted.At(i, column))
				}
			}
			return whole, !l.Status.Early(), nil
		}, nil
	}
}

// reconstruct returns the answers of these participants to the Items as predicted, by scores of 0 of who answered none.
func (l *Learnt) reconstruct(rows []int) (*mat.Dense, error) {
	scores, err := l.Score(rows)
	if err != nil {
		return nil, err
	}
	scores.Apply(func(_, _ int, v float64) float64 {
		if math.IsNaN(v) {
			return 0
		}
		return v
	}, scores)
	return l.Factors().Reconstruct(scores, l.known(rows))
}
