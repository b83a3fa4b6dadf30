package factoranalysis_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// psychResults is what testdata/psych.R saves of one data set.
type psychResults struct {
	N        int       `json:"n"`
	Factors  int       `json:"factors"`
	KMO      float64   `json:"kmo"`
	KMOItems []float64 `json:"kmo_items"`
	Bartlett float64   `json:"bartlett"`
	Fits     map[string]struct {
		psychRotation
		Tight        psychRotation `json:"tight"`
		Uniquenesses []float64     `json:"uniquenesses"`
		RMSR         float64       `json:"rmsr"`
		RMSEA        [3]float64    `json:"rmsea"`
		TLI          float64       `json:"tli"`
		BIC          float64       `json:"bic"`
		ChiSquare    float64       `json:"chi"`
		DF           int           `json:"dof"`
		P            float64       `json:"p"`
		Accounted    []float64     `json:"accounted"`
	} `json:"fits"`
	Omega struct {
		Factors      int     `json:"factors"`
		Total        float64 `json:"total"`
		Hierarchical float64 `json:"hierarchical"`
	} `json:"omega"`
}

type psychRotation struct {
	Loadings [][]float64 `json:"loadings"`
	Phi      [][]float64 `json:"phi"`
}

const (
	// written is the accuracy of the digits in the file.
	written = 1e-8
	// searching is the accuracy of psych's search for uniquenesses and of its oblimin, with room.
	searching = 1e-4
	// early is that of its varimax, which stops at relative changes of 1e-5, and of its promax, which begins there.
	early = 5e-3
)

// TestPsych compares with R's psych on real questionnaires. Tight rotations are those of psych's own unrotated
// loadings.
func TestPsych(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "psych.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, from := range map[string]int{"bfi": 0, "lordif_Anxiety": 3, "mpsychor_Wenchuan": 0, "spi": 10} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want psychResults
			if err := json.Unmarshal(all[name], &want); err != nil {
				t.Fatal(err)
			}
			comparePsych(t, shared(t, name, from, from+len(want.KMOItems)), &want)
		})
	}
}

func comparePsych(t *testing.T, x *mat.Dense, want *psychResults) {
	t.Helper()
	check := func(what string, got, want, tolerance float64) {
		t.Helper()
		t.Logf("%s: %.8g, off by %.1e", what, want, got-want)
		if !(math.Abs(got-want) <= tolerance) {
			t.Errorf("%s: %v, want %v", what, got, want)
		}
	}
	c, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Pearson, 0)
	if err != nil {
		t.Fatal(err)
	}
	overall, items := factoranalysis.KMO(c.R)
	check("KMO", overall, want.KMO, written)
	for j, v := range want.KMOItems {
		check("KMO of an item", items[j], v, written)
	}
	chi, _, _ := factoranalysis.Bartlett(c.R, want.N)
	check("Bartlett", chi, want.Bartlett, written*want.Bartlett)
	omega, err := factoranalysis.Omega(t.Context(), c.R, want.Omega.Factors)
	if err != nil {
		t.Fatal(err)
	}
	check("omega total", omega.Total, want.Omega.Total, searching)
	check("omega hierarchical", omega.Hierarchical, want.Omega.Hierarchical, searching)
	for name, w := range want.Fits {
		extraction, rotation, _ := strings.Cut(name, " ")
		m := fit(t, x, factoranalysis.Settings{
			Factors: want.Factors, Extraction: factoranalysis.Extraction(extraction),
			Rotation: factoranalysis.Rotation(rotation),
		})
		t.Log(name)
		loose := searching
		if w.Tight.Loadings != nil {
			loose = early
			compareRotation(t, name+" tight", m, &w.Tight, searching)
		}
		order := compareRotation(t, name, m, &w.psychRotation, loose)
		near(t, name+" uniquenesses", mat.NewDense(1, len(m.Uniquenesses), m.Uniquenesses),
			[][]float64{w.Uniquenesses}, searching)
		check("chi-square", m.Fit.ChiSquare/w.ChiSquare, 1, searching)
		check("P", m.Fit.P, w.P, searching)
		check("RMSR", m.Fit.RMSR, w.RMSR, searching)
		check("RMSEA", m.Fit.RMSEA.Value, w.RMSEA[0], searching)
		check("RMSEA low", m.Fit.RMSEA.Low, w.RMSEA[1], searching)
		check("RMSEA high", m.Fit.RMSEA.High, w.RMSEA[2], searching)
		check("TLI", m.Fit.TLI, w.TLI, searching)
		check("BIC", m.Fit.BIC/w.BIC, 1, searching)
		for f, v := range w.Accounted {
			check("accounted", m.Accounted()[order[f]], v, 20*loose)
		}
	}
}

