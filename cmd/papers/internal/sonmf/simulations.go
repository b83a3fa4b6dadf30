// Package sonmf repeats the experiments of J. Y. Li, R. Zhu, A. Qu, H. Ye and Z. Sun, "Semi-orthogonal non-negative
// matrix factorization with an application in text mining". Simulations repeats sections 5 and 8.2 to 8.4, and Triage
// repeats section 6 on any labelled notes.
//
// X is n×p with X = G·Fᵀ + E, so that rows are documents; the paper's X is the transpose. F is p×k (topics), G is n×k
// (scores).
//
// Equal settings and seeds give equal numbers for every GOMAXPROCS; only the seconds differ. A run that ends early
// returns its results so far.
package sonmf

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/cmd/papers/internal/report"
	"github.com/wardcast/wardcast/solver/linalg"
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
	Parts       []Part `json:"parts" help:"Tables and studies to run." enum:"${parts}" default:"${parts}"`
	Trials      int    `json:"trials" help:"Matrices of each kind in tables 1 to 4; the paper has 100." default:"100"`
	StudyTrials int    `json:"study_trials" help:"Matrices of each kind in sections 8.2 to 8.4; the paper has 200 in 8.2." default:"10"`
	Seed        uint64 `json:"seed" help:"Seed of all random draws." default:"1"`
	AsWritten   bool   `json:"as_written" help:"Draw the matrices as the paper's text says, although its tables seem to come from different ones."`
	Size        int    `json:"size" help:"Rows and columns of a matrix." default:"500"`
	// Ranks: the middle one is that of Initialization. Half of it is the true rank of RankDeficient, whose runs use
	// twice, four and eight times as many topics.
	Ranks   []int          `json:"ranks" help:"Numbers of topics; the studies use the middle one." default:"10,30,50"`
	Updates int            `json:"updates" help:"Most updates of a run; the paper's 500 iterations count the start." default:"499"`
	Threads report.Threads `json:"-" help:"Runs at a time; 0 means one for each processor. With 1, no other run affects the seconds." default:"0"`
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
		return report.Invalid("%s uses up to %d topics for matrices of %d×%d of rank %d", RankDeficient, middle/2*8,
			s.Size, s.Size, middle/2)
	}
	return nil
}

// middle is the rank of the studies.
func (s *Simulations) middle() int { return s.Ranks[len(s.Ranks)/2] }

// study is a part with its cells and the measures that its table shows: see observer.measure.
type study struct {
	part    Part
	title   string
	columns []string // in the order of the paper's table, if it has one
	unmet   []string // measures that show that a run did not end as intended
	cells   []*cell
}

// cell is the trials of one kind of matrix and one rank, in which some methods are compared.
type cell struct {
	part               Part
	scenario           Scenario
	trueRank, rank     int
	label              string // of the panel of its figure
	contenders         []contender
	updates, showAtMin int          // most updates, and least updates of the curves
	runs               [][]*outcome // by trial, contender; nil if not done
}

// Run runs the parts, several matrices at a time. Their seconds are therefore measured on a busy machine unless Threads
// is 1.
func (s *Simulations) Run(ctx context.Context, session *report.Session) (*report.Report, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	lift, err := s.Threads.Limit()
	if err != nil {
		return nil, err
	}
	defer lift()
	var studies []*study
	for _, p := range s.Parts {
		studies = append(studies, s.study(p))
	}
	err = s.simulate(ctx, session, studies)
	return s.report(studies), err
}

// simulate fills in the completed trials, even if it ends early.
func (s *Simulations) simulate(ctx context.Context, session *report.Session, studies []*study) error {
	var cells []*cell
	for _, st := range studies {
		for _, c := range st.cells {
			cells = append(cells, c)
			session.Expect(len(c.runs))
		}
	}
	work, ctx := errgroup.WithContext(ctx)
	work.SetLimit(runtime.GOMAXPROCS(0))
	// One trial of every cell before the next trial, so that a run that ends early has results for all cells.
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
	return work.Wait()
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
	if ctx.Err() == nil { // otherwise a run may have ended early
		c.runs[trial] = found
	}
	return context.Cause(ctx)
}

