package sonmf_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/matrix"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// fewUpdates is the largest number of updates that the default step needs where the package makes allUpdates.
const fewUpdates = 100

// binaryRun is a run of the authors' package on a binary matrix.
type binaryRun struct {
	run

	Cost float64 `json:"objective_cost"`

	eta   float64
	x     mat.Matrix
	start solver.Settings
}

// binaryRuns calls f for each such run to its end.
func binaryRuns(t *testing.T, f func(t *testing.T, r binaryRun)) {
	t.Helper()
	folder, _ := sharedRuns(t)
	data, err := os.ReadFile(filepath.Join(folder, "runs.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]binaryRun{}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	found := false
	for name, r := range all {
		step, ok := strings.CutPrefix(r.Method, "so_bin_eta")
		if !ok || r.Mode != "full" {
			continue
		}
		step, _, _ = strings.Cut(step, "_")
		eta, err := strconv.ParseFloat(step, 64)
		if err != nil {
			t.Fatal(err)
		}
		found = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.eta = eta
			r.x = readTransposed(t, filepath.Join(folder, r.X))
			r.start = solver.Settings{
				MaxIter:     fewUpdates,
				StartTopics: readFactor(t, filepath.Join(folder, r.F0)),
				StartScores: readFactor(t, filepath.Join(folder, r.G0)),
			}
			_, r.start.Rank = r.start.StartTopics.Dims()
			f(t, r)
		})
	}
	if !found {
		t.Fatal("no runs on binary matrices among the cases")
	}
}

func solveBinary(t *testing.T, x mat.Matrix, settings solver.Settings, s sonmf.BinarySettings) *solver.Result {
	t.Helper()
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, newBinary(t, s))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// TestBinaryFollowsAuthorsPackage makes the package's updates from the package's start: the objectives of its trace.
func TestBinaryFollowsAuthorsPackage(t *testing.T) {
	t.Parallel()
	binaryRuns(t, func(t *testing.T, r binaryRun) {
		r.start.MaxIter = 30
		got := solveBinary(t, r.x, r.start, sonmf.BinarySettings{Step: sonmf.BinaryStepFixed, Eta: r.eta})
		n, p := r.x.Dims()
		for i, want := range r.Trace[:30] {
			if mean := got.Trace[i].Objective / float64(n*p); math.Abs(mean/want-1) > 1e-10 {
				t.Fatalf("iteration %d: mean objective %.15g, the package's is %.15g", i, mean, want)
			}
		}
	})
}

// TestBinaryNotAboveAuthorsPackage makes a fifth of the package's updates, from the package's start and from our own.
func TestBinaryNotAboveAuthorsPackage(t *testing.T) {
	t.Parallel()
	binaryRuns(t, func(t *testing.T, r binaryRun) {
		for start, settings := range map[string]solver.Settings{
			"the package's": r.start,
			"own":           {Rank: r.start.Rank, MaxIter: r.start.MaxIter},
		} {
			if got := solveBinary(t, r.x, settings, sonmf.BinarySettings{}); got.MeanObjective > r.Cost {
				t.Errorf("start %s: mean objective %.10g, the package's after %d updates is %.10g", start,
					got.MeanObjective, allUpdates, r.Cost)
			}
		}
	})
}

// TestBinarySparseText reaches the objective of 127 updates of the package on the words of 5,000 documents.
func TestBinarySparseText(t *testing.T) {
	t.Parallel()
	folder, _ := sharedRuns(t)
	counts := readTransposed(t, filepath.Join(folder, "..", "text", "counts_words_by_docs.mtx.gz")).(*matrix.CSR)
	ones := make([]float64, counts.NNZ())
	for i := range ones {
		ones[i] = 1
	}
	n, p := counts.Dims()
	indptr, indices, _ := counts.Arrays()
	x, err := matrix.NewCSR(n, p, indptr, indices, ones)
	if err != nil {
		t.Fatal(err)
	}
	got := solveBinary(t, x, solver.Settings{Rank: 10, MaxIter: 20}, sonmf.BinarySettings{})
	if want := 0.0286390; got.MeanObjective > want {
		t.Errorf("mean objective %.7f after %d updates; the package ends at %.7f", got.MeanObjective,
			got.Iterations, want)
	}
}

func newBinary(t *testing.T, s sonmf.BinarySettings) *sonmf.Binary {
	t.Helper()
	m, err := sonmf.NewBinary(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
