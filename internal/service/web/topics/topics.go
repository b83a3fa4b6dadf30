// Package topics is the page Topics: the topics of a model in use as a map, the words of one of them and how it moved
// over versions, and the search of the topics of all versions.
package topics

import (
	"cmp"
	"context"
	_ "embed"
	"errors"
	"html/template"
	"maps"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/drift"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/scoring"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/prediction"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/models/topicindex"
)

//go:embed topics.html
var html string

const (
	topicWords = 12 // of the chosen topic
	keptWords  = 40 // of each sign, for tables and CSV
)

type room struct {
	*frame.Page
	set   func() *scoring.Set
	index *topicindex.Index
	view  *frame.Template
	cache cache
}

// New returns the routes of the page.
func New(p *frame.Page, set func() *scoring.Set, index *topicindex.Index) []httpapi.Route {
	h := &room{Page: p, set: set, index: index, view: p.Template(html)}
	return []httpapi.Route{
		p.Route(h.page), frame.Get("/topics.csv", h.csv), frame.Get("/topics/found.csv", h.foundCSV),
		frame.Get("/topics/history.csv", h.historyCSV),
	}
}

type view struct {
	Query, Direction string
	Matches, Nothing string
	Meant            []frame.Choice // words that may be meant, with their addresses
	Remark           string         // why the search does not answer, "" if it does
	Models           []frame.Choice
	Weight           string // what topics and single words add to notes
	Sorts            map[string]frame.Choice
	Map              template.HTML
	Chosen           *topicView
	Moved            *movement // of the chosen topic; nil if the index does not know it
	Like             string    // address of the topics like the chosen one
	Found            *finding
	Beside           *besideView
	All              []topicView
	CSV, JSON        string

	hits   *hits
	pushes chart.Span // of all words, which all bars share
}

type topicView struct {
	*classifier.Topic
	Name, Wrote, Href string
	Selected          bool
	Words             []frame.BarRow
	Adds              *drift.Added // to a note on average and at most; nil if unknown

	hit   bool
	place place
}

// Side is the class of the direction in which it pushes.
func (v *topicView) Side() string {
	return map[classifier.Direction]string{
		classifier.TowardAdmission: "on", classifier.TowardDischarge: "off",
	}[v.Direction]
}

func (h *room) model(name string) (*scoring.Set, *classifier.Model, http.Handler) {
	set := h.set()
	if m := set.Models[name]; m != nil {
		return set, m, nil
	}
	if len(set.Models) == 0 {
		return nil, nil, httpapi.Problem{Status: http.StatusServiceUnavailable, Detail: "there is no model yet"}
	}
	return nil, nil, h.Missing("No model of that name is in use.")
}

func (h *room) page(r *http.Request) http.Handler {
	if len(h.set().Models) == 0 {
		return h.view.View(&view{}) // the frame says what it waits for
	}
	q := r.URL.Query()
	model := cmp.Or(q.Get("model"), bundle.Other)
	set, m, missing := h.model(model)
	if missing != nil {
		return missing
	}
	a, version := newAsked(q), m.Info().Version
	data := &view{
		Query: a.query.Text, Direction: string(a.query.Direction), CSV: "/topics.csv?model=" + url.QueryEscape(model),
		JSON: "/v1/models/" + url.PathEscape(model) + "/topics",
	}
	for _, other := range slices.Sorted(maps.Keys(set.Models)) {
		label := frame.ModelLabel(other, set.About[other].Complaint)
		data.Models = append(data.Models, frame.Choice{Name: other, Label: label, Current: other == model})
	}
	h.search(r.Context(), data, a, model, version)
	drawn, adds := h.cache.of(set, m), averages(set.About[model].Reference)
	data.Weight, data.pushes = weight(adds), drawn.pushes
	for i := range drawn.topics {
		var added *drift.Added
		if adds != nil {
			added = &adds[i]
		}
		data.add(&drawn.topics[i], drawn.places[i], added, a)
	}
	data.sort(a)
	other := h.other(r.Context(), a)
	data.choose(cmp.Or(q.Get("t"), h.counterpart(r.Context(), other, version)), drawn, a)
	if data.Chosen != nil {
		h.follow(r.Context(), data, a, topicindex.Ref{Model: model, Version: version, Topic: data.Chosen.Topic.Topic})
		if other != nil {
			data.compare(other, a)
		}
	}
	v := h.view.View(data)
	if a.long {
		data.Remark, v.Status = tooLong, http.StatusBadRequest
	}
	return v
}

