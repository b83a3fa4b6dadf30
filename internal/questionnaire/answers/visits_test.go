package answers_test

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

func visitColumns() answers.Columns {
	return answers.Columns{
		Items: []string{"q*"}, Range: &questionnaire.Range{Low: 0, High: 4},
		Reversed: []string{"q2"}, Confounds: []questionnaire.Confound{{Name: "sex", Kind: questionnaire.Categorical}},
		Visits: &questionnaire.Visits{Time: "age", Edges: []float64{6, 9, 12}},
	}
}

func TestVisits(t *testing.T) {
	t.Parallel()
	columns := visitColumns()
	read, err := answers.Read(questionnairetest.File(t, "x.csv",
		"id,q1,q2,age,sex\na,1,0,6,F\nb,2,2,9,M\na,3,,12,F\na,2,4,8.9,F\nc,,,7,M\nb,0,1,7,M\nb,1,NA,10,M\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	// q2 is reversed; a has two visits before 9, b two after; q2@9-12 was answered by b alone.
	if diff := cmp.Diff([]string{"q1@6-9", "q2@6-9", "q1@9-12"}, questionnaire.Names(read.Items)); diff != "" {
		t.Errorf("items differ from those wanted:\n%s", diff)
	}
	if diff := cmp.Diff([][]float64{{1.5, 2, 3}, {0, 3, 1.5}}, rows(read)); diff != "" {
		t.Errorf("answers differ from those wanted:\n%s", diff)
	}
	if !slices.Equal(read.IDs, []string{"a", "b"}) || !slices.Equal(read.Dropped, []string{"q2@9-12"}) ||
		!slices.Equal(read.Unanswered, []int{6}) {
		t.Errorf("ids %q, dropped %q, unanswered %v", read.IDs, read.Dropped, read.Unanswered)
	}
	if sex, err := read.Learn(columns.Confounds); err != nil || !slices.Equal(sex[0].Levels, []string{"F", "M"}) {
		t.Errorf("sex %v: %v", sex, err)
	}
	if unlinked := read.Unlinked(name); read.Repeated != 2 || unlinked >= 0 {
		t.Errorf("%d participants with several visits in a bin, unlinked: %d", read.Repeated, unlinked)
	}
	if got := read.Items[2].Subscale; got != "age 9-12" {
		t.Errorf("subscale %q", got)
	}
}

func name(item questionnaire.Item) string { return item.Name }

// Two visits in one bin link nothing, and a single bin needs no link.
func TestVisitsLink(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, last string
		edges      []float64
		repeated   int
		unlinked   bool
	}{
		{"other bins, other people", "a,0,1,8,F", []float64{6, 9, 12}, 1, true},
		{"one person links", "a,0,1,10,F", []float64{6, 9, 12}, 0, false},
		{"one bin", "a,0,1,8,F", []float64{6, 12}, 1, false},
	} {
		columns := visitColumns()
		columns.Visits.Edges = c.edges
		read, err := answers.Read(questionnairetest.File(t, "x.csv",
			"id,q1,q2,age,sex\na,1,0,6,F\nb,2,2,9,M\nc,1,1,7,M\nd,0,1,11,F\n"+c.last+"\n"), &columns)
		if err != nil || read.Repeated != c.repeated || read.Unlinked(name) >= 0 != c.unlinked {
			t.Errorf("%s: %d participants with several visits in a bin, unlinked %d: %v", c.name, read.Repeated,
				read.Unlinked(name), err)
		}
	}
}

func TestVisitsRefuse(t *testing.T) {
	t.Parallel()
	const head = "id,q1,q2,age,sex\na,1,0,6,F\n"
	for _, c := range []struct {
		name, content string
		line          int
		column        string
		err           error
	}{
		{"outside the bins", head + "b,1,0,12.5,F\n", 3, "age", questionnaire.ErrNoBin},
		{"no time", head + "b,1,0,,F\n", 3, "age", questionnaire.ErrNoConfound},
		{"another sex", head + "a,1,0,10,M\n", 3, "", questionnaire.ErrVaries},
		{"no ids", "q1,q2,age,sex\n1,0,6,F\n", 1, "id", table.ErrNoColumn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			columns := visitColumns()
			_, err := answers.Read(questionnairetest.File(t, "x.csv", c.content), &columns)
			if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != c.line || at.Column != c.column ||
				!errors.Is(err, c.err) {
				t.Errorf("error %v; want line %d, column %q: %v", err, c.line, c.column, c.err)
			}
		})
	}
	for _, edges := range [][]string{nil, {"1"}, {"2", "1"}, {"1", "1"}, {"1", "x"}, {"1", "Inf"}} {
		if _, err := questionnaire.ParseVisits("age", edges); !errors.Is(err, questionnaire.ErrOptions) {
			t.Errorf("edges %q: error %v, want ErrOptions", edges, err)
		}
	}
}

// Participants left out are counted, not their visits; for the others, visits with answers are reported.
func TestVisitsLeftOut(t *testing.T) {
	t.Parallel()
	columns := visitColumns()
	columns.OmitIncomplete = true
	read, err := answers.Read(questionnairetest.File(t, "x.csv", `id,q1,q2,age,sex
a,1,0,6,F
b,,,7,M
a,,,10,F
c,,,7,M
b,,,10,M
d,3,1,,F
b,,,11,M
d,2,2,8,F
e,,,8,F
e,4,4,NA,F
a,2,3,11,F
f,,,,F
d,0,1,11,F
`), &columns)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.IDs, []string{"a", "d"}) {
		t.Errorf("ids %q", read.IDs)
	}
	want := answers.Remarks{FoundID: "id", Unanswered: []int{3, 5, 13}, Incomplete: []int{10}, Visits: []int{7}}
	if diff := cmp.Diff(want, read.Remarks); diff != "" {
		t.Errorf("remarks differ from those wanted:\n%s", diff)
	}
}
