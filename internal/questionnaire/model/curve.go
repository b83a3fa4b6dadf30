package model

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/wardcast/wardcast/internal/chart"
)

// Choices returns the candidate with the lowest error, and the one with the fewest factors within its standard error.
func (s *Summary) Choices() (lowest, fewest Point) {
	less := func(a, b Point) int { return cmp.Compare(a.Error, b.Error) }
	of := slices.DeleteFunc(slices.Clone(s.BCV), func(p Point) bool { return p.Factors != s.OneStandardErrorFactors })
	return slices.MinFunc(s.BCV, less), slices.MinFunc(of, less)
}

// Curve draws the cross-validated error over the number of factors: a line for each β with standard errors, the
// choices, and the model, if not nil. There must be candidates.
func (s *Summary) Curve(width float64) *chart.Chart {
	c := &chart.Chart{
		Title: "Cross-validated error over the number of factors", Width: width, Height: 300,
		Left: 56, Right: 12, Top: 30, Bottom: 44,
	}
	points := slices.SortedStableFunc(slices.Values(s.BCV), func(a, b Point) int {
		return cmp.Or(cmp.Compare(a.Beta, b.Beta), cmp.Compare(a.Factors, b.Factors))
	})
	var all []chart.Series
	for i, p := range points {
		if i == 0 || p.Beta != points[i-1].Beta {
			all = append(all, chart.Series{Name: fmt.Sprintf("β = %v", p.Beta)})
		}
		line := &all[len(all)-1]
		line.Estimates = append(line.Estimates, chart.Estimate{
			X: float64(p.Factors), Y: p.Error, Low: p.Error - p.StandardError, High: p.Error + p.StandardError,
		})
	}
	keys := c.Plot("factors", "mean squared error of held-out answers", nil, all...)
	lowest, fewest := s.Choices()
	bound := lowest.Error + lowest.StandardError
	c.Line("limit", chart.At(c.X.From, bound), chart.At(c.X.To, bound))
	c.Mark("least", 0, chart.At(float64(lowest.Factors), lowest.Error), 7)
	c.Mark("least", 1, chart.At(float64(fewest.Factors), fewest.Error), 7)
	keys = append(keys, chart.Key{Text: "lowest error", Mark: "least"},
		chart.Key{Text: "one standard error", Mark: "least", Shape: 1},
		chart.Key{Text: "lowest + its standard error", Line: "limit"})
	for _, p := range points {
		if p.Factors == s.Factors && p.Beta == s.Beta {
			c.Dot("used", chart.At(float64(p.Factors), p.Error), 4)
			keys = append(keys, chart.Key{Text: "in use", Mark: "used"})
		}
	}
	c.Legend(keys...)
	return c
}
