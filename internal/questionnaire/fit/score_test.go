package fit_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/internal/table"
)

// A stored model scores as the one in memory, each participant by themselves.
func TestScoreAlone(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(5)
	f := questionnairetest.Fit(t, rows, nil)
	m := questionnairetest.Reload(t, &f.Model)
	later := questionnairetest.Rows(6)
	path := questionnairetest.File(t, "later.csv", questionnairetest.CSV(later))
	all, err := fit.Score(m, path, fit.Scoring{})
	if err != nil {
		t.Fatal(err)
	}
	inMemory, err := fit.Score(&f.Model, path, fit.Scoring{})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(all.Values, inMemory.Values) {
		t.Error("the stored model scores otherwise than the one in memory")
	}
	if mat.Min(all.Values) < 0 || mat.Max(all.Values) > 1 {
		t.Errorf("scores from %v to %v", mat.Min(all.Values), mat.Max(all.Values))
	}
	for _, i := range []int{1, 17, 80} {
		alone, err := fit.Score(m, questionnairetest.File(t, "one.csv",
			questionnairetest.CSV([][]string{later[0], later[i]})), fit.Scoring{})
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(alone.Values.RawRowView(0), all.Values.RawRowView(i-1)) {
			t.Errorf("row %d scores %v alone and %v among others", i, alone.Values.RawRowView(0),
				all.Values.RawRowView(i-1))
		}
	}
	// Columns in another order, and more of them.
	for i, row := range later {
		slices.Reverse(row)
		later[i] = append(row, "x")
	}
	mixed, err := fit.Score(m, questionnairetest.File(t, "mixed.csv", questionnairetest.CSV(later)), fit.Scoring{})
	if err != nil {
		t.Fatal(err)
	}
	if !mat.Equal(all.Values, mixed.Values) {
		t.Error("columns in another order change scores")
	}
}

func TestScoreRefuses(t *testing.T) {
	t.Parallel()
	m := &questionnairetest.Fit(t, questionnairetest.Rows(1), nil).Model
	for _, c := range []struct {
		name   string
		change func(rows [][]string)
		line   int
		column string
		err    error
	}{
		{"an item that is not there", func(rows [][]string) { rows[0][3] = "other" }, 1, "q3", table.ErrNoColumn},
		{
			"a confound that is not there", func(rows [][]string) { rows[0][1+questionnairetest.Items] = "years" }, 1,
			"age", table.ErrNoColumn,
		},
		{"out of range", func(rows [][]string) { rows[4][2] = "5" }, 5, "q2", questionnaire.ErrOutOfRange},
		{
			"a new level", func(rows [][]string) { rows[4][2+questionnairetest.Items] = "X" }, 5, "sex",
			questionnaire.ErrNewLevel,
		},
		{
			"a confound without value", func(rows [][]string) { rows[4][1+questionnairetest.Items] = "" }, 5, "age",
			questionnaire.ErrNoConfound,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			rows := questionnairetest.Rows(1)
			c.change(rows)
			_, err := fit.Score(m, questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)), fit.Scoring{})
			at, ok := errors.AsType[*table.Error](err)
			if !ok || at.Line != c.line || at.Column != c.column || !errors.Is(err, c.err) ||
				strings.Contains(err.Error(), "secret") {
				t.Errorf("error %v; want line %d, column %q: %v", err, c.line, c.column, c.err)
			}
		})
	}
	rows := questionnairetest.Rows(1)
	rows[2][1+questionnairetest.Items], rows[3][1+questionnairetest.Items] = "99", "2"
	for j := range questionnairetest.Items {
		rows[5][1+j] = "NA"
	}
	s, err := fit.Score(m, questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows)), fit.Scoring{})
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]answers.Beyond{{Confound: "age", Participants: 2, Line: 3}}, s.Beyond); diff != "" {
		t.Errorf("what was cut differs from that wanted:\n%s", diff)
	}
	if !slices.Equal(s.Unanswered, []int{6}) || len(s.IDs) != questionnairetest.Participants-1 {
		t.Errorf("%d scores, without answers are lines %v", len(s.IDs), s.Unanswered)
	}
}

