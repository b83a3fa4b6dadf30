package train

import (
	"context"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/linalg"
	"github.com/wardcast/wardcast/models"
)

// Outcome is the result of the training for one complaint.
type Outcome struct {
	Model     string        `json:"model"`
	Complaint string        `json:"complaint"` // "" for the model of all complaints
	Documents int           `json:"documents"`
	Positives int           `json:"positives"`
	Kept      bool          `json:"kept"` // a model of its own is written
	Why       string        `json:"why"`
	LogLoss   *float64      `json:"log_loss"`        // of its own model, out of fold; null if none was trained
	Pooled    float64       `json:"pooled_log_loss"` // of the model of all complaints on the same notes, out of fold
	Metrics   *eval.Metrics `json:"metrics"`         // of admission, out of fold, of the model that will score the complaint
	// Classes are the same metrics for several outcomes, nil for yes and no. With several outcomes LogLoss and Pooled cover
	// all classes.
	Classes   *eval.ClassMetrics `json:"classes,omitempty"`
	Alignment *Alignment         `json:"alignment,omitempty"`
	Version   string             `json:"version,omitempty"`
	Seconds   float64            `json:"seconds"`
}

// Trained is a set of models that score every complaint.
type Trained struct {
	Bundles  []*models.Bundle // the model of all complaints first, then by name
	Outcomes []Outcome        // in the same order, every complaint of the table
}

// Job holds the arguments of a training next to data and settings.
type Job struct {
	Created  time.Time // that the manifests bear
	Version  string    // of the program
	Progress Progress  // may be nil
	// Previous returns Data.Previous for the model of this name; nil means none. It may be called from several goroutines.
	Previous func(ctx context.Context, model string) (*models.Bundle, error)
}

// Progress is called with the work that is done, in models or parts of them. It may be called from several goroutines.
type Progress func(done, total int)

// minClass is the least number of notes of the rarest class that a model needs, since each fold must hold some.
const minClass = 10

