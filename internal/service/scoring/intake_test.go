package scoring

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// patients returns a set whose model of all complaints knows age, sex and complaint, and has learned these levels of
// sex.
func patients(tb testing.TB, levels ...string) *Set {
	tb.Helper()
	store := models.OpenDir(tb.TempDir())
	keep(tb, store, bundle.Other, classifier.Parts{
		Info: msg.Model{Method: "bow"}, Vectorizer: vectorizer(tb),
		Aux: []bundle.AuxColumn{
			{Name: "age", Kind: bundle.Numeric, Mean: []float64{50}},
			{Name: "sex", Kind: bundle.Categorical, Levels: levels, Mean: []float64{.5, .5}},
			{Name: bundle.ComplaintColumn, Kind: bundle.Categorical, Levels: []string{"cough", "fall"}, Mean: []float64{
				.5, .5,
			}},
		},
		Heads: []classifier.Head{
			{Words: []float64{.25, -.5}, Gamma: []float64{.02, 1, -1, .75, -.75}, Intercept: -1},
		},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Threshold: 0.5,
	})
	keep(tb, store, "fever", classifier.Parts{
		Info: msg.Model{Method: "bow"}, Vectorizer: vectorizer(tb), Heads: []classifier.Head{{Words: []float64{1, 1}}},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Threshold: 0.5,
	})
	s, err := Load(tb.Context(), store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

// scored returns the prediction of a note.
func scored(t *testing.T, s *Scorer, n msg.Note) *msg.Prediction {
	t.Helper()
	p := &msg.Prediction{}
	if err := s.Score(&n, scoredAt, p); err != nil {
		t.Fatal(err)
	}
	if probability, ok := s.Probability(&n); !ok || msg.Round(probability) != p.Probability {
		t.Errorf("probability %v alone, %v in the prediction", probability, p.Probability)
	}
	return p
}

// TestWhatCannotBeIsMissing: such a value changes nothing but the warnings.
func TestWhatCannotBeIsMissing(t *testing.T) {
	t.Parallel()
	s := patients(t, "FEMALE", "MALE").Scorer(classifier.Options{})
	base := msg.Note{
		VisitID: "V1", ArrivedAt: "2026-11-20T08:01:02Z", Complaint: "Fall", Text: "hip",
		Age: msg.Some(78), Sex: "FEMALE",
	}
	with := func(change func(*msg.Note)) *msg.Prediction {
		n := base
		change(&n)
		return scored(t, s, n)
	}
	if p := scored(t, s, base); len(p.Warnings) > 0 {
		t.Errorf("a note as usual has the warnings %v", p.Warnings)
	}
	for name, c := range map[string]struct {
		odd, missing func(*msg.Note)
		want         msg.Warning
	}{
		"age": {
			func(n *msg.Note) { n.Age = msg.Some(999) }, func(n *msg.Note) { n.Age = msg.Optional{} },
			msg.Warning{Field: "age", Code: msg.ValueOutOfRange},
		},
		"arrival": {
			func(n *msg.Note) { n.ArrivedAt = "22/11/2026 15:00" }, func(n *msg.Note) { n.ArrivedAt = "" },
			msg.Warning{Field: "arrived_at", Code: msg.ValueBadTime},
		},
		"arrival 1900": {
			func(n *msg.Note) { n.ArrivedAt = "1900-01-01T00:00:00Z" }, func(n *msg.Note) { n.ArrivedAt = "" },
			msg.Warning{Field: "arrived_at", Code: msg.ValueOutOfRange},
		},
		"a field that the model does not read": {
			func(n *msg.Note) { n.Vitals.HR = msg.Some(0) }, func(*msg.Note) {},
			msg.Warning{Field: "vitals.hr", Code: msg.ValueOutOfRange},
		},
	} {
		p := with(c.odd)
		if d := cmp.Diff([]msg.Warning{c.want}, p.Warnings); d != "" {
			t.Errorf("%s (-want +got):\n%s", name, d)
		}
		p.Warnings = nil
		if got, want := string(p.AppendJSON(nil)), string(with(c.missing).AppendJSON(nil)); got != want {
			t.Errorf("%s: got\n%s\nwant\n%s", name, got, want)
		}
	}
	for name, c := range map[string]struct {
		odd  func(*msg.Note)
		want msg.Warning
		aux  int
	}{
		"sex": {func(n *msg.Note) { n.Sex = "zebra" }, msg.Warning{Field: "sex", Code: msg.ValueUnknownLevel}, 1},
		"complaint": {
			func(n *msg.Note) { n.Complaint = "zebra" },
			msg.Warning{Field: "complaint", Code: msg.ValueUnknownComplaint},
			2,
		},
	} {
		p := with(c.odd)
		if d := cmp.Diff([]msg.Warning{c.want}, p.Warnings); d != "" || p.Aux[c.aux].Contribution != 0 ||
			p.Aux[c.aux].Value != msg.Text("zebra") {
			t.Errorf("%s: %+v (-want +got):\n%s", name, p.Aux[c.aux], d)
		}
	}
	if p := with(func(n *msg.Note) { n.Complaint = " FEVER" }); p.Model.Name != "fever" || len(p.Warnings) > 0 {
		t.Errorf("a complaint with a model of its own: %s, %v", p.Model.Name, p.Warnings)
	}
}

// TestEverySpellingIsTheSameNote: whichever spelling a model has learned, all of them get the same answer.
func TestEverySpellingIsTheSameNote(t *testing.T) {
	t.Parallel()
	for _, levels := range [][]string{{"F", "M"}, {"FEMALE", "MALE"}, {"female", "male"}} {
		s := patients(t, levels...).Scorer(classifier.Options{})
		for i, spellings := range [][]string{{"F", "FEMALE", "female", "2"}, {"M", "MALE", "male", "1"}} {
			for _, sex := range spellings {
				p := scored(t, s, msg.Note{VisitID: "V1", Complaint: "Fall", Text: "hip", Sex: sex})
				want := []float64{1, -1}[i]
				// Centred by a mean of ½, the other level speaks against it.
				if got := p.Aux[1]; got.Contribution != want || got.Value != msg.Text(levels[i]) ||
					len(p.Warnings) > 0 {
					t.Errorf("a model of %q reads %q as %+v, %v", levels, sex, got, p.Warnings)
				}
			}
		}
	}
}

func TestScorerTakesTheSitesRules(t *testing.T) {
	t.Parallel()
	r := intake.Default()
	r.Ranges["age"] = []float64{0, 50}
	r.Levels["sex"] = map[string][]string{"female": {"1"}}
	in, err := intake.New(r)
	if err != nil {
		t.Fatal(err)
	}
	s := patients(t, "FEMALE", "MALE").Scorer(classifier.Options{Intake: in})
	p := scored(t, s, msg.Note{VisitID: "V1", Complaint: "Fall", Text: "hip", Age: msg.Some(78), Sex: "1"})
	if got := fmt.Sprint(p.Warnings); got != "[age is out of range and counts as missing]" ||
		p.Aux[1].Value != msg.Text("FEMALE") {
		t.Errorf("%s, %+v", got, p.Aux)
	}
}

func TestScoreAllocatesNothing(t *testing.T) { // alone, for AllocsPerRun counts those of all goroutines
	s := patients(t, "FEMALE", "MALE").Scorer(classifier.Options{})
	n := msg.Note{
		VisitID: "V1", ArrivedAt: "1900-01-01T00:00:00Z", Complaint: "Zebra", Text: "hip pain",
		Age: msg.Some(999), Sex: "of many words",
	}
	var p msg.Prediction
	if got := testing.AllocsPerRun(50, func() {
		if err := s.Score(&n, scoredAt, &p); err != nil {
			t.Fatal(err)
		}
	}); got != 0 || len(p.Warnings) != 4 {
		t.Errorf("%v allocations, warnings %v", got, p.Warnings)
	}
}
