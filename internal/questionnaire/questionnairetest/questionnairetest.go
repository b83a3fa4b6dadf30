// Package questionnairetest makes questionnaires with known factors, for the tests of the packages in questionnaire.
package questionnairetest

import (
	_ "embed"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/icqf"
)

// The planted values of Rows.
const (
	Participants = 150
	Items        = 9
	Factors      = 3
	Top          = 4.0
)

// Rows returns a table of answers 0 to 4 to items of three factors, a tenth missing, with age, sex and an illness that
// comes with the first factor. Ids begin with "secret".
func Rows(seed uint64) [][]string {
	random := rand.New(rand.NewPCG(seed, 0))
	rows := [][]string{{"id"}}
	for j := range Items {
		rows[0] = append(rows[0], "q"+strconv.Itoa(j+1))
	}
	rows[0] = append(rows[0], "age", "sex", "ill")
	for i := range Participants {
		row := []string{"secret" + strconv.Itoa(i)}
		var w [Factors]float64
		for t := range w {
			w[t] = max(0, random.Float64()*1.5-0.5)
		}
		age := 6 + random.IntN(12)
		for j := range Items {
			v := 3.4*w[j%Factors] + 0.2*float64(age)/18*float64(j%2) + 0.3*random.NormFloat64()
			cell := strconv.Itoa(int(math.Round(min(max(v, 0), Top))))
			if random.Float64() < 0.1 {
				cell = ""
			}
			row = append(row, cell)
		}
		ill := "0"
		if w[0]+0.2*random.NormFloat64() > 0.5 {
			ill = "1"
		}
		rows = append(rows, append(row, strconv.Itoa(age), []string{"F", "M"}[random.IntN(2)], ill))
	}
	return rows
}

// CSV returns rows as CSV.
func CSV(rows [][]string) string { return string(model.CSV(rows)) }

// File writes a file into a temporary folder of the test, and returns its path.
func File(t testing.TB, name, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// Options are those of a fit to planted answers in the file.
func Options(path string) fit.Options {
	return fit.Options{
		Input: path, Factors: []int{Factors}, Betas: []float64{0.1},
		Learning: model.Learning{RelTol: solver.DefaultRelTol, Seed: 1}, Columns: answers.Columns{
			Items: []string{"q*"}, Range: &questionnaire.Range{High: Top},
			Confounds: []questionnaire.Confound{
				{Name: "age", Kind: questionnaire.Numeric}, {Name: "sex", Kind: questionnaire.Categorical},
			},
		},
	}
}

// Fit fits planted answers, with changed options if change is not nil.
func Fit(t testing.TB, rows [][]string, change func(*fit.Options)) *model.Fitted {
	t.Helper()
	o := Options(File(t, "x.csv", CSV(rows)))
	if change != nil {
		change(&o)
	}
	f, err := fit.Fit(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// Store writes the files of a model into a temporary folder of the test.
func Store(t testing.TB, m *model.Model) (dir string) {
	t.Helper()
	files, err := m.Files()
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	for name, data := range files {
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

// Reload returns the model after storing and loading it.
func Reload(t testing.TB, m *model.Model) *model.Model {
	t.Helper()
	m, err := model.Load(Store(t, m))
	if err != nil {
		t.Fatal(err)
	}
	return m
}

//go:embed model.json
var manifest []byte

// Model returns a model of two factors of four items in two subscales, with everything that a report may show.
func Model(t testing.TB) *model.Model {
	t.Helper()
	m := &model.Model{ICQF: icqf.Model{
		Loadings: mat.NewDense(4, 2, []float64{1.5, 0, 0, 1.25, 2.5, 0.1, 0, 0}),
		ConfoundLoadings: mat.NewDense(4, 5,
			[]float64{0, 0.25, 0, 0, 0.1, 0, 0, 0, 0.5, 0, 0.3, 0, 0, 0, 0.2, 0, 0, 0, 0, 1. / 3}),
		L1:          0.1,
		Answers:     3.75,
		Noise:       []float64{0.25, 0.5, 0.125, 0.25},
		Calibration: &icqf.Calibration{Information: []float64{8.5, 0}, Shifts: []float64{-0.25, 0}},
	}}
	if err := json.Unmarshal(manifest, m); err != nil {
		t.Fatal(err)
	}
	return m
}
