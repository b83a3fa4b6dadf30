package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/service/httpapi"
)

// Questionnaire is an instrument whose responses are scored.
type Questionnaire struct {
	Info  msg.Model
	Model *model.Model
}

const (
	// printed is the loading from which a cell of the heat map stands out.
	printed = 0.3
	// topItems is how many items describe a factor.
	topItems = 6
)

// questionnairesPage is the page Questionnaires.
type questionnairesPage struct {
	Choices  []choice
	Chosen   *questionnaireView
	CSV      string
	JSON     string
	Factor   int // whose loadings a phone shows
	Switches []choice
}

// questionnaireView is an instrument as the page shows it.
type questionnaireView struct {
	Name, Version string
	Facts         []fact
	Curves        []*chart.Chart // for wide and narrow screens
	Choice        string
	Points        []pointView
	Columns       []heatColumn
	Rows          []heatRow
	Tops          []factorView
	Warnings      []string
}

type fact struct{ Name, Value string }

// pointView is a candidate of the cross-validation.
type pointView struct {
	Factors                           int
	Beta, Error, Exact, Deviation, Is string
}

type heatColumn struct{ Name, Class string }

type heatRow struct {
	Item, Text string
	Cells      []heatCell
}

type heatCell struct {
	Value, Exact, Class string
	Strong              bool
}

// factorView is a factor or a confound with the items that load on it most.
type factorView struct {
	Name, Note, Class string
	Items             []barRow
}

// questionnaires shows the model of a questionnaire: its fit, how the number of factors was chosen, and the loadings.
func (p *Pages) questionnaires(w http.ResponseWriter, r *http.Request) {
	page := &questionnairesPage{}
	chosen, ok := p.questionnaire(w, r)
	if !ok {
		return
	}
	if chosen != nil {
		name := chosen.Info.Name
		for _, other := range p.options.Questionnaires() {
			page.Choices = append(page.Choices, choice{other.Info.Name, other.Info.Name, other.Info.Name == name})
		}
		k := chosen.Model.Summary.Factors
		page.Factor = 1
		if f, err := strconv.Atoi(r.URL.Query().Get("factor")); err == nil && f >= 1 && f <= k {
			page.Factor = f
		}
		query := url.Values{"name": {name}}
		page.CSV, page.JSON = "/questionnaires.csv?"+query.Encode(), "/questionnaires.json?"+query.Encode()
		for f := range k {
			query.Set("factor", strconv.Itoa(f+1))
			page.Switches = append(page.Switches, choice{"/questionnaires?" + query.Encode() + "#loadings", strconv.Itoa(f + 1), f+1 == page.Factor})
		}
		page.Chosen = newQuestionnaireView(chosen, page.Factor)
	}
	p.write(w, r, view{template: "questionnaires", title: "Questionnaires", here: "Questionnaires", data: page})
}

// questionnaire returns the one that is asked for, else the first; nil if there is none at all. It answers if there is
// none of that name.
func (p *Pages) questionnaire(w http.ResponseWriter, r *http.Request) (*Questionnaire, bool) {
	all, name := p.options.Questionnaires(), r.URL.Query().Get("name")
	if name == "" && len(all) == 0 {
		return nil, true
	}
	for i := range all {
		if name == "" || all[i].Info.Name == name {
			return &all[i], true
		}
	}
	p.missing(w, r, "Questionnaires", "No questionnaire of that name is scored.")
	return nil, false
}

// scored is questionnaire, but answers that there are none too; nil means that it has answered.
func (p *Pages) scored(w http.ResponseWriter, r *http.Request) *Questionnaire {
	q, ok := p.questionnaire(w, r)
	if ok && q == nil {
		p.missing(w, r, "Questionnaires", "No questionnaires are scored.")
	}
	return q
}

func newQuestionnaireView(q *Questionnaire, factor int) *questionnaireView {
	m := q.Model
	s := &m.Summary
	v := &questionnaireView{Name: q.Info.Name, Version: q.Info.Version, Warnings: s.Warnings, Facts: []fact{
		{"Factors", strconv.Itoa(s.Factors)},
		{"β", number(s.Beta, 4)},
		{"Participants", grouped(s.Participants)},
		{"Answers missing", share(&s.Missing)},
		{"Variance explained", share(&s.Explained)},
		{"Range of answers", s.Settings.Range.String()},
	}}
	if len(s.BCV) > 0 {
		v.cross(s)
	}
	v.heat(m, factor)
	for i, c := range m.Columns() {
		f := factorView{Name: c.Name, Class: v.Columns[i].Class}
		if c.Fit != nil {
			f.Note = fmt.Sprintf("absent in %s\u00a0%% of participants, more than half present in %s\u00a0%%", number(100*c.Fit.Absent, 0), number(100*c.Fit.High, 0))
		}
		for i := range c.Top[:min(topItems, len(c.Top))] {
			item := &c.Top[i]
			row := barRow{Name: item.Name, Sub: item.Text, Value: loading(item.Loading), Exact: exact(item.Loading), value: item.Loading}
			if item.Reversed {
				row.Tag = "reversed"
			}
			f.Items = append(f.Items, row)
		}
		v.Tops = append(v.Tops, f)
	}
	tables := make([][]barRow, len(v.Tops))
	for i := range v.Tops {
		tables[i] = v.Tops[i].Items
	}
	drawBars("fd", tables...) // a loading has no direction: it is never negative
	return v
}

