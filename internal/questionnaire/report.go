package questionnaire

import (
	"bytes"
	"cmp"
	_ "embed"
	"fmt"
	"html/template"
	"math"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"

	"gonum.org/v1/gonum/mat"
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
	HeatMap, Curve template.HTML
	Columns        []reportColumn
	MostMissing    []reportItem
	All            []reportItem
	Evaluation     *Evaluation
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
	heatMap, err := m.heatMap()
	if err != nil {
		return err
	}
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

// Describe takes the texts and subscales of the items from a codebook.
func (m *Model) Describe(codebook []Item) {
	for j := range m.Items {
		item := &m.Items[j]
		if b := slices.IndexFunc(codebook, func(i Item) bool { return i.Name == item.Name }); b >= 0 {
			item.Text, item.Subscale = codebook[b].Text, codebook[b].Subscale
		}
	}
}

// report returns the page.
func (m *Model) report(heatMap []byte, e *Evaluation) ([]byte, error) {
	p := page{Model: m, Scale: m.Summary.Settings.Range, HeatMap: inline(heatMap), Columns: m.columns(), Evaluation: e}
	if curve, err := m.curve(); err == nil {
		svg, err := curve.svg()
		if err != nil {
			return nil, err
		}
		p.Curve = inline(svg)
	}
	order, _ := m.arrange()
	for _, j := range order {
		p.All = append(p.All, reportItem{Item: m.Items[j], Fit: m.Summary.Items[j]})
	}
	p.MostMissing = slices.DeleteFunc(slices.Clone(p.All), func(i reportItem) bool { return i.Fit.Missing == 0 })
	slices.SortStableFunc(p.MostMissing, func(a, b reportItem) int { return cmp.Compare(b.Fit.Missing, a.Fit.Missing) })
	p.MostMissing = p.MostMissing[:min(len(p.MostMissing), mostMissing)]

	t, err := template.New(ReportFile).Funcs(template.FuncMap{"percent": percent, "short": short, "cents": cents}).Parse(reportTemplate)
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

// inline returns an SVG document of our own as an element of a page.
func inline(svg []byte) template.HTML {
	head, rest, _ := bytes.Cut(prolog.ReplaceAll(svg, []byte("<svg")), []byte(">"))
	return template.HTML(string(namespaces.ReplaceAll(head, nil)) + ">" + string(rest)) //nolint:gosec // drawn here, its texts escaped
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
