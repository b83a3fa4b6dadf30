package httpapi

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/models"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// member is a model of a generation.
type member struct {
	Model     string `json:"model"`
	Complaint string `json:"complaint"`
	Version   string `json:"version"`
	Reason    string `json:"reason"` // why it is there
}

// generation is what GET /v1/generations tells.
type generation struct {
	Name      string               `json:"name"`
	Parent    string               `json:"parent,omitempty"`
	CreatedAt time.Time            `json:"created_at"`
	By        string               `json:"by"`
	Status    models.VersionStatus `json:"status"`
	Reason    string               `json:"reason"` // of the refusal
	Models    []member             `json:"models"`
}

// generations lists the generations of the store, oldest first, and which is in use here.
func (a *API) generations(w http.ResponseWriter, r *http.Request) {
	if q := a.query(r); q.refused(w) {
		return
	}
	t := a.options.Triage
	all, damage := models.ListGenerations(r.Context(), t.Store)
	if all == nil && damage != nil {
		a.unavailable(w, r, damage)
		return
	}
	list := []generation{}
	for _, g := range all {
		one := generation{Name: g.Name, Parent: g.Parent, CreatedAt: g.CreatedAt, By: g.By, Status: g.Status, Reason: g.Reason, Models: []member{}}
		for _, name := range sortedNames(g.Models) {
			m := g.Models[name]
			one.Models = append(one.Models, member{name, m.Complaint, m.Version, m.Reason})
		}
		list = append(list, one)
	}
	writeJSON(w, map[string]any{"in_use": t.Set().Generation, "generations": list, "damage": lines(damage)})
}

// history lists what happened to the store, oldest first.
func (a *API) history(w http.ResponseWriter, r *http.Request) {
	if q := a.query(r); q.refused(w) {
		return
	}
	events, damage := a.options.Triage.Store.History(r.Context())
	if _, damaged := errors.AsType[*models.FileError](damage); damage != nil && !damaged {
		a.unavailable(w, r, damage)
		return
	}
	if events == nil {
		events = []models.Event{}
	}
	writeJSON(w, map[string]any{"events": events, "damage": lines(damage)})
}

// lines returns the lines of an error. Damage must not hide the rest, and must be told.
func lines(err error) []string {
	if err == nil {
		return []string{}
	}
	return strings.Split(err.Error(), "\n")
}

// unavailable answers when the store cannot be read.
func (a *API) unavailable(w http.ResponseWriter, r *http.Request, err error) {
	unreadable(r.Context(), a.options.Logger, err).Write(w)
}

// unreadable logs why the store cannot be read, and returns the problem that tells so.
func unreadable(ctx context.Context, log *slog.Logger, err error) *Problem {
	if ctx.Err() == nil {
		log.ErrorContext(ctx, "the model store cannot be used", "err", err, "request_id", visitOf(ctx).id)
	}
	return &Problem{http.StatusServiceUnavailable, codeUnavailable, "", "the model store cannot be read or written; the log says why"}
}

const (
	maxReason = 1000 // bytes
	maxChange = 16 << 10
)

// wish is the body of a promotion or a rollback.
type wish struct {
	Reason string `json:"reason"`
	To     string `json:"to"` // of a rollback; "" for the generation that was served before
	DryRun bool   `json:"dry_run"`
}

// wished reads the body, or answers with a problem and returns nil.
func wished(w http.ResponseWriter, r *http.Request) *wish {
	data := body(w, r, maxChange)
	if data == nil {
		return nil
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var v wish
	var problem *Problem
	if err := d.Decode(&v); err != nil || d.Decode(new(any)) != io.EOF || !utf8.Valid(data) {
		problem = &Problem{http.StatusBadRequest, codeBody, "", "the body must be one JSON object of reason (text), dry_run (true or false) and, for a rollback, to (text)"}
	} else {
		problem = CheckReason(v.Reason)
	}
	if problem != nil {
		problem.Write(w)
		return nil
	}
	return &v
}

// CheckReason returns what is wrong with the reason of a change, nil if nothing is.
func CheckReason(why string) *Problem {
	switch {
	case strings.TrimSpace(why) == "":
		return &Problem{http.StatusUnprocessableEntity, codeBody, "reason", "a reason is required: the history tells it to those who ask later"}
	case len(why) > maxReason || !readable(why):
		return &Problem{http.StatusUnprocessableEntity, codeBody, "reason", "the reason is longer than 1000 bytes, or has control characters"}
	}
	return nil
}

func (a *API) promote(w http.ResponseWriter, r *http.Request) {
	v := wished(w, r)
	if v == nil {
		return
	}
	if v.To != "" {
		Problem{http.StatusUnprocessableEntity, codeBody, "to", "the path names the generation"}.Write(w)
		return
	}
	v.To = r.PathValue("generation")
	a.change(w, r, v, func(request *serving.Request) (*serving.Change, error) {
		return serving.Promote(r.Context(), a.options.Triage.Store, request)
	})
}

func (a *API) rollback(w http.ResponseWriter, r *http.Request) {
	v := wished(w, r)
	if v == nil {
		return
	}
	a.change(w, r, v, func(request *serving.Request) (*serving.Change, error) {
		return serving.Rollback(r.Context(), a.options.Triage.Store, request)
	})
}

// change makes a change and answers with it.
func (a *API) change(w http.ResponseWriter, r *http.Request, v *wish, do func(*serving.Request) (*serving.Change, error)) {
	if q := a.query(r); q.refused(w) {
		return
	}
	t, from := a.options.Triage, visitOf(r.Context())
	made, err := do(&serving.Request{To: v.To, By: from.caller.By(), Why: v.Reason, Command: r.Pattern, DryRun: v.DryRun, Logger: a.options.Logger})
	if err != nil {
		a.unchanged(w, r, err)
		return
	}
	from.facts = []any{"from", made.From, "to", made.To.Name, "dry_run", v.DryRun}
	if !v.DryRun {
		t.Changed()
	}
	writeJSON(w, map[string]any{"from": made.From, "to": made.To.Name, "models": made.To.Versions(), "dry_run": v.DryRun})
}

// unchanged answers a change that was not made.
func (a *API) unchanged(w http.ResponseWriter, r *http.Request, err error) {
	Unchanged(r.Context(), a.options.Logger, err).Write(w)
}

// Unchanged returns why a change of what is served was not made, and logs what the caller cannot mend.
func Unchanged(ctx context.Context, log *slog.Logger, err error) *Problem {
	_, damaged := errors.AsType[*models.FileError](err)
	for _, known := range []struct {
		is bool
		Problem
	}{
		{errors.Is(err, serving.ErrServed), Problem{http.StatusConflict, "served_already", "", "that generation is served already"}},
		{errors.Is(err, models.ErrNeverServed), Problem{http.StatusConflict, "never_served", "", "that generation was never served, so there is nothing to go back to; promote it"}},
		{errors.Is(err, models.ErrConflict), Problem{http.StatusConflict, "conflict", "", "somebody else changed what is served; look again"}},
		{damaged, Problem{http.StatusConflict, "damaged", "", "files of that generation, or of the store, are damaged; `wardcast models verify` names them"}},
		{errors.Is(err, models.ErrNotFound), Problem{http.StatusNotFound, "unknown_generation", "", "the store has no such generation"}},
	} {
		if known.is {
			if damaged {
				log.ErrorContext(ctx, "a generation cannot be served", "err", err, "request_id", visitOf(ctx).id)
			}
			return &known.Problem
		}
	}
	return unreadable(ctx, log, err)
}
