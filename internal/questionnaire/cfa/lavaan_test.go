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
	Model      string             `json:"model"`
	N          int                `json:"n"`
	Fit        map[string]float64 `json:"fit"`
	Parameters []struct {
		Group, LHS, Op, RHS string
		Est, SE             float64
		Std                 *float64 `json:"std.all"`
	} `json:"parameters"`
	Modifications []struct {
		LHS, Op, RHS string
		MI, EPC      float64
	} `json:"modification_indices"`
}

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

// near reports a figure that is further off than relative or absolute.
func near(t *testing.T, what string, got, want, relative, absolute float64) {
	t.Helper()
	if !(math.Abs(got-want) <= max(relative*math.Abs(want), absolute)) {
		t.Errorf("%s is %.8g, lavaan says %.8g", what, got, want)
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
		"hs_ml":             {folder + "HolzingerSwineford1939.csv", cfa.Options{}},
		"hs_ml_constraints": {folder + "HolzingerSwineford1939.csv", cfa.Options{}},
		"bfi_ml":            {data + "bfi.csv.gz", cfa.Options{}},
		"bfi_fiml":          {data + "bfi.csv.gz", cfa.Options{Estimator: cfa.FIML}},
		"branching_fiml":    {folder + "branching.csv", cfa.Options{Estimator: cfa.FIML}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want saved
			shared := lavaan(t, name, &want)
			c.o.Input, c.o.Model = filepath.Join(shared, c.file), questionnairetest.File(t, "model.txt", want.Model)
			got, err := cfa.Run(t.Context(), c.o)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range want.Parameters {
				if p.Op == "~*~" || p.SE == 0 && p.Op != "=~" {
					continue
				}
				what := strings.TrimSpace(p.LHS + " " + p.Op + " " + p.RHS)
				q := find(t, got, p.Group, what)
				near(t, what, q.Estimate, p.Est, 1e-4, 1e-4)
				if p.SE > 0 {
					near(t, "the standard error of "+what, float64(q.SE), p.SE, 1e-3, 1e-4)
				}
				near(t, "standardized "+what, float64(q.Standardized), *p.Std, 1e-4, 1e-4)
			}
			f := got.Fit
			for key, v := range map[string]float64{
				"chisq": float64(f.ChiSquare), "df": float64(f.DF), "cfi": float64(f.CFI), "tli": float64(f.TLI),
				"rmsea": float64(f.RMSEA), "rmsea.ci.lower": float64(f.RMSEALow), "rmsea.ci.upper": float64(f.RMSEAHigh),
				"srmr": float64(f.SRMR), "logl": float64(f.LogLikelihood), "aic": float64(f.AIC), "bic": float64(f.BIC),
			} {
				near(t, key, v, want.Fit[key], 1e-5, 1e-4)
			}
			if got.N != want.N || !got.Converged {
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
