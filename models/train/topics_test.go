package train

import (
	"context"
	"encoding/json"
	"math"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/solver/methods"
	"github.com/wardcast/wardcast/textproc"
)

// pooled trains the model of all complaints.
func pooled(t *testing.T, rows []Row, s Settings, previous *bundle.Bundle) *bundle.Bundle {
	t.Helper()
	s.PerComplaint, s.Pieces = Never, false
	j := job()
	j.Previous = func(context.Context, string) (*bundle.Bundle, error) { return previous, nil }
	trained, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, s, j)
	if err != nil {
		t.Fatal(err)
	}
	b := trained.Bundles[0]
	b.Version = "v" + string(s.Method)
	return b
}

// solved is what a manifest says of the solver.
type solved struct {
	Iterations int
	Objective  float64
	Alignment  *Alignment
}

func solverOf(t *testing.T, b *bundle.Bundle) solved {
	t.Helper()
	var s solved
	if err := json.Unmarshal(b.Manifest.Solver, &s); err != nil {
		t.Fatal(err)
	}
	return s
}

func topicsOf(t *testing.T, b *bundle.Bundle) *mat.Dense {
	t.Helper()
	topics, err := classifier.BundleTopics(b)
	if err != nil {
		t.Fatal(err)
	}
	return topics
}

// TestTopicsKeepTheirNumbers trains on the same notes again, after a version whose topics stand in another order.
func TestTopicsKeepTheirNumbers(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 80)
	order := []int{3, 0, 4, 2, 1}
	for _, method := range someMethods() {
		t.Run(method, func(t *testing.T) {
			t.Parallel()
			s := small()
			s.Method, s.Text.Weighting = Method(method), Method(method).Weighting()
			first := pooled(t, rows, s, nil)
			if a := solverOf(t, first).Alignment; a != nil {
				t.Errorf("aligned to nothing: %+v", a)
			}
			topics := topicsOf(t, first)
			p, _ := topics.Dims()
			for c := range order {
				if length := mat.Norm(topics.ColView(c), 2); math.Abs(length-1) > 1e-12 {
					t.Errorf("topic %d of length %v", c, length)
				}
			}
			turned := mat.NewDense(p, len(order), nil)
			for to, from := range order {
				turned.SetCol(to, mat.Col(nil, from, topics))
			}
			earlier := *first
			earlier.Tensors = bundle.Tensors{"topics": {Shape: []int{p, len(order)}, Data: turned.RawMatrix().Data}}

			again := pooled(t, rows, s, &earlier)
			if !mat.EqualApprox(topicsOf(t, again), turned, 1e-12) {
				t.Error("the topics are not in the order of the version before")
			}
			a := solverOf(t, again).Alignment
			if a == nil || a.Version != earlier.Version || a.WarmStart || a.Kept != len(order) || a.Of != len(order) ||
				math.Abs(a.MeanCosine-1) > 1e-9 {
				t.Errorf("alignment %+v", a)
			}

			s.WarmStart = true
			warm := pooled(t, rows, s, &earlier)
			if a := solverOf(t, warm).Alignment; a == nil || a.WarmStart != (method != methods.SVD) ||
				a.Kept != len(order) {
				t.Errorf("alignment of a warm start %+v", a)
			}
			const slack = 1e-5
			if before, now := solverOf(t, first).Objective, solverOf(t, warm).Objective; now > before*(1+slack) {
				t.Errorf("objective %v from topics of %v", now, before)
			}
		})
	}
}

// A version of another rank or method gives numbers, but no start.
func TestOtherVersionsBefore(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 150)
	s := small()
	s.WarmStart = true
	first := pooled(t, rows, s, nil)
	for name, c := range map[string]struct {
		change func(*Settings)
		warm   bool
		of     int
	}{
		"the same":      {func(*Settings) {}, true, 5},
		"fewer topics":  {func(s *Settings) { s.Rank = 3 }, false, 3},
		"more topics":   {func(s *Settings) { s.Rank = 8 }, false, 5},
		"another":       {func(s *Settings) { s.Method = "nmf" }, false, 5},
		"binary rows":   {func(s *Settings) { s.Text.Weighting = textproc.Binary }, true, 5},
		"phrases too":   {func(s *Settings) { s.Text.NGrams = 2 }, true, 5},
		"without words": {func(s *Settings) { s.Words = false }, true, 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := s
			c.change(&s)
			a := solverOf(t, pooled(t, rows, s, first)).Alignment
			if a == nil || a.WarmStart != c.warm || a.Of != c.of || a.Kept > a.Of || a.MeanCosine < 0.2 ||
				a.MeanCosine > 1+1e-9 {
				t.Errorf("alignment %+v", a)
			}
		})
	}
	bow := small()
	bow.Method, bow.WarmStart = BagOfWords, true
	words := pooled(t, rows, bow, first)
	if words.Manifest.Solver != nil {
		t.Errorf("words alone were solved for: %s", words.Manifest.Solver)
	}
	if a := solverOf(t, pooled(t, rows, small(), words)).Alignment; a != nil {
		t.Errorf("aligned to a version without topics: %+v", a)
	}
}

// TestMapped: topics follow their terms into another vocabulary.
func TestMapped(t *testing.T) {
	t.Parallel()
	b := &bundle.Bundle{
		Evaluation: []byte("{}"), Report: []byte("{}"),
		Manifest:   bundle.Manifest{Rank: 2},
		Vocabulary: []bundle.Term{{Text: "arm"}, {Text: "cough"}, {Text: "hip"}},
		Tensors:    bundle.Tensors{"topics": {Shape: []int{3, 2}, Data: []float64{1, 2, 3, 4, 5, 6}}},
	}
	got, err := mapped(b, []textproc.Term{{Text: "ankle"}, {Text: "arm"}, {Text: "hip"}, {Text: "knee"}})
	if err != nil {
		t.Fatal(err)
	}
	if want := mat.NewDense(4, 2, []float64{0, 0, 1, 2, 5, 6, 0, 0}); !mat.Equal(got, want) {
		t.Errorf("got %v", mat.Formatted(got))
	}
	b.Tensors = nil
	if _, err := mapped(b, nil); err == nil {
		t.Error("topics that are missing were mapped")
	}
}

// TestUnitColumns: the head weighs topics against words, so that their length must not depend on the method.
func TestUnitColumns(t *testing.T) {
	t.Parallel()
	a := mat.NewDense(2, 3, []float64{3, 0, -1e-200, 4, 0, 0})
	unitColumns(a)
	if want := mat.NewDense(2, 3, []float64{.6, 0, -1, .8, 0, 0}); !mat.EqualApprox(a, want, 1e-15) {
		t.Errorf("got %v", mat.Formatted(a))
	}
}

// TestPreviousFails: a version that should be there and cannot be read ends the training.
func TestPreviousFails(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 200)
	j := job()
	j.Previous = func(context.Context, string) (*bundle.Bundle, error) { return nil, context.DeadlineExceeded }
	if _, err := Train(t.Context(), Data{Rows: rows, Aux: auxColumns()}, small(), j); err == nil {
		t.Error("trained without the version before")
	}
}
