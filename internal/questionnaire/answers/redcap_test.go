package answers_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/lists"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// dictionary returns a data dictionary with these fields, each "name,type,choices,min,max", of the form "form".
func dictionary(t *testing.T, missing []string, fields ...string) *answers.Codebook {
	t.Helper()
	content := "field_name,form_name,field_type,select_choices_or_calculations,text_validation_min," +
		"text_validation_max\n"
	for _, field := range fields {
		cells := append(strings.Split(field, ";"), "", "", "")
		content += cells[0] + ",form," + cells[1] + `,"` + cells[2] + `",` + cells[3] + "," + cells[4] + "\n"
	}
	book, err := answers.ReadCodebook(questionnairetest.File(t, "dictionary.csv", content), missing)
	if err != nil {
		t.Fatal(err)
	}
	return book
}

// Choices that mean no answer are no part of the range, and are named: a code that is far from the others and looks
// like one, a label that says so at an end, and a label that says so with a word for a code.
func TestScaleOfChoices(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		choices, missing, want, doubtful string
		mixed                            bool
	}{
		{choices: "0, Never | 1, Often | 2, Always", want: "0 to 2"},
		{choices: "0, Never | 1, Some | 2, Often | 3, Always | 999, Unknown", want: "0 to 3", doubtful: "999"},
		{choices: "0, Never | 1, Some | 888, Not done | 999, Unknown", want: "0 to 1", doubtful: "888 999"},
		{choices: "-99, Unknown | 0, Never | 1, Some | 2, Often", want: "0 to 2", doubtful: "-99"},
		{choices: "0, No | 1, Yes | -9, Blank | -8, Skip pattern", want: "0 to 1", doubtful: "-9 -8"},
		{choices: "1, No | 2, Yes | 7, Don't know | 9, Refused", want: "1 to 2", doubtful: "9 7"},
		{choices: "0, No | 1, Yes | 77, Don’t know/Refused | 99, NA", missing: "99", want: "0 to 1", doubtful: "77"},
		{choices: "0, Never | 1, Some | 2, Often | 3, Unknown", want: "0 to 2", doubtful: "3"},
		{choices: "0, None | 1, Some | 2, All | 998, No data | 9999, x", want: "0 to 2", doubtful: "9999 998"},
		{choices: "0, Never | 1, Some | UNK, Unknown", want: "0 to 1", doubtful: "UNK"},
		{choices: "0, Never | 1, Some | UNK, Unknown", missing: "UNK", want: "0 to 1"},
		{choices: "1, Prefer not to answer | 2, Never | 3, Often", want: "2 to 3", doubtful: "1"},
		{choices: "0, No | 1, Yes | 2, N/A", want: "0 to 1", doubtful: "2"},
		{choices: "0, No | 1, Yes | 2, Not applicable.", want: "0 to 1", doubtful: "2"},
		// answers
		{choices: "0, no | 1, 1 | 2, 2 | 3, 3 | 4, 4 | 5, 5 | 6, 6 | 7, 7 | 8, 8 | 9, 9 | 10, most", want: "0 to 10"},
		{choices: "1, Disagree | 2, Don't know | 3, Agree", want: "1 to 3"},
		{choices: "0, Not done | 1, Partly done | 2, Done", want: "0 to 2"},
		{choices: "0, Never | 1, Once | 3, Nearly every day", want: "0 to 3"},
		{choices: "-2, Worse | -1, A bit worse | 0, Same | 1, Better | 2, Much better", want: "-2 to 2"},
		{choices: "0, 0 | 25, 25 | 50, 50 | 75, 75 | 100, 100", want: "0 to 100"},
		{choices: "0, None | 10, Mild | 100, Severe", want: "0 to 100"},
		{choices: "1, Unknown to me | 2, Known to me", want: "1 to 2"},
		{choices: "0 | 1 | 2", want: "0 to 2"},
		// signs within labels
		{choices: "0, Never | 1, Some |or| few | 2, Often", want: "0 to 2"},
		{choices: "0, Never | 1, Some | a few, perhaps | 2, Often |", want: "0 to 2"},
		{choices: "0, Never | 1, Some | , perhaps | 2, Often", want: "0 to 2"},
		// no scales
		{choices: "a, First | b, Second"},
		{choices: "1, Red | 2, Blue | x, Green", mixed: true},
		{choices: "1, Only | 9, Unknown", doubtful: "9"},
	} {
		var missing []string
		if c.missing != "" {
			missing = []string{c.missing}
		}
		book := dictionary(t, missing, "q1;radio;"+c.choices)
		got := ""
		for _, item := range book.Items {
			got = item.Range.String()
		}
		codes := lists.Map(book.Doubtful, func(c questionnaire.Choice) string { return c.Code })
		if doubtful := strings.Join(codes, " "); got != c.want || doubtful != c.doubtful ||
			(book.Mixed != nil) != c.mixed {
			t.Errorf("%s: range %q, doubtful %q, mixed %q; want %q, %q, %v", c.choices, got, doubtful, book.Mixed,
				c.want, c.doubtful, c.mixed)
		}
	}
}

