package fit

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/linalg"
)

// 0 stands for no suggestion.
func TestDecide(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		validation, parallel, simple int
		want                         string
	}{
		{3, 3, 3, model.CrossValidation},
		{1, 3, 3, model.ParallelAnalysis},
		{1, 3, 2, model.ParallelAnalysis},
		{1, 3, 5, model.SimpleStructure},
		{2, 3, 5, model.SimpleStructure},
		{3, 3, 5, model.CrossValidation}, // items load on several separate factors
		{1, 1, 3, model.CrossValidation}, // halves of one factor
		{1, 0, 4, model.CrossValidation}, // noise
		{4, 2, 3, model.CrossValidation},
		{1, 11, 3, model.CrossValidation},
		{1, 11, 5, model.CrossValidation}, // fewer than parallel analysis
	} {
		o := Options{MostFactors: 10}
		o.Method = model.MethodICQF
		d := o.decide(&Choice{Candidate: solver.Candidate{Factors: c.validation}}, Others{
			Parallel: &Parallel{Suggested: number(c.parallel)}, MAP: &MAP{},
			Simple: SimpleStructure{Suggested: number(c.simple)},
		})
		if d.Followed != c.want {
			t.Errorf("%+v: %s is followed: %s", c, d.Followed, d.Because)
		}
		if strings.Contains(d.Because, "no fewer") && (c.parallel == 0 || c.validation < c.parallel) {
			t.Errorf("%+v: it says %q", c, d.Because)
		}
		// MAP, for one, may have as many.
		if d.Followed == model.SimpleStructure && strings.Contains(d.Because, "others") {
			t.Errorf("%+v: it says %q", c, d.Because)
		}
	}
}

// number is nil for 0.
func number(k int) *int {
	if k == 0 {
		return nil
	}
	return &k
}

// Factor analysis follows parallel analysis only to a number that a fit can have.
func TestDecideOfFactorAnalysis(t *testing.T) {
	t.Parallel()
	zero := 0
	for _, c := range []struct {
		parallel *int
		want     string
	}{{nil, ""}, {&zero, ""}, {number(11), ""}, {number(10), model.ParallelAnalysis}} {
		o := Options{MostFactors: 10}
		o.Method = model.MethodFA
		d := o.decide(nil, Others{Parallel: &Parallel{Suggested: c.parallel}, MAP: &MAP{Suggested: number(3)}})
		if said := d.Sentence(); d.Followed != c.want || c.want == "" && d.Disagree() &&
			!strings.Contains(said, "None is followed: parallel analysis suggests no number of factors") {
			t.Errorf("%q is followed: %s", d.Followed, said)
		}
	}
}

// A criterion that cannot be computed has a reason, which names an item, and no error; a context that ends is an error.
func TestNoCriterion(t *testing.T) {
	t.Parallel()
	study := func(x *mat.Dense) *Study {
		n, p := x.Dims()
		s := &Study{
			Table: &answers.Table{Answers: x}, Order: linalg.Indices(n), scale: questionnaire.Range{High: 4},
		}
		for j := range p {
			s.Items = append(s.Items, questionnaire.Item{Name: "q" + strconv.Itoa(j+1)})
		}
		return s
	}
	o := Options{MostFactors: 2, Method: model.MethodICQF}
	x := mat.NewDense(50, 4, nil)
	x.Apply(func(i, j int, _ float64) float64 { return float64((i*i + 7*j*i) % 5) }, x)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := o.others(ctx, study(x)); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, want the context's", err)
	}
	tiny := mat.DenseCopyOf(x)
	for i := range 50 {
		tiny.Set(i, 2, 1e-200*x.At(i, 2))
	}
	for _, c := range []struct {
		answers *mat.Dense
		all     bool // the criteria
		want    string
	}{
		{mat.DenseCopyOf(x.Slice(0, 50, 0, 1)), true, "two items"},
		{mat.DenseCopyOf(x.Slice(0, 50, 0, 2)), false, "2 items are too few for a factor"},
		{mat.DenseCopyOf(x.Slice(0, 4, 0, 4)), false, "only 4 participants answered some pair"},
		{tiny, true, `"q3" has answers whose squares overflow or vanish`},
	} {
		others, err := o.others(t.Context(), study(c.answers))
		if err != nil || others.Simple.Suggested != nil || !strings.Contains(others.Simple.Reason, c.want) ||
			others.Simple.Curve == nil {
			t.Errorf("%s: simple structures %+v (%v)", c.want, others.Simple, err)
		}
		if p, m := others.Parallel, others.MAP; c.all && (p.Suggested != nil || p.Eigenvalues == nil ||
			m.Suggested != nil || m.Curve == nil || p.Reason != m.Reason || !strings.Contains(m.Reason, c.want)) {
			t.Errorf("%s: parallel analysis %+v, MAP %+v", c.want, p, m)
		}
	}
}
