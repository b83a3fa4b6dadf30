package fit_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Every method gives the same files from the same answers: scores with standard errors, the same for fit and for score
// by the stored model, and loadings that separate the planted groups of items.
func TestMethods(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for _, method := range model.Methods() {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			file := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
			o := questionnairetest.Options(file)
			if o.Method = method; method != model.MethodICQF {
				o.Betas = nil
			}
			f, err := fit.Fit(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if f.Summary.Method != method || f.Summary.Status != "converged" || f.Summary.Explained < 0.6 {
				t.Errorf("method %s, %s, %v of the variance explained", f.Summary.Method, f.Summary.Status,
					f.Summary.Explained)
			}
			for j := range questionnairetest.Items {
				own := mat.Max(f.Loadings().RowView(j).T())
				for u := range questionnairetest.Factors {
					if q := f.Loadings().At(j, u); q != own && math.Abs(q) > own/3 {
						t.Errorf("item %d loads on two factors: %v", j, f.Loadings().RawRowView(j))
					}
				}
			}
			for _, d := range f.Summary.FactorFits {
				if !(d.Reliability > 0.5 && d.Reliability < 1) {
					t.Errorf("reliability %v with a standard error of %v and a standard deviation of %v", d.Reliability,
						d.StandardError, d.Deviation)
				}
			}

			dir := questionnairetest.Store(t, &f.Model)
			m, err := model.Load(dir)
			if err != nil {
				t.Fatal(err)
			}
			s, err := fit.Score(m, file, fit.Scoring{Table: o.Scores})
			if err != nil {
				t.Fatal(err)
			}
			if method == model.MethodICQF { // scores of the factorization, next to the errors of Score
				f.Scores.Values = s.Values
			}
			if got, want := string(s.CSV()), string(f.Scores.CSV()); got != want {
				t.Errorf("score of the stored model:\n%.300s\nfit:\n%.300s", got, want)
			}
			if header := strings.Join(f.Scores.Header(),
				","); header != "id,factor1,factor2,factor3,answered,se_factor1,se_factor2,se_factor3" {
				t.Errorf("columns %s", header)
			}
		})
	}
}

// Maximum likelihood has standard errors, without confounds and with a rotation, and stores them.
func TestStandardErrors(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		extraction, rotation string
		confounds, want      bool
	}{
		{"ml", "promax", false, true},
		{"ml", "oblimin", true, false},
		{"ml", "none", false, false},
		{"minres", "varimax", false, false},
	} {
		f := questionnairetest.Fit(t, questionnairetest.Rows(1), func(o *fit.Options) {
			o.Method, o.Betas, o.Extraction, o.Rotation = model.MethodFA, nil, c.extraction, c.rotation
			if !c.confounds {
				o.Columns.Confounds = nil
			}
		})
		m := questionnairetest.Reload(t, &f.Model)
		files, err := m.Files()
		if err != nil {
			t.Fatal(err)
		}
		s := m.Summary.StandardErrors
		if (s != nil) != c.want || (files[model.IntervalsFile] != nil) != c.want {
			t.Errorf("%+v: %+v, %s", c, s, files[model.IntervalsFile])
		}
		if s != nil && !(s.Loadings.Errors[0][0] > .01 && s.Loadings.Errors[0][0] < .2 &&
			s.FactorCorrelations.Errors[0][1] > .01 && s.FactorCorrelations.Errors[0][0] == 0) {
			t.Errorf("%+v: %+v", c, s)
		}
	}
}

// The variance that each factor accounts for is that of psych.
func TestAccounted(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "psych.json"))
	if err != nil {
		t.Fatal(err)
	}
	var psych struct {
		Fits map[string]struct {
			SSLoadings []float64 `json:"ss_loadings"`
			Proportion []float64 `json:"proportion"`
		} `json:"fits"`
	}
	if err := json.Unmarshal(text, &psych); err != nil {
		t.Fatal(err)
	}
	// The search for uniquenesses ends at the first, and varimax, from which promax starts, at the second.
	const items, searching, early = 10, 1e-4, 1e-3
	for name, want := range psych.Fits {
		extraction, rotation, _ := strings.Cut(name, " ")
		f, err := fit.Fit(t.Context(), fit.Options{
			Input:   filepath.Join("..", "..", "..", "solver", "factoranalysis", "testdata", "answers.csv"),
			Columns: answers.Columns{Items: []string{"q*"}},
			Method:  model.MethodFA, Factors: []int{3},
			Learning: model.Learning{Extraction: extraction, Rotation: rotation},
		})
		if err != nil {
			t.Fatal(err)
		}
		tolerance := searching
		if rotation == string(factoranalysis.RotateVarimax) || rotation == string(factoranalysis.RotatePromax) {
			tolerance = early
		}
		for c, got := range f.Summary.Accounted {
			if math.Abs(got.SSLoadings-want.SSLoadings[c]) > tolerance ||
				math.Abs(got.Proportion-want.Proportion[c]) > tolerance/items {
				t.Errorf("%s, factor %d: %+v, want %v and %v", name, c+1, got, want.SSLoadings[c], want.Proportion[c])
			}
		}
		if len(f.Summary.Accounted) != 3 {
			t.Errorf("%s: %d factors", name, len(f.Summary.Accounted))
		}
	}
}

