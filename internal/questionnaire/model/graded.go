package model

import (
	"fmt"
	"math"
	"slices"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver/linalg/eap"
	"github.com/wardcast/wardcast/solver/matrix/safetensors"
)

// Graded describes a fit by MethodGRM, except for the loadings.
type Graded struct {
	// Assigned says how each item got its factor: AssignedByCodebook, AssignedByFA, or "" for a single factor.
	Assigned   string  `json:"assigned,omitempty"`
	Parameters int     `json:"parameters"`
	AIC        float64 `json:"aic"`
	BIC        float64 `json:"bic"`
	// Items are those of the model, in its order.
	Items []GradedItem `json:"items"`
	// CorrelationErrors are the standard errors of the factors' correlations, k×k; nil if unknown.
	CorrelationErrors [][]float64 `json:"factor_correlations_se,omitempty"`
	// MeanQ3 is the mean correlation of the residuals of two items (Yen's Q3), and Dependent are the pairs whose Q3 is
	// above it by more than DependentQ3, largest first.
	MeanQ3    questionnaire.Figure `json:"mean_q3"`
	Dependent []Dependence         `json:"local_dependence"`
}

// How items were assigned to factors.
const (
	AssignedByCodebook = "codebook"
	AssignedByFA       = "factor analysis"
)

// DependentQ3 is the excess of Q3 over its mean from which on two items count as dependent: K. B. Christensen, G.
// Makransky and M. Horton, "Critical values for Yen's Q3", 2017.
const DependentQ3 = 0.2

// GradedItem holds the parameters of an item, with undefined figures for thresholds of categories that nobody chose and
// for unknown standard errors. Thresholds are those of (*Model).Thresholds.
type GradedItem struct {
	Item                string                 `json:"item"`
	Factor              int                    `json:"factor"` // from 1
	Discrimination      float64                `json:"discrimination"`
	DiscriminationError questionnaire.Figure   `json:"discrimination_se"`
	Thresholds          []questionnaire.Figure `json:"thresholds"`
	ThresholdErrors     []questionnaire.Figure `json:"thresholds_se"`
}

// Dependence is the correlation of the residuals of two items.
type Dependence struct {
	First  string  `json:"first"`
	Second string  `json:"second"`
	Q3     float64 `json:"q3"`
}

// The tensors of MethodGRM. Lists of the items follow each other: categories says how many values an item has, and it
// has one intercept less.
const (
	tensorSlopes     = "slopes"
	tensorIntercepts = "intercepts"
	tensorValues     = "values"
	tensorCategories = "categories"
)

func gradedTensors(m *eap.Model) safetensors.Tensors {
	categories := lists.Map(m.Values, func(values []float64) float64 { return float64(len(values)) })
	return safetensors.Tensors{
		tensorSlopes: safetensors.OfList(m.Slopes), tensorCategories: safetensors.OfList(categories),
		tensorIntercepts: safetensors.OfList(slices.Concat(m.Intercepts...)),
		tensorValues:     safetensors.OfList(slices.Concat(m.Values...)),
	}
}

// parseGraded returns the model whose items have their only loading on their factor.
func parseGraded(all safetensors.Tensors, f *FA) (*eap.Model, error) {
	p, k := f.Loadings.Dims()
	m := &eap.Model{Phi: f.Phi}
	var err error
	if m.Slopes, err = all.Float64(tensorSlopes, p); err != nil {
		return nil, err
	}
	categories, err := all.Float64(tensorCategories, p)
	if err != nil {
		return nil, err
	}
	const most = 1 << 16 // of an item
	total := 0
	for _, c := range categories {
		if !(c >= 2 && c == math.Trunc(c) && c <= most) {
			return nil, fmt.Errorf("an item of %v categories", c)
		}
		total += int(c)
	}
	values, err := all.Float64(tensorValues, total)
	if err != nil {
		return nil, err
	}
	intercepts, err := all.Float64(tensorIntercepts, total-p)
	if err != nil {
		return nil, err
	}
	m.Factors, _ = Strongest(f.Loadings)
	for j, c := range categories {
		n := int(c)
		m.Values, values = append(m.Values, values[:n:n]), values[n:]
		m.Intercepts, intercepts = append(m.Intercepts, intercepts[:n-1:n-1]), intercepts[n-1:]
		for t := range k {
			if t != m.Factors[j] && f.Loadings.At(j, t) != 0 {
				return nil, fmt.Errorf("item %d loads on two factors", j)
			}
		}
	}
	return m, m.Check()
}

// Thresholds returns where on its factor the answers to item j reach each step of its range: at b_k an answer of k
// steps above the lowest, or higher, has a probability of one half. A step between two answers that nobody gave has the
// threshold of the next answer above; it is NaN below the lowest answer that somebody gave, and above the highest. An
// item whose answers are not whole steps apart has a threshold for each answer but the lowest.
func (m *Model) Thresholds(j int) []float64 {
	const mostSteps = 100
	g, span := m.FA.Graded, *m.Items[j].Range
	if m.FromLow {
		span = questionnaire.Range{High: span.High - span.Low}
	}
	values, steps := g.Values[j], slices.Clone(g.Values[j])
	whole := func(v float64) bool { return v-span.Low == math.Trunc(v-span.Low) }
	if whole(span.High) && span.High-span.Low <= mostSteps &&
		!slices.ContainsFunc(values, func(v float64) bool { return !whole(v) }) {
		steps = steps[:0]
		for v := span.Low; v <= span.High; v++ {
			steps = append(steps, v)
		}
	}
	thresholds := make([]float64, len(steps)-1)
	for k := range thresholds {
		thresholds[k] = math.NaN()
		at, _ := slices.BinarySearch(values, steps[k+1])
		if at > 0 && at < len(values) {
			thresholds[k] = -g.Intercepts[j][at-1] / g.Slopes[j]
		}
	}
	return thresholds
}
