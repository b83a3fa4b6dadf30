package reproduce

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

// ConvergenceSettings say how the algorithms are run.
type ConvergenceSettings struct {
	// Iterations bounds the updates of a run.
	Iterations int `json:"iterations"`
	// Start is where the algorithms begin: StartUniform, or topics by solver.InitRandom or solver.InitSVD with their least
	// squares scores and coefficients of zero; "" means StartUniform.
	Start solver.Init `json:"start"`
	// Documents and Terms are the size of the matrix of job postings; 0 means 3,000 and 2,840.
	Documents int    `json:"documents"`
	Terms     int    `json:"terms"`
	Seed      uint64 `json:"seed"`
	// Threads and Version are that of the processors used and of the program, for the record: the seconds and the last
	// digits depend on them.
	Threads int    `json:"threads"`
	Version string `json:"version"`
}

// Convergence compares the algorithms for supervised factorizations: section 5 of Lee, Lyu and Yao.
type Convergence struct {
	ConvergenceSettings
	// Xi holds the values of ξ; nil means the paper's.
	Xi []float64
	// Digits are those of MNIST; nil leaves their part out.
	Digits *Digits
	// Runs is the path of a file of JSON lines, to which each run is added as it ends; those that it holds are not made
	// again. It goes on under the same settings and digits only, for any ξ. "" is none.
	Runs string
	// Progress, when not nil, is told how many of the runs are done.
	Progress func(done, total int)
}

// StartUniform is the authors' start: entries of both factors from U(0,1), coefficients from U(−1,1).
const StartUniform solver.Init = "uniform"

// PaperXi returns the values of ξ in the paper's figure 2.
func PaperXi() []float64 { return []float64{0.1, 1, 5, 10, 20} }

// Section 5: the ridge and the step length. The job postings are fewer than the paper's 17,880: as many as of those that
// the authors' program was timed on.
const (
	paperRidge = 2
	paperStep  = 0.01
	jobsSize   = 3000
	jobsTerms  = 2840
)

// floorFactor is how many times as many updates the run has that is made for the floor alone.
const floorFactor = 5

// algorithm is one of those that are compared.
type algorithm struct {
	name   string
	update smf.Update
	step   float64
	floor  bool // made for the floor alone, from singular vectors
}

// The algorithms' names.
const (
	paperLPGD     = "LPGD, τ = .01"
	safeLPGD      = "LPGD, safe steps"
	nameBCD       = "BCD"
	nameProfiled  = "profiled (default)"
	nameFloorOnly = "floor"
)

func algorithms() []algorithm {
	return []algorithm{
		{name: paperLPGD, update: smf.UpdateGradient, step: paperStep},
		{name: safeLPGD, update: smf.UpdateGradient},
		{name: nameBCD, update: smf.UpdateBlocks},
		{name: nameProfiled, update: smf.UpdateProfiled},
		{name: nameFloorOnly, update: smf.UpdateProfiled, floor: true},
	}
}

// ConvergenceRun is one run of one algorithm.
type ConvergenceRun struct {
	Data      string      `json:"data"`
	Variant   smf.Variant `json:"variant"`
	Xi        float64     `json:"xi"`
	Algorithm string      `json:"algorithm"`
	Status    string      `json:"status"`
	// Objectives is the objective of each iterate, the start first, as far as it is finite. Seconds is the time to
	// each from given start factors.
	Objectives []float64 `json:"objectives"`
	Seconds    []float64 `json:"seconds"`
}

func (r *ConvergenceRun) check() error {
	if len(r.Objectives) == 0 || len(r.Objectives) != len(r.Seconds) {
		return errors.New("objectives without their seconds")
	}
	return nil
}

// same reports whether two runs are of the same algorithm and problem.
func (r *ConvergenceRun) same(o *ConvergenceRun) bool {
	return r.Data == o.Data && r.Variant == o.Variant && r.Xi == o.Xi && r.Algorithm == o.Algorithm
}

// convergenceHeader is the header of runs.
type convergenceHeader struct {
	ConvergenceSettings
	Digits string `json:"digits"` // fingerprint
}

func (h convergenceHeader) of() string { return "runs of supervised factorizations" }

func (h convergenceHeader) whole() bool { return h.Iterations > 0 }

