package fit

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/notes"
	"github.com/wardcast/wardcast/models"
)

// Outcome tells of one complaint what its training led to.
type Outcome struct {
	Model     string        `json:"model"`
	Complaint string        `json:"complaint"` // "" for the model of all complaints
	Documents int           `json:"documents"`
	Positives int           `json:"positives"`
	Kept      bool          `json:"kept"` // a model of its own is written
	Why       string        `json:"why"`
	LogLoss   *float64      `json:"log_loss"`        // of its own model, out of fold; null where none was trained
	Pooled    float64       `json:"pooled_log_loss"` // of the model of all complaints on the same notes, out of fold
	Metrics   *eval.Metrics `json:"metrics"`         // out of fold, of the model that will score the complaint
	Version   string        `json:"version,omitempty"`
	Seconds   float64       `json:"seconds"`
}

// Trained is a set of models that score every complaint.
type Trained struct {
	Bundles  []*models.Bundle // the model of all complaints first, then by name
	Outcomes []Outcome        // likewise, every complaint of the table
}

// Job is what a training is told beside data and settings.
type Job struct {
	Created  time.Time // that the manifests bear
	Version  string    // of the program
	Progress Progress  // may be nil
}

// Progress is told how many of the models have been trained. It may be called from several goroutines.
type Progress func(done, total int)

// minClass is the number of notes of the rarer class that a model needs: each fold must hold some.
const minClass = 10

// Train trains the model of all complaints and, by the policy, one for each complaint. Data.Pooled is taken as
// true.
func Train(ctx context.Context, d Data, s Settings, job Job) (*Trained, error) {
	progress := job.Progress
	if progress == nil {
		progress = func(int, int) {}
	}
	d.Pooled = true
	all := d.Rows
	groups := byComplaint(all)
	var candidates []group
	out := &Trained{}
	for _, g := range groups {
		if s.PerComplaint != Never && g.enough(s.MinDocuments) {
			candidates = append(candidates, g)
		}
	}
	progress(0, 1+len(candidates))
	began := time.Now()
	pooled, err := Model(ctx, d, s)
	if err != nil {
		return nil, fmt.Errorf("training the model of all complaints: %w", err)
	}
	first := Outcome{Model: models.Other, Documents: len(all), Positives: positives(all), Kept: true, Why: "scores every complaint without a model of its own", Seconds: time.Since(began).Seconds()}
	if first.Metrics, err = measure(all, pooled.OutOfFold, pooled.Threshold); err != nil {
		return nil, err
	}
	first.LogLoss, first.Pooled = &first.Metrics.LogLoss, first.Metrics.LogLoss
	bundle, err := pooled.bundle(all, first, &s, job)
	if err != nil {
		return nil, err
	}
	out.Bundles, out.Outcomes = append(out.Bundles, bundle), append(out.Outcomes, first)
	progress(1, 1+len(candidates))

	type own struct {
		fitted  *Fitted
		err     error
		seconds float64
	}
	fitted := make([]own, len(candidates))
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	var done atomic.Int64
	for c, g := range candidates {
		workers.Go(func() error {
			began := time.Now()
			f, err := Model(ctx, Data{Rows: take(all, g.rows), Aux: d.Aux}, s)
			fitted[c] = own{f, err, time.Since(began).Seconds()}
			progress(1+int(done.Add(1)), 1+len(candidates))
			return ctx.Err()
		})
	}
	if err := workers.Wait(); err != nil {
		return nil, err
	}
	next := 0
	for _, g := range groups {
		rows := take(all, g.rows)
		o := Outcome{Model: models.Slug(g.complaint), Complaint: g.complaint, Documents: len(rows), Positives: positives(rows)}
		if o.Metrics, err = measure(rows, takeFloats(pooled.OutOfFold, g.rows), pooled.Threshold); err != nil {
			return nil, err
		}
		o.Pooled = o.Metrics.LogLoss
		switch {
		case !g.enough(s.MinDocuments):
			o.Why = fmt.Sprintf("fewer than %d notes, or than %d of one class", s.MinDocuments, minClass)
		case s.PerComplaint == Never:
			o.Why = "the policy is never"
		default:
			f := fitted[next]
			next++
			o.Seconds = f.seconds
			if f.err != nil {
				o.Why = "could not be trained: " + f.err.Error()
				break
			}
			metrics, err := measure(rows, f.fitted.OutOfFold, f.fitted.Threshold)
			if err != nil {
				return nil, err
			}
			o.LogLoss = &metrics.LogLoss
			o.Kept = s.PerComplaint == Always || metrics.LogLoss < o.Pooled
			o.Why = verdict(s.PerComplaint, metrics.LogLoss, o.Pooled)
			if o.Kept {
				o.Metrics = metrics
			}
		}
		if o.Kept {
			bundle, err := fitted[next-1].fitted.bundle(rows, o, &s, job)
			if err != nil {
				return nil, err
			}
			out.Bundles = append(out.Bundles, bundle)
		}
		out.Outcomes = append(out.Outcomes, o)
	}
	return out, nil
}

