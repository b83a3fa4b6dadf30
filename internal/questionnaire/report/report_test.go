package report

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"math"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/internal/chart"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/evaluate"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// drawn is what stands in an SVG element: its last digits may differ from processor to processor.
var drawn = regexp.MustCompile(`(?s)<svg.*?</svg>`)

// sampleEvaluation returns one of the sample model.
func sampleEvaluation() *evaluate.Evaluation {
	return &evaluate.Evaluation{
		Items: []string{"q4", "q3", "q2", "q1"}, Candidate: solver.Candidate{Factors: 2, Beta: 0.1}, Participants: 100,
		Repeats: 10, HeldOut: 0.2, Labels: []string{"adhd", "gad"}, Unconverged: 3,
		Shares: []evaluate.Share{
			{
				Method: model.MethodICQF, Share: 0.2, Participants: 20,
				Stability: evaluate.Measure{Count: 20, Mean: 0.9, Deviation: 0.05}, AUROC: []evaluate.Measure{
					{Count: 10, Mean: 0.75, Deviation: 0.01, Interval: &eval.Interval{Low: 0.7, High: 0.8}}, {},
				}, ItemsLeftOut: []string{"q1", "q3"},
			},
			{
				Method: model.MethodICQF, Share: 0.4,
				Participants: 40, Stability: evaluate.Measure{Count: 1, Mean: 0.95, Deviation: 0},
				AUROC: []evaluate.Measure{{Count: 10, Mean: 0.8, Deviation: 0.01}, {Count: 1, Mean: 0.5, Deviation: 0}},
			},
			{Method: model.MethodFA, Share: 0.2, Participants: 20, AUROC: []evaluate.Measure{{}, {}}, EmptyInWhole: 1},
		},
		Disjoint: []evaluate.Halves{
			{
				Method: model.MethodICQF, Share: 0.5, Participants: 50,
				Stability:  evaluate.Measure{Count: 20, Mean: 0.85, Deviation: 0.1},
				Congruence: evaluate.Measure{Count: 20, Mean: 0.9, Deviation: 0.05}, EmptyFactors: 2,
			},
		},
	}
}

