package train

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// enter trains on rows and brings the result to the door, judged out of fold.
func enter(t *testing.T, store *models.Store, rows []Row, created time.Time, change func(*Door)) (*Trained, *Entry, error) {
	t.Helper()
	d := Data{Rows: rows, Aux: auxColumns(), Pooled: true}
	j := job()
	j.Created = created
	s := small()
	s.PerComplaint = Never
	out, err := Train(t.Context(), d, s, j)
	if err != nil {
		t.Fatal(err)
	}
	door := Door{Store: store, Gate: gate.Default(), By: "test", Created: created}
	if change != nil {
		change(&door)
	}
	e, err := door.Enter(t.Context(), Candidate{Trained: out, Notes: d, Probabilities: slices.Clone(out.OutOfFold)})
	return out, e, err
}

// shuffled returns rows with each other's outcomes.
func shuffled(rows []Row) []Row {
	out := slices.Clone(rows)
	at := rand.New(rand.NewPCG(1, 2)).Perm(len(rows))
	for i := range out {
		out[i].Positive = rows[at[i]].Positive
	}
	return out
}

func champions(t *testing.T, store *models.Store) string {
	t.Helper()
	g, err := store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return g.Name
}

// A training of shuffled outcomes is refused, first or not; forced, it is served with its reason in the history; a good one
// is served again.
func TestDoor(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 1200)
	store, at := models.OpenDir(t.TempDir()), job().Created
	_, e, err := enter(t, store, shuffled(rows), at, nil)
	if err != nil || e.Served != nil || e.Verdict.Decision != gate.Refuse {
		t.Fatalf("shuffled outcomes: %+v, error %v", e, err)
	}
	if _, err := store.Champion(t.Context()); !errors.Is(err, models.ErrNotFound) {
		t.Fatalf("a refused first model: champion with error %v", err)
	}
	_, e, err = enter(t, store, rows, at.Add(time.Hour), nil)
	if err != nil || e.Served == nil || champions(t, store) != e.Candidate.Name {
		t.Fatalf("a good first model: %+v, error %v", e, err)
	}
	good := e.Candidate.Name
	_, e, err = enter(t, store, shuffled(rows), at.Add(2*time.Hour), nil)
	if err != nil || e.Served != nil || champions(t, store) != good {
		t.Fatalf("shuffled outcomes against a champion: %+v, error %v", e, err)
	}
	_, e, err = enter(t, store, shuffled(rows), at.Add(3*time.Hour), func(d *Door) { d.Force, d.Why = true, "a test" })
	if err != nil || e.Served != e.Candidate || champions(t, store) != e.Candidate.Name {
		t.Fatalf("forced: %+v, error %v", e, err)
	}
	if _, e, err = enter(t, store, rows, at.Add(4*time.Hour), nil); err != nil || e.Served != e.Candidate {
		t.Fatalf("a good model after a bad one: %+v, error %v", e, err)
	}
	events, err := store.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var actions []models.Action
	for _, event := range events {
		actions = append(actions, event.Action)
		if !strings.Contains(event.Why, "AUROC") || event.Action == models.Promoted && event.To != good && event.From == "" {
			t.Errorf("event %+v", event)
		}
	}
	if want := []models.Action{models.Refused, models.Promoted, models.Refused, models.Promoted, models.Promoted}; !slices.Equal(actions, want) {
		t.Errorf("history %q, want %q", actions, want)
	}
}

