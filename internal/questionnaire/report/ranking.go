package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
)

//go:embed ranking.html.tmpl
var rankingTemplate string

// The files of a report on the number of factors.
const (
	RankingFile = "rank.html"
	ScreeFile   = "scree.svg"
)

// RankingFiles returns the files of a report on the number of factors and their contents: one page that asks for
// nothing else and runs nothing and, if there are eigenvalues, the scree plot. The title says what was ranked, and
// regressed that what the confounds explain was subtracted before.
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
		shown.Scree = scree(r.Parallel)
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
