package questionnaire

import (
	"errors"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"
)

func evaluateOptions(t *testing.T) EvaluateOptions {
	t.Helper()
	o := EvaluateOptions{Options: plantedOptions(write(t, "x.csv", csvText(t, planted(1)))), Repeats: 2, Methods: Methods()}
	o.Columns.Labels = []Label{{"ill", "1"}, {"sex", "F"}}
	return o
}

// What was planted is found: an illness that comes with a factor, a sex that does not, and the factors themselves.
func TestEvaluate(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	e, err := Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if len(e.Shares) != len(Methods())*len(TrainShares()) {
		t.Fatalf("%d shares", len(e.Shares))
	}
	for _, s := range e.Shares {
		if s.Participants != int(math.Round(s.Share*plantedParticipants)) {
			t.Errorf("%s, share %v: %d participants", s.Method, s.Share, s.Participants)
		}
		if s.Share < 0.6 {
			continue
		}
		if s.AUROC[0].Count != o.Repeats || s.AUROC[0].Mean < 0.8 {
			t.Errorf("%s, share %v: AUROC %+v of what comes with a factor", s.Method, s.Share, s.AUROC[0])
		}
		if s.AUROC[1].Mean > 0.75 {
			t.Errorf("%s, share %v: AUROC %+v of what no factor tells", s.Method, s.Share, s.AUROC[1])
		}
		if s.Stability.Count != o.Repeats*plantedFactors || s.Stability.Mean < 0.95 {
			t.Errorf("%s, share %v: stability %+v", s.Method, s.Share, s.Stability)
		}
	}
	again, err := Evaluate(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(e, again); diff != "" {
		t.Errorf("a second run differs:\n%s", diff)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	t.Parallel()
	o := evaluateOptions(t)
	o.Columns.Labels = []Label{{"ill", "2"}}
	_, err := Evaluate(t.Context(), o)
	if at, ok := errors.AsType[*Error](err); !ok || at.Column != "ill" || !errors.Is(err, ErrOneClass) {
		t.Errorf("a label of one class: %v", err)
	}
	o = evaluateOptions(t)
	o.Methods = []string{"pca"}
	if _, err := Evaluate(t.Context(), o); !errors.Is(err, ErrOptions) {
		t.Errorf("an unknown method: %v", err)
	}
	o = EvaluateOptions{Options: plantedOptions(write(t, "x.csv", "id,q1,q2,q3\na,1,0,2\nb,0,2,1\n")), Repeats: 2, Methods: Methods()}
	o.Columns.Confounds = nil
	if _, err := Evaluate(t.Context(), o); !errors.Is(err, ErrOptions) {
		t.Errorf("two participants: %v", err)
	}
}

// The stability is the correlation, not the cosine, of best matches in any order.
func TestMatched(t *testing.T) {
	t.Parallel()
	whole := mat.NewDense(3, 2, []float64{1, 5, 2, 3, 3, 4})
	part := mat.NewDense(3, 2, []float64{10, 11, 6, 12, 8, 13})
	for _, c := range matched(whole, part) {
		if math.Abs(c-1) > 1e-12 {
			t.Errorf("correlation %v, want 1", c)
		}
	}
}
