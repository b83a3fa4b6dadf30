package httpapi

import (
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/models"
)

// Triage is what the API knows of the notes' scorer.
type Triage struct {
	Store   *models.Store
	Set     func() *scoring.Set // the generation in use
	Explain classifier.Options
	Live    *Live
	// Changed is called when another generation was promoted, so that the scorer looks for it at once.
	Changed func()

	workers sync.Pool // of *worker
}

// routes returns the routes that need a model store; none without one.
func (t *Triage) routes(a *API) []Route {
	if t == nil {
		return nil
	}
	return []Route{
		{Pattern: "POST /v1/predictions", Role: Viewer, Predictions: true, Handler: http.HandlerFunc(a.predict)},
		{Pattern: streamPattern, Role: Viewer, Predictions: true, Stream: true, Handler: http.HandlerFunc(a.stream)},
		{Pattern: "GET /v1/models", Role: Viewer, Handler: http.HandlerFunc(a.models)},
		{Pattern: "GET /v1/models/{model}/topics", Role: Viewer, Handler: http.HandlerFunc(a.topics)},
		{Pattern: "GET /v1/generations", Role: Viewer, Handler: http.HandlerFunc(a.generations)},
		{Pattern: "GET /v1/history", Role: Viewer, Handler: http.HandlerFunc(a.history)},
		{Pattern: "POST /v1/generations/{generation}/promote", Role: Operator, Handler: http.HandlerFunc(a.promote)},
		{Pattern: "POST /v1/rollback", Role: Operator, Handler: http.HandlerFunc(a.rollback)},
	}
}

// maxNote bounds the body of a note: its text, with each byte as six of JSON, and the other fields.
const maxNote = 512 << 10

// body reads the JSON that a request carries, or answers with a problem and returns nil.
func body(w http.ResponseWriter, r *http.Request, limit int64) []byte {
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		w.Header().Set("Accept", "application/json")
		Problem{http.StatusUnsupportedMediaType, codeMediaType, "", "the body must be application/json"}.Write(w)
		return nil
	}
	data, err := io.ReadAll(http.MaxBytesReader(w, r.Body, limit))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		Problem{http.StatusRequestEntityTooLarge, string(msg.TooLarge), "", "the body is too large"}.Write(w)
		return nil
	}
	if err != nil { // cut short, or too slow
		Problem{http.StatusBadRequest, codeBody, "", "the body did not come whole"}.Write(w)
		return nil
	}
	if data == nil {
		data = []byte{}
	}
	return data
}

// worker scores notes with one set, one at a time.
type worker struct {
	scorer     *scoring.Scorer
	note       msg.Note
	prediction msg.Prediction
	out        []byte
}

// maxKept bounds the buffer that a worker keeps.
const maxKept = 64 << 10

// predict answers a note with its prediction: the line of `wardcast predict`.
func (a *API) predict(w http.ResponseWriter, r *http.Request) {
	if q := a.query(r); q.refused(w) {
		return
	}
	note := body(w, r, maxNote)
	if note == nil {
		return
	}
	t := a.options.Triage
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
		refusal(err).Write(w)
		return
	}
	own.out = append(own.prediction.AppendJSON(own.out[:0]), '\n')
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(own.out)
	if cap(own.out) <= maxKept {
		t.workers.Put(own) // not after a panic, which may have left it half-written
	}
}

// refusal is the problem of a note that cannot be scored. Its code is the reason that its dead letter would have.
func refusal(err error) Problem {
	code, detail := scoring.Refusal(err)
	p := Problem{http.StatusUnprocessableEntity, string(code), "", detail}
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

// usedModel is a model in use, as GET /v1/models tells it.
type usedModel struct {
	Name         string           `json:"name"`
	Version      string           `json:"version"`
	Method       string           `json:"method"`
	SHA256       string           `json:"sha256"`
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

// models lists the models in use, by name.
func (a *API) models(w http.ResponseWriter, r *http.Request) {
	if q := a.query(r); q.refused(w) {
		return
	}
	set := a.options.Triage.Set()
	list := []usedModel{}
	for _, name := range sortedNames(set.Models) {
		m, about := set.Models[name], set.About[name]
		info, training := m.Info(), about.Training
		list = append(list, usedModel{
			Name: info.Name, Version: info.Version, Method: info.Method, SHA256: info.SHA256, Complaint: about.Complaint, Topics: m.Rank(),
			Trained: set.Created[name], Notes: training.Documents, Admitted: training.Positives, From: known(training.From), To: known(training.To),
			Recalibrated: about.Recalibrated, Classes: m.Classes(), Metrics: about.Metrics,
		})
	}
	writeJSON(w, map[string]any{"generation": set.Generation, "models": list})
}

// known returns a time, nil if it is unknown.
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

// topics lists the topics of a model in use.
func (a *API) topics(w http.ResponseWriter, r *http.Request) {
	q := a.query(r, "terms")
	terms := q.number("terms", defaultTerms, 1, maxTerms)
	if q.refused(w) {
		return
	}
	m := a.options.Triage.Set().Models[r.PathValue("model")]
	if m == nil {
		Problem{http.StatusNotFound, "unknown_model", "model", "no model of that name is in use"}.Write(w)
		return
	}
	writeJSON(w, map[string]any{"model": m.Info().Name, "version": m.Info().Version, "topics": m.Topics(terms)})
}
