package report_test

import (
	"bytes"
	"regexp"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/report"
	"github.com/wardcast/wardcast/solver"
)

// The page has both plots, names every candidate and escapes its input; the scree plot needs no color.
func TestRankingFiles(t *testing.T) {
	t.Parallel()
	r := &fit.Ranking{
		Choice: &fit.Choice{
			Candidate: solver.Candidate{Factors: 2, Beta: 0.1}, OneStandardErrorFactors: 2,
			Warnings: []string{"at the edge"},
			Curve: []solver.ErrorPoint{
				{Candidate: solver.Candidate{Factors: 1, Beta: 0.1}, Error: 0.5, StandardError: 0.01},
				{Candidate: solver.Candidate{Factors: 2, Beta: 0.1}, Error: 0.25, StandardError: 0.01},
			},
		},
		Others: fit.Others{
			Parallel: &fit.Parallel{
				Of: "component", Suggested: new(2), Draws: 20,
				Eigenvalues: []float64{3, 2, 0.5, 0.2}, Reference: []float64{1.4, 1.2, 1, 0.9},
			},
			MAP: &fit.MAP{Reason: "too few items"},
		},
	}
	files, err := report.RankingFiles("a<b.csv", r, false)
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

	r.Parallel.Eigenvalues, r.Parallel.Reference = nil, nil
	if files, err = report.RankingFiles("a<b.csv", r, false); err != nil || files[report.ScreeFile] != nil ||
		strings.Count(string(files[report.RankingFile]), "<svg") != 1 {
		t.Errorf("without eigenvalues there is a scree plot, or %v", err)
	}
}
