package smf_test

import (
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/table/matrixio"
	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/smf"
)

var variants = []smf.Variant{smf.VariantW, smf.VariantH}

// sharedCase is one case of the authors' inputs, in our orientation.
type sharedCase struct {
	folder string
	x      mat.Matrix
	data   smf.Data
	rank   int
}

func readCase(t testing.TB, name string) sharedCase {
	t.Helper()
	shared := os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED is not set: no cases of the authors' program")
	}
	c := sharedCase{folder: filepath.Join(shared, "cases", "smf", name)}
	path := c.path("X.csv.gz")
	if _, err := os.Stat(path); err != nil {
		path = c.path("X.mtx.gz")
	}
	c.x = matrixio.Transposed(read(t, path))
	c.data.Labels = readLabels(t, c.path("y.csv.gz"))
	if _, err := os.Stat(c.path("X_aux.csv.gz")); err == nil {
		c.data.Aux = mat.DenseCopyOf(readDense(t, c.path("X_aux.csv.gz")).T())
	}
	_, c.rank = readDense(t, c.path("W0.csv.gz")).Dims()
	return c
}

func (c sharedCase) path(name string) string { return filepath.Join(c.folder, name) }

// start returns the authors' start.
func (c sharedCase) start(t *testing.T) (topics, scores *mat.Dense, head *solver.Head) {
	t.Helper()
	topics = readDense(t, c.path("W0.csv.gz"))
	scores = mat.DenseCopyOf(readDense(t, c.path("H0.csv.gz")).T())
	gamma := mat.DenseCopyOf(readDense(t, c.path("G0.csv.gz")).T())
	kappa, q := gamma.Dims()
	head = &solver.Head{Coefficients: mat.DenseCopyOf(readDense(t, c.path("beta0.csv.gz")).T()), Intercept: mat.Col(nil,
		0, gamma)}
	if q > 1 {
		head.AuxCoefficients = mat.DenseCopyOf(gamma.Slice(0, kappa, 1, q))
	}
	return topics, scores, head
}

