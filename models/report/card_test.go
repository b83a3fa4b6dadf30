package report_test

import (
	"html/template"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// TestOverlookedGroups: a warning names each group of which the model finds less than half the share that it finds of
// all, and no other.
func TestOverlookedGroups(t *testing.T) {
	t.Parallel()
	in := full(t)
	for i, age := range in.Evaluation.Groupings[1].Level {
		if age == "5–17" {
			in.Evaluation.Probabilities[i] /= 2
		}
	}
	r, page, _ := build(t, in)
	var found []string
	for _, g := range r.Subgroups {
		if !g.Suppressed && g.Threshold.Sensitivity.Value < r.Thresholds[0].Sensitivity.Value/2 {
			found = append(found, g.Grouping+" "+g.Level)
		}
	}
	if len(found) == 0 || !slices.Contains(found, "age 5–17") {
		t.Fatalf("overlooked are %q", found)
	}
	at := slices.IndexFunc(r.Warnings, func(w string) bool { return strings.Contains(w, "half the share of admissions") })
	if at < 0 || strings.Count(r.Warnings[at], "; ")+1 != len(found) ||
		!strings.Contains(string(page), template.HTMLEscapeString(r.Warnings[at])) {
		t.Fatalf("warnings %q", r.Warnings)
	}
	for _, group := range found {
		if !strings.Contains(r.Warnings[at], group+" ") {
			t.Errorf("%q does not name %s", r.Warnings[at], group)
		}
	}
	if r, _, _ := build(t, full(t)); strings.Contains(strings.Join(r.Warnings, " "), "half the share of admissions") {
		t.Errorf("a warning without reason: %q", r.Warnings)
	}
}

// TestLevelsByAge: bands stand in the order of their ages.
func TestLevelsByAge(t *testing.T) {
	t.Parallel()
	g := gate.Grouping{Level: []string{"80+", "5–17", "missing", "18–44", "under 1", "1–4", ""}}
	var got []string
	for level := range g.Subgroups() {
		got = append(got, level)
	}
	if d := cmp.Diff([]string{"under 1", "1–4", "5–17", "18–44", "80+", "missing"}, got); d != "" {
		t.Error(d)
	}
}

// TestSystem: the card of all models that are served together says which they are, and counts each note at the
// threshold of the model that predicts it.
func TestSystem(t *testing.T) {
	t.Parallel()
	in := full(t)
	in.Evaluation.System = &report.System{Own: []string{"chest-pain", "rash"}}
	in.Evaluation.Thresholds = make([]float64, len(in.Evaluation.Admitted))
	found, admitted := 0, 0
	for i, p := range in.Evaluation.Probabilities {
		if in.Evaluation.Thresholds[i] = 0.475; in.Evaluation.Groupings[0].Level[i] == "chest pain" {
			in.Evaluation.Thresholds[i] = 0.1
		}
		if in.Evaluation.Admitted[i] {
			admitted++
			if p >= in.Evaluation.Thresholds[i] {
				found++
			}
		}
	}
	r, page, _ := build(t, in)
	own := r.Thresholds[0]
	if want := float64(found) / float64(admitted); math.Abs(own.Sensitivity.Value-want) > 1e-12 || own.Threshold != 0.475 {
		t.Errorf("sensitivity %v, want %v", own.Sensitivity.Value, want)
	}
	alone, _, _ := build(t, full(t))
	for i, g := range r.Subgroups {
		if g.Grouping == "complaint" && !g.Suppressed && (g.Level == "chest pain") !=
			(g.Threshold.Sensitivity.Value > alone.Subgroups[i].Threshold.Sensitivity.Value) {
			t.Errorf("complaint %s: sensitivity %v", g.Level, g.Threshold.Sensitivity.Value)
		}
	}
	for name, text := range map[string]string{"card": card(t, r), "page": string(page)} {
		for _, want := range []string{
			"All models together: _other and those of 2 complaints", "With each model at its own threshold",
			"Complaints with a model of their own: chest-pain, rash.",
		} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not say %q", name, want)
			}
		}
	}
	in.Evaluation.System.Seen = true
	if r, _, _ = build(t, in); !strings.Contains(card(t, r), "may have learned from these notes") {
		t.Error("the card does not say that some models may have learned from the notes")
	}
	in.Evaluation.System.Own, in.Evaluation.Thresholds = nil, nil
	if r, _, _ = build(t, in); !strings.HasPrefix(card(t, r), "# Model _other, for every complaint\n\n- At its threshold of 0.475") {
		t.Errorf("the card of one model begins %.80q", card(t, r))
	}
}

