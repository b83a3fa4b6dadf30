// Package smf repeats the experiments of J. Lee, H. Lyu and W. Yao, "Exponentially convergent algorithms for supervised
// matrix factorization". Convergence repeats section 5, and Leukaemia repeats section 6 on the samples of another
// study.
//
// Rows of X are documents: images, job postings or samples. The paper's X is the transpose.
//
// Equal settings and seeds give equal numbers for every GOMAXPROCS; only the seconds differ. A run that ends early
// returns its results so far.
package smf

import (
	"cmp"
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"gonum.org/v1/gonum/floats"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/plot/plotter"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
	"github.com/wardcast/wardcast/solver/smf"
)

// Convergence compares the algorithms for supervised factorizations.
type Convergence struct {
	Iterations int `json:"iterations" help:"Most updates of a run." default:"1000"`
	// Start is StartUniform or the initialization of the topics; the scores are then fitted by least squares, and the
	// coefficients are 0.
	Start     solver.Init `json:"start" help:"Start of the algorithms: the authors' factors from U(0,1), random orthonormal topics, or singular vectors." enum:"uniform,random,svd" default:"uniform"`
	Documents int         `json:"documents" help:"Number of job postings." default:"3000"`
	Terms     int         `json:"terms" help:"Number of their terms." default:"2840"`
	Seed      uint64      `json:"seed" help:"Seed of all random draws." default:"1"`
	// Threads and Version are recorded because the seconds and the last digits depend on them.
	Threads report.Threads `json:"threads" help:"Threads of a run; 0 means one for each processor." default:"1"`
	Version string         `json:"version" kong:"-"`

	MnistImages string    `json:"-" help:"Images of the MNIST site, t10k-images-idx3-ubyte or train-images-idx3-ubyte, gzipped or not. Omit them to leave the digits out." placeholder:"FILE" type:"existingfile" and:"mnist"`
	MnistLabels string    `json:"-" help:"Labels of these images." placeholder:"FILE" type:"existingfile" and:"mnist"`
	Xi          []float64 `json:"-" help:"Values of ξ." default:"0.1,1,5,10,20"`
	digits      *Digits   // nil leaves their part out
}

// StartUniform is the authors' start: entries of both factors from U(0,1), coefficients from U(−1,1).
const StartUniform solver.Init = "uniform"

// Section 5: the ridge and the step length.
const (
	paperRidge = 2
	paperStep  = 0.01
)

// floorFactor is the factor of updates for the run that only searches the least objective.
const floorFactor = 5

// The algorithms that are compared. nameFloorOnly is a long run from singular vectors that only searches the least
// objective.
const (
	paperLPGD     = "LPGD, τ = .01"
	safeLPGD      = "LPGD, safe steps"
	nameBCD       = "BCD"
	nameProfiled  = "profiled (default)"
	nameFloorOnly = "floor"
)

func algorithms() []string {
	return []string{paperLPGD, safeLPGD, nameBCD, nameProfiled, nameFloorOnly}
}

func variants() []smf.Variant { return []smf.Variant{smf.VariantW, smf.VariantH} }

// ConvergenceKey names a run.
type ConvergenceKey struct {
	Data      string      `json:"data"`
	Variant   smf.Variant `json:"variant"`
	Xi        float64     `json:"xi"`
	Algorithm string      `json:"algorithm"`
}

// ConvergenceRun is one run of one algorithm.
type ConvergenceRun struct {
	ConvergenceKey
	Status string `json:"status"`
	// Objectives is the objective of each iterate, the start first, up to the last finite one. Seconds is the time to
	// each from given start factors.
	Objectives []float64 `json:"objectives"`
	Seconds    []float64 `json:"seconds"`
}

// Key implements report.Cell.
func (r ConvergenceRun) Key() any { return r.ConvergenceKey }

func (c *Convergence) check() error {
	switch {
	case c.Iterations < 1:
		return report.Invalid("at most %d updates", c.Iterations)
	case c.Documents < jobsRank || c.Terms < jobsRank:
		return report.Invalid("%d job postings of %d terms for %d topics", c.Documents, c.Terms, jobsRank)
	case len(c.Xi) == 0:
		return report.Invalid("no ξ")
	}
	for i, xi := range c.Xi {
		if !(xi > 0) || math.IsInf(xi, 1) || slices.Contains(c.Xi[:i], xi) {
			return report.Invalid("ξ = %v is not positive and finite, or is repeated", xi)
		}
	}
	return nil
}

