package questionnaire

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/models"
)

// A file in Latin-1 is refused wherever its letters are: Jäger and Jöger are not to become one level.
func TestReadRefusesLatin1(t *testing.T) {
	t.Parallel()
	const head, usual = "id,q1,q2,job,ill\n", "b,1,0,x,0\n"
	columns := Columns{Items: []string{"q*"}, Confounds: []Confound{{Name: "job", Kind: models.Categorical}}, Labels: []Label{{"ill", "1"}}}
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
			path := write(t, "x.csv", c.content)
			_, err := Read(path, &columns)
			if at, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrEncoding) || at.File != path || at.Line != c.line || at.Column != c.column {
				t.Errorf("error %v; want %v of line %d, column %q", err, ErrEncoding, c.line, c.column)
			}
		})
	}
	_, _, err := ReadCodebook(write(t, "book.csv", "item,text\nq1,J\xe4ger\n"))
	if at, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrEncoding) || at.Line != 2 || at.Column != "text" {
		t.Errorf("a codebook: %v", err)
	}
}

// Lines of an old Mac are one line to everybody else.
func TestReadRefusesLinesOfCarriageReturns(t *testing.T) {
	t.Parallel()
	_, err := Read(write(t, "x.csv", "id,q1,q2\ra,0,1\rb,1,0\r"), &Columns{Items: []string{"q*"}})
	if at, ok := errors.AsType[*Error](err); !ok || !errors.Is(err, ErrLineEnds) || at.Line != 1 {
		t.Errorf("error %v, want %v", err, ErrLineEnds)
	}
}

// Labels of more than two values are told, numbers by what they are and not as they are spelled.
func TestReadTellsOtherValues(t *testing.T) {
	t.Parallel()
	table, err := Read(write(t, "x.csv", "id,q1,ill,job,smoke\na,0,1,x,never\nb,1,0,y,often\nc,1,0.0,z,NA\nd,0,1.0,x,often\ne,,7,w,w\n"), &Columns{
		Items: []string{"q*"}, Labels: []Label{{"ill", "1"}, {"job", "y"}, {"smoke", "never"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Merged{{Label{"job", "y"}, 2}}, table.Merged); diff != "" {
		t.Errorf("labels of several other values differ from those wanted:\n%s", diff)
	}
}

func TestParseLabelsRefusesOneTwice(t *testing.T) {
	t.Parallel()
	if _, err := ParseLabels([]string{"ill", "smoke=1", "smoke=2"}); err != nil {
		t.Errorf("two values of a label: %v", err)
	}
	if _, err := ParseLabels([]string{"ill", "smoke", "ill=1"}); !errors.Is(err, ErrOptions) || !strings.Contains(err.Error(), "twice") {
		t.Errorf("a label twice: error %v, want ErrOptions", err)
	}
}
