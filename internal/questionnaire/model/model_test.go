package model_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/goldentest"
	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver/icqf"
)

// A file of a model that was changed, cut or lost is refused by its name.
func TestLoadRefusesDamage(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	for _, name := range []string{model.ModelFile, model.LoadingsFile, model.SumsFile} {
		for _, damage := range []struct {
			name string
			do   func(path string, data []byte) error
		}{
			{
				"changed",
				func(path string, data []byte) error { data[len(data)/2] ^= 1; return os.WriteFile(path, data, 0o600) },
			},
			{"cut", func(path string, data []byte) error { return os.WriteFile(path, data[:len(data)/2], 0o600) }},
			{"lost", func(path string, _ []byte) error { return os.Remove(path) }},
			{"a folder", func(path string, _ []byte) error {
				return errors.Join(os.Remove(path), os.Mkdir(path, 0o700))
			}},
		} {
			t.Run(name+" "+damage.name, func(t *testing.T) {
				t.Parallel()
				dir := questionnairetest.Store(t, m)
				path := filepath.Join(dir, name)
				data, err := os.ReadFile(path)
				if err != nil {
					t.Fatal(err)
				}
				if err := damage.do(path, data); err != nil {
					t.Fatal(err)
				}
				if _, err := model.Load(dir); err == nil || !strings.Contains(err.Error(), name) &&
					name != model.SumsFile {
					t.Errorf("loading: %v, want an error that names %s", err, name)
				}
			})
		}
	}
}

// A model that no fit can have written is refused, though its sums are right.
func TestLoadRefusesNonsense(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(*model.Model){
		"no choice of a standard error":   func(m *model.Model) { m.Summary.OneStandardErrorFactors = 7 },
		"an error that has no drawing":    func(m *model.Model) { m.Summary.BCV[0].StandardError = 1e308 },
		"a standard error below 0":        func(m *model.Model) { m.Summary.BCV[0].StandardError = -1 },
		"a loading below 0":               func(m *model.Model) { m.ICQF.Loadings.Set(1, 1, -1) },
		"a loading of a confound below 0": func(m *model.Model) { m.ICQF.ConfoundLoadings.Set(1, 1, -1) },
		"information below 0": func(m *model.Model) {
			m.ICQF.Calibration = &icqf.Calibration{Information: []float64{1, -1}, Shifts: []float64{1, -1}}
		},
		"no noise":       func(m *model.Model) { m.ICQF.Noise = nil },
		"noise below 0":  func(m *model.Model) { m.ICQF.Noise[1] = -1 },
		"no calibration": func(m *model.Model) { m.ICQF.Calibration = nil },
		"more scores described than given": func(m *model.Model) {
			m.Summary.FactorFits = append(m.Summary.FactorFits, model.FactorFit{})
		},
		"correlations of one factor":  func(m *model.Model) { m.Summary.FactorCorrelations = [][]float64{{1}} },
		"a short row of correlations": func(m *model.Model) { m.Summary.FactorCorrelations = [][]float64{{1, 0}, {0}} },
		"one factor that accounts":    func(m *model.Model) { m.Summary.Accounted = make([]model.Accounted, 1) },
		"one factor that explains": func(m *model.Model) {
			m.Summary.ExplainedBy = &model.ExplainedBy{Factors: make([]model.Share, 1)}
		},
		"three factors that explain unseen answers": func(m *model.Model) {
			m.Summary.ExplainedBy = &model.ExplainedBy{
				Factors: make([]model.Share, 2), CrossValidated: &model.ExplainedBy{Factors: make([]model.Share, 3)},
			}
		},
		"a compact set for one factor": func(m *model.Model) {
			m.Summary.Compact = []model.CompactItem{{Correlations: []float64{1}}}
		},
		"intervals of the correlation of one factor": func(m *model.Model) {
			all := make([][]float64, 4)
			for j := range all {
				all[j] = make([]float64, 7)
			}
			one := [][]float64{{1}}
			m.Summary.Bootstrap = &model.Bootstrap{Factors: make([]model.Again, 2), Precision: model.Precision{
				Loadings:           model.Intervals{Errors: all, Low: all, High: all},
				FactorCorrelations: &model.Intervals{Errors: one, Low: one, High: one},
			}}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := questionnairetest.Model(t)
			spoil(m)
			if _, err := model.Load(questionnairetest.Store(t, m)); !errors.Is(err, model.ErrModel) {
				t.Errorf("loading: %v, want %v", err, model.ErrModel)
			}
		})
	}
}

