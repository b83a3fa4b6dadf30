package answers_test

import (
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// A file in Latin-1 is refused wherever its letters are: Jäger and Jöger are not to become one level.
func TestReadRefusesLatin1(t *testing.T) {
	t.Parallel()
	const head, usual = "id,q1,q2,job,ill\n", "b,1,0,x,0\n"
	columns := answers.Columns{
		Items: []string{"q*"}, Confounds: []questionnaire.Confound{{Name: "job", Kind: questionnaire.Categorical}},
		Labels: []questionnaire.Label{{Name: "ill", Positive: "1"}},
	}
	for _, c := range []struct {
		name, content string
		line          int
		column        string
	}{
		{"a level", head + usual + "a,0,1,J\xe4ger,1\nc,1,1,J\xf6ger,1\n", 3, "job"},
		{"an id", head + usual + "J\xe4ger,0,1,x,1\n", 3, "id"},
		{"a label", head + "a,0,1,x,J\xe4ger\n" + usual, 2, "ill"},
		{"an answer", head + usual + "\n\na,\xa0,1,x,1\n", 5, "q1"},
		{"the header", "id,q1,q2,job,ill,gr\xfc\xdfe\n" + "a,0,1,x,1,\n", 1, "gr\xfc\xdfe"},
		{"a column without a role", "id,q1,q2,job,ill,note\na,0,1,x,1,\"one\ntwo \xfc\"\n", 2, "note"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := questionnairetest.File(t, "x.csv", c.content)
			_, err := answers.Read(path, &columns)
			if at, ok := errors.AsType[*table.Error](err); !ok || !errors.Is(err, table.ErrEncoding) ||
				at.File != path || at.Line != c.line || at.Column != c.column {
				t.Errorf("error %v; want %v of line %d, column %q", err, table.ErrEncoding, c.line, c.column)
			}
		})
	}
	_, err := answers.ReadCodebook(questionnairetest.File(t, "book.csv", "item,text\nq1,J\xe4ger\n"), nil)
	if at, ok := errors.AsType[*table.Error](err); !ok || !errors.Is(err, table.ErrEncoding) || at.Line != 2 ||
		at.Column != "text" {
		t.Errorf("a codebook: %v", err)
	}
}

// Lines of an old Mac are one line to everybody else.
func TestReadRefusesLinesOfCarriageReturns(t *testing.T) {
	t.Parallel()
	_, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,q2\ra,0,1\rb,1,0\r"),
		&answers.Columns{Items: []string{"q*"}})
	if at, ok := errors.AsType[*table.Error](err); !ok || !errors.Is(err, table.ErrLineEnds) || at.Line != 1 {
		t.Errorf("error %v, want %v", err, table.ErrLineEnds)
	}
}

// Labels of more than two values are reported; numbers are compared by value, not by spelling.
func TestReadReportsOtherValues(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,ill,job,smoke\na,0,1,x,never\nb,1,0,y,often\n"+
		"c,1,0.0,z,NA\nd,0,1.0,x,often\ne,,7,w,w\n"), &answers.Columns{
		Items: []string{"q*"}, Labels: []questionnaire.Label{
			{Name: "ill", Positive: "1"}, {Name: "job", Positive: "y"}, {Name: "smoke", Positive: "never"},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]answers.Merged{{questionnaire.Label{Name: "job", Positive: "y"}, 2}},
		read.Merged); diff != "" {
		t.Errorf("labels of several other values differ from those wanted:\n%s", diff)
	}
}
