package train

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// Candidate is a trained generation and the labelled notes that it is judged on.
type Candidate struct {
	*Trained
	Notes         Data
	Probabilities []float64 // those of admission of the notes, by a candidate that has not learned from them
	// Later means that the notes arrived after all that the candidate learned from: they go into its reports.
	Later bool
	About report.Data // the outcome and what was left out, for those reports
	seen  bool        // served models that stay predict some of the notes, and may have learned from them
}

// Gatekeeper is the only way for a training to change the served models: the gate judges, and it carries the verdict
// out.
type Gatekeeper struct {
	Store            *models.Store
	Gate             gate.Settings
	Force            bool   // serves the candidate whatever the gate says; requires Why
	By, Why, Command string // for the history
	Created          time.Time
	Logger           *slog.Logger // nil is silent

	MinEvents int // how many notes of each outcome a candidate must have learned from; 0 where that is known

	begun bool
	from  string // generation that was served then, "" if none was
}

// Begin notes the served generation before a training, which may take hours: Promote changes nothing if it has changed.
// An unreadable served model is an error, unless Force is set. Promote calls Begin if nobody did.
func (k *Gatekeeper) Begin(ctx context.Context) error {
	c, err := k.champion(ctx)
	if err != nil {
		return unreadable(err)
	}
	if err := k.Store.Agree(ctx); err != nil && !k.Force {
		return fmt.Errorf("%w (--force --why TEXT trains nevertheless)", err)
	}
	k.begun, k.from = true, ""
	if c != nil {
		k.from = c.generation.Name
		for _, r := range c.refused {
			k.logger().Warn("cannot read a served model; the new generation will not have it", "err", r.err)
		}
	}
	return nil
}

// unreadable wraps an error of reading the champion and says why it was read.
func unreadable(err error) error {
	return fmt.Errorf("reading the champion, which the new models are compared with (--force --why TEXT replaces it "+
		"without a comparison): %w", err)
}

func (k *Gatekeeper) logger() *slog.Logger { return cmp.Or(k.Logger, slog.New(slog.DiscardHandler)) }

// Untouched reports whether the served generation is still that of Begin.
func (k *Gatekeeper) Untouched(ctx context.Context) bool {
	return !k.begun || k.Store.Unchanged(ctx, k.from) == nil
}

// From returns the generation that was served at Begin, "" if none was.
func (k *Gatekeeper) From() string { return k.from }

// changed explains an error that wraps models.ErrConflict: the served generation changed since Begin.
func changed(err error) error {
	if errors.Is(err, models.ErrConflict) {
		return fmt.Errorf("the served models changed during this training; nothing was promoted, run it again: %w", err)
	}
	return err
}

// Promotion is what became of a candidate.
type Promotion struct {
	Verdict   *gate.Verdict
	Candidate *models.Generation // in the store, served or not
	// Served is the generation that is served from now on because of the candidate: itself, or the champion with its
	// probabilities recalibrated. nil means that nothing changed.
	Served *models.Generation
}

