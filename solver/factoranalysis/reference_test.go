package factoranalysis_test

import (
	"bytes"
	"compress/gzip"
	"encoding/csv"
	"encoding/json"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// reference is what testdata/reference.R prints.
type reference struct {
	Pearson      [][]float64 `json:"pearson"`
	Polychoric   [][]float64 `json:"polychoric"`
	Residual     []float64   `json:"residual"`
	Uniquenesses []float64   `json:"uniquenesses"`
	Varimax      [][]float64 `json:"varimax"`
	Pattern      [][]float64 `json:"pattern"`
	Phi          [][]float64 `json:"phi"`
	Scores       [][]float64 `json:"scores"`
}

// What is found directly agrees to rounding; R's searches stop short of that.
const (
	rounding = 1e-12
	searched = 1e-7
)

func TestReference(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "reference.json"))
	if err != nil {
		t.Fatal(err)
	}
	compare(t, readAnswers(t, filepath.Join("testdata", "answers.csv")), text)
}

// TestBesideR runs testdata/reference.R on the answers of bfi:
//
//	WARDCAST_R=1 WARDCAST_SHARED=… go test -run TestBesideR -v ./solver/factoranalysis
//
// It needs r-base-core, r-cran-jsonlite and r-cran-mvtnorm, and takes about ten seconds.
func TestBesideR(t *testing.T) {
	if os.Getenv("WARDCAST_R") != "1" {
		t.Skip("WARDCAST_R is not 1")
	}
	x := complete(shared(t, "bfi", 0, 25))
	path := filepath.Join(t.TempDir(), "answers.csv")
	writeAnswers(t, path, x)
	command := exec.CommandContext(t.Context(), "Rscript", filepath.Join("testdata", "reference.R"), path, "5")
	command.Stderr = os.Stderr
	text, err := command.Output()
	if err != nil {
		t.Fatalf("running Rscript: %v", err)
	}
	compare(t, x, text)
}

// compare holds correlations, extraction, rotations and scores of complete answers against those of R.
func compare(t *testing.T, x *mat.Dense, text []byte) {
	t.Helper()
	var want reference
	if err := json.Unmarshal(text, &want); err != nil {
		t.Fatal(err)
	}
	polychoric, err := factoranalysis.Correlate(t.Context(), x, factoranalysis.Polychoric, 0)
	if err != nil {
		t.Fatal(err)
	}
	near(t, "polychoric correlations", polychoric.R, want.Polychoric, searched)

	gappy := mat.DenseCopyOf(x)
	gappy.Apply(func(i, j int, v float64) float64 {
		if (7*(i+1)+3*(j+1))%11 == 0 {
			return math.NaN()
		}
		return v
	}, gappy)
	k := len(want.Phi)
	m := fit(t, gappy, factoranalysis.Settings{Factors: k})
	near(t, "Pearson correlations", m.Correlations.R, want.Pearson, rounding)
	near(t, "uniquenesses", mat.NewDense(1, len(m.Uniquenesses), m.Uniquenesses),
		[][]float64{want.Uniquenesses}, searched)
	p, _ := m.Loadings.Dims()
	if got := m.Fit.RMSR * m.Fit.RMSR * float64(p*(p-1)); math.Abs(got-want.Residual[0]) > 1e-9 {
		// Fit.RMSR is that of the rotated loadings, which reproduce the same correlations.
		t.Errorf("sum of squared residuals %.12g, want %.12g", got, want.Residual[0])
	}
	varimax := fit(t, gappy, factoranalysis.Settings{Factors: k, Rotation: factoranalysis.RotateVarimax})
	order, signs := match(varimax.Loadings, want.Varimax)
	near(t, "varimax loadings", columns(varimax.Loadings, order, signs), want.Varimax, searched)
	order, signs = match(m.Loadings, want.Pattern)
	near(t, "promax loadings", columns(m.Loadings, order, signs), want.Pattern, searched)
	phi := columns(mat.DenseCopyOf(columns(m.Phi, order, signs).T()), order, signs)
	near(t, "factor correlations", phi, want.Phi, searched)
	scores, err := m.Transform(x.Slice(0, len(want.Scores), 0, p).(*mat.Dense))
	if err != nil {
		t.Fatal(err)
	}
	near(t, "scores", columns(scores, order, signs), want.Scores, searched)
}

