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
