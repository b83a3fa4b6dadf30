package icqf

import (
	"compress/gzip"
	"encoding/csv"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"
)

// shared reads a table of the shared cases, without its first columns; what is no number is NaN.
func shared(t testing.TB, name string, header bool, from int) *mat.Dense {
	t.Helper()
	root := os.Getenv("WARDCAST_SHARED")
	if root == "" {
		t.Skip("WARDCAST_SHARED does not name the folder of shared cases")
	}
	f, err := os.Open(filepath.Join(root, "cases", "icqf", name+".csv.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := csv.NewReader(z).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if header {
		rows = rows[1:]
	}
	out := mat.NewDense(len(rows), len(rows[0])-from, nil)
	for i, row := range rows {
		for j, s := range row[from:] {
			v, err := strconv.ParseFloat(s, 64)
			if err != nil && s == "F" {
				v = 1
			} else if err != nil && s != "M" {
				v = math.NaN()
			}
			out.Set(i, j, v)
		}
	}
	return out
}

// large returns a part of the questionnaire of 5,000 participants and 120 items, 10 % of the answers missing: confounds
// are age, mirrored, female, male and an intercept.
func large(t testing.TB, part string) Data {
	t.Helper()
	answers := shared(t, "large/"+part+"_M", true, 1)
	raw, train := shared(t, "large/"+part+"_confounds", true, 1), shared(t, "large/train_confounds", true, 1)
	ages := train.ColView(0).T()
	low, high := mat.Min(ages), mat.Max(ages)
	n, _ := answers.Dims()
	confounds := mat.NewDense(n, 5, nil)
	for i := range n {
		a := (raw.At(i, 0) - low) / (high - low)
		confounds.SetRow(i, []float64{1 - a, a, raw.At(i, 1), 1 - raw.At(i, 1), 1})
	}
	return Data{Answers: answers, Confounds: confounds, Max: 2}
}

// TestAgainstTheAuthors compares objectives with those of the authors' own factors, each by its definition.
func TestAgainstTheAuthors(t *testing.T) {
	t.Parallel()
	type run struct {
		name, peer, ending string
		s                  Settings
	}
	runs := []run{
		{name: "large", peer: "large/peer", ending: "_beta0.1_tol1e-06", s: Settings{Rank: 8, L1: 0.1, RelTol: 1e-6}},
		{name: "large", peer: "large/peer", ending: "_beta0.5_tol0.0001", s: Settings{Rank: 8, L1: 0.5, RelTol: 1e-6}},
	}
	for noise := 1; noise <= 3; noise++ {
		for set := range 3 {
			name := fmt.Sprintf("d%d_%02d", noise, set)
			runs = append(runs, run{name: name, peer: "table1/" + name + "_peer", ending: "_tol1e-07", s: Settings{
				Rank: 10, L1: 0.1, RelTol: 1e-6,
			}})
		}
	}
	for _, run := range runs {
		t.Run(run.name+run.ending, func(t *testing.T) {
			t.Parallel()
			var data Data
			var truth *mat.Dense
			peer := &Result{Model: Model{Loadings: shared(t, run.peer+"Q"+run.ending, false, 0)}}
			peer.Scores = shared(t, run.peer+"W"+run.ending, false, 0)
			if run.name == "large" {
				data, truth = large(t, "train"), shared(t, "large/Q_true", false, 0)
				peer.ConfoundLoadings = shared(t, run.peer+"Qc"+run.ending, false, 0)
			} else {
				data = Data{Answers: shared(t, "table1/"+run.name+"_M", false, 0), Max: 100}
				truth = shared(t, "table1/"+run.name+"_Q", false, 0)
			}
			theirs, _ := naive(t, data, run.s, peer)
			r := fit(t, data, run.s)
			checkResult(t, data, run.s, r)
			_, k := truth.Dims()
			var ourMatch, theirMatch float64
			for f, found := range match(r.Loadings, truth) {
				ourMatch += correlation(r.Loadings, found, truth, f) / float64(k)
			}
			for f, found := range match(peer.Loadings, truth) {
				theirMatch += correlation(peer.Loadings, found, truth, f) / float64(k)
			}
			t.Logf("objective %.6g, theirs %.6g (%+.1e); correlation with the truth %.4f, theirs %.4f; outside %.2g; "+
				"%d updates",
				r.Objective, theirs, r.Objective/theirs-1, ourMatch, theirMatch, r.Outside, r.Iterations)
			if r.Objective > theirs*(1+1e-3) {
				t.Errorf("objective %v, the authors reach %v", r.Objective, theirs)
			}
			if ourMatch < theirMatch-0.01 {
				t.Errorf("correlation %v with the true loadings, the authors' %v", ourMatch, theirMatch)
			}
			if r.Outside > 0.01*data.Max {
				t.Errorf("outside the range by %v", r.Outside)
			}
		})
	}
}

func TestScoresOfNewParticipants(t *testing.T) {
	t.Parallel()
	data, fresh := large(t, "train"), large(t, "new")
	r := fit(t, data, Settings{Rank: 8, L1: 0.1, RelTol: 1e-5})
	scores, err := r.Score(fresh.Answers, fresh.Confounds)
	if err != nil {
		t.Fatal(err)
	}
	truth := shared(t, "large/new_W_true", false, 0)
	var mean float64
	for f, found := range match(scores, truth) {
		mean += correlation(scores, found, truth, f) / 8
	}
	if mean < 0.9 {
		t.Errorf("correlation %v with the true scores", mean)
	}
}

// TestLagrangianOnSharedCases reports how often, and how far, the augmented Lagrangian rises at MinRho on the
// questionnaires of the paper's table 1, whose answers are at the ends of their range in many cells, and holds that it
// is by no more than the cells that are cut cost.
func TestLagrangianOnSharedCases(t *testing.T) {
	for noise := 1; noise <= 3; noise++ {
		sets, all := 0, ascent{}
		for set := range 20 {
			data := Data{Answers: shared(t, fmt.Sprintf("table1/d%d_%02d_M", noise, set), false, 0), Max: 100}
			a := ascend(t, started(t, data, Settings{Rank: 10, L1: 0.1, Rho: MinRho}))
			if a.beyond > 0 {
				t.Errorf("δ = .%d, set %d: %d updates rise by more than the cells that are cut cost",
					noise, set, a.beyond)
			}
			if a.rises > 0 {
				sets++
			}
			all.rises, all.largest = all.rises+a.rises, max(all.largest, a.largest)
		}
		t.Logf("δ = .%d: rises on %d of 20 questionnaires, in %d of 2,000 updates, by at most %.1e of it", noise, sets,
			all.rises, all.largest)
	}
}
