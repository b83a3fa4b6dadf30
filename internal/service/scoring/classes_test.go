package scoring

import (
	"errors"
	"math"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/models"
)

// several puts a model of the classes home, ward and one of its own into the store as the champion.
func several(tb testing.TB, store *models.Store, name, class string) {
	tb.Helper()
	keep(tb, store, name, classifier.Parts{
		Info: msg.Model{Method: "smf-w"}, Vectorizer: vectorizer(tb), Topics: mat.NewDense(2, 1, []float64{1, 0.5}),
		Heads:   []classifier.Head{{Beta: []float64{1}, Intercept: -0.5}, {Beta: []float64{-2}, Intercept: 0.25}},
		Classes: []string{"home", "ward", class}, Admission: []bool{false, true, true},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Threshold: 0.5,
	})
}

// classSet loads a store with a yes/no model of all complaints and two models of several outcomes.
func classSet(tb testing.TB) *Set {
	tb.Helper()
	store := models.OpenDir(tb.TempDir())
	save(tb, store, bundle.Other, 1)
	several(tb, store, "chest-pain", "ICU")
	several(tb, store, "fall", "rehab")
	s, err := Load(tb.Context(), store, nil)
	if err != nil {
		tb.Fatal(err)
	}
	return s
}

func TestCheckClass(t *testing.T) {
	t.Parallel()
	set := classSet(t)
	for _, class := range []string{"", "home", "ward", "ICU", "rehab"} {
		if err := set.CheckClass(class); err != nil {
			t.Errorf("%q: %v", class, err)
		}
	}
	if err := set.CheckClass("hme"); !errors.Is(err, ErrClass) || !strings.Contains(err.Error(), `"hme"`) ||
		!strings.Contains(err.Error(), `["home" "ward" "ICU" "rehab"]`) {
		t.Errorf("got %v, want an error that names the classes once each", err)
	}
	yesNo := setOf(t, bundle.Other)
	if err := yesNo.CheckClass("home"); !errors.Is(err, ErrClass) || !strings.Contains(err.Error(), `"home"`) {
		t.Errorf("yes/no models: got %v", err)
	}
	if err := yesNo.CheckClass(""); err != nil {
		t.Errorf("no class asked: %v", err)
	}
}

// TestClassAsked sends notes to models of which one knows the class, one does not, and one predicts yes or no, through
// one prediction.
func TestClassAsked(t *testing.T) {
	t.Parallel()
	s := classSet(t).Scorer(classifier.Options{Class: "ICU"})
	var p msg.Prediction
	for _, c := range []struct{ complaint, class, against string }{
		{"Chest pain", "ICU", "home"},
		{"Fall", "ward", "home"}, // which is the most probable one of this note
		{"Cough", "", ""},
		{"Chest pain", "ICU", "home"},
	} {
		n := msg.Note{VisitID: "V1", Complaint: c.complaint, Text: "hip pain"}
		if err := s.Score(&n, scoredAt, &p); err != nil {
			t.Fatal(err)
		}
		if p.Class != c.class || p.Against != c.against || (len(p.Classes) == 3) != (c.class != "") {
			t.Errorf("%s: %q against %q, of %+v; want %q against %q", c.complaint, p.Class, p.Against, p.Classes,
				c.class, c.against)
		}
		if probability, ok := s.Probability(&n); !ok || math.Abs(probability-p.Admission()) > 1e-9 {
			t.Errorf("%s: probability %v alone, %v in the prediction", c.complaint, probability, p.Admission())
		}
	}
}
