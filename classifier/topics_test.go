package classifier

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

func TestTopics(t *testing.T) {
	t.Parallel()
	parts := smallParts(t)
	parts.Topics = mat.NewDense(10, 3, nil)
	// By column: ankle chest cough dizzi fall fever hip pain rotat wound.
	for j, w := range []float64{0.1, -0.9, 0.5, 0, 0, 0.5, 0, 0.7, -0.2, -0.3} {
		parts.Topics.Set(j, 0, w)
	}
	parts.Topics.Set(2, 1, 1)
	half, quarter, none := 0.5, 0.25, 0.0
	term := func(text, surface string, weight float64) TopicTerm {
		return TopicTerm{Term: text, Surface: []string{surface}, Status: "affirmed", Weight: weight}
	}
	want := []Topic{
		{
			Topic: 1, Label: "pain, cough, fever", Coefficient: 1.5, Prevalence: &half, Direction: TowardAdmission,
			Terms: []TopicTerm{
				// Two of each sign; cough before fever, of equal weight, by column.
				term("chest", "chest", -0.9), term("pain", "pain", 0.7), term("cough", "cough", 0.5),
				term("wound", "wound", -0.3),
			},
		},
		{
			Topic: 2, Label: "cough", Coefficient: -0.75, Prevalence: &quarter, Direction: TowardDischarge,
			Terms: []TopicTerm{term("cough", "cough", 1)},
		},
		{Topic: 3, Coefficient: 0, Prevalence: &none, Direction: Nowhere, Terms: []TopicTerm{}},
	}
	if d := cmp.Diff(want, newModel(t, parts).Topics(2)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
	if got := len(newModel(t, parts).Topics(0)[0].Terms); got != 7 {
		t.Errorf("%d terms without a limit, want all 7 that have a weight", got)
	}
	parts.Prevalence = nil
	if got := newModel(t, parts).Topics(1)[0].Prevalence; got != nil {
		t.Errorf("prevalence %v of a model that does not hold it", *got)
	}
	parts.Topics, parts.Heads[0].Beta = nil, nil
	if got := newModel(t, parts).Topics(1); len(got) != 0 {
		t.Errorf("%d topics of a model of words alone", len(got))
	}
}

func TestTopicsOfSeveralOutcomes(t *testing.T) {
	t.Parallel()
	parts := severalParts(t)
	type read struct {
		Coefficient  float64
		Coefficients []ClassCoefficient
		Direction    Direction
	}
	check := func(want ...read) {
		t.Helper()
		var got []read
		for _, topic := range newModel(t, parts).Topics(1) {
			got = append(got, read{topic.Coefficient, topic.Coefficients, topic.Direction})
		}
		if d := cmp.Diff(want, got); d != "" {
			t.Errorf("(-want +got):\n%s", d)
		}
	}
	of := func(admitted, transferred float64) []ClassCoefficient {
		return []ClassCoefficient{{"admitted", admitted}, {"transferred", transferred}}
	}
	check(read{0.5, of(1.5, -0.5), TowardAdmission}, read{0.25, of(-0.75, 1.25), TowardAdmission},
		read{0.125, of(0, 0.25), TowardAdmission})
	parts.Admission = []bool{false, true, false}
	check(read{1.75, of(1.5, -0.5), TowardAdmission}, read{-1.375, of(-0.75, 1.25), TowardDischarge},
		read{-0.125, of(0, 0.25), TowardDischarge})
	// The reference may be what means admission.
	parts.Admission = []bool{true, false, false}
	check(read{-0.5, of(1.5, -0.5), TowardDischarge}, read{-0.25, of(-0.75, 1.25), TowardDischarge},
		read{-0.125, of(0, 0.25), TowardDischarge})
}

func TestPrevalence(t *testing.T) {
	t.Parallel()
	// The second topic is ten times as long as the others: its score of 5 counts as 0.5.
	topics := mat.NewDense(2, 3, []float64{
		1, 6, 0,
		0, 8, 0,
	})
	scores := mat.NewDense(5, 3, []float64{
		1, 5, 0, // led by the first
		1, 20, 0, // by the second
		-3, -1, 0, // by none
		2, 20, 0, // a tie: by the first
		0, 0, 0, // by none
	})
	if d := cmp.Diff([]float64{0.4, 0.2, 0}, Prevalence(scores, topics)); d != "" {
		t.Errorf("(-want +got):\n%s", d)
	}
}
