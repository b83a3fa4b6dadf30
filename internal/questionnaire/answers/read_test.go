package answers_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// rows returns the answers, a missing one as −1.
func rows(t *answers.Table) [][]float64 {
	out := make([][]float64, len(t.IDs))
	for i := range out {
		out[i] = slices.Clone(t.Answers.RawRowView(i))
		for j, v := range out[i] {
			if math.IsNaN(v) {
				out[i][j] = -1
			}
		}
	}
	return out
}

func TestRead(t *testing.T) {
	t.Parallel()
	const plain = "id,q1,age,q2,sex,q3\na,0,7,2,F,1\nb,1,9,0,M,2\n"
	age := []questionnaire.Confound{
		{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
	}
	q := []string{"q*"}
	for _, c := range []struct {
		name, file, content string
		columns             answers.Columns
		want                [][]float64
		ids                 []string
		items               []string
		ranges              []questionnaire.Range
	}{
		{
			"commas", "x.csv", plain,
			answers.Columns{Items: q, Confounds: age},
			[][]float64{{0, 2, 1}, {1, 0, 2}},
			[]string{"a", "b"},
			[]string{"q1", "q2", "q3"},
			[]questionnaire.Range{{Low: 0, High: 1}, {Low: 0, High: 2}, {Low: 1, High: 2}},
		},
		{"tabs by name", "x.tsv", strings.ReplaceAll(plain, ",", "\t"), answers.Columns{Items: q}, [][]float64{
			{0, 2, 1}, {1, 0, 2},
		}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"tabs by header", "x.txt", strings.ReplaceAll(plain, ",",
			"\t"), answers.Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"semicolons", "x.csv", strings.ReplaceAll(plain, ",",
			";"), answers.Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"gzip, byte order mark, line ends of Windows", "x.csv.gz", "\ufeff" + strings.ReplaceAll(plain, "\n",
			"\r\n"), answers.Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"no ids", "x.csv", "q1,q2\n0,1\n1,0\n", answers.Columns{Items: q}, [][]float64{{0, 1}, {1, 0}}, []string{
			"1", "2",
		}, nil, nil},
		{"every spelling of missing", "x.csv", "id,q1,q2,q3,q4,q5,q6,q7\na,,NA,nan,.,-9999, -9999.0 " +
			",1\nb,1,1,1,1,1,1,1\n", answers.Columns{
			Items: q, Missing: []string{"-9999", "refused"},
		}, [][]float64{{-1, -1, -1, -1, -1, -1, 1}, {1, 1, 1, 1, 1, 1, 1}}, []string{"a", "b"}, nil, nil},
		{"a missing code that is a word", "x.csv", "id,q1,q2\na,refused,2\nb,1,0\n", answers.Columns{
			Items: q, Missing: []string{"refused"},
		}, [][]float64{{-1, 2}, {1, 0}}, []string{"a", "b"}, nil, nil},
		{"patterns", "x.csv", plain, answers.Columns{Items: []string{"q*", "!q2"}, ID: "id"}, [][]float64{
			{0, 1}, {1, 2},
		}, []string{"a", "b"}, []string{"q1", "q3"}, []questionnaire.Range{{Low: 0, High: 1}, {Low: 1, High: 2}}},
		{"every column but id and confounds", "x.csv", plain, answers.Columns{
			Items: []string{"*"}, Confounds: age,
		}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{
			"reversed in a given range", "x.csv", plain,
			answers.Columns{Items: q, Range: &questionnaire.Range{Low: 0, High: 4}, Reversed: []string{"q2"}},
			[][]float64{{0, 2, 1}, {1, 4, 2}},
			[]string{"a", "b"},
			nil,
			[]questionnaire.Range{{Low: 0, High: 4}, {Low: 0, High: 4}, {Low: 0, High: 4}},
		},
		{"from the low end", "x.csv", "id,q1,q2\na,1,5\nb,2,3\n", answers.Columns{
			Items: q, Range: &questionnaire.Range{Low: 1, High: 5}, FromLow: true, Reversed: []string{"q2"},
		}, [][]float64{{0, 0}, {1, 2}}, []string{"a", "b"}, nil, []questionnaire.Range{
			{Low: 1, High: 5}, {Low: 1, High: 5},
		}},
		{
			"a range below 0", "x.csv", "id,q1,q2\na,-1,1\nb,0,-1\n",
			answers.Columns{Items: q, FromLow: true},
			[][]float64{{0, 2}, {1, 0}},
			[]string{"a", "b"},
			nil,
			[]questionnaire.Range{{Low: -1, High: 0}, {Low: -1, High: 1}},
		},
		{"codebook", "x.csv", plain, answers.Columns{Codebook: []questionnaire.Item{
			{Name: "q3", Range: &questionnaire.Range{Low: 0, High: 3}, Reversed: true}, {Name: "q1"},
		}}, [][]float64{{0, 2}, {1, 1}}, []string{"a", "b"}, []string{"q1", "q3"}, []questionnaire.Range{
			{Low: 0, High: 1}, {Low: 0, High: 3},
		}},
		{"names of the codebook are no patterns", "x.csv", "id,q*,q1,q?\na,0,9,1\nb,1,9,2\n", answers.Columns{
			Codebook: []questionnaire.Item{{Name: "q*"}, {Name: "q?"}},
		}, [][]float64{{0, 1}, {1, 2}}, []string{"a", "b"}, []string{"q*", "q?"}, nil},
		{
			"a name of the codebook that begins with an exclamation mark", "x.csv", "id,!q,q\na,0,9\nb,1,9\n",
			answers.Columns{Codebook: []questionnaire.Item{{Name: "!q"}}},
			[][]float64{{0}, {1}},
			[]string{"a", "b"},
			[]string{"!q"},
			nil,
		},
		{"a codebook of all columns", "x.csv", plain, answers.Columns{
			Codebook: []questionnaire.Item{
				{Name: "id"}, {Name: "q1"}, {Name: "age"}, {Name: "q2"}, {Name: "sex"}, {Name: "q3"},
			}, Confounds: age[:1], Labels: []questionnaire.Label{{Name: "sex", Positive: "F"}},
		}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"a label that is an item of the codebook", "x.csv", plain, answers.Columns{
			Codebook: []questionnaire.Item{{Name: "q1"}, {Name: "q2"}, {Name: "q3"}},
			Labels:   []questionnaire.Label{{Name: "q2", Positive: "2"}},
		}, [][]float64{{0, 1}, {1, 2}}, []string{"a", "b"}, []string{"q1", "q3"}, nil},
		{"out of what is no item anyway", "x.csv", plain, answers.Columns{
			Items: []string{"*", "!sex*", "!id"}, Confounds: age,
		}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"a codebook's item without a column", "x.csv", plain, answers.Columns{
			Items:    []string{"!drugs*", "!q2"},
			Codebook: []questionnaire.Item{{Name: "drugs___1"}, {Name: "q1"}, {Name: "q2"}},
		}, [][]float64{{0}, {1}}, []string{"a", "b"}, []string{"q1"}, nil},
		{"out of the codebook", "x.csv", plain, answers.Columns{
			Items: []string{"!q2"}, Codebook: []questionnaire.Item{{Name: "q1"}, {Name: "q2"}},
		}, [][]float64{{0}, {1}}, []string{"a", "b"}, []string{"q1"}, nil},
		{"ids in capitals", "x.csv", strings.Replace(plain, "id,", "ID,", 1), answers.Columns{
			Items: []string{"*"}, Confounds: age,
		}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"ids before those in capitals", "x.csv", "ID,id,q1\n7,a,0\n8,b," +
			"1\n", answers.Columns{Items: q}, [][]float64{{0}, {1}}, []string{"a", "b"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if strings.HasSuffix(c.file, ".gz") {
				c.content = zipped(t, c.content)
			}
			read, err := answers.Read(questionnairetest.File(t, c.file, c.content), &c.columns)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, rows(read)); diff != "" {
				t.Errorf("answers differ from those wanted:\n%s", diff)
			}
			if diff := cmp.Diff(c.ids, read.IDs); diff != "" {
				t.Errorf("ids differ from those wanted:\n%s", diff)
			}
			if names := questionnaire.Names(read.Items); c.items != nil && !slices.Equal(names, c.items) {
				t.Errorf("items %q, want %q", names, c.items)
			}
			for j, want := range c.ranges {
				if got := *read.Items[j].Range; got != want {
					t.Errorf("range of item %d is %v, want %v", j, got, want)
				}
			}
		})
	}
}

// Participants without answers are left out, and their lines are reported, even if their confounds are known.
func TestReadLeavesOutWhoAnsweredNothing(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv", "id,q1,q2,age\na,1,0,7\nb,NA,,8\nc,0,1,9\nd,,,\n"),
		&answers.Columns{
			Items: []string{"q*"}, Confounds: []questionnaire.Confound{{Name: "age", Kind: questionnaire.Numeric}},
		})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.IDs, []string{"a", "c"}) || !slices.Equal(read.Unanswered, []int{3, 5}) ||
		!slices.Equal(read.Lines, []int{2, 4}) {
		t.Errorf("ids %q on lines %v, without answers on lines %v", read.IDs, read.Lines, read.Unanswered)
	}
	age, err := read.Learn([]questionnaire.Confound{{Name: "age", Kind: questionnaire.Numeric}})
	if want := (questionnaire.Range{Low: 7, High: 9}); err != nil || *age[0].Range != want {
		t.Errorf("ages %v: %v, want 7 and 9", age[0].Range, err)
	}
}

