package classifier

import (
	"math"
	"strconv"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
)

func TestNewAuxColumn(t *testing.T) {
	t.Parallel()
	number, text := msg.Number, msg.Text
	for name, c := range map[string]struct {
		in   AuxValues
		want bundle.AuxColumn
	}{
		"numeric": {
			AuxValues{
				Kind: bundle.Numeric, Values: []msg.Value{number(1), {}, number(4), text("x")},
				Patients: []string{"a", "b", "c", "d"},
			},
			bundle.AuxColumn{Kind: bundle.Numeric, Range: []float64{1, 4}, Missing: true, Mean: []float64{2.5, .5}},
		},
		"numeric, never there": {
			AuxValues{Kind: bundle.Numeric, Values: make([]msg.Value, 2), Patients: []string{"a", "b"}},
			bundle.AuxColumn{Kind: bundle.Numeric, Mean: []float64{0}},
		},
		"categorical": {
			AuxValues{
				Kind: bundle.Categorical, Values: []msg.Value{text("M"), text("F"), text("M"), {}, text("")},
				Patients: []string{"a", "b", "c", "d", "e"},
			},
			bundle.AuxColumn{Kind: bundle.Categorical, Levels: []string{"", "F", "M"}, Mean: []float64{.4, .2, .4}},
		},
		"missing in too few": {
			AuxValues{
				Kind: bundle.Numeric, MinPatients: 2, Values: []msg.Value{number(1), {}, number(4)},
				Patients: []string{"a", "b", "c"},
			},
			bundle.AuxColumn{Kind: bundle.Numeric, Range: []float64{1, 4}, Mean: []float64{2.5}},
		},
		"levels that are numbers": {
			AuxValues{
				Kind: bundle.Categorical, Values: []msg.Value{number(3), text("3"), number(2.5), number(10)},
				Patients: []string{"a", "b", "c", "d"},
			},
			bundle.AuxColumn{
				Kind: bundle.Categorical, Levels: []string{"10", "2.5", "3"}, Mean: []float64{0.25, 0.25, 0.5},
			},
		},
		"levels of too few visits": {
			AuxValues{
				Kind: bundle.Categorical, MinPatients: 2,
				Values:   []msg.Value{text("F"), text("F"), text("M"), text("M"), text("X")},
				Patients: []string{"a", "b", "c", "c", "d"},
			},
			bundle.AuxColumn{Kind: bundle.Categorical, Levels: []string{"F"}, Mean: []float64{1}},
		},
		"no level at all": {
			AuxValues{
				Kind: bundle.Categorical, MinPatients: 2, Values: []msg.Value{text("F")}, Patients: []string{"a"},
			},
			bundle.AuxColumn{Kind: bundle.Categorical, Mean: []float64{}},
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
	for _, kind := range []bundle.AuxKind{bundle.Numeric, bundle.Categorical} {
		a := AuxValues{
			Name: "acuity", Kind: kind,
			Values:   []msg.Value{msg.Number(1), msg.Number(2), msg.Number(2), {}, msg.Number(5)},
			Patients: []string{"a", "b", "c", "d", "e"},
		}
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

// One patient who comes often sets neither end of the range.
func TestRangeOfPatients(t *testing.T) {
	t.Parallel()
	a := AuxValues{Name: "age", Kind: bundle.Numeric, MinPatients: 2}
	for i, age := range []float64{107, 107, 107, 40, 30, 20, 1, 1} {
		a.Values, a.Patients = append(a.Values, msg.Number(age)),
			append(a.Patients, []string{"old", "old", "old", "a", "b", "c", "young", "young"}[i])
	}
	if c := NewAuxColumn(a); c.Range[0] != 20 || c.Range[1] != 40 {
		t.Errorf("range %v, want 20 to 40", c.Range)
	}
}

// TestSpline: a number counts as it is, the features of its curve are 1 at their knots and 0 at all others and at the
// ends, straight between, and nothing moves outside the range of training.
func TestSpline(t *testing.T) {
	t.Parallel()
	a := AuxValues{Name: "age", Kind: bundle.Numeric, MinPatients: 3}
	for age := range 100 {
		a.Values, a.Patients = append(a.Values, msg.Number(float64(age))), append(a.Patients, strconv.Itoa(age))
	}
	c := NewAuxColumn(a)
	if err := checkAux(&c); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([][]float64{{2, 97}, {24, 49, 74}}, [][]float64{c.Range, c.Knots}); d != "" || len(c.Mean) != 4 {
		t.Fatalf("range and knots: %s, means %v", d, c.Mean)
	}
	at := func(x float64) []float64 {
		f := make([]float64, 4)
		rawTo(f, &c, msg.Number(x))
		return f
	}
	for x, want := range map[float64][]float64{
		2: {2, 0, 0, 0}, 13: {13, .5, 0, 0}, 24: {24, 1, 0, 0}, 29: {29, .8, .2, 0}, 74: {74, 0, 0, 1}, 97: {97, 0, 0, 0},
		400: at(97), -1: at(2),
	} {
		if d := cmp.Diff(want, at(x), cmpopts.EquateApprox(0, 1e-12)); d != "" {
			t.Errorf("at %v: %s", x, d)
		}
	}
	for name, change := range map[string]func(*bundle.AuxColumn){
		"falling knots":    func(c *bundle.AuxColumn) { c.Knots = []float64{20, 60, 40} },
		"a knot outside":   func(c *bundle.AuxColumn) { c.Knots = []float64{1, 20, 40} },
		"knots, no range":  func(c *bundle.AuxColumn) { c.Range = nil },
		"a range of three": func(c *bundle.AuxColumn) { c.Range = []float64{1, 2, 3} },
		"no number":        func(c *bundle.AuxColumn) { c.Range = []float64{1, math.NaN()} },
	} {
		bad := c
		if change(&bad); checkAux(&bad) == nil {
			t.Errorf("%s: accepted", name)
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
