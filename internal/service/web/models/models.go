// Package models is the page Models: the models in use with their measures, the generations of the store with their
// history, the figures, report and card of each version, and the forms with which operators promote and roll back.
package models

import (
	"bytes"
	"context"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/models"
)

var (
	//go:embed models.html
	html string
	//go:embed figures.html
	figuresHTML string
	//go:embed change.html
	changeHTML string
	//go:embed card.html
	cardHTML string
)

type room struct {
	*frame.Page
	store                        *models.Store
	set                          func() *scoring.Set
	changing                     httpapi.Changing
	view, figuresView, askedView *frame.Template
	cardView                     *frame.Template
	facts                        sync.Map // *facts of manifests, which never change, by the path of their version
}

// New returns the routes of the page. changed is called when another generation is served.
func New(p *frame.Page, store *models.Store, set func() *scoring.Set, changed func()) []httpapi.Route {
	h := &room{
		Page: p, store: store, set: set,
		changing: httpapi.Changing{Store: store, Changed: changed, Logger: p.Logger},
		view:     p.Template(html), figuresView: p.Template(figuresHTML), askedView: p.Template(changeHTML),
		cardView: p.Template(cardHTML),
	}
	routes := []httpapi.Route{
		p.Route(h.page),
		h.version("", h.figures), h.version("/figures.csv", h.figuresCSV), h.version("/report.json", h.reportJSON),
		h.version("/report", h.report), h.version("/card", h.card),
	}
	for _, a := range []*action{
		{path: "/models/promote", heading: "Promote a generation", button: "Promote", do: serving.Promote},
		{path: "/models/rollback", heading: "Roll back", button: "Roll back", do: serving.Rollback},
	} {
		ask := func(r *http.Request) http.Handler { return h.ask(r, a) }
		change := func(r *http.Request) http.Handler { return h.change(r, a) }
		routes = append(routes,
			httpapi.Route{Pattern: "GET " + a.path, Role: httpapi.Operator, Handler: httpapi.Answering(ask)},
			httpapi.Route{Pattern: "POST " + a.path, Role: httpapi.Operator, Handler: httpapi.Answering(change)})
	}
	return routes
}

type view struct {
	InUse, Champion string // generations
	Newest          string // the one that a promotion without a name takes, "" if there is none
	Operator        bool
	CanRollBack     bool
	NoOther         bool       // there is none to go back to
	Last            *eventView // the change to what is served, if it was made in the last minutes
	Damage          string
	Models          []modelView
	Generations     []generationView
	History         []eventView
}

type modelView struct {
	*facts
	Name, Label, Version, Path string
}

type generationView struct {
	models.GenerationInfo
	Tone          string
	InUse, Served bool
}

type eventView struct {
	models.Event
	Sign, What string
}

const (
	maxListed = 30
	recently  = 10 * time.Minute // how long the page begins with a change
)

// page shows what scores notes, the generations and their history.
func (h *room) page(r *http.Request) http.Handler {
	ctx, set := r.Context(), h.set()
	data := &view{InUse: set.Generation, Operator: httpapi.CallerOf(ctx).Is(httpapi.Operator)}
	for _, name := range slices.Sorted(maps.Keys(set.Models)) {
		about, version := set.About[name], set.Versions[name]
		data.Models = append(data.Models, modelView{
			facts: newFacts(about.Metrics, about.Training, about.Created), Name: name, Version: version,
			Label: frame.ModelLabel(name, about.Complaint), Path: pathOf(name, version),
		})
	}
	if err := data.read(ctx, h.store); err != nil && ctx.Err() == nil {
		h.Logger.Error("the model store cannot be read", "err", err)
		data.Damage = "The model store cannot be read now. The log says why."
	}
	return h.view.View(data)
}

func pathOf(model, version string) string {
	return "/models/" + url.PathEscape(model) + "/" + url.PathEscape(version)
}

