// Package sample is what the demo and the benchmarks share: models trained on generated notes, notes sent at a rate,
// and reading the answers.
package sample

import (
	"context"
	"fmt"
	"time"

	"github.com/wardcast/wardcast/internal/lab/synth"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/train"
)

// Aux returns the auxiliary features of generated notes.
func Aux() []train.Aux {
	return []train.Aux{
		{Name: "age", Kind: models.Numeric},
		{Name: "sex", Kind: models.Categorical},
		{Name: "acuity", Kind: models.Numeric},
		{Name: "vitals.hr", Kind: models.Numeric},
		{Name: "vitals.spo2", Kind: models.Numeric},
	}
}

// Rows returns the first n notes of the generator in the form that training reads.
func Rows(g *synth.Generator, n int) ([]train.Row, error) {
	rows := make([]train.Row, 0, n)
	for i := range n {
		n := g.At(i)
		arrived, err := time.Parse(time.RFC3339, n.ArrivedAt)
		if err != nil {
			return nil, fmt.Errorf("reading a generated note: %w", err)
		}
		row := train.Row{Visit: n.VisitID, Complaint: n.Complaint, Text: n.Text, Arrived: arrived, Positive: n.Admitted}
		for _, a := range Aux() {
			row.Aux = append(row.Aux, scoring.Value(&n.Note, a.Name))
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// Notes is how many generated notes Train trains on.
const Notes = 6000

// Train trains with default settings on the first notes of the generator, saves the models in the store and promotes
// them. progress may be nil.
func Train(ctx context.Context, g *synth.Generator, store *models.Store, progress train.Progress) (*train.Trained, error) {
	rows, err := Rows(g, Notes)
	if err != nil {
		return nil, err
	}
	trained, err := train.Train(ctx, train.Data{Rows: rows, Aux: Aux()}, train.Default(), train.Job{Created: time.Now().UTC().Truncate(time.Second), Version: "sample", Progress: progress})
	if err != nil {
		return nil, err
	}
	return trained, trained.Save(ctx, store, "sample")
}
