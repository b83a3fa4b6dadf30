package fit

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
)

// Measured says whose score is a measurement: its standard error, with loadings that count as known, is at most Limit.
type Measured struct {
	Participants []bool
	Limit        float64
}

// measuredBy returns that of each factor from the standard errors e of the participants, n×k. The answers of a
// participant hold the information
//
//	I = 1/e² − 1/e₀²,
//
// where e₀ is the standard error without answers. They tell enough if I is at least a quarter of the median of those
// who have a tenth of the largest I or more: the others were hardly asked, and may be most of them.
func measuredBy(m *model.Model, errs *mat.Dense) []Measured {
	const enough, asked = 1. / 4, 1. / 10
	nothing := 1 / (m.LargestError() * m.LargestError())
	_, k := errs.Dims()
	all := make([]Measured, k)
	for t := range all {
		e := mat.Col(nil, t, errs)
		information := make([]float64, len(e))
		for i, v := range e {
			information[i] = 1/(v*v) - nothing
		}
		least := asked * floats.Max(information)
		usual := slices.DeleteFunc(slices.Sorted(slices.Values(information)), func(v float64) bool { return v < least })
		limit := m.LargestError()
		if len(usual) > 0 {
			if v := 1 / math.Sqrt(nothing+enough*max(0, stat.Quantile(0.5, stat.Empirical, usual, nil))); v > 0 {
				limit = v
			}
		}
		all[t] = Measured{Participants: make([]bool, len(e)), Limit: limit}
		for i, v := range e {
			all[t].Participants[i] = v <= limit
		}
	}
	return all
}

// factorFits describes scores, and their standard errors with loadings that count as known.
func factorFits(m *model.Model, scores, errs *mat.Dense, measured []Measured) []model.FactorFit {
	fits := make([]model.FactorFit, len(measured))
	for t := range fits {
		f := &fits[t]
		var w []float64
		var squares, absent, high float64
		for i, ok := range measured[t].Participants {
			if !ok {
				continue
			}
			v, e := scores.At(i, t), errs.At(i, t)
			w = append(w, v)
			squares += e * e
			if v == 0 {
				absent++
			}
			if v > 0.5 {
				high++
			}
		}
		n := float64(max(1, len(w)))
		f.Participants, f.Mean, f.Absent, f.High = len(w), sum(w)/n, absent/n, high/n
		if len(w) > 1 {
			f.Deviation = stat.StdDev(w, nil)
		}
		variance := f.Deviation * f.Deviation
		if m.FA != nil {
			variance = 1
		}
		if variance > squares/n {
			f.Reliability = 1 - squares/n/variance
		}
		f.Limit, f.StandardError = m.WithLoadings(t, measured[t].Limit), m.WithLoadings(t, math.Sqrt(squares/n))
	}
	return fits
}

// vague warns of factors that the answers of more than a hundredth of the participants tell too little of.
func vague(fits []model.FactorFit, participants int) []string {
	var factors []string
	for t, f := range fits {
		if few := participants - f.Participants; few*100 > participants {
			factors = append(factors, fmt.Sprintf("those of %s on factor%d", wording.Count(few, "participant"), t+1))
		}
	}
	if factors == nil {
		return nil
	}
	return []string{fmt.Sprintf("some scores are no measurements, since their answers hold less than a quarter of "+
		"the usual information: %s. They do not count for the mean, the shares and the reliability of the factor; "+
		"their standard errors are large", strings.Join(factors, ", "))}
}

// unreliable warns of factors, but for empty ones, whose scores hold more error than differences between people.
func unreliable(fits []model.FactorFit) (warnings []string) {
	const least = 0.5
	for t, f := range fits {
		if f.Deviation > 0 && f.Reliability < least {
			warnings = append(warnings, fmt.Sprintf("the scores of factor%d have a reliability of %.2f: more than "+
				"half of their variance is error, so they say little of a person", t+1, f.Reliability))
		}
	}
	return warnings
}

// vagueLines returns, for each factor, the lines of those with scores that are no measurements.
func vagueLines(fits []model.FactorFit, lines, without []int, errs *mat.Dense) [][]int {
	all, out := make([][]int, len(fits)), map[int]bool{}
	for _, line := range without {
		out[line] = true
	}
	for t, f := range fits {
		for i, line := range lines {
			if !out[line] && !f.Measures(errs.At(i, t)) {
				all[t] = append(all[t], line)
			}
		}
	}
	return all
}
