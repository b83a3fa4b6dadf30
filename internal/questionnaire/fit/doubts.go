package fit

import (
	"fmt"
	"math"
	"strings"

	"github.com/wardcast/wardcast/internal/questionnaire/model"
	"github.com/wardcast/wardcast/solver/factoranalysis"
)

// UnusedConfounds returns a warning if there are confounds that the method does not use, otherwise "".
func (o *Options) UnusedConfounds() string {
	if o.Method == model.MethodL1 && len(o.Columns.Confounds) > 0 {
		return model.MethodL1 + " does not use confounds"
	}
	return ""
}

// tuned is below how many participants for each item regression scores are tuned to the sample so much that the
// variance of their errors is about 1.4 times what they say, or more. docs/results.md has the measurement.
const tuned = 2

// approximated is the share of missing answers from which on chi-square is far from its distribution: docs/results.md.
const approximated = 0.02

// approximate says why chi-square, and what is computed from it, may not have its distribution.
func (l *Learnt) approximate(kind string, missing float64) (doubts []string) {
	if missing >= approximated {
		doubts = append(doubts, fmt.Sprintf("%.0f %% of the answers are missing, but chi-square counts all %d "+
			"participants as complete: P is too small, RMSEA too large, its interval too narrow, TLI and CFI too low",
			100*missing, len(l.Rows)))
	}
	if kind == model.Polychoric {
		doubts = append(doubts, "chi-square of polychoric correlations has another distribution than that of "+
			"Pearson's: P is too small, and the interval of RMSEA too narrow",
			"standard errors of scores are those of the continuous responses that polychoric correlations assume, "+
				"not of answers in a few categories: they are too small, and reliabilities too high")
	}
	return doubts
}

// doubts returns why the loadings of a factor analysis may mean little.
func (l *Learnt) doubts(kind string, missing float64) (doubts []string) {
	if l.fa == nil {
		return nil
	}
	items, factors := l.Loadings.Dims()
	switch df := l.fit.DF; {
	case df < 0:
		doubts = append(doubts, fmt.Sprintf("the number of factors, %d, is too large for %d items (%d degrees of "+
			"freedom): other loadings fit as well", factors, items, df))
	case math.IsNaN(l.fit.ChiSquare):
		doubts = append(doubts, "the correlations have no inverse, so of the fit only RMSR is given: participants "+
			"are few, items repeat others, or many answers are missing")
	}
	if l.fit.DF > 0 && !math.IsNaN(l.fit.ChiSquare) {
		doubts = append(doubts, l.approximate(kind, missing)...)
	}
	if n := len(l.Rows); l.fa.ScoreCorrelations != nil && n < tuned*items {
		doubts = append(doubts, fmt.Sprintf("%d participants are few for %d items: the scores are tuned to these "+
			"participants, so their standard errors are too small and their reliabilities too high", n, items))
	}
	var heywood []string
	for column, u := range l.fa.Uniquenesses {
		if u <= factoranalysis.LeastUniqueness {
			heywood = append(heywood, l.study.Items[l.Items[column]].Name)
		}
	}
	if len(heywood) > 0 {
		doubts = append(doubts, fmt.Sprintf("a Heywood case: the uniqueness of %s is at its lower bound, %v; there "+
			"may be too many factors or too few participants", strings.Join(heywood, ", "),
			factoranalysis.LeastUniqueness))
	}
	return doubts
}

// unstable warns of factors that most samples of a bootstrap, which may be nil, do not have. Empty factors come last,
// and have a warning of their own.
func unstable(b *model.Bootstrap, empty int) (warnings []string) {
	const least = 0.5
	if b == nil {
		return nil
	}
	for t, f := range b.Factors[:len(b.Factors)-empty] {
		if f.Similar < least {
			warnings = append(warnings,
				fmt.Sprintf("only %.0f %% of the samples of the bootstrap hold a factor similar to factor%d (a "+
					"congruence of at least %v): other participants may not have it, so fewer factors may be better",
					100*f.Similar, t+1, model.SimilarCongruence))
		}
	}
	return warnings
}
