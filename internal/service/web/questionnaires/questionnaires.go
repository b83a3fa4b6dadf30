// Package questionnaires is the page Questionnaires: for each instrument whose responses are scored, how the number of
// factors was chosen, how well the model fits, and the loadings.
package questionnaires

import (
	"cmp"
	_ "embed"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/service/httpapi"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

//go:embed questionnaires.html
var html string

const (
	printed  = 0.3  // loading from which a cell of the heat map is highlighted
	topItems = 6    // number of items that describe a factor
	least    = 1e-9 // largest loading to assume if all are 0
)

type room struct {
	*frame.Page
	all  func() []*responses.Instrument
	view *frame.Template
}

// New returns the routes of the page, for the questionnaires that all returns by name.
func New(p *frame.Page, all func() []*responses.Instrument) []httpapi.Route {
	h := &room{Page: p, all: all, view: p.Template(html)}
	return []httpapi.Route{
		p.Route(h.page), frame.Get("/questionnaires.csv", h.csv), frame.Get("/questionnaires.json", h.json),
	}
}

type view struct {
	*responses.Instrument // nil without questionnaires
	Choices               []frame.Choice
	Switches              []frame.Choice

	Curves  []*chart.Chart // for wide and narrow screens
	Choice  string
	Points  []point
	Columns []column
	Rows    []row
}

type point struct {
	solver.ErrorPoint
	Is string
}

// column is a factor or a confound, with its items of the largest loadings.
type column struct {
	model.Column
	Class string
	Items []frame.BarRow
}

type row struct {
	Item, Text string
	Cells      []cell
}

type cell struct {
	Loading float64
	Class   string
}

// Strong reports whether the loading is highlighted.
func (c cell) Strong() bool { return c.Loading >= printed }

// Text returns the loading with two decimals.
func (c cell) Text() string { return loading(c.Loading) }

func loading(v float64) string {
	if text := wording.Fixed(v, 2); text != "0.00" {
		return text
	}
	return "0"
}

// page shows the model of a questionnaire: its fit, how the number of factors was chosen, and the loadings.
func (h *room) page(r *http.Request) http.Handler {
	if len(h.all()) == 0 && r.URL.Query().Get("name") == "" {
		return h.view.View(&view{})
	}
	q, missing := h.questionnaire(r)
	if missing != nil {
		return missing
	}
	data := &view{Instrument: q}
	for _, other := range h.all() {
		name := other.Info.Name
		data.Choices = append(data.Choices, frame.Choice{Name: name, Label: name, Current: name == q.Info.Name})
	}
	factor := 1 // whose loadings a phone shows
	if f, err := strconv.Atoi(r.URL.Query().Get("factor")); err == nil && f >= 1 && f <= q.Model.Summary.Factors {
		factor = f
	}
	query := url.Values{"name": {q.Info.Name}}
	for f := range q.Model.Summary.Factors {
		n := strconv.Itoa(f + 1)
		query.Set("factor", n)
		href := "/questionnaires?" + query.Encode() + "#loadings"
		data.Switches = append(data.Switches, frame.Choice{Name: href, Label: n, Current: f+1 == factor})
	}
	data.fill(factor)
	return h.view.View(data)
}

// questionnaire returns the requested one, else the first, or the response that none exists.
func (h *room) questionnaire(r *http.Request) (*responses.Instrument, http.Handler) {
	all, name := h.all(), r.URL.Query().Get("name")
	for _, q := range all {
		if name == "" || q.Info.Name == name {
			return q, nil
		}
	}
	if name == "" {
		return nil, h.Missing("No questionnaires are scored.")
	}
	return nil, h.Missing("No questionnaire of that name is scored.")
}

// fill fills in the model; factor is the column that a phone shows.
func (data *view) fill(factor int) {
	m := data.Model
	if len(m.Summary.BCV) > 0 {
		data.cross(&m.Summary)
	}
	var tables [][]frame.BarRow
	for i, c := range m.Columns() {
		own := column{Column: c}
		if i+1 != factor {
			own.Class = " hide-s"
		}
		for j := range c.Top[:min(topItems, len(c.Top))] {
			item := &c.Top[j]
			r := frame.NewBarRow(item.Name, item.Loading, loading(item.Loading))
			if r.Sub = item.Text; item.Reversed {
				r.Tag = "reversed"
			}
			own.Items = append(own.Items, r)
		}
		tables, data.Columns = append(tables, own.Items), append(data.Columns, own)
	}
	frame.DrawBars("fd", tables...) // a loading has no direction: it is never negative
	data.heat()
}

// heat fills in the table of loadings: items are ordered by the factor of their largest loading.
func (data *view) heat() {
	m := data.Model
	all, _ := m.AllLoadings()
	largest := max(mat.Max(all), least)
	factors, sizes := model.Strongest(m.Loadings())
	order := linalg.Order(len(m.Items), func(a, b int) int {
		return cmp.Or(cmp.Compare(factors[a], factors[b]), cmp.Compare(sizes[b], sizes[a]))
	})
	for _, j := range order {
		own := row{Item: m.Items[j].Name, Text: m.Items[j].Text}
		if m.Items[j].Reversed {
			own.Item += " (reversed)"
		}
		for c := range data.Columns {
			x := cell{all.At(j, c), data.Columns[c].Class}
			if x.Loading >= model.TopShare*largest {
				x.Class += " d" + strconv.Itoa(int(math.Ceil(3*x.Loading/largest)))
			} else if !x.Strong() {
				x.Class += " muted"
			}
			own.Cells = append(own.Cells, x)
		}
		data.Rows = append(data.Rows, own)
	}
}

func (data *view) cross(s *model.Summary) {
	lowest, _ := s.Choices()
	data.Choice = fmt.Sprintf("The error is lowest with %s. The fewest within one standard error of it: %d.",
		wording.Count(lowest.Factors, "factor"), s.OneStandardErrorFactors)
	if !slices.ContainsFunc(s.BCV, func(p solver.ErrorPoint) bool { return p.Factors != lowest.Factors }) {
		data.Choice = "The fit was given " + wording.Count(lowest.Factors, "factor") + ": no other number was tried."
	}
	if s.OneStandardErrorFactors != s.Factors {
		data.Choice += fmt.Sprintf(" The fit has %d.", s.Factors)
	}
	if s.Disagree() {
		data.Choice += " " + s.Sentence()
	}
	for _, x := range slices.SortedStableFunc(slices.Values(s.BCV), func(a, b solver.ErrorPoint) int {
		return cmp.Or(cmp.Compare(a.Beta, b.Beta), cmp.Compare(a.Factors, b.Factors))
	}) {
		var is []string
		if x.Candidate == lowest.Candidate {
			is = append(is, "lowest")
		}
		if x.Factors == s.Factors && x.Beta == s.Beta {
			is = append(is, "in use")
		}
		data.Points = append(data.Points, point{x, strings.Join(is, ", ")})
	}
	data.Curves = []*chart.Chart{s.Curve(720), s.Curve(360)}
	for i, class := range []string{"wide", "narrow"} {
		data.Curves[i].Class, data.Curves[i].Desc = class, data.Choice
	}
}

// csv responds with the loadings of a questionnaire, in full precision.
func (h *room) csv(r *http.Request) http.Handler {
	q, missing := h.questionnaire(r)
	if missing != nil {
		return missing
	}
	all, names := q.Model.AllLoadings()
	out := httpapi.NewCSV("loadings.csv", append([]string{"item"}, names...)...)
	for j := range q.Model.Items {
		out.Add(model.Cells([]string{q.Model.Items[j].Name}, all.RawRowView(j)...)...)
	}
	return out
}

// json responds with the same as JSON, and the texts of the items.
func (h *room) json(r *http.Request) http.Handler {
	q, missing := h.questionnaire(r)
	if missing != nil {
		return missing
	}
	type item struct {
		Item     string    `json:"item"`
		Text     string    `json:"text,omitempty"`
		Loadings []float64 `json:"loadings"`
	}
	all, names := q.Model.AllLoadings()
	out := struct {
		Questionnaire string   `json:"questionnaire"`
		Version       string   `json:"version"`
		Columns       []string `json:"columns"`
		Items         []item   `json:"items"`
	}{Questionnaire: q.Info.Name, Version: q.Info.Version, Columns: names}
	for j, i := range q.Model.Items {
		out.Items = append(out.Items, item{i.Name, i.Text, mat.Row(nil, j, all)})
	}
	return httpapi.JSON(out)
}