// Participants without a confound are left out where that is asked for.
func TestReadOmitsIncomplete(t *testing.T) {
	t.Parallel()
	read, err := answers.Read(questionnairetest.File(t, "x.csv",
		"id,q1,q2,age,sex\na,1,0,7,F\nb,1,,NA,F\nc,0,1,9,\nd,,,,F\ne,0,0,8,M\n"), &answers.Columns{
		Items: []string{"q*"}, OmitIncomplete: true, Confounds: []questionnaire.Confound{
			{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(read.IDs, []string{"a", "e"}) || !slices.Equal(read.Unanswered, []int{5}) ||
		!slices.Equal(read.Incomplete, []int{3, 4}) {
		t.Errorf("ids %q, without answers %v, without confound %v", read.IDs, read.Unanswered, read.Incomplete)
	}
	confounds, err := read.Learn([]questionnaire.Confound{
		{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
	})
	if err != nil {
		t.Fatal(err)
	}
	c, _, err := read.Encode(confounds)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{1, 0, 1, 0, 1, 0, 1, 0, 1, 1}, c.RawMatrix().Data); diff != "" {
		t.Errorf("C differs from that wanted:\n%s", diff)
	}
}

// utf16Text returns ASCII as UTF-16 of little ends, after a mark.
func utf16Text(s, mark string) string {
	for _, c := range []byte(s) {
		mark += string([]byte{c, 0})
	}
	return mark
}

// items returns the names of so many items, each behind a comma.
func items(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, ",q%d", i)
	}
	return b.String()
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const head = "id,q1,q2,age,sex\n"
	columns := answers.Columns{
		Items: []string{"q*"}, Range: &questionnaire.Range{Low: 0, High: 2}, Confounds: []questionnaire.Confound{
			{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
		},
	}
	for _, c := range []struct {
		name, content string
		columns       answers.Columns
		line          int
		column        string
		err           error
	}{
		{"no file content", "", columns, 0, "", table.ErrNoRows},
		{"header alone", head, columns, 0, "", table.ErrNoRows},
		{"above the range", head + "secret,3,0,7,F\n", columns, 2, "q1", questionnaire.ErrOutOfRange},
		{"below the range", head + "a,0,0,7,F\nsecret,0,-1,7,F\n", columns, 3, "q2", questionnaire.ErrOutOfRange},
		{"a word", head + "secret,0,often,7,F\n", columns, 2, "q2", questionnaire.ErrNotNumber},
		{"digits with an underscore", head + "secret,0,1_0,7,F\n", columns, 2, "q2", questionnaire.ErrNotNumber},
		{"hexadecimal", head + "secret,0,0x1p0,7,F\n", columns, 2, "q2", questionnaire.ErrNotNumber},
		{"a confound with an underscore", head + "secret,0,1,1_0,F\n", columns, 2, "age", questionnaire.ErrNotNumber},
		{"UTF-16", utf16Text(head+"secret,0,0,7,F\n", "\xff\xfe"), columns, 1, "", table.ErrUTF16},
		{"UTF-16 of big ends", "\xfe\xff\x00i\x00d\x00\n", columns, 1, "", table.ErrUTF16},
		{"UTF-16 without a mark", utf16Text(head+"secret,0,0,7,F\n", ""), columns, 1, "", table.ErrBinary},
		{"a file of a spreadsheet", "PK\x03\x04\x14\x00\x00\x00", columns, 1, "", table.ErrBinary},
		{"infinite", head + "secret,0,Inf,7,F\n", columns, 2, "q2", questionnaire.ErrNotFinite},
		{"beyond float64", head + "secret,0,1e999,7,F\n", columns, 2, "q2", questionnaire.ErrNotFinite},
		{
			"thousands of items", "id,q" + items(4096) + "\n1" + strings.Repeat(",1", 4097) + "\n",
			answers.Columns{Items: []string{"q*"}},
			1, "", questionnaire.ErrManyItems,
		},
		{"short row", head + "a,0,0,7,F\n\nsecret,0,0\n", columns, 4, "", nil},
		{"confound missing", head + "secret,0,0,NA,F\n", columns, 2, "age", questionnaire.ErrNoConfound},
		{"confound a word", head + "secret,0,0,old,F\n", columns, 2, "age", questionnaire.ErrNotNumber},
		{"category missing", head + "secret,0,0,7,\n", columns, 2, "sex", questionnaire.ErrNoConfound},
		{"no id", head + ",0,0,7,F\n", columns, 2, "id", questionnaire.ErrNoID},
		{
			"the same id", head + "secret,0,0,7,F\nb,0,0,7,F\nsecret,0,1,7,F\n", columns, 4, "id",
			questionnaire.ErrSameID,
		},
		{"nobody answered", head + "secret,,,7,F\n", columns, 2, "", questionnaire.ErrNoAnswers},
		{"no confound column", "id,q1,q2,sex\nsecret,0,0,F\n", columns, 1, "age", table.ErrNoColumn},
		{
			"no id column", "q1,q2\n0,0\n",
			answers.Columns{Items: []string{"q*"}, ID: "person"},
			1, "person", table.ErrNoColumn,
		},
		{"a column without a role " +
			"twice", "id,q1,x,x\nsecret,0,0,0\n", answers.Columns{Items: []string{"q*"}}, 1, "x", table.ErrColumnTwice},
		{
			"an item twice", "id,q1,q1\nsecret,0,0\n",
			answers.Columns{Items: []string{"q*"}},
			1, "q1", table.ErrColumnTwice,
		},
		{"a pattern of nothing", head +
			"secret,0,0,7,F\n", answers.Columns{Items: []string{"q*", "x*"}}, 1, "", questionnaire.ErrNoItem},
		{"nothing to take out", head +
			"secret,0,0,7,F\n", answers.Columns{Items: []string{"q*", "!x*"}}, 1, "", questionnaire.ErrNoItem},
		{"no items", head + "secret,0,0,7,F\n", answers.Columns{}, 1, "", questionnaire.ErrNoItem},
		{"a confound that is the id", head + "secret,0,0,7,F\n", answers.Columns{
			Items: []string{"q*"}, Confounds: []questionnaire.Confound{{Name: "id", Kind: questionnaire.Categorical}},
		}, 1, "id", questionnaire.ErrTwoRoles},
		{
			"an item of the codebook that is not there", head + "secret,0,0,7,F\n",
			answers.Columns{Codebook: []questionnaire.Item{{Name: "q1"}, {Name: "x1"}}},
			1, "x1", table.ErrNoColumn,
		},
		{"nothing to take out of", head +
			"secret,0,0,7,F\n", answers.Columns{Items: []string{"!q1"}}, 1, "", questionnaire.ErrNoItem},
		{
			"ids in two spellings", "Id,ID,q1\n1,2,0\n",
			answers.Columns{Items: []string{"q*"}},
			1, "ID", table.ErrColumnTwice,
		},
		{
			"below 0", head + "a,0,-1,7,F\nsecret,-9,0,7,F\nb,1,-9,7,F\n",
			answers.Columns{Items: []string{"q*"}},
			3, "q1", questionnaire.ErrBelow,
		},
		{
			"a range below 0", head + "secret,0,0,7,F\n",
			answers.Columns{Items: []string{"q*"}, Range: &questionnaire.Range{Low: -1, High: 1}},
			0, "q1", questionnaire.ErrNegative,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := questionnairetest.File(t, "x.csv", c.content)
			_, err := answers.Read(path, &c.columns)
			at, ok := errors.AsType[*table.Error](err)
			if !ok || at.File != path || at.Line != c.line || at.Column != c.column ||
				c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("error %v; want line %d, column %q: %v", err, c.line, c.column, c.err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%v quotes an id", err)
			}
			if (errors.Is(err, questionnaire.ErrOutOfRange) || errors.Is(err, questionnaire.ErrNotNumber)) &&
				!strings.Contains(err.Error(), "--missing-code") {
				t.Errorf("%v does not say what to do with a code of missing entries", err)
			}
		})
	}
}

func TestCheckTraining(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, content, column string
		err                   error
	}{
		{"one participant", "id,q1,q2\na,0,1\n", "", questionnaire.ErrOneParticipant},
		{"constant", "id,q1,q2\na,0,1\nb,1,1\nc,1,\n", "q2", questionnaire.ErrConstant},
		{"never answered", "id,q1,q2\na,0,\nb,1,NA\n", "q2", questionnaire.ErrNeverAnswered},
		{"as it should be", "id,q1,q2\na,0,1\nb,1,0\n", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			read, err := answers.Read(questionnairetest.File(t, "x.csv", c.content),
				&answers.Columns{Items: []string{"q*"}})
			if err != nil {
				t.Fatal(err)
			}
			err = read.CheckTraining()
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if at, ok := errors.AsType[*table.Error](err); ok && at.Column != c.column {
				t.Errorf("column %q, want %q", at.Column, c.column)
			}
		})
	}
}

