package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/service/config"
)

// questionnaires answers responses with scores by the current model of their instrument.
type questionnaires struct {
	folders map[string]string // of the models, by instrument
	items   int               // named per factor; 0 names all
	source  string            // ce_source
	set     atomic.Pointer[map[string]*responses.Instrument]
	metrics map[string]*responseMetrics // by instrument
}

// newQuestionnaires loads the models. The registry may be nil.
func newQuestionnaires(ctx context.Context, c *config.Config, registry prometheus.Registerer) (*questionnaires, error) {
	q := &questionnaires{folders: c.Questionnaires.Models, items: c.Scoring.Terms, source: c.Scoring.Source}
	q.set.Store(&map[string]*responses.Instrument{})
	if _, errs := q.renew(ctx); len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	q.metrics = newResponseMetrics(registry, slices.Collect(maps.Keys(q.folders)))
	return q, nil
}

// renew loads each instrument's model independently of the others.
func (q *questionnaires) renew(ctx context.Context) (changed bool, errs []error) {
	set := maps.Clone(*q.set.Load())
	for _, name := range slices.Sorted(maps.Keys(q.folders)) {
		if err := ctx.Err(); err != nil {
			return false, []error{err}
		}
		old := set[name]
		sha256, err := model.ReadSHA256(q.folders[name])
		if err == nil && old != nil && old.Info.SHA256 == sha256 {
			continue
		}
		var in *responses.Instrument
		if err == nil {
			in, err = q.load(name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("questionnaires.models.%s: %w", name, err))
			continue
		}
		set[name], changed = in, true
	}
	if changed {
		q.set.Store(&set)
	}
	return changed, errs
}

// load loads an instrument. Its model version is named as in the model store.
func (q *questionnaires) load(name string) (*responses.Instrument, error) {
	m, err := model.Load(q.folders[name])
	if err != nil {
		return nil, err
	}
	in, err := responses.New(name, bundle.VersionName(m.CreatedAt, m.SHA256), m, q.items)
	if err != nil {
		return nil, fmt.Errorf("loading the model in %q: %w", q.folders[name], err)
	}
	return in, nil
}

func (q *questionnaires) models() []inUse {
	var all []inUse
	for _, in := range *q.set.Load() {
		all = append(all, inUse{in.Info, in.Model.CreatedAt})
	}
	return all
}

func (q *questionnaires) list() []*responses.Instrument {
	set := *q.set.Load()
	return lists.Map(slices.Sorted(maps.Keys(set)), func(name string) *responses.Instrument { return set[name] })
}

func (q *questionnaires) generation() string { return "" }

func (q *questionnaires) NewWorker() ingest.Worker {
	return &responseWorker{questionnaires: q, scorers: make(map[string]*responses.Scorer)}
}

type responseWorker struct {
	*questionnaires
	scorers  map[string]*responses.Scorer // by instrument
	scorer   *responses.Scorer            // of the current response, or nil
	response msg.Response
	scores   msg.Scores
}

func (w *responseWorker) scorerOf(name string) *responses.Scorer {
	in := (*w.set.Load())[name]
	if in == nil {
		return nil
	}
	s := w.scorers[name]
	if s == nil || s.Instrument != in {
		s = in.Scorer()
		w.scorers[in.Info.Name] = s // not the message's string, which retains the whole message
	}
	return s
}

func (w *responseWorker) Handle(r *ingest.Record, out *ingest.Output) error {
	w.scorer = nil
	if err := msg.DecodeResponse(r.Value, &w.response); err != nil {
		return err
	}
	scorer := w.scorerOf(w.response.Instrument)
	if w.scorer = scorer; scorer == nil {
		return refused(&msg.Error{Reason: msg.NoModel, Field: "instrument"}, "")
	}
	now := time.Now().UTC().Format(msg.TimeFormat)
	s := &w.scores
	if err := scorer.Score(&w.response, now, s); err != nil {
		return refused(err, scorer.Info.Version)
	}
	out.Value = s.AppendJSON(out.Value)
	address(out, r, &event{id: s.ResponseID, model: &s.Model, typ: msg.TypeScores, source: w.source, time: now})
	if m := w.metrics[s.Model.Name]; m != nil {
		m.observe(s)
	}
	return nil
}

func (w *responseWorker) Model() (name, version string) {
	if w.scorer == nil {
		return "", ""
	}
	return w.scorer.Info.Name, w.scorer.Info.Version
}
