package prediction

import (
	"slices"
	"testing"

	"github.com/wardcast/wardcast/classifier"
)

func TestSpoken(t *testing.T) {
	t.Parallel()
	for term, want := range map[string]string{
		"hr:51-90": "HR 51–90", "child:hr:>=131": "child’s HR ≥131", "dur:1-3d": "for 1–3 days",
		"dur:1-23h": "for 1–23 hours", "dur:<1h": "for less than an hour",
		"dur:>30d": "for >30 days", "temp:35.1-36.0": "temp 35.1–36.0", "spo2:<=91": "SpO₂ ≤91",
		"orient:4": "oriented ×4", "count:>=3": "×≥3", "age:75-84y": "age 75–84 years",
		"o2:>=10l": "oxygen ≥10 L", "sex:f": "female", "chest_pain": "chest pain", "side:left": "left", "x:y": "x:y",
		"": "", "hip": "hip",
	} {
		if got := Spoken(term); got != want {
			t.Errorf("%q is %q, want %q", term, got, want)
		}
	}
	if got, want := TopicName("hip, hr:51-90 (denied), chest_pain"),
		"hip · HR 51–90 (denied) · chest pain"; got != want {
		t.Errorf("the topic is %q, want %q", got, want)
	}
}

// TestTermName: what nurses wrote stands for a stem, and below a concept.
func TestTermName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		term    string
		surface []string
		name    string
		wrote   []string
	}{
		{"ambul", []string{"ambulating", "ambulates"}, "ambulating", []string{"ambulates"}},
		{"deformiti", []string{"deformity"}, "deformity", nil},
		{"dyspnea", []string{"sob", "dyspnea"}, "dyspnea", []string{"sob", "dyspnea"}},
		{"hr:51-90", []string{"hr 80"}, "HR 51–90", []string{"hr 80"}},
		{"sbp:111-179", []string{"sbp:111-179"}, "systolic BP 111–179", nil},
		{"hip", nil, "hip", nil},
	} {
		name, _, wrote := TermName(&classifier.TopicTerm{Term: c.term, Surface: c.surface})
		if name != c.name || !slices.Equal(wrote, c.wrote) {
			t.Errorf("%q is %q, %q, want %q, %q", c.term, name, wrote, c.name, c.wrote)
		}
	}
}
