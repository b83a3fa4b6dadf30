package web

import (
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
	do                    httpapi.Action
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
	made, problem := p.changing().Do(r, a.do, serving.Request{To: to, Why: "a trial", DryRun: true})
	if problem != nil {
		page.refuse(problem)
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

func (p *Pages) changing() *httpapi.Changing {
	return &httpapi.Changing{Store: p.options.Store, Changed: p.options.Changed, Logger: p.options.Logger}
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
		from := r.PostFormValue("from") // as the operator saw it
		if _, problem = p.changing().Do(r, a.do, serving.Request{To: to, From: from, Why: why}); problem == nil {
			http.Redirect(w, r, "/models?done="+a.name, http.StatusSeeOther)
			return
		}
	}
	if page.Error == "" {
		page.refuse(problem)
	}
	p.confirm(w, r, a, page)
}