// study returns the cells and measures of a part.
func (s *Simulations) study(p Part) *study {
	k, trials := s.middle(), s.Trials
	after := func(updates int) string { return fmt.Sprintf("after %d", min(updates, s.Updates)) }
	st := &study{part: p, title: fmt.Sprintf("Table %[1]s: scenario (%[1]s)", p[len(p)-1:]), unmet: []string{
		"seconds", "iterations",
	}}
	st.columns = []string{
		p.objective(), orthogonalResidual, "ε_F", "ε_G", "F sparsity %", "G sparsity %", "seconds", "iterations",
	}
	add := func(c cell) {
		c.part, c.updates, c.showAtMin, c.runs = p, s.Updates, min(c.showAtMin, s.Updates), make([][]*outcome, trials)
		st.cells = append(st.cells, &c)
	}
	ofRanks := func(c cell) {
		for _, rank := range s.Ranks {
			c.trueRank, c.rank, c.label = rank, rank, fmt.Sprintf("K = %d", rank)
			add(c)
		}
	}
	switch p { // showAtMin is the number of updates that the paper shows
	case Table1:
		ofRanks(cell{scenario: Uniform, contenders: continuous(), showAtMin: 250})
	case Table2:
		ofRanks(cell{scenario: NonNegativeOrthogonal, contenders: continuous(), showAtMin: 100})
	case Table3:
		ofRanks(cell{scenario: Orthonormal, contenders: mixedSigns(), showAtMin: 50})
	case Table4:
		st.title = "Table 4: binary"
		st.columns = []string{
			p.objective(), orthogonalResidual, "ε_P", "ε_F", "ε_G", "F sparsity %", "G sparsity %", "seconds",
		}
		ofRanks(cell{scenario: Bernoulli, contenders: binary(), showAtMin: s.Updates})
	case Initialization:
		trials = s.StudyTrials
		st.title = fmt.Sprintf("Section 8.2: SONMF from three starts, K = %d, average residual", k)
		st.columns = []string{"after 10", "after 50", after(250), "truth", "iterations"}
		for _, scenario := range []Scenario{Uniform, NonNegativeOrthogonal, Orthonormal} {
			add(cell{
				scenario: scenario, trueRank: k, rank: k, label: fmt.Sprintf("scenario %d", scenario),
				contenders: starts(), showAtMin: 250,
			})
		}
	case RankDeficient:
		trials = s.StudyTrials
		st.title = fmt.Sprintf("Section 8.3: more topics than the true %d, scenario (3), average residual", k/2)
		st.columns = []string{p.objective(), "after 10", "after 50", after(100), "truth", "ε_F", "ε_G", "iterations"}
		for _, rank := range []int{2 * (k / 2), 4 * (k / 2), 8 * (k / 2)} {
			add(cell{
				scenario: Orthonormal, trueRank: k / 2, rank: rank,
				label: fmt.Sprintf("K = %d, true rank %d", rank, k/2), contenders: mixedSigns(), showAtMin: 100,
			})
		}
	case StepSizes:
		trials = s.StudyTrials
		st.title = "Section 8.4: step lengths η of the binary method, average cost"
		st.columns = []string{"after 50", "after 100", after(s.Updates), "truth", "least ε_P", "ε_P", "ε_F"}
		st.unmet = []string{after(s.Updates)}
		ofRanks(cell{scenario: Bernoulli, contenders: steps(), showAtMin: s.Updates})
	}
	return st
}

// Scenario is the distribution of the truth of a simulation; see newTruth.
type Scenario int

// The scenarios of section 5.1 and the one of 5.2.
const (
	Uniform               Scenario = 1 // F ~ U(0,1)
	NonNegativeOrthogonal Scenario = 2 // one positive entry in each row of F
	Orthonormal           Scenario = 3 // FᵀF = I
	Bernoulli             Scenario = 4 // X is 0 or 1
)

