package rank

import (
	"context"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/wardcast/wardcast/solver/factoranalysis"
)

const (
	// MostAlike is the greatest correlation of two factors of a simple structure that count as two: T. A. Brown,
	// "Confirmatory factor analysis for applied research", 2015, doubts factors that correlate by .80 to .85.
	MostAlike = 0.8
	// mostCounted is the number of participants from which more of them do not count: of thousands, the likelihood
	// would tell any small difference from a simple structure.
	mostCounted = 500
	// patience ends the search: as many numbers of factors in a row have no lower BIC.
	patience = 3
)

// SimplePoint is the simple structure of a number of factors, and the correlation of the two that are most alike.
type SimplePoint struct {
	Factors int     `json:"factors"`
	BIC     float64 `json:"bic"`
	Closest float64 `json:"closest"`
}

// SimpleStructures compares factor models in which each item loads on one factor alone, see
// factoranalysis.FitSimpleStructure, of 1, 2, 3 … factors, by the Bayesian information criterion
//
//	n·(log|Σ| + tr(Σ⁻¹R) − p) + q·log n,
//
// q the number of parameters and n that of participants, at most 500. suggested is the number of factors of least BIC,
// no two of which correlate by more than MostAlike. A number without a structure has no point.
//
// A factor more adds the correlations with the others to the parameters, not a loading of each item as in exploratory
// analysis. So factors that correlate are told apart among fewer participants, if items do have one factor each.
//
// Unknown correlations are filled in from the fewest factors that suggest no more than themselves, see Fill.
func SimpleStructures(ctx context.Context, c *factoranalysis.Correlations, participants int) (suggested int,
	curve []SimplePoint, err error,
) {
	suggested, err = filled(ctx, c, func() (k int, err error) {
		k, curve, err = simpleStructures(ctx, c.R, participants)
		return k, err
	})
	return suggested, curve, err
}

func simpleStructures(ctx context.Context, r *mat.SymDense, participants int) (suggested int, curve []SimplePoint,
	err error,
) {
	p, n := r.SymmetricDim(), float64(min(participants, mostCounted))
	least, chosen, idle := math.Inf(1), math.Inf(1), 0
	for k := 1; k*factoranalysis.LeastItems <= p && idle < patience; k++ {
		s, err := factoranalysis.FitSimpleStructure(ctx, r, k)
		if err != nil {
			return 0, nil, err
		}
		idle++
		if s == nil {
			continue
		}
		point := SimplePoint{
			Factors: k, Closest: s.Closest(),
			BIC: n*(s.Discrepancy-float64(p)) + float64(s.Parameters())*math.Log(n),
		}
		curve = append(curve, point)
		if point.BIC < least {
			least, idle = point.BIC, 0
		}
		if point.BIC < chosen && point.Closest <= MostAlike {
			chosen, suggested = point.BIC, k
		}
	}
	return suggested, curve, nil
}
