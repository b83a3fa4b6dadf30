package train

import (
	"context"
	"errors"
	"fmt"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/textproc"
)

func TestCandidates(t *testing.T) {
	t.Parallel()
	methods := []string{"majority", "bow", "sonmf", "svd+words", "log-nmf"}
	both := []textproc.Weighting{textproc.TFIDF, textproc.Binary}
	for name, c := range map[string]struct {
		weightings []textproc.Weighting
		want       []string
	}{
		"both": {both, []string{
			"majority  0", "bow tf-idf 0", "bow binary 0",
			"sonmf tf-idf 10", "sonmf tf-idf 20", "sonmf binary 10", "sonmf binary 20",
			"svd+words tf-idf 10", "svd+words tf-idf 20", "svd+words binary 10", "svd+words binary 20",
			"log-nmf binary 10", "log-nmf binary 20",
		}},
		"each its own": {nil, []string{
			"majority  0", "bow tf-idf 0", "sonmf tf-idf 10", "sonmf tf-idf 20", "svd+words tf-idf 10",
			"svd+words tf-idf 20", "log-nmf binary 10", "log-nmf binary 20",
		}},
	} {
		got, err := Configurations(methods, c.weightings, []int{10, 20})
		if err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, c := range got {
			names = append(names, fmt.Sprintf("%s %s %d", c, c.Weighting, c.Rank))
		}
		if d := cmp.Diff(c.want, names); d != "" {
			t.Errorf("%s: %s", name, d)
		}
	}
	if got, err := Configurations(methods, both[:1], []int{10}); !errors.Is(err, ErrSettings) ||
		!strings.Contains(err.Error(), "log-nmf") {
		t.Errorf("binary factorizations of tf-idf rows: %v, %v", got, err)
	}
	for name, c := range map[string]struct {
		methods []string
		ranks   []int
	}{
		"rank 0":          {[]string{"sonmf"}, []int{10, 0}},
		"negative rank":   {[]string{"sonmf"}, []int{-3}},
		"a rank twice":    {[]string{"sonmf"}, []int{2, 3, 2}},
		"a method twice":  {[]string{"sonmf", "bow", "sonmf"}, []int{2}},
		"majority twice":  {[]string{"majority", "majority"}, []int{2}},
		"unknown":         {[]string{"lda"}, []int{1}},
		"empty":           {[]string{""}, []int{1}},
		"nothing":         {nil, []int{1}},
		"no ranks":        {[]string{"sonmf"}, nil},
		"words of what":   {[]string{"+words"}, []int{1}},
		"words twice":     {[]string{"svd+words+words"}, []int{1}},
		"in capitals":     {[]string{"SVD"}, []int{1}},
		"words and no":    {[]string{"majority+words"}, []int{1}},
		"words and words": {[]string{"bow+words"}, []int{1}},
	} {
		if got, err := Configurations(c.methods, both, c.ranks); !errors.Is(err, ErrSettings) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func TestCrossValidationNeverPartsAVisit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(20, 80).Draw(t, "rows")
		rows := make([]Row, n)
		for i := range rows {
			if v := rapid.IntRange(0, 30).Draw(t, "visit"); v > 0 {
				rows[i].Visit = fmt.Sprint(v)
			}
			rows[i].Positive = rapid.Bool().Draw(t, "positive")
		}
		folds, repeats := rapid.IntRange(2, 4).Draw(t, "folds"), rapid.IntRange(1, 3).Draw(t, "repeats")
		got, err := CrossValidation(rows, folds, repeats, 1)
		if errors.Is(err, eval.ErrOneClass) || errors.Is(err, eval.ErrArgument) {
			return // drawn too few visits, or one class
		}
		if err != nil || len(got) != repeats {
			t.Fatalf("%d repeats, %v", len(got), err)
		}
		for _, splits := range got {
			tested := make([]int, n)
			for _, s := range splits {
				checkSplit(t, rows, s)
				if len(s.Train)+len(s.Test) != n {
					t.Fatalf("a split of %d and %d rows of %d", len(s.Train), len(s.Test), n)
				}
				for _, i := range s.Test {
					tested[i]++
				}
			}
			if slices.Min(tested) != 1 || slices.Max(tested) != 1 {
				t.Fatalf("rows are tested %v times", tested)
			}
		}
	})
}

// checkSplit looks for visits on both sides.
func checkSplit(t interface{ Fatalf(string, ...any) }, rows []Row, s Split) {
	visits, trained := patients(rows), map[string]bool{}
	for _, i := range s.Train {
		trained[visits[i]] = true
	}
	for _, i := range s.Test {
		if trained[visits[i]] {
			t.Fatalf("visit of row %d is trained and tested on", i)
		}
	}
}

func TestHoldout(t *testing.T) {
	t.Parallel()
	rows := []Row{{Visit: "a"}, {Visit: "b"}, {}, {Visit: "a"}, {Visit: "c"}, {}}
	repeats, dropped, err := Holdout(rows, func(i int) bool { return i < 3 })
	if err != nil {
		t.Fatal(err)
	}
	if d := cmp.Diff(Repeats{{{Train: []int{0, 1, 2}, Test: []int{4, 5}}}}, repeats); d != "" || dropped != 1 {
		t.Errorf("%d dropped: %s", dropped, d)
	}
	checkSplit(t, rows, repeats[0][0])
	for name, inTraining := range map[string]func(int) bool{
		"nothing to train on":       func(int) bool { return false },
		"nothing to test on":        func(int) bool { return true },
		"only visits of both sides": func(i int) bool { return i != 3 },
	} {
		if got, _, err := Holdout(rows, inTraining); !errors.Is(err, ErrSettings) {
			t.Errorf("%s: got %v, %v", name, got, err)
		}
	}
}

