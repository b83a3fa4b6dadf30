package scoring

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/textproc"
)

const scoredAt = "2026-11-20T08:01:03.000Z"

// auxNames are the columns of the test's models: every field of a note that can be one.
var auxNames = [...]string{
	"age", "sex", "acuity", "site", "vitals.sbp", "vitals.dbp", "vitals.hr", "vitals.rr",
	"vitals.temp_c", "vitals.spo2", bundle.ComplaintColumn, "arrival_mode",
}

// save puts a model of that name into the store as the champion: it knows "hip" and "pain", by a weight of its own.
func save(tb testing.TB, store *models.Store, name string, weight float64) {
	tb.Helper()
	parts := classifier.Parts{
		Info: msg.Model{Method: "sonmf"}, Vectorizer: vectorizer(tb),
		Topics:      mat.NewDense(2, 1, []float64{1, 0.5}),
		Heads:       []classifier.Head{{Beta: []float64{weight}, Words: []float64{0.25, 0}}},
		Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1}, Threshold: 0.5,
	}
	for _, name := range auxNames {
		c := bundle.AuxColumn{Name: name, Kind: bundle.Numeric, Mean: []float64{1}}
		switch name {
		case "sex", "site", bundle.ComplaintColumn:
			c = bundle.AuxColumn{
				Name: name, Kind: bundle.Categorical, Levels: []string{"F", "chest pain"}, Mean: []float64{0.5, 0.5},
			}
		}
		parts.Aux = append(parts.Aux, c)
		parts.Heads[0].Gamma = append(parts.Heads[0].Gamma, make([]float64, len(c.Mean))...)
	}
	keep(tb, store, name, parts)
}

// vectorizer knows "hip" and "pain".
func vectorizer(tb testing.TB) *textproc.Vectorizer {
	tb.Helper()
	settings := textproc.DefaultSettings()
	settings.Concepts = &textproc.Concepts{} // compiling the built-in table takes longer than all the rest
	v, err := textproc.New(settings, []textproc.Term{{Text: "hip", DF: 1}, {Text: "pain", DF: 1}}, []float64{1, 1})
	if err != nil {
		tb.Fatal(err)
	}
	return v
}

// keep puts a model into the store as the champion.
func keep(tb testing.TB, store *models.Store, name string, parts classifier.Parts) {
	tb.Helper()
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{Name: name, CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)},
	}
	if err := parts.ToBundle(b); err != nil {
		tb.Fatal(err)
	}
	storetest.Serve(tb, store, b)
}

// setOf loads a store with models of these names.
func setOf(tb testing.TB, names ...string) *Set {
	tb.Helper()
	store := models.OpenDir(tb.TempDir())
	for i, name := range names {
		save(tb, store, name, float64(i+1))
	}
	s, err := Load(tb.Context(), store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestScoreRoutes(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		models    []string
		complaint string
		want      string // "" is no model
	}{
		"its own":                   {[]string{bundle.Other, "chest-pain"}, "Chest Pain", "chest-pain"},
		"other spelling":            {[]string{bundle.Other, "chest-pain"}, "  CHEST\tpain\n", "chest-pain"},
		"a hyphen is another":       {[]string{bundle.Other, "chest-pain"}, "chest-pain", bundle.Other},
		"no model of its own":       {[]string{bundle.Other, "chest-pain"}, "Cough", bundle.Other},
		"no complaint":              {[]string{bundle.Other, "chest-pain"}, "", bundle.Other},
		"the name of the fallback":  {[]string{bundle.Other}, "_other", bundle.Other},
		"its own alone":             {[]string{"chest-pain"}, "chest pain", "chest-pain"},
		"no fallback":               {[]string{"chest-pain"}, "Cough", ""},
		"no complaint, no fallback": {[]string{"chest-pain"}, " ", ""},
		"a complaint like a path":   {[]string{bundle.Other}, "../../etc/passwd", bundle.Other},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set := setOf(t, c.models...)
			s := set.Scorer(classifier.Options{})
			n := msg.Note{VisitID: "V1", ArrivedAt: "2026-11-20T08:01:02Z", Complaint: c.complaint, Text: "hip pain"}
			for range 2 { // the second time from memory
				var p msg.Prediction
				err := s.Score(&n, scoredAt, &p)
				probability, ok := s.Probability(&n)
				if c.want == "" {
					if e, isOurs := errors.AsType[*msg.Error](err); !isOurs || e.Reason != msg.NoModel || ok {
						t.Fatalf("got %v, %v", err, ok)
					}
					continue
				}
				if err != nil || !ok || p.Model.Name != c.want || p.Model.Version != set.Versions[c.want] ||
					p.Model.SHA256 == "" {
					t.Fatalf("%v: scored by %+v, want %s", err, p.Model, c.want)
				}
				if p.VisitID != n.VisitID || p.ArrivedAt != n.ArrivedAt || p.Complaint != c.complaint ||
					p.ScoredAt != scoredAt || p.SchemaVersion != msg.SchemaVersion {
					t.Errorf("the note's own fields are %+v", p)
				}
				if msg.Round(probability) != p.Probability {
					t.Errorf("probability %v alone, %v in the prediction", probability, p.Probability)
				}
			}
		})
	}
}

