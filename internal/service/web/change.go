package web

import (
	"context"
	"net/http"
	"strings"

	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/models"
)

// maxChange bounds the form, in bytes.
const maxChange = 16 << 10

// changePage asks an operator to confirm a change.
type changePage struct {
	Heading, Button, Action  string
	From, To, Verdict, Error string
	Why                      string
	Rows                     []changeRow

	status int // 0 without an error
}

// refuse tells why nothing was changed, or would be.
func (page *changePage) refuse(p *httpapi.Problem) {
	page.Error, page.status = capital(p.Detail)+".", p.Status
}

// changeRow is a model before and after.
type changeRow struct {
	Label, Before, After string
	Same                 bool
}

// action is a promotion or a rollback.
type action struct {
	name, heading, button string
	do                    func(context.Context, *models.Store, *serving.Request) (*serving.Change, error)
}

func promotion() action {
	return action{"promote", "Promote a generation", "Promote", serving.Promote}
}

func rollback() action {
	return action{"rollback", "Roll back", "Roll back", serving.Rollback}
}

func (p *Pages) askPromote(w http.ResponseWriter, r *http.Request)  { p.ask(w, r, promotion()) }
func (p *Pages) askRollback(w http.ResponseWriter, r *http.Request) { p.ask(w, r, rollback()) }
func (p *Pages) promote(w http.ResponseWriter, r *http.Request)     { p.change(w, r, promotion()) }
func (p *Pages) rollback(w http.ResponseWriter, r *http.Request)    { p.change(w, r, rollback()) }

// ask shows what a change would do, after a trial that loads all models, and asks for a reason.
func (p *Pages) ask(w http.ResponseWriter, r *http.Request, a action) {
	page := &changePage{}
	p.preview(r, a, page, r.URL.Query().Get("to"))
	p.confirm(w, r, a, page)
}

// confirm shows the page that asks for a reason.
func (p *Pages) confirm(w http.ResponseWriter, r *http.Request, a action, page *changePage) {
	page.Heading, page.Button, page.Action = a.heading, a.button, "/models/"+a.name
	p.write(w, r, view{template: "change", title: a.heading, here: "Models", status: page.status, data: page})
}

// preview tries a change and fills in what it would do, or why it cannot be.
func (p *Pages) preview(r *http.Request, a action, page *changePage, to string) {
	ctx := r.Context()
	request := p.request(r, to, "a trial")
	request.DryRun = true
	made, err := a.do(ctx, p.options.Store, request)
	if err != nil {
		page.refuse(httpapi.Unchanged(ctx, p.options.Logger, err))
		return
	}
	page.From, page.To = made.From, made.To.Name
	before := map[string]string{}
	if g, err := p.options.Store.Generation(ctx, made.From); err == nil {
		before = g.Versions()
	}
	after := made.To.Versions()
	names := map[string]bool{}
	for _, versions := range []map[string]string{before, after} {
		for name := range versions {
			names[name] = true
		}
	}
	for _, name := range sortedNames(names) {
		row := changeRow{Label: modelLabel(name, made.To.Models[name].Complaint), Before: before[name], After: after[name], Same: before[name] == after[name]}
		if row.Before == "" {
			row.Before = "none"
		}
		if row.After == "" {
			row.After = "none: the model of all complaints answers"
		}
		page.Rows = append(page.Rows, row)
	}
	events, err := p.options.Store.History(ctx)
	if err != nil {
		return // the page Models tells of damage
	}
	for _, e := range events {
		if e.To == page.To && e.Action == models.Refused {
			page.Verdict = e.Why
		}
	}
}

// request asks for a change in the name of the caller.
func (p *Pages) request(r *http.Request, to, why string) *serving.Request {
	return &serving.Request{To: to, By: httpapi.CallerOf(r.Context()).By(), Why: why, Command: r.Pattern, Logger: p.options.Logger}
}

// change makes a change that an operator has confirmed.
func (p *Pages) change(w http.ResponseWriter, r *http.Request, a action) {
	r.Body = http.MaxBytesReader(w, r.Body, maxChange)
	why := strings.Join(strings.Fields(r.PostFormValue("why")), " ")
	to, page := r.PostFormValue("to"), &changePage{Why: why}
	problem := httpapi.CheckReason(why)
	switch {
	case to == "":
		problem = &httpapi.Problem{Status: http.StatusBadRequest, Detail: "the form did not come whole: go back to Models and begin again"}
	case problem != nil:
		p.preview(r, a, page, to)
	default:
		request := p.request(r, to, why)
		request.From = r.PostFormValue("from") // as the operator saw it
		made, err := a.do(r.Context(), p.options.Store, request)
		if err == nil {
			httpapi.Tell(r.Context(), "from", made.From, "to", made.To.Name, "dry_run", false)
			p.options.Changed()
			http.Redirect(w, r, "/models?done="+a.name, http.StatusSeeOther)
			return
		}
		problem = httpapi.Unchanged(r.Context(), p.options.Logger, err)
	}
	if page.Error == "" {
		page.refuse(problem)
	}
	p.confirm(w, r, a, page)
}