func candidates(t *testing.T, methods ...string) []Configuration {
	t.Helper()
	c, err := Configurations(methods, []textproc.Weighting{textproc.TFIDF}, []int{4})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func TestEvaluateMajority(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 300)
	repeats, err := CrossValidation(rows, 3, 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	scores, err := Evaluate(t.Context(), Data{Rows: rows, Aux: auxColumns()},
		Comparison{Configurations: candidates(t, "majority"), Repeats: repeats, Settings: small()})
	if err != nil {
		t.Fatal(err)
	}
	s, share := scores[0], float64(Positives(rows))/float64(len(rows))
	if s.Name != "majority" || s.Repeats != 2 || s.Notes != len(rows) || s.Positives != Positives(rows) {
		t.Errorf("got %+v", s)
	}
	if math.Abs(s.Accuracy-max(share, 1-share)) > 1e-12 || s.AccuracySD > 1e-12 {
		t.Errorf("accuracy %v, %v of the notes are positive", s.Accuracy, share)
	}
	if math.Abs(s.Brier-share*(1-share)) > 1e-3 || math.Abs(s.BrierScaled) > 1e-2 || s.AUROC > 0.51 {
		t.Errorf("brier %v, scaled %v, AUROC %v", s.Brier, s.BrierScaled, s.AUROC)
	}
}

// TestEvaluateSameBits is not parallel: it changes GOMAXPROCS.
func TestEvaluateSameBits(t *testing.T) {
	rows, truth := generated(t, 0, 200)
	repeats, err := CrossValidation(rows, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := func(processors int) []Evaluation {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(processors))
		scores, err := Evaluate(t.Context(), Data{Rows: rows, Aux: auxColumns(), Pooled: true},
			Comparison{Configurations: candidates(t, "bow", "svd+words"), Repeats: repeats, Settings: small()})
		if err != nil {
			t.Fatal(err)
		}
		return scores
	}
	first := run(1)
	if d := cmp.Diff(first, run(4)); d != "" {
		t.Error(d)
	}
	oracle := auroc(t, rows, truth)
	for _, s := range first {
		if !(s.AUROC > 0.6 && s.AUROC < oracle+0.02) || s.AUROCInterval == nil || s.AUROCInterval.Low >= s.AUROC ||
			s.Accuracy <= 0.5 || s.CalibrationSlope == nil {
			t.Errorf("%s: %+v, the truth has an AUROC of %.3f", s.Name, s, oracle)
		}
	}
}

// TestEvaluateWeights: the ℓ1 weights are those of l1-nmf alone, whichever methods it is compared with.
func TestEvaluateWeights(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 150)
	repeats, err := CrossValidation(rows, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	run := func(s Settings) []Evaluation {
		scores, err := Evaluate(t.Context(), Data{Rows: rows},
			Comparison{Configurations: candidates(t, "bow", "sonmf", "l1-nmf"), Repeats: repeats, Settings: s})
		if err != nil {
			t.Fatal(err)
		}
		return scores
	}
	weighted := small()
	weighted.L1Topics = new(0.5)
	got, want := run(weighted), run(small())
	if d := cmp.Diff(want[:2], got[:2]); d != "" {
		t.Errorf("methods without weights: %s", d)
	}
	if got[2].LogLoss == want[2].LogLoss {
		t.Errorf("l1-nmf has a log loss of %v with the weight and without", got[2].LogLoss)
	}
}

func TestEvaluateRefuses(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 120)
	repeats, err := CrossValidation(rows, 2, 1, 1)
	if err != nil {
		t.Fatal(err)
	}
	d := Data{Rows: rows, Aux: auxColumns()}
	bad := small()
	bad.Folds = 1
	if _, err := Evaluate(t.Context(), d, Comparison{
		Configurations: candidates(t, "bow"), Repeats: repeats, Settings: bad,
	}); !errors.Is(err, ErrSettings) {
		t.Errorf("settings: %v", err)
	}
	// A test set of one class measures nothing.
	one, _, err := Holdout(rows, func(i int) bool { return i < 60 || rows[i].Positive })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Evaluate(t.Context(), d, Comparison{
		Configurations: candidates(t, "majority"), Repeats: one, Settings: small(),
	}); !errors.Is(err, eval.ErrOneClass) {
		t.Errorf("one class: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for _, method := range []string{"svd", "majority"} { // one heeds the context, the other is done at once
		if _, err := Evaluate(ctx, d,
			Comparison{Configurations: candidates(t, method), Repeats: repeats, Settings: small()}); !errors.Is(err,
			context.Canceled) {
			t.Errorf("cancelled %s: %v", method, err)
		}
	}
}

func TestGroups(t *testing.T) {
	t.Parallel()
	var rows []Row
	for i := range 90 {
		rows = append(rows,
			Row{Complaint: []string{"Chest Pain", "chest  pain", "", "n/v"}[min(i%4, 3)], Positive: i%3 == 0})
	}
	groups := Groups(Data{Rows: rows, Aux: auxColumns()}, 40)
	if len(groups) != 1 || groups[0].Complaint != "Chest Pain" || len(groups[0].Rows) != 46 ||
		len(groups[0].At) != 46 || len(groups[0].Aux) != len(auxColumns()) || groups[0].Pooled {
		t.Fatalf("got %d groups: %+v", len(groups), groups)
	}
	for at, i := range groups[0].At {
		if d := cmp.Diff(rows[i], groups[0].Rows[at]); d != "" {
			t.Error(d)
		}
	}
}
