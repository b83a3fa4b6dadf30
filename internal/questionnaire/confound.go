package questionnaire

import (
	"math"
	"slices"
	"sort"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/internal/lists"
)

// Kind is the type of a confound.
type Kind string

// The kinds of confounds.
const (
	Numeric     Kind = "numeric"
	Categorical Kind = "categorical"
)

// Intercept names the last column of the confounds.
const Intercept = "intercept"

// Confound is a known variable that answers may depend on. A numeric one has a range, taken from training unless it was
// given. A categorical one has the levels of training, in ascending order.
type Confound struct {
	Name   string   `json:"name"`
	Kind   Kind     `json:"kind"`
	Range  *Range   `json:"range,omitempty"`
	Levels []string `json:"levels,omitempty"`
}

// Columns names the columns of the known matrix C:
//
//	numeric      1−a and a with a = (x − low)/(high − low), cut at 0 and 1
//	categorical  an indicator for each level
//
// and 1 in the last column, the intercept. Without confounds there are no columns.
func Columns(confounds []Confound) []string {
	var names []string
	for _, c := range confounds {
		if c.Kind == Numeric {
			names = append(names, c.Name+"_low", c.Name+"_high")
			continue
		}
		for _, level := range c.Levels {
			names = append(names, c.Name+"_"+level)
		}
	}
	if len(names) > 0 {
		names = append(names, Intercept)
	}
	return names
}

// Width is the number of columns of the confound.
func (c *Confound) Width() int {
	if c.Kind == Numeric {
		return 2
	}
	return len(c.Levels)
}

// EncodeTo writes the two columns of a number into dst, and reports whether it was clipped.
func (c *Confound) EncodeTo(dst []float64, x float64) (cut bool) {
	a := (x - c.Range.Low) / (c.Range.High - c.Range.Low)
	within := min(max(a, 0), 1)
	dst[0], dst[1] = 1-within, within
	return a < 0 || a > 1
}

// ParseConfounds reads "age:numeric", "age:numeric:5:18" with a known range, and "sex:categorical".
func ParseConfounds(list []string) ([]Confound, error) {
	var all []Confound
	for _, s := range list {
		if strings.TrimSpace(s) == "" {
			continue
		}
		name, kind, _ := strings.Cut(s, ":")
		kind, limits, ranged := strings.Cut(kind, ":")
		c := Confound{Name: strings.TrimSpace(name), Kind: Kind(strings.TrimSpace(kind))}
		var err error
		if ranged {
			c.Range, err = ParseRange(limits)
		}
		if c.Name == "" || err != nil || c.Kind != Numeric && (c.Kind != Categorical || ranged) {
			return nil, Optionf("confound %q: must be column:%s, column:%s:low:high or column:%s", s,
				Numeric, Numeric, Categorical)
		}
		if slices.ContainsFunc(all, func(o Confound) bool { return o.Name == c.Name }) {
			return nil, Optionf("confound %q is given twice", c.Name)
		}
		all = append(all, c)
	}
	return all, nil
}

// Label is a column of outcomes, and the value that counts as positive. Negative, if not empty, is the only other value
// that counts: participants with a third value are left out of this label.
type Label struct {
	Name     string `json:"label"`
	Positive string `json:"positive"`
	Negative string `json:"negative,omitempty"`
}

// String names the label as ParseLabels reads it.
func (l Label) String() string {
	switch {
	case l.Negative != "":
		return l.Name + "=" + l.Positive + ":" + l.Negative
	case l.Positive != defaultPositive:
		return l.Name + "=" + l.Positive
	}
	return l.Name
}

const defaultPositive = "1"

// ParseLabels reads "adhd", whose positive value is 1, "sex=F", and "diagnosis=SCHZ:CONTROL".
func ParseLabels(list []string) ([]Label, error) {
	var all []Label
	for _, s := range list {
		name, values, given := strings.Cut(s, "=")
		positive, negative, against := strings.Cut(values, ":")
		l := Label{strings.TrimSpace(name), strings.TrimSpace(positive), strings.TrimSpace(negative)}
		if !given {
			l.Positive = defaultPositive
		}
		if l.Name == "" || l.Positive == "" || against && l.Negative == "" || l.Positive == l.Negative {
			return nil, Optionf("label %q: must be a column, column=positive or column=positive:negative", s)
		}
		if slices.Contains(all, l) {
			return nil, Optionf("label %q is given twice", s)
		}
		all = append(all, l)
	}
	return all, nil
}

// Visits distinguishes the rows of one participant by the time in a column, which falls into one of several bins.
type Visits struct {
	Time string `json:"time"`
	// Edges separate the bins: bin b runs from Edges[b] to below Edges[b+1], the last one to its upper edge.
	Edges []float64 `json:"edges"`
	// Events are values of Time that count as the numbers 0, 1 and so on, whose edges are 0, 1, 2 and so on.
	Events []string `json:"-"`
}

// ParseEvents is ParseVisits, or reads the names of events, as in "baseline,follow-up": two or more, and no numbers.
func ParseEvents(time string, bins []string) (*Visits, error) {
	if len(bins) < 2 || slices.ContainsFunc(bins, func(s string) bool { _, err := Number(s); return err == nil }) {
		return ParseVisits(time, bins)
	}
	edges := lists.Make(len(bins)+1, func(b int) float64 { return float64(b) })
	return &Visits{Time: strings.TrimSpace(time), Edges: edges, Events: bins}, nil
}

// ParseVisits reads the edges of bins, as in "6,9,12".
func ParseVisits(time string, edges []string) (*Visits, error) {
	v := &Visits{Time: strings.TrimSpace(time)}
	for _, s := range edges {
		x, err := Number(s)
		if err != nil {
			return nil, Optionf("edge %q of a bin: %w", s, err)
		}
		v.Edges = append(v.Edges, x)
	}
	return v, v.Check()
}

// Check returns an error for invalid bins.
func (v *Visits) Check() error {
	ok := v.Time != "" && len(v.Edges) >= 2
	for b, e := range v.Edges {
		ok = ok && !math.IsNaN(e) && !math.IsInf(e, 0) && (b == 0 || e > v.Edges[b-1])
	}
	if !ok {
		return Optionf("edges %v of the bins of time %q: must be at least two, ascending", v.Edges, v.Time)
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