// Promote judges a candidate against the champion on the same notes, adds it to the store, and serves it, the
// recalibrated champion or neither, by the verdict. If the notes that arrived after all that the champion learned from
// are enough to judge, only these count. A first model is judged on the latest notes of its training, if
// Data.Latest held them out.
//
// The candidate is in the store whatever the verdict, with its reason in the history. If another generation is served
// than at Begin, nothing changes and the error wraps models.ErrConflict and names who was faster.
func (k *Gatekeeper) Promote(ctx context.Context, c Candidate) (*Promotion, error) {
	if !k.begun {
		if err := k.Begin(ctx); err != nil {
			return nil, err
		}
	}
	before, err := k.champion(ctx)
	if err != nil {
		return nil, unreadable(err)
	}
	if err := k.Store.Unchanged(ctx, k.from); err != nil {
		return nil, changed(err)
	}
	last := before
	if before != nil && before.models[bundle.Other] == nil {
		before = nil // nothing can be held against it
	}
	if err := c.refer(last); err != nil {
		return nil, err
	}
	shown, kind := c.shown()
	seen := before != nil && !c.keepLater(before.until, k.Gate.MinEvents)
	switch {
	case kind == report.Later:
		shown = c
	case before == nil:
		c = shown
	case len(c.staying(before.generation)) > 0:
		shown.keepServed(before.generation, shown.Probabilities, before.models.probabilities(&shown.Notes))
		shown.seen = true
	}
	notes := gate.Notes{
		Admitted: labels(c.Notes.Rows), Patients: patients(c.Notes.Rows), Challenger: c.Probabilities, Seen: seen,
		Groupings: Groupings(&c.Notes),
	}
	for _, o := range c.Outcomes {
		if o.Model == bundle.Other && k.MinEvents > 0 {
			notes.Learned = &gate.Learned{
				Admissions: o.Positives, Others: o.Documents - o.Positives, Least: k.MinEvents,
			}
		}
	}
	if before != nil {
		notes.Fixed = before.models[bundle.Other].Classes() != nil
		notes.Champion = before.models.probabilities(&c.Notes)
		c.keepServed(before.generation, notes.Challenger, notes.Champion)
	}
	e := &Promotion{}
	if e.Verdict, err = gate.Judge(notes, k.Gate); err != nil {
		return nil, fmt.Errorf("judging the new models: %w", err)
	}
	if before != nil && c.Later {
		if before.shifts, err = before.changes(c.Notes); err != nil {
			return nil, err
		}
	}
	if err := shown.report(c.Bundles, kind, last, e.Verdict); err != nil {
		return nil, err
	}
	for _, b := range c.Bundles {
		if err := evaluated(b, "verdict", e.Verdict); err != nil {
			return nil, err
		}
	}
	if e.Candidate, err = k.candidate(ctx, &c, last); err != nil {
		return nil, err
	}
	return e, changed(k.carryOut(ctx, e, &c, before))
}

// candidate saves the versions and returns their generation, which is not in the store yet. last may be nil.
func (k *Gatekeeper) candidate(ctx context.Context, c *Candidate, last *champion) (*models.Generation, error) {
	last = cmp.Or(last, &champion{})
	g, err := c.generation(ctx, k.Store, last.generation)
	if err != nil {
		return nil, err
	}
	g.By = k.By
	for _, o := range c.Outcomes {
		if last.models[o.Model] != nil && o.Stays {
			k.logger().Info("no new model of a complaint", "model", o.Model, "why", o.Why)
		}
	}
	last.explain(g)
	return g, nil
}

// enoughLater is how many notes of each outcome suffice to judge by later notes alone. With fewer, chance decides more
// often: in the sixty nights of docs/results.md 20 left 23 wrong decisions and 100 left 19, at the same cost in all.
const enoughLater = 100

// keepLater keeps only the notes that arrived after until, if they have at least enoughLater of both outcomes, or half
// of all, and never fewer than least. It reports whether they do.
func (c *Candidate) keepLater(until time.Time, least int) bool {
	at := lists.Where(len(c.Notes.Rows), func(i int) bool { return c.Notes.Rows[i].Arrived.After(until) })
	later, all := rarer(lists.Take(c.Notes.Rows, at)), rarer(c.Notes.Rows)
	if until.IsZero() || later < max(least, min(enoughLater, (all+1)/2)) {
		return false
	}
	c.Notes, c.Probabilities = c.Notes.subset(at), lists.Take(c.Probabilities, at)
	return true
}

func (c *Candidate) keepServed(g *models.Generation, p, champion []float64) {
	notes := byModel(c.Notes.Rows)
	for name := range c.staying(g) {
		for _, i := range notes[name] {
			p[i] = champion[i]
		}
	}
}

// shown returns the candidate with the notes that its reports are about, and their kind.
func (c *Candidate) shown() (Candidate, report.Kind) {
	out := *c
	switch latest := c.Notes.Latest; {
	case c.Later:
		return out, report.Later
	case latest.IsZero():
		return out, report.OutOfFold
	default:
		at := from(c.Notes.Rows, latest)
		out.Notes, out.Probabilities = c.Notes.subset(at), lists.Take(c.Probabilities, at)
		return out, report.Latest
	}
}

