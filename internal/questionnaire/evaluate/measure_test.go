package evaluate

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// figures compares figures, of which all that are undefined are equal.
var figures = cmp.Comparer(func(a, b questionnaire.Figure) bool { return a == b || !a.Defined() && !b.Defined() })

// What is not defined is null, and is read back.
func TestMeasureJSON(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		values []float64
		want   string
	}{
		{nil, `{"count":0,"mean":null,"standard_deviation":null}`},
		{[]float64{0.5}, `{"count":1,"mean":0.5,"standard_deviation":null}`},
		{[]float64{0, 1}, `{"count":2,"mean":0.5,"standard_deviation":0.7071067811865476}`},
	} {
		m := measure(c.values)
		text, err := json.Marshal(m)
		if err != nil || string(text) != c.want {
			t.Errorf("%s, error %v, want %s", text, err, c.want)
		}
		var again Measure
		if err := json.Unmarshal(text, &again); err != nil || !cmp.Equal(again, m, figures) {
			t.Errorf("%+v becomes %+v, error %v", m, again, err)
		}
	}
	o := few(t, 20)
	o.Columns.Labels = []questionnaire.Label{{Name: "ill", Positive: "1"}} // too few of a class to train on
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if text, err := json.Marshal(e.Shares[0]); err != nil ||
		!strings.Contains(string(text), `"auroc":[{"count":0,"mean":null,`) {
		t.Errorf("%s, error %v", text, err)
	}
}

// The interval is that of Nadeau and Bengio: t₂ = 4.302653 of three values of deviation 0.1, whose splits hold out a
// quarter of those trained on, reaches 4.302653·√(1/3 + 1/4)·0.1 = 0.328621 from the mean.
func TestResampled(t *testing.T) {
	t.Parallel()
	m := resampled([]float64{0.5, 0.6, 0.7}, 0.25, 0)
	if m.Interval == nil || math.Abs(m.Interval.Low-0.271379) > 1e-6 || math.Abs(m.Interval.High-0.928621) > 1e-6 {
		t.Errorf("%+v", m.Interval)
	}
	if m := resampled([]float64{0.8, 0.9, 1}, 0.25, 0); m.Interval.High != 1 {
		t.Errorf("%+v goes beyond 1", m.Interval)
	}
	for _, values := range [][]float64{nil, {0.5}, {1, 1}} {
		if m := resampled(values, 0.25, 0); m.Interval != nil {
			t.Errorf("%v has the interval %+v", values, m.Interval)
		}
	}
	text, err := json.Marshal(m)
	if err != nil || !strings.Contains(string(text), `"interval_95":{"low":0.27`) {
		t.Errorf("%s, error %v", text, err)
	}
}

// A method differs from the first on the same splits by less than their areas vary.
func TestDifferences(t *testing.T) {
	t.Parallel()
	first := [][]float64{{0.5, 0.7, 0.9}, nil}
	d := differences([][]float64{{0.52, 0.71, 0.93}, nil}, first, 0.25)
	if len(d) != 2 || d[0].Count != 3 || math.Abs(float64(d[0].Mean)-0.02) > 1e-12 ||
		math.Abs(float64(d[0].Deviation)-0.01) > 1e-12 ||
		d[0].Interval.Low > -0.01 || d[1].Count > 0 {
		t.Errorf("%+v", d)
	}
	nan := math.NaN() // of a split on which a method has no area
	if d = differences([][]float64{{nan, 0.71, 0.93}}, [][]float64{{0.5, 0.7, nan}}, 0.25); d[0].Count != 1 ||
		math.Abs(float64(d[0].Mean)-0.01) > 1e-12 {
		t.Errorf("splits without an area: %+v", d)
	}
	if first[0][0] != 0.5 {
		t.Error("the areas of the first method are changed")
	}
}

// Methods may have areas on different splits: those who are ill answered one item only, of which the confound leaves
// nothing to factor analysis. The differences are those of the splits on which both have an area.
func TestEvaluateComparesTheSameSplits(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	header := rows[0]
	ill, sex := slices.Index(header, "ill"), slices.Index(header, "sex")
	for _, row := range rows[1:] {
		if row[1] = "1"; row[sex] == "M" {
			row[1] = "3"
		}
		if row[ill] == "1" {
			for j := 2; j <= questionnairetest.Items; j++ {
				row[j] = ""
			}
		}
	}
	o := evaluateOptions(t)
	o.Input = questionnairetest.File(t, "y.csv", questionnairetest.CSV(rows))
	o.Methods = []string{MethodItems, model.MethodFA}
	o.Columns.Labels = o.Columns.Labels[:1]
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	for at, s := range e.Shares {
		if items := e.Shares[at%len(TrainShares())]; s.Method == model.MethodFA &&
			(s.AUROC[0].Count > 0 || s.Differences[0].Count > 0 || s.Share > 0.5 && items.AUROC[0].Count == 0) {
			t.Errorf("%s on %v: %+v less %+v are %+v", s.Method, s.Share, s.AUROC, items.AUROC, s.Differences)
		}
	}
}

// The candidates are chosen among by icqf if it is compared, otherwise by the first method that a fit can take.
func TestEvaluateChoosesByItsMethod(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		methods []string
		want    string
	}{
		{nil, model.MethodICQF},
		{[]string{model.MethodFA, model.MethodICQF}, model.MethodICQF},
		{[]string{MethodItems, model.MethodFA, model.MethodL1}, model.MethodFA},
		{[]string{MethodPCA}, model.MethodICQF},
	} {
		o := evaluateOptions(t)
		o.Methods = c.methods
		if err := o.check(); err != nil || o.Method != c.want {
			t.Errorf("%v: %s chooses, want %s, error %v", c.methods, o.Method, c.want, err)
		}
	}
}

// A choice at an end of the candidates has a warning, also if only the repeats make it.
func TestEvaluateWarnsOfEdges(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	o.Methods, o.Factors, o.Columns.Labels = nil, []int{1, 2}, nil
	e, err := Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Warnings) != 1 || !strings.Contains(e.Warnings[0], "most factors tried, 2") {
		t.Errorf("warnings %q, want one of the most factors", e.Warnings)
	}
}
