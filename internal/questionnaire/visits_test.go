package questionnaire

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/models"
)

func visitColumns() Columns {
	return Columns{Items: []string{"q*"}, Range: &Range{0, 4}, Reversed: []string{"q2"}, Confounds: []Confound{{Name: "sex", Kind: models.Categorical}}, Visits: &Visits{Time: "age", Edges: []float64{6, 9, 12}}}
}

func TestVisits(t *testing.T) {
	t.Parallel()
	columns := visitColumns()
	table, err := Read(write(t, "x.csv", "id,q1,q2,age,sex\na,1,0,6,F\nb,2,2,9,M\na,3,,12,F\na,2,4,8.9,F\nc,,,7,M\nb,0,1,7,M\nb,1,NA,10,M\n"), &columns)
	if err != nil {
		t.Fatal(err)
	}
	// q2 is reversed; a has two visits before 9, b two after; q2@9-12 was answered by b alone.
	if diff := cmp.Diff([]string{"q1@6-9", "q2@6-9", "q1@9-12"}, namesOf(table.Items)); diff != "" {
		t.Errorf("items differ from those wanted:\n%s", diff)
	}
	if diff := cmp.Diff([][]float64{{1.5, 2, 3}, {0, 3, 1.5}}, rows(table)); diff != "" {
		t.Errorf("answers differ from those wanted:\n%s", diff)
	}
	if !slices.Equal(table.IDs, []string{"a", "b"}) || !slices.Equal(table.Dropped, []string{"q2@9-12"}) || !slices.Equal(table.Unanswered, []int{6}) || !slices.Equal(table.confounds[0].levels, []string{"F", "M"}) {
		t.Errorf("ids %q, dropped %q, unanswered %v, sex %q", table.IDs, table.Dropped, table.Unanswered, table.confounds[0].levels)
	}
	if got := table.Items[2].Subscale; got != "age 9-12" {
		t.Errorf("subscale %q", got)
	}
}

func TestVisitsRefuse(t *testing.T) {
	t.Parallel()
	const head = "id,q1,q2,age,sex\na,1,0,6,F\n"
	for _, c := range []struct {
		name, content string
		line          int
		column        string
		err           error
	}{
		{"outside the bins", head + "b,1,0,12.5,F\n", 3, "age", ErrNoBin},
		{"no time", head + "b,1,0,,F\n", 3, "age", ErrNoConfound},
		{"another sex", head + "a,1,0,10,M\n", 3, "", ErrVaries},
		{"no ids", "q1,q2,age,sex\n1,0,6,F\n", 1, "id", ErrNoColumn},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			columns := visitColumns()
			_, err := Read(write(t, "x.csv", c.content), &columns)
			if at, ok := errors.AsType[*Error](err); !ok || at.Line != c.line || at.Column != c.column || !errors.Is(err, c.err) {
				t.Errorf("error %v; want line %d, column %q: %v", err, c.line, c.column, c.err)
			}
		})
	}
	for _, edges := range [][]string{nil, {"1"}, {"2", "1"}, {"1", "1"}, {"1", "x"}, {"1", "Inf"}} {
		if _, err := ParseVisits("age", edges); !errors.Is(err, ErrOptions) {
			t.Errorf("edges %q: error %v, want ErrOptions", edges, err)
		}
	}
}

// A model of visits scores the rows of its participants as it read them.
func TestVisitsFitAndScore(t *testing.T) {
	t.Parallel()
	rows := planted(1)
	age := 1 + plantedItems
	var long [][]string
	for i, row := range rows {
		if long = append(long, row); i > 0 && i%2 == 0 { // a second visit of half of them
			later := slices.Clone(row)
			later[age] = fmt.Sprint(atof(t, row[age]) + 12)
			long = append(long, later)
		}
	}
	path := write(t, "x.csv", csvText(t, long))
	o := plantedOptions(path)
	o.Columns.Confounds = o.Columns.Confounds[1:]
	o.Columns.Visits = &Visits{Time: "age", Edges: []float64{6, 18, 30}}
	f, err := Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Items) != 2*plantedItems || len(f.Scores.IDs) != plantedParticipants || !strings.HasSuffix(f.Items[len(f.Items)-1].Name, "@18-30") {
		t.Errorf("%d items of %d participants", len(f.Items), len(f.Scores.IDs))
	}
	dir := t.TempDir()
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	s, err := m.Score(path, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if d := distance(s.Values, f.Scores.Values); !slices.Equal(s.IDs, f.Scores.IDs) || d > 0.5 {
		t.Errorf("scores of the participants of the fit differ by %v from those of the fit", d)
	}
	// An early visit alone scores by its own items.
	early, err := m.Score(write(t, "y.csv", csvText(t, long[:2])), "", nil)
	if err != nil || !slices.Equal(early.Values.RawRowView(0), s.Values.RawRowView(0)) {
		t.Errorf("the first participant alone: %v", err)
	}
}

// Who is left out is counted by participants, not by visits; of who stays, visits with answers are told.
func TestVisitsLeftOut(t *testing.T) {
	t.Parallel()
	columns := visitColumns()
	columns.OmitIncomplete = true
	table, err := Read(write(t, "x.csv", `id,q1,q2,age,sex
a,1,0,6,F
b,,,7,M
a,,,10,F
c,,,7,M
b,,,10,M
d,3,1,,F
b,,,11,M
d,2,2,8,F
e,,,8,F
e,4,4,NA,F
a,2,3,11,F
f,,,,F
d,0,1,11,F
`), &columns)
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(table.IDs, []string{"a", "d"}) {
		t.Errorf("ids %q", table.IDs)
	}
	want := Remarks{Unanswered: []int{3, 5, 13}, Incomplete: []int{10}, Visits: []int{7}}
	if diff := cmp.Diff(want, table.Remarks); diff != "" {
		t.Errorf("remarks differ from those wanted:\n%s", diff)
	}
}

// An item that nobody answered at any visit is no part of the model, which is whole without it.
func TestVisitsWithoutAnItem(t *testing.T) {
	t.Parallel()
	rows := planted(1)
	rows[0] = append(rows[0], "q99")
	var book []Item
	for j := range plantedItems {
		book = append(book, Item{Name: rows[0][1+j], Range: &Range{0, plantedTop}})
	}
	for i := range rows[1:] {
		rows[1+i] = append(rows[1+i], "")
	}
	f := fit(t, rows, func(o *Options) {
		o.Columns.Confounds, o.Columns.Range, o.Columns.Codebook, o.Columns.Visits = nil, nil, book, &Visits{Time: "age", Edges: []float64{0, 12, 99}}
	})
	dir := t.TempDir()
	if err := f.save(dir); err != nil {
		t.Fatal(err)
	}
	m, err := Load(dir)
	if err != nil {
		t.Fatal(err)
	}
	if len(m.VisitItems) != plantedItems {
		t.Errorf("items %q of visits", namesOf(m.VisitItems))
	}
	if _, err := m.Score(write(t, "y.csv", csvText(t, planted(1))), "", nil); err != nil {
		t.Errorf("scoring without the item: %v", err)
	}
}
