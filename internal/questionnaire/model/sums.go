package model

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver/linalg"
)

// SumScale is a scale whose sum scores a fit describes.
type SumScale struct {
	Name  string   `json:"scale"`
	Items []string `json:"items"`
	// Deviation is the standard deviation of the sums of complete answers, and Error their standard error of
	// measurement; null for a single item.
	Deviation questionnaire.Figure `json:"deviation"`
	Error     questionnaire.Figure `json:"standard_error"`
}

// allItems names the scale of all items, if there are no subscales.
const allItems = "all"

// SumScales returns the scales of the items: the subscales, or one of all items. With C the covariances of the p items
// of a scale in the answers of a fit, each over the participants who answered both items, and V = Σ C, the variance of
// the errors is by Cronbach's α
//
//	V·(1 − α) = V − p/(p − 1)·(V − tr C)
func SumScales(items []questionnaire.Item, answers *mat.Dense, threads linalg.Threads) (all []SumScale) {
	scales := questionnaire.ScalesOf(items, linalg.Indices(len(items)), false)
	for _, scale := range scales {
		s := SumScale{Name: scale.Name, Items: questionnaire.Names(lists.Take(items, scale.Items))}
		switch {
		case s.Name == "" && len(scales) > 1:
			continue // items without a scale next to others that have one
		case s.Name == "":
			s.Name = allItems
		}
		c, _ := threads.Covariances(linalg.SelectColumns(answers, scale.Items))
		p, v := float64(len(s.Items)), mat.Sum(c)
		s.Deviation = questionnaire.Figure(math.Sqrt(v))
		s.Error = questionnaire.Figure(math.Sqrt(min(v, max(0, v-p/(p-1)*(v-mat.Trace(c))))))
		all = append(all, s)
	}
	return all
}

// changed is the factor by which the standard error of measurement leads to the reliable change (Jacobson and Truax
// 1991): 95 % of unchanged people have a smaller difference between two measurements.
const changed = 1.96 * math.Sqrt2

// SumColumns is the number of columns of a scale in SumsOf.
const SumColumns = 4

// SumsOf returns the columns of these scales for each row of the answers, and their names:
//
//	sum_       the sum of the answers as they are scored; empty unless all p items are answered
//	prorated_  p times the mean of the a answers; empty if a < p/2
//	sem_       the standard error of the prorated sum, that of the sum times √(p/a)
//	rci_       1.96·√2 times this: 95 % of unchanged people have a smaller change
func SumsOf(scales []SumScale, items []questionnaire.Item, answers *mat.Dense) (*mat.Dense, []string) {
	n, _ := answers.Dims()
	values := mat.NewDense(n, SumColumns*len(scales), nil)
	var names []string
	for k, s := range scales {
		names = append(names, "sum_"+s.Name, "prorated_"+s.Name, "sem_"+s.Name, "rci_"+s.Name)
		at := lists.Where(len(items), func(j int) bool { return slices.Contains(s.Items, items[j].Name) })
		p := float64(len(at))
		for i := range n {
			var sum, given float64
			for _, j := range at {
				if v := answers.At(i, j); !math.IsNaN(v) {
					sum, given = sum+v, given+1
				}
			}
			cells := values.RawRowView(i)[SumColumns*k : SumColumns*(k+1)]
			for c := range cells {
				cells[c] = math.NaN()
			}
			if given == p {
				cells[0] = sum
			}
			if 2*given >= p {
				sem := float64(s.Error) * math.Sqrt(p/given)
				cells[1], cells[2], cells[3] = sum*(p/given), sem, changed*sem // of all items exactly the sum
			}
		}
	}
	return values, names
}
