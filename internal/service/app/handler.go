package app

import (
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/ingest"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/watch"
)

// Handler answers each record with a prediction by the current set.
type Handler struct {
	current atomic.Pointer[current]
	drift   *watch.Drift
	options classifier.Options
	source  string             // ce_source
	metrics *predictionMetrics // may be nil
	shadow  *shadow            // nil without
}

// current is the set in use, with a counter of the notes of each model.
type current struct {
	set      *scoring.Set
	counters map[*classifier.Model]*watch.Counter
}

// NewHandler returns a handler that scores with set, explains with these options, and sets this ce_source.
func NewHandler(set *scoring.Set, options classifier.Options, source string) *Handler {
	h := &Handler{options: options, source: source, drift: watch.NewDrift(time.Now)}
	h.use(set)
	return h
}

// use scores with set from now on. A model that was in use before continues to count.
func (h *Handler) use(set *scoring.Set) {
	before := h.current.Load()
	now := &current{set, make(map[*classifier.Model]*watch.Counter)}
	for name, m := range set.Models {
		if before != nil {
			now.counters[m] = before.counters[m]
		}
		if now.counters[m] == nil {
			now.counters[m] = watch.NewCounter(watch.Model{
				Name: name, Topics: m.Rank(), Columns: m.Categorical(), Reference: set.About[name].Reference,
			})
		}
	}
	h.current.Store(now)
	h.drift.Use(slices.Collect(maps.Values(now.counters)))
}

// NewWorker returns the worker of one partition.
func (h *Handler) NewWorker() ingest.Worker { return &worker{handler: h} }

type worker struct {
	handler    *Handler
	scorer     *scoring.Scorer
	scored     bool // the current note was given to the scorer
	note       msg.Note
	prediction msg.Prediction
}

// refused returns the verdict on a decoded record, by this model version ("" if there is none).
func refused(err error, version string) error {
	if _, ok := err.(*msg.Error); ok { //nolint:errorlint // all callers return it unwrapped
		return &ingest.Verdict{Stage: "score", ModelVersion: version, Err: err}
	}
	return err
}

func (w *worker) Handle(r *ingest.Record, out *ingest.Output) error {
	w.scored = false
	h := w.handler
	current := h.current.Load()
	if w.scorer == nil || w.scorer.Set != current.set {
		w.scorer = current.set.Scorer(h.options)
	}
	if err := msg.DecodeNote(r.Value, &w.note); err != nil {
		return err
	}
	at := time.Now().UTC()
	now := at.Format(msg.TimeFormat)
	p := &w.prediction
	w.scored = true
	if err := w.scorer.Score(&w.note, now, p); err != nil {
		return refused(err, "")
	}
	out.Value = p.AppendJSON(out.Value)
	address(out, r, &event{id: p.VisitID, model: &p.Model, typ: msg.TypePrediction, source: h.source, time: now})
	model, note := w.scorer.Reading(p)
	current.counters[model].Add(&note, at)
	if h.metrics != nil {
		h.metrics.observe(p, at)
	}
	if h.shadow != nil {
		h.shadow.offer(r)
	}
	return nil
}

func (w *worker) Model() (name, version string) {
	if !w.scored || w.scorer.Model() == nil {
		return "", ""
	}
	info := w.scorer.Model().Info()
	return info.Name, info.Version
}

// event is the content of the key and headers of an answer.
type event struct {
	id                string // of the visit or response
	model             *msg.Model
	typ, source, time string
}

func address(out *ingest.Output, r *ingest.Record, e *event) {
	out.Key = r.Key
	if string(r.Key) != e.id {
		out.Key = []byte(e.id)
	}
	var id [32]byte
	out.AddEvent(msg.AppendEventID(id[:0], r.Value, e.model.Name, e.model.Version), e.source, e.typ, e.time)
	if parent := r.TraceParent(); parent != "" {
		out.AddHeader(msg.HeaderTraceParent, parent)
	}
}
