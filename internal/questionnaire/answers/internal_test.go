package answers

import (
	"crypto/sha256"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/table"
)

func TestExpression(t *testing.T) {
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
		if got := expression(c.pattern).MatchString(c.name); got != c.want {
			t.Errorf("%q matches %q: %v, want %v", c.pattern, c.name, got, c.want)
		}
	}
}

func FuzzRead(f *testing.F) {
	const head = "id,q1,q2,age,sex,ill\n"
	for _, s := range []string{
		"", head, head + "a,0,1,7,F,1\nb,2,NA,9,M,0\n", head + "a,0\n",
		head + "a,0,\"1\n\",7,F,1\n", head + "\"", "\ufeff" + strings.ReplaceAll(head, ",", ";") + "a;1;1;7;F;.\n",
		"id,id\n", head + "a,1e309,0,7,F,1\n", head + "\xff,0,0,\xff,\xff,\xff\n",
	} {
		f.Add(s)
	}
	columns := Columns{
		Items: []string{"q*"}, Range: &questionnaire.Range{Low: 0, High: 2}, Reversed: []string{"q2"},
		Missing: []string{"-9"},
		Confounds: []questionnaire.Confound{
			{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
		}, Labels: []questionnaire.Label{{Name: "ill", Positive: "1"}},
	}
	f.Add("\xff\xfei\x00")
	f.Fuzz(func(t *testing.T, data string) {
		src := &source{hash: sha256.New()}
		var err error
		var read *Table
		if src.Reader, err = table.New(strings.NewReader(data), "FILE", table.Options{Hash: src.hash}); err == nil {
			read, err = readTable(src, &columns, nil)
		}
		if err != nil {
			at, ok := errors.AsType[*table.Error](err)
			if (errors.Is(err, table.ErrEncoding) || errors.Is(err, table.ErrColumnTwice)) && at.Line > 0 {
				return // of any column
			}
			if !ok || at.Line < 0 || !strings.HasPrefix(at.Column, "q") &&
				!slices.Contains([]string{"", "id", "age", "sex", "ill"}, at.Column) {
				t.Fatalf("error %v", err)
			}
			return
		}
		n := len(read.IDs)
		if r, c := read.Answers.Dims(); r != n || c != len(read.Items) || len(read.Lines) != n ||
			len(read.confounds[0]) != n || len(read.confounds[1]) != n || len(read.Labels[0]) != n {
			t.Fatalf("%d participants in a table of %d×%d", n, r, c)
		}
		for i := range n {
			answered := false
			for _, v := range read.Answers.RawRowView(i) {
				if answered = answered || !math.IsNaN(v); !math.IsNaN(v) && (v < 0 || v > 2) {
					t.Fatalf("answer %v", v)
				}
			}
			if !answered || read.IDs[i] == "" {
				t.Fatalf("row %d without answers or id", i)
			}
		}
	})
}

// Labels stay with their participants if those who answered none of the kept items are left out.
func TestKeepKeepsLabels(t *testing.T) {
	t.Parallel()
	nan := math.NaN()
	table := &Table{
		IDs: []string{"a", "b", "c"}, Lines: []int{2, 3, 4}, Items: []questionnaire.Item{{Name: "q1"}, {Name: "q2"}},
		Answers: mat.NewDense(3, 2, []float64{1, 1, nan, 1, 2, 1}), Labels: [][]int8{{1, Unknown, 0}},
	}
	if err := table.Keep([]string{"q1"}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.Labels[0], []int8{1, 0}) || !slices.Equal(table.Unanswered, []int{3}) {
		t.Errorf("labels %v, left out %v", table.Labels, table.Unanswered)
	}
}
