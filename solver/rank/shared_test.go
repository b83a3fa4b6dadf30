package rank_test

import (
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver/icqf"
	"github.com/wardcast/wardcast/solver/rank"
)

// TestSyntheticQuestionnaires chooses the 10 factors of the questionnaires of Lam et al., noise of three sizes.
func TestSyntheticQuestionnaires(t *testing.T) {
	t.Parallel()
	root := os.Getenv("WARDCAST_SHARED")
	if root == "" {
		t.Skip("WARDCAST_SHARED does not name the folder of shared cases")
	}
	for _, name := range []string{"d1_03", "d2_05", "d3_07"} {
		x, err := matrixio.Read(filepath.Join(root, "cases", "icqf", "table1", name+"_M.csv.gz"))
		if err != nil {
			t.Fatal(err)
		}
		s := rank.Settings{Betas: []float64{0.1}}
		for k := 2; k <= 20; k++ {
			s.Factors = append(s.Factors, k)
		}
		c, err := rank.BlockwiseCV(t.Context(), x.(*mat.Dense), rank.ICQF(icqf.Data{Max: 100}, icqf.Settings{}), s)
		if err != nil {
			t.Fatal(err)
		}
		if c.Lowest.Factors != 10 {
			t.Errorf("%s: %+v, want 10 factors", name, c.Lowest)
		}
	}
}
