package questionnaire

import (
	"bytes"
	"compress/gzip"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/models"
)

// write puts a file into a folder of the test's own.
func write(t *testing.T, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	data := []byte(content)
	if strings.HasSuffix(name, ".gz") {
		var b bytes.Buffer
		z := gzip.NewWriter(&b)
		if _, err := z.Write(data); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		data = b.Bytes()
	}
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// rows returns the answers, a missing one as −1.
func rows(t *Table) [][]float64 {
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
	age := []Confound{{Name: "age", Kind: models.Numeric}, {Name: "sex", Kind: models.Categorical}}
	q := []string{"q*"}
	for _, c := range []struct {
		name, file, content string
		columns             Columns
		want                [][]float64
		ids                 []string
		items               []string
		ranges              []Range
	}{
		{"commas", "x.csv", plain, Columns{Items: q, Confounds: age}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, []Range{{0, 2}, {0, 2}, {0, 2}}},
		{"tabs by name", "x.tsv", strings.ReplaceAll(plain, ",", "\t"), Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"tabs by header", "x.txt", strings.ReplaceAll(plain, ",", "\t"), Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"semicolons", "x.csv", strings.ReplaceAll(plain, ",", ";"), Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"gzip, byte order mark, line ends of Windows", "x.csv.gz", "\ufeff" + strings.ReplaceAll(plain, "\n", "\r\n"), Columns{Items: q}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"no ids", "x.csv", "q1,q2\n0,1\n1,0\n", Columns{Items: q}, [][]float64{{0, 1}, {1, 0}}, []string{"1", "2"}, nil, nil},
		{"every spelling of missing", "x.csv", "id,q1,q2,q3,q4,q5,q6,q7\na,,NA,nan,.,-9999, -9999.0 ,1\nb,1,1,1,1,1,1,1\n", Columns{Items: q, Missing: []string{"-9999", "refused"}}, [][]float64{{-1, -1, -1, -1, -1, -1, 1}, {1, 1, 1, 1, 1, 1, 1}}, []string{"a", "b"}, nil, nil},
		{"a missing code that is a word", "x.csv", "id,q1,q2\na,refused,2\nb,1,0\n", Columns{Items: q, Missing: []string{"refused"}}, [][]float64{{-1, 2}, {1, 0}}, []string{"a", "b"}, nil, nil},
		{"patterns", "x.csv", plain, Columns{Items: []string{"q*", "!q2"}, ID: "id"}, [][]float64{{0, 1}, {1, 2}}, []string{"a", "b"}, []string{"q1", "q3"}, []Range{{0, 2}, {0, 2}}},
		{"every column but id and confounds", "x.csv", plain, Columns{Items: []string{"*"}, Confounds: age}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, nil, nil},
		{"reversed in a given range", "x.csv", plain, Columns{Items: q, Range: &Range{0, 4}, Reversed: []string{"q2"}}, [][]float64{{0, 2, 1}, {1, 4, 2}}, []string{"a", "b"}, nil, []Range{{0, 4}, {0, 4}, {0, 4}}},
		{"from the low end", "x.csv", "id,q1,q2\na,1,5\nb,2,3\n", Columns{Items: q, Range: &Range{1, 5}, FromLow: true, Reversed: []string{"q2"}}, [][]float64{{0, 0}, {1, 2}}, []string{"a", "b"}, nil, []Range{{1, 5}, {1, 5}}},
		{"a range below 0", "x.csv", "id,q1,q2\na,-1,1\nb,0,-1\n", Columns{Items: q, FromLow: true}, [][]float64{{0, 2}, {1, 0}}, []string{"a", "b"}, nil, []Range{{-1, 1}, {-1, 1}}},
		{"codebook", "x.csv", plain, Columns{Codebook: []Item{{Name: "q3", Range: &Range{0, 3}, Reversed: true}, {Name: "q1"}}}, [][]float64{{0, 2}, {1, 1}}, []string{"a", "b"}, []string{"q1", "q3"}, []Range{{0, 1}, {0, 3}}},
		{"names of the codebook are no patterns", "x.csv", "id,q*,q1,q?\na,0,9,1\nb,1,9,2\n", Columns{Codebook: []Item{{Name: "q*"}, {Name: "q?"}}}, [][]float64{{0, 1}, {1, 2}}, []string{"a", "b"}, []string{"q*", "q?"}, nil},
		{"a name of the codebook that begins with an exclamation mark", "x.csv", "id,!q,q\na,0,9\nb,1,9\n", Columns{Codebook: []Item{{Name: "!q"}}}, [][]float64{{0}, {1}}, []string{"a", "b"}, []string{"!q"}, nil},
		{"a codebook of all columns", "x.csv", plain, Columns{Codebook: []Item{{Name: "id"}, {Name: "q1"}, {Name: "age"}, {Name: "q2"}, {Name: "sex"}, {Name: "q3"}}, Confounds: age[:1], Labels: []Label{{"sex", "F"}}}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"a label that is an item of the codebook", "x.csv", plain, Columns{Codebook: []Item{{Name: "q1"}, {Name: "q2"}, {Name: "q3"}}, Labels: []Label{{"q2", "2"}}}, [][]float64{{0, 1}, {1, 2}}, []string{"a", "b"}, []string{"q1", "q3"}, nil},
		{"out of what is no item anyway", "x.csv", plain, Columns{Items: []string{"*", "!sex*", "!id"}, Confounds: age}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"out of the codebook", "x.csv", plain, Columns{Items: []string{"!q2"}, Codebook: []Item{{Name: "q1"}, {Name: "q2"}}}, [][]float64{{0}, {1}}, []string{"a", "b"}, []string{"q1"}, nil},
		{"ids in capitals", "x.csv", strings.Replace(plain, "id,", "ID,", 1), Columns{Items: []string{"*"}, Confounds: age}, [][]float64{{0, 2, 1}, {1, 0, 2}}, []string{"a", "b"}, []string{"q1", "q2", "q3"}, nil},
		{"ids before those in capitals", "x.csv", "ID,id,q1\n7,a,0\n8,b,1\n", Columns{Items: q}, [][]float64{{0}, {1}}, []string{"a", "b"}, nil, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			table, err := Read(write(t, c.file, c.content), &c.columns)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, rows(table)); diff != "" {
				t.Errorf("answers differ from those wanted:\n%s", diff)
			}
			if diff := cmp.Diff(c.ids, table.IDs); diff != "" {
				t.Errorf("ids differ from those wanted:\n%s", diff)
			}
			if names := namesOf(table.Items); c.items != nil && !slices.Equal(names, c.items) {
				t.Errorf("items %q, want %q", names, c.items)
			}
			for j, want := range c.ranges {
				if got := *table.Items[j].Range; got != want {
					t.Errorf("range of item %d is %v, want %v", j, got, want)
				}
			}
		})
	}
}

