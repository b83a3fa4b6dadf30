package elasticnet_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/classifier/elasticnet"
	"github.com/wardcast/wardcast/solver/matrix"
)

const (
	// coefficientTolerance is relative to max(1, |coefficient|).
	coefficientTolerance = 1e-5
	// statisticTolerance is for deviances and their errors.
	statisticTolerance = 1e-6
	tightTolerance     = 1e-18
)

// referenceCase is one call of glmnet; see testdata/README.md.
type referenceCase struct {
	Data           string      `json:"data"`
	Weights        []float64   `json:"weights"`
	Alpha          float64     `json:"alpha"`
	Standardize    bool        `json:"standardize"`
	PenaltyFactors []float64   `json:"penalty_factors"`
	Lambda         []float64   `json:"lambda"`
	DF             []int       `json:"df"`
	DevianceRatio  []float64   `json:"deviance_ratio"`
	Kept           []int       `json:"kept"`
	Intercept      []float64   `json:"intercept"`
	Coefficients   [][]float64 `json:"coefficients"`
	CV             *struct {
		Folds     []int     `json:"folds"`
		Mean      []float64 `json:"cvm"`
		Error     []float64 `json:"cvsd"`
		IndexMin  int       `json:"index_min"`
		Index1SE  int       `json:"index_1se"`
		OutOfFold []float64 `json:"out_of_fold"`
	} `json:"cv"`
}

type referenceData struct {
	Terms int         `json:"terms"`
	X     [][]float64 `json:"x"`
	Y     []int       `json:"y"`
}

func reference(t testing.TB) (map[string]referenceCase, map[string]referenceData) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join("testdata", "glmnet.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all struct {
		Cases map[string]referenceCase `json:"cases"`
		Data  map[string]referenceData `json:"data"`
	}
	if err := json.Unmarshal(raw, &all); err != nil {
		t.Fatal(err)
	}
	return all.Cases, all.Data
}

// design puts the columns up to the third and after the terms in dense parts, the terms between in a sparse one.
func (d referenceData) design(t testing.TB) *elasticnet.Design {
	t.Helper()
	first, last := 3, 3+d.Terms
	x, err := elasticnet.NewDesign(dense(d.X, 0, first), sparse(t, d.X, first, last), dense(d.X, last, len(d.X[0])))
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func (d referenceData) labels() []bool {
	y := make([]bool, len(d.Y))
	for i, v := range d.Y {
		y[i] = v == 1
	}
	return y
}

func dense(x [][]float64, from, to int) *mat.Dense {
	m := mat.NewDense(len(x), to-from, nil)
	for i, row := range x {
		m.SetRow(i, row[from:to])
	}
	return m
}

func sparse(t testing.TB, x [][]float64, from, to int) *matrix.CSR {
	t.Helper()
	indptr := []int{0}
	var columns []int32
	var values []float64
	for _, row := range x {
		for j, v := range row[from:to] {
			if v != 0 {
				columns, values = append(columns, int32(j)), append(values, v)
			}
		}
		indptr = append(indptr, len(values))
	}
	m, err := matrix.NewCSR(len(x), to-from, indptr, columns, values)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(got, want, tolerance float64) bool {
	return math.Abs(got-want) <= tolerance*max(1, math.Abs(want))
}

func TestReference(t *testing.T) {
	t.Parallel()
	cases, data := reference(t)
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := data[c.Data]
			problem := elasticnet.Problem{Design: d.design(t), Y: d.labels(), Weights: c.Weights}
			settings := elasticnet.Settings{
				Alpha: c.Alpha, Standardize: c.Standardize, PenaltyFactors: c.PenaltyFactors,
				NLambda: 25, Tolerance: tightTolerance, MaxPasses: 10_000_000,
			}
			path, err := elasticnet.Fit(t.Context(), problem, settings)
			if err != nil {
				t.Fatal(err)
			}
			comparePath(t, path, c)
			if c.CV != nil {
				cv, err := elasticnet.CrossValidate(t.Context(), problem, c.CV.Folds, settings)
				if err != nil {
					t.Fatal(err)
				}
				compareCV(t, cv, c)
			}
		})
	}
}

func comparePath(t *testing.T, path *elasticnet.Path, c referenceCase) {
	t.Helper()
	if len(path.Lambda) != len(c.Lambda) {
		t.Fatalf("%d λ (%v), want %d", len(path.Lambda), path.Status, len(c.Lambda))
	}
	first := 0
	if c.Alpha == 0 {
		first = 1
	}
	// At the first λ rounding decides whether the first column enters with a coefficient of about 0.
	for l := first; l < len(c.Lambda); l++ {
		if !near(path.Lambda[l]/c.Lambda[l], 1, 1e-9) ||
			!near(path.DevianceRatio[l], c.DevianceRatio[l], statisticTolerance) || l > 0 && path.DF(l) != c.DF[l] {
			t.Errorf("at %d: λ %v, deviance ratio %v, df %d, want %v, %v, %d", l,
				path.Lambda[l], path.DevianceRatio[l], path.DF(l), c.Lambda[l], c.DevianceRatio[l], c.DF[l])
		}
	}
	for at, l := range c.Kept {
		if l < first {
			continue
		}
		if !near(path.Intercept[l], c.Intercept[at], coefficientTolerance) {
			t.Errorf("intercept at %d = %v, want %v", l, path.Intercept[l], c.Intercept[at])
		}
		for j, got := range path.Dense(l) {
			if !near(got, c.Coefficients[at][j], coefficientTolerance) {
				t.Errorf("coefficient %d at %d = %v, want %v", j, l, got, c.Coefficients[at][j])
			}
		}
	}
}

func compareCV(t *testing.T, cv *elasticnet.CV, c referenceCase) {
	t.Helper()
	if cv.IndexMin != c.CV.IndexMin || cv.Index1SE != c.CV.Index1SE {
		t.Errorf("chosen λ %d and %d, want %d and %d", cv.IndexMin, cv.Index1SE, c.CV.IndexMin, c.CV.Index1SE)
	}
	for l := range c.CV.Mean {
		if !near(cv.Deviance[l], c.CV.Mean[l], statisticTolerance) ||
			!near(cv.StandardError[l], c.CV.Error[l], statisticTolerance) {
			t.Errorf("at %d: deviance %v ± %v, want %v ± %v", l, cv.Deviance[l], cv.StandardError[l],
				c.CV.Mean[l], c.CV.Error[l])
		}
	}
	for i, got := range cv.OutOfFold(cv.IndexMin) {
		if !near(got, c.CV.OutOfFold[i], coefficientTolerance) {
			t.Errorf("out-of-fold log-odds of row %d = %v, want %v", i, got, c.CV.OutOfFold[i])
		}
	}
}