const (
	noise = 0.3 // standard deviation of E in the continuous scenarios
	// binaryNoise is the standard deviation of the noise that section 5.2 adds to the probabilities.
	binaryNoise = 0.1
	// orthonormalSignal is the square of the factor of G·Fᵀ in scenario 3; only this gives the residuals of table 3.
	orthonormalSignal = 0.3
)

// truth is the data of a simulation with its true factors.
type truth struct {
	x              *mat.Dense // n×p
	topics, scores *mat.Dense // the true F (p×k) and G (n×k)
	probability    *mat.Dense // n×p, nil in the continuous scenarios
	// mean is the mean objective of the true factors: ‖X − GFᵀ‖²/(np), or the mean negative log-likelihood.
	mean float64
}

// newTruth returns the truth of one trial with size × size entries:
//
//	1  F ~ U(0,1),                             G ~ U(0,2), X = G·Fᵀ + E
//	2  F with one entry ~ U(0,2) in each row,  G ~ U(0,2), X = max(G·Fᵀ + E, 0)
//	3  F orthonormal, drawn uniformly,         G ~ U(0,2), X = √0.3·G·Fᵀ + E
//	4  F ~ N(0,1),                             G ~ U(0,1), X ~ Bernoulli(P), P = 1/(1+exp(−G·Fᵀ))
//
// with E ~ N(0, 0.3²). The printed tables agree with such matrices. The paper's text (asWritten) differs: it does not
// cut scenario 2 at 0 and does not scale the signal of scenario 3, and in 4 it draws X from P + N(0, 0.1²), cut to [0,
// 1].
func newTruth(s Scenario, size, rank int, asWritten bool, random *rand.Rand) (*truth, error) {
	uniform := func(high float64) func() float64 { return func() float64 { return high * random.Float64() } }
	t := &truth{}
	switch s {
	case Uniform:
		t.topics = report.Drawn(size, rank, uniform(1))
	case NonNegativeOrthogonal:
		t.topics = mat.NewDense(size, rank, nil)
		for j := range size {
			t.topics.Set(j, random.IntN(rank), 2*random.Float64())
		}
	case Orthonormal:
		t.topics = report.Drawn(size, rank, random.NormFloat64)
		if err := linalg.Threads(0).PolarTo(t.topics, t.topics); err != nil {
			return nil, fmt.Errorf("drawing orthonormal topics: %w", err)
		}
	case Bernoulli:
		t.topics, t.scores = report.Drawn(size, rank, random.NormFloat64), report.Drawn(size, rank, uniform(1))
		t.bernoulli(asWritten, random)
		return t, nil
	}
	t.scores = report.Drawn(size, rank, uniform(2))
	signal := mat.NewDense(size, size, nil)
	t.x = mat.NewDense(size, size, nil)
	signal.Mul(t.scores, t.topics.T())
	if s == Orthonormal && !asWritten {
		signal.Scale(math.Sqrt(orthonormalSignal), signal)
	}
	clean, noisy := signal.RawMatrix().Data, t.x.RawMatrix().Data
	for i, v := range clean {
		noisy[i] = v + noise*random.NormFloat64()
		if s == NonNegativeOrthogonal && !asWritten {
			noisy[i] = max(noisy[i], 0)
		}
		t.mean += (noisy[i] - v) * (noisy[i] - v) / float64(size*size)
	}
	return t, nil
}

// bernoulli draws X from the factors.
func (t *truth) bernoulli(asWritten bool, random *rand.Rand) {
	t.probability = probabilities(t.topics, t.scores)
	t.x = mat.DenseCopyOf(t.probability)
	entries := t.x.RawMatrix().Data
	for i, q := range t.probability.RawMatrix().Data {
		drawn, likelihood := q, math.Log1p(-q)
		if asWritten {
			drawn += binaryNoise * random.NormFloat64()
		}
		if entries[i] = 0; random.Float64() < drawn {
			entries[i], likelihood = 1, math.Log(q)
		}
		t.mean -= likelihood / float64(len(entries))
	}
}

// stream returns the generator of one trial: all methods in it see the same matrix.
func stream(seed uint64, s Scenario, rank, trial int) *rand.Rand {
	return report.Random(seed, "%d/%d/%d", s, rank, trial)
}
