package answers_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// A scale is lacking if nobody of a group answered any of its items, and somebody else did. Groups of fewer than five
// stay unnamed.
func TestReadReportsScalesThatAGroupLacks(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("id,q1,q2,s1,s2,n1,sex,dx,site\n")
	for i := range 24 {
		s1, dx := "1", "CONTROL"
		if i%2 == 0 {
			s1, dx = "", "SCHZ"
		}
		site := "a"
		if i < 4 {
			site = "b"
		}
		fmt.Fprintf(&b, "p%d,%d,%d,%s,,,%s,%s,%s\n", i, i%3, i%4, s1, []string{"F", "M"}[i/2%2], dx, site)
	}
	columns := answers.Columns{
		Codebook: []questionnaire.Item{{
			Name: "q1", Subscale: "Q",
		}, {Name: "q2", Subscale: "Q"}, {Name: "s1", Subscale: "S"}, {Name: "s2", Subscale: "S"}, {Name: "n1"}},
		Range: &questionnaire.Range{Low: 0, High: 4}, Groups: []string{"site"},
		Labels:    []questionnaire.Label{{Name: "dx", Positive: "SCHZ"}, {Name: "dx", Positive: "CONTROL"}},
		Confounds: []questionnaire.Confound{{Name: "sex", Kind: questionnaire.Categorical}},
	}
	read, err := answers.Read(questionnairetest.File(t, "x.csv", b.String()), &columns)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		[]answers.Lacking{{Column: "dx", Groups: []string{"SCHZ"}, Participants: 12, Scales: []string{"S"}}},
		read.Lacking); diff != "" {
		t.Errorf("groups differ from those wanted:\n%s", diff)
	}
	columns.Groups = []string{"ward"} // no label, so that it may have more values
	wards := strings.NewReplacer(",CONTROL,", ",clinic,", "dx", "ward").Replace(b.String())
	for i := range 12 {
		wards = strings.Replace(wards, ",SCHZ,", []string{",day,", ",night,"}[i%2], 1)
	}
	columns.Labels = nil
	if read, err = answers.Read(questionnairetest.File(t, "x.csv", wards), &columns); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(
		[]answers.Lacking{{Column: "ward", Groups: []string{"day", "night"}, Participants: 12, Scales: []string{"S"}}},
		read.Lacking); diff != "" {
		t.Errorf("groups that lack the same differ from those wanted:\n%s", diff)
	}
	columns.Groups = []string{"nowhere"}
	if _, err := answers.Read(questionnairetest.File(t, "x.csv", b.String()), &columns); !errors.Is(err,
		table.ErrNoColumn) {
		t.Errorf("a group without column: %v", err)
	}
	columns.Groups, columns.Codebook, columns.Items, columns.Labels = []string{"dx"}, nil,
		[]string{"q*", "s1", "dx"}, nil
	if _, err := answers.Read(questionnairetest.File(t, "x.csv", b.String()), &columns); !errors.Is(err,
		questionnaire.ErrNoItem) {
		t.Errorf("a group that is an item: %v", err)
	}
}

// One group against another leaves out all other values, so no warning concerns them.
func TestReadOneGroupAgainstAnother(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,dx\na,0,2\nb,1,1.0\nc,2,3\nd,1,NA\ne,0,x\n"),
		&answers.Columns{
			Items: []string{"q*"}, Labels: []questionnaire.Label{{Name: "dx", Positive: "2.0", Negative: "1"}},
		})
	if err != nil {
		t.Fatal(err)
	}
	if want := []int8{1, 0, answers.Unknown, answers.Unknown, answers.Unknown}; !slices.Equal(read.Labels[0], want) ||
		len(read.Merged) > 0 {
		t.Errorf("classes %v, want %v; merged %v", read.Labels[0], want, read.Merged)
	}
}

