package factoranalysis_test

import (
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"testing"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"

	"github.com/wardcast/wardcast/solver"
	"github.com/wardcast/wardcast/solver/factoranalysis"
	"github.com/wardcast/wardcast/solver/linalg"
)

// figure is a number of R, NaN for "NA".
type figure float64

func (f *figure) UnmarshalJSON(text []byte) error {
	if string(text) == `"NA"` {
		*f = figure(math.NaN())
		return nil
	}
	return json.Unmarshal(text, (*float64)(f))
}

func denseOf(rows [][]figure) *mat.Dense {
	a := mat.NewDense(len(rows), len(rows[0]), nil)
	a.Apply(func(i, j int, _ float64) float64 { return float64(rows[i][j]) }, a)
	return a
}

type kinds struct {
	Geomin psychRotation
	Target struct {
		psychRotation
		Target [][]figure
	}
	Bifactor, Loadings, Phi, Correlations [][]float64
	Uniquenesses                          []float64
	Scores                                map[string]map[factoranalysis.ScoreKind]json.RawMessage
}

func readKinds(t *testing.T) (x *mat.Dense, all *kinds) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("testdata", "scores.json"))
	if err != nil {
		t.Fatal(err)
	}
	all = &kinds{}
	if err := json.Unmarshal(text, all); err != nil {
		t.Fatal(err)
	}
	return readAnswers(t, filepath.Join("testdata", "answers.csv")), all
}

func dense(rows [][]float64) *mat.Dense {
	a := mat.NewDense(len(rows), len(rows[0]), nil)
	for i, row := range rows {
		a.SetRow(i, row)
	}
	return a
}

// Scores of every kind, from all answers and from some, are those of psych's weights, and their errors those by
// definition; testdata/scores.R has both.
func TestScoresBesidePsych(t *testing.T) {
	t.Parallel()
	x, want := readKinds(t)
	m := &factoranalysis.Scorer{
		Loadings: dense(want.Loadings), Phi: dense(want.Phi), Uniquenesses: want.Uniquenesses,
		ScoreCorrelations: mat.NewSymDense(len(want.Correlations), dense(want.Correlations).RawMatrix().Data),
	}
	m.Means, m.Deviations = linalg.SampleMoments(x)
	for name, kinds := range want.Scores {
		var items []int
		if err := json.Unmarshal(kinds["items"], &items); err != nil {
			t.Fatal(err)
		}
		given := mat.NewDense(20, len(want.Loadings), nil)
		given.Apply(func(_, _ int, _ float64) float64 { return math.NaN() }, given)
		for _, j := range items {
			given.SetCol(j, mat.Col(nil, j, x)[:20])
		}
		for _, kind := range factoranalysis.ScoreKinds() {
			var of struct {
				Scores [][]float64
				Errors []float64
			}
			if err := json.Unmarshal(kinds[kind], &of); err != nil {
				t.Fatal(err)
			}
			m.Scores = kind
			scores, errs, err := m.ScoresErrors(given)
			if err != nil {
				t.Fatal(err)
			}
			near(t, name+" "+string(kind), scores, of.Scores, written)
			near(t, name+" errors of "+string(kind), errs.Slice(0, 1, 0, 3), [][]float64{of.Errors}, written)
		}
	}
	m.Scores = "harman"
	if _, _, err := m.ScoresErrors(x); !errors.Is(err, solver.ErrSettings) {
		t.Errorf("unknown kind: error %v", err)
	}
}

// Rotations are the lowest minima that GPArotation finds from 50 starts, and the solution of Schmid and Leiman.
func TestRotationsBesideGPArotation(t *testing.T) {
	t.Parallel()
	x, want := readKinds(t)
	const stops = 1e-6 // R's search for the loadings
	of := func(s factoranalysis.Settings) *factoranalysis.Model {
		s.Factors = 3
		return fit(t, x, s)
	}
	geomin := of(factoranalysis.Settings{Rotation: factoranalysis.RotateGeomin})
	compareRotation(t, "geomin", geomin, &want.Geomin, stops)
	target := of(factoranalysis.Settings{Rotation: factoranalysis.RotateTarget, Target: denseOf(want.Target.Target)})
	order := compareRotation(t, "target", target, &want.Target.psychRotation, stops)
	if order[0] != 0 || order[1] != 1 || order[2] != 2 || target.Loadings.At(0, 1) > 0 {
		t.Errorf("target: order %v, loading %v near -.5", order, target.Loadings.At(0, 1))
	}
	bifactor := fit(t, x, factoranalysis.Settings{Factors: 4, Rotation: factoranalysis.RotateBifactor})
	for part, columnsOf := range map[string][2]int{"general": {0, 1}, "groups": {1, 4}} { // alike, so matched apart
		rows := make([][]float64, len(want.Bifactor))
		for i, row := range want.Bifactor {
			rows[i] = row[columnsOf[0]:columnsOf[1]]
		}
		got := mat.DenseCopyOf(bifactor.Loadings.Slice(0, len(rows), columnsOf[0], columnsOf[1]))
		order, signs := match(got, rows)
		near(t, "bifactor "+part, columns(got, order, signs), rows, stops)
	}
	if three := of(factoranalysis.Settings{}); bifactor.Fit.DF != three.Fit.DF {
		t.Errorf("bifactor: %d degrees of freedom, want %d", bifactor.Fit.DF, three.Fit.DF)
	}
}