// A model of visits scores the rows of its participants as it read them.
func TestVisitsFitAndScore(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	age := 1 + questionnairetest.Items
	var long [][]string
	for i, row := range rows {
		if long = append(long, row); i > 0 && i%2 == 0 { // a second visit of half of them
			later := slices.Clone(row)
			later[age] = fmt.Sprint(number(t, row[age]) + 12)
			long = append(long, later)
		}
	}
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(long))
	o := questionnairetest.Options(path)
	o.Columns.Confounds = o.Columns.Confounds[1:]
	o.Columns.Visits = &questionnaire.Visits{Time: "age", Edges: []float64{6, 18, 30}}
	f, err := fit.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.Items) != 2*questionnairetest.Items || len(f.Scores.IDs) != questionnairetest.Participants ||
		!strings.HasSuffix(f.Items[len(f.Items)-1].Name, "@18-30") {
		t.Errorf("%d items of %d participants", len(f.Items), len(f.Scores.IDs))
	}
	m := questionnairetest.Reload(t, &f.Model)
	s, err := fit.Score(m, path, fit.Scoring{})
	if err != nil {
		t.Fatal(err)
	}
	if d := distance(s.Values, f.Scores.Values); !slices.Equal(s.IDs, f.Scores.IDs) || d > 0.5 {
		t.Errorf("scores of the participants of the fit differ by %v from those of the fit", d)
	}
	// An early visit alone scores by its own items.
	early, err := fit.Score(m, questionnairetest.File(t, "y.csv", questionnairetest.CSV(long[:2])), fit.Scoring{})
	if err != nil || !slices.Equal(early.Values.RawRowView(0), s.Values.RawRowView(0)) {
		t.Errorf("the first participant alone: %v", err)
	}
}

// An item that nobody answered at any visit is no part of the model, which is whole without it.
func TestVisitsWithoutAnItem(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	rows[0] = append(rows[0], "q99")
	var book []questionnaire.Item
	for j := range questionnairetest.Items {
		book = append(book,
			questionnaire.Item{Name: rows[0][1+j], Range: &questionnaire.Range{Low: 0, High: questionnairetest.Top}})
	}
	for i := range rows[1:] {
		rows[1+i] = append(rows[1+i], "")
	}
	f := questionnairetest.Fit(t, rows, func(o *fit.Options) {
		o.Columns.Confounds, o.Columns.Range, o.Columns.Codebook, o.Columns.Visits = nil, nil, book,
			&questionnaire.Visits{Time: "age", Edges: []float64{0, 12, 99}}
	})
	m := questionnairetest.Reload(t, &f.Model)
	if len(m.VisitItems) != questionnairetest.Items {
		t.Errorf("items %q of visits", questionnaire.Names(m.VisitItems))
	}
	if _, err := fit.Score(m, questionnairetest.File(t, "y.csv", questionnairetest.CSV(questionnairetest.Rows(1))),
		fit.Scoring{}); err != nil {
		t.Errorf("scoring without the item: %v", err)
	}
}

// The table of a fit is that of Score for the same file, to the last bit: numbers of answers, errors, who is left out
// for too few answers, and scores, except that those of ICQF are of the factorization.
func TestScoresOfFitAreThoseOfScore(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(7)
	for j := 2; j <= questionnairetest.Items; j++ {
		rows[9][j] = ""
	}
	rows[9][1] = "3"
	path := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
	o := questionnairetest.Options(path)
	o.Scores = fit.Table{MinAnswers: 2}
	f, err := fit.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	s, err := fit.Score(questionnairetest.Reload(t, &f.Model), path, fit.Scoring{Table: o.Scores})
	if err != nil {
		t.Fatal(err)
	}
	if d := distance(s.Values, f.Scores.Values); d == 0 || d > 0.2 {
		t.Errorf("the scores of the factorization differ from those of Score by %v", d)
	}
	f.Scores.Values = s.Values
	if diff := cmp.Diff(string(s.CSV()), string(f.Scores.CSV())); diff != "" {
		t.Errorf("the table of the fit differs from that of Score:\n%s", diff)
	}
	if want := []int{10}; !slices.Equal(s.TooFew, want) || !slices.Equal(f.TooFew, want) || f.Summary.TooFew != 1 ||
		len(s.IDs) != questionnairetest.Participants-1 {
		t.Errorf("left out are lines %v and %v, want %v", s.TooFew, f.TooFew, want)
	}
	header, _, values := numbers(t, s.CSV())
	if want := "id factor1 factor2 factor3 answered se_factor1 se_factor2 se_factor3"; strings.Join(header, " ") !=
		want {
		t.Errorf("header %q, want %q", header, want)
	}
	for i, id := range s.IDs {
		answered := 0
		for _, row := range rows[1:] {
			if row[0] == id {
				answered = len(slices.DeleteFunc(slices.Clone(row[1:1+questionnairetest.Items]),
					func(cell string) bool { return cell == "" }))
			}
		}
		if row := values.RawRowView(i); row[3] != float64(answered) || row[4] <= 0 || row[4] > 0.5 {
			t.Errorf("row %d: %v answers, an error of %v", i+1, row[3], row[4])
		}
	}
	if _, err := fit.Score(&f.Model, path, fit.Scoring{Table: fit.Table{MinAnswers: 99}}); !errors.Is(err,
		questionnaire.ErrOptions) {
		t.Errorf("nobody left: %v", err)
	}
}

