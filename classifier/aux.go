package classifier

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/textproc"
)

// AuxValues is the training values of one column, row by row.
type AuxValues struct {
	Name     string
	Kind     bundle.AuxKind
	Values   []msg.Value
	Patients []string // of the rows
	// MinPatients is how many patients a level and an end of the range need, at most intake.LeastNamed: a rarer one
	// could identify a patient.
	MinPatients int
}

// NewAuxColumn learns levels, knots and means from training values. A number enters as a linear
// spline with knots at its quartiles, capped at values that MinPatients patients reach. Numbers in a categorical column
// (acuity 1 to 5) are levels by their shortest decimal text. That a value is missing is a feature of its own if
// MinPatients patients lack it. Features are centred by their means, so that an unknown level
// contributes exactly nothing, and a missing number exactly what its own feature does.
func NewAuxColumn(a AuxValues) bundle.AuxColumn {
	c := bundle.AuxColumn{Name: a.Name, Kind: a.Kind, Mean: make([]float64, 1)}
	if a.Kind == bundle.Categorical {
		patients := intake.Tally{}
		for i, v := range a.Values {
			patients.Add(intake.Level(v), a.Patients[i])
		}
		for level, of := range patients {
			if len(of) >= a.MinPatients {
				c.Levels = append(c.Levels, level)
			}
		}
		if slices.Sort(c.Levels); len(c.Levels) == 1 && c.Levels[0] == "" {
			c.Levels = nil
		}
		c.Mean = make([]float64, len(c.Levels))
	}
	if a.Kind == bundle.Numeric {
		var values []float64
		var patients []string
		without := map[string]bool{}
		for i, v := range a.Values {
			if x, ok := v.Number(); ok {
				values, patients = append(values, x), append(patients, a.Patients[i])
			} else {
				without[a.Patients[i]] = true
			}
		}
		if len(values) > 0 {
			c.Missing = len(without) >= max(a.MinPatients, 1)
			order := make([]int, len(values))
			floats.Argsort(values, order)
			c.Range = []float64{values[a.common(patients, order, 1)], values[a.common(patients, order, -1)]}
			slices.Sort(c.Range)
			c.Knots = knots(values, c.Range)
		}
		c.Mean = make([]float64, width(&c))
	}
	features, seen := make([]float64, len(c.Mean)), 0.0
	for _, v := range a.Values {
		if rawTo(features, &c, v) {
			floats.Add(c.Mean, features)
			seen++
		}
	}
	floats.Scale(1/max(seen, 1), c.Mean)
	if n := float64(len(a.Values)); c.Missing {
		c.Mean[len(c.Mean)-1] = (n - seen) / n
	}
	return c
}

// common returns the position up to which MinPatients patients lie in the order, from its low end (step 1) or its high
// end (−1).
func (a *AuxValues) common(patients []string, order []int, step int) int {
	seen, at := map[string]bool{}, 0
	if step < 0 {
		at = len(order) - 1
	}
	for ; at+step >= 0 && at+step < len(order); at += step {
		if seen[patients[order[at]]] = true; len(seen) >= a.MinPatients {
			break
		}
	}
	return at
}

// curveParts is the number of straight pieces of a curve at most. Eight predict no better.
const curveParts = 4

// knots returns the quantiles of ascending values at which a curve bends, between the ends of its range.
func knots(values, ends []float64) []float64 {
	var at []float64
	for i := 1.; i < curveParts; i++ {
		t := stat.Quantile(i/curveParts, stat.Empirical, values, nil)
		if t > ends[0] && t < ends[1] {
			at = append(at, t)
		}
	}
	return slices.Compact(at)
}

// width returns the number of features of a column.
func width(c *bundle.AuxColumn) int {
	if c.Kind == bundle.Categorical {
		return len(c.Levels)
	}
	n := 1 + len(c.Knots)
	if c.Missing {
		n++
	}
	return n
}

