// Package report draws the loadings of a model, and writes the HTML report about it.
package report

import (
	"bytes"
	"cmp"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/files"
	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver"
)

//go:embed report.html.tmpl
var reportTemplate string

// mostMissing is the largest number of items that a report names for their missing answers.
const mostMissing = 10

// page is the data of the report's template, with the methods of its sheet.
type page struct {
	sheet
	Lowest, Fewest   solver.ErrorPoint // of the cross-validation
	All, MostMissing []row
	Evaluation       *evaluate.Evaluation
}

// row describes an item. Complexity is that of Hofmann (1977), (Σ λ²)²/Σ λ⁴ of the item's loadings: the number of
// factors that it would load on equally. Unique is the share of its variance that is not common, or not explained.
type row struct {
	questionnaire.Item
	Fit                model.ItemFit
	Loadings           []model.Loading
	Unique, Complexity questionnaire.Figure
}

// The files of a report.
const (
	File         = "report.html"
	HeatMapFile  = "loadings.svg"
	HeatMapImage = "loadings.png"
	// AgesFile and AgesPlot are written for a model of visits: the loadings of each item over the bins of time.
	AgesFile = "ages.csv"
	AgesPlot = "ages.svg"
	// CompactPlot is written for a model with a compact set: the explained share over the number of its items.
	CompactPlot = "compact.svg"
)

// Files returns the files of a report, of which File is one page that loads nothing else. The evaluation may be nil.
func Files(m *model.Model, e *evaluate.Evaluation) (map[string][]byte, error) {
	s := sheet{m}
	heatMap := s.HeatMap()
	files := map[string][]byte{HeatMapFile: heatMap.Document()}
	var err error
	if files[HeatMapImage], err = rasterize(heatMap); err != nil {
		return nil, err
	}
	if m.Visits != nil {
		files[AgesFile] = s.agesTable()
		files[AgesPlot] = chart.Stack(s.AgePanels()...).Document()
	}
	if len(m.Summary.Compact) > 0 {
		files[CompactPlot] = s.Compact().Document()
	}
	files[File], err = s.page(e)
	return files, err
}

// sheet draws and describes a model. The template calls its exported methods.
type sheet struct{ *model.Model }

// Penalized reports whether the fit had β.
func (m sheet) Penalized() bool { return m.Summary.Method == model.MethodICQF }

// Reversals reports whether some item is reversed.
func (m sheet) Reversals() bool {
	return slices.ContainsFunc(m.Items, func(i questionnaire.Item) bool { return i.Reversed })
}

// ErrEvaluation is wrapped by the errors about an evaluation that does not belong to the model.
var ErrEvaluation = errors.New("not an evaluation of this questionnaire")

const maxEvaluation = 64 << 20

// ReadEvaluation reads an Evaluation of the model in JSON. The error wraps ErrEvaluation for any other.
func ReadEvaluation(m *model.Model, path string) (*evaluate.Evaluation, error) {
	data, err := files.Read(path, maxEvaluation)
	if err != nil {
		return nil, fmt.Errorf("reading the evaluation: %w", err)
	}
	e := &evaluate.Evaluation{}
	err = errors.New("it is not the output of questionnaire evaluate --output json")
	if json.Unmarshal(data, e) == nil { // its own error speaks of Go
		err = admit(m, e)
	}
	if err != nil {
		return nil, fmt.Errorf("reading %q: %w: %w", path, ErrEvaluation, err)
	}
	return e, nil
}

// admit returns an error for an evaluation of other items or another number of factors, or an invalid one.
func admit(m *model.Model, e *evaluate.Evaluation) error {
	names := func(all []string) []string { return slices.Sorted(slices.Values(all)) }
	switch {
	case len(e.Items) == 0 || len(e.Shares) == 0:
		return errors.New("no items or no shares")
	case !slices.Equal(names(e.Items), names(questionnaire.Names(m.Items))):
		return fmt.Errorf("its %d items are not the %d of the model", len(e.Items), len(m.Items))
	case e.Factors != m.Summary.Factors:
		return fmt.Errorf("it has %d factors, the model has %d", e.Factors, m.Summary.Factors)
	}
	for _, s := range e.Shares {
		if !(s.Share > 0 && s.Share < 1) || len(s.AUROC) != len(e.Labels) {
			return fmt.Errorf("a share of %v with %d areas of %d labels", s.Share, len(s.AUROC), len(e.Labels))
		}
		if n := len(s.Differences); n > 0 && n != len(e.Labels) {
			return fmt.Errorf("a share of %v with %d differences of %d labels", s.Share, n, len(e.Labels))
		}
		if err := correlations(s.Stability); err != nil {
			return err
		}
	}
	for _, h := range e.Disjoint {
		if err := cmp.Or(correlations(h.Stability), correlations(h.Congruence)); err != nil {
			return err
		}
	}
	return nil
}