// What a cell of an export means by the data dictionary, or why it is refused.
func TestAnswersByDictionary(t *testing.T) {
	t.Parallel()
	fields := []string{
		"record_id;text", "age;text;;0;120", "q1;radio;0, Never | 1, Some |or| few | 2, Often | 99, Unknown",
		"q2;yesno", "q3;dropdown;1, No <b>pain</b> | 2, Pain | UNK, Unknown", "sym;checkbox;1, Fever | 2, Cough",
	}
	const head = "record_id,q1,q2,q3,sym___1,sym___2,form_complete\n"
	type result struct {
		Rows              [][]float64
		Labelled, Unsaved int
		IDs               string
	}
	for _, c := range []struct {
		name, content string
		missing       []string
		want          result
		err           string
	}{
		{
			name: "codes", content: head + "a,0,1,1,0,1,2\nb,2,0,2,0,0,2\n",
			want: result{[][]float64{{0, 1, 1, 0, 1}, {2, 0, 2, 0, 0}}, 0, 0, "a b"},
		},
		{
			name: "labels", content: head + "a,Never,Yes,No pain,Unchecked,Checked,Complete\n" +
				"b,some |or|  FEW,No,Pain,Unchecked,Unchecked,Unverified\n",
			want: result{[][]float64{{0, 1, 1, 0, 1}, {1, 0, 2, 0, 0}}, 10, 0, "a b"},
		},
		{
			name: "labels of missing codes", content: head + "a,Unknown,1,1,0,1,2\nb,2,0,Unknown,0,0,2\n",
			missing: []string{"99", "UNK"},
			want:    result{[][]float64{{-1, 1, 1, 0, 1}, {2, 0, -1, 0, 0}}, 2, 0, "a b"},
		},
		{
			name: "a code that means no answer", content: head + "a,99,1,1,0,1,2\n",
			err: `line 2, column "q1": answer out of range: 0 to 2: 99 is "Unknown" in the codebook: if it means ` +
				`missing, use --missing-code 99`,
		},
		{
			name: "a label that means no answer", content: head + "a,2,1,1,0,1,2\nb,2,1,Unknown,0,1,2\n",
			err: `line 3, column "q3": not a number: UNK is "Unknown" in the codebook: if it means missing, use ` +
				`--missing-code UNK`,
		},
		{
			name: "a word", content: head + "a,2,1,maybe,0,1,2\n",
			err: `column "q3": not a number: if it means missing`,
		},
		{
			name: "boxes of a form that nobody saved", content: head + "a,0,1,1,0,0,0\nb,2,0,2,0,1,0\nc,,,,0,0,\n" +
				"d,1,1,1,0,0,1\ne,1,,,0,0,Incomplete\n",
			want: result{
				[][]float64{{0, 1, 1, -1, -1}, {2, 0, 2, 0, 1}, {1, 1, 1, 0, 0}, {1, -1, -1, -1, -1}},
				0, 2,
				"a b d e",
			},
		},
		{
			name:    "boxes without a status",
			content: strings.Replace(head, "form_complete", "x", 1) + "a,0,1,1,0,0,0\nb,2,0,2,0,1,0\n",
			want:    result{[][]float64{{0, 1, 1, 0, 0}, {2, 0, 2, 0, 1}}, 0, 0, "a b"},
		},
		{
			name: "rows of a repeated instrument without these answers",
			content: "redcap_repeat_instrument,redcap_repeat_instance," + head + ",,a,0,1,1,0,1,2\n" +
				"meds,1,a,,,,0,0,\nmeds,2,a,,,,0,0,\n,,b,2,0,2,1,0,2\nmeds,1,b,,,,,,\n",
			want: result{[][]float64{{0, 1, 1, 0, 1}, {2, 0, 2, 1, 0}}, 0, 0, "a b"},
		},
		{
			name: "events", content: "redcap_event_name," + head + "baseline_arm_1,a,0,1,1,0,1,2\n" +
				"visit_arm_1,a,1,1,1,0,1,2\n",
			err: `line 3, column "record_id": the same id as on an earlier line, 2: rows are events or repeated ` +
				`instruments of REDCap (redcap_event_name)`,
		},
		{
			name: "the same id twice", content: head + "a,0,1,1,0,1,2\na,1,1,1,0,1,2\n",
			err: "the same id as on an earlier line, 2",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			book := dictionary(t, c.missing, fields...)
			if want := []string{"record_id", "age"}; !slices.Equal(book.NoItems, want) {
				t.Errorf("no items: %q, want %q", book.NoItems, want)
			}
			read, err := answers.Read(questionnairetest.File(t, "x.csv", c.content),
				&answers.Columns{Codebook: book.Items, Missing: c.missing})
			if c.err != "" {
				if _, ok := errors.AsType[*table.Error](err); !ok || !strings.Contains(err.Error(), c.err) {
					t.Errorf("error %v, want %s", err, c.err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			got := result{rows(read), read.Labelled, read.Unsaved, strings.Join(read.IDs, " ")}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("answers differ from those wanted:\n%s", diff)
			}
			// a model reads them in the same way
			again, err := answers.ReadItems(read.File, &answers.Columns{Missing: c.missing}, read.Items)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want.Rows, rows(again)); diff != "" {
				t.Errorf("answers to the items of a model differ from those wanted:\n%s", diff)
			}
		})
	}
}

// LimeSurvey's codes count as numbers, but only where no data dictionary says what the codes are.
func TestCodesOfLimeSurvey(t *testing.T) {
	t.Parallel()
	path := questionnairetest.File(t, "x.csv", "id,G1[SQ001],G1[SQ002]\n1,A2,A4\n2,A3,\n3,A10,A1\n")
	read, err := answers.Read(path, &answers.Columns{Items: []string{"G1*"}})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([][]float64{{2, 4}, {3, -1}, {10, 1}}, rows(read)); diff != "" || read.LimeSurvey != 5 {
		t.Errorf("%d codes; answers differ from those wanted:\n%s", read.LimeSurvey, diff)
	}
	for _, cell := range []string{"A", "A-1", "a1", "A1x", "A999", "B1"} {
		path := questionnairetest.File(t, "x.csv", "id,q1,q2\n1,1,2\n2,"+cell+",1\n")
		if _, err := answers.Read(path, &answers.Columns{Items: []string{"q*"}}); !errors.Is(err,
			questionnaire.ErrNotNumber) {
			t.Errorf("%s: error %v", cell, err)
		}
	}
}
