// Package sample trains models on generated notes, for the demo and the benchmarks.
package sample

import (
	"context"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/internal/scoring"
	"github.com/wardcast/wardcast/internal/synth"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/fit"
)

// Aux is the auxiliary columns of generated notes.
func Aux() []notes.Aux {
	return []notes.Aux{
		{Column: "age", Kind: models.Numeric, Name: "age"}, {Column: "sex", Kind: models.Categorical, Name: "sex"}, {Column: "acuity", Kind: models.Numeric, Name: "acuity"},
		{Column: "vitals.hr", Kind: models.Numeric, Name: "vitals.hr"}, {Column: "vitals.spo2", Kind: models.Numeric, Name: "vitals.spo2"},
	}
}

// Table returns notes from to to−1 of the generator as training reads them.
func Table(g *synth.Generator, from, to int) (*notes.Table, error) {
	t := &notes.Table{}
	for i := from; i < to; i++ {
		n := g.At(i)
		arrived, err := time.Parse(time.RFC3339, n.ArrivedAt)
		if err != nil {
			return nil, fmt.Errorf("reading a generated note: %w", err)
		}
		row := notes.Row{Visit: n.VisitID, Complaint: n.Complaint, Text: n.Text, Arrived: arrived, Positive: n.Admitted}
		for _, a := range Aux() {
			row.Aux = append(row.Aux, scoring.Value(&n.Note, a.Name))
		}
		t.Rows = append(t.Rows, row)
	}
	return t, nil
}

// Train trains on the first n notes of the generator, saves the models in the store and promotes them.
func Train(ctx context.Context, g *synth.Generator, n int, s fit.Settings, store models.Store, progress fit.Progress) (*fit.Trained, error) {
	t, err := Table(g, 0, n)
	if err != nil {
		return nil, err
	}
	trained, err := fit.Train(ctx, t, Aux(), s, time.Now().UTC().Truncate(time.Second), "sample", progress)
	if err != nil {
		return nil, err
	}
	return trained, trained.Save(ctx, store, "sample")
}
