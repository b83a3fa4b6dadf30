package retrain

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models/report"
	"github.com/wardcast/wardcast/models/rounds"
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
	Rounds   *rounds.Coordinator // of the shards that share the training; nil trains here
	Logger   *slog.Logger        // nil is silent
}

// Result is what one retraining did. If there were too few notes, Counts alone is set and the error is a *TooFewError.
type Result struct {
	Counts    Counts
	Promotion *train.Promotion
	Trained   *train.Trained
	Beds      *BedsFit // nil without Trained
}

// Run replays the past, trains on its earlier part and lets the gate judge on its later part. Nothing changes in the
// store before the models are trained; stopped later, the store serves the old generation or the whole new one. Run
// again, it starts anew. The fit of beds belongs to the trained generation: it is used if that is served.
func (j *Job) Run(ctx context.Context) (*Result, error) {
	if err := j.Gatekeeper.Begin(ctx); err != nil {
		return nil, err
	}
	past, err := Collect(ctx, j.Source, j.Settings)
	if err != nil {
		r := &Result{}
		if past != nil {
			r.Counts = past.Counts
		}
		return r, err
	}
	r := &Result{Counts: past.Counts}
	aux, rows := answered(j.Settings.Aux, past.Rows)
	training := train.Data{Rows: lists.Take(rows, past.Split.Train), Aux: aux, Intake: j.Settings.Intake, Pooled: true}
	training.Rounds = j.Rounds
	judged := train.Data{Rows: lists.Take(rows, past.Split.Test), Aux: aux, Intake: j.Settings.Intake, Pooled: true}
	j.Gatekeeper.Created = time.Now().UTC().Truncate(time.Second)
	fit := train.Job{
		Created: j.Gatekeeper.Created, Version: j.Version, Progress: j.Progress, Previous: j.Previous, Site: j.Site,
		About: r.Counts.about(j.Source.Names()),
	}
	if r.Trained, err = train.Train(ctx, training, j.Fit, fit); err != nil {
		return r, err
	}
	p, err := r.Trained.Probabilities(judged)
	if err != nil {
		return r, err
	}
	if r.Beds, err = j.fitBeds(ctx, past, aux, rows, r.Trained); err != nil {
		return r, err
	}
	r.Trained.Beds = r.Beds.Version
	r.Promotion, err = j.Gatekeeper.Promote(ctx, train.Candidate{
		Trained: r.Trained, Notes: judged, Probabilities: p, Later: true,
		About: fit.About,
	})
	return r, err
}

func (j *Job) logger() *slog.Logger { return cmp.Or(j.Logger, slog.New(slog.DiscardHandler)) }

// answered returns the auxiliary features that some row has a value of, and the rows with these alone.
func answered(aux []train.Aux, rows []train.Row) ([]train.Aux, []train.Row) {
	var kept []int
	var names []train.Aux
	for a := range aux {
		if slices.ContainsFunc(rows, func(r train.Row) bool { return r.Aux[a] != msg.Value{} }) {
			kept, names = append(kept, a), append(names, aux[a])
		}
	}
	if len(kept) == len(aux) {
		return aux, rows
	}
	rows = slices.Clone(rows)
	for i := range rows {
		rows[i].Aux = lists.Take(rows[i].Aux, kept)
	}
	return names, rows
}

// Defaults of Settings.
const (
	DefaultWindow = 365 * 24 * time.Hour // a year: each season once
	// DefaultMinDocuments and DefaultMinEvents are the least numbers of notes to train on, and of each outcome among
	// them. Fewer than 50 admissions make coefficients that the next night contradicts.
	DefaultMinDocuments = 200
	DefaultMinEvents    = 50
	DefaultJudged       = 0.25 // the share of the notes, the latest ones, on which the result is judged
)

// recordedSlack is how much earlier than its arrival, by the broker's clock, a note may have been recorded.
const recordedSlack = 24 * time.Hour

// ErrSettings is wrapped by the errors about Settings.
var ErrSettings = errors.New("bad settings")

// Settings say which notes and labels count. The zero value is the default.
type Settings struct {
	// AsOf is the cut-off: later arrivals are left out, and outcomes recorded later are unknown. An outcome without a
	// time of recording counts from its decision. Zero is the time of the newest outcome that is not in the future.
	AsOf   time.Time
	Window time.Duration // how long before the cut-off patients may have arrived; 0 is DefaultWindow
	// Admission are the dispositions that count as admitted, msg.Admitted alone if empty: the model predicts that a bed
	// is needed here. A patient who is transferred, dies in the department or leaves needs none.
	Admission               []msg.Disposition
	Aux                     []train.Aux    // the auxiliary features, each named as the note's field
	Intake                  *intake.Intake // which values of a note count; nil is intake.Standard
	MinDocuments, MinEvents int            // bound the notes to train on from below; 0 is the default
	Judged                  float64        // the share of the latest notes that are judged on; 0 is DefaultJudged
}

// DefaultFit is train.Default from the champion's topics; docs/retraining.md has figures for why.
func DefaultFit() train.Settings {
	s := train.Default()
	s.WarmStart = true
	return s
}

// Check returns an error that wraps ErrSettings if the settings are out of range.
func (s *Settings) Check() error {
	_, err := s.withDefaults()
	return err
}

// withDefaults returns the settings with the defaults filled in, or what is wrong with them.
func (s Settings) withDefaults() (Settings, error) {
	bad := func(format string, args ...any) (Settings, error) {
		return s, fmt.Errorf("%w: "+format, append([]any{ErrSettings}, args...)...)
	}
	s.Window, s.Judged = cmp.Or(s.Window, DefaultWindow), cmp.Or(s.Judged, DefaultJudged)
	s.MinDocuments, s.MinEvents = cmp.Or(s.MinDocuments, DefaultMinDocuments), cmp.Or(s.MinEvents, DefaultMinEvents)
	if s.Intake == nil {
		s.Intake = intake.Standard()
	}
	if len(s.Admission) == 0 {
		s.Admission = []msg.Disposition{msg.Admitted}
	}
	if s.Window < 0 || s.MinDocuments < 0 || s.MinEvents < 0 {
		return bad("the window and the least numbers of notes must be positive")
	}
	if !(s.Judged > 0 && s.Judged < 1) {
		return bad("the share of judged notes, %v, is not between 0 and 1", s.Judged)
	}
	if err := msg.CheckAdmission(s.Admission); err != nil {
		return bad("%w", err)
	}
	var n msg.Note
	for _, a := range s.Aux {
		if n.Number(a.Name) == nil && n.Word(a.Name) == nil {
			return bad("a note has no field %q for an auxiliary column", a.Name)
		}
	}
	return s, nil
}
