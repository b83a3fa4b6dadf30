package paper

import (
	"encoding/csv"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/icqf"
)

// signed is a model with loadings of both signs, an item without any, and names that are markup.
func signed() *model.Model {
	return &model.Model{
		Items: []questionnaire.Item{{
			Name: "b_2", Text: `50 % | <b>of</b> "$5" & [more]`, Subscale: "s", Reversed: true,
		}, {Name: "none"}, {Name: "*a"}, {Name: "c", Text: "Line\nbreak"}},
		ICQF: icqf.Model{
			Loadings:         mat.NewDense(4, 2, []float64{.126, -.9, 0, 0, .4, .2, .7, 0}),
			ConfoundLoadings: mat.NewDense(4, 2, []float64{1, 5, 2, 6, 3, 7, 4, 8}),
		},
		Confounds: []questionnaire.Confound{{Name: "sex", Kind: questionnaire.Categorical, Levels: []string{"F"}}},
		Summary:   model.Summary{Method: "icqf", Factors: 2, Participants: 12},
	}
}

// What is printed is what a reader of the paper needs: items under their factors, the largest first, without small
// loadings.
func TestLoadingsToPrint(t *testing.T) {
	t.Parallel()
	const markdown = `Loadings of 4 items on 2 factors

| Item | Text | Factor 1 | Factor 2 |
| :--- | :--- | ---: | ---: |
| c | Line break | 0.70 |  |
| \*a |  | 0.40 | 0.20 |
| b\_2 (R) | 50 % \| \<b>of\</b> "\$5" & \[more] | 0.13 | -0.90 |
| none |  |  |  |

*Note.* 12 participants; method: ICQF. Loadings below 0.09 are not shown. (R): scored from the other end.
`
	if diff := cmp.Diff(markdown, string(LoadingsToPrint(signed(), 0).Markdown())); diff != "" {
		t.Errorf("the Markdown differs from that wanted:\n%s", diff)
	}
	const latex = `% needs \usepackage[T1]{fontenc} and \usepackage{array,booktabs,longtable}
{\small\setlength{\tabcolsep}{3pt}
\begin{longtable}{l>{\raggedright}p{0.60\linewidth}rr}
\caption{Loadings of 4 items on 2 factors}\\
\toprule
Item & Text & F1 & F2 \\
\midrule
\endfirsthead
\toprule
Item & Text & F1 & F2 \\
\midrule
\endhead
\bottomrule
\endfoot
c & Line break & 0.70 &  \\
{*}a &  & 0.40 &  \\
b\_2 (R) & 50 \% | \textless{}b\textgreater{}of\textless{}/b\textgreater{} "\$5" \& {[}more] &  & $-$0.90 \\
none &  &  &  \\
\end{longtable}
\noindent\textit{Note.} 12 participants; method: ICQF. Loadings below 0.30 are not shown. (R): scored from the other end.\par
}
`
	if diff := cmp.Diff(latex, string(LoadingsToPrint(signed(), .3).LaTeX())); diff != "" {
		t.Errorf("the LaTeX differs from that wanted:\n%s", diff)
	}
}

// An item of a quarter of the widest range counts four times: it comes first, and its small loading is shown.
func TestLoadingsOfNarrowRanges(t *testing.T) {
	t.Parallel()
	m := signed()
	m.ICQF.Weights = []float64{1, 1, 16, 1}
	out := string(LoadingsToPrint(m, .3).Markdown())
	for _, want := range []string{
		"---: |\n| \\*a |  | 0.40 | 0.20 |\n| c | Line break | 0.70 |  |\n",
		"Loadings below 0.30, on the widest range of the items, are not shown.",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("the table lacks %q:\n%s", want, out)
		}
	}
}

// The note of a factor analysis says how factors were found: a reader of the paper cannot repeat it otherwise.
func TestNoteOfFactorAnalysis(t *testing.T) {
	t.Parallel()
	m := signed()
	m.Summary.Method = model.MethodFA
	m.Summary.Settings.Extraction, m.Summary.Settings.Rotation, m.Summary.Settings.Correlation = "ml",
		"oblimin", model.Pearson
	const want = "method: factor analysis (ml, oblimin rotation, Pearson correlations)."
	if got := LoadingsToPrint(m, 0).Notes[0]; !strings.Contains(got, want) {
		t.Errorf("note %q, want %q in it", got, want)
	}
}

