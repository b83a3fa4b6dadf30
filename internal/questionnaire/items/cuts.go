package items

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Screening is how well the prorated sum of a scale, see model.SumsOf, separates who has a label from who has not.
type Screening struct {
	Scale         string         `json:"scale"`
	Label         string         `json:"label"`
	Positive      int            `json:"positive"` // participants with a sum and the label
	Negative      int            `json:"negative"`
	AUROC         float64        `json:"auroc"`
	AUROCInterval *eval.Interval `json:"auroc_interval_95"`
	// Cuts are at the sums of complete answers. Best is the first one with the largest Youden.
	Cuts []Cut   `json:"cuts"`
	Best float64 `json:"best_cut"`
}

// Cut is a sum from which on participants are called positive.
type Cut struct {
	Cut         float64 `json:"cut"`
	Sensitivity Rate    `json:"sensitivity"`
	Specificity Rate    `json:"specificity"`
	Youden      float64 `json:"youden"` // sensitivity + specificity − 1
}

// Rate is a share with Wilson's interval of 95 %.
type Rate struct {
	Share float64 `json:"share"`
	eval.Interval
}

func rate(hits, n int) (r Rate) {
	r.Share = float64(hits) / float64(n)
	r.Low, r.High = eval.Wilson(r.Share, float64(n))
	return r
}

// screenings returns one for each label and scale with sums of both classes and of complete answers.
func screenings(t *answers.Table, columns *answers.Columns, threads linalg.Threads) (all []Screening) {
	for l, label := range columns.Labels {
		scales := model.SumScales(t.Items, t.Answers, threads)
		sums, _ := model.SumsOf(scales, t.Items, t.Answers)
		for k, scale := range scales {
			s := Screening{Scale: scale.Name, Label: label.String()}
			first := model.SumColumns * k
			s.screen(mat.Col(nil, first, sums), mat.Col(nil, first+1, sums), t.Labels[l])
			if s.Cuts != nil {
				all = append(all, s)
			}
		}
	}
	return all
}

func (s *Screening) screen(cuts, prorated []float64, labels []int8) {
	var with []bool
	var sums []float64
	for i, v := range prorated {
		if v == v && labels[i] != answers.Unknown {
			with, sums = append(with, labels[i] == 1), append(sums, v)
			s.Positive += int(labels[i])
		}
	}
	s.Negative = len(sums) - s.Positive
	if s.Positive == 0 || s.Negative == 0 {
		return
	}
	shares := slices.Clone(sums)
	floats.Scale(1/max(1, floats.Max(sums)), shares) // AUROC takes 0 to 1
	s.AUROC, s.AUROCInterval, _ = eval.AUROC(with, shares, nil)
	slices.Sort(cuts)
	most := -1 // Youden's index in whole numbers, whose ties are exact
	for _, cut := range slices.Compact(slices.DeleteFunc(cuts, math.IsNaN)) {
		var hits, rejected int
		for i, v := range sums {
			switch called := v >= cut; {
			case called && with[i]:
				hits++
			case !called && !with[i]:
				rejected++
			}
		}
		c := Cut{Cut: cut, Sensitivity: rate(hits, s.Positive), Specificity: rate(rejected, s.Negative)}
		c.Youden = c.Sensitivity.Share + c.Specificity.Share - 1
		if youden := hits*s.Negative + rejected*s.Positive; youden > most {
			most, s.Best = youden, cut
		}
		s.Cuts = append(s.Cuts, c)
	}
}
