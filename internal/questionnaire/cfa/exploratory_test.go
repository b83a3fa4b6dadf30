package cfa_test

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
	"github.com/wardcast/wardcast/internal/table"
	"github.com/wardcast/wardcast/internal/wording"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// fitErrors returns a solution of maximum likelihood and its standard errors.
func fitErrors(t *testing.T, x *mat.Dense, k int, by factoranalysis.Rotation, full bool,
) (m *factoranalysis.Model, loadings, phi *mat.Dense) {
	t.Helper()
	s := factoranalysis.Settings{
		Factors: k, Extraction: factoranalysis.MaximumLikelihood, Rotation: by, Quick: true, Threads: 1,
	}
	if full {
		s.Correlation = factoranalysis.FullInformation
	}
	m, err := factoranalysis.Fit(t.Context(), x, s)
	if err != nil {
		t.Fatal(err)
	}
	if m.Unrotated == nil {
		return m, nil, nil
	}
	loadings, phi = m.Unrotated.StandardErrors(cfa.Information(m.Unrotated))
	return m, loadings, phi
}

// testdata/errors.py has the bordered information of the rotated parameters, by other algorithms.
func TestErrorsBesideBordered(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join("testdata", "errors.json"))
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]struct {
		Loadings, SE [][]float64
		PhiSE        [][]float64 `json:"phi_se"`
	}
	if err := json.Unmarshal(text, &all); err != nil {
		t.Fatal(err)
	}
	x := answersOf(t, filepath.Join("..", "..", "..", "solver", "factoranalysis", "testdata", "answers.csv"))
	n, p := x.Dims()
	hidden := mat.DenseCopyOf(x)
	for i := range n {
		for j := 6; j < p && x.At(i, 0) < 3; j++ { // its median
			hidden.Set(i, j, math.NaN())
		}
	}
	const tolerance = 2e-4 // of a number near .05, since EM ends within 1e-3 standard errors
	for _, by := range []factoranalysis.Rotation{factoranalysis.RotateOblimin, factoranalysis.RotateVarimax} {
		for name, data := range map[string]*mat.Dense{"complete": x, "missing": hidden} {
			want := all[name+" "+string(by)]
			m, errs, phi := fitErrors(t, data, 3, by, name == "missing")
			for i := range p {
				for f := range 3 {
					if d := math.Abs(errs.At(i, f) - want.SE[i][f]); !(d < tolerance) {
						t.Errorf("%s %s: item %d, factor %d: %.6f, want %.6f; loading %.5f, want %.5f", name, by, i, f,
							errs.At(i, f), want.SE[i][f], m.Loadings.At(i, f), want.Loadings[i][f])
					}
				}
			}
			if (phi != nil) != (by == factoranalysis.RotateOblimin) {
				t.Fatalf("%s %s: errors of the factors' correlations %v", name, by, phi)
			}
			for s := range 3 {
				for f := range s {
					if phi != nil && !(math.Abs(phi.At(s, f)-want.PhiSE[s][f]) < tolerance) {
						t.Errorf("%s %s: factors %d and %d: %.6f, want %.6f", name, by, s, f, phi.At(s, f), want.PhiSE[s][f])
					}
				}
			}
		}
	}
}

// answersOf reads a file of numbers.
func answersOf(t *testing.T, path string) *mat.Dense {
	t.Helper()
	r, err := table.Open(path, table.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var all []float64
	for row, err := range r.Rows() {
		if err != nil {
			t.Fatal(err)
		}
		for _, cell := range row.Cells {
			v, err := wording.Number(cell)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, v)
		}
	}
	return mat.NewDense(len(all)/len(r.Header), len(r.Header), all)
}

