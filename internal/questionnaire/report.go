package questionnaire

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/rank"
)

//go:embed report.html.tmpl
var reportTemplate string

// topItems is how many items a report shows for a factor, at most. The loading of one is at least topShare of the factor's
// largest, and leastLoading of the largest answer.
const (
	topItems     = 12
	topShare     = 0.1
	leastLoading = 0.01
)

// mostMissing is how many items a report names for their missing answers.
const mostMissing = 10

// page is what the template of a report shows.
type page struct {
	*Model
	Scale          Range
	HeatMap        template.HTML
	Curve          template.HTML // "" without cross-validation
	Lowest, Fewest rank.Point
	Ages           []template.HTML // of a model of visits, one for each factor
	Columns        []reportColumn
	MostMissing    []reportItem
	All            []reportItem
	Evaluation     *Evaluation
	Stability      template.HTML // "" without evaluation
}

// reportColumn is a factor or a column of a confound.
type reportColumn struct {
	Name string
	Fit  *FactorFit // nil for a confound
	Top  []reportItem
}

type reportItem struct {
	Item
	Fit     ItemFit
	Loading float64
	Width   float64 // of the bar, a percentage
}

// WriteReport writes report.html, loadings.svg and loadings.png into a folder, for a model of visits AgesFile and AgesPlot
// too. The report is one file that asks for nothing else and runs nothing. The evaluation may be nil.
func (m *Model) WriteReport(dir string, e *Evaluation) error {
	heatMap := m.heatMap()
	svg, err := heatMap.svg()
	if err != nil {
		return err
	}
	png, err := heatMap.png()
	if err != nil {
		return err
	}
	report, err := m.report(svg, e)
	if err != nil {
		return err
	}
	for name, data := range map[string][]byte{HeatMapFile: svg, HeatMapImage: png, ReportFile: report} {
		if err := replace(filepath.Join(dir, name), data); err != nil {
			return err
		}
	}
	return m.writeAges(dir)
}

// Errors of what a report is to show beside the model.
var (
	ErrEvaluation    = errors.New("not an evaluation of this questionnaire")
	ErrOtherCodebook = errors.New("describes none of the items of the model")
)

// ReadEvaluation reads an Evaluation in JSON. One of other items or another number of factors than the model's is an error
// that wraps ErrEvaluation, and so is any other JSON.
func (m *Model) ReadEvaluation(path string) (*Evaluation, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("reading the evaluation: %w", err)
	}
	e := &Evaluation{}
	if err = json.Unmarshal(data, e); err == nil {
		err = m.admit(e)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w: %w", path, ErrEvaluation, err)
	}
	return e, nil
}

// admit returns an error for an evaluation that is not of these items and so many factors, or is none at all.
func (m *Model) admit(e *Evaluation) error {
	names := func(all []string) []string { return slices.Sorted(slices.Values(all)) }
	switch {
	case len(e.Items) == 0 || len(e.Shares) == 0:
		return errors.New("no items or no shares")
	case !slices.Equal(names(e.Items), names(namesOf(m.Items))):
		return fmt.Errorf("its %d items are not the %d of the model", len(e.Items), len(m.Items))
	case e.Factors != m.Summary.Factors:
		return fmt.Errorf("of %d factors, the model has %d", e.Factors, m.Summary.Factors)
	}
	for _, s := range e.Shares {
		if !(s.Share > 0 && s.Share < 1) || len(s.AUROC) != len(e.Labels) {
			return fmt.Errorf("a share of %v with %d areas of %d labels", s.Share, len(s.AUROC), len(e.Labels))
		}
		const most = 1.5 // the deviation of two numbers from −1 to 1 is at most √2
		if m := s.Stability; !(math.Abs(m.Mean) <= most && m.Deviation >= 0 && m.Deviation <= most) {
			return fmt.Errorf("a stability of %v (%v): no correlations", m.Mean, m.Deviation)
		}
	}
	return nil
}

// Describe takes the texts and subscales of the items from a codebook; of a model of visits the texts, as its subscales are
// the bins. A codebook without any of the items is an error.
func (m *Model) Describe(codebook []Item) error {
	entries := map[string]Item{}
	for _, item := range codebook {
		entries[item.Name] = item
	}
	found := false
	for j := range m.Items {
		item := &m.Items[j]
		name := item.Name
		if at := strings.LastIndexByte(name, '@'); m.Visits != nil && at >= 0 {
			name = name[:at]
		}
		entry, ok := entries[name]
		if !ok {
			continue
		}
		found, item.Text = true, entry.Text
		if m.Visits == nil {
			item.Subscale = entry.Subscale
		}
	}
	if !found {
		return ErrOtherCodebook
	}
	return nil
}

