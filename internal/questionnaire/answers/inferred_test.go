package answers_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// An item without a range gets that of its own answers, and answers far from all others are reported.
func TestInferred(t *testing.T) {
	t.Parallel()
	far := func(low, high float64, count, line int, column string) *answers.Apart {
		return &answers.Apart{
			Range: questionnaire.Range{Low: low, High: high}, Answers: count, Line: line, Column: column,
		}
	}
	const usual = "id,q1,q2,q3\na,0,1,2\nb,3,4,\nc,1,2,3\n"
	four := &questionnaire.Range{Low: 0, High: 4}
	all := []string{"q1", "q2", "q3"}
	for _, c := range []struct {
		name, content string
		columns       answers.Columns
		inferred      []string
		ranges        string
		apart         *answers.Apart // of items, unless the column is age
	}{
		{"a given range", usual, answers.Columns{Range: four}, nil, "0 to 4, 0 to 4, 0 to 4", nil},
		{"the codebook's", usual, answers.Columns{Codebook: []questionnaire.Item{
			{Name: "q1", Range: four}, {Name: "q2", Range: four}, {Name: "q3", Range: four},
		}}, nil, "0 to 4, 0 to 4, 0 to 4", nil},
		{"nothing far off", usual, answers.Columns{}, all, "0 to 3, 1 to 4, 2 to 3", nil},
		{"of one item", usual + "d,1,3,2\n", answers.Columns{Codebook: []questionnaire.Item{
			{Name: "q1", Range: four}, {Name: "q2"}, {Name: "q3", Range: four},
		}}, []string{"q2"}, "0 to 4, 1 to 4, 0 to 4", nil},
		{
			"one code", usual + "d,0,999,1\n",
			answers.Columns{},
			all, "0 to 3, 1 to 999, 1 to 3",
			far(999, 999, 1, 5, "q2"),
		},
		{
			"of a confound", "id,q1,q2,q3,age\na,0,1,2,30\nb,3,4,,50\nc,1,2,3,41\nd,1,2,3,999\n",
			answers.Columns{
				Range: four, Items: []string{"q*"},
				Confounds: []questionnaire.Confound{{Name: "age", Kind: questionnaire.Numeric}},
			},
			nil, "0 to 4, 0 to 4, 0 to 4",
			far(999, 999, 1, 5, "age"),
		},
		{
			"of an item and a confound", "id,q1,q2,age\na,0,1,30\nb,3,4,50\nc,1,2,41\nd,1,2,999\ne,77,1,43\n",
			answers.Columns{
				Items: []string{"q*"}, Confounds: []questionnaire.Confound{{Name: "age", Kind: questionnaire.Numeric}},
			},
			all[:2], "0 to 77, 1 to 4",
			far(77, 77, 1, 6, "q1"),
		},
		{
			"several codes", usual + "d,77,1,88\ne,0,99,77\n",
			answers.Columns{},
			all, "0 to 77, 1 to 99, 2 to 88",
			far(77, 99, 4, 5, "q1"),
		},
		{
			"below", usual + "d,1,-9,1\n",
			answers.Columns{FromLow: true},
			all, "0 to 3, -9 to 4, 1 to 3",
			far(-9, -9, 1, 5, "q2"),
		},
		{
			"nine for one to five", "id,q1,q2\na,1,2\nb,3,4\nc,5,9\n",
			answers.Columns{},
			all[:2], "1 to 5, 2 to 9",
			far(9, 9, 1, 4, "q2"),
		},
		{"two answers", "id,q1,q2\na,0,100\nb,100,0\n", answers.Columns{}, all[:2], "0 to 100, 0 to 100", nil},
		{
			"continuous", "id,q1,q2\na,0.5,12\nb,100,57\nc,31,80\n",
			answers.Columns{},
			all[:2], "0.5 to 100, 12 to 80",
			nil,
		},
		{
			"a code within another item's range", "id,q1,q2\na,1,0\nb,2,55\nc,3,99\nd,99,31\n",
			answers.Columns{},
			all[:2], "1 to 99, 0 to 99", far(99, 99, 1, 5, "q1"),
		},
		{
			"an answer that few give", "id,q1,q2\na,1,4\nb,2,3\nc,2,4\nd,5,2\n",
			answers.Columns{},
			all[:2],
			"1 to 5, 2 to 4", nil,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.columns.Items = []string{"q*"}
			read, err := answers.Read(questionnairetest.File(t, "x.csv", c.content), &c.columns)
			if err != nil {
				t.Fatal(err)
			}
			got := read.Apart
			if c.apart != nil && c.apart.Column == "age" {
				got = read.ApartConfounds
			}
			if diff := cmp.Diff(c.inferred, read.Inferred) + cmp.Diff(c.apart, got); diff != "" {
				t.Errorf("what is inferred differs from that wanted:\n%s", diff)
			}
			ranges := lists.Map(read.Items, func(item questionnaire.Item) string { return item.Range.String() })
			if got := strings.Join(ranges, ", "); got != c.ranges {
				t.Errorf("ranges %s, want %s", got, c.ranges)
			}
		})
	}
}

// A reversed item is turned within its own answers, not within those of other items.
func TestReverseWithinOwnRange(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,yesno\na,1,0\nb,5,1\nc,3,1\n"),
		&answers.Columns{Items: []string{"q1", "yesno"}, Reversed: []string{"yesno"}})
	if err != nil {
		t.Fatal(err)
	}
	if got := mat.Col(nil, 1, read.Answers); !slices.Equal(got, []float64{1, 0, 0}) {
		t.Errorf("answers %v", got)
	}
}