func TestReadCodebook(t *testing.T) {
	t.Parallel()
	book, err := answers.ReadCodebook(questionnairetest.File(t, "book.tsv",
		"Item\tReverse\ttext\tsubscale\tmin\tmax\tnote\nA1\tyes\tAm indifferent.\tAgreeableness\t1\t6\tx\n"+
			"A2\t\tInquire.\tAgreeableness\t\t\t\nNA\tNA\t.\tna\tNA\tNaN\t\n"), nil)
	if err != nil || !slices.Equal(book.Ignored, []string{"note"}) {
		t.Fatalf("%+v: %v", book, err)
	}
	want := []questionnaire.Item{
		{
			Name: "A1", Text: "Am indifferent.", Subscale: "Agreeableness",
			Range: &questionnaire.Range{Low: 1, High: 6}, Reversed: true,
		}, {Name: "A2", Text: "Inquire.", Subscale: "Agreeableness"}, {Name: "NA"},
	}
	if diff := cmp.Diff(want, book.Items); diff != "" {
		t.Errorf("items differ from those wanted:\n%s", diff)
	}
	for _, c := range []struct {
		name, content string
		line          int
		column        string
	}{
		{"no item column", "name\nA1\n", 1, "item"},
		{"no name", "item,text\nA1,x\n,y\n", 3, "item"},
		{"twice", "item\nA1\nA1\n", 3, "item"},
		{"half a range", "item,min,max\nA1,1,\n", 2, "min"},
		{"a range upside down", "item,min,max\nA1,5,1\n", 2, "min"},
		{"reverse", "item,reverse\nA1,maybe\n", 2, "reverse"},
		{"a key of 1 and −1", "item,reverse\nA1,-1\n", 2, "reverse"},
		{"reversed", "item,Reversed\nA1,1\n", 1, "Reversed"},
		{"the beginning of reverse", "item,rev\nA1,1\n", 1, "rev"},
		{"maximum", "item,min,maximum\nA1,0,4\n", 1, "maximum"},
		{"short row", "item,text\nA1\n", 2, ""},
		{"empty", "", 0, ""},
		{"a header alone", "item,text\n", 0, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := answers.ReadCodebook(questionnairetest.File(t, "book.csv", c.content), nil)
			if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != c.line ||
				at.Column != c.column || at.File == "" {
				t.Errorf("error %v; want line %d, column %q", err, c.line, c.column)
			} else if c.name == "no item column" &&
				!strings.Contains(err.Error(), "text, subscale, min, max and reverse") {
				t.Errorf("error %v does not say what columns a codebook has", err)
			} else if strings.Contains(err.Error(), "EOF") {
				t.Errorf("error %v", err)
			}
		})
	}
}