// TestSaidOnce: item 24, card and page have the same verdict; card and page say what decision is for and who read
// explanations, or that nobody with a licence did; a number that nobody knows is unknown, not 0.
func TestSaidOnce(t *testing.T) {
	t.Parallel()
	in := full(t)
	in.Data.Counts = []report.Count{{Name: "patients with more than one note"}}
	r, page, data := build(t, in)
	verdict := string(in.Verdict.Decision) + ": " + in.Verdict.Reason
	at := slices.IndexFunc(r.Items, func(i report.Item) bool { return i.Number == "24" })
	if got := r.Items[at].Answer; got != verdict {
		t.Errorf("item 24 says %q", got)
	}
	for _, want := range []string{
		"**Verdict of the gate**: " + verdict, "not a decision about a patient", "an emergency physician (licensed",
		"patients with more than one note: unknown",
	} {
		if !strings.Contains(card(t, r), want) {
			t.Errorf("the card does not say %q", want)
		}
	}
	for _, want := range []string{
		"<td>" + template.HTMLEscapeString(verdict) + "</td>", "not a decision about a patient",
		"an emergency physician (licensed", `more than one note</th><td class="n">unknown</td>`,
	} {
		if !strings.Contains(string(page), want) {
			t.Errorf("the page does not say %q", want)
		}
	}
	if !strings.Contains(string(data), `"number": null`) {
		t.Error("an unknown number is not null in the JSON")
	}
	r, page, _ = build(t, bare())
	for name, text := range map[string]string{"card": card(t, r), "page": string(page)} {
		for _, want := range []string{"nobody with a licence to practise", "no gate has judged this version"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not say %q", name, want)
			}
		}
	}
	b := &bundle.Bundle{Manifest: *manifest(), Report: data}
	judged, err := report.Judged(b, &gate.Verdict{Decision: gate.Refuse, Reason: "no better"})
	if err != nil || judged.Items[at].Answer != "refuse: no better" || !strings.Contains(card(t, judged), "refuse: no better") {
		t.Errorf("judged again: %v, %q", err, judged.Items[at].Answer)
	}
	if _, err := report.Judged(&bundle.Bundle{}, nil); err == nil {
		t.Error("no error without a report")
	}
}

// TestLatest: figures on the latest training notes, predicted from the earlier ones, are no cross-validation.
func TestLatest(t *testing.T) {
	t.Parallel()
	in := full(t)
	in.Evaluation.Kind = report.Latest
	r, page, _ := build(t, in)
	for name, text := range map[string]string{"card": card(t, r), "page": string(page)} {
		if !strings.Contains(text, "coefficients from the earlier notes;") ||
			!strings.Contains(text, "evaluation, the latest training notes") || strings.Contains(text, "may be too good") {
			t.Errorf("the %s does not say where the figures are from", name)
		}
	}
}

// TestWarnsOfStyle: a model that leans on words that are no finding in more than 3 of 100 parts says so.
func TestWarnsOfStyle(t *testing.T) {
	t.Parallel()
	for share, warns := range map[float64]bool{0: false, 0.03: false, 0.0312: true} {
		in := bare()
		in.Evaluation.Style = &share
		r, page, _ := build(t, in)
		if got := strings.Contains(strings.Join(r.Warnings, " "), "how notes are written"); got != warns {
			t.Errorf("share %v: warnings %q", share, r.Warnings)
		}
		if warns && !strings.Contains(string(page), "3.1 % of the three largest parts") {
			t.Error("the page lacks the share")
		}
	}
}
