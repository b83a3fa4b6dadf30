package models

import (
	"maps"
	"net/http"
	"slices"

	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/models"
)

const maxChange = 16 << 10

type action struct {
	path, heading, button string
	do                    httpapi.Action
}

type changeView struct {
	Heading, Button, Action  string
	From, To, Verdict, Error string
	Why                      string
	Rows                     []changeRow
}

// changeRow is a model before and after; "" if there is none.
type changeRow struct{ Label, Before, After string }

// ask shows what a change would do, after a trial that loads all models, and asks for a reason.
func (h *room) ask(r *http.Request, a *action) http.Handler {
	data := &changeView{}
	return h.confirm(a, data, h.preview(r, a, data, r.URL.Query().Get("to")))
}

func (h *room) confirm(a *action, data *changeView, problem *httpapi.Problem) http.Handler {
	data.Heading, data.Button, data.Action = a.heading, a.button, a.path
	v := h.askedView.View(data)
	v.Title = a.heading
	if problem != nil {
		data.Error, v.Status = frame.Capital(problem.Detail)+".", problem.Status
	}
	return v
}

// preview tries a change and fills in what it would do, or returns why it cannot be.
func (h *room) preview(r *http.Request, a *action, data *changeView, to string) *httpapi.Problem {
	ctx := r.Context()
	made, problem := h.changing.Do(r, a.do, serving.Request{To: to, Why: "a trial", DryRun: true})
	if problem != nil {
		return problem
	}
	data.From, data.To = made.From, made.To.Name
	before, after := map[string]string{}, made.To.Versions()
	if g, err := h.store.Generation(ctx, made.From); err == nil {
		before = g.Versions()
	}
	names := maps.Clone(before)
	maps.Copy(names, after)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		label := frame.ModelLabel(name, made.To.Models[name].Complaint)
		data.Rows = append(data.Rows, changeRow{label, before[name], after[name]})
	}
	events, err := h.store.History(ctx)
	if err != nil {
		return nil // the page Models reports damage
	}
	for _, e := range events {
		if e.To == data.To && e.Action == models.Refused {
			data.Verdict = e.Why
		}
	}
	return nil
}

func (h *room) change(r *http.Request, a *action) http.Handler {
	r.Body = http.MaxBytesReader(nil, r.Body, maxChange)
	to := r.PostFormValue("to") // parses the form
	why := httpapi.FormReason(r.PostForm)
	data := &changeView{Why: why}
	problem := httpapi.CheckReason(why)
	switch {
	case to == "":
		const detail = "the form did not come whole: go back to Models and begin again"
		problem = &httpapi.Problem{Status: http.StatusBadRequest, Detail: detail}
	case problem != nil:
		if worse := h.preview(r, a, data, to); worse != nil {
			problem = worse
		}
	default:
		from := r.PostFormValue("from") // as the operator saw it
		if _, problem = h.changing.Do(r, a.do, serving.Request{To: to, From: from, Why: why}); problem == nil {
			return http.RedirectHandler("/models", http.StatusSeeOther)
		}
	}
	return h.confirm(a, data, problem)
}
