package bridge_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/bridge"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/service/config"
)

// TestRiskAssessment: HAPI finds the golden files valid.
func TestRiskAssessment(t *testing.T) {
	t.Parallel()
	const id = "0123456789abcdef0123456789abcdef"
	value := func(visit, more string) []byte {
		return fmt.Appendf(nil, `{"visit_id":%q,"scored_at":"2026-11-20T08:15:02.000Z","probability":0.83124,`+
			`"model":{"name":"fall","version":"2026-11-20T02-00-00Z-3f9c1a"},"evidence":[`+
			`{"text":"unable to wt bear L hip","contribution":0.71},`+`{"text":"walks","contribution":-0.2}]%s}`, visit, more)
	}
	for name, of := range map[string]struct {
		more   string
		change func(*config.Bridge)
	}{
		"r4":           {"", func(*config.Bridge) {}},
		"r4b-fraction": {"", func(c *config.Bridge) { c.Answers.Version, c.Answers.Scale = "R4B", "fraction" }},
		"r5-kept":      {"", func(c *config.Bridge) { c.Answers.Version, c.KeepIdentifiers = "R5", true }},
		"r4-abstained": {`,"abstained":true,"abstain_reason":"no_known_term"`, func(*config.Bridge) {}},
	} {
		b := newBridge(t, of.change)
		notes, _, _ := joinBundles(t, b, bundleOf("08:10", aPatient, inProgress(anED), noteAt("08:05", "fell")))
		got, err := b.RiskAssessment(value(notes[0].VisitID, of.more), id)
		if err != nil {
			t.Fatal(err)
		}
		var indented bytes.Buffer
		if err := json.Indent(&indented, append(got, '\n'), "", "  "); err != nil {
			t.Fatal(err)
		}
		goldentest.Equal(t, "testdata/answers/risk-"+name+".golden.json", indented.Bytes())
		if _, err := b.RiskAssessment([]byte("{"), id); err == nil {
			t.Error("half a prediction is answered")
		}
		if _, err := b.RiskAssessment(value("v-1", ""), id); !errors.Is(err, bridge.ErrUnknownVisit) {
			t.Errorf("a prediction of another site: %v", err)
		}
	}
	// A visit that came by HL7 has a number and no reference, and its card is found by the number.
	b := newBridge(t, func(c *config.Bridge) { c.KeepIdentifiers = true })
	note := one(t, b, message{event: "A04", obx: []string{fell, fall}})
	got, err := b.RiskAssessment(value(note.VisitID, ""), id)
	if err != nil || !strings.Contains(string(got), `"value":"V1"`) || strings.Contains(string(got), `"Encounter/`) {
		t.Errorf("%v: %s", err, got)
	}
	b.Predicted(value(note.VisitID, ""))
	b.Predicted([]byte("{"))
	b.Predicted(value("v-1", ""))
	if b.Card("V1", "http://example.org/") == nil || b.Card("V2", "") != nil {
		t.Error("cards of V1 and V2")
	}
}