// The table of a factor analysis has the communality of each item, 1 less its uniqueness, whatever the cut, and what
// each factor accounts for.
func TestCommunalities(t *testing.T) {
	t.Parallel()
	m := signed()
	m.Summary.Method = model.MethodFA
	m.FA = &model.FA{Loadings: m.ICQF.Loadings, Uniquenesses: []float64{.17, 1, .8, .51}}
	m.Summary.Accounted = []model.Accounted{{SSLoadings: .65, Proportion: .1625}, {SSLoadings: .83, Proportion: .2075}}
	const want = `| Item | Text | Factor 1 | Factor 2 | Communality |
| :--- | :--- | ---: | ---: | ---: |
| c | Line break |  |  | 0.49 |
| \*a |  |  |  | 0.20 |
| b\_2 (R) | 50 % \| \<b>of\</b> "\$5" & \[more] |  | -0.90 | 0.83 |
| none |  |  |  | 0.00 |
| SS loadings |  | 0.65 | 0.83 | 1.48 |
| Proportion |  | 0.16 | 0.21 | 0.37 |
`
	if got := string(LoadingsToPrint(m, .8).Markdown()); !strings.Contains(got, want) {
		t.Errorf("the table is\n%s\nwant in it\n%s", got, want)
	}
	const foot = "none &  &  &  & 0.00 \\\\\n\\midrule\nSS loadings &  & 0.65 & 0.83 & 1.48 \\\\\n"
	if got := string(LoadingsToPrint(m, .8).LaTeX()); !strings.Contains(got, foot) {
		t.Errorf("the table is\n%s\nwant in it\n%s", got, foot)
	}
}

// CSV and JSON hold every number, also those that a paper does not show.
func TestLoadingsInFull(t *testing.T) {
	t.Parallel()
	want := [][]string{
		{"item", "text", "subscale", "reversed", "factor1", "factor2", "sex_F", "intercept"},
		{"b_2", `50 % | <b>of</b> "$5" & [more]`, "s", "yes", "0.126", "-0.9", "1", "5"},
		{"none", "", "", "", "0", "0", "2", "6"},
		{"*a", "", "", "", "0.4", "0.2", "3", "7"},
		{"c", "Line\nbreak", "", "", "0.7", "0", "4", "8"},
	}
	full := Loadings(signed())
	rows, err := csv.NewReader(strings.NewReader(string(full.CSV()))).ReadAll()
	if diff := cmp.Diff(want, rows); err != nil || diff != "" {
		t.Errorf("the CSV differs from that wanted (%v):\n%s", err, diff)
	}
	data, err := full.JSON()
	if err != nil {
		t.Fatal(err)
	}
	type row struct {
		Item, Text, Subscale, Reversed string
		Factor1, Factor2, Intercept    float64
		Sex                            float64 `json:"sex_F"`
	}
	var got []row
	if err := json.Unmarshal(data, &got); err != nil || len(got) != 4 || got[0] != (row{
		Item: "b_2", Text: want[1][1],
		Subscale: "s", Reversed: "yes", Factor1: .126, Factor2: -.9, Intercept: 5, Sex: 1,
	}) {
		t.Errorf("JSON %s: %v", data, err)
	}
}

func TestScores(t *testing.T) {
	t.Parallel()
	scores, err := Scores(questionnairetest.File(t, "s.csv",
		"id,factor1,answered,t_factor1\np1,0.126,24,61.5\np2,0,25,\n"))
	if err != nil {
		t.Fatal(err)
	}
	const markdown = `Scores of 2 participants

| id | factor1 | answered | t\_factor1 |
| :--- | ---: | ---: | ---: |
| p1 | 0.13 | 24 | 61.50 |
| p2 | 0.00 | 25 |  |
`
	if diff := cmp.Diff(markdown, string(scores.Markdown())); diff != "" {
		t.Errorf("the Markdown differs from that wanted:\n%s", diff)
	}
	data, err := scores.JSON()
	if want := `[{"id":"p1","factor1":0.126,"answered":24,"t_factor1":61.5},` + "\n" +
		`{"id":"p2","factor1":0,"answered":25,"t_factor1":null}]` + "\n"; err != nil || string(data) != want {
		t.Errorf("JSON %s, want %s: %v", data, want, err)
	}
	_, err = Scores(questionnairetest.File(t, "s.csv", "id,sex\np1,F\n"))
	if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != 2 || at.Column != "sex" {
		t.Errorf("a word among the numbers: %v", err)
	}
}