// Run makes the runs. All algorithms of one problem begin at the same factors. The report contains the problems whose
// runs are complete.
func (c *Convergence) Run(ctx context.Context, session *report.Session) (*report.Report, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	lift, err := c.Threads.Limit()
	if err != nil {
		return nil, err
	}
	defer lift()
	c.Threads = report.Threads(runtime.GOMAXPROCS(0))
	if c.MnistImages != "" {
		if c.digits, err = ReadDigits(c.MnistImages, c.MnistLabels); err != nil {
			return nil, err
		}
	}
	problems, err := c.problems(ctx)
	if err != nil {
		return nil, err
	}
	var jobs []report.Job[ConvergenceRun]
	for _, p := range problems {
		for _, variant := range variants() {
			for _, xi := range c.Xi {
				for _, a := range algorithms() {
					jobs = append(jobs, report.Job[ConvergenceRun]{
						Cell: ConvergenceRun{
							ConvergenceKey: ConvergenceKey{Data: p.name, Variant: variant, Xi: xi, Algorithm: a},
						},
						Fill: func(ctx context.Context, r *ConvergenceRun) error { return c.fill(ctx, p, r) },
					})
				}
			}
		}
	}
	header := struct {
		*Convergence
		Digits string `json:"digits"` // fingerprint
	}{c, c.digits.fingerprint()}
	runs, err := report.Resume(ctx, session, header, jobs)
	if runs == nil {
		return nil, err
	}
	out := &Converged{Settings: c, Xi: c.Xi}
	for problem := range slices.Chunk(runs, len(algorithms())) {
		if len(problem) == len(algorithms()) {
			out.add(problem)
		}
	}
	return out.report(), err
}

// problems returns the data.
func (c *Convergence) problems(ctx context.Context) ([]*problem, error) {
	jobs, err := jobPostings(ctx, c.Documents, c.Terms, c.Seed)
	if err != nil || c.digits == nil {
		return []*problem{jobs}, err
	}
	digits, err := mixedDigits(c.digits, c.Seed)
	return []*problem{digits, jobs}, err
}

// method returns the algorithm of this name.
func (p *problem) method(algorithm string, s smf.Settings) (solver.Method, error) {
	switch algorithm {
	case nameBCD:
		return &blockDescent{s, p.data}, nil
	case paperLPGD:
		s.Step = paperStep
	case safeLPGD:
		if err := p.safeSteps(&s); err != nil {
			return nil, err
		}
	}
	return smf.New(p.data, s)
}

// safeSteps sets the step lengths for which no update of LPGD raises the objective:
//
//	τ = 1/max(2ξ, 2ν + s/2), τ_Γ = 1/(2ν + ‖Z‖₂²/2),
//
// s = ‖X‖₂² for SMF-W and 1 for SMF-H. A quarter bounds the curvature of the label loss, and the factor 2 is for both
// blocks moving together.
func (p *problem) safeSteps(s *smf.Settings) error {
	size := 1.0
	if s.Variant == smf.VariantW {
		var err error
		if size, err = squaredNorm(linalg.OperatorOf(p.x, 0)); err != nil {
			return err
		}
	}
	n, _ := p.x.Dims()
	gram := linalg.Threads(0).Gram(withOnes(p.data.Aux, n))
	s.Step = 1 / max(2*s.Xi, 2*s.Ridge+2*labelCurvature*size)
	s.StepAux = 1 / (2*s.Ridge + 2*labelCurvature*largestEigenvalue(gram))
	return nil
}