func compareRotation(t *testing.T, name string, m *factoranalysis.Model, want *psychRotation,
	tolerance float64,
) (order []int) {
	t.Helper()
	order, signs := match(m.Loadings, want.Loadings)
	near(t, name+" loadings", columns(m.Loadings, order, signs), want.Loadings, tolerance)
	phi := columns(mat.DenseCopyOf(columns(m.Phi, order, signs).T()), order, signs)
	near(t, name+" factor correlations", phi, want.Phi, tolerance)
	return order
}

// TestPsychPolychoric compares fits of polychoric correlations. Tolerances are what psych's bivariate normal
// probabilities and its search for each correlation allow.
func TestPsychPolychoric(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "polychoric.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	for name, columns := range map[string][2]int{"bfi": {0, 25}, "lordif_Anxiety": {3, 32}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want struct {
				psychRotation
				Factors      int       `json:"factors"`
				Correlations []float64 `json:"correlations"` // of the lower triangle, by columns
				RMSR         float64   `json:"rmsr"`
				RMSEA        float64   `json:"rmsea"`
			}
			if err := json.Unmarshal(all[name], &want); err != nil {
				t.Fatal(err)
			}
			x := shared(t, name, columns[0], columns[1])
			m := fit(t, x, factoranalysis.Settings{
				Factors: want.Factors, Correlation: factoranalysis.Polychoric, Rotation: factoranalysis.RotateOblimin,
			})
			var worst float64
			p := columns[1] - columns[0]
			for j, e := 0, 0; j < p; j++ {
				for i := j + 1; i < p; i, e = i+1, e+1 {
					worst = max(worst, math.Abs(m.Correlations.R.At(i, j)-want.Correlations[e]))
				}
			}
			if worst > searching {
				t.Errorf("correlations off by %v", worst)
			}
			compareRotation(t, name, m, &want.psychRotation, 2*searching)
			if math.Abs(m.Fit.RMSR-want.RMSR) > searching || math.Abs(m.Fit.RMSEA.Value-want.RMSEA) > searching {
				t.Errorf("RMSR %v, RMSEA %v, want %v and %v", m.Fit.RMSR, m.Fit.RMSEA.Value, want.RMSR, want.RMSEA)
			}
		})
	}
}

// TestGiven compares polychoric correlations given confounds with lavaan's, which searches for them to about 1e-6.
func TestGiven(t *testing.T) {
	t.Parallel()
	var want struct {
		Correlations [][]float64 `json:"correlations"`
	}
	text, err := os.ReadFile(filepath.Join("testdata", "given.json"))
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	all := readAnswers(t, filepath.Join("testdata", "answers.csv"))
	n, _ := all.Dims()
	confounds := mat.NewDense(n, 6, nil) // q8 and each answer to q9, of which one depends on the others
	for i := range n {
		confounds.Set(i, 0, all.At(i, 7))
		confounds.Set(i, int(all.At(i, 8)), 1)
	}
	x := mat.DenseCopyOf(all.Slice(0, n, 0, 7))
	m := fit(t, x, factoranalysis.Settings{
		Factors: 1, Correlation: factoranalysis.Polychoric, Answers: x, Confounds: confounds,
	})
	for i, row := range want.Correlations {
		for j, r := range row {
			if got := m.Correlations.R.At(i, j); math.Abs(got-r) > 1e-5 {
				t.Errorf("correlation of items %d and %d given confounds: %v, lavaan's is %v", i, j, got, r)
			}
		}
	}
}
