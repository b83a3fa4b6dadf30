package nmf_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/nmf"
)

// allUpdates is the number of updates of the authors' package under its limit of 500, which counts the start.
const allUpdates = 499

// run is one run of the authors' package.
type run struct {
	Case      string  `json:"case"`
	Method    string  `json:"method"`
	Mode      string  `json:"mode"`
	Objective float64 `json:"objective_avg_res"`
	Cost      float64 `json:"objective_cost"`
	X         string  `json:"X"`
	F0        string  `json:"F0"`
	G0        string  `json:"G0"`
}

// methods are ours by the first word of theirs, and owns their runs that our start is compared with.
func methods() map[string]solver.Method {
	return map[string]solver.Method{"nmf": nmf.NMF{}, "onmf": nmf.ONMF{}, "semi": nmf.SemiNMF{}, "lognmf": nmf.LogNMF{}}
}

func owns(method string) bool {
	switch method {
	case "nmf_paperinit", "onmf_paperinit", "semi_svd", "lognmf_step0.001":
		return true
	}
	return false
}

func sharedFolder(t *testing.T) string {
	t.Helper()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED is not set: no cases of the authors' package")
	}
	return filepath.Join(shared, "cases")
}

// TestNotAboveAuthorsPackage makes all updates of the package: from its own start files, where the objective must be
// equal or lower, and from our start.
func TestNotAboveAuthorsPackage(t *testing.T) {
	t.Parallel()
	folder := filepath.Join(sharedFolder(t), "sonmf")
	data, err := os.ReadFile(filepath.Join(folder, "runs.json"))
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]run{}
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	runs := 0
	for name, r := range all {
		word, _, _ := strings.Cut(r.Method, "_")
		method := methods()[word]
		if method == nil || r.Mode != "full" {
			continue
		}
		runs++
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := r.Objective + r.Cost // one of them is 0
			x := matrixio.Transposed(read(t, filepath.Join(folder, r.X)))
			topics, scores := factor(t, filepath.Join(folder, r.F0)), factor(t, filepath.Join(folder, r.G0))
			_, rank := topics.Dims()
			settings := solver.Settings{Rank: rank, MaxIter: allUpdates, StartTopics: topics, StartScores: scores}
			if got := solve(t, x, settings, method).MeanObjective; got > want*(1+1e-6) {
				t.Errorf("mean objective %.10g from the package's start, the package's is %.10g", got, want)
			}
			if !owns(r.Method) {
				return
			}
			if got := solve(t, x, solver.Settings{Rank: rank, MaxIter: allUpdates},
				method).MeanObjective; got > want*(1+1e-3) {
				t.Errorf("mean objective %.10g from our start, the package's is %.10g", got, want)
			}
		})
	}
	if runs == 0 {
		t.Error("no run of these methods: a comparison that shows nothing")
	}
}

// TestSparseText reaches the package's mean objectives on 5,000 words × 5,000 documents under its stopping rule.
func TestSparseText(t *testing.T) {
	t.Parallel()
	x := matrixio.Transposed(read(t, filepath.Join(sharedFolder(t), "text", "tfidf_words_by_docs.mtx.gz")))
	for word, want := range map[string]float64{"nmf": 0.0925947, "onmf": 0.0924581, "semi": 0.0914021} {
		r := solve(t, x, solver.Settings{Rank: 50, MaxIter: 200, AbsTol: 1e-5}, methods()[word])
		if r.MeanObjective > want*(1+1e-3) || r.Status != solver.Converged {
			t.Errorf("%s: mean objective %.7f, status %v; the package ends at %.7f", word,
				r.MeanObjective, r.Status, want)
		}
	}
}

func read(t *testing.T, path string) mat.Matrix {
	t.Helper()
	x, err := matrixio.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func factor(t *testing.T, path string) *mat.Dense {
	t.Helper()
	return read(t, path).(*mat.Dense)
}

func solve(t *testing.T, x mat.Matrix, settings solver.Settings, method solver.Method) *solver.Result {
	t.Helper()
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, method)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
