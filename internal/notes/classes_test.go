package notes

import (
	"errors"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/intake"
)

// outcomes is a table of 12 rows sent home, 11 admitted, 10 transferred, in turn.
func outcomes(labels ...string) string {
	b := strings.Builder{}
	b.WriteString("text,label\n")
	for i := range 12 {
		for c, label := range labels {
			if i < 12-c {
				b.WriteString("x," + label + "\n")
			}
		}
	}
	return b.String()
}

func TestReadClasses(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		columns   Columns
		labels    []string // the commonest first
		classes   []string
		admission []bool
		first     Row // of the second label
	}{
		"auto": {Columns{Classes: []string{AutoClasses}}, []string{"home", "ward", "moved"}, []string{
			"home", "ward", "moved",
		}, []bool{false, true, true}, Row{Class: 1, Positive: true}},
		"auto, admission": {Columns{Classes: []string{AutoClasses}, Admission: []string{"moved"}}, []string{
			"home", "ward", "moved",
		}, []string{"home", "ward", "moved"}, []bool{false, false, true}, Row{Class: 1}},
		"the list's order": {Columns{Classes: []string{"moved", "ward", "home"}}, []string{
			"home", "ward", "moved",
		}, []string{"moved", "ward", "home"}, []bool{false, true, true}, Row{Class: 1, Positive: true}},
		"reference admitted": {Columns{
			Classes: []string{"ward", "home"}, Admission: []string{"ward"},
		}, []string{"home", "ward"}, []string{"ward", "home"}, []bool{true, false}, Row{Positive: true}},
		"numbers": {Columns{Classes: []string{"0", "2", "1"}, Admission: []string{"1.0", "2"}}, []string{
			"0.0", "1.0", "2",
		}, []string{"0", "2", "1"}, []bool{false, true, true}, Row{Class: 2, Positive: true}},
		"auto, numbers": {Columns{
			Classes: []string{AutoClasses},
		}, []string{"7.0", "1"}, []string{"7", "1"}, []bool{false, true}, Row{Class: 1, Positive: true}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read([]string{write(t, "a.csv", outcomes(c.labels...))}, c.columns)
			if err != nil {
				t.Fatal(err)
			}
			if d := cmp.Diff(c.classes, got.Classes); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff(c.admission, got.Admission); d != "" {
				t.Error(d)
			}
			if r := got.Rows[1]; r.Class != c.first.Class || r.Positive != c.first.Positive {
				t.Errorf("class %d, admitted %v", r.Class, r.Positive)
			}
		})
	}
}

// TestAutoClassesByCount takes as reference the commonest, wherever it stands; of several as common the first by name.
func TestAutoClassesByCount(t *testing.T) {
	t.Parallel()
	got, err := Read([]string{write(t, "a.csv", "text,label\n"+strings.Repeat("x,ward\n", 10)+strings.Repeat(
		"y,moved\n", 10)+strings.Repeat("z,home\n", 11)+" ,left\n")}, Columns{Classes: []string{AutoClasses}})
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff([]string{"home", "moved", "ward"}, got.Classes); d != "" {
		t.Error(d)
	}
	if a, b, c := got.Rows[0].Class, got.Rows[10].Class, got.Rows[20].Class; a != 2 || b != 1 || c != 0 {
		t.Errorf("classes of rows: %d, %d, %d", a, b, c)
	}
}

