package httpapi

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/signing"
)

// member is a model of a generation.
type member struct {
	Model     string `json:"model"`
	Complaint string `json:"complaint"`
	Version   string `json:"version"`
	Reason    string `json:"reason"` // why it is there
}

// generation is an entry of GET /v1/generations.
type generation struct {
	Name      string               `json:"name"`
	Parent    string               `json:"parent,omitempty"`
	CreatedAt time.Time            `json:"created_at"`
	By        string               `json:"by"`
	Status    models.VersionStatus `json:"status"`
	Reason    string               `json:"reason"` // of a refusal
	Models    []member             `json:"models"`
}

// generations lists the generations of the store, oldest first, and which is in use here.
func (a *API) generations(q *query) http.Handler {
	t := a.options.Triage
	o, err := t.Store.Overview(q.Context())
	if err == nil && o.Generations == nil {
		err = o.Damage
	}
	if err != nil {
		return unreadable(q.Context(), a.options.Logger, err)
	}
	list := lists.Map(o.Generations, func(g models.GenerationInfo) generation {
		return generation{
			Name: g.Name, Parent: g.Parent, CreatedAt: g.CreatedAt, By: g.By, Status: g.Status, Reason: g.Reason,
			Models: lists.Map(sortedNames(g.Models), func(name string) member {
				m := g.Models[name]
				return member{Model: name, Complaint: m.Complaint, Version: m.Version, Reason: m.Reason}
			}),
		}
	})
	return JSON(map[string]any{"in_use": t.Set().Generation, "generations": list, "damage": lines(o.Damage)})
}

// history lists the events of the store, oldest first.
func (a *API) history(q *query) http.Handler {
	o, err := a.options.Triage.Store.Overview(q.Context())
	if err == nil {
		if _, damaged := errors.AsType[*models.FileError](o.Lost); !damaged {
			err = o.Lost
		}
	}
	if err != nil {
		return unreadable(q.Context(), a.options.Logger, err)
	}
	return JSON(map[string]any{"events": append([]models.Event{}, o.Events...), "damage": lines(o.Lost)})
}

// lines returns the lines of an error: damage is reported without hiding the rest.
func lines(err error) []string {
	if err == nil {
		return []string{}
	}
	return strings.Split(err.Error(), "\n")
}

// unreadable logs why the store cannot be read, and returns the problem.
func unreadable(ctx context.Context, log *slog.Logger, err error) *Problem {
	if ctx.Err() == nil {
		log.ErrorContext(ctx, "the model store cannot be used", "err", err, "request_id", visitOf(ctx).id)
	}
	p := problem(http.StatusServiceUnavailable, codeUnavailable,
		"the model store cannot be read or written; the log says why")
	return &p
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
	Mend   bool   `json:"mend"` // of champion and history that disagree
}

