package classifier

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

func TestNewAuxColumn(t *testing.T) {
	t.Parallel()
	number, text := msg.Number, msg.Text
	for name, c := range map[string]struct {
		in   AuxValues
		want models.AuxColumn
	}{
		"numeric": {
			AuxValues{Kind: models.Numeric, Values: []msg.Value{number(1), {}, number(4), text("x")}, Visits: []string{"a", "b", "c", "d"}},
			models.AuxColumn{Kind: models.Numeric, Range: []float64{1, 4}, Mean: []float64{2.5}},
		},
		"numeric, never there": {
			AuxValues{Kind: models.Numeric, Values: make([]msg.Value, 2), Visits: []string{"a", "b"}},
			models.AuxColumn{Kind: models.Numeric, Mean: []float64{0}},
		},
		"categorical": {
			AuxValues{Kind: models.Categorical, Values: []msg.Value{text("M"), text("F"), text("M"), {}, text("")}, Visits: []string{"a", "b", "c", "d", "e"}},
			models.AuxColumn{Kind: models.Categorical, Levels: []string{"F", "M"}, Mean: []float64{1. / 3, 2. / 3}},
		},
		"levels that are numbers": {
			AuxValues{Kind: models.Categorical, Values: []msg.Value{number(3), text("3"), number(2.5), number(10)}, Visits: []string{"a", "b", "c", "d"}},
			models.AuxColumn{Kind: models.Categorical, Levels: []string{"10", "2.5", "3"}, Mean: []float64{0.25, 0.25, 0.5}},
		},
		"levels of too few visits": {
			AuxValues{Kind: models.Categorical, MinVisits: 2, Values: []msg.Value{text("F"), text("F"), text("M"), text("M"), text("X")}, Visits: []string{"a", "b", "c", "c", "d"}},
			models.AuxColumn{Kind: models.Categorical, Levels: []string{"F"}, Mean: []float64{1}},
		},
		"no level at all": {
			AuxValues{Kind: models.Categorical, MinVisits: 2, Values: []msg.Value{text("F")}, Visits: []string{"a"}},
			models.AuxColumn{Kind: models.Categorical, Mean: []float64{}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.in.Name, c.want.Name = "x", "x"
			got := NewAuxColumn(c.in)
			if d := cmp.Diff(c.want, got); d != "" {
				t.Error(d)
			}
			if err := checkAux(&got); err != nil {
				t.Errorf("what was learned is refused: %v", err)
			}
		})
	}
	if c := NewAuxColumn(AuxValues{Name: "x", Kind: "ordinal"}); checkAux(&c) == nil {
		t.Error("a column of no kind")
	}
}

// TestFeaturesAreCentred: over the training values that are there, each feature sums to 0.
func TestFeaturesAreCentred(t *testing.T) {
	t.Parallel()
	for _, kind := range []models.AuxKind{models.Numeric, models.Categorical} {
		a := AuxValues{Name: "acuity", Kind: kind, Values: []msg.Value{msg.Number(1), msg.Number(2), msg.Number(2), {}, msg.Number(5)}, Visits: []string{"a", "b", "c", "d", "e"}}
		c := NewAuxColumn(a)
		sums, features := make([]float64, len(c.Mean)), make([]float64, len(c.Mean))
		for _, v := range a.Values {
			FeaturesTo(features, &c, v)
			for f, x := range features {
				sums[f] += x
			}
		}
		for f, sum := range sums {
			if sum > 1e-15 || sum < -1e-15 {
				t.Errorf("%s: feature %d sums to %v", kind, f, sum)
			}
		}
	}
}

func TestComplaint(t *testing.T) {
	t.Parallel()
	for spelled, want := range map[string]msg.Value{
		"Chest Pain":      msg.Text("chest pain"),
		" CHEST\n\tpain ": msg.Text("chest pain"),
		"":                {},
		" \t":             {},
	} {
		if got := Complaint(spelled); got != want {
			t.Errorf("%q: got %v", spelled, got)
		}
	}
}
