package questionnaire

import (
	"encoding/xml"
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

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

func TestReport(t *testing.T) {
	t.Parallel()
	m := sampleModel()
	svg, err := must(t, m.heatMap).svg()
	if err != nil {
		t.Fatal(err)
	}
	page, err := m.report(svg, &Evaluation{
		Factors: 2, Participants: 100, Repeats: 10, HeldOut: 0.2, Labels: []string{"adhd", "gad"},
		Shares: []Share{{Method: MethodICQF, Share: 0.2, Participants: 20, Stability: Measure{20, 0.9, 0.05}, AUROC: []Measure{{10, 0.75, 0.01}, {}}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"<script", "http:", "https:", "src=", "href=", "url(", "@import", "<a lot>"} {
		if strings.Contains(string(page), word) {
			t.Errorf("the report holds %q", word)
		}
	}
	if n := len(drawn.FindAll(page, -1)); n != 2 {
		t.Errorf("%d drawings, want the heat map and the curve", n)
	}
	golden(t, "report.html", drawn.ReplaceAll(page, []byte("<svg></svg>")))
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
	for _, word := range []string{"confound", "cross-validation", "Held-out"} {
		if strings.Contains(string(page), word) {
			t.Errorf("the report tells of %s", word)
		}
	}
	svg, err := os.ReadFile(filepath.Join(dir, HeatMapFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := xml.Unmarshal(svg, new(struct{})); err != nil {
		t.Errorf("the heat map is no XML: %v", err)
	}
	if png, err := os.ReadFile(filepath.Join(dir, HeatMapImage)); err != nil || !strings.HasPrefix(string(png), "\x89PNG") {
		t.Errorf("the image is no PNG: %v", err)
	}
}

func must[T any](t *testing.T, f func() (T, error)) T {
	t.Helper()
	v, err := f()
	if err != nil {
		t.Fatal(err)
	}
	return v
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
	m.Describe([]Item{{Name: "q4", Text: "Lies", Subscale: "Other", Reversed: true}, {Name: "q9", Text: "?"}})
	if got := m.Items[3]; got.Text != "Lies" || got.Subscale != "Other" || got.Reversed {
		t.Errorf("item %+v: want text and subscale of the codebook, and nothing else", got)
	}
	if m.Items[0].Text == "" {
		t.Error("an item that the codebook does not have lost its text")
	}
}