// checkAux returns an error that wraps ErrModel for a column that FeaturesTo cannot read.
func checkAux(c *bundle.AuxColumn) error {
	if c.Kind != bundle.Numeric && c.Kind != bundle.Categorical {
		return fmt.Errorf("%w: auxiliary column %q has the unknown kind %q", ErrModel, c.Name, c.Kind)
	}
	if len(c.Mean) != width(c) {
		return fmt.Errorf("%w: auxiliary column %q has %d means, %d levels and %d knots", ErrModel, c.Name, len(c.Mean),
			len(c.Levels), len(c.Knots))
	}
	if n := len(c.Range); n != 0 && (n != 2 || !(c.Range[0] <= c.Range[1])) {
		return fmt.Errorf("%w: auxiliary column %q has the range %v", ErrModel, c.Name, c.Range)
	}
	for i, t := range c.Knots {
		if c.Range == nil || !(t > c.Range[0] && t < c.Range[1]) || i > 0 && !(t > c.Knots[i-1]) {
			return fmt.Errorf("%w: knots of auxiliary column %q do not ascend within its range", ErrModel, c.Name)
		}
	}
	if err := cmp.Or(finite("knots", c.Knots), finite("range", c.Range), finite("means", c.Mean)); err != nil {
		return fmt.Errorf("%w: auxiliary column %q: %w", ErrModel, c.Name, err)
	}
	for i := 1; i < len(c.Levels); i++ {
		if c.Levels[i] <= c.Levels[i-1] {
			return fmt.Errorf("%w: levels of auxiliary column %q do not ascend", ErrModel, c.Name)
		}
	}
	return nil
}

// rawTo stores the features of v in dst; false if v is missing, of the wrong type, or of an unknown level.
func rawTo(dst []float64, c *bundle.AuxColumn, v msg.Value) bool {
	if c.Kind == bundle.Numeric {
		x, ok := v.Number()
		if ok {
			dst[len(dst)-1] = 0 // or a feature of the spline
			splineTo(dst, c, x)
		}
		return ok
	}
	at, known := slices.BinarySearch(c.Levels, intake.Level(v))
	if known {
		clear(dst)
		dst[at] = 1
	}
	return known
}

// splineTo stores x, within the range of the column, and for each knot how near x is: 1 at the knot, from where it
// falls in straight lines to 0 at the next knots, or the ends of the range.
func splineTo(dst []float64, c *bundle.AuxColumn, x float64) {
	if c.Range != nil {
		x = min(max(x, c.Range[0]), c.Range[1])
	}
	dst[0] = x
	for j, t := range c.Knots {
		next := c.Range[1]
		switch {
		case x < t && j > 0:
			next = c.Knots[j-1]
		case x < t:
			next = c.Range[0]
		case j+1 < len(c.Knots):
			next = c.Knots[j+1]
		}
		dst[1+j] = max(1-(x-t)/(next-t), 0)
	}
}

// FeaturesTo stores the centred features of v in dst, which is len(c.Mean) long.
func FeaturesTo(dst []float64, c *bundle.AuxColumn, v msg.Value) {
	if !rawTo(dst, c, v) {
		clear(dst)
		if c.Missing {
			dst[len(dst)-1] = 1 - c.Mean[len(dst)-1]
		}
		return
	}
	floats.Sub(dst, c.Mean)
}

// levelIn returns whether v is missing from a categorical column, or its level is known or unknown there.
func levelIn(c *bundle.AuxColumn, v msg.Value) drift.Level {
	level := intake.Level(v)
	if level == "" {
		return drift.Missing
	}
	if _, known := slices.BinarySearch(c.Levels, level); known {
		return drift.Known
	}
	return drift.Unknown
}

// Complaint returns the value of bundle.ComplaintColumn, the same for all case and white space.
func Complaint(spelled string) msg.Value {
	if folded := strings.Join(strings.Fields(strings.ToLower(spelled)), " "); folded != "" {
		return msg.Text(folded)
	}
	return msg.Value{}
}

// Said returns what the note read last by t says of an auxiliary column that its age or sex fills; otherwise the zero
// value.
func Said(t *textproc.Transformer, column string) msg.Value {
	years, sex := t.Patient()
	switch {
	case column == bundle.AgeColumn && years >= 0:
		return msg.Number(years)
	case column == bundle.SexColumn && sex != "":
		return msg.Text(sex)
	}
	return msg.Value{}
}
