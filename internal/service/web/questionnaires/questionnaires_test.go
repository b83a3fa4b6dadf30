package questionnaires

import (
	"fmt"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/ingest/msg"
	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/responses"
	"github.com/wardcast/wardcast/internal/service/web/frame"
	"github.com/wardcast/wardcast/internal/service/web/webtest"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
)

// someQuestionnaires returns one with a cross-validation, and one with many items and without.
func someQuestionnaires() []*responses.Instrument {
	mood := &model.Model{
		Items: []questionnaire.Item{
			{Name: "q1", Text: "I have trouble <b>sleeping"}, {Name: "q2", Reversed: true}, {Name: "q3"},
		},
		ICQF: icqf.Model{Loadings: mat.NewDense(3, 2, []float64{.1, 1.25, .904, 0, .2, .3})},
		Summary: model.Summary{
			Method: "icqf", Factors: 2, Beta: 0.1, Participants: 1612, Missing: 0.083, Explained: 0.54,
			OneStandardErrorFactors: 2, Warnings: []string{"Few participants."},
			BCV: []solver.ErrorPoint{
				{Candidate: solver.Candidate{Factors: 1, Beta: 0.1}, Error: 0.5, StandardError: 0.01},
				{Candidate: solver.Candidate{Factors: 2, Beta: 0.1}, Error: 0.41, StandardError: 0.02},
				{Candidate: solver.Candidate{Factors: 3, Beta: 0.1}, Error: 0.4, StandardError: 0.02},
				{Candidate: solver.Candidate{Factors: 2, Beta: 1}, Error: 0.45, StandardError: 0.02},
			},
			FactorFits: []model.FactorFit{{Absent: 0.1, High: 0.2}, {Absent: 0.3, High: 0.05}},
			Settings:   model.Settings{Input: webtest.Secret + ".csv", Range: questionnaire.Range{Low: 0, High: 4}},
		},
		ID: webtest.Secret,
	}
	const items, factors = 120, 10
	big := &model.Model{ICQF: icqf.Model{Loadings: mat.NewDense(items, factors, nil)}, Summary: model.Summary{
		Factors: factors, FactorFits: make([]model.FactorFit, factors),
	}}
	for j := range items {
		big.Items = append(big.Items, questionnaire.Item{Name: fmt.Sprintf("item_%d", j), Text: fmt.Sprintf(
			"What was asked as number %d of the questionnaire", j)})
		big.ICQF.Loadings.Set(j, j%factors, 1+float64(j%17)/10)
		big.ICQF.Loadings.Set(j, (j+3)%factors, float64(j%13)/20)
	}
	return []*responses.Instrument{
		{Info: msg.Model{Name: "mood", Version: "v1"}, Model: mood},
		{Info: msg.Model{Name: "survey", Version: "v2"}, Model: big},
	}
}

// TestPage: a questionnaire's loadings are there in full, only under its own name, and do not reveal where the answers
// are from.
func TestPage(t *testing.T) {
	t.Parallel()
	s := webtest.New(t)
	p, chosen := s.Page("/questionnaires", "Questionnaires"), someQuestionnaires()[0]
	s.Serve(New(p, someQuestionnaires))
	data := &view{Instrument: chosen, Switches: []frame.Choice{
		{Name: "/1", Label: "1", Current: true}, {Name: "/2", Label: "2"},
	}}
	data.fill(1)
	page := string(p.Template(html).Part("page", data))
	goldentest.Equal(t, "testdata/questionnaires.golden.html", []byte(page))
	if strings.Contains(page, webtest.Secret) || strings.Contains(page, "<b>sleeping") {
		t.Error("the page reveals where the answers are from, or shows a text without escaping")
	}
	s.Check(map[string]webtest.Case{
		"CSV": {
			Path: "/questionnaires.csv?name=mood", Status: 200, Has: "item,factor1,factor2\nq1,0.1,1.25\n",
		},
		"JSON": {
			Path: "/questionnaires.json?name=mood", Status: 200, Has: `{"item":"q3","loadings":[0.2,0.3]}`,
		},
		"a factor": {Path: "/questionnaires?name=mood&factor=2", Status: 200, Has: `aria-current="true"><span ` +
			`class="vh">Factor </span>2<`},
		"no such factor": {Path: "/questionnaires?name=mood&factor=99", Status: 200, Has: `aria-current="true"><span ` +
			`class="vh">Factor </span>1<`},
		"many items": {Path: "/questionnaires?name=survey", Status: 200, Has: "What was asked as number 119"},
		"unknown": {
			Path: "/questionnaires?name=" + webtest.Secret, Status: 404,
			Has: "No questionnaire of that name", Lacks: webtest.Secret,
		},
		"CSV of unknown": {Path: "/questionnaires.csv?name=x", Status: 404, Has: "No questionnaire of that name"},
	})
	empty := webtest.New(t)
	empty.Serve(New(empty.Page("/questionnaires", "Questionnaires"), func() []*responses.Instrument { return nil }))
	empty.Check(map[string]webtest.Case{
		"none":         {Path: "/questionnaires", Status: 200, Has: "No questionnaires are scored here."},
		"none as CSV":  {Path: "/questionnaires.csv", Status: 404, Has: "No questionnaires are scored."},
		"none as JSON": {Path: "/questionnaires.json", Status: 404, Has: "No questionnaires are scored."},
	})
}

// TestOneTried: where one number of factors was tried, its error is not called the lowest.
func TestOneTried(t *testing.T) {
	t.Parallel()
	data := &view{}
	one := solver.ErrorPoint{Candidate: solver.Candidate{Factors: 3, Beta: .1}, Error: .4, StandardError: .02}
	other := one
	other.Beta, other.Error = 1, .5
	data.cross(&model.Summary{Factors: 3, Beta: .1, OneStandardErrorFactors: 3, BCV: []solver.ErrorPoint{one, other}})
	if data.Choice != "The fit was given 3 factors: no other number was tried." {
		t.Error(data.Choice)
	}
}