// report returns the page.
func (m *Model) report(heatMap []byte, e *Evaluation) ([]byte, error) {
	p := page{Model: m, Scale: m.Summary.Settings.Range, HeatMap: inline(heatMap, "Heat map of the loadings"), Columns: m.columns(), Evaluation: e}
	add := func(label string, draw func() (*drawing, error)) (template.HTML, error) {
		d, err := draw()
		if err != nil {
			return "", err
		}
		svg, err := d.svg()
		return inline(svg, label), err
	}
	var err error
	if len(m.Summary.BCV) > 0 {
		p.Lowest, p.Fewest = m.Summary.choices()
		if p.Curve, err = add("Cross-validated error over the number of factors", m.curve); err != nil {
			return nil, err
		}
	}
	if e != nil {
		if p.Stability, err = add("Stability of the loadings over the share of participants", e.stability); err != nil {
			return nil, err
		}
	}
	if m.Visits != nil {
		for t := range m.Summary.Factors {
			panel, err := add("Loadings of factor "+strconv.Itoa(t+1)+" over "+m.Visits.Time, func() (*drawing, error) { return m.agePanel(t) })
			if err != nil {
				return nil, err
			}
			p.Ages = append(p.Ages, panel)
		}
	}
	order, _ := m.arrange()
	for _, j := range order {
		p.All = append(p.All, reportItem{Item: m.Items[j], Fit: m.Summary.Items[j]})
	}
	p.MostMissing = slices.DeleteFunc(slices.Clone(p.All), func(i reportItem) bool { return i.Fit.Missing == 0 })
	slices.SortStableFunc(p.MostMissing, func(a, b reportItem) int { return cmp.Compare(b.Fit.Missing, a.Fit.Missing) })
	p.MostMissing = p.MostMissing[:min(len(p.MostMissing), mostMissing)]

	described := slices.ContainsFunc(m.Items, func(i Item) bool { return i.Text != "" || i.Subscale != "" })
	t, err := template.New(ReportFile).Funcs(template.FuncMap{
		"percent": percent, "short": short, "cents": cents, "described": func() bool { return described },
	}).Parse(reportTemplate)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the report: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, p); err != nil {
		return nil, fmt.Errorf("writing %q: %w", ReportFile, err)
	}
	return b.Bytes(), nil
}

// columns returns the factors and the confounds with the items that load on them most.
func (m *Model) columns() []reportColumn {
	all, names := m.allLoadings()
	longest := mat.Max(all)
	columns := make([]reportColumn, len(names))
	for c, name := range names {
		columns[c].Name = name
		if c < m.Summary.Factors {
			columns[c].Name = "Factor " + strconv.Itoa(c+1)
			columns[c].Fit = &m.Summary.FactorFits[c]
		}
		var items []reportItem
		for j, item := range m.Items {
			items = append(items, reportItem{Item: item, Loading: all.At(j, c)})
		}
		slices.SortStableFunc(items, func(a, b reportItem) int { return cmp.Compare(b.Loading, a.Loading) })
		largest := items[0].Loading
		for _, item := range items[:min(len(items), topItems)] {
			if item.Loading > 0 && item.Loading >= max(topShare*largest, leastLoading*m.Summary.Settings.Range.High) {
				item.Width = 100 * item.Loading / longest
				columns[c].Top = append(columns[c].Top, item)
			}
		}
	}
	return columns
}

// prolog and namespaces are what an SVG document needs and an SVG element inside a page does not.
var (
	prolog     = regexp.MustCompile(`(?s)^.*?<svg`)
	namespaces = regexp.MustCompile(`\s+xmlns(:\w+)?="[^"]*"`)
)

// inline returns an SVG document of our own as an element of a page, with a label for those who do not see it.
func inline(svg []byte, label string) template.HTML {
	head, rest, _ := bytes.Cut(prolog.ReplaceAll(svg, []byte("<svg")), []byte(">"))
	attributes := ` role="img" aria-label="` + template.HTMLEscapeString(label) + `">`
	return template.HTML(string(namespaces.ReplaceAll(head, nil)) + attributes + string(rest)) //nolint:gosec // drawn here, its texts escaped
}

// percent writes a share.
func percent(v float64) string { return strconv.FormatFloat(100*v, 'f', 1, 64) + " %" }

// cents writes an answer or a loading.
func cents(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }

// short writes a number to four digits.
func short(v float64) string {
	if math.Abs(v) >= 10_000 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 4, 64)
}
