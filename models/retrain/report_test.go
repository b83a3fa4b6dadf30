package retrain_test

import (
	"encoding/json"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/retrain"
)

// TestReportCountsTheNotes: contradictions, repeat attenders and all that was left out stand in the report, with where
// the notes are from, and a note's site is a subgroup though it predicts nothing.
func TestReportCountsTheNotes(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	var contradicted, refused int
	for i := range source.notes {
		n := source.note(t, i)
		n.Site, n.PatientID = []string{"North", "South"}[i%2], n.VisitID
		if i%3 == 0 && i > 0 {
			n.PatientID = source.note(t, i-1).PatientID
		}
		source.notes[i].Value = n.AppendJSON(nil)
	}
	for visit := range 7 {
		for _, d := range []msg.Disposition{msg.Discharged, msg.Admitted} {
			o := msg.Outcome{VisitID: source.note(t, visit).VisitID, Disposition: d, DecidedAt: stamp(at(24 * 50))}
			source.outcomes = append(source.outcomes, retrain.Message{Key: []byte(o.VisitID), Value: o.AppendJSON(nil)})
		}
		contradicted++
	}
	for range 3 {
		source.notes = append(source.notes, retrain.Message{Value: []byte("no JSON")})
		refused++
	}
	store := models.OpenDir(t.TempDir())
	result, err := tiny(store, source).Run(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	b, err := store.Load(t.Context(), bundle.Other, result.Trained.Bundles[0].Version)
	if err != nil {
		t.Fatal(err)
	}
	var r report.Report
	if err := json.Unmarshal(b.Report, &r); err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"notes", "outcomes"}, r.Data.Sources); d != "" {
		t.Error(d)
	}
	c := &result.Counts
	if c.Conflicting == 0 || c.RepeatPatients == 0 || c.Split.SeenInTrain == 0 {
		t.Fatalf("%d contradictions of %d, %d repeat attenders, %d seen", c.Conflicting, contradicted, c.RepeatPatients,
			c.Split.SeenInTrain)
	}
	for _, want := range []report.Count{
		{Name: "visits with final outcomes that contradict each other", Number: &c.Conflicting},
		{Name: "visits whose outcome was corrected or cancelled", Number: &c.Revised},
		{Name: "patients with more than one note", Number: &c.RepeatPatients},
		{Name: "notes of these patients", Number: &c.RepeatVisits},
	} {
		if !slices.ContainsFunc(r.Data.Counts, func(got report.Count) bool { return cmp.Equal(got, want) }) {
			t.Errorf("no %+v in %+v", want, r.Data.Counts)
		}
	}
	for _, want := range []report.Exclusion{
		{Reason: "refused, not_json", Notes: refused},
		{Reason: "of the later part, since their patient is in the earlier one", Notes: c.Split.SeenInTrain},
	} {
		if !slices.Contains(r.Data.Exclusions, want) {
			t.Errorf("no %+v in %+v", want, r.Data.Exclusions)
		}
	}
	if !slices.ContainsFunc(r.Subgroups,
		func(g report.Subgroup) bool { return g.Grouping == "site" && g.Level == "North" }) {
		t.Error("no subgroups by site")
	}
	for _, a := range b.Manifest.Aux {
		if a.Name == "site" {
			t.Error("the site is a predictor")
		}
	}
}

// note returns a note.
func (m *memory) note(t *testing.T, i int) (n msg.Note) {
	t.Helper()
	if err := json.Unmarshal(m.notes[i].Value, &n); err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNamesOfFiles(t *testing.T) {
	t.Parallel()
	f := &retrain.Files{NoteFiles: []string{"/home/erna/notes.jsonl"}, OutcomeFiles: []string{"outcomes.jsonl.gz"}}
	if got := f.Names(); !slices.Equal(got, []string{"notes.jsonl", "outcomes.jsonl.gz"}) {
		t.Errorf("%q", got)
	}
}
