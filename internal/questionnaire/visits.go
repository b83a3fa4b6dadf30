package questionnaire

import (
	"fmt"
	"math"
	"sort"
	"strconv"
	"strings"
)

// Visits tells the rows of one participant apart: by the time in a column, which falls into one of several bins.
type Visits struct {
	Time string `json:"time"`
	// Edges part the time: bin b runs from Edges[b] to below Edges[b+1], the last one to its upper edge.
	Edges []float64 `json:"edges"`
}

// ParseVisits reads the edges of bins, as in "6,9,12".
func ParseVisits(time string, edges []string) (*Visits, error) {
	v := &Visits{Time: strings.TrimSpace(time)}
	for _, s := range edges {
		x, err := Number(s)
		if err != nil {
			return nil, fmt.Errorf("%w: edge %q of a bin: %w", ErrOptions, s, err)
		}
		v.Edges = append(v.Edges, x)
	}
	return v, v.Check()
}

// Check returns an error for bins without meaning.
func (v *Visits) Check() error {
	ok := v.Time != "" && len(v.Edges) >= 2
	for b, e := range v.Edges {
		ok = ok && !math.IsNaN(e) && !math.IsInf(e, 0) && (b == 0 || e > v.Edges[b-1])
	}
	if !ok {
		return fmt.Errorf("%w: edges %v of the bins of time %q: must be at least two, ascending", ErrOptions, v.Edges, v.Time)
	}
	return nil
}

// Bins is the number of bins.
func (v *Visits) Bins() int { return len(v.Edges) - 1 }

// Bin returns the bin of a time; ok is false outside all bins.
func (v *Visits) Bin(x float64) (bin int, ok bool) {
	if x == v.Edges[v.Bins()] {
		return v.Bins() - 1, true
	}
	bin = sort.Search(len(v.Edges), func(i int) bool { return v.Edges[i] > x }) - 1
	return bin, bin >= 0 && bin < v.Bins()
}

// Label names a bin, as in "6-9".
func (v *Visits) Label(bin int) string {
	return strconv.FormatFloat(v.Edges[bin], 'g', -1, 64) + "-" + strconv.FormatFloat(v.Edges[bin+1], 'g', -1, 64)
}

// ItemName names an item in a bin, as in "q1@6-9".
func (v *Visits) ItemName(item string, bin int) string { return item + "@" + v.Label(bin) }