// rendered returns the page of a model.
func rendered(t *testing.T, m *model.Model, e *evaluate.Evaluation) string {
	t.Helper()
	page, err := sheet{m}.page(e)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestReport(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	m.Summary.Status, m.Summary.Warnings = "iteration-limit", []string{"the last 1 of 2 factors are empty"}
	m.Summary.Compact = []model.CompactItem{{
		Questionnaire: "first", Item: m.Items[0], Explained: 0.5, Low: 0.375,
		High: 0.625, Correlations: []float64{0.75, -0.125},
	}}
	page := rendered(t, m, sampleEvaluation())
	for _, word := range []string{"<script", "http:", "https:", "src=", "href=", "url(", "@import", "<a lot>"} {
		if strings.Contains(page, word) {
			t.Errorf("the report holds %q", word)
		}
	}
	drawings := drawn.FindAllString(page, -1)
	if len(drawings) != 4 {
		t.Errorf("%d drawings, want the heat map, the curve, the stability and the compact set", len(drawings))
	}
	for _, d := range drawings {
		if !strings.Contains(d, ` role="img" aria-label="`) {
			t.Errorf("a drawing without a label: %.200s", d)
		}
	}
	page = strings.Replace(page, string(chart.Style()), "of package chart", 1)
	goldentest.Equal(t, "testdata/report.html", []byte(drawn.ReplaceAllString(page, "<svg></svg>")))
}

// A report without confounds, subscales, texts, curve and missing answers.
func TestPlainReport(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	m.Confounds, m.ICQF.ConfoundLoadings, m.Summary.BCV, m.Summary.Missing = nil, nil, nil, 0
	for j := range m.Items {
		m.Items[j].Subscale, m.Items[j].Text, m.Summary.Items[j].Missing = "", "", 0
	}
	files, err := Files(m, nil)
	if err != nil {
		t.Fatal(err)
	}
	page, svg, png := string(files[File]), string(files[HeatMapFile]), string(files[HeatMapImage])
	for _, word := range []string{
		"confound", "Lowest", "Held-out", "Compact", "over age", "Warning", ">text<", ">subscale<",
	} {
		if strings.Contains(page, word) {
			t.Errorf("the report mentions %s", word)
		}
	}
	if err := wellFormed(svg); err != nil {
		t.Errorf("the heat map is no XML: %v", err)
	}
	if !strings.HasPrefix(png, "\x89PNG") {
		t.Error("the image is not a PNG")
	}
}

// Items stand by subscale, in it by factor and falling loading.
func TestArrange(t *testing.T) {
	t.Parallel()
	order, groups := sheet{questionnairetest.Model(t)}.arrange()
	if diff := cmp.Diff([]int{2, 0, 3, 1}, order); diff != "" {
		t.Errorf("order differs from that wanted:\n%s", diff)
	}
	if diff := cmp.Diff([]group{{"Anxiety", 0, 2}, {"Conduct", 2, 2}}, groups,
		cmp.AllowUnexported(group{})); diff != "" {
		t.Errorf("groups differ from those wanted:\n%s", diff)
	}
	m := questionnairetest.Model(t)
	m.ICQF.Weights = []float64{16, 1, 1, 1} // its range is a quarter of the others'
	h := sheet{m}.heatMap()
	if diff := cmp.Diff([]int{0, 2, 3, 1}, h.order); diff != "" || h.largest != 6 {
		t.Errorf("with a narrow range the darkest loading is %v, and the order differs:\n%s", h.largest, diff)
	}
}

// Of a model of visits a codebook describes the items of all bins, and their subscales stay the bins.
func TestDescribeVisits(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	m.Visits = &questionnaire.Visits{Time: "age", Edges: []float64{6, 9, 12}}
	m.VisitItems = []questionnaire.Item{{Name: "a@b"}, {Name: "c"}}
	for j, name := range []string{"a@b@6-9", "c@6-9", "a@b@9-12", "of no bin"} {
		m.Items[j] = questionnaire.Item{Name: name, Subscale: "bin", Range: m.Items[j].Range}
	}
	if err := m.Describe([]questionnaire.Item{{Name: "a@b", Text: "Lies", Subscale: "Conduct"}}); err != nil {
		t.Fatal(err)
	}
	for j, want := range []string{"Lies", "", "Lies", ""} {
		if got := m.Items[j]; got.Text != want || got.Subscale != "bin" {
			t.Errorf("item %+v, want the text %q", got, want)
		}
	}
	page := rendered(t, m, nil)
	for _, word := range []string{
		"Loadings over age", "Loadings of factor 1 over age", "Loadings of factor 2 over age",
	} {
		if !strings.Contains(page, word) {
			t.Errorf("the report of a model of visits does not show %q", word)
		}
	}
}

func TestReadEvaluation(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	f := func(name string, change func(*evaluate.Evaluation), want string) {
		t.Helper()
		e := sampleEvaluation()
		change(e)
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		path := questionnairetest.File(t, "evaluation.json", string(data))
		got, err := ReadEvaluation(m, path)
		if want == "" {
			if err != nil || len(got.Shares) != len(e.Shares) {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		if !errors.Is(err, ErrEvaluation) || !strings.Contains(err.Error(), want) ||
			!strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	f("as written, the items in another order", func(*evaluate.Evaluation) {}, "")
	f("other items", func(e *evaluate.Evaluation) { e.Items[0] = "q5" }, "items are not")
	f("fewer items", func(e *evaluate.Evaluation) { e.Items = e.Items[:3] }, "its 3 items are not the 4 of the model")
	f("of an earlier version", func(e *evaluate.Evaluation) { e.Items = nil }, "no items")
	f("other factors", func(e *evaluate.Evaluation) { e.Factors = 3 }, "it has 3 factors, the model has 2")
	f("no shares", func(e *evaluate.Evaluation) { e.Shares = nil }, "no shares")
	f("a label too many", func(e *evaluate.Evaluation) { e.Labels = append(e.Labels, "sex") }, "2 areas of 3 labels")
	f("a share of everybody", func(e *evaluate.Evaluation) { e.Shares[0].Share = 1.5 }, "share of 1.5")
	f("a mean that is no correlation", func(e *evaluate.Evaluation) { e.Shares[0].Stability.Mean = 1e308 },
		"no correlations")
	f("a deviation below 0", func(e *evaluate.Evaluation) { e.Shares[0].Stability.Deviation = -1 }, "no correlations")
	f("halves that are no correlations", func(e *evaluate.Evaluation) { e.Disjoint[0].Congruence.Mean = 2 },
		"no correlations")
	for _, other := range []string{"{}", "[]", "null", "", `{"objective":1}`, `{"items":[{"item":"q1"}]}`} {
		_, err := ReadEvaluation(m, questionnairetest.File(t, "other.json", other))
		if !errors.Is(err, ErrEvaluation) || strings.Contains(err.Error(), "Go ") {
			t.Errorf("%q: error %v, want %v", other, err, ErrEvaluation)
		}
	}
}

// Names and texts from a file are no part of the page, and none is so long that nothing else is seen.
func TestReportOfHostileNames(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	hostile := []string{
		`<script>alert("1")</script>`, "\"'><svg onload='x'>&amp;", "שלום עולם مرحبا \u202e قلق 日本語",
		strings.Repeat("very long ", 200) + "\nof two lines\x00\x1b]",
	}
	for j, forbidden := range []string{"\x01", "\b", "\x1b", "\ufffe"} { // by XML
		hostile[j] = forbidden + hostile[j]
	}
	for j := range m.Items {
		m.Items[j].Name, m.Items[j].Text, m.Items[j].Subscale = hostile[j], hostile[(j+1)%4], hostile[(j+2)%4]
	}
	m.Confounds[1].Name, m.Confounds[1].Levels = hostile[0], []string{hostile[1], hostile[3]}
	e := sampleEvaluation()
	e.Labels = hostile[:2]
	page := rendered(t, m, e)
	for _, word := range []string{"<script", "<svg onload", "http:", "https:"} {
		if strings.Contains(page, word) {
			t.Errorf("the report holds %q", word)
		}
	}
	for i, d := range drawn.FindAllString(page, -1) {
		if err := wellFormed(d); err != nil {
			t.Errorf("drawing %d is no XML: %v", i, err)
		}
	}
	const widest = 1300 // pixels
	if c := (sheet{m}).HeatMap(); c.Width > widest {
		t.Errorf("a heat map %v wide, want at most %v", c.Width, widest)
	}
}

// wellFormed reads a document to its end.
func wellFormed(document string) error {
	d := xml.NewDecoder(strings.NewReader(document))
	for {
		if _, err := d.Token(); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
	}
}

// Equal models have equal files, to the byte.
func TestReportIsDeterministic(t *testing.T) {
	t.Parallel()
	var runs []map[string][]byte
	for range 2 {
		files, err := Files(questionnairetest.Model(t), sampleEvaluation())
		if err != nil {
			t.Fatal(err)
		}
		runs = append(runs, files)
	}
	for name, data := range runs[0] {
		if !bytes.Equal(data, runs[1][name]) {
			t.Errorf("%s differs from run to run", name)
		}
	}
}

// The curve is that of one candidate, of one number of factors, or of one β, and its marks stand at the choices.
func TestCurve(t *testing.T) {
	t.Parallel()
	at := func(factors int, beta, mse float64) solver.ErrorPoint {
		of := solver.Candidate{Factors: factors, Beta: beta}
		return solver.ErrorPoint{Candidate: of, Error: mse, StandardError: 0.1}
	}
	for name, test := range map[string]struct {
		curve          []solver.ErrorPoint
		lowest, fewest int // in the curve
	}{
		"one candidate":         {[]solver.ErrorPoint{at(1, 0.1, 0.5)}, 0, 0},
		"one number of factors": {[]solver.ErrorPoint{at(2, 0.1, 0.5), at(2, 0.5, 0.4)}, 1, 1},
		"one β":                 {[]solver.ErrorPoint{at(1, 0.1, 0.5), at(2, 0.1, 0.42), at(3, 0.1, 0.4)}, 2, 1},
		"two β": {
			[]solver.ErrorPoint{at(2, 0.1, 0.5), at(2, 0.5, 0.45), at(3, 0.1, 0.4), at(3, 0.5, 0.6)}, 2, 1,
		},
	} {
		m := questionnairetest.Model(t)
		m.Summary.BCV, m.Summary.OneStandardErrorFactors = test.curve, test.curve[test.fewest].Factors
		lowest, fewest := m.Summary.Choices()
		if lowest != test.curve[test.lowest] || fewest != test.curve[test.fewest] {
			t.Errorf("%s: %+v and %+v", name, lowest, fewest)
		}
		page := rendered(t, m, nil)
		for _, word := range []string{
			">lowest error<", ">one standard error<", fmt.Sprintf(">β = %v<", lowest.Beta),
			fmt.Sprintf("lowest error is that of %d factors", lowest.Factors),
		} {
			if !strings.Contains(page, word) {
				t.Errorf("%s: the report does not hold %q", name, word)
			}
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s: not a number", name)
		}
	}
}

// A stability that is defined nowhere is drawn as nothing.
func TestStabilityOfNothing(t *testing.T) {
	t.Parallel()
	e := sampleEvaluation()
	for i := range e.Shares {
		e.Shares[i].Stability = evaluate.Measure{}
	}
	if page := rendered(t, questionnairetest.Model(t), e); strings.Contains(page, "NaN") ||
		strings.Contains(page, "Inf") {
		t.Error("a number is NaN or infinite")
	}
}

// One factor of which nothing is left.
func TestReportOfAnEmptyFactor(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	m.Confounds, m.ICQF.ConfoundLoadings, m.ICQF.Loadings = nil, nil, mat.NewDense(4, 1, nil)
	m.Summary.Factors, m.Summary.FactorFits = 1, []model.FactorFit{{Absent: 1}}
	page := rendered(t, m, nil)
	if !strings.Contains(page, "No item loads on it.") || strings.Contains(page, "NaN") {
		t.Error("the report of an empty factor")
	}
}

// A model that loads can be drawn and written, or there is an error.
func FuzzModel(f *testing.F) {
	m := questionnairetest.Model(f)
	files, err := m.Files()
	if err != nil {
		f.Fatal(err)
	}
	manifest, tensors := files[model.ModelFile], files[model.LoadingsFile]
	f.Add(manifest, tensors)
	f.Add([]byte("{}"), []byte{})
	f.Add(manifest[:len(manifest)/2], tensors)
	f.Fuzz(func(_ *testing.T, manifest, tensors []byte) {
		m, err := model.Parse(manifest, tensors)
		if err != nil {
			return
		}
		_, _ = sheet{m}.page(nil) // nothing panics
		_ = m.LoadingsCSV()
	})
}

// The first page describes the factors, the participants and the precision of the numbers, with intervals if there are
// any.
func TestFirstPage(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	s := &m.Summary
	s.Known = []model.Known{
		{Name: "age", Mean: 11.5, Deviation: 3.25, Low: 6, High: 17},
		{Name: "sex", Levels: []model.Level{{Level: "F", Participants: 97}, {Level: "M", Participants: 3}}},
	}
	s.FactorFits[0].StandardError, s.FactorFits[0].Reliability = 0.1, 0.85
	s.FactorFits[1].StandardError, s.FactorFits[1].Reliability = 0.2, 0.6
	s.FactorFits[0].Participants, s.FactorFits[1].Participants = s.Participants-1, s.Participants-7
	s.ExplainedBy = &model.ExplainedBy{
		Explained: 0.625, Factors: []model.Share{{Share: 0.5}, {Share: 0.125}},
		CrossValidated: &model.ExplainedBy{Explained: 0.375},
	}
	table := func(v float64) [][]float64 {
		rows := make([][]float64, len(m.Items))
		for j := range rows {
			rows[j] = []float64{v, v, v, v, v, v, v}
		}
		return rows
	}
	s.Bootstrap = &model.Bootstrap{
		Replicates: 200, Level: 0.95, Factors: []model.Again{{Congruence: 0.97}, {Congruence: 0.84}},
		Scores: []float64{0.06, 0.02},
		Precision: model.Precision{
			Loadings: model.Intervals{Errors: table(0.1), Low: table(0.75), High: table(2.75)},
		},
	}
	page, _, _ := strings.Cut(rendered(t, m, nil), "Details</h1>")
	for _, want := range []string{
		"mean 11.5, standard deviation 3.25, 6 to 17", "<bdi>F</bdi>: 97, <bdi>M</bdi>: fewer than 5",
		"explain 62.5 % of the differences", "2.50 (0.75 to 2.75)", "It explains 50.0 % of the differences.",
		"of a single score is about ±0.16 (95 %); reliability 0.85. The loadings are not known exactly either: with " +
			"their error it is ±0.20.", "reliability of the factors is 0.60 to 0.85",
		"37.5 % in participants and answers that the fit has not seen", "from 200 bootstrap samples",
		"mean congruence of 0.840",
		fmt.Sprintf("This is about %d participants; 1 other gave too few answers about it.", s.Participants-1),
		fmt.Sprintf("This is about %d participants; 7 others gave too few answers about it.", s.Participants-7),
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the first page lacks %q", want)
		}
	}
	s.Bootstrap = nil
	if want := "±0.20 (95 %); reliability 0.85."; !strings.Contains(rendered(t, m, nil),
		want) {
		t.Errorf("without errors of the loadings the first page lacks %q", want)
	}
	s.FactorFits[1].Reliability = 0.849
	if page = rendered(t, m, nil); !strings.Contains(page, "reliability of the factors is 0.85. It") {
		t.Error("two reliabilities that are shown alike are not said once")
	}
}

// The supplement has all loadings with their intervals, the share that is not common, complexity, correlations of the
// scores, residual correlations, both criteria of the scree, and what it takes to compute it again.
func TestSupplement(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	s := &m.Summary
	s.Settings.Seed, s.Settings.InputSHA256 = 7, "0123abcd"
	s.Settings.Command = "wardcast questionnaire fit 'my answers.csv'"
	s.Scree = &model.Scree{
		Eigenvalues: []float64{2, 1, 0.5}, Reference: []float64{1.5, 0.9, 0.7}, MAP: []float64{0.1, 0.05, 0.2},
	}
	s.Residuals = &model.Residuals{
		RootMeanSquare: 0.125, Largest: []model.ResidualPair{{First: "q1", Second: "q3", Correlation: -0.375}},
	}
	nan := questionnaire.Figure(math.NaN())
	s.ScoreCorrelations = [][]questionnaire.Figure{{1, nan}, {nan, nan}}
	page := rendered(t, m, nil)
	for _, want := range []string{
		// q3 loads by 2.5 and 0.1: (6.25 + 0.01)²/(39.0625 + 0.0001)
		`<bdi>q3</bdi> (R)</th><td class="n">2.50</td><td class="n">0.10</td><td class="n">0.50</td>` +
			`<td class="n">1.0</td>`,
		`<td class="n">0.00</td><td class="n">0.00</td><td class="n">1.00</td><td class="n">–</td>`, // q4
		`<th scope="row">Factor 1</th><td class="n">1.00</td><td class="n">–</td>`,
		"root mean square is 0.125", `<td class="n">-0.38</td>`, "Eigenvalues and their reference", "Velicer&#39;s MAP",
		`<th scope="row">Seed</th><td>7</td>`, "0123abcd", "questionnaire fit &#39;my answers.csv&#39;",
		"wardcast 1.2.3",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
}

// Loadings of factor analysis may be below 0: the largest of either sign define a factor, the heat map marks those
// below 0, and what confounds add, which is on another scale, is not in it.
func TestReportOfFactorAnalysis(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	loadings := mat.NewDense(4, 2, []float64{-0.9, 0, 0.7, 0.1, 0.2, -0.8, 0, 0.6})
	m.FA = &model.FA{Loadings: loadings, Phi: linalg.Identity(2), ConfoundLoadings: m.ICQF.ConfoundLoadings}
	m.Summary.Accounted = []model.Accounted{
		{SSLoadings: 1.34, Proportion: 0.335}, {SSLoadings: 1.01, Proportion: 0.2525},
	}
	m.Summary.Method, m.Summary.BCV, m.Summary.Parallel = model.MethodFA, nil, new(2)
	m.Summary.FactorCorrelations = [][]float64{{1, 0.25}, {0.25, 1}}
	m.Summary.Fit = &model.GoodnessOfFit{
		RMSR: 0.03, RMSEA: model.RMSEA{Value: 0.05, Low: 0.04, High: 0.06}, TLI: 0.95, CFI: 0.96,
		ChiSquare: 12.5, DF: 7, BIC: questionnaire.Figure(math.NaN()),
	}
	h := sheet{m}.heatMap()
	if diff := cmp.Diff([]string{"factor1", "factor2"}, h.columns); diff != "" || h.largest != 0.9 {
		t.Errorf("columns of the heat map, largest loading %v:\n%s", h.largest, diff)
	}
	if top := m.Columns()[0].Top; top[0].Name != "q1" || top[0].Loading != -0.9 || top[1].Name != "q2" {
		t.Errorf("the first factor is defined by %+v", top)
	}
	page := rendered(t, m, nil)
	for _, want := range []string{
		"method factor analysis", "Parallel analysis suggests 2 factors",
		"0.050 (0.040 to 0.060)", "12.500 (7)", "a minus marks loadings below 0",
		"Sum of squared loadings 1.34, 33.5 % of the variance", "Factor 2</th><td class=\"n\">0.25",
	} {
		if !strings.Contains(page, want) {
			t.Errorf("the report lacks %q", want)
		}
	}
	if strings.Contains(page, "β") || strings.Contains(page, "NaN") || strings.Contains(page, "absent in") {
		t.Error("the report mentions penalties or presence, which factor analysis does not have, or NaN")
	}
	// Of responses behind the answers factors may explain more than of the answers.
	m.Summary.Settings.Correlation = model.Polychoric
	page = rendered(t, m, nil)
	if !strings.Contains(page, "58.8 % of the variance of the continuous responses behind the answers") ||
		strings.Contains(page, "standardized answers") || strings.Contains(page, "is less") {
		t.Error("the report of polychoric correlations is about standardized answers")
	}
}

// A verb of fmt that does not fit its value would print as %!f(…).
func TestReportsPrintEveryNumber(t *testing.T) {
	t.Parallel()
	for _, method := range []string{model.MethodICQF, model.MethodFA, model.MethodL1, model.MethodGRM} {
		f := questionnairetest.Fit(t, questionnairetest.Rows(1), func(o *fit.Options) {
			o.Method = method
			if method != model.MethodICQF {
				o.Betas, o.Columns.Confounds = nil, nil
			}
		})
		page := rendered(t, &f.Model, nil)
		if at := strings.Index(page, "%!"); at >= 0 {
			t.Errorf("the report of %s holds %q", method, page[at:at+20])
		}
		if l := f.Summary.LogLikelihood; l != nil && !strings.Contains(page, fmt.Sprintf("Log-likelihood %.2f,", *l)) {
			t.Errorf("the report of %s lacks the log-likelihood %v", method, *l)
		}
	}
}