// A champion whose probabilities are off, and whose order is right, is recalibrated.
func TestDoorRecalibrates(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 2400)
	store, at := models.OpenDir(t.TempDir()), job().Created
	out, e, err := enter(t, store, rows, at, nil)
	if err != nil || e.Served == nil {
		t.Fatalf("%+v, error %v", e, err)
	}
	later, _ := generated(t, 2400, 4800)
	// Two of three patients who are not admitted go elsewhere: the odds of admission are three times as high.
	random := rand.New(rand.NewPCG(3, 4))
	later = slices.DeleteFunc(later, func(r Row) bool { return !r.Positive && random.IntN(3) > 0 })
	d := Data{Rows: later, Aux: auxColumns(), Pooled: true}
	p, err := out.Probabilities(d)
	if err != nil {
		t.Fatal(err)
	}
	for i := range p {
		p[i] = 0.5 + 0.2*(p[i]-0.5) // a challenger that is no better
	}
	for _, b := range out.Bundles {
		b.Manifest.CreatedAt = at.Add(time.Hour)
	}
	door := Door{Store: store, Gate: gate.Default(), By: "test", Created: at.Add(time.Hour)}
	if e, err = door.Enter(t.Context(), Candidate{Trained: out, Notes: d, Probabilities: p, Later: true}); err != nil || e.Verdict.Decision != gate.Recalibrate {
		t.Fatalf("verdict %+v, error %v", e, err)
	}
	if champions(t, store) != e.Served.Name || e.Served == e.Candidate {
		t.Fatalf("served %s", e.Served.Name)
	}
	c, err := door.champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fit := e.Verdict.Figures.Recalibrated.Recalibration
	before, err := out.Probabilities(d)
	if err != nil {
		t.Fatal(err)
	}
	for i, after := range c.models.probabilities(d.Rows, d.Aux) {
		if want := fit.Apply(before[i]); after < want-1e-12 || after > want+1e-12 {
			t.Fatalf("note %d has the probability %v, want %v", i, after, want)
		}
	}
	for name, b := range map[string]*models.Bundle{"refused": out.Bundles[0], "recalibrated": c.bundles[models.Other]} {
		var r report.Report
		if err := json.Unmarshal(b.Report, &r); err != nil {
			t.Fatal(err)
		}
		if len(r.Shifts) != 8 {
			t.Fatalf("%s: drift %+v", name, r.Shifts)
		}
		admitted, scores, topics := r.Shifts[0], r.Shifts[1], r.Shifts[2]
		if *admitted.Before > 0.4 || *admitted.Now < 0.45 || *scores.PSI < 0.05 || *topics.PSI > *scores.PSI {
			t.Errorf("%s: drift %+v, score %.3f, topics %.3f", name, r.Shifts, *scores.PSI, *topics.PSI)
		}
	}
}

// TestReportOnLaterNotes: where the notes came later than those that a model learned from, its card and report are about them, the
// gate's verdict included.
func TestReportOnLaterNotes(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 800)
	later, _ := generated(t, 800, 1200)
	store := models.OpenDir(t.TempDir())
	s := small()
	s.PerComplaint = Never
	out, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns(), Pooled: true}, s, job())
	if err != nil {
		t.Fatal(err)
	}
	d := Data{Rows: later, Aux: auxColumns(), Pooled: true}
	p, err := out.Probabilities(d)
	if err != nil {
		t.Fatal(err)
	}
	door := Door{Store: store, Gate: gate.Default(), By: "test", Created: job().Created}
	c := Candidate{Trained: out, Notes: d, Probabilities: p, Later: true, About: report.Data{Outcome: "admitted within a day"}}
	if _, err := door.Enter(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b, err := store.Load(t.Context(), models.Other, out.Bundles[0].Version)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{"card": b.Card, "page": string(b.Page)} {
		for _, want := range []string{"400 notes", "later than training", "the first model", "admitted within a day"} {
			if !strings.Contains(text, want) {
				t.Errorf("the %s does not say %q", name, want)
			}
		}
	}
	var r report.Report
	if err := json.Unmarshal(b.Report, &r); err != nil {
		t.Fatal(err)
	}
	if r.Kind != report.Later || r.Metrics.N != 400 || r.Data.Training.Notes != 800 || r.Words == 0 || r.Verdict == nil {
		t.Errorf("report of %s notes, %d; trained on %d; %d words; verdict %v", r.Kind, r.Metrics.N, r.Data.Training.Notes, r.Words, r.Verdict)
	}
}

// A training that another one overtakes changes nothing, and tells who was faster.
func TestDoorIsOvertaken(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 1200)
	store, at := models.OpenDir(t.TempDir()), job().Created
	var slow Door
	_, first, err := enter(t, store, rows, at, func(d *Door) {
		if err := d.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		slow, d.By = *d, "night shift"
	})
	if err != nil || first.Served == nil {
		t.Fatalf("%+v, error %v", first, err)
	}
	_, e, err := enter(t, store, rows, at.Add(time.Hour), func(d *Door) { *d = slow })
	if !errors.Is(err, models.ErrConflict) || !strings.Contains(err.Error(), `by "night shift"`) || e != nil {
		t.Errorf("entry %+v, error %v", e, err)
	}
	events, err := store.History(t.Context())
	if err != nil || len(events) != 1 || champions(t, store) != first.Served.Name {
		t.Errorf("history %+v, error %v", events, err)
	}
}
