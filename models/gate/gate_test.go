package gate_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models/gate"
)

// planted returns n notes with a true logit each, of patients who come once.
func planted(n int) (y []bool, logit []float64) {
	random := rand.New(rand.NewPCG(5, 5))
	for range n {
		x := 1.5*random.NormFloat64() - 1
		y, logit = append(y, random.Float64() < sigmoid(x)), append(logit, x)
	}
	return y, logit
}

// bent returns the probabilities of a + b·logit + noise.
func bent(logit []float64, a, b, noise float64) []float64 {
	random := rand.New(rand.NewPCG(6, 6))
	p := make([]float64, len(logit))
	for i, x := range logit {
		p[i] = sigmoid(a + b*x + noise*random.NormFloat64())
	}
	return p
}

func judge(t *testing.T, n gate.Notes) *gate.Verdict {
	t.Helper()
	v, err := gate.Judge(n, gate.Default())
	if err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(v.Reason, "\n") || !strings.Contains(v.Reason, "AUROC") ||
		!strings.Contains(v.Reason, "log loss") {
		t.Errorf("reason %q", v.Reason)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
	return v
}

func TestJudge(t *testing.T) {
	t.Parallel()
	y, x := planted(3000)
	truth := bent(x, 0, 1, 0)
	site := make([]string, len(y))
	harmed := append([]float64{}, truth...)
	for i := range site {
		site[i] = []string{"north", "north", "north", "south"}[i%4]
		if i%4 == 3 {
			harmed[i] = sigmoid(-1)
		}
	}
	constant := make([]float64, len(y))
	for i := range constant {
		constant[i] = 0.3
	}
	bySite := []gate.Grouping{{Name: "site", Level: site}}
	for _, c := range []struct {
		name     string
		notes    gate.Notes
		decision gate.Decision
		reason   string
	}{
		{"the first", gate.Notes{Challenger: truth}, gate.Promote, "the first model: log loss"},
		{"the first knows nothing", gate.Notes{Challenger: bent(x, -1, 0, 1)}, gate.Refuse, "; the difference must " +
			"be at least 1.645 standard errors ("},
		{"a constant knows nothing", gate.Notes{Challenger: constant}, gate.Refuse, "no better than the base rate"},
		{
			"the wrong way round",
			gate.Notes{Challenger: bent(x, 0, -1, 0), Champion: truth},
			gate.Refuse, "no better than the base rate",
		},
		{
			"much better",
			gate.Notes{Challenger: truth, Champion: bent(x, 0, 1, 1.5)},
			gate.Promote, "of the champion (difference -0.",
		},
		{"the same", gate.Notes{Challenger: truth, Champion: truth}, gate.Promote, "the same as that of the champion " +
			"for every note, and"},
		{
			"better by a hair",
			gate.Notes{Challenger: bent(x, 0, 1.00001, 0), Champion: truth},
			gate.Promote, "(difference -9.5e-08, ",
		},
		{
			"a first model of few",
			gate.Notes{Challenger: truth, Learned: &gate.Learned{Admissions: 12, Others: 2255, Least: 50}},
			gate.Refuse, "too few notes: 12 admissions and 2255 others; training needs at least 50 of each",
		},
		{"a model of few others", gate.Notes{Challenger: truth, Champion: bent(x, 0, 1, 1.5), Learned: &gate.Learned{
			Admissions: 500, Others: 49, Least: 50,
		}}, gate.Refuse, "500 admissions and 49 others"},
		{
			"a first model of enough",
			gate.Notes{Challenger: truth, Learned: &gate.Learned{Admissions: 50, Others: 50, Least: 50}},
			gate.Promote, "the first model",
		},
		{"worse", gate.Notes{Challenger: bent(x, 0, 1, 1), Champion: truth}, gate.Refuse, ": it is higher; AUROC"},
		{
			"the champion lost its calibration",
			gate.Notes{Challenger: bent(x, 0, 1, 0.2), Champion: bent(x, 0.8, 1, 0)},
			gate.Recalibrate, "the champion with intercept -0.",
		},
		{
			"a bad challenger to a champion that lost its calibration",
			gate.Notes{Challenger: bent(x, -1, 0, 1), Champion: bent(x, 0.8, 1, 0)},
			gate.Recalibrate, "the champion with intercept",
		},
		{
			"worse than a champion that learned from the notes",
			gate.Notes{Challenger: bent(x, 0, 1, 1), Champion: truth, Seen: true},
			gate.Refuse, "the champion may have learned from these notes",
		},
		{
			"better than a champion that learned from the notes",
			gate.Notes{Challenger: truth, Champion: bent(x, 0, 1, 1.5), Seen: true},
			gate.Promote, "of the champion (difference -0.",
		},
		{
			"no recalibration on notes that the champion learned from",
			gate.Notes{Challenger: bent(x, 0.9, 1, 0.2), Champion: bent(x, 0.8, 1, 0), Seen: true},
			gate.Refuse, "the champion may have learned",
		},
		{
			"no recalibration of what cannot be",
			gate.Notes{Challenger: bent(x, 0.6, 1, 0), Champion: bent(x, 0.8, 1, 0), Fixed: true},
			gate.Promote, "no subgroup is clearly worse off",
		},
		{
			"knows nothing, whatever the champion learned from",
			gate.Notes{Challenger: bent(x, -1, 0, 1), Champion: truth, Seen: true},
			gate.Refuse, "no better than the base rate",
		},
		{"the challenger is better than a " +
			"recalibration", gate.Notes{Challenger: truth, Champion: bent(x, 0.8, 1, 1.5)}, gate.Promote, "difference"},
		{
			"both know nothing",
			gate.Notes{Challenger: bent(x, -1, 0, 1), Champion: bent(x, -2, 0, 2)},
			gate.Refuse, "no better than the base rate",
		},
		{
			"a subgroup is harmed",
			gate.Notes{Challenger: harmed, Champion: bent(x, -0.28, 0.62, 0.62), Groupings: bySite},
			gate.Refuse, `clearly worse for site "south"`,
		},
		{
			"too few to replace a champion",
			gate.Notes{Admitted: y[:40], Challenger: truth[:40], Champion: truth[:40]},
			gate.Refuse, "cannot be judged",
		},
		{"few for the first", gate.Notes{Admitted: y[:40], Challenger: truth[:40]}, gate.Promote, "the first model"},
		{"one class", gate.Notes{Admitted: make([]bool, 3000), Challenger: truth}, gate.Refuse, "cannot be judged"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if c.notes.Admitted == nil {
				c.notes.Admitted = y
			}
			if v := judge(t, c.notes); v.Decision != c.decision || !strings.Contains(v.Reason, c.reason) {
				t.Errorf("%s: %s, want %s: …%s…", v.Decision, v.Reason, c.decision, c.reason)
			}
		})
	}
}