func read(t testing.TB, path string) mat.Matrix {
	t.Helper()
	x, err := matrixio.Read(path)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func readDense(t testing.TB, path string) *mat.Dense {
	t.Helper()
	return read(t, path).(*mat.Dense)
}

func readLabels(t testing.TB, path string) []int {
	t.Helper()
	y := readDense(t, path)
	labels := make([]int, 0, len(y.RawMatrix().Data))
	for _, v := range y.RawMatrix().Data {
		labels = append(labels, int(v))
	}
	return labels
}

func solve(t testing.TB, x mat.Matrix, settings solver.Settings, m *smf.Method) *solver.Result {
	t.Helper()
	settings.RelTol = solver.TolOrOff(settings.RelTol)
	r, err := solver.Solve(t.Context(), x, settings, m)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func newMethod(t testing.TB, data smf.Data, s smf.Settings) *smf.Method {
	t.Helper()
	m, err := smf.New(data, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// updates returns the settings of each algorithm whose objective never rises.
func updates(x *mat.Dense, data smf.Data, s smf.Settings) map[smf.Update]smf.Settings {
	return map[smf.Update]smf.Settings{smf.UpdateProfiled: s, smf.UpdateGradient: safe(x, data, s)}
}

// safe returns the settings with step lengths for which no update of the gradient raises the objective: for both blocks
// together, by bounds on the curvatures of the label loss of at most three classes.
func safe(x *mat.Dense, data smf.Data, s smf.Settings) smf.Settings {
	const curvature, share = 0.5, 1.01
	n, _ := x.Dims()
	z := mat.NewDense(n, 1, nil)
	z.Apply(func(_, _ int, _ float64) float64 { return 1 }, z)
	if data.Aux != nil {
		var all mat.Dense
		all.Augment(z, data.Aux)
		z = &all
	}
	norm := func(a mat.Matrix) float64 {
		var svd mat.SVD
		svd.Factorize(a, mat.SVDNone)
		largest := svd.Values(nil)[0]
		return share * largest * largest
	}
	size := 1.0
	if s.Variant == smf.VariantW {
		size = norm(x)
	}
	s.Step, s.StepAux = 1/max(2*s.Xi, 2*s.Ridge+2*curvature*size), 1/(2*s.Ridge+2*curvature*norm(z))
	return s
}

// golden is a run of an independent implementation with complete decompositions.
type golden struct {
	Xi, Nu, Tau float64
	Traj        []struct {
		It    int
		Total float64
	}
	Iterates []struct {
		It      int
		A, B, G [][]float64
	}
	W, H, Beta, G [][]float64
	TestCode      [][]float64 `json:"test_code"`
	TestOdds      [][]float64 `json:"test_activation"`
	TestPred      []int       `json:"test_pred"`
}

func readGolden(t *testing.T, c sharedCase) map[string]golden {
	t.Helper()
	data, err := os.ReadFile(c.path("golden.json"))
	if err != nil {
		t.Fatal(err)
	}
	runs := map[string]golden{}
	if err := json.Unmarshal(data, &runs); err != nil || len(runs) == 0 {
		t.Fatalf("%d golden runs, %v", len(runs), err)
	}
	return runs
}

func dense(rows [][]float64) *mat.Dense {
	m := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		m.SetRow(i, row)
	}
	return m
}

func gap(got, want mat.Matrix) float64 {
	var d mat.Dense
	d.Sub(got, want)
	return mat.Norm(&d, 2) / max(1, mat.Norm(want, 2))
}

// TestGoldenIterates follows 200 updates of algorithm 1 from a given start, for three classes with auxiliary features.
func TestGoldenIterates(t *testing.T) {
	t.Parallel()
	c := readCase(t, "d_tiny")
	topics, scores, head := c.start(t)
	for name, g := range readGolden(t, c) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			variant := smf.VariantW
			if strings.HasPrefix(name, "H") {
				variant = smf.VariantH
			}
			m := newMethod(t, c.data,
				smf.Settings{Variant: variant, Xi: g.Xi, Ridge: g.Nu, Step: g.Tau, StartHead: head})
			for _, it := range g.Iterates {
				r := solve(t, c.x,
					solver.Settings{Rank: c.rank, MaxIter: it.It, StartTopics: topics, StartScores: scores}, m)
				a, b, gamma := theta(variant, r)
				for what, d := range map[string]float64{
					"A": gap(a, dense(it.A)), "B": gap(b, dense(it.B)), "gamma": gap(gamma, dense(it.G)),
					"objective": r.Trace[r.Iterations].Objective/g.Traj[it.It].Total - 1,
				} {
					if math.Abs(d) > 1e-10 {
						t.Errorf("iteration %d: %s is off by %g", it.It, what, d)
					}
				}
				if it.It != 200 {
					continue
				}
				for what, d := range map[string]float64{
					"topics": gap(r.Topics, dense(g.W)), "scores": gap(r.Scores.T(), dense(g.H)),
					"coefficients": gap(r.Head.Coefficients.T(), dense(g.Beta)),
				} {
					if d > 1e-8 {
						t.Errorf("%s of the result are off by %g", what, d)
					}
				}
				c.checkPredictions(t, g, m.Model(r))
			}
		})
	}
}

// theta returns A and B in the paper's orientation, and Γ with the intercept first.
func theta(variant smf.Variant, r *solver.Result) (a, b, gamma *mat.Dense) {
	a, b = new(mat.Dense), new(mat.Dense)
	b.Mul(r.Topics, r.Scores.T())
	if variant == smf.VariantW {
		a.Mul(r.Topics, r.Head.Coefficients.T())
	} else {
		a.Mul(r.Head.Coefficients, r.Scores.T())
	}
	kappa, q := len(r.Head.Intercept), 0
	if r.Head.AuxCoefficients != nil {
		_, q = r.Head.AuxCoefficients.Dims()
	}
	gamma = mat.NewDense(1+q, kappa, nil)
	gamma.SetRow(0, r.Head.Intercept)
	if q > 0 {
		gamma.Slice(1, 1+q, 0, kappa).(*mat.Dense).Copy(r.Head.AuxCoefficients.T())
	}
	return a, b, gamma
}

