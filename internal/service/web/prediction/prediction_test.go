package prediction

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
	"github.com/wardcast/wardcast/internal/wording"
)

// TestNumbers holds the numbers on a page against those of the message: exact to the last digit, and rounded rightly
// where they are shown.
func TestNumbers(t *testing.T) {
	t.Parallel()
	p := webtest.Prediction()
	value := p.AppendJSON(nil)
	w := newWhy(p, nil)
	for _, r := range append(append(w.Places, w.Patient...), w.Topics[0]) {
		if !bytes.Contains(value, []byte(`"contribution":`+r.Exact)) {
			t.Errorf("%q has %s, which is not in the message %s", r.Name, r.Exact, value)
		}
		v, err := strconv.ParseFloat(r.Exact, 64)
		if want := strings.ReplaceAll(fmt.Sprintf("%+.2f", v), "-", wording.Minus); err != nil || r.Value != want {
			t.Errorf("%q shows %s for %s, want %s", r.Name, r.Value, r.Exact, want)
		}
	}
}

func TestSegments(t *testing.T) {
	t.Parallel()
	text := "né pain, ünable"
	for name, evidence := range map[string][]msg.Evidence{
		"none":        nil,
		"code points": {{Start: 9, End: 15, Contribution: 1}, {Start: 3, End: 7, Contribution: -1}},
		"out of range": {{Start: 9, End: 99, Contribution: 1}, {Start: -1, End: 3, Contribution: 1}, {
			Start: 5, End: 5, Contribution: 1,
		}},
		"overlap": {{Start: 0, End: 7, Contribution: 1}, {Start: 3, End: 9, Contribution: 1}},
		"small":   {{Start: 0, End: 2, Contribution: 0.01}},
	} {
		var whole strings.Builder
		for _, s := range segments(text, evidence) {
			whole.WriteString(s.Text)
			if s.Class != "" && name == "code points" && s.Text != "pain" && s.Text != "ünable" {
				t.Errorf("%s: %q is marked", name, s.Text)
			}
		}
		if whole.String() != text {
			t.Errorf("%s: the segments are %q", name, whole.String())
		}
	}
}

// TestNotGiven: what is not known of a patient is one row, whose number sums what its absence adds.
func TestNotGiven(t *testing.T) {
	t.Parallel()
	p := webtest.Prediction()
	p.Aux = []msg.Aux{
		{Name: "age", Contribution: 0.5},
		{Name: "vitals.hr", Value: msg.Number(90), Contribution: 1},
		{Name: "sex", Contribution: -0.25},
		{Name: "fields.pain", Contribution: 0.125},
	}
	rows := newWhy(p, nil).Patient
	if len(rows) != 2 || rows[0].Name != "Heart rate 90" || rows[1].Name != "3 not given" ||
		rows[1].Exact != "0.375" || !strings.HasPrefix(rows[1].Sub, "Age, Sex, ") {
		t.Errorf("%+v", rows)
	}
	p.Aux = p.Aux[:1]
	if rows := newWhy(p, nil).Patient; len(rows) != 1 || rows[0].Name != "Age not given" {
		t.Errorf("one is not given: %+v", rows)
	}
}

// TestOpening: a list shows the beginning of a long note, with its marks, and all of a short one.
func TestOpening(t *testing.T) {
	t.Parallel()
	p, note := webtest.Prediction(), webtest.Note()
	if list := NewRow(p, note).Opening; list != nil {
		t.Errorf("a short note is cut: %v", list)
	}
	note.Text = strings.Repeat("é", 10_000)
	shown, marked := "", 0
	for _, m := range NewRow(p, note).Opening {
		if shown += m.Text; m.Class != "" {
			marked++
		}
	}
	if shown != strings.Repeat("é", mostOpening) || marked == 0 {
		t.Errorf("%d letters of a long note, %d marks", len([]rune(shown)), marked)
	}
}

// TestSaid: a row's link is named with its probability, and the model of all complaints is called so.
func TestSaid(t *testing.T) {
	t.Parallel()
	p := webtest.Prediction()
	r := NewRow(p, nil)
	if r.Said() != "80 percent" || r.Model != "All complaints · 2026-11-20T02-00-00Z-3f9c1a" {
		t.Errorf("%q by %q", r.Said(), r.Model)
	}
	if p.Abstained = true; NewRow(p, nil).Said() != "not predicted" {
		t.Error(NewRow(p, nil).Said())
	}
}

// TestTooLittleKnown: a note whose tinted parts moved the sum has no "No known words" above them.
func TestTooLittleKnown(t *testing.T) {
	t.Parallel()
	p := webtest.Prediction()
	p.Abstained, p.AbstainReason = true, "no_known_terms"
	if r := NewRow(p, nil); r.Reason.Head != "Too little known" {
		t.Errorf("above tinted words stands %+v", r.Reason)
	}
	p.Evidence = nil
	if r := NewRow(p, nil); r.Reason.Head != "No known words" {
		t.Errorf("without any stands %+v", r.Reason)
	}
}