func verdict(policy Policy, own, pooled float64) string {
	switch {
	case policy == Always:
		return fmt.Sprintf("the policy is always (log loss %+.4f against the model of all complaints)", own-pooled)
	case own < pooled:
		return fmt.Sprintf("its log loss is lower by %.4f than that of the model of all complaints", pooled-own)
	default:
		return fmt.Sprintf("its log loss is not lower than that of the model of all complaints, by %.4f", own-pooled)
	}
}

// group is the notes of one complaint.
type group struct {
	complaint string // as first spelled
	rows      []int
	positives int
}

// enough reports whether the group can have a model of its own.
func (g *group) enough(documents int) bool {
	return len(g.rows) >= documents && g.positives >= minClass && len(g.rows)-g.positives >= minClass
}

// byComplaint returns the groups by the name of their model. Notes without a complaint belong to none.
func byComplaint(all []notes.Row) []group {
	at := map[string]int{}
	var groups []group
	for i := range all {
		name := models.Slug(all[i].Complaint)
		if name == models.Other {
			continue
		}
		g, ok := at[name]
		if !ok {
			g = len(groups)
			at[name] = g
			groups = append(groups, group{complaint: all[i].Complaint})
		}
		groups[g].rows = append(groups[g].rows, i)
		if all[i].Positive {
			groups[g].positives++
		}
	}
	slices.SortFunc(groups, func(a, b group) int {
		return cmp.Compare(models.Slug(a.complaint), models.Slug(b.complaint))
	})
	return groups
}

// Group is the notes of one complaint.
type Group struct {
	Data
	Complaint string
	At        []int // where the rows stand in the table
}

// Groups returns the complaints that have notes enough for a model of their own.
func Groups(d Data, minDocuments int) []Group {
	var out []Group
	for _, g := range byComplaint(d.Rows) {
		if g.enough(minDocuments) {
			out = append(out, Group{Data{Rows: take(d.Rows, g.rows), Aux: d.Aux}, g.complaint, g.rows})
		}
	}
	return out
}

func take(all []notes.Row, at []int) []notes.Row {
	out := make([]notes.Row, len(at))
	for i, r := range at {
		out[i] = all[r]
	}
	return out
}

func takeFloats(all []float64, at []int) []float64 {
	out := make([]float64, len(at))
	for i, r := range at {
		out[i] = all[r]
	}
	return out
}

func labels(all []notes.Row) []bool {
	y := make([]bool, len(all))
	for i := range all {
		y[i] = all[i].Positive
	}
	return y
}

func positives(all []notes.Row) int {
	n := 0
	for i := range all {
		if all[i].Positive {
			n++
		}
	}
	return n
}

// measure returns the metrics of predictions of these rows; its interval takes the notes of a visit as one.
func measure(all []notes.Row, p []float64, threshold float64) (*eval.Metrics, error) {
	visits := make([]string, len(all))
	for i := range all {
		visits[i] = visit(all, i)
	}
	m, err := eval.Measure(labels(all), p, threshold, visits)
	if err != nil {
		return nil, fmt.Errorf("measuring predictions: %w", err)
	}
	return &m, nil
}

