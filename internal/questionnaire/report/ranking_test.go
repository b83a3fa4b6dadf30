package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
)

// The page has both plots, names every candidate and escapes what it is told; the scree plot needs no color.
func TestRankingFiles(t *testing.T) {
	t.Parallel()
	r := &report.Ranking{
		Title: "a<b.csv", Summaries: []string{"Parallel analysis: 2 components."}, Warnings: []string{"at the edge"},
		Eigenvalues: []float64{3, 2, 0.5, 0.2}, Reference: []float64{1.4, 1.2, 1, 0.9},
		Points: []model.Point{
			{Candidate: model.Candidate{Factors: 1, Beta: 0.1}, Error: 0.5, StandardError: 0.01},
			{Candidate: model.Candidate{Factors: 2, Beta: 0.1}, Error: 0.25, StandardError: 0.01},
		},
		Fewest: 2,
	}
	files, err := report.RankingFiles(r)
	if err != nil {
		t.Fatal(err)
	}
	page := string(files[report.RankingFile])
	for _, want := range []string{"a&lt;b.csv", "2 components", "at the edge", "Scree plot", "<td>0.25</td>"} {
		if !strings.Contains(page, want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if n := strings.Count(page, "<svg"); n != 2 || strings.Contains(page, "http://") {
		t.Errorf("%d plots, or an address", n)
	}
	scree := files[report.ScreeFile]
	if !bytes.Contains(scree, []byte(`<path class="s s1"`)) ||
		!regexp.MustCompile(`\.s1\{[^}]*stroke-dasharray`).Match(scree) {
		t.Error("the reference is not dashed")
	}

	r.Eigenvalues, r.Reference = nil, nil
	if files, err = report.RankingFiles(r); err != nil || files[report.ScreeFile] != nil ||
		strings.Count(string(files[report.RankingFile]), "<svg") != 1 {
		t.Errorf("without eigenvalues there is a scree plot, or %v", err)
	}
}
