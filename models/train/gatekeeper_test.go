package train

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/storetest"
)

// skilled and ignorant are trained once for all tests of the gatekeeper: on notes, and on the same notes with each
// other's outcomes.
var (
	skilled  = sync.OnceValues(func() (*Candidate, error) { return trainOnce(false) })
	ignorant = sync.OnceValues(func() (*Candidate, error) { return trainOnce(true) })
)

// knownNotes is how many notes they learned from.
const knownNotes = 600

func trainOnce(mixed bool) (*Candidate, error) {
	rows, _, err := notesOf(0, knownNotes)
	if err != nil {
		return nil, err
	}
	if mixed {
		rows = shuffled(rows)
	}
	s := smaller()
	s.PerComplaint = Never
	d := Data{Rows: rows, Aux: auxColumns(), Pooled: true}
	out, err := Train(context.Background(), d, s, job())
	if err != nil {
		return nil, err
	}
	return &Candidate{Trained: out, Notes: d, Probabilities: out.OutOfFold}, nil
}

// candidate returns a copy of what was trained once, created at a time.
func candidate(t *testing.T, of func() (*Candidate, error), created time.Time) Candidate {
	t.Helper()
	c, err := of()
	if err != nil {
		t.Fatal(err)
	}
	out := *c.Trained
	out.Bundles = []*bundle.Bundle{new(*out.Bundles[0])}
	out.Bundles[0].Manifest.CreatedAt = created
	out.Outcomes = slices.Clone(out.Outcomes)
	return Candidate{Trained: &out, Notes: c.Notes, Probabilities: slices.Clone(c.Probabilities)}
}

// onFew is a candidate whose first notes alone are judged, which takes less time.
func onFew(c Candidate) Candidate {
	const few = knownNotes / 4
	c.Notes.Rows, c.Probabilities = c.Notes.Rows[:few], c.Probabilities[:few]
	return c
}

// enter has the gatekeeper judge a candidate out of fold.
func enter(t *testing.T, store *models.Store, c Candidate, change func(*Gatekeeper)) (*Promotion, error) {
	t.Helper()
	gatekeeper := Gatekeeper{
		Store: store, Gate: gate.Default(), By: "test", Created: c.Bundles[0].Manifest.CreatedAt,
	}
	if change != nil {
		change(&gatekeeper)
	}
	return gatekeeper.Promote(t.Context(), c)
}

