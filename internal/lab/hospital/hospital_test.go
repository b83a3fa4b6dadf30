package hospital_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/hospital"
)

func simulate(t *testing.T, s hospital.Settings) (*hospital.Simulation, []hospital.Visit) {
	t.Helper()
	m, err := hospital.New(s)
	if err != nil {
		t.Fatal(err)
	}
	var visits []hospital.Visit
	for i := range m.Days() {
		visits = append(visits, m.Day(i)...)
	}
	return m, visits
}

func TestEqualSeedsGiveEqualVisits(t *testing.T) {
	t.Parallel()
	_, a := simulate(t, hospital.Settings{Seed: 3, Days: 5})
	_, b := simulate(t, hospital.Settings{Seed: 3, Days: 5})
	_, c := simulate(t, hospital.Settings{Seed: 4, Days: 5})
	if d := cmp.Diff(a, b); d != "" {
		t.Error(d)
	}
	if len(a) == len(c) && a[0].Note.Text == c[0].Note.Text {
		t.Error("another seed gives the same visits")
	}
	if !slices.IsSortedFunc(a, func(a, b hospital.Visit) int { return a.Arrived.Compare(b.Arrived) }) {
		t.Error("visits are not in order")
	}
}

// TestVisitsAreWhatTheTruthSays: arrivals, admissions, those admitted within a window, wards of children, messages.
func TestVisitsAreWhatTheTruthSays(t *testing.T) {
	t.Parallel()
	m, visits := simulate(t, hospital.Settings{Seed: 1, Days: 120})
	expected := 0.0
	for u := m.Start(); u.Before(m.Start().AddDate(0, 0, m.Days())); u = u.Add(time.Hour) {
		expected += m.Rate(u)
	}
	if n := float64(len(visits)); math.Abs(n-expected) > 4*math.Sqrt(expected) || n < 120*140 || n > 120*220 {
		t.Errorf("%v arrivals, expected %v", n, expected)
	}
	var p, admitted, left, q, within, waiting float64
	var y []bool
	var score []float64
	for i := range visits {
		v := &visits[i]
		p += (1 - .03) * v.Truth.P
		y, score = append(y, v.Admitted()), append(score, 1/(1+math.Exp(-v.Score)))
		switch {
		case v.Admitted():
			admitted++
			if child := v.Note.Age.Set && v.Note.Age.Value < 16; child != (v.Ward == "PAED") || !slices.Contains(hospital.Wards(), v.Ward) {
				t.Fatalf("a patient of %v years on %s", v.Note.Age.Value, v.Ward)
			}
		case v.Outcome == msg.Left:
			left++
		}
		if hours := v.Decided.Sub(v.Arrived).Hours(); hours > 2 {
			waiting++
			q += v.Truth.Q(2, 4)
			if v.Admitted() && hours <= 6 {
				within++
			}
		}
	}
	n := float64(len(visits))
	if math.Abs(admitted-p) > 4*math.Sqrt(p) || math.Abs(left-.03*n) > 4*math.Sqrt(.03*n) || admitted/n < .2 || admitted/n > .35 {
		t.Errorf("%v admitted, expected %v; %v left, of %v", admitted, p, left, n)
	}
	if math.Abs(within-q) > 4*math.Sqrt(q) {
		t.Errorf("%v of %v admitted between 2 and 6 h, expected %v", within, waiting, q)
	}
	quality, err := eval.Measure(y, score, .5, nil)
	if err != nil || *quality.AUROC < .73 || *quality.AUROC > .78 {
		t.Errorf("scores have an AUROC of %v, %v", *quality.AUROC, err)
	}
	outcome := visits[0].Message()
	if err := msg.DecodeOutcome(outcome.AppendJSON(nil), new(msg.Outcome)); err != nil {
		t.Error(err)
	}
}
