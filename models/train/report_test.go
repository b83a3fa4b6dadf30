package train

import (
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/report"
)

func TestGroupings(t *testing.T) {
	t.Parallel()
	d := Data{
		Pooled: true,
		Aux:    []Aux{{"age", models.Numeric}, {"sex", models.Categorical}, {"acuity", models.Numeric}, {"vitals.hr", models.Numeric}, {"site", models.Categorical}},
		Rows: []Row{
			{Complaint: "Chest Pain", Aux: []msg.Value{msg.Number(17), msg.Text("F"), msg.Number(3), msg.Number(90), msg.Text("A")}},
			{Complaint: "chest pain", Aux: []msg.Value{msg.Number(81), msg.Text("M"), {}, msg.Number(91), msg.Text("A")}},
			{Aux: []msg.Value{{}, {}, msg.Number(1), {}, msg.Text("A")}},
		},
	}
	got := map[string][]string{}
	for _, g := range Groupings(&d) {
		got[g.Name] = g.Level
	}
	// All notes are of one site, which is no subgroup; nor is a heart rate.
	for name, want := range map[string][]string{"complaint": {"chest-pain", "chest-pain", "_other"}, "age": {"0–17", "80+", ""}, "sex": {"F", "M", ""}, "acuity": {"3", "", "1"}, "site": nil, "vitals.hr": nil} {
		if !slices.Equal(got[name], want) {
			t.Errorf("%s: %q, want %q", name, got[name], want)
		}
	}
}

// TestCardSaysWhatTheThresholdFinds: the cards of a training begin with it, count patients once and show the site's fields.
func TestCardSaysWhatTheThresholdFinds(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 400)
	s := small()
	s.PerComplaint = Never
	j := job()
	j.Site = &report.Site{Owner: "Head of emergency medicine"}
	got, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j)
	if err != nil {
		t.Fatal(err)
	}
	card := got.Bundles[0].Card
	for _, want := range []string{
		"the model finds ", "of the patients who are admitted, and misses ", "Cross-validated on 400 notes", "- **Owner**: Head of emergency medicine",
		"| sex F | ", "Fewer than 20 admissions, or fewer than 20 other notes: complaint ", "- **Contact**: to be filled in by the site",
	} {
		if !strings.Contains(card, want) {
			t.Errorf("the card does not say %q:\n%.3000s", want, card)
		}
	}
}

// TestCardNamesTheVersionBefore: the card and the report say which version the new one is held against.
func TestCardNamesTheVersionBefore(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 400)
	s := small()
	s.PerComplaint = Never
	first, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, job())
	if err != nil {
		t.Fatal(err)
	}
	before := *first.Bundles[0]
	before.Version = "2026-01-01T00-00-00Z-abcdef"
	j := job()
	j.Previous = func(context.Context, string) (*models.Bundle, error) { return &before, nil }
	second, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j)
	if err != nil {
		t.Fatal(err)
	}
	for name, card := range map[string]string{before.Version: second.Bundles[0].Card, "no earlier version": first.Bundles[0].Card} {
		if want := "- **Held against**: " + name; !strings.Contains(card, want) {
			t.Errorf("a card does not say %q", want)
		}
	}
	if page := string(second.Bundles[0].Page); !strings.Contains(page, before.Version) {
		t.Error("the page does not name the version before")
	}
}