// correlations returns an error for a measure of values that cannot be correlations.
func correlations(m evaluate.Measure) error {
	const most = 1.5 // the deviation of two numbers from −1 to 1 is at most √2
	undefined := m.Count > 0 && !m.Mean.Defined() || m.Count > 1 && !m.Deviation.Defined()
	if undefined || math.Abs(float64(m.Mean)) > most || m.Deviation < 0 || m.Deviation > most {
		return fmt.Errorf("a stability of %v (%v): no correlations", m.Mean, m.Deviation)
	}
	return nil
}

func (m sheet) page(e *evaluate.Evaluation) ([]byte, error) {
	described := slices.ContainsFunc(m.Items, func(i questionnaire.Item) bool {
		return i.Text != "" || i.Subscale != ""
	})
	order, _ := m.arrange()
	p := page{sheet: m, Evaluation: e, All: lists.Map(order, m.row)}
	if len(m.Summary.BCV) > 0 {
		p.Lowest, p.Fewest = m.Summary.Choices()
	}
	p.MostMissing = slices.DeleteFunc(slices.Clone(p.All), func(i row) bool { return i.Fit.Missing == 0 })
	slices.SortStableFunc(p.MostMissing, func(a, b row) int { return cmp.Compare(b.Fit.Missing, a.Fit.Missing) })
	p.MostMissing = p.MostMissing[:min(len(p.MostMissing), mostMissing)]
	return render(File, reportTemplate, p, template.FuncMap{
		"percent": wording.Percent, "short": short, "few": few, "number": number, "count": wording.Count,
		"style": chart.Style, "stability": stability,
		"two": func(v float64) string { return strconv.FormatFloat(v, 'f', 2, 64) }, // of a pointer too
		"inc": func(i int) int { return i + 1 }, "described": func() bool { return described },
	})
}

func (m sheet) row(j int) row {
	r := row{Item: m.Items[j], Fit: m.Summary.Items[j]}
	r.Unique = questionnaire.Figure(1 - r.Fit.Explained)
	if c := r.Fit.Communality; c != nil {
		r.Unique = questionnaire.Figure(1 - *c)
	}
	var squares, fourths float64
	for t := range m.Summary.Factors {
		v := m.Loadings().At(j, t)
		squares, fourths = squares+v*v, fourths+v*v*v*v
		r.Loadings = append(r.Loadings, model.Loading{Loading: v, Sure: m.IntervalOf(j, t)})
	}
	r.Complexity = questionnaire.Figure(squares * squares / fourths)
	return r
}

func render(file, text string, data any, functions template.FuncMap) ([]byte, error) {
	var b bytes.Buffer
	if err := template.Must(template.New(file).Funcs(functions).Parse(text)).Execute(&b, data); err != nil {
		return nil, fmt.Errorf("writing %q: %w", file, err)
	}
	return []byte(wording.VisibleLines(b.String())), nil
}

// few writes a number of participants. Numbers below five are not shown, since a page may be passed on.
func few(n int) string {
	const least = 5
	if n < least {
		return "fewer than " + strconv.Itoa(least)
	}
	return strconv.Itoa(n)
}

func number(v questionnaire.Figure) string {
	if !v.Defined() {
		return "–"
	}
	return strconv.FormatFloat(float64(v), 'f', 3, 64)
}

func short(v float64) string {
	if math.Abs(v) >= 10_000 {
		return fmt.Sprintf("%.0f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

//go:embed ranking.html.tmpl
var rankingTemplate string

// The files of a report on the number of factors.
const (
	RankingFile = "rank.html"
	ScreeFile   = "scree.svg"
)

// RankingFiles returns the files of a report on the number of factors and their contents: one page that loads and runs
// nothing else and, if there are eigenvalues, the scree plot. The title names the input; regressed says that the
// confounds' effects were subtracted before.
func RankingFiles(title string, r *fit.Ranking, regressed bool) (map[string][]byte, error) {
	files := map[string][]byte{}
	choice := model.Summary{BCV: r.Curve, OneStandardErrorFactors: r.OneStandardErrorFactors}
	shown := struct {
		*fit.Ranking
		Title         string
		Regressed     bool
		Style         template.CSS
		Scree, Errors *chart.Chart
	}{Ranking: r, Title: title, Regressed: regressed, Style: chart.Style(), Errors: choice.Curve(plotWidth)}
	if len(r.Parallel.Eigenvalues) > 0 {
		shown.Scree = scree(r.Parallel.Eigenvalues, r.Parallel.Reference)
		files[ScreeFile] = shown.Scree.Document()
	}
	var err error
	files[RankingFile], err = render(RankingFile, rankingTemplate, shown, template.FuncMap{"short": short})
	return files, err
}
