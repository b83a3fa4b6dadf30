package questionnaire

import (
	"context"
	"time"

	"github.com/wardcast/wardcast/solver/rank"
)

// Ranked is the outcome of Rank: the candidate of the lowest error, the fewest factors within one standard error of it,
// and the error of every candidate.
type Ranked struct {
	rank.Candidate
	OneStandardErrorFactors int          `json:"one_standard_error_factors"`
	OneStandardErrorBeta    float64      `json:"one_standard_error_beta"`
	Curve                   []rank.Point `json:"curve"`
	// Unconverged counts those of the Fits that ended at MaxIter; RelTol is what ended the others.
	Fits        int     `json:"fits"`
	Unconverged int     `json:"unconverged"`
	RelTol      float64 `json:"rel_tol"`
	Seconds     float64 `json:"seconds"`
}

// Rank cross-validates the candidates of the options.
func Rank(ctx context.Context, o Options) (*Ranked, error) {
	begin := time.Now()
	s, err := o.begin()
	if err != nil {
		return nil, err
	}
	choice, err := o.choose(ctx, s)
	if err != nil {
		return nil, err
	}
	return &Ranked{
		Candidate: choice.Lowest.Candidate, OneStandardErrorFactors: choice.OneStandardError.Factors, OneStandardErrorBeta: choice.OneStandardError.Beta,
		Curve: choice.Curve, Fits: choice.Fits, Unconverged: choice.Unconverged, RelTol: max(o.RelTol, rank.ICQFRelTol), Seconds: time.Since(begin).Seconds(),
	}, nil
}
