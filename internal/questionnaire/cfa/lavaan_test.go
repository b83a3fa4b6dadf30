package cfa_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/cfa"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// saved is a file of what lavaan 0.6-14 printed.
type saved struct {
	Model         string             `json:"model"`
	N             int                `json:"n"`
	Fit           map[string]float64 `json:"fit"`
	Parameters    []parameter        `json:"parameters"`
	Modifications []struct {
		LHS, Op, RHS string
		MI, EPC      float64
	} `json:"modification_indices"`
}

type parameter struct {
	Group, LHS, Op, RHS string
	Est, SE             float64
	Std                 *float64 `json:"std.all"`
}

func (p parameter) name() string { return strings.TrimSpace(p.LHS + " " + p.Op + " " + p.RHS) }

// lavaan reads a file of its values; shared is the folder of shared cases.
func lavaan(t *testing.T, name string, into any) (shared string) {
	t.Helper()
	shared = os.Getenv("WARDCAST_SHARED")
	if shared == "" {
		t.Skip("WARDCAST_SHARED does not name the folder of shared cases")
	}
	text, err := os.ReadFile(filepath.Join(shared, "cases", "lavaan", name+".json"))
	if err == nil {
		err = json.Unmarshal(text, into)
	}
	if err != nil {
		t.Fatal(err)
	}
	return shared
}

