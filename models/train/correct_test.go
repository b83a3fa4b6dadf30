package train

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier"
	"github.com/wardcast/wardcast/classifier/bundle"
	"github.com/wardcast/wardcast/classifier/eval"
	"github.com/wardcast/wardcast/models"
	"github.com/wardcast/wardcast/models/gate"
	"github.com/wardcast/wardcast/models/report"
)

// split names two halves of the notes as two complaints.
func split(rows []Row) []Row {
	for i := range rows {
		rows[i].Complaint = []string{"chest", "hip"}[i%2]
	}
	return rows
}

// outcomeOf returns that of a complaint.
func outcomeOf(t *testing.T, out *Trained, model string) *Outcome {
	t.Helper()
	for i := range out.Outcomes {
		if out.Outcomes[i].Model == model {
			return &out.Outcomes[i]
		}
	}
	t.Fatalf("no outcome of %s", model)
	return nil
}

// A complaint in which a word means the opposite keeps a model of its own, made of the features of the model of all
// complaints.
func TestCorrectFindsWhatDiffers(t *testing.T) {
	long(t)
	t.Parallel()
	rows, _ := generated(t, 0, 1200)
	rows = split(rows)
	random := rand.New(rand.NewPCG(1, 2))
	for i := range rows {
		p := 0.2
		if random.IntN(2) == 0 {
			rows[i].Text += " zebra"
			p = []float64{0.9, 0.02}[i%2]
		}
		rows[i].Positive = random.Float64() < p
	}
	out := train(t, rows, small())
	o := outcomeOf(t, out, "hip")
	if !o.Kept || o.Difference.High > 0 || len(out.Bundles) < 2 {
		t.Errorf("kept %v, log loss less pooled %+v: %s", o.Kept, o.Difference, o.Why)
	}
	d := Data{Rows: rows, Aux: auxColumns()}
	p, err := out.Probabilities(d)
	if err != nil {
		t.Fatal(err)
	}
	// Its predictions of the notes it was trained on cannot be worse than those out of fold: the sum of both parts is
	// right.
	var in, outside float64
	n := 0
	seen, held := eval.Losses(labels(rows), p), eval.Losses(labels(rows), out.OutOfFold)
	for i := range rows {
		if rows[i].Complaint == "hip" {
			in, outside = in+seen[i], outside+held[i]
			n++
		}
	}
	if in > outside {
		t.Errorf("log loss %v of the training notes, %v out of fold", in/float64(n), outside/float64(n))
	}
	for _, b := range out.Bundles[1:] {
		if b.Manifest.VocabularySHA256 != out.Bundles[0].Manifest.VocabularySHA256 ||
			len(b.Vocabulary) != len(out.Bundles[0].Vocabulary) {
			t.Errorf("%s has another vocabulary than the model of all complaints", b.Manifest.Name)
		}
		// Its report counts what it has learned itself.
		var r, whole report.Report
		if err := errors.Join(json.Unmarshal(b.Report, &r), json.Unmarshal(out.Bundles[0].Report, &whole)); err != nil {
			t.Fatal(err)
		}
		learned := r.Topics + r.Words + r.Pieces
		if r.Correction == nil || *r.Correction < 1 || *r.Correction >= learned || whole.Correction != nil {
			t.Fatalf("%s: a correction of %v of %d coefficients, the other one of %v", b.Manifest.Name, r.Correction,
				learned, whole.Correction)
		}
		w := r.Data.Training
		if want := float64(min(w.Events, w.Notes-w.Events)) / float64(*r.Correction); r.EventsPerVariable != want {
			t.Errorf("%s: %v events per variable, want %v", b.Manifest.Name, r.EventsPerVariable, want)
		}
		const corrects = "of the coefficients of _other, the model of all complaints"
		if !strings.Contains(b.Card, corrects) || !strings.Contains(string(b.Page), corrects) {
			t.Errorf("%s: the card does not say that it is a correction", b.Manifest.Name)
		}
	}
}

func TestLeastIsChosenWithoutTheRow(t *testing.T) {
	t.Parallel()
	held := [][]float64{{3, 3, -1, -1}, {-1, -1, 2, 2}}
	best, got := least(held, []bool{true, true, true, true}, []int{0, 0, 1, 1})
	if want := []float64{-1, -1, -1, -1}; best != 0 || !slices.Equal(got, want) {
		t.Errorf("candidate %d, %v, want 0, %v", best, got, want)
	}
}

// A correction keeps the map of all complaints unless its own is clearly better.
func TestNeededMaps(t *testing.T) {
	t.Parallel()
	x, y := mat.NewDense(40, 1, nil), make([]int, 40)
	for i := range y {
		x.Set(i, 0, float64(i%2*2-1))
	}
	for share, slope := range map[int]bool{16: false, 20: true} { // of 20 notes on either side that are as expected
		for i := range y {
			y[i] = i % 2
			if i/2 >= share {
				y[i] = 1 - y[i]
			}
		}
		own, err := classifier.FitClasses(bundle.Platt, x, y)
		if err != nil {
			t.Fatal(err)
		}
		if got := needed(own, x, y); (got.Slope != 1) != slope || got.Kind != bundle.Platt {
			t.Errorf("%d of 20: %+v", share, got)
		}
	}
	if own := (bundle.Calibration{Kind: bundle.Isotonic}); needed(own, x, y).Kind != bundle.Isotonic {
		t.Error("an isotonic map is not kept")
	}
}

// Where outcomes are noise, no correction knows more than the share of admissions.
func TestCorrectLearnsNothingFromNoise(t *testing.T) {
	t.Parallel()
	rows, _ := generated(t, 0, 1200)
	rows = split(shuffled(rows))
	s := smaller()
	s.PerComplaint = Always
	out := train(t, rows, s)
	for _, o := range out.Outcomes {
		share := float64(o.Positives) / float64(o.Documents)
		base := -share*math.Log(share) - (1-share)*math.Log(1-share)
		if *o.LogLoss < base-0.002 {
			t.Errorf("%s: log loss %.4f, of the share of admissions %.4f", o.Model, *o.LogLoss, base)
		}
	}
}

// Folds must not let the shares of admissions of complaints through, which chance makes: a model of shuffled outcomes
// knew something by them.
func TestShuffledOutcomesAreRefused(t *testing.T) {
	if testing.Short() {
		t.Skip("it trains on many notes")
	}
	t.Parallel()
	rows, _ := generated(t, 0, 1500)
	rows = shuffled(rows)
	for i := range rows {
		rows[i].Complaint = fmt.Sprintf("complaint %d", i%40)
	}
	_, e, err := entering(t, models.OpenDir(t.TempDir()), rows)
	if err != nil || e.Served != nil || e.Verdict.Decision != gate.Refuse {
		t.Fatalf("%+v, error %v", e, err)
	}
}