// TestScoreAlternates sends notes of several models through one scorer and one prediction.
func TestScoreAlternates(t *testing.T) {
	t.Parallel()
	set := setOf(t, bundle.Other, "chest-pain", "cough")
	s := set.Scorer(classifier.Options{})
	var reused msg.Prediction
	for i, complaint := range []string{"cough", "Chest Pain", "none", "COUGH", "", "chest pain", "cough"} {
		n := msg.Note{
			VisitID: fmt.Sprint(i), Complaint: complaint, Text: []string{"hip", "zebra", "pain hip"}[i%3],
			Age: msg.Some(float64(i)),
		}
		var fresh msg.Prediction
		if err := set.Scorer(classifier.Options{}).Score(&n, scoredAt, &fresh); err != nil {
			t.Fatal(err)
		}
		if err := s.Score(&n, scoredAt, &reused); err != nil {
			t.Fatal(err)
		}
		if got, want := string(reused.AppendJSON(nil)), string(fresh.AppendJSON(nil)); got != want {
			t.Errorf("note %d: got\n%s\nwant\n%s", i, got, want)
		}
	}
}

// TestSpellingsMemory: whatever complaints come, what is remembered of them stays small, and one that comes again is
// remembered again.
func TestSpellingsMemory(t *testing.T) {
	s := setOf(t, bundle.Other).Scorer(classifier.Options{})
	score := func(complaint string) {
		t.Helper()
		if _, ok := s.Probability(&msg.Note{Complaint: complaint, Text: "hip"}); !ok {
			t.Fatalf("complaint %s has no model", complaint)
		}
	}
	score("")
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for i := range 5 * maxRoutes {
		score(fmt.Sprintf("%0*d", maxSpelling, i))
		if i%5 == 0 { // which alone would hold 16 MiB
			score(fmt.Sprintf("%0*d", msg.MaxField, i))
		}
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	const most = 2 << 20
	if got := int64(after.HeapAlloc) - int64(before.HeapAlloc); got > most {
		t.Errorf("%d bytes are held, want at most %d", got, most)
	}
	score("hip pain")
	if _, known := s.routes["hip pain"]; !known || len(s.routes) > maxRoutes || len(s.open) != 1 {
		t.Errorf("%d spellings and %d models are remembered, the last one: %t", len(s.routes), len(s.open), known)
	}
}

func TestScoreReadsAuxFromTheNote(t *testing.T) {
	t.Parallel()
	s := setOf(t, bundle.Other).Scorer(classifier.Options{})
	number := msg.Number
	for name, c := range map[string]struct {
		note msg.Note
		want [len(auxNames)]msg.Value
	}{
		"all": {
			msg.Note{
				Complaint: " Chest  PAIN", Age: msg.Some(78), Sex: "F", Acuity: msg.Some(3), Site: "A",
				Vitals: msg.Vitals{
					SBP: msg.Some(151), DBP: msg.Some(88), HR: msg.Some(96), RR: msg.Some(18),
					TempC: msg.Some(36.8), SpO2: msg.Some(97),
				},
				Fields: msg.Fields{
					{Name: "pain", Value: number(7)},
					{Name: "arrival_mode", Value: msg.Text("walk in")},
				},
			},
			[...]msg.Value{number(78), msg.Text("F"), number(3), msg.Text("A"), number(151), number(88), number(
				96), number(18), number(36.8), number(97), msg.Text("chest pain"), msg.Text("walk in")},
		},
		"none": {msg.Note{}, [len(auxNames)]msg.Value{}},
		"zero": {msg.Note{Age: msg.Some(0)}, [...]msg.Value{0: number(0), 11: {}}},
	} {
		c.note.Text = "hip"
		var p msg.Prediction
		if err := s.Score(&c.note, scoredAt, &p); err != nil {
			t.Fatal(err)
		}
		for i, a := range p.Aux {
			if a.Name != auxNames[i] || a.Value != c.want[i] {
				t.Errorf("%s: %s is %v, want %v", name, a.Name, a.Value, c.want[i])
			}
			if got := Value(&c.note, a.Name); got != a.Value {
				t.Errorf("%s: Value of %s is %v", name, a.Name, got)
			}
		}
	}
}

func TestLoadErrors(t *testing.T) {
	t.Parallel()
	if _, err := Load(t.Context(), models.OpenDir(filepath.Join(t.TempDir(), "none")), nil); !errors.Is(err,
		models.ErrNotFound) {
		t.Errorf("no store: %v", err)
	}
	dir := t.TempDir()
	store := models.OpenDir(dir)
	if _, err := Load(t.Context(), store, nil); !errors.Is(err, ErrNoChampion) {
		t.Errorf("no models: %v", err)
	}
	save(t, store, bundle.Other, 1)
	save(t, store, "cough", 2)
	save(t, store, "fever", 3)
	whole, err := Load(t.Context(), store, nil)
	if err != nil || len(whole.Models) != 3 || len(whole.Versions) != 3 || whole.About["cough"].Created.IsZero() ||
		!whole.About["none"].Created.IsZero() {
		t.Fatalf("%v: %+v", err, whole)
	}
	g, err := store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	without := &models.Generation{Parent: g.Name, CreatedAt: g.CreatedAt, Models: maps.Clone(g.Models)}
	delete(without.Models, "fever")
	if err := store.AddGeneration(t.Context(), without); err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Change{To: without.Name, From: g.Name}); err != nil {
		t.Fatal(err)
	}
	if s, err := Load(t.Context(), store, nil); err != nil || s.model("fever") != s.Models[bundle.Other] {
		t.Errorf("a model that the generation does not name still scores: %v", err)
	}
	// Two champions are damaged: both files are named, and nothing is loaded.
	for model, file := range map[string]string{bundle.Other: "vocabulary.json", "cough": "tensors.safetensors"} {
		path := filepath.Join(dir, model, whole.Versions[model], file)
		if err := os.WriteFile(path, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	s, err := Load(t.Context(), store, nil)
	if s != nil || err == nil {
		t.Fatal("a damaged champion is loaded")
	}
	for _, want := range []string{`model "_other"`, `"vocabulary.json"`, `model "cough"`, `"tensors.safetensors"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error does not name %s: %v", want, err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "champion"), []byte("nonsense"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Load(t.Context(), store, nil); err == nil || !strings.Contains(err.Error(), `file "champion"`) {
		t.Errorf("a damaged pointer: %v", err)
	}
}

// TestLoadRefusesUnusableModel: the files are sound, but no scorer can come of them.
func TestLoadRefusesUnusableModel(t *testing.T) {
	t.Parallel()
	store := models.OpenDir(t.TempDir())
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{
			Name: "cough", CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC),
			Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Text: []byte("{}"),
		},
		Vocabulary: []bundle.Term{{Text: "hip", DF: 1}},
	}
	storetest.Serve(t, store, b)
	if _, err := Load(t.Context(), store, nil); err == nil ||
		!strings.Contains(err.Error(), `model "cough", version "`+b.Version+`"`) {
		t.Errorf("got %v", err)
	}
}

// TestLoadReadsOnlyWhatChanged: a version that is in use is taken from there, and a set has one generation.
func TestLoadReadsOnlyWhatChanged(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store := models.OpenDir(dir)
	save(t, store, bundle.Other, 1)
	save(t, store, "cough", 2)
	fit, err := store.SaveBeds(t.Context(), time.Now(), []byte("{}"))
	if err != nil {
		t.Fatal(err)
	}
	champion, err := store.Champion(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	g := &models.Generation{CreatedAt: champion.CreatedAt, Models: champion.Models, Beds: fit}
	if err := store.AddGeneration(t.Context(), g); err != nil {
		t.Fatal(err)
	}
	if err := store.Promote(t.Context(), models.Change{To: g.Name, From: champion.Name}); err != nil {
		t.Fatal(err)
	}
	first, err := Load(t.Context(), store, nil)
	if err != nil || first.Beds != fit {
		t.Fatalf("%+v, %v", first, err)
	}
	if same, err := Load(t.Context(), store, first); err != nil || same != first {
		t.Errorf("the same generation is loaded again: %v", err)
	}
	save(t, store, "cough", 3)
	// The version in use is damaged on the disk, which nobody reads again.
	path := filepath.Join(dir, bundle.Other, first.Versions[bundle.Other], "card.md")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte("damaged"), 0o600); err != nil {
		t.Fatal(err)
	}
	second, err := Load(t.Context(), store, first)
	if err != nil || second.Models[bundle.Other] != first.Models[bundle.Other] ||
		second.Models["cough"] == first.Models["cough"] || second.Generation == first.Generation {
		t.Fatalf("%v: %+v", err, second)
	}
	if _, err := Load(t.Context(), store, nil); err == nil {
		t.Error("a damaged version is loaded")
	}
	if err := os.WriteFile(path, whole, 0o600); err != nil {
		t.Fatal(err)
	}
	fresh, err := Load(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	if fresh.Generation != second.Generation || !maps.Equal(fresh.Versions, second.Versions) ||
		!maps.EqualFunc(fresh.About, second.About, func(a, b About) bool { return a.Created.Equal(b.Created) }) {
		t.Errorf("got %+v, want %+v", second, fresh)
	}
}

// counting is a bucket that notes which files are read.
type counting struct {
	models.Bucket
	read []string
}

func (c *counting) Read(ctx context.Context, name string, limit int64) ([]byte, error) {
	c.read = append(c.read, name)
	return c.Bucket.Read(ctx, name, limit)
}

// TestReloadReads counts what is read of three champions: nothing of them while they stay, and all of the one that
// changes.
func TestReloadReads(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	store, bucket := models.OpenDir(dir), &counting{Bucket: models.Dir(dir)}
	for i, name := range []string{bundle.Other, "cough", "fall"} {
		save(t, store, name, float64(i+1))
	}
	counted := models.New(bucket)
	running, err := Load(t.Context(), counted, nil)
	if err != nil {
		t.Fatal(err)
	}
	load := func() (of map[string]int) {
		bucket.read, of = nil, map[string]int{}
		if running, err = Load(t.Context(), counted, running); err != nil {
			t.Fatal(err)
		}
		for _, name := range bucket.read {
			folder, _, _ := strings.Cut(name, "/")
			of[folder]++
		}
		return of
	}
	if of := load(); of[bundle.Other]+of["cough"]+of["fall"] > 0 {
		t.Errorf("read of models that stay: %v", bucket.read)
	}
	save(t, store, "cough", 9)
	if of := load(); of[bundle.Other]+of["fall"] > 0 || of["cough"] == 0 {
		t.Errorf("read where one of three changed: %v", bucket.read)
	}
	for _, name := range bucket.read {
		if strings.HasPrefix(name, "cough/") && !strings.HasPrefix(name, "cough/"+running.Versions["cough"]+"/") {
			t.Errorf("read %s, which is not of the new version", name)
		}
	}
}
