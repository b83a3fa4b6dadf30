package classifier

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// AuxValues is the training values of one column, row by row.
type AuxValues struct {
	Name   string
	Kind   models.AuxKind
	Values []msg.Value
	Visits []string // of the rows
	// MinVisits is the number of visits that a level needs: a rarer level could identify a patient.
	MinVisits int
}

// NewAuxColumn learns levels and means from training values. Numbers in a categorical column (acuity 1 to 5) are levels by
// their shortest decimal text. Features are centred by their means, so that a missing value and an unknown level contribute
// exactly nothing.
func NewAuxColumn(a AuxValues) models.AuxColumn {
	c := models.AuxColumn{Name: a.Name, Kind: a.Kind, Mean: make([]float64, 1)}
	if a.Kind == models.Categorical {
		visits := map[string]map[string]bool{} // by level
		for i, v := range a.Values {
			level := levelOf(v)
			if level == "" {
				continue
			}
			if visits[level] == nil {
				visits[level] = map[string]bool{}
			}
			visits[level][a.Visits[i]] = true
		}
		for level, of := range visits {
			if len(of) >= a.MinVisits {
				c.Levels = append(c.Levels, level)
			}
		}
		slices.Sort(c.Levels)
		c.Mean = make([]float64, len(c.Levels))
	}
	var seen float64
	for _, v := range a.Values {
		if at, x, ok := feature(&c, v); ok {
			c.Mean[at] += x
			seen++
		}
	}
	for i := range c.Mean {
		c.Mean[i] /= max(seen, 1)
	}
	return c
}

// checkAux returns an error that wraps ErrModel for a column that FeaturesTo cannot read.
func checkAux(c *models.AuxColumn) error {
	width := 1
	switch c.Kind {
	case models.Numeric:
	case models.Categorical:
		width = len(c.Levels)
	default:
		return fmt.Errorf("%w: auxiliary column %q has the unknown kind %q", ErrModel, c.Name, c.Kind)
	}
	if len(c.Mean) != width {
		return fmt.Errorf("%w: auxiliary column %q has %d means and %d levels", ErrModel, c.Name, len(c.Mean), len(c.Levels))
	}
	for i := 1; i < len(c.Levels); i++ {
		if c.Levels[i] <= c.Levels[i-1] {
			return fmt.Errorf("%w: levels of auxiliary column %q do not ascend", ErrModel, c.Name)
		}
	}
	for _, mean := range c.Mean {
		if math.IsNaN(mean) || math.IsInf(mean, 0) {
			return fmt.Errorf("%w: auxiliary column %q has a mean of %v", ErrModel, c.Name, mean)
		}
	}
	return nil
}

// feature returns the index of the feature that v sets, and its value; ok is false for a value that is missing, of the
// wrong type, or of an unknown level.
func feature(c *models.AuxColumn, v msg.Value) (at int, x float64, ok bool) {
	if c.Kind == models.Numeric {
		x, ok = v.Number()
		return 0, x, ok
	}
	if level := levelOf(v); level != "" {
		if at, ok = slices.BinarySearch(c.Levels, level); ok {
			return at, 1, true
		}
	}
	return 0, 0, false
}

// FeaturesTo stores the centred features of v in dst, which is len(c.Mean) long.
func FeaturesTo(dst []float64, c *models.AuxColumn, v msg.Value) {
	at, x, ok := feature(c, v)
	if !ok {
		clear(dst)
		return
	}
	for i, m := range c.Mean {
		dst[i] = -m
	}
	dst[at] += x
}

// levelOf returns the level that v names, "" for a missing one.
func levelOf(v msg.Value) string {
	if x, ok := v.Number(); ok {
		return strconv.FormatFloat(x, 'g', -1, 64)
	}
	s, _ := v.Text()
	return s
}

// Complaint returns the value of models.ComplaintColumn. Spellings that differ only in case and white space give the same
// value.
func Complaint(spelled string) msg.Value {
	if folded := strings.Join(strings.Fields(strings.ToLower(spelled)), " "); folded != "" {
		return msg.Text(folded)
	}
	return msg.Value{}
}
