package train

import (
	"math"
	"runtime"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/ingest/msg"
)

// fitted returns the model of rows whose features are laid out, or not.
func fitted(t *testing.T, d Data, s Settings, manyRows int) *Fitted {
	t.Helper()
	r := newRows(d)
	s.manyRows = manyRows
	tx, err := vectorize(t.Context(), r, s.Text, &s)
	if err != nil {
		t.Fatal(err)
	}
	if tx, err = tx.factorize(t.Context(), &s, nil); err != nil {
		t.Fatal(err)
	}
	f, err := head(t.Context(), r, tx, &s)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestManyNotesPredictAlike: the model of features that are not laid out is that of features that are, but for its
// penalty, which comes from fewer that were tried.
func TestManyNotesPredictAlike(t *testing.T) {
	long(t)
	t.Parallel()
	// Of 2,500 notes the two ways choose penalties far from each other, as the losses of both are nearly flat there. Of
	// 2,000, 2,300, 2,600, 3,000 and 3,500 they do not.
	rows, _ := generated(t, 0, 2600)
	rows[3].Aux = slices.Clone(rows[3].Aux)
	rows[3].Aux[1], rows[3].Aux[2] = msg.Value{}, msg.Value{}
	for name, change := range map[string]func(*Settings){
		"topics, words and pieces":  func(*Settings) {},
		"words alone":               func(s *Settings) { s.Method, s.Pieces = BagOfWords, false },
		"topics alone":              func(s *Settings) { s.Words = false },
		"auxiliary not penalized":   func(s *Settings) { s.FreeAux = true },
		"phrases and the one error": func(s *Settings) { s.Text.NGrams, s.OneSE = 2, true },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := small()
			change(&s)
			d := Data{Rows: rows, Aux: auxColumns(), Pooled: true}
			want, got := fitted(t, d, s, 0), fitted(t, d, s, len(rows))
			laid, product := eval.Losses(labels(rows), want.OutOfFold), eval.Losses(labels(rows), got.OutOfFold)
			difference, err := eval.MeanDifference(product, laid, patients(rows))
			if err != nil {
				t.Fatal(err)
			}
			// Of one standard error of the loss itself, the penalty between those of the fine sequence may cost a
			// tenth. The held-out predictions of laid-out features had no part in choosing it, which costs them up to a
			// quarter more.
			_, deviation := stat.MeanStdDev(laid, nil)
			if bound := 0.35 * stat.StdErr(deviation, float64(len(laid))); !s.OneSE &&
				math.Abs(difference.Value) > bound {
				t.Errorf("log loss differs by %.5f, more than %.5f", difference.Value, bound)
			}
			if c := stat.Correlation(want.OutOfFold, got.OutOfFold, nil); c < 0.995 {
				t.Errorf("correlation %.4f of the predictions", c)
			}
			if len(got.Heads[0].Words) != len(want.Heads[0].Words) || len(got.Heads[0].Grams) !=
				len(want.Heads[0].Grams) || len(got.Heads[0].Beta) != len(want.Heads[0].Beta) {
				t.Error("the heads have other features")
			}
			model, err := classifier.New(got.Parts)
			if err != nil {
				t.Fatal(err)
			}
			scorer := model.Scorer(classifier.Options{})
			var scored []float64
			for _, r := range rows {
				scored = append(scored,
					scorer.Probability(r.Text, append(slices.Clip(r.Aux), classifier.Complaint(r.Complaint))))
			}
			if c := stat.Correlation(scored, got.OutOfFold, nil); c < 0.9 {
				t.Errorf("correlation %.3f of predictions out of fold with those of the scorer", c)
			}
		})
	}
}

// TestManyNotesTrain: with more notes than are laid out a training samples what it may, predicts all notes out of fold,
// and does not depend on the number of threads.
//
//nolint:paralleltest // it sets GOMAXPROCS
func TestManyNotesTrain(t *testing.T) {
	rows, _ := generated(t, 0, 750)
	s := small()
	s.Text.NGrams, s.manyRows = 2, 600
	train := func(threads int) *Fitted {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(threads))
		f, err := Fit(t.Context(), Data{Rows: rows, Aux: auxColumns(), Pooled: true}, s)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	f := train(1)
	if a := auroc(t, rows, f.OutOfFold); a < 0.8 {
		t.Errorf("AUROC %.3f", a)
	}
	if f.SmallestPenalty || f.Lambda == 0 {
		t.Errorf("λ = %v, the smallest that was tried: %v", f.Lambda, f.SmallestPenalty)
	}
	if again := train(3); !slices.Equal(f.OutOfFold, again.OutOfFold) ||
		!slices.Equal(f.Heads[0].Grams, again.Heads[0].Grams) || !mat.Equal(f.Topics, again.Topics) {
		t.Error("one thread gives other bits than several")
	}
}

func TestSampleIsEvenlySpaced(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 10)
	r := newRows(Data{Rows: rows, Aux: auxColumns()})
	if r.sample(10) != r || r.sample(0) != r {
		t.Error("a sample of all is not all")
	}
	of := r.sample(4)
	want := []int{0, 2, 5, 7}
	for i, at := range want {
		if of.all[i].Visit != rows[at].Visit || of.y[i] != rows[at].Positive || of.docs[i].Text != rows[at].Text ||
			of.patients[i] != r.patients[at] || of.values[0][i] != r.values[0][at] {
			t.Errorf("row %d is not note %d", i, at)
		}
	}
	if len(of.all) != len(want) || len(r.all) != 10 || of.columns[0].Kind != bundle.Numeric {
		t.Errorf("%d of %d rows", len(of.all), len(r.all))
	}
}