func TestClassErrors(t *testing.T) {
	t.Parallel()
	three := outcomes("home", "ward", "moved")
	many := strings.Builder{}
	many.WriteString("text,label\n")
	for i := range maxClasses + 1 {
		many.WriteString("x," + secret + strings.Repeat("i", i) + "\n")
	}
	auto := []string{AutoClasses}
	for name, c := range map[string]struct {
		content, want string
		columns       Columns
		is            error
	}{
		"not in the list": {three + "x," + secret + "\n", `FILE, line 35, column "label": the label is not one of ` +
			`the classes`, Columns{Classes: []string{"home", "ward", "moved"}}, ErrNotClass},
		"no label": {
			three + "x,\n", `FILE, line 35, column "label": no label`, Columns{Classes: auto}, ErrNoLabel,
		},
		"rare": {
			three + "x,died\nx,died\n",
			`FILE, column "label": too few patients of a class: a label, which is not shown as it may be a name, ` +
				`has 2 and needs 10: leave its rows out and name the other classes, or give them the label of ` +
				`another class`,
			Columns{Classes: auto},
			ErrRareClass,
		},
		"not there": {three, `FILE, column "label": too few patients of a class: "died" has 0 and needs 10: ` +
			`leave its rows out and name the other classes, or give them the label of another ` +
			`class`, Columns{Classes: []string{"home", "ward", "moved", "died"}}, ErrRareClass},
		"of one visit": {
			"visit_id,text,label\n" + strings.Repeat("a,x,home\n", 20) + strings.Repeat(",x,ward\n", 20),
			`FILE, column "label": too few patients of a class: a label, which is not shown as it may be a name, ` +
				`has 1 and needs 10: leave its rows out and name the other classes, or give them the label of ` +
				`another class`,
			Columns{Classes: auto},
			ErrRareClass,
		},
		"one class": {outcomes("home"), `FILE, column "label": only one class among the ` +
			`labels`, Columns{Classes: auto}, ErrOneClass},
		"too many": {many.String(), `FILE, line 102, column "label": more than 100 different labels: name ` +
			`the classes, or another column`, Columns{Classes: auto}, ErrManyClasses},
		"a list of one": {
			three, `FILE, column "label": 1 classes, must be 2 to 1000`, Columns{Classes: []string{"home"}}, nil,
		},
		"twice": {three, `FILE, column "label": class 2, "home", has the name of ` +
			`another`, Columns{Classes: []string{"home", "home"}}, nil},
		"twice as a number": {three, `FILE, column "label": classes "1.0" and "1" are the same ` +
			`number`, Columns{Classes: []string{"0", "1", "1.0"}}, nil},
		"two lines": {three + "x,\"" + secret + "\nx\"\n", `FILE, line 35, column "label": a name of a ` +
			`class with a control character`, Columns{Classes: auto}, bundle.ErrClassName},
		"a whole note": {three + "x," + strings.Repeat(secret, 30) + "\n", `FILE, line 35, column "label": a ` +
			`name of a class of 300 bytes, must be 1 to 256`, Columns{Classes: auto}, bundle.ErrClassName},
		"admission unknown": {three, `FILE, column "label": class "bed", which counts as admitted, is not one of the ` +
			`classes`, Columns{Classes: auto, Admission: []string{"bed"}}, nil},
		"everybody admitted": {three, `FILE, column "label": all classes count as ` +
			`admitted`, Columns{Classes: auto, Admission: []string{"ward", "home", "moved"}}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, "a.csv", c.content)
			got, err := Read([]string{path}, c.columns)
			if err == nil {
				t.Fatalf("read %+v", got)
			}
			if want := strings.ReplaceAll(c.want, "FILE", path); err.Error() != want {
				t.Errorf("got  %v\nwant %s", err, want)
			}
			if c.is != nil && !errors.Is(err, c.is) {
				t.Errorf("%v is not %v", err, c.is)
			}
		})
	}
}

func TestLabelCounts(t *testing.T) {
	t.Parallel()
	many := map[string]int{}
	for _, r := range "abcdefghijklm" {
		many[string(r)] = 1
	}
	for want, labels := range map[string]map[string]int{
		`"b" 20, "a" 10, others 10`: {"a": 10, "b": 20, "c": 9, secret: 1},
		"1 different labels":        {strings.Repeat(secret, 4): 1},
		"13 different labels":       many,
	} {
		people := intake.Tally{}
		for label, n := range labels {
			for i := range n {
				people.Add(label, strconv.Itoa(i))
			}
		}
		if got := (&Table{Labels: labels, people: people}).LabelCounts(); got != want {
			t.Errorf("got %s, want %s", got, want)
		}
	}
}

// TestLabelIsNoFeature: nothing may be predicted from the label itself.
func TestLabelIsNoFeature(t *testing.T) {
	t.Parallel()
	path := write(t, "a.csv", outcomes("home", "ward"))
	for name, c := range map[string]Columns{
		"auxiliary": {Aux: []Aux{{Column: "label", Kind: bundle.Categorical, Name: "label"}}},
		"complaint": {Complaint: "label"},
		"text":      {Text: "label"},
	} {
		c.Classes = []string{AutoClasses}
		if _, err := Read([]string{path}, c); !errors.Is(err, ErrLabelAsFeature) {
			t.Errorf("%s: got %v", name, err)
		}
	}
	// The column of that name is then no complaint, unless it was named as such.
	got, err := Read([]string{write(t, "b.csv", strings.Replace(outcomes("home", "ward"), "label", "complaint", 1))},
		Columns{Label: "complaint", Positive: "ward"})
	if err != nil || got.Rows[0].Complaint != "" || !got.Rows[1].Positive {
		t.Errorf("a label of the complaint's name: %v", err)
	}
}