// The mirrored pair, the indicators and the intercept, for training and for those who come later.
func TestConfounds(t *testing.T) {
	t.Parallel()
	columns := answers.Columns{Items: []string{"q"}, Confounds: []questionnaire.Confound{
		{Name: "sex", Kind: questionnaire.Categorical}, {Name: "age", Kind: questionnaire.Numeric},
	}}
	train, err := answers.Read(questionnairetest.File(t, "x.csv", "q,sex,age\n1,M,10\n0,F,20\n1,F,15\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	learnt, err := train.Learn(columns.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sex_F", "sex_M", "age_low", "age_high", "intercept"},
		questionnaire.Columns(learnt)); diff != "" {
		t.Errorf("columns differ from those wanted:\n%s", diff)
	}
	c, beyond, err := train.Encode(learnt)
	if err != nil || len(beyond) > 0 {
		t.Fatalf("encoding: %v, beyond %v", err, beyond)
	}
	if diff := cmp.Diff([]float64{0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0.5, 0.5, 1}, c.RawMatrix().Data); diff != "" {
		t.Errorf("C differs from that wanted:\n%s", diff)
	}
	later, err := answers.Read(questionnairetest.File(t, "y.csv", "q,sex,age\n1,M,12.5\n0,F,30\n1,F,5\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	c, beyond, err = later.Encode(learnt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0, 1, 0.75, 0.25, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1}, c.RawMatrix().Data); diff != "" {
		t.Errorf("C of the later ones differs from that wanted:\n%s", diff)
	}
	if diff := cmp.Diff([]answers.Beyond{{Confound: "age", Participants: 2, Line: 3}}, beyond); diff != "" {
		t.Errorf("what was cut differs from that wanted:\n%s", diff)
	}
	other, err := answers.Read(questionnairetest.File(t, "z.csv", "q,sex,age\n1,M,12.5\n0,X,15\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := errors.AsType[*table.Error](second(other.Encode(learnt))); !ok || at.Line != 3 || at.Column != "sex" ||
		!errors.Is(at, questionnaire.ErrNewLevel) {
		t.Errorf("a new level: %v", at)
	}
	known := []questionnaire.Confound{
		{Name: "sex", Kind: questionnaire.Categorical},
		{Name: "age", Kind: questionnaire.Numeric, Range: &questionnaire.Range{Low: 0, High: 18}},
	}
	_, err = train.Learn(known)
	if at, ok := errors.AsType[*table.Error](err); !ok || at.Line != 3 || at.Column != "age" ||
		!errors.Is(at, questionnaire.ErrConfoundRange) {
		t.Errorf("outside a known range: %v", err)
	}
	for _, confound := range columns.Confounds {
		columns := answers.Columns{Items: []string{"q"}, Confounds: []questionnaire.Confound{confound}}
		same, err := answers.Read(questionnairetest.File(t, "s.csv", "q,sex,age\n1,M,12\n0,M,12\n"), &columns)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := same.Learn(columns.Confounds); !errors.Is(err, questionnaire.ErrOneLevel) {
			t.Errorf("one value of %s: %v", confound.Name, err)
		}
	}
}

func second[A, B any](_ A, _ B, err error) error { return err }
