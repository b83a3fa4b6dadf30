package fit_test

import (
	"math"
	"math/rand/v2"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// remarks are those on a file.
func remarks(t *testing.T, o fit.Options) (got answers.Remarks) {
	t.Helper()
	o.Remark = func(r answers.Remarks) { got = r }
	if _, err := o.Begin(t.Context()); err != nil {
		t.Fatal(err)
	}
	return got
}

// Of three planted scales, one item of the first is turned: it is named, until it is reversed.
func TestRemarkOnOpposedItems(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(4)
	for _, row := range rows[1:] {
		if row[4] != "" { // q4, of the first factor as q1 and q7 are
			row[4] = string('0' + '4' - row[4][0])
		}
	}
	o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
	for j := range questionnairetest.Items {
		o.Columns.Codebook = append(o.Columns.Codebook, questionnaire.Item{
			Name: rows[0][1+j], Subscale: string(rune('A' + j%questionnairetest.Factors)), Range: o.Columns.Range,
		})
	}
	if diff := cmp.Diff([]answers.Opposed{{Scale: "A", Items: []string{"q4"}}}, remarks(t, o).Opposed); diff != "" {
		t.Errorf("opposed items differ from those wanted:\n%s", diff)
	}
	o.Columns.Reversed = []string{"q4"}
	if got := remarks(t, o).Opposed; len(got) > 0 {
		t.Errorf("opposed items of scales whose items are reversed: %v", got)
	}
	o.Columns.Reversed, o.Columns.Codebook = nil, nil
	o.Columns.Items = []string{"q1", "q4", "q7"}
	if diff := cmp.Diff([]answers.Opposed{{Items: []string{"q4"}}}, remarks(t, o).Opposed); diff != "" {
		t.Errorf("opposed items without scales differ from those wanted:\n%s", diff)
	}
	o.Columns.Items, o.Factors = []string{"q1", "q4"}, []int{1}
	if got := remarks(t, o).Opposed; len(got) > 0 {
		t.Errorf("opposed items of two: %v", got)
	}
}

// Of two groups of items that have nothing to do with each other, neither is opposed to the other.
func TestUnrelatedItemsAreNotOpposed(t *testing.T) {
	t.Parallel()
	random := rand.New(rand.NewPCG(1, 1))
	for range 10 {
		rows := [][]string{{"id", "q1", "q2", "q3", "q4", "q5", "q6", "q7", "q8"}}
		for i := range 100 {
			row, factors := []string{strconv.Itoa(i)}, [2]float64{random.NormFloat64(), random.NormFloat64()}
			for j := range 8 {
				row = append(row, strconv.Itoa(int(math.Round(min(max(2+factors[j%2]+random.NormFloat64(), 0),
					questionnairetest.Top)))))
			}
			rows = append(rows, row)
		}
		o := questionnairetest.Options(questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)))
		o.Columns.Confounds = nil
		if got := remarks(t, o).Opposed; len(got) > 0 {
			t.Errorf("opposed items of two unrelated groups: %v", got)
		}
	}
}

// The items of bfi that psych's own keys reverse are those that are named.
func TestOpposedItemsOfBFI(t *testing.T) {
	t.Parallel()
	path := os.Getenv("WARDCAST_SHARED")
	if path == "" {
		t.Skip("WARDCAST_SHARED names the folder of the data")
	}
	var want []answers.Opposed
	o := questionnairetest.Options(path + "/data/bfi.csv.gz")
	o.Columns.Confounds, o.Columns.Range, o.Columns.Items = nil, &questionnaire.Range{Low: 1, High: 6},
		[]string{"?1", "?2", "?3", "?4", "?5"}
	for _, scale := range []struct{ name, reversed string }{
		{"A", "A1"}, {"C", "C4 C5"}, {"E", "E1 E2"}, {"N", ""}, {"O", "O2 O5"},
	} {
		for _, digit := range "12345" {
			o.Columns.Codebook = append(o.Columns.Codebook,
				questionnaire.Item{Name: scale.name + string(digit), Subscale: scale.name})
		}
		if items := strings.Fields(scale.reversed); len(items) > 0 {
			want = append(want, answers.Opposed{Scale: scale.name, Items: items})
		}
	}
	if diff := cmp.Diff(want, remarks(t, o).Opposed); diff != "" {
		t.Errorf("opposed items differ from those wanted:\n%s", diff)
	}
}
