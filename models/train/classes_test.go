package train

import (
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/solver/smf"
)

// TestEvaluateClasses holds methods of several outcomes against the shares of the classes.
func TestEvaluateClasses(t *testing.T) {
	t.Parallel()
	d := threeClasses(t, 0, 400)
	d.Pooled = true
	repeats, err := CrossValidation(d.Rows, 2, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := Evaluate(t.Context(), d, Comparison{
		Configurations: candidates(t, "majority", "smf-w", "smf-h"), Repeats: repeats, Settings: smallSupervised(SMFW),
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range scores {
		called := 0
		for _, row := range s.Classes.Confusion {
			for _, n := range row {
				called += n
			}
		}
		if s.Classes.N != len(d.Rows) || called != 2*len(d.Rows) || s.Notes != len(d.Rows) ||
			len(s.Classes.Classes) != 3 {
			t.Errorf("%s: %+v", s.Name, s)
		}
		if i > 0 && (s.Classes.LogLoss >= scores[0].Classes.LogLoss || *s.Classes.AUROC < 0.6 ||
			s.AUROC < 0.6 || s.Rank != 4) {
			t.Errorf("%s: log loss %v, of the shares %v; AUROC %v, of admission %v", s.Name, s.Classes.LogLoss,
				scores[0].Classes.LogLoss, *s.Classes.AUROC, s.AUROC)
		}
	}
	if m := scores[0].Classes; math.Abs(m.BalancedAccuracy-1./3) > 1e-12 || *m.AUROC > 0.51 {
		t.Errorf("the shares: %+v", m)
	}
}

// TestEvaluateCutsRanks says which rank was used where there are fewer terms.
func TestEvaluateCutsRanks(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 200)
	for i := range rows {
		rows[i].Text = []string{"fall hip", "cough fever", "fall fever", "hip"}[i%4]
	}
	repeats, err := CrossValidation(rows, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	all, err := Configurations([]string{"svd", "smf-w", "bow"}, nil, []int{2, 50})
	if err != nil {
		t.Fatal(err)
	}
	s := smallSupervised(SMFW)
	s.Ranks = []int{1} // which are the candidates'
	scores, err := Evaluate(t.Context(), Data{Rows: rows},
		Comparison{Configurations: all, Repeats: repeats, Settings: s})
	if err != nil {
		t.Fatal(err)
	}
	var ranks []int
	for _, s := range scores {
		ranks = append(ranks, s.Rank)
	}
	if !slices.Equal(ranks, []int{2, 4, 2, 4, 0}) {
		t.Errorf("ranks %v", ranks)
	}
}

// TestClassNotTrainedOn names the outcome of which only the test notes have any.
func TestClassNotTrainedOn(t *testing.T) {
	t.Parallel()
	d := threeClasses(t, 0, 120)
	repeats, _, err := Holdout(d.Rows, func(i int) bool { return d.Rows[i].Class != 2 })
	if err != nil {
		t.Fatal(err)
	}
	_, err = Evaluate(t.Context(), d,
		Comparison{Configurations: candidates(t, "smf-w"), Repeats: repeats, Settings: smallSupervised(SMFW)})
	if !errors.Is(err, smf.ErrLabels) || !strings.Contains(err.Error(), `"observation"`) {
		t.Errorf("got %v", err)
	}
}

func TestSupervisedRefuses(t *testing.T) {
	t.Parallel()
	d := threeClasses(t, 0, 120)
	two := d
	two.Classes, two.Admission = nil, nil
	other := func(change func(*Settings)) Settings {
		s := small()
		change(&s)
		return s
	}
	with := func(change func(*Settings)) Settings {
		s := smallSupervised(SMFW)
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		data     Data
		settings Settings
	}{
		"classes of sonmf":   {d, small()},
		"classes of words":   {d, other(func(s *Settings) { s.Method = BagOfWords })},
		"isotonic":           {d, with(func(s *Settings) { s.Calibration = bundle.Isotonic })},
		"words":              {two, with(func(s *Settings) { s.Words = true })},
		"free aux":           {two, with(func(s *Settings) { s.FreeAux = true })},
		"one standard error": {two, with(func(s *Settings) { s.OneSE = true })},
		"xi":                 {two, with(func(s *Settings) { s.Xi = new(0.) })},
		"infinite xi":        {two, with(func(s *Settings) { s.Xi = new(math.Inf(1)) })},
		"ridge":              {two, with(func(s *Settings) { s.Ridge = new(-1.) })},
		"class weights":      {two, with(func(s *Settings) { s.ClassWeights = "loud" })},
		"rank":               {two, with(func(s *Settings) { s.Ranks = []int{3, 0} })},
		"rank twice":         {two, with(func(s *Settings) { s.Ranks = []int{3, 3} })},
		"rank of vocabulary": {
			Data{Rows: two.Rows, Pooled: true}, with(func(s *Settings) { s.Ranks = []int{3, 10000} }),
		},
		"xi of sonmf":      {two, other(func(s *Settings) { s.Xi = new(1.) })},
		"ridge of sonmf":   {two, other(func(s *Settings) { s.Ridge = new(1.) })},
		"weights of sonmf": {two, other(func(s *Settings) { s.ClassWeights = smf.Balanced })},
		"ranks of sonmf":   {two, other(func(s *Settings) { s.Ranks = []int{2, 3} })},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Fit(t.Context(), c.data, c.settings); !errors.Is(err, ErrSettings) {
				t.Errorf("got %v", err)
			}
		})
	}
	for name, of := range map[string]Settings{
		"classes": small(), "isotonic": with(func(s *Settings) { s.Calibration = bundle.Isotonic }),
	} {
		if err := CheckClasses([]Configuration{{Method: Majority}, {Method: of.Method, Rank: 2, Weighting: "tf-idf"}},
			3, of); !errors.Is(err, ErrSettings) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Configurations([]string{"smf-w+words"}, nil, []int{2}); !errors.Is(err, ErrSettings) {
		t.Errorf("words beside: %v", err)
	}
}