// fill makes one run.
func (c *Convergence) fill(ctx context.Context, p *problem, r *ConvergenceRun) error {
	s := solver.Settings{Rank: p.rank, MaxIter: c.Iterations, RelTol: -1}
	problem := smf.Settings{Variant: r.Variant, Xi: r.Xi, Ridge: paperRidge}
	if r.Algorithm == nameFloorOnly {
		s.MaxIter *= floorFactor
	} else {
		var err error
		if s.StartTopics, s.StartScores, problem.StartHead, err = p.start(ctx, c.Start, c.Seed); err != nil {
			return err
		}
	}
	began := time.Now()
	method, err := p.method(r.Algorithm, problem)
	if err != nil {
		return err
	}
	outside := time.Since(began).Seconds()
	found, err := solver.Solve(ctx, p.x, s, method)
	if err != nil {
		return err
	}
	if found.Status == solver.Cancelled {
		return context.Cause(ctx)
	}
	r.Status = found.Status.String()
	for _, point := range found.Trace {
		if math.IsNaN(point.Objective) || math.IsInf(point.Objective, 0) {
			break
		}
		r.Objectives = append(r.Objectives, point.Objective)
		r.Seconds = append(r.Seconds, outside+found.Seconds.Init+point.Seconds)
	}
	if r.Objectives == nil {
		return fmt.Errorf("at the start: %w", solver.ErrNonFinite)
	}
	return nil
}

const (
	// reached is the gap whose iterations and seconds are reported.
	reached = 1e-6
	// leastGap is the gap below which the rounding of the objective shows.
	leastGap = 1e-12
	// bend is the largest distance of a logarithm from the line of its stretch, as a share of the fall of the line.
	bend = 0.05
	// stretchPoints is the least number of iterates that a stretch is fitted on, and thinned the largest.
	stretchPoints, thinned = 4, 500
	// drawnPoints bounds the points of a curve: more look the same and make files of megabytes. All of the first
	// firstPoints are drawn, because objectives fall most there.
	drawnPoints, firstPoints = 100, 20
	// leastSeconds is the left end of logarithmic axes of seconds.
	leastSeconds = 1e-3
)

// Converged is the result of Convergence.
type Converged struct {
	Settings *Convergence `json:"settings"`
	Xi       []float64    `json:"xi"`
	// Rows are the algorithms on the problems whose runs are complete.
	Rows []ConvergenceRow `json:"rows"`
}

// ConvergenceRow is one run with its measures. The gap of an objective F is F/floor − 1.
type ConvergenceRow struct {
	ConvergenceRun
	// Floor is the least objective of all runs of the problem, including the long one from singular vectors.
	Floor float64 `json:"floor"`
	// Gap is the least gap of the run.
	Gap float64 `json:"gap"`
	// First and Last are the longest stretches from the start, and up to the end, on which the logarithm of the gap
	// falls along a line; nil if it falls along none.
	First *Stretch `json:"first"`
	Last  *Stretch `json:"last"`
	// ReachedIterations and ReachedSeconds are the first at which the gap is at most 1e-6; nil if it never is.
	ReachedIterations *int     `json:"reached_iterations"`
	ReachedSeconds    *float64 `json:"reached_seconds"`
}

