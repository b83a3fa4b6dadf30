// Package drift measures how a later period differs from the one that a model was trained on: in its scores, its
// topics, the share of terms that the model knows, and the levels of categorical columns that it has never seen.
//
// All measures are sums of counts, so that a period can be counted note by note (Reference, Histogram, Rate), in
// several processes, and without keeping a note. None needs a label. Values that count a period are not safe for
// concurrent use.
package drift

import (
	"errors"
	"fmt"
	"math"
	"slices"
)

// ErrArgument is wrapped by the errors about arguments.
var ErrArgument = errors.New("drift: bad argument")

// DefaultBins is the usual number of bins of a population stability index.
const DefaultBins = 10

// Shift is the population stability index of two periods, and what chance alone would make of it.
type Shift struct {
	PSI float64 `json:"psi"`
	// Expected is the mean of PSI if nothing had changed, (B-1)·(1/n+1/m). A PSI within a few times of it is no sign of
	// drift, whatever the rule of thumb of 0.1 and 0.25 says.
	Expected  float64 `json:"expected"`
	Reference float64 `json:"reference_count"` // n
	Current   float64 `json:"current_count"`   // m
}

// PSI returns the population stability index of two periods by their counts in the same B bins or categories:
//
//	PSI = Σ_b (q_b − p_b)·ln(q_b/p_b),  p_b = (x_b + ½)/(n + B/2),  q_b = (y_b + ½)/(m + B/2)
//
// x and y are the counts of reference and current with the sums n and m. It is at least 0, symmetric, and 0 only if the
// shares are equal. The halves keep empty bins finite and vanish against large counts; they are a departure from the
// usual definition (Siddiqi 2006, Credit Risk Scorecards, section 8), which is undefined there. Expected is its
// asymptotic mean: PSI/(1/n+1/m) is then χ² with B−1 degrees of freedom (Yurdakul and Naranjo 2020, J. Risk Model
// Validation 14(4)).
//
// The lists must have the same length of at least 1, with counts that are finite and not negative; a period without
// counts is an error.
func PSI(reference, current []float64) (Shift, error) {
	if len(reference) == 0 || len(reference) != len(current) {
		return Shift{}, fmt.Errorf("%w: %d and %d bins", ErrArgument, len(reference), len(current))
	}
	n, errN := total(reference)
	m, errM := total(current)
	if err := errors.Join(errN, errM); err != nil {
		return Shift{}, err
	}
	bins := float64(len(reference))
	s := Shift{Reference: n, Current: m, Expected: (bins - 1) * (1/n + 1/m)}
	for b := range reference {
		p, q := (reference[b]+0.5)/(n+bins/2), (current[b]+0.5)/(m+bins/2)
		s.PSI += (q - p) * math.Log(q/p)
	}
	return s, nil
}

func total(counts []float64) (sum float64, err error) {
	for _, c := range counts {
		if !(c >= 0) || math.IsInf(c, 1) {
			return 0, fmt.Errorf("%w: a count of %v", ErrArgument, c)
		}
		sum += c
	}
	if sum == 0 {
		return 0, fmt.Errorf("%w: a period without counts", ErrArgument)
	}
	return sum, nil
}

// Histogram counts numbers in bins. Bin b holds the values above edge b−1 and up to edge b, both ends open to infinity.
type Histogram struct {
	Edges   []float64 `json:"edges"`             // increasing
	Counts  []float64 `json:"counts"`            // one more than edges
	Invalid int       `json:"invalid,omitempty"` // counts values that are not a number. They are in no bin.
}

// NewHistogram returns the histogram of values in bins of nearly equal counts, at most so many: edges are quantiles of
// the values, equal ones count once. If all values are equal, the bins are that value and what is below and above it.
// It takes O(n log n) and a copy of the values. No values, fewer than two bins, or a NaN is an error.
func NewHistogram(values []float64, bins int) (*Histogram, error) {
	if len(values) == 0 || bins < 2 {
		return nil, fmt.Errorf("%w: %d values in %d bins", ErrArgument, len(values), bins)
	}
	sorted := slices.Sorted(slices.Values(values)) // NaN comes first
	if math.IsNaN(sorted[0]) {
		return nil, fmt.Errorf("%w: a value is not a number", ErrArgument)
	}
	h := &Histogram{}
	last := sorted[len(sorted)-1]
	for b := 1; b < bins; b++ {
		// The least value that at least b/bins of the values do not exceed.
		if e := sorted[(b*len(sorted)+bins-1)/bins-1]; e < last && (len(h.Edges) == 0 || e > h.Edges[len(h.Edges)-1]) {
			h.Edges = append(h.Edges, e)
		}
	}
	if sorted[0] == last {
		h.Edges = []float64{math.Nextafter(last, math.Inf(-1)), last}
	}
	h.Counts = make([]float64, len(h.Edges)+1)
	for _, v := range values {
		h.Add(v)
	}
	return h, nil
}

// Empty returns a histogram of the same bins without counts, for another period.
func (h *Histogram) Empty() *Histogram {
	return &Histogram{Edges: slices.Clone(h.Edges), Counts: make([]float64, len(h.Counts))}
}

// Add counts a value, in O(log bins).
func (h *Histogram) Add(v float64) {
	if math.IsNaN(v) {
		h.Invalid++
		return
	}
	b, _ := slices.BinarySearch(h.Edges, v) // the first edge that is not below v
	h.Counts[b]++
}

// MainTopic returns the index of the topic with the largest absolute score, the first of several, and len(scores) if
// all are 0. The counts of main topics, with one place for none, are what PSI compares as topic shares.
func MainTopic(scores []float64) int {
	best := len(scores)
	for t, s := range scores {
		if s != 0 && (best == len(scores) || math.Abs(s) > math.Abs(scores[best])) {
			best = t
		}
	}
	return best
}

// Rate counts how often something is so, such as terms of notes that the model knows.
type Rate struct {
	Hits int `json:"hits"`
	Of   int `json:"of"`
}

// Add counts so many more.
func (r *Rate) Add(hits, of int) { r.Hits, r.Of = r.Hits+hits, r.Of+of }

// Share returns hits/of, between 0 and 1; 0 if nothing was counted.
func (r Rate) Share() float64 {
	if r.Of == 0 {
		return 0
	}
	return float64(r.Hits) / float64(r.Of)
}