// TestSmallSubgroupsAreNotJudged: a level with too few admissions neither blocks nor shows.
func TestSmallSubgroupsAreNotJudged(t *testing.T) {
	t.Parallel()
	y, x := planted(3000)
	challenger, site := bent(x, 0, 1, 0), make([]string, len(y))
	for i := range 30 {
		challenger[i], site[i] = 0.999, "island"
		if y[i] {
			challenger[i] = 0.001
		}
	}
	v := judge(t, gate.Notes{
		Admitted: y, Challenger: challenger, Champion: bent(x, 0, 1, 2),
		Groupings: []gate.Grouping{{Name: "site", Level: site}},
	})
	if v.Decision != gate.Promote || len(v.Figures.Subgroups) != 0 {
		t.Errorf("%s: %s; subgroups %+v", v.Decision, v.Reason, v.Figures.Subgroups)
	}
}

// TestRepeatsDoNotDecide: the same evidence three times under the same patients is the same evidence.
func TestRepeatsDoNotDecide(t *testing.T) {
	t.Parallel()
	y, x := planted(400)
	challenger, champion := bent(x, 0, 1, 0.3), bent(x, 0.05, 1, 0)
	n := gate.Notes{}
	var once gate.Notes
	for copies := range 3 {
		for i := range y {
			n.Admitted, n.Challenger, n.Champion = append(n.Admitted, y[i]), append(n.Challenger, challenger[i]),
				append(n.Champion, champion[i])
			n.Patients = append(n.Patients, string(rune('0'+i/100))+string(rune('0'+i/10%10))+string(rune('0'+i%10)))
		}
		if copies == 0 {
			once = n
		}
	}
	a, b := judge(t, once), judge(t, n)
	if d, e := a.Figures.Difference.LogLoss, b.Figures.Difference.LogLoss; a.Decision != b.Decision ||
		math.Abs(d.StandardError-e.StandardError) > 1e-12 {
		t.Errorf("once %s, %+v; three times %s, %+v", a.Decision, d, b.Decision, e)
	}
}

// TestBrokenChampionIsNotFlattened: a recalibration that would hide a broken champion, or broken outcomes, is not
// served.
func TestBrokenChampionIsNotFlattened(t *testing.T) {
	t.Parallel()
	y, x := planted(3000)
	v := judge(t, gate.Notes{Admitted: y, Challenger: bent(x, -1, 0, 1), Champion: bent(x, 0, 4, 0)})
	if r := v.Figures.Recalibrated; v.Decision != gate.Refuse || r == nil || r.Slope > 0.5 || r.Gain.Value >= 0 {
		t.Errorf("%s: %s; %+v", v.Decision, v.Reason, r)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	y, x := planted(100)
	p := bent(x, 0, 1, 0)
	wrong := append([]float64{}, p...)
	wrong[7] = math.NaN()
	for name, n := range map[string]gate.Notes{
		"short challenger": {Admitted: y, Challenger: p[1:]},
		"short champion":   {Admitted: y, Challenger: p, Champion: p[1:]},
		"short patients":   {Admitted: y, Challenger: p, Patients: []string{"a"}},
		"short levels": {
			Admitted: y, Challenger: p, Groupings: []gate.Grouping{{Name: "sex", Level: []string{"F"}}},
		},
		"NaN":             {Admitted: y, Challenger: wrong},
		"NaN of champion": {Admitted: y, Challenger: p, Champion: wrong},
	} {
		if _, err := gate.Judge(n, gate.Default()); !errors.Is(err, eval.ErrShape) &&
			!errors.Is(err, eval.ErrProbability) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*gate.Settings){
		"margin": func(s *gate.Settings) { s.Margin = math.NaN() }, "recalibration_gain": func(s *gate.Settings) {
			s.RecalibrationGain = -1
		},
		"error": func(s *gate.Settings) { s.Error = 0.5 }, "min_events": func(s *gate.Settings) { s.MinEvents = 1 },
		"calibration": func(s *gate.Settings) { s.Calibration.Low = 1.1 },
	} {
		s := gate.Default()
		change(&s)
		if _, err := gate.Judge(gate.Notes{Admitted: y, Challenger: p}, s); !errors.Is(err, gate.ErrSettings) ||
			!strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
