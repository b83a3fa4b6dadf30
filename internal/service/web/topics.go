package web

import (
	"cmp"
	"context"
	"errors"
	"html/template"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/models/topicindex"
)

const (
	topicWords = 12 // of the chosen topic
	keptWords  = 40 // of each sign, for tables and CSV
)

// topicsPage is the page Topics.
type topicsPage struct {
	Query, Direction string
	Matches, Nothing string
	Meant            []choice // words that may be meant, with their addresses
	Remark           string   // why the search does not answer, "" if it does
	Models           []choice
	Map              template.HTML
	Chosen           *topicView
	Moved            *movement // of the chosen topic; nil if the index does not know it
	Like             string    // address of the topics like the chosen one
	Found            *finding
	All              []topicView
	CSV, JSON        string

	hits *hits
}

// choice is an entry of a menu, or an address with its text.
type choice struct {
	Name, Label string
	Current     bool
}

// topicView is a topic as the page shows it.
type topicView struct {
	Topic                                           int
	Label, Wrote, Coefficient, Exact, Share, Toward string
	Side, Href                                      string
	Selected                                        bool
	Words                                           []barRow

	hit   bool
	value float64
	place place
}

// topics shows the topics of a model in use: map, words of one topic, table.
func (p *Pages) topics(w http.ResponseWriter, r *http.Request) {
	set, q := p.options.Set(), r.URL.Query()
	name := q.Get("model")
	if name == "" {
		name = bundle.Other
	}
	m := set.Models[name]
	if m == nil {
		p.missing(w, r, "Topics", "No model of that name is in use.")
		return
	}
	a, version := newAsked(q), m.Info().Version
	page := &topicsPage{Query: a.query.Text, Direction: string(a.query.Direction), CSV: "/topics.csv?model=" + url.QueryEscape(name), JSON: "/v1/models/" + url.PathEscape(name) + "/topics"}
	for _, other := range sortedNames(set.Models) {
		page.Models = append(page.Models, choice{other, modelLabel(other, set.About[other].Complaint), other == name})
	}
	p.search(r.Context(), page, a, &topicindex.Ref{Model: name, Version: version})
	drawn := p.cache.of(set, m)
	for i := range drawn.topics {
		page.add(&drawn.topics[i], drawn.places[i], a)
	}
	slices.SortStableFunc(page.All, func(a, b topicView) int { return cmp.Compare(math.Abs(b.value), math.Abs(a.value)) })
	page.choose(q.Get("t"), drawn.topics)
	if page.Chosen != nil {
		p.follow(r.Context(), page, a, topicindex.Ref{Model: name, Version: version, Topic: page.Chosen.Topic})
	}
	v := view{template: "topics", title: "Topics", here: "Topics", data: page}
	if a.long {
		page.Remark, v.status = tooLong, http.StatusBadRequest
	}
	p.write(w, r, v)
}

// search fills in what the index finds.
func (p *Pages) search(ctx context.Context, page *topicsPage, a *asked, of *topicindex.Ref) {
	page.hits = &hits{}
	if !p.options.Topics.Ready() {
		if page.Query != "" || a.query.Like != nil {
			page.Remark = "The search is being prepared. Try again in a moment."
		}
		return
	}
	var err error
	page.hits, err = p.hits(ctx, a, of.Model, of.Version)
	if err == nil {
		page.Found, err = p.find(ctx, a)
	}
	page.Remark = p.unanswered(err)
	if page.Query == "" || err != nil {
		return
	}
	page.Matches = plural(len(page.hits.topics), "topic") + " with “" + page.Query + "”"
	if len(page.hits.topics) == 0 {
		page.Nothing = "No topic of this model holds “" + page.Query + "”."
	}
	for _, c := range page.hits.meant {
		for _, word := range c.Meant {
			page.Meant = append(page.Meant, choice{Name: a.href("/topics", "q", strings.ReplaceAll(page.Query, c.Word, word), "t", ""), Label: word})
		}
	}
}

// follow fills in how the chosen topic moved over versions.
func (p *Pages) follow(ctx context.Context, page *topicsPage, a *asked, ref topicindex.Ref) {
	if !p.options.Topics.Ready() {
		return
	}
	page.Like = a.href("/topics", "q", "", "t", strconv.Itoa(ref.Topic), "like", ref.Model+"/"+ref.Version+"/"+strconv.Itoa(ref.Topic))
	steps, err := p.options.Topics.History(ctx, ref)
	if err != nil && !errors.Is(err, topicindex.ErrQuery) { // a version that was just promoted is not in the index yet
		p.unanswered(err)
	}
	page.Moved = newMovement(steps, &ref)
}