func (h *room) search(ctx context.Context, data *view, a *asked, model, version string) {
	data.hits = &hits{}
	if !h.index.Ready() {
		if data.Query != "" || a.query.Like != nil {
			data.Remark = "The search is being prepared. Try again in a moment."
		}
		return
	}
	var err error
	data.hits, err = h.hits(ctx, a, model, version)
	if err == nil {
		data.Found, err = h.find(ctx, a)
	}
	data.Remark = h.unanswered(err)
	if data.Query == "" || err != nil {
		return
	}
	data.Matches = wording.Count(len(data.hits.topics), "topic") + " with “" + data.Query + "”"
	if len(data.hits.topics) == 0 {
		data.Nothing = "No topic of this model holds “" + data.Query + "”."
	}
	for _, c := range data.hits.meant {
		for _, word := range c.Meant {
			href := a.href("/topics", "q", strings.ReplaceAll(data.Query, c.Word, word), "t", "")
			data.Meant = append(data.Meant, frame.Choice{Name: href, Label: word})
		}
	}
}

func (h *room) follow(ctx context.Context, data *view, a *asked, ref topicindex.Ref) {
	if !h.index.Ready() {
		return
	}
	data.Like = a.href("/topics", "q", "", "t", strconv.Itoa(ref.Topic), "like", name(ref))
	steps, err := h.index.History(ctx, ref)
	if err != nil && !errors.Is(err, topicindex.ErrQuery) { // a version that was just promoted is not in the index yet
		h.unanswered(err)
	}
	shown := lists.Map(data.All, func(t topicView) float64 { return t.Coefficient })
	data.Moved = newMovement(h.Frame, steps, ref, shown)
	for i := range data.Moved.rows() {
		if s := &data.Moved.Rows[i]; s.Version != ref.Version {
			at := topicindex.Ref{Model: s.Model, Version: s.Version, Topic: s.Topic.Topic}
			s.Href = a.href("/topics", "t", strconv.Itoa(ref.Topic), "beside", name(at)) + "#beside"
		}
	}
}

// add adds a topic, unless it pushes in another direction than is asked for.
func (data *view) add(t *classifier.Topic, at place, added *drift.Added, a *asked) {
	if data.Direction != "" && data.Direction != string(t.Direction) {
		return
	}
	data.All = append(data.All, topicView{
		Topic: t, Name: prediction.TopicName(t.Label), Wrote: wrote(t),
		Href: a.href("/topics", "t", strconv.Itoa(t.Topic)), Adds: added, place: at,
		hit: data.hits.topics[t.Topic],
	})
}

// choose chooses the topic asked for, else the best match, else the first, and draws the map.
func (data *view) choose(wanted string, drawn *drawnTopics, a *asked) {
	wanted = cmp.Or(wanted, strconv.Itoa(data.hits.best))
	for i := range data.All {
		if v := &data.All[i]; data.Chosen == nil || strconv.Itoa(v.Topic.Topic) == wanted {
			data.Chosen = v
		}
	}
	if data.Chosen != nil {
		data.Chosen.Selected, data.Chosen.Words = true, words(data.Chosen.Topic, drawn, a)
	}
	data.draw()
}

// heaviest returns the words of a topic that the page shows.
func heaviest(t *classifier.Topic) []classifier.TopicTerm {
	return t.Terms[:min(topicWords, len(t.Terms))]
}

// words returns the words of a topic, with what each adds to the log-odds per unit of its own value, and which topics
// hold it.
func words(t *classifier.Topic, of *drawnTopics, a *asked) []frame.BarRow {
	var rows []frame.BarRow
	for i := range heaviest(t) {
		term := &t.Terms[i]
		name, tag, wrote := prediction.TermName(term)
		push := term.Weight * t.Coefficient
		r := frame.NewBarRow(name, push, frame.Signed(push))
		r.Tag, r.Denied = tag, tag == "denied"
		r.Href = a.href("/topics", "q", name, "t", "", "beside", "")
		r.In = strings.Join(of.holders[term.Term], " ")
		if sub := strings.Join(wrote[:min(4, len(wrote))], ", "); sub != name {
			r.Sub = sub
		}
		rows = append(rows, r)
	}
	frame.DrawBarsOn(of.pushes, "fa", rows)
	return rows
}

// draw draws the map. Circles stand in the order of strength, which is that of the tabulator key.
func (data *view) draw() {
	c := &chart.Chart{
		Title: "Map of topics", Class: "map", Width: mapWidth, Height: mapHeight,
		Desc: "Near means similar words. Size is how common a topic is. The same facts are in the table below.",
		X:    chart.Span{To: mapWidth}, Y: chart.Span{From: mapHeight, To: 0},
	}
	var most float64
	for i := range data.All {
		most = max(most, math.Abs(data.All[i].Coefficient))
	}
	for i := range data.All {
		v := &data.All[i]
		at, class, value, word := v.place, "", 4.0, v.place.r+12
		if at.inside {
			value, word = 12, -2
		}
		switch {
		case v.Selected:
			class = "on"
		case v.hit:
			class = "hit"
		}
		coefficient := frame.Signed(v.Coefficient)
		name := at.word + " " + coefficient + ": " + v.Name + ", " + frame.Share(v.Prevalence) + " of notes"
		c.Link(class, v.Href, name, func() {
			c.Dot(fill(v.Coefficient, most), chart.At(at.x, at.y), at.r)
			c.Text("mid", chart.At(at.x, at.y+word), at.word)
			c.Text("mid", chart.At(at.x, at.y+value), coefficient)
		})
	}
	data.Map = c.SVG()
}

