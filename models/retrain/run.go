package retrain

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/folds"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/train"
)

// Job is one retraining.
type Job struct {
	Source     Source
	Settings   Settings
	Fit        train.Settings
	Gatekeeper train.Gatekeeper
	Version    string       // of the program
	Site       *report.Site // may be nil
	// Previous returns the champion of a model, with whose topics the new ones are aligned; nil without one.
	Previous func(ctx context.Context, model string) (*bundle.Bundle, error)
	Progress train.Progress // of the fit; may be nil
	Beds     Beds
	Shard    Shard        // the zero value makes all models
	Logger   *slog.Logger // nil is silent
}

// Result is what one retraining did. If there were too few notes, Counts alone is set and the error is a *TooFewError.
type Result struct {
	Counts    Counts
	Promotion *train.Promotion
	Trained   *train.Trained
	Beds      *BedsFit // nil without Trained
	// Missing are the unfinished shards. With any, or if Joined (an earlier run joined them), Trained is nil.
	Missing []Shard
	Joined  bool
}

// Run replays the past, trains on its earlier part and lets the gate judge on its later part. Nothing changes in the
// store before the models are trained; stopped later, the store serves the old generation or the whole new one. Run
// again, it starts anew. The fit of beds is saved before the gate, whatever that decides.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	if err := j.Gatekeeper.Begin(ctx); err != nil {
		return nil, err
	}
	source, err := j.source(ctx)
	if err != nil {
		return nil, err
	}
	past, err := Collect(ctx, source, j.Settings)
	if err != nil {
		r := &Result{}
		if past != nil {
			r.Counts = past.Counts
		}
		return r, err
	}
	r := &Result{Counts: past.Counts}
	aux, rows := answered(j.Settings.Aux, past.Rows)
	training := train.Data{Rows: folds.Take(rows, past.Split.Train), Aux: aux, Intake: j.Settings.Intake, Pooled: true}
	judged := train.Data{Rows: folds.Take(rows, past.Split.Test), Aux: aux, Intake: j.Settings.Intake, Pooled: true}
	j.Gatekeeper.Created = time.Now().UTC().Truncate(time.Second)
	fit := train.Job{
		Created: j.Gatekeeper.Created, Version: j.Version, Progress: j.Progress, Previous: j.Previous, Site: j.Site,
		About: r.Counts.about(j.Source.Names()),
	}
	if j.Shard == (Shard{}) {
		r.Trained, err = train.Train(ctx, training, j.Fit, fit)
	} else {
		r.Trained, r.Missing, r.Joined, err = j.sharded(ctx, training, fit, r.Counts.AsOf)
	}
	if err != nil || r.Trained == nil {
		return r, err
	}
	p, err := r.Trained.Probabilities(judged)
	if err != nil {
		return r, err
	}
	if r.Beds, err = j.fitBeds(ctx, past, aux, rows, r.Trained); err != nil {
		return r, err
	}
	r.Promotion, err = j.Gatekeeper.Promote(ctx, train.Candidate{
		Trained: r.Trained, Notes: judged, Probabilities: p, Later: true,
		About: fit.About,
	})
	if errors.Is(err, models.ErrConflict) && j.Shard != (Shard{}) {
		// Of two last shards that join all parts at once, one comes too late.
		if now, failed := j.round(training, r.Counts.AsOf); failed == nil {
			if joined, failed := j.joined(ctx, now); failed == nil && joined {
				return &Result{Counts: r.Counts, Joined: true}, nil
			}
		}
	}
	return r, err
}

func (j *Job) logger() *slog.Logger { return cmp.Or(j.Logger, slog.New(slog.DiscardHandler)) }

// answered returns the auxiliary features that some row has a value of, and the rows with these alone.
func answered(aux []train.Aux, rows []train.Row) ([]train.Aux, []train.Row) {
	var kept []int
	var names []train.Aux
	for a := range aux {
		if slices.ContainsFunc(rows, func(r train.Row) bool {
			_, number := r.Aux[a].Number()
			_, text := r.Aux[a].Text()
			return number || text
		}) {
			kept, names = append(kept, a), append(names, aux[a])
		}
	}
	if len(kept) == len(aux) {
		return aux, rows
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Aux = folds.Take(rows[i].Aux, kept)
	}
	return names, rows
}