// Participants without answers are left out, and their lines are told, whatever is known of them besides.
func TestReadLeavesOutWhoAnsweredNothing(t *testing.T) {
	t.Parallel()
	table, err := Read(write(t, "x.csv", "id,q1,q2,age\na,1,0,7\nb,NA,,8\nc,0,1,9\nd,,,\n"), &Columns{Items: []string{"q*"}, Confounds: []Confound{{Name: "age", Kind: models.Numeric}}})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.IDs, []string{"a", "c"}) || !slices.Equal(table.Unanswered, []int{3, 5}) || !slices.Equal(table.Lines, []int{2, 4}) {
		t.Errorf("ids %q on lines %v, without answers on lines %v", table.IDs, table.Lines, table.Unanswered)
	}
	if got := table.confounds[0].numbers; !slices.Equal(got, []float64{7, 9}) {
		t.Errorf("ages %v, want 7 and 9", got)
	}
}

// Participants without a confound are left out where that is asked for.
func TestReadOmitsIncomplete(t *testing.T) {
	t.Parallel()
	table, err := Read(write(t, "x.csv", "id,q1,q2,age,sex\na,1,0,7,F\nb,1,,NA,F\nc,0,1,9,\nd,,,,F\ne,0,0,8,M\n"), &Columns{
		Items: []string{"q*"}, OmitIncomplete: true, Confounds: []Confound{{Name: "age", Kind: models.Numeric}, {Name: "sex", Kind: models.Categorical}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.IDs, []string{"a", "e"}) || !slices.Equal(table.Unanswered, []int{5}) || !slices.Equal(table.Incomplete, []int{3, 4}) {
		t.Errorf("ids %q, without answers %v, without confound %v", table.IDs, table.Unanswered, table.Incomplete)
	}
	if diff := cmp.Diff([]values{{numbers: []float64{7, 8}}, {levels: []string{"F", "M"}}}, table.confounds, cmp.AllowUnexported(values{})); diff != "" {
		t.Errorf("confounds differ from those wanted:\n%s", diff)
	}
}

// utf16Text returns ASCII as UTF-16 of little ends, after a mark.
func utf16Text(s, mark string) string {
	for _, c := range []byte(s) {
		mark += string([]byte{c, 0})
	}
	return mark
}

func TestReadRefuses(t *testing.T) {
	t.Parallel()
	const head = "id,q1,q2,age,sex\n"
	columns := Columns{Items: []string{"q*"}, Range: &Range{0, 2}, Confounds: []Confound{{Name: "age", Kind: models.Numeric}, {Name: "sex", Kind: models.Categorical}}}
	for _, c := range []struct {
		name, content string
		columns       Columns
		line          int
		column        string
		err           error
	}{
		{"no file content", "", columns, 0, "", ErrNoParticipants},
		{"header alone", head, columns, 0, "", ErrNoParticipants},
		{"above the range", head + "secret,3,0,7,F\n", columns, 2, "q1", ErrOutOfRange},
		{"below the range", head + "a,0,0,7,F\nsecret,0,-1,7,F\n", columns, 3, "q2", ErrOutOfRange},
		{"a word", head + "secret,0,often,7,F\n", columns, 2, "q2", ErrNotNumber},
		{"digits with an underscore", head + "secret,0,1_0,7,F\n", columns, 2, "q2", ErrNotNumber},
		{"hexadecimal", head + "secret,0,0x1p0,7,F\n", columns, 2, "q2", ErrNotNumber},
		{"a confound with an underscore", head + "secret,0,1,1_0,F\n", columns, 2, "age", ErrNotNumber},
		{"UTF-16", utf16Text(head+"secret,0,0,7,F\n", "\xff\xfe"), columns, 1, "", ErrEncoding},
		{"UTF-16 of big ends", "\xfe\xff\x00i\x00d\x00\n", columns, 1, "", ErrEncoding},
		{"UTF-16 without a mark", utf16Text(head+"secret,0,0,7,F\n", ""), columns, 1, "", ErrEncoding},
		{"a file of a spreadsheet", "PK\x03\x04\x14\x00\x00\x00", columns, 1, "", ErrEncoding},
		{"infinite", head + "secret,0,Inf,7,F\n", columns, 2, "q2", ErrNotFinite},
		{"beyond float64", head + "secret,0,1e999,7,F\n", columns, 2, "q2", ErrNotNumber},
		{"short row", head + "a,0,0,7,F\n\nsecret,0,0\n", columns, 4, "", nil},
		{"confound missing", head + "secret,0,0,NA,F\n", columns, 2, "age", ErrNoConfound},
		{"confound a word", head + "secret,0,0,old,F\n", columns, 2, "age", ErrNotNumber},
		{"category missing", head + "secret,0,0,7,\n", columns, 2, "sex", ErrNoConfound},
		{"no id", head + ",0,0,7,F\n", columns, 2, "id", ErrNoID},
		{"the same id", head + "secret,0,0,7,F\nb,0,0,7,F\nsecret,0,1,7,F\n", columns, 4, "id", ErrSameID},
		{"nobody answered", head + "secret,,,7,F\n", columns, 2, "", ErrNoAnswers},
		{"no confound column", "id,q1,q2,sex\nsecret,0,0,F\n", columns, 1, "age", ErrNoColumn},
		{"no id column", "q1,q2\n0,0\n", Columns{Items: []string{"q*"}, ID: "person"}, 1, "person", ErrNoColumn},
		{"an item twice", "id,q1,q1\nsecret,0,0\n", Columns{Items: []string{"q*"}}, 1, "q1", ErrColumnTwice},
		{"a pattern of nothing", head + "secret,0,0,7,F\n", Columns{Items: []string{"q*", "x*"}}, 1, "", ErrNoItem},
		{"nothing to take out", head + "secret,0,0,7,F\n", Columns{Items: []string{"q*", "!x*"}}, 1, "", ErrNoItem},
		{"no items", head + "secret,0,0,7,F\n", Columns{}, 1, "", ErrNoItem},
		{"a confound that is the id", head + "secret,0,0,7,F\n", Columns{Items: []string{"q*"}, Confounds: []Confound{{Name: "id", Kind: models.Categorical}}}, 1, "id", ErrTwoRoles},
		{"an item of the codebook that is not there", head + "secret,0,0,7,F\n", Columns{Codebook: []Item{{Name: "q1"}, {Name: "x1"}}}, 1, "x1", ErrNoColumn},
		{"nothing to take out of", head + "secret,0,0,7,F\n", Columns{Items: []string{"!q1"}}, 1, "", ErrNoItem},
		{"ids in two spellings", "Id,ID,q1\n1,2,0\n", Columns{Items: []string{"q*"}}, 1, "ID", ErrColumnTwice},
		{"below 0", head + "a,0,-1,7,F\nsecret,-9,0,7,F\nb,1,-9,7,F\n", Columns{Items: []string{"q*"}}, 3, "q1", ErrBelow},
		{"a range below 0", head + "secret,0,0,7,F\n", Columns{Items: []string{"q*"}, Range: &Range{-1, 1}}, 0, "q1", ErrNegative},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "x.csv", c.content)
			_, err := Read(path, &c.columns)
			at, ok := errors.AsType[*Error](err)
			if !ok || at.File != path || at.Line != c.line || at.Column != c.column || c.err != nil && !errors.Is(err, c.err) {
				t.Fatalf("error %v; want line %d, column %q: %v", err, c.line, c.column, c.err)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("%v quotes an id", err)
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
		{"one participant", "id,q1,q2\na,0,1\n", "", ErrOneParticipant},
		{"constant", "id,q1,q2\na,0,1\nb,1,1\nc,1,\n", "q2", ErrConstant},
		{"never answered", "id,q1,q2\na,0,\nb,1,NA\n", "q2", ErrNeverAnswered},
		{"as it should be", "id,q1,q2\na,0,1\nb,1,0\n", "", nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			table, err := Read(write(t, "x.csv", c.content), &Columns{Items: []string{"q*"}})
			if err != nil {
				t.Fatal(err)
			}
			err = table.checkTraining()
			if !errors.Is(err, c.err) {
				t.Fatalf("error %v, want %v", err, c.err)
			}
			if at, ok := errors.AsType[*Error](err); ok && at.Column != c.column {
				t.Errorf("column %q, want %q", at.Column, c.column)
			}
		})
	}
}

func TestReadCodebook(t *testing.T) {
	t.Parallel()
	items, ignored, err := ReadCodebook(write(t, "book.tsv", "Item\tReverse\ttext\tsubscale\tmin\tmax\tnote\nA1\tyes\tAm indifferent.\tAgreeableness\t1\t6\tx\nA2\t\tInquire.\tAgreeableness\t\t\t\nNA\tNA\t.\tna\tNA\tNaN\t\n"))
	if err != nil || !slices.Equal(ignored, []string{"note"}) {
		t.Fatalf("columns %q are ignored: %v", ignored, err)
	}
	want := []Item{{"A1", "Am indifferent.", "Agreeableness", &Range{1, 6}, true}, {"A2", "Inquire.", "Agreeableness", nil, false}, {"NA", "", "", nil, false}}
	if diff := cmp.Diff(want, items); diff != "" {
		t.Errorf("items differ from those wanted:\n%s", diff)
	}
	for _, c := range []struct {
		name, content string
		line          int
		column        string
	}{
		{"no item column", "name\nA1\n", 0, "item"},
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
			_, _, err := ReadCodebook(write(t, "book.csv", c.content))
			if at, ok := errors.AsType[*Error](err); !ok || at.Line != c.line || at.Column != c.column || at.File == "" {
				t.Errorf("error %v; want line %d, column %q", err, c.line, c.column)
			} else if strings.Contains(err.Error(), "EOF") {
				t.Errorf("error %v", err)
			}
		})
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"q*", "q1", true},
		{"q*", "q", true},
		{"q*", "aq", false},
		{"*q*", "aqb", true},
		{"q??", "q12", true},
		{"q??", "q1", false},
		{"*1*2", "a1b12", true},
		{"*1*2", "a1b1", false},
		{"", "", true},
		{"", "a", false},
		{"ä?", "äö", true},
	} {
		if got := match(c.pattern, c.name); got != c.want {
			t.Errorf("match(%q, %q) = %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	confounds, err := ParseConfounds([]string{"age:numeric:5:18", " sex : categorical"})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Confound{{Name: "age", Kind: models.Numeric, Range: &Range{5, 18}}, {Name: "sex", Kind: models.Categorical}}, confounds); diff != "" {
		t.Errorf("confounds differ from those wanted:\n%s", diff)
	}
	for _, bad := range []string{"age", "age:", "age:number", ":numeric", "age:numeric:5", "age:numeric:9:5", "sex:categorical:0:1"} {
		if _, err := ParseConfounds([]string{bad}); !errors.Is(err, ErrOptions) {
			t.Errorf("confound %q: error %v, want ErrOptions", bad, err)
		}
	}
	if _, err := ParseConfounds([]string{"age:numeric", "age:categorical"}); !errors.Is(err, ErrOptions) {
		t.Errorf("a confound twice: error %v, want ErrOptions", err)
	}
	for _, bad := range []string{"", "1", "2:1", "1:1", "a:b", "0:Inf", "NaN:1"} {
		if _, err := ParseRange(bad); !errors.Is(err, ErrOptions) {
			t.Errorf("range %q: error %v, want ErrOptions", bad, err)
		}
	}
	labels, err := ParseLabels([]string{"adhd", "sex=F"})
	if diff := cmp.Diff([]Label{{"adhd", "1"}, {"sex", "F"}}, labels); err != nil || diff != "" {
		t.Errorf("labels differ from those wanted (%v):\n%s", err, diff)
	}
	if _, err := ParseLabels([]string{"=F"}); !errors.Is(err, ErrOptions) {
		t.Errorf("a label without name: error %v, want ErrOptions", err)
	}
}

// The mirrored pair, the indicators and the intercept, for training and for those who come later.
func TestConfounds(t *testing.T) {
	t.Parallel()
	columns := Columns{Items: []string{"q"}, Confounds: []Confound{{Name: "sex", Kind: models.Categorical}, {Name: "age", Kind: models.Numeric}}}
	train, err := Read(write(t, "x.csv", "q,sex,age\n1,M,10\n0,F,20\n1,F,15\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	learnt, err := train.learn(columns.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sex_F", "sex_M", "age_low", "age_high", "intercept"}, confoundColumns(learnt)); diff != "" {
		t.Errorf("columns differ from those wanted:\n%s", diff)
	}
	c, beyond, err := train.encode(learnt)
	if err != nil || len(beyond) > 0 {
		t.Fatalf("encoding: %v, beyond %v", err, beyond)
	}
	if diff := cmp.Diff([]float64{0, 1, 1, 0, 1, 1, 0, 0, 1, 1, 1, 0, 0.5, 0.5, 1}, c.RawMatrix().Data); diff != "" {
		t.Errorf("C differs from that wanted:\n%s", diff)
	}
	later, err := Read(write(t, "y.csv", "q,sex,age\n1,M,12.5\n0,F,30\n1,F,5\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	c, beyond, err = later.encode(learnt)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]float64{0, 1, 0.75, 0.25, 1, 1, 0, 0, 1, 1, 1, 0, 1, 0, 1}, c.RawMatrix().Data); diff != "" {
		t.Errorf("C of the later ones differs from that wanted:\n%s", diff)
	}
	if diff := cmp.Diff([]Beyond{{"age", 2, 3}}, beyond); diff != "" {
		t.Errorf("what was cut differs from that wanted:\n%s", diff)
	}
	other, err := Read(write(t, "z.csv", "q,sex,age\n1,M,12.5\n0,X,15\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	if at, ok := errors.AsType[*Error](second(other.encode(learnt))); !ok || at.Line != 3 || at.Column != "sex" || !errors.Is(at, ErrNewLevel) {
		t.Errorf("a new level: %v", at)
	}
	known := []Confound{{Name: "sex", Kind: models.Categorical}, {Name: "age", Kind: models.Numeric, Range: &Range{0, 18}}}
	_, err = train.learn(known)
	if at, ok := errors.AsType[*Error](err); !ok || at.Line != 3 || at.Column != "age" || !errors.Is(at, ErrConfoundRange) {
		t.Errorf("outside a known range: %v", err)
	}
	same, err := Read(write(t, "s.csv", "q,sex,age\n1,M,12\n0,M,12\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	for _, confound := range columns.Confounds {
		at := slices.IndexFunc(columns.Confounds, func(c Confound) bool { return c.Name == confound.Name })
		one := &Table{confounds: same.confounds[at : at+1]}
		if _, err := one.learn([]Confound{confound}); !errors.Is(err, ErrOneLevel) {
			t.Errorf("one value of %s: %v", confound.Name, err)
		}
	}
}

func second[A, B any](_ A, _ B, err error) error { return err }

func FuzzRead(f *testing.F) {
	const head = "id,q1,q2,age,sex,ill\n"
	for _, s := range []string{"", head, head + "a,0,1,7,F,1\nb,2,NA,9,M,0\n", head + "a,0\n", head + "a,0,\"1\n\",7,F,1\n", head + "\"", "\ufeff" + strings.ReplaceAll(head, ",", ";") + "a;1;1;7;F;.\n", "id,id\n", head + "a,1e309,0,7,F,1\n", head + "\xff,0,0,\xff,\xff,\xff\n"} {
		f.Add(s)
	}
	columns := Columns{
		Items: []string{"q*"}, Range: &Range{0, 2}, Reversed: []string{"q2"}, Missing: []string{"-9"},
		Confounds: []Confound{{Name: "age", Kind: models.Numeric}, {Name: "sex", Kind: models.Categorical}}, Labels: []Label{{"ill", "1"}},
	}
	f.Add("\xff\xfei\x00")
	f.Fuzz(func(t *testing.T, data string) {
		records, err := newRecords(strings.NewReader(data), ".csv")
		var table *Table
		if err == nil {
			table, err = readRecords(records, "FILE", columns.layout)
		}
		if err != nil {
			at, ok := errors.AsType[*Error](err)
			if errors.Is(err, ErrEncoding) && at.Line > 0 {
				return // of any column
			}
			if !ok || at.Line < 0 || !strings.HasPrefix(at.Column, "q") && !slices.Contains([]string{"", "id", "age", "sex", "ill"}, at.Column) {
				t.Fatalf("error %v", err)
			}
			return
		}
		n := len(table.IDs)
		if r, c := table.Answers.Dims(); r != n || c != len(table.Items) || len(table.Lines) != n || len(table.confounds[0].numbers) != n || len(table.confounds[1].levels) != n || len(table.labels[0]) != n {
			t.Fatalf("%d participants in a table of %d×%d", n, r, c)
		}
		for i := range n {
			answered := false
			for _, v := range table.Answers.RawRowView(i) {
				if answered = answered || !math.IsNaN(v); !math.IsNaN(v) && (v < 0 || v > 2) {
					t.Fatalf("answer %v", v)
				}
			}
			if !answered || table.IDs[i] == "" {
				t.Fatalf("row %d without answers or id", i)
			}
		}
	})
}

// A range that is taken from the answers is told, and so are answers far from all others.
func TestInferred(t *testing.T) {
	t.Parallel()
	far := func(low, high float64, answers, line int, column string) *Apart {
		return &Apart{Range{low, high}, answers, line, column}
	}
	const usual = "id,q1,q2,q3\na,0,1,2\nb,3,4,\nc,1,2,3\n"
	for _, c := range []struct {
		name, content string
		columns       Columns
		want          *Inferred
	}{
		{"a given range", usual, Columns{Range: &Range{0, 4}}, nil},
		{"the codebook's", usual, Columns{Codebook: []Item{{Name: "q1", Range: &Range{0, 4}}, {Name: "q2", Range: &Range{0, 4}}, {Name: "q3", Range: &Range{0, 4}}}}, nil},
		{"nothing far off", usual, Columns{}, &Inferred{Range{0, 4}, 3, nil}},
		{"of one item", usual + "d,1,3,2\n", Columns{Codebook: []Item{{Name: "q1", Range: &Range{0, 4}}, {Name: "q2"}, {Name: "q3", Range: &Range{0, 4}}}}, &Inferred{Range{1, 4}, 1, nil}},
		{"one code", usual + "d,0,999,1\n", Columns{}, &Inferred{Range{0, 999}, 3, far(999, 999, 1, 5, "q2")}},
		{"several codes", usual + "d,77,1,88\ne,0,99,77\n", Columns{}, &Inferred{Range{0, 99}, 3, far(77, 99, 4, 5, "q1")}},
		{"below", usual + "d,1,-9,1\n", Columns{FromLow: true}, &Inferred{Range{-9, 4}, 3, far(-9, -9, 1, 5, "q2")}},
		{"nine for one to five", "id,q1,q2\na,1,2\nb,3,4\nc,5,9\n", Columns{}, &Inferred{Range{1, 9}, 2, far(9, 9, 1, 4, "q2")}},
		{"two answers", "id,q1,q2\na,0,100\nb,100,0\n", Columns{}, &Inferred{Range{0, 100}, 2, nil}},
		{"continuous", "id,q1,q2\na,0.5,12\nb,100,57\nc,31,80\n", Columns{}, &Inferred{Range{0.5, 100}, 2, nil}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.columns.Items = []string{"q*"}
			table, err := Read(write(t, "x.csv", c.content), &c.columns)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(c.want, table.Inferred); diff != "" {
				t.Errorf("what is inferred differs from that wanted:\n%s", diff)
			}
		})
	}
}