// Stretch is a part of a run on which each update multiplies the gap by nearly the same factor.
type Stretch struct {
	// Factor is the factor of a least squares line through the logarithms.
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
		row.First, row.Last = stretches(gaps)
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

// stretches returns the longest stretch from the start, and the longest up to the end or to where rounding begins:
// before the first gap below leastGap. They are fitted on at most thinned points.
func stretches(gaps []float64) (first, last *Stretch) {
	end := slices.IndexFunc(gaps, func(g float64) bool { return g < leastGap })
	if end < 0 {
		end = len(gaps)
	}
	var at, logs []float64
	for i := 0; i < end; i += 1 + end/thinned {
		at, logs = append(at, float64(i)), append(logs, math.Log(gaps[i]))
	}
	for n := len(at); n >= stretchPoints; n-- {
		first = cmp.Or(first, stretch(at[:n], logs[:n]))
		last = cmp.Or(last, stretch(at[len(at)-n:], logs[len(at)-n:]))
	}
	return first, last
}

// stretch returns the least squares line of all points, nil if one lies too far from it.
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

// report returns a table for each data set and variant, summary.csv, iterations.csv with each iterate of each run, and
// for each data set two SVG, of the gap against iterations and against seconds.
func (c *Converged) report() *report.Report {
	summary := report.NewTable("", "data,variant,xi,algorithm,status,updates,objective,floor,gap,first_factor,"+
		"first_to,first_decades,last_factor,last_from,last_to,last_decades,reached_iterations,reached_seconds")
	iterations := report.NewTable("", "data,variant,xi,algorithm,iteration,objective,gap,seconds")
	out := &report.Report{
		Data: c, CSV: map[string]*report.Table{"summary.csv": summary, "iterations.csv": iterations},
		SVG: map[string]report.Figure{},
	}
	var shown *report.Table
	for i := range c.Rows {
		r := &c.Rows[i]
		last := len(r.Objectives) - 1
		line := []any{
			r.Data, r.Variant, r.Xi, r.Algorithm, r.Status, last, r.Objectives[last], r.Floor, r.Gap, "", "",
			"", "", "", "", "", r.ReachedIterations, r.ReachedSeconds,
		}
		if s := r.First; s != nil {
			copy(line[9:], []any{s.Factor, s.To, s.Decades})
		}
		if s := r.Last; s != nil {
			copy(line[12:], []any{s.Factor, s.From, s.To, s.Decades})
		}
		summary.Add(line...)
		for t, gap := range r.gaps() {
			iterations.Add(r.Data, r.Variant, r.Xi, r.Algorithm, t, r.Objectives[t], gap, r.Seconds[t])
		}
		if title := fmt.Sprintf("%s, %s", r.Data, r.Variant); shown == nil || shown.Title != title {
			out.Tables = append(out.Tables, *report.NewTable(title, "xi,algorithm,status,updates,gap,first "+
				"factor,over decades,last factor,over decades,updates to 1e-6,seconds to 1e-6,ms an update"))
			shown = &out.Tables[len(out.Tables)-1]
		}
		if r.Algorithm != nameFloorOnly {
			shown.Add(r.line()...)
			xi := fmt.Sprintf("ξ = %v", r.Xi)
			r.draw(out.SVG, "iterations", "update", r.Algorithm, xi)
			r.draw(out.SVG, "seconds", "seconds", xi, r.Algorithm)
		}
	}
	return out
}

// line is the row of a printed table.
func (r *ConvergenceRow) line() []any {
	updates := len(r.Objectives) - 1
	line := []any{r.Xi, r.Algorithm, r.Status, updates, fmt.Sprintf("%.1e", r.Gap), "-", "-", "-", "-", "-", "-", ""}
	if r.Gap < leastGap {
		line[4] = fmt.Sprintf("< %.0e", leastGap)
	}
	for i, s := range []*Stretch{r.First, r.Last} {
		if s != nil {
			line[5+2*i], line[6+2*i] = fmt.Sprintf("%.4f", s.Factor), fmt.Sprintf("%.1f", s.Decades)
		}
	}
	if r.ReachedIterations != nil {
		line[9], line[10] = *r.ReachedIterations, fmt.Sprintf("%.3f", *r.ReachedSeconds)
	}
	line[11] = fmt.Sprintf("%.2f", 1000*(r.Seconds[updates]-r.Seconds[0])/float64(max(1, updates)))
	return line
}

// draw adds the gap as a curve to a figure of the data set: a row of panels for each variant. On the logarithmic axis
// of the gap, exponential convergence is a straight line.
func (r *ConvergenceRow) draw(figures map[string]report.Figure, name, x, panel, curve string) {
	name = r.Data + "-" + name + ".svg"
	row, gaps := slices.Index(variants(), r.Variant), r.gaps()
	p := &report.Panel{
		Title: fmt.Sprintf("%s, %s", r.Variant, panel), X: x, LogY: leastGap, Curves: []report.Curve{{Name: curve}},
	}
	if len(figures[name]) <= row {
		p.Y = "gap"
	}
	if x == "seconds" {
		p.LogX = leastSeconds
	}
	for i, gap := range gaps {
		if gap < leastGap || i < firstPoints || i%(1+len(gaps)/drawnPoints) == 0 || i == len(gaps)-1 {
			point := plotter.XY{X: float64(i), Y: gap}
			if x == "seconds" {
				point.X = r.Seconds[i]
			}
			p.Curves[0].Points = append(p.Curves[0].Points, point)
		}
		if gap < leastGap { // the rest is rounding
			break
		}
	}
	figures[name] = figures[name].With(row, p)
}