// wished reads the body, or returns the answer to an invalid one.
func (q *query) wished() (*wish, http.Handler) {
	data, wrong := q.body(maxChange)
	if wrong != nil {
		return nil, wrong
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.DisallowUnknownFields()
	var v wish
	if err := d.Decode(&v); err != nil || d.Decode(new(any)) != io.EOF || !utf8.Valid(data) {
		return nil, problem(http.StatusBadRequest, codeBody,
			"the body must be one JSON object of reason (text), dry_run and mend (true or false) and, for a rollback, "+
				"to (text)")
	}
	if p := CheckReason(v.Reason); p != nil {
		return nil, p
	}
	return &v, nil
}

// CheckReason returns the problem with the reason of a change, or nil.
func CheckReason(why string) *Problem {
	p := Problem{Status: http.StatusUnprocessableEntity, Code: codeBody, Field: "reason"}
	switch {
	case strings.TrimSpace(why) == "":
		p.Detail = "a reason is required: it is recorded in the history"
	case len(why) > maxReason:
		p.Detail = "the reason is longer than 1000 bytes"
	default:
		err := wording.CheckLine(why)
		if err == nil {
			return nil
		}
		p.Detail = "the reason is " + err.Error()
	}
	return &p
}

// FormReason returns the reason that a form of a page holds, as one line.
func FormReason(form url.Values) string {
	typed := func(r rune) bool { return strings.ContainsRune(" \t\r\n", r) }
	return strings.Join(strings.FieldsFunc(form.Get("why"), typed), " ")
}

// change answers a promotion, whose path names the generation, or a rollback.
func (a *API) change(do Action) func(*query) http.Handler {
	return func(q *query) http.Handler {
		v, wrong := q.wished()
		if wrong != nil {
			return wrong
		}
		named, detail := q.PathValue("generation"), ""
		switch {
		case named != "" && v.To != "":
			detail = "the path names the generation"
		case v.Mend && v.To == "" && named == "":
			detail = "to mend the store, name the generation"
		}
		if detail != "" {
			return Problem{Status: http.StatusUnprocessableEntity, Code: codeBody, Field: "to", Detail: detail}
		}
		v.To = cmp.Or(v.To, named)
		t := a.options.Triage
		c := Changing{Store: t.Store, Changed: t.Changed, Logger: a.options.Logger}
		made, p := c.Do(q.Request, do, serving.Request{To: v.To, Why: v.Reason, DryRun: v.DryRun, Mend: v.Mend})
		if p != nil {
			return p
		}
		return JSON(
			map[string]any{"from": made.From, "to": made.To.Name, "models": made.To.Versions(), "dry_run": v.DryRun})
	}
}

// Action is serving.Promote or serving.Rollback.
type Action func(context.Context, *models.Store, *serving.Request) (*serving.Change, error)

// Changing changes what is served for a caller.
type Changing struct {
	Store   *models.Store
	Changed func() // called when another generation is served
	Logger  *slog.Logger
}

// Do makes a change in the caller's name and adds it to the audit log, or returns why it was not made.
func (c *Changing) Do(r *http.Request, do Action, wanted serving.Request) (*serving.Change, *Problem) {
	wanted.By, wanted.Command, wanted.Logger = CallerOf(r.Context()).By(), r.Pattern, c.Logger
	made, err := do(r.Context(), c.Store, &wanted)
	if err != nil {
		return nil, unchanged(r.Context(), c.Logger, err)
	}
	AddFacts(r.Context(), "from", made.From, "to", made.To.Name, "dry_run", wanted.DryRun)
	if !wanted.DryRun {
		c.Changed()
	}
	return made, nil
}

// unchanged returns why what is served was not changed, and logs what the caller cannot fix.
func unchanged(ctx context.Context, log *slog.Logger, err error) *Problem {
	conflict := func(code, detail string) *Problem {
		return &Problem{Status: http.StatusConflict, Code: code, Detail: detail}
	}
	_, damaged := errors.AsType[*models.FileError](err)
	switch {
	case errors.Is(err, serving.ErrServed):
		return conflict("served_already", "that generation is served already")
	case errors.Is(err, models.ErrNeverServed):
		return conflict("never_served",
			"that generation was never served, so there is nothing to go back to; promote it")
	case errors.Is(err, models.ErrConflict):
		return conflict("conflict", "somebody else changed what is served; look again")
	case errors.Is(err, models.ErrDisagree):
		log.ErrorContext(ctx, "nothing is promoted", "err", err, "request_id", visitOf(ctx).id)
		return conflict("history_disagrees",
			"champion and history of the store disagree: somebody changed one of them by hand. "+
				"`wardcast models verify` says how, and the runbook of WardcastHistoryDisagrees how to go on")
	case errors.Is(err, models.ErrNoKey):
		return conflict("no_signing_key", "this scorer has no signing key: change it where the key is, "+
			"by `wardcast models promote` or `rollback`")
	case errors.Is(err, signing.ErrUntrusted):
		return conflict("not_signed", "no trusted key signed that generation, or the history of the store")
	case damaged:
		log.ErrorContext(ctx, "a generation cannot be served", "err", err, "request_id", visitOf(ctx).id)
		return conflict("damaged",
			"files of that generation, or of the store, are damaged; `wardcast models verify` names them")
	case errors.Is(err, models.ErrNotFound):
		p := problem(http.StatusNotFound, "unknown_generation", "the store has no such generation")
		return &p
	}
	return unreadable(ctx, log, err)
}
