package icqf

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

func TestSettingsAndData(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	good, _, _ := questionnaire(13, 30, 10, 2)
	s := Settings{Rank: 2}
	with := func(change func(*Data, *Settings)) func() (Data, Settings) {
		return func() (Data, Settings) {
			d, s := good, s
			d.Answers, d.Confounds = mat.DenseCopyOf(d.Answers), mat.DenseCopyOf(d.Confounds)
			change(&d, &s)
			return d, s
		}
	}
	for name, test := range map[string]struct {
		make func() (Data, Settings)
		want error
	}{
		"no answers at all": {with(func(d *Data, _ *Settings) { d.Answers = nil }), solver.ErrShape},
		"a participant without": {
			with(func(d *Data, _ *Settings) { d.Answers.SetRow(3, repeat(nan, 10)) }), ErrNoAnswers,
		},
		"an item without": {with(func(d *Data, _ *Settings) { d.Answers.SetCol(3, repeat(nan, 30)) }), ErrNoAnswers},
		"all missing": {
			with(func(d *Data, _ *Settings) { d.Answers.Scale(nan, d.Answers); d.Max = 0 }), ErrNoAnswers,
		},
		"above the range": {with(func(d *Data, _ *Settings) { d.Answers.Set(3, 4, 5) }), solver.ErrDomain},
		"below the range": {with(func(d *Data, _ *Settings) { d.Answers.Set(3, 4, -1) }), solver.ErrDomain},
		"infinite": {
			with(func(d *Data, _ *Settings) { d.Answers.Set(3, 4, math.Inf(1)) }), solver.ErrNonFinite,
		},
		"infinite, no range": {
			with(func(d *Data, _ *Settings) { d.Answers.Set(3, 4, math.Inf(1)); d.Max = 0 }), solver.ErrNonFinite,
		},
		"negative, no range": {
			with(func(d *Data, _ *Settings) { d.Answers.Set(3, 4, -1); d.Max = 0 }), solver.ErrSettings,
		},
		"all the same, no range": {with(func(d *Data, _ *Settings) {
			d.Answers.Apply(func(_, _ int, _ float64) float64 { return 1 }, d.Answers)
			d.Max = 0
		}), solver.ErrSettings},
		"range of nothing": {with(func(d *Data, _ *Settings) { d.Min = 4 }), solver.ErrSettings},
		"other confounds": {
			with(func(d *Data, _ *Settings) { d.Confounds = mat.NewDense(29, 3, nil) }), solver.ErrShape,
		},
		"confound missing":            {with(func(d *Data, _ *Settings) { d.Confounds.Set(3, 1, nan) }), ErrConfounds},
		"confound above 1":            {with(func(d *Data, _ *Settings) { d.Confounds.Set(3, 1, 1.5) }), ErrConfounds},
		"no factors":                  {with(func(_ *Data, s *Settings) { s.Rank = 0 }), solver.ErrRank},
		"more factors than items":     {with(func(_ *Data, s *Settings) { s.Rank = 11 }), solver.ErrRank},
		"negative penalty":            {with(func(_ *Data, s *Settings) { s.L1 = -1 }), solver.ErrSettings},
		"penalty that is no number":   {with(func(_ *Data, s *Settings) { s.L2 = nan }), solver.ErrSettings},
		"small rho":                   {with(func(_ *Data, s *Settings) { s.Rho = 1 }), solver.ErrSettings},
		"unknown inner":               {with(func(_ *Data, s *Settings) { s.Inner = "admm" }), solver.ErrSettings},
		"negative bound":              {with(func(_ *Data, s *Settings) { s.MaxLoading = -1 }), solver.ErrSettings},
		"tolerance that is no number": {with(func(_ *Data, s *Settings) { s.RelTol = math.NaN() }), solver.ErrSettings},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d, s := test.make()
			if _, err := Fit(t.Context(), d, s); !errors.Is(err, test.want) {
				t.Errorf("got %v, want %v", err, test.want)
			}
		})
	}
	d, s2 := with(func(d *Data, _ *Settings) { d.Answers.Set(3, 4, 5) })()
	_, err := Fit(t.Context(), d, s2)
	if at, ok := errors.AsType[*solver.DomainError](err); !ok || at.Row != 3 || at.Col != 4 ||
		!strings.Contains(err.Error(), "row 3, column 4 is 5, not in 0 … 4") {
		t.Errorf("got %v, want row 3 and column 4", err)
	}
	p, err := Prepare(good, Settings{Rank: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.Fit(t.Context(), Settings{Rank: 3}); !errors.Is(err, solver.ErrRank) {
		t.Errorf("more factors than prepared: %v", err)
	}
}

// TestEdges fits what is hardly a questionnaire.
func TestEdges(t *testing.T) {
	t.Parallel()
	constant, _, _ := questionnaire(14, 40, 8, 2)
	constant.Answers.SetCol(2, repeat(1, 40))
	constant.Answers.SetCol(3, repeat(0, 40))
	for name, test := range map[string]struct {
		Data
		rank int
	}{
		"one participant":             {Data{Answers: mat.NewDense(1, 4, []float64{0, 1, 2, 1})}, 1},
		"more factors than rows":      {Data{Answers: mat.NewDense(2, 4, []float64{0, 1, 2, 1, 2, 2, 0, 1})}, 4},
		"one item":                    {Data{Answers: mat.NewDense(4, 1, []float64{0, 1, 2, 1})}, 1},
		"one cell":                    {Data{Answers: mat.NewDense(1, 1, []float64{1}), Max: 2}, 1},
		"all 0":                       {Data{Answers: mat.NewDense(5, 4, nil), Max: 2}, 2},
		"constant items":              {constant, 3},
		"a row of one answer":         {Data{Answers: mat.NewDense(2, 2, []float64{math.NaN(), 2, 1, 1}), Max: 2}, 2},
		"duplicates of a participant": {Data{Answers: mat.NewDense(9, 3, slices.Repeat([]float64{0, 1, 2}, 9))}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := Settings{Rank: test.rank, L1: 0.01, RelTol: 1e-8}
			r := fit(t, test.Data, s)
			checkResult(t, test.Data, s, r)
			if r.Status.Early() && r.Status != solver.IterationLimit {
				t.Errorf("ended by %v", r.Status)
			}
		})
	}
}

func TestCancelled(t *testing.T) {
	t.Parallel()
	data, _, _ := questionnaire(15, 60, 10, 2)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := Fit(ctx, data, Settings{Rank: 2, L1: 0.1, RelTol: -1, Recorder: recorder(func(i solver.Iterate) {
		if i.Iteration == 3 {
			cancel()
		}
	})})
	if err != nil || r.Status != solver.Cancelled || r.Iterations != 3 {
		t.Errorf("%v, %v after %d updates", err, r.Status, r.Iterations)
	}
}
