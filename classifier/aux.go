package classifier

import (
	"fmt"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/ingest/msg"
)

// The kinds of auxiliary columns.
const (
	Numeric     = "numeric"
	Categorical = "categorical"
)

// AuxColumn says how one auxiliary value becomes features. A numeric column gives one feature, its value; a
// categorical one gives an indicator per level. All features are centred by their training means, so that a
// missing value and a level never seen in training contribute exactly nothing.
type AuxColumn struct {
	Name   string    `json:"name"`
	Kind   string    `json:"kind"`
	Levels []string  `json:"levels,omitempty"` // ascending
	Mean   []float64 `json:"mean"`             // per feature
}

// NewAuxColumn learns levels and means from the training values of one column. A categorical column that
// holds only numbers (acuity 1 to 5) has their shortest decimal texts as levels.
func NewAuxColumn(name, kind string, values []msg.Value) (AuxColumn, error) {
	c := AuxColumn{Name: name, Kind: kind}
	switch kind {
	case Numeric:
		c.Mean = make([]float64, 1)
	case Categorical:
		for _, v := range values {
			if level := levelOf(v); level != "" {
				c.Levels = append(c.Levels, level)
			}
		}
		slices.Sort(c.Levels)
		c.Levels = slices.Compact(c.Levels)
		c.Mean = make([]float64, len(c.Levels))
	default:
		return c, fmt.Errorf("auxiliary column %q: kind %q is neither %s nor %s", name, kind, Numeric, Categorical)
	}
	var seen float64
	for _, v := range values {
		if at, x, ok := c.feature(v); ok {
			c.Mean[at] += x
			seen++
		}
	}
	for i := range c.Mean {
		c.Mean[i] /= max(seen, 1)
	}
	return c, nil
}

// Width returns the number of features.
func (c *AuxColumn) Width() int { return len(c.Mean) }

// feature returns which feature v sets and to what; ok is false for a value that is missing, of the wrong
// type, or of an unknown level.
func (c *AuxColumn) feature(v msg.Value) (at int, x float64, ok bool) {
	if c.Kind == Numeric {
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

// FeaturesTo stores the centred features of v in dst, which is Width long.
func (c *AuxColumn) FeaturesTo(dst []float64, v msg.Value) {
	at, x, ok := c.feature(v)
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
