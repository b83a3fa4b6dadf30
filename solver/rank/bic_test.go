package rank_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/rank"
)

// The value for set d1_00 of the synthetic questionnaires, 200 × 100, where the authors' program leaves ½S =
// 1441176.6247 at k = 10.
func TestBIC1(t *testing.T) {
	t.Parallel()
	got := rank.BIC1(2*1441176.6247, 200, 100, 10)
	if want := 15.50407; math.Abs(got-want) > 5e-6 {
		t.Errorf("%v, want %v", got, want)
	}
}

func TestAssign(t *testing.T) {
	t.Parallel()
	topics := mat.NewDense(2, 3, []float64{
		3, 0, 1,
		4, 2, 0,
	}) // of length 5, 2, 1
	scores := mat.NewDense(4, 3, []float64{
		1, 2, 4, // 5, 4, 4
		1, 3, 2, // 5, 6, 2
		0, 1, 2, // 0, 2, 2: the first of equals
		0, 0, 0,
	})
	if got, want := rank.Assign(topics, scores), []int{0, 1, 1, rank.Unassigned}; !slices.Equal(got, want) {
		t.Errorf("clusters %v, want %v", got, want)
	}
}

// testdata/consensus.json is made by scipy 1.17.1, testdata/consensus.py. If distances are equal, like shares of a few
// runs often are, average linkage may join either pair first, and trees differ.
func TestConsensus(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "consensus.json"))
	if err != nil {
		t.Fatal(err)
	}
	var cases []struct {
		Clusters               [][]int
		Cophenetic, Dispersion float64
	}
	if err := json.Unmarshal(text, &cases); err != nil {
		t.Fatal(err)
	}
	const ties = 2e-3
	for i, c := range cases {
		got, err := rank.Consensus(c.Clusters)
		if err != nil {
			t.Fatal(err)
		}
		if math.Abs(got.Cophenetic-c.Cophenetic) > ties || math.Abs(got.Dispersion-c.Dispersion) > 1e-12 {
			t.Errorf("case %d: %+v, want %v and %v", i, got, c.Cophenetic, c.Dispersion)
		}
		for _, run := range c.Clusters {
			for i := range run {
				run[i] = 70000 - run[i]
			}
		}
		if renamed, err := rank.Consensus(c.Clusters); err != nil || renamed != got {
			t.Errorf("case %d, clusters renamed: %+v, error %v, want %+v", i, renamed, err, got)
		}
	}
	if len(cases) != 5 {
		t.Errorf("%d cases, want 5", len(cases))
	}
}

// Runs that agree are perfectly stable, even on one cluster.
func TestConsensusOfEqualRuns(t *testing.T) {
	t.Parallel()
	for _, run := range [][]int{{0, 1, 1, 2, 0}, {0, 0, 0}, {3}} {
		got, err := rank.Consensus([][]int{run, run, run})
		if want := (rank.Stability{Cophenetic: 1, Dispersion: 1}); err != nil ||
			math.Abs(got.Cophenetic-want.Cophenetic) > 1e-12 || got.Dispersion != want.Dispersion {
			t.Errorf("%v: %+v, error %v", run, got, err)
		}
	}
}

func TestConsensusRefuses(t *testing.T) {
	t.Parallel()
	many := make([]int, 30001)
	for i := range many {
		many[i] = i
	}
	for name, clusters := range map[string][][]int{
		"no run": nil, "no rows": {{}}, "unequal": {{1, 2}, {1}}, "too many": {many},
	} {
		if _, err := rank.Consensus(clusters); !errors.Is(err, rank.ErrSize) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}