func fit(t testing.TB, x *mat.Dense, s factoranalysis.Settings) *factoranalysis.Model {
	t.Helper()
	m, err := factoranalysis.Fit(t.Context(), x, s)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

func near(t *testing.T, what string, got mat.Matrix, want [][]float64, tolerance float64) {
	t.Helper()
	r, c := got.Dims()
	if r != len(want) || c != len(want[0]) {
		t.Fatalf("%s: %d×%d, must be %d×%d", what, r, c, len(want), len(want[0]))
	}
	var worst float64
	for i := range r {
		for j := range c {
			worst = max(worst, math.Abs(got.At(i, j)-want[i][j]))
		}
	}
	t.Logf("%s: largest difference %.2g", what, worst)
	if !(worst <= tolerance) {
		t.Errorf("%s: largest difference %.3g, want at most %g", what, worst, tolerance)
	}
}

// match returns for each column of want the column of got that is nearest but for its sign.
func match(got *mat.Dense, want [][]float64) (order []int, signs []float64) {
	p, k := got.Dims()
	for t := range want[0] {
		best, sign, product := 0, 1.0, 0.0
		for s := range k {
			var dot float64
			for i := range p {
				dot += got.At(i, s) * want[i][t]
			}
			if math.Abs(dot) > math.Abs(product) {
				best, product, sign = s, dot, math.Copysign(1, dot)
			}
		}
		order, signs = append(order, best), append(signs, sign)
	}
	return order, signs
}

func columns(a *mat.Dense, order []int, signs []float64) *mat.Dense {
	n, _ := a.Dims()
	out := mat.NewDense(n, len(order), nil)
	for t, s := range order {
		for i := range n {
			out.Set(i, t, signs[t]*a.At(i, s))
		}
	}
	return out
}

// readAnswers reads a CSV file with a header, gzipped or not; what is no number is a missing answer.
func readAnswers(t testing.TB, path string) *mat.Dense {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if strings.HasSuffix(path, ".gz") {
		z, err := gzip.NewReader(bytes.NewReader(data))
		if err != nil {
			t.Fatal(err)
		}
		if data, err = io.ReadAll(z); err != nil {
			t.Fatal(err)
		}
	}
	records, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := strconv.ParseFloat(records[0][0], 64); err != nil {
		records = records[1:]
	}
	x := mat.NewDense(len(records), len(records[0]), nil)
	for i, record := range records {
		for j, field := range record {
			v, err := strconv.ParseFloat(field, 64)
			if err != nil {
				v = math.NaN()
			}
			x.Set(i, j, v)
		}
	}
	return x
}

func writeAnswers(t *testing.T, path string, x *mat.Dense) {
	t.Helper()
	n, p := x.Dims()
	var out strings.Builder
	for j := range p {
		out.WriteString("q" + strconv.Itoa(j) + ",")
	}
	text := strings.TrimSuffix(out.String(), ",") + "\n"
	for i := range n {
		fields := make([]string, p)
		for j := range fields {
			fields[j] = strconv.FormatFloat(x.At(i, j), 'g', -1, 64)
		}
		text += strings.Join(fields, ",") + "\n"
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// complete returns the rows without a missing answer.
func complete(x *mat.Dense) *mat.Dense {
	n, p := x.Dims()
	var kept []float64
	for i := range n {
		if row := x.RawRowView(i); !math.IsNaN(mat.Sum(mat.NewVecDense(p, row))) {
			kept = append(kept, row...)
		}
	}
	return mat.NewDense(len(kept)/p, p, kept)
}

// shared reads columns [from, to) of a data set of the shared folder; to 0 means all.
func shared(t testing.TB, name string, from, to int) *mat.Dense {
	t.Helper()
	root := os.Getenv("WARDCAST_SHARED")
	if root == "" {
		t.Skip("WARDCAST_SHARED is not set")
	}
	x := readAnswers(t, filepath.Join(root, "data", name+".csv.gz"))
	n, p := x.Dims()
	if to == 0 {
		to = p
	}
	return mat.DenseCopyOf(x.Slice(0, n, from, to))
}

// The five factors of the 25 items of bfi are the five traits.
func TestBFI(t *testing.T) {
	t.Parallel()
	x := shared(t, "bfi", 0, 25)
	for _, kind := range []factoranalysis.Kind{factoranalysis.Pearson, factoranalysis.Polychoric} {
		m := fit(t, x, factoranalysis.Settings{Factors: 5, Correlation: kind})
		taken := map[int]int{}
		for j := range 25 {
			best := 0
			for k := range 5 {
				if math.Abs(m.Loadings.At(j, k)) > math.Abs(m.Loadings.At(j, best)) {
					best = k
				}
			}
			if trait, ok := taken[best]; ok && trait != j/5 {
				t.Errorf("%s: item %d loads on the factor of trait %d", kind, j, trait)
			} else {
				taken[best] = j / 5
			}
		}
	}
}