// loading returns a loading with two decimals.
func loading(v float64) string {
	if text := strconv.FormatFloat(v, 'f', 2, 64); text != "0.00" {
		return text
	}
	return "0"
}

// heat fills in the table of loadings: items in the order of the factor that they load on most.
func (v *questionnaireView) heat(m *model.Model, factor int) {
	all, names := m.AllLoadings()
	largest := max(mat.Max(all), epsilon)
	for c, name := range names {
		column := heatColumn{Name: name}
		if c < m.Summary.Factors {
			column.Name = "Factor " + strconv.Itoa(c+1)
		}
		if c+1 != factor {
			column.Class = " hide-s"
		}
		v.Columns = append(v.Columns, column)
	}
	order, most := make([]int, len(m.Items)), make([]int, len(m.Items))
	for j := range m.Items {
		order[j] = j
		row := m.Loadings().RawRowView(j)
		for t, x := range row {
			if x > row[most[j]] {
				most[j] = t
			}
		}
	}
	slices.SortStableFunc(order, func(a, b int) int {
		return cmp.Or(cmp.Compare(most[a], most[b]), cmp.Compare(all.At(b, most[b]), all.At(a, most[a])))
	})
	for _, j := range order {
		row := heatRow{Item: m.Items[j].Name, Text: m.Items[j].Text}
		if m.Items[j].Reversed {
			row.Item += " (reversed)"
		}
		for c := range names {
			x := all.At(j, c)
			cell := heatCell{Value: loading(x), Exact: exact(x), Strong: x >= printed, Class: v.Columns[c].Class}
			if depth := int(math.Ceil(3 * x / largest)); x >= model.TopShare*largest {
				cell.Class += " d" + strconv.Itoa(depth)
			} else if !cell.Strong {
				cell.Class += " muted"
			}
			row.Cells = append(row.Cells, cell)
		}
		v.Rows = append(v.Rows, row)
	}
}

// cross fills in what the cross-validation found.
func (v *questionnaireView) cross(s *model.Summary) {
	lowest, _ := s.Choices()
	v.Choice = fmt.Sprintf("The error is lowest with %s. The fewest within one standard error of it: %d.", plural(lowest.Factors, "factor"), s.OneStandardErrorFactors)
	if s.OneStandardErrorFactors != s.Factors {
		v.Choice += fmt.Sprintf(" The fit has %d.", s.Factors)
	}
	points := slices.SortedStableFunc(slices.Values(s.BCV), func(a, b model.Point) int {
		return cmp.Or(cmp.Compare(a.Beta, b.Beta), cmp.Compare(a.Factors, b.Factors))
	})
	for _, x := range points {
		row := pointView{Factors: x.Factors, Beta: number(x.Beta, 4), Error: fmt.Sprintf("%.4g", x.Error), Exact: exact(x.Error), Deviation: fmt.Sprintf("%.2g", x.StandardError)}
		var is []string
		if x.Candidate == lowest.Candidate {
			is = append(is, "lowest")
		}
		if x.Factors == s.Factors && x.Beta == s.Beta {
			is = append(is, "in use")
		}
		row.Is = strings.Join(is, ", ")
		v.Points = append(v.Points, row)
	}
	v.Curves = []*chart.Chart{s.Curve(720), s.Curve(360)}
	for i, class := range []string{"wide", "narrow"} {
		v.Curves[i].Class, v.Curves[i].Desc = class, v.Choice
	}
}

// loadingsCSV answers with the loadings of a questionnaire, in full precision.
func (p *Pages) loadingsCSV(w http.ResponseWriter, r *http.Request) {
	q := p.scored(w, r)
	if q == nil {
		return
	}
	all, names := q.Model.AllLoadings()
	out := httpapi.NewCSV("loadings.csv", append([]string{"item"}, names...)...)
	for j := range q.Model.Items {
		row := []string{q.Model.Items[j].Name}
		for _, v := range all.RawRowView(j) {
			row = append(row, model.Cell(v))
		}
		out.Add(row...)
	}
	out.ServeHTTP(w, r)
}

// loadingsJSON answers with the same as JSON, and the texts of the items.
func (p *Pages) loadingsJSON(w http.ResponseWriter, r *http.Request) {
	q := p.scored(w, r)
	if q == nil {
		return
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
	}{q.Info.Name, q.Info.Version, names, nil}
	for j := range q.Model.Items {
		out.Items = append(out.Items, item{q.Model.Items[j].Name, q.Model.Items[j].Text, mat.Row(nil, j, all)})
	}
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(out) // the client is gone
}
