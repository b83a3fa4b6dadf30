package webtest

import (
	_ "embed"
	"encoding/json"
	"testing"
	"time"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/storetest"
	"github.com/wardcast/wardcast/models/topicindex"
	"github.com/wardcast/wardcast/textproc"
)

// Bundle returns a model that knows "hip" and "pain"; n distinguishes such models.
func Bundle(t testing.TB, n int) *bundle.Bundle {
	t.Helper()
	terms := []textproc.Term{
		{Text: "hip", DF: 1, Surface: []string{"hips"}}, {Text: "pain", DF: 1, Surface: []string{"pain"}},
	}
	v, err := textproc.New(textproc.DefaultSettings(), terms, []float64{1, 1})
	if err != nil {
		t.Fatal(err)
	}
	parts := classifier.Parts{
		Info: msg.Model{Method: "sonmf"}, Vectorizer: v, Topics: mat.NewDense(2, 1, []float64{1, 0.5}),
		Heads:       []classifier.Head{{Beta: []float64{float64(n)}, Words: []float64{0.25, 0}}},
		Calibration: bundle.Calibration{Kind: bundle.Platt, Slope: 1}, Threshold: 0.5, Prevalence: []float64{0.5},
	}
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{
			Name: bundle.Other, CreatedAt: time.Date(2026, 11, 20, 2, 0, n, 0, time.UTC),
			Metrics:  json.RawMessage(`{"auroc":0.8,"auroc_95":{"low":0.7,"high":0.9},"brier":0.1}`),
			Training: bundle.Training{Documents: 6640, Positives: 1992},
		},
		Card: "# Card\n\n- <script>",
		Page: []byte("<!DOCTYPE html><style>p { color: red }</style><p style='color: " +
			"blue'>Report</p><script>alert(1)</script>"),
	}
	if err := parts.ToBundle(b); err != nil {
		t.Fatal(err)
	}
	return b
}

//go:embed prediction.json
var prediction []byte

// Prediction returns a prediction for Note.
func Prediction() *msg.Prediction {
	p := &msg.Prediction{VisitID: Secret}
	_ = json.Unmarshal(prediction, p) // what it lacks, the tests of pages miss
	return p
}

// Note returns a note that holds a name and an element of HTML.
func Note() *msg.Note {
	return &msg.Note{
		VisitID: Secret, Complaint: "Lower Extremity Injury", Text: "78F glf <b> …, unable, denies LOC " + Secret,
		Age: msg.Some(78), Sex: "F", Acuity: msg.Some(3),
		Vitals: msg.Vitals{SBP: msg.Some(88), DBP: msg.Some(51), SpO2: msg.Some(97), TempC: msg.Some(36.8)},
	}
}

// Store returns a store of two generations with the first served, the name of the second, and the first's models.
func Store(t testing.TB) (store *models.Store, newest string, set *scoring.Set) {
	t.Helper()
	store = models.OpenDir(t.TempDir())
	storetest.Serve(t, store, Bundle(t, 1))
	newest = storetest.Add(t, store, Bundle(t, 2)).Name
	set, err := scoring.Load(t.Context(), store, nil)
	if err != nil {
		t.Fatal(err)
	}
	return store, newest, set
}

// Topics returns the index of a store.
func Topics(t testing.TB, store *models.Store) *topicindex.Index {
	t.Helper()
	topics := topicindex.New(topicindex.Config{Store: store, Folder: t.TempDir()})
	t.Cleanup(func() {
		if err := topics.Close(); err != nil {
			t.Error(err)
		}
	})
	if err := topics.Refresh(t.Context()); err != nil {
		t.Fatal(err)
	}
	return topics
}
