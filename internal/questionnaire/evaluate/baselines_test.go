package evaluate

import (
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver"
)

// small is a study of four participants, three subscales, an item of two of them and one of none, and its options.
func small(t *testing.T) (*Options, *fit.Study) {
	t.Helper()
	o := &Options{Options: fit.Options{
		Input: questionnairetest.File(t, "x.csv", "id,a1,a2,b1,c\np1,0,2,4,1\np2,2,,0,3\np3,4,4,,0\np4,,,1,2\n"),
		Columns: answers.Columns{
			Codebook: []questionnaire.Item{{
				Name: "a1", Subscale: "A",
			}, {Name: "a2", Subscale: "A", Others: []string{"C"}}, {Name: "b1", Subscale: "B"}, {Name: "c"}},
			Range: &questionnaire.Range{High: 4},
		},
		Factors: []int{1}, Betas: []float64{0.1}, Learning: model.Learning{RelTol: 1e-4, Seed: 1},
	}}
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return o, s
}

// Loadings that halves are compared by are those of items as wide as the widest: an item of 0 to 1 may have more
// than 1.
func TestLoadingsAreStretched(t *testing.T) {
	t.Parallel()
	o, s := small(t)
	one := *o
	one.EqualRanges = true
	one.Columns.Codebook = slices.Clone(o.Columns.Codebook)
	one.Columns.Codebook[3].Range = &questionnaire.Range{High: 16}
	narrow, err := one.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	by := solver.Candidate{Factors: 1, Beta: 0.1}
	l, err := one.Learn(t.Context(), narrow, s.Order, by)
	if err != nil {
		t.Fatal(err)
	}
	got, err := one.learn(t.Context(), narrow, model.MethodICQF, s.Order, by)
	if err != nil {
		t.Fatal(err)
	}
	if a, b := l.Loadings.At(0, 0), got.loadings.At(0, 0); !(a > 0) || math.Abs(4*a-b) > 1e-12 {
		t.Errorf("an item of a quarter of the widest range loads by %v, and is compared by %v", a, b)
	}
}

// What a label is predicted from, of those learned from, p1 to p3, and of p4, who lacks answers.
func TestBaselines(t *testing.T) {
	t.Parallel()
	o, s := small(t)
	for method, want := range map[string][]float64{
		MethodItems: {
			0, 2, 4, 1,
			2, 3, 0, 3,
			4, 4, 2, 0,
			2, 3, 1, 2, // the means of a1, a2 and b1 are 2, 3 and 2
		},
		MethodSums: { // A, C, B, and what has no subscale
			1, 2, 4, 1,
			2, 3, 0, 3,
			4, 4, 2, 0,
			7. / 3, 3, 1, 2,
		},
		MethodMissing: { // A, C, B, and c by itself
			0, 0, 0, 0,
			0.5, 1, 0, 0,
			0, 0, 1, 0,
			1, 1, 0, 0,
		},
	} {
		m, err := o.learn(t.Context(), s, method, []int{0, 1, 2}, solver.Candidate{Factors: 1})
		if err != nil {
			t.Fatal(err)
		}
		got, err := m.features([]int{0, 1, 2, 3})
		if err != nil {
			t.Fatal(err)
		}
		if !mat.EqualApprox(got, mat.NewDense(4, len(want)/4, want), 1e-15) {
			t.Errorf("%s:\n%v", method, mat.Formatted(got))
		}
		if m.loadings != nil || HasFactors(method) {
			t.Errorf("%s has loadings", method)
		}
	}
}

// The loadings are the correlations of the items with the components, whose variances are the largest eigenvalues.
func TestComponents(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	s, err := o.Begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	m, err := o.learn(t.Context(), s, MethodPCA, s.Order, solver.Candidate{Factors: 3})
	if err != nil {
		t.Fatal(err)
	}
	scores, err := m.features(s.Order)
	if err != nil {
		t.Fatal(err)
	}
	n, _ := scores.Dims()
	var gram, lengths mat.Dense
	gram.Mul(scores.T(), scores)
	lengths.Mul(m.loadings.T(), m.loadings)
	for a := range 3 {
		if mat.Sum(m.loadings.ColView(a)) < 0 {
			t.Errorf("component %d is negative", a)
		}
		for b := range 3 {
			variance, length := gram.At(a, b)/float64(n), lengths.At(a, b)
			if want := max(0, length); a == b && math.Abs(variance-want) > 1e-10 ||
				a != b && math.Max(math.Abs(variance), math.Abs(length)) > 1e-10 {
				t.Errorf("components %d and %d: covariance %v, of the loadings %v", a, b, variance, length)
			}
		}
	}
	if lengths.At(0, 0) < lengths.At(1, 1) || lengths.At(1, 1) < lengths.At(2, 2) {
		t.Errorf("variances %v, %v, %v are not in order", lengths.At(0, 0), lengths.At(1, 1), lengths.At(2, 2))
	}
	if _, err := o.learn(t.Context(), s, MethodPCA, s.Order, solver.Candidate{Factors: questionnairetest.Items +
		1}); err == nil || !strings.Contains(err.Error(), "10 factors for 9 items") {
		t.Errorf("more components than items: %v", err)
	}
}

// Missing answers that come with the label show in their own baseline; where none is missing, it knows nothing.
func TestMissingShowsALeak(t *testing.T) {
	t.Parallel()
	for _, leak := range []bool{true, false} {
		o := few(t, 150)
		rows := questionnairetest.Rows(2)
		for i, row := range rows[1:] {
			for j := range questionnairetest.Items {
				row[1+j] = strconv.Itoa((i + j) % 5)
			}
			if leak && row[len(row)-1] == "1" && i%10 != 0 {
				row[1], row[2] = "", ""
			}
		}
		o.Input = questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
		o.Methods, o.Columns.Labels = []string{MethodMissing}, []questionnaire.Label{{Name: "ill", Positive: "1"}}
		e, err := Run(t.Context(), o)
		if err != nil {
			t.Fatal(err)
		}
		for _, s := range e.Shares {
			if mean := s.AUROC[0].Mean; leak && mean < 0.85 || !leak && mean != 0.5 {
				t.Errorf("leak %t, share %v: AUROC %v", leak, s.Share, mean)
			}
		}
		if len(e.Disjoint) > 0 {
			t.Errorf("halves without loadings: %+v", e.Disjoint)
		}
	}
}
