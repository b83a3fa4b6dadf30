package sonmf

import (
	"context"
	"errors"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// ending is a method that makes this many updates, each of which halves the objective, and then ends.
type ending struct {
	updates int
	status  solver.Status
}

func (ending) Name() string { return "ending" }

func (e ending) Start(_ context.Context, p *solver.Problem) (solver.State, error) {
	n, terms := p.X.Dims()
	factors := func(rows int) *mat.Dense {
		m := mat.NewDense(rows, p.Settings.Rank, nil)
		for t := range p.Settings.Rank {
			m.Set(t, t, 1)
		}
		return m
	}
	return &endingState{ending: e, topics: factors(terms), scores: factors(n), objective: float64(n * terms)}, nil
}

type endingState struct {
	ending
	topics, scores *mat.Dense
	objective      float64
}

func (s *endingState) Update() solver.Status {
	if s.updates == 0 {
		return s.status
	}
	s.updates--
	s.objective /= 2
	return solver.NotTerminated
}

func (s *endingState) Objective() float64                   { return s.objective }
func (s *endingState) Factors() (topics, scores *mat.Dense) { return s.topics, s.scores }

func (s *endingState) Finish() (topics, scores *mat.Dense, objective float64) {
	return s.topics, s.scores, s.objective
}

// TestUnmet: means report every run that did not reach its criterion.
func TestUnmet(t *testing.T) {
	t.Parallel()
	const halvings = 14 // the mean objective, 1 at the start, then changes by less than the threshold
	for name, c := range map[string]struct {
		scenario Scenario
		of       ending
		want     bool
	}{
		"met":                        {Uniform, ending{halvings, solver.SearchFailed}, false},
		"no step":                    {Uniform, ending{3, solver.SearchFailed}, true},
		"a minimum":                  {Uniform, ending{3, solver.Stationary}, false},
		"too slow":                   {Uniform, ending{halvings - 1, solver.NotTerminated}, true},
		"all updates of binary rows": {Bernoulli, ending{halvings - 1, solver.NotTerminated}, false},
		"no step on binary rows":     {Bernoulli, ending{3, solver.SearchFailed}, true},
	} {
		of := &cell{scenario: c.scenario, rank: 2, updates: halvings}
		if c.of.status == solver.NotTerminated {
			of.updates = c.of.updates
		}
		run := contender{method: c.of}
		got, err := run.run(t.Context(), of, truthOf(t, c.scenario, 12, 2, false), 1)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if got.unmet != c.want {
			t.Errorf("%s: unmet is %v after %v iterations", name, got.unmet, got.measures["iterations"])
		}
	}

	unmet := []*outcome{{curve: []float64{1}, unmet: true}, {curve: []float64{1}}}
	s := small()
	for _, p := range Parts() {
		counted := false
		st := s.study(p)
		for _, column := range st.columns {
			counted = counted || mean(unmet, column, slices.Contains(st.unmet, column)).Unmet == 1
		}
		if !counted {
			t.Errorf("%s does not report runs that ended before", p)
		}
	}
}

func TestRunFails(t *testing.T) {
	t.Parallel()
	run := contender{method: ending{2, solver.NonFinite}}
	if _, err := run.run(t.Context(), &cell{scenario: Uniform, rank: 2, updates: 9}, truthOf(t, Uniform, 12, 2, false),
		1); !errors.Is(err, solver.NonFinite.Err()) {
		t.Errorf("factors that are not finite: %v", err)
	}
}
