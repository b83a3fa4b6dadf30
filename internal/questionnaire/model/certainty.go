package model

import (
	"fmt"
	"slices"

	"gonum.org/v1/gonum/floats"

	"github.com/wardcast/wardcast/internal/questionnaire"
)

// IntervalsFile holds the intervals of the loadings as a table, if there are any.
const IntervalsFile = "loadings_intervals.csv"

// Bootstrap tells how sure the loadings are: how they vary between fits to participants drawn anew.
type Bootstrap struct {
	Replicates int `json:"replicates"`
	// Failed counts the replicates that the method could not learn from. They do not count for anything else.
	Failed      int `json:"failed"`
	Unconverged int `json:"unconverged"` // replicates that ended at MaxIter
	// Level is the share of samples in which an interval holds the loading that the method has in the population.
	Level float64 `json:"level"`
	// Factors tells how often each factor was found again.
	Factors []Again `json:"factors"`
	// Loadings has a row for each item, with the factors and then the columns of the confounds.
	Loadings Intervals `json:"loadings"`
	// FactorCorrelations is k×k, nil unless the model has any.
	FactorCorrelations *Intervals `json:"factor_correlations,omitempty"`
	// Scores says for each factor how far a participant's score in a replicate is from that in the fit (root mean
	// square): what the loadings, which are learned from a sample, add to the error of a score.
	Scores []float64 `json:"scores"`
}

// The congruence of loadings, their cosine, from which on two factors are fairly similar, and equal: U. Lorenzo-Seva
// and J. M. F. ten Berge, "Tucker's congruence coefficient as a meaningful index of factor similarity", 2006.
const (
	SimilarCongruence = 0.85
	EqualCongruence   = 0.95
)

// Again tells how like a factor is to its match in the replicates: the mean of the congruence, and the shares of
// replicates where it is at least SimilarCongruence and EqualCongruence.
type Again struct {
	Congruence float64 `json:"congruence"`
	Similar    float64 `json:"similar"`
	Equal      float64 `json:"equal"`
}

// Intervals are standard errors and the ends of intervals, each a table.
type Intervals struct {
	Errors [][]float64 `json:"se"`
	Low    [][]float64 `json:"low"`
	High   [][]float64 `json:"high"`
}

// check returns an error unless there are as many intervals and factors as the model has loadings.
func (b *Bootstrap) check(m *Model) error {
	s := &m.Summary
	columns := s.Factors + len(questionnaire.Columns(m.Confounds))
	for _, table := range [][][]float64{b.Loadings.Errors, b.Loadings.Low, b.Loadings.High} {
		if len(table) != len(m.Items) ||
			slices.ContainsFunc(table, func(row []float64) bool { return len(row) != columns }) {
			return fmt.Errorf("intervals of other loadings than those of %d items on %d columns", len(m.Items), columns)
		}
	}
	if len(b.Factors) != s.Factors {
		return fmt.Errorf("a bootstrap of %d factors, must be %d", len(b.Factors), s.Factors)
	}
	if len(b.Scores) != s.Factors || !(floats.Min(b.Scores) >= 0) {
		return fmt.Errorf("errors %v of the scores of %d factors", b.Scores, s.Factors)
	}
	return nil
}

// intervalsCSV returns the loadings with their intervals as a long table: item, factor, loading, se, low, high.
func (m *Model) intervalsCSV() []byte {
	all, names := m.AllLoadings()
	of := &m.Summary.Bootstrap.Loadings
	rows := [][]string{{"item", "factor", "loading", "se", "low", "high"}}
	for j, item := range m.Items {
		for c, name := range names {
			rows = append(rows,
				Cells([]string{item.Name, name}, all.At(j, c), of.Errors[j][c], of.Low[j][c], of.High[j][c]))
		}
	}
	return CSV(rows)
}

// ExplainedBy tells what explains the answers, as shares of the variance about the items' means.
type ExplainedBy struct {
	// Explained is the share that factors and confounds explain together. ConfoundsAlone is what a linear regression on
	// the confounds explains, and AddedByFactors the difference of the two.
	Explained      float64 `json:"explained"`
	ConfoundsAlone float64 `json:"confounds_alone"`
	AddedByFactors float64 `json:"added_by_factors"`
	// Factors, Confounds and Means add up to Explained, by their Share. Means is what the fit loses by missing the
	// items' means.
	Factors   []Share `json:"factors"`
	Confounds *Share  `json:"confounds,omitempty"` // nil without confounds
	Means     float64 `json:"means"`
	// CrossValidated is the same for participants and answers that the fit has not seen, nil unless asked for.
	CrossValidated *ExplainedBy `json:"cross_validated,omitempty"`
}

// Share is what a factor explains: Alone, if all other factors and the confounds were at their means; Lost, if only
// this one were; and Share, the mean of the two.
type Share struct {
	Share float64 `json:"share"`
	Alone float64 `json:"alone"`
	Lost  float64 `json:"lost"`
}