// Factor analysis takes confounds out of the answers: in answers that differ by sex in all items, sex makes no factor,
// and what it adds stands in its loadings.
func TestFactorAnalysisTakesConfoundsOut(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(2)
	sex := 1 + questionnairetest.Items + 1
	for _, row := range rows[1:] {
		for j := 1; j <= questionnairetest.Items; j++ {
			if row[sex] == "M" && row[j] != "" && row[j] < "3" {
				row[j] = string(row[j][0] + 2)
			}
		}
	}
	first := func(confounds bool) float64 {
		f := questionnairetest.Fit(t, rows, func(o *fit.Options) {
			o.Method, o.Betas = model.MethodFA, nil
			o.Factors, o.Rotation = []int{1}, string(factoranalysis.RotateNone)
			if !confounds {
				o.Columns.Confounds = nil
			}
		})
		var sums, counts [2]float64
		for i, w := range mat.Col(nil, 0, f.Scores.Values) {
			s := 0
			if rows[1+i][sex] == "M" {
				s = 1
			}
			sums[s], counts[s] = sums[s]+w, counts[s]+1
		}
		if confounds {
			all, names := f.AllLoadings()
			if got := strings.Join(names, ","); got != "factor1,age_low,age_high,sex_F,sex_M,intercept" {
				t.Errorf("columns %s", got)
			}
			if d := all.At(0, 4) - all.At(0, 3); d < 0.5 {
				t.Errorf("sex adds %v to the first item, want about 1", d)
			}
		}
		return math.Abs(sums[1]/counts[1] - sums[0]/counts[0])
	}
	// Residuals of an item have the same mean in both; scores that rest on some of the items only nearly so.
	if with, without := first(true), first(false); with > 0.1 || without < 1 {
		t.Errorf("scores of the sexes differ by %v with sex as confound, by %v without", with, without)
	}
}

// The number of factors is chosen for every method: by parallel analysis for factor analysis unless candidates are
// given, and by cross-validation otherwise.
func TestMethodsChoose(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for _, c := range []struct {
		method  string
		factors []int
		curve   int
	}{{model.MethodFA, nil, 0}, {model.MethodFA, []int{2, 3, 4}, 3}, {model.MethodL1, []int{2, 3, 4}, 3}} {
		f := questionnairetest.Fit(t, rows,
			func(o *fit.Options) { o.Method, o.Factors, o.Betas = c.method, c.factors, nil })
		if s := &f.Summary; s.Factors != questionnairetest.Factors || len(s.BCV) != c.curve ||
			(s.Parallel != nil) != (c.factors == nil) {
			t.Errorf("%s, candidates %v: %d factors from %d points, parallel analysis %v", c.method, c.factors,
				s.Factors, len(s.BCV), s.Parallel)
		}
	}
}

