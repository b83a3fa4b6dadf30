package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/intake"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/wait"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/blobstore"
	"github.com/wardcast/wardcast/models/signing"
)

// triage answers notes by the champions of a store.
type triage struct {
	*Handler
	store *models.Store
	class string // that a champion must know; "" for none

	verification *verification // nil outside a running scorer
	log          *slog.Logger
}

// newTriage opens the store, which need not have a champion yet.
func newTriage(ctx context.Context, o *Options) (*triage, error) {
	c := o.Config
	store, err := blobstore.Open(ctx, c.Models.Store)
	if err != nil {
		return nil, fmt.Errorf("models.store: %w", err)
	}
	keys, err := signing.Read(c.Models.SigningKey, c.Models.TrustedKeys)
	if err != nil {
		return nil, fmt.Errorf("models: %w", err)
	}
	store = store.With(keys)
	t := &triage{store: store, class: c.Predictions.Class, log: o.Logger}
	set, err := t.load(ctx, nil)
	if errors.Is(err, scoring.ErrNoChampion) {
		o.Logger.WarnContext(ctx, "the store has no champion yet, notes wait for it", "store", c.Models.Store, "err", err)
		set, err = &scoring.Set{}, nil
	}
	if err != nil {
		return nil, fmt.Errorf("with models.store %q: %w", c.Models.Store, err)
	}
	limits := classifier.Limits{
		Topics: c.Scoring.Topics, Terms: c.Scoring.Terms, Words: c.Scoring.Words, Evidence: c.Scoring.Evidence,
	}
	in, err := intake.New(c.Input)
	if err != nil {
		return nil, fmt.Errorf("input: %w", err)
	}
	if err := store.Agree(ctx); err != nil {
		o.Logger.ErrorContext(ctx, remarkDisagree, "err", err)
	}
	t.Handler = NewHandler(set, classifier.Options{Limits: limits, Intake: in, Class: c.Predictions.Class},
		c.Scoring.Source)
	t.metrics = newPredictionMetrics(o.Registry)
	if err := o.Registry.Register(t.drift); err != nil {
		return nil, fmt.Errorf("registering metrics: %w", err)
	}
	return t, nil
}

// load reads the champion, like scoring.Load. One of its models must know the configured class.
func (t *triage) load(ctx context.Context, running *scoring.Set) (*scoring.Set, error) {
	set, err := scoring.Load(ctx, t.store, running)
	if err != nil || set == running {
		return set, err
	}
	if err := set.CheckClass(t.class); err != nil {
		return nil, fmt.Errorf("predictions.class: %w", err)
	}
	return set, nil
}

// renew adopts a new generation completely, or keeps the one in use, also if the store's champion and history disagree.
func (t *triage) renew(ctx context.Context) (bool, []error) {
	running := t.set()
	if err := t.store.Agree(ctx); err != nil && running.Generation != "" {
		return false, []error{err}
	}
	set, err := t.load(ctx, running)
	if errors.Is(err, scoring.ErrNoChampion) && running.Generation == "" {
		return false, nil
	}
	if err != nil {
		return false, []error{err}
	}
	if set == running {
		if err := t.verification.damage(); err != nil {
			return false, []error{err}
		}
		return false, nil
	}
	t.use(set)
	return true, nil
}

func (t *triage) set() *scoring.Set { return t.current.Load().set }

func (t *triage) generation() string { return t.set().Generation }

// beds returns the version of the fit of beds of the generation in use, "" for none.
func (t *triage) beds() string { return t.set().Beds }

func (t *triage) models() []inUse {
	var all []inUse
	set := t.set()
	for name, model := range set.Models {
		all = append(all, inUse{model.Info(), set.About[name].Created})
	}
	return all
}

// verifyEvery is how often the files of the models in use are read again.
const verifyEvery = 10 * time.Minute

// damagedInUse is the error of damaged files in the store from which the models in use were read.
type damagedInUse struct {
	error

	generation string
}

func (e *damagedInUse) Unwrap() error { return e.error }

// verification periodically reads the files of the models in use: damage would otherwise show only at the next start.
type verification struct {
	triage *triage
	stream *stream
	found  atomic.Pointer[damagedInUse] // nil if all files are sound
}

// run verifies at this interval until ctx ends, and damaged files more often, to detect their repair.
func (v *verification) run(ctx context.Context, every time.Duration) error {
	for {
		pause := every
		if v.found.Load() != nil {
			pause = min(every, maxPause)
		}
		if !wait.For(ctx, pause) {
			return nil
		}
		if found := v.verify(ctx); ctx.Err() == nil {
			v.found.Store(found)
			v.stream.hint() // reload reports the damage or its repair
		}
	}
}

func (v *verification) verify(ctx context.Context) *damagedInUse {
	set := v.triage.set()
	var errs []error
	for name, version := range set.Versions {
		errs = append(errs, v.triage.store.CheckVersion(ctx, name, version))
	}
	if err := errors.Join(errs...); err != nil {
		return &damagedInUse{fmt.Errorf("generation %q: %w", set.Generation, err), set.Generation}
	}
	return nil
}

// damage returns the error of the latest verification, or nil. Damage to a generation no longer in use does not count.
func (v *verification) damage() error {
	if found := v.found.Load(); found != nil && found.generation == v.triage.set().Generation {
		return found
	}
	return nil
}
