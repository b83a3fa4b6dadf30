package smf

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"time"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// Convergence compares the algorithms for supervised factorizations.
type Convergence struct {
	Iterations int `json:"iterations" help:"Most updates of a run." default:"1000"`
	// Start is StartUniform, or else the initialization of the topics. The scores then are those of least squares, and the
	// coefficients 0.
	Start     solver.Init `json:"start" help:"Start of the algorithms: the authors' factors from U(0,1), random orthonormal topics, or singular vectors." enum:"uniform,random,svd" default:"uniform"`
	Documents int         `json:"documents" help:"Number of job postings." default:"3000"`
	Terms     int         `json:"terms" help:"Number of their terms." default:"2840"`
	Seed      uint64      `json:"seed" help:"Seed of all random draws." default:"1"`
	// Threads and Version are on record because the seconds and the last digits depend on them.
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

// floorFactor is how many times as many updates the run gets that only looks for the least objective.
const floorFactor = 5

// The algorithms that are compared. nameFloorOnly is a long run from singular vectors that only looks for the least objective.
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
	// Objectives is the objective of each iterate, the start first, up to the last finite one. Seconds is the time to each
	// from given start factors.
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
			return report.Invalid("ξ = %v is not positive and finite, or is there twice", xi)
		}
	}
	return nil
}

// Run makes the runs. All algorithms of one problem begin at the same factors. The report holds the problems whose runs are
// all made.
func (c *Convergence) Run(ctx context.Context, session *report.Session) (*report.Report, error) {
	if c.MnistImages != "" {
		var err error
		if c.digits, err = ReadDigits(c.MnistImages, c.MnistLabels); err != nil {
			return nil, err
		}
	}
	found, err := c.converge(ctx, session)
	if found == nil {
		return nil, err
	}
	return found.report(), err
}

func (c *Convergence) converge(ctx context.Context, session *report.Session) (*Converged, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	lift, err := c.Threads.Limit()
	if err != nil {
		return nil, err
	}
	defer lift()
	c.Threads = report.Threads(runtime.GOMAXPROCS(0))
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
						Cell: ConvergenceRun{ConvergenceKey: ConvergenceKey{p.name, variant, xi, a}},
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
	return out, err
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
// s = ‖X‖₂² for SMF-W and 1 for SMF-H. A quarter bounds the curvature of the label loss, and the factor 2 is for both blocks
// moving together.
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
