package sonmf

import (
	"context"
	"fmt"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
)

// Part is one table or study of the paper's simulations.
type Part string

// The parts.
const (
	Table1         Part = "table-1"        // scenario 1
	Table2         Part = "table-2"        // scenario 2
	Table3         Part = "table-3"        // scenario 3
	Table4         Part = "table-4"        // binary
	Initialization Part = "initialization" // section 8.2
	RankDeficient  Part = "rank-deficient" // section 8.3
	StepSizes      Part = "step-sizes"     // section 8.4
)

// Parts returns all parts in the order of the paper.
func Parts() []Part {
	return []Part{Table1, Table2, Table3, Table4, Initialization, RankDeficient, StepSizes}
}

// Simulations compares methods on matrices of known factors.
type Simulations struct {
	Parts       []Part `json:"parts" help:"What to run." enum:"${parts}" default:"${parts}"`
	Trials      int    `json:"trials" help:"Matrices of each kind in tables 1 to 4; the paper has 100." default:"100"`
	StudyTrials int    `json:"study_trials" help:"Matrices of each kind in sections 8.2 to 8.4; the paper has 200 in 8.2." default:"10"`
	Seed        uint64 `json:"seed" help:"Seed of all random draws." default:"1"`
	AsWritten   bool   `json:"as_written" help:"Draw the matrices as the paper's text says, even if its tables come from others."`
	Size        int    `json:"size" help:"Rows and columns of a matrix." default:"500"`
	// Ranks: the middle one is that of Initialization. Half of it is the true rank of RankDeficient, whose runs look for
	// twice, four and eight times as many topics as that.
	Ranks   []int          `json:"ranks" help:"Numbers of topics; the studies take the middle one." default:"10,30,50"`
	Updates int            `json:"updates" help:"Most updates of a run; the paper's 500 iterations count the start." default:"499"`
	Threads report.Threads `json:"-" help:"Runs at a time; 0 means one for each processor. With 1 the seconds are those of a free machine." default:"0"`
}

func (s *Simulations) check() error {
	switch {
	case s.Trials < 1 || s.StudyTrials < 1:
		return report.Invalid("%d and %d trials", s.Trials, s.StudyTrials)
	case s.Updates < 1:
		return report.Invalid("at most %d updates", s.Updates)
	case len(s.Parts) == 0 || len(s.Ranks) == 0:
		return report.Invalid("%d parts and %d ranks", len(s.Parts), len(s.Ranks))
	case slices.Min(s.Ranks) < 1 || slices.Max(s.Ranks) > s.Size:
		return report.Invalid("ranks %v of matrices of %d×%d", s.Ranks, s.Size, s.Size)
	}
	if middle := s.middle(); slices.Contains(s.Parts, RankDeficient) && (middle < 2 || middle/2*8 > s.Size) {
		return report.Invalid("%s looks for up to %d topics in matrices of %d×%d of rank %d", RankDeficient, middle/2*8, s.Size, s.Size, middle/2)
	}
	return nil
}

// middle is the rank of the studies.
func (s *Simulations) middle() int { return s.Ranks[len(s.Ranks)/2] }

// cell is the trials of one kind of matrix and one rank, in which some methods are compared.
type cell struct {
	part               Part
	scenario           Scenario
	trueRank, rank     int
	label              string // of the panel of its figure
	contenders         []contender
	updates, showAtMin int          // at most so many updates, and at least these, for the curves
	runs               [][]*outcome // by trial, contender; nil if not done
}

// Run runs the parts, several matrices at a time. Their seconds are therefore those of a busy machine unless Threads is 1.
func (s *Simulations) Run(ctx context.Context, session *report.Session) (*report.Report, error) {
	cells, err := s.simulate(ctx, session)
	if cells == nil {
		return nil, err
	}
	return s.report(cells).report(), err
}

// simulate returns the cells with the trials that were done, whatever ended it.
func (s *Simulations) simulate(ctx context.Context, session *report.Session) ([]*cell, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	lift, err := s.Threads.Limit()
	if err != nil {
		return nil, err
	}
	defer lift()
	var cells []*cell
	for _, p := range s.Parts {
		cells = append(cells, s.cells(p)...)
	}
	for _, c := range cells {
		session.Expect(len(c.runs))
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	// All of one trial before the next, so that an early end leaves something of everything.
	for trial := range max(s.Trials, s.StudyTrials) {
		for _, c := range cells {
			if trial >= len(c.runs) {
				continue
			}
			work.Go(func() error {
				if err := s.run(ctx, c, trial); err != nil {
					return fmt.Errorf("%s, rank %d, trial %d: %w", c.part, c.rank, trial+1, err)
				}
				session.Step(1)
				return nil
			})
		}
	}
	err = work.Wait()
	return cells, err
}

// run makes one trial of a cell.
func (s *Simulations) run(ctx context.Context, c *cell, trial int) error {
	t, err := newTruth(c.scenario, s.Size, c.trueRank, s.AsWritten, stream(s.Seed, c.scenario, c.trueRank, trial))
	if err != nil {
		return err
	}
	found := make([]*outcome, len(c.contenders))
	for i := range c.contenders {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if found[i], err = c.contenders[i].run(ctx, c, t, s.Seed+uint64(trial)); err != nil {
			return fmt.Errorf("%s: %w", c.contenders[i].name, err)
		}
	}
	if ctx.Err() == nil { // else a run may have ended early
		c.runs[trial] = found
	}
	return context.Cause(ctx)
}

// The paper shows so many updates of the runs of scenarios 1 to 3, of Initialization and of RankDeficient.
const (
	shown1             = 250
	shown2             = 100
	shown3             = 50
	shownStarts        = 250
	shownRankDeficient = 100
)

// cells returns what a part consists of.
func (s *Simulations) cells(p Part) []*cell {
	var cells []*cell
	add := func(trials int, c cell) {
		c.part, c.updates, c.showAtMin, c.runs = p, s.Updates, min(c.showAtMin, s.Updates), make([][]*outcome, trials)
		cells = append(cells, &c)
	}
	k := s.middle()
	switch p {
	case Initialization:
		for _, scenario := range []Scenario{Uniform, NonNegativeOrthogonal, Orthonormal} {
			add(s.StudyTrials, cell{scenario: scenario, trueRank: k, rank: k, label: fmt.Sprintf("scenario %d", scenario), contenders: starts(), showAtMin: shownStarts})
		}
	case RankDeficient:
		for _, times := range []int{2, 4, 8} {
			add(s.StudyTrials, cell{
				scenario: Orthonormal, trueRank: k / 2, rank: times * (k / 2), label: fmt.Sprintf("K = %d, true rank %d", times*(k/2), k/2),
				contenders: mixedSigns(), showAtMin: shownRankDeficient,
			})
		}
	default:
		kind, trials := map[Part]cell{
			Table1:    {scenario: Uniform, contenders: continuous(), showAtMin: shown1},
			Table2:    {scenario: NonNegativeOrthogonal, contenders: continuous(), showAtMin: shown2},
			Table3:    {scenario: Orthonormal, contenders: mixedSigns(), showAtMin: shown3},
			Table4:    {scenario: Bernoulli, contenders: binary(), showAtMin: s.Updates},
			StepSizes: {scenario: Bernoulli, contenders: steps(), showAtMin: s.Updates},
		}[p], s.Trials
		if p == StepSizes {
			trials = s.StudyTrials
		}
		for _, rank := range s.Ranks {
			kind.trueRank, kind.rank, kind.label = rank, rank, fmt.Sprintf("K = %d", rank)
			add(trials, kind)
		}
	}
	return cells
}