// Train trains the model of all complaints and, by the policy, a model for each complaint. It sets Data.Pooled, and
// Data.Previous from the job.
func Train(ctx context.Context, d Data, s Settings, job Job) (*Trained, error) {
	d.Pooled = true
	groups := byComplaint(&d)
	t := &training{data: d, settings: s, job: job, steps: 1}
	if s.Method.Supervised() {
		t.steps = supervisedSteps
	}
	t.total = t.steps
	wanted := make([]bool, len(groups))
	for i, g := range groups {
		if wanted[i] = s.PerComplaint != Never && g.enough(s.MinDocuments); wanted[i] {
			t.total += t.steps
		}
	}
	t.tell(0)
	pooled := t.try(ctx, d, models.Other)
	if pooled.err != nil {
		return nil, fmt.Errorf("training the model of all complaints: %w", pooled.err)
	}
	own, err := t.tryOwn(ctx, groups, wanted)
	if err != nil {
		return nil, err
	}
	first, err := t.judgePooled(&pooled)
	if err != nil {
		return nil, err
	}
	out := &Trained{}
	if err := t.add(out, first, d.Rows, pooled.fitted); err != nil {
		return nil, err
	}
	for i := range groups {
		o, err := t.judge(&groups[i], pooled.fitted, own[i])
		if err != nil {
			return nil, err
		}
		var fitted *Fitted
		if o.Kept {
			fitted = own[i].fitted
		}
		if err := t.add(out, o, take(d.Rows, groups[i].rows), fitted); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// training is one run of Train.
type training struct {
	data     Data
	settings Settings
	job      Job
	done     atomic.Int64 // steps
	steps    int          // of one model
	total    int          // steps
}

// supervisedSteps is the number of steps in which the training of a supervised model is reported, since it takes long.
const supervisedSteps = 100

// tell counts steps that are done and reports it.
func (t *training) tell(more int) {
	done := t.done.Add(int64(more))
	if t.job.Progress != nil {
		t.job.Progress(int(done), t.total)
	}
}

// attempt is a model that was trained, or why it could not be.
type attempt struct {
	fitted  *Fitted
	err     error
	seconds float64
}

// try trains the model of a name.
func (t *training) try(ctx context.Context, d Data, model string) (a attempt) {
	began := time.Now()
	var told atomic.Int64
	d.progress = func(done, total int) {
		// All but one of the steps are the cross-validation's.
		now := int64(done * (t.steps - 1) / total)
		if before := told.Load(); now > before && told.CompareAndSwap(before, now) {
			t.tell(int(now - before))
		}
	}
	defer func() {
		a.seconds = time.Since(began).Seconds()
		t.tell(t.steps - int(told.Load()))
	}()
	if t.job.Previous != nil {
		if d.Previous, a.err = t.job.Previous(ctx, model); a.err != nil {
			return a
		}
	}
	a.fitted, a.err = Fit(ctx, d, t.settings)
	return a
}

// tryOwn trains the models of the wanted complaints, nil for the others. It returns the error of the context.
func (t *training) tryOwn(ctx context.Context, groups []group, wanted []bool) ([]*attempt, error) {
	own := make([]*attempt, len(groups))
	workers, ctx := errgroup.WithContext(ctx)
	workers.SetLimit(runtime.GOMAXPROCS(0))
	for i, g := range groups {
		if !wanted[i] {
			continue
		}
		workers.Go(func() error {
			d := t.data.subset(g.rows)
			d.Pooled = false
			a := t.try(ctx, d, models.Slug(g.complaint))
			own[i] = &a
			return ctx.Err()
		})
	}
	return own, workers.Wait()
}

// judgePooled returns the outcome of the model of all complaints.
func (t *training) judgePooled(a *attempt) (Outcome, error) {
	rows := t.data.Rows
	o := Outcome{Model: models.Other, Documents: len(rows), Positives: positives(rows), Kept: true, Why: "scores every complaint without a model of its own", Alignment: a.fitted.Alignment, Seconds: a.seconds}
	loss, err := o.measure(&t.data, a.fitted.heldOut())
	o.LogLoss, o.Pooled = &loss, loss
	return o, err
}

// judge decides which model will score a complaint, and says why. own is nil if no model was trained for it.
func (t *training) judge(g *group, pooled *Fitted, own *attempt) (Outcome, error) {
	d := t.data.subset(g.rows)
	o := Outcome{Model: models.Slug(g.complaint), Complaint: g.complaint, Documents: len(d.Rows), Positives: positives(d.Rows)}
	var err error
	if o.Pooled, err = o.measure(&d, pooled.heldOut().subset(g.rows)); err != nil {
		return o, err
	}
	switch {
	case !g.enough(t.settings.MinDocuments):
		o.Why = fmt.Sprintf("fewer than %d notes, or fewer than %d of one class", t.settings.MinDocuments, minClass)
		return o, nil
	case own == nil:
		o.Why = "the policy is never"
		return o, nil
	}
	o.Seconds = own.seconds
	if own.fitted == nil {
		o.Why = "could not be trained: " + own.err.Error()
		return o, nil
	}
	mine := o
	loss, err := mine.measure(&d, own.fitted.heldOut())
	if err != nil {
		return o, err
	}
	o.LogLoss = &loss
	o.Kept, o.Why = verdict(t.settings.PerComplaint, loss, o.Pooled)
	if o.Kept {
		o.Metrics, o.Classes, o.Alignment = mine.Metrics, mine.Classes, own.fitted.Alignment
	}
	return o, nil
}

// verdict returns whether a complaint keeps a model of its own, by its log loss and that of the model of all
// complaints, and why.
func verdict(policy Policy, own, pooled float64) (kept bool, why string) {
	switch {
	case policy == Always:
		return true, fmt.Sprintf("the policy is always (log loss %+.4f against the model of all complaints)", own-pooled)
	case own < pooled:
		return true, fmt.Sprintf("its log loss is lower by %.4f than that of the model of all complaints", pooled-own)
	default:
		return false, fmt.Sprintf("its log loss is higher by %.4f than that of the model of all complaints", own-pooled)
	}
}

// add appends an outcome and the bundle of its model, if it has one.
func (t *training) add(out *Trained, o Outcome, rows []Row, fitted *Fitted) error {
	out.Outcomes = append(out.Outcomes, o)
	if fitted == nil {
		return nil
	}
	b, err := fitted.bundle(rows, o, &t.settings, t.job)
	if err != nil {
		return err
	}
	out.Bundles = append(out.Bundles, b)
	return nil
}

// predictions are the probabilities of rows: of admission and, for several outcomes, of all classes.
type predictions struct {
	admission []float64
	classes   *mat.Dense // n×(κ+1), nil for yes and no
	threshold float64
}

// heldOut returns the out-of-fold predictions.
func (f *Fitted) heldOut() predictions {
	return predictions{f.OutOfFold, f.Probabilities, f.Threshold}
}

// subset returns the predictions of some rows.
func (p predictions) subset(at []int) predictions {
	out := predictions{admission: take(p.admission, at), threshold: p.threshold}
	if p.classes != nil {
		out.classes = linalg.SelectRows(p.classes, at)
	}
	return out
}

// measure sets the metrics of predictions of the rows and returns their log loss, over all classes if there are several.
// Intervals treat the notes of a visit as one.
func (o *Outcome) measure(d *Data, p predictions) (logLoss float64, err error) {
	visits := make([]string, len(d.Rows))
	for i := range d.Rows {
		visits[i] = visit(d.Rows, i)
	}
	m, err := eval.Measure(labels(d.Rows), p.admission, p.threshold, visits)
	if err != nil {
		return 0, fmt.Errorf("measuring predictions: %w", err)
	}
	o.Metrics = &m
	if p.classes == nil {
		return m.LogLoss, nil
	}
	all, err := eval.MeasureClasses(d.labels(), p.classes, d.Classes, visits)
	if err != nil {
		return 0, fmt.Errorf("measuring predictions: %w", err)
	}
	o.Classes = &all
	return all.LogLoss, nil
}
