package fit_test

import (
	"errors"
	"math"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Of every rotation and kind of scores the stored model gives the scores of the fit, and maximum likelihood has
// standard errors of the loadings unless there is no rotation. A participant with one answer has no scores of the kinds
// that need more.
func TestEveryRotationAndKind(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	file := questionnairetest.File(t, "x.csv", questionnairetest.CSV(rows))
	text := "item,factor1,factor2,factor3\n"
	for _, row := range targetRows(t, file) {
		text += row + "\n"
	}
	target := questionnairetest.File(t, "target.csv", text)
	for _, rotation := range factoranalysis.Rotations() {
		for _, kind := range factoranalysis.ScoreKinds() {
			t.Run(rotation+" "+string(kind), func(t *testing.T) {
				t.Parallel()
				o := questionnairetest.Options(file)
				o.Method, o.Betas, o.Extraction = model.MethodFA, nil, string(factoranalysis.MaximumLikelihood)
				o.Rotation, o.ScoreKind, o.Columns.Confounds = rotation, string(kind), nil
				switch factoranalysis.Rotation(rotation) {
				case factoranalysis.RotateTarget:
					o.Target = target
				case factoranalysis.RotateBifactor:
					o.Factors = []int{questionnairetest.Factors + 1}
				}
				f, err := fit.Fit(t.Context(), o)
				if rotation == "bifactor" && kind != factoranalysis.ScoreRegression {
					if !errors.Is(err, questionnaire.ErrOptions) {
						t.Errorf("error %v", err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				if errs := f.Summary.StandardErrors; (errs == nil) != (rotation == "none") {
					t.Errorf("standard errors %v", errs)
				}
				m, err := model.Load(questionnairetest.Store(t, &f.Model))
				if err != nil {
					t.Fatal(err)
				}
				s, err := fit.Score(m, file, fit.Scoring{Table: o.Scores})
				if err != nil {
					t.Fatal(err)
				}
				if got, want := string(s.CSV()), string(f.Scores.CSV()); got != want {
					t.Errorf("score of the stored model:\n%.300s\nfit:\n%.300s", got, want)
				}
				for _, d := range f.Summary.FactorFits {
					least := .2
					if rotation == "bifactor" { // the planted factors have nothing in common
						least = 0
					}
					if !(d.Reliability > least && d.Reliability < 1 && d.Limit < 100) {
						t.Errorf("reliability %v, limit %v", d.Reliability, d.Limit)
					}
				}
				one := mat.NewDense(1, len(m.Items), nil)
				for j := 1; j < len(m.Items); j++ {
					one.Set(0, j, math.NaN())
				}
				values, _, err := fit.ScoreErrors(m, one, nil)
				if none := math.IsNaN(values.At(0, 0)); err != nil || none != (kind != factoranalysis.ScoreRegression) {
					t.Errorf("scores of one answer %v, error %v", values, err)
				}
			})
		}
	}
}

// targetRows says that each item loads on the factor of its planted group alone.
func targetRows(t *testing.T, file string) (rows []string) {
	t.Helper()
	o := questionnairetest.Options(file)
	table, err := o.Read()
	if err != nil {
		t.Fatal(err)
	}
	for j, item := range table.Items {
		cells := []string{item.Name}
		for f := range questionnairetest.Factors {
			cell := "0"
			if j%questionnairetest.Factors == f {
				cell = ""
			}
			cells = append(cells, cell)
		}
		rows = append(rows, strings.Join(cells, ","))
	}
	return rows
}

// Rotations that cannot be made say what is missing.
func TestRotationsRefused(t *testing.T) {
	t.Parallel()
	file := questionnairetest.File(t, "x.csv", questionnairetest.CSV(questionnairetest.Rows(1)))
	short := questionnairetest.File(t, "target.csv", "item,factor1,factor2,factor3\nnobody,0,0,\n")
	for want, change := range map[string]func(o *fit.Options){
		"requires --target":      func(o *fit.Options) { o.Rotation = "target" },
		"applies to it only":     func(o *fit.Options) { o.Rotation, o.Target = "geomin", short },
		"one number":             func(o *fit.Options) { o.Rotation, o.Factors = "bifactor", []int{3, 4} },
		"3 --factors":            func(o *fit.Options) { o.Rotation, o.Factors = "bifactor", []int{2} },
		"no row for item":        func(o *fit.Options) { o.Rotation, o.Target = "target", short },
		strconv.Quote("factor4"): func(o *fit.Options) { o.Rotation, o.Target, o.Factors = "target", short, []int{4} },
	} {
		o := questionnairetest.Options(file)
		o.Method, o.Betas = model.MethodFA, nil
		change(&o)
		if _, err := fit.Fit(t.Context(), o); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want one with %s", err, want)
		}
	}
}
