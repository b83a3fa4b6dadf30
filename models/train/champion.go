package train

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/report"
)

type champion struct {
	generation *models.Generation // without the models that cannot be read
	bundles    map[string]*bundle.Bundle
	models     served
	refused    []refused // the models that cannot be read
	until      time.Time // of the notes that it learned from, zero if unknown
	shifts     map[string][]report.Shift
}

type refused struct {
	model, complaint string // "" if it is the generation
	err              error
}

// champion reads the served models, nil if there are none. An unreadable model, which no candidate can be compared
// with, is an error; with Force it is left out.
func (k *Gatekeeper) champion(ctx context.Context) (*champion, error) {
	g, err := k.Store.Champion(ctx)
	_, damaged := errors.AsType[*models.FileError](err)
	switch {
	case errors.Is(err, models.ErrNotFound) && !damaged:
		return nil, nil
	case err != nil && !(damaged && k.Force):
		return nil, err
	case g == nil:
		return nil, nil
	}
	c := &champion{generation: g, bundles: map[string]*bundle.Bundle{}, models: served{}}
	if damaged {
		c.refused = append(c.refused, refused{err: err})
		return c, nil
	}
	if err := c.read(ctx, k.Store); err != nil {
		return nil, err
	}
	if len(c.refused) > 0 && !k.Force {
		errs := lists.Map(c.refused, func(r refused) error { return r.err })
		return nil, errors.Join(errs...)
	}
	return c, nil
}

// read reads the models, and leaves those out that cannot be read. It returns the error of the context.
func (c *champion) read(ctx context.Context, store *models.Store) error {
	readable := *c.generation
	readable.Models = maps.Clone(c.generation.Models)
	for _, name := range slices.Sorted(maps.Keys(c.generation.Models)) {
		member := c.generation.Models[name]
		err := c.readModel(ctx, store, name, member.Version)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			c.refused = append(c.refused, refused{name, member.Complaint, err})
			delete(readable.Models, name)
		}
	}
	if _, ok := c.generation.Models[bundle.Other]; !ok {
		c.refused = append(c.refused, refused{err: errWithoutOther})
	}
	c.generation = &readable
	return nil
}

// explain says in the generation that follows which models it lacks because they could not be read.
func (c *champion) explain(next *models.Generation) {
	for _, r := range c.refused {
		if _, anew := next.Models[r.model]; anew || r.model == "" {
			continue
		}
		why := "its model cannot be read: " + strings.ReplaceAll(r.err.Error(), "\n", "; ")
		if before := next.Pooled[r.model].Reason; before != "" {
			why = before + "; " + why
		}
		next.Pooled[r.model] = models.Pooled{Complaint: r.complaint, Reason: why}
	}
}

// readModel reads a model as a scorer does.
func (c *champion) readModel(ctx context.Context, store *models.Store, name, version string) error {
	b, err := store.Load(ctx, name, version)
	if err != nil {
		return err
	}
	m, err := classifier.Load(b)
	if err != nil {
		return err
	}
	c.bundles[name], c.models[name] = b, m
	c.until = later(c.until, b.Manifest.Training.To)
	if r := b.Manifest.Recalibrated; r != nil {
		c.until = later(c.until, r.To)
	}
	return nil
}

// served is the models of one generation, which score notes as a scorer of the stream does.
type served map[string]*classifier.Model

var errWithoutOther = fmt.Errorf("the generation has no model %q: %w", bundle.Other, models.ErrNotFound)

// probabilities returns the probability of admission of each row, by the model of its complaint or that of all.
// Auxiliary values that the rows do not have are missing.
func (s served) probabilities(d *Data) []float64 {
	out := make([]float64, len(d.Rows))
	for name, at := range scoredBy(d.Rows, s.has) {
		r := newReader(s[name], d)
		for _, i := range at {
			row := &d.Rows[i]
			out[i] = r.scorer.Probability(row.Text, r.read(row))
		}
	}
	return out
}

func (s served) has(model string) bool { return s[model] != nil }

// reader scores rows with one model, as a scorer of the stream reads them.
type reader struct {
	scorer *classifier.Scorer
	from   []int // for each auxiliary column of the model its place in a row: -1 is missing, -2 the complaint
	values []msg.Value
}

const (
	missing     = -1
	ofComplaint = -2
)

func newReader(m *classifier.Model, d *Data) *reader {
	few := classifier.Limits{Topics: 1, Terms: 1, Words: 1, Evidence: largestParts}
	scorer := m.Scorer(classifier.Options{Limits: few, Intake: d.Intake})
	r := &reader{scorer: scorer, values: make([]msg.Value, len(m.Aux()))}
	for _, column := range m.Aux() {
		r.from = append(r.from, place(d.Aux, column.Name))
	}
	return r
}

