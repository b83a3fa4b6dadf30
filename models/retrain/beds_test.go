package retrain_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/retrain"
)

// TestBeds: a retraining adds what forecasts of beds rest on, with the wards and times of the outcomes. A ward that one
// patient went to forty times is not named, nor is that patient's complaint.
func TestBeds(t *testing.T) {
	t.Parallel()
	_, source := hospital(t, tinyVisits)
	rare := map[string]bool{} // visits of one patient
	for i := range 40 {
		var n msg.Note
		if err := msg.DecodeNote(source.notes[i].Value, &n); err != nil {
			t.Fatal(err)
		}
		n.PatientID, n.Complaint = "one", "Zyqwert Xyloph"
		rare[n.VisitID], source.notes[i].Value = true, n.AppendJSON(nil)
	}
	for i := range source.outcomes {
		var o msg.Outcome
		if err := msg.DecodeOutcome(source.outcomes[i].Value, &o); err != nil {
			t.Fatal(err)
		}
		if o.Ward = " MED "; i%2 == 0 {
			o.Ward = "SURG"
		}
		if rare[o.VisitID] {
			o.Ward = "RARE"
		}
		source.outcomes[i].Value = o.AppendJSON(nil)
	}
	waiting := noteOf(99999, 24*29)
	source.notes = append(source.notes, waiting, waiting)
	store := models.OpenDir(t.TempDir())
	job := tiny(store, source)
	job.Beds = retrain.Beds{Zone: "Europe/London", Holidays: []string{"2026-03-17"}}
	r, err := job.Run(t.Context())
	if err != nil || r.Beds == nil || r.Beds.Version == "" {
		t.Fatalf("%+v, %v", r.Beds, err)
	}
	data, err := store.LoadBeds(t.Context(), r.Beds.Version)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(strings.ToLower(string(data)), "zyqwert") {
		t.Error("the fit names the complaint of one patient")
	}
	var fit beds.Fit
	if err := json.Unmarshal(data, &fit); err != nil {
		t.Fatal(err)
	}
	if _, err := beds.New(&fit); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(fit.Wards.Names, []string{"MED", "SURG"}) || fit.Zone != "Europe/London" ||
		fit.Visits != r.Beds.Visits || r.Beds.Wards != 2 || r.Beds.Days != 30 {
		t.Errorf("wards %v, zone %s, %+v", fit.Wards.Names, fit.Zone, r.Beds)
	}
	if age := at(24 * 30).Sub(fit.AsOf); age.Abs() > 2*time.Hour {
		t.Errorf("the history ends at %v, though the last arrival was on day 30", fit.AsOf)
	}
	if _, known := fit.BaseRate(intake.Others); !known {
		t.Error("the fit has no other complaints")
	}
	if base, known := fit.BaseRate("fall"); !known || base <= 0 || base >= 1 {
		t.Errorf("base rate %v, %v", base, known)
	}
	arrivals := 0
	for _, day := range fit.Rates.Arrivals {
		for _, n := range day {
			arrivals += n
		}
	}
	if excluded := r.Counts.Excluded[retrain.Undecided]; arrivals < r.Beds.Visits || excluded < 2 {
		t.Errorf("%d arrivals, %d undecided notes", arrivals, excluded)
	}

	// Of another site there is nothing to learn, which keeps no model back.
	for i := range source.notes {
		var n msg.Note
		if err := msg.DecodeNote(source.notes[i].Value, &n); err != nil {
			t.Fatal(err)
		}
		n.Site = "South"
		source.notes[i].Value = n.AppendJSON(nil)
	}
	job = tiny(models.OpenDir(t.TempDir()), source)
	job.Beds.Site = "North"
	if r, err := job.Run(t.Context()); err != nil || r.Promotion.Served == nil || r.Beds.Version != "" ||
		!strings.Contains(r.Beds.Reason, "needed") {
		t.Errorf("%+v, %v", r.Beds, err)
	}
}