// The loadings of polychoric correlations with confounds are those of the responses behind the answers. An item that a
// confound determines has none.
func TestPolychoricWithConfounds(t *testing.T) {
	t.Parallel()
	const n, items, loading, shift = 4000, 6, 0.7, 0.8
	rng := rand.New(rand.NewPCG(1, 2))
	rows := [][]string{{"id", "site", "age", "old"}}
	for j := range items {
		rows[0] = append(rows[0], fmt.Sprintf("q%d", j))
	}
	for i := range n {
		site, age, factor := i%3, 20+rng.IntN(60), rng.NormFloat64()
		row := []string{strconv.Itoa(i), string(rune('a' + site)), strconv.Itoa(age), strconv.Itoa(age / 50)}
		for j := range items {
			response := loading*factor + math.Sqrt(1-loading*loading)*rng.NormFloat64()
			response += shift * (float64(site-1) + float64(age-50)/30)
			row = append(row, strconv.Itoa(max(0, min(3, int(response+float64(j%3))))))
		}
		rows = append(rows, row)
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	o.Method, o.Factors, o.Betas, o.Correlation = model.MethodFA, []int{1}, nil, model.Polychoric
	o.Columns.Items = []string{"q*"}
	o.Columns.Confounds = []questionnaire.Confound{
		{Name: "site", Kind: questionnaire.Categorical}, {Name: "age", Kind: questionnaire.Numeric},
	}
	out, err := fit.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	const error4 = 0.04 // four standard errors
	for j := range items {
		if got := out.Model.Loadings().At(j, 0); math.Abs(got-loading) > error4 {
			t.Errorf("item %d loads %v, planted %v", j, got, loading)
		}
	}
	o.Columns.Items = []string{"q*", "old"}
	if _, err := fit.Fit(t.Context(), o); err == nil || !strings.Contains(err.Error(), "add '!old' to --items") {
		t.Errorf("an item that a confound determines: %v", err)
	}
	// One participant makes it vary, and folds without that one leave it out.
	rows = rows[:400]
	rows[1][2], rows[1][3] = "20", "1"
	o.Input = questionnairetest.File(t, "y.csv", questionnairetest.CSV(rows))
	o.Factors = []int{1, 2}
	if _, err := fit.Fit(t.Context(), o); err != nil {
		t.Errorf("an item that a confound determines in a fold: %v", err)
	}
}

// An error of the correlations names the item.
func TestPolychoricNamesTheItem(t *testing.T) {
	t.Parallel()
	rows := [][]string{{"id", "a", "b", "c"}}
	for i := range 40 {
		rows = append(rows, []string{strconv.Itoa(i), strconv.Itoa(i % 3), strconv.Itoa(i % 4), strconv.Itoa(i)})
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	o.Columns = answers.Columns{Items: []string{"?", "!id"}}
	o.Method, o.Betas, o.Correlation = model.MethodFA, nil, model.Polychoric
	for _, o.Factors = range [][]int{{1}, nil} { // nil asks parallel analysis
		_, err := fit.Fit(t.Context(), o)
		if at, ok := errors.AsType[*table.Error](err); !ok || at.Column != "c" ||
			!strings.Contains(err.Error(), "more than 30 different answers") {
			t.Errorf("an item with 40 different answers, %v factors: %v", o.Factors, err)
		}
	}
}

// A fit of factor analysis says what psych warns of: more parameters than correlations, and uniquenesses at their
// bound.
func TestFactorAnalysisWarns(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	for i, row := range rows[1:] { // the second item follows from the first in all but a few participants
		if row[1] != "" && i%100 > 0 {
			row[2] = row[1]
		}
	}
	file := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
	random := rand.New(rand.NewPCG(1, 1))
	unrelated := func(participants int, blank float64) string {
		u := rows[:1:1]
		for i := range participants {
			row := []string{strconv.Itoa(i)}
			for j := range len(rows[0]) - 1 {
				cell := strconv.Itoa(random.IntN(5))
				if blank > 0 && j < questionnairetest.Items && random.Float64() < blank {
					cell = ""
				}
				row = append(row, cell)
			}
			u = append(u, row)
		}
		return questionnairetest.File(t, "unrelated.csv", questionnairetest.CSV(u))
	}
	for name, c := range map[string]struct {
		file    string
		factors int
		missing string
		want    string
	}{
		"few correlations": {file, questionnairetest.Items - 1, "", "degrees of freedom"},
		"a Heywood case":   {file, questionnairetest.Factors + 1, "", "Heywood"},
		"few participants": {
			questionnairetest.File(t, "few.csv", questionnairetest.CSV(rows[:8])), 1, "", "no inverse",
		},
		"tuned scores": {unrelated(15, 0), 1, "", "15 participants are few for 9 items"},
		"unreliable":   {unrelated(300, 0), 2, "", "more than half of their variance is error"},
		"missing answers": {
			unrelated(150, 0.1), 1, model.Pairwise, "chi-square counts all 150 participants as complete",
		},
		"no factors": {unrelated(200, 0), 0, "", "parallel analysis finds no factors"},
	} {
		o := questionnairetest.Options(c.file)
		o.Method, o.Betas, o.Factors, o.Missing = model.MethodFA, nil, []int{c.factors}, c.missing
		if c.factors == 0 {
			o.Factors = nil
		}
		f, err := fit.Fit(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		if all := strings.Join(f.Summary.Warnings, "; "); !strings.Contains(all, c.want) {
			t.Errorf("%s: warnings %q", name, all)
		}
	}
}

// An item that the confounds explain completely has no correlations: what rounding leaves of it is not taken for
// answers.
func TestFactorAnalysisRefusesWhatConfoundsExplain(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(2)
	sex := 1 + questionnairetest.Items + 1
	for _, row := range rows[1:] {
		if row[1] = "1"; row[sex] == "M" {
			row[1] = "3"
		}
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	o.Method, o.Betas = model.MethodFA, nil
	const want = `without the confounds' effects, the answers to 1 item do not vary: add '!q1' to --items`
	if _, err := fit.Fit(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("fit: %v, want %s", err, want)
	}
	if _, err := fit.Rank(t.Context(), o); !errors.Is(err, questionnaire.ErrOptions) ||
		!strings.Contains(err.Error(), want) {
		t.Errorf("rank: %v, want %s", err, want)
	}
}
