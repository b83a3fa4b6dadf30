package demo

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/beds"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lab/sample"
	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// wards are those that synth.Ward draws, sorted.
var wards = []string{"CARD", "ICU", "MED", "ORTHO", "PAED", "SURG"}

// TestDepartment: each patient has waited the usual hours when the outcome comes, and comes out once.
func TestDepartment(t *testing.T) {
	t.Parallel()
	g, err := synth.New(synth.Settings{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	d := newDepartment(7, 20)
	const n = 200
	arrived := map[string]time.Time{}
	began := time.Now()
	for i := range n {
		note := g.At(i)
		d.arrive(g, i, &note.Note)
		if arrived[note.VisitID], err = time.Parse(time.RFC3339, note.ArrivedAt); err != nil ||
			arrived[note.VisitID].After(began) {
			t.Fatalf("%s: %v", note.ArrivedAt, err)
		}
	}
	early := d.take(began.Add(time.Second))
	outcomes := slices.Concat(early, d.take(began.Add(24*time.Hour)))
	if len(outcomes) != n || len(early) == 0 || len(early) > n*3/4 || len(d.take(began.Add(48*time.Hour))) > 0 {
		t.Fatalf("%d outcomes, %d in the first second", len(outcomes), len(early))
	}
	stays := 0.0
	for _, out := range outcomes {
		var o msg.Outcome
		if err := msg.DecodeOutcome(out.Value, &o); err != nil {
			t.Fatal(err)
		}
		decided, err := time.Parse(time.RFC3339, o.DecidedAt)
		if err != nil || (o.Disposition == msg.Admitted) != slices.Contains(wards, o.Ward) {
			t.Errorf("%+v, %v", o, err)
		}
		stays += decided.Sub(arrived[o.VisitID]).Hours() / n
	}
	if stays < 2 || stays > 5 {
		t.Errorf("a mean stay of %v hours", stays)
	}
}

// TestFitBeds puts a fit into the store that forecasts are made of, with ranges that held.
func TestFitBeds(t *testing.T) {
	t.Parallel()
	g, err := synth.New(synth.Settings{Seed: 7})
	if err != nil {
		t.Fatal(err)
	}
	trained := &train.Trained{}
	for i := range sample.Notes {
		trained.OutOfFold = append(trained.OutOfFold, g.At(i).Probability)
	}
	store := models.OpenDir(t.TempDir())
	version, err := fitBeds(t.Context(), g, trained, store)
	if err != nil {
		t.Fatal(err)
	}
	data, err := store.LoadBeds(t.Context(), version)
	if err != nil {
		t.Fatal(err)
	}
	var fit beds.Fit
	if err := json.Unmarshal(data, &fit); err != nil {
		t.Fatal(err)
	}
	if c := fit.Calibration(beds.All, httpapi.DefaultWindow); !c.Calibrated || c.N != beds.CalibrationWindow {
		t.Errorf("the pages show no range: %+v", c)
	}
	f, err := beds.New(&fit)
	if err != nil || !slices.Equal(f.Wards(), wards) {
		t.Errorf("wards %v, %v", f.Wards(), err)
	}
	for ward := range available() {
		if ward != beds.All && !slices.Contains(f.Wards(), ward) {
			t.Errorf("%s is no ward", ward)
		}
	}
}
