package web

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/serving"
	"github.com/wardcast/wardcast/models"
)

func sortedNames[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// modelsPage is the page Models.
type modelsPage struct {
	InUse, Champion, Newest        string // generations; Newest is the one that a promotion without a name takes, "" if there is none
	Operator, CanRollBack, NoOther bool   // NoOther: there is none to go back to
	Done, Damage                   string
	Models                         []modelView
	Generations                    []generationView
	History                        []eventView
}

// modelView is a model in use.
type modelView struct {
	Label, Version, Notes, Admitted, Trained, Topics, Figures, Report, Card string
	Measures                                                                []measure
}

// measure is a measure of a model with its interval.
type measure struct{ Value, Interval, Class string }

type generationView struct {
	Name, Status, Tone, By string
	Models                 int
	InUse, Served          bool
}

type eventView struct{ Sign, What, To, At, By, Why string }

// maxListed bounds the generations and events on the page.
const maxListed = 30

// models shows what scores notes, the generations and their history.
func (p *Pages) models(w http.ResponseWriter, r *http.Request) {
	ctx, set := r.Context(), p.options.Set()
	page := &modelsPage{InUse: set.Generation, Operator: httpapi.CallerOf(ctx).Is(httpapi.Operator)}
	for _, name := range sortedNames(set.Models) {
		page.Models = append(page.Models, newModelView(set, name))
	}
	if err := page.read(ctx, p.options.Store); err != nil && ctx.Err() == nil {
		p.options.Logger.Error("the model store cannot be read", "err", err)
		page.Damage = "the store cannot be read now; the log says why"
	}
	switch r.URL.Query().Get("done") {
	case "promote":
		page.Done = "Promoted. The history below has your reason."
	case "rollback":
		page.Done = "Rolled back. The history below has your reason."
	}
	p.write(w, r, view{template: "models", title: "Models", here: "Models", data: page})
}

// newModelView returns a model of a set. Its measures are those of its manifest.
func newModelView(set *scoring.Set, name string) modelView {
	about := set.About[name]
	base := "/models/" + url.PathEscape(name) + "/" + url.PathEscape(set.Versions[name])
	v := modelView{
		Label: modelLabel(name, about.Complaint), Version: set.Versions[name], Notes: grouped(about.Training.Documents), Trained: set.Created[name].UTC().Format("2 Jan 2006"),
		Topics: "/topics?model=" + url.QueryEscape(name), Figures: base, Report: base + "/report", Card: base + "/card", Admitted: "unknown",
	}
	if n := about.Training.Documents; n > 0 {
		admitted := float64(about.Training.Positives) / float64(n)
		v.Admitted = share(&admitted)
	}
	m := newMetrics(about.Metrics)
	for i, x := range []*float64{m.AUROC, m.Brier, m.Slope} {
		one := measure{Value: "unknown"}
		if x != nil {
			one.Value = fixed(*x)
		}
		if i == 0 && m.Interval != nil {
			one.Interval = fixed(m.Interval.Low) + " to " + fixed(m.Interval.High)
		}
		if i > 0 {
			one.Class = " hide-s"
		}
		v.Measures = append(v.Measures, one)
	}
	return v
}

// metrics are those of a manifest that the pages show. What it lacks is nil.
type metrics struct {
	AUROC    *float64                     `json:"auroc"`
	Interval *struct{ Low, High float64 } `json:"auroc_95"`
	Brier    *float64                     `json:"brier"`
	Slope    *float64                     `json:"calibration_slope"`
}

func newMetrics(data json.RawMessage) (m metrics) {
	_ = json.Unmarshal(data, &m) // what it lacks is unknown
	return m
}

// read fills in what the store tells. What is damaged is told on the page, and the rest is shown.
func (page *modelsPage) read(ctx context.Context, store *models.Store) error {
	all, damage := models.ListGenerations(ctx, store)
	if all == nil && damage != nil {
		return damage
	}
	events, err := store.History(ctx)
	if _, damaged := errors.AsType[*models.FileError](err); err != nil && !damaged {
		return err
	}
	if errors.Join(damage, err) != nil {
		page.Damage = "some files cannot be read"
	}
	objections, err := store.Objections(ctx)
	if err != nil {
		return err
	}
	names := make([]string, len(all))
	for i, g := range all {
		names[i] = g.Name
		if g.Status == models.ChampionStatus {
			page.Champion = g.Name
		}
	}
	if len(names) > 0 {
		if to, err := serving.Promotable(names, page.Champion, objections); err == nil && to != page.Champion {
			page.Newest = to
		}
	}
	for _, g := range slices.Backward(all) {
		if len(page.Generations) == maxListed {
			break
		}
		page.Generations = append(page.Generations, newGenerationView(&g, page.InUse, objections[g.Name]))
	}
	signs := map[models.Action]string{models.Refused: "✕"}
	for _, e := range slices.Backward(events) {
		if len(page.History) == maxListed {
			break
		}
		v := eventView{Sign: "●", What: capital(string(e.Action)), To: e.To, At: stamp(e.Time) + " UTC", By: e.By, Why: e.Why}
		switch {
		case signs[e.Action] != "":
			v.Sign = signs[e.Action]
		case e.Abandoned:
			v.What += ", but never took effect:"
		case e.To == page.Champion && !slices.ContainsFunc(page.History, func(x eventView) bool { return x.Sign == "◆" }):
			v.Sign = "◆"
		}
		page.History = append(page.History, v)
	}
	_, err = store.Before(ctx)
	page.CanRollBack, page.NoOther = err == nil, errors.Is(err, models.ErrNotFound) && page.Champion != ""
	return nil
}

// newGenerationView returns a generation; objection is why it is not to be served without a reason, "" if it may be.
func newGenerationView(g *models.GenerationInfo, inUse, objection string) generationView {
	v := generationView{Name: g.Name, Status: string(g.Status), Tone: "n", By: g.By, Models: len(g.Models), InUse: g.Name == inUse, Served: g.Status == models.ChampionStatus}
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

// capital returns words of ours with a capital letter and without underscores.
func capital(s string) string {
	s = strings.ReplaceAll(s, "_", " ")
	if s == "" {
		return s
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// bundle reads a version of a model, or answers that there is none.
func (p *Pages) bundle(w http.ResponseWriter, r *http.Request) *bundle.Bundle {
	b, err := p.options.Store.Describe(r.Context(), r.PathValue("model"), r.PathValue("version"))
	if err != nil {
		if _, damaged := errors.AsType[*models.FileError](err); r.Context().Err() == nil && (damaged || !errors.Is(err, models.ErrNotFound)) {
			p.options.Logger.Error("a version cannot be read", "err", err)
		}
		p.missing(w, r, "Models", "The store has no such version, or cannot read it; the log says why.")
		return nil
	}
	return b
}

// card shows the card of a version.
func (p *Pages) card(w http.ResponseWriter, r *http.Request) {
	b := p.bundle(w, r)
	if b == nil {
		return
	}
	t := text{Heading: "Card of " + modelLabel(b.Manifest.Name, b.Manifest.Complaint), Sub: "Version " + b.Version, Back: "/models", BackTo: "Back to Models", Text: b.Card, Message: "This version has no card."}
	p.write(w, r, view{template: "text", title: t.Heading, here: "Models", data: t})
}

// styleBlock is the style sheet of a report.
var styleBlock = regexp.MustCompile(`(?s)<style>(.*?)</style>`)

// report shows the report of a version, as the training wrote it. Whatever its file holds, it runs no script, loads nothing, and only style
// sheets that stand in it apply, by their hash.
func (p *Pages) report(w http.ResponseWriter, r *http.Request) {
	b := p.bundle(w, r)
	switch {
	case b == nil:
		return
	case len(b.Page) == 0:
		p.missing(w, r, "Models", "This version has no report: an earlier wardcast made it.")
		return
	}
	styles := "'none'"
	for i, m := range styleBlock.FindAllSubmatch(b.Page, -1) {
		sum := sha256.Sum256(m[1])
		if i == 0 {
			styles = ""
		}
		styles += " 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"
	}
	h := w.Header()
	h.Set("Content-Security-Policy", "default-src 'none'; style-src "+strings.TrimSpace(styles)+"; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; sandbox")
	h.Set("Content-Type", "text/html; charset=utf-8")
	_, _ = w.Write(b.Page)
}
