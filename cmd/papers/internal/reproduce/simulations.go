package reproduce

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"golang.org/x/sync/errgroup"
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

// study reports whether the paper shows figures only.
func (p Part) study() bool { return p == Initialization || p == RankDeficient || p == StepSizes }

// ErrSettings is returned for settings out of their ranges.
var ErrSettings = errors.New("settings out of range")

// Simulations says what Simulate does. Zero values mean what the fields say.
type Simulations struct {
	Parts  []Part `json:"parts"`  // nil means all
	Trials int    `json:"trials"` // matrices of each kind in the tables
	// StudyTrials is that of the studies of section 8; 0 means Trials.
	StudyTrials int    `json:"study_trials"`
	Seed        uint64 `json:"seed"`
	// AsWritten draws what the paper's text says, where its tables are made of something else.
	AsWritten bool `json:"as_written"`
	// Size is the number of rows and of columns of a matrix; 0 means the paper's 500.
	Size int `json:"size"`
	// Ranks are the numbers of topics; nil means the paper's 10, 30, 50. The middle one is that of Initialization, and
	// half of it the true rank of RankDeficient, whose K are twice, four and eight times as many.
	Ranks []int `json:"ranks"`
	// Updates bounds the updates of a run; 0 means 499, since the paper's 500 iterations count the start.
	Updates int `json:"updates"`
	// Progress, when not nil, is told how many of the matrices are done. It may be called from several goroutines.
	Progress func(done, total int) `json:"-"`
}

const printedUpdates = 499

func (s *Simulations) check() error {
	if s.Parts == nil {
		s.Parts = Parts()
	}
	if s.Size == 0 {
		s.Size = printedSize
	}
	if s.Ranks == nil {
		s.Ranks = []int{10, 30, 50}
	}
	if s.StudyTrials == 0 {
		s.StudyTrials = s.Trials
	}
	if s.Updates == 0 {
		s.Updates = printedUpdates
	}
	for _, p := range s.Parts {
		if !slices.Contains(Parts(), p) {
			return fmt.Errorf("%w: part %q is none of %v", ErrSettings, p, Parts())
		}
	}
	switch {
	case s.Trials < 1, s.StudyTrials < 1:
		return fmt.Errorf("%w: %d and %d trials", ErrSettings, s.Trials, s.StudyTrials)
	case s.Updates < 1:
		return fmt.Errorf("%w: at most %d updates", ErrSettings, s.Updates)
	case len(s.Ranks) == 0:
		return fmt.Errorf("%w: no ranks", ErrSettings)
	}
	for _, k := range s.Ranks {
		if k < 1 || k > s.Size {
			return fmt.Errorf("%w: rank %d of matrices of %d×%d", ErrSettings, k, s.Size, s.Size)
		}
	}
	if middle := s.middle(); slices.Contains(s.Parts, RankDeficient) && (middle < 2 || middle/2*8 > s.Size) {
		return fmt.Errorf("%w: %s at rank %d, half of it true and up to four times of it sought, of matrices of %d×%d", ErrSettings, RankDeficient, middle, s.Size, s.Size)
	}
	return nil
}

// middle is the rank of the studies.
func (s *Simulations) middle() int { return s.Ranks[len(s.Ranks)/2] }

// Simulated is the outcome of Simulate.
type Simulated struct {
	Settings Simulations `json:"settings"`
	Tables   []Table     `json:"tables"`
	Figures  []Figure    `json:"figures"`
}

// cell is the trials of one truth and one sought rank, on which some methods are compared.
type cell struct {
	part               Part
	scenario           Scenario
	trueRank, rank     int
	label              string // of the panel of its figure
	contenders         []contender
	updates, showAtMin int          // at most so many updates, and at least these, for the curves
	runs               [][]*outcome // by trial, contender; nil where not done
}

// Simulate runs the parts on s.Trials matrices of each kind, several at once on up to GOMAXPROCS threads. Seconds are
// therefore those of a busy machine; with GOMAXPROCS 1 they are of a free one.
//
// When ctx ends or a run fails, the outcome of the trials that were done comes with the error.
func Simulate(ctx context.Context, s Simulations) (*Simulated, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	var cells []*cell
	for _, p := range s.Parts {
		cells = append(cells, s.cells(p)...)
	}
	total := 0
	for _, c := range cells {
		trials := s.Trials
		if c.part.study() {
			trials = s.StudyTrials
		}
		c.runs = make([][]*outcome, trials)
		total += trials
	}
	var done atomic.Int64
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	// All of one trial before the next, so that an early end leaves something of everything.
	for trial := range max(s.Trials, s.StudyTrials) {
		for _, c := range cells {
			if trial >= len(c.runs) {
				continue
			}
			work.Go(func() error {
				err := s.run(ctx, c, trial)
				if err == nil && s.Progress != nil {
					s.Progress(int(done.Add(1)), total)
				}
				return err
			})
		}
	}
	err := work.Wait()
	return s.report(cells), err
}

// run makes one trial of a cell.
func (s *Simulations) run(ctx context.Context, c *cell, trial int) error {
	if err := context.Cause(ctx); err != nil {
		return err
	}
	fail := func(err error) error {
		return fmt.Errorf("%s, rank %d, trial %d: %w", c.part, c.rank, trial+1, err)
	}
	random := stream(s.Seed, c.scenario, c.trueRank, trial)
	t, err := newTruth(c.scenario, s.Size, c.trueRank, s.AsWritten, random)
	if err != nil {
		return fail(err)
	}
	found := make([]*outcome, len(c.contenders))
	for i := range c.contenders {
		seed := s.Seed + uint64(trial)
		found[i], err = c.contenders[i].run(ctx, c, t, seed)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return fail(fmt.Errorf("%s: %w", c.contenders[i].name, err))
		}
	}
	c.runs[trial] = found
	return nil
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
	add := func(c cell) {
		c.part, c.updates, c.showAtMin = p, s.Updates, min(c.showAtMin, s.Updates)
		cells = append(cells, &c)
	}
	k := s.middle()
	switch p {
	case Table1, Table2, Table3:
		for _, rank := range s.Ranks {
			c := cell{scenario: Uniform, trueRank: rank, rank: rank, label: fmt.Sprintf("K = %d", rank), contenders: continuous(), showAtMin: shown1}
			switch p {
			case Table2:
				c.scenario, c.showAtMin = NonNegativeOrthogonal, shown2
			case Table3:
				c.scenario, c.showAtMin, c.contenders = Orthonormal, shown3, mixedSigns()
			}
			add(c)
		}
	case Table4, StepSizes:
		for _, rank := range s.Ranks {
			c := cell{scenario: Bernoulli, trueRank: rank, rank: rank, label: fmt.Sprintf("K = %d", rank), contenders: binary(), showAtMin: s.Updates}
			if p == StepSizes {
				c.contenders = steps()
			}
			add(c)
		}
	case Initialization:
		for _, scenario := range []Scenario{Uniform, NonNegativeOrthogonal, Orthonormal} {
			add(cell{scenario: scenario, trueRank: k, rank: k, label: fmt.Sprintf("scenario %d", scenario), contenders: starts(), showAtMin: shownStarts})
		}
	case RankDeficient:
		for _, times := range []int{2, 4, 8} {
			add(cell{scenario: Orthonormal, trueRank: k / 2, rank: times * (k / 2), label: fmt.Sprintf("K = %d, true rank %d", times*(k/2), k/2), contenders: mixedSigns(), showAtMin: shownRankDeficient})
		}
	}
	return cells
}
