package train

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// hourly returns so many notes an hour apart, of which every second is an admission.
func hourly(n int) Data {
	begin := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	d := Data{Rows: make([]Row, n)}
	for i := range d.Rows {
		d.Rows[i] = Row{Arrived: begin.Add(time.Duration(i) * time.Hour), Positive: i%2 == 0}
	}
	return d
}

// TestHoldLatest: the latest fifth is held out where all arrivals are known and both parts are large enough.
func TestHoldLatest(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		n      int
		change func(d *Data)
		want   bool
	}{
		"enough":                   {1000, func(*Data) {}, true},
		"too few to judge by":      {990, func(*Data) {}, false},
		"one arrival is unknown":   {1000, func(d *Data) { d.Rows[3].Arrived = time.Time{} }, false},
		"no notes":                 {0, func(*Data) {}, false},
		"one outcome before":       {1000, func(d *Data) { setOutcomes(d.Rows[:800]) }, false},
		"one outcome in the fifth": {1000, func(d *Data) { setOutcomes(d.Rows[800:]) }, false},
		"everybody comes again": {1000, func(d *Data) {
			for i := range d.Rows {
				d.Rows[i].Patient = string(rune('a' + i%7))
			}
		}, false},
	} {
		d := hourly(c.n)
		c.change(&d)
		d.HoldLatest()
		if d.Latest.IsZero() == c.want || c.want && !d.Latest.Equal(d.Rows[800].Arrived) {
			t.Errorf("%s: held from %v", name, d.Latest)
		}
	}
}

func setOutcomes(rows []Row) {
	for i := range rows {
		rows[i].Positive = false
	}
}

// TestFoldsOfTheLatest: the last part holds whoever came in the latest fifth, with earlier notes of theirs, and nobody
// else; the others are dealt as ever.
func TestFoldsOfTheLatest(t *testing.T) {
	t.Parallel()
	d := hourly(1000)
	d.Rows[0].Patient, d.Rows[900].Patient = "again", "again"
	d.HoldLatest()
	s := small()
	of, err := bareRows(d).folds(&s)
	if err != nil {
		t.Fatal(err)
	}
	for i, fold := range of {
		if late := i >= 800 || i == 0; late != (fold == s.Folds-1) {
			t.Fatalf("note %d is in part %d", i, fold)
		}
	}
	if got := slices.Max(of) + 1; got != s.Folds {
		t.Errorf("%d parts", got)
	}
	early := d.subset(from(d.Rows[:700], d.Rows[0].Arrived))
	if of, err = bareRows(early).folds(&s); err != nil {
		t.Fatal(err)
	}
	want, err := eval.StratifiedFolds(early.labels(), patients(early.Rows), s.Folds, s.Seed)
	if err != nil || !slices.Equal(of, want) {
		t.Errorf("notes without any of the latest are dealt otherwise, error %v", err)
	}
	// A complaint that is new, or had one outcome before, has ordinary folds; so have two folds with one outcome after.
	for name, c := range map[string]struct {
		folds  int
		change func(d *Data)
	}{
		"new":         {5, func(d *Data) { d.Rows = d.Rows[799:] }},
		"one-sided":   {5, func(d *Data) { setOutcomes(d.Rows[:799]) }},
		"one outcome": {2, func(d *Data) { setOutcomes(d.Rows[800:]) }},
	} {
		g := d.subset(from(d.Rows, d.Rows[0].Arrived))
		c.change(&g)
		s.Folds = c.folds
		want, err := eval.StratifiedFolds(g.labels(), patients(g.Rows), s.Folds, s.Seed)
		if of, failed := bareRows(g).folds(&s); err != nil || failed != nil || !slices.Equal(of, want) {
			t.Errorf("%s: other folds, error %v, %v", name, err, failed)
		}
	}
	s.Folds = 2
	if of, err = bareRows(d).folds(&s); err != nil || slices.Max(of) != 1 || of[799] != 0 || of[800] != 1 {
		t.Errorf("two folds are others than the earlier and the later notes, error %v", err)
	}
}

// TestChoiceThatFails: a sample of one outcome leaves the penalties as they are.
func TestChoiceThatFails(t *testing.T) {
	t.Parallel()
	d := hourly(2 * choiceRows)
	for i := range d.Rows {
		d.Rows[i].Text, d.Rows[i].Positive = "fever", i%2 == 1
	}
	s := small()
	s.Method, s.Pieces, s.Text.NGrams, s.Text.MaxDF = BagOfWords, false, 0, 1
	got, err := readTexts(t.Context(), bareRows(d), s)
	if err != nil || got.plain {
		t.Errorf("plain %v, error %v", got != nil && got.plain, err)
	}
}

