package reproduce

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver/smf"
)

const (
	// reached is the gap whose iterations and seconds are reported.
	reached = 1e-6
	// leastGap is the gap below which the rounding of the objective shows.
	leastGap = 1e-12
	// bend is the largest distance of a logarithm from the line through its stretch, in units of the fall of the line.
	bend = 0.05
	// stretchPoints is the least number of iterates that a stretch is fitted on, and thinned the largest.
	stretchPoints, thinned = 4, 500
)

// Converged is the outcome of Convergence.Run.
type Converged struct {
	Settings ConvergenceSettings `json:"settings"`
	Xi       []float64           `json:"xi"`
	// Rows are the algorithms on the problems whose runs are all made.
	Rows []ConvergenceRow `json:"rows"`
}

// ConvergenceRow is one run with what is seen in it. The gap of an objective F is F/floor − 1.
type ConvergenceRow struct {
	ConvergenceRun
	// Floor is the least objective of all runs of the problem, that of five times as many updates from singular vectors
	// included.
	Floor float64 `json:"floor"`
	// Gap is the least of the run.
	Gap float64 `json:"gap"`
	// First and Last are the longest stretches from the start, and up to the end, on which the logarithm of the gap falls
	// along a line; nil where it falls along none.
	First *Stretch `json:"first"`
	Last  *Stretch `json:"last"`
	// ReachedIterations and ReachedSeconds tell when the gap was 1e-6 first; nil where it never was.
	ReachedIterations *int     `json:"reached_iterations"`
	ReachedSeconds    *float64 `json:"reached_seconds"`
}

// Stretch is a part of a run on which each update multiplies the gap by nearly the same factor.
type Stretch struct {
	// Factor is that of a least squares line through the logarithms.
	Factor float64 `json:"factor"`
	// From and To are its first and last iteration, Decades is the fall of the line between them.
	From    int     `json:"from"`
	To      int     `json:"to"`
	Decades float64 `json:"decades"`
}

// add adds the runs of one problem.
func (c *Converged) add(runs []ConvergenceRun) {
	floor := math.Inf(1)
	for i := range runs {
		floor = min(floor, floats.Min(runs[i].Objectives))
	}
	for _, r := range runs {
		row := ConvergenceRow{ConvergenceRun: r, Floor: floor, Gap: floats.Min(r.Objectives)/floor - 1}
		gaps := row.gaps()
		row.First, row.Last = firstStretch(gaps), lastStretch(gaps)
		if i := slices.IndexFunc(gaps, func(g float64) bool { return g <= reached }); i >= 0 {
			row.ReachedIterations, row.ReachedSeconds = &i, &r.Seconds[i]
		}
		c.Rows = append(c.Rows, row)
	}
}

// gaps returns the gap of each iterate.
func (r *ConvergenceRow) gaps() []float64 {
	gaps := make([]float64, len(r.Objectives))
	for i, v := range r.Objectives {
		gaps[i] = v/r.Floor - 1
	}
	return gaps
}

// firstStretch returns the longest stretch from the start.
func firstStretch(gaps []float64) *Stretch {
	at, logs := logarithms(gaps)
	for to := len(at); to >= stretchPoints; to-- {
		if s := stretch(at[:to], logs[:to]); s != nil {
			return s
		}
	}
	return nil
}

// lastStretch returns the longest stretch up to the end, or to where rounding begins.
func lastStretch(gaps []float64) *Stretch {
	at, logs := logarithms(gaps)
	for from := 0; from <= len(at)-stretchPoints; from++ {
		if s := stretch(at[from:], logs[from:]); s != nil {
			return s
		}
	}
	return nil
}

// logarithms returns those of the gaps before the first below leastGap, at most thinned of them, and their iterations.
func logarithms(gaps []float64) (at, logs []float64) {
	end := slices.IndexFunc(gaps, func(g float64) bool { return g < leastGap })
	if end < 0 {
		end = len(gaps)
	}
	for i := 0; i < end; i += 1 + end/thinned {
		at, logs = append(at, float64(i)), append(logs, math.Log(gaps[i]))
	}
	return at, logs
}

// stretch returns the least squares line of all points, nil where one lies too far from it.
func stretch(at, logs []float64) *Stretch {
	intercept, slope := stat.LinearRegression(at, logs, nil, false)
	last := len(at) - 1
	fall := -slope * (at[last] - at[0])
	if fall <= 0 {
		return nil
	}
	for i, v := range logs {
		if math.Abs(v-intercept-slope*at[i]) > bend*fall {
			return nil
		}
	}
	return &Stretch{Factor: math.Exp(slope), From: int(at[0]), To: int(at[last]), Decades: fall / math.Ln10}
}

// Tables lays the rows out, one table for each data set and variant.
func (c *Converged) Tables() []TextTable {
	var tables []TextTable
	for rows := c.Rows; len(rows) > 0; {
		data, variant := rows[0].Data, rows[0].Variant
		t := TextTable{
			Title:  fmt.Sprintf("%s, %s", data, variant),
			Header: []string{"xi", "algorithm", "status", "updates", "gap", "first factor", "over decades", "last factor", "over decades", "updates to 1e-6", "seconds to 1e-6", "ms an update"},
		}
		for len(rows) > 0 && rows[0].Data == data && rows[0].Variant == variant {
			if rows[0].Algorithm != nameFloorOnly {
				t.Lines = append(t.Lines, rows[0].line())
			}
			rows = rows[1:]
		}
		tables = append(tables, t)
	}
	return tables
}

func (r *ConvergenceRow) line() []string {
	updates := len(r.Objectives) - 1
	gap := fmt.Sprintf("%.1e", r.Gap)
	if r.Gap < leastGap {
		gap = fmt.Sprintf("< %.0e", leastGap)
	}
	line := []string{exact(r.Xi), r.Algorithm, r.Status, strconv.Itoa(updates), gap}
	for _, s := range []*Stretch{r.First, r.Last} {
		if s == nil {
			line = append(line, "-", "-")
		} else {
			line = append(line, fmt.Sprintf("%.4f", s.Factor), fmt.Sprintf("%.1f", s.Decades))
		}
	}
	iterations, seconds := "-", "-"
	if r.ReachedIterations != nil {
		iterations, seconds = strconv.Itoa(*r.ReachedIterations), fmt.Sprintf("%.3f", *r.ReachedSeconds)
	}
	return append(line, iterations, seconds, fmt.Sprintf("%.2f", 1000*(r.Seconds[updates]-r.Seconds[0])/float64(max(1, updates))))
}

// of returns the rows of a data set and variant in the order of the runs.
func (c *Converged) of(data string, variant smf.Variant) []*ConvergenceRow {
	var rows []*ConvergenceRow
	for i := range c.Rows {
		if r := &c.Rows[i]; r.Data == data && r.Variant == variant && r.Algorithm != nameFloorOnly {
			rows = append(rows, r)
		}
	}
	return rows
}
