package items

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/linalg"
)

// Retested is how well a score agrees with itself over the bins of time.
type Retested struct {
	Score        string `json:"score"`
	Participants int    `json:"participants"` // with the score in each bin
	// Agreement is ICC(2,1), for which a shift of everybody is disagreement, and Consistency ICC(3,1), for which not.
	Agreement   ICC `json:"icc_2_1"`
	Consistency ICC `json:"icc_3_1"`
}

// ICC is an intraclass correlation with its 95 % interval, null if undefined.
type ICC struct {
	Value questionnaire.Figure `json:"icc"`
	Low   questionnaire.Figure `json:"low"`
	High  questionnaire.Figure `json:"high"`
}

// Retest reads several visits of each participant and compares their scores between the bins of time: the prorated sums
// of the scales and, with a model, its scores that are measurements. The columns have Visits; a model completes them.
func Retest(path string, columns answers.Columns, m *model.Model) (all []Retested, r answers.Remarks, err error) {
	var t *answers.Table
	switch {
	case m == nil:
		t, err = answers.ReadItems(path, &columns, nil)
	case m.Visits != nil:
		err = questionnaire.Optionf("the model was fitted to several visits: its participants have one score for all " +
			"of them")
	default:
		t, err = fit.Answers(m, path, columns)
	}
	if err != nil {
		return nil, r, err
	}
	width, bins := len(t.VisitItems), columns.Visits.Bins()
	var names []string
	scores := make([][][]float64, bins) // by bin, name and participant
	var people []int                    // with answers, by bin
	for b := range scores {
		in := lists.Make(width, func(j int) int { return b*width + j })
		people = append(people, len(t.Answering(t.All(), in)))
		x := linalg.SelectColumns(t.Answers, in)
		sums, of := model.SumsOf(model.SumScales(t.VisitItems, x, 0), t.VisitItems, x)
		names = nil
		for c := 1; c < len(of); c += model.SumColumns {
			names, scores[b] = append(names, of[c]), append(scores[b], mat.Col(nil, c, sums))
		}
		if m == nil {
			continue
		}
		known, _, err := t.Encode(m.Confounds)
		if err != nil {
			return nil, r, err
		}
		values, errs, err := fit.ScoreErrors(m, x, known)
		if err != nil {
			return nil, r, fmt.Errorf("scoring %q: %w", path, err)
		}
		names = append(names, model.FactorNames(values)...)
		for k := range m.Summary.FactorFits {
			column := mat.Col(nil, k, values)
			for i := range column {
				if !m.Summary.FactorFits[k].Measures(errs.At(i, k)) {
					column[i] = math.NaN()
				}
			}
			scores[b] = append(scores[b], column)
		}
	}
	for s, name := range names {
		var rows []float64
		for i := range t.IDs {
			row := lists.Make(bins, func(b int) float64 { return scores[b][s][i] })
			if !floats.HasNaN(row) {
				rows = append(rows, row...)
			}
		}
		of := Retested{Score: name, Participants: len(rows) / bins}
		of.Agreement, of.Consistency = icc(rows, bins)
		all = append(all, of)
	}
	if bins < 2 || !slices.ContainsFunc(all, func(of Retested) bool { return of.Participants > 0 }) {
		return nil, r, &table.Error{File: path, Column: columns.Visits.Time, Err: fmt.Errorf("no participant has a "+
			"score in each of several bins; participants with answers in the bins: %v", people)}
	}
	return all, t.Remarks, nil
}

// icc returns ICC(2,1) and ICC(3,1) of n×k scores, by rows, with the intervals of Shrout and Fleiss (1979) in the form
// of McGraw and Wong (1996). With the mean squares R of participants, C of bins and E of the rest,
//
//	ICC(2,1) = (R − E)/(R + (k−1)E + k(C − E)/n),   ICC(3,1) = (R − E)/(R + (k−1)E).
func icc(rows []float64, bins int) (agreement, consistency ICC) {
	n, k := float64(len(rows)/bins), float64(bins)
	if n < 2 || k < 2 {
		nan := questionnaire.Figure(math.NaN())
		return ICC{nan, nan, nan}, ICC{nan, nan, nan}
	}
	x, rest := mat.NewDense(len(rows)/bins, bins, rows), (n-1)*(k-1)
	r, c := k*stat.Variance(linalg.ColumnMeans(x.T()), nil), n*stat.Variance(linalg.ColumnMeans(x), nil)
	e := max(0, stat.Variance(rows, nil)*(n*k-1)-r*(n-1)-c*(k-1)) / rest
	of := func(value, low, high float64) ICC {
		return ICC{questionnaire.Figure(value), questionnaire.Figure(low), questionnaire.Figure(high)}
	}
	quantile := func(d1, d2 float64) float64 {
		if !(d1 > 0 && d2 > 0) { // all scores are equal, or agree
			return math.NaN()
		}
		return distuv.F{D1: d1, D2: d2}.Quantile(0.975)
	}
	low, high := r/e/quantile(n-1, rest), r/e*quantile(rest, n-1)
	consistency = of((r-e)/(r+(k-1)*e), (low-1)/(low+k-1), (high-1)/(high+k-1))

	value := (r - e) / (r + (k-1)*e + k*(c-e)/n)
	a := k * value / (n * (1 - value))
	b := 1 + a*(n-1)
	v := (a*c + b*e) * (a*c + b*e) / (a*c*a*c/(k-1) + b*e*b*e/rest)
	low, high = quantile(n-1, v), quantile(v, n-1)
	agreement = of(value, n*(r-low*e)/(low*(k*c+(k*n-k-n)*e)+n*r),
		n*(high*r-e)/(k*c+(k*n-k-n)*e+n*high*r))
	return agreement, consistency
}
