package fit

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/linalg"
)

// mostResiduals is the largest number of pairs of items that a summary names.
const mostResiduals = 20

// supplement adds the correlations of the scores, n×k, and of the answers less their reconstruction, n×p, to the
// summary of a method without correlated factors.
func supplement(m *model.Model, scores, left *mat.Dense, threads linalg.Threads) {
	if m.FA != nil {
		return
	}
	k, between := m.Summary.Factors, &mat.SymDense{}
	stat.CorrelationMatrix(between, scores, nil)
	m.Summary.ScoreCorrelations = lists.Make(k, func(t int) []questionnaire.Figure {
		return lists.Make(k, func(u int) questionnaire.Figure { return questionnaire.Figure(between.At(t, u)) })
	})
	c, _ := threads.Covariances(left)
	m.Summary.Residuals = residuals(m.Items, func(i, j int) float64 {
		return c.At(i, j) / math.Sqrt(c.At(i, i)*c.At(j, j))
	})
}

// residuals describes the correlations of items that a solution leaves; NaN is none.
func residuals(items []questionnaire.Item, of func(i, j int) float64) *model.Residuals {
	var all []model.ResidualPair
	var squares float64
	for i := range items {
		for j := range i {
			if v := of(i, j); !math.IsNaN(v) && !math.IsInf(v, 0) {
				squares += v * v
				all = append(all, model.ResidualPair{First: items[j].Name, Second: items[i].Name, Correlation: v})
			}
		}
	}
	slices.SortStableFunc(all, func(a, b model.ResidualPair) int {
		return cmp.Compare(math.Abs(b.Correlation), math.Abs(a.Correlation))
	})
	return &model.Residuals{
		RootMeanSquare: math.Sqrt(squares / float64(max(1, len(all)))), Largest: all[:min(len(all), mostResiduals)],
	}
}