// Of every rotation, and for every kind of scores: ten Berge's correlate like the factors, Bartlett's are the factors
// if answers have no error, all have the reliability that their errors say, and answers that cannot tell the factors
// apart have none but regression scores.
func TestEveryRotationAndKind(t *testing.T) {
	t.Parallel()
	x, _ := planted(2000, 12, 3, .3)
	target := mat.NewDense(12, 3, nil)
	for j := range 12 {
		target.Set(j, j%3, math.NaN())
	}
	for _, name := range factoranalysis.Rotations() {
		rotation := factoranalysis.Rotation(name)
		s := factoranalysis.Settings{Factors: 3, Rotation: rotation, Target: target}
		if rotation == factoranalysis.RotateBifactor {
			s.Factors = 4
		}
		m := fit(t, x, s)
		if rotation == factoranalysis.RotateTarget {
			for j := range 12 {
				if own := math.Abs(m.Loadings.At(j, j%3)); own < .4 {
					t.Errorf("target: item %d loads %v on its own factor", j, own)
				}
			}
		}
		few := mat.DenseCopyOf(x.Slice(0, 1, 0, 12))
		for j := 2; j < 12; j++ {
			few.Set(0, j, math.NaN())
		}
		for _, m.Scores = range factoranalysis.ScoreKinds() {
			scores, errs, err := m.ScoresErrors(x)
			if err != nil {
				t.Fatal(err)
			}
			if rotation == factoranalysis.RotateBifactor && m.Scores != factoranalysis.ScoreRegression {
				if !math.IsNaN(scores.At(0, 0)) || !math.IsNaN(errs.At(0, 0)) {
					t.Errorf("bifactor: %s scores of loadings that depend on each other: %v", m.Scores, scores.At(0, 0))
				}
				continue
			}
			_, k := scores.Dims()
			correlations := mat.NewSymDense(k, nil)
			stat.CovarianceMatrix(correlations, scores, nil)
			if m.Scores == factoranalysis.ScoreTenBerge && !mat.EqualApprox(correlations, m.Phi, 1e-10) {
				t.Errorf("%s: ten Berge's scores have the covariances\n%v\nfactors\n%v", name,
					mat.Formatted(correlations), mat.Formatted(m.Phi))
			}
			for f := range k {
				// The variance of a score is ρ², 1/ρ² or 1, in a sample nearly so.
				squared := errs.At(0, f) * errs.At(0, f)
				want := map[factoranalysis.ScoreKind]float64{
					factoranalysis.ScoreRegression: m.Scores.Reliability(squared),
					factoranalysis.ScoreBartlett:   1 / m.Scores.Reliability(squared), factoranalysis.ScoreTenBerge: 1,
				}[m.Scores]
				if math.Abs(correlations.At(f, f)-want) > .03 || errs.At(0, f) > m.Scores.LargestError() {
					t.Errorf("%s: %s scores have the variance %v, want %v; error %v", name, m.Scores,
						correlations.At(f, f), want, errs.At(0, f))
				}
			}
			if m.Scores == factoranalysis.ScoreBartlett {
				var exact mat.Dense
				factors := mat.NewDense(1, k, nil)
				factors.Set(0, 0, 1.5)
				factors.Set(0, 1, -1)
				exact.Mul(factors, m.Loadings.T())
				exact.Apply(func(_, j int, v float64) float64 { return m.Means[j] + m.Deviations[j]*v }, &exact)
				if got, _ := m.Transform(&exact); !mat.EqualApprox(got, factors, 1e-9) {
					t.Errorf("%s: Bartlett's scores %v, want %v", name, got, factors)
				}
			}
			scores, errs, err = m.ScoresErrors(few)
			none := math.IsNaN(scores.At(0, 0)) && math.IsNaN(errs.At(0, 0))
			if err != nil || none != (m.Scores != factoranalysis.ScoreRegression) {
				t.Errorf("%s: %s scores of two answers are %v ± %v, error %v", name, m.Scores, scores.At(0, 0),
					errs.At(0, 0), err)
			}
		}
	}
}
