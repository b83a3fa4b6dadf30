package questionnaire

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/plot/vg"

	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

var update = flag.Bool("update", false, "write the golden files")

// sampleModel returns a model of two factors of four items in two subscales, with all that a report may show.
func sampleModel() *Model {
	r := Range{0, 2}
	m := &Model{
		Format: Format,
		Items: []Item{
			{Name: "q1", Text: "Worries <a lot> & often", Subscale: "Anxiety", Range: &r},
			{Name: "q2", Text: "Steals", Subscale: "Conduct", Range: &r},
			{Name: "q3", Text: "Nervous", Subscale: "Anxiety", Range: &r, Reversed: true},
			{Name: "q4", Subscale: "Conduct", Range: &r},
		},
		Confounds: []Confound{{Name: "age", Kind: models.Numeric, Range: &Range{6, 17}}, {Name: "sex", Kind: models.Categorical, Levels: []string{"F", "M"}}},
		CreatedAt: time.Date(2026, 11, 20, 8, 1, 2, 0, time.UTC),
		factors: icqf.Model{
			Loadings:         mat.NewDense(4, 2, []float64{1.5, 0, 0, 1.25, 2.5, 0.1, 0, 0}),
			ConfoundLoadings: mat.NewDense(4, 5, []float64{0, 0.25, 0, 0, 0.1, 0, 0, 0, 0.5, 0, 0.3, 0, 0, 0, 0.2, 0, 0, 0, 0, 1. / 3}),
			L1:               0.1,
		},
	}
	m.Summary = Summary{
		Method: "icqf", Status: "converged", Iterations: 42, Objective: 123.456, ReconstructionError: 0.25, Explained: 0.625, OutsideRange: 0.001, Factors: 2, Beta: 0.1,
		BCV:                     []rank.Point{{Candidate: rank.Candidate{Factors: 1, Beta: 0.1}, Error: 0.5, StandardError: 0.05}, {Candidate: rank.Candidate{Factors: 2, Beta: 0.1}, Error: 0.4, StandardError: 0.04}},
		OneStandardErrorFactors: 2, Participants: 100, Unanswered: 3, Missing: 0.05,
		Items:      []ItemFit{{"q1", 0, 0.75, 0.5}, {"q2", 0.125, 0.5, 0.75}, {"q3", 0, 1, 0.5}, {"q4", 0.0625, 0.25, 0}},
		FactorFits: []FactorFit{{0.25, 0.5, 0.125}, {0.5, 0.25, 0.375}},
		Settings:   Settings{Range: r}, Version: "1.2.3",
	}
	return m
}

// drawn is what stands in an SVG element: its last digits may differ from processor to processor.
var drawn = regexp.MustCompile(`(?s)<svg.*?</svg>`)

func golden(t *testing.T, name string, got []byte) {
	t.Helper()
	path := filepath.Join("testdata", name)
	if *update {
		if err := os.WriteFile(path, got, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)); diff != "" {
		t.Errorf("%s differs from the golden file:\n%s", name, diff)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	loadings, err := sampleModel().loadingsCSV()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "loadings.csv", loadings)
	s := Scores{IDs: []string{"a,b", "c"}, Values: mat.NewDense(2, 2, []float64{0, 1, 1. / 3, 0.1 + 0.2})}
	scores, err := s.CSV()
	if err != nil {
		t.Fatal(err)
	}
	golden(t, "scores.csv", scores)
}

// sampleEvaluation returns one of the sample model.
func sampleEvaluation() *Evaluation {
	return &Evaluation{
		Items: []string{"q4", "q3", "q2", "q1"}, Factors: 2, Beta: 0.1, Participants: 100, Repeats: 10, HeldOut: 0.2, Labels: []string{"adhd", "gad"}, Unconverged: 3,
		Shares: []Share{
			{Method: MethodICQF, Share: 0.2, Participants: 20, Stability: Measure{20, 0.9, 0.05}, AUROC: []Measure{{10, 0.75, 0.01}, {}}, ItemsLeftOut: []string{"q1", "q3"}},
			{Method: MethodICQF, Share: 0.4, Participants: 40, Stability: Measure{1, 0.95, 0}, AUROC: []Measure{{10, 0.8, 0.01}, {1, 0.5, 0}}},
			{Method: MethodFA, Share: 0.2, Participants: 20, AUROC: []Measure{{}, {}}},
		},
	}
}

