package items_test

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// Visits of the six people of Shrout and Fleiss (1979), of whom another one lacks a visit. A model's scores of answers
// that are given twice agree wholly.
func TestRetest(t *testing.T) {
	t.Parallel()
	text := "id,wave,q1\n"
	for i, row := range []string{"9258", "6132", "8468", "7126", "0569", "6247"} {
		for wave, v := range row {
			answer := string(v)
			if answer == "0" {
				answer = "10"
			}
			text += fmt.Sprintf("p%d,%d,%s\n", i, wave, answer)
		}
	}
	columns := answers.Columns{
		Items: []string{"q*"}, Visits: &questionnaire.Visits{Time: "wave", Edges: []float64{0, 1, 2, 3, 4}},
	}
	all, _, err := items.Retest(questionnairetest.File(t, "x.csv", text+"p9,0,3\n"), columns, nil)
	if err != nil || len(all) != 1 || all[0].Score != "prorated_all" || all[0].Participants != 6 ||
		math.Abs(float64(all[0].Agreement.Value)-0.29) > 0.005 ||
		math.Abs(float64(all[0].Consistency.Value)-0.71) > 0.005 {
		t.Errorf("%+v, %v", all, err)
	}

	rows := questionnairetest.Rows(1)
	f := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Columns.Confounds = nil })
	var b strings.Builder
	for i, row := range rows {
		for wave := range 2 {
			cell := fmt.Sprint(wave)
			if i == 0 {
				cell = "wave"
			}
			if i > 0 || wave == 0 {
				fmt.Fprintln(&b, strings.Join(append(slices.Clone(row), cell), ","))
			}
		}
	}
	columns = answers.Columns{Visits: &questionnaire.Visits{Time: "wave", Edges: []float64{0, 1, 2}}}
	all, _, err = items.Retest(questionnairetest.File(t, "y.csv", b.String()), columns, &f.Model)
	if err != nil || len(all) != 4 || all[3].Score != "factor3" || math.Abs(float64(all[3].Agreement.Value)-1) > 1e-9 ||
		math.Abs(float64(all[3].Consistency.Value)-1) > 1e-9 ||
		all[3].Participants < 140 {
		t.Errorf("%+v, %v", all, err)
	}
}

// Visits may be named, and what leaves nothing to compare is an error that says why.
func TestRetestOfEvents(t *testing.T) {
	t.Parallel()
	path := questionnairetest.File(t, "x.csv", "record_id,redcap_event_name,q1,q2\na,base,1,2\na,later,1,2\na,end,,\n"+
		"b,base,3,3\nb,later,3,2\nc,base,0,1\nc,later,1,1\nd,base,2,2\n")
	retest := func(time string, bins ...string) ([]items.Retested, error) {
		visits, err := questionnaire.ParseEvents(time, bins)
		if err != nil {
			return nil, err
		}
		all, _, err := items.Retest(path, answers.Columns{Items: []string{"q*"}, Visits: visits}, nil)
		return all, err
	}
	const event = "redcap_event_name"
	all, err := retest(event, "base", "later")
	if err != nil || len(all) != 1 || all[0].Participants != 3 || !(all[0].Agreement.Value > .8) {
		t.Errorf("%+v, %v", all, err)
	}
	for say, call := range map[string][]string{
		`line 3, column "redcap_event_name": a time outside all bins`: {event, "base", "end"},
		"participants with answers in the bins: [4 3 0]":              {event, "base", "later", "x"},
		`edge "base" of a bin: not a number`:                          {event, "base"},
		`edge "later" of a bin: not a number`:                         {event, "1", "later"},
		"participants with answers in the bins: [4]":                  {"q1", "0", "4"},
	} {
		if _, err := retest(call[0], call[1:]...); err == nil || !strings.Contains(err.Error(), say) {
			t.Errorf("%q: error %v, want %q", call, err, say)
		}
	}
}
