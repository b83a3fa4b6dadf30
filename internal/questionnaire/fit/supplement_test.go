package fit_test

import (
	"math"
	"testing"

	"github.com/wardcast/wardcast/internal/questionnaire/fit"
	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/internal/questionnaire/questionnairetest"
)

// The summary holds what a supplement needs: correlations of the scores or factors, the largest residual correlations,
// eigenvalues with their reference where the number of factors was sought, and the command.
func TestSupplement(t *testing.T) {
	t.Parallel()
	rows := questionnairetest.Rows(1)
	s := questionnairetest.Fit(t, rows, func(o *fit.Options) { o.Command = "wardcast fit" }).Summary
	if c := s.ScoreCorrelations; len(c) != questionnairetest.Factors || math.Abs(float64(c[1][1])-1) > 1e-12 ||
		c[0][2] != c[2][0] || math.Abs(float64(c[0][2])) > 0.5 {
		t.Errorf("correlations of the scores %v", c)
	}
	if r := s.Residuals; len(r.Largest) != 20 || !(r.RootMeanSquare > 0 && r.RootMeanSquare < 0.3) ||
		math.Abs(r.Largest[0].Correlation) < math.Abs(r.Largest[19].Correlation) || s.Scree != nil ||
		s.Settings.Command != "wardcast fit" {
		t.Errorf("residual correlations %+v, scree %v, command %q", r, s.Scree, s.Settings.Command)
	}
	s = questionnairetest.Fit(t, rows, func(o *fit.Options) {
		o.Method, o.Betas, o.Factors = model.MethodFA, nil, nil
	}).Summary
	if c := s.Scree; c == nil || len(c.Eigenvalues) != questionnairetest.Items ||
		len(c.MAP) < questionnairetest.Factors ||
		len(c.Reference) != questionnairetest.Items || s.ScoreCorrelations != nil {
		t.Errorf("scree %+v", c)
	}
	if a, b := s.Residuals.RootMeanSquare, float64(s.Fit.RMSR); math.Abs(a-b) > 1e-12 {
		t.Errorf("residual correlations of %v, and an RMSR of %v", a, b)
	}
}
