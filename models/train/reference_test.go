package train

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
)

// referred returns a training whose versions describe the notes that it learned from.
func referred(t *testing.T, rows []Row, s Settings) *Trained {
	t.Helper()
	out := train(t, rows, s)
	if err := out.Describe(Data{Rows: rows, Aux: auxColumns()}); err != nil {
		t.Fatal(err)
	}
	return out
}

// referenceOf reads the reference of a bundle, nil if it has none.
func referenceOf(t *testing.T, b *bundle.Bundle) *drift.Reference {
	t.Helper()
	var e struct{ Reference *drift.Reference }
	if err := json.Unmarshal(b.Evaluation, &e); err != nil {
		t.Fatal(err)
	}
	return e.Reference
}

// counted counts later notes as the stream does.
func counted(t *testing.T, b *bundle.Bundle, rows []Row) *drift.Reference {
	t.Helper()
	m, err := classifier.Load(b)
	if err != nil {
		t.Fatal(err)
	}
	r, now := newReader(m, &Data{Aux: auxColumns()}), referenceOf(t, b).Empty()
	var p msg.Prediction
	for i := range rows {
		r.scorer.Score(rows[i].Text, r.read(&rows[i]), &p)
		note := r.scorer.Reading(&p)
		now.Add(&note)
	}
	return now
}

// TestReference: later notes of the same kind look as in training; notes of another hospital do not.
func TestReference(t *testing.T) {
	long(t)
	t.Parallel()
	rows, _ := generated(t, 0, 1500)
	s := small()
	s.PerComplaint = Never
	b := referred(t, rows, s).Bundles[0]
	ref := referenceOf(t, b)
	if ref == nil || ref.Notes() != 1500 {
		t.Fatalf("the reference is %+v, want one of all notes", ref)
	}
	if err := ref.Check(s.Rank, []string{"sex", bundle.ComplaintColumn}); err != nil {
		t.Error(err)
	}
	if n := len(ref.Added); n != s.Rank+2 || ref.Added[0].Sum <= 0 || ref.Added[n-1].Most <= 0 {
		t.Errorf("topics and words added %+v to the notes", ref.Added)
	}
	later, _ := generated(t, 5000, 6500)
	same := counted(t, b, later)
	shifts, err := same.Against(ref)
	if err != nil {
		t.Fatal(err)
	}
	// Chance alone exceeds four times the mean of a chi-square of ten degrees once in 30,000 times.
	if shifts.Scores.PSI > 4*shifts.Scores.Expected || shifts.Topics.PSI > 4*shifts.Topics.Expected {
		t.Errorf("notes of the same kind: %+v", shifts)
	}
	if math.Abs(same.Known.Share()-ref.Known.Share()) > 0.03 {
		t.Errorf("share of known terms %v, %v in training", same.Known.Share(), ref.Known.Share())
	}
	if same.Levels[0].Unknown.Share() > ref.Levels[0].Unknown.Share()+0.01 {
		t.Errorf("levels %+v, %+v in training", same.Levels, ref.Levels)
	}

	for i := range later {
		later[i].Text = "ankle injury " + strings.Repeat("xyzzy ", 5)
		later[i].Aux[1] = msg.Text("weiblich")
	}
	other := counted(t, b, later)
	if shifts, err = other.Against(ref); err != nil || shifts.Scores.PSI < 6*shifts.Scores.Expected ||
		shifts.Topics.PSI < 0.25 {
		t.Errorf("other notes: %+v, %v", shifts, err)
	}
	if other.Known.Share() > ref.Known.Share()-0.1 || other.Levels[0].Unknown.Share() != 1 {
		t.Errorf("other notes: known %v, levels %+v", other.Known.Share(), other.Levels)
	}
}

// TestReferenceIsOfWhatIsServed: the model of all complaints is compared with the notes that it will score, those of
// complaints without a model of their own.
func TestReferenceIsOfWhatIsServed(t *testing.T) {
	long(t)
	t.Parallel()
	rows, _ := generated(t, 0, 1200)
	s := small()
	s.PerComplaint, s.MinDocuments = Always, 100
	out := referred(t, rows, s)
	all := 0.
	for _, b := range out.Bundles {
		ref := referenceOf(t, b)
		if ref == nil {
			t.Fatalf("%s has no reference", b.Manifest.Name)
		}
		if own := float64(b.Manifest.Training.Documents); (ref.Notes() == own) == (b.Manifest.Name == bundle.Other) {
			t.Errorf("%s: a reference of %v notes, trained on %v", b.Manifest.Name, ref.Notes(), own)
		}
		all += ref.Notes()
	}
	if len(out.Bundles) < 2 || all != 1200 {
		t.Errorf("%d models with references of %v notes together", len(out.Bundles), all)
	}
	s.PerComplaint = Never
	few := train(t, rows, s)
	c := Candidate{
		Trained: few, Notes: Data{Rows: rows[:leastReference-1], Aux: auxColumns()}, Probabilities: few.OutOfFold,
	}
	if err := c.refer(nil); err != nil || referenceOf(t, few.Bundles[0]) != nil {
		t.Errorf("of too few notes: %v, %v", referenceOf(t, few.Bundles[0]), err)
	}
}

// TestRecalibrateReference: after a recalibration the same notes are no drift.
func TestRecalibrateReference(t *testing.T) {
	t.Parallel()
	out := candidate(t, skilled, job().Created)
	if err := out.refer(nil); err != nil {
		t.Fatal(err)
	}
	b := out.Bundles[0]
	before := referenceOf(t, b)
	r := eval.Recalibration{Intercept: -0.7, Slope: 1.3}
	c := *b
	if err := recalibrateReference(&c, r); err != nil {
		t.Fatal(err)
	}
	c.Manifest.Calibration = recalibrated(b.Manifest.Calibration, r)
	later, _ := generated(t, 3000, 3600)
	if d := cmp.Diff(counted(t, b, later).Scores.Counts, counted(t, &c, later).Scores.Counts); d != "" {
		t.Errorf("bins before and after the recalibration:\n%s", d)
	}
	if d := cmp.Diff(before.Scores.Counts, referenceOf(t, &c).Scores.Counts); d != "" {
		t.Error(d)
	}
	err := recalibrateReference(&c, eval.Recalibration{Slope: -1})
	if err != nil || referenceOf(t, &c) != nil || !strings.Contains(string(c.Evaluation), "calibration") {
		t.Errorf("turned round: %s, %v", c.Evaluation, err)
	}
	c.Evaluation = []byte(`{}`)
	if err := recalibrateReference(&c, r); err != nil || string(c.Evaluation) != `{}` {
		t.Errorf("without a reference: %s, %v", c.Evaluation, err)
	}
}