// fit fits the model of a case to its file in the shared folder.
func fit(t *testing.T, o cfa.Options, shared, file, model string) *cfa.Result {
	t.Helper()
	o.Input, o.Model = filepath.Join(shared, file), questionnairetest.File(t, "model.txt", model)
	r, err := cfa.Run(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// compareParameter compares an estimate and, unless it is fixed, its standard error.
func compareParameter(t *testing.T, r *cfa.Result, p parameter, absolute float64) {
	t.Helper()
	q := find(t, r, p.Group, p.name())
	near(t, p.name(), q.Estimate, p.Est, 1e-4, absolute)
	if p.SE > 0 {
		near(t, "the standard error of "+p.name(), float64(q.SE), p.SE, 1e-3, 1e-4)
	}
}

// near reports a figure that is further off than relative or absolute.
func near(t *testing.T, what string, got, want, relative, absolute float64) {
	t.Helper()
	if !(math.Abs(got-want) <= max(relative*math.Abs(want), absolute)) {
		t.Errorf("%s is %.8g, lavaan says %.8g", what, got, want)
	}
}

// compareFit compares indices of fit; those of WLSMV are lavaan's scaled ones.
func compareFit(t *testing.T, got cfa.Measures, want map[string]float64) {
	t.Helper()
	suffix, figures := "", map[string]float64{"chisq": float64(got.ChiSquare), "df": float64(got.DF)}
	if _, scaled := want["chisq.scaled"]; scaled {
		suffix, figures["chisq.scaled"] = ".scaled", float64(got.ChiSquareScaled)
	} else {
		figures["logl"], figures["aic"], figures["bic"] = float64(got.LogLikelihood), float64(got.AIC), float64(got.BIC)
	}
	for key, v := range map[string]float64{
		"pvalue": float64(got.P), "cfi": float64(got.CFI), "tli": float64(got.TLI), "rmsea": float64(got.RMSEA),
		"rmsea.ci.lower": float64(got.RMSEALow), "rmsea.ci.upper": float64(got.RMSEAHigh),
	} {
		figures[key+suffix] = v
	}
	for key, v := range figures {
		absolute := 1e-5
		if strings.HasPrefix(key, "chisq") || strings.HasPrefix(key, "pvalue") {
			absolute = 1e-4 // lavaan ends its searches earlier
		}
		near(t, key, v, want[key], 1e-5, absolute)
	}
	if v := float64(got.SRMR); math.Abs(v-want["srmr"]) > 1e-5 {
		near(t, "srmr", v, want["srmr_bentler"], 0, 1e-5)
	}
}

// TestLavaan compares with lavaan. Its searches end within 1e-5 of a parameter or so.
func TestLavaan(t *testing.T) {
	t.Parallel()
	const folder, data = "cases/lavaan/", "data/"
	for name, c := range map[string]struct {
		file string
		o    cfa.Options
	}{
		"hs_ml":                      {folder + "HolzingerSwineford1939.csv", cfa.Options{}},
		"hs_ml_constraints":          {folder + "HolzingerSwineford1939.csv", cfa.Options{}},
		"bfi_ml":                     {data + "bfi.csv.gz", cfa.Options{}},
		"bfi_fiml":                   {data + "bfi.csv.gz", cfa.Options{Estimator: cfa.FIML}},
		"branching_fiml":             {folder + "branching.csv", cfa.Options{Estimator: cfa.FIML}},
		"wenchuan_wlsmv":             {data + "mpsychor_Wenchuan.csv.gz", cfa.Options{Ordered: []string{"all"}}},
		"wenchuan_wlsmv_constraints": {data + "mpsychor_Wenchuan.csv.gz", cfa.Options{Ordered: []string{"all"}}},
		"anxiety_wlsmv":              {data + "lordif_Anxiety.csv.gz", cfa.Options{Ordered: []string{"all"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want saved
			shared := lavaan(t, name, &want)
			got := fit(t, c.o, shared, c.file, want.Model)
			for _, p := range want.Parameters {
				if p.Op == "~*~" || p.SE == 0 && p.Op != "=~" {
					continue
				}
				compareParameter(t, got, p, 1e-4)
				standardized := find(t, got, p.Group, p.name()).Standardized
				near(t, "standardized "+p.name(), float64(standardized), *p.Std, 1e-4, 1e-4)
			}
			compareFit(t, got.Fit, want.Fit)
			if got.N != want.N {
				t.Errorf("%d rows, lavaan says %d", got.N, want.N)
			}
			for _, m := range want.Modifications {
				found := false
				for _, o := range got.Modifications {
					if o.Op == m.Op && (o.LHS == m.LHS && o.RHS == m.RHS || o.LHS == m.RHS && o.RHS == m.LHS) {
						near(t, "modification index", o.MI, m.MI, 1e-3, 1e-3)
						near(t, "expected change", o.ExpectedChange, m.EPC, 1e-3, 1e-3)
						found = true
					}
				}
				if !found {
					t.Errorf("no modification index of %s %s %s", m.LHS, m.Op, m.RHS)
				}
			}
		})
	}
}

// TestLavaanInvariance compares the steps of invariance with lavaan's, those of ordered items with semTools' models
// after Wu and Estabrook.
func TestLavaanInvariance(t *testing.T) {
	t.Parallel()
	const folder, data = "cases/lavaan/", "data/"
	for name, c := range map[string]struct {
		file string
		o    cfa.Options
	}{
		"invariance_hs":      {folder + "HolzingerSwineford1939.csv", cfa.Options{}},
		"invariance_bfi":     {data + "bfi.csv.gz", cfa.Options{}},
		"invariance_anxiety": {data + "lordif_Anxiety.csv.gz", cfa.Options{Ordered: []string{"all"}}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want struct {
				saved
				Group string `json:"group"`
				Steps map[string]struct {
					Fit        map[string]float64 `json:"fit"`
					Difference struct {
						ChiSquare float64 `json:"chi_square"`
						DF        int     `json:"df"`
						P         float64 `json:"p"`
					} `json:"difference"`
				} `json:"steps"`
			}
			shared := lavaan(t, name, &want)
			c.o.Group, c.o.Invariance = want.Group, cfa.Intercepts
			got := fit(t, c.o, shared, c.file, want.Model)
			if len(got.Steps) != len(want.Steps) || got.N != want.N {
				t.Errorf("%d steps of %d rows, want %d of %d", len(got.Steps), got.N, len(want.Steps), want.N)
			}
			for _, s := range got.Steps {
				saved := want.Steps[s.Model]
				t.Run(s.Model, func(t *testing.T) {
					compareFit(t, s.Fit, saved.Fit)
					if d := s.Difference; d != nil {
						near(t, "the difference of chi-square", float64(d.ChiSquare), saved.Difference.ChiSquare, 1e-3,
							1e-3)
						near(t, "p of the difference", float64(d.P), saved.Difference.P, 1e-2, 1e-4)
						if d.DF != saved.Difference.DF {
							t.Errorf("the difference has df %d, lavaan says %d", d.DF, saved.Difference.DF)
						}
					}
				})
			}
			for _, p := range want.Parameters {
				if c.o.Ordered == nil && (p.SE > 0 || p.Op == "=~") {
					compareParameter(t, got, p, 2e-4)
				}
			}
		})
	}
}
