package scoring_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/textproc"
)

// store returns a store with one model of all complaints, which knows the word "hip".
func store(ctx context.Context, dir string) (*models.Store, error) {
	v, err := textproc.New(textproc.DefaultSettings(), []textproc.Term{{Text: "hip", DF: 1}}, []float64{1})
	if err != nil {
		return nil, err
	}
	parts := classifier.Parts{
		Vectorizer: v, Heads: []classifier.Head{{Words: []float64{2}}},
		Calibration: bundle.Calibration{Kind: bundle.Uncalibrated}, Threshold: 0.5,
	}
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest: bundle.Manifest{Name: bundle.Other, CreatedAt: time.Date(2026, 11, 20, 2, 0, 0, 0, time.UTC)},
	}
	if err := parts.ToBundle(b); err != nil {
		return nil, err
	}
	s := models.OpenDir(dir)
	version, err := s.Save(ctx, b)
	if err != nil {
		return nil, err
	}
	g := &models.Generation{CreatedAt: b.Manifest.CreatedAt, By: "train", Models: map[string]models.Member{
		bundle.Other: {Version: version},
	}}
	if err := s.AddGeneration(ctx, g); err != nil {
		return nil, err
	}
	return s, s.Promote(ctx, models.Change{To: g.Name, By: "train"})
}

func ExampleSet() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "scoring")
	if err != nil {
		panic(err)
	}
	defer func() { _ = os.RemoveAll(dir) }()
	champions, err := store(ctx, dir)
	if err != nil {
		panic(err)
	}
	set, err := scoring.Load(ctx, champions, nil)
	if err != nil {
		panic(err)
	}

	// One note, as a stream's worker answers it.
	var p msg.Prediction
	note := msg.Note{VisitID: "V1", Complaint: "Lower Extremity Injury", Text: "L hip rotated"}
	if err := set.Scorer(classifier.Options{}).Score(&note, "2026-11-20T08:01:03.000Z", &p); err != nil {
		panic(err)
	}
	fmt.Printf("%s %s %.2f by %s\n", p.VisitID, p.Decision, p.Probability, p.Model.Name)

	// Many notes, as the command line answers them.
	in := strings.NewReader("\n" + `{"schema_version":"1","visit_id":"V2"}`)
	counts, err := set.Predict(ctx, classifier.Options{}, scoring.Batch{Lines: in, Out: os.Stdout})
	fmt.Printf("%+v %v\n", counts, err)
	// Output:
	// V1 admit 0.88 by _other
	// {"line":2,"error":{"code":"missing_field","detail":"a required field is missing: text"}}
	// {Scored:0 Refused:1 Blank:1 Line:2 Why:missing_field: a required field is missing: text} <nil>
}