// read fills in what the store holds. Damage is reported on the page, and the rest is shown.
func (data *view) read(ctx context.Context, store *models.Store) error {
	o, err := store.Overview(ctx)
	if err != nil {
		return err
	}
	all, damage, events, objections, disagree := o.Generations, o.Damage, o.Events, o.Objections, o.Disagree
	if all == nil && damage != nil {
		return damage
	}
	if _, damaged := errors.AsType[*models.FileError](o.Lost); o.Lost != nil && !damaged {
		return o.Lost
	}
	if disagree != nil && !errors.Is(disagree, models.ErrDisagree) {
		return disagree
	}
	switch {
	case disagree != nil && damage == nil && o.Lost == nil:
		data.Damage = "Champion and history disagree: somebody changed one of them by hand. Scoring continues with the " +
			"models in use. `wardcast models verify` says what is wrong; nothing is promoted here before it is mended."
	case errors.Join(damage, o.Lost) != nil:
		data.Damage = "Part of the store is damaged: some files cannot be read. `wardcast models verify` names them."
	case len(all) == 0 && data.InUse != "":
		data.Damage = "The model store is not there, or empty. Scoring continues, but after a restart notes would wait."
	}
	names := make([]string, len(all))
	for i, g := range all {
		names[i] = g.Name
		if g.Status == models.ChampionStatus {
			data.Champion = g.Name
		}
		data.Generations = append(data.Generations, newGenerationView(g, data.InUse, objections[g.Name]))
	}
	slices.Reverse(data.Generations)
	data.Generations = data.Generations[:min(maxListed, len(data.Generations))]
	if len(names) > 0 {
		if to, err := serving.Promotable(names, data.Champion, objections); err == nil && to != data.Champion {
			data.Newest = to
		}
	}
	latest := false // whether the last change to what is served is listed
	for _, e := range slices.Backward(events[max(0, len(events)-maxListed):]) {
		v := eventView{e, "●", frame.Capital(string(e.Action))}
		switch {
		case e.Action == models.Refused:
			v.Sign = "✕"
		case e.Abandoned:
			v.What += ", but never took effect:"
		case e.To == data.Champion && !latest:
			v.Sign, latest = "◆", true
			if time.Since(e.Time) < recently {
				data.Last = &v
			}
		}
		data.History = append(data.History, v)
	}
	data.CanRollBack = o.NoBefore == nil
	data.NoOther = errors.Is(o.NoBefore, models.ErrNotFound) && data.Champion != ""
	return nil
}

// newGenerationView returns a generation; objection is why it is not to be served without a reason, "" if it may be.
func newGenerationView(g models.GenerationInfo, inUse, objection string) generationView {
	v := generationView{GenerationInfo: g, Tone: "n", InUse: g.Name == inUse, Served: g.Status == models.ChampionStatus}
	switch {
	case v.Served:
		v.Tone = "ok"
	case g.Status == models.RefusedStatus:
		v.Tone = "warn"
	case strings.HasPrefix(objection, "was rolled back"):
		v.Status, v.Tone = "rolled back", "warn"
	}
	return v
}

// version returns the route of an answer about a version of a model, which it reads.
func (h *room) version(path string, answer func(*http.Request, *bundle.Bundle) http.Handler) httpapi.Route {
	return frame.Get("/models/{model}/{version}"+path, func(r *http.Request) http.Handler {
		b, err := h.store.Describe(r.Context(), r.PathValue("model"), r.PathValue("version"))
		if err == nil {
			return answer(r, b)
		}
		_, damaged := errors.AsType[*models.FileError](err)
		if r.Context().Err() == nil && (damaged || !errors.Is(err, models.ErrNotFound)) {
			h.Logger.Error("a version cannot be read", "err", err)
		}
		return h.Missing("The store has no such version, or cannot read it; the log says why.")
	})
}

func (h *room) card(_ *http.Request, b *bundle.Bundle) http.Handler {
	v := h.cardView.View(struct {
		Label, Version, Path string
		Blocks               []block
	}{
		frame.ModelLabel(b.Manifest.Name, b.Manifest.Complaint), b.Version, pathOf(b.Manifest.Name, b.Version),
		readMarkdown(b.Card),
	})
	v.Title = "Card"
	return v
}

// styleBlock is the style sheet of a report.
var styleBlock = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// report shows the report of a version, as the training wrote it. Whatever its file holds, it runs no script, loads
// nothing, and only style sheets that stand in it apply, by their hash.
func (h *room) report(_ *http.Request, b *bundle.Bundle) http.Handler {
	styles := []string{"style-src"}
	for _, m := range styleBlock.FindAllSubmatch(b.Page, -1) {
		sum := sha256.Sum256(m[1])
		styles = append(styles, "'sha256-"+base64.StdEncoding.EncodeToString(sum[:])+"'")
	}
	if len(styles) == 1 {
		styles = append(styles, "'none'")
	}
	back := fmt.Sprintf("<body><p><a href=%q>Back to the figures</a> · <a href=\"/models\">Models</a></p>",
		pathOf(b.Manifest.Name, b.Version))
	page := bytes.ReplaceAll(b.Page, []byte("<body>"), []byte(back))
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Security-Policy", "default-src 'none'; "+strings.Join(styles, " ")+
			"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
		w.Header().Set("Content-Type", "text/html; charset=utf-8")
		_, _ = w.Write(page) // the client is gone
	})
}

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