// TestFirstModelIsJudgedOnTheLatest: the gate and the reports of a first training see the latest fifth alone, predicted
// without them; card, item 24 and evaluation have the same verdict; the card of all counts each note at the threshold
// of the model that scores it, and names the models.
func TestFirstModelIsJudgedOnTheLatest(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 2400)
	d := Data{Rows: rows, Aux: auxColumns()}
	d.HoldLatest()
	if d.Latest.IsZero() {
		t.Fatal("nothing is held out")
	}
	s := smaller()
	s.PerComplaint, s.MinDocuments = Always, 250
	trained, err := Train(t.Context(), d, s, job())
	if err != nil {
		t.Fatal(err)
	}
	if len(trained.Bundles) < 2 {
		t.Fatal("no complaint has a model of its own")
	}
	held := from(rows, d.Latest)
	store := models.OpenDir(t.TempDir())
	e, err := enter(t, store, Candidate{
		Trained: trained, Notes: d, Probabilities: trained.OutOfFold,
		About: report.Data{Sources: []string{"notes.csv"}},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if n := e.Verdict.Figures.Challenger.N; n != len(held) || e.Verdict.Decision != gate.Promote {
		t.Errorf("judged on %d notes, want %d: %s", n, len(held), e.Verdict.Reason)
	}
	thresholds := map[string]float64{}
	for _, b := range trained.Bundles {
		thresholds[b.Manifest.Name] = b.Manifest.Threshold
	}
	found, admitted := 0, 0
	for _, i := range held {
		threshold, own := thresholds[bundle.Slug(rows[i].Complaint)]
		if !own {
			threshold = thresholds[bundle.Other]
		}
		if rows[i].Positive {
			admitted++
			if trained.OutOfFold[i] >= threshold {
				found++
			}
		}
	}
	for _, b := range trained.Bundles {
		var r report.Report
		if err := json.Unmarshal(b.Report, &r); err != nil {
			t.Fatal(err)
		}
		at := slices.IndexFunc(r.Items, func(i report.Item) bool { return i.Number == "24" })
		verdict := string(e.Verdict.Decision) + ": " + e.Verdict.Reason
		if r.Items[at].Answer != verdict || !strings.Contains(b.Card, "**Verdict of the gate**: "+verdict) ||
			!strings.Contains(string(b.Evaluation), `"verdict"`) {
			t.Errorf("%s: item 24 says %q, want %q", b.Manifest.Name, r.Items[at].Answer, verdict)
		}
		if b.Manifest.Name != bundle.Other {
			if r.System != nil {
				t.Errorf("%s: its report is about all models", b.Manifest.Name)
			}
			continue
		}
		if r.Kind != report.Latest || r.Metrics.N != len(held) || r.Data.Sources == nil ||
			r.Thresholds[0].Sensitivity.Value != float64(found)/float64(admitted) {
			t.Errorf("%s on %d notes, sensitivity %+v, want %d of %d", r.Kind, r.Metrics.N, r.Thresholds[0].Sensitivity,
				found, admitted)
		}
		if own := r.System.Own; len(own) != len(trained.Bundles)-1 || slices.Contains(own, bundle.Other) {
			t.Errorf("models %q", own)
		}
	}
}

// TestCorrectionsFollowTheChoice: a manifest says how its words were penalized, and a correction has the same penalties
// as the model that it corrects.
func TestCorrectionsFollowTheChoice(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 600)
	d := Data{Rows: split(rows), Aux: auxColumns()}
	s := smaller()
	s.PerComplaint = Always
	pooled, err := newTraining(d, s, job()).trainPooled(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{bundle.ByRatio, bundle.Plain} {
		pooled.model.Manifest.Head = json.RawMessage(`{"penalties":"` + want + `"}`)
		own := newTraining(d, s, job())
		if err := own.trainOwn(t.Context(), pooled); err != nil || len(own.out.Bundles) == 0 {
			t.Fatalf("%d models, error %v", len(own.out.Bundles), err)
		}
		m := &own.out.Bundles[0].Manifest
		if got := m.Penalties(); got != want || !strings.Contains(own.out.Bundles[0].Card, "with "+want+" penalties") {
			t.Errorf("penalties %q of a correction, want %q", got, want)
		}
	}
}