// An item answered 0 to 1 weighs like one answered 0 to 4: its answers times four change nothing but its loadings.
func TestEqualRanges(t *testing.T) {
	t.Parallel()
	for _, method := range []string{model.MethodICQF, model.MethodL1} {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			testEqualRanges(t, method)
		})
	}
}

func testEqualRanges(t *testing.T, method string) {
	t.Helper()
	wide := questionnairetest.Rows(8)
	narrow := questionnairetest.Rows(8)
	book := []questionnaire.Item{}
	for j := range questionnairetest.Items {
		book = append(book,
			questionnaire.Item{Name: wide[0][1+j], Range: &questionnaire.Range{High: questionnairetest.Top}})
	}
	ranges := slices.Clone(book)
	ranges[2].Range = &questionnaire.Range{High: 1}
	for _, row := range narrow[1:] {
		if row[3] != "" {
			row[3] = fmt.Sprint(number(t, row[3]) / questionnairetest.Top)
		}
	}
	run := func(rows [][]string, book []questionnaire.Item, equal bool) (*model.Fitted, *fit.Scored) {
		change := func(o *fit.Options) {
			o.Columns.Items, o.Columns.Range, o.Columns.Codebook = nil, nil, book
			if o.Method = method; method != model.MethodICQF {
				o.Betas = nil
			}
			o.EqualRanges, o.RelTol = equal, 1e-10
		}
		f := questionnairetest.Fit(t, rows, change)
		s, err := fit.Score(questionnairetest.Reload(t, &f.Model), questionnairetest.File(t, "y.csv",
			questionnairetest.CSV(rows)), fit.Scoring{})
		if err != nil {
			t.Fatal(err)
		}
		return f, s
	}
	want, wanted := run(wide, book, true)
	got, scored := run(narrow, ranges, true)
	if d := distance(got.Scores.Values, want.Scores.Values); d > 1e-6 {
		t.Errorf("scores differ by %v", d)
	}
	if a, b := got.Summary.Explained, want.Summary.Explained; math.Abs(a-b) > 1e-6 {
		t.Errorf("%v of the answers is explained, want %v", a, b)
	}
	if d := distance(scored.Values, wanted.Values); d > 1e-6 {
		t.Errorf("scores of the stored model differ by %v", d)
	}
	if d := distance(scored.Errors, wanted.Errors); d > 1e-6 {
		t.Errorf("standard errors differ by %v", d)
	}
	if a, b := got.ICQF.Loadings.At(2, 0)*questionnairetest.Top, want.ICQF.Loadings.At(2, 0); math.Abs(a-b) > 1e-6 {
		t.Errorf("the item loads by %v, want %v", a, b)
	}
	if plain, _ := run(narrow, ranges,
		false); distance(plain.Scores.Values, want.Scores.Values) < 1e-3 {
		t.Error("without stretching the scores are the same")
	}
}

// distance returns the largest difference between two entries.
func distance(a, b *mat.Dense) float64 {
	d := &mat.Dense{}
	d.Sub(a, b)
	return max(mat.Max(d), -mat.Min(d))
}