// checkPredictions compares predictions of documents outside the training.
func (c sharedCase) checkPredictions(t *testing.T, g golden, m *smf.Model) {
	t.Helper()
	x := matrixio.Transposed(read(t, c.path("X_test.csv.gz")))
	p, err := m.Predict(x, mat.DenseCopyOf(readDense(t, c.path("X_aux_test.csv.gz")).T()))
	if err != nil {
		t.Fatal(err)
	}
	if d := gap(p.LogOdds.T(), dense(g.TestOdds)); d > 1e-8 {
		t.Errorf("log-odds of test documents are off by %g", d)
	}
	if fmt.Sprint(p.Classes) != fmt.Sprint(g.TestPred) {
		t.Errorf("classes %v, want %v", p.Classes, g.TestPred)
	}
	if m.Variant == smf.VariantH {
		if d := gap(p.Scores.T(), dense(g.TestCode)); d > 1e-8 {
			t.Errorf("codes of test documents are off by %g", d)
		}
	}
}

// best holds the least totals known: L-BFGS on the factors from the spectral start, ν = 2.
var best = map[string]map[smf.Variant]map[float64]float64{
	"a_centered": {
		smf.VariantW: {.1: 280.580753, 1: 492.795853, 5: 1433.866898, 20: 4956.406578},
		smf.VariantH: {.1: 355.677302, 1: 569.873242, 5: 1510.386146, 20: 5030.537445},
	},
	"b_jobs": {
		smf.VariantW: {.1: 826.170466, 1: 2739.492710, 5: 11234.530245, 20: 43070.359247},
		smf.VariantH: {.1: 832.881419, 1: 2749.430219, 5: 11248.066307, 20: 43081.609635},
	},
}

// TestReachesBestKnown solves from the default start: under the default tolerance to 1e-6 of the least totals known,
// and under a strict one to 1e-9, the rounding of these totals.
func TestReachesBestKnown(t *testing.T) {
	t.Parallel()
	for name, totals := range best {
		c := readCase(t, name)
		for variant, byXi := range totals {
			for xi, want := range byXi {
				t.Run(fmt.Sprintf("%s/%s/xi=%g", name, variant, xi), func(t *testing.T) {
					t.Parallel()
					m := newMethod(t, c.data, smf.Settings{Variant: variant, Xi: xi, Ridge: 2})
					for relTol, limit := range map[float64]float64{solver.DefaultRelTol: 1e-6, 1e-11: 1e-9} {
						r := solve(t, c.x, solver.Settings{Rank: c.rank, RelTol: relTol}, m)
						if excess := r.Objective/want - 1; !(excess <= limit) || r.Status.Early() {
							t.Errorf("tolerance %g: total %.6f after %d updates, %v; best known %.6f", relTol,
								r.Objective, r.Iterations, r.Status, want)
						}
					}
				})
			}
		}
	}
}

// TestFollowsReference compares the gradient update, which projects by block iteration here, with a trajectory under
// complete decompositions.
func TestFollowsReference(t *testing.T) {
	t.Parallel()
	c := readCase(t, "a_centered")
	topics, scores, head := c.start(t)
	for _, variant := range variants {
		for _, xi := range []float64{1, 5, 20} {
			m := newMethod(t, c.data, smf.Settings{Variant: variant, Xi: xi, Ridge: 2, Step: 0.01, StartHead: head})
			r := solve(t, c.x, solver.Settings{Rank: c.rank, MaxIter: 100, StartTopics: topics, StartScores: scores}, m)
			file := fmt.Sprintf("out/refLPGD_nu2_%s_xi%g.csv.gz", strings.ToUpper(string(variant[4:])), xi)
			for it, want := range totals(t, c.path(file)) {
				if it <= 100 && math.Abs(r.Trace[it].Objective/want-1) > 1e-8 {
					t.Errorf("%s, xi %g, iteration %d: total %.12g, the reference has %.12g", variant, xi, it,
						r.Trace[it].Objective, want)
					break
				}
			}
		}
	}
}

// totals reads the column total of a trajectory by iteration.
func totals(t *testing.T, path string) map[int]float64 {
	t.Helper()
	f, err := os.Open(path)
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
	values := map[int]float64{}
	for _, row := range rows[1:] {
		it, err := strconv.Atoi(row[0])
		if err != nil {
			t.Fatal(err)
		}
		if values[it], err = strconv.ParseFloat(row[5], 64); err != nil {
			t.Fatal(err)
		}
	}
	return values
}
