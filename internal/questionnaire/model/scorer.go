package model

import (
	"gonum.org/v1/gonum/mat"
)

// Scorer scores one participant at a time. It is for one goroutine.
type Scorer interface {
	// ScoreTo writes the scores of a participant into dst, of length k: those of Factors.Score for a row of these answers, of
	// length p, and confounds, of length c, to the last bit.
	ScoreTo(dst, answers, confounds []float64) error
}

// NewScorer returns a Scorer by the model.
func (m *Model) NewScorer() Scorer {
	if m.FA != nil {
		return rowByRow{m.FA}
	}
	return m.ICQF.NewScorer()
}

// rowByRow scores a participant as a table with one row.
type rowByRow struct{ *FA }

func (f rowByRow) ScoreTo(dst, answers, confounds []float64) error {
	var known *mat.Dense
	if len(confounds) > 0 {
		known = mat.NewDense(1, len(confounds), confounds)
	}
	scores, err := f.Score(mat.NewDense(1, len(answers), answers), known)
	if err == nil {
		copy(dst, scores.RawRowView(0))
	}
	return err
}