// bundle is the version that a store keeps.
func (f *Fitted) bundle(rows []notes.Row, o Outcome, s *Settings, job Job) (*models.Bundle, error) {
	f.Info.Method = string(s.Method)
	b := &models.Bundle{}
	if err := f.ToBundle(b); err != nil {
		return nil, err
	}
	head, err := json.Marshal(struct {
		Settings
		Lambda   float64 `json:"lambda"`
		Features int     `json:"features"`
	}{*s, f.Lambda, f.Features})
	if err != nil {
		return nil, fmt.Errorf("writing settings: %w", err)
	}
	m := &b.Manifest
	m.Name, m.Complaint, m.Seed, m.Head = o.Model, o.Complaint, s.Seed, head
	m.ThresholdRule = string(s.Threshold)
	m.CreatedAt, m.Wardcast = job.Created, job.Version
	m.Training.Documents, m.Training.Positives = len(rows), positives(rows)
	for _, r := range rows {
		if r.Arrived.IsZero() {
			continue
		}
		if m.Training.From.IsZero() || r.Arrived.Before(m.Training.From) {
			m.Training.From = r.Arrived
		}
		if r.Arrived.After(m.Training.To) {
			m.Training.To = r.Arrived
		}
	}
	if m.Metrics, err = json.Marshal(o.Metrics); err != nil {
		return nil, fmt.Errorf("writing metrics: %w", err)
	}
	if f.Solver != nil {
		if m.Solver, err = json.Marshal(struct {
			Status     string  `json:"status"`
			Iterations int     `json:"iterations"`
			Objective  float64 `json:"objective"`
			RelTol     float64 `json:"rel_tol"`
			MaxIter    int     `json:"max_iter"`
		}{f.Solver.Status.String(), f.Solver.Iterations, f.Solver.Objective, solverRelTol, solverMaxIter}); err != nil {
			return nil, fmt.Errorf("writing solver settings: %w", err)
		}
	}
	if b.Evaluation, err = f.evaluation(rows, o.Metrics); err != nil {
		return nil, err
	}
	words := 0
	for _, w := range f.Words {
		if w != 0 {
			words++
		}
	}
	b.Card = card(b, o.Metrics, words)
	return b, nil
}

// decisionThresholds and calibrationBins are what evaluation.json holds curves at.
var decisionThresholds = []float64{.05, .1, .15, .2, .25, .3, .35, .4, .45, .5, .6, .7, .8, .9}

const calibrationBins = 10

// evaluation is what the file of that name says: the metrics, and what the curves of a report are drawn from.
func (f *Fitted) evaluation(rows []notes.Row, metrics *eval.Metrics) (json.RawMessage, error) {
	y := labels(rows)
	curve, err := eval.DecisionCurve(y, f.OutOfFold, decisionThresholds)
	if err != nil {
		return nil, fmt.Errorf("drawing the decision curve: %w", err)
	}
	bins, err := eval.CalibrationBins(y, f.OutOfFold, calibrationBins)
	if err != nil {
		return nil, fmt.Errorf("drawing the calibration: %w", err)
	}
	data, err := json.Marshal(struct {
		OutOfFold     *eval.Metrics     `json:"out_of_fold"`
		DecisionCurve []eval.NetBenefit `json:"decision_curve"`
		Calibration   []eval.Bin        `json:"calibration"`
	}{metrics, curve, bins})
	if err != nil {
		return nil, fmt.Errorf("writing the evaluation: %w", err)
	}
	return data, nil
}

// Save adds the versions to the store and makes each the champion of its model. The champion of a complaint that no
// longer has a model of its own is retired, so that the model of all complaints scores its notes; complaints of
// which there was no note keep theirs.
func (t *Trained) Save(ctx context.Context, store models.Store, by string) error {
	for _, b := range t.Bundles {
		var err error
		b.Manifest.Parent, err = store.Champion(ctx, b.Manifest.Name)
		// A damaged pointer is no parent, and is what promoting mends.
		if _, damaged := errors.AsType[*models.FileError](err); err != nil && !damaged && !errors.Is(err, models.ErrNotFound) {
			return fmt.Errorf("looking for the champion of model %q: %w", b.Manifest.Name, err)
		}
		version, err := store.Save(ctx, b)
		if err != nil {
			return fmt.Errorf("saving model %q: %w", b.Manifest.Name, err)
		}
		for i := range t.Outcomes {
			if t.Outcomes[i].Model == b.Manifest.Name {
				t.Outcomes[i].Version = version
			}
		}
	}
	// Promoted once all are there, so that scorers do not mix old and new for longer than they must.
	for _, b := range t.Bundles {
		if err := store.Promote(ctx, b.Manifest.Name, models.Event{Version: b.Version, By: by, Reason: "trained on " + fmt.Sprint(b.Manifest.Training.Documents) + " notes"}); err != nil {
			return fmt.Errorf("promoting model %q: %w", b.Manifest.Name, err)
		}
	}
	for _, o := range t.Outcomes {
		if o.Kept {
			continue
		}
		if err := store.Retire(ctx, o.Model, models.Event{By: by, Reason: o.Why}); err != nil && !errors.Is(err, models.ErrNotFound) {
			return fmt.Errorf("retiring model %q: %w", o.Model, err)
		}
	}
	return nil
}
