package httpapi

import (
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/models"
)

// Triage is the access of the API to the scorer of notes.
type Triage struct {
	Store   *models.Store
	Set     func() *scoring.Set // the generation in use
	Explain classifier.Options
	Live    *Live
	Changed func() // called after a promotion, so that the scorer reloads at once

	workers sync.Pool // of *worker
}

// routes returns the routes that require a model store, if there is one.
func (t *Triage) routes(a *API) []Route {
	if t == nil {
		return nil
	}
	predict := route("POST /v1/predictions", Viewer, t.predict)
	stream := route(streamPattern, Viewer, a.stream, "recent")
	predict.Predictions, stream.Predictions, stream.Stream = true, true, true
	return []Route{
		predict, stream,
		route("GET /v1/models", Viewer, t.models),
		route("GET /v1/models/{model}/topics", Viewer, t.topics, "terms"),
		route("GET /v1/generations", Viewer, a.generations),
		route("GET /v1/history", Viewer, a.history),
		route("POST /v1/generations/{generation}/promote", Operator, a.change(serving.Promote)),
		route("POST /v1/rollback", Operator, a.change(serving.Rollback)),
	}
}

// maxNote bounds the body of a note: its text, with each byte as six of JSON, and the other fields.
const maxNote = 512 << 10

// worker scores notes with one set, one at a time.
type worker struct {
	scorer     *scoring.Scorer
	note       msg.Note
	prediction msg.Prediction
	out        []byte
}

// maxKept bounds the buffer that a worker keeps.
const maxKept = 64 << 10

// predict answers a note with its prediction, as in the output of `wardcast predict`.
func (t *Triage) predict(q *query) http.Handler {
	note, wrong := q.body(maxNote)
	if wrong != nil {
		return wrong
	}
	own, _ := t.workers.Get().(*worker)
	if set := t.Set(); own == nil || own.scorer.Set != set {
		own = &worker{scorer: set.Scorer(t.Explain)}
	}
	err := msg.DecodeOwnNote(note, &own.note)
	if err == nil {
		err = own.scorer.Score(&own.note, time.Now().UTC().Format(msg.TimeFormat), &own.prediction)
	}
	if err != nil {
		t.workers.Put(own)
		return refusal(err)
	}
	AddFacts(q.Context(), "predictions", 1)
	own.out = append(own.prediction.AppendJSON(own.out[:0]), '\n')
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, own.out)
		if cap(own.out) <= maxKept {
			t.workers.Put(own) // not after a panic, which may have left it half-written
		}
	})
}

// refusal is the problem of a note that cannot be scored. Its code is the reason of the equivalent dead letter.
func refusal(err error) Problem {
	code, detail := scoring.Refusal(err)
	p := problem(http.StatusUnprocessableEntity, string(code), detail)
	if e, ok := errors.AsType[*msg.Error](err); ok {
		p.Field = e.Field
	}
	switch code {
	case msg.NotJSON, msg.InvalidUTF8:
		p.Status = http.StatusBadRequest
	case msg.TooLarge:
		p.Status = http.StatusRequestEntityTooLarge
	case msg.ScoringFailed:
		p.Status = http.StatusInternalServerError
	}
	return p
}

// usedModel is a model in use, as GET /v1/models describes it.
type usedModel struct {
	msg.Model
	Complaint    string           `json:"complaint"` // "" for the model of all complaints
	Topics       int              `json:"topics"`
	Trained      time.Time        `json:"trained"`
	Notes        int              `json:"notes"`    // that it learned from
	Admitted     int              `json:"admitted"` // of these
	From         *time.Time       `json:"from"`     // earliest arrival; null if unknown
	To           *time.Time       `json:"to"`       // latest
	Recalibrated *bundle.Training `json:"recalibrated,omitempty"`
	Classes      []string         `json:"classes,omitempty"`
	Metrics      json.RawMessage  `json:"metrics"` // out of fold, with 95 % intervals; null if unknown
}

func (t *Triage) models(*query) http.Handler {
	set := t.Set()
	list := []usedModel{}
	for _, name := range sortedNames(set.Models) {
		m, about, training := set.Models[name], set.About[name], set.About[name].Training
		list = append(list, usedModel{
			Model: m.Info(), Complaint: about.Complaint, Topics: m.Rank(), Trained: about.Created,
			Notes: training.Documents, Admitted: training.Positives, From: known(training.From), To: known(training.To),
			Recalibrated: about.Recalibrated, Classes: m.Classes(), Metrics: about.Metrics,
		})
	}
	return JSON(map[string]any{"generation": set.Generation, "models": list})
}

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// known returns a time, or nil if unknown.
func known(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

const (
	defaultTerms = 15 // of each sign
	maxTerms     = 1000
)

func (t *Triage) topics(q *query) http.Handler {
	terms := q.number("terms", defaultTerms, 1, maxTerms)
	m := t.Set().Models[q.PathValue("model")]
	if m == nil {
		return Problem{
			Status: http.StatusNotFound, Code: "unknown_model", Field: "model", Detail: "no model of that name is in use",
		}
	}
	return JSON(map[string]any{"model": m.Info().Name, "version": m.Info().Version, "topics": m.Topics(terms)})
}