// Who has a model of a format that is no longer read learns what to do.
func TestLoadRefusesOldFormat(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	m.Format = "1"
	if _, err := model.Load(questionnairetest.Store(t, m)); !errors.Is(err, model.ErrModel) ||
		!strings.Contains(err.Error(), "fit the model again") {
		t.Errorf("error %v", err)
	}
}

func TestCalibrationIsStored(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	if diff := cmp.Diff(m.ICQF, questionnairetest.Reload(t, m).ICQF, cmp.AllowUnexported(mat.Dense{})); diff != "" {
		t.Error(diff)
	}
}

// An item of a quarter of the widest range counts four times, for the order and for the bars; what is shown is its
// loading.
func TestColumnsOfNarrowRanges(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	m.ICQF.Weights = []float64{16, 1, 1, 1}
	top := m.Columns()[0].Top
	if top[0].Name != "q1" || top[0].Loading != 1.5 || top[0].Width != 100 || top[1].Name != "q3" ||
		top[1].Width != 100*2.5/6 {
		t.Errorf("the first factor has %+v", top)
	}
	if got := mat.Row(nil, 0, m.AllStretched()); !slices.Equal(got, []float64{6, 0, 0, 1, 0, 0, 0.4}) {
		t.Errorf("the first item has stretched loadings %v", got)
	}
}

func TestTables(t *testing.T) {
	t.Parallel()
	loadings := questionnairetest.Model(t).LoadingsCSV()
	goldentest.Equal(t, "testdata/loadings.csv", loadings)
	s := model.Scores{IDs: []string{"a,b", "c"}, Values: mat.NewDense(2, 2, []float64{0, 1, 1. / 3, 0.1 + 0.2})}
	scores := s.CSV()
	goldentest.Equal(t, "testdata/scores.csv", scores)
}

func TestDescribe(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	if err := m.Describe([]questionnaire.Item{
		{Name: "q4", Text: "Lies", Subscale: "Other", Reversed: true}, {Name: "q9", Text: "?"},
	}); err != nil {
		t.Fatal(err)
	}
	if got := m.Items[3]; got.Text != "Lies" || got.Subscale != "Other" || got.Reversed {
		t.Errorf("item %+v: want text and subscale of the codebook, and nothing else", got)
	}
	if m.Items[0].Text == "" {
		t.Error("an item that the codebook does not have lost its text")
	}
	if err := m.Describe([]questionnaire.Item{{Name: "Q4"}}); !errors.Is(err, model.ErrOtherCodebook) {
		t.Errorf("error %v for a codebook of other items, want %v", err, model.ErrOtherCodebook)
	}
}

// Models are distinguished by the sums of their files.
func TestModelSHA256(t *testing.T) {
	t.Parallel()
	m := questionnairetest.Model(t)
	sums := map[string]bool{}
	for _, beta := range []float64{0.1, 0.2} {
		m.Summary.Beta = beta
		dir := questionnairetest.Store(t, m)
		loaded, err := model.Load(dir)
		if err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(filepath.Join(dir, model.SumsFile))
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got, err := model.ReadSHA256(dir); err != nil || got != hex.EncodeToString(sum[:]) || got != loaded.SHA256 {
			t.Errorf("sha256 %q, %q where the model was loaded, want %x: %v", got, loaded.SHA256, sum, err)
		}
		sums[loaded.SHA256] = true
	}
	if len(sums) != 2 {
		t.Error("two models have one sha256")
	}
	if _, err := model.ReadSHA256(t.TempDir()); err == nil || !strings.Contains(err.Error(), model.SumsFile) {
		t.Errorf("an empty folder: %v, want an error that names %s", err, model.SumsFile)
	}
}

// TestFormulas: a table holds no text that a spreadsheet computes, and scores keep the ids of the answers.
func TestFormulas(t *testing.T) {
	t.Parallel()
	got := model.CSV([][]string{{"item", "=f"}, {"=HYPERLINK(1)", "-0.25"}})
	if want := "item,'=f\n'=HYPERLINK(1),-0.25\n"; string(got) != want {
		t.Errorf("%q, want %q", got, want)
	}
	scores := model.Scores{IDs: []string{"@a"}, Values: mat.NewDense(1, 1, []float64{-.5})}
	if got, want := string(scores.CSV()), "id,factor1\n@a,-0.5\n"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
