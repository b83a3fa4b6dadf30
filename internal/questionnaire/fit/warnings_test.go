package fit_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// Factors without an intercept have to explain a lowest answer above 0, and the summary says so too.
func TestWarnsOfAnswersAboveZero(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(4)
	for _, row := range rows[1:] {
		for j, cell := range row[1 : 1+questionnairetest.Items] {
			if cell != "" {
				row[1+j] = string(cell[0] + 1)
			}
		}
	}
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
	age := []questionnaire.Confound{{Name: "age", Kind: questionnaire.Numeric}}
	for name, c := range map[string]struct {
		method    string
		compared  []string
		confounds []questionnaire.Confound
		fromLow   bool
		want      bool
	}{
		"icqf":                    {method: model.MethodICQF, want: true},
		"icqf from low":           {method: model.MethodICQF, fromLow: true},
		"icqf with an intercept":  {method: model.MethodICQF, confounds: age},
		"l1-nmf":                  {method: model.MethodL1, confounds: age, want: true},
		"factor analysis":         {method: model.MethodFA},
		"compared with others":    {compared: []string{model.MethodFA, model.MethodICQF}, want: true},
		"without it among others": {compared: []string{model.MethodFA, "sums"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := questionnairetest.Options(path)
			o.Columns.Range, o.Columns.Confounds, o.Columns.FromLow = &questionnaire.Range{Low: 1, High: 5},
				c.confounds, c.fromLow
			o.Method, o.Compared, o.Betas = c.method, c.compared, nil
			if c.method == model.MethodICQF {
				o.Betas = []float64{0.1}
			}
			says := func(warnings []string) bool {
				return slices.ContainsFunc(warnings,
					func(w string) bool { return strings.Contains(w, "9 of 9 items is above 0") })
			}
			if got := says(remarks(t, o).Warnings); got != c.want {
				t.Errorf("warns: %v, want %v", got, c.want)
			}
			if c.compared != nil {
				return
			}
			m, err := fit.Fit(t.Context(), o)
			if err != nil || says(m.Summary.Warnings) != c.want {
				t.Errorf("the summary has the warnings %q: %v", m.Summary.Warnings, err)
			}
		})
	}
}

// One row for each participant links no bins of time, nor do forms without a common item.
func TestWarnsOfBinsWithoutLinks(t *testing.T) {
	t.Parallel()
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv",
		questionnairetest.CSV(questionnairetest.Rows(4))))
	o.Columns.Confounds, o.Columns.Visits = nil, &questionnaire.Visits{Time: "age", Edges: []float64{0, 10, 100}}
	bins := o
	rows := questionnairetest.Rows(4)
	for i, row := range rows[1:] {
		for j := 1 + 4*(i%2); j < 5+5*(i%2); j++ {
			row[j] = "" // half answer the first four items, the others the rest
		}
	}
	o = questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	for _, o := range []fit.Options{bins, o} {
		m, err := fit.Fit(t.Context(), o)
		if err != nil || !says(m.Summary.Warnings, "nothing links the sets") {
			t.Errorf("the summary has the warnings %q: %v", m.Summary.Warnings, err)
		}
	}
}

// Levels of few participants, and many levels, are warned of, unless the method ignores confounds.
func TestWarnsOfLevels(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(4)
	rows[0] = append(rows[0], "site", "months", "ward")
	for i, row := range rows[1:] {
		site, ward := "a", "a"
		if i%2 == 1 {
			site = "b"
		}
		if i < 4 {
			ward = "rare"
		}
		rows[1+i] = append(row, site, strconv.Itoa(i%11), ward)
	}
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
	for _, c := range []struct{ confound, method, want string }{
		{"site", model.MethodICQF, ""},
		{"months", model.MethodICQF, "the categorical confound months has 11 levels, and each level has its own " +
			"loadings: if it is a quantity, use months:numeric"},
		{"ward", model.MethodFA, "the categorical confound ward has 2 levels, 1 of them with fewer than 5 " +
			"participants, and each level has its own loadings: join small levels"},
		{"months", model.MethodL1, ""},
	} {
		o := questionnairetest.Options(path)
		o.Columns.Confounds = []questionnaire.Confound{{Name: c.confound, Kind: questionnaire.Categorical}}
		if o.Method = c.method; c.method != model.MethodICQF {
			o.Betas = nil
		}
		if got := strings.Join(remarks(t, o).Warnings, "; "); got != c.want {
			t.Errorf("%s: warns %q, want %q", c.confound, got, c.want)
		}
	}
}

// A code of missing ages is a warning about confounds: items have their ranges.
func TestWarnsOfConfoundsFarFromOthers(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(4)
	age := slices.Index(rows[0], "age")
	rows[1][age], rows[2][age] = "999", "999"
	f := questionnairetest.Fit(t, rows, nil)
	const want = "2 values of confounds are far from all others (999 to 999, first in age): name codes of missing " +
		"entries"
	if w := f.Summary.Warnings; !slices.Contains(w, want) || strings.Contains(strings.Join(w, " "), "items") {
		t.Errorf("warnings %q, want %q", w, want)
	}
}