func (c *Convergence) check() error {
	if c.Xi == nil {
		c.Xi = PaperXi()
	}
	c.Start = cmp.Or(c.Start, StartUniform)
	c.Documents, c.Terms = cmp.Or(c.Documents, jobsSize), cmp.Or(c.Terms, jobsTerms)
	switch {
	case c.Iterations < 1:
		return fmt.Errorf("%w: at most %d updates", ErrSettings, c.Iterations)
	case c.Documents < jobsRank || c.Terms < jobsRank:
		return fmt.Errorf("%w: %d job postings of %d terms, and %d topics", ErrSettings, c.Documents, c.Terms, jobsRank)
	case !slices.Contains([]solver.Init{StartUniform, solver.InitRandom, solver.InitSVD}, c.Start):
		return fmt.Errorf("%w: start %q is none of uniform, random, svd", ErrSettings, c.Start)
	case len(c.Xi) == 0:
		return fmt.Errorf("%w: no ξ", ErrSettings)
	}
	for i, xi := range c.Xi {
		if !(xi > 0) || math.IsInf(xi, 1) || slices.Contains(c.Xi[:i], xi) {
			return fmt.Errorf("%w: ξ = %v is not above 0, or stands twice", ErrSettings, xi)
		}
	}
	return nil
}

// Run makes the runs, one after another so that their seconds can be compared, and each on up to GOMAXPROCS threads. All
// algorithms of one problem begin at the same factors. When ctx ends or a run fails, what is known of the problems whose
// runs are all made comes with the error.
func (c *Convergence) Run(ctx context.Context) (_ *Converged, err error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	file, err := openCells(c.Runs, convergenceHeader{c.ConvergenceSettings, c.Digits.fingerprint()}, (*ConvergenceRun).check)
	if err != nil {
		return nil, err
	}
	defer func() { err = cmp.Or(err, file.close()) }()
	problems, err := c.problems(ctx)
	if err != nil {
		return nil, err
	}
	variants, compared := []smf.Variant{smf.VariantW, smf.VariantH}, algorithms()
	done, total := 0, len(problems)*len(variants)*len(c.Xi)*len(compared)
	out := &Converged{Settings: c.ConvergenceSettings, Xi: c.Xi}
	for _, p := range problems {
		for _, variant := range variants {
			for _, xi := range c.Xi {
				runs := make([]ConvergenceRun, len(compared))
				for i, a := range compared {
					runs[i] = ConvergenceRun{Data: p.name, Variant: variant, Xi: xi, Algorithm: a.name}
					if known := file.find(runs[i].same); known != nil {
						runs[i] = *known
					} else if err := c.run(ctx, p, a, &runs[i]); err != nil {
						return out, fmt.Errorf("%s, %s, ξ = %v, %s: %w", p.name, variant, xi, a.name, err)
					} else if err := file.add(&runs[i]); err != nil {
						return out, err
					}
					done++
					if c.Progress != nil {
						c.Progress(done, total)
					}
				}
				out.add(runs)
			}
		}
	}
	return out, nil
}

// problems returns the data.
func (c *Convergence) problems(ctx context.Context) ([]*convergenceData, error) {
	var all []*convergenceData
	if c.Digits != nil {
		digits, err := mixedDigits(c.Digits, c.Seed)
		if err != nil {
			return nil, err
		}
		all = append(all, digits)
	}
	jobs, err := jobPostings(ctx, c.Documents, c.Terms, c.Seed)
	return append(all, jobs), err
}

// run makes one run.
func (c *Convergence) run(ctx context.Context, p *convergenceData, a algorithm, r *ConvergenceRun) error {
	s := solver.Settings{Rank: p.rank, MaxIter: c.Iterations, RelTol: -1}
	problem := smf.Settings{Variant: r.Variant, Xi: r.Xi, Ridge: paperRidge, Update: a.update, Step: a.step}
	if a.floor {
		s.MaxIter *= floorFactor
	} else {
		var err error
		if s.StartTopics, s.StartScores, problem.StartHead, err = p.start(ctx, c.Start, c.Seed); err != nil {
			return err
		}
	}
	method, err := smf.New(p.data, problem)
	if err != nil {
		return err
	}
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
		r.Seconds = append(r.Seconds, found.Seconds.Init+point.Seconds)
	}
	return r.check()
}
