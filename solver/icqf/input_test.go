package icqf

import (
	"errors"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
)

// TestModelRefuses: what cannot be scored or reconstructed is an error, however it is wrong, and never a panic.
func TestModelRefuses(t *testing.T) {
	t.Parallel()
	data, truth, scores := questionnaire(19, 6, 10, 2)
	nan := math.NaN()
	model := func(change func(*Model)) *Model {
		m := *truth
		m.Loadings, m.ConfoundLoadings = mat.DenseCopyOf(m.Loadings), mat.DenseCopyOf(m.ConfoundLoadings)
		change(&m)
		return &m
	}
	same := func(*Model) {}
	with := func(a *mat.Dense, i, j int, v float64) *mat.Dense {
		a = mat.DenseCopyOf(a)
		a.Set(i, j, v)
		return a
	}
	for name, test := range map[string]struct {
		model             *Model
		answers, confound *mat.Dense
		want              error
	}{
		"no answers":             {model(same), nil, data.Confounds, solver.ErrShape},
		"empty answers":          {model(same), &mat.Dense{}, data.Confounds, solver.ErrShape},
		"answers of other items": {model(same), mat.NewDense(6, 9, nil), data.Confounds, solver.ErrShape},
		"an infinite answer": {
			model(same), with(data.Answers, 3, 4, math.Inf(1)), data.Confounds, solver.ErrNonFinite,
		},
		"answers too large to square": {
			model(same), with(data.Answers, 3, 4, math.MaxFloat64), data.Confounds, solver.ErrNonFinite,
		},
		"no confounds":       {model(same), data.Answers, nil, ErrConfounds},
		"empty confounds":    {model(same), data.Answers, &mat.Dense{}, solver.ErrShape},
		"other confounds":    {model(same), data.Answers, mat.NewDense(5, 3, nil), solver.ErrShape},
		"a confound missing": {model(same), data.Answers, with(data.Confounds, 3, 1, nan), ErrConfounds},
		"confounds the model has not": {
			model(func(m *Model) { m.ConfoundLoadings = nil }), data.Answers, data.Confounds, ErrConfounds,
		},
		"no model": {&Model{}, data.Answers, data.Confounds, solver.ErrShape},
		"an empty model": {
			&Model{Loadings: &mat.Dense{}}, data.Answers, data.Confounds, solver.ErrShape,
		},
		"other loadings of confounds": {
			model(func(m *Model) { m.ConfoundLoadings = mat.NewDense(9, 3, nil) }),
			data.Answers, data.Confounds, solver.ErrShape,
		},
		"empty confounds' loadings": {
			model(func(m *Model) { m.ConfoundLoadings = &mat.Dense{} }), data.Answers, data.Confounds, solver.ErrShape,
		},
		"a loading missing": {
			model(func(m *Model) { m.Loadings.Set(3, 1, nan) }), data.Answers, data.Confounds, solver.ErrNonFinite,
		},
		"an infinite confound's loading": {
			model(func(m *Model) { m.ConfoundLoadings.Set(3, 1, math.Inf(1)) }),
			data.Answers, data.Confounds, solver.ErrNonFinite,
		},
		"a negative penalty": {
			model(func(m *Model) { m.L1 = -1 }), data.Answers, data.Confounds, solver.ErrSettings,
		},
		"a penalty that is no number": {
			model(func(m *Model) { m.L2 = nan }), data.Answers, data.Confounds, solver.ErrSettings,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := test.model.Score(test.answers, test.confound); !errors.Is(err, test.want) {
				t.Errorf("scoring: got %v, want %v", err, test.want)
			}
		})
	}
	for name, test := range map[string]struct {
		model            *Model
		scores, confound *mat.Dense
		want             error
	}{
		"no scores":               {model(same), nil, data.Confounds, solver.ErrShape},
		"empty scores":            {model(same), &mat.Dense{}, data.Confounds, solver.ErrShape},
		"scores of other factors": {model(same), mat.NewDense(6, 3, nil), data.Confounds, solver.ErrShape},
		"no confounds":            {model(same), scores, nil, ErrConfounds},
		"other confounds":         {model(same), scores, mat.NewDense(5, 3, nil), solver.ErrShape},
		"no model":                {&Model{}, scores, data.Confounds, solver.ErrShape},
		"confounds' loadings of none": {
			model(func(m *Model) { m.ConfoundLoadings = mat.NewDense(9, 3, nil) }), scores,
			data.Confounds, solver.ErrShape,
		},
	} {
		t.Run("reconstruct/"+name, func(t *testing.T) {
			t.Parallel()
			if _, err := test.model.Reconstruct(test.scores, test.confound); !errors.Is(err, test.want) {
				t.Errorf("reconstructing: got %v, want %v", err, test.want)
			}
		})
	}
}

func TestRangeOfNothing(t *testing.T) {
	t.Parallel()
	good, _, _ := questionnaire(20, 30, 10, 2)
	for _, limits := range [][2]float64{{4, 1}, {4, 4}, {-1, 4}, {math.NaN(), 4}, {0, math.NaN()}, {
		math.Inf(1), math.Inf(-1),
	}, {0, math.Inf(1)}, {math.Inf(-1), 4}} {
		for _, answers := range []*mat.Dense{good.Answers, mat.NewDense(2, 2, repeat(math.NaN(), 4))} {
			d := Data{Answers: answers, Min: limits[0], Max: limits[1]}
			if _, err := Prepare(d, Settings{Rank: 1}); !errors.Is(err, solver.ErrSettings) {
				t.Errorf("answers from %v to %v: got %v, want %v", limits[0], limits[1], err, solver.ErrSettings)
			}
			if _, err := Fit(t.Context(), d, Settings{Rank: 1}); !errors.Is(err, solver.ErrSettings) {
				t.Errorf("answers from %v to %v: got %v, want %v", limits[0], limits[1], err, solver.ErrSettings)
			}
		}
	}
}