// modelLabel returns the name of a model for people.
func modelLabel(name, complaint string) string {
	switch {
	case name == bundle.Other:
		return "All complaints"
	case complaint != "":
		return complaint
	}
	return name
}

// add adds a topic, unless it pushes in another direction than is asked for.
func (page *topicsPage) add(t *classifier.Topic, at place, a *asked) {
	if page.Direction != "" && page.Direction != string(t.Direction) {
		return
	}
	v := topicView{
		Topic: t.Topic, Label: topicName(t.Label), Wrote: wrote(t), Coefficient: signed(t.Coefficient), Exact: exact(t.Coefficient), Share: share(t.Prevalence),
		Toward: string(t.Direction), Href: a.href("/topics", "t", strconv.Itoa(t.Topic)), value: t.Coefficient, place: at, hit: page.hits.topics[t.Topic],
	}
	switch t.Direction {
	case classifier.TowardAdmission:
		v.Side = "on"
	case classifier.TowardDischarge:
		v.Side = "off"
	}
	page.All = append(page.All, v)
}

// choose chooses a topic: the one that is asked for, else the one that matches best, else the strongest. It draws the
// map.
func (page *topicsPage) choose(wanted string, topics []classifier.Topic) {
	if wanted == "" {
		wanted = strconv.Itoa(page.hits.best)
	}
	var chosen *topicView
	for i := range page.All {
		if v := &page.All[i]; chosen == nil || strconv.Itoa(v.Topic) == wanted {
			chosen = v
		}
	}
	if chosen != nil {
		chosen.Selected, chosen.Words = true, words(&topics[chosen.Topic-1])
		page.Chosen = chosen
	}
	page.draw()
}

// words returns the words of a topic, with what each adds to the log-odds per unit of its own value.
func words(t *classifier.Topic) []barRow {
	var rows []barRow
	for i := range t.Terms[:min(topicWords, len(t.Terms))] {
		x := &t.Terms[i]
		r := newBarRow("", x.Weight*t.Coefficient)
		var wrote []string
		r.Name, r.Tag, wrote = termName(x)
		r.Denied, r.Sub = r.Tag == "denied", strings.Join(wrote[:min(4, len(wrote))], ", ")
		if r.Sub == r.Name {
			r.Sub = ""
		}
		rows = append(rows, r)
	}
	drawBars("fa", rows)
	return rows
}

// draw draws the map. Circles stand in the order of strength, which is that of the tabulator key.
func (page *topicsPage) draw() {
	c := &chart.Chart{
		Title: "Map of topics", Class: "map", Width: mapWidth, Height: mapHeight,
		Desc: "Near means similar words. Size is how common a topic is. The same facts are in the table below.",
		X:    chart.Span{To: mapWidth}, Y: chart.Span{From: mapHeight, To: 0},
	}
	var most float64
	for i := range page.All {
		most = max(most, math.Abs(page.All[i].value))
	}
	for i := range page.All {
		v := &page.All[i]
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
		c.Link(class, v.Href, v.Label+", coefficient "+v.Coefficient+", "+v.Share+" of notes", func() {
			c.Dot(fill(v.value, most), chart.At(at.x, at.y), at.r)
			c.Text("mid", chart.At(at.x, at.y+value), v.Coefficient)
			c.Text("mid", chart.At(at.x, at.y+word), at.word)
		})
	}
	page.Map = c.SVG()
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

// topicsCSV answers with the words of all topics of a model.
func (p *Pages) topicsCSV(w http.ResponseWriter, r *http.Request) {
	name := r.URL.Query().Get("model")
	set := p.options.Set()
	m := set.Models[name]
	if m == nil {
		p.missing(w, r, "Topics", "No model of that name is in use.")
		return
	}
	out := httpapi.NewCSV("topics.csv", "model", "version", "topic", "label", "coefficient", "prevalence", "term", "surface", "status", "weight")
	for _, t := range p.cache.of(set, m).topics {
		prevalence := ""
		if t.Prevalence != nil {
			prevalence = exact(*t.Prevalence)
		}
		for _, x := range t.Terms {
			out.Add(name, m.Info().Version, strconv.Itoa(t.Topic), t.Label, exact(t.Coefficient), prevalence, x.Term, strings.Join(x.Surface, "|"), x.Status, exact(x.Weight))
		}
	}
	out.ServeHTTP(w, r)
}