// fill returns the class of the colour of a coefficient: its direction, and its share of the largest.
func fill(v, most float64) string {
	if most == 0 || math.Abs(v) < most/6 {
		return "pn"
	}
	depth := min(3, 1+int(3*math.Abs(v)/most))
	if v < 0 {
		return "pd" + strconv.Itoa(depth)
	}
	return "pa" + strconv.Itoa(depth)
}

func (h *room) csv(r *http.Request) http.Handler {
	model := r.URL.Query().Get("model")
	set, m, missing := h.model(model)
	if missing != nil {
		return missing
	}
	out := httpapi.NewCSV("topics.csv", "model", "version", "topic", "label", "coefficient", "prevalence",
		"term", "surface", "status", "weight", "added_mean", "added_most")
	adds := averages(set.About[model].Reference)
	for i, t := range h.cache.of(set, m).topics {
		mean, most := "", ""
		if adds != nil {
			mean, most = frame.Exact(adds[i].Sum), frame.Exact(adds[i].Most)
		}
		for _, x := range t.Terms {
			out.Add(model, m.Info().Version, strconv.Itoa(t.Topic), t.Label, frame.Exact(t.Coefficient),
				frame.Exact(t.Prevalence), x.Term, strings.Join(x.Surface, "|"), x.Status, frame.Exact(x.Weight),
				mean, most)
		}
	}
	return out
}

const (
	movedSteps  = 12 // versions that fit, the latest
	movedLabels = 6  // dates that fit
)

type movement struct {
	First, Ago, CSV, JSON string
	Chart                 *chart.Chart // nil for a single version
	Rows                  []movedRow   // newest first
}

type movedRow struct {
	*topicindex.Step
	Name, Similar, Href string
}

// rows returns those of a movement, none of nil.
func (m *movement) rows() []movedRow {
	if m == nil {
		return nil
	}
	return m.Rows
}

// newMovement returns how a topic moved, on the scale of these coefficients.
func newMovement(f *frame.Frame, steps []topicindex.Step, ref topicindex.Ref, scale []float64) *movement {
	if len(steps) == 0 {
		return nil
	}
	query := "?topic=" + url.QueryEscape(name(ref))
	m := &movement{
		First: f.Day(steps[0].CreatedAt), Ago: "in this version", CSV: "/topics/history.csv" + query,
		JSON: "/v1/topics/history" + query,
	}
	if n := len(steps) - 1; n > 0 {
		m.Ago = wording.Count(n, "version") + " ago"
		m.Chart = drawSteps(f, steps[max(0, len(steps)-movedSteps):], scale)
	}
	for i := range slices.Backward(steps) {
		s := &steps[i]
		m.Rows = append(m.Rows, movedRow{s, prediction.TopicName(s.Label), wording.Short(s.Similarity, 2), ""})
	}
	return m
}

// drawSteps draws two steps or more as dots, at equal distances.
func drawSteps(f *frame.Frame, steps []topicindex.Step, scale []float64) *chart.Chart {
	last := len(steps) - 1
	first, now := &steps[0], &steps[last]
	c := &chart.Chart{
		Title: "Coefficient over versions", Width: 446, Height: 132, Left: 20, Right: 40, Top: 14, Bottom: 32,
		Desc: "From " + frame.Signed(first.Coefficient) + " on " + f.Day(first.CreatedAt) + " to " +
			frame.Signed(now.Coefficient) + " on " + f.Day(now.CreatedAt) +
			". The same facts are in the table below.",
		X: chart.Span{To: float64(last)}.Pad(0.03),
	}
	values, line := append([]float64{0}, scale...), []chart.Point(nil)
	for i := range steps {
		values, line = append(values, steps[i].Coefficient), append(line, chart.At(float64(i), steps[i].Coefficient))
	}
	c.Y = chart.Cover(values...)
	c.Line("ax", chart.At(c.X.From, 0), chart.At(c.X.To, 0))
	c.Label("end", chart.At(c.X.From, 0), chart.At(-6, 4), "0")
	c.Line("ax", line...)
	apart := (last + movedLabels) / movedLabels // dates that are written, from the last one back
	for i, at := range line {
		class := "fa"
		if at.Y < 0 {
			class = "fd"
		}
		c.Dot(class, at, 4)
		if (last-i)%apart == 0 {
			c.Text("mid", chart.At(c.Place(at).X, 126), steps[i].CreatedAt.In(f.Zone).Format("2 Jan"))
		}
	}
	c.Label("strong", line[last], chart.At(10, 4), frame.Signed(now.Coefficient))
	return c
}
