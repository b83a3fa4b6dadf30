package cfa

import (
	"math"

	"gonum.org/v1/gonum/mathext"

	"github.com/wardcast/wardcast/internal/questionnaire"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// Measures say how well a model fits. Figures that an estimator lacks are null.
type Measures struct {
	ChiSquare questionnaire.Figure `json:"chi_square"`
	DF        int                  `json:"df"`
	// P, CFI, TLI and RMSEA of WLSMV are those of the scaled chi-square.
	P               questionnaire.Figure `json:"p"`
	ChiSquareScaled questionnaire.Figure `json:"chi_square_scaled"`
	CFI             questionnaire.Figure `json:"cfi"`
	TLI             questionnaire.Figure `json:"tli"`
	RMSEA           questionnaire.Figure `json:"rmsea"`
	RMSEALow        questionnaire.Figure `json:"rmsea_low"`
	RMSEAHigh       questionnaire.Figure `json:"rmsea_high"`
	SRMR            questionnaire.Figure `json:"srmr"`
	LogLikelihood   questionnaire.Figure `json:"log_likelihood"`
	AIC             questionnaire.Figure `json:"aic"`
	BIC             questionnaire.Figure `json:"bic"`
}

// test is a chi-square with its degrees of freedom.
type test struct {
	chiSquare float64
	df        int
}

// p returns the probability of a larger chi-square.
func (t test) p() float64 {
	if t.df <= 0 {
		return math.NaN()
	}
	return mathext.GammaIncRegComp(float64(t.df)/2, max(0, t.chiSquare)/2)
}

// rmseaTail is left on each side of the usual interval of 90 %.
const rmseaTail = 0.05

// compare fills in the indices of a test, that of the model without common factors, and n participants, of WLSMV less
// the number of groups:
//
//	CFI = 1 − ⟨χ² − df⟩₊/max(⟨χ₀² − df₀⟩₊, ⟨χ² − df⟩₊),  P. M. Bentler, 1990,
//	TLI = 1 − (χ² − df)·df₀/((χ₀² − df₀)·df),            L. R. Tucker and C. Lewis, 1973,
//	RMSEA = √(groups·⟨χ² − df⟩₊/(n·df)),                 J. H. Steiger, 1990 and 1998,
//
// with the interval from the noncentralities at which χ² is the 95 % and the 5 % quantile.
func (m *Measures) compare(own, base test, n float64, groups int) {
	df, nan := float64(own.df), questionnaire.Figure(math.NaN())
	m.P = questionnaire.Figure(own.p())
	excess, baseExcess := own.chiSquare-df, base.chiSquare-float64(base.df)
	m.CFI = 1
	if excess > 0 {
		m.CFI = questionnaire.Figure(1 - excess/max(baseExcess, excess))
	}
	m.TLI, m.RMSEA, m.RMSEALow, m.RMSEAHigh = nan, nan, nan, nan
	if own.df == 0 {
		return
	}
	m.TLI = questionnaire.Figure(1 - excess*float64(base.df)/(baseExcess*df))
	rmsea := func(noncentrality float64) questionnaire.Figure {
		return questionnaire.Figure(math.Sqrt(max(0, noncentrality) * float64(groups) / (df * n)))
	}
	m.RMSEA = rmsea(excess)
	m.RMSEALow = rmsea(factoranalysis.Noncentrality(own.chiSquare, df, 1-rmseaTail))
	m.RMSEAHigh = rmsea(factoranalysis.Noncentrality(own.chiSquare, df, rmseaTail))
}