// A value of a label that nobody has is an error. It names the values that enough participants have.
func TestReadNamesTheValuesOfALabel(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("id,q1,dx,many\n")
	for i := range 60 {
		dx := []string{"ADHD", "SCHZ"}[i%2]
		if i < 4 {
			dx = "RARE"
		}
		fmt.Fprintf(&b, "secret%d,%d,%s,%d\n", i, i%3, dx, i%12)
	}
	path := questionnairetest.File(t, "x.csv", b.String())
	for _, c := range []struct{ label, want string }{
		{"dx=SCHZ", ""},
		{"dx=RARE:ADHD", ""},
		{"dx=SCZ", `column "dx": no participant with answers has this value: "SCZ"; the column has "ADHD", "SCHZ" ` +
			`and 1 more`},
		{"dx=SCHZ:CTRL", `has this value: "CTRL"; the column has`},
		{"dx", `has this value: "1"; the column has "ADHD", "SCHZ" and 1 more; --labels dx=VALUE names one`},
		{"many=70", `"6", "7" and 2 more`},
		{"id=a", `has this value: "a"; each of its 60 values has fewer than 5 participants`},
	} {
		labels, err := questionnaire.ParseLabels([]string{c.label})
		if err != nil {
			t.Fatal(err)
		}
		_, err = answers.Read(path, &answers.Columns{Items: []string{"q*"}, Labels: labels})
		if c.want == "" && err != nil ||
			c.want != "" && (!errors.Is(err, questionnaire.ErrNoValue) || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: error %v, want %q", c.label, err, c.want)
		}
	}
}

// A value of a label and another one that differs by capitals alone are one value to a reader, so an error; other such
// values of the column may be.
func TestLabelsThatDifferByCapitals(t *testing.T) {
	t.Parallel()
	path := questionnairetest.File(t, "x.csv", "id,q1,dx\na,1,ADHD\nb,2,adhd\nc,3,CTRL\nd,0,1\n")
	for label, wrong := range map[string]bool{"dx=ADHD": true, "dx=CTRL:adhd": true, "dx=CTRL": false, "dx": false} {
		labels, err := questionnaire.ParseLabels([]string{label})
		if err != nil {
			t.Fatal(err)
		}
		_, err = answers.Read(path, &answers.Columns{Items: []string{"q*"}, Labels: labels})
		if errors.Is(err, questionnaire.ErrCase) != wrong || !wrong && err != nil {
			t.Errorf("%s: error %v", label, err)
		}
	}
}

func TestReadFindsTheIDs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ header, given, found, first string }{
		{"id,participant_id,q1", "", "id", "a"},
		{"x,Participant_ID,q1", "", "Participant_ID", "b"},
		{"x,participant_id,q1", "x", "", "a"},
		{"x,y,q1", "", "", "1"},
	} {
		read, err := answers.Read(questionnairetest.File(t, "x.csv", c.header+"\na,b,0\nc,d,1\n"),
			&answers.Columns{Items: []string{"q*"}, ID: c.given})
		if err != nil || read.FoundID != c.found || read.IDs[0] != c.first || read.Numbered != (c.first == "1") {
			t.Errorf("%s, --id %q: found %q, first id %q, numbered %v: %v", c.header, c.given, read.FoundID,
				read.IDs[0], read.Numbered, err)
		}
	}
}

// An item that one participant lets vary does not vary in the fold that holds that one out.
func TestReadReportsItemsThatOneParticipantLetsVary(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,q2,q3\na,0,1,0\nb,0,1,1\nc,0,,0\nd,1,0,1\n"),
		&answers.Columns{Items: []string{"q*"}})
	if want := []string{"q1", "q2"}; err != nil || !slices.Equal(read.Single, want) {
		t.Errorf("items %q, want %q: %v", read.Single, want, err)
	}
}

func TestCheckTrainingNamesConstantItems(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,q2,q3,q4\na,0,1,1,\nb,1,1,1,\n"),
		&answers.Columns{Items: []string{"q*"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := read.CheckTraining(); !errors.Is(err, questionnaire.ErrConstant) ||
		!strings.HasSuffix(err.Error(),
			`the same. To leave out items that do not vary or have no answers, add '!q2,!q3,!q4' to --items`) {
		t.Errorf("error %v", err)
	}
	read.Items = slices.Repeat([]questionnaire.Item{{Name: "q\x1b"}}, 12)
	read.Answers = mat.NewDense(2, 12, nil)
	if err := read.CheckTraining(); err == nil || strings.Contains(err.Error(), "\x1b") ||
		!strings.HasSuffix(err.Error(), `,!q\u001b' and 2 more to --items`) || strings.Count(err.Error(), "!") != 10 {
		t.Errorf("error %v", err)
	}
}

// Groups stay with their participants when those without answers to the kept items leave.
func TestGroupsOfKeptParticipants(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "q1,q2,site\n1,2,a\n,3,b\n2,1, c\n3,1,\n"),
		&answers.Columns{Items: []string{"q*"}, Groups: []string{"site"}})
	if err != nil {
		t.Fatal(err)
	}
	if err := read.Keep([]string{"q1"}); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]answers.Grouping{{Column: "site", Values: []string{"a", "c", ""}}}, read.Groups); diff != "" {
		t.Errorf("groups differ from those wanted:\n%s", diff)
	}
}