// rendered returns the page of a model.
func rendered(t *testing.T, m *Model, e *Evaluation) string {
	t.Helper()
	svg, err := m.heatMap().svg()
	if err != nil {
		t.Fatal(err)
	}
	page, err := m.report(svg, e)
	if err != nil {
		t.Fatal(err)
	}
	return string(page)
}

func TestReport(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	m.Summary.Status, m.Summary.Warnings = "iteration-limit", []string{"the last 1 of 2 factors are empty"}
	m.Summary.Compact = []CompactItem{{Questionnaire: "first", Item: m.Items[0], Explained: 0.5, Correlations: []float64{0.75, -0.125}}}
	page := rendered(t, m, sampleEvaluation())
	for _, word := range []string{"<script", "http:", "https:", "src=", "href=", "url(", "@import", "<a lot>"} {
		if strings.Contains(page, word) {
			t.Errorf("the report holds %q", word)
		}
	}
	drawings := drawn.FindAllString(page, -1)
	if len(drawings) != 3 {
		t.Errorf("%d drawings, want the heat map, the curve and the stability", len(drawings))
	}
	for _, d := range drawings {
		if !strings.Contains(d, ` role="img" aria-label="`) {
			t.Errorf("a drawing without a label: %.200s", d)
		}
	}
	golden(t, "report.html", []byte(drawn.ReplaceAllString(page, "<svg></svg>")))
}

// A report without confounds, subscales, texts, curve and missing answers.
func TestPlainReport(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	m.Confounds, m.factors.ConfoundLoadings, m.Summary.BCV, m.Summary.Missing = nil, nil, nil, 0
	for j := range m.Items {
		m.Items[j].Subscale, m.Items[j].Text, m.Summary.Items[j].Missing = "", "", 0
	}
	dir := t.TempDir()
	if err := m.WriteReport(dir, nil); err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(dir, ReportFile))
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"confound", "Lowest", "Held-out", "Compact", "over age", "Warning", ">text<", ">subscale<"} {
		if strings.Contains(string(page), word) {
			t.Errorf("the report tells of %s", word)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, HeatMapFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := wellFormed(string(svg)); err != nil {
		t.Errorf("the heat map is no XML: %v", err)
	}
	if png, err := os.ReadFile(filepath.Join(dir, HeatMapImage)); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("the image is no PNG: %v", err)
	}
}

// Items stand by subscale, in it by factor and falling loading.
func TestArrange(t *testing.T) {
	t.Parallel()
	order, groups := sampleModel().arrange()
	if diff := cmp.Diff([]int{2, 0, 3, 1}, order); diff != "" {
		t.Errorf("order differs from that wanted:\n%s", diff)
	}
	if diff := cmp.Diff([]group{{"Anxiety", 0, 2}, {"Conduct", 2, 2}}, groups, cmp.AllowUnexported(group{})); diff != "" {
		t.Errorf("groups differ from those wanted:\n%s", diff)
	}
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	if err := m.Describe([]Item{{Name: "q4", Text: "Lies", Subscale: "Other", Reversed: true}, {Name: "q9", Text: "?"}}); err != nil {
		t.Fatal(err)
	}
	if got := m.Items[3]; got.Text != "Lies" || got.Subscale != "Other" || got.Reversed {
		t.Errorf("item %+v: want text and subscale of the codebook, and nothing else", got)
	}
	if m.Items[0].Text == "" {
		t.Error("an item that the codebook does not have lost its text")
	}
	if err := m.Describe([]Item{{Name: "Q4"}}); !errors.Is(err, ErrOtherCodebook) {
		t.Errorf("error %v for a codebook of other items, want %v", err, ErrOtherCodebook)
	}
}

