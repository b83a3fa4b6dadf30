package items_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/answers"
	"github.com/wardcast/wardcast/internal/questionnaire/items"
)

// reference is what psych says of a file.
type reference struct {
	File              string
	Items, Reversed   []string
	Low, High         *float64
	N                 int
	Alpha             float64
	AlphaInterval     []float64 `json:"alpha_interval"`
	AlphaStandardized float64   `json:"alpha_standardized"`
	MeanCorrelation   float64   `json:"mean_correlation"`
	Lambda6           float64
	Mean, SD          []float64
	ItemRest          []float64 `json:"item_rest"`
	AlphaDropped      []float64 `json:"alpha_dropped"`
	SplitMean         float64   `json:"split_mean"`
	SplitLowest       *float64  `json:"split_lowest"`
	SplitHighest      *float64  `json:"split_highest"`
	Splits            int
	KMO               float64
	KMOItems          []float64 `json:"kmo_items"`
	Bartlett          items.Bartlett
	OmegaFactors      int     `json:"omega_factors"` // 0 without omega
	OmegaTotal        float64 `json:"omega_total"`
	OmegaHierarchical float64 `json:"omega_hierarchical"`
}

// tolerance is what psych's rounding and the ten digits of reference.json leave.
const tolerance = 1e-8

// searchTolerance is what the ends of two searches for minres factors and their rotation leave.
const searchTolerance = 1e-4

// off reports figures that differ from those of psych by more than a tolerance.
func off(t *testing.T, what string, got *float64, want, tolerance float64) {
	t.Helper()
	if got == nil || !(math.Abs(*got-want) <= tolerance) {
		shown := math.NaN()
		if got != nil {
			shown = *got
		}
		t.Errorf("%s is %v, of psych %v", what, shown, want)
	}
}

// All figures are those of R's psych. The files other than answers.csv are in a folder of their own.
func TestReference(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/reference.json")
	if err != nil {
		t.Fatal(err)
	}
	var all struct{ Cases map[string]reference }
	if err := json.Unmarshal(data, &all); err != nil {
		t.Fatal(err)
	}
	for name, want := range all.Cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			folder := "testdata"
			if want.File != "answers.csv" {
				if folder = os.Getenv("WARDCAST_SHARED"); folder == "" {
					t.Skip("WARDCAST_SHARED names the folder of the data")
				}
				folder = filepath.Join(folder, "data")
			}
			o := items.Options{
				Input:   filepath.Join(folder, want.File),
				Columns: answers.Columns{Items: want.Items, Reversed: want.Reversed},
				Factors: want.OmegaFactors, Seed: 1,
			}
			if want.Low != nil {
				o.Columns.Range = &questionnaire.Range{Low: *want.Low, High: *want.High}
			}
			got, err := items.Run(t.Context(), o)
			if err != nil {
				t.Fatal(err)
			}
			if got.N != want.N {
				t.Errorf("%d participants, of psych %d", got.N, want.N)
			}
			check(t, got, &want)
		})
	}
}

func check(t *testing.T, got *items.Analysis, want *reference) {
	t.Helper()
	off(t, "alpha", got.Alpha, want.Alpha, tolerance)
	off(t, "lower alpha", &got.AlphaInterval.Low, want.AlphaInterval[0], tolerance)
	off(t, "upper alpha", &got.AlphaInterval.High, want.AlphaInterval[1], tolerance)
	off(t, "standardized alpha", got.AlphaStandardized, want.AlphaStandardized, tolerance)
	off(t, "mean correlation", got.MeanCorrelation, want.MeanCorrelation, tolerance)
	off(t, "lambda 6", got.Lambda6, want.Lambda6, tolerance)
	s := got.SplitHalf
	if s.All != (want.SplitLowest != nil) || s.All && s.Splits != want.Splits {
		t.Errorf("%d splits, all %v; psych made %d", s.Splits, s.All, want.Splits)
	}
	if s.All {
		off(t, "mean split half", &s.Mean, want.SplitMean, tolerance)
		off(t, "lowest split half", &s.Lowest, *want.SplitLowest, tolerance)
		off(t, "highest split half", &s.Highest, *want.SplitHighest, tolerance)
	} else {
		off(t, "mean split half", &s.Mean, want.SplitMean, 2e-3) // both are means of random splits
	}
	off(t, "KMO", got.KMO, want.KMO, tolerance)
	off(t, "Bartlett's chi-square relative to psych's", new(got.Bartlett.ChiSquare/want.Bartlett.ChiSquare), 1,
		tolerance)
	off(t, "Bartlett's p", &got.Bartlett.P, want.Bartlett.P, tolerance)
	if got.Bartlett.DF != want.Bartlett.DF {
		t.Errorf("%d degrees of freedom, of psych %d", got.Bartlett.DF, want.Bartlett.DF)
	}
	if want.OmegaFactors > 0 {
		off(t, "total omega", got.OmegaTotal, want.OmegaTotal, searchTolerance)
		off(t, "hierarchical omega", got.OmegaHierarchical, want.OmegaHierarchical, searchTolerance)
	}
	for j, item := range got.Items {
		off(t, "KMO of "+item.Name, got.KMOItems[item.Name], want.KMOItems[j], tolerance)
		off(t, "mean of "+item.Name, item.Mean, want.Mean[j], tolerance)
		off(t, "sd of "+item.Name, item.SD, want.SD[j], tolerance)
		off(t, "item-rest correlation of "+item.Name, item.ItemRest, want.ItemRest[j], tolerance)
		off(t, "alpha without "+item.Name, item.AlphaDropped, want.AlphaDropped[j], tolerance)
	}
}
