package report

import (
	"bytes"
	_ "embed"
	"fmt"
	"html/template"

	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/wording"
)

//go:embed report.html.tmpl
var pageTemplate string

var page = template.Must(template.New("report").Funcs(template.FuncMap{
	"grouped": grouped, "number": wording.Fixed,
	"percent": wording.Percent, "ranged": ranged,
	"share": shareRange, "days": days, "figure": figure,
	"site":      func(text string) string { return orElse(text, missing) },
	"isMissing": func(text string) bool { return orElse(text, missing) == missing },
	"on":        evaluatedOn,
	"field":     func(name, text string) field { return field{name, text} },
}).Parse(pageTemplate))

// field is one that the site fills in.
type field struct{ Name, Text string }

// HTML returns report.html, one page without scripts that asks for nothing else.
func (r *Report) HTML() ([]byte, error) {
	var b bytes.Buffer
	err := page.Execute(&b, struct {
		*Report
		MeasuredOn, Summary, Formula, Caveat, PerVariable, PSINote, Small string
		Shown                                                             []Subgroup
		Style                                                             template.CSS
	}{
		Report: r, MeasuredOn: r.measuredOn(), Summary: r.summary(), Formula: r.formula(), Caveat: r.caveat(),
		PerVariable: r.perVariable(), PSINote: psiNote, Small: r.small(), Shown: r.shown(), Style: chart.Style(),
	})
	if err != nil {
		return nil, fmt.Errorf("writing the report: %w", err)
	}
	return b.Bytes(), nil
}