// entering trains on rows and has the gatekeeper judge the result out of fold.
func entering(t *testing.T, store *models.Store, rows []Row) (*Trained, *Promotion, error) {
	t.Helper()
	d := Data{Rows: rows, Aux: auxColumns(), Pooled: true}
	s := small()
	s.PerComplaint = Never
	out, err := Train(t.Context(), d, s, job())
	if err != nil {
		t.Fatal(err)
	}
	e, err := enter(t, store, Candidate{Trained: out, Notes: d, Probabilities: slices.Clone(out.OutOfFold)}, nil)
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

// A training of shuffled outcomes is refused, first or not; forced, it is served with its reason in the history; a good
// one is served again.
func TestGatekeeper(t *testing.T) {
	t.Parallel()
	store, at := models.OpenDir(t.TempDir()), job().Created
	e, err := enter(t, store, candidate(t, ignorant, at), nil)
	if err != nil || e.Served != nil || e.Verdict.Decision != gate.Refuse {
		t.Fatalf("shuffled outcomes: %+v, error %v", e, err)
	}
	if _, err := store.Champion(t.Context()); !errors.Is(err, models.ErrNotFound) {
		t.Fatalf("a refused first model: champion with error %v", err)
	}
	e, err = enter(t, store, candidate(t, skilled, at.Add(time.Hour)), nil)
	if err != nil || e.Served == nil || champions(t, store) != e.Candidate.Name {
		t.Fatalf("a good first model: %+v, error %v", e, err)
	}
	good := e.Candidate.Name
	e, err = enter(t, store, candidate(t, ignorant, at.Add(2*time.Hour)), nil)
	if err != nil || e.Served != nil || champions(t, store) != good {
		t.Fatalf("shuffled outcomes against a champion: %+v, error %v", e, err)
	}
	e, err = enter(t, store, candidate(t, ignorant, at.Add(3*time.Hour)), func(d *Gatekeeper) {
		d.Force, d.Why = true, "a test"
	})
	if err != nil || e.Served != e.Candidate || champions(t, store) != e.Candidate.Name {
		t.Fatalf("forced: %+v, error %v", e, err)
	}
	e, err = enter(t, store, candidate(t, skilled, at.Add(4*time.Hour)), nil)
	if err != nil || e.Served != e.Candidate {
		t.Fatalf("a good model after a bad one: %+v, error %v", e, err)
	}
	events, err := store.History(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var actions []models.Action
	for _, event := range events {
		actions = append(actions, event.Action)
		if !strings.Contains(event.Why, "AUROC") || event.Action == models.Promoted && event.To != good &&
			event.From == "" {
			t.Errorf("event %+v", event)
		}
	}
	if want := []models.Action{
		models.Refused, models.Promoted, models.Refused, models.Promoted, models.Promoted,
	}; !slices.Equal(actions, want) {
		t.Errorf("history %q, want %q", actions, want)
	}
}

// A champion whose probabilities are off, and whose order is right, is recalibrated.
func TestGatekeeperRecalibrates(t *testing.T) {
	t.Parallel()
	store, at := models.OpenDir(t.TempDir()), job().Created
	trained := candidate(t, skilled, at)
	out := trained.Trained
	e, err := enter(t, store, trained, nil)
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
	gatekeeper := Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Created: at.Add(time.Hour)}
	if e, err = gatekeeper.Promote(t.Context(),
		Candidate{Trained: out, Notes: d, Probabilities: p, Later: true}); err != nil ||
		e.Verdict.Decision != gate.Recalibrate {
		t.Fatalf("verdict %+v, error %v", e, err)
	}
	if champions(t, store) != e.Served.Name || e.Served == e.Candidate {
		t.Fatalf("served %s", e.Served.Name)
	}
	c, err := gatekeeper.champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	_, last := period(later)
	if r := c.bundles[bundle.Other].Manifest.Recalibrated; !c.until.Equal(last) || r == nil ||
		r.Documents != len(later) || r.Positives != Positives(later) {
		t.Errorf("learned from notes until %s, recalibrated on %+v, want %d notes until %s", c.until, r,
			len(later), last)
	}
	fit := e.Verdict.Figures.Recalibrated.Recalibration
	before, err := out.Probabilities(d)
	if err != nil {
		t.Fatal(err)
	}
	for i, after := range c.models.probabilities(&d) {
		if want := fit.Apply(before[i]); after < want-1e-12 || after > want+1e-12 {
			t.Fatalf("note %d has the probability %v, want %v", i, after, want)
		}
	}
	for name, b := range map[string]*bundle.Bundle{"refused": out.Bundles[0], "recalibrated": c.bundles[bundle.Other]} {
		var r report.Report
		if err := json.Unmarshal(b.Report, &r); err != nil {
			t.Fatal(err)
		}
		if slope := r.Metrics.CalibrationSlope.Value; name == "recalibrated" &&
			(math.Abs(slope-1) < 1e-6 || !strings.Contains(b.Card, "notes of other patients")) {
			t.Errorf("the slope %v is from notes that the map was fitted to", slope)
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

// TestReportOnLaterNotes: where the notes came later than those that a model learned from, its card and report are
// about them, the gate's verdict included.
func TestReportOnLaterNotes(t *testing.T) {
	t.Parallel()
	later, _ := generated(t, knownNotes, knownNotes+400)
	store := models.OpenDir(t.TempDir())
	out := candidate(t, skilled, job().Created).Trained
	d := Data{Rows: later, Aux: auxColumns(), Pooled: true}
	p, err := out.Probabilities(d)
	if err != nil {
		t.Fatal(err)
	}
	gatekeeper := Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Created: job().Created}
	c := Candidate{
		Trained: out, Notes: d, Probabilities: p, Later: true, About: report.Data{Outcome: "admitted within a day"},
	}
	if _, err := gatekeeper.Promote(t.Context(), c); err != nil {
		t.Fatal(err)
	}
	b, err := store.Load(t.Context(), bundle.Other, out.Bundles[0].Version)
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
	if r.Kind != report.Later || r.Metrics.N != 400 || r.Data.Training.Notes != knownNotes || r.Words == 0 ||
		r.Verdict == nil {
		t.Errorf("report of %s notes, %d; trained on %d; %d words; verdict %v", r.Kind, r.Metrics.N,
			r.Data.Training.Notes, r.Words, r.Verdict)
	}
}

// A training that another one overtakes changes nothing, and names who was faster.
func TestGatekeeperIsOvertaken(t *testing.T) {
	t.Parallel()
	store, at := models.OpenDir(t.TempDir()), job().Created
	var slow Gatekeeper
	first, err := enter(t, store, candidate(t, skilled, at), func(d *Gatekeeper) {
		if err := d.Begin(t.Context()); err != nil {
			t.Fatal(err)
		}
		slow, d.By = *d, "night shift"
	})
	if err != nil || first.Served == nil {
		t.Fatalf("%+v, error %v", first, err)
	}
	e, err := enter(t, store, candidate(t, skilled, at.Add(time.Hour)), func(d *Gatekeeper) { *d = slow })
	if !errors.Is(err, models.ErrConflict) || !strings.Contains(err.Error(), `by "night shift"`) || e != nil {
		t.Errorf("entry %+v, error %v", e, err)
	}
	events, err := store.History(t.Context())
	if err != nil || len(events) != 1 || champions(t, store) != first.Served.Name {
		t.Errorf("history %+v, error %v", events, err)
	}
}

// foreign returns a copy of a version that reads notes in another way than this program, with its files whole.
func foreign(t *testing.T, store *models.Store, b *bundle.Bundle, name string) models.Member {
	t.Helper()
	other := *b
	other.Manifest.Name = name
	other.Manifest.Text = bytes.Replace(b.Manifest.Text, []byte(`"wardcast-`), []byte(`"hardcast-`), 1)
	version, err := store.Save(t.Context(), &other)
	if err != nil {
		t.Fatal(err)
	}
	return models.Member{Version: version, Complaint: name}
}

// TestGatekeeperUnreadableChampion: without force a champion that this program cannot read is an error before the
// training; with force it is replaced, and what cannot be read is left out.
func TestGatekeeperUnreadableChampion(t *testing.T) {
	t.Parallel()
	good := candidate(t, skilled, job().Created)
	own := good.Bundles[0]
	for name, c := range map[string]struct {
		members func(*models.Store) map[string]models.Member
		harm    string // file pattern to spoil
		stays   bool   // the sound model of the complaint "well"
	}{
		"of another tokenizer": {members: func(s *models.Store) map[string]models.Member {
			return map[string]models.Member{bundle.Other: foreign(t, s, own, bundle.Other)}
		}},
		"without one of all complaints": {members: func(s *models.Store) map[string]models.Member {
			return map[string]models.Member{"well": sound(t, s, own, "well")}
		}, stays: true},
		"a complaint of another tokenizer": {members: func(s *models.Store) map[string]models.Member {
			return map[string]models.Member{
				bundle.Other: sound(t, s, own, bundle.Other),
				"rare":       foreign(t, s, own, "rare"), "well": sound(t, s, own, "well"),
			}
		}, stays: true},
		"a damaged complaint": {members: func(s *models.Store) map[string]models.Member {
			return map[string]models.Member{
				bundle.Other: sound(t, s, own, bundle.Other),
				"rare":       sound(t, s, own, "rare"), "well": sound(t, s, own, "well"),
			}
		}, harm: "rare/*/tensors.safetensors", stays: true},
		"damaged": {members: func(s *models.Store) map[string]models.Member {
			return map[string]models.Member{bundle.Other: sound(t, s, own, bundle.Other), "well": sound(t,
				s, own, "well")}
		}, harm: bundle.Other + "/*/tensors.safetensors", stays: true},
		"of a damaged generation": {members: func(s *models.Store) map[string]models.Member {
			return map[string]models.Member{bundle.Other: sound(t, s, own, bundle.Other)}
		}, harm: "generations/*.json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			store := models.OpenDir(dir)
			g := &models.Generation{CreatedAt: job().Created, Models: c.members(store)}
			if err := store.AddGeneration(t.Context(), g); err != nil {
				t.Fatal(err)
			}
			if err := store.Promote(t.Context(), models.Change{To: g.Name}); err != nil {
				t.Fatal(err)
			}
			if c.harm != "" {
				files, err := filepath.Glob(filepath.Join(dir, c.harm))
				if err != nil || len(files) != 1 {
					t.Fatalf("%q, %v", files, err)
				}
				write(t, files[0], "damaged")
			}
			gatekeeper := Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Created: job().
				Created.Add(time.Hour)}
			if err := gatekeeper.Begin(t.Context()); err == nil || !strings.Contains(err.Error(), "--force --why") {
				t.Errorf("begun: %v", err)
			}
			var log bytes.Buffer
			gatekeeper.Force, gatekeeper.Why, gatekeeper.Logger = true, "a new version",
				slog.New(slog.NewTextHandler(&log, nil))
			if err := gatekeeper.Begin(t.Context()); err != nil || !strings.Contains(log.String(), "cannot read") {
				t.Fatalf("begun with force: %v; log %s", err, &log)
			}
			next := onFew(candidate(t, skilled, gatekeeper.Created))
			next.Outcomes = append(next.Outcomes,
				Outcome{Model: "rare", Complaint: "rare", Stays: true, Why: "fewer than 80 notes"})
			e, err := gatekeeper.Promote(t.Context(), next)
			if err != nil || e.Served == nil || champions(t, store) != e.Candidate.Name {
				t.Fatalf("%+v, error %v", e, err)
			}
			served, err := gatekeeper.champion(t.Context())
			if err != nil || len(served.refused) > 0 || served.models["rare"] != nil ||
				(served.models["well"] != nil) != c.stays {
				t.Errorf("served %+v, error %v", served, err)
			}
			if _, was := g.Models["rare"]; was && !strings.Contains(e.Candidate.Pooled["rare"].Reason,
				"fewer than 80 notes; its model cannot be read: ") {
				t.Errorf("the reason is %q", e.Candidate.Pooled["rare"].Reason)
			}
		})
	}
}

// sound saves a copy of a version as the model of that name.
func sound(t *testing.T, store *models.Store, b *bundle.Bundle, name string) models.Member {
	t.Helper()
	other := *b
	other.Manifest.Name = name
	version, err := store.Save(t.Context(), &other)
	if err != nil {
		t.Fatal(err)
	}
	return models.Member{Version: version, Complaint: name}
}

// TestRefusalIsRecorded: stopped at any write, a training leaves no refused generation without its refusal in the
// history.
func TestRefusalIsRecorded(t *testing.T) {
	t.Parallel()
	first := t.TempDir()
	if e, err := enter(t, models.OpenDir(first), candidate(t, skilled, job().Created), nil); err != nil ||
		e.Served == nil {
		t.Fatalf("%+v, error %v", e, err)
	}
	stops := storetest.Stop(t, func() models.Bucket {
		dir := t.TempDir()
		if err := os.CopyFS(dir, os.DirFS(first)); err != nil {
			t.Fatal(err)
		}
		return models.Dir(dir)
	}, func(store *models.Store) error {
		e, err := enter(t, store, onFew(candidate(t, ignorant, job().Created.Add(time.Hour))), nil)
		if err == nil && e.Served != nil {
			t.Errorf("served: %s", e.Verdict.Reason)
		}
		return err
	}, func(when string, left models.Bucket) {
		recorded(t, models.New(left), when)
	})
	if stops < 3 { // the version, the record and the generation
		t.Errorf("stopped %d times only", stops)
	}
}

// recorded fails unless the history shows what became of each generation.
func recorded(t *testing.T, store *models.Store, when string) {
	t.Helper()
	all, err := store.Generations(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	events, err := store.History(t.Context())
	if err != nil {
		t.Fatalf("%s: %v", when, err)
	}
	for _, name := range all {
		if !slices.ContainsFunc(events, func(e models.Event) bool { return e.To == name }) {
			t.Errorf("%s: generation %s has no record", when, name)
		}
	}
}

// TestGatekeeperOfSeveralOutcomes: one intercept and slope cannot mend several outcomes, so a better challenger is
// served instead.
func TestGatekeeperOfSeveralOutcomes(t *testing.T) {
	t.Parallel()
	s := smallSupervised(SMFW)
	s.PerComplaint = Never
	d := threeClasses(t, 0, 600)
	d.Pooled = true
	out, err := Train(t.Context(), d, s, job())
	if err != nil {
		t.Fatal(err)
	}
	store := models.OpenDir(t.TempDir())
	gatekeeper := Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Created: job().Created}
	if e, err := gatekeeper.Promote(t.Context(),
		Candidate{Trained: out, Notes: d, Probabilities: slices.Clone(out.OutOfFold)}); err != nil || e.Served == nil {
		t.Fatalf("%+v, error %v", e, err)
	}
	later := threeClasses(t, 600, 2000)
	random := rand.New(rand.NewPCG(3, 4))
	later.Rows = slices.DeleteFunc(later.Rows, func(r Row) bool { return !r.Positive && random.IntN(3) > 0 })
	later.Pooled = true
	champion, err := out.Probabilities(later)
	if err != nil {
		t.Fatal(err)
	}
	better := make([]float64, len(champion))
	for i, p := range champion {
		better[i] = 2 * p / (1 + p) // on the way to the odds of now
	}
	out.Bundles[0].Manifest.CreatedAt = job().Created.Add(time.Hour)
	gatekeeper = Gatekeeper{Store: store, Gate: gate.Default(), By: "test", Created: job().Created.Add(time.Hour)}
	e, err := gatekeeper.Promote(t.Context(), Candidate{Trained: out, Notes: later, Probabilities: better, Later: true})
	if err != nil || e.Verdict.Decision != gate.Promote || e.Served != e.Candidate {
		t.Fatalf("%+v, error %v", e.Verdict, err)
	}
	if f := e.Verdict.Figures; f.Recalibrated == nil || f.Recalibrated.Challenger.Value >= 0 {
		t.Errorf("a recalibration would not have been tried: %+v", f.Recalibrated)
	}
}

// TestKeepLater: only the notes after the champion's count, unless they are too few to judge by.
func TestKeepLater(t *testing.T) {
	t.Parallel()
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for name, c := range map[string]struct {
		rows, from, least int // every second note is an admission
		want              bool
	}{
		"enough":            {1000, 790, 20, true},
		"a hundred of each": {1000, 800, 20, true},
		"fewer":             {1000, 802, 20, false},
		"half of a few":     {80, 40, 20, true},
		"less than half":    {80, 44, 20, false},
		"the setting":       {80, 40, 30, false},
		"all":               {60, 0, 20, true},
	} {
		candidate := Candidate{Notes: Data{Rows: make([]Row, c.rows)}, Probabilities: make([]float64, c.rows)}
		for i := range candidate.Notes.Rows {
			candidate.Notes.Rows[i] = Row{Arrived: begin.Add(time.Duration(i+1) * time.Hour), Positive: i%2 == 0}
		}
		got := candidate.keepLater(begin.Add(time.Duration(c.from)*time.Hour), c.least)
		left := c.rows
		if c.want {
			left -= c.from
		}
		if got != c.want || len(candidate.Notes.Rows) != left || len(candidate.Probabilities) != left {
			t.Errorf("%s: %v with %d notes", name, got, len(candidate.Notes.Rows))
		}
	}
	if c := (Candidate{Notes: Data{Rows: make([]Row, 500)}}); c.keepLater(time.Time{}, 20) {
		t.Error("kept later notes though it is unknown what the champion learned from")
	}
}