// place returns where rows with these auxiliary values have a column: a position, missing or ofComplaint.
func place(aux []Aux, column string) int {
	if column == bundle.ComplaintColumn {
		return ofComplaint
	}
	return slices.IndexFunc(aux, func(a Aux) bool { return a.Name == column })
}

func (r *Row) value(at int) msg.Value {
	switch at {
	case missing:
		return msg.Value{}
	case ofComplaint:
		return classifier.Complaint(r.Complaint)
	}
	return r.Aux[at]
}

// read returns the auxiliary values of a row, until the next call.
func (r *reader) read(row *Row) []msg.Value {
	for c, at := range r.from {
		r.values[c] = row.value(at)
	}
	return r.values
}

// Probabilities returns those of admission of labelled notes, each by the model that will score it.
func (t *Trained) Probabilities(d Data) ([]float64, error) {
	s := served{}
	for _, b := range t.Bundles {
		m, err := classifier.Load(b)
		if err != nil {
			return nil, fmt.Errorf("reading model %q: %w", b.Manifest.Name, err)
		}
		s[b.Manifest.Name] = m
	}
	if s[bundle.Other] == nil {
		return nil, errWithoutOther
	}
	return s.probabilities(&d), nil
}

// staying returns the models of the champion, which may be nil, that are kept: of complaints without notes, or too few.
func (t *Trained) staying(champion *models.Generation) map[string]models.Member {
	stay := map[string]models.Member{}
	if champion != nil {
		maps.Copy(stay, champion.Models)
	}
	for i := range t.Outcomes {
		if o := &t.Outcomes[i]; !o.Stays {
			delete(stay, o.Model)
		}
	}
	return stay
}

// Save adds the versions to the store, and a generation of them and the models kept from the champion. A complaint that
// was judged and got no model of its own has its reason there. Nothing is served before Promote. by names the program,
// as in "train".
func (t *Trained) Save(ctx context.Context, store *models.Store, by string) (*models.Generation, error) {
	before, err := store.Champion(ctx)
	// A damaged champion has nothing to keep; promoting repairs it.
	if _, damaged := errors.AsType[*models.FileError](err); err != nil && !damaged &&
		!errors.Is(err, models.ErrNotFound) {
		return nil, fmt.Errorf("looking for the champion: %w", err)
	}
	g, err := t.generation(ctx, store, before)
	if err != nil {
		return nil, err
	}
	g.By = by
	return g, store.AddGeneration(ctx, g)
}

// generation adds the versions to the store and returns the generation for Save; before is served, or nil.
func (t *Trained) generation(ctx context.Context, store *models.Store,
	before *models.Generation,
) (*models.Generation, error) {
	g := &models.Generation{
		Models: t.staying(before), Pooled: map[string]models.Pooled{}, RareComplaints: t.RareComplaints,
	}
	parents := map[string]models.Member{}
	if before != nil {
		g.Parent, parents = before.Name, before.Models
	}
	outcomes := map[string]*Outcome{}
	for i := range t.Outcomes {
		o := &t.Outcomes[i]
		outcomes[o.Model] = o
		if _, served := g.Models[o.Model]; o.Stays && served {
			o.Why += "; the served model is kept"
		} else if !o.Kept {
			g.Pooled[o.Model] = models.Pooled{Complaint: o.Complaint, Reason: o.Why}
		}
	}
	if g.Beds = t.Beds; g.Beds == "" && before != nil {
		var err error
		if g.Beds, err = store.BedsOf(ctx, before); err != nil {
			return nil, err
		}
	}
	for _, b := range t.Bundles {
		name := b.Manifest.Name
		b.Manifest.Parent = parents[name].Version
		if _, err := store.Save(ctx, b); err != nil {
			return nil, err
		}
		if o := outcomes[name]; o != nil {
			o.Version = b.Version
		}
		reason := fmt.Sprintf("trained on %d notes", b.Manifest.Training.Documents)
		g.Models[name] = models.Member{Complaint: b.Manifest.Complaint, Version: b.Version, Reason: reason}
		g.CreatedAt = later(g.CreatedAt, b.Manifest.CreatedAt)
	}
	return g, nil
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// Previous returns a Job.Previous that reads the served models. A damaged champion counts as none: training repairs it.
func Previous(store *models.Store, log *slog.Logger) func(ctx context.Context, model string) (*bundle.Bundle, error) {
	return func(ctx context.Context, model string) (*bundle.Bundle, error) {
		g, err := store.Champion(ctx)
		var b *bundle.Bundle
		if err == nil && g.Models[model].Version != "" {
			b, err = store.Load(ctx, model, g.Models[model].Version)
		}
		damaged, ok := errors.AsType[*models.FileError](err)
		switch {
		case ok:
			log.Warn("the champion is damaged: topics get new numbers", "model", model, "file", damaged.File)
			return nil, nil
		case errors.Is(err, models.ErrNotFound):
			return nil, nil
		}
		return b, err
	}
}