func (k *Gatekeeper) carryOut(ctx context.Context, e *Promotion, c *Candidate, before *champion) error {
	change := models.Change{From: k.from, By: k.By, Why: e.Verdict.Reason, Command: k.Command, Mend: k.Force}
	if k.Why != "" {
		said := "the gate"
		if k.Force && e.Verdict.Decision != gate.Promote {
			said = "served by --force, the gate said " + string(e.Verdict.Decision)
		}
		change.Why = k.Why + " (" + said + ": " + e.Verdict.Reason + ")"
	}
	if k.Force || e.Verdict.Decision == gate.Promote {
		if err := k.Store.AddGeneration(ctx, e.Candidate); err != nil {
			return err
		}
		e.Served, change.To = e.Candidate, e.Candidate.Name
		return k.Store.Promote(ctx, change)
	}
	if err := k.Store.Refuse(ctx, e.Candidate, change); err != nil {
		return err
	}
	if e.Verdict.Decision != gate.Recalibrate {
		return nil
	}
	g, err := k.recalibrate(ctx, c, before, e.Verdict)
	if err != nil {
		return err
	}
	e.Served = g
	change.To, change.Action = g.Name, models.Recalibrated
	return k.Store.Promote(ctx, change)
}

// recalibrate adds the champion's generation with the verdict's recalibration applied to each model. Reports use the
// cross-fitted probabilities: on the notes that a map was fitted to, it is calibrated by construction.
func (k *Gatekeeper) recalibrate(ctx context.Context, notes *Candidate, c *champion,
	v *gate.Verdict,
) (*models.Generation, error) {
	r := v.Figures.Recalibrated.Recalibration
	g := &models.Generation{
		Parent: c.generation.Name, By: k.By, CreatedAt: k.Created, Models: maps.Clone(c.generation.Models),
		Pooled: c.generation.Pooled, RareComplaints: c.generation.RareComplaints,
	}
	var err error
	if g.Beds, err = k.Store.BedsOf(ctx, c.generation); err != nil {
		return nil, err
	}
	learned := bundle.Training{Documents: len(notes.Notes.Rows), Positives: Positives(notes.Notes.Rows)}
	learned.From, learned.To = period(notes.Notes.Rows)
	var all []*bundle.Bundle
	for _, name := range slices.Sorted(maps.Keys(c.bundles)) {
		b := *c.bundles[name]
		b.Manifest.Parent, b.Manifest.CreatedAt = b.Version, k.Created
		b.Manifest.Calibration, b.Manifest.Recalibrated = recalibrated(b.Manifest.Calibration, r), &learned
		all = append(all, &b)
	}
	judged := *notes
	judged.Probabilities = v.Figures.Recalibrated.Probabilities
	if err := judged.report(all, report.Later, c, v); err != nil {
		return nil, err
	}
	for _, b := range all {
		name := b.Manifest.Name
		if err := recalibrateReference(b, r); err != nil {
			return nil, err
		}
		b.Card += fmt.Sprintf("\n## Recalibrated on %s\n\nProbability p became σ(%.4f + %.4f·logit p). %s\n",
			k.Created.Format(time.DateOnly), r.Intercept, r.Slope, v.Reason)
		version, err := k.Store.Save(ctx, b)
		if err != nil {
			return nil, err
		}
		member := g.Models[name]
		member.Version, member.Reason = version, "recalibrated from "+c.bundles[name].Version
		g.Models[name] = member
	}
	return g, k.Store.AddGeneration(ctx, g)
}

// recalibrated returns the calibration whose probabilities are those of c with r applied. Between the points of an
// isotonic map, which stays piecewise linear, it is an approximation.
func recalibrated(c bundle.Calibration, r eval.Recalibration) bundle.Calibration {
	switch c.Kind {
	case bundle.Isotonic:
		c.Probabilities = slices.Clone(c.Probabilities)
		for i, p := range c.Probabilities {
			c.Probabilities[i] = r.Apply(p)
		}
	case bundle.Platt:
		c.Intercept, c.Slope = r.Intercept+r.Slope*c.Intercept, r.Slope*c.Slope
	default:
		c.Kind, c.Intercept, c.Slope = bundle.Platt, r.Intercept, r.Slope
	}
	return c
}
