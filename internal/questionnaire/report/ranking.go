package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

//go:embed ranking.html.tmpl
var rankingTemplate string

// The files of a report on the number of factors.
const (
	RankingFile = "rank.html"
	ScreeFile   = "scree.svg"
)

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
	// Points and Fewest are those of a cross-validation: the error of each candidate, and the number of factors of the
	// fewest within one standard error of the lowest.
	Points []model.Point
	Fewest int
}

// RankingFiles returns the files of a report on the number of factors and their contents: one page that asks for
// nothing else and runs nothing and, if there are eigenvalues, the scree plot.
func RankingFiles(r *Ranking) (map[string][]byte, error) {
	files := map[string][]byte{}
	choice := model.Summary{BCV: r.Points, OneStandardErrorFactors: r.Fewest}
	shown := struct {
		*Ranking
		Style        template.CSS
		Scree, Curve *chart.Chart
	}{Ranking: r, Style: chart.Style(), Curve: choice.Curve(plotWidth)}
	if len(r.Eigenvalues) > 0 {
		shown.Scree = r.scree()
		files[ScreeFile] = shown.Scree.Document()
	}
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
