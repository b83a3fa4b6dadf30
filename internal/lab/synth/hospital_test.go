package synth

import (
	"bufio"
	"bytes"
	"cmp"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/ingest/msg"
)

var hospitalStart = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// TestChangesLeaveTheRestAlone: notes before a change, and what a change does not concern, stay as they were.
func TestChangesLeaveTheRestAlone(t *testing.T) {
	t.Parallel()
	const n = 3000 // 30 days and a bit
	template := hospitalStart.AddDate(0, 0, 10)
	s := Settings{Seed: 4, Start: hospitalStart, Interval: 15 * time.Minute}
	plain := generator(t, s)
	s.Template = template
	form := generator(t, s)
	s.Changes = Changes{Wording: 1}
	reworded := generator(t, s)
	words := [2]int{}
	for i := range n {
		a, b, c := plain.At(i), form.At(i), reworded.At(i)
		arrived, err := time.Parse(time.RFC3339, a.ArrivedAt)
		if err != nil {
			t.Fatal(err)
		}
		want := a.Text
		if !arrived.Before(template) {
			want = "TRIAGE FORM V2 | CHIEF COMPLAINT: " + strings.ToUpper(a.Complaint) + " | NARRATIVE: " +
				strings.ToUpper(a.Text)
		}
		if b.Text != want {
			t.Fatalf("note %d: got %q, want %q", i, b.Text, want)
		}
		if c.Text != a.Text {
			words[2*i/n]++
		}
		b.Text, c.Text = a.Text, a.Text
		if !reflect.DeepEqual(a, b) || !reflect.DeepEqual(a, c) {
			t.Fatalf("note %d: a change of text changed more", i)
		}
	}
	if words[0] == 0 || words[1] < 2*words[0] {
		t.Errorf("new words in %d notes of the first half, %d of the second", words[0], words[1])
	}
}

// TestBaseRateDrifts: the log-odds of a note rise by what the settings say.
func TestBaseRateDrifts(t *testing.T) {
	t.Parallel()
	s := Settings{Seed: 4, Start: hospitalStart, Interval: time.Hour}
	plain := generator(t, s)
	s.BaseRate = 0.7
	drifting := generator(t, s)
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	for _, i := range []int{0, 360, 720, 1440} {
		a, b := plain.At(i), drifting.At(i)
		// up to an hour later
		if got, want := logit(b.Probability)-logit(a.Probability), 0.7*float64(i)/720; math.Abs(got-want) > 0.002 {
			t.Errorf("note %d: %v, want %v", i, got, want)
		}
	}
}

// TestShift: from a day on the log-odds differ by what the settings say, and nothing else does.
func TestShift(t *testing.T) {
	t.Parallel()
	s := Settings{Seed: 4, Start: hospitalStart, Interval: time.Hour}
	plain := generator(t, s)
	s.Changes = Changes{Shift: -1.5, ShiftFrom: hospitalStart.AddDate(0, 0, 2)}
	shifted := generator(t, s)
	logit := func(p float64) float64 { return math.Log(p / (1 - p)) }
	for i, want := range map[int]float64{0: 0, 47: 0, 48: -1.5, 500: -1.5} {
		a, b := plain.At(i), shifted.At(i)
		if got := logit(b.Probability) - logit(a.Probability); math.Abs(got-want) > 1e-9 {
			t.Errorf("note %d: %v, want %v", i, got, want)
		}
		if !reflect.DeepEqual(a.Note, b.Note) {
			t.Errorf("note %d: a shift changed the note", i)
		}
	}
}

func TestOutcomes(t *testing.T) {
	t.Parallel()
	const n = 6000
	badDay := hospitalStart.AddDate(0, 0, 3)
	g := generator(t, Settings{Seed: 4, Start: hospitalStart, Interval: 15 * time.Minute, Labels: Labels{
		Delay: 10 * time.Hour, Revised: 0.3, BadDay: badDay,
	}})
	var kinds struct{ plain, corrected, again, cancelled, wrong, bad int }
	var delay, first float64
	for i := range n {
		note, events := g.At(i), g.Outcomes(i)
		last := events[len(events)-1]
		arrived, _ := time.Parse(time.RFC3339, note.ArrivedAt)
		decided, _ := time.Parse(time.RFC3339, events[0].DecidedAt)
		if !decided.After(arrived) || events[0].Recorded.Before(decided) ||
			!slices.IsSortedFunc(events, func(a, b Outcome) int { return a.Recorded.Compare(b.Recorded) }) {
			t.Fatalf("visit %d: times are out of order: %+v", i, events)
		}
		delay += events[0].Recorded.Sub(decided).Hours() / n
		bad := arrived.Truncate(24 * time.Hour).Equal(badDay)
		switch wrong := (last.Disposition == msg.Admitted) != note.Admitted; {
		case last.Status == msg.Cancelled:
			kinds.cancelled++
		case bad && wrong:
			kinds.bad++
		case wrong:
			kinds.wrong++
		case last.Status == msg.Corrected:
			kinds.corrected++
		case len(events) == 3:
			kinds.again++
		default:
			kinds.plain++
		}
		if len(events) > 1 && !bad && (events[0].Disposition == msg.Admitted) == note.Admitted {
			first++
		}
	}
	if kinds.wrong > 0 || first > 0 {
		t.Errorf("%d visits end in a lie, %v revised ones begin with the truth", kinds.wrong, first)
	}
	if kinds.bad < 10 || kinds.bad > 60 {
		t.Errorf("the bad day has %d wrong labels of 96", kinds.bad)
	}
	for what, k := range map[string]int{
		"corrected": kinds.corrected, "cancelled": kinds.cancelled, "decided again": kinds.again,
	} {
		if share := float64(k) / n; math.Abs(share-0.1) > 0.015 {
			t.Errorf("%s: a share of %.3f, want a tenth", what, share)
		}
	}
	if math.Abs(delay-10) > 0.5 {
		t.Errorf("outcomes are %.2f h late, want 10", delay)
	}
}

// TestWriteOutcomes writes the log in the order of its records, each of which decodes.
func TestWriteOutcomes(t *testing.T) {
	t.Parallel()
	const n = 500
	g := generator(t, Settings{Seed: 5, Labels: Labels{Delay: time.Hour, Revised: 0.2}})
	var out bytes.Buffer
	if err := WriteOutcomes(t.Context(), &out, g, n); err != nil {
		t.Fatal(err)
	}
	visits, before := map[string]bool{}, ""
	for lines := bufio.NewScanner(&out); lines.Scan(); {
		var o msg.Outcome
		if err := msg.DecodeOutcome(lines.Bytes(), &o); err != nil {
			t.Fatal(err)
		}
		if cmp.Less(o.RecordedAt, before) {
			t.Fatal("the log is out of order")
		}
		before = o.RecordedAt
		visits[o.VisitID] = true
	}
	if len(visits) != n {
		t.Errorf("%d visits have an outcome", len(visits))
	}
}

func TestNewRefusesImpossibleHospitals(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{
		{Changes: Changes{BaseRate: math.NaN()}},
		{Changes: Changes{Wording: 2}},
		{Changes: Changes{Shift: math.Inf(1)}},
		{Labels: Labels{Delay: -1}},
		{Labels: Labels{Revised: 1.5}},
	} {
		if _, err := New(s); err == nil {
			t.Errorf("%+v is accepted", s)
		}
	}
}
