package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"
	"image/color"
	"slices"

	"gonum.org/v1/plot/plotter"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

//go:embed ranking.html.tmpl
var rankingTemplate string

// The files of a report on the number of factors.
const (
	RankingFile = "rank.html"
	ScreeFile   = "scree.svg"
)

// mostScree is the largest number of eigenvalues that a scree plot shows.
const mostScree = 40

// Ranking is what a report on the number of factors shows.
type Ranking struct {
	// Title says what was ranked.
	Title string
	// Summaries are the outcomes of the criteria, a line for each.
	Summaries, Warnings []string
	// Eigenvalues and Reference, descending, are those of a parallel analysis; empty if there is none.
	Eigenvalues, Reference []float64
	// Regressed means that what the confounds explain was subtracted before.
	Regressed bool
	// Points and Fewest are those of a cross-validation: the error of each candidate, and the number of factors of the fewest
	// within one standard error of the lowest.
	Points []model.Point
	Fewest int
}

// RankingFiles returns the files of a report on the number of factors and their contents: one page that asks for nothing else
// and runs nothing and, if there are eigenvalues, the scree plot.
func RankingFiles(r *Ranking) (map[string][]byte, error) {
	files := map[string][]byte{}
	shown := struct {
		*Ranking
		Scree, Curve template.HTML
	}{Ranking: r}
	if len(r.Eigenvalues) > 0 {
		d, err := r.scree()
		if err != nil {
			return nil, err
		}
		if files[ScreeFile], err = d.svg(); err != nil {
			return nil, err
		}
		shown.Scree = inline(files[ScreeFile], "Eigenvalues and their reference")
	}
	d, err := sheet{&model.Model{Summary: model.Summary{BCV: r.Points, OneStandardErrorFactors: r.Fewest}}}.curve()
	if err != nil {
		return nil, err
	}
	svg, err := d.svg()
	if err != nil {
		return nil, err
	}
	shown.Curve = inline(svg, "Cross-validated error over the number of factors")
	t, err := template.New(RankingFile).Funcs(template.FuncMap{"short": short}).Parse(rankingTemplate)
	if err != nil {
		return nil, fmt.Errorf("reading the template of the ranking: %w", err)
	}
	var b bytes.Buffer
	if err := t.Execute(&b, shown); err != nil {
		return nil, fmt.Errorf("writing %q: %w", RankingFile, err)
	}
	files[RankingFile] = b.Bytes()
	return files, nil
}

// scree draws the first eigenvalues and the reference that they must exceed. Lines and shapes tell them apart without color.
func (r *Ranking) scree() (*drawing, error) {
	c := newChart("", "component", "eigenvalue")
	c.X.Tick.Marker = wholeTicks{}
	for _, curve := range []struct {
		name   string
		values []float64
		color  color.Color
		dashes []vg.Length
		shape  draw.GlyphDrawer
	}{
		{"eigenvalues", r.Eigenvalues, color.Black, nil, draw.CircleGlyph{}},
		{"95 % of random answers", r.Reference, color.Gray{Y: 96}, []vg.Length{rim, rim}, draw.CrossGlyph{}},
	} {
		points := make(plotter.XYs, min(len(curve.values), mostScree))
		for i := range points {
			points[i] = plotter.XY{X: float64(i + 1), Y: curve.values[i]}
		}
		line, dots, err := plotter.NewLinePoints(points)
		if err != nil {
			return nil, fmt.Errorf("drawing the scree: %w", err)
		}
		line.Color, line.Dashes, dots.Color, dots.Shape = curve.color, curve.dashes, curve.color, curve.shape
		c.Add(line, dots)
		c.explain(curve.name, line, dots)
	}
	c.Y.Min, c.Y.Max = 0, max(slices.Max(r.Eigenvalues), slices.Max(r.Reference))
	return c.drawing(), nil
}
