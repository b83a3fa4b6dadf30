package eval

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
)

// ClassMetrics are the measures of one set of predictions of several classes. The predicted class of a row is the most
// probable one, the first of several. The JSON names are stable. Measures that the data leave undefined are nil.
type ClassMetrics struct {
	N        int     `json:"n"`
	Accuracy float64 `json:"accuracy"`
	// BalancedAccuracy is the mean over the classes that occur of the share of their rows that are predicted rightly.
	BalancedAccuracy float64 `json:"balanced_accuracy"`
	// LogLoss = −Σ ln p(class of the row)/n, p clipped to [2⁻⁵², 1−2⁻⁵²], in nats.
	LogLoss float64 `json:"log_loss"`
	// Brier = Σ_i Σ_c (p_ic − 1(y_i = c))²/n, in [0,2]: for two classes twice that of Metrics (Brier 1950).
	Brier float64 `json:"brier"`
	// AUROC is the mean over the classes, each against all others; nil unless every class occurs.
	AUROC   *float64      `json:"auroc,omitempty"`
	Classes []ClassMetric `json:"classes"`
	// Confusion holds for each class (row) how many of its rows are predicted as each class (column).
	Confusion [][]int `json:"confusion"`
}

// ClassMetric holds the measures of one class against all others.
type ClassMetric struct {
	Class         string    `json:"class"`
	N             int       `json:"n"`
	AUROC         *float64  `json:"auroc,omitempty"`
	AUROCInterval *Interval `json:"auroc_95,omitempty"`
}

const sumTolerance = 1e-6 // how far from 1 the probabilities of a row may sum

// MeasureClasses returns all measures of the n×m probabilities p of the classes y, 0 … m−1, that have the given names.
// groups are those of AUROC. It returns ErrShape for sizes that do not fit, ErrProbability for rows that are not
// distributions, and ErrArgument for a class out of range. The cost is O(m·n log n).
func MeasureClasses(y []int, p *mat.Dense, names, groups []string) (ClassMetrics, error) {
	n, m := p.Dims()
	if len(y) != n || len(names) != m || m < 2 || groups != nil && len(groups) != n {
		return ClassMetrics{}, fmt.Errorf("%w: %d outcomes, %d×%d probabilities, %d classes, %d groups", ErrShape,
			len(y), n, m, len(names), len(groups))
	}
	out := ClassMetrics{N: n, Classes: make([]ClassMetric, m), Confusion: make([][]int, m)}
	for c := range m {
		out.Confusion[c] = make([]int, m)
	}
	right := 0
	for i, class := range y {
		if class < 0 || class >= m {
			return ClassMetrics{}, fmt.Errorf("%w: class %d of %d at row %d", ErrArgument, class, m, i)
		}
		called, sum := 0, 0.0
		row := p.RawRowView(i)
		for c, v := range row {
			if !(v >= 0 && v <= 1) {
				return ClassMetrics{}, fmt.Errorf("%w: %v at row %d", ErrProbability, v, i)
			}
			sum += v
			if v > row[called] {
				called = c
			}
			out.Brier += square(v-one(c == class)) / float64(n)
		}
		if math.Abs(sum-1) > sumTolerance {
			return ClassMetrics{}, fmt.Errorf("%w: a sum of %v, must be 1, at row %d", ErrProbability, sum, i)
		}
		out.LogLoss -= math.Log(min(max(row[class], probabilityClip), 1-probabilityClip)) / float64(n)
		out.Confusion[class][called]++
		if called == class {
			right++
		}
	}
	out.Accuracy = float64(right) / float64(n)
	out.eachClass(y, p, names, groups)
	return out, nil
}

// eachClass measures each class against the others, and their means.
func (m *ClassMetrics) eachClass(y []int, p *mat.Dense, names, groups []string) {
	truth, probability := make([]bool, m.N), make([]float64, m.N)
	var occurring, ranked int
	var area float64
	for c, name := range names {
		of := ClassMetric{Class: name}
		for i, class := range y {
			truth[i] = class == c
			if truth[i] {
				of.N++
			}
		}
		if of.N > 0 {
			occurring++
			m.BalancedAccuracy += float64(m.Confusion[c][c]) / float64(of.N)
		}
		if of.N > 0 && of.N < m.N {
			mat.Col(probability, c, p)
			a := auroc(truth, probability, groups)
			of.AUROC, of.AUROCInterval = &a.Value, a.interval()
			area += a.Value
			ranked++
		}
		m.Classes[c] = of
	}
	m.BalancedAccuracy /= float64(occurring)
	if ranked == len(names) {
		m.AUROC = new(area / float64(ranked))
	}
}
