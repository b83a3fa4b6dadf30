package sonmf_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/sonmf"
)

// allUpdates is the number of updates of the authors' package under its limit of 500, which counts the start.
const allUpdates = 499

// run is one run of the authors' package.
type run struct {
	Case      string    `json:"case"`
	Method    string    `json:"method"`
	Mode      string    `json:"mode"`
	Objective float64   `json:"objective_avg_res"`
	X         string    `json:"X"`
	F0        string    `json:"F0"`
	G0        string    `json:"G0"`
	Trace     []float64 `json:"trace"`
}

// sharedRuns returns the folder of the cases and the runs of sonmf to their end on them.
func sharedRuns(t *testing.T) (folder string, runs map[string]run) {
	t.Helper()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED is not set: no cases of the authors' package")
	}
	folder = filepath.Join(shared, "cases", "sonmf")
	data, err := os.ReadFile(filepath.Join(folder, "runs.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]run{}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	runs = map[string]run{}
	for name, r := range all {
		if strings.HasPrefix(r.Method, "sonmf_") && r.Mode == "full" {
			runs[name] = r
		}
	}
	if len(runs) == 0 {
		t.Fatal("no runs of sonmf among the cases")
	}
	return folder, runs
}

// readTransposed reads a matrix of words × documents as documents × words.
func readTransposed(t *testing.T, path string) mat.Matrix {
	t.Helper()
	x, err := matrixio.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return matrixio.Transposed(x)
}

func readFactor(t *testing.T, path string) *mat.Dense {
	t.Helper()
	x, err := matrixio.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return x.(*mat.Dense)
}

// TestFollowsAuthorsPackage makes the package's line search from the package's start: the objectives of its trace, and
// after all its updates none above its objective. The package sums the residual entry by entry; here it comes from
// traces, whose rounding is 1e-16·‖X‖², up to 1e4 times the objective.
func TestFollowsAuthorsPackage(t *testing.T) {
	t.Parallel()
	folder, runs := sharedRuns(t)
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var tau float64
			if _, err := fmt.Sscanf(r.Method, "sonmf_tau%g", &tau); err != nil {
				t.Fatal(err)
			}
			x, topics := readTransposed(t, filepath.Join(folder, r.X)), readFactor(t, filepath.Join(folder, r.F0))
			got := solve(t, x, solver.Settings{MaxIter: allUpdates, StartTopics: topics},
				sonmf.Settings{Step: sonmf.StepCayley, Tau: tau})
			n, p := x.Dims()
			for i, want := range r.Trace[:30] {
				if mean := got.Trace[i].Objective / float64(n*p); math.Abs(mean/want-1) > 1e-8 {
					t.Fatalf("iteration %d: mean objective %.15g, the package's is %.15g", i, mean, want)
				}
			}
			if got.MeanObjective > r.Objective*(1+1e-6) {
				t.Errorf("mean objective %.15g after all updates, the package's is %.15g",
					got.MeanObjective, r.Objective)
			}
		})
	}
}

// TestNotAboveAuthorsPackage makes the default step, from the package's start and from our own.
func TestNotAboveAuthorsPackage(t *testing.T) {
	t.Parallel()
	folder, runs := sharedRuns(t)
	for name, r := range runs {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			x, topics := readTransposed(t, filepath.Join(folder, r.X)), readFactor(t, filepath.Join(folder, r.F0))
			_, rank := topics.Dims()
			for start, settings := range map[string]solver.Settings{
				"the package's": {StartTopics: topics, MaxIter: allUpdates},
				"own":           {Rank: rank, MaxIter: allUpdates},
			} {
				if got := solve(t, x, settings, sonmf.Settings{}); got.MeanObjective > r.Objective {
					t.Errorf("start %s: mean objective %.10g, the package's is %.10g", start,
						got.MeanObjective, r.Objective)
				}
			}
		})
	}
}

// TestSparseText reaches the package's mean objective on 5,000 words × 5,000 documents under its stopping rule.
func TestSparseText(t *testing.T) {
	t.Parallel()
	folder, _ := sharedRuns(t)
	x := readTransposed(t, filepath.Join(folder, "..", "text", "tfidf_words_by_docs.mtx.gz"))
	got := solve(t, x, solver.Settings{Rank: 10, MaxIter: 200, AbsTol: 1e-5}, sonmf.Settings{})
	if want := 0.0987360; got.MeanObjective > want || got.Status != solver.Converged {
		t.Errorf("mean objective %.7f, status %v; the package ends at %.7f", got.MeanObjective, got.Status, want)
	}
}

func solve(t *testing.T, x mat.Matrix, settings solver.Settings, step sonmf.Settings) *solver.Result {
	t.Helper()
	if settings.Rank == 0 {
		_, settings.Rank = settings.StartTopics.Dims()
	}
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, newMethod(t, step))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newMethod(t *testing.T, s sonmf.Settings) *sonmf.Method {
	t.Helper()
	m, err := sonmf.New(s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}