// Of a model of visits a codebook describes the items of all bins, and their subscales stay the bins.
func TestDescribeVisits(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	m.Visits = &Visits{Time: "age", Edges: []float64{6, 9, 12}}
	m.VisitItems = []Item{{Name: "a@b"}, {Name: "c"}}
	for j, name := range []string{"a@b@6-9", "c@6-9", "a@b@9-12", "of no bin"} {
		m.Items[j] = Item{Name: name, Subscale: "bin", Range: m.Items[j].Range}
	}
	if err := m.Describe([]Item{{Name: "a@b", Text: "Lies", Subscale: "Conduct"}}); err != nil {
		t.Fatal(err)
	}
	for j, want := range []string{"Lies", "", "Lies", ""} {
		if got := m.Items[j]; got.Text != want || got.Subscale != "bin" {
			t.Errorf("item %+v, want the text %q", got, want)
		}
	}
	page := rendered(t, m, nil)
	for _, word := range []string{"Loadings over age", "Loadings of factor 1 over age", "Loadings of factor 2 over age"} {
		if !strings.Contains(page, word) {
			t.Errorf("the report of a model of visits does not show %q", word)
		}
	}
}

func TestReadEvaluation(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	f := func(name string, change func(*Evaluation), want string) {
		t.Helper()
		e := sampleEvaluation()
		change(e)
		data, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		path := write(t, "evaluation.json", string(data))
		got, err := m.ReadEvaluation(path)
		if want == "" {
			if err != nil || len(got.Shares) != len(e.Shares) {
				t.Errorf("%s: %v", name, err)
			}
			return
		}
		if !errors.Is(err, ErrEvaluation) || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	f("as written, the items in another order", func(*Evaluation) {}, "")
	f("other items", func(e *Evaluation) { e.Items[0] = "q5" }, "items are not")
	f("fewer items", func(e *Evaluation) { e.Items = e.Items[:3] }, "its 3 items are not the 4 of the model")
	f("of an earlier version", func(e *Evaluation) { e.Items = nil }, "no items")
	f("other factors", func(e *Evaluation) { e.Factors = 3 }, "of 3 factors, the model has 2")
	f("no shares", func(e *Evaluation) { e.Shares = nil }, "no shares")
	f("a label too many", func(e *Evaluation) { e.Labels = append(e.Labels, "sex") }, "2 areas of 3 labels")
	f("a share of everybody", func(e *Evaluation) { e.Shares[0].Share = 1.5 }, "share of 1.5")
	f("a mean that is no correlation", func(e *Evaluation) { e.Shares[0].Stability.Mean = 1e308 }, "no correlations")
	f("a deviation below 0", func(e *Evaluation) { e.Shares[0].Stability.Deviation = -1 }, "no correlations")
	for _, other := range []string{"{}", "[]", "null", "", `{"objective":1}`} {
		if _, err := m.ReadEvaluation(write(t, "other.json", other)); !errors.Is(err, ErrEvaluation) {
			t.Errorf("%q: error %v, want %v", other, err, ErrEvaluation)
		}
	}
}

// Names and texts from a file are no part of the page, and none is so long that nothing else is seen.
func TestReportOfHostileNames(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	hostile := []string{`<script>alert("1")</script>`, "\"'><svg onload='x'>&amp;", "שלום עולם مرحبا \u202e قلق 日本語", strings.Repeat("very long ", 200) + "\nof two lines\x00\x1b]"}
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
	const widest = 16 * vg.Inch
	if h := m.heatMap(); h.width > widest {
		t.Errorf("a heat map %v wide, want at most %v", h.width, widest)
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
	first, second := t.TempDir(), t.TempDir()
	for _, dir := range []string{first, second} {
		if err := sampleModel().WriteReport(dir, sampleEvaluation()); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range []string{ReportFile, HeatMapFile, HeatMapImage} {
		a, err := os.ReadFile(filepath.Join(first, name))
		if err != nil {
			t.Fatal(err)
		}
		if b, err := os.ReadFile(filepath.Join(second, name)); err != nil || !bytes.Equal(a, b) {
			t.Errorf("%s differs from run to run: %v", name, err)
		}
	}
}

// The curve is that of one candidate, of one number of factors, or of one β, and its marks stand at the choices.
func TestCurve(t *testing.T) {
	t.Parallel()
	at := func(factors int, beta, mse float64) rank.Point {
		return rank.Point{Candidate: rank.Candidate{Factors: factors, Beta: beta}, Error: mse, StandardError: 0.1}
	}
	for name, test := range map[string]struct {
		curve          []rank.Point
		lowest, fewest int // in the curve
	}{
		"one candidate":         {[]rank.Point{at(1, 0.1, 0.5)}, 0, 0},
		"one number of factors": {[]rank.Point{at(2, 0.1, 0.5), at(2, 0.5, 0.4)}, 1, 1},
		"one β":                 {[]rank.Point{at(1, 0.1, 0.5), at(2, 0.1, 0.42), at(3, 0.1, 0.4)}, 2, 1},
		"two β":                 {[]rank.Point{at(2, 0.1, 0.5), at(2, 0.5, 0.45), at(3, 0.1, 0.4), at(3, 0.5, 0.6)}, 2, 1},
	} {
		m := sampleModel()
		m.Summary.BCV, m.Summary.OneStandardErrorFactors = test.curve, test.curve[test.fewest].Factors
		lowest, fewest := m.Summary.choices()
		if lowest != test.curve[test.lowest] || fewest != test.curve[test.fewest] {
			t.Errorf("%s: %+v and %+v", name, lowest, fewest)
		}
		page := rendered(t, m, nil)
		for _, word := range []string{">lowest error<", ">one standard error<", fmt.Sprintf(">β = %v<", lowest.Beta), fmt.Sprintf("lowest error is that of %d factors", lowest.Factors)} {
			if !strings.Contains(page, word) {
				t.Errorf("%s: the report does not hold %q", name, word)
			}
		}
		if strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
			t.Errorf("%s: a number that is none", name)
		}
	}
}

// A stability that is defined nowhere is drawn as nothing.
func TestStabilityOfNothing(t *testing.T) {
	t.Parallel()
	e := sampleEvaluation()
	for i := range e.Shares {
		e.Shares[i].Stability = Measure{}
	}
	if page := rendered(t, sampleModel(), e); strings.Contains(page, "NaN") || strings.Contains(page, "Inf") {
		t.Error("a number that is none")
	}
}

// One factor of which nothing is left.
func TestReportOfAnEmptyFactor(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	m.Confounds, m.factors.ConfoundLoadings, m.factors.Loadings = nil, nil, mat.NewDense(4, 1, nil)
	m.Summary.Factors, m.Summary.FactorFits = 1, []FactorFit{{0, 1, 0}}
	page := rendered(t, m, nil)
	if !strings.Contains(page, "No item loads on it.") || strings.Contains(page, "NaN") {
		t.Error("the report of an empty factor")
	}
}

// The numbers of factors on the axis are whole, and never too many.
func TestWholeTicks(t *testing.T) {
	t.Parallel()
	f := func(low, high float64, want ...float64) {
		t.Helper()
		var got []float64
		for _, tick := range (wholeTicks{}).Ticks(low, high) {
			got = append(got, tick.Value)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%v to %v:\n%s", low, high, diff)
		}
	}
	f(1, 3, 1, 2, 3)
	f(4.5, 5.5, 5)
	f(1, 30, 1, 3, 5, 7, 9, 11, 13, 15, 17, 19, 21, 23, 25, 27, 29)
}