// Of planted loadings, 93 to 97 % are within 1.96 standard errors, with answers missing because of others too.
func TestErrorsCover(t *testing.T) {
	t.Parallel()
	samples, low, high := 12, .90, .99
	if os.Getenv("WARDCAST_LONG") != "" {
		samples, low, high = 300, .93, .97
	}
	const n, p, phi, normal = 400, 12, .4, 1.96
	pattern := mat.NewDense(p, 2, nil)
	for i := range p {
		pattern.Set(i, i/6, .5+.06*float64(i%6))
		pattern.Set(i, 1-i/6, .1*float64(i%3-1))
	}
	root := mat.NewDense(2, 2, []float64{1, 0, phi, math.Sqrt(1 - phi*phi)})
	var planted mat.Dense
	planted.Mul(pattern, root)
	for by, rotate := range map[factoranalysis.Rotation]func(*mat.Dense) (rotated, other *mat.Dense){
		factoranalysis.RotatePromax: factoranalysis.Promax, factoranalysis.RotateOblimin: factoranalysis.Oblimin,
		factoranalysis.RotateVarimax: factoranalysis.Varimax,
	} {
		truth, correlations := rotate(&planted)
		r := rand.New(rand.NewPCG(3, 9))
		for _, full := range []bool{false, true} {
			var inside, all, insidePhi, allPhi, missing float64
			var biases [2][p][]float64
			var biasesPhi []float64
			for range samples {
				x := mat.NewDense(n, p, nil)
				for i := range n {
					f := mat.NewVecDense(2, []float64{r.NormFloat64(), r.NormFloat64()})
					for j := range p {
						l := planted.RowView(j)
						x.Set(i, j, mat.Dot(l, f)+math.Sqrt(1-mat.Dot(l, l))*r.NormFloat64())
					}
					for j := range p {
						if full && (j%6 > 2 && x.At(i, 0) < -.1 || j > 8 && x.At(i, 6) < 0) {
							x.Set(i, j, math.NaN())
							missing += 1 / float64(samples*n*p)
						}
					}
				}
				m, errs, phiErrs := fitErrors(t, x, 2, by, full)
				if errs == nil { // a uniqueness at its bound
					continue
				}
				for f := range 2 {
					of := 0
					if math.Abs(mat.Dot(m.Loadings.ColView(f), truth.ColView(1))) >
						math.Abs(mat.Dot(m.Loadings.ColView(f), truth.ColView(0))) {
						of = 1
					}
					sign := math.Copysign(1, mat.Sum(truth.ColView(of)))
					for i := range p {
						bias := sign*m.Loadings.At(i, f) - truth.At(i, of)
						biases[of][i] = append(biases[of][i], bias)
						if all++; math.Abs(bias) < normal*errs.At(i, f) {
							inside++
						}
					}
				}
				if phiErrs != nil {
					bias := m.Phi.At(0, 1) - math.Abs(correlations.At(0, 1))
					biasesPhi = append(biasesPhi, bias)
					if allPhi++; math.Abs(bias) < normal*phiErrs.At(0, 1) {
						insidePhi++
					}
				}
			}
			t.Logf("%s, %.0f %% missing: %.3f of %.0f loadings, %.3f of %.0f correlations", by, 100*missing, inside/all, all,
				insidePhi/allPhi, allPhi)
			worst, beyond := 0., 0
			for _, loading := range slices.Concat(biases[0][:], biases[1][:]) {
				mean, sd := stat.MeanStdDev(loading, nil)
				worst = max(worst, math.Abs(mean))
				if math.Abs(mean) > 2*sd/math.Sqrt(float64(len(loading))) {
					beyond++
				}
			}
			mean, sd := stat.MeanStdDev(biasesPhi, nil)
			t.Logf("the bias of loadings is at most %.4f, beyond two standard errors for %d; that of phi %.4f ± %.4f", worst,
				beyond, mean, sd/math.Sqrt(allPhi))
			if share := inside / all; !(low <= share && share <= high) || all < 20*float64(samples) {
				t.Errorf("%s, full information %t: %.3f of %.0f loadings within %v standard errors", by, full, share, all,
					normal)
			}
			if share := insidePhi / allPhi; allPhi > 50 && !(low <= share && share <= high) {
				t.Errorf("%s, full information %t: %.3f of the correlations", by, full, share)
			}
		}
	}
}
